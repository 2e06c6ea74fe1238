"""The figures of docs/architecture.md are those of the source, and the script that counts them counts right."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def building() -> ModuleType:
    spec = importlib.util.spec_from_file_location("building", ROOT / "benchmarks" / "building.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["building"] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_figures_of_the_source(building: ModuleType) -> None:
    table = building.PAGE.read_text("utf-8").split("made by benchmarks/building.py -->\n")[1].split("\n<!-- end -->")[0]
    shown = {cells[1].strip(): cells[2].strip() for cells in (line.split("|") for line in table.splitlines()[2:])}
    counted = {what: value for what, value, _ in building.shape_rows(building.read_modules())}
    nothing = building.Walk({}).counts()
    walked = [what for what, _, _ in building.walk_rows(dict.fromkeys(building.WALKS, nothing))]
    assert [*shown] == [*counted, *walked], (
        f"docs/architecture.md shows other figures · write them again: {building.MEND}"
    )
    stale = {what: f"{shown[what]} is now {value}" for what, value in counted.items() if shown[what] != value}
    assert stale == {}, f"docs/architecture.md is out of date · write its figures again: {building.MEND}"


def test_the_steps_of_a_walk_are_functions(building: ModuleType) -> None:
    missing = set(building.STEPS.values()) - building.defined_names(building.read_modules())
    assert missing == set(), "renamed functions · write their new names in STEPS of benchmarks/building.py"


PACKAGE = {
    "__init__.py": "from toy.inner.leaf import give",
    "a.py": '''"""Words.

# more words
"""

from typing import TYPE_CHECKING

# a remark
import toy.b
from . import c

if TYPE_CHECKING:
    from toy import typed


def run():
    from toy import late
    return toy.b.find(1), c.find(1), late
''',
    "b.py": "from .c import find as other\n\n\ndef find(x):\n    return None if x else other(x)\n",
    "c.py": '''from toy.inner.leaf import give


def find(x):
    """Words."""
    if x and x > 0 or not x:
        for y in [z for z in (x, 2) if z if z > 1]:
            assert y
    else:
        def inner(w):
            return 1 if w else 2
    return give(0.95)


class One:
    size: int


class Two(One):
    def __init__(self): ...
    def grow(self, x): return isinstance(x, One | int) and isinstance(x, int)
''',
    "late.py": "from toy import typed",
    "typed.py": "from toy import late",
    "inner/__init__.py": "",
    "inner/leaf.py": "class One:\n    def shrink(self): ...\n\n\ndef give(x):\n    return x\n",
}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in PACKAGE.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "toy"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path / "toy"


def test_a_small_package_is_counted_by_hand(building: ModuleType, toy: Path) -> None:
    modules = building.read_modules(toy)
    assert {name: module.imports for name, module in modules.items() if module.imports} == {
        "toy": {"toy.inner.leaf"},
        "toy.a": {"toy.b", "toy.c"},
        "toy.b": {"toy.c"},
        "toy.c": {"toy.inner.leaf"},
        "toy.late": {"toy.typed"},
        "toy.typed": {"toy.late"},
    }
    assert building.deepest_chain(modules) == ["toy.a", "toy.b", "toy.c", "toy.inner.leaf"]
    assert {len(link) for link in building._circles(modules).values()} == {1, 2}
    assert sorted(building.single_importers(modules)) == ["toy.b", "toy.inner.leaf", "toy.late", "toy.typed"]
    assert {name: module.code_lines for name, module in modules.items() if name in ("toy", "toy.a")} == {
        "toy": 0,
        "toy.a": 3,
    }
    found = {each.name: each.complexity for module in modules.values() for each in module.functions}
    assert found["c.py:find"] == 1 + 1 + 2 + 1 + 3 + 1 and found["c.py:inner"] == 2 and found["a.py:run"] == 1
    assert building.shared_names(modules) == ["One"] and building.holders(modules, "size") == ["c.py:One"]
    assert building.count_methods(modules, "Two") == 3  # with the one of `One` that is read last
    assert modules["toy.c"].levels == 1 and modules["toy.c"].checks == [{"int"}, {"One", "int"}]
    assert {"Two.grow", "give"} <= building.defined_names(modules)


def test_a_walk_counts_calls_changes_and_visits_in_vain(building: ModuleType, toy: Path) -> None:
    a: Any = importlib.import_module("toy.a")
    walk = building.Walk(building.read_modules(toy), toy)
    sys.setprofile(walk.watch)
    try:
        a.run()
    finally:
        sys.setprofile(None)
    counts = walk.counts()
    assert counts["modules"] == ["a.py", "b.py", "c.py", "inner/leaf.py"]
    assert (counts["calls"], counts["changes"], counts["vain"]) == (4, 3, ["b.py"])

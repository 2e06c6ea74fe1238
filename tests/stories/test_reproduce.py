"""The reproductions run, draw a chart and check their numbers; one that is off stops them."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "reproduce"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "drawing")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a script is run: its own folder comes first; nothing stays imported."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("drawing", *SCRIPTS):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in ("drawing", *SCRIPTS):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_reproduction_draws_and_checks(
    name: str, folder: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = importlib.import_module(name).main(tmp_path / "chart.svg", True)
    assert (tmp_path / "chart.svg").read_text("utf-8").startswith("<svg")
    said = capsys.readouterr().out
    assert len(re.findall("expected", said)) >= 2
    assert all(value > 0 for value in found.values())


def test_a_number_that_is_off_stops_the_script(folder: None) -> None:
    drawing = importlib.import_module("drawing")
    assert drawing.check({"x": 1.0004}, {"x": 1.0}, within=5e-4) == {"x": 1.0004}
    with pytest.raises(SystemExit, match=r"x: 1\.001"):
        drawing.check({"x": 1.001}, {"x": 1.0}, within=5e-4)


def test_every_script_is_in_the_list() -> None:
    listed = re.findall(r"^\| `(\w+)\.py`", (FOLDER / "README.md").read_text("utf-8"), flags=re.MULTILINE)
    assert sorted(listed) == SCRIPTS
    assert len(SCRIPTS) == 6

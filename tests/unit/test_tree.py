"""What holds for every file of the tree: where randomness may be, what a module is called, what no file may hold."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

RANDOM_MODULES = {"random", "secrets", "numpy.random"}
RANDOM_NAMES = {"urandom", "getrandom", "default_rng", "rvs", "SystemRandom", "token_bytes", "randbits", "RandomState"}
"""Names that draw random bits whatever they are reached through."""

NUMPY = {"np", "numpy"}

TOKENS = ROOT / "src" / "gaussmith" / "workbench" / "tokens.py"
"""Keys of the workbench: words that nobody can guess, which never meet data."""


def draws(source: str) -> Iterator[str]:
    """The places of a module that can draw random numbers, as `line: name`."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            names = [f"numpy.{node.attr}" if owner in NUMPY else node.attr]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            names = (
                [str(node.args[0].value)] if ast.unparse(node.func).endswith(("import_module", "__import__")) else []
            )
        for name in names:
            if (
                any(name == m or name.startswith(m + ".") for m in RANDOM_MODULES)
                or name.split(".")[-1] in RANDOM_NAMES
            ):
                yield f"{node.lineno}: {name}"


def test_randomness_lives_in_noise_alone() -> None:
    assert SOURCES
    inside = ROOT / "src" / "gaussmith" / "noise"
    found = [
        f"{path.relative_to(ROOT)}:{place}"
        for path in SOURCES
        if inside not in path.parents and path != TOKENS
        for place in draws(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "planted",
    [
        "import random",
        "import numpy.random as r",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nx = np.random.normal()",
        "import secrets as s",
        "from secrets import token_bytes",
        "import os\nos.urandom(8)",
        "from os import urandom as u",
        "def f():\n    import random",
        "import importlib\nimportlib.import_module('random')",
        "from scipy import stats\nstats.norm.rvs()",
    ],
)
def test_planted_randomness_is_found(planted: str) -> None:
    assert list(draws(planted))


@pytest.mark.parametrize(
    "innocent", ["import numpy as np\nnp.ones(3)", "from gaussmith.noise.gaussian import normal_integers"]
)
def test_innocent_lines_are_left_alone(innocent: str) -> None:
    assert not list(draws(innocent))


def test_a_module_is_a_noun_of_its_own() -> None:
    rooms_for_anything = {"utils", "util", "base", "helpers", "misc", "common"}
    public_functions = {"plan", "release", "compare"}  # a module of that name would hide the function
    assert [p for p in SOURCES if p.stem in rooms_for_anything] == []
    assert [p for p in SOURCES if p.parent.name == "gaussmith" and p.stem in public_functions] == []


def test_decisions_are_numbered_and_say_what_was_chosen() -> None:
    page = (ROOT / "docs" / "decisions.md").read_text("utf-8")
    assert not (ROOT / "docs" / "decisions").exists(), "a decision is a section of docs/decisions.md"
    parts = re.split(r"^## (\d+)\. ", page, flags=re.M)[1:]
    assert [int(number) for number in parts[::2]] == list(range(1, len(parts) // 2 + 1)) and len(parts) > 30
    assert [number for number, text in zip(parts[::2], parts[1::2], strict=True) if "**Chosen.**" not in text] == []


def committed_texts() -> Iterator[tuple[str, str]]:
    """Name and text of every committed file that is text."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listing.split("\0")):
        path = ROOT / name
        if path.is_file():
            try:
                yield name, path.read_text("utf-8")
            except UnicodeDecodeError:
                continue  # Parquet


APART = ("audit", "papers", "workbench")
"""Packages that use the core, and that it never imports, not even for types."""


def imports_apart(source: str) -> list[str]:
    """What a module imports of the packages that stand apart, wherever in it the import is."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if re.match(rf"gaussmith\.({'|'.join(APART)})\b", name)]


def test_the_core_imports_nothing_that_stands_apart() -> None:
    """Not for types either, which import-linter leaves out. Only the face, `gaussmith/__init__.py`, names them."""
    root = ROOT / "src" / "gaussmith"
    core = [path for path in SOURCES if path.relative_to(root).parts[0] not in (*APART, "__init__.py")]
    assert len(core) > 100
    assert {str(path): found for path in core if (found := imports_apart(path.read_text("utf-8")))} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "from gaussmith.papers.ball import Ball",
        "from gaussmith import audit",
        "import gaussmith.workbench.server as server",
        "if TYPE_CHECKING:\n    from gaussmith.papers import Ball",
        "def f():\n    from gaussmith.audit import audit",
    ],
)
def test_a_planted_import_of_what_stands_apart_is_found(planted: str) -> None:
    assert imports_apart(planted)


# Spelt in pieces, so that this file does not hold what it looks for.
INDEX_HOST = re.compile(
    "|".join([r"pypi\." + "org", "python" + "hosted", "--(?:extra-)?index" + "-url", "--find" + "-links"])
)
SOMEONES_PATH = re.compile(r"(?<![\w.$}/-])(?:/(?:home|Users|root|work|opt)/" + r"[\w.]|[A-Za-z]:\\Users\\)")


def test_no_file_names_an_index_host_or_someones_path() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of committed files to look through")
    texts = dict(committed_texts())
    assert "pyproject.toml" in texts
    found = [
        f"{name}: {match.group()}"
        for name, text in texts.items()
        for pattern in (INDEX_HOST, SOMEONES_PATH)
        if (match := pattern.search(text))
    ]
    assert found == []


def test_planted_hosts_and_paths_are_found() -> None:
    for planted in ["https://pypi." + "org/simple", "--find" + "-links ./wheels"]:
        assert INDEX_HOST.search(planted)
    for planted in ["see /ho" + "me/ada/x", '"/ro' + 'ot/.cache"', "C:\\Us" + "ers\\ada"]:
        assert SOMEONES_PATH.search(planted)

"""Tests are collected together in any order: no module is taken for another one of the same name in another folder."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = [path.relative_to(ROOT) for path in sorted((ROOT / "tests").rglob("*.py")) if path.stem != "__init__"]
SHARED = {name for name, files in Counter(path.stem for path in MODULES).items() if files > 1} - {"conftest"}
"""Names that several modules of tests, or of what they import, have."""


def imports_of(path: Path) -> set[str]:
    """The shared names that a test imports."""
    found = re.findall(r"^\s*(?:from|import) ([\w.]+)", (ROOT / path).read_text("utf-8"), re.MULTILINE)
    return {part for name in found if not name.startswith("gaussmith") for part in name.split(".")} & SHARED


TESTS = [path for path in MODULES if path.name.startswith("test_")]
IMPORTERS = {(name, path.parent): path for path in TESTS for name in imports_of(path)}
"""One test of each folder for each shared name that tests there import."""

NAMESAKES = [path for name in SHARED for path in [path for path in TESTS if path.stem == name][-2:]]
"""Two tests of each name."""

CLASHING = sorted({*IMPORTERS.values(), *NAMESAKES})
ORDERS = {"by folder": CLASHING, "reversed": CLASHING[::-1]}
"""Of any two modules each comes first once."""


@pytest.mark.parametrize("order", ORDERS)
def test_modules_of_one_name_are_collected_together(order: str) -> None:
    assert len({path.parent for path in CLASHING}) > 5
    words = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run([*words, *map(str, ORDERS[order])], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    collected = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert collected == {path.as_posix() for path in CLASHING}

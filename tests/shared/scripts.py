"""Modules of scripts (benchmarks, website, proofs) for tests: each folder has its own names, and some are the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextmanager
def importing(*folders: str) -> Iterator[None]:
    """Within it modules of these folders are imported by name; afterwards path and modules are as they were before.

    A module of the tests with such a name waits until then, so that neither is taken for the other.
    """
    path, names = list(sys.path), {file.stem for folder in folders for file in (ROOT / folder).glob("*.py")}
    waiting = {name: sys.modules.pop(name) for name in names if _lies_in(name, ROOT / "tests")}
    before = set(sys.modules)
    sys.path[:0] = [str(ROOT / folder) for folder in folders]
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            if _lies_in(name, ROOT) and not _lies_in(name, ROOT / "src") and not _lies_in(name, ROOT / ".venv"):
                del sys.modules[name]
        sys.modules.update(waiting)


def _lies_in(name: str, folder: Path) -> bool:
    """Whether a module was imported from a folder."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and Path(file).is_relative_to(folder)

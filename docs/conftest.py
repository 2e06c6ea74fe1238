"""The pages' `>>>` lines run in an empty directory each, so that a page may write files.

An example marked `# doctest: +NOISY` shows released numbers: its output may differ in its digits, and `...` stands for
what a page leaves out.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

NOISY = doctest.register_optionflag("NOISY")
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
exactly = doctest.OutputChecker.check_output


def shape(text: str) -> str:
    """The text with every number replaced by # and spaces run together: columns may be wider."""
    return "\n".join(" ".join(NUMBER.sub(" #", line).split()) for line in text.strip().splitlines())


def check_output(self: Any, want: str, got: str, flags: int) -> bool:
    return exactly(self, want, got, flags) or bool(flags & NOISY and exactly(self, shape(want), shape(got), flags))


doctest.OutputChecker.check_output = check_output  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

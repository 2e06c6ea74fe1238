"""The command line within this process: what it returns and what it prints."""

from __future__ import annotations

import pytest

from gaussmith import cli

GUARANTEE = ["--epsilon", "1", "--delta", "1e-6"]
SUM = ["--sum", "age:0:100"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code, and all that is printed by this command alone."""
    capsys.readouterr()
    code = cli.main(words)
    out, err = capsys.readouterr()
    return code, out, err


def unread(*_: object, **__: object) -> None:
    raise AssertionError("data was read")

"""How far the command line has got: bytes, never rows, and only where someone looks on."""

from __future__ import annotations

import io

import pytest
from terminal import run

from gaussmith.cli.parser import reading


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_terminals_alone_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaussmith.cli.parser.TICK", 0.01)
    terminal = Terminal()
    with reading(terminal) as report:
        assert report is not None
        report(0.5)
        for _ in range(200):
            if "50 %" in terminal.getvalue():
                break
            __import__("time").sleep(0.01)
    assert "50 %" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    silent = io.StringIO()
    with reading(silent) as report:
        assert report is None
    assert silent.getvalue() == ""


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from gaussmith.cli.parser import bold

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert bold("x", Terminal()) == "\x1b[1mx\x1b[0m"
    assert bold("x", io.StringIO()) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert bold("x", Terminal()) == "x"


def test_names_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "plan", "--sum", "age\x1b[2J:0:1", "--mu", "1")[1]
    assert "\x1b" not in out and "age\\x1b[2J_sum" in out
    err = run(capsys, "plan", "--sum", "age\x1b[2J", "--mu", "1")[2]
    assert "\x1b" not in err

"""Terminal text: bold and dim where supported, wrapped lines, errors in three parts."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TextIO

from gaussmith.errors import GaussmithError

WIDTH = 80


def bold(text: str, stream: TextIO | None = None) -> str:
    return _styled(text, "1", stream)


def dim(text: str, stream: TextIO | None = None) -> str:
    return _styled(text, "2", stream)


def red(text: str, stream: TextIO | None = None) -> str:
    return _styled(text, "1;31", stream)


def struck(text: str, stream: TextIO | None = None) -> str:
    """Text struck through on a terminal."""
    return _styled(text, "9", stream)


def _styled(text: str, code: str, stream: TextIO | None) -> str:
    stream = sys.stdout if stream is None else stream
    plain = not stream.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


def wrapped(text: str, indent: int = 0) -> str:
    """Text wrapped at 80 characters; every line of `text` is a paragraph that keeps its own indentation."""
    lines = []
    for line in text.splitlines():
        inner = len(line) - len(line.lstrip())
        first, rest = " " * (indent + inner), " " * (indent + inner + (2 if inner else 0))
        lines += textwrap.wrap(
            line.lstrip(), WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
            break_on_hyphens=False,
        ) or [""]  # fmt: skip
    return "\n".join(lines)


def labelled(label: str, text: str, column: int = 11) -> str:
    """`label`, followed by text wrapped in its own column."""
    body = wrapped(text, column)
    return bold(label.ljust(column)) + body[column:]


def error_text(error: GaussmithError) -> str:
    """What is wrong, with the expression if there is one; then the rule and what to do, one line each.

    After data was opened: one line that is always the same.
    """
    from gaussmith.texts import printable

    head = red("Error:", sys.stderr)
    if error.exit_code == 4:
        return f"{head} {printable(str(error))}"
    lines = [line for part in (error.what, error.rule, error.remedy) if part for line in part.split("\n")]
    return f"{head} " + "\n  ".join(map(printable, lines))

"""Terminal text: bold and dim where supported, wrapped lines, errors in three parts."""

from __future__ import annotations

import os
import re
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


EDGES = ("bins", "quantiles")
"""Fields whose flags list numbers with commas: NAME=18,40,65."""

OF_A_RELEASE = ("ledger", "id", "engine", "master")
"""Words of the library that are flags here, and write NAME = VALUE where a flag has NAME VALUE."""


def in_flags(remedy: str, request_file: bool = False) -> str:
    """A remedy in terms of flags; fields of a request file stay as they are written there.

    >>> in_flags('write rows_per_unit = 12, or mean_of = "units" for the mean over people')
    'write --rows-per-unit 12, or --mean-of units for the mean over people'
    >>> in_flags("give ledger= too", request_file=True)
    'give --ledger too'
    >>> in_flags('write bounds = { age = [0, 100] }, or values = { sex = ["f", "m"] }, or means = ["age"]')
    'write --bounds age:0:100, or --values sex=f,m, or --mean age'
    >>> in_flags('ask for found keys: by = { airport = "found" }')
    'ask for found keys: --by-found airport'
    >>> in_flags('or bounds = { age = "private" } to learn them')
    'or --bounds age:private to learn them'
    """
    from gaussmith.cli.flags import FLAGS, SPELLED_ALIKE  # imported where an error is shown

    if not request_file:
        flags = {flag.field: flag.words for flag in FLAGS if flag.often}
        remedy = re.sub(r'\b(?:by|histograms) = { (\S+) = "found" }', r"--by-found \1", remedy)
        remedy = re.sub(r'\bbounds = { (\S+) = "private" }', r"--bounds \1:private", remedy)
        table = re.compile(rf"\b({'|'.join(flags)}) = {{ (\S+) = (\[[^]]*\]|[\w.-]+) }}")
        remedy = table.sub(lambda m: f"{flags[m[1]]} {m[2]}{_spelled(m[1], m[3])}", remedy)
        listed = re.compile(rf"""\b({"|".join(flags)}) = \[["']([^"',]*)["']\]""")
        remedy = listed.sub(lambda m: f"{flags[m[1]]} {m[2]}", remedy)
    names = "|".join(OF_A_RELEASE if request_file else OF_A_RELEASE + SPELLED_ALIKE)
    said = re.compile(rf"""(?<![\w?&(.])({names}) ?=(?!=) ?(?:"([^"]*)"|'([^']*)'|([\w.…-]*))""")
    return said.sub(lambda m: f"--{m[1].replace('_', '-')} {m[2] or m[3] or m[4] or ''}".rstrip(), remedy)


def _spelled(field: str, value: str) -> str:
    """What stands behind the name of a column in a flag: bounds, values, edges or a number."""
    if not value.startswith("["):
        return f"={value}"
    parts = [part.strip() for part in value[1:-1].split(",")]
    listed = field in EDGES or parts[0][:1] in "\"'"
    return "=" + ",".join(part.strip("\"'") for part in parts) if listed else ":" + ":".join(parts)


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

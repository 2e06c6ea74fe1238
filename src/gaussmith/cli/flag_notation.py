"""What an error tells to write, as flags: its sentences are those for a request file (`gaussmith.notations`)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

from gaussmith.cli.flags import FLAGS, GUARANTEE, SPELLED_ALIKE, Flag
from gaussmith.notations import PAIRS, REST, rewritten

OF_A_RELEASE = ("ledger", "id", "engine", "master")
"""Words of the library that are flags here, and write NAME = VALUE where a flag has NAME VALUE."""

WAYS = {"bins", "by", "equal", "log"}
"""What a table says that declares cells."""

PROMISES = ("ids", "row_per_row", "line_per_record")
"""What a table `source` says beside its path."""


def in_flags(text: str, request_file: bool = False) -> str:
    """A sentence in terms of flags; fields of a request file stay as they are written there.

    >>> in_flags('write rows_per_unit = 12, or mean_of = "units" for the mean over people')
    'write --rows-per-unit 12, or --mean-of units for the mean over people'
    >>> in_flags("give ledger= too", request_file=True)
    'give --ledger too'
    >>> in_flags('write bounds = { age = [0, 100] }, or values = { sex = ["f", "m"] }, or means = ["age"]')
    'write --bounds age:0:100, or --values sex=f,m, or --mean age'
    >>> in_flags('ask for found keys: by = { airport = "found" }')
    'ask for found keys: --by-found airport'
    >>> in_flags('bins = { age = "private" }, count = true, guarantee = { epsilon = 1, delta = 1e-6 }')
    '--bins age=private, --count, --epsilon 1 --delta 1e-6'
    """
    if not request_file:
        text = rewritten(text, _written)
    names = "|".join(OF_A_RELEASE if request_file else OF_A_RELEASE + SPELLED_ALIKE)
    said = re.compile(rf"""\w\([^()]*\)|(?<![\w?&(.-])({names}) ?=(?!=) ?(?:"([^"]*)"|'([^']*)'|([\w.…-]*))""")
    return said.sub(lambda m: f"{_words(m[1])} {m[2] or m[3] or m[4] or ''}".rstrip() if m[1] else m[0], text)


def _words(name: str) -> str:
    return "--" + name.replace("_", "-")


@cache
def _flags() -> dict[str, Flag]:
    return {flag.field: flag for flag in FLAGS if flag.field}


def _written(field: str, value: Any) -> str | None:
    """One field as flags; None where no flag says it."""
    if field == "count":
        return "--count-rows" if value == "rows" else "--count"
    if field == "source" and isinstance(value, Mapping):
        return " ".join(_words(name) for name in PROMISES if value.get(name) is True) or None
    if field == "" and "columns" in value:
        return f"--vector-means {_listed(value['columns'])} --vector-rows {value['rows']}"
    if field == "" and not WAYS.isdisjoint(value):
        return f"--bins NAME={_cells(value)}"
    if field == "between":
        return f"…:{':'.join(map(_word, value))}"
    if field in ("equal", "log"):
        return f"{field}:{_word(value)}:…"
    if field == "guarantee" and isinstance(value, Mapping):
        return " ".join(f"--{name} {number}" for name, number in value.items())
    if field in (*OF_A_RELEASE, *GUARANTEE, "neighbours"):
        return f"--{field} {_word(value)}"
    flag = _flags().get(field)
    if flag is None:
        return None
    if flag.metavar is None:
        return flag.words
    if field == "regression" and isinstance(value, Mapping):
        return f"{flag.words} {_word(value['of'])}~{'+'.join(map(_word, value['on']))}"
    if isinstance(value, Mapping) and flag.often:
        return " ".join(_of_column(flag, column, said) for column, said in value.items())
    if isinstance(value, Mapping):
        return f"{flag.words} {','.join(f'{_word(key)}={_word(said)}' for key, said in value.items())}"
    if isinstance(value, list) and flag.often:
        return " ".join(f"{flag.words} {_listed(each)}" for each in value)
    return f"{flag.words} {_listed(value)}"


def _of_column(flag: Flag, column: str, said: Any) -> str:
    if said == "found" and flag.field in ("by", "histograms"):
        return f"--by-found {_word(column)}"
    if flag.field in PAIRS:
        ends = said if isinstance(said, list) else [said]
        return f"{flag.words} {_word(column)}:{':'.join(map(_word, ends))}"
    return f"{flag.words} {_word('NAME' if column == REST else column)}={_cells(said)}"


def _cells(said: Any) -> str:
    """What stands behind the name of a column: values, edges, or how cells are made."""
    if not isinstance(said, Mapping):
        return _listed(said)
    if "bins" in said:
        return _listed(said["bins"])
    way = (
        [str(said["by"])]
        if "by" in said
        else [each for name in ("equal", "log") if name in said for each in (name, said[name])]
    )
    return ":".join(map(_word, [*way, *said.get("between", ())]))


def _listed(value: Any) -> str:
    return ",".join(map(_word, value)) if isinstance(value, list) else _word(value)


def _word(value: Any) -> str:
    """A value as the shell takes it: in quotes where it has blanks or signs of the shell."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "…" if text in (REST, "…") else shlex.quote(text)

"""Quotes in CSV files: whether every record ends where its own line says.

A quoted field may hold line breaks, so a quote that stands astray in one record could swallow the records after it: a
sum would then change by more than one record. Polars takes some such files without a word. Here they are found, and
nothing is released: every quote must open a field, close one, or be doubled within one. Quotes that stand astray by
twos in a line, as in `she said "yes" twice`, do no harm and are let pass.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from gaussmith.sums.versions import collect_batches

if typing.TYPE_CHECKING:
    import polars as pl

QUOTE, BREAK, RETURN = 0x22, 0x0A, 0x0D


class Misquoted(Exception):
    """A quote stands where it could hide the end of a record."""


def check_quotes(lines: pl.LazyFrame, separator: str) -> None:
    """Fail if a quote of these lines, those of one file, could hide the end of a record.

    >>> import polars as pl
    >>> check_quotes(pl.LazyFrame({"line": ["name,height", '"Smith, B.",5', "Jones,6"]}), ",")
    >>> check_quotes(pl.LazyFrame({"line": ["name,height", 'Smith,5\\'10"', "Jones,6"]}), ",")
    Traceback (most recent call last):
    gaussmith.sums.quotes.Misquoted
    """
    import polars as pl

    quoted = lines.filter(pl.col("line").str.contains('"', literal=True))
    inside = 0
    for batch in collect_batches(quoted, ordered=True):
        inside = _follow(batch["line"].to_list(), inside, separator)
    if inside:
        raise Misquoted


def _follow(lines: list[str], inside: int, separator: str) -> int:
    """Whether the last line ends inside a quoted field (1) or not (0), where the first begins inside or not.

    Quotes open and close in turn. Each must have a neighbour that fits, or its line must pass by itself.
    """
    text = "\n".join(["", *lines, ""]).encode()
    letters = np.frombuffer(text, np.uint8)
    places = np.flatnonzero(letters == QUOTE)
    opens = (np.arange(len(places)) + inside) % 2 == 0
    beside = letters[np.where(opens, places - 1, places + 1)]
    fits = _among(beside, (ord(separator), QUOTE, BREAK)) | (~opens & (beside == RETURN))
    ends = np.flatnonzero(letters == BREAK)
    for j in np.unique(np.searchsorted(ends, places[~fits])) if not fits.all() else ():
        before = int(np.searchsorted(places, ends[j - 1]))
        if (before + inside) % 2 or not _ends_outside(lines[j - 1], separator):
            raise Misquoted
    return (inside + len(places)) % 2


def _among(letters: npt.NDArray[np.uint8], known: Iterable[int]) -> npt.NDArray[np.bool_]:
    return np.isin(letters, np.array(list(known), np.uint8))


def _ends_outside(line: str, separator: str) -> bool:
    """Whether a line, read field by field, ends outside quotes, and holds an even number of them."""
    s = re.escape(separator)
    quoted = rf'"[^"]*"(?:[^{s}"]*"[^"]*")*[^{s}"]*'
    field = rf'(?:{quoted}|[^{s}"][^{s}]*|)'
    return line.count('"') % 2 == 0 and re.fullmatch(rf"{field}(?:{s}{field})*", line) is not None

"""The cells by which people are compared with the limits of a question, and what these are called.

A value or total between its bounds is in one of five parts: the lowest tenth of the bounds, up to 45 %, the tenth in
the middle, up to 90 %, the highest tenth. A bound that is too small shows in the people beyond it; one ten times too
large shows in that (nearly) everybody is in one tenth. Under add-remove more cells cost no more noise.
"""

from __future__ import annotations

from fractions import Fraction

from gaussmith.problem.features import CHECKED_GROUPS, CHECKED_ROWS, CHECKED_TOTAL

PARTS = (Fraction(1, 10), Fraction(45, 100), Fraction(55, 100), Fraction(9, 10))
"""The edges inside the bounds, as shares of their width."""

INSIDE = ("0_10", "10_45", "45_55", "55_90", "90_100")
"""What the parts inside are called, in percent of the bounds."""

BELOW, ABOVE = 0, len(INSIDE) + 1
MIXED, BOTH = len(INSIDE) + 2, len(INSIDE) + 3
"""Places of the other cells; the last two are for people with several rows or groups."""


def few_rows(limit: int) -> int:
    """The most rows that are few: a tenth of the limit."""
    return max(1, limit // 10)


def cells_of(kind: str, several: bool) -> tuple[str, ...]:
    """What the cells are called; `several`: a person has several rows, or counts in several groups."""
    if kind == CHECKED_ROWS:
        return ("few", "within", "above")
    if kind == CHECKED_GROUPS:
        return ("one", "within", "above")
    return ("below", *INSIDE, "above", *(("mixed", "both") if several else ()))


def label_of(kind: str, column: str) -> str:
    """What is checked, as the beginning of the names of answers."""
    if kind in (CHECKED_ROWS, CHECKED_GROUPS):
        return "rows" if kind == CHECKED_ROWS else "groups"
    return f"{column}_total" if kind == CHECKED_TOTAL else column

"""Cells for quantiles without a range: coarse cells cover all numbers, closer ones follow the quantiles.

cells      how many people are below ±2^k, k = −20 … 40                              10 % of μ²
zoom 1–6   16 cells where each quantile may be, until noise and not cells is the limit   5 % each, if needed
answers    16 cells where each quantile may be, two more edges around, open ends     all that is left

The last cells cover all numbers and have noise of their own. So an earlier stage that misses a quantile costs width,
never the coverage of its interval (docs/theory.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from gaussmith.planning.learned_bounds import FIRST, LAST, powers_of_two
from gaussmith.planning.staging import ANSWERS, NOTHING, Rule, Seen, StageStep

CELLS = "cells"

FIRST_SHARE, ZOOM_SHARE, ROUNDS = Fraction(1, 10), Fraction(1, 20), 6
"""Shares of μ²: of the first stage and of each zoom; and at most so many zooms."""

ONE, SEVERAL = 16, 8
"""Cells where a quantile may be: for one level of a column, and for each of several."""

FINE = 4
"""Last cells of each doubling that a quantile may be in: where few people leave many of them, more cells are needed."""

SHARP = 3
"""A quantile that may be in more cells than this is limited by noise: it is zoomed into no further."""

WIDTH = 3.72
"""Standard errors to either side in stages before the last: one of 5 000 intervals misses."""

FAR = 2.0 ** (LAST + 1)
"""Where the open cells of the first stage are taken to end."""


class Quantile(NamedTuple):
    """Where a quantile may be after some stages: between which numbers, and whether it is zoomed into no further."""

    low: float
    high: float
    is_sharp: bool


@dataclass(frozen=True)
class FindCells:
    """The rule of `bins = { … = "private" }`: columns, each with the levels of its quantiles in order."""

    columns: tuple[tuple[str, tuple[float, ...]], ...]
    first: Fraction = FIRST_SHARE
    zoom: Fraction = ZOOM_SHARE
    rounds: int = ROUNDS

    kind: ClassVar[str] = "quantile-cells"

    @property
    def most_before(self) -> Fraction:
        """The share of the first cells and of all zooms."""
        return self.first + self.rounds * self.zoom

    def step(self, seen: Sequence[Seen], left: Fraction) -> StageStep:
        """The first cells, a zoom of all columns that need one, or the answers over the last cells.

        A stage shows of each level where its quantile may be, at WIDTH: the ends of all levels of a column in order.
        """
        if not seen:
            edges = list(powers_of_two().edges)
            return StageStep(CELLS, self.first, {"edges": {column: edges for column, _ in self.columns}})
        found, asked = self._found(seen)
        if not found:
            return StageStep(NOTHING, None, {"cells": {}, "unknown": [[column, "value"] for column, _ in self.columns]})
        if asked and len(seen) <= self.rounds:
            return StageStep(f"zoom {len(seen)}", self.zoom, {"edges": asked})
        cells = {column: list(last_edges(each)) for column, each in found.items()}
        unknown = [[column, "value"] for column, _ in self.columns if column not in found]
        return StageStep(ANSWERS, None, {"cells": cells, "unknown": unknown})

    def _found(self, seen: Sequence[Seen]) -> tuple[dict[str, list[Quantile]], dict[str, list[float]]]:
        """Where the quantiles of each column may be, and the edges of the next zoom of columns that need one."""
        found: dict[str, list[Quantile]] = {}
        asked: dict[str, list[float]] = {}
        for column, _ in self.columns:
            ends = _pairs(seen[0].values[column])
            if all(math.isinf(low) and math.isinf(high) for low, high in ends):
                continue  # so few values that there may be none
            found[column] = [Quantile(max(low, -FAR), min(high, FAR), False) for low, high in ends]
            asked[column] = _zoom_edges(found[column])
        for each in seen[1:]:
            for column, edges in list(asked.items()):
                if column not in each.values or not edges:
                    continue
                ends = _pairs(each.values[column])
                pairs = zip(found[column], ends, strict=True)
                found[column] = [_closer(was, *pair, edges) for was, pair in pairs]
                asked[column] = _zoom_edges(found[column])
        return found, {column: edges for column, edges in asked.items() if edges}

    def to_dict(self) -> dict[str, Any]:
        columns = [[column, list(levels)] for column, levels in self.columns]
        return {
            "kind": self.kind, "columns": columns, "first": str(self.first), "zoom": str(self.zoom),
            "rounds": self.rounds,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Rule:
        columns = tuple((str(column), tuple(map(float, levels))) for column, levels in fields["columns"])
        return cls(columns, Fraction(fields["first"]), Fraction(fields["zoom"]), int(fields["rounds"]))

    def describe(self) -> list[str]:
        """The stages and their shares."""
        names = ", ".join(column for column, _ in self.columns)
        return [
            f"stage 1, {_percent(self.first)} of the budget: people below each power of two, for the cells of {names}",
            f"then at most {self.rounds} zooms, {_percent(self.zoom)} each, where the quantiles may be",
            "then the answers over cells around the quantiles, with all that is left",
        ]


def _percent(share: Fraction) -> str:
    return f"{100 * float(share):.3g} %"


def _pairs(ends: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(ends[0::2], ends[1::2], strict=True))


def _closer(was: Quantile, low: float, high: float, edges: Sequence[float]) -> Quantile:
    """Where a quantile may be after a zoom: never outside of where it may have been, unless the two are apart."""
    if was.is_sharp:
        return was
    a, b = max(was.low, low), min(was.high, high)
    if not a < b:
        return was._replace(is_sharp=True)
    kept = sum(a < edge <= b for edge in edges)
    return Quantile(a, b, kept > SHARP)


def _zoom_edges(quantiles: Sequence[Quantile]) -> list[float]:
    """The edges of a zoom: those of all quantiles that are not sharp; none where doubles are too coarse for more."""
    cells = ONE if len(quantiles) == 1 else SEVERAL
    open_ones = {(each.low, each.high) for each in quantiles if not each.is_sharp}
    spread = [spread_edges(low, high, cells) for low, high in open_ones]
    finer = [edges for edges in spread if len(edges) > 2]
    return sorted({edge for edges in finer for edge in edges})


def last_edges(quantiles: Sequence[Quantile]) -> tuple[float, ...]:
    """The inner edges of the last cells: of each quantile its own, and one more to either side, as far away again."""
    least = ONE if len(quantiles) == 1 else SEVERAL
    found: set[float] = set()
    for low, high, _ in quantiles:
        a, b = place_of(low), place_of(high)
        cells = max(least, min(FINE * math.ceil(b - a), 4 * least))
        found |= {*spread_edges(low, high, cells), float(number_at(2 * a - b)), float(number_at(2 * b - a))}
    return tuple(sorted(found))


def spread_edges(low: float, high: float, cells: int) -> tuple[float, ...]:
    """Edges from `low` to `high`, equally far apart in `place_of`; fewer where doubles are too coarse.

    >>> spread_edges(0.0, 4.0, 4)[-3:]
    (0.00146484375, 0.078125, 4.0)
    >>> spread_edges(1024.0, 2048.0, 4)
    (1024.0, 1280.0, 1536.0, 1792.0, 2048.0)
    """
    a, b = place_of(low), place_of(high)
    between = (float(number_at(a + (b - a) * i / cells)) + 0.0 for i in range(1, cells))
    edges = (low + 0.0, *between, high + 0.0)
    return tuple(dict.fromkeys(edges))


def place_of(x: float) -> Fraction:
    """A number on a scale that is even up to 2⁻²⁰ and then takes as long for each doubling, exactly.

    It is like asinh, with straight lines between powers of two, so that no machine rounds it otherwise.

    >>> [str(place_of(x)) for x in (0.0, 2.0**-20, -1.0, 1.5)]
    ['0', '1', '-21', '43/2']
    """
    size = abs(Fraction(x)) * (1 << -FIRST)
    if size <= 1:
        return size if x >= 0 else -size
    doublings = (size.numerator // size.denominator).bit_length() - 1
    place = doublings + size / (1 << doublings)
    return place if x >= 0 else -place


def number_at(place: Fraction) -> Fraction:
    """The number at a place: the inverse of `place_of`.

    >>> number_at(Fraction(43, 2)), number_at(Fraction(-1, 2)) == Fraction(-1, 2**21)
    (Fraction(3, 2), True)
    """
    size = abs(place)
    doublings = max(math.floor(size) - 1, 0)
    found = (size - doublings) * Fraction(2) ** (doublings + FIRST)
    return found if place >= 0 else -found

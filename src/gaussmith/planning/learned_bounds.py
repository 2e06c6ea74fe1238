"""Learned bounds: counts over powers of two find where a column's numbers lie, zooms make it sharp, cost decides.

cells      people by the power of two that their number lies in                 6 % of μ²
zoom 1–3   16 cells of one width, of a few neighbouring cells of one sign       4 % each, if needed
answers    within the bounds of least cost, rounded                             all that is left
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

from gaussmith.planning.staging import ANSWERS, NOTHING, Rule, Seen, StageStep

# The line cut into cells, of which noisy counts are seen: signed powers of two, or cells of one width.
#
# Edges are exact doubles, so that every engine decides by the same comparisons. What lies beyond the outer edges is
# in open cells; here these get an end too, one cell away, because a bound must lie somewhere.

FIRST, LAST = -20, 40
"""The exponents of the first and the last power of two."""

ZOOM_CELLS = 16
"""How many cells of one width a zoom has inside its ends."""


@dataclass(frozen=True)
class Line:
    """Cells by their inner edges, with the lower and the upper end of each."""

    edges: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    is_zoomed: bool

    @property
    def cells(self) -> int:
        return len(self.lower)


def powers_of_two() -> Line:
    """123 cells with the edges ±2^k, k = −20 … 40. The one in the middle holds 0, and its ends count as 0.

    >>> line = powers_of_two()
    >>> line.cells, line.lower[61], line.upper[61], line.lower[62] == 2**-20, line.upper[-1] == 2**41
    (123, 0.0, 0.0, True, True)
    """
    powers = [2.0**k for k in range(FIRST, LAST + 1)]
    edges = (*(-p for p in reversed(powers)), *powers)
    far = 2.0 ** (LAST + 1)
    lower, upper = [-far, *edges], [*edges, far]
    middle = len(powers)
    lower[middle] = upper[middle] = 0.0
    return Line(edges, tuple(lower), tuple(upper), False)


def equal_line(low: float, high: float) -> Line | None:
    """Cells of one width from `low` to `high`; None where doubles are too coarse for so many.

    >>> equal_line(0.0, 32.0).edges[:3]
    (0.0, 2.0, 4.0)
    """
    a, b = Fraction(low), Fraction(high)
    edges = tuple(float(a + (b - a) * i / ZOOM_CELLS) for i in range(ZOOM_CELLS + 1))
    width = (b - a) / ZOOM_CELLS
    ends = float(a - width), float(b + width)
    if not all(x < y for x, y in itertools.pairwise((ends[0], *edges, ends[1]))):
        return None
    return Line(edges, (ends[0], *edges), (*edges, ends[1]), True)


# Where the numbers of people lie, from noisy counts of cells; and the bounds that make the error of a sum least.
#
# Two noisy counts describe a column: how many people have their lowest value in each cell, and how many their
# highest. Where a person has one value both are the same.

CORE, CORE_OF_ZOOM = 1e-6, 1e-3
"""The probability that noise alone puts some cell into the core: of the whole line, and of a zoom into a part of it."""

FAINT = 0.01
"""The same for a single cell that is taken where no cell is in the core."""

STEP = 2.5
"""By how many standard errors a cell must exceed 0 to be added to the region."""

NOISE = 1.25
"""The error of a sum in units of half the width over μ: between a sum alone (1) and a sum beside a count."""

Counts = Sequence[float]
Region = tuple[int, int]


def find_region(line: Line, lowest: Counts, highest: Counts, error: float) -> Region | None:
    """The first and the last cell that people are in; None where nothing stands out of the noise.

    The core are the outermost cells that noise alone would hardly show. It grows one cell at a time while the next
    cell, or the next two together, stand out. A false step then costs a factor of 2, not one of 2^30.
    """
    size = line.cells
    bar = -NormalDist().inv_cdf((CORE_OF_ZOOM if line.is_zoomed else CORE) / size) * error
    core = [i for i in range(size) if max(lowest[i], highest[i]) > bar]
    if not core:
        largest = max(range(size), key=lambda i: max(lowest[i], highest[i]))
        if max(lowest[largest], highest[largest]) <= -NormalDist().inv_cdf(FAINT / size) * error:
            return None
        core = [largest]
    first, last = core[0], core[-1]
    while last + 1 < size and _stands_out(highest[last + 1 : last + 3], error):
        last += 1
    while first > 0 and _stands_out(lowest[max(first - 2, 0) : first][::-1], error):
        first -= 1
    return first, last


def _stands_out(following: Counts, error: float) -> bool:
    """Whether the next cell, or the next two together, are more than noise."""
    return following[0] > STEP * error or (len(following) > 1 and sum(following) > STEP * math.sqrt(2) * error)


def least_bounds(
    line: Line, lowest: Counts, highest: Counts, error: float, region: Region, mu: float
) -> tuple[float, float]:
    """The ends of cells, at most one beyond the region, with the least squared noise plus squared clipping of a sum.

        (1.25 (hi − lo) / 2μ)² + (Σ n_i (mid_i − hi)₊)² + (Σ n_i (lo − mid_i)₊)²

    What was seen in the region counts as it was seen, not below 0. The cell next to it counts as far as its people
    could have stayed unseen: between a quarter and one standard error.
    """
    first, last = region
    middles = [(a + b) / 2 for a, b in zip(line.lower, line.upper, strict=True)]
    above = {i: max(highest[i], 0.0) for i in range(first, last + 1)}
    below = {i: max(lowest[i], 0.0) for i in range(first, last + 1)}
    if last + 1 < line.cells:
        above[last + 1] = min(max(highest[last + 1], error / 4), error)
    if first > 0:
        below[first - 1] = min(max(lowest[first - 1], error / 4), error)
    starts = range(max(first - 1, 0), last + 1)
    stops = range(first, min(last + 1, line.cells - 1) + 1)
    down = {i: sum(n * max(line.lower[i] - middles[k], 0.0) for k, n in below.items()) for i in starts}
    up = {j: sum(n * max(middles[k] - line.upper[j], 0.0) for k, n in above.items()) for j in stops}
    best = min(
        (math.hypot(NOISE * (line.upper[j] - line.lower[i]) / (2 * mu), up[j], down[i]), i, j)
        for i in starts
        for j in stops
        if j >= i and line.upper[j] > line.lower[i]
    )
    return line.lower[best[1]], line.upper[best[2]]


# Bounds that people like: the roundest numbers just outside of those that were learned.

ROOM = Fraction(1, 200)
"""By how much of the width each end may move outwards: together less than 1 % more noise."""


def rounded_bounds(low: float, high: float) -> tuple[float, float]:
    """The roundest bounds that hold these and are at most 1 % wider.

    >>> rounded_bounds(0.0, 131072.0)
    (0.0, 131500.0)
    >>> rounded_bounds(-16.0, 498.7)
    (-16.0, 500.0)
    """
    a, b = Fraction(low), Fraction(high)
    room = (b - a) * ROOM
    return 0.0 - _roundest(-a, -a + room), _roundest(b, b + room)


def _roundest(first: Fraction, last: Fraction) -> float:
    """The multiple of the largest of 1, 2, 5, 10, 20, … (or tenths, …) from `first` to `last`, the nearest to `first`.

    As a double it is never below `first`.
    """
    if first <= 0 <= last:
        return 0.0
    exponent = math.floor(math.log10(max(abs(first), abs(last)))) + 1
    for power in range(exponent, exponent - 40, -1):
        for digit in (5, 2, 1):
            step = digit * Fraction(10) ** power
            multiple = math.ceil(first / step) * step
            if multiple <= last and Fraction(float(multiple)) >= first:
                return float(multiple)
    return float(first)


CELLS = "cells"

VALUE, TOTAL = "value", "total"
"""What has bounds: one row, or a person's total over all rows."""

NEARLY = 0.98
"""The part of a zoom's people that its region must hold to be trusted with generous bounds."""

NEAR = 1 / 16
"""Generous bounds are extended to 0 where that is at most so much of their far end."""

FEW, FEW_IN_ZOOM = 5, 3
"""A region of at most so many cells is zoomed into: of powers of two, and of a zoom."""


class Target(NamedTuple):
    """A column whose bounds are learned.

    of:            "value" (bounds of one row) or "total" (of a person's total)
    low, high:     the questions of a stage that count people by their lowest and their highest value; one name for
                   both where a person has one value
    """

    column: str
    of: str
    low: str
    high: str

    @property
    def name(self) -> str:
        return f"total of {self.column}" if self.of == "total" else self.column

    @property
    def questions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.low, self.high)))


class _Found(NamedTuple):
    """What is known of a target so far: its cells, what was seen in them, and the region that people are in."""

    line: Line
    seen: Seen
    region: Region | None


@dataclass(frozen=True)
class LearnBounds:
    """The rule of `bounds = "private"`; shares are parts of μ², `clipped` is that of a diagnosis in the last stage."""

    targets: tuple[Target, ...]
    cells: Fraction
    zoom: Fraction
    rounds: int
    clipped: Fraction

    kind: ClassVar[str] = "bounds"

    @property
    def most_before(self) -> Fraction:
        """The share of the cells and of all zooms."""
        return self.cells + self.rounds * self.zoom

    def step(self, seen: Sequence[Seen], left: Fraction) -> StageStep:
        """The cells, a zoom of all columns that need one, or the answers within learned bounds."""
        if not seen:
            line = powers_of_two()
            asked = {question: list(line.edges) for target in self.targets for question in target.questions}
            return StageStep(CELLS, self.cells, {"edges": asked})
        found = self._found(seen)
        if all(each.region is None and not each.line.is_zoomed for each in found.values()):
            return StageStep(NOTHING, None, {"bounds": [], "unknown": [list(target[:2]) for target in self.targets]})
        zooms = self._zooms(found) if len(seen) <= self.rounds else {}
        if zooms:
            asked = {question: list(each.edges) for target, each in zooms.items() for question in target.questions}
            return StageStep(f"zoom {len(seen)}", self.zoom, {"edges": asked})
        mu = math.sqrt(left / len(self.targets))
        bounds = {target: _bounds(target, each, mu) for target, each in found.items()}
        known = [[*target[:2], *pair] for target, pair in bounds.items() if pair is not None]
        unknown = [list(target[:2]) for target, pair in bounds.items() if pair is None]
        return StageStep(ANSWERS, None, {"bounds": known, "unknown": unknown})

    def _found(self, seen: Sequence[Seen]) -> dict[Target, _Found]:
        """What is known of each target after these stages."""
        line = powers_of_two()
        found = {target: _Found(line, seen[0], _region(target, line, seen[0])) for target in self.targets}
        for each in seen[1:]:
            for target, line in self._zooms(found).items():
                found[target] = _Found(line, each, _region(target, line, each))
        return found

    def generous_bounds(self, seen: Sequence[Seen]) -> dict[tuple[str, str], tuple[float, float] | None]:
        """Bounds that hold all cells in which people were seen, whatever noise they cost; None where none were.

        A zoom counts if nearly everybody in it is in its region, or next to it; else its own ends are the bounds. 0 is
        held too where that costs little. None stands too for a column in which only zeros were seen.
        """
        return {target[:2]: _ends(target, each) for target, each in self._found(seen).items()}

    def _zooms(self, found: Mapping[Target, _Found]) -> dict[Target, Line]:
        """The cells of the next zoom of each target whose region is a few cells of one sign."""
        lines = {target: _zoom_of(each) for target, each in found.items() if target.of != TOTAL}
        return {target: line for target, line in lines.items() if line is not None}

    def to_dict(self) -> dict[str, Any]:
        shares = {name: str(getattr(self, name)) for name in ("cells", "zoom", "clipped")}
        return {"kind": self.kind, "targets": [list(each) for each in self.targets], "rounds": self.rounds, **shares}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Rule:
        shares = (Fraction(fields[name]) for name in ("cells", "zoom", "clipped"))
        cells, zoom, clipped = shares
        return cls(
            tuple(Target(*map(str, each)) for each in fields["targets"]), cells, zoom, int(fields["rounds"]), clipped
        )

    def describe(self) -> list[str]:
        """The stages and their shares."""
        names = ", ".join(target.name for target in self.targets)
        diagnosis = f"; of this, {_percent(self.clipped)} of the budget is for the diagnosis" if self.clipped else ""
        return [
            f"stage 1, {_percent(self.cells)} of the budget: people by powers of two, for the bounds of {names}",
            f"then at most {self.rounds} zooms, {_percent(self.zoom)} each, where numbers lie far from 0",
            f"then the answers within the learned bounds, with all that is left{diagnosis}",
        ]


def _percent(share: Fraction) -> str:
    return f"{100 * float(share):.3g} %"


def _region(target: Target, line: Line, seen: Seen) -> Region | None:
    return find_region(line, seen.values[target.low], seen.values[target.high], _error(target, seen))


def _error(target: Target, seen: Seen) -> float:
    return max(seen.errors[target.high])


def _zoom_of(found: _Found) -> Line | None:
    """The cells of the next zoom: the region and one cell to either side; None where it is sharp, or lies around 0."""
    line, region = found.line, found.region
    if region is None or line.edges[0] == line.edges[-1]:
        return None
    first, last = region
    if last - first + 1 > (FEW_IN_ZOOM if line.is_zoomed else FEW):
        return None
    if not (line.is_zoomed or line.lower[first] > 0 or line.upper[last] < 0):
        return None
    return equal_line(line.lower[max(first - 1, 0)], line.upper[min(last + 1, line.cells - 1)])


def _bounds(target: Target, found: _Found, mu: float) -> tuple[float, float] | None:
    """The bounds of one target; a zoom in which nothing stands out has its own ends as bounds."""
    line, seen, region = found
    if region is None:
        return rounded_bounds(line.edges[0], line.edges[-1]) if line.is_zoomed else None
    values = (seen.values[target.low], seen.values[target.high])
    low, high = least_bounds(line, *values, _error(target, seen), region, mu)
    if target.of == TOTAL:  # in a group, or without a value, a person's total may be 0
        low, high = min(low, 0.0), max(high, 0.0)
    return rounded_bounds(low, high)


def _ends(target: Target, found: _Found) -> tuple[float, float] | None:
    line, seen, region = found
    if not line.is_zoomed and (region is None or line.lower[region[0]] == line.upper[region[1]]):
        return None
    low, high = line.edges[0], line.edges[-1]
    if not line.is_zoomed:
        assert region is not None
        low, high = line.lower[region[0]], line.upper[region[1]]
    elif region is not None:
        first, last = max(region[0] - 1, 0), min(region[1] + 1, line.cells - 1)
        if all(
            sum(seen.values[name][first : last + 1]) >= NEARLY * sum(seen.values[name]) for name in target.questions
        ):
            below, above = low, high
            low, high = line.lower[first], line.upper[last]
            low, high = (max(low, 0.0) if below >= 0 else low), (min(high, 0.0) if above <= 0 else high)
    if 0 < low <= NEAR * high:
        low = 0.0
    if NEAR * low <= high < 0:
        high = 0.0
    return rounded_bounds(low, high)

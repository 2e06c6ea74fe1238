"""Learned bounds: counts over powers of two find where a column's numbers lie, zooms make it sharp, cost decides.

cells      people by the power of two that their number lies in                 6 % of μ²
zoom 1–3   16 cells of one width, of a few neighbouring cells of one sign       4 % each, if needed
answers    within the bounds of least cost, rounded                             all that is left
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from gaussmith.stages.line import Line, equal_line, powers_of_two
from gaussmith.stages.region import Region, find_region, least_bounds
from gaussmith.stages.round_numbers import rounded_bounds
from gaussmith.stages.rule import ANSWERS, NOTHING, Rule, Seen, Step
from gaussmith.values import dataclass

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
    """The rule of `bounds = "private"`; shares are parts of μ², `clipped` belongs to the last stage."""

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

    def step(self, seen: Sequence[Seen], left: Fraction) -> Step:
        """The cells, a zoom of all columns that need one, or the answers within learned bounds."""
        if not seen:
            line = powers_of_two()
            asked = {question: list(line.edges) for target in self.targets for question in target.questions}
            return Step(CELLS, self.cells, {"edges": asked})
        found = self._found(seen)
        if all(each.region is None and not each.line.is_zoomed for each in found.values()):
            return Step(NOTHING, None, {"bounds": [], "unknown": [list(target[:2]) for target in self.targets]})
        zooms = self._zooms(found) if len(seen) <= self.rounds else {}
        if zooms:
            asked = {question: list(each.edges) for target, each in zooms.items() for question in target.questions}
            return Step(f"zoom {len(seen)}", self.zoom, {"edges": asked})
        mu = math.sqrt(left / len(self.targets))
        bounds = {target: _bounds(target, each, mu) for target, each in found.items()}
        known = [[*target[:2], *pair] for target, pair in bounds.items() if pair is not None]
        unknown = [list(target[:2]) for target, pair in bounds.items() if pair is None]
        return Step(ANSWERS, None, {"bounds": known, "unknown": unknown})

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
        return [
            f"stage 1, {_percent(self.cells)} of the budget: people by powers of two, for the bounds of {names}",
            f"then at most {self.rounds} zooms, {_percent(self.zoom)} each, where numbers lie far from 0",
            "then the answers within the learned bounds, with all that is left; of this, "
            f"{_percent(self.clipped)} of the budget counts the people who are clipped",
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

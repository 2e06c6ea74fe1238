"""Cells around a place that is chosen: what one person adds to a choice, and to the numbers around what was chosen.

A quantile's cell is chosen among fine cells of one width, about 2^20 within the bounds of a column. Then people are
counted between edges around it, at distances of 1, 2, 3, 5, 8, … cells. Whatever is chosen, a person is in one cell
between edges or in none; and changes the ranks of the choice by at most Δ (docs/theory.md, statement 79).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.domains.cells import Cells
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.errors import damaged_plan
from gaussmith.numerics.exact import Array
from gaussmith.privacy.choices import charge_of_choice, rank_sensitivity

Places = npt.NDArray[np.int64]

GROWTH = 1.5
"""By how much each distance is longer than the one before. Measured: 1.3 and 2 give intervals as wide, 3 wider ones."""

BITS = 20
"""There are about 2^20 fine cells."""

MOST_DECIMALS = 20


@lru_cache(maxsize=8)
def distances_within(cells: int) -> tuple[int, ...]:
    """How far edges are from the chosen cell, in cells.

    >>> distances_within(30)
    (1, 2, 3, 5, 8, 11, 17, 26)
    """
    found: list[int] = []
    far = 1.0
    while far < cells:
        if not found or round(far) > found[-1]:
            found.append(round(far))
        far *= GROWTH
    return tuple(found)


def edges_around(chosen: Any, cells: int) -> Places:
    """The edges around chosen cells in order, those of the cell itself among them; none beyond 0 and `cells`.

    >>> edges_around(4, 8).tolist()
    [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8]
    """
    far = np.array(distances_within(cells))
    steps = np.concatenate([-far[::-1], [0, 1], 1 + far])
    return np.asarray(np.clip(np.asarray(chosen, np.int64)[..., None] + steps, 0, cells))


@dataclass(frozen=True)
class FineCells:
    """Cells of one width from `low` on; the last ends at `top`, whatever is beyond."""

    low: float
    top: float
    width: float
    cells: int

    @classmethod
    def within(cls, low: float, top: float) -> FineCells:
        """The cells that the codes of a column have in common but for their last digits.

        A value is in the cell of its code, which is off by half a code: the bounds over 2^42.

        >>> FineCells.within(0.0, 100.0)
        FineCells(low=0.0, top=100.0, width=0.0001220703125, cells=819201)
        """
        codes = codes_within(low, top)
        steps, shift = int(codes.steps[0]), shift_within(codes)
        return cls(low, top, math.ldexp(1.0, shift) / float(codes.scale[0]), (steps >> shift) + 1)

    @property
    def around(self) -> int:
        """How many cells there are between edges around a chosen one."""
        return 2 * len(distances_within(self.cells)) + 3

    @property
    def nominal(self) -> list[float]:
        """As many limits as there will be around a chosen cell, evenly: they stand for these until one is chosen."""
        return [float(each) for each in np.linspace(self.low, self.top, self.around + 1)]

    def edge(self, place: Any) -> Array:
        """Where cells begin.

        >>> FineCells(0.0, 10.0, 0.25, 40).edge([0, 3, 40]).tolist()
        [0.0, 0.75, 10.0]
        """
        return np.asarray(np.minimum(self.low + np.asarray(place, float) * self.width, self.top))

    def value(self, place: int) -> float:
        """The number in a cell with the fewest decimals, the nearest to its middle.

        >>> FineCells(0.0, 10.0, 10 / 2**10, 2**10).value(300), FineCells(0.0, 10.0, 10 / 2**10, 2**10).value(512)
        (2.93, 5.0)
        """
        low, high = (float(self.edge(each)) for each in (place, place + 1))
        for decimals in range(MOST_DECIMALS):
            found = math.ceil(low * 10**decimals) / 10**decimals
            if low <= found < high:
                middle = round((low + high) / 2, decimals)
                return middle if low <= middle < high else found
        return (low + high) / 2


def codes_within(low: float, top: float, stand_in: float | None = None) -> BoxEncoding:
    """How values are coded; `stand_in` is what a missing one counts as."""
    return BoxEncoding.for_bounds([low], [top], [low if stand_in is None else stand_in])


def shift_within(codes: BoxEncoding) -> int:
    """How many digits of a code say where in its cell it is."""
    return max(0, int(codes.steps[0]).bit_length() - BITS)


@dataclass(frozen=True, init=False)
class ChosenCells(Cells):
    """The cells around the quantile of a column that is chosen at ε, within bounds: one cell of each person, or none.

    >>> ChosenCells("age", Fraction(1, 2), (0.0, 100.0), Fraction(1, 10))
    ChosenCells(69 values of age around its quantile 1/2, chosen at ε = 0.1; or none)
    """

    kind = "chosen cells"
    chosen = 1
    found_with_noise = ("epsilon",)

    level: Fraction
    within: tuple[float, float]
    epsilon: Fraction

    def __init__(self, column: str, level: Fraction, within: tuple[float, float], epsilon: Fraction) -> None:
        Cells.__init__(self, {column: FineCells.within(*within).around}, or_none=True)
        object.__setattr__(self, "level", level)
        object.__setattr__(self, "within", within)
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def fine(self) -> FineCells:
        return FineCells.within(*self.within)

    def sensitivity_of_ranks(self, neighbours: str) -> Fraction:
        """Δ: by how much one person changes the ranks of the choice."""
        return rank_sensitivity(self.level, neighbours)

    def charge(self, neighbours: str, groups: int, grouped: bool) -> Fraction:
        """What the choices of all groups of a person take of μ²; rounded up."""
        return charge_of_choice(self.epsilon, self.level, neighbours, groups, grouped)

    def at(self, epsilon: Fraction) -> ChosenCells:
        """The same, chosen at another ε."""
        return ChosenCells(self.attribute_name(0), self.level, self.within, epsilon)

    def to_dict(self) -> dict[str, Any]:
        own = {"column": self.attribute_name(0), "level": str(self.level), "within": list(self.within)}
        return {"kind": self.kind, **own, "epsilon": str(self.epsilon)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> ChosenCells:
        low, top = map(float, fields["within"])
        level, epsilon = Fraction(fields["level"]), Fraction(fields["epsilon"])
        if not (0 < level < 1 and 0 < epsilon <= 100 and low < top):
            raise damaged_plan("a choice that cannot be made")
        return cls(str(fields["column"]), level, (low, top), epsilon)

    def __repr__(self) -> str:
        of = f"{self.attribute_name(0)} around its quantile {self.level}, chosen at ε = {float(self.epsilon):g}"
        return f"ChosenCells({self.dimension} values of {of}; or none)"

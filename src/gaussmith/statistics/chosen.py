"""A quantile whose value is chosen among fine cells, with an interval from noisy numbers around it.

    1. the cell of the quantile is chosen by the exponential mechanism, among about 2^20 cells (`noise.selection`)
    2. edges are put around it, at distances that grow by half: 1, 2, 3, 5, 8, … cells, up to the bounds
    3. the numbers of people between these edges get noise, and the interval is read from them as from any cells

The edges follow from a choice that is released, so given the edges the noise of step 3 is fresh, and the interval holds
as that of `statistics.quantile` does: wherever the choice fell, at ties and bounds, and where there is nobody at all.
Features are the noisy numbers below each edge, and after them the chosen cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np

from gaussmith.domains.features import Places
from gaussmith.numerics.exact import Array
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.statistic import Noisy

GROWTH = 1.5
"""By how much each distance is longer than the one before. Measured: 1.3 and 2 give intervals as wide, 3 wider ones."""

FOR_VALUE = 1 / 3
"""The share of μ² for the choice; the rest is for the numbers around it. Measured: intervals are then no wider than
those over 256 cells, and the value is off by two thirds as many ranks."""

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

    @property
    def around(self) -> int:
        """How many cells there are between edges around a chosen one."""
        return 2 * len(distances_within(self.cells)) + 3

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


@dataclass(frozen=True, eq=False)
class ChosenQuantiles(Quantiles):
    """One quantile whose cell is chosen; read from the noisy numbers below edges around it, and the place chosen."""

    kind = "chosen quantile"
    field = None

    fine: FineCells
    spread: float
    """Root mean square of the ranks by which the choice is off, where cells are finer than people."""

    @classmethod
    def around(cls, name: str, level: float, fine: FineCells, spread: float) -> Self:
        """The quantile of this level; its edges stand for those around the middle until one is chosen."""
        limits = np.concatenate([[0], edges_around(fine.cells // 2, fine.cells), [fine.cells]])
        plain = Quantiles.reading([name], [level], limits.tolist())
        return cls(plain.names, plain.places, plain.weights, plain.levels, plain.edges, fine, spread)

    @property
    def chosen(self) -> int:
        """How many places are chosen: they stand after the noisy numbers."""
        return 1

    def largest_variances(self, noisy: Noisy, limits: Any) -> Array:
        """Of ranks."""
        return np.full(len(self.levels), self.spread**2)

    def limits_of(self, noisy: Noisy) -> Array:
        """All edges around what was chosen, the bounds included: groups × (cells + 1)."""
        fine = self.fine
        inner = edges_around(noisy.features[..., self.cells].astype(np.int64), fine.cells)
        ends = np.zeros((*inner.shape[:-1], 1), np.int64)
        return fine.edge(np.concatenate([ends, inner, ends + fine.cells], axis=-1))

    def values(self, noisy: Noisy) -> Array:
        """What was chosen; not a number where there are no values, as far as noise tells."""
        places = noisy.features[..., self.cells]
        found = np.array([self.fine.value(int(place)) for place in places.ravel()]).reshape(places.shape)
        return np.asarray(np.where(noisy.features[..., self.cells - 1] > 0, found, np.nan)[..., None])

    def _inverted(self, noisy: Noisy, widths: float | Array, sampled: bool) -> tuple[Array, Array]:
        """The hull of the cells that may hold the quantile, and of the value: it lies in one of them but for luck."""
        by_number = self.reading_over(np.arange(self.cells + 1.0))
        low, high = by_number._inverted(noisy, widths, sampled)
        limits, values = self.limits_of(noisy), self.values(noisy)
        ends = []
        for each, better in ((low, np.fmin), (high, np.fmax)):
            at = np.where(np.isfinite(each), each, 0).astype(np.int64)
            known = better(np.take_along_axis(limits, at, axis=-1), values)
            ends.append(np.where(np.isfinite(each), known, each))
        return ends[0], ends[1]

    def reading_over(self, limits: Array) -> Quantiles:
        """The same read from the noisy numbers below these edges alone."""
        return Quantiles(self.names, self.places, self.weights, self.levels, limits)

    def gradient(self, noisy: Noisy) -> tuple[Places, Array]:
        """That of the crossing between the edges around the estimate, in one group."""
        return self.reading_over(self.limits_of(noisy)).gradient(noisy)

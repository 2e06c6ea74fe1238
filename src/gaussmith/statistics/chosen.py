"""A quantile whose value is chosen among fine cells, with an interval from noisy numbers around it.

    1. the cell of the quantile is chosen by the exponential mechanism, among about 2^20 cells (`noise.selection`)
    2. edges are put around it, at distances that grow by half: 1, 2, 3, 5, 8, … cells, up to the bounds
    3. the numbers of people between these edges get noise, and the interval is read from them as from any cells

The edges follow from a choice that is released, so given the edges the noise of step 3 is fresh, and the interval holds
as that of `statistics.quantile` does: wherever the choice fell, at ties and bounds, and where there is nobody at all.
Features are the noisy numbers below each edge, and after them the chosen cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gaussmith.domains.chosen_cells import FineCells, edges_around
from gaussmith.domains.features import Places
from gaussmith.numerics.exact import Array
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.statistic import Noisy

FOR_VALUE = 1 / 3
"""The share of μ² for the choice; the rest is for the numbers around it. Measured: intervals are then no wider than
those over 256 cells, and the value is off by two thirds as many ranks."""


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
        plain = Quantiles.reading([name], [level], fine.nominal)
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
        inner = edges_around(np.nan_to_num(noisy.features[..., self.cells]).astype(np.int64), fine.cells)
        ends = np.zeros((*inner.shape[:-1], 1), np.int64)
        return fine.edge(np.concatenate([ends, inner, ends + fine.cells], axis=-1))

    def values(self, noisy: Noisy) -> Array:
        """What was chosen; not a number where there are no values, as far as noise tells."""
        places = np.nan_to_num(noisy.features[..., self.cells])
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

    def at(self, levels: Sequence[float]) -> ChosenQuantiles:
        """Other quantiles, read from the same noisy numbers; the chosen one as it is."""
        if list(levels) == self.levels.tolist():
            return self
        plain = Quantiles.reading(tuple(f"q{level:g}" for level in levels), levels, self.edges.tolist())
        own = (plain.names, plain.places, plain.weights, plain.levels, plain.edges)
        return AroundChosen(*own, self.fine, self.spread)

    def distribution(self, noisy: Noisy, width: float | Array) -> tuple[Array, Array, Array, Array]:
        """The inner edges of one group, the share of values below each, and the ends of their intervals."""
        return self.reading_over(self.limits_of(noisy)).distribution(noisy, width)

    # -- saved form ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"spread": self.spread}


class AroundChosen(ChosenQuantiles):
    """Quantiles of levels that were not chosen: crossings of the noisy numbers between the edges of another's."""

    def values(self, noisy: Noisy) -> Array:
        """Of one group."""
        return self.reading_over(self.limits_of(noisy)).values(noisy)

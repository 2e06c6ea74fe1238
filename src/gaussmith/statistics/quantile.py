"""Quantiles: read from the noisy numbers of records below each edge of declared cells.

The quantile q of n values is the smallest x with at least qn of the values at or below x. With y_k the noisy number of
values below edge k and n̂ that of all values,

    G_k = y_k − q·n̂,    Var G_k = C_kk − 2q·C_kn + q²·C_nn.

A cell from edge k − 1 to edge k may hold the quantile if G_{k−1} ≤ z·sd(G_{k−1}) and G_k ≥ −z·sd(G_k); the interval is
the hull of these cells. Of the cell that does hold it each side fails with probability at most α/2, so the interval is
right with probability 1 − α at least, however many cells there are (docs/theory.md).

The estimate is where the increasing numbers nearest to y (pool adjacent violators) cross q·n̂, on a straight line
between the edges of the cell. It always lies inside the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from gaussmith.domains.features import BoundedColumn, Places
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array
from gaussmith.statistics.mean import fieller_intervals
from gaussmith.statistics.statistic import CELLS, AskedAnswer, Noisy, Statistic

MEDIAN = "median"


@dataclass(frozen=True, eq=False)
class Quantiles(Statistic):
    """Quantiles of one column from its prefix counts, which are the features, in order; the last counts all values.

    Before a release their errors are in ranks: how many people the estimate may be off by.
    """

    kind = "quantile"
    field: ClassVar[str | None] = "quantiles"
    over = CELLS
    of_columns = False
    skips = True
    counts_beside = False
    coefficients = (1.0, 0.0)
    inverted = True

    levels: Array
    """Which quantiles, each within (0, 1)."""
    edges: Array
    """The edges of all cells: one more than cells; the outer ones may be infinite."""

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """Columns, each with names and levels of its quantiles, its cells, and which number of a person is meant."""
        found = []
        for column, (levels, cut, made) in wanted.items():
            inner = cut.ends or (cut.edges[0], cut.edges[-1])
            bounded = (BoundedColumn(column, *inner),)
            found.append(AskedAnswer(cls.kind, bounded, (column, levels, cut, made), (column,), len(levels)))
        return found

    @classmethod
    def reading(cls, names: Sequence[str], levels: Sequence[float], limits: Sequence[float]) -> Self:
        """Quantiles over cells with these edges."""
        cells, q = len(limits) - 1, np.array(levels, float)
        leads = np.clip(np.rint(q * cells).astype(np.int64) - 1, 0, cells - 1)
        places = np.column_stack([leads, np.full(len(q), cells - 1)])
        return cls(tuple(names), places, np.ones(len(q)), q, np.array(limits, float))

    @classmethod
    def label(cls, column: str, level: float) -> str:
        """What a quantile of a column is called.

        >>> Quantiles.label("income", 0.1), Quantiles.label("income", 0.025)
        ('income_q10', 'income_q2.5')
        """
        percent = Fraction(repr(float(level))) * 100
        return f"{column}_q{percent if percent.denominator == 1 else repr(float(percent))}"

    @property
    def cells(self) -> int:
        return len(self.edges) - 1

    # -- what they are worth ---------------------------------------------------------------------------------------

    @property
    def factors(self) -> Array:
        """Of ranks: the number below an edge less q times that of all."""
        return np.column_stack([np.ones(len(self.levels)), -self.levels])

    def worth(self, size: int) -> list[tuple[Places, Array]]:
        """Each quantile as much as one answer, spread evenly over all edges: it may lie anywhere."""
        return [(np.arange(size), np.full(size, float(self.weights.sum()) / size))]

    def averaged_variances(self, noisy: Noisy) -> Array:
        """Of the numbers below an edge, on average over the edges."""
        return np.full(len(self.levels), float(noisy.variances[: self.cells].mean()))

    def largest_variances(self, noisy: Noisy, limits: Callable[[Places], Array]) -> Array:
        """Of ranks, at the worst edge."""
        return np.asarray(self._variances(noisy).max(axis=1))

    # -- how they are read -----------------------------------------------------------------------------------------

    def _variances(self, noisy: Noisy) -> Array:
        """Var G of each quantile at each edge, the outer ones included: quantiles × (cells + 1)."""
        B = self.cells
        every, last = np.arange(B), np.full(B, B - 1)
        own, beside = noisy.variance(every), noisy.covariance(every, last)
        own, beside, q = np.append(0.0, own), np.append(0.0, beside), self.levels[:, None]
        return np.asarray(np.maximum(own - 2 * q * beside + q * q * own[-1], 0.0))

    def _below(self, noisy: Noisy) -> Array:
        """The noisy numbers below every edge, the outer ones included: groups × (cells + 1)."""
        y = noisy.features[..., : self.cells]
        return np.concatenate([np.zeros((*y.shape[:-1], 1)), y], axis=-1)

    def values(self, noisy: Noisy) -> Array:
        """The estimates; not a number where there are no values, or where the estimate is in an open cell."""
        y = self._below(noisy)
        found = np.array([self._estimates(each) for each in y.reshape(-1, self.cells + 1)])
        return found.reshape(*y.shape[:-1], len(self.levels))

    def _estimates(self, y: Array) -> Array:
        """Of one group."""
        monotone, n = increasing(y), y[-1]
        if not n > 0:
            return np.full(len(self.levels), np.nan)
        targets = self.levels * n
        after = np.clip(np.searchsorted(monotone, targets, side="left"), 1, self.cells)
        before, upto = monotone[after - 1], monotone[after]
        low, high = self.edges[after - 1], self.edges[after]
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = np.clip((targets - before) / (upto - before), 0.0, 1.0)
            return np.where(np.isfinite(low) & np.isfinite(high), low + (high - low) * inside, np.nan)

    def intervals(self, noisy: Noisy, width: float | Array, method: str = "fieller") -> tuple[Array, Array]:
        """Hulls of the cells that may hold the quantile; the whole line where there may be no values at all."""
        return self._inverted(noisy, width, False)

    def population_intervals(self, noisy: Noisy, width: float | Array) -> tuple[Array, Array]:
        """The same for the quantile of the population that the people were sampled from, independently.

        Var G_k grows by n̂q(1 − q), the variance of how many of n sampled values are below the quantile. Approximate:
        that number is binomial, and n̂ is noisy.
        """
        return self._inverted(noisy, width, True)

    def _inverted(self, noisy: Noisy, widths: float | Array, sampled: bool) -> tuple[Array, Array]:
        width = float(np.max(widths))  # the widest is right for all
        y, variances = self._below(noisy)[..., None, :], self._variances(noisy)
        n, q = y[..., -1:], self.levels[:, None]
        spread = np.sqrt(variances + np.maximum(n, 0.0) * q * (1 - q) * sampled)
        G = y - q * n
        # No value is below the lowest edge and all are below the highest: nothing is tested there.
        starts = G[..., :-1] <= width * spread[..., :-1]
        stops = G[..., 1:] >= -width * spread[..., 1:]
        starts[..., 0], stops[..., -1] = True, True
        kept = starts & stops
        first, last = kept.argmax(axis=-1), self.cells - 1 - kept[..., ::-1].argmax(axis=-1)
        some = n[..., 0] > width * math.sqrt(float(noisy.variances[self.cells - 1]))
        return (
            np.asarray(np.where(some, self.edges[first], -np.inf)),
            np.asarray(np.where(some, self.edges[last + 1], np.inf)),
        )

    def errors(self, noisy: Noisy) -> Array:
        """Half the length of the interval one standard error of G to either side; infinite where that is open."""
        low, high = self.intervals(noisy, 1.0)
        return np.asarray((high - low) / 2)

    def gradient(self, noisy: Noisy) -> tuple[Places, Array]:
        """Of the crossing on a straight line between the edges around the estimate: to first order, in one group."""
        y, values = self._below(noisy), self.values(noisy)
        found = np.zeros((len(self.levels), noisy.features.shape[-1]))
        for i, (q, x) in enumerate(zip(self.levels, values, strict=True)):
            if not np.isfinite(x):
                found[i] = np.nan
                continue
            k = int(np.clip(np.searchsorted(self.edges, x, side="right"), 1, self.cells))
            low, high = self.edges[k - 1], self.edges[k]
            slope, inside = (y[k] - y[k - 1]) / (high - low), (x - low) / (high - low)
            per = 1.0 / slope if slope > 0 else np.nan
            found[i, k - 1] -= inside * per
            if k > 1:
                found[i, k - 2] -= (1 - inside) * per
            found[i, self.cells - 1] += q * per
        return np.broadcast_to(np.arange(found.shape[1]), found.shape), found

    def at(self, levels: Sequence[float]) -> Self:
        """Other quantiles of the same cells."""
        return type(self).reading(tuple(f"q{level:g}" for level in levels), levels, self.edges.tolist())

    def distribution(self, noisy: Noisy, width: float | Array) -> tuple[Array, Array, Array, Array]:
        """The inner edges, the share of values below each, and the ends of the intervals of these (each by itself)."""
        B = self.cells
        every, last = np.arange(B - 1), np.full(B - 1, B - 1)
        over, below = noisy.at(every), noisy.at(last)
        spread = noisy.variance(every), noisy.variance(last), noisy.covariance(every, last)
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = fieller_intervals(width, over, below, *spread)
            rising = np.array([increasing(each) for each in self._below(noisy).reshape(-1, B + 1)])
            shares = rising.reshape(*over.shape[:-1], B + 1)[..., 1:-1] / below
        return self.edges[1:-1], np.where(below > 0, shares, np.nan), np.clip(low, 0, 1), np.clip(high, 0, 1)

    # -- parts and saved form --------------------------------------------------------------------------------------

    def picked(self, at: Sequence[int], places: Places) -> Self:
        what, rule = "some quantiles of a plan", "all of them are read from the same cells"
        raise PlanError(what, rule, "choose them from the release", code="quantiles-picked-apart")

    def to_dict(self) -> dict[str, Any]:
        limits = [edge if math.isfinite(edge) else None for edge in self.edges.tolist()]
        return {"kind": self.kind, "names": list(self.names), "levels": self.levels.tolist(), "limits": limits}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], size: int) -> Self:
        """The quantiles that `to_dict` described, over so many cells; refuses what does not fit."""
        limits, levels = np.array(fields["limits"], float), np.array(fields["levels"], float)  # None becomes NaN
        limits[:1] = np.where(np.isnan(limits[:1]), -np.inf, limits[:1])
        limits[-1:] = np.where(np.isnan(limits[-1:]), np.inf, limits[-1:])
        right = fields["kind"] == cls.kind and limits.shape == (size + 1,) and bool((np.diff(limits) > 0).all())
        inside = levels.shape == (len(fields["names"]),) and bool(((levels > 0) & (levels < 1)).all())
        if not (right and inside and levels.size):
            raise damaged_plan("quantiles that do not fit their cells")
        return cls.reading(list(map(str, fields["names"])), levels.tolist(), limits.tolist())


def increasing(y: Array) -> Array:
    """The nearest increasing numbers to y (pool adjacent violators), from 0 up to its last.

    >>> increasing(np.array([0.0, 3.0, 1.0, 6.0, 5.0])).tolist()
    [0.0, 2.0, 2.0, 5.0, 5.0]
    """
    from scipy.optimize import isotonic_regression

    found = np.clip(isotonic_regression(y[1:]).x, 0.0, max(float(y[-1]), 0.0))
    return np.concatenate([[0.0], found[:-1], [max(float(y[-1]), 0.0)]])

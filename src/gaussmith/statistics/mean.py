"""Means: the middle of the bounds plus a ratio of two noisy features.

    mean = middle + numerator / denominator

The numerator is a sum of distances from the middle, the denominator the number of records or of rows.
Intervals cover the noise alone: not clipping to the bounds, not the sampling of people into the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gaussmith.checks import is_number
from gaussmith.domains.features import MEAN, ROW_SUM, TOTAL, BoundedColumn, Need, One, Places, Value
from gaussmith.errors import PlanError, RequestError, nearest
from gaussmith.notations import setting
from gaussmith.numerics.exact import Array
from gaussmith.statistics.statistic import Ground, Noisy, Statistic


@dataclass(frozen=True, eq=False)
class Means(Statistic):
    """Ratios of the first feature to the second, each measured from its middle.

    The error of a mean times the noisy n is exactly the numerator's error less u times that of n, where u is the mean's
    distance from the middle. Noise is chosen for the mean square of u over the bounds (`spread`); stated errors use
    the largest u, so that they hold wherever the mean lies.
    """

    kind = "mean"
    field = "means"
    coefficients = (1.0, 0.0)
    divided = True
    skips = True

    middles: Array
    spread: Array
    """The mean square distance of each mean from its middle."""
    within: Array | None = None
    """Between which numbers each mean lies, where that is stated: means × 2, infinite where it is not."""

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        """Distances from the middle, of records, of people's own means or of rows; and how many of these there are."""
        if of == "rows":
            return Value(columns[0], ROW_SUM, centred=True), One(of_rows=True)
        return Value(columns[0], TOTAL if of == "records" else MEAN, centred=True), One()

    @classmethod
    def placed(cls, names: Sequence[str], places: Places, weights: Array, ground: Ground) -> Self:
        middles, spread = ground
        return cls(names, places, weights, middles(places[:, 0]), spread(places[:, 0]))

    @property
    def squares(self) -> Array:
        return np.column_stack([np.ones(len(self.spread)), self.spread])

    def picked(self, at: Sequence[int], places: Places) -> Self:
        chosen, some = super().picked(at, places), list(at)
        within = None if self.within is None else self.within[some]
        return replace(chosen, middles=self.middles[some], spread=self.spread[some], within=within)

    def largest_variances(self, noisy: Noisy, limits: Callable[[Places], Array]) -> Array:
        """Var N + 2u|Cov| + u² Var D at the largest distance u."""
        over, below = self.places.T
        farthest = largest_distances(self, limits)
        crossed = 2 * farthest * np.abs(noisy.covariance(over, below))
        return np.asarray(noisy.variance(over) + crossed + farthest * farthest * noisy.variance(below))

    def to_dict(self) -> dict[str, Any]:
        if self.within is None:
            return super().to_dict()
        stated = [pair if np.isfinite(pair).all() else None for pair in self.within.tolist()]
        return super().to_dict() | {"within": stated}

    def _ratio(self, noisy: Noisy) -> tuple[Array, ...]:
        """Numerators, denominators, their variances and their covariance, of each mean."""
        over, below = self.places.T
        return (
            noisy.at(over),
            noisy.at(below),
            noisy.variance(over),
            noisy.variance(below),
            noisy.covariance(over, below),
        )

    def values(self, noisy: Noisy) -> Array:
        """The means; not a number of no records."""
        over, below = self.places.T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.middles + noisy.at(over) / noisy.at(below))

    def errors(self, noisy: Noisy) -> Array:
        """By the delta method, in the mean's own units."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return ratio_errors(*self._ratio(noisy))

    def intervals(self, noisy: Noisy, width: float | Array, method: str) -> tuple[Array, Array]:
        """Exact intervals by Fieller's method, or approximate ones by the delta method.

        A noisy number of records far below 0 is no more a number to divide by than one near 0: the whole line.
        """
        ends = fieller_intervals if method == "fieller" else delta_intervals
        ratio = self._ratio(noisy)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = ends(width, *ratio)
        if method == "fieller":
            low, high = np.where(ratio[1] > 0, low, -np.inf), np.where(ratio[1] > 0, high, np.inf)
        return self.middles + low, self.middles + high

    def gradient(self, noisy: Noisy) -> tuple[Places, Array]:
        """1/D for the numerator, −N/D² for the denominator."""
        over, below = (noisy.at(places) for places in self.places.T)
        below = np.where(below == 0, np.nan, below)  # no error to speak of
        return self.places, np.column_stack([1 / below, -over / below**2])

    def fraction(self, at: int) -> tuple[Array, Array | None, float] | None:
        return np.array([1.0, 0.0]), np.array([0.0, 1.0]), float(self.middles[at])

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """A mean lies within the bounds of its column."""
        places = self.places[:, 0]
        return lowest(places), highest(places)


def largest_distances(statistic: Statistic, limits: Callable[[Places], Array]) -> Array:
    """The largest distance of each mean from its middle, up to the farther bound or where it is stated to lie; 0 for
    other answers. `limits` are those of features."""
    if not isinstance(statistic, Means):
        return np.zeros(len(statistic.weights))
    distances = limits(statistic.places[:, 0])
    if statistic.within is None:
        return distances
    return np.asarray(np.minimum(distances, np.abs(statistic.within - statistic.middles[:, None]).max(axis=1)))


def stated_means(statistic: Statistic) -> npt.NDArray[np.bool_]:
    """Of which answers it is stated between which numbers they lie."""
    if not isinstance(statistic, Means) or statistic.within is None:
        return np.zeros(len(statistic.weights), bool)
    return np.asarray(np.isfinite(statistic.within).all(axis=1))


def stating(statistic: Statistic, within: Mapping[str, tuple[float, float]]) -> Statistic:
    """The same where it is stated, by name, between which numbers means lie; other answers cannot use it."""
    if not isinstance(statistic, Means):
        return statistic
    anywhere = (-np.inf, np.inf)
    stated = np.array([within.get(name, anywhere) for name in statistic.names], float).reshape(-1, 2)
    return replace(statistic, within=stated if np.isfinite(stated).any() else None)


def read_mean_within(stated: Any, bounds: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Between which numbers means lie, by column: bounds, or the middle fraction of their bounds; or one for all.

    >>> read_mean_within({"age": (30, 50)}, {"age": (0, 100)}), read_mean_within(0.5, {"age": (0, 100)})
    ({'age': (30.0, 50.0)}, {'age': (25.0, 75.0)})
    """
    if is_number(stated):
        stated = dict.fromkeys(bounds, stated)
    if not isinstance(stated, Mapping):
        rule = "it must map columns to where their means lie, or be a fraction of the bounds"
        remedy = f"write {setting('mean_within', {'age': [30, 50]})}"
        raise RequestError(f"mean_within={stated!r}"[:120], rule, remedy, code="mean-within-malformed", stated=stated)
    found = {}
    for column, where in stated.items():
        if column not in bounds:
            what, rule = f"mean_within names {column!r}", "it must be a column whose mean is asked for"
            remedy = nearest(str(column), list(bounds))
            raise RequestError(what, rule, remedy, code="mean-within-of-unasked-mean", column=column)
        low, high = bounds[column]
        pair = where
        if is_number(where):
            middle, half = low / 2 + high / 2, (high / 2 - low / 2) * float(where)
            pair = (max(low, middle - half), min(high, middle + half)) if 0 < where <= 1 else ()
        fits = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2 and all(map(is_number, pair))
        if not (fits and low <= pair[0] < pair[1] <= high):
            what = f"mean_within of {column!r} = {where!r}"[:120]
            rule = f"it must be two numbers within the bounds [{low:g}, {high:g}], or a fraction of them up to 1"
            remedy = f"write {setting('mean_within', {column: [low, high]})} with narrower numbers, or leave it out"
            raise RequestError(what, rule, remedy, code="mean-within-outside-bounds", column=column, stated=where)
        found[str(column)] = (float(pair[0]), float(pair[1]))
    return found


def check_method(method: str) -> str:
    """The method for intervals of ratios: "fieller" or "delta"; refuses others."""
    if method not in ("fieller", "delta"):
        rule, remedy = 'it must be "fieller" or "delta"', nearest(str(method), ["fieller", "delta"])
        raise PlanError(f"method={method!r}", rule, remedy, code="unknown-interval-method", method=method)
    return method


def fieller_intervals(
    width: float | Array, numerators: Array, denominators: Array, variances: Array, below: Array, both: Array
) -> tuple[Array, Array]:
    """Fieller intervals of numerator/denominator when both have Gaussian noise: exact coverage at any size.

        { ρ : (N − ρ D)² ≤ width² (Var N − 2ρ Cov + ρ² Var D) }

    `variances`, `below`, `both` are Var N, Var D, Cov. If the sign of the denominator is unclear because of the
    noise, the set is unbounded: then the interval is the whole line.
    """
    z2 = width * width
    A = denominators * denominators - z2 * below
    B = numerators * denominators - z2 * both
    C = numerators * numerators - z2 * variances
    root = np.sqrt(np.maximum(B * B - A * C, 0.0))
    known = A > 0  # otherwise the denominator may be zero
    return np.where(known, (B - root) / A, -np.inf), np.where(known, (B + root) / A, np.inf)


def delta_intervals(
    width: float | Array, numerators: Array, denominators: Array, variances: Array, below: Array, both: Array
) -> tuple[Array, Array]:
    """Intervals of numerator/denominator by the delta method: symmetric, accurate far from a zero denominator."""
    ratio = numerators / denominators
    errors = ratio_errors(numerators, denominators, variances, below, both)
    return ratio - width * errors, ratio + width * errors


def ratio_errors(numerators: Array, denominators: Array, variances: Array, below: Array, both: Array) -> Array:
    """The standard error of numerator/denominator to first order."""
    ratio = numerators / denominators
    spread = variances - 2 * ratio * both + ratio * ratio * below
    return np.asarray(np.sqrt(np.maximum(spread, 0.0)) / np.abs(denominators))

"""Means: an offset and a ratio of two noisy features.

    mean = offset + numerator / denominator

The numerator is a sum of distances from the offset; the denominator is the number of records or of rows.
Intervals cover the noise only, not clipping to the bounds or the sampling of people into the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.linear import Array
from gaussmith.statistics.statistic import Noisy

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Means:
    """Means given by the positions of their numerators; `over` has those of the denominators, −1 for the count."""

    places: Places
    over: Places
    offsets: Array

    def _denominators(self, noisy: Noisy) -> Array:
        by_count = self.over < 0
        return np.where(by_count, noisy.count[..., None], noisy.features[..., np.maximum(self.over, 0)])

    def _moments(self, noisy: Noisy) -> tuple[Array, Array, Array]:
        """Var(numerator), Var(denominator) and their covariance, for each mean."""
        below, both = np.zeros(len(self.places)), np.zeros(len(self.places))
        last = noisy.features.shape[-1] - 1
        for over in np.unique(self.over):
            if over < 0 and not noisy.counted:
                continue  # a public number has no noise
            row, at = last if over < 0 else int(over), self.over == over
            below[at], both[at] = noisy.variances[row], noisy.covariances(row)[self.places[at]]
        return noisy.variances[self.places], below, both

    def values(self, noisy: Noisy) -> Array:
        """The means; NaN if there are no records."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.offsets + noisy.features[..., self.places] / self._denominators(noisy))

    def errors(self, noisy: Noisy) -> Array:
        """Standard errors by the delta method, in the units of the mean."""
        numerators, denominators = noisy.features[..., self.places], self._denominators(noisy)
        with np.errstate(divide="ignore", invalid="ignore"):
            return ratio_errors(numerators, denominators, *self._moments(noisy))

    def intervals(self, noisy: Noisy, width: float, method: str) -> tuple[Array, Array]:
        """Exact intervals by Fieller's method, or approximate ones by the delta method."""
        ends = fieller_intervals if method == "fieller" else delta_intervals
        numerators, denominators = noisy.features[..., self.places], self._denominators(noisy)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = ends(width, numerators, denominators, *self._moments(noisy))
        return self.offsets + low, self.offsets + high

    def gradient(self, noisy: Noisy) -> Array:
        """The gradient: 1/D for the numerator, −N/D² for the denominator."""
        last = noisy.features.shape[-1] - 1
        found = np.zeros((len(self.places), last + 1))
        for row, (place, over) in enumerate(zip(self.places.tolist(), self.over.tolist(), strict=True)):
            below = float(noisy.count if over < 0 else noisy.features[over]) or np.nan  # no meaningful error
            found[row, place] = 1 / below
            if over >= 0 or noisy.counted:
                found[row, last if over < 0 else over] = -noisy.features[place] / below**2
        return found


def check_method(method: str) -> str:
    """The method for intervals of ratios: "fieller" or "delta"; refuses others."""
    if method not in ("fieller", "delta"):
        rule, remedy = 'it must be "fieller" or "delta"', nearest(str(method), ["fieller", "delta"])
        raise PlanError(f"method={method!r}", rule, remedy, code="unknown-interval-method", method=method)
    return method


def fieller_intervals(
    width: float, numerators: Array, denominators: Array, variances: Array, below: Array, both: Array
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
    width: float, numerators: Array, denominators: Array, variances: Array, below: Array, both: Array
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

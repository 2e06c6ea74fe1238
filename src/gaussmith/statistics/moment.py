"""Statistics of second moments: ratios N/D of smooth functions of noisy sums, squares and products.

Each reads n, Σu, Σu² and Σ u_i u_j with u measured from the middle of the bounds (squares less a public constant). Its
standard error is that of the delta method. Its interval is Fieller's for N and D, both to first order in the noise:

    { ρ : (N − ρD)² ≤ width² · Var(dN − ρ dD) }

The noise in n and in what is divided by is thus allowed for; what is left out are products of two noises, of which the
mean is taken off (S² becomes S² − Var S). Where D may be 0, or a variance would not be positive, the answer is unknown:
not a number, between minus and plus infinity. Nothing is moved to where it would make sense.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gaussmith.domains.features import BoundedColumn, Places
from gaussmith.numerics.exact import Array
from gaussmith.statistics.mean import delta_intervals, fieller_intervals, ratio_errors
from gaussmith.statistics.statistic import MOMENTS, ONE, Ground, Noisy, Statistic

REFERENCE = 0.3
"""The standard deviation, as a share of the half range, at which errors of ratios are stated before a release."""

MEAN_SQUARE = 0.075
"""The mean square of a mean's distance from the middle, as a share of the half range squared, for which noise is
chosen: a mean within the middle half."""

NUMBER_SQUARE = 0.05
"""What the number of records is worth beside a square, for which noise is chosen; a fifth of it beside a product."""


Covariance = Callable[[Sequence[int]], Array]
"""Of the noise in some needs of each answer, with each other: answers × some × some."""


class Ratio(NamedTuple):
    """N and D of each answer (groups × answers), their slopes in each need, and whether they can be told."""

    over: Array
    below: Array
    over_slopes: Array
    below_slopes: Array
    known: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Moment(Statistic):
    """Answers that need several features each; the last need is the number of records."""

    over = MOMENTS
    skips = True
    divided = True
    lead: ClassVar[int] = 0
    """Which of the needs the answer is mostly about."""

    middles: Array
    """What each need is measured from: answers × needs, 0 for the number of records."""
    halves: Array
    """Half the range of each need, in its own units: answers × needs, 1 for the number of records."""

    @classmethod
    def placed(cls, names: Sequence[str], places: Places, weights: Array, ground: Ground) -> Self:
        middles, spread = ground
        told = places != ONE
        moved, sizes = np.zeros(places.shape), np.ones(places.shape)
        moved[told], sizes[told] = middles(places[told]), np.sqrt(3.0 * spread(places[told]))
        return cls(names, places, weights, moved, sizes)

    def picked(self, at: Sequence[int], places: Places) -> Self:
        some = list(at)
        return replace(super().picked(at, places), middles=self.middles[some], halves=self.halves[some])

    # -- what it is worth -----------------------------------------------------------------------------------------

    @property
    def squares(self) -> Array:
        """The mean square by which n times the answer changes with each need, for which noise is chosen."""
        return np.zeros(self.places.shape)

    @property
    def lead_scales(self) -> Array:
        """By how much n times the answer changes with its lead, where errors are stated."""
        return np.ones(len(self.weights))

    @property
    def leads(self) -> Places:
        return np.full(len(self.weights), self.lead)

    @property
    def factors(self) -> Array:
        """That of the lead alone."""
        found, at = np.zeros(self.places.shape), np.arange(len(self.places))
        found[at, self.leads] = self.lead_scales
        return found

    # -- how it is read -------------------------------------------------------------------------------------------

    def ratio(self, x: Array, covariance: Covariance) -> Ratio:
        """N and D from the features (groups × answers × needs), given how their noise goes together."""
        raise NotImplementedError(f"{self.kind} is not read")

    def scaled(self, numbers: Array) -> Array:
        """Values of N/D as answers, and ends of intervals; increasing."""
        return numbers

    def scaled_errors(self, numbers: Array, errors: Array) -> Array:
        """Standard errors of N/D as those of the answers."""
        return errors

    def _read(self, noisy: Noisy) -> tuple[Ratio, tuple[Array, ...]]:
        """The ratios, then N, D, their variances and covariance."""
        found: tuple[Ratio, tuple[Array, ...]] = noisy.kept.get(self) or self._found(noisy)
        noisy.kept[self] = found
        return found

    def _found(self, noisy: Noisy) -> tuple[Ratio, tuple[Array, ...]]:
        answers, needs = self.places.shape
        x = noisy.at(self.places.ravel()).reshape(*noisy.features.shape[:-1], answers, needs)
        dense = noisy.rows.dense()

        def covariance(some: Sequence[int]) -> Array:
            rows = noisy.rows_at(dense, self.places[:, some].ravel()).reshape(answers, len(some), -1)
            return np.asarray(rows @ rows.swapaxes(1, 2) * noisy.unit)

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = self.ratio(x, covariance)
            slopes = np.stack([found.over_slopes, found.below_slopes])
            noise = np.empty_like(slopes)  # how that in each need goes together with that in N and in D
            for at, places in enumerate(self.places):
                rows = noisy.rows_at(dense, places)
                spread = np.linalg.multi_dot([slopes[..., at, :].reshape(-1, needs), rows, rows.T]) * noisy.unit
                noise[..., at, :] = spread.reshape(noise[..., at, :].shape)
            both = [(noise[one] * slopes[other]).sum(axis=-1) for one, other in ((0, 0), (1, 1), (0, 1))]
        return found, (found.over, found.below, *both)

    def values(self, noisy: Noisy) -> Array:
        found, (over, below, *_) = self._read(noisy)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(found.known, self.scaled(over / below), np.nan)

    def errors(self, noisy: Noisy) -> Array:
        found, parts = self._read(noisy)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = self.scaled_errors(parts[0] / parts[1], ratio_errors(*parts))
        return np.where(found.known, errors, np.nan)

    def intervals(self, noisy: Noisy, width: float | Array, method: str) -> tuple[Array, Array]:
        """Fieller's of N and D to first order, or the delta method's; the whole line where an answer is unknown."""
        found, parts = self._read(noisy)
        ends = fieller_intervals if method == "fieller" else delta_intervals
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (self.scaled(end) for end in ends(width, *parts))
        known = found.known & np.isfinite(low) & np.isfinite(high)
        return np.where(known, low, -np.inf), np.where(known, high, np.inf)

    def gradient(self, noisy: Noisy) -> tuple[Places, Array]:
        found, (over, below, *_) = self._read(noisy)
        value = (over / below)[..., None]
        slopes = (found.over_slopes - value * found.below_slopes) / below[..., None]
        ones = np.ones_like(over)
        return self.places, np.asarray(slopes * (self.scaled_errors(over / below, ones))[..., None])

    @property
    def reference_squares(self) -> Array:
        """The mean squares of all slopes in the needs, in units of the lead's, where errors are stated."""
        return self.squares

    def largest_variances(self, noisy: Noisy, limits: Callable[[Places], Array]) -> Array:
        """At the reference, on average over where means, slopes and correlations may lie: there is no largest one."""
        found = np.zeros(len(self.weights))
        for k, square in enumerate(self.reference_squares.T):
            found = found + square * noisy.variance(self.places[:, k])
        return np.asarray(self.lead_scales**2 * found)


def bounded(wanted: Mapping[str, tuple[float, float]]) -> list[BoundedColumn]:
    """Columns with their bounds, from a field of a question."""
    return [BoundedColumn(name, low, high) for name, (low, high) in wanted.items()]


def centred_product(
    x: Array, covariance: Covariance, product: int, first: int, second: int, shift: Array
) -> tuple[Array, Array]:
    """n times a variance or covariance, and its slopes: P + shift·n − (S_a S_b − Cov)/n, at these places among needs.

    `shift` is what squares are measured from, with the sign turned; 0 for a product of two columns.
    """
    P, a, b, n = x[..., product], x[..., first], x[..., second], x[..., -1]
    slopes = np.zeros(x.shape)
    slopes[..., product] = 1.0
    slopes[..., first] -= b / n
    slopes[..., second] -= a / n
    slopes[..., -1] += shift + a * b / (n * n)
    return P + shift * n - (a * b - covariance((first, second))[:, 0, 1]) / n, slopes


def number_slopes(x: Array) -> Array:
    """The slopes of n itself."""
    slopes = np.zeros(x.shape)
    slopes[..., -1] = 1.0
    return slopes

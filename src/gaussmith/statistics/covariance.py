"""Covariances of two columns over records, and correlations beside them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gaussmith.domains.features import BoundedColumn, FeatureProduct, Need, One, Places, Value
from gaussmith.numerics.exact import Array
from gaussmith.statistics.moment import (
    MEAN_SQUARE,
    NUMBER_SQUARE,
    REFERENCE,
    Covariance,
    Moment,
    Ratio,
    bounded,
    centred_product,
    number_slopes,
)
from gaussmith.statistics.statistic import AskedAnswer, Noisy

CORRELATION_SQUARE = 0.4
"""The mean square of a correlation for which noise is chosen."""


@dataclass(frozen=True, eq=False)
class Covariances(Moment):
    """Σ(x − mean x)(y − mean y)/n."""

    kind = "covariance"
    field: ClassVar[str | None] = "covariance"
    coefficients = (1.0, 0.0, 0.0, 0.0)

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """The covariance of every two columns, then the correlations."""
        pairs = list(itertools.combinations(bounded(wanted), 2))
        every, kinds = tuple(wanted), ("covariance", "correlation")
        return [AskedAnswer(kind, pair, present=every) for kind in kinds for pair in pairs]

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        first, second = columns
        made = Value.made_of(of)
        values = (Value(column, made, centred=True) for column in columns)
        return FeatureProduct(first, second, made), *values, One()

    @property
    def squares(self) -> Array:
        a, b = self.halves[:, 1] ** 2, self.halves[:, 2] ** 2
        return np.column_stack([np.ones(len(a)), MEAN_SQUARE * b, MEAN_SQUARE * a, NUMBER_SQUARE / 5 * a * b])

    def ratio(self, x: Array, covariance: Covariance) -> Ratio:
        over, slopes = centred_product(x, covariance, 0, 1, 2, np.zeros(len(self.weights)))
        n = x[..., -1]
        return Ratio(over, n, slopes, number_slopes(x), n > 0)

    def largest_variances(self, noisy: Noisy, limits: Callable[[Places], Array]) -> Array:
        """To first order wherever the data lie: each mean and the number at their farthest."""
        product, first, second, n = (noisy.variance(places) for places in self.places.T)
        a, b = self.halves[:, 1] ** 2, self.halves[:, 2] ** 2
        return np.asarray(product + b * first + a * second + a * b * n)

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """Largest where half of the records are at each bound of both columns."""
        most = self.halves[:, 1] * self.halves[:, 2]
        return -most, most


@dataclass(frozen=True, eq=False)
class Correlations(Moment):
    """A covariance over the root of two variances; unknown where their noisy matrix is not positive definite."""

    kind = "correlation"
    coefficients = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def needs_spread(self) -> slice:
        return slice(3, 5)

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        first, second = columns
        made = Value.made_of(of)
        products = (FeatureProduct(a, b, made) for a, b in ((first, second), (first, first), (second, second)))
        return *products, *(Value(column, made, centred=True) for column in columns), One()

    @property
    def squares(self) -> Array:
        """Of the two variances alone: the covariance that is asked beside it weighs the product."""
        found, (a, b) = np.zeros(self.places.shape), self.halves[:, 3:5].T ** 2
        found[:, 1], found[:, 2] = CORRELATION_SQUARE / 4 * b / a, CORRELATION_SQUARE / 4 * a / b
        return found

    @property
    def reference_squares(self) -> Array:
        found, (a, b) = self.squares, self.halves[:, 3:5].T ** 2
        found[:, 0], found[:, 3], found[:, 4] = 1.0, MEAN_SQUARE * b, MEAN_SQUARE * a
        return found

    @property
    def lead_scales(self) -> Array:
        return np.asarray(1.0 / (REFERENCE**2 * self.halves[:, 3] * self.halves[:, 4]))

    def ratio(self, x: Array, covariance: Covariance) -> Ratio:
        nothing = np.zeros(len(self.weights))
        over, slopes = centred_product(x, covariance, 0, 3, 4, nothing)
        a, of_a = centred_product(x, covariance, 1, 3, 3, -self.middles[:, 1])
        b, of_b = centred_product(x, covariance, 2, 4, 4, -self.middles[:, 2])
        below = np.sqrt(a * b)
        below_slopes = (below / 2)[..., None] * (of_a / a[..., None] + of_b / b[..., None])
        known = (x[..., -1] > 0) & (a > 0) & (b > 0) & (np.abs(over) < below)
        return Ratio(over, below, slopes, below_slopes, known)

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """Between −1 and 1."""
        one = np.ones(len(self.weights))
        return -one, one


# Variances of a column over records, and standard deviations beside them: the mean square less the squared mean.


@dataclass(frozen=True, eq=False)
class Variances(Moment):
    """Σ(x − mean)²/n. The number of records is divided by, not one less.

    >>> import gaussmith as gm, numpy as np
    >>> plan = gm.plan(gm.Moments({"age": (0, 100)}), gm.Guarantee(mu=1e6), answers="variances")
    >>> plan.release(np.array([[40.0], [60.0]] * 50)).values.round(3)
    array([100.,  10.])
    """

    kind = "variance"
    field: ClassVar[str | None] = "variances"
    coefficients = (1.0, 0.0, 0.0)

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """The variance of each column, then the standard deviations."""
        kinds, columns = ("variance", "sd"), bounded(wanted)
        return [AskedAnswer(kind, (each,), present=(each.name,)) for kind in kinds for each in columns]

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        (column,) = columns
        made = Value.made_of(of)
        return FeatureProduct(column, column, made), Value(column, made, centred=True), One()

    @property
    def squares(self) -> Array:
        half = self.halves[:, 1] ** 2
        return np.column_stack([np.ones(len(half)), 4 * MEAN_SQUARE * half, NUMBER_SQUARE * half**2])

    def ratio(self, x: Array, covariance: Covariance) -> Ratio:
        over, slopes = centred_product(x, covariance, 0, 1, 1, -self.middles[:, 0])
        n = x[..., -1]
        return Ratio(over, n, slopes, number_slopes(x), (n > 0) & (over > 0))

    def largest_variances(self, noisy: Noisy, limits: Callable[[Places], Array]) -> Array:
        """To first order wherever the data lie: 4m² Var Σu + Var(Σu² − t n), largest at a corner of (m², t)."""
        square, value, n = self.places.T
        half, shift = self.halves[:, 1] ** 2, -self.middles[:, 0]
        of_square, of_n, both = noisy.variance(square), noisy.variance(n), noisy.covariance(square, n)
        found = np.zeros(len(self.weights))
        for mean, mean_square in ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
            t = (mean_square - 2 * mean) * half - shift
            spread = of_square - 2 * t * both + t * t * of_n
            found = np.maximum(found, 4 * mean * half * noisy.variance(value) + spread)
        return found

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """Not negative, and largest where half of the records are at each bound."""
        return np.zeros(len(self.weights)), self.scaled(self.halves[:, 1] ** 2)


@dataclass(frozen=True, eq=False)
class StandardDeviations(Variances):
    """The roots of variances, with roots of their ends as ends; they come beside variances and cost nothing more."""

    kind = "sd"
    field = None

    @property
    def squares(self) -> Array:
        return np.zeros(self.places.shape)

    @property
    def lead_scales(self) -> Array:
        return np.asarray(0.5 / (REFERENCE * self.halves[:, 1]))

    def scaled(self, numbers: Array) -> Array:
        return np.sqrt(np.maximum(numbers, 0.0))

    def scaled_errors(self, numbers: Array, errors: Array) -> Array:
        return np.asarray(errors / (2 * np.sqrt(np.maximum(numbers, 0.0))))

    @property
    def reference_squares(self) -> Array:
        return super().squares

    def largest_variances(self, noisy: Noisy, limits: Callable[[Places], Array]) -> Array:
        """At the reference: the error of a root has no largest one."""
        return Moment.largest_variances(self, noisy, limits)

"""Covariances of two columns over records, and correlations beside them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.problem.features import BoundedColumn, Need, One, Places, Product, Value
from gaussmith.statistics.moment import (
    MEAN_SQUARE,
    NUMBER_SQUARE,
    REFERENCE,
    Moment,
    Ratio,
    bounded,
    centred_product,
    number_slopes,
)
from gaussmith.statistics.statistic import AskedAnswer, Noisy
from gaussmith.values import dataclass

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
        return [AskedAnswer(kind, pair, tuple(wanted)) for kind in ("covariance", "correlation") for pair in pairs]

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        first, second = columns
        made = Value.made_of(of)
        values = (Value(column, made, centred=True) for column in columns)
        return Product(first, second, made), *values, One()

    @property
    def squares(self) -> Array:
        a, b = self.halves[:, 1] ** 2, self.halves[:, 2] ** 2
        return np.column_stack([np.ones(len(a)), MEAN_SQUARE * b, MEAN_SQUARE * a, NUMBER_SQUARE / 5 * a * b])

    def ratio(self, x: Array, covariance: Array) -> Ratio:
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
        products = (Product(a, b, made) for a, b in ((first, second), (first, first), (second, second)))
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

    def ratio(self, x: Array, covariance: Array) -> Ratio:
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

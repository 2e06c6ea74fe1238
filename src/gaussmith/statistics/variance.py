"""Variances of a column over records, and standard deviations beside them: the mean square less the squared mean."""

from __future__ import annotations

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
        return [AskedAnswer(kind, (column,)) for kind in ("variance", "sd") for column in bounded(wanted)]

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        (column,) = columns
        made = Value.made_of(of)
        return Product(column, column, made), Value(column, made, centred=True), One()

    @property
    def squares(self) -> Array:
        half = self.halves[:, 1] ** 2
        return np.column_stack([np.ones(len(half)), 4 * MEAN_SQUARE * half, NUMBER_SQUARE * half**2])

    def ratio(self, x: Array, covariance: Array) -> Ratio:
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

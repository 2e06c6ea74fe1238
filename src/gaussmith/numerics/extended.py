"""A matrix with one more column: what features take from a number that another noise has."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, Integers, Matrix
from gaussmith.values import dataclass


@dataclass(frozen=True, eq=False)
class Extended(Matrix):
    """Features of any kind with a last column beside them; it is saved without that column.

    >>> from gaussmith.numerics.linear import Diagonal
    >>> Extended(Diagonal(np.ones(2)), np.array([3.0, 4.0])).times(np.array([1.0, 2.0, 10.0]))
    array([31., 42.])
    """

    inner: Matrix
    last: Array

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.inner.shape
        return rows, columns + 1

    def times(self, vector: Array) -> Array:
        return np.asarray(self.inner.times(vector[:-1]) + self.last * vector[-1])

    def exact_times(self, vector: Integers) -> NoReturn:
        raise _only_read()

    def scaled(self, columns: Array) -> NoReturn:
        raise _only_read()

    def row_norms(self) -> Array:
        return np.hypot(self.inner.row_norms(), self.last)

    def row(self, i: int) -> Array:
        return np.append(self.inner.row(i), self.last[i])

    def dense(self) -> Array:
        return np.column_stack([self.inner.dense(), self.last])

    def without_last(self) -> Matrix:
        return self.inner

    def to_dict(self) -> dict[str, Any]:
        raise _only_read()


def _only_read() -> PlanError:
    what, rule = "features with a number that another noise has", "they only compute answers, in doubles"
    return PlanError(what, rule, "plan again", code="extended-features-as-lift")

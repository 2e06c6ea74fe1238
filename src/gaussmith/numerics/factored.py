"""A lift over many columns through a few numbers: left · inner · diag(columns), kept as three parts.

What a few answers take from a record is written down as it was given (`inner`): rounded together with the rest, columns
that are multiples of each other would no longer be, and the vertices of what they span could not be told exactly.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, Integers, Matrix, NormBounds
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.numerics.products import common_power, integer_rows, python, shift
from gaussmith.values import dataclass


@dataclass(frozen=True, eq=False)
class Factored(Matrix):
    """The matrix left (m × p) · inner (p × q) · diag(columns), never multiplied out where it is used exactly.

    >>> lift = Factored(np.array([[0.5]]), np.array([[1.0, 3.0]]), np.array([2.0, 4.0]))
    >>> lift.dense(), lift.exact_times([1, 2])
    (array([[1., 6.]]), [13])
    """

    left: Array
    inner: Array
    columns: Array

    def __post_init__(self) -> None:
        parts = (self.left, self.inner, self.columns)
        fit = [part.ndim for part in parts] == [2, 2, 1]
        fit = fit and self.left.shape[1] == len(self.inner) and self.inner.shape[1] == len(self.columns)
        if not fit or not all(np.isfinite(part).all() for part in parts):
            raise PlanError(
                "a factored matrix with an entry that is not finite or out of range",
                "its three parts must hold finite numbers and fit together",
                "plan again; if this persists, the scales of bounds or weights are too far apart",
                code="factored-matrix-not-finite",
            )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.columns)

    def times(self, vector: Array) -> Array:
        return np.asarray(self.left @ (self.inner @ (self.columns * vector)))

    def exact_times(self, vector: Integers) -> Integers:
        (scales, unit), (inner, powers), (left, lasts) = self._integers
        scaled = [c * k for c, k in zip(scales, python(vector), strict=True)]
        least = min(powers, default=0)
        middle = [
            sum(h * x for h, x in zip(row, scaled, strict=True)) << (power - least)
            for row, power in zip(inner, powers, strict=True)
        ]
        return [
            shift(sum(a * y for a, y in zip(row, middle, strict=True)), last + least + unit)
            for row, last in zip(left, lasts, strict=True)
        ]

    @cached_property
    def _integers(
        self,
    ) -> tuple[tuple[list[int], int], tuple[list[list[int]], list[int]], tuple[list[list[int]], list[int]]]:
        """The three parts as integers and powers of two: the columns over one power, the others row by row."""
        return common_power(self.columns.tolist()), integer_rows(self.inner), integer_rows(self.left)

    def scaled(self, columns: Array) -> Factored:
        return Factored(self.left, self.inner, self.columns * columns)

    def row_norms(self) -> Array:
        return np.asarray(np.linalg.norm(self.dense(), axis=1))

    def row(self, i: int) -> Array:
        return np.asarray(self.left[i] @ self.inner * self.columns)

    def dense(self) -> Array:
        """All entries, rounded."""
        return np.asarray(self.left @ self.inner * self.columns)

    def largest(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.factored is None else bounds.factored(self)

    def without_last(self) -> Factored:
        return Factored(self.left, self.inner[:, :-1], self.columns[:-1])

    def to_dict(self) -> dict[str, Any]:
        parts = {"left": self.left, "inner": self.inner, "columns": self.columns}
        return {"kind": "factored"} | {name: pack(part) for name, part in parts.items()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Factored:
        """The matrix that `to_dict` described."""
        return cls(unpack(fields["left"]), unpack(fields["inner"]), unpack(fields["columns"]))

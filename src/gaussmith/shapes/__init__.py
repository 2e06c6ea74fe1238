"""Shapes of the noise, one file per method of choosing it. A shape never looks at data."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.numerics.linear import Array, Matrix, matrix_from_dict
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.problem import Domain, Features, Problem
from gaussmith.values import dataclass


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape at μ = 1: the lift that receives unit noise, and the features read back from it.

        y = lift · core + N(0, I),   feature = features · y  (+ n · public if the number of records is public)

    One row per feature of the problem; if `counted`, the number of records last.
    Requires ‖lift · s‖ ≤ 1 for every difference s of neighbours: certified again before every release.

    A shape around a centre lifts core − centre for everybody who is counted, and its features add the centre times a
    noisy number of everybody that another noise has: `people` has what each feature adds, `absent` what is lifted for
    somebody who is counted and not among the records. Once that noise is known, `features` has one more column, for it.
    """

    name: str
    lift: Matrix
    features: Matrix
    counted: bool
    public: Array | None = None
    people: Array | None = None
    absent: Array | None = None

    @property
    def is_lent(self) -> bool:
        """Whether the last column of the features is that of a noisy number which another noise has."""
        return self.people is not None and self.features.shape[1] > self.lift.shape[0]

    def variances(self) -> Array:
        """Of each feature, at μ = 1."""
        return self._variances

    @cached_property
    def _variances(self) -> Array:
        norms = self.features.row_norms()
        return norms * norms

    def to_dict(self) -> dict[str, Any]:
        """All but what another noise lends."""
        features = self.features.without_last() if self.is_lent else self.features
        fields = {
            "name": self.name,
            "lift": self.lift.to_dict(),
            "features": features.to_dict(),
            "counted": self.counted,
            "public": None if self.public is None else pack(self.public),
        }
        told = {name: value for name, value in (("people", self.people), ("absent", self.absent)) if value is not None}
        return fields | {name: value.tolist() for name, value in told.items()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Shape:
        public = fields["public"]
        return cls(
            str(fields["name"]),
            matrix_from_dict(fields["lift"]),
            matrix_from_dict(fields["features"]),
            bool(fields["counted"]),
            None if public is None else unpack(public),
            *(np.array(fields[name], float) if name in fields else None for name in ("people", "absent")),
        )


def price(shape: Shape, problem: Problem[Domain]) -> float:
    """What a shape is chosen by, at μ = 1: the weighted total, or the largest variance over a squared target."""
    return price_of(shape.variances(), shape.counted, problem.features)


def price_of(variances: Array, counted: bool, features: Features) -> float:
    """The same from the variance of each feature; that of the number of records is the last, if it is counted."""
    if features.targets is None:
        return total_of(variances, counted, features)
    count = features.count_weight * float(variances[-1]) if counted else 0.0
    return max(float((variances[: features.size] / features.targets**2).max()), count)


def total_of(variances: Array, counted: bool, features: Features) -> float:
    """The weighted total, whatever was made small."""
    count = features.count_weight * float(variances[-1]) if counted else 0.0
    return float(features.weights @ variances[: features.size]) + count

"""One file per way of choosing the shape of the noise. A shape never looks at data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussmith.answers import Answers
from gaussmith.numerics.linear import Array, Matrix, matrix_from_dict
from gaussmith.shapes.laws import Law


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape at μ = 1: the lift that receives unit noise, and the features read back from it.

        y = lift · core + N(0, I),   feature = features · y  (+ n · public where the number of records is public)

    One feature per answer (for a mean: the sum of distances from the centre); if `counted`, the number of records last.
    Requires ‖lift · s‖ ≤ 1 for every difference s of neighbours: certified again before every release.
    """

    name: str
    lift: Matrix
    features: Matrix
    counted: bool
    public: Array | None = None

    def variances(self) -> Array:
        """Of each feature, at μ = 1."""
        norms = self.features.row_norms()
        return norms * norms

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "lift": self.lift.to_dict(),
            "features": self.features.to_dict(),
            "counted": self.counted,
            "public": None if self.public is None else self.public.tolist(),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Shape:
        public = fields["public"]
        return cls(
            str(fields["name"]),
            matrix_from_dict(fields["lift"]),
            matrix_from_dict(fields["features"]),
            bool(fields["counted"]),
            None if public is None else np.array(public, float),
        )


@dataclass(frozen=True, eq=False)
class Candidate:
    """A shape that fits, and a law that bounds every shape where one comes with it."""

    shape: Shape
    law: Law | None = None


def weighted_variances(shape: Shape, answers: Answers, spread: Array) -> tuple[Array, float]:
    """Variance of each answer and of the count at μ = 1; of a mean: of n times the mean, wherever in its range it lies.

    Var(n·mean_j) = Var(feature_j) + spread_j · Var(count)
    """
    variances = shape.variances()
    count = float(variances[-1]) if shape.counted else 0.0
    per_answer = variances[: answers.size].copy()
    if answers.any_mean:
        per_answer[answers.means] += spread[answers.index[answers.means]] * count
    return per_answer, count


def total(shape: Shape, answers: Answers, spread: Array) -> float:
    """The weighted total variance at μ = 1, the count included with weight 1 where it is asked."""
    per_answer, count = weighted_variances(shape, answers, spread)
    return float(answers.weights @ per_answer) + (count if answers.count else 0.0)


def price(shape: Shape, answers: Answers, spread: Array) -> float:
    """What a shape is chosen by, at μ = 1: the weighted total, or the largest variance over a squared target."""
    if answers.targets is None:
        return total(shape, answers, spread)
    per_answer, count = weighted_variances(shape, answers, spread)
    return max(float((per_answer / answers.targets**2).max()), count if answers.count else 0.0)

"""Shapes of the noise, one file per method of choosing it. A shape never looks at data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.numerics.linear import Array, Matrix, matrix_from_dict
from gaussmith.problem import Domain, Problem


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape at μ = 1: the lift that receives unit noise, and the features read back from it.

        y = lift · core + N(0, I),   feature = features · y  (+ n · public if the number of records is public)

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
        return self._variances

    @cached_property
    def _variances(self) -> Array:
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


def weighted_variances(shape: Shape, problem: Problem[Domain]) -> tuple[Array, float]:
    """Variance of each answer and of the count at μ = 1; for a mean, of n times the mean, averaged over its range.

    Var(n·mean_j) = Var(feature_j) + spread_j · Var(count)
    """
    answers = problem.answers
    variances = shape.variances()
    count = float(variances[-1]) if shape.counted else 0.0
    per_answer = variances[: answers.size].copy()
    if answers.any_mean:
        per_answer[answers.means] += problem.domain.spread[answers.index[answers.means]] * count
    return per_answer, count


def price(shape: Shape, problem: Problem[Domain]) -> float:
    """The criterion for choosing a shape, at μ = 1: the weighted total, or the largest variance over a squared target.

    The count, if asked for, has weight 1 and target 1.
    """
    answers = problem.answers
    per_answer, count = weighted_variances(shape, problem)
    asked = count if answers.count else 0.0
    if answers.targets is None:
        return float(answers.weights @ per_answer) + asked
    return max(float((per_answer / answers.targets**2).max()), asked)

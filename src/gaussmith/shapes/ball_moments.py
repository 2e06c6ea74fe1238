"""Noise for Σ xxᵀ over a ball that rotations do not change: variance a on the trace, b on all that is orthogonal to it.

In the orthonormal basis of matrices (squares, √2 times products) a record of length 1 has the part 1/√d along the trace
and √(1 − 1/d) across it. With A and B what the variances are worth along and across,

    min aA + bB   such that   (1/d)/a + (1 − 1/d)/b ≤ 1,   and b ≥ 2 where a record is replaced (d ≥ 2):
    a = S √(1/(dA)),  b = S √((1 − 1/d)/B),  S = √(A/d) + √(B(1 − 1/d)),  and the total is S².
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.linear import Dense
from gaussmith.problem import Problem
from gaussmith.shapes import Shape

if TYPE_CHECKING:
    from gaussmith.domains.ball_moments import BallMoments


def worths_of(problem: Problem[BallMoments]) -> tuple[float, float]:
    """A and B: what noise along the trace, and across it, is worth in each direction together."""
    unit, trace = problem.domain.basis
    rows = problem.features.rows(problem.domain.dimension) * problem.domain.radius / unit
    weighted = np.sqrt(problem.features.weights)[:, None] * rows
    along = float(((weighted @ trace) ** 2).sum())
    return along, max(0.0, float((weighted**2).sum()) - along)


def invariant_shape(problem: Problem[BallMoments]) -> Shape:
    """The best shape of this form."""
    return _shape(problem, "invariant", *best_variances(problem))


def best_variances(problem: Problem[BallMoments]) -> tuple[float, float]:
    """a and b at μ = 1."""
    A, B = worths_of(problem)
    part = 1.0 / problem.domain.columns_count
    if part == 1.0:
        return 1.0, 1.0
    floor = 1e-12 * (A + B)  # what is not asked for needs no small noise
    A, B = max(A, floor), max(B, floor)
    b = (math.sqrt(A * part) + math.sqrt(B * (1 - part))) * math.sqrt((1 - part) / B)
    if not problem.secret_count:
        b = max(b, 2.0)
    return part / (1 - (1 - part) / b), b


def isotropic_invariant(problem: Problem[BallMoments]) -> Shape:
    """Equal noise in all directions of matrices."""
    size = 1.0 if problem.secret_count or problem.domain.columns_count == 1 else 2.0
    return _shape(problem, "isotropic", size, size)


def _shape(problem: Problem[BallMoments], name: str, a: float, b: float) -> Shape:
    domain, (unit, trace) = problem.domain, problem.domain.basis
    eye, outer = np.eye(domain.dimension), np.outer(trace, trace)
    root = eye / math.sqrt(b) + outer * (1 / math.sqrt(a) - 1 / math.sqrt(b))
    inverse = eye * math.sqrt(b) + outer * (math.sqrt(a) - math.sqrt(b))
    lift = root * unit
    if problem.secret_count:
        lift = np.column_stack([lift, np.zeros(len(lift))])
    rows = problem.features.rows(domain.dimension) * domain.coded[1] / unit
    public = None if problem.secret_count else problem.coded_offsets
    return Shape(name, Dense(lift), Dense(rows @ inverse), False, public)

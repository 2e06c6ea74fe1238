"""The shape for sparse sums: independent noise by water-filling.

A record changes at most k coordinates, each by at most its bound b_j; signs are free. With a_j = √ω_j b_j the k units
of weight π (at most 1 on each coordinate) that make V = Σ a_j √π_j largest give

    variance_j = b_j² √π_j V / a_j,    total V²;    with a secret number of records of weight e: (V + √e)².

Optimal for sums with any weights. For linear answers ω_j = Σ w_i W_ij², and the same signs bound every shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.linear import Array, Diagonal
from gaussmith.numerics.trace_roots import root_of
from gaussmith.numerics.water_filling import diagonal
from gaussmith.problem import Law, Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate
from gaussmith.shapes.lifted import read_features
from gaussmith.shapes.solved_records import solved_records

if TYPE_CHECKING:
    from gaussmith.domains import SparseSum

NAME = "water-filled"
MAX_DENSE = 1500
"""Limit on coordinates and answers for an explicit moment matrix."""


def water_filled(problem: Problem[SparseSum], gap: float | None = None) -> list[Candidate]:
    """The shapes that fit, the closed form first."""
    domain, omega = problem.domain, problem.coordinate_weights
    b = domain.radius
    variances, total = diagonal(b, omega, domain.at_most)
    entries = b / np.sqrt(variances)  # 0 where nothing is asked
    e = problem.secret_count_weight
    V = np.sqrt(total)
    T = V + np.sqrt(e)
    entries = entries * np.sqrt(V / T) / (1.0 if problem.secret_count else 2.0)
    if e:
        last = float(np.sqrt(np.sqrt(e) / T))
        shape = Shape(NAME, Diagonal(np.append(entries, last)), *read_features(problem, entries, last))
    else:
        shape = Shape(NAME, Diagonal(entries), *read_features(problem, entries, None))
    found = [Candidate(shape, _law(problem, variances))]
    if problem.features.matrix is not None:
        found += solved_records(problem, gap)
    return found


def _law(problem: Problem[SparseSum], variances: Array) -> Law:
    """Inclusion chances π and independent signs: M = W diag(π b²) Wᵀ, and the number of records beside it."""
    domain, omega = problem.domain, problem.coordinate_weights
    b = domain.radius
    asked = np.isfinite(variances)
    V = float(np.sqrt(omega[asked] @ variances[asked]))
    share = np.zeros(domain.dimension)
    share[asked] = np.minimum((variances[asked] * np.sqrt(omega[asked]) / (b[asked] * V)) ** 2, 1.0)
    share *= min(1.0, domain.at_most / share.sum())
    reach = b * (1.0 if problem.secret_count else 2.0)
    if problem.asks_no_coordinate_twice:
        root = float(np.sqrt(omega) * reach @ np.sqrt(share)) * (1.0 - 2.0**-40)
    elif max(problem.features.size, domain.dimension) <= MAX_DENSE:
        rows = problem.root_weights * problem.rows * (reach * np.sqrt(share))
        root = root_of(rows @ rows.T)
    else:
        root = 0.0
    root += float(np.sqrt(problem.secret_count_weight))
    return Law("signs", root * root, {"shares": share})

"""The shape for sparse sums: independent noise, filled like water.

A record moves at most k coordinates, each by at most its bound b_j; signs are free. With a_j = √ω_j b_j the k units of
attention π (at most 1 on each coordinate) that make V = Σ a_j √π_j largest give

    variance_j = b_j² √π_j V / a_j,    total V²;    with a secret number of records of weight e: (V + √e)².

Optimal for sums, whatever their weights. For linear answers ω_j = Σ w_i W_ij², and the same signs bound every shape.
"""

from __future__ import annotations

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import SparseSum
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array, Diagonal
from gaussmith.numerics.water_filling import diagonal
from gaussmith.shapes import Candidate, Shape
from gaussmith.shapes.laws import Law, root_of
from gaussmith.shapes.lifted import read_features
from gaussmith.shapes.listed import solved_records

NAME = "water-filled"
_DENSE = 1500


def few(domain: SparseSum, answers: Answers, neighbours: str, gap: float | None = None) -> list[Candidate]:
    """The shapes that fit, the closed form first."""
    b = domain.radius
    omega = answers.coordinate_weights(domain.dimension)
    variances, total = diagonal(b, omega, domain.at_most)
    entries = b / np.sqrt(variances)  # 0 where nothing is asked
    private = neighbours == ADD_REMOVE
    e = 1.0 if answers.count and private else 0.0
    V = np.sqrt(total)
    T = V + np.sqrt(e)
    entries = entries * np.sqrt(V / T) / (1.0 if private else 2.0)
    if e:
        last = float(np.sqrt(np.sqrt(e) / T))
        shape = Shape(NAME, Diagonal(np.append(entries, last)), *read_features(domain, answers, entries, last))
    else:
        shape = Shape(NAME, Diagonal(entries), *read_features(domain, answers, entries, None))
    found = [Candidate(shape, _law(domain, answers, private, e, omega, variances, T))]
    if answers.matrix is not None:
        found += solved_records(domain, answers, neighbours, gap)
    return found


def _law(domain: SparseSum, answers: Answers, private: bool, e: float, omega: Array, variances: Array, T: float) -> Law:
    """Inclusion chances π and independent signs: M = W diag(π b²) Wᵀ, and the number of records beside it."""
    b = domain.radius
    asked = np.isfinite(variances)
    V = float(np.sqrt(omega[asked] @ variances[asked]))
    share = np.zeros(domain.dimension)
    share[asked] = np.minimum((variances[asked] * np.sqrt(omega[asked]) / (b[asked] * V)) ** 2, 1.0)
    share *= min(1.0, domain.at_most / share.sum())
    reach = b * (1.0 if private else 2.0)
    if answers.matrix is None and len(np.unique(answers.index)) == answers.size:
        root = float(np.sqrt(omega) * reach @ np.sqrt(share)) * (1.0 - 2.0**-40)
    elif max(answers.size, domain.dimension) <= _DENSE:
        rows = answers.matrix if answers.matrix is not None else np.eye(domain.dimension)[answers.index]
        rows = np.sqrt(answers.weights)[:, None] * rows * (reach * np.sqrt(share))
        root = root_of(rows @ rows.T)
    else:
        root = 0.0
    root += np.sqrt(e)
    return Law("signs", root * root, {"shares": share})

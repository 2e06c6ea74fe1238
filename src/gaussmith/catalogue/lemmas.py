"""Lemmas used in the published proofs, as functions."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gaussmith.domains import Box
from gaussmith.errors import DomainError
from gaussmith.neighbours import ADD_REMOVE, check

Array = npt.NDArray[np.float64]


def hockey_stick(first: npt.ArrayLike, second: npt.ArrayLike, epsilon: float) -> float:
    """The least δ with P(S) ≤ e^ε Q(S) + δ for all S, for two laws on finitely many outcomes: Σ (p − e^ε q)₊.

    Post-processing: no map, random or not, of the outcomes can make it larger (theory, statement 2).

    >>> round(hockey_stick([0.5, 0.5], [0.25, 0.75], 0.0), 9)
    0.25
    """
    p, q = np.asarray(first, float), np.asarray(second, float)
    if p.shape != q.shape or p.ndim != 1 or (p < 0).any() or (q < 0).any():
        rule = "they are lists of probabilities of the same outcomes"
        raise DomainError("two laws", rule, "give equal lengths", code="laws-of-different-outcomes")
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def expected_quadratic_form(form: npt.ArrayLike, covariance: npt.ArrayLike, mean: npt.ArrayLike | None = None) -> float:
    """E[xᵀAx] = tr(AΣ) + mᵀAm, for any distribution of x: the report's theorem 2.

    >>> expected_quadratic_form(np.eye(2), np.diag([4.0, 9.0]), [1.0, 0.0])
    14.0
    """
    A, Sigma = np.asarray(form, float), np.asarray(covariance, float)
    m = np.zeros(len(A)) if mean is None else np.asarray(mean, float)
    return float(np.trace(A @ Sigma) + m @ A @ m)


def workload_sensitivity(workload: npt.ArrayLike, box: Box, neighbours: str = "add-remove") -> float:
    """Δ₂ of linear answers W·(sum of records) in a box, exactly up to 12 coordinates, from above beyond.

        max over records x, y of ‖W x‖ (add-remove) or ‖W (x − y)‖ (replace-one)

    >>> workload_sensitivity(np.ones((1, 3)), Box([0] * 3, [1] * 3))
    3.0
    """
    W = np.asarray(workload, float)
    away = check(neighbours) == ADD_REMOVE
    reach = box.radius if away else 2 * box.radius
    start = W @ box.centre if away else np.zeros(len(W))
    if box.dimension <= 12:
        return float(np.linalg.norm(start + box.corners() * reach @ W.T, axis=1).max())
    return float(np.linalg.norm(np.abs(start) + np.abs(W) @ reach))

"""Lemmas used in the published proofs, as functions."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gaussmith.checks import checks_arguments
from gaussmith.domains.box import Box
from gaussmith.errors import DomainError
from gaussmith.privacy.neighbours import ADD_REMOVE, check


@checks_arguments
def hockey_stick(first: npt.ArrayLike, second: npt.ArrayLike, epsilon: float) -> float:
    """The least δ with P(S) ≤ e^ε Q(S) + δ for all S, for two laws on finitely many outcomes: Σ (p − e^ε q)₊.

    Post-processing: no map, random or not, of the outcomes can make it larger (theory, statement 2).

    >>> round(hockey_stick([0.5, 0.5], [0.25, 0.75], 0.0), 9)
    0.25
    """
    p, q = np.asarray(first, float), np.asarray(second, float)
    if p.shape != q.shape or p.ndim != 1 or (p < 0).any() or (q < 0).any():
        rule = "both must list probabilities of the same outcomes"
        raise DomainError("two laws", rule, "give lists of equal length", code="laws-of-different-outcomes")
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@checks_arguments
def expected_quadratic_form(form: npt.ArrayLike, covariance: npt.ArrayLike, mean: npt.ArrayLike | None = None) -> float:
    """E[xᵀAx] = tr(AΣ) + mᵀAm, for any distribution of x: the report's theorem 2.

    >>> expected_quadratic_form(np.eye(2), np.diag([4.0, 9.0]), [1.0, 0.0])
    14.0
    """
    A, Sigma = np.asarray(form, float), np.asarray(covariance, float)
    m = np.zeros(len(A)) if mean is None else np.asarray(mean, float)
    return float(np.trace(A @ Sigma) + m @ A @ m)


@checks_arguments
def workload_sensitivity(workload: npt.ArrayLike, box: Box, neighbours: str = "add-remove", order: float = 2) -> float:
    """Δ_p of linear answers W·(sum of records) in a box, p = `order`; exactly up to 12 coordinates, from above beyond.

        max over records x, y of ‖W x‖_p (add-remove) or ‖W (x − y)‖_p (replace-one)

    Δ_q ≤ Δ_p for p ≤ q; in particular Δ₂ ≤ Δ₁ (theory, statement 61). Requires (checked): p ≥ 1; `math.inf` is allowed.

    >>> workload_sensitivity(np.ones((1, 3)), Box([0] * 3, [1] * 3))
    3.0
    >>> [workload_sensitivity(np.eye(4), Box([0] * 4, [1] * 4), order=p) for p in (1, 2, math.inf)]
    [4.0, 2.0, 1.0]
    """
    W = np.asarray(workload, float)
    if not order >= 1:
        rule = "the order of a norm must be 1 or more"
        raise DomainError(f"order={order!r}", rule, "write order=2", code="order-of-no-norm", order=order)
    away = check(neighbours) == ADD_REMOVE
    reach = box.radius if away else 2 * box.radius
    start = W @ box.centre if away else np.zeros(len(W))
    if box.dimension <= 12:
        return float(np.linalg.norm(start + box.corners() * reach @ W.T, ord=order, axis=1).max())
    return float(np.linalg.norm(np.abs(start) + np.abs(W) @ reach, ord=order))


@checks_arguments
def sensitivity(differences: npt.ArrayLike, order: float = 2) -> float:
    """Δ_p = max ‖f(X) − f(X′)‖_p over listed differences, one per row; p ≥ 1, `math.inf` is allowed.

    >>> [round(sensitivity([[3.0, 4.0], [0.0, -5.5]], order=p), 9) for p in (1, 2, math.inf)]
    [7.0, 5.5, 5.5]
    """
    s = np.atleast_2d(np.asarray(differences, float))
    return float(np.linalg.norm(s, ord=order, axis=1).max())


@checks_arguments
def bad_set_probability(epsilon: float, mu: float) -> float:
    """P(L > ε) for Gaussian noise: Φ(μ/2 − ε/μ), which the slides bound by e^{−(ε − μ²/2)²/2μ²} and take for δ.

    At least the true δ = P(L > ε) − e^ε Q(L > ε), and above 0 for every ε (theory, statement 62).

    >>> round(bad_set_probability(1.0, 1.0), 6)
    0.308538
    """
    return math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2


@checks_arguments
def name_and_shame(rows: float, delta: float) -> float:
    """The probability that somebody is exposed by publishing each record with probability δ: 1 − (1 − δ)^n.

    That is (0, δ)-DP when a record is replaced, so that δ has to be far below 1/n (theory, statement 63).

    >>> round(name_and_shame(10_000, 1e-4), 3), round(name_and_shame(10_000, 1e-9), 7)
    (0.632, 1e-05)
    """
    return -math.expm1(rows * math.log1p(-delta))

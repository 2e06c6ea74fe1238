"""The best Gaussian shape for a finite set of differences, with a certificate of how good it is.

All at μ = 1. Noise N(0, Σ) hides the differences s_1 … s_N exactly when s_iᵀ Σ⁺ s_i ≤ 1 for all of them; the price is
tr Σ. Its dual is concave: for weights λ on the differences let M(λ) = Σ λ_i s_i s_iᵀ. Then

    (tr M(λ)^{1/2})²  ≤  tr Σ*  ≤  (tr M(λ)^{1/2})² · max_i c_i,      c_i = s_iᵀ M(λ)^{−1/2} s_i / tr M(λ)^{1/2},

and the two sides meet at the best λ, where Σ* = (tr M^{1/2}) M^{1/2}.

The weights are only a search: whatever they are, the result is a *lift* A with ‖A s‖ ≤ 1, checked over all the
differences with rounding upward, and its pseudo-inverse. Privacy rests on that check alone.

M is never decomposed for the result: its eigenvalues spread as the fourth power of the differences' scales, and a
small one lost in rounding would leave its difference without noise. √λ·S is, whose singular values are the square
roots. (Search rounds may use M where its spread is mild: a search cannot harm.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError
from gaussmith.numerics.norms import largest_norm

Array = npt.NDArray[np.float64]
Progress = Callable[[int, float], None]

SMALLEST_GAP = 1e-10
"""Doubles cannot certify a smaller relative gap."""

_DEPENDENT = 1e-11
"""Unit differences whose distance from the span of the others is below this lie in it."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A shape at μ = 1 with both sides of its certificate: lower ≤ least possible total ≤ upper = total of this shape.

    `lift` (m × k) has ‖lift·s‖ ≤ 1 for every difference; `decode` (k × m) takes lifted coordinates back to answers.
    """

    weights: Array
    lift: Array
    decode: Array
    upper: float
    lower: float
    rounds: int

    @property
    def gap(self) -> float:
        """By how much, relatively, the shape can exceed the best one: upper / lower − 1."""
        return float(self.upper / self.lower - 1.0)

    @property
    def covariance(self) -> Array:
        """Σ = decode · decodeᵀ, the covariance of the answers' noise at μ = 1."""
        return np.asarray(self.decode @ self.decode.T)


def solve(
    points: npt.ArrayLike, *, gap: float = 1e-3, max_rounds: int = 2000, progress: Progress | None = None
) -> Optimum:
    """The shape of least total error that hides every difference in `points` (N × k); its total errs upward.

        minimise tr Σ   subject to   s_iᵀ Σ⁺ s_i ≤ 1,  i = 1 … N

    Guarantee: ‖lift·s_i‖ ≤ 1 for every row s_i as given, in exact arithmetic; lower ≤ the least total of any Gaussian
    noise for these differences. If `max_rounds` runs out the shape is as valid and `.gap` tells the truth about it.
    Requires (checked): finite points, one of them not zero; 1e-10 ≤ gap. The sign of a difference does not matter.
    Rounding: the lift is scaled down by the certified excess of its largest norm; a difference that the decoded shape
    would not give back is refused, never left without noise.

    >>> best = solve([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], gap=1e-6)
    >>> print(f"{best.lower:.4f}", best.gap <= 1e-6)
    2.6667 True
    """
    _check_gap(gap)
    given = _check_points(points)
    span = _span_of(given)
    weights, rounds = _search(span.points, gap, max_rounds, progress)
    return _certify(given, span, weights, rounds)


@dataclass(frozen=True, eq=False)
class _Span:
    """The differences that are not zero, scaled, in coordinates of their own span (basis: k × r, orthonormal)."""

    kept: npt.NDArray[np.intp]
    scale: float
    points: Array
    basis: Array | None


def _check_gap(gap: float) -> None:
    if not gap >= SMALLEST_GAP:
        raise PlanError(
            f"gap={gap!r}",
            f"a gap is a relative distance to the optimum, at least {SMALLEST_GAP:g}: doubles cannot certify less",
            "ask for gap=1e-3, or down to 1e-9 if you must",
        )


def _check_points(points: npt.ArrayLike) -> Array:
    given = np.array(points, dtype=np.float64)
    if given.ndim != 2 or 0 in given.shape:
        raise PlanError(f"points of shape {given.shape}", "one row per difference, one column per answer", "pass N × k")
    if not np.isfinite(given).all():
        raise PlanError("points with NaN or infinite entries", "differences are finite numbers", "bound the domain")
    if not given.any():
        raise PlanError("points that are all zero", "there is nothing to protect", "drop the answers that never change")
    return given


def _span_of(given: Array) -> _Span:
    """Scale by a power of two, drop zeros, rotate into the span if it is not the whole space."""
    peaks = np.abs(given).max(axis=1)
    kept = np.flatnonzero(peaks > 0)
    scale = float(2.0 ** np.clip(np.frexp(peaks.max())[1], -1000, 1000))
    points = given[kept] / scale
    if np.abs(points).max(axis=1).min() < 1e-140:
        raise PlanError("points whose sizes differ by over 1e140", "doubles must hold their squares", "rescale them")
    # Rows scaled to one and columns too: neither changes the span's dimension, both keep small units visible.
    unit = points / np.abs(points).max(axis=1, keepdims=True)
    columns = np.abs(unit).max(axis=0)
    k = points.shape[1]
    lengths = np.linalg.svd(unit / np.where(columns > 0, columns, 1.0), compute_uv=False)
    rank = int((lengths > _DEPENDENT * lengths[0]).sum())
    if rank == k:
        return _Span(kept, scale, points, None)
    basis = np.ascontiguousarray(np.linalg.svd(unit, full_matrices=False)[2][:rank].T)
    return _Span(kept, scale, points @ basis, basis)


def _decompose(points: Array, weights: Array) -> tuple[Array, Array]:
    """Singular values (descending) and right singular vectors (k × r) of √λ·S, small ones to relative accuracy."""
    B = np.sqrt(weights)[:, None] * points
    if B.shape[0] > 2 * B.shape[1]:
        # Large rows first: then Householder's errors stay small beside each row, not only beside the largest.
        B = B[np.argsort(-np.abs(B).max(axis=1))]
    _, m, Vt = np.linalg.svd(B, full_matrices=False)
    if m[-1] > 1e-7 * m[0] or B.shape[0] < B.shape[1]:
        return m, Vt.T
    from scipy.linalg.lapack import dgejsv  # one-sided Jacobi: relative accuracy under row and column scaling

    m, _, V, work, _, info = dgejsv(B, joba=3, jobu=3, jobv=0)
    if info != 0 or not (m > 0).all():
        raise PlanError(
            "points whose scales are too far apart",
            "every difference must be hidden by noise that doubles can represent",
            "rescale the answers or weigh them by their range",
        )
    return m * (work[0] / work[1]), V


def _search(points: Array, gap: float, max_rounds: int, progress: Progress | None) -> tuple[Array, int]:
    """λ_i ← λ_i c_i², renormalised, until the largest cost is below 1 + gap."""
    lam = np.full(len(points), 1.0 / len(points))
    target = 1.0 + 0.98 * gap
    rounds = 0
    while True:
        m, V = _decompose(points, lam)
        cost = ((points @ V) ** 2 / m).sum(axis=1) / m.sum()
        rounds += 1
        if progress is not None:
            progress(rounds, float(cost.max() - 1.0))
        if cost.max() <= target or rounds >= max_rounds:
            return lam, rounds
        lam = lam * cost**2
        lam /= lam.sum()


def _certify(given: Array, span: _Span, weights: Array, rounds: int) -> Optimum:
    """Lift, decode and both bounds for these weights; refuses a shape that would lose a difference."""
    m, V = _decompose(span.points, weights)
    if span.basis is not None:
        V = span.basis @ V
    trace = float(m.sum())
    # The trace of √λ·S is accurate to a few roundings per row and column; the bound gives them all away.
    slack = 8.0 * (sum(given.shape) + 16) * np.finfo(float).eps
    lower = float((trace * span.scale) ** 2 / weights.sum() * (1.0 - slack))
    lift = (V / np.sqrt(m * trace)).T / span.scale
    decode = V * (np.sqrt(m * trace) * span.scale)
    for _ in range(3):
        norm = largest_norm(lift, given)
        if norm <= 1.0:
            break
        step = norm * (1.0 + 2.0**-50)
        lift, decode = lift / step, decode * step
    else:
        raise PlanError("points whose norms cannot be certified", "‖lift·s‖ ≤ 1 for all", "rescale the answers")
    _check_recovery(given, lift, decode)
    upper = float((decode**2).sum() * (1.0 + slack))
    all_weights = np.zeros(len(given))
    all_weights[span.kept] = weights
    return Optimum(all_weights, np.ascontiguousarray(lift), np.ascontiguousarray(decode), upper, lower, rounds)


def _check_recovery(given: Array, lift: Array, decode: Array) -> None:
    """Refuse when decode·lift·s differs from s, for any difference, by more than 1e-6 of an answer's range."""
    error = np.abs((given @ lift.T) @ decode.T - given).max(axis=0)
    if (error > 1e-6 * np.abs(given).max(axis=0)).any():
        raise PlanError(
            "points whose scales are too far apart",
            "every difference must lie in the range of the noise, in every answer",
            "rescale the answers or weigh them by their range",
        )

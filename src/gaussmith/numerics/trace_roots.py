"""Lower bounds of tr M^{1/2} in doubles, on the safe side of every rounding."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array

_UNIT = 2.0**-53


def nuclear_lower(B: Array) -> float:
    """A lower bound of the sum of the singular values of these doubles: of tr (BᵀB)^{1/2}.

        ‖B‖_*  ≥  tr(ZᵀB) / ‖Z‖   for any Z,      ‖Z‖² ≤ the largest row sum of |ZᵀZ|, or of |ZZᵀ|

    Guarantee: at most the true sum, whatever the decomposition that suggested Z returned.
    Rounding: every product and sum is bounded and given away, a relative 1e-12 or so.

    >>> 0 <= 1 - nuclear_lower(np.diag([3.0, 4.0])) / 7 < 1e-12
    True
    """
    top = float(np.abs(B).max(initial=0.0))
    if top == 0.0:
        return 0.0
    unit = math.ldexp(1.0, math.frexp(top)[1])
    # Dividing by a power of two is exact but for what underflows, which is far below what is given away.
    B = (B if len(B) >= B.shape[1] else B.T) / unit
    U, _, Vt = np.linalg.svd(B, full_matrices=False)
    Z = U @ Vt
    products = (Z * B).ravel()
    inner = math.fsum(products) - 4.0 * _UNIT * math.fsum(np.abs(products)) - B.size * 1e-300
    gram = np.abs(Z.T @ Z) + 2.0 * (len(Z) + 2) * _UNIT * (np.abs(Z).T @ np.abs(Z))
    norm = float(gram.sum(axis=1).max()) * (1.0 + 2.0 * (len(gram) + 2) * _UNIT)
    return max(0.0, inner / math.sqrt(norm) * (1.0 - 8.0 * _UNIT)) * unit


def weighted_lower(points: Array, weights: Array) -> float:
    """A lower bound of tr M^{1/2}, M = Σ λ_i s_i s_iᵀ over the rows s_i, with the weights scaled to add up to 1.

    >>> 0 <= 1 - weighted_lower(np.eye(2), np.array([1.0, 1.0])) / 2**0.5 < 1e-12
    True
    """
    p = np.sqrt(np.maximum(weights, 0.0))  # the law is that of the squares of these doubles
    B = p[:, None] * points
    # Each product is off by half a unit in its last place: its nuclear norm by √rank · ‖·‖ of that at most.
    doubt = 2.0 * _UNIT * math.sqrt(min(B.shape)) * float(np.linalg.norm(B))
    whole = math.fsum(p * p) * (1.0 + 4.0 * _UNIT)
    return max(0.0, (nuclear_lower(B) - doubt) / math.sqrt(whole) * (1.0 - 4.0 * _UNIT)) if whole else 0.0


def root_of(moment: Array) -> float:
    """tr M^{1/2} of a symmetric positive semi-definite matrix, less what rounding of its eigenvalues can add.

    Eigenvalues of a symmetric matrix are off by a few roundings of the largest one each; so much is taken off all.

    >>> 1 - root_of(np.diag([4.0, 9.0])) / 5 < 1e-12
    True
    """
    values = np.linalg.eigvalsh(moment)
    slack = 32.0 * len(values) * 2.0**-52 * float(np.abs(values).max(initial=0.0))
    return float(np.sqrt(np.clip(values - slack, 0.0, None)).sum()) * (1.0 - 2.0**-40)


def square_down(root: float) -> float:
    """The square of a number that is not negative, rounded down."""
    return root * root * (1.0 - 2.0**-52)


def square_with_slack(root: float) -> float:
    """The square of a number that plain doubles computed, less more than they can be off: a part in 10^9."""
    return root * root * (1 - 1e-9)


# tr M^{1/2} from below, for a diagonal matrix plus a few rank-one terms, in as many dimensions as there are.
#
# (tr M^{1/2})² is the certificate of a shape: no Gaussian noise has a smaller total. For a box in a million
# dimensions M is diagonal plus rank two and far too large to decompose. With D = diag(a), M = D + U C Uᵀ and G(s) =
# Uᵀ(D+s²)⁻¹U,
#
#     tr M^{1/2} = tr D^{1/2} + (1/π) ∫₀^∞ log det(I + G(s) C) ds,
#
# since √m = (1/π)∫ log(1 + m/s²) ds for every eigenvalue m. With s = eˣ the integrand is analytic for |Im x| < π/2,
# so the trapezoidal rule with step h errs by less than (2K/π)(tr M^{1/2} + tr D^{1/2})/(e^{π²/h} − 1), K < 7.15 being
# the integral of |log(1 − σ⁻²)| over σ > 0 (the edge of the strip). What is cut off on both sides, and every
# rounding, is bounded and taken off too.

_STEP = 0.34
_EDGE = 7.15
_CUT = 1e12
_ROUNDING = 1e-14
"""Relative error of numpy's pairwise sums of up to 2³⁰ products, several times over."""


def trace_sqrt_lower(diagonal: npt.ArrayLike, vectors: npt.ArrayLike, core: npt.ArrayLike) -> float:
    """A lower bound of tr (diag(a) + U C Uᵀ)^{1/2}, below the true value by some 1e-11 of it; cost: 170 passes over U.

    Guarantee: at most the trace for the exact matrix of these doubles.
    Requires (checked): a ≥ 0, finite entries, U with at most three columns, C symmetric (it may be indefinite);
    (owed) a + U C Uᵀ positive semi-definite.
    Rounding: truncation, quadrature and rounding errors are bounded and subtracted.

    >>> lower = trace_sqrt_lower([1.0, 1.0], [[1.0], [1.0]], [[3.0]])    # eigenvalues 1 and 7
    >>> 0 <= 1 - lower / (1 + 7 ** 0.5) < 1e-9
    True
    """
    a, U, C = _check(diagonal, vectors, core)
    r = len(C)
    lengths = np.sqrt((U * U).sum(axis=0))
    reach = float((np.abs(C) * np.outer(lengths, lengths)).sum())  # at least the trace norm of U C Uᵀ
    largest = float(a.max()) + reach
    plain = float(np.sqrt(a).sum())
    if reach == 0.0:
        return plain * (1.0 - _ROUNDING)
    scale = math.sqrt(largest)
    pairs = [(i, j, np.ascontiguousarray(U[:, i] * U[:, j])) for i in range(r) for j in range(i, r)]
    half = math.ceil(math.log(_CUT) / _STEP)
    integral = 0.0
    given_away = 0.0
    for node in range(-half, half + 1):
        s = scale * math.exp(node * _STEP)
        value, doubt = _log_det(a, pairs, C, s * s)
        # M is positive semi-definite: by interlacing at most r of its eigenvalues fall, and none below zero.
        least = -r * math.log1p(largest / (s * s))
        if not value - doubt >= least:
            value, doubt = least, 0.0
        integral += s * value
        given_away += s * (doubt + _ROUNDING * abs(value))
    correction = _STEP * integral / math.pi
    low, high = scale / _CUT, scale * _CUT
    left = 2.0 * r * low * (math.log1p(largest / low**2) + 2.0)
    right = 1.5 * reach / high
    aliasing = 2.0 * _EDGE * (2.0 * plain + abs(correction)) / math.expm1(math.pi**2 / _STEP)
    given_away = (_STEP * given_away + left + right + aliasing) / math.pi
    return plain * (1.0 - _ROUNDING) + correction - given_away * (1.0 + 1e-6)


def _check(diagonal: npt.ArrayLike, vectors: npt.ArrayLike, core: npt.ArrayLike) -> tuple[Array, Array, Array]:
    a, U, C = (np.asarray(x, dtype=np.float64) for x in (diagonal, vectors, core))
    if a.ndim != 1 or len(a) == 0 or U.ndim != 2 or len(U) != len(a) or C.shape != (U.shape[1],) * 2:
        rule = "a diagonal (d), vectors (d × r), a core (r × r)"
        raise PlanError(f"shapes {a.shape}, {U.shape}, {C.shape}", rule, "match them", code="trace-shapes-do-not-match")
    if not 1 <= len(C) <= 3:
        remedy = "decompose a matrix of higher rank directly"
        raise PlanError(
            f"core of size {len(C)}", "one to three vectors", remedy, code="trace-core-too-large", size=len(C)
        )
    if not (np.isfinite(a).all() and np.isfinite(U).all() and np.isfinite(C).all() and (a >= 0).all()):
        what = "entries that are not finite, or a negative diagonal"
        raise PlanError(what, "diagonal ≥ 0", "check the weights", code="trace-entries-out-of-range")
    if not np.array_equal(C, C.T):
        raise PlanError("core that is not symmetric", "C = Cᵀ", "symmetrise it", code="trace-core-not-symmetric")
    return a, U, C


def _log_det(a: Array, pairs: list[tuple[int, int, Array]], C: Array, square: float) -> tuple[float, float]:
    """log det(I + G C) at s² = `square`, and a bound of its rounding error."""
    r = len(C)
    weight = 1.0 / (a + square)
    G = np.empty((r, r))
    for i, j, product in pairs:
        G[i, j] = G[j, i] = float((product * weight).sum())
    X = G @ C
    # det(I+X) − 1 from the minors of X: far out X is tiny and the one would swallow it.
    excess = float(np.trace(X))
    if r == 2:
        excess += float(X[0, 0] * X[1, 1] - X[0, 1] * X[1, 0])
    elif r == 3:
        excess += sum(float(X[i, i] * X[j, j] - X[i, j] * X[j, i]) for i, j in ((0, 1), (0, 2), (1, 2)))
        excess += float(np.linalg.det(X))
    if not excess > -1.0:
        return -math.inf, 0.0
    spread = np.sqrt(np.outer(np.diag(G), np.diag(G)))
    error = 4.0 * _ROUNDING * spread @ np.abs(C)
    try:
        inverse = np.linalg.inv(np.eye(r) + X)
    except np.linalg.LinAlgError:
        return -math.inf, 0.0
    doubt = 2.0 * float((np.abs(inverse).T * error).sum())
    minors = 64.0 * 2.0**-53 * float(np.prod(1.0 + np.abs(X).sum(axis=1)) - 1.0) / (1.0 + excess)
    return math.log1p(excess), doubt + minors

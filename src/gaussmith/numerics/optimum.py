"""The best Gaussian shape for a finite set of differences, with a certificate of how good it is.

All at μ = 1. Noise N(0, Σ) hides the differences s_1 … s_N exactly when s_iᵀ Σ⁺ s_i ≤ 1 for all of them; the price is
tr Σ. Its dual is concave: for weights λ on the differences let M(λ) = Σ λ_i s_i s_iᵀ. Then

    (tr M(λ)^{1/2})²  ≤  tr Σ*  ≤  (tr M(λ)^{1/2})² · max_i c_i,      c_i = s_iᵀ M(λ)^{−1/2} s_i / tr M(λ)^{1/2},

and the two sides meet at the best λ, where Σ* = (tr M^{1/2}) M^{1/2}.

The weights come from a search (`search`, `worst`): for any weights, the result is a *lift* A with ‖A s‖ ≤ 1, checked
over all the differences with rounding upward, and its pseudo-inverse. Privacy depends on that check alone.

M is never decomposed for the result: its eigenvalues spread as the fourth power of the differences' scales, and a
small one lost in rounding would leave its difference without noise. √λ·S is, whose singular values are the square
roots. (Search rounds may use M where its spread is mild: a search cannot harm.)
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError
from gaussmith.numerics.differences import Differences, Pairs, Rows
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.search import Progress, search, singular
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]

SMALLEST_GAP = 1e-10
"""Doubles cannot certify a smaller relative gap."""

GAP_RULE = (
    f"a gap is a finite relative distance to the optimum, at least {SMALLEST_GAP:g}: doubles cannot certify less",
    "ask for gap=1e-3, or down to 1e-9 if you must",
)
"""What a gap is, and what to do about one that is not."""

_DEPENDENT = 1e-11
"""Distance below which a unit difference counts as in the span of the others."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A shape at μ = 1 with both sides of its certificate: lower ≤ least possible price ≤ upper = price of this shape.

    `lift` (m × k) has ‖lift·s‖ ≤ 1 for every difference; `decode` (k × m) takes lifted coordinates back to answers.
    The price is the answers' total variance or, for the objective "worst", the largest of variance / target².
    """

    weights: Array
    lift: Array
    decode: Array
    upper: float
    lower: float
    rounds: int
    shares: Array = field(default_factory=lambda: np.zeros(0))
    """For the objective "worst": the weights on the answers that, with the other weights, prove `lower`."""

    @property
    def gap(self) -> float:
        """The largest relative excess over the best shape: upper / lower − 1."""
        return self.upper / self.lower - 1.0

    @property
    def covariance(self) -> Array:
        """Σ = decode · decodeᵀ, the covariance of the answers' noise at μ = 1."""
        return np.asarray(self.decode @ self.decode.T)


def solve(
    points: npt.ArrayLike,
    *,
    pairs: bool = False,
    objective: Literal["total", "worst"] = "total",
    targets: npt.ArrayLike | None = None,
    gap: float = 1e-3,
    max_rounds: int = 2000,
    progress: Progress | None = None,
    known: tuple[Array, Array] | None = None,
    start: Array | None = None,
) -> Optimum:
    """The shape of least error that hides every difference in `points` (N × k); its price is rounded up.

        minimise tr Σ,  or max_j Σ_jj/target_j²,   subject to   s_iᵀ Σ⁺ s_i ≤ 1,  i = 1 … N

    `pairs`: the differences are those of all pairs of points (replacing one record), without writing them down.
    `targets`: with objective "worst", the standard errors aimed at, one per answer; a price of p at μ = 1 means that
    they are all met at μ = √p.
    `known`: weights and shares found before (`Optimum.weights`, `Optimum.shares`), to be used without a search.
    `start`: weights from which the search of a total begins.

    Guarantee: ‖lift·s‖ ≤ 1 for every difference of the points as given, in exact arithmetic; lower ≤ the least price
    of any Gaussian noise for them. If `max_rounds` runs out, the shape is still valid, and `.gap` is its true gap.
    Requires (checked): finite points that differ; 1e-10 ≤ gap. The sign of a difference does not matter.
    Rounding: the lift is scaled down by the certified excess of its largest norm; a difference that the decoded shape
    would not give back is refused, never left without noise.

    >>> best = solve([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], gap=1e-6)
    >>> print(f"{best.lower:.4f}", best.gap <= 1e-6)
    2.6667 True
    """
    if not SMALLEST_GAP <= gap < math.inf:
        rule, remedy = GAP_RULE
        raise PlanError(f"gap={gap!r}", rule, remedy, code="gap-out-of-range", gap=gap)
    array = _check_points(points)
    given: Differences = Pairs(array) if pairs else Rows(array)
    scale = _scale_of(given)
    if objective == "total":
        if targets is not None:
            what, rule = "targets with objective='total'", "targets are for the worst answer"
            raise PlanError(what, rule, "use weights instead", code="targets-with-objective-total")
        with within_doubles():
            return _least_total(given, scale, gap, max_rounds, progress, known, start)
    if objective == "worst":
        aims = _check_targets(targets, array.shape[1])
        with within_doubles():
            return _least_worst(given, scale, aims, gap, max_rounds, progress, known)
    what, rule = f"objective={objective!r}", "it must be 'total' or 'worst'"
    raise PlanError(what, rule, "choose one of the two", code="objective-not-total-or-worst", objective=objective)


def _too_far() -> PlanError:
    """The error for points that doubles cannot hold together."""
    what = "points whose scales are too far apart"
    rule = "every difference must lie in the range of the noise, in every answer"
    return PlanError(what, rule, "rescale the answers or weigh them by their range", code="points-too-far-apart")


def _check_points(points: npt.ArrayLike) -> Array:
    array = np.array(points, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        what, rule = f"points of shape {array.shape}", "one row per difference, one column per answer"
        raise PlanError(what, rule, "pass an N × k array", code="differences-malformed", shape=array.shape)
    if not np.isfinite(array).all():
        what = "points with NaN or infinite entries"
        raise PlanError(what, "differences are finite numbers", "bound the domain", code="differences-not-finite")
    return array


def _check_targets(targets: npt.ArrayLike | None, answers: int) -> Array:
    aims = np.ones(answers) if targets is None else np.array(targets, dtype=np.float64)
    if aims.shape != (answers,) or not (np.isfinite(aims).all() and (aims > 0).all()):
        what = "targets that are not one number > 0 per answer"
        raise PlanError(
            what,
            "a target is the standard error to aim for",
            "give one for every answer",
            code="optimum-targets-not-positive",
        )
    return aims


def _scale_of(given: Differences) -> float:
    """A power of two near the largest difference; refuses what doubles cannot square."""
    peaks = np.abs(given.generators()).max(axis=1) if given.size else np.zeros(1)
    if not peaks.any():
        remedy = "drop answers that never change"
        raise PlanError("points that do not differ", "there is nothing to protect", remedy, code="differences-all-zero")
    scale = float(2.0 ** np.clip(np.frexp(peaks.max())[1], -1000, 1000))
    if (peaks[peaks > 0] / scale).min() < 1e-140:
        what = "points whose sizes differ by over 1e140"
        raise PlanError(
            what, "their squares must be representable as doubles", "rescale them", code="differences-out-of-scale"
        )
    return scale


def _least_total(
    given: Differences,
    scale: float,
    gap: float,
    max_rounds: int,
    progress: Progress | None,
    known: tuple[Array, Array] | None,
    start: Array | None,
) -> Optimum:
    basis = _span_of(given)
    inside = given.times(basis / scale)
    weights, rounds = (known[0], 0) if known else search(inside, gap, max_rounds, progress, start)
    m, V = singular(inside.factor(weights))
    if len(m) < inside.answers or not m.min() > 0:
        raise _too_far()
    V = basis @ V
    trace = float(m.sum())
    lift = (V / np.sqrt(m * trace)).T / scale
    decode = V * (np.sqrt(m * trace) * scale)
    lower = (trace * scale) ** 2 / float(weights.sum())
    return certify_shape(given, lift, decode, weights, rounds, lower, np.zeros(0))


def _least_worst(
    given: Differences,
    scale: float,
    targets: Array,
    gap: float,
    max_rounds: int,
    progress: Progress | None,
    known: tuple[Array, Array] | None,
) -> Optimum:
    from gaussmith.numerics.worst import search_worst

    inside = given.times(np.diag(1.0 / targets / scale))
    weights, shares, rounds = (*known, 0) if known else search_worst(inside, gap, max_rounds, progress)
    B = inside.factor(weights)
    U, m, Vt = np.linalg.svd(B * np.sqrt(shares), full_matrices=False)
    kept = m > 1e-13 * m[0]
    U, m, Vt = U[:, kept], m[kept], Vt[kept]
    trace = float(m.sum())
    lift = (Vt * (np.sqrt(shares) / targets / scale)) / np.sqrt(m * trace)[:, None]
    # Bᵀ U/m rather than V/√shares: an answer with hardly a share must not be divided by it.
    decode = (B.T @ U) * np.sqrt(trace / m) * (targets * scale)[:, None]
    lower = (trace * scale) ** 2 / float(weights.sum() * shares.sum())
    return replace(certify_shape(given, lift, decode, weights, rounds, lower, targets), shares=shares)


def _span_of(given: Differences) -> Array:
    """An orthonormal basis (k × r) of the differences' span; the identity if that is the whole space."""
    points = given.generators()
    rows, moving = np.abs(points).max(axis=1) > 0, np.abs(points).max(axis=0) > 0
    points = points[rows][:, moving]
    # Rows scaled to one and columns too: neither changes the span's dimension, both keep small units visible.
    unit = points / np.abs(points).max(axis=1, keepdims=True)
    lengths = np.linalg.svd(unit / np.abs(unit).max(axis=0), compute_uv=False)
    rank = int((lengths > _DEPENDENT * lengths[0]).sum())
    inside = np.eye(rank) if rank == points.shape[1] else np.linalg.svd(unit, full_matrices=False)[2][:rank].T
    basis = np.zeros((len(moving), rank))
    basis[moving] = inside
    return basis


def certify_shape(
    given: Differences, lift: Array, decode: Array, weights: Array, rounds: int, lower: float, targets: Array
) -> Optimum:
    """Scale until every norm is certified, refuse a shape that would lose a difference, round both bounds outward."""
    for spare in (2.0**-50, 2.0**-40, 2.0**-30, 2.0**-20, 0.0):
        norm = given.largest_norm(lift)
        if norm <= 1.0:
            break
        step = norm * (1.0 + spare)  # scaling rounds afresh: allow for more each time
        lift, decode = lift / step, decode * step
    else:
        raise _too_far()
    points = given.generators()
    error = np.abs((points @ lift.T) @ decode.T - points).max(axis=0)
    if not (error <= 1e-6 * np.abs(points).max(axis=0)).all():
        raise _too_far()
    # Sums of singular values and of squares are good to a few roundings per row and column: give them all away.
    slack = 8.0 * (given.size + given.answers + 16) ** 0.5 * 64.0 * 2.0**-52
    variances = np.einsum("ij,ij->i", decode, decode)
    price = float(variances.sum()) if len(targets) == 0 else float((variances / targets**2).max())
    require_finite(price, lower)
    return Optimum(
        weights,
        np.ascontiguousarray(lift),
        np.ascontiguousarray(decode),
        price * (1.0 + slack),
        lower * (1.0 - slack),
        rounds,
    )

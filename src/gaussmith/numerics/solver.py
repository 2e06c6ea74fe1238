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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError
from gaussmith.numerics.doubles import require_finite, too_far, within_doubles
from gaussmith.numerics.exact import Array
from gaussmith.numerics.norms import largest_distance, largest_norm

# A primal–dual interior-point method for the solver's concave problems, quadratic at the end.
#
# Both problems, the least total and the least worst answer, become: minimise Σ θ_i − (a smooth concave function), θ ≥
# 0, once the constraint that weights add up to one is traded for their scale. With q the function's gradient the
# optimum has z = 1 − q ≥ 0, θ ≥ 0, θ∘z = 0. A step solves
#
#     (ΨΨᵀ + diag z) η = √θ∘(q − 1 + τ/θ),      δθ = √θ∘η,      ΨΨᵀ = √θ∘(minus the Hessian)∘√θ,
#
# so scaled that it keeps its balance when weights differ by many orders of magnitude. Predictor and corrector as
# usual; some ten steps from anywhere, three from a good start. The central path is weighted by the start (θ∘z =
# τ·share), since weights of differences in very different units should not be forced to be similar.


@dataclass(frozen=True, eq=False)
class SolverView:
    """What the problem looks like from some weights: gradient, root of the scaled Hessian, gap, and the right scale."""

    gradient: Array
    root: Array
    gap: float
    scale: float


def climb(start: Array, look: Callable[[Array], SolverView | None], report: Callable[[Array, float], bool]) -> Array:
    """The best weights found from `start`; ends when `report` says so, when it stalls, or when nothing can be seen.

    `look(θ)` gives the view, None where the problem is singular; multiplying θ by the first view's `scale` must make
    the weighted mean of the gradient one.
    """
    theta, z, share = start, np.zeros(0), start / start.sum()
    best, best_gap, stalled = start, np.inf, 0
    while True:
        view = look(theta)
        if view is None:
            return best
        stalled = 0 if view.gap < 0.9 * best_gap else stalled + 1
        if view.gap < best_gap:
            best, best_gap = theta, view.gap
        if report(theta, view.gap) or stalled >= 25:
            return best
        if len(z) == 0 and abs(view.scale - 1.0) > 1e-9:
            theta = theta * view.scale
            view = look(theta)
            if view is None:
                return best
        q, root = view.gradient, np.sqrt(theta)
        if len(z) == 0:
            z = np.maximum(1.0 - q, 0.0) + max(0.1 * view.gap, 1e-12)
        try:
            solve = _solver(view.root, z)
        except np.linalg.LinAlgError:
            return best
        # Predictor: straight for the boundary; its success sets how far to aim, its curvature is corrected for.
        slope = root * (q - 1.0)
        move = root * solve(slope)
        counter = -z - z * move / theta
        average = float(theta @ z)
        ahead = float((theta + _stride(theta, move) * move) @ (z + _stride(z, counter) * counter))
        aim = average * max((ahead / average) ** 3, 1e-8) * share - move * counter
        move = root * solve(slope + aim / root)
        counter = aim / theta - z - z * move / theta
        theta = theta + _stride(theta, move, 0.99) * move
        z = z + _stride(z, counter, 0.99) * counter


def products(X: Array, m: Array) -> Array:
    """x_ia x_ib / √(m_a m_b (m_a + m_b)) for a ≤ b, times √2 for a < b: scalar products of rows sum over all a, b."""
    a, b, double = pairs_of(len(m))
    columns, sizes = np.ascontiguousarray(X.T), double / np.sqrt(m[a] * m[b] * (m[a] + m[b]))
    return np.asarray((columns[a] * columns[b] * sizes[:, None]).T)


@lru_cache(maxsize=4)
def pairs_of(size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Array]:
    """All a ≤ b below a size, and √2 for each where a < b, else 1."""
    a, b = np.triu_indices(size)
    return a, b, np.where(a == b, 1.0, np.sqrt(2.0))


def _stride(values: Array, move: Array, part: float = 1.0) -> float:
    """The longest step, up to one, that keeps every value positive."""
    return min(1.0, part / max(float((-move / values).max()), 1e-30))


def _solver(Psi: Array, z: Array) -> Callable[[Array], Array]:
    """Solves (ΨΨᵀ + diag z) η = r on the smaller side of Ψ."""
    from scipy.linalg import cho_factor, cho_solve

    N, P = Psi.shape
    if N <= P:
        K = Psi @ Psi.T
        K[np.diag_indices(N)] += z + 1e-15 * np.diag(K).max()
        whole = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        return lambda r: np.asarray(cho_solve(whole, r, check_finite=False))
    T = Psi / z[:, None]
    K = Psi.T @ T
    K[np.diag_indices(P)] += 1.0
    inner = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    return lambda r: np.asarray(r / z - T @ cho_solve(inner, T.T @ r, check_finite=False))


# Sets of differences that the solver can weigh: rows given one by one, or all differences of pairs of points.
#
# The second kind is what replacing one record over n cells gives. Its n(n−1)/2 differences are never written down:
# their weighted moment is a graph's Laplacian between two copies of the points, and a lifted difference's squared
# norm is a distance between two lifted points.

Index = npt.NDArray[np.intp]

_WRITTEN = 1 << 24
"""Limit on explicit numbers; larger sets are handled implicitly."""


class Differences(Protocol):
    """The interface of a set of differences s_1 … s_N in k answers, for the solver."""

    @property
    def size(self) -> int:
        """N, the number of differences."""

    @property
    def answers(self) -> int:
        """k, their length."""

    def moment(self, weights: Array) -> Array:
        """Σ λ_i s_i s_iᵀ (k × k)."""

    def factor(self, weights: Array) -> Array:
        """A matrix B with BᵀB = Σ λ_i s_i s_iᵀ, formed without squaring anything."""

    def squares(self, lift: Array) -> Array:
        """‖lift·s_i‖² for every difference, to working precision."""

    def rows(self, index: Index) -> Array:
        """The chosen differences, written down."""

    def generators(self) -> Array:
        """A few differences with the same span as all of them."""

    def times(self, matrix: Array) -> Differences:
        """The differences in other coordinates: each s becomes s·matrix."""

    def largest_norm(self, lift: Array) -> float:
        """max ‖lift·s_i‖, rounded upward."""


@dataclass(frozen=True, eq=False)
class RowDifferences:
    """Differences given as the rows of a matrix."""

    points: Array

    @property
    def size(self) -> int:
        return len(self.points)

    @property
    def answers(self) -> int:
        return int(self.points.shape[1])

    def moment(self, weights: Array) -> Array:
        B = self.factor(weights)
        return np.asarray(B.T @ B)

    def factor(self, weights: Array) -> Array:
        return np.asarray(np.sqrt(weights)[:, None] * self.points)

    def squares(self, lift: Array) -> Array:
        Y = self.points @ lift.T
        return np.asarray(np.einsum("ij,ij->i", Y, Y))

    def rows(self, index: Index) -> Array:
        return np.asarray(self.points[index])

    def generators(self) -> Array:
        return self.points

    def times(self, matrix: Array) -> RowDifferences:
        return RowDifferences(self.points @ matrix)

    def largest_norm(self, lift: Array) -> float:
        return largest_norm(lift, self.points)


@dataclass(frozen=True, eq=False)
class PairDifferences:
    """The differences points[i] − points[j] of all pairs i < j, in the order of `numpy.triu_indices`."""

    points: Array

    @property
    def size(self) -> int:
        return len(self.points) * (len(self.points) - 1) // 2

    @property
    def answers(self) -> int:
        return int(self.points.shape[1])

    @cached_property
    def _ends(self) -> tuple[Index, Index]:
        return np.triu_indices(len(self.points), 1)

    def _laplacian(self, weights: Array) -> Array:
        L = np.zeros((len(self.points),) * 2)
        L[self._ends] = -weights
        L += L.T
        np.fill_diagonal(L, -L.sum(axis=1))
        return L

    def moment(self, weights: Array) -> Array:
        M = self._centred.T @ self._laplacian(weights) @ self._centred
        return np.asarray((M + M.T) / 2)

    def factor(self, weights: Array) -> Array:
        support = np.flatnonzero(weights > 1e-14 * weights.max())
        if len(support) * self.answers <= _WRITTEN:
            return np.asarray(np.sqrt(weights[support])[:, None] * self.rows(support))
        # Too many to write down. Squares are formed here, of the weights only, which are similar over cells.
        e, Q = np.linalg.eigh(self._laplacian(weights))
        return np.asarray((Q * np.sqrt(np.maximum(e, 0.0))).T @ self._centred)

    def squares(self, lift: Array) -> Array:
        Y = self._centred @ lift.T
        G = Y @ Y.T
        g = np.diag(G)
        i, j = self._ends
        return np.maximum(g[i] + g[j] - 2.0 * G[i, j], 0.0)

    def rows(self, index: Index) -> Array:
        i, j = self._ends
        return np.asarray(self.points[i[index]] - self.points[j[index]])

    @cached_property
    def _centred(self) -> Array:
        return np.asarray(self.points - self.points.mean(axis=0))

    def generators(self) -> Array:
        return np.asarray(self.points[1:] - self.points[0])

    def times(self, matrix: Array) -> PairDifferences:
        return PairDifferences(self._centred @ matrix)

    def largest_norm(self, lift: Array) -> float:
        return largest_distance(lift, self.points)


# The search for the best weights on a set of differences: a concave problem, climbed in two ways.
#
#     maximise tr M(λ)^{1/2},   M(λ) = Σ λ_i s_i s_iᵀ,   λ ≥ 0, Σ λ_i = 1;    costs c_i = s_iᵀM^{−1/2}s_i / tr M^{1/2}
#
# *Multiply*: λ_i ← λ_i c_i², with Anderson's extrapolation on log λ. A round costs one eigendecomposition; large and
# smooth problems (prefix sums over thousands of cells) need under ten. *Newton* (`interior`): minimise Σ λ_i − 2 tr
# M(λ)^{1/2}, λ ≥ 0, the same problem freed of its constraint by scaling, on the differences that can still matter. In
# the eigenbasis M^{1/2} = V diag(m) Vᵀ the Hessian is ΦΦᵀ with Φ_{i,ab} = x_ia x_ib / √(m_a m_b (m_a + m_b)), x_i =
# Vᵀs_i. A few steps, to any gap.
#
# Nothing here can harm privacy: the result is only weights, and `optimum` certifies the shape they give.

Progress = Callable[[int, float], None]

_DEPTH = 4
_LEAST = 1e-60
_MOST_LIGHT = 0.05
"""What weights that grow at once may come to together."""
_WORK = 4e9
"""Limit on the multiplications of one Newton round."""
_TALL = 32
"""How many times as many rows as columns are brought to a triangle first."""


class Watch:
    """Counts rounds, remembers the best weights seen, says when to stop."""

    def __init__(self, gap: float, max_rounds: int, progress: Progress | None) -> None:
        self.gap, self.max_rounds, self.progress = gap, max_rounds, progress
        self.rounds = 0
        self.best_gap = np.inf
        self.best: Array = np.zeros(0)

    def saw(self, weights: Array, gap: float) -> bool:
        """Record a round; true when the search is over."""
        self.rounds += 1
        if gap < self.best_gap:
            self.best_gap, self.best = gap, weights
        if self.progress is not None:
            self.progress(self.rounds, gap)
        return self.over

    def tick(self) -> bool:
        """Count a round on a part of the differences, which says nothing about the whole."""
        self.rounds += 1
        if self.progress is not None:
            self.progress(self.rounds, self.best_gap)
        return self.rounds >= self.max_rounds

    def found(self) -> Array:
        """The best weights so far; refuses differences that none could be priced for."""
        if len(self.best) == 0:
            raise too_far()
        return self.best

    @property
    def over(self) -> bool:
        return self.best_gap <= 0.98 * self.gap or self.rounds >= self.max_rounds


def search(differences: Differences, gap: float, max_rounds: int, progress: Progress | None) -> tuple[Array, int]:
    """Weights whose largest cost is at most 1 + gap, or the best found in `max_rounds`; and the rounds used."""
    watch = Watch(gap, max_rounds, progress)
    start = np.full(differences.size, 1.0 / differences.size)
    space = room(differences.answers)
    if space < 1.2 * differences.answers:
        _multiply_weights(differences, start, watch, max_rounds)
        return watch.found(), watch.rounds
    # These rounds are cheap, settle the scales, and leave few differences in play. (Newton's matrices are large enough
    # for threaded libraries to split them, which on a busy machine costs more than it saves.)
    _multiply_weights(differences, start, watch, 60)
    watch.found()
    if not watch.over:
        _newton_weights(differences, watch, space)
    if not watch.over:
        _multiply_weights(differences, watch.best, watch, max_rounds)
    return watch.best, watch.rounds


def spectrum(differences: Differences, weights: Array, gap: float = 0.0) -> tuple[Array, Array]:
    """m and V with M(λ)^{1/2} = V diag(m) Vᵀ: from M where its spread is mild for this gap, else `singular`."""
    if gap > 0:
        e, V = np.linalg.eigh(differences.moment(weights))
        if e[0] * gap > 1e-13 * e[-1]:
            return np.sqrt(e), V
    return singular(differences.factor(weights))


def singular(B: Array) -> tuple[Array, Array]:
    """Singular values (descending) and right singular vectors of B, small ones to high relative accuracy; 0 if lost."""
    if len(B) > 2 * B.shape[1]:
        # Large rows first: then Householder's errors stay small relative to each row, not only to the largest.
        B = B[np.argsort(-np.abs(B.T, order="C").max(axis=0))]
    # Only right vectors are asked for: those of many rows are those of their triangle.
    _, m, Vt = np.linalg.svd(np.linalg.qr(B, mode="r") if len(B) > _TALL * B.shape[1] else B, full_matrices=False)
    if m[-1] > 1e-7 * m[0] or len(B) < B.shape[1]:
        return m, Vt.T
    from scipy.linalg.lapack import dgejsv  # one-sided Jacobi: relative accuracy under row and column scaling

    m, _, V, work, _, info = dgejsv(B, joba=3, jobu=3, jobv=0)
    return (m * (work[0] / work[1]) if info == 0 else np.zeros_like(m)), V


def _multiply_weights(differences: Differences, start: Array, watch: Watch, patience: int) -> None:
    """λ_i ← λ_i c_i², extrapolated; an extrapolation that went wrong is undone and followed by a plain step."""
    last = watch.rounds + patience
    memory = Memory()
    x = np.log(np.maximum(start, _LEAST))
    while True:
        lam = np.exp(x - x.max())
        lam /= lam.sum()
        x = np.log(np.maximum(lam, _LEAST))
        cost, grip = _prices(differences, lam, watch.gap)
        now = float(cost.max() - 1.0)
        if watch.saw(lam, now) or watch.rounds >= last or (np.isinf(now) and memory.ground is None):
            return
        x = memory.next(x, 2.0 * np.log(np.maximum(cost, 1e-30)), np.sqrt(lam * grip), now)
        if np.isfinite(now):
            # A difference that costs too much but hardly weighs would need many rounds to grow: let it weigh at once.
            least = 0.1 * np.minimum(cost - 1.0, 1.0) / np.maximum(grip, _LEAST)
            light = (cost > 1.0 + 0.1 * watch.gap) & (lam < least)
            # Many that stand for the same direction must not take over together.
            least = least[light] * min(1.0, _MOST_LIGHT / max(float(least[light].sum()), _LEAST))
            x[light] = np.maximum(x[light], np.log(np.maximum(least, _LEAST)))


class Memory:
    """Anderson's extrapolation: the combination of past moves that explains the last step best, taken off ahead."""

    def __init__(self) -> None:
        self.places: list[Array] = []
        self.steps: list[Array] = []
        self.ground: tuple[float, Array] | None = None  # where the last jump left from: its gap and plain successor
        self.plain, self.wait = 0, 2

    def next(self, x: Array, step: Array, weight: Array, gap: float) -> Array:
        """Where to go from x, whose plain step is `step`; a jump that doubled the gap is taken back."""
        if self.ground is not None and not gap < 2.0 * self.ground[0]:
            back = self.ground[1]
            self.places, self.steps, self.ground = [], [], None
            self.plain, self.wait = 0, min(2 * self.wait, 64)
            return back
        self.places, self.steps = [*self.places[-_DEPTH:], x], [*self.steps[-_DEPTH:], step]
        self.plain += 1
        if self.plain <= self.wait:
            return np.asarray(x + step)
        self.ground = (gap, x + step)
        dF = np.diff(np.array(self.steps), axis=0)
        dX = np.diff(np.array(self.places), axis=0)
        moves, goal = (dF * weight).T, step * weight
        if not (np.isfinite(moves).all() and np.isfinite(goal).all()):  # LAPACK would complain aloud
            return np.asarray(x + step)
        mix = np.linalg.lstsq(moves, goal, rcond=1e-10)[0]
        # Weights that hardly count are hardly fitted: they may fall fast, not rise fast.
        return np.asarray(x + np.clip(step - mix @ (dX + dF), -6.0, 1.0))


def room(directions: int) -> int:
    """The number of weights that a Newton round can afford."""
    P = directions * (directions + 1) // 2
    return int(min(_WORK / P**2, 1e9) if _WORK / P**2 > P else (_WORK / P) ** 0.5)


def _newton_weights(differences: Differences, watch: Watch, space: int) -> None:
    """Newton on a working set; then price everything, take in what is violated, drop what is idle, repeat."""

    def look(lam: Array) -> SolverView | None:
        m, V = spectrum(part, lam, 1e-6)
        if not _hides_all(part, m):
            return None
        X = points @ V
        q = (X**2 / m).sum(axis=1)
        total, trace = float(lam.sum()), float(m.sum())
        root = np.sqrt(lam)[:, None] * products(X, m)
        return SolverView(q, root, float(q.max()) * total / trace - 1.0, (trace / total) ** 2)

    lam = watch.best
    cost, grip = _prices(differences, lam, watch.gap)
    index = np.flatnonzero((lam * grip > 1e-3) | (cost > 1.0 - 3.0 * watch.best_gap))
    if len(index) > space // 2:
        return
    for _ in range(40):
        points = differences.rows(index)
        part = RowDifferences(points)
        start = np.maximum(lam[index], 1e-4 / np.maximum(grip[index], 1e-4))
        found = climb(start, look, lambda _, gap: gap <= 0.3 * watch.gap or watch.tick())
        lam = np.zeros(differences.size)
        lam[index] = found / found.sum()
        cost, grip = _prices(differences, lam, watch.gap)
        if watch.saw(lam, float(cost.max() - 1.0)) or not np.isfinite(cost).all():
            return
        missing = np.setdiff1d(np.flatnonzero(cost > 1.0 + 0.5 * watch.gap), index)
        kept = index[(lam[index] * grip[index] > 1e-7) | (cost[index] > 1.0 - 10.0 * watch.gap)]
        free = min(space - len(kept), max(2 * differences.answers, 64))
        if len(missing) == 0 or free < 1:
            return
        index = np.union1d(kept, missing[np.argsort(-cost[missing])][:free])


def _prices(differences: Differences, lam: Array, gap: float) -> tuple[Array, Array]:
    """The cost of every difference, and its grip sᵀM⁻¹s: times λ, how much of some direction rests on it alone."""
    m, V = spectrum(differences, lam, gap)
    if not _hides_all(differences, m):
        return np.full(differences.size, np.inf), np.ones(differences.size)
    return differences.squares((V / np.sqrt(m)).T) / m.sum(), differences.squares((V / m).T)


def _hides_all(differences: Differences, m: Array) -> bool:
    """Whether no direction is left without noise: a cost read from a singular M would be a lie."""
    return len(m) == differences.answers and bool(m.min() > 0)


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
) -> Optimum:
    """The shape of least error that hides every difference in `points` (N × k); its price is rounded up.

        minimise tr Σ,  or max_j Σ_jj/target_j²,   subject to   s_iᵀ Σ⁺ s_i ≤ 1,  i = 1 … N

    `pairs`: the differences are those of all pairs of points (replacing one record), without writing them down.
    `targets`: with objective "worst", the standard errors aimed at, one per answer; a price of p at μ = 1 means that
    they are all met at μ = √p.
    `known`: weights and shares found before (`Optimum.weights`, `Optimum.shares`), to be used without a search.

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
    given: Differences = PairDifferences(array) if pairs else RowDifferences(array)
    scale = _scale_of(given)
    if objective == "total":
        if targets is not None:
            what, rule = "targets with objective='total'", "targets are for the worst answer"
            raise PlanError(what, rule, "use weights instead", code="targets-with-objective-total")
        with within_doubles():
            return _least_total(given, scale, gap, max_rounds, progress, known)
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
) -> Optimum:
    basis = _span_of(given)
    inside = given.times(basis / scale)
    weights, rounds = (known[0], 0) if known else search(inside, gap, max_rounds, progress)
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
    # Small singular values have lost digits: what the lift takes, the decoding gives back.
    decode = decode @ np.linalg.inv(lift @ decode)
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


# The search for the shape whose worst answer is best.
#
# The smallest possible largest variance is the largest, over weights w on the answers, of the least weighted total;
# and both sides of that are searched at once, since for B = √λ·S·√w
#
#     max over λ and w of ‖B‖_*²   =   min over Σ of max_j Σ_jj,       F = ‖B‖_* the sum of the singular values,
#
# a concave problem in (λ, w) (it is a fidelity). With B = U diag(m) Vᵀ the shape of (λ, w) has costs c_i = Σ_a m_a
# U_ia²/(λ_i F) and answers of variance F² e_j, e_j = Σ_a m_a V_ja²/(w_j F), so that every round has its gap max c ·
# max e − 1. As in `search`: cheap multiplicative rounds first, then Newton on what is left, for minimise Σ λ_i + Σ
# w_j − 4√F, where relative changes α of λ and β of w bend F by
#
#     −½ Σ_ab m_a m_b/(m_a+m_b) (Σ_i α_i U_ia U_ib − Σ_j β_j V_ja V_jb)².


def search_worst(
    differences: Differences, gap: float, max_rounds: int, progress: Progress | None
) -> tuple[Array, Array, int]:
    """Weights λ on the differences and shares w on the answers that close the gap, and the rounds used."""
    N, k = differences.size, differences.answers
    watch = Watch(gap, max_rounds, progress)
    ground = _Ground.under(differences, gap / 8)
    _multiply(differences, ground, np.ones(N + k), watch, 60)
    if not watch.over:
        _newton(differences, ground, watch)
    if not watch.over:
        _multiply(differences, ground, watch.best, watch, max_rounds)
    return watch.best[:N], watch.best[N:], watch.rounds


@dataclass(frozen=True, eq=False)
class _Ground:
    """A little weight for everything, half of it the more the smaller something is.

    An answer that is never the worst ends with no share, and a shape that ignored it altogether could not give it back;
    likewise a difference. Mixing in a part ε of these shares prevents that and costs no more than about ε.
    """

    part: float
    lam: Array
    w: Array

    @classmethod
    def under(cls, differences: Differences, part: float) -> _Ground:
        sizes = differences.squares(np.eye(differences.answers)), (differences.generators() ** 2).max(axis=0)
        lam, w = (np.where(x > 0, 1.0 / np.maximum(x, 1e-28 * x.max()), 0.0) for x in sizes)
        return cls(part, (lam / lam.sum() + 1.0 / len(lam)) / 2.0, (w / w.sum() + 1.0 / len(w)) / 2.0)

    def mixed(self, lam: Array, w: Array) -> Array:
        """(λ, w), each scaled to one, with the ground mixed in."""
        lam, w = (1.0 - self.part) * lam / lam.sum(), (1.0 - self.part) * w / w.sum()
        return np.concatenate([lam + self.part * self.lam, w + self.part * self.w])


@dataclass(frozen=True, eq=False)
class _Sight:
    """Singular values, the differences' and the answers' coordinates, their costs and errors, at some (λ, w)."""

    m: Array
    B: Array
    U: Array
    lift: Array
    cost: Array
    error: Array

    @property
    def gap(self) -> float:
        return float(self.cost.max() * self.error.max() - 1.0)


def _see(differences: Differences, lam: Array, w: Array) -> _Sight:
    B = differences.factor(lam)
    U, m, Vt = np.linalg.svd(B * np.sqrt(w), full_matrices=False)
    trace = float(m.sum()) / float(np.sqrt(lam.sum() * w.sum()))
    kept = m > 1e-14 * m[0]
    U, m, Vt = U[:, kept], m[kept], Vt[kept]
    lift = Vt * np.sqrt(w)
    cost = differences.squares(lift / np.sqrt(m)[:, None]) / trace
    error = (((B.T @ U) / np.sqrt(m)) ** 2).sum(axis=1) / trace
    return _Sight(m, B, U, lift, cost, error)


def _multiply(differences: Differences, ground: _Ground, start: Array, watch: Watch, patience: int) -> None:
    """λ_i ← λ_i c_i, w_j ← w_j e_j, extrapolated. The exponent is one, not two: both sides move at once, and with two
    they could change places for ever."""
    N, last, memory = differences.size, watch.rounds + patience, Memory()
    x = np.log(np.maximum(start, 1e-60))
    while True:
        x[:N] -= x[:N].max()
        x[N:] -= x[N:].max()
        both = ground.mixed(np.exp(x[:N]), np.exp(x[N:]))
        x = np.log(np.maximum(both, 1e-60))
        sight = _see(differences, both[:N], both[N:])
        if watch.saw(both, sight.gap) or watch.rounds >= last:
            return
        step = np.log(np.maximum(np.concatenate([sight.cost, sight.error]), 1e-30))
        x = memory.next(x, step, np.sqrt(both), sight.gap)


def _newton(differences: Differences, ground: _Ground, watch: Watch) -> None:
    """Newton on the answers and the differences in play, the ground kept under them; then price everything, take in
    what is violated, repeat."""
    N = differences.size
    lam, w = watch.best[:N], watch.best[N:]
    sight = _see(differences, lam, w)
    rank = len(sight.m)
    space = room(rank) - len(w)
    index = np.flatnonzero((lam > 1e-3 * lam.max()) | (sight.cost > 1.0 - max(0.1, 3.0 * watch.best_gap)))
    for _ in range(40):
        if len(index) > space:
            return
        part = RowDifferences(differences.rows(index))
        under = ground.part * np.concatenate([ground.lam[index], ground.w])
        start = np.maximum(np.concatenate([lam[index], w]) - under, 1e-6 * under.max())
        F = float(_see(part, *np.split(start + under, [part.size])).m.sum())
        found = F * under + climb(
            F * start, _View(part, F * under), lambda _, gap: gap <= 0.3 * watch.gap or watch.tick()
        )
        lam, w = np.zeros(N), found[len(index) :] / found[len(index) :].sum()
        lam[index] = found[: len(index)] / found[: len(index)].sum()
        sight = _see(differences, lam, w)
        if len(sight.m) < rank or watch.saw(np.concatenate([lam, w]), sight.gap):
            return
        missing = np.setdiff1d(np.flatnonzero(sight.cost > 1.0 + 0.3 * watch.gap), index)
        if len(missing) == 0:
            return
        index = np.union1d(index, missing[np.argsort(-sight.cost[missing])][: max(64, 2 * len(w))])


@dataclass(frozen=True, eq=False)
class _View:
    """The interior-point method's view of (λ, w) = θ + ground."""

    part: RowDifferences
    under: Array

    def __call__(self, theta: Array) -> SolverView:
        lam, w = np.split(theta + self.under, [self.part.size])
        sight = _see(self.part, lam, w)
        F = float(sight.m.sum())
        left, right = self.part.points @ sight.lift.T, sight.B.T @ sight.U  # U = √λ∘left/m, V = √w∘right/m
        q = (np.concatenate([left, right]) ** 2 / sight.m).sum(axis=1) / np.sqrt(F)
        bend = np.concatenate([products(left, sight.m), -products(right, sight.m)])
        root = np.sqrt(theta)[:, None] * np.column_stack([bend, 0.5 * q]) / F**0.25
        return SolverView(q, root, sight.gap, 1.0)

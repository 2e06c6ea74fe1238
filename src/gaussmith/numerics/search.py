"""The search for the best weights on a set of differences: a concave problem, climbed in two ways.

    maximise tr M(λ)^{1/2},   M(λ) = Σ λ_i s_i s_iᵀ,   λ ≥ 0, Σ λ_i = 1;    costs c_i = s_iᵀM^{−1/2}s_i / tr M^{1/2}

*Multiply*: λ_i ← λ_i c_i², with Anderson's extrapolation on log λ. A round costs one eigendecomposition; large and
smooth problems (prefix sums over thousands of cells) need under ten.
*Newton* (`interior`): minimise Σ λ_i − 2 tr M(λ)^{1/2}, λ ≥ 0, the same problem freed of its constraint by scaling, on
the differences that can still matter. In the eigenbasis M^{1/2} = V diag(m) Vᵀ the Hessian is ΦΦᵀ with
Φ_{i,ab} = x_ia x_ib / √(m_a m_b (m_a + m_b)), x_i = Vᵀs_i. A few steps, to any gap.

Nothing here can harm privacy: the result is only weights, and `optimum` certifies the shape they give.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.differences import Differences, Rows
from gaussmith.numerics.doubles import too_far
from gaussmith.numerics.interior import View, climb, products

Array = npt.NDArray[np.float64]
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


def search(
    differences: Differences, gap: float, max_rounds: int, progress: Progress | None, start: Array | None = None
) -> tuple[Array, int]:
    """Weights whose largest cost is at most 1 + gap, or the best found in `max_rounds`; and the rounds used."""
    watch = Watch(gap, max_rounds, progress)
    even = np.full(differences.size, 1.0 / differences.size)
    start = even if start is None else 0.9 * start / start.sum() + 0.1 * even
    space = room(differences.answers)
    if space < 1.2 * differences.answers:
        _multiply(differences, start, watch, max_rounds)
        return watch.found(), watch.rounds
    # These rounds are cheap, settle the scales, and leave few differences in play. (Newton's matrices are large enough
    # for threaded libraries to split them, which on a busy machine costs more than it saves.)
    _multiply(differences, start, watch, 60)
    watch.found()
    if not watch.over:
        _newton(differences, watch, space)
    if not watch.over:
        _multiply(differences, watch.best, watch, max_rounds)
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


def _multiply(differences: Differences, start: Array, watch: Watch, patience: int) -> None:
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


def _newton(differences: Differences, watch: Watch, space: int) -> None:
    """Newton on a working set; then price everything, take in what is violated, drop what is idle, repeat."""

    def look(lam: Array) -> View | None:
        m, V = spectrum(part, lam, 1e-6)
        if not _hides_all(part, m):
            return None
        X = points @ V
        q = (X**2 / m).sum(axis=1)
        total, trace = float(lam.sum()), float(m.sum())
        root = np.sqrt(lam)[:, None] * products(X, m)
        return View(q, root, float(q.max()) * total / trace - 1.0, (trace / total) ** 2)

    lam = watch.best
    cost, grip = _prices(differences, lam, watch.gap)
    index = np.flatnonzero((lam * grip > 1e-3) | (cost > 1.0 - 3.0 * watch.best_gap))
    if len(index) > space // 2:
        return
    for _ in range(40):
        points = differences.rows(index)
        part = Rows(points)
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

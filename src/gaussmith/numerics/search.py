"""The search for the best weights on a set of differences: a concave problem, climbed in two ways.

    maximise tr M(λ)^{1/2},   M(λ) = Σ λ_i s_i s_iᵀ,   λ ≥ 0, Σ λ_i = 1;    costs c_i = s_iᵀM^{−1/2}s_i / tr M^{1/2}

*Multiply*: λ_i ← λ_i c_i², with Anderson's extrapolation on log λ. A round costs one eigendecomposition; large and
smooth problems (prefix sums over thousands of cells) need under ten.
*Newton*: a primal–dual interior-point method for  minimise Σ λ_i − 2 tr M(λ)^{1/2}, λ ≥ 0  (the same problem, freed of
its constraint by scaling), on the differences that can still matter. In the eigenbasis M^{1/2} = V diag(m) Vᵀ the
Hessian is ΦΦᵀ with Φ_{i,ab} = x_ia x_ib / √(m_a m_b (m_a + m_b)), x_i = Vᵀs_i. Ten rounds or so, to any gap.

Nothing here can harm privacy: the result is only weights, and `optimum` certifies the shape they give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError
from gaussmith.numerics.differences import Differences, Rows

Array = npt.NDArray[np.float64]
Progress = Callable[[int, float], None]

_DEPTH = 4
_LEAST = 1e-60
_WORK = 4e9
"""Multiplications of one Newton round, at most."""


@dataclass
class Watch:
    """Counts rounds, remembers the best weights seen, says when to stop."""

    gap: float
    max_rounds: int
    progress: Progress | None
    rounds: int = 0
    best_gap: float = np.inf
    best: Array = field(default_factory=lambda: np.zeros(0))

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

    @property
    def over(self) -> bool:
        return self.best_gap <= 0.98 * self.gap or self.rounds >= self.max_rounds


def search(differences: Differences, gap: float, max_rounds: int, progress: Progress | None) -> tuple[Array, int]:
    """Weights whose largest cost is at most 1 + gap, or the best found in `max_rounds`; and the rounds used."""
    watch = Watch(gap, max_rounds, progress)
    start = np.full(differences.size, 1.0 / differences.size)
    room = _room(differences.answers)
    if room < 1.2 * differences.answers:
        _multiply(differences, start, watch, max_rounds)
        return watch.best, watch.rounds
    # A few plain rounds bring weights of points in far apart scales to their order of magnitude.
    _multiply(differences, start, watch, 4 if differences.size <= room // 4 else 16)
    if not watch.over:
        _newton_on_the_active(differences, watch, room)
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
    """Singular values (descending) and right singular vectors of B, small ones to high relative accuracy."""
    if len(B) > 2 * B.shape[1]:
        # Large rows first: then Householder's errors stay small beside each row, not only beside the largest.
        B = B[np.argsort(-np.abs(B).max(axis=1))]
    _, m, Vt = np.linalg.svd(B, full_matrices=False)
    if m[-1] > 1e-7 * m[0] or len(B) < B.shape[1]:
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


def _multiply(differences: Differences, start: Array, watch: Watch, patience: int) -> None:
    """λ_i ← λ_i c_i², extrapolated; an extrapolation that went wrong is undone and followed by a plain step."""
    last = watch.rounds + patience
    memory = Memory()
    x = np.log(np.maximum(start, _LEAST))
    while True:
        lam = np.exp(x - x.max())
        lam /= lam.sum()
        x = np.log(np.maximum(lam, _LEAST))
        cost = _costs(differences, lam, watch.gap)
        now = float(cost.max() - 1.0)
        if watch.saw(lam, now) or watch.rounds >= last:
            return
        x = memory.next(x, 2.0 * np.log(np.maximum(cost, 1e-30)), np.sqrt(lam), now)


@dataclass
class Memory:
    """Anderson's extrapolation: the combination of past moves that explains the last step best, taken off ahead."""

    places: list[Array] = field(default_factory=list)
    steps: list[Array] = field(default_factory=list)
    ground: tuple[float, Array] | None = None  # where the last jump left from: its gap and its plain successor
    plain: int = 0
    wait: int = 2

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
        mix = np.linalg.lstsq((dF * weight).T, step * weight, rcond=1e-10)[0]
        # Weights that hardly count are hardly fitted: they may fall fast, not rise fast.
        return np.asarray(x + np.clip(step - mix @ (dX + dF), -6.0, 1.0))


def _room(answers: int) -> int:
    """How many differences a Newton round can afford."""
    P = answers * (answers + 1) // 2
    return int(min(_WORK / P**2, 1e9) if _WORK / P**2 > P else (_WORK / P) ** 0.5)


def _newton_on_the_active(differences: Differences, watch: Watch, room: int) -> None:
    """Newton on a working set; then price everything, take in what is violated, drop what is idle, repeat."""
    if differences.size <= room:
        _newton(differences.rows(np.arange(differences.size)), np.maximum(watch.best, 1e-12), watch.saw)
        return
    lam = watch.best
    cost = _costs(differences, lam, watch.gap)
    index = np.flatnonzero((lam > 1e-3 * lam.max()) | (cost > 1.0 - 3.0 * watch.best_gap))
    if len(index) > room // 2:
        return
    for _ in range(40):
        part = np.maximum(lam[index], 1e-3 * lam[index].max() / len(index))
        lam = np.zeros(differences.size)
        lam[index] = _newton(differences.rows(index), part, lambda _, gap: gap <= 0.3 * watch.gap or watch.tick())
        cost = _costs(differences, lam, watch.gap)
        if watch.saw(lam, float(cost.max() - 1.0)):
            return
        missing = np.setdiff1d(np.flatnonzero(cost > 1.0 + 0.5 * watch.gap), index)
        kept = index[(lam[index] > 1e-8 * lam.max()) | (cost[index] > 1.0 - 10.0 * watch.gap)]
        free = min(room - len(kept), max(2 * differences.answers, 64))
        if len(missing) == 0 or free < 1:
            return
        index = np.union1d(kept, missing[np.argsort(-cost[missing])][:free])


def _costs(differences: Differences, lam: Array, gap: float) -> Array:
    m, V = spectrum(differences, lam, gap)
    if len(m) < differences.answers or not m.min() > 0:
        return np.full(differences.size, np.inf)  # some difference would be left without noise
    return np.asarray(differences.squares((V / np.sqrt(m)).T) / m.sum())


def _newton(points: Array, start: Array, report: Callable[[Array, float], bool]) -> Array:
    """Weights on these points by a predictor–corrector interior-point method; ends when told, or when it stalls.

    With q_i = s_iᵀM^{−1/2}s_i the optimum has z = 1 − q ≥ 0, λ ≥ 0, λ∘z = 0. A step solves
    (ΨΨᵀ + diag z) η = √λ∘(q − 1 + τ/λ), Ψ = √λ∘Φ, δλ = √λ∘η: scaled so, it keeps its balance at any scale of points.
    """
    differences = Rows(points)
    k = points.shape[1]
    a, b = np.triu_indices(k)
    double = np.where(a == b, 1.0, np.sqrt(2.0))
    lam, z = start, np.zeros(0)
    best, best_gap, stalled = start, np.inf, 0
    while True:
        m, V = spectrum(differences, lam, 1e-6)
        if len(m) < k or not m.min() > 0:
            return best
        X = points @ V
        q = (X**2 / m).sum(axis=1)
        gap = float(q.max() * lam.sum() / m.sum() - 1.0)
        improved = gap < 0.9 * best_gap
        if gap < best_gap:
            best, best_gap = lam / lam.sum(), gap
        stalled = 0 if improved else stalled + 1
        if report(lam / lam.sum(), gap) or stalled >= 6:
            return best
        if len(z) == 0:
            grow = float(m.sum() / lam.sum())
            lam, m, q = lam * grow**2, m * grow, q / grow
            z = np.maximum(1.0 - q, 0.0) + max(0.1 * gap, 1e-12)
        root = np.sqrt(lam)
        Psi = (root[:, None] * X[:, a] * X[:, b]) * (double / np.sqrt(m[a] * m[b] * (m[a] + m[b])))
        try:
            solve = _solver(Psi, z)
        except np.linalg.LinAlgError:
            return best
        # Predictor: straight for the boundary; its success sets how far to aim, its curvature is corrected for.
        slope = root * (q - 1.0)
        move = root * solve(slope)
        counter = -z - z * move / lam
        average = float(lam @ z) / len(lam)
        ahead = float((lam + _stride(lam, move) * move) @ (z + _stride(z, counter) * counter)) / len(lam)
        aim = average * max((ahead / average) ** 3, 1e-8) - move * counter
        move = root * solve(slope + aim / root)
        counter = aim / lam - z - z * move / lam
        lam = lam + _stride(lam, move, 0.99) * move
        z = z + _stride(z, counter, 0.99) * counter


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

"""The search for the shape whose worst answer is best.

The smallest possible largest variance is the largest, over weights w on the answers, of the least weighted
total; and both sides of that are searched at once, since for B = √λ·S·√w

    max over λ and w of ‖B‖_*²   =   min over Σ of max_j Σ_jj,       F = ‖B‖_* the sum of the singular values,

a concave problem in (λ, w) (it is a fidelity). With B = U diag(m) Vᵀ the shape of (λ, w) has costs
c_i = Σ_a m_a U_ia²/(λ_i F) and answers of variance F² e_j, e_j = Σ_a m_a V_ja²/(w_j F), so that every round has its gap
max c · max e − 1. As in `search`: cheap multiplicative rounds first, then Newton on what is left, for
minimise Σ λ_i + Σ w_j − 4√F, where relative changes α of λ and β of w bend F by

    −½ Σ_ab m_a m_b/(m_a+m_b) (Σ_i α_i U_ia U_ib − Σ_j β_j V_ja V_jb)².
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.differences import Differences, Rows
from gaussmith.numerics.interior import View, climb, products
from gaussmith.numerics.search import Memory, Progress, Watch, room
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]


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
        part = Rows(differences.rows(index))
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

    part: Rows
    under: Array

    def __call__(self, theta: Array) -> View:
        lam, w = np.split(theta + self.under, [self.part.size])
        sight = _see(self.part, lam, w)
        F = float(sight.m.sum())
        left, right = self.part.points @ sight.lift.T, sight.B.T @ sight.U  # U = √λ∘left/m, V = √w∘right/m
        q = (np.concatenate([left, right]) ** 2 / sight.m).sum(axis=1) / np.sqrt(F)
        bend = np.concatenate([products(left, sight.m), -products(right, sight.m)])
        root = np.sqrt(theta)[:, None] * np.column_stack([bend, 0.5 * q]) / F**0.25
        return View(q, root, sight.gap, 1.0)

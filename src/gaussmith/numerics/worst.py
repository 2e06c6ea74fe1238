"""The search for the shape whose worst answer is best.

The smallest possible largest variance is the largest, over shares w of attention on the answers, of the least weighted
total; and both sides of that are searched at once, since for B = √λ·S·√w

    max over λ and w of ‖B‖_*²   =   min over Σ of max_j Σ_jj,       ‖B‖_* the sum of the singular values,

a concave problem in (λ, w) (it is a fidelity). With B = U diag(m) Vᵀ and trace m̄ = Σ m, the shape of (λ, w) has costs
c_i = Σ_a m_a U_ia²/(λ_i m̄) and answers of variance m̄² · Σ_a m_a V_ja²/(w_j m̄), so that every round has its own gap.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.differences import Differences
from gaussmith.numerics.search import Memory, Progress, Watch

Array = npt.NDArray[np.float64]


def search_worst(
    differences: Differences, gap: float, max_rounds: int, progress: Progress | None
) -> tuple[Array, Array, int]:
    """Weights λ on the differences and shares w on the answers that close the gap, and the rounds used."""
    N = differences.size
    watch = Watch(gap, max_rounds, progress)
    x = np.zeros(N + differences.answers)
    memory = Memory()
    while True:
        lam, w = _simplex(x[:N], gap / 8), _simplex(x[N:], gap / 8)
        x = np.log(np.concatenate([lam, w]))
        B = differences.factor(lam)
        U, m, Vt = np.linalg.svd(B * np.sqrt(w), full_matrices=False)
        trace = m.sum()
        m = np.maximum(m, 1e-14 * m[0])
        cost = differences.squares(Vt * np.sqrt(w) / np.sqrt(m)[:, None]) / trace
        error = (((B.T @ U) / np.sqrt(m)) ** 2).sum(axis=1) / trace
        now = float(cost.max() * error.max() - 1.0)
        if watch.saw(np.concatenate([lam, w]), now):
            return watch.best[:N], watch.best[N:], watch.rounds
        # The exponent is one, not two: both sides move at once, and two would make them change places for ever.
        step = np.log(np.maximum(np.concatenate([cost, error]), 1e-30))
        x = memory.next(x, step, np.sqrt(np.concatenate([lam, w])), now)


def _simplex(logarithms: Array, floor: float) -> Array:
    """Shares that add up to one, none below floor/number.

    An answer that is never the worst ends with no share, and a shape that ignores it altogether could not give it back.
    The floor prevents that, and costs no more than itself: at the best floored shares no answer exceeds 1/(1−floor).
    """
    share = np.exp(logarithms - logarithms.max())
    share = np.maximum(share / share.sum(), floor / len(share))
    return np.asarray(share / share.sum())

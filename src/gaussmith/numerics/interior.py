"""A primal–dual interior-point method for the solver's concave problems, quadratic at the end.

Both problems, the least total and the least worst answer, become: minimise Σ θ_i − (a smooth concave function),
θ ≥ 0, once the constraint that weights add up to one is traded for their scale. With q the function's gradient the
optimum has z = 1 − q ≥ 0, θ ≥ 0, θ∘z = 0. A step solves

    (ΨΨᵀ + diag z) η = √θ∘(q − 1 + τ/θ),      δθ = √θ∘η,      ΨΨᵀ = √θ∘(minus the Hessian)∘√θ,

so scaled that it keeps its balance when weights differ by many orders of magnitude. Predictor and corrector as usual;
some ten steps from anywhere, three from a good start. The central path is weighted by the start (θ∘z = τ·share), since
weights of differences in very different units should not be forced to be similar.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """What the problem looks like from some weights: gradient, root of the scaled Hessian, gap, and the right scale."""

    gradient: Array
    root: Array
    gap: float
    scale: float


def climb(start: Array, look: Callable[[Array], View | None], report: Callable[[Array, float], bool]) -> Array:
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

"""The solver against a cone solver and against one eigendecomposition: ratios, measured in one run.

    ./run python benchmarks/solver.py

Claims: at least 5 × faster than cvxpy + Clarabel on random points at the same value to 1e-6; prefix sums over 1024
cells certified to 0.1 % in less than 40 × one `numpy.linalg.eigh(1024)`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.solver import solve

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings

Array = npt.NDArray[np.float64]


def fastest(run: Callable[[], float], times: int) -> tuple[float, float]:
    """The shortest of several runs, in seconds, and what the last one returned."""
    best, value = float("inf"), 0.0
    for _ in range(times):
        start = time.perf_counter()
        value = run()
        best = min(best, time.perf_counter() - start)
    return best, value


def by_cone_solver(points: Array) -> float:
    """max tr X subject to [[M(λ), X], [Xᵀ, I]] ⪰ 0: the smallest cone program we know for it."""
    import cvxpy as cp

    N, k = points.shape
    lam, X = cp.Variable(N, nonneg=True), cp.Variable((k, k))
    M = points.T @ cp.diag(lam) @ points
    problem = cp.Problem(cp.Maximize(cp.trace(X)), [cp.bmat([[M, X], [X.T, np.eye(k)]]) >> 0, cp.sum(lam) == 1])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value) ** 2


def main() -> int:
    found = Findings("solver", "Solver")
    rng = np.random.default_rng(1)
    for N in (100, 300, 500):
        points = rng.normal(size=(N, 16))
        ours, value = fastest(lambda points=points: solve(points, gap=1e-6).upper, 5)
        cone, oracle = fastest(lambda points=points: by_cone_solver(points), 2)
        apart = abs(value / oracle - 1)
        what = f"{N} random points in 16 dimensions to 1e-6: cvxpy with Clarabel / ours"
        found.say(what, cone / ours, f"{cone:.3f} s / {ours:.3f} s, values agree to {apart:.1e}", at_least=5)
    prefix = np.triu(np.ones((1024, 1024)))
    moment = prefix.T @ prefix
    unit, _ = fastest(lambda: float(np.linalg.eigh(moment)[0][0]), 3)
    ours, gap = fastest(lambda: solve(prefix).gap, 2)
    detail = f"{ours:.2f} s / {unit:.2f} s, certified to {gap:.2%}"
    found.say("prefix sums over 1024 cells, to 0.1 %: ours / one eigh(1024)", ours / unit, detail, at_most=40)
    ours, gap = fastest(lambda: solve(prefix[:256, :256], pairs=True).gap, 2)
    what = "the same over 256 cells, one record replaced (32 640 differences), seconds"
    found.say(what, ours, f"certified to {gap:.2%}")
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

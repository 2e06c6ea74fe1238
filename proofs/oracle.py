"""Outside oracles: other people's programs compute the same numbers in other ways.

    accounting    δ of μ-Gaussian noise and of compositions, against dp-accounting (PLD, pessimistic) and against
                  mpmath to 50 digits: ours is never more optimistic, and within 1e-9 of the exact value
    optimum       the least total noise for random points, by cvxpy with Clarabel, against our plans: ours is certified,
                  so never below, and within 1 %
    intervals     the normal tail and δ(ε), in ball arithmetic of python-flint: our roundings lie on the safe side

OpenDP and diffprivlib need an environment of their own: proofs/libraries.py compares σ with theirs.

    ./run oracle                  all of it, about twenty minutes
    ./run oracle --cases 100      fewer random cases

Writes docs/evidence/oracle.json unless --dry; leaves with 1 if anything disagrees.
"""

from __future__ import annotations

import argparse
import math
import random
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "shared"))

from evidence import write_found  # noqa: E402

import gaussmith as gm  # noqa: E402
from gaussmith.audit.exact import gaussian_delta  # noqa: E402

FILE = ROOT / "docs" / "evidence" / "oracle.json"
CLAIM = "Other programs find the same accounting, the same optimum and the same tails, and ours err on the safe side."


def accounting(cases: int, rng: random.Random) -> dict[str, Any]:
    """Random (ε, δ) and compositions, against 50 digits and against dp-accounting's PLD."""
    unsafe, excess, optimistic, compared = 0, 0.0, 0, 0
    for _ in range(cases):
        epsilon, delta = 10 ** rng.uniform(-2, 1.5), 10 ** rng.uniform(-12, -1)
        mu = gm.Guarantee(epsilon=epsilon, delta=delta).mu
        unsafe += bool(gaussian_delta(epsilon, mu) > delta)
        excess = max(excess, 0.0 if gaussian_delta(epsilon, mu * (1 + 1e-9)) > delta else 1e-9)
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    for _ in range(max(1, cases // 100)):
        mus = [10 ** rng.uniform(-1, 0) for _ in range(rng.randint(1, 4))]
        whole = sum((gm.Guarantee(mu=mu) for mu in mus[1:]), gm.Guarantee(mu=mus[0]))
        accountant = PLDAccountant(value_discretization_interval=1e-4)
        for mu in mus:
            accountant.compose(dp_accounting.GaussianDpEvent(1 / mu))
        epsilon = rng.uniform(0.1, 4)
        theirs, ours = accountant.get_delta(epsilon), whole.delta_at(epsilon)
        if theirs > 1e-9:
            compared += 1
            optimistic += int(ours < theirs * (1 - 0.02))
    return {
        "random guarantees": cases,
        "unsafe of them": unsafe,
        "not within 1e-9 of the exact μ": int(excess > 0),
        "compositions against PLD": compared,
        "more optimistic than PLD by 2 %": optimistic,
    }


def optimum(cases: int, rng: random.Random) -> dict[str, Any]:
    """min tr Σ subject to sᵀ Σ⁻¹ s ≤ 1 for all points s, as a semidefinite program."""
    import cvxpy as cp

    below, worst = 0, 0.0
    for _ in range(cases):
        d, k = rng.randint(2, 3), rng.randint(3, 6)
        points = [[rng.uniform(-1, 1) for _ in range(d)] for _ in range(k)]
        plan = gm.plan(gm.domains.Points(points), gm.Guarantee(mu=1), weights="equal")
        sigma = cp.Variable((d, d), symmetric=True)
        kept = [cp.bmat([[sigma, np.array(s)[:, None]], [np.array(s)[None], np.eye(1)]]) >> 0 for s in points]
        problem = cp.Problem(cp.Minimize(cp.trace(sigma)), kept)
        problem.solve(solver=cp.CLARABEL)
        ratio = plan.total_variance / float(problem.value)
        below += ratio < 1 - 1e-6
        worst = max(worst, ratio)
    return {"random sets of points": cases, "below the optimum": below, "largest ratio to the optimum": round(worst, 6)}


def intervals(cases: int, rng: random.Random) -> dict[str, Any]:
    """δ(ε; μ) in ball arithmetic: the upper end of the ball is never above ours."""
    from flint import arb, ctx

    ctx.prec = 400
    unsafe, far = 0, 0.0

    def cdf(x: Any) -> Any:
        return (-x / arb(2).sqrt()).erfc() / 2  # 1 + erf would lose the digits of small tails

    for _ in range(cases):
        mu, epsilon = 10 ** rng.uniform(-1.5, 1), 10 ** rng.uniform(-2, 1)
        m, e = arb(mu), arb(epsilon)
        ball = cdf(m / 2 - e / m) - e.exp() * cdf(-m / 2 - e / m)
        ours, theirs = gm.Guarantee(mu=mu).delta_at(epsilon), float(ball)
        unsafe += bool(arb(ours) < ball)
        if theirs > 1e-290:
            far = max(far, ours / theirs - 1)
    return {"random δ": cases, "below the ball": unsafe, "largest excess": far}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    seed, began = secrets.token_hex(6), time.perf_counter()
    rng = random.Random(seed)
    found = {
        "accounting": accounting(arguments.cases, rng),
        "intervals": intervals(arguments.cases, rng),
        "optimum": optimum(max(3, arguments.cases // 100), rng),
    }
    for name, each in found.items():
        print(name, each)
    a, b, c = (found[name] for name in ("accounting", "intervals", "optimum"))
    kept = not (a["unsafe of them"] or a["not within 1e-9 of the exact μ"] or a["more optimistic than PLD by 2 %"])
    kept &= not b["below the ball"] and b["largest excess"] < 1e-9
    kept &= (
        not c["below the optimum"] and c["largest ratio to the optimum"] < 1.01 and math.isfinite(b["largest excess"])
    )
    if not arguments.dry:
        names = ["gaussmith", "dp-accounting", "cvxpy", "clarabel", "python-flint", "numpy"]
        write_found(FILE, CLAIM, seed, time.perf_counter() - began, found, names)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

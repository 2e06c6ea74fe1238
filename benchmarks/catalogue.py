"""Claims: what a researcher waits for. The true δ of R1SMG at M = 1000 in a second, a quantile of a thousand weighted
squares in 20 ms, a comparison at d = 128 in two seconds; and what scaling and clipping Gaussian data well saves."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gaussmith as gm
from gaussmith.numerics import quadratic_forms

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings

G = gm.Guarantee(epsilon=1, delta=1e-5)


def seconds(call: Callable[[], object], rounds: int = 5) -> float:
    """The median time of a call, after one for imports."""
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def time_claims(found: Findings) -> None:
    entry = gm.papers.rank_one(dimension=1000, epsilon=1, delta=1e-5)
    weights = np.arange(1.0, 1001.0) ** -1
    box = gm.Box(np.zeros(128), np.linspace(1, 2, 128))
    for what, call, limit in (
        ("true δ of R1SMG at M = 1000", lambda: entry.true_delta(1.0), 1.0),
        ("quantile of 1000 weighted squares", lambda: quadratic_forms.quantile(weights, 1e-6), 0.02),
        ("comparison at d = 128", lambda: gm.compare(box, G), 2.0),
    ):
        found.say(f"{what}, seconds", seconds(call), at_most=limit)


def show_savings(found: Findings) -> None:
    """Total error, noise and clipping together, over that of the report's algorithm (theorem 4, one in n clipped)."""
    for d in (2, 10, 100, 1000):
        for rows in (1e2, 1e4, 1e6):
            sd = 1 / np.arange(1.0, d + 1)
            report = gm.papers.gaussian_data(sd=sd, rows=rows, epsilon=1, delta=1e-5, neighbours="add-remove")
            plan = gm.plan(gm.domains.GaussianData(0, sd, rows=rows), G, weights="equal")
            share = (plan.total_variance + plan.domain.clipping_loss(np.ones(d))) / report.expected_error
            what = f"Gaussian data, σ = 1/j, d = {d}, n = {rows:g}: error / the report's"
            found.say(what, share, f"{100 * plan.domain.clipped_fraction():.2g} % clipped", at_most=1)


def main() -> int:
    found = Findings("catalogue", "What a researcher waits for, and what good clipping saves")
    time_claims(found)
    show_savings(found)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

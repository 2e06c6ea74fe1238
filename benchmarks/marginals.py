"""Planning marginals without their product: seconds, and the root mean squared error of a cell at μ = 1.

    ./run python benchmarks/marginals.py

Claims: published attribute sets within a second each, 100 attributes of 10 values, all marginals of up to three, within
30 seconds; one record replaced, ten attributes, within 1e-6 of the optimum.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations
from pathlib import Path

from gaussmith.numerics.marginals import plan_marginals

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings

TABLES = {
    "5 attributes": [50, 100, 7, 4, 2],
    "14 attributes": [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2],
    "12 attributes": [101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15],
    "10 × 10 values": [10] * 10,
    "100 × 10 values": [10] * 100,
}


def main() -> int:
    found = Findings("marginals", "Planning marginals of up to three attributes")
    for name, shape in TABLES.items():
        ways = [A for size in range(4) for A in combinations(range(len(shape)), size)]
        start = time.perf_counter()
        plan = plan_marginals(shape, ways)
        seconds = time.perf_counter() - start
        detail = f"rmse {plan.rmse:.3f}, {len(ways):,} marginals, {plan.lifted_dimension:,} noisy numbers"
        found.say(f"{name}, seconds", seconds, detail, at_most=30 if len(shape) == 100 else 1)
    ways = [A for size in range(1, 4) for A in combinations(range(10), size)]
    start = time.perf_counter()
    plan = plan_marginals([10] * 10, ways, neighbours="replace-one")
    detail = f"{time.perf_counter() - start:.3f} s, rmse {plan.rmse:.3f}"
    what = "10 × 10 values, one record replaced: above the optimum by"
    found.say(what, max(0.0, plan.total / plan.lower - 1), detail, at_most=1e-6)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

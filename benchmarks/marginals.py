"""Planning marginals without their product: seconds, and the root mean squared error of a cell at μ = 1.

    ./run python benchmarks/marginals.py

Claims: published attribute sets within a second each, 100 attributes of 10 values, all marginals of up to three, within
30 seconds; one record replaced, ten attributes, within 1e-6 of the optimum.
"""

from __future__ import annotations

import time
from itertools import combinations

from gaussmith.numerics.residuals import plan_marginals

TABLES = {
    "5 attributes": [50, 100, 7, 4, 2],
    "14 attributes": [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2],
    "12 attributes": [101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15],
    "10 × 10 values": [10] * 10,
    "100 × 10 values": [10] * 100,
}


def main() -> None:
    print("marginals of up to three attributes    seconds     rmse    marginals   noisy numbers")
    for name, shape in TABLES.items():
        ways = [A for size in range(4) for A in combinations(range(len(shape)), size)]
        start = time.perf_counter()
        plan = plan_marginals(shape, ways)
        seconds = time.perf_counter() - start
        print(f"  {name:36}{seconds:8.3f} {plan.rmse:8.3f} {len(ways):12,} {plan.lifted_dimension:15,}")
    ways = [A for size in range(1, 4) for A in combinations(range(10), size)]
    start = time.perf_counter()
    plan = plan_marginals([10] * 10, ways, neighbours="replace-one")
    seconds = time.perf_counter() - start
    print(
        f"10 × 10 values, one record replaced: {seconds:.3f} s, rmse {plan.rmse:.3f}, "
        f"at most {plan.total / plan.lower - 1:.1e} above the optimum"
    )


if __name__ == "__main__":
    main()

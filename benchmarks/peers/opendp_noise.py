"""OpenDP's Gaussian noise on many numbers at once: nanoseconds a draw."""

from __future__ import annotations

import time

import opendp.prelude as dp

dp.enable_features("contrib")
DRAWS = 20_000


def main() -> None:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=DRAWS), dp.l2_distance(T=float)
    noise = dp.m.make_gaussian(*space, scale=10.0)
    zeros = [0.0] * DRAWS
    noise(zeros)
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        noise(zeros)
        best = min(best, time.perf_counter() - start)
    print(best / DRAWS * 1e9)


if __name__ == "__main__":
    main()

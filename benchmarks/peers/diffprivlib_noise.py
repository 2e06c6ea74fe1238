"""diffprivlib's discrete Gaussian noise, one number at a time: nanoseconds a draw."""

from __future__ import annotations

import time

from diffprivlib.mechanisms import GaussianDiscrete

DRAWS = 500


def main() -> None:
    noise = GaussianDiscrete(epsilon=1.0, delta=1e-6, sensitivity=3)
    noise.randomise(0)
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(DRAWS):
            noise.randomise(0)
        best = min(best, time.perf_counter() - start)
    print(best / DRAWS * 1e9)


if __name__ == "__main__":
    main()

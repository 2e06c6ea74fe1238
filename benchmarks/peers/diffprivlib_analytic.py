"""diffprivlib's analytic Gaussian mechanism on each of the sums that its user adds up."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from child import DELTA, EPSILON, measure
from diffprivlib.mechanisms import GaussianAnalytic


def release(path: str, rows: int, columns: Sequence[str]) -> tuple[Sequence[float], float]:
    clipped = pl.col(columns).fill_null(0.5).fill_nan(0.5).clip(0.0, 1.0)
    sums = pl.scan_parquet(path).select(clipped.sum()).collect(engine="streaming").row(0)
    # The vector of sums moves by at most √d, and noise of that scale on every coordinate covers it.
    mechanism = GaussianAnalytic(epsilon=EPSILON, delta=DELTA, sensitivity=len(columns) ** 0.5)
    variance = mechanism.variance(0.0)
    return [mechanism.randomise(float(value)) for value in sums], variance**0.5


if __name__ == "__main__":
    measure(release, "diffprivlib", "polars", "scikit-learn")

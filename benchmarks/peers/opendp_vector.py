"""OpenDP's Gaussian noise on a vector of sums that its user adds up in floats, and answers for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import opendp.prelude as dp
import polars as pl
from child import measure
from opendp_budget import find_rho

rho = cache(find_rho)


def release(path: str, rows: int, columns: Sequence[str]) -> tuple[Sequence[float], float]:
    clipped = pl.col(columns).fill_null(0.5).fill_nan(0.5).clip(0.0, 1.0)
    sums = pl.scan_parquet(path).select(clipped.sum()).collect(engine="streaming").row(0)
    d = len(columns)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=d), dp.l2_distance(T=float)
    scale = (d / (2 * rho())) ** 0.5
    return dp.m.make_gaussian(*space, scale=scale)(list(sums)), scale


if __name__ == "__main__":
    measure(release, "opendp", "polars")

"""OpenDP's Context with Polars: one query of all columns, the budget found once and not timed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import opendp.prelude as dp
import polars as pl
from child import measure
from opendp_budget import find_rho

rho = cache(find_rho)


def release(path: str, rows: int, columns: Sequence[str]) -> tuple[Sequence[float], float]:
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho()),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=rows)],
    )
    sums = [pl.col(name).fill_null(0.5).fill_nan(0.5).dp.sum((0.0, 1.0)) for name in columns]
    answers = context.query().select(sums).release().collect().row(0)
    return answers, (len(columns) / (2 * rho())) ** 0.5


if __name__ == "__main__":
    measure(release, "opendp", "polars")

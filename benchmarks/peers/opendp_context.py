"""OpenDP's Context with Polars: one query of all columns, or of all declared groups; the budget is found once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import opendp.prelude as dp
import polars as pl
from child import GROUPS, measure
from opendp_budget import find_rho

rho = cache(find_rho)


def open_context(path: str, margin: Any) -> Any:
    return dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho()),
        split_evenly_over=1,
        margins=[margin],
    )


def private_sum(name: str) -> pl.Expr:
    return pl.col(name).fill_null(0.5).fill_nan(0.5).dp.sum((0.0, 1.0))


def release(path: str, rows: int, columns: Sequence[str]) -> tuple[Sequence[float], float]:
    if columns[0] == "key":
        return release_groups(path, rows, columns[1])
    context = open_context(path, dp.polars.Margin(max_length=rows))
    answers = context.query().select([private_sum(name) for name in columns]).release().collect().row(0)
    return answers, (len(columns) / (2 * rho())) ** 0.5


def release_groups(path: str, rows: int, column: str) -> tuple[Sequence[float], float]:
    keys = pl.LazyFrame({"key": range(GROUPS)}, schema={"key": pl.Int64})
    context = open_context(path, dp.polars.Margin(by=["key"], max_length=rows, max_groups=GROUPS))
    query = context.query().group_by("key").agg(private_sum(column)).with_keys(keys)
    return query.release().collect().sort("key")[column].to_list(), (1 / (2 * rho())) ** 0.5


if __name__ == "__main__":
    measure(release, "opendp", "polars")

"""The plain sum, without privacy and without any guard: what reading and adding cost by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from child import measure


def release(path: str, rows: int, columns: Sequence[str]) -> tuple[Sequence[float], float]:
    table = pl.scan_parquet(path)
    if columns[0] == "key":
        sums = table.group_by("key").agg(pl.col(columns[1]).sum()).sort("key").select(columns[1])
        return sums.collect(engine="streaming").to_series().to_list(), 0.0
    return table.select(pl.col(columns).sum()).collect(engine="streaming").row(0), 0.0


if __name__ == "__main__":
    measure(release, "polars")

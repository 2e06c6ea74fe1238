"""Columns of DuckDB, read where it wrote them or through Polars: the same integers, of every type."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest

from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines import duckdb as engine
from gaussmith.engines.registry import open_source
from gaussmith.totals.records import RecordTotals

TYPES = [pl.Float64, pl.Float32, pl.Boolean]
TYPES += [getattr(pl, f"{sign}Int{bits}") for sign in ("", "U") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("cores", [1, 8])
@pytest.mark.parametrize("gaps", [False, True])
def test_columns_with_and_without_gaps_have_the_same_codes(
    monkeypatch: pytest.MonkeyPatch, cores: int, gaps: bool
) -> None:
    monkeypatch.setattr(engine.os, "cpu_count", lambda: cores)
    monkeypatch.setattr(engine, "BATCH_ROWS", 1 << 12)
    values = np.random.default_rng().integers(0, 100, 30_000)
    series = pl.Series("x", values).cast(pl.Int64)
    whole = {f"x{j}": (series % 2 == 0 if kind == pl.Boolean else series.cast(kind)) for j, kind in enumerate(TYPES)}
    frame = pl.DataFrame(whole)
    if gaps:  # in one batch alone: the others are read in place
        frame = frame.with_columns(pl.when(pl.int_range(pl.len()) != 9_000).then(pl.all()))
    codes = BoxEncoding.for_bounds([10.0] * len(TYPES), [90.0] * len(TYPES), [50.0] * len(TYPES))
    connection = duckdb.connect()
    connection.register("frame", frame.to_arrow())
    connection.execute("create table t as select * from frame")
    records = RecordTotals(tuple(frame.columns))
    (own,), (other,) = (records.total(open_source(data), codes, None) for data in (connection.table("t"), frame))
    assert (own.sums, own.records) == (other.sums, other.records)

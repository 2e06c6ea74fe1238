"""Polars or DuckDB reads, numpy codes: data streamed batch by batch through the kernels of `arrays`."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from gaussmith.codes import Codes
from gaussmith.expressions import as_number, kind_of
from gaussmith.sums.arrays import PIECE_ROWS, Columns, Totals, add_up
from gaussmith.sums.databases import quote
from gaussmith.sums.files import group_files
from gaussmith.sums.sources import Source, scan
from gaussmith.sums.versions import arrow_batches, collect_batches

if typing.TYPE_CHECKING:
    import polars as pl

BATCH_ROWS, RELATION_ROWS = 1 << 17, 1 << 18
"""Rows that Polars, and DuckDB, hand over at a time; fewer of a table of more than 256 columns."""

BATCH_NUMBERS = 1 << 26
"""Numbers in a batch, at most: half a gigabyte."""

Progress = Callable[[float | None], None]
"""Told the fraction of the bytes read so far, or None where that is not known; never anything about rows."""


def total_stream(source: Source, codes: Codes, columns: Sequence[str], progress: Progress | None = None) -> Totals:
    """The exact totals of a Polars frame or of files, in memory that does not grow with them."""
    return add_up(_batches(source, columns, progress), _columns_of, codes)


def total_relation(source: Source, codes: Codes, columns: Sequence[str]) -> Totals:
    """The exact totals of a DuckDB relation, which DuckDB reads within this process and hands over in batches.

    Its own sums of the same codes took nearly twice as long, and expressions of narwhals for 4096 columns ten times.
    """
    casts = ["cast({} as varchar)" if kind_of(source.schema[name]) == "long number" else "{}" for name in columns]
    numbers = (
        f"cast({cast.format(quote(name))} as double) x{j}"
        for j, (cast, name) in enumerate(zip(casts, columns, strict=True))
    )
    relation = source.native.project(", ".join(numbers))
    with closing(arrow_batches(relation, _rows_of(len(columns), RELATION_ROWS))) as batches:
        return add_up(batches, _columns_of_arrow, codes)


def count_records(source: Source) -> int:
    """The number of records of a Polars frame, of files, or of a DuckDB relation."""
    import polars as pl

    if source.kind == "duckdb":
        return int(source.native.aggregate("count(*)").fetchall()[0][0])
    if not source.names:  # the files have no column in common
        lazy = source.native(()).select(pl.len())
    else:  # Polars' own count has 32 bits
        lazy = scan(source, source.names[:1]).select((pl.first().is_null().cast(pl.Int64) | 1).sum())
    return int(lazy.collect(engine="streaming").item())


def _rows_of(columns: int, most: int) -> int:
    """Rows in a batch of so many columns."""
    return min(most, max(PIECE_ROWS, BATCH_NUMBERS // columns))


def _batches(source: Source, columns: Sequence[str], progress: Progress | None) -> Iterator[pl.DataFrame]:
    if progress is None or source.files is None or source.files.remote or len(source.files.paths) == 1:
        yield from _numbers(source, scan(source, columns), columns)
        return
    for group, fraction in group_files(source.files):
        yield from _numbers(source, scan(source, columns, group), columns)
        progress(fraction)


def _numbers(source: Source, lazy: pl.LazyFrame, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The columns as doubles, in batches of any order."""
    import narwhals as nw
    import polars as pl

    kinds = {kind_of(source.schema[name]) for name in columns}
    numbers: pl.LazyFrame
    if kinds <= {"number", "truth"}:  # the cast that `as_number` spells, told to Polars itself: wide tables plan faster
        numbers = lazy.select(pl.col(name).cast(pl.Float64).alias(f"x{j}") for j, name in enumerate(columns))
    else:
        exprs = (as_number(name, kind_of(source.schema[name])).alias(f"x{j}") for j, name in enumerate(columns))
        numbers = nw.from_native(lazy).select(*exprs).to_native()
    yield from collect_batches(numbers, _rows_of(len(columns), BATCH_ROWS))


def _columns_of(batch: pl.DataFrame) -> Columns:
    return [column.to_numpy() for column in batch]


def _columns_of_arrow(batch: Any) -> Columns:
    return [column.to_numpy(zero_copy_only=False) for column in batch.columns]  # null becomes NaN

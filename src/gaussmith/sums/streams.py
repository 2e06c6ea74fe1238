"""Polars reads, numpy codes: frames and files streamed batch by batch through the kernels of `arrays`."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gaussmith.codes import Codes
from gaussmith.expressions import kind_of
from gaussmith.sums.arrays import Columns, Totals, add_up
from gaussmith.sums.files import group_files
from gaussmith.sums.frames import number
from gaussmith.sums.sources import Source, scan

if typing.TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

BATCH_ROWS = 1 << 17
"""Rows that Polars hands over at a time."""

Progress = Callable[[float | None], None]
"""Told the fraction of the bytes read so far, or None where that is not known; never anything about rows."""


def total_stream(source: Source, codes: Codes, columns: Sequence[str], progress: Progress | None = None) -> Totals:
    """The exact totals of a Polars frame or of files, in memory that does not grow with them."""
    return add_up(_batches(source, columns, progress), _columns_of, codes)


def total_fetched(frame: nw.LazyFrame[Any], codes: Codes, columns: Sequence[str]) -> Totals:
    """The exact totals of a frame whose engine hands its numbers over: for rules that look at whole records."""
    schema = frame.collect_schema()
    numbers = frame.select(*(number(name, schema[name]).alias(f"x{j}") for j, name in enumerate(columns)))
    table: pl.DataFrame = numbers.collect("polars").to_native()
    return add_up(table.iter_slices(BATCH_ROWS), _columns_of, codes)


def _batches(source: Source, columns: Sequence[str], progress: Progress | None) -> Iterator[pl.DataFrame]:
    if progress is None or source.files is None or len(source.files.paths) == 1:
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
    if kinds <= {"number", "truth"}:  # the cast that `number` spells, told to Polars itself: wide tables plan faster
        numbers = lazy.select(pl.col(name).cast(pl.Float64).alias(f"x{j}") for j, name in enumerate(columns))
    else:
        exprs = (number(name, source.schema[name]).alias(f"x{j}") for j, name in enumerate(columns))
        numbers = nw.from_native(lazy).select(*exprs).to_native()
    yield from numbers.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False, engine="streaming")


def _columns_of(batch: pl.DataFrame) -> Columns:
    return [column.to_numpy() for column in batch]

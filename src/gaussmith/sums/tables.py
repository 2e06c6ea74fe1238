"""pandas and PyArrow at the door: their columns as Polars ones, typed without a look at the data."""

from __future__ import annotations

import typing
import weakref
from typing import Any

import numpy as np

from gaussmith.sums.versions import has_unreadable_views

if typing.TYPE_CHECKING:
    import polars as pl

_READ: weakref.WeakSet[Any] = weakref.WeakSet()
"""Readers of record batches that have nothing left."""


def was_read(source: Any) -> bool:
    """Whether this is a reader that an earlier release read to its end: it would look like a table without records."""
    return hasattr(source, "read_next_batch") and source in _READ


def type_of_pandas(empty: Any) -> pl.DataType:
    """The Polars type of a pandas column, from a slice of no rows. Object columns are objects, whatever they hold.

    Categories that are objects are text, whatever they hold. What Polars cannot type, such as complex numbers, counts
    as objects.
    """
    import polars as pl

    if _is_object(empty.dtype):
        return pl.Object()
    if _has_object_categories(empty.dtype):
        return pl.String()
    try:
        if _is_extension(empty) or has_unreadable_views([getattr(empty.dtype, "pyarrow_dtype", None)]):
            return pl.Object()
        return series_from_pandas(empty).dtype
    except Exception:  # its words may quote data
        return pl.Object()


def _is_extension(empty: Any) -> bool:
    """Whether PyArrow has no type of its own for a pandas column, such as periods and intervals.

    Polars before 2 takes them for what they are stored as.
    """
    import pyarrow as pa

    return not isinstance(empty.dtype, np.dtype) and isinstance(pa.Array.from_pandas(empty).type, pa.BaseExtensionType)


def _is_object(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _has_object_categories(dtype: Any) -> bool:
    return hasattr(dtype, "categories") and _is_object(dtype.categories.dtype)


def series_from_pandas(column: Any, as_text: bool = False) -> pl.Series:
    """A pandas column as a Polars one: missing in every pandas spelling becomes null or NaN. Objects become text."""
    import polars as pl

    dtype = column.dtype
    if as_text or _is_object(dtype) or _has_object_categories(dtype):
        texts = [str(v) if ok else None for v, ok in zip(column, column.notna(), strict=True)]
        return pl.Series(texts, dtype=pl.String)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return pl.Series(column.to_numpy())
    series: pl.Series = pl.from_pandas(column)  # type: ignore[assignment]
    return series


def lazy_from_arrow(source: Any) -> pl.LazyFrame | None:
    """A PyArrow table, batch, reader or dataset as a Polars lazy frame, read when it is summed; None for all else."""
    import polars as pl
    import pyarrow as pa

    if isinstance(source, (pa.Table, pa.RecordBatch)):
        frame = pl.from_arrow(source)
        return frame.lazy() if isinstance(frame, pl.DataFrame) else None
    if isinstance(source, pa.RecordBatchReader):
        return _lazy_from_reader(source)
    if hasattr(source, "scanner") and hasattr(source, "schema"):
        views = any("view" in str(column.type) for column in source.schema)  # PyArrow cannot filter them
        return pl.scan_pyarrow_dataset(source, allow_pyarrow_filter=not views)
    return None


def _lazy_from_reader(reader: Any) -> pl.LazyFrame:
    """A stream of record batches, which can be read once: a second reading fails rather than finding no records."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = pl.from_arrow(reader.schema.empty_table()).schema  # type: ignore[union-attr]
    unread = [reader]

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> typing.Iterator[pl.DataFrame]:
        _READ.add(reader)
        for batch in unread.pop():
            frame = pl.from_arrow(batch).select(columns or schema.names())  # type: ignore[union-attr]
            yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(batches, schema=schema)

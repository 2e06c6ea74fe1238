"""pandas and PyArrow at the door: their columns as Polars ones, typed without a look at the data.

A column is converted when it is asked for, never before. What Polars cannot hold counts as objects, of which nothing
can be asked; some of it would make Polars panic.
"""

from __future__ import annotations

import importlib.util
import typing
import weakref
from typing import Any

import numpy as np

from gaussmith.expressions import object_code
from gaussmith.expressions.identity import FIRST_SECOND, LAST_SECOND
from gaussmith.sums.versions import has_unreadable_views

if typing.TYPE_CHECKING:
    import polars as pl

_READ: weakref.WeakSet[Any] = weakref.WeakSet()
"""Readers of record batches that have nothing left."""

_HELD = tuple(
    f"is_{name}"
    for name in (
        "integer floating boolean null temporal string large_string string_view binary large_binary binary_view "
        "fixed_size_binary decimal32 decimal64 decimal128"
    ).split()
)
"""Types of Arrow that Polars holds, as PyArrow asks for them."""


def was_read(source: Any) -> bool:
    """Whether this is a reader that an earlier release read to its end: it would look like a table without records."""
    return hasattr(source, "read_next_batch") and source in _READ


# ---- pandas ----------------------------------------------------------------------------------------------------------


def type_of_pandas(empty: Any) -> pl.DataType:
    """The Polars type of a pandas column, from a slice of no rows. Object columns are objects, whatever they hold.

    Categories that are objects are text, whatever they hold. What Polars cannot type, such as complex numbers, counts
    as objects.
    """
    import polars as pl

    if _is_object(empty.dtype) or not _is_held(empty.dtype):
        return pl.Object()
    if has_object_categories(empty.dtype):
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


def has_object_categories(dtype: Any) -> bool:
    """Whether a pandas column has categories that are Python objects: `object_code` makes texts of them."""
    return hasattr(dtype, "categories") and _is_object(dtype.categories.dtype)


def _is_held(dtype: Any) -> bool:
    """Whether Polars can be asked for such a column; some types of Arrow make it panic."""
    arrow = getattr(dtype, "pyarrow_dtype", None)
    return arrow is None or is_held(arrow)


def series_from_pandas(column: Any, as_nulls: bool = False) -> pl.Series:
    """A pandas column as a Polars one: missing in every pandas spelling becomes null or NaN.

    Categories that are objects become their codes; columns of which nothing can be asked (`as_nulls`) are null.
    """
    import polars as pl

    dtype = column.dtype
    if as_nulls or _is_object(dtype):
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(column))
    if has_object_categories(dtype):
        codes = pl.Series([*map(object_code, dtype.categories), None], dtype=pl.String)
        return codes.gather(np.where(column.cat.codes < 0, len(codes) - 1, column.cat.codes).astype(np.int64))
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return pl.Series(column.to_numpy())
    if _is_time(dtype) and np.datetime_data(dtype)[0] == "s":
        seconds = column.to_numpy().astype(np.int64)  # Polars would multiply them by 1000, and some would be others
        inside = (seconds >= FIRST_SECOND) & (seconds <= LAST_SECOND)
        return pl.Series(np.where(inside, column.to_numpy(), np.datetime64("NaT")).astype("M8[ms]"))
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow as pa

        return pl.Series(pl.from_arrow(plain_column(pa.chunked_array(column.array.__arrow_array__()))))
    try:
        series: pl.Series = pl.from_pandas(column)  # type: ignore[assignment]
    except UnicodeEncodeError:  # texts with half a pair of surrogates: these are missing, and no others
        texts = (value if isinstance(value, str) else None for value in column)
        return pl.Series([_text_of(text) for text in texts], dtype=pl.String)
    return series


def _is_time(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "M"


def _text_of(text: str | None) -> str | None:
    if text is None:
        return None
    text = str.__str__(text)
    return None if any("\ud800" <= letter <= "\udfff" for letter in text) else text


# ---- PyArrow ---------------------------------------------------------------------------------------------------------


def is_held(kind: Any) -> bool:
    """Whether Polars holds a type of Arrow, in which a column can be asked for."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind) or types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return is_held(kind.value_type)
    if types.is_struct(kind):
        return all(is_held(kind.field(j).type) for j in range(kind.num_fields))
    return any(getattr(pa.types, name, lambda _: False)(kind) for name in _HELD) and not pa.types.is_interval(kind)


def unheld_columns(source: Any) -> frozenset[str]:
    """The columns of something of PyArrow that Polars cannot hold."""
    return frozenset(column.name for column in getattr(source, "schema", ()) if not is_held(column.type))


def plain_column(column: Any) -> Any:
    """A column of Arrow as Polars may have it: all null where it cannot hold it; of seconds those inside the years."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_held(column.type):
        return pa.nulls(len(column))
    if pa.types.is_timestamp(column.type) and column.type.unit == "s":  # multiplied by 1000, some would be others
        seconds = pc.cast(column, pa.int64())
        inside = pc.and_(pc.greater_equal(seconds, FIRST_SECOND), pc.less_equal(seconds, LAST_SECOND))
        return pc.if_else(inside, column, pa.scalar(None, column.type))
    return column


def _plain_table(table: Any) -> Any:
    """A table or a batch with plain columns, and the same rows."""
    import pyarrow as pa

    columns = [plain_column(column) for column in table.columns]
    names = table.schema.names
    if not names:
        return table
    return (pa.table if isinstance(table, pa.Table) else pa.RecordBatch.from_arrays)(columns, names=names)


def is_table(source: Any) -> bool:
    """Whether this is a table or a batch of PyArrow, in memory."""
    import pyarrow as pa

    return isinstance(source, pa.Table | pa.RecordBatch)


def lazy_from_arrow(source: Any) -> pl.LazyFrame | None:
    """A PyArrow table, batch, reader or dataset as a Polars lazy frame, read when it is summed; None for all else."""
    import polars as pl
    import pyarrow as pa

    if isinstance(source, (pa.Table, pa.RecordBatch)):
        frame = pl.from_arrow(_plain_table(source))
        return frame.lazy() if isinstance(frame, pl.DataFrame) else None
    if isinstance(source, pa.RecordBatchReader):
        return _lazy_from_reader(source)
    if hasattr(source, "scanner") and hasattr(source, "schema"):
        if any(_needs_care(column.type) for column in source.schema):
            return _lazy_from_dataset(source)
        views = any("view" in str(column.type) for column in source.schema)  # PyArrow cannot filter them
        return pl.scan_pyarrow_dataset(source, allow_pyarrow_filter=not views)
    return None


def scan_feather(paths: list[str]) -> pl.LazyFrame:
    """Arrow files, read by Polars; by PyArrow, if it is there, where a column may not be converted as it is."""
    import polars as pl

    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow.dataset as ds

        dataset = ds.dataset(paths, format="ipc")
        if any(_needs_care(column.type) for column in dataset.schema):
            return _lazy_from_dataset(dataset)
    return pl.scan_ipc(paths, glob=False)


def _needs_care(kind: Any) -> bool:
    import pyarrow as pa

    return not is_held(kind) or (pa.types.is_timestamp(kind) and kind.unit == "s")


def _lazy_from_dataset(dataset: Any) -> pl.LazyFrame:
    """A dataset with columns that Polars may not convert as they are."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = pl.from_arrow(_plain_table(dataset.schema.empty_table())).schema  # type: ignore[union-attr]

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> typing.Iterator[pl.DataFrame]:
        for batch in dataset.to_batches(columns=columns or schema.names()):
            frame = pl.from_arrow(_plain_table(batch))
            assert isinstance(frame, pl.DataFrame)
            yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(batches, schema=schema)


def _lazy_from_reader(reader: Any) -> pl.LazyFrame:
    """A stream of record batches, which can be read once: a second reading fails rather than finding no records."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = pl.from_arrow(_plain_table(reader.schema.empty_table())).schema  # type: ignore[union-attr]
    unread = [reader]

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> typing.Iterator[pl.DataFrame]:
        _READ.add(reader)
        for batch in unread.pop():
            wanted = _plain_table(batch.select(columns or schema.names()))
            frame = pl.from_arrow(wanted)
            assert isinstance(frame, pl.DataFrame)
            yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(batches, schema=schema)

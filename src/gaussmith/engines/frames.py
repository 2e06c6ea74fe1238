"""pandas columns as Polars ones, typed without a look at the data.

A column is converted only when it is used. Types that Polars cannot hold count as objects, which cannot be used;
some of them would make Polars panic.
"""

from __future__ import annotations

import datetime
import importlib.util
import mmap
import typing
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gaussmith.engines.versions import has_unreadable_views
from gaussmith.expressions.identity import FIRST_SECOND, LAST_SECOND, object_code
from gaussmith.expressions.spelling import kinds_of

# PyArrow tables, readers and datasets as Polars frames, and Arrow files.
#
# A column is converted only when it is used. Types that Polars cannot hold count as objects, which cannot be used;
# some of them would make Polars panic.

if typing.TYPE_CHECKING:
    import polars as pl

_READ: weakref.WeakSet[Any] = weakref.WeakSet()
"""Exhausted readers of record batches."""

_HELD = tuple(
    f"is_{name}"
    for name in (
        "integer floating boolean null temporal string large_string string_view binary large_binary binary_view "
        "fixed_size_binary decimal32 decimal64 decimal128"
    ).split()
)
"""Types of Arrow that Polars holds, as PyArrow asks for them."""


def was_read(source: Any) -> bool:
    """Whether an earlier release exhausted this reader: it would look like a table without records."""
    return hasattr(source, "read_next_batch") and source in _READ


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


def unheld_in_files(paths: Sequence[str]) -> frozenset[str]:
    """The columns of Arrow files that Polars cannot hold, by PyArrow's account; without PyArrow Polars reads them."""
    if importlib.util.find_spec("pyarrow") is None:
        return frozenset()
    import pyarrow.dataset as ds

    return unheld_columns(ds.dataset(list(paths), format="ipc"))


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


MIN_BATCH_BYTES = 1 << 20
"""Record batches that are shorter on average are left to Polars, which puts them together."""


def mapped_batches(paths: Sequence[str], columns: Sequence[str]) -> typing.Iterator[pl.DataFrame] | None:
    """These columns of Arrow files as x0, x1 …, in the record batches of the files; None where Polars had better read.

    PyArrow hands a batch over as it lies in the file, which Polars copies first; both map the file into memory.
    Requires: columns of numbers and truths of types that numpy has.
    """
    if importlib.util.find_spec("pyarrow") is None:
        return None
    import pyarrow as pa

    try:
        for path in paths:
            with pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
                if file.size() < MIN_BATCH_BYTES * reader.num_record_batches or not reader.num_record_batches:
                    return None
    except pa.ArrowException:  # not a file of this format: Polars says so
        return None
    return _read_mapped(paths, columns)


def _read_mapped(paths: Sequence[str], columns: Sequence[str]) -> typing.Iterator[pl.DataFrame]:
    import polars as pl
    import pyarrow as pa

    for path in paths:
        with open(path, "rb") as file:
            # A map of Python's own: for one of PyArrow's the system is told of every column that is about to be read.
            mapped = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        reader = pa.ipc.open_file(mapped)
        names = reader.schema.names
        wanted = sorted({names.index(name) for name in columns})
        if 2 * len(wanted) < len(names):  # a choice of fields is copied, but no other field is unpacked
            reader = pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=wanted))
        for i in range(reader.num_record_batches):
            batch = pl.from_arrow(reader.get_batch(i))
            assert isinstance(batch, pl.DataFrame)
            yield pl.DataFrame([batch[name].alias(f"x{j}") for j, name in enumerate(columns)])


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


if typing.TYPE_CHECKING:
    import polars as pl


def type_of_pandas(empty: Any) -> pl.DataType:
    """The Polars type of a pandas column, from a slice of no rows.

    Columns and categories of Python objects are held as texts, whatever they hold. What Polars cannot type, such as
    complex numbers, cannot be used.
    """
    import polars as pl

    if not _is_held(empty.dtype):
        return pl.Object()
    if holds_objects(empty.dtype):
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


def holds_objects(dtype: Any) -> bool:
    """Whether a pandas column holds Python objects, or categories that are: `object_code` makes texts of them.

    Texts are objects in pandas 2.
    """
    return _is_object(dtype) or _has_object_categories(dtype)


def _has_object_categories(dtype: Any) -> bool:
    return hasattr(dtype, "categories") and _is_object(dtype.categories.dtype)


def _is_held(dtype: Any) -> bool:
    """Whether Polars can be asked for such a column; some types of Arrow make it panic."""
    arrow = getattr(dtype, "pyarrow_dtype", None)
    return arrow is None or is_held(arrow)


def series_from_pandas(column: Any, as_nulls: bool = False) -> pl.Series:
    """A pandas column as a Polars one: missing in every pandas spelling becomes null or NaN.

    Python objects become their codes, each value by itself; columns that cannot be used (`as_nulls`) are null.
    """
    import polars as pl

    dtype = column.dtype
    if as_nulls:
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(column))
    if _is_object(dtype):
        return pl.Series([object_code(value) for value in column.array], dtype=pl.String)
    if _has_object_categories(dtype):
        codes = pl.Series([*map(object_code, dtype.categories), None], dtype=pl.String)
        return codes.gather(np.where(column.cat.codes < 0, len(codes) - 1, column.cat.codes).astype(np.int64))
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return pl.Series(column.to_numpy())
    if _is_time(dtype) and np.datetime_data(dtype)[0] == "s":
        seconds = column.to_numpy().astype(np.int64)  # Polars would multiply them by 1000, and some would be others
        inside = (seconds >= FIRST_SECOND) & (seconds <= LAST_SECOND)
        return pl.Series(np.where(inside, column.to_numpy(), np.datetime64("NaT")).astype("M8[ms]"))
    if _is_zoned(dtype):
        return series_from_pandas(column.dt.tz_convert(None)).dt.replace_time_zone("UTC")
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow as pa

        # As a table: of a column alone Polars takes the dictionaries of several chunks for others than of no chunk.
        table = pl.from_arrow(pa.table({"": plain_column(pa.chunked_array(column.array.__arrow_array__()))}))
        assert isinstance(table, pl.DataFrame)
        return table.to_series()
    try:
        series: pl.Series = pl.from_pandas(column)  # type: ignore[assignment]
    except UnicodeEncodeError:  # texts with half a pair of surrogates: these are missing, and no others
        texts = (value if isinstance(value, str) else None for value in column)
        return pl.Series([_text_of(text) for text in texts], dtype=pl.String)
    return series


def _is_time(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "M"


def _is_zoned(dtype: Any) -> bool:
    """Whether a pandas column holds times with a zone, in pandas' own type."""
    return type(dtype).__name__ == "DatetimeTZDtype"


def _text_of(text: str | None) -> str | None:
    if text is None:
        return None
    text = str.__str__(text)
    return None if any("\ud800" <= letter <= "\udfff" for letter in text) else text


# Dates and times as every engine can hold them: those outside the years 1 to 9999 are missing, value by value.
#
# Engines hold other ranges, and fail or differ beyond them. Of times in nanoseconds the first and the last that 64
# bits hold are missing: DuckDB means infinity by them.
#
# Times with a zone are read in UTC. In other zones the day and the hour depend on tables of rules, which engines
# bring along in different versions.

if typing.TYPE_CHECKING:
    import narwhals as nw

_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6}


def dates_in(schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str]) -> list[str]:
    """The columns among these that hold dates, times or times of a day."""
    kinds = kinds_of({name: schema[name] for name in columns if name in schema})
    return [name for name, kind in kinds.items() if kind in ("date", "time")]


def has_zone(dtype: nw.dtypes.DType) -> bool:
    """Whether a column holds times with a zone."""
    return getattr(dtype, "time_zone", None) is not None


def bounds_of(unit: str | None) -> tuple[int, int]:
    """The first and the last time that is not missing: in days (None), or in a unit of time, from 1970."""
    if unit is None:
        return datetime.date.min.toordinal() - _EPOCH_DAY, datetime.date.max.toordinal() - _EPOCH_DAY
    if unit == "ns":
        return -(2**63 - 2), 2**63 - 2
    each = _PER_SECOND[unit]
    return FIRST_SECOND * each, (LAST_SECOND + 1) * each - 1

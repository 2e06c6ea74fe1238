"""PyArrow tables, readers and datasets as Polars frames, and Arrow files.

A column is converted only when it is used. Types that Polars cannot hold count as objects, which cannot be used;
some of them would make Polars panic.
"""

from __future__ import annotations

import importlib.util
import mmap
import typing
import weakref
from collections.abc import Sequence
from typing import Any

from gaussmith.expressions.identity import FIRST_SECOND, LAST_SECOND

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

"""Which columns of a source cannot hold a missing value, by their type: read from its schema, no data value.

Names and types of columns are public, so a plan may depend on them. Of a source that is not there, not on this machine
or not understood, no column is known to be complete, and opening it says what is wrong.

    numpy     integers and booleans; every column of an array has one type
    pandas    columns of numpy integers and booleans; not those of pandas' own types, which hold missing values
    Arrow     integers and booleans that are not nullable, of tables, readers, datasets, IPC files and Parquet files
    DuckDB    integers and booleans of a table that are NOT NULL
    Spark     integers and booleans with nullable=False

Floats may be NaN, and text may be no number: such columns are never complete. Columns of Polars are all nullable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gaussmith.engines.addresses import is_here, parse_database, read_source, scheme_of
from gaussmith.engines.duckdb import not_null_columns
from gaussmith.engines.files import Files, find_files
from gaussmith.errors import SourceError

MAX_FILES = 1_000
"""Limit on the files whose schemas are read; of more, no column is known to be complete."""

_WHOLE = frozenset("biu")
"""Kinds of numpy's types that have no value for what is missing."""

_SPARK = frozenset({"boolean", "tinyint", "smallint", "int", "bigint"})


def never_missing(source: Any, columns: Iterable[str]) -> frozenset[str]:
    """Those of these columns of a source that cannot be missing by their type; reads no data value and never fails.

    >>> never_missing(__import__("pandas").DataFrame({"age": [36], "bmi": [21.5]}), ["age", "bmi"])
    frozenset({'age'})
    >>> never_missing("nowhere.parquet", ["age"])
    frozenset()
    """
    asked = frozenset(columns)
    try:
        return _look(read_source(source).data, asked)
    except Exception:  # whatever is wrong with it, opening it says so, in words of its own
        return frozenset()


def check_never_missing(data: Any, relied_on: Sequence[str]) -> None:
    """Refuse a source whose types have changed since a plan: what could not be missing then must be so still."""
    kept = never_missing(data, relied_on)
    changed = [name for name in relied_on if name not in kept]
    if changed:
        raise SourceError(
            f"column {changed[0]!r}",
            "its type could not hold a missing value when the request was planned, and now it can",
            "make the request again, and it is planned for the table as it is",
            code="column-may-be-missing-now",
            column=changed[0],
        )


def _look(data: Any, asked: frozenset[str]) -> frozenset[str]:
    if isinstance(data, str | os.PathLike):
        address = os.fspath(data)
        return _of_address(address, asked) if is_here(address) else frozenset()
    if type(data) is np.ndarray:  # not a masked one
        return asked if data.dtype.kind in _WHOLE else frozenset()
    look = _FRAMES.get(type(data).__module__.split(".")[0])
    return frozenset() if look is None else look(data, asked)


def _of_address(address: str, asked: frozenset[str]) -> frozenset[str]:
    if scheme_of(address) == "duckdb":
        return asked & not_null_columns(parse_database(address))
    return _of_files(find_files(address), asked)


def _of_files(files: Files, asked: frozenset[str]) -> frozenset[str]:
    """What no file may lack: a column that is required in each."""
    if files.format not in ("Parquet", "Arrow IPC") or len(files.paths) > MAX_FILES:
        return frozenset()
    import pyarrow as pa
    import pyarrow.parquet as pq

    def schema_of(path: str) -> Any:
        if files.format == "Parquet":
            return pq.read_schema(path)
        with pa.OSFile(path) as file:
            return pa.ipc.open_file(file).schema

    found = asked
    for path in files.paths:
        found = _of_arrow_schema(schema_of(path), found)
        if not found:
            break
    return found


def _of_arrow_schema(schema: Any, asked: frozenset[str]) -> frozenset[str]:
    import pyarrow as pa

    def is_whole(kind: Any) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))

    return frozenset(_once([c.name for c in schema if not c.nullable and is_whole(c.type)], schema.names)) & asked


def _of_arrow(data: Any, asked: frozenset[str]) -> frozenset[str]:
    return _of_arrow_schema(data.schema, asked)


def _of_pandas(data: Any, asked: frozenset[str]) -> frozenset[str]:
    kinds = list(data.dtypes.items())
    whole = [name for name, kind in kinds if isinstance(kind, np.dtype) and kind.kind in _WHOLE]
    return frozenset(_once(whole, [name for name, _ in kinds])) & asked


def _of_spark(data: Any, asked: frozenset[str]) -> frozenset[str]:
    fields = data.schema.fields
    whole = [field.name for field in fields if not field.nullable and field.dataType.simpleString() in _SPARK]
    return frozenset(_once(whole, [field.name for field in fields])) & asked


def _of_narwhals(data: Any, asked: frozenset[str]) -> frozenset[str]:
    import narwhals as nw

    return _look(nw.to_native(data), asked)


def _once(chosen: Iterable[Any], names: Iterable[Any]) -> list[str]:
    """The names that occur once."""
    every = list(names)
    return [name for name in chosen if isinstance(name, str) and every.count(name) == 1]


_FRAMES: dict[str, Callable[[Any, frozenset[str]], frozenset[str]]] = {
    "pandas": _of_pandas,
    "pyarrow": _of_arrow,
    "pyspark": _of_spark,
    "narwhals": _of_narwhals,
}
"""What looks at the schema of an object, by the package it comes from."""

"""Tables that live in memory: lists, arrays, frames of Polars, pandas, PyArrow and DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from doors.tables import Table
from doors.values import (
    BOOLEAN,
    BROKEN,
    DATE,
    DECIMAL,
    FLOAT,
    INTEGER,
    MICROSECONDS,
    NANOSECONDS,
    TEXT,
    TEXTS,
    UNSIGNED,
    as_bytes,
    holds,
)  # fmt: skip

ARROW = {
    INTEGER: pa.int64(), UNSIGNED: pa.uint64(), FLOAT: pa.float64(), BOOLEAN: pa.bool_(), TEXT: pa.string(),
    BROKEN: pa.string(), DECIMAL: pa.decimal128(38, 10), DATE: pa.date32(), MICROSECONDS: pa.timestamp("us"),
    NANOSECONDS: pa.timestamp("ns"),
}  # fmt: skip

Columns = Sequence[str]


def arrow_column(kind: str, values: Sequence[Any], raw: bool = False) -> pa.Array:
    """A column of Arrow. Broken texts make a text column that is not valid, or with `raw` one of bytes."""
    if kind != BROKEN:
        return pa.array(values, ARROW[kind], from_pandas=False)
    held = pa.array([None if value is None else as_bytes(value) for value in values], pa.binary())
    return held if raw else held.cast(pa.string(), safe=False)


def arrow_table(table: Table, raw: bool = False) -> pa.Table:
    return pa.table({name: arrow_column(kind, table.values(name), raw) for name, kind in table.types.items()})


def make_arrow(table: Table, folder: Path, columns: Columns) -> pa.Table:
    return arrow_table(table)


def make_polars(table: Table, folder: Path, columns: Columns) -> pl.DataFrame:
    """Texts of Polars are always UTF-8: others are bytes."""
    frame = pl.from_arrow(arrow_table(table, raw=True))
    assert isinstance(frame, pl.DataFrame)
    return frame


def make_lazy(table: Table, folder: Path, columns: Columns) -> pl.LazyFrame:
    return make_polars(table, folder, columns).lazy()


def make_relation(table: Table, folder: Path, columns: Columns = ()) -> Any:
    """Texts of DuckDB are always UTF-8: others are bytes."""
    connection = duckdb.connect(config={"threads": 1})
    fill_database(connection, table, "held")
    return connection.table("held")


def fill_database(connection: Any, table: Table, name: str) -> None:
    connection.register("data", arrow_table(table, raw=True))
    connection.execute(f"create table {name} as select * from data")
    connection.unregister("data")


# -- pandas ------------------------------------------------------------------------------------------------------------


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _floats(values: Sequence[Any]) -> pd.Series:
    return pd.Series([_float(value) for value in values], dtype="float64")


def _numpy_ids(kind: str, values: list[Any]) -> pd.Series:
    units = {MICROSECONDS: "datetime64[us]", NANOSECONDS: "datetime64[ns]"}
    if kind in units:
        return pd.Series(np.array(values, "int64").view(units[kind]))
    kinds = {INTEGER: "int64", UNSIGNED: "uint64", FLOAT: "float64", BOOLEAN: "bool"}
    return pd.Series(values, dtype=kinds.get(kind, object))


def make_pandas(table: Table, folder: Path, columns: Columns) -> pd.DataFrame:
    """On numpy's types. Whole numbers with missing ones are floats there, so `y` always is."""
    return pd.DataFrame(
        {
            "person": _numpy_ids(table.types["person"], table.values("person")),
            **{name: pd.Series(table.values(name), dtype=object) for name in ("region", "sex")},
            **{name: _floats(table.values(name)) for name in ("x", "y")},
        }
    )


def make_nullable(table: Table, folder: Path, columns: Columns) -> pd.DataFrame:
    kinds = {INTEGER: "Int64", UNSIGNED: "UInt64", BOOLEAN: "boolean", FLOAT: "Float64"}
    kinds |= dict.fromkeys(TEXTS, "string[python]")
    ids = _numpy_ids(table.types["person"], table.values("person"))
    return pd.DataFrame(
        {
            "person": ids.astype(kinds.get(table.types["person"], ids.dtype)),
            **{name: pd.Series(table.values(name), dtype="string[python]") for name in ("region", "sex")},
            "x": _floats(table.values("x")).astype("Float64"),
            "y": pd.Series(table.values("y"), dtype="Int64"),
        }
    )


def make_arrow_pandas(table: Table, folder: Path, columns: Columns) -> pd.DataFrame:
    arrow = arrow_table(table)
    return pd.DataFrame({name: pd.Series(pd.arrays.ArrowExtensionArray(arrow[name])) for name in arrow.column_names})


def make_objects(table: Table, folder: Path, columns: Columns) -> pd.DataFrame:
    """Ids as a category of Python objects, keys as Python objects."""
    unit = {MICROSECONDS: "us", NANOSECONDS: "ns"}.get(table.types["person"])
    ids = [value if unit is None else np.datetime64(value, unit) for value in table.values("person")]
    distinct: list[Any] = []
    for each in ids:
        if each == each and each not in distinct:
            distinct.append(each)
    places = [distinct.index(each) if each == each else -1 for each in ids]
    category = pd.Categorical.from_codes(places, categories=pd.Index(distinct, dtype=object))
    plain = table.with_rows([{**row, "person": 0} for row in table.rows]).retyped(person=INTEGER)
    return make_pandas(plain, folder, columns).assign(person=pd.Series(category))


def without_nobody(table: Table) -> Table:
    """Without rows of nobody: pandas would change the type of the column for them."""
    return table.with_rows([row for row in table.rows if row["person"] is not None])


# -- lists and arrays --------------------------------------------------------------------------------------------------


def make_list(table: Table, folder: Path, columns: Columns) -> list[list[Any]]:
    return [[row[name] for name in columns] for row in table.rows]


def make_array(table: Table, folder: Path, columns: Columns) -> np.ndarray:
    rows = make_list(table, folder, columns)
    if list(columns) == ["x", "y"]:
        return np.array([[_float(v) for v in row] for row in rows], float).reshape(-1, 2)
    if table.types["person"] in TEXTS and list(columns) == ["person", "region"]:
        return np.array([["" if v is None else v for v in row] for row in rows], dtype=str).reshape(-1, 2)
    held = np.empty((len(rows), len(columns)), object)
    for i, row in enumerate(rows):
        held[i, :] = row
    return held


def array_identity(kind: str, value: Any) -> Any:
    """An array of texts has no missing ones, and none that end in NUL."""
    return (value or "").rstrip("\0") if kind in TEXTS else holds(kind, value)

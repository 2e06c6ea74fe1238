"""Typed files: Parquet, folders with partitions, Feather, databases of DuckDB."""

from __future__ import annotations

import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.feather
import pyarrow.parquet

from doors.frames import arrow_table, fill_database
from doors.tables import Table
from doors.values import as_bytes, spelt

Columns = Sequence[str]

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
ESCAPED = set("\"#%'*/:=?\\{}[]^\x7f")
LONGEST_NAME = 40


def write_parquet(table: Table, folder: Path, columns: Columns = ()) -> str:
    path = folder / "data.parquet"
    pyarrow.parquet.write_table(arrow_table(table), path)
    return str(path)


def write_feather(table: Table, folder: Path, columns: Columns = ()) -> str:
    path = folder / "data.feather"
    pyarrow.feather.write_feather(arrow_table(table), str(path), compression="uncompressed")
    return str(path)


def write_database(table: Table, folder: Path, columns: Columns = ()) -> str:
    path = folder / "study.db"
    with duckdb.connect(str(path), config={"threads": 1}) as connection:
        fill_database(connection, table, "visits")
    return f"duckdb://{path}?table=visits"


def folder_name(text: str | None) -> str:
    """A value of a partition as Hive and Spark write it."""
    if text is None:
        return DEFAULT_PARTITION
    return "".join(urllib.parse.quote(as_bytes(sign), safe="") if _is_escaped(sign) else sign for sign in text)


def _is_escaped(sign: str) -> bool:
    return sign in ESCAPED or ord(sign) < 32 or "\ud800" <= sign <= "\udfff"


def write_people(table: Table, folder: Path, columns: Columns = ()) -> str:
    """Parquet files below one folder for each person."""
    return _write_partitions(table, folder, "person")


def write_keys(table: Table, folder: Path, columns: Columns = ()) -> str:
    """Parquet files below one folder for each region."""
    return _write_partitions(table, folder, "region")


def _write_partitions(table: Table, folder: Path, column: str) -> str:
    kept = {name: kind for name, kind in table.types.items() if name != column}
    parts: dict[str, list[Any]] = {DEFAULT_PARTITION: []}  # one folder is always there: an empty one is no table
    for row in table.rows:
        parts.setdefault(folder_name(spelt(table.types[column], row[column])), []).append(row)
    for name, rows in parts.items():
        place = folder / "visits" / f"{column}={name}"
        place.mkdir(parents=True)
        pyarrow.parquet.write_table(arrow_table(Table(kept, tuple(rows))), place / "0.parquet")
    return str(folder / "visits")


def short_ids(table: Table) -> Table:
    """Ids that names of folders can hold: short ones. An empty one is nobody's there."""
    return table.mapped("person", lambda value: _short(value) if isinstance(value, str) else value)


def partition_identity(kind: str, value: Any) -> Any:
    """In names of folders every id is text."""
    text = spelt(kind, value)
    return None if text is None else _short(text)


def _short(text: str) -> str | None:
    return text[-LONGEST_NAME:] or None


def filled_keys(table: Table) -> Table:
    """An empty key has no folder of its own."""
    return table.mapped("region", lambda value: value or None)

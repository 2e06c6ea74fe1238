"""Every way to pass a table: what writes it, which ids it holds as the same, and which engines read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doors import files, frames, texts
from doors.tables import Identity, Table
from doors.values import holds

Write = Callable[[Table, Path, Sequence[str]], Any]
"""Writes a table, into a folder where that is needed, and returns what a user passes. Columns matter to lists only."""


def keep(table: Table) -> Table:
    """The table as it is."""
    return table


@dataclass(frozen=True)
class Format:
    """One way to pass a table.

    identity:  which ids the format holds as the same
    adapt:     changes what the format cannot hold, in both tables alike
    engine:    what reads the files, if said
    peers:     other engines that may read the same source
    family:    formats of one family hold the same table, so that their integers are the same
    """

    write: Write
    identity: Identity = holds
    adapt: Callable[[Table], Table] = keep
    is_text: bool = False
    is_file: bool = False
    engine: str | None = None
    peers: tuple[str, ...] = ()
    family: str | None = None


def _text(write: Write, family: str | None = None) -> Format:
    return Format(write, texts.text_identity, is_text=True, is_file=True, family=family)


BY_POLARS, BY_DUCKDB = ("polars",), ("duckdb",)

FORMATS: dict[str, Format] = {
    "list": Format(frames.make_list),
    "numpy": Format(frames.make_array, frames.array_identity),
    "Polars": Format(frames.make_polars, family="typed"),
    "Polars lazy": Format(frames.make_lazy, family="typed"),
    "pandas": Format(frames.make_pandas, adapt=frames.without_nobody),
    "pandas nullable": Format(frames.make_nullable, adapt=frames.without_nobody),
    "pandas Arrow": Format(frames.make_arrow_pandas, family="typed"),
    "pandas objects": Format(frames.make_objects, adapt=frames.without_nobody),
    "PyArrow": Format(frames.make_arrow, family="typed"),
    "Parquet": Format(files.write_parquet, is_file=True, peers=BY_DUCKDB, family="typed"),
    "folders of people": Format(
        files.write_people, files.partition_identity, files.short_ids, is_file=True, peers=BY_DUCKDB
    ),
    "folders of keys": Format(files.write_keys, adapt=files.filled_keys, is_file=True, peers=BY_DUCKDB),
    "Feather": Format(files.write_feather, is_file=True, family="typed"),
    "CSV": _text(texts.write_csv, "text"),
    "CSV line by line": Format(texts.write_raw_csv, texts.raw_identity, texts.plain_fields, is_text=True, is_file=True),
    "TSV": _text(texts.write_tsv, "text"),
    "CSV.gz": _text(texts.write_packed_csv, "text"),
    "JSON lines": _text(texts.write_json_lines),
    "DuckDB relation": Format(frames.make_relation, family="typed"),
    "DuckDB table": Format(files.write_database, is_file=True, family="typed"),
    "Parquet by DuckDB": Format(files.write_parquet, is_file=True, engine="duckdb", peers=BY_POLARS, family="typed"),
}
"""Every format that needs no other machine."""

ON_SPARK: dict[str, Format] = {
    "Parquet by Spark": Format(files.write_parquet, engine="spark", peers=("polars", "duckdb")),
    "folders of people by Spark": Format(
        files.write_people, files.partition_identity, files.short_ids, engine="spark", peers=("polars",)
    ),
}
"""Formats that need a session of Spark, which is slow: a few dozen pairs."""

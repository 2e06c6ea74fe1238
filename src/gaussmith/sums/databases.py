"""DuckDB: a table or a query of a database by its address, opened for reading only, and Parquet files read by it."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Sequence
from typing import Any

from gaussmith.addresses import Database
from gaussmith.errors import SourceError, nearest
from gaussmith.sums.failures import attempt
from gaussmith.sums.files import Files

INSTALL = "pip install gaussmith[duckdb]"


def require_duckdb(said: str) -> None:
    """Refuse where DuckDB, or PyArrow, in which it hands numbers over, is not installed."""
    for package, name in (("duckdb", "DuckDB"), ("pyarrow", "PyArrow, in which DuckDB hands numbers over,")):
        if importlib.util.find_spec(package) is None:
            raise SourceError(said, f"{name} is not installed", INSTALL)


def open_database(database: Database) -> Any:
    """The relation that an address names. Names and types are read, no data value; nothing can be written.

    The address holds one SELECT or the name of a table or view. Statements of other kinds would run when they are
    opened, before anything is charged: they are refused. So are files that a query or a view reads, in whose rows
    DuckDB would look for their types.
    """
    said = f"source={database.said!r}"
    require_duckdb(said)
    path = os.path.expanduser(database.path)
    if not os.path.isfile(path):
        raise SourceError(
            said, "there is no such file", "check the path; relative paths start in the current directory"
        )
    import duckdb

    connection = attempt(
        lambda: _connect(path),
        SourceError(
            said,
            "it is not a DuckDB database that can be opened for reading",
            "check the file, and that no other program has it open for writing",
        ),
    )
    if database.table is not None:
        return _open_table(connection, database.table, said)
    assert database.query is not None
    query = database.query
    not_one = SourceError(said, "the query is one SELECT", "write ?query=SELECT … FROM …, and nothing after it")
    kinds = [str(statement.type) for statement in attempt(lambda: duckdb.extract_statements(query), not_one)]
    if len(kinds) != 1 or not kinds[0].endswith("SELECT"):
        raise not_one
    wrong = SourceError(
        said, "DuckDB cannot make sense of the query within this file", "try it with DuckDB itself, without other files"
    )
    return attempt(lambda: connection.sql(query), wrong)


def _connect(path: str) -> Any:
    """A connection that reads this database alone: no other file, no store, no variable of Python.

    Attached, and not opened by itself, so that settings of another connection to it in this process stay as they are.
    """
    import duckdb

    path = os.path.abspath(path)
    name = os.path.basename(path).split(".")[0]  # as DuckDB itself names it
    name = f"{name}_db" if name.lower() in ("main", "memory", "system", "temp") else name
    quoted = '"' + name.replace('"', '""') + '"'
    connection = duckdb.connect()
    for statement in (
        f"set temp_directory = {_text(path + '.tmp')}",
        f"attach {_text(path)} as {quoted} (read_only, type duckdb)",
        f"use {quoted}",
        "set enable_external_access = false",
        "set lock_configuration = true",
    ):
        connection.execute(statement)
    return connection


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _open_table(connection: Any, table: str, said: str) -> Any:
    names = connection.execute("select table_name from information_schema.tables").fetchall()
    problem = SourceError(said, f"it holds no table {table!r}", nearest(table, [name for (name,) in names]))
    if any(table.lower() == name.lower() for (name,) in names):
        problem = SourceError(
            said, f"{table!r} is a view that DuckDB cannot open within this file", "read other files by themselves"
        )
    return attempt(lambda: connection.table(table), problem)


def plain_relation(relation: Any, columns: Sequence[str]) -> Any:
    """Some columns of a relation, without what DuckDB alone has: collations, and parts of a day that round up.

    Under a collation 'Ada' equals 'ada': one record would be in two groups, and how one is written would decide where
    others are counted. Times in nanoseconds are cut to microseconds, as other engines do, not rounded.

    Floats pass through a list of one: statistics of a Parquet file leave NaN out, and where they show two different
    numbers DuckDB takes it that there is none. Then one record would decide how all that are NaN are counted.
    """
    kinds = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    return relation.project(", ".join(f"{_plainly(quote(name), kinds[name])} as {quote(name)}" for name in columns))


def _plainly(column: str, kind: str) -> str:
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        return f'cast({column} as varchar) collate "binary"'
    if kind == "TIMESTAMP_NS":
        rest = f"((epoch_ns({column}) % 1000) + 1000) % 1000"
        return f"make_timestamp((epoch_ns({column}) - {rest}) // 1000)"
    if kind in ("DOUBLE", "FLOAT"):
        return f"list_extract([{column}], 1)"
    return column


def quote(name: str) -> str:
    """A column's name in DuckDB's SQL."""
    return '"' + name.replace('"', '""') + '"'


def read_files(files: Files) -> Any:
    """A relation over Parquet files, read by DuckDB."""
    require_duckdb('engine="duckdb"')
    import duckdb

    problem = SourceError(
        f"source={files.said!r} cannot be opened by DuckDB",
        "it must be able to read every file, for stores with an extension of its own",
        "try it with DuckDB itself, or leave engine out",
    )

    def read() -> Any:
        paths = [path if files.remote else glob.escape(path) for path in files.paths]  # DuckDB reads wildcards in paths
        relation = duckdb.connect().read_parquet(paths, hive_partitioning=files.has_partitions)
        above = [name for name in files.keys_above if files.has_partitions and name in relation.columns]
        return relation.select(duckdb.StarExpression(exclude=above)) if above else relation

    return attempt(read, problem)

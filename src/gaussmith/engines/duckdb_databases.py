"""What DuckDB opens by name: a table or a query of a database, for reading only, and Parquet files."""

from __future__ import annotations

import glob
import importlib.util
import os
from typing import Any

from gaussmith.engines.addresses import Database
from gaussmith.engines.duckdb_queries import is_row_by_row
from gaussmith.engines.failures import attempt
from gaussmith.engines.files import Files
from gaussmith.engines.partitions import PATH, check_keys, folder_table, list_store
from gaussmith.errors import SourceError, nearest

INSTALL = "pip install gaussmith[duckdb]"

_INTEGERS = "BOOLEAN TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT".split()


def require_duckdb(said: str) -> None:
    """Refuse where DuckDB, or PyArrow, in which it hands numbers over, is not installed."""
    for package, name in (("duckdb", "DuckDB"), ("pyarrow", "PyArrow, which DuckDB needs to return numbers,")):
        if importlib.util.find_spec(package) is None:
            raise SourceError(said, f"{name} is not installed", INSTALL, code="duckdb-not-installed", name=name)


def open_database(database: Database, row_per_row: bool = False) -> tuple[Any, bool]:
    """The relation that an address names, and whether it is a query or a view. Names and types are read, no data value.

    The address holds one SELECT or the name of a table or view. Statements of other kinds would run when they are
    opened, before anything is charged: they are refused. So are files that a query or a view reads, in whose rows
    DuckDB would look for their types. A query, or a view, that may mix rows is refused unless it was promised that
    each of its rows depends on the rows of one person only (`row_per_row`).
    """
    said = f"source={database.said!r}"
    require_duckdb(said)
    path = os.path.expanduser(database.path)
    if not os.path.isfile(path):
        remedy = "check the path; relative paths start in the current directory"
        raise SourceError(said, "there is no such file", remedy, code="no-such-database")
    import duckdb

    connection = attempt(
        lambda: _connect(path),
        SourceError(
            said,
            "it is not a DuckDB database that can be opened for reading",
            "check the file, and that no other program has it open for writing",
            code="not-a-duckdb-database",
        ),
    )
    if database.table is not None:
        relation = _open_table(connection, database.table, said)
        if str(relation.type) == "TABLE_RELATION":
            return relation, False
        if not row_per_row:
            _check_rows(path, relation.sql_query(), said)
        return relation, True
    assert database.query is not None
    query = database.query
    not_one = SourceError(
        said,
        "the query must be a single SELECT",
        "write ?query=SELECT … FROM …, and nothing after it",
        code="query-not-one-select",
    )
    kinds = [str(statement.type) for statement in attempt(lambda: duckdb.extract_statements(query), not_one)]
    if len(kinds) != 1 or not kinds[0].endswith("SELECT"):
        raise not_one
    wrong = SourceError(
        said,
        "DuckDB cannot run the query with this file alone",
        "try it in DuckDB itself, without other files",
        code="query-not-understood",
    )
    relation = attempt(lambda: connection.sql(query), wrong)
    if not row_per_row:
        _check_rows(path, query, said)
    return relation, True


def _check_rows(path: str, query: str, said: str) -> None:
    """Refuse a query if a returned row may depend on more than one row of a table."""
    mixed = SourceError(
        said,
        "it may mix rows (it aggregates, joins, limits, samples, or uses windows, subqueries, rowid or randomness), so "
        "one person could change every row",
        "select, filter and compute row by row; or promise that each row depends on the rows of one person only: "
        'source = { path = "duckdb://…", row_per_row = true }',
        code="query-may-mix-rows",
    )
    if not attempt(lambda: is_row_by_row(_connect(path, optimizes=False), query), mixed):
        raise mixed


def _connect(path: str, optimizes: bool = True) -> Any:
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
        *([] if optimizes else ["pragma disable_optimizer"]),
        "set lock_configuration = true",
    ):
        connection.execute(statement)
    return connection


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _open_table(connection: Any, table: str, said: str) -> Any:
    names = connection.execute("select table_name from information_schema.tables").fetchall()
    problem = SourceError(
        said,
        f"it holds no table {table!r}",
        nearest(table, [name for (name,) in names]),
        code="no-such-table",
        table=table,
    )
    if any(table.lower() == name.lower() for (name,) in names):
        problem = SourceError(
            said,
            f"{table!r} is a view that DuckDB cannot open within this file",
            "read the other files directly",
            code="view-of-other-files",
            table=table,
        )
    return attempt(lambda: connection.table(table), problem)


def not_null_columns(database: Database) -> frozenset[str]:
    """The integers and booleans of a table that are declared NOT NULL; none of a view or a query.

    Raises what DuckDB raises. Floats may be NaN. The declaration is part of the schema: no data value is read.
    """
    if database.table is None:
        return frozenset()
    with _connect(os.path.expanduser(database.path)) as connection:
        found = connection.execute(
            "select column_name from information_schema.columns join information_schema.tables "
            "using (table_catalog, table_schema, table_name) "
            "where table_type = 'BASE TABLE' and is_nullable = 'NO' and list_contains($kinds, data_type) "
            "and table_catalog = current_database() and table_schema = current_schema() "
            "and lower(table_name) = lower($table)",
            {"table": database.table, "kinds": _INTEGERS},
        ).fetchall()
    return frozenset(name for (name,) in found)


def quote(name: str) -> str:
    """A column's name in DuckDB's SQL."""
    return '"' + name.replace('"', '""') + '"'


def list_files(files: Files) -> Files:
    """The files of a store, as DuckDB finds them, with the values of their folders; those of this machine are known."""
    if not files.is_unknown:
        return files
    require_duckdb('engine="duckdb"')
    import duckdb

    def find(pattern: str) -> list[str]:
        pattern += "**/*.parquet" if pattern.endswith("/") else ""
        found = duckdb.connect().execute("select file from glob($pattern)", {"pattern": pattern}).fetchall()
        return [path for (path,) in found]

    return list_store(files, find, _unreadable(files))


def read_files(files: Files) -> Any:
    """A relation over Parquet files, read by DuckDB, with the values of their folders."""
    require_duckdb('engine="duckdb"')
    import duckdb
    import pyarrow as pa

    paths = list(files.paths)
    if files.is_listed or not files.remote:
        paths = [glob.escape(path) for path in paths]  # DuckDB reads wildcards in paths
    connection = duckdb.connect()
    plain = attempt(lambda: connection.read_parquet(paths, hive_partitioning=False), _unreadable(files))
    if not files.keys:
        return plain
    check_keys(files, plain.columns)
    table = folder_table(files)
    connection.register("folders", pa.table({key: pa.array(column, pa.string()) for key, column in table.items()}))
    path, keys = quote(PATH), ", ".join(f"folders.{quote(key)}" for key in files.keys)
    rows = f"read_parquet([{', '.join(map(_text, paths))}], hive_partitioning = false, filename = {_text(PATH)})"
    query = (
        f"select records.* exclude ({path}), {keys} "
        f"from {rows} records left join folders on records.{path} = folders.{path}"
    )
    return attempt(lambda: connection.sql(query), _unreadable(files))


def _unreadable(files: Files) -> SourceError:
    return SourceError(
        f"source={files.said!r} cannot be opened by DuckDB",
        "DuckDB must be able to read every file; remote stores need an extension",
        "try it in DuckDB itself, or leave engine out",
        code="not-opened-by-duckdb",
        source=files.said,
    )

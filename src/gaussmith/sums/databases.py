"""DuckDB: a table or a query of a database by its address, opened for reading only, and Parquet files read by it."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Mapping, Sequence
from typing import Any

from gaussmith.addresses import Database
from gaussmith.errors import SourceError, nearest
from gaussmith.sums.failures import attempt
from gaussmith.sums.files import Files
from gaussmith.sums.partitions import PATH, check_keys, folder_table, list_store
from gaussmith.sums.queries import is_row_by_row
from gaussmith.sums.times import bounds_of

INSTALL = "pip install gaussmith[duckdb]"


def require_duckdb(said: str) -> None:
    """Refuse where DuckDB, or PyArrow, in which it hands numbers over, is not installed."""
    for package, name in (("duckdb", "DuckDB"), ("pyarrow", "PyArrow, in which DuckDB hands numbers over,")):
        if importlib.util.find_spec(package) is None:
            raise SourceError(said, f"{name} is not installed", INSTALL)


def open_database(database: Database, row_per_row: bool = False) -> tuple[Any, bool]:
    """The relation that an address names, and whether it is a query or a view. Names and types are read, no data value.

    The address holds one SELECT or the name of a table or view. Statements of other kinds would run when they are
    opened, before anything is charged: they are refused. So are files that a query or a view reads, in whose rows
    DuckDB would look for their types. A query, or a view, that may mix rows is refused unless it was promised that
    each of its rows depends on the rows of one person alone (`row_per_row`).
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
        relation = _open_table(connection, database.table, said)
        if str(relation.type) == "TABLE_RELATION":
            return relation, False
        if not row_per_row:
            _check_rows(path, relation.sql_query(), said)
        return relation, True
    assert database.query is not None
    query = database.query
    not_one = SourceError(said, "the query is one SELECT", "write ?query=SELECT … FROM …, and nothing after it")
    kinds = [str(statement.type) for statement in attempt(lambda: duckdb.extract_statements(query), not_one)]
    if len(kinds) != 1 or not kinds[0].endswith("SELECT"):
        raise not_one
    wrong = SourceError(
        said, "DuckDB cannot make sense of the query within this file", "try it with DuckDB itself, without other files"
    )
    relation = attempt(lambda: connection.sql(query), wrong)
    if not row_per_row:
        _check_rows(path, query, said)
    return relation, True


def _check_rows(path: str, query: str, said: str) -> None:
    """Refuse a query of which one returned row may depend on more than one row of a table."""
    mixed = SourceError(
        said,
        "it may mix rows (it aggregates, joins, limits, samples, or uses windows, subqueries, rowid or chance), and "
        "one person could then change every row",
        "select, filter and compute row by row; or promise that each row depends on the rows of one person alone: "
        'source = { path = "duckdb://…", row_per_row = true }',
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
    problem = SourceError(said, f"it holds no table {table!r}", nearest(table, [name for (name,) in names]))
    if any(table.lower() == name.lower() for (name,) in names):
        problem = SourceError(
            said, f"{table!r} is a view that DuckDB cannot open within this file", "read other files by themselves"
        )
    return attempt(lambda: connection.table(table), problem)


def plain_relation(relation: Any, columns: Sequence[str], ids: Mapping[str, str] | None = None) -> Any:
    """Some columns of a relation, without what DuckDB alone has: collations, parts of a day that round up, infinities.

    Under a collation 'Ada' equals 'ada': one record would be in two groups, and how one is written would decide where
    others are counted. Times in nanoseconds are cut to microseconds, as other engines do, not rounded; `ids` names
    columns of them that are kept whole, as integers, under another name. Times outside the years 1 to 9999 are null.
    """
    kinds = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    chosen = [f"{_plainly(quote(name), kinds[name])} as {quote(name)}" for name in columns]
    chosen += [f"{_nanoseconds(quote(name))} as {quote(whole)}" for name, whole in (ids or {}).items()]
    return relation.project(", ".join(chosen))


def exact_ids(relation: Any, unit: str, columns: Sequence[str]) -> dict[str, str]:
    """The column of ids that would be cut, with another name for it; none where the column is whole as it is."""
    kinds = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    if kinds.get(unit) != "TIMESTAMP_NS":
        return {}
    name, taken = f"{unit} in nanoseconds", {other.lower() for other in (*columns, *relation.columns)}
    while name.lower() in taken:
        name += "_"
    return {unit: name}


def _plainly(column: str, kind: str) -> str:
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        return f'cast({column} as varchar) collate "binary"'
    if kind in ("DOUBLE", "FLOAT"):
        # The ends of Parquet files say nothing of NaN: by their numbers DuckDB would decide isnan(x) and x > 0 for all
        # rows at once. A list of one has no statistics.
        return f"list_extract([{column}], 1)"
    if kind == "TIMESTAMP_NS":
        whole = _nanoseconds(column)
        return f"make_timestamp(({whole} - (({whole} % 1000) + 1000) % 1000) // 1000)"
    if kind == "DATE":
        return f"case when {column} between date '0001-01-01' and date '9999-12-31' then {column} end"
    if kind in ("TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMP_S"):  # the input of the cast is guarded, which would fail
        inside = f"{column} >= {kind} '0001-01-01' and {column} < {kind} '10000-01-01'"
        return f"cast(case when {inside} then {column} end as timestamp)"
    return column


def _nanoseconds(column: str) -> str:
    """A time in nanoseconds from 1970, null where it is infinite: some versions have a number for that."""
    low, high = bounds_of("ns")
    return f"(case when epoch_ns({column}) between {low} and {high} then epoch_ns({column}) end)"


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
        "it must be able to read every file, for stores with an extension of its own",
        "try it with DuckDB itself, or leave engine out",
    )

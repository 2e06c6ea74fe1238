"""DuckDB: relations, databases given by an address, and Parquet files.

It reads within this process and hands numbers over in batches. Its own sums of the same codes took four times as long:
`least`, `greatest` and `case` cost DuckDB more per number than its scan, the copy into Arrow and our kernel together.
Expressions of narwhals for 4096 columns took ten times as long.
"""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.encoding import Encoding
from gaussmith.engines.addresses import Database
from gaussmith.engines.engine import (
    AddUp,
    Columns,
    Integers,
    Progress,
    Totals,
    Words,
    columns_of,
    counted_places,
    frame_places,
    key_columns,
    rows_at_a_time,
    rows_per_batch,
    valued_columns,
)
from gaussmith.engines.files import PATH, Files, check_keys, folder_table, list_store
from gaussmith.engines.frames import bounds_of
from gaussmith.engines.relations import (
    derive_relation,
    first_numbered,
    numbered,
    open_parquet,
    open_relation,
    read_schema,
)
from gaussmith.engines.source import Source
from gaussmith.engines.versions import arrow_batches, attempt
from gaussmith.errors import SourceError, nearest
from gaussmith.expressions.formulas import kind_of
from gaussmith.expressions.keys import GroupKeys
from gaussmith.expressions.spelling import Derivation
from gaussmith.notations import setting

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.engines.engine import Frame


# What DuckDB opens by name: a table or a query of a database, for reading only, and Parquet files.

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
    DuckDB would look for their types. In a query, a view or a generated column one person can change every row, and no
    look at the SQL rules that out: each needs the promise that its rows depend on the rows of one person only
    (`row_per_row`).
    """
    said = f"source={database.said!r}"
    require_duckdb(said)
    path = os.path.expanduser(database.path)
    if not os.path.isfile(path):
        remedy = "check the path; relative paths start in the current directory"
        raise SourceError(said, "there is no such file", remedy, code="no-such-database")
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
        of_query = not _is_plain_table(connection, relation, said)
    else:
        assert database.query is not None
        relation, of_query = _open_query(connection, database.query, said), True
    if of_query and not row_per_row:
        is_table = str(relation.type) == "TABLE_RELATION"
        kind = "a query" if database.table is None else "a table with generated columns" if is_table else "a view"
        raise SourceError(
            f"{said} is {kind}",
            "one person could change every row that it returns",
            "name a plain table; or promise that each returned row depends on the rows of one person only: "
            + setting("source", {"path": "duckdb://…", "row_per_row": True}),
            code="row-per-row-not-promised",
            kind=kind,
        )
    return relation, of_query


def _open_query(connection: Any, query: str, said: str) -> Any:
    import duckdb

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
    return attempt(lambda: connection.sql(query), wrong)


def _is_plain_table(connection: Any, relation: Any, said: str) -> bool:
    """Whether a relation is a table, and no table of its name in the file has a generated column.

    DuckDB writes the definitions itself. A text such as GENERATED ALWAYS elsewhere in one also makes it no plain table.
    """
    if str(relation.type) != "TABLE_RELATION":
        return False
    query = (
        "select bool_and(not contains(upper(sql), 'GENERATED ALWAYS')) from duckdb_tables() "
        "where lower(table_name) = lower($table)"
    )
    unknown = SourceError(
        said,
        "DuckDB does not say how the table is defined",
        "write it again as a plain table",
        code="table-definition-unknown",
    )
    found = attempt(lambda: connection.execute(query, {"table": relation.alias}).fetchall(), unknown)
    return bool(found == [(True,)])


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


BATCH_ROWS = 1 << 17
"""Rows that DuckDB hands over at a time: all of a row group, which has 122 880. Each batch takes 0.1 ms beside them."""

KEPT_BYTES = 32_000_000
"""Memory that stays with this process from batch to batch, below the 32 MiB that the C library keeps at most."""

FEW_CORES = 2
"""Cores of which DuckDB takes all but one: two threads that code would wait for it, and for each other."""

FEW_COLUMNS = 64
"""Limit on the columns of a relation that is not narrowed to those which are read: a step of a query takes 0.3 ms."""

AS_THEY_ARE = {"BOOLEAN", "FLOAT", "DOUBLE", *(f"{u}{i}INT" for u in ("", "U") for i in ("TINY", "SMALL", "BIG"))}
AS_THEY_ARE |= {"INTEGER", "UINTEGER"}
"""Types of columns that kernels take as they are; all others are cast to doubles."""


class WholeSums:
    """DuckDB adds up 64-bit integers in 128 bits."""

    def frame(
        self, source: Source, columns: Sequence[str], ids: Mapping[str, str] | None, unguarded: Collection[str]
    ) -> Frame:
        import narwhals as nw

        native = plain_relation(source.native, tuple(dict.fromkeys(columns)), ids, unguarded)
        frame: Frame = nw.from_native(native).lazy()
        return frame

    def aggregate(self, frame: Frame, chosen: Sequence[str], by: Sequence[str], where: str | None = None) -> Frame:
        import narwhals as nw

        native: Any = frame.to_native()
        rows = native if where is None else native.filter(where)
        found: Frame = nw.from_native(rows.aggregate(", ".join(chosen), ", ".join(by)))
        return found


class DuckDB:
    """DuckDB relations, in the user's connection or, for files and databases, in our own."""

    name = "duckdb"
    modules = ("duckdb", "_duckdb")
    packages = ("duckdb", "pyarrow", "polars", "narwhals")
    adds_here = True
    hands_over_texts = False
    wide_sums = WholeSums()
    max_features = 16

    def open(self, data: Any) -> Source:
        schema = read_schema(data)
        require_duckdb("a relation of DuckDB")
        _check_letters(data.columns)
        pairs = zip(data.columns, data.types, strict=True)
        void = [name for name, dtype in pairs if str(dtype).strip('"') == "NULL"]
        # What DuckDB holds is a plan, and may be a query; a table is one by its own account.
        of_query = str(getattr(data, "type", "")) != "TABLE_RELATION"
        return open_relation(self, data, schema, void, of_query)

    def open_files(self, files: Files, columns: Sequence[str] | None, master: str | None) -> Source:
        opened, here = open_parquet(self, files, list_files, read_files)
        if here is None:
            return opened
        unreadable = {name: kind for name, kind in _unreadable_times(here.schema).items() if name in opened.schema}
        return replace(opened, schema={**opened.schema, **unreadable})

    def open_database(self, database: Database, row_per_row: bool) -> Source:
        """A table or a query of a database, by its address."""
        relation, of_query = open_database(database, row_per_row)
        return replace(self.open(relation), of_query=of_query)

    def check_names(self, source: Source, columns: Sequence[str]) -> None:
        """All names that `open` accepts can be used."""

    def frame(self, source: Source, columns: Sequence[str], ids: Mapping[str, str] | None = None) -> Frame:
        return self.wide_sums.frame(source, columns, ids, ())

    def exact_ids(self, source: Source, unit: str, taken: Sequence[str]) -> dict[str, str]:
        """Times in nanoseconds are kept whole, as integers."""
        kinds = {name: str(kind) for name, kind in zip(source.native.columns, source.native.types, strict=True)}
        if kinds.get(unit) != "TIMESTAMP_NS":
            return {}
        name, others = f"{unit} in nanoseconds", {other.lower() for other in (*taken, *source.native.columns)}
        while name.lower() in others:
            name += "_"
        return {unit: name}

    def derive(self, source: Source, derivation: Derivation) -> Any:
        return derive_relation(source, derivation)

    def total(
        self, source: Source, codes: Encoding, columns: Sequence[str], add_up: AddUp, progress: Progress | None
    ) -> Totals:
        if not columns:
            return Totals([], int(source.native.aggregate("count(*)").fetchall()[0][0]))
        source = numbered(source, columns)
        types = {name: str(kind) for name, kind in zip(source.native.columns, source.native.types, strict=True)}
        numbers = (
            f"{_number(quote(name), types[name], kind_of(source.schema[name]))} x{j}" for j, name in enumerate(columns)
        )
        relation = source.native.project(", ".join(numbers))
        _keep_memory()
        with closing(arrow_batches(relation, rows_per_batch(len(columns), BATCH_ROWS))) as batches:
            # DuckDB's own threads need a core as well.
            return add_up(batches, _columns_of, codes, workers=1 if (os.cpu_count() or 1) <= FEW_CORES else None)

    def places(
        self, source: Source, columns: Sequence[str] | None, keys: Sequence[GroupKeys]
    ) -> Iterator[tuple[Words, Words | None]]:
        return self.places_in(self.frame(source, columns or ()), keys)

    def places_in(self, frame: Frame, keys: Sequence[GroupKeys]) -> Iterator[tuple[Words, Words | None]]:
        if any(key.kinds[0] in ("text", "object") for key in keys):
            yield counted_places(frame, keys)
            return
        find = frame_places(keys)
        for batch in self.batches(valued_columns(frame, keys), rows_at_a_time(keys)):
            yield find(batch), None

    def key_table(self, rows: Frame, keys: GroupKeys) -> Frame:
        """A table on the connection of the rows, whatever it is: the one row of a count, turned into rows of lists."""
        import narwhals as nw

        columns, types = key_columns(keys)
        lists = [_list_of(values or [0], kind) for values, kind in zip(columns.values(), types, strict=True)]
        unnested = [each.alias(name) for each, name in zip(lists, columns, strict=True)]
        native: Any = rows.to_native()
        made = native.limit(0).aggregate("count(*)").select(*unnested)
        table: Frame = nw.from_native(made if keys.codes else made.limit(0))  # the pieces of no text are one, not none
        return table

    def fetch(self, frame: Frame) -> list[tuple[Any, ...]]:
        native: Any = frame.to_native()
        return [tuple(row) for row in native.fetchall()]

    def batches(self, frame: Frame, rows: int) -> Iterator[pl.DataFrame]:
        import polars as pl

        native: Any = frame.to_native()
        with closing(arrow_batches(native, rows)) as batches:
            for batch in batches:
                found = pl.from_arrow(batch)
                assert isinstance(found, pl.DataFrame)
                yield found

    def first_rows(self, frame: Frame, of: str, before: str, text: str, after: Sequence[str], most: int) -> Frame:
        import duckdb

        native: Any = frame.to_native()
        digest = duckdb.FunctionExpression("md5", duckdb.ColumnExpression(text)).alias("digest")
        return first_numbered(native.select(duckdb.StarExpression(), digest), of, [before, "digest", *after], most)

    def part(self, frame: Frame, column: str, part: int, parts: int) -> Frame | None:
        import narwhals as nw

        native: Any = frame.to_native()
        found: Frame = nw.from_native(native.filter(f"hash({quote(column)}) % {parts} = {part}"))
        return found

    def without_rows(self, source: Source) -> Source | None:
        return replace(source, native=_empty_relation(source.native))


DUCKDB = DuckDB()


def _list_of(values: Sequence[Any], kind: str) -> Any:
    """Values as rows. They travel as one text: a query of a hundred thousand constants takes seconds to plan."""
    import duckdb

    texts = list(map(repr if kind == "double" else str, values))
    together = set("".join(texts)) if kind == "text" else set()
    mark = next(letter for letter in map(chr, range(0x1F, 0x10FFFF)) if letter not in together)
    split = duckdb.FunctionExpression(
        "string_split", duckdb.ConstantExpression(mark.join(texts)), duckdb.ConstantExpression(mark)
    )
    return duckdb.FunctionExpression("unnest", split).cast(
        {"text": "VARCHAR", "integer": "BIGINT", "double": "DOUBLE"}[kind]
    )


@cache
def _keep_memory() -> None:
    """Let freed memory stay with this process: after a block is freed, glibc keeps others up to its size.

    Else each batch is in new pages, which the system clears first: a fifth of the time that sums take.
    """
    np.empty(KEPT_BYTES, np.uint8)


def _columns_of(batch: Any) -> Columns:
    """The columns of a batch for the kernels, read where DuckDB wrote them if no value is missing."""
    import polars as pl

    columns = batch.columns
    if not any(column.null_count or column.type.bit_width < 8 for column in columns):  # truths are bits
        return [_where_it_is(column) for column in columns]
    found = pl.from_arrow(batch)
    assert isinstance(found, pl.DataFrame)
    return columns_of(found)


def _where_it_is(column: Any) -> Any:
    kind: Any = np.dtype(column.type.to_pandas_dtype())
    values = np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)
    return Integers(values, None, 0) if kind.kind in "iu" else values


def _number(column: str, dtype: str, kind: str) -> str:
    """A column as kernels take it: as it is, else as doubles. Long numbers go through text, which is rounded once."""
    if dtype in AS_THEY_ARE:
        return column
    return f"cast(cast({column} as varchar) as double)" if kind == "long number" else f"cast({column} as double)"


def _empty_relation(relation: Any) -> Any:
    """A relation of its own, so that what the given one is made of cannot fail here."""
    import duckdb

    columns = zip(relation.columns, relation.types, strict=True)
    nulls = ", ".join(f"cast(null as {kind}) as {quote(name)}" for name, kind in columns)
    try:
        return _own_connection(os.getpid()).cursor().sql(f"select {nulls} limit 0")
    except duckdb.Error:  # a type of an extension, known to the connection of the relation alone
        return relation.limit(0)


@cache
def _own_connection(process: int) -> Any:
    """An empty database, kept because one takes 20 ms to make; a fork makes another. Each use takes a cursor of it."""
    import duckdb

    return duckdb.connect()


def _check_letters(names: Sequence[str]) -> None:
    """Refuse names that differ only in case."""
    seen: dict[str, str] = {}
    for name in names:
        if seen.setdefault(name.lower(), name) != name:
            raise SourceError(
                f"columns {seen[name.lower()]!r} and {name!r} of the relation",
                "DuckDB ignores case in column names",
                "rename one",
                code="columns-differ-only-in-case-duckdb",
                other=seen[name.lower()],
                column=name,
            )


def _unreadable_times(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Times in milliseconds as columns of an unknown type: of a Parquet file DuckDB fails on those far away."""
    import narwhals as nw

    return {
        name: nw.Unknown()
        for name, dtype in schema.items()
        if isinstance(dtype, nw.Datetime) and dtype.time_unit == "ms"
    }


def plain_relation(
    relation: Any, columns: Sequence[str], ids: Mapping[str, str] | None = None, unguarded: Collection[str] = ()
) -> Any:
    """Some columns of a relation, without what DuckDB alone has: collations, parts of a day that round up, infinities.

    Under a collation 'Ada' equals 'ada': one record would be in two groups, and how one is written would decide where
    others are counted. Times in nanoseconds are cut to microseconds, as other engines do, not rounded; `ids` names
    columns of them that are kept whole, as integers, under another name. Times outside the years 1 to 9999 are null.
    Times with a zone are in UTC. Floats are guarded against what the ends of files say, unless told not to.
    """
    kinds = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    as_they_are = {name for name in unguarded if kinds.get(name) in ("DOUBLE", "FLOAT")}
    plain = [quote(name) if name in as_they_are else _plainly(quote(name), kinds[name]) for name in columns]
    if plain == [quote(name) for name in columns] and not ids and len(kinds) <= FEW_COLUMNS:
        return relation
    chosen = [f"{column} as {quote(name)}" for column, name in zip(plain, columns, strict=True)]
    chosen += [f"{_nanoseconds(quote(name))} as {quote(whole)}" for name, whole in (ids or {}).items()]
    return relation.project(", ".join(chosen))


def _plainly(column: str, kind: str) -> str:
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        return f'cast({column} as varchar) collate "binary"'
    if kind in ("DOUBLE", "FLOAT"):
        # The ends of Parquet files say nothing of NaN: by their numbers DuckDB would decide isnan(x) and x > 0 for all
        # rows at once. What a case gives has no statistics; a product and the element of a list do.
        return f"case when {column} is null then null else {column} end"
    if kind == "TIMESTAMP_NS":
        whole = _nanoseconds(column)
        return f"make_timestamp(({whole} - (({whole} % 1000) + 1000) % 1000) // 1000)"
    if kind == "DATE":
        return f"case when {column} between date '0001-01-01' and date '9999-12-31' then {column} end"
    if kind == "TIME":  # DuckDB has 24:00:00 too
        return f"case when {column} between time '00:00:00' and time '23:59:59.999999' then {column} end"
    if kind in ("TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMP_S"):  # the input of the cast is guarded, which would fail
        inside = f"{column} >= {kind} '0001-01-01' and {column} < {kind} '10000-01-01'"
        return f"cast(case when {inside} then {column} end as timestamp)"
    if kind == "TIMESTAMP WITH TIME ZONE":  # by its microseconds: no table of zones is asked
        low, high = bounds_of("us")
        return f"make_timestamp(case when epoch_us({column}) between {low} and {high} then epoch_us({column}) end)"
    return column


def _nanoseconds(column: str) -> str:
    """A time in nanoseconds from 1970, null where it is infinite: some versions have a number for that."""
    low, high = bounds_of("ns")
    return f"(case when epoch_ns({column}) between {low} and {high} then epoch_ns({column}) end)"

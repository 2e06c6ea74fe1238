"""DuckDB: relations, databases given by an address, and Parquet files.

It reads within this process and hands numbers over in batches. Its own sums of the same codes took four times as long:
`least`, `greatest` and `case` cost DuckDB more per number than its scan, the copy into Arrow and our kernel together.
Expressions of narwhals for 4096 columns took ten times as long.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.engines.addresses import Database
from gaussmith.engines.dates import bounds_of
from gaussmith.engines.declared_values import counted_places, frame_places, rows_at_a_time, valued_columns
from gaussmith.engines.duckdb_databases import list_files, open_database, quote, read_files, require_duckdb
from gaussmith.engines.engine import AddUp, Columns, Progress, Totals, Words, key_columns, rows_per_batch
from gaussmith.engines.files import Files
from gaussmith.engines.relations import derive_relation, numbered, open_parquet, open_relation, read_schema
from gaussmith.engines.source import Source
from gaussmith.engines.versions import arrow_batches
from gaussmith.engines.whole_columns import Integers, columns_of
from gaussmith.errors import SourceError
from gaussmith.expressions import Derivation, GroupKeys, kind_of
from gaussmith.problem.codes import Codes

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.engines.engine import Frame

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
        self, source: Source, codes: Codes, columns: Sequence[str], add_up: AddUp, progress: Progress | None
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

    def digested(self, frame: Frame, text: str, name: str) -> Frame:
        import duckdb
        import narwhals as nw

        native: Any = frame.to_native()
        digest = duckdb.FunctionExpression("md5", duckdb.ColumnExpression(text)).alias(name)
        found: Frame = nw.from_native(native.select(duckdb.StarExpression(), digest))
        return found

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

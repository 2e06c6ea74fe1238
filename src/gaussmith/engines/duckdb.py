"""DuckDB: relations, databases given by an address, and Parquet files.

It reads within this process and hands numbers over in batches. Its own sums of the same codes took nearly twice as
long, and expressions of narwhals for 4096 columns ten times.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from gaussmith.engines.addresses import Database
from gaussmith.engines.dates import bounds_of
from gaussmith.engines.declared_values import counted_places
from gaussmith.engines.duckdb_databases import list_files, open_database, quote, read_files, require_duckdb
from gaussmith.engines.engine import AddUp, Columns, Progress, Totals, Words, key_columns, rows_per_batch
from gaussmith.engines.files import Files
from gaussmith.engines.relations import derive_relation, numbered, open_parquet, open_relation, read_schema
from gaussmith.engines.source import Source
from gaussmith.engines.versions import arrow_batches
from gaussmith.errors import SourceError
from gaussmith.expressions import Derivation, GroupKeys, kind_of
from gaussmith.problem.codes import Codes

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.engines.engine import Frame

BATCH_ROWS = 1 << 18
"""Rows that DuckDB hands over at a time; fewer of a table of more than 256 columns."""


class DuckDB:
    """DuckDB relations, in the user's connection or, for files and databases, in our own."""

    name = "duckdb"
    modules = ("duckdb", "_duckdb")
    packages = ("duckdb", "pyarrow", "polars", "narwhals")
    adds_here = True
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
        import narwhals as nw

        columns = tuple(dict.fromkeys(columns))
        native = plain_relation(source.native, columns, ids)
        # As expressions: narwhals 2.20 hands plain names to DuckDB's parser, which reads "a b" as two words.
        named = [nw.col(name) for name in (*columns, *(ids or {}).values())]
        frame: Frame = nw.from_native(native).lazy().select(*named)
        return frame

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
        casts = ["cast({} as varchar)" if kind_of(source.schema[name]) == "long number" else "{}" for name in columns]
        numbers = (
            f"cast({cast.format(quote(name))} as double) x{j}"
            for j, (cast, name) in enumerate(zip(casts, columns, strict=True))
        )
        relation = source.native.project(", ".join(numbers))
        with closing(arrow_batches(relation, rows_per_batch(len(columns), BATCH_ROWS))) as batches:
            return add_up(batches, _columns_of, codes)

    def places(
        self, source: Source, columns: Sequence[str] | None, keys: Sequence[GroupKeys]
    ) -> Iterator[tuple[Words, Words | None]]:
        yield counted_places(self.frame(source, columns or ()), keys)

    def key_table(self, rows: Frame, keys: GroupKeys) -> Frame:
        """A table on the connection of the rows, whatever it is: the one row of a count, turned into rows of lists."""
        import duckdb
        import narwhals as nw

        columns, types = key_columns(keys)
        kinds = [{"text": "VARCHAR", "integer": "BIGINT", "double": "DOUBLE"}[kind] for kind in types]
        unnested = [
            duckdb.FunctionExpression("unnest", duckdb.ConstantExpression(values)).cast(kind).alias(name)
            for (name, values), kind in zip(columns.items(), kinds, strict=True)
        ]
        native: Any = rows.to_native()
        table: Frame = nw.from_native(native.limit(0).aggregate("count(*)").select(*unnested))
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


def _columns_of(batch: Any) -> Columns:
    return [column.to_numpy(zero_copy_only=False) for column in batch.columns]  # null becomes NaN


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


def plain_relation(relation: Any, columns: Sequence[str], ids: Mapping[str, str] | None = None) -> Any:
    """Some columns of a relation, without what DuckDB alone has: collations, parts of a day that round up, infinities.

    Under a collation 'Ada' equals 'ada': one record would be in two groups, and how one is written would decide where
    others are counted. Times in nanoseconds are cut to microseconds, as other engines do, not rounded; `ids` names
    columns of them that are kept whole, as integers, under another name. Times outside the years 1 to 9999 are null.
    Times with a zone are in UTC.
    """
    kinds = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    chosen = [f"{_plainly(quote(name), kinds[name])} as {quote(name)}" for name in columns]
    chosen += [f"{_nanoseconds(quote(name))} as {quote(whole)}" for name, whole in (ids or {}).items()]
    return relation.project(", ".join(chosen))


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
    if kind == "TIMESTAMP WITH TIME ZONE":  # by its microseconds: no table of zones is asked
        low, high = bounds_of("us")
        return f"make_timestamp(case when epoch_us({column}) between {low} and {high} then epoch_us({column}) end)"
    return column


def _nanoseconds(column: str) -> str:
    """A time in nanoseconds from 1970, null where it is infinite: some versions have a number for that."""
    low, high = bounds_of("ns")
    return f"(case when epoch_ns({column}) between {low} and {high} then epoch_ns({column}) end)"

"""Spark: frames, and Parquet files opened by it. Spark adds up the codes; rows stay where they are."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from gaussmith.engines.dates import bounds_of, dates_in, has_zone
from gaussmith.engines.declared_values import counted_places
from gaussmith.engines.engine import AddUp, Progress, Totals, Unsteady, Words, key_columns
from gaussmith.engines.failures import attempt
from gaussmith.engines.files import Files
from gaussmith.engines.partitions import PATH, check_keys, list_store
from gaussmith.engines.relations import derive_relation, numbered, open_parquet, open_relation, read_schema
from gaussmith.engines.source import Source
from gaussmith.engines.spark_codes import (
    BLOCK_COLUMNS,
    DOUBLE,
    LONG,
    quote,
    read_numbers,
    read_sums,
    spell_sums,
)
from gaussmith.engines.versions import check_range
from gaussmith.errors import SourceError
from gaussmith.expressions import Derivation, GroupKeys, kind_of
from gaussmith.problem.codes import Codes
from gaussmith.problem.sql import Step

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from gaussmith.engines.engine import Frame

DOUBLES_HOLD = 1 << 32
"""Limit on the rows whose limbs add up in doubles without rounding."""


class Spark:
    """Spark frames, in the user's session or, for files, in our own."""

    name = "spark"
    modules = ("pyspark",)
    packages = ("pyspark", "polars", "narwhals")
    adds_here = False
    hands_over_texts = False
    wide_sums = None
    max_features = 4

    def open(self, data: Any) -> Source:
        schema = read_schema(data)
        check_frame(data)
        void = [column.name for column in data.schema if column.dataType.typeName() == "void"]
        return open_relation(self, data, schema, void, of_query=True)  # what Spark holds is a plan, and may be a query

    def open_files(self, files: Files, columns: Sequence[str] | None, master: str | None) -> Source:
        opened, _ = open_parquet(self, files, partial(list_files, master=master), partial(read_files, master=master))
        return opened

    def check_names(self, source: Source, columns: Sequence[str]) -> None:
        """Refuse names that Spark would take for something else in expressions: of people, groups and filters."""
        for name in columns:
            if name in source.schema and any(sign in name for sign in ".`*"):
                raise SourceError(
                    f"column={name!r}",
                    "Spark reads dots, backticks and stars in a name as part of an expression",
                    "rename it first, for example with toDF or withColumnRenamed",
                    code="column-name-is-an-expression",
                    column=name,
                )

    def frame(self, source: Source, columns: Sequence[str], ids: Mapping[str, str] | None = None) -> Frame:
        import narwhals as nw

        columns = tuple(dict.fromkeys(columns))
        native = _with_plain_dates(source.native, source.schema, columns)
        frame: Frame = nw.from_native(native).lazy().select(*columns)
        return frame

    def exact_ids(self, source: Source, unit: str, taken: Sequence[str]) -> dict[str, str]:
        return {}

    def derive(self, source: Source, derivation: Derivation) -> Any:
        return derive_relation(source, derivation)

    def total(
        self, source: Source, codes: Codes, columns: Sequence[str], add_up: AddUp, progress: Progress | None
    ) -> Totals:
        source = numbered(source, columns)
        return total_frame(source.native, codes, columns, source.schema)

    def places(
        self, source: Source, columns: Sequence[str] | None, keys: Sequence[GroupKeys]
    ) -> Iterator[tuple[Words, Words | None]]:
        return self.places_in(self.frame(source, columns or ()), keys)

    def places_in(self, frame: Frame, keys: Sequence[GroupKeys]) -> Iterator[tuple[Words, Words | None]]:
        yield counted_places(frame, keys)

    def key_table(self, rows: Frame, keys: GroupKeys) -> Frame:
        import narwhals as nw

        columns, types = key_columns(keys)
        known = {"text": "string", "integer": "long", "double": "double"}
        fields = ", ".join(f"{name} {known[kind]}" for name, kind in zip(columns, types, strict=True))
        native: Any = rows.to_native()
        records = list(zip(*columns.values(), strict=True))
        table: Frame = nw.from_native(native.sparkSession.createDataFrame(records, fields))
        return table

    def fetch(self, frame: Frame) -> list[tuple[Any, ...]]:
        native: Any = frame.to_native()
        return [tuple(row) for row in native.collect()]

    def batches(self, frame: Frame, rows: int) -> Iterator[pl.DataFrame]:
        """One partition at a time is held here."""
        import polars as pl

        native: Any = frame.to_native()
        each = native.toLocalIterator(prefetchPartitions=True)
        while some := list(itertools.islice(each, rows)):
            yield pl.DataFrame(
                [tuple(row) for row in some], schema=native.columns, orient="row", infer_schema_length=None
            )

    def digested(self, frame: Frame, text: str, name: str) -> Frame:
        import narwhals as nw
        from pyspark.sql import functions

        native: Any = frame.to_native()
        found: Frame = nw.from_native(native.withColumn(name, functions.md5(functions.encode(text, "UTF-8"))))
        return found

    def part(self, frame: Frame, column: str, part: int, parts: int) -> Frame | None:
        """None: Spark divides its work by itself."""
        return None

    def without_rows(self, source: Source) -> Source | None:
        """None: a query without rows costs Spark as much as one with a few."""
        return None


SPARK = Spark()


def total_frame(
    frame: Any,
    codes: Codes,
    columns: Sequence[str],
    schema: Mapping[str, nw.dtypes.DType],
    doubles_hold: int = DOUBLES_HOLD,
) -> Totals:
    """The exact totals of a frame, added up by Spark: a query for every 16 codes, each of which returns one row.

    Guarantee: the integers of every other engine. A task that fails and is run again changes nothing: Spark adds up the
    results of each partition once.
    Requires: a frame that yields the same rows whenever it is read, and fewer than 2^42 of them (the first owed by the
    caller; that all queries saw as many rows is checked).
    """
    if not columns:
        return Totals([], int(frame.count()))
    numbers = frame.selectExpr(*read_numbers(columns, [kind_of(schema[name]) for name in columns]))
    if (steps := codes.spell_place()) is not None:
        return _count_places(numbers, steps, codes.width)
    sums: list[int] = []
    counts: set[int] = set()
    for start in range(0, codes.width, BLOCK_COLUMNS):
        which = range(start, min(start + BLOCK_COLUMNS, codes.width))
        coded = numbers
        for step in codes.spell(which):
            coded = coded.selectExpr(*step)
        found, records = read_sums(coded.selectExpr(*spell_sums(which, DOUBLE)).collect()[0])
        if records > doubles_hold:
            found, records = read_sums(coded.selectExpr(*spell_sums(which, LONG)).collect()[0])
        sums += found
        counts.add(records)
    if len(counts) > 1:
        raise Unsteady
    return Totals(sums, counts.pop())


def _count_places(numbers: Any, steps: list[Step], width: int) -> Totals:
    """How many records are at each place: one row comes back for each place that has any."""
    placed = numbers
    for step in steps:
        placed = placed.selectExpr(*step)
    sums = [0] * width
    for place, count in placed.groupBy("place").count().collect():
        sums[int(place)] = int(count)
    return Totals(sums, sum(sums))


def _with_plain_dates(frame: Any, schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str]) -> Any:
    """A frame in which dates and times outside the years 1 to 9999 are null, and times with a zone are in UTC."""
    dates = dates_in(schema, columns)
    if not dates:
        return frame
    kinds = {field.name: field.dataType.typeName() for field in frame.schema}
    chosen = []
    for name in columns:
        column = quote(name)
        low, high = "'0001-01-01'", "'9999-12-31'"
        if name in dates and has_zone(schema[name]):
            chosen.append(f"{_in_utc(column)} as {column}")
            continue
        if kinds.get(name) != "date":
            low, high = "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"
        inside = f"{column} between {kinds.get(name)}{low} and {kinds.get(name)}{high}"
        chosen.append(f"case when {inside} then {column} end as {column}" if name in dates else column)
    return frame.selectExpr(*chosen)


def _in_utc(column: str) -> str:
    """A time with a zone as one without, in UTC: by its microseconds, so that no table of zones is asked."""
    low, high = bounds_of("us")
    micros = f"case when unix_micros({column}) between {low} and {high} then unix_micros({column}) end"
    seconds = f"cast(cast({micros} as decimal(20, 0)) * 0.000001BD as decimal(18, 6))"
    return f"timestamp_ntz'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {seconds})"


def check_frame(frame: Any) -> None:
    """Refuse a frame without an end, of a Spark that is too old, or whose columns Spark itself cannot tell apart."""
    if frame.isStreaming:
        remedy = "read the data that has arrived with spark.read"
        raise SourceError(
            "a streaming Spark frame", "it has no end, so it cannot be summed", remedy, code="streaming-frame"
        )
    session = frame.sparkSession
    check_range("pyspark", str(session.version), "the frame's Spark")
    if str(session.conf.get("spark.sql.caseSensitive", "false")).lower() == "true":
        return
    seen: dict[str, str] = {}
    for name in frame.columns:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise SourceError(
                f"columns {other!r} and {name!r} of the frame",
                "Spark ignores case in column names",
                "rename one, or set spark.sql.caseSensitive to true",
                code="columns-differ-only-in-case-spark",
                other=other,
                column=name,
            )


def _open_session(master: str | None) -> Any:
    from gaussmith.engines.spark_sessions import open_session  # serves start-up

    return open_session(master)


def list_files(files: Files, master: str | None) -> Files:
    """The files of a store, as Spark finds them, with the values of their folders; those of this machine are known."""
    if not files.is_unknown:
        return files
    session = _open_session(master)

    def find(pattern: str) -> list[str]:
        if pattern != files.paths[0]:
            return list(session.read.text(pattern).columns)  # fails where there is nothing
        return [unquote(path) for path in read_files(files, master).inputFiles()]

    return list_store(files, find, _unreadable(files))


def read_files(files: Files, master: str | None) -> Any:
    """A frame over Parquet files, read by Spark, with the values of their folders.

    Executors must find files of this machine under the same path.
    """
    session = _open_session(master)
    paths = [_address(files, path) for path in files.paths]
    reader = session.read.option("recursiveFileLookup", "true")  # and no types or columns from the names of folders
    frame = attempt(lambda: reader.parquet(*paths), _unreadable(files))
    if not files.keys:
        return frame
    check_keys(files, frame.columns)
    return attempt(lambda: _attach_values(session, frame, files), _unreadable(files))


def _unreadable(files: Files) -> SourceError:
    return SourceError(
        f"source={files.said!r} cannot be opened by Spark",
        "Spark must be able to read every file and know the types of all columns",
        "try it in Spark itself, or leave engine out",
        code="not-opened-by-spark",
        source=files.said,
    )


def _attach_values(session: Any, frame: Any, files: Files) -> Any:
    """The frame with the values of its folders, joined by the file that Spark says a row is from."""
    known = {(path if files.remote else os.path.abspath(path)): files.values[path] for path in files.paths}
    rows = []
    for address in frame.inputFiles():
        path = unquote(address)
        rows.append((_plainly(address), *known[path if files.remote else re.sub("^file:/*", "/", path)]))
    told = frame.withColumn(PATH, frame.metadataColumn("_metadata").getField("file_path"))
    plain = f"regexp_replace({quote(PATH)}, '{_STROKES}', '$1:/') {quote(PATH)}"
    told = told.selectExpr(*map(quote, frame.columns), plain)
    fields = ", ".join(f"{quote(name)} string" for name in (PATH, *files.keys))
    return told.join(session.createDataFrame(rows, fields).hint("broadcast"), PATH, "left").drop(PATH)


_STROKES = "^([A-Za-z0-9]+):/+"
"""Spark writes file:/ and file:/// for the same."""


def _plainly(address: str) -> str:
    return re.sub(_STROKES, r"\1:/", address)


def _address(files: Files, path: str) -> str:
    """A path for Spark, which reads wildcards in paths."""
    if files.remote and not files.is_listed:
        return path
    place = path if files.remote else "file://" + os.path.abspath(path)
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", place)

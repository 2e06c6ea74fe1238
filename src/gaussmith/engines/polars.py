"""Polars: frames, files, and all that becomes a Polars frame when it is opened (pandas, PyArrow).

Rows are streamed: Polars reads, numpy codes, in memory that does not grow with the data. The `native` of a source is a
function from names of columns to a lazy frame, so that a column is converted or read only when it is asked for.
"""

from __future__ import annotations

import math
import os
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import md5
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.domains.encoding import Encoding
from gaussmith.engines.addresses import without_secrets
from gaussmith.engines.engine import (
    AS_THEY_ARE,
    PIECE_ROWS,
    AddUp,
    Progress,
    Totals,
    Words,
    columns_of,
    frame_places,
    key_columns,
    rows_at_a_time,
    rows_per_batch,
    split_chunks,
    valued_columns,
)
from gaussmith.engines.files import Files, check_keys, find_with_polars, group_files, list_store, scan_files
from gaussmith.engines.frames import (
    bounds_of,
    dates_in,
    has_zone,
    is_table,
    lazy_from_arrow,
    mapped_batches,
    scan_feather,
    unheld_columns,
    unheld_in_files,
    was_read,
)
from gaussmith.engines.source import Source, check_names, unknown_source, unreadable_source
from gaussmith.engines.versions import attempt, check_version, check_views, collect_batches
from gaussmith.errors import SourceError
from gaussmith.expressions.formulas import kind_of
from gaussmith.expressions.keys import GroupKeys
from gaussmith.expressions.spelling import Derivation, as_number, derive

# The types of columns that Polars reads: in words of narwhals, which is imported only where they are not plain.

if typing.TYPE_CHECKING:
    import polars as pl

PLAIN = AS_THEY_ARE | {"String"}
"""Types that go by the same names in Polars and in narwhals, and answer the same."""


def told_types(lazy: pl.LazyFrame, problem: SourceError) -> dict[str, Any]:
    """The types of columns by name, as narwhals tells them; where all are plain, as Polars does."""
    own = attempt(lambda: dict(lazy.collect_schema()), problem)
    if PLAIN.issuperset(map(str, own.values())):
        return own
    check_version("narwhals")
    import narwhals as nw

    return attempt(lambda: dict(nw.from_native(lazy).collect_schema()), problem)


def polars_type(dtype: Any) -> Any:
    """The type of a column in Polars; what has none there is never added up, and may be text."""
    import polars as pl

    if isinstance(dtype, pl.DataType):
        return dtype
    import narwhals as nw

    if isinstance(dtype, (nw.Object, nw.Unknown)):
        return pl.String
    return nw.Schema({"": dtype}).to_polars()[""]


# All files of a source looked at before anything is charged: their schemas, at their ends or beginnings, no values.
#
# A truncated file is found here, and a column that is not the same everywhere.

MAX_FILES = 10_000
"""Limit on the files that are looked at before they are read."""

WORKERS = 8


def uneven_columns(files: Files) -> frozenset[str]:
    """The columns of the first file that some other lacks, holds in another type, or under other capital letters too.

    Refuses a file that is damaged, or that holds a column with the name of a partition's key. Of text formats only the
    names are compared; lines of JSON have names of their own, and stores are not looked into.
    """
    import polars as pl

    schemas: dict[str, Callable[[str], Mapping[str, Any]]] = {
        # Polars' own readers of schemas take a path for a pattern.
        "Parquet": lambda path: pl.scan_parquet(path, glob=False, hive_partitioning=False).collect_schema(),
        "Arrow IPC": lambda path: scan_feather([path]).collect_schema(),
    }
    look = _headers(files) if files.format in ("CSV", "TSV") else schemas.get(files.format)
    if look is None or files.remote or (len(files.paths) == 1 and not files.keys):
        return frozenset()

    def read(path: str) -> Mapping[str, Any]:
        which = f"{without_secrets(path)!r}, one of its {len(files.paths)} files,"
        which = "one of its files" if files.keys else which  # names of folders are data
        what = f"source={files.said!r}: {which} cannot be opened"
        rule = "the beginning or end of each file is checked before anything is charged"
        problem = SourceError(
            f"{what} as {files.format}",
            rule,
            "check this file, or narrow the pattern",
            code="one-file-damaged",
            format=files.format,
        )
        schema = attempt(lambda: look(path), problem)
        check_keys(files, schema)
        return schema

    first, uneven = read(files.paths[0]), set()
    with ThreadPoolExecutor(WORKERS) as pool:
        for schema in pool.map(read, files.paths[1:MAX_FILES]):
            if schema != first:
                uneven |= {name for name, kind in first.items() if name not in schema or schema[name] != kind}
                written = {name.lower(): name for name in schema if name not in first}  # to some engines one name
                uneven |= {name for name in first if name.lower() in written}
    return frozenset(uneven)


def _headers(files: Files) -> Callable[[str], dict[str, None]]:
    from gaussmith.engines.text_files import headers_of

    headers = headers_of(files)
    return lambda path: dict.fromkeys(headers.of(path).names)


if typing.TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from gaussmith.engines.engine import Frame

os.environ.setdefault("POLARS_IGNORE_TIMEZONE_PARSE_ERROR", "1")
"""Polars panics where a zone has no name that it knows, such as +05:30. Times with a zone are read in UTC here."""

DAY = 86_400 * 10**9
"""Nanoseconds of a day: Polars fails on times of a day beyond it."""

LONGEST_DECIMAL = 38
"""Digits of a decimal in 128 bits: Polars names longer types and fails when it reads them."""


class Polars:
    """Lazy frames and files, read by Polars within this process."""

    name = "polars"
    modules = ("polars", "pandas", "pyarrow")
    packages = ("polars",)
    adds_here = True
    hands_over_texts = True
    wide_sums = None
    max_features = 32

    def open(self, data: Any) -> Source:
        opener = {"pandas": _open_pandas, "pyarrow": _open_arrow}.get(type(data).__module__.split(".")[0], _open_frame)
        return opener(data)

    def open_files(self, files: Files, columns: Sequence[str] | None = None, master: str | None = None) -> Source:
        return _open_files(files, columns)

    def check_names(self, source: Source, columns: Sequence[str]) -> None:
        """All names that `open` accepts can be used."""

    def frame(self, source: Source, columns: Sequence[str], ids: Mapping[str, str] | None = None) -> Frame:
        import narwhals as nw

        return nw.from_native(_with_plain_dates(scan(source, columns), source.schema, columns))

    def exact_ids(self, source: Source, unit: str, taken: Sequence[str]) -> dict[str, str]:
        return {}

    def derive(self, source: Source, derivation: Derivation) -> Any:
        def scan_derived(columns: Sequence[str]) -> Any:
            read = [*derivation.columns_used, *(name for name in columns if name in source.schema)]
            return derive(self.frame(source, read or (source.names or ())[:1]), derivation).to_native()

        return scan_derived

    def total(
        self, source: Source, codes: Encoding, columns: Sequence[str], add_up: AddUp, progress: Progress | None
    ) -> Totals:
        if not columns:
            return Totals([], _count(source))
        return add_up(split_chunks(_batches(source, columns, progress)), columns_of, codes)

    def places(
        self, source: Source, columns: Sequence[str] | None, keys: Sequence[GroupKeys]
    ) -> Iterator[tuple[Words, Words | None]]:
        return self.places_in(self.frame(source, columns or ()), keys)

    def places_in(self, frame: Frame, keys: Sequence[GroupKeys]) -> Iterator[tuple[Words, Words | None]]:
        find, values = frame_places(keys), valued_columns(frame, keys)
        if len(keys) == 1 and keys[0].kinds[0] in ("text", "object"):
            yield self._count_texts(values, keys[0], find)
            return
        for batch in self.batches(values, rows_at_a_time(keys)):
            yield find(batch), None

    def _count_texts(self, values: Frame, key: GroupKeys, find: Callable[[pl.DataFrame], Words]) -> tuple[Words, Words]:
        """How often each text occurs, those that are not declared as one; counted while the rows are read."""
        import polars as pl

        text, declared = pl.col("v0"), pl.Series([code for (code,) in key.codes], dtype=pl.String)
        known = pl.when(text.is_in(declared.implode())).then(text)
        counted = values.to_native().select(known, n=pl.lit(1, pl.Int64))
        table = counted.group_by("v0").agg(pl.col("n").sum()).collect(engine="streaming")
        return find(table), table["n"].to_numpy()

    def key_table(self, rows: Frame, keys: GroupKeys) -> Frame:
        import narwhals as nw
        import polars as pl

        columns, types = key_columns(keys)
        known = {"text": pl.String, "integer": pl.Int64, "double": pl.Float64}
        schema = {name: known[kind] for name, kind in zip(columns, types, strict=True)}
        return nw.from_native(pl.LazyFrame(columns, schema=schema))

    def fetch(self, frame: Frame) -> list[tuple[Any, ...]]:
        """Streamed: the data need not fit into memory."""
        native: Any = frame.to_native()
        return list(native.collect(engine="streaming").rows())

    def batches(self, frame: Frame, rows: int) -> Iterator[pl.DataFrame]:
        native: Any = frame.to_native()
        return collect_batches(native, rows)

    def first_rows(self, frame: Frame, of: str, before: str, text: str, after: Sequence[str], most: int) -> Frame:
        """Polars has no md5: all rows come into Python's hands."""
        import narwhals as nw

        def first(rows: pl.DataFrame) -> pl.DataFrame:
            whole = rows.rechunk()  # to pick rows from many chunks takes ten times as long
            return whole[first_places(whole, of, before, text, after, most)]

        native: Any = frame.to_native()
        kept = native.map_batches(first, predicate_pushdown=False, projection_pushdown=False, slice_pushdown=False)
        found: Frame = nw.from_native(kept)
        return found

    def part(self, frame: Frame, column: str, part: int, parts: int) -> Frame | None:
        import narwhals as nw
        import polars as pl

        native: Any = frame.to_native()
        found: Frame = nw.from_native(native.filter(pl.col(column).hash() % parts == part))
        return found

    def without_rows(self, source: Source) -> Source | None:
        """
        >>> frame = __import__("polars").DataFrame({"age": [36, 17], "name": ["Ada", "Bob"]})
        >>> POLARS.without_rows(POLARS.open(frame)).native(["age"]).collect().shape
        (0, 1)
        """
        import polars as pl

        def without_rows(numbers: Collection[str]) -> Callable[[Sequence[str]], pl.LazyFrame]:
            def kind(name: str) -> Any:
                return pl.Float64 if name in numbers else polars_type(source.schema[name])

            return lambda columns: pl.LazyFrame(schema={name: kind(name) for name in columns})

        numbered = without_rows if source.numbered is not None else None
        return replace(source, native=without_rows(()), files=None, once=False, numbered=numbered)


POLARS = Polars()


# ---- rows ------------------------------------------------------------------------------------------------------------


def scan(source: Source, columns: Sequence[str], files: Files | None = None) -> pl.LazyFrame:
    """A lazy frame of some columns of a source; of some of its files, if these are given."""
    columns = list(dict.fromkeys(columns))  # one may be asked twice, under different bounds
    lazy: pl.LazyFrame = source.native(columns) if files is None else scan_files(files, columns)
    return lazy.select(*columns)


# Rows in the order of their digests. Polars sorts by one column after the other in a third of the time of all at once.


def first_places(rows: pl.DataFrame, of: str, before: str, text: str, after: Sequence[str], most: int) -> pl.Series:
    """Where the rows are that `Engine.first_rows` keeps."""
    import polars as pl

    digests = digest_texts(rows[text])
    halves = [pl.Series("upper", digests[:, 0]), pl.Series("lower", digests[:, 1])]
    placed = rows.select(of, before, pl.int_range(pl.len()).alias("place"), halves[0])
    placed = placed.sort("upper").sort(before, maintain_order=True).sort(of, maintain_order=True)
    columns = placed.drop("place")
    if (columns == columns.shift(1)).select(pl.all_horizontal(pl.all()).any()).item():  # the lower halves decide
        whole = rows.select(of, before, *after, pl.int_range(pl.len()).alias("place")).with_columns(halves)
        placed = whole.sort(of, before, "upper", "lower", *after)
    return placed.filter(pl.col(of).ne_missing(pl.col(of).shift(most)))["place"]


DIGEST_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
DIGEST_ROUNDS: tuple[tuple[Callable[[Any, Any, Any], Any], tuple[int, int], tuple[int, ...]], ...] = (
    (lambda b, c, d: d ^ (b & (c ^ d)), (0, 1), (7, 12, 17, 22)),
    (lambda b, c, d: c ^ (d & (b ^ c)), (1, 5), (5, 9, 14, 20)),
    (lambda b, c, d: b ^ c ^ d, (5, 3), (4, 11, 16, 23)),
    (lambda b, c, d: c ^ (b | ~d), (0, 7), (6, 10, 15, 21)),
)
"""RFC 1321: of each round what it mixes, its first word and the step to the next one, how far it turns."""

SHORT_TEXT = 55
"""Bytes that md5 takes in one block of 64, with a mark and the length."""


def digest_texts(texts: pl.Series) -> npt.NDArray[np.uint64]:
    """The md5 of each text as two words, in the order of its digits: of short texts many at once.

    >>> import polars as pl
    >>> texts = pl.Series(["", "Ada", "x" * 99])
    >>> [f"{upper:016x}{lower:016x}" == md5(text.encode()).hexdigest()
    ...  for text, (upper, lower) in zip(texts, digest_texts(texts).tolist())]
    [True, True, True]
    """
    import polars as pl

    sizes = texts.str.len_bytes().to_numpy()
    found = np.empty((len(texts), 2), np.uint64)
    long = np.flatnonzero(sizes > SHORT_TEXT)
    digests = (md5(text, usedforsecurity=False).digest() for text in texts.gather(long).cast(pl.Binary).to_list())
    found[long] = np.frombuffer(b"".join(digests), ">u8").reshape(-1, 2)
    short = np.flatnonzero(sizes <= SHORT_TEXT)
    texts = texts if not len(long) else texts.gather(short)
    for start in range(0, len(short), PIECE_ROWS):
        at = short[start : start + PIECE_ROWS]
        found[at] = _digest_short(texts.slice(start, PIECE_ROWS).str.join("").cast(pl.Binary).item(), sizes[at])
    return found


def _digest_short(texts: bytes, sizes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same of texts one after the other, of these sizes: 64 steps, each for all of them."""
    rows, width = len(sizes), int(sizes.max()) + 1
    block = np.zeros((rows, 64), np.uint8)
    letters = np.zeros((rows, width), np.uint8)
    letters[np.arange(width) < sizes[:, None]] = np.frombuffer(texts, np.uint8)
    letters[np.arange(rows), sizes] = 0x80
    block[:, :width] = letters
    words = np.ascontiguousarray(block.view("<u4").T)
    words[14] = 8 * sizes
    a, b, c, d = (np.full(rows, start, np.uint32) for start in DIGEST_START)
    for step in range(64):
        mix, (first, stride), turns = DIGEST_ROUNDS[step // 16]
        turn = turns[step % 4]
        mixed = mix(b, c, d)
        mixed += a
        mixed += np.uint32(abs(math.sin(step + 1)) * 2**32)
        mixed += words[(first + stride * step) % 16]
        a, b, c, d = d, b + ((mixed << np.uint32(turn)) | (mixed >> np.uint32(32 - turn))), b, c
    whole = [word + np.uint32(start) for word, start in zip((a, b, c, d), DIGEST_START, strict=True)]
    return np.stack(whole, axis=1).astype("<u4").view(">u8")


def _with_plain_dates(
    lazy: pl.LazyFrame, schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str]
) -> pl.LazyFrame:
    """A lazy frame in which dates and times outside the years 1 to 9999 are null, and times with a zone are in UTC."""
    import polars as pl

    inside = []
    for name in dates_in(schema, columns):
        unit: Any = getattr(schema[name], "time_unit", None)
        low, high = (0, DAY - 1) if type(schema[name]).__name__ == "Time" else bounds_of(unit)
        physical = pl.col(name).to_physical()
        column = physical.cast(pl.Datetime(unit)) if has_zone(schema[name]) else pl.col(name)
        inside.append(pl.when(physical.is_between(low, high)).then(column).alias(name))
    return lazy.with_columns(*inside) if inside else lazy


def _count(source: Source) -> int:
    """The number of records."""
    import polars as pl

    if not source.names:  # the files have no column in common
        lazy = source.native(()).select(pl.len())
    else:  # Polars' own count has 32 bits
        lazy = scan(source, source.names[:1]).select((pl.first().is_null().cast(pl.Int64) | 1).sum())
    return int(lazy.collect(engine="streaming").item())


def _batches(source: Source, columns: Sequence[str], progress: Progress | None) -> Iterator[pl.DataFrame]:
    if progress is None or source.files is None or source.files.remote or len(source.files.paths) == 1:
        yield from _read(source, columns)
        return
    for group, fraction in group_files(source.files):
        yield from _read(source, columns, group)
        progress(fraction)


def _read(source: Source, columns: Sequence[str], files: Files | None = None) -> Iterator[pl.DataFrame]:
    """The columns as doubles, in batches of any order; of some of its files, if these are given."""
    import polars as pl

    whole = files or source.files
    if whole is not None and whole.format == "Arrow IPC" and not whole.remote:
        as_they_are = all(str(source.schema[name]) in AS_THEY_ARE for name in columns)
        mapped = mapped_batches(whole.paths, columns) if as_they_are else None
        if mapped is not None:
            yield from mapped
            return
    if whole is None or not whole.is_text:
        yield from _numbers(source, scan(source, columns, files), columns)
        return
    from gaussmith.engines.text_files import number_batches

    for found in number_batches(whole, columns):
        if isinstance(found, pl.DataFrame):
            yield found
        else:
            yield from _numbers(source, found.select(*dict.fromkeys(columns)), columns)


def _numbers(source: Source, lazy: pl.LazyFrame, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The columns as doubles, in batches of any order."""
    kinds = {kind_of(source.schema[name]) for name in columns}
    numbers: pl.LazyFrame
    if kinds <= {"number", "truth", "text"}:  # what `as_number` spells, told to Polars itself: wide tables plan faster
        numbers = lazy.select(_number(name, source.schema[name]).alias(f"x{j}") for j, name in enumerate(columns))
    else:
        import narwhals as nw

        exprs = (as_number(name, kind_of(source.schema[name])).alias(f"x{j}") for j, name in enumerate(columns))
        numbers = nw.from_native(lazy).select(*exprs).to_native()
    yield from collect_batches(numbers, rows_per_batch(len(columns)))


def _number(name: str, dtype: Any) -> pl.Expr:
    """A column as kernels take it: as it is where numpy has its type, else as doubles, texts by our own rule."""
    import polars as pl

    if str(dtype) in AS_THEY_ARE:
        return pl.col(name)
    if kind_of(dtype) == "text":
        from gaussmith.engines.csv_files import read_quickly

        return pl.col(name).cast(pl.String).map_batches(read_quickly, return_dtype=pl.Float64, is_elementwise=True)
    return pl.col(name).cast(pl.Float64)


# ---- opening ---------------------------------------------------------------------------------------------------------


def _open_files(files: Files, columns: Sequence[str] | None = None) -> Source:
    import polars as pl

    first = files.said if len(files.paths) == 1 else without_secrets(files.paths[0])
    problem = SourceError(
        f"source={first!r} cannot be opened as {files.format}",
        "its beginning or end is missing, damaged or not of this format",
        "check the file, or give it the suffix of its format",
        code="file-damaged",
        source=first,
        format=files.format,
    )
    if files.remote:
        problem = SourceError(
            f"source={files.said!r} cannot be opened",
            "the store must be reachable and hold data at this address",
            "check the address, and the credentials that Polars reads from the environment",
            code="store-not-reached",
            source=files.said,
        )
    uneven = uneven_columns(files)
    if files.is_text:
        from gaussmith.engines.text_files import names_of, scan_numbers

        names = (
            _names_in_lines(files, columns)
            if files.format == "JSON lines"
            else attempt(lambda: names_of(files), problem)
        )
        check_names(names, repr(files.said))
        texts: Any = pl.String()
        opened = Source(
            POLARS,
            lambda columns: scan_files(files, columns),
            len(names),
            names,
            dict.fromkeys(names, texts),
            files,
            texts=frozenset(names),
            numbered=lambda numbers: lambda columns: scan_numbers(files, columns, numbers),
        )
    else:
        if files.is_unknown:
            files = list_store(files, find_with_polars, problem)
            check_keys(files, attempt(lambda: scan_files(files, ()).collect_schema().names(), problem))
        opened = _open_lazy(lambda: scan_files(files), problem, files)
        if files.format == "Arrow IPC" and not files.remote:
            opened = _with_unheld(opened, attempt(lambda: unheld_in_files(files.paths), problem))
        native = _scanner(files) if files.keys or files.remote else _unless_changed(files, opened.native)
        opened = replace(opened, native=native, texts=frozenset(files.keys), reopen=_scanner)
    return opened.without(uneven)


def _names_in_lines(files: Files, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns of JSON lines: those that are asked for. No record says which there are."""
    if columns is None:
        raise SourceError(
            f"source={files.said!r}: columns of JSON lines",
            "they must be named: no record lists all of them",
            'name them: columns=["age", …]',
            code="json-columns-not-named",
            source=files.said,
        )
    return tuple(dict.fromkeys(columns))


def _scanner(files: Files) -> Callable[[Sequence[str]], pl.LazyFrame]:
    """What scans columns of these files."""
    return lambda columns: scan_files(files, columns)


def _unless_changed(files: Files, opened: Callable[[Sequence[str]], pl.LazyFrame]) -> Any:
    """What reads the frame that was opened, which knows where columns are in the files; unless these have changed."""
    stamps = files.stamps
    return lambda columns: opened(columns) if files.stamps == stamps else scan_files(files, columns)


def _open_lazy(make: Callable[[], pl.LazyFrame], problem: SourceError, files: Files | None = None) -> Source:
    import polars as pl

    lazy = attempt(make, problem)
    schema = told_types(lazy, problem)
    check_names(list(schema), "the frame" if files is None else repr(files.said))
    for name, dtype in lazy.collect_schema().items():
        if dtype == pl.Null:  # a column without any value: as a number it is missing everywhere
            schema[name] = pl.Float64()
        if isinstance(dtype, pl.Decimal) and (dtype.precision or 0) > LONGEST_DECIMAL:
            import narwhals as nw

            schema[name] = nw.Unknown()
    return Source(POLARS, lambda columns: lazy, len(schema), tuple(schema), schema, files)


def _open_frame(source: Any) -> Source:
    import polars as pl

    frame = source.to_frame() if isinstance(source, pl.Series) else source
    if not isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        raise unknown_source(source)
    return replace(_open_lazy(frame.lazy, unreadable_source(source)), of_query=isinstance(source, pl.LazyFrame))


def _open_arrow(source: Any) -> Source:
    check_names(getattr(getattr(source, "schema", None), "names", ()), "the table")
    if was_read(source):
        raise SourceError(
            "a reader of record batches",
            "it can be read only once, and has been read",
            "open it again",
            code="reader-used-up",
        )
    check_views([column.type for column in getattr(source, "schema", ())])
    here = is_table(source)  # its columns are converted when they are asked for
    lazy = attempt(lambda: lazy_from_arrow(source.schema.empty_table() if here else source), unreadable_source(source))
    if lazy is None:
        raise unknown_source(source)
    opened = _open_lazy(lambda: lazy, unreadable_source(source))
    if here:
        opened = replace(opened, native=lambda columns: lazy_from_arrow(source.select([*columns])))
    return replace(_with_unheld(opened, unheld_columns(source)), once=hasattr(source, "read_next_batch"))


def _with_unheld(opened: Source, unheld: frozenset[str]) -> Source:
    """A source with columns that Polars cannot hold: null, so that rows can be counted, and of no use by their type."""
    import narwhals as nw

    if not unheld:
        return opened
    return replace(opened, schema={**opened.schema, **{name: nw.Unknown() for name in unheld}})


def _open_pandas(source: Any) -> Source:
    import polars as pl

    from gaussmith.engines.frames import holds_objects, series_from_pandas, type_of_pandas

    if getattr(source, "ndim", 0) not in (1, 2) or not hasattr(source, "iloc"):
        raise unknown_source(source)
    frame = source.to_frame() if source.ndim == 1 else source
    names = tuple(str(name) for name in frame.columns)
    check_names(names, "the frame")
    kinds = {name: type_of_pandas(frame.iloc[:0, j]) for j, name in enumerate(names)}
    schema = told_types(pl.LazyFrame(schema=kinds), unreadable_source(source))

    def convert(columns: Sequence[str]) -> pl.LazyFrame:
        found = {c: series_from_pandas(frame.iloc[:, names.index(c)], kinds[c] == pl.Object) for c in columns}
        return pl.DataFrame(found).lazy()

    objects = frozenset(name for j, name in enumerate(names) if holds_objects(frame.dtypes.iloc[j]))
    return Source(POLARS, convert, len(names), names, schema, objects=objects)

"""The protocol that every engine follows, and what an engine returns: exact totals.

Missing values are the same on all engines: null, NaN, text that is not a number. ±inf is clipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from gaussmith.domains.encoding import Encoding
from gaussmith.expressions.keys import GroupKeys, Numbers, match_keys, value_of
from gaussmith.expressions.spelling import Derivation, kinds_of

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl


if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from gaussmith.engines.files import Files
    from gaussmith.engines.source import Source

    Frame = nw.LazyFrame[Any]

T = TypeVar("T")

Words = npt.NDArray[np.int64]

Columns = Sequence[npt.NDArray[Any]] | npt.NDArray[Any]
"""One array per column, all of one length: a list, or the rows of a two-dimensional array."""

Progress = Callable[[float | None], None]
"""Called with the fraction of the bytes read so far, or None if unknown; never with anything about rows."""

PIECE_ROWS = 1 << 14
"""Rows encoded at a time: with 16 columns two megabytes of doubles, about the cache of one processor core."""

BATCH_ROWS = 1 << 17
"""Default number of rows that an engine returns at a time."""

MAX_BATCH_NUMBERS = 1 << 26
"""Limit on the numbers in a batch: half a gigabyte."""


@dataclass(frozen=True)
class Totals:
    """Exact sums of the codes, one integer per code column, and the number of records: both secret."""

    sums: list[int] | Words = field(repr=False)
    records: int = field(repr=False)


@dataclass(frozen=True, eq=False)
class PlacedTotals(Totals):
    """How many people are in each of the cells that somebody is in, of very many in order. Secret too."""

    places: Words = field(repr=False)
    counts: Words = field(repr=False)


@dataclass(frozen=True, eq=False)
class GroupTotals(Sequence[Totals]):
    """The totals of many groups, in words: a row of sums for each group, and its records. Secret too."""

    sums: Words = field(repr=False)
    records: Words = field(repr=False)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return GroupTotals(self.sums[i], self.records[i])
        return Totals(self.sums[i].tolist(), int(self.records[i]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class Unsteady(Exception):
    """Two queries over one source saw different numbers of records."""


class AddUp(Protocol):
    """A function that sums the codes of numbers that an engine returns in pieces: `gaussmith.totals.records.add_up`."""

    def __call__(
        self, pieces: Iterator[T], columns_of: Callable[[T], Columns], codes: Encoding, workers: int | None = None
    ) -> Totals: ...


class WideSums(Protocol):
    """What an engine can do that adds up 64-bit integers in 128 bits."""

    def frame(
        self, source: Source, columns: Sequence[str], ids: Mapping[str, str] | None, unguarded: Collection[str]
    ) -> Frame:
        """As `Engine.frame`. Nothing is asked of columns that are `unguarded` but the codes of `totals.wide_sums`."""

    def aggregate(self, frame: Frame, chosen: Sequence[str], by: Sequence[str], where: str | None = None) -> Frame:
        """The columns `chosen` of a query in DuckDB's SQL, for each value of `by`, of the rows `where` that holds."""


class Engine(Protocol):
    """The interface of engines. An engine has no state: the rows are the `native` of a `Source`.

    Every engine returns the same integers. Nothing is read before `total`, `places` or `fetch`.
    """

    @property
    def name(self) -> str:
        """Its name for users: engine="duckdb"."""

    @property
    def modules(self) -> tuple[str, ...]:
        """The Python packages whose objects it opens."""

    @property
    def packages(self) -> tuple[str, ...]:
        """The Python packages it needs, whose versions are checked."""

    @property
    def adds_here(self) -> bool:
        """Whether `total` hands its numbers over to `add_up`, so that one scan can add up several codings of them."""

    @property
    def hands_over_texts(self) -> bool:
        """Whether texts come here in batches as cheaply as it would count them itself."""

    @property
    def wide_sums(self) -> WideSums | None:
        """How it adds up codes as whole integers; None where they are added up as two limbs."""

    @property
    def max_features(self) -> int:
        """Limit on the features that one query sums."""

    def open(self, data: Any) -> Source:
        """A frame, a relation, an array … as a source. Reads names and types of columns, no data value."""

    def open_files(self, files: Files, columns: Sequence[str] | None, master: str | None) -> Source:
        """Files as a source. `columns` are the columns that will be used, `master` is the address of Spark."""

    def check_names(self, source: Source, columns: Sequence[str]) -> None:
        """Refuse names of columns that cannot be used in expressions."""

    def frame(self, source: Source, columns: Sequence[str], ids: Mapping[str, str] | None = None) -> Frame:
        """A narwhals lazy frame of some columns, on which expressions are evaluated.

        Dates and times outside the years 1 to 9999 are missing. `ids` are those of `exact_ids`.
        """

    def exact_ids(self, source: Source, unit: str, taken: Sequence[str]) -> dict[str, str]:
        """The column of ids that `frame` would cut, with another name under which it is whole; usually none.

        `taken` are names of other columns.
        """

    def derive(self, source: Source, derivation: Derivation) -> Any:
        """The source's `native` with its derived columns and without the rows that the filter drops."""

    def total(
        self, source: Source, codes: Encoding, columns: Sequence[str], add_up: AddUp, progress: Progress | None
    ) -> Totals:
        """The exact sums of the codes of all records. Numbers that it hands over are added up by `add_up`."""

    def places(
        self, source: Source, columns: Sequence[str] | None, keys: Sequence[GroupKeys]
    ) -> Iterator[tuple[Words, Words | None]]:
        """The index of each value among the declared ones (rows × columns), −1 for all others, in batches.

        With each batch, if the engine counted equal rows, how often each occurs.
        """

    def places_in(self, frame: Frame, keys: Sequence[GroupKeys]) -> Iterator[tuple[Words, Words | None]]:
        """As `places`, of the columns of a frame."""

    def key_table(self, rows: Frame, keys: GroupKeys) -> Frame:
        """The declared keys k0, k1 … with their place g, as a table that can be joined with the rows."""

    def fetch(self, frame: Frame) -> list[tuple[Any, ...]]:
        """Run a query and bring its few rows here."""

    def batches(self, frame: Frame, rows: int) -> Iterator[pl.DataFrame]:
        """Run a query and bring its rows here, about so many at a time, in no order."""

    def first_rows(self, frame: Frame, of: str, before: str, text: str, after: Sequence[str], most: int) -> Frame:
        """The first `most` rows of each value of `of`: by `before`, then by the md5 of a text, then by `after`."""

    def part(self, frame: Frame, column: str, part: int, parts: int) -> Frame | None:
        """The rows of one of so many parts, by a hash of a column: equal values are in the same part.

        None where the engine divides its work by itself, outside the memory of this process.
        """

    def without_rows(self, source: Source) -> Source | None:
        """A source with the same columns and no rows, for a rehearsal; None where there is none. Touches no rows."""


def rows_per_batch(columns: int, rows: int = BATCH_ROWS) -> int:
    """The number of rows in a batch with this many columns."""
    return min(rows, max(PIECE_ROWS, MAX_BATCH_NUMBERS // columns))


def key_columns(keys: GroupKeys) -> tuple[dict[str, list[Any]], list[str]]:
    """The columns of `Engine.key_table`: the codes of the keys by name, then their places as g; and of which type.

    Types are "text", "integer" and "double".
    """
    columns: dict[str, list[Any]] = {f"k{j}": [code[j] for code in keys.codes] for j in range(len(keys.columns))}
    kinds = {"text": "text", "object": "text", "integer": "integer"}
    types = [*(kinds.get(kind, "double") for kind in keys.kinds), "integer"]
    return {**columns, "g": list(range(len(keys.codes)))}, types


# The index of each value of a category column among the declared values, −1 for all others.
#
# A value belongs to a label when they are equal, by the rule of `gaussmith.expressions.keys`: texts as texts, numbers
# as doubles, truths as truths, Python objects by their codes. The same places come from every engine; what an
# undeclared value means, the coding says.

PLAIN_NUMBERS = {"Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))}
"""Types of columns whose numbers are compared as they are."""

MIN_ROWS, MAX_ROWS = 1 << 16, 1 << 23
"""Limits on the records of a frame that are counted at a time."""

PIECE = 1 << 15
"""Doubles cast at a time: what is made of them on the way stays in the processor's cache."""

MAX_TABLE = 1 << 20
"""Limit on the range of whole numbers whose places are looked up in a table."""


def array_places(keys: Sequence[GroupKeys]) -> Callable[[npt.NDArray[Any]], Words]:
    """What finds the places of the numbers of an array (rows × columns); the keys are looked at once.

    >>> from gaussmith.expressions.keys import declare_groups, declare_numbers
    >>> find = array_places([declare_numbers("cell", 3), declare_groups(["code"], [(7,), (-2,)], {"code": "number"})])
    >>> find(np.array([[2.0, 7.0], [0.5, -2.0], [np.nan, 3.0], [3.0, np.inf]])).tolist()
    [[2, 0], [-1, 1], [-1, -1], [-1, -1]]
    """
    finders = [_finder(key) for key in keys]

    def find(rows: npt.NDArray[Any]) -> Words:
        with np.errstate(all="ignore"):
            columns = [place(rows[:, j]) for j, place in enumerate(finders)]
        return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)

    return find


def _finder(key: GroupKeys) -> Callable[[npt.NDArray[Any]], Words]:
    """What finds the places of one column: by its numbers themselves, by a table of them, or by a search."""
    if isinstance(key.codes, Numbers):
        size = len(key.codes)
        return lambda x: _within(x, 0, size)
    codes = np.array([code for (code,) in key.codes], float)
    low, span = codes.min(), codes.max() - codes.min() + 1
    if (codes == np.floor(codes)).all() and span <= MAX_TABLE:
        table = np.full(int(span) + 1, -1, np.int64)  # the last, at −1, is the place of all others
        table[(codes - low).astype(np.int64)] = np.arange(len(codes))
        return lambda x: table[_within(x, int(low), int(span))]
    order = np.argsort(codes)
    ordered = codes[order]

    def search(x: npt.NDArray[Any]) -> Words:
        x = x.astype(np.float64, copy=False)
        at = np.minimum(np.searchsorted(ordered, x), len(codes) - 1)
        return np.where(ordered[at] == x, order[at], -1)

    return search


def _within(x: npt.NDArray[Any], low: int, span: int) -> Words:
    """x − low where x is one of the whole numbers from low to low + span − 1, else −1; the array itself if it can be.

    >>> _within(np.array([-1, 0, 2, 3]), 0, 3).tolist(), _within(np.array([7.0, 7.5, 8.0, 9.0]), 7, 2).tolist()
    ([-1, 0, 2, -1], [0, -1, 1, -1])
    """
    if x.dtype.kind == "f":
        found = np.empty(len(x), np.int64)
        for start in range(0, len(x), PIECE):
            _cast_within(x[start : start + PIECE], low, span, found[start : start + PIECE])
        return found
    whole = x.astype(np.int64, copy=False)
    above = whole if low == 0 else whole - low
    size = above.view(np.uint64)  # below `low` it wraps around to numbers above 2^62
    if x.dtype == np.uint64 and len(x) and whole.min() < 0:
        return np.where((size < span) & (whole >= 0), above, -1)
    return above if not len(x) or size.max() < span else np.where(size < span, above, -1)


def _cast_within(x: npt.NDArray[Any], low: int, span: int, found: Words) -> None:
    """Write to `found` what `_within` says of doubles.

    What is no whole number, or too large for one, differs from its cast, whatever that is.
    """
    np.copyto(found, x, casting="unsafe")
    exact = found == x
    if low:
        found -= low
    inside = found.view(np.uint64) < span
    inside &= exact
    if not inside.all():
        found[~inside] = -1


def rows_at_a_time(keys: Sequence[GroupKeys]) -> int:
    """How many records of a frame are counted at a time: the more labels there are, the more a batch costs."""
    return max(MIN_ROWS, min(8 * math.prod(len(key.codes) for key in keys), MAX_ROWS))


def valued_columns(
    frame: nw.LazyFrame[Any], keys: Sequence[GroupKeys], others: Sequence[nw.Expr] = (), searched: bool = True
) -> nw.LazyFrame[Any]:
    """The columns as what labels are compared with, named v0, v1 …: numbers as they are, or as `match_keys` reads them.

    Null where a value can match no label. `others` are selected beside them. Where cells have many edges these are
    `searched` for values here, unless an engine is to count the cells.
    """
    import narwhals as nw

    schema = frame.collect_schema()
    kinds, chosen = kinds_of(schema), []
    for j, key in enumerate(keys):
        (name,), (kind,) = key.columns, key.kinds
        if searched and _has_many_edges(key):
            value = value_of(name, key.cuts[0][1], kinds[name])
        elif kind == "number" and not key.cuts and str(schema[name]) in PLAIN_NUMBERS:
            value = nw.col(name)
        else:
            value = match_keys(key, kinds)["k0"]
        chosen.append(value.alias(f"v{j}"))
    return frame.select(*chosen, *others)


FEW_EDGES = 8
"""Up to so many edges an engine compares every value with them itself; more are searched here, which is faster."""


def frame_places(keys: Sequence[GroupKeys], searched: bool = True) -> Callable[[pl.DataFrame], Words]:
    """What finds the places of the values of a frame that `valued_columns` made; the keys are looked at once.

    >>> import polars as pl
    >>> from gaussmith.expressions.keys import declare_groups
    >>> find = frame_places([declare_groups(["sex"], [("f",), ("m",)], {"sex": "text"})])
    >>> find(pl.DataFrame({"v0": ["m", "x", None, "f"]})).ravel().tolist()
    [1, -1, -1, 0]
    """
    finders = [
        _text_finder(key) if key.kinds[0] in ("text", "object")
        else _edge_finder(key) if searched and _has_many_edges(key)
        else _number_finder(key)
        for key in keys
    ]  # fmt: skip

    def find(batch: pl.DataFrame) -> Words:
        with np.errstate(all="ignore"):
            columns = [place(batch.to_series(j)) for j, place in enumerate(finders)]
        return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)

    return find


def _number_finder(key: GroupKeys) -> Callable[[pl.Series], Words]:
    find = _finder(key)
    return lambda column: find(column.to_numpy())  # null becomes NaN, which is no label


def _has_many_edges(key: GroupKeys) -> bool:
    return any(len(cut.edges) > FEW_EDGES for _, cut in key.cuts)


def _edge_finder(key: GroupKeys) -> Callable[[pl.Series], Words]:
    """The cell of a value is how many of the edges it is at least as large as: as `place_among` says to an engine."""
    ((_, cut),) = key.cuts
    edges, places = np.array(cut.edges), np.full(len(cut.edges) + 2, -1, np.int64)  # the last is that of no value
    for place, (cell,) in enumerate(key.codes):
        places[int(cell)] = place

    def find(column: pl.Series) -> Words:
        x = column.to_numpy()
        cells = np.searchsorted(edges, x, side="right")
        cells[np.isnan(x)] = len(edges) + 1
        return places[cells]

    return find


def _text_finder(key: GroupKeys) -> Callable[[pl.Series], Words]:
    import polars as pl

    labels = pl.Enum([str(code) for (code,) in key.codes])

    def find(column: pl.Series) -> Words:
        found: Words = column.cast(labels, strict=False).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return found

    return find


def counted_places(frame: nw.LazyFrame[Any], keys: Sequence[GroupKeys]) -> tuple[Words, Words]:
    """Distinct rows and how often each occurs, counted by the engine that holds the data.

    Values are counted first and compared with the labels then: there are fewer of them than rows.
    """
    import narwhals as nw

    names = [f"v{j}" for j in range(len(keys))]
    one = nw.lit(1).cast(nw.Int64).alias("n")
    counted = valued_columns(frame, keys, searched=False).with_columns(one).group_by(*names).agg(nw.col("n").sum())
    # What is not declared is one value: a column of free text must not come here row by row.
    declared = [
        nw.when(nw.col(name).is_in([code for (code,) in key.codes])).then(nw.col(name)).alias(name)
        for name, key in zip(names, keys, strict=True)
    ]
    few = counted.select(*declared, "n").group_by(*names).agg(nw.col("n").sum())
    table: pl.DataFrame = few.with_columns(nw.col("n").cast(nw.Int64)).collect("polars").to_native()
    return frame_places(keys, searched=False)(table.select(names)), table["n"].to_numpy().astype(np.int64)


# Columns of integers and truths as they are: their clamped sums are found without a double on the way.
#
# A slice of one is an array of doubles with NaN where a value is missing, as of any other column; so whoever does not
# know about integers reads them like all numbers.

AS_THEY_ARE = {"Boolean", "Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))}
"""Types of columns that kernels take as they are."""

PIECE_BYTES = 1 << 19
"""Bytes of integers clamped at a time: they stay in the processor's cache. Half of it took long ones a tenth longer."""

LONG = 1 << 14
"""Rows that a piece of a batch has at least, on average, if it is added up by itself."""


@dataclass(frozen=True, eq=False)
class Integers:
    """Integers of one type; those that are missing hold 0, and are null in the column they come from, if any are."""

    values: npt.NDArray[Any]
    column: pl.Series | None
    missing: int

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> npt.NDArray[np.float64]:
        found = self.values[rows].astype(float)
        if self.column is not None and self.missing:
            found[self.column[rows].is_null().to_numpy()] = np.nan
        return found

    def clamped_sum(self, low: int, top: int) -> int:
        """
        >>> import polars as pl
        >>> Integers(np.array([-5, 0, 7, 120], np.int8), pl.Series([-5, None, 7, 120]), 1).clamped_sum(1, 1000)
        128
        """
        limits = np.iinfo(self.values.dtype)
        own_low, own_top = max(low, int(limits.min)), min(top, int(limits.max))
        if own_low > own_top:  # no value of this type lies within the bounds
            return (low if low > limits.max else top) * (len(self) - self.missing)
        kind = self.values.dtype
        ends = np.array(
            [own_low, own_top], kind
        )  # of its own type: with Python's integers numpy takes ten times as long
        rows = PIECE_BYTES // kind.itemsize
        few = kind.itemsize <= 4 and rows * max(abs(own_low), abs(own_top)) < 1 << 31
        total, held, added = 0, np.empty(min(rows, len(self)), kind), np.int32 if few else np.int64
        for start in range(0, len(self), rows):
            piece = self.values[start : start + rows]
            total += int(np.clip(piece, ends[0], ends[1], out=held[: len(piece)]).sum(dtype=added))
        return total - self.missing * min(max(0, own_low), own_top)


@dataclass(frozen=True, eq=False)
class Truths:
    """Truths, a bit each."""

    values: pl.Series
    missing: int

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> npt.NDArray[np.float64]:
        import polars as pl

        found: npt.NDArray[np.float64] = self.values[rows].cast(pl.Float64).to_numpy()
        return found

    def clamped_sum(self, low: int, top: int) -> int:
        """
        >>> import polars as pl
        >>> Truths(pl.Series([True, False, None, True]), 1).clamped_sum(0, 1)
        2
        """
        true = int(self.values.sum())
        return true * min(max(1, low), top) + (len(self) - self.missing - true) * min(max(0, low), top)


def is_whole(column: Any) -> TypeGuard[Integers | Truths]:
    """Whether a column that a kernel is given holds integers or truths as they are."""
    return isinstance(column, Integers | Truths)


def columns_of(batch: pl.DataFrame) -> list[Any]:
    """The columns of a batch for the kernels: integers and truths as they are, other numbers as arrays."""
    import polars as pl

    found: list[Any] = []
    for column in batch:
        missing = column.null_count()
        if column.dtype == pl.Boolean:
            found.append(Truths(column, missing))
        elif column.dtype.is_integer():
            found.append(Integers((column.fill_null(0) if missing else column).to_numpy(), column, missing))
        else:  # filled first: with nulls in it, `to_numpy` takes four times as long
            found.append((column.fill_null(float("nan")) if missing else column).to_numpy())
    return found


def split_chunks(batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows in frames whose columns lie in one piece, where that takes no copy and pieces are not too small.

    >>> import polars as pl
    >>> halves = pl.concat([pl.DataFrame({"a": [j] * LONG}) for j in range(2)], rechunk=False)
    >>> [(each.height, each["a"].n_chunks()) for each in split_chunks(iter([halves]))] == [(LONG, 1)] * 2
    True
    """
    for batch in batches:
        lengths = batch.to_series(0).chunk_lengths() if batch.width else []
        if len(lengths) < 2 or batch.height < LONG * len(lengths):
            yield batch
            continue
        start = 0
        for length in lengths:
            yield batch.slice(start, length)
            start += length

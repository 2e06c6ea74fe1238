"""The protocol that every engine follows, and what an engine returns: exact totals.

Missing values are the same on all engines: null, NaN, text that is not a number. ±inf is clipped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gaussmith.expressions import Derivation, GroupKeys
from gaussmith.problem.codes import Codes
from gaussmith.values import dataclass

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
        self, pieces: Iterator[T], columns_of: Callable[[T], Columns], codes: Codes, workers: int | None = None
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
        self, source: Source, codes: Codes, columns: Sequence[str], add_up: AddUp, progress: Progress | None
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

    def digested(self, frame: Frame, text: str, name: str) -> Frame:
        """The frame with one more column: the md5 of a column of texts, as 32 hexadecimal digits."""

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

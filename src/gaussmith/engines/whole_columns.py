"""Columns of integers and truths as they are: their clamped sums are found without a double on the way.

A slice of one is an array of doubles with NaN where a value is missing, as of any other column; so whoever does not
know about integers reads them like all numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from gaussmith.values import dataclass

if TYPE_CHECKING:
    import polars as pl

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

"""Rows that are records, as they stand or filtered: the exact sums of their codes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import singledispatch
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

import numpy as np

from gaussmith.domains.encoding import BALL_STEPS, BallEncoding, BoxEncoding, Encoding
from gaussmith.engines.engine import PIECE_ROWS, Columns, Progress, Totals, is_whole
from gaussmith.engines.source import Source, derived, read_early
from gaussmith.engines.versions import attempt
from gaussmith.expressions.spelling import Derivation
from gaussmith.numerics.exact import Array

# Kernels in numpy: columns of numbers in, exact integer sums of their codes out.
#
# Work goes in pieces that stay in the processor's cache, in buffers made once. Every step is one rounded operation on
# doubles, in the order written in `problem.codes`, so that the integers are those of any other engine, bit for bit.
# Nothing here can fail on a value: all doubles have a code.

PIECE_COLUMNS = 16
"""Columns of an array encoded at a time."""

PIECE_NUMBERS = 1 << 18
"""Numbers encoded at a time, two megabytes of doubles: fewer are not worth the calls, more leave the cache."""

EXACT_ROWS = 1 << 11
"""Limit on the codes that add up exactly in doubles: 2^11 · 2^42 = 2^53."""


class Kernel(Protocol):
    """Adds up codes, piece by piece."""

    @property
    def sums(self) -> list[int]: ...

    @property
    def records(self) -> int: ...

    def add(self, columns: Columns) -> None: ...


class BoxKernel:
    """Adds up the codes of a box, `floor((clamp(x) − low)·scale + ½)`, with NaN replaced by the substitute.

    Guarantee: `sums` are the exact integers Σ code, whatever the order and size of the pieces.

    >>> ages = BoxKernel(BoxEncoding.for_bounds([0], [100], [50]))
    >>> ages.add([np.array([37.0, np.inf, np.nan])])
    >>> ages.sums[0] / 2**35, ages.records
    (187.0, 3)
    """

    def __init__(self, codes: BoxEncoding) -> None:
        self.codes, self.sums, self.records = codes, [0] * len(codes.low), 0
        self._buffer = np.empty(PIECE_NUMBERS)
        self._others: BoxKernel | None = None

    def add(self, columns: Columns) -> None:
        """Add the records whose coordinates these columns hold."""
        rows = len(columns[0])
        whole = {j: each for j, each in enumerate(columns) if is_whole(each) and self.codes.whole[j]}
        for j, column in whole.items():
            self.sums[j] += self.codes.of_whole(j, column)
        if whole:
            self._add_others(columns, [j for j in range(len(columns)) if j not in whole])
        else:
            self._add_doubles(columns)
        self.records += rows

    def _add_others(self, columns: Columns, places: Sequence[int]) -> None:
        """Add some of the columns, by a kernel for them alone."""
        if places:
            if self._others is None:
                self._others = BoxKernel(self.codes.chosen(places))
            self._others.sums = [self.sums[j] for j in places]
            self._others.add([columns[j] for j in places])
            for j, found in zip(places, self._others.sums, strict=True):
                self.sums[j] = found

    def _add_doubles(self, columns: Columns) -> None:
        rows = len(columns[0])
        wide, long = _piece(rows, min(len(columns), PIECE_COLUMNS) if isinstance(columns, np.ndarray) else 2)
        with np.errstate(all="ignore"):
            for first in range(0, len(columns), wide):
                for start in range(0, rows, long):
                    last = min(first + wide, len(columns))
                    self._add_piece(columns, slice(first, last), start, min(start + long, rows))

    def _add_piece(self, columns: Columns, c: slice, start: int, stop: int) -> None:
        low, top, scale, of_missing = (
            a[c, None] for a in (self.codes.low, self.codes.top, self.codes.scale, self.codes.of_missing)
        )
        padded = _room(self._buffer, c.stop - c.start, stop - start)
        x = padded[:, : stop - start]
        if isinstance(columns, np.ndarray):
            _fill(x, columns, c, start, stop)
            np.clip(x, low, top, out=x)
        else:  # read and clamped in one pass; the bounds are doubles, so every dtype is clamped as one
            for row, column, bottom, ceiling in zip(x, columns[c], low, top, strict=True):
                np.clip(column[start:stop], bottom, ceiling, out=row)
        if low.any():
            x -= low
        x *= scale
        sums = _round(padded, stop - start)
        if np.isnan(sums).any():
            np.copyto(x, of_missing, where=np.isnan(x))
            sums = _add_exactly(padded)
        for j, s in enumerate(sums.astype(np.int64).sum(axis=1).tolist(), start=c.start):
            self.sums[j] += s


class BallKernel:
    """Adds up the codes of a ball: records clipped to norm 1 and cut toward zero into 2^42 steps.

    Guarantee: the integers are those of `BallEncoding.encode`; each record's have Euclidean norm at most 2^42.

    >>> ball = BallKernel(BallEncoding(np.zeros(2), 5.0))
    >>> ball.add([np.array([3.0, np.nan]), np.array([-4.0, 1.0])])
    >>> [round(s / 2**42 * 5, 6) for s in ball.sums], ball.records
    ([3.0, -4.0], 2)
    """

    def __init__(self, codes: BallEncoding) -> None:
        d = len(codes.centre)
        self.codes, self.sums, self.records = codes, [0] * d, 0
        self._rows = max(64, min(PIECE_ROWS, PIECE_ROWS * PIECE_COLUMNS // d))
        self._numbers, self._directions = np.empty((d, self._rows)), np.empty((d, self._rows))
        self._integers = np.empty((d, self._rows), np.int64)

    def add(self, columns: Columns) -> None:
        """Add the records whose coordinates these columns hold."""
        rows = len(columns[0])
        with np.errstate(all="ignore"):
            for start in range(0, rows, self._rows):
                self._add_piece(columns, start, min(start + self._rows, rows))
        self.records += rows

    def _add_piece(self, columns: Columns, start: int, stop: int) -> None:
        rows = slice(0, stop - start)
        z, u, k = self._numbers[:, rows], self._directions[:, rows], self._integers[:, rows]
        _fill(z, columns, slice(0, len(columns)), start, stop)
        z -= self.codes.centre[:, None]
        z *= self.codes.scale[:, None]
        h = np.abs(z, out=u).max(axis=0)
        odd = ~np.isfinite(h)  # some coordinate was null, NaN, infinite, or too far away for doubles
        np.copyto(z, 0.0, where=odd)
        h = np.where(odd | (h == 0), 1.0, h)
        np.divide(z, h, out=u)
        root = np.sqrt(_squares(u))
        shrink = 1.0 / np.where(root > 0, root, 1.0)
        full = self.codes.margin * float(BALL_STEPS)
        u *= shrink * full
        z *= full
        np.copyto(z, u, where=h > shrink)
        np.copyto(k, z, casting="unsafe")
        for j, s in enumerate(k.sum(axis=1).tolist()):
            self.sums[j] += s


class RowKernel:
    """Adds up the codes of records whose rule needs the whole record: pieces of rows go through `encode`.

    >>> from gaussmith.domains.counts import CountEncoding
    >>> items = RowKernel(CountEncoding(3, at_most=1))
    >>> items.add([np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([1.0, np.nan])])
    >>> items.sums, items.records
    ([1, 1, 0], 2)
    """

    def __init__(self, codes: Encoding) -> None:
        self.codes, self.sums, self.records = codes, [0] * codes.width, 0
        self._rows = max(64, min(PIECE_ROWS, PIECE_ROWS * PIECE_COLUMNS // max(1, codes.columns)))

    def add(self, columns: Columns) -> None:
        """Add the records whose coordinates these columns hold."""
        rows = len(columns[0])
        for start in range(0, rows, self._rows):
            stop = min(start + self._rows, rows)
            piece = np.empty((len(columns), stop - start))
            with np.errstate(all="ignore"):
                _fill(piece, columns, slice(0, len(columns)), start, stop)
                # Codes have at most 42 bits and pieces 2^14 rows: 64 bits hold the sum.
                found = self.codes.sum_rows(piece.T)
            self.sums = [total + s for total, s in zip(self.sums, found.tolist(), strict=True)]
        self.records += rows


@dataclass(frozen=True, eq=False)
class MaskedEncoding(Encoding):
    """Several codings of one table: the columns that each reads, and which of these must have a value in a record.

    Its integers are those of all codings, one after the other, and then how many records each has.
    """

    parts: tuple[tuple[BoxEncoding, tuple[int, ...], tuple[int, ...]], ...]
    """Encoding, the places of their columns in the table, and places among these columns that must have a value."""

    @property
    def columns(self) -> int:
        return 1 + max((place for _, places, _ in self.parts for place in places), default=-1)

    @property
    def width(self) -> int:
        return sum(codes.width + 1 for codes, _, _ in self.parts)


class MaskedKernel:
    """Adds up several codings of the same records in one pass, each without the records that lack a value it needs.

    >>> ages = BoxEncoding.for_bounds([0], [100], [50])
    >>> kernel = MaskedKernel(MaskedEncoding(((ages, (0,), ()), (ages, (0,), (0,)))))
    >>> kernel.add([np.array([37.0, np.inf, np.nan])])
    >>> [s / 2**35 for s in kernel.sums[:2]], kernel.sums[2:]     # the missing one as 50, and left out
    ([187.0, 137.0], [3, 2])
    """

    def __init__(self, codes: MaskedEncoding) -> None:
        self._codes, self._found = codes, [[0] * part.width for part, _, _ in codes.parts]
        self._records, self.records = [0] * len(codes.parts), 0
        self._low, self._top, self._scale, self._missing = (
            np.concatenate([getattr(part, name) for part, _, _ in codes.parts])[:, None]
            for name in ("low", "top", "scale", "substitute")
        )
        self._missing = np.floor((np.clip(self._missing, self._low, self._top) - self._low) * self._scale + 0.5)
        self._sizes = [len(places) for _, places, _ in codes.parts]
        self._buffer = np.empty(max(PIECE_NUMBERS, EXACT_ROWS * max(self._sizes, default=0)))
        self._others: MaskedKernel | None = None

    @property
    def sums(self) -> list[int]:
        return [*(s for found in self._found for s in found), *self._records]

    def add(self, columns: Columns) -> None:
        """Add the records whose numbers these columns hold."""
        rows = len(columns[0])
        whole = set()
        for k, (box, places, present) in enumerate(self._codes.parts):
            column: Any = columns[places[0]] if len(places) == 1 else None
            if is_whole(column) and box.whole[0]:  # its codes follow from its clamped sum
                self._found[k][0] += box.of_whole(0, column, skips=bool(present))
                self._records[k] += rows - (column.missing if present else 0)
                whole.add(k)
        if whole:
            self._add_others(columns, [k for k in range(len(self._codes.parts)) if k not in whole])
        else:
            self._add_doubles(columns)
        self.records += rows

    def _add_others(self, columns: Columns, which: Sequence[int]) -> None:
        """Add some of the codings, by a kernel for them alone."""
        if which:
            if self._others is None:
                self._others = MaskedKernel(MaskedEncoding(tuple(self._codes.parts[k] for k in which)))
            self._others._found = [self._found[k] for k in which]
            self._others._records = [self._records[k] for k in which]
            self._others.add(columns)
            for k, records in zip(which, self._others._records, strict=True):
                self._records[k] = records

    def _add_doubles(self, columns: Columns) -> None:
        rows = len(columns[0])
        wide, long = _piece(rows, max([2, *self._sizes]))
        with np.errstate(all="ignore"):
            for which, first, last in _chunked(self._sizes, wide):
                for start in range(0, rows, long):
                    self._add_piece(columns, which, slice(first, last), start, min(start + long, rows))

    def _add_piece(self, columns: Columns, which: range, c: slice, start: int, stop: int) -> None:
        rows = stop - start
        padded = _room(self._buffer, c.stop - c.start, rows)
        x, low = padded[:, :rows], self._low[c]
        places = [place for k in which for place in self._codes.parts[k][1]]
        for row, place, bottom, ceiling in zip(x, places, low, self._top[c], strict=True):
            np.clip(columns[place][start:stop], bottom, ceiling, out=row)
        if low.any():
            x -= low
        x *= self._scale[c]
        sums, gone = _round(padded, rows), [0] * len(which)
        if np.isnan(sums).any():
            gone = self._leave_out(x, which, c)
            sums = _add_exactly(padded)
        at = 0
        for k, missing in zip(which, gone, strict=True):
            found = self._found[k]
            for j in range(len(found)):
                found[j] += sum(map(int, sums[at + j].tolist()))
            at += len(found)
            self._records[k] += rows - missing

    def _leave_out(self, x: Array, which: range, c: slice) -> list[int]:
        """Put 0 for records that are left out, the substitute for other missing values; and how many are left out."""
        missing = np.isnan(x)
        if all(part[2] == (0,) and len(part[1]) == 1 for part in (self._codes.parts[k] for k in which)):
            np.copyto(x, 0.0, where=missing)
            return [int(n) for n in missing.sum(axis=1)]
        gone, at = [], 0
        for _, places, present in (self._codes.parts[k] for k in which):
            own = slice(at, at + len(places))
            out = missing[own][list(present)].any(axis=0) if present else np.zeros(x.shape[1], bool)
            np.copyto(x[own], self._missing[c][own], where=missing[own])
            np.copyto(x[own], 0.0, where=out)
            gone.append(int(out.sum()))
            at = own.stop
        return gone


def _piece(rows: int, columns: int) -> tuple[int, int]:
    """How many columns and rows are coded at a time: at least so many columns, more of them where rows are few."""
    most = max(1, PIECE_NUMBERS // columns // EXACT_ROWS) * EXACT_ROWS
    long = min(most, -(-rows // EXACT_ROWS) * EXACT_ROWS) or EXACT_ROWS
    return max(columns, PIECE_NUMBERS // long), long


def _room(buffer: Array, columns: int, rows: int) -> Array:
    """Room for numbers (columns × rows), with rows to spare, so that they can be added up in full blocks."""
    padded = -(-rows // EXACT_ROWS) * EXACT_ROWS
    return buffer[: columns * padded].reshape(columns, padded)


def _chunked(sizes: Sequence[int], columns: int) -> list[tuple[range, int, int]]:
    """Codings that are added up at a time: which, and their first and last column of all; at most so many columns."""
    found: list[tuple[range, int, int]] = []
    start = at = first = 0
    for k, size in enumerate(sizes):
        if k > start and at + size - first > columns:
            found.append((range(start, k), first, at))
            start, first = k, at
        at += size
    return [*found, (range(start, len(sizes)), first, at)] if sizes else found


@singledispatch
def kernel_of(codes: Encoding) -> Kernel:
    """The kernel that adds up these codes: the fastest there is of its kind, else the one for all."""
    return RowKernel(codes)


kernel_of.register(BoxEncoding, BoxKernel)
kernel_of.register(BallEncoding, BallKernel)
kernel_of.register(MaskedEncoding, MaskedKernel)


def _round(padded: Array, rows: int) -> Array:
    """Round scaled numbers to codes, in their place, and add them up in blocks; NaN where there is one."""
    x = padded[:, :rows]
    x += 0.5
    np.floor(x, out=x)
    padded[:, rows:] = 0.0
    return _add_exactly(padded)


def _add_exactly(codes: Array) -> Array:
    """Sums of 2^11 codes of 42 bits each: they stay below 2^53, where sums of whole doubles are exact in any order."""
    return np.asarray(np.einsum("ijk->ij", codes.reshape(len(codes), -1, EXACT_ROWS)))  # faster than `sum`


def _squares(u: Array) -> Array:
    """Σ u_j², left to right in blocks of 32 and then over the blocks: the order every engine keeps."""
    total = np.zeros(u.shape[1])
    for start in range(0, len(u), 32):
        block = u[start] * u[start]
        for row in u[start + 1 : start + 32]:
            block += row * row
        total += block
    return total


def _fill(buffer: Array, columns: Columns, which: slice, start: int, stop: int) -> None:
    """Copy rows start…stop of the columns into the buffer as doubles, whatever their dtype and layout."""
    if isinstance(columns, np.ndarray):
        np.copyto(buffer, columns[which, start:stop], casting="unsafe")
    else:
        for row, column in zip(buffer, columns[which], strict=True):
            np.copyto(row, column[start:stop], casting="unsafe")


WORKERS = 2
"""Threads that code pieces: numpy leaves the interpreter free while it computes. More than two gained nothing."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class RecordTotals:
    """Every row is a record of the numbers in these columns (None: those of an array), after a filter if there is one.

        sums_j = Σ_records code_j

    Guarantee: depends on the multiset of records alone, not on their order, batches or engine. No value makes it fail;
    if an engine or a file does, the `DataError` says nothing about the data.
    Requires: columns that `check_columns` accepts.

    >>> from gaussmith.domains.encoding import BoxEncoding
    >>> from gaussmith.engines.registry import open_source
    >>> source, codes = open_source([[37.0], [None], [1e9]]), BoxEncoding.for_bounds([0], [100], [0])
    >>> (found,) = RecordTotals().total(source, codes, None)
    >>> found.sums[0] / 2**35, found.records
    (137.0, 3)
    """

    columns: tuple[str, ...] | None = None
    derivation: Derivation | None = None

    def total(self, source: Source, codes: Encoding, progress: Progress | None) -> list[Totals]:
        return [attempt(lambda: self._total(source, codes, progress))]

    def _total(self, source: Source, codes: Encoding, progress: Progress | None) -> Totals:
        rows = source if self.derivation is None else derived(*read_early(source, self.derivation, self.columns or ()))
        return source.engine.total(rows, codes, self.columns or (), add_up, progress)

    def rehearsed(self, source: Source) -> RecordTotals:
        return self


def add_up(
    pieces: Iterator[T], columns_of: Callable[[T], Columns], codes: Encoding, workers: int | None = None
) -> Totals:
    """The exact totals of all pieces, coded by a few threads that take pieces in turn; the order does not matter."""
    first = list(islice(pieces, 2))
    workers, pieces = (workers or WORKERS) if first[1:] else 1, chain(first, pieces)
    turn, stopped = threading.Lock(), threading.Event()

    def work() -> Kernel:
        kernel = kernel_of(codes)
        while not stopped.is_set():
            with turn:
                piece = next(pieces, None)
            if piece is None:
                break
            kernel.add(columns_of(piece))
        return kernel

    if workers == 1:
        kernels = [work()]
    else:
        with ThreadPoolExecutor(workers) as pool:
            tasks = [pool.submit(work) for _ in range(workers)]
            try:
                kernels = [task.result() for task in tasks]
            finally:
                stopped.set()  # after a failure or an interrupt the other threads finish their piece and leave
    sums = [sum(column) for column in zip(*(kernel.sums for kernel in kernels), strict=True)]
    return Totals(sums, sum(kernel.records for kernel in kernels))

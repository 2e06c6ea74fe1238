"""Rows that are records, as they stand or filtered: the exact sums of their codes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from gaussmith.engines.engine import Columns, Progress, Totals
from gaussmith.engines.failures import attempt
from gaussmith.engines.source import Source, derived, read_early
from gaussmith.expressions import Derivation
from gaussmith.problem.codes import Codes
from gaussmith.totals.kernels import Kernel, kernel_of
from gaussmith.values import dataclass

WORKERS = 2
"""Threads that code pieces: numpy leaves the interpreter free while it computes. More than two gained nothing."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Records:
    """Every row is a record of the numbers in these columns (None: those of an array), after a filter if there is one.

        sums_j = Σ_records code_j

    Guarantee: depends on the multiset of records alone, not on their order, batches or engine. No value makes it fail;
    if an engine or a file does, the `DataError` says nothing about the data.
    Requires: columns that `check_columns` accepts.

    >>> from gaussmith.problem.codes import BoxCodes
    >>> from gaussmith.engines.registry import open_source
    >>> (found,) = Records().total(open_source([[37.0], [None], [1e9]]), BoxCodes.for_bounds([0], [100], [0]), None)
    >>> found.sums[0] / 2**35, found.records
    (137.0, 3)
    """

    columns: tuple[str, ...] | None = None
    derivation: Derivation | None = None

    def total(self, source: Source, codes: Codes, progress: Progress | None) -> list[Totals]:
        return [attempt(lambda: self._total(source, codes, progress))]

    def _total(self, source: Source, codes: Codes, progress: Progress | None) -> Totals:
        rows = source if self.derivation is None else derived(*read_early(source, self.derivation, self.columns or ()))
        return source.engine.total(rows, codes, self.columns or (), add_up, progress)

    def rehearsed(self, source: Source) -> Records:
        return self


def add_up(pieces: Iterator[T], columns_of: Callable[[T], Columns], codes: Codes, workers: int | None = None) -> Totals:
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

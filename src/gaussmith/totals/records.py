"""Rows that are records, as they stand or filtered: the exact sums of their codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gaussmith.codes import Codes
from gaussmith.engines.engine import Progress, Totals
from gaussmith.engines.failures import attempt, data_error
from gaussmith.engines.source import Source, check_columns, derived
from gaussmith.expressions import Derivation
from gaussmith.totals.kernels import add_up


@dataclass(frozen=True, eq=False)
class Records:
    """Every row is a record of the numbers in these columns (None: all columns), after a filter if there is one."""

    columns: tuple[str, ...] | None = None
    derivation: Derivation | None = None

    def total(self, source: Source, codes: Codes, progress: Progress | None) -> list[Totals]:
        derivation = self.derivation
        if derivation is not None:
            filtered = derivation
            source = attempt(lambda: derived(source, filtered), data_error())
        return [total_records(source, codes, self.columns, progress)]

    def rehearsed(self, source: Source) -> Records:
        return self


def total_records(
    source: Source, codes: Codes, columns: Sequence[str] | None = None, progress: Progress | None = None
) -> Totals:
    """The exact sums of the codes of all records and the number of records: the same integers on every engine.

        sums_j = Σ_records code_j

    Guarantee: depends on the multiset of records alone, not on their order, batches or engine. No value makes it fail;
    if an engine or a file does, the `DataError` says nothing about the data.
    Requires: columns that `check_columns` accepts (checked again here, before data is read).

    >>> from gaussmith.codes import BoxCodes
    >>> from gaussmith.engines.registry import open_source
    >>> total_records(open_source([[37.0], [None], [1e9]]), BoxCodes.for_bounds([0], [100], [0])).sums[0] / 2**35
    137.0
    """
    names = check_columns(source, columns, codes.columns)
    return attempt(lambda: source.engine.total(source, codes, names, add_up, progress), data_error())

"""Exact sums of coded records, the same integers whatever holds the data.

    source ──open_source──▶ names, types ──check_columns──▶ ──total──▶ Totals: Python integers, secret

`arrays` codes numbers with numpy, `streams` feeds it from Polars (files, frames, pandas, PyArrow) and DuckDB, `sql`
spells the same codes for Spark, which keeps its rows where they are. What counts as missing: null, NaN, text that is no
number; ±inf is clamped. Nothing here is private yet: totals go to `gaussmith.mechanism`, nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from gaussmith.codes import Codes
from gaussmith.sums.arrays import Totals, total_array
from gaussmith.sums.failures import attempt, data_error
from gaussmith.sums.openings import open_source
from gaussmith.sums.sources import Source, check_columns, numbered
from gaussmith.sums.streams import Progress, count_records, total_relation, total_stream

__all__ = ["Progress", "Source", "Totals", "check_columns", "data_error", "open_source", "total"]


def total(
    source: Source, codes: Codes, columns: Sequence[str] | None = None, progress: Progress | None = None
) -> Totals:
    """The exact sums of the codes of all records and the number of records: the same integers on every engine.

        sums_j = Σ_records code_j

    Guarantee: depends on the multiset of records alone, not on their order, batches or engine. No value makes it fail;
    if an engine or a file does, the `DataError` says nothing about the data.
    Requires: columns that `check_columns` accepts (checked again here, before data is read).

    >>> import numpy as np
    >>> from gaussmith.codes import BoxCodes
    >>> total(open_source([[37.0], [None], [1e9]]), BoxCodes.for_bounds([0], [100], [0])).sums[0] / 2**35
    137.0
    """
    names = check_columns(source, columns, codes.columns)
    if progress is not None:
        progress(None)
    found = attempt(lambda: _total(source, codes, names, progress), data_error())
    if progress is not None:
        progress(1.0)
    return found


def _total(source: Source, codes: Codes, names: Sequence[str], progress: Progress | None) -> Totals:
    if source.kind == "array":
        return total_array(source.native, codes)
    if source.kind in ("duckdb", "spark"):
        source = numbered(source, names)
    if source.kind == "spark":
        from gaussmith.sums.spark import total_spark

        return total_spark(source.native, codes, names, source.schema)
    if not names:  # nothing but the number of records is asked
        return Totals([], count_records(source))
    if source.kind == "duckdb":
        return total_relation(source, codes, names)
    return total_stream(source, codes, names, progress)

"""Exact sums of coded records, the same integers whatever holds the data.

    source ──open_source──▶ names, types ──check_columns──▶ ──total──▶ Totals: Python integers, secret

`arrays` codes numbers with numpy, `streams` feeds it from Polars (files, frames, pandas, PyArrow), `frames` spells the
same codes as expressions for engines that keep their data (DuckDB, Spark). What counts as missing: null, NaN, text that
is no number; ±inf is clamped. Nothing here is private yet: totals go to `gaussmith.mechanism`, nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from gaussmith.codes import BallCodes, BoxCodes, Codes
from gaussmith.errors import DataError
from gaussmith.sums.arrays import Totals, total_array
from gaussmith.sums.sources import Source, attempt, check_columns, narwhals_frame, open_source
from gaussmith.sums.streams import Progress, total_fetched, total_stream

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
    if not names:  # nothing but the number of records is asked
        import narwhals as nw

        return Totals([], int(narwhals_frame(source, (source.names or ())[:1]).select(nw.len()).collect().item()))
    if source.kind == "polars":
        return total_stream(source, codes, names, progress)
    if not isinstance(codes, BoxCodes | BallCodes):  # rules that need whole records: the numbers are brought here
        return total_fetched(narwhals_frame(source, names), codes, names)
    from gaussmith.sums.frames import total_frame

    return total_frame(narwhals_frame(source, names), codes, names, source.kind)


def data_error() -> DataError:
    """The one thing said when data cannot be read to its end: the same whatever happened."""
    return DataError(
        "the data could not be read to its end",
        "nothing more is said, because the reason may speak of the data",
        "check that every file or table can be read completely with its own tools",
    )

"""Numpy: arrays and Python lists. Each row is a record, each value is read by itself, whatever the others are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.domains.encoding import Encoding
from gaussmith.engines.engine import MIN_ROWS, PIECE_ROWS, AddUp, Columns, Progress, Totals, Words, array_places
from gaussmith.engines.files import Files
from gaussmith.engines.source import SUPPORTED, Source
from gaussmith.errors import SourceError
from gaussmith.expressions.keys import GroupKeys
from gaussmith.expressions.spelling import Derivation

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.engines.engine import Frame

FEW_ROWS = 64
"""Limit on the records of an array that is encoded in one step, however wide."""

SMALL = 1 << 16
"""Arrays of fewer numbers than this are summed without threads."""


class Numpy:
    """Arrays of numbers in memory. Their columns have no names, so that there are no filters, people or groups."""

    name = "numpy"
    modules = ("numpy",)
    packages = ("numpy",)
    adds_here = True
    hands_over_texts = False
    wide_sums = None
    max_features = 1

    def open(self, data: Any) -> Source:
        rows = array_of_rows(data) if isinstance(data, list | tuple) else np.asanyarray(data)
        return _open_array(self, rows)

    def total(
        self, source: Source, codes: Encoding, columns: Sequence[str], add_up: AddUp, progress: Progress | None
    ) -> Totals:
        """The exact totals of an array of records (rows × columns) of any numeric dtype and memory layout."""
        rows: npt.NDArray[Any] = source.native
        if not codes.width or not rows.size:  # nothing to encode: no columns are used, or there are no records
            return Totals([0] * codes.width, len(rows))
        if len(rows) <= FEW_ROWS:
            with np.errstate(all="ignore"):  # pieces of columns would be too short to be worth their overhead
                return Totals(codes.sum_rows(rows.astype(np.float64, copy=False)).tolist(), len(rows))
        step = 4 * PIECE_ROWS
        pieces = (rows[start : start + step].T for start in range(0, len(rows), step))
        return add_up(pieces, _as_columns, codes, workers=1 if rows.size < SMALL else None)

    def places(
        self, source: Source, columns: Sequence[str] | None, keys: Sequence[GroupKeys]
    ) -> Iterator[tuple[Words, Words | None]]:
        find = array_places(keys)
        for start in range(0, len(source.native), MIN_ROWS):  # places that stay in the processor's cache
            yield find(source.native[start : start + MIN_ROWS]), None

    def without_rows(self, source: Source) -> Source | None:
        return None

    def open_files(self, files: Files, columns: Sequence[str] | None, master: str | None) -> Source:
        what, rule = f"source={files.said!r} read by numpy", "Polars, DuckDB and Spark read files"
        raise SourceError(what, rule, SUPPORTED, code="files-read-by-numpy", source=files.said)

    def check_names(self, source: Source, columns: Sequence[str]) -> None:
        raise _nameless()

    def frame(self, source: Source, columns: Sequence[str], ids: Mapping[str, str] | None = None) -> Frame:
        raise _nameless()

    def exact_ids(self, source: Source, unit: str, taken: Sequence[str]) -> dict[str, str]:
        raise _nameless()

    def derive(self, source: Source, derivation: Derivation) -> Any:
        raise _nameless()

    def places_in(self, frame: Frame, keys: Sequence[GroupKeys]) -> Iterator[tuple[Words, Words | None]]:
        raise _nameless()

    def key_table(self, rows: Frame, keys: GroupKeys) -> Frame:
        raise _nameless()

    def fetch(self, frame: Frame) -> list[tuple[Any, ...]]:
        raise _nameless()

    def batches(self, frame: Frame, rows: int) -> Iterator[pl.DataFrame]:
        raise _nameless()

    def first_rows(self, frame: Frame, of: str, before: str, text: str, after: Sequence[str], most: int) -> Frame:
        raise _nameless()

    def part(self, frame: Frame, column: str, part: int, parts: int) -> Frame | None:
        raise _nameless()


NUMPY = Numpy()


def _nameless() -> SourceError:
    rule = "filters, units and groups need named columns"
    remedy = "give a frame, such as polars.DataFrame(array, names)"
    return SourceError("source is an array", rule, remedy, code="array-without-column-names")


def _as_columns(piece: npt.NDArray[Any]) -> Columns:
    return piece


def _open_array(engine: Numpy, array: npt.NDArray[Any]) -> Source:
    if array.dtype.kind not in "biuf":
        raise SourceError(
            f"array of dtype {array.dtype}",
            "an array must hold numbers: integers, floats or booleans",
            "convert it first, for example with astype(float)",
            code="array-not-numbers",
            dtype=str(array.dtype),
        )
    if array.ndim not in (1, 2):
        raise SourceError(
            f"array with {array.ndim} dimensions",
            "an array has one row per record and one column per coordinate",
            "reshape it to two dimensions",
            code="array-not-two-dimensional",
            dimensions=array.ndim,
        )
    if isinstance(array, np.ma.MaskedArray):
        with np.errstate(all="ignore"):
            array = np.ma.filled(array.astype(np.float64), np.nan)  # masked is missing
    rows = np.asarray(array) if array.ndim == 2 else np.asarray(array)[:, None]
    return Source(engine, rows, rows.shape[1])


def array_of_rows(rows: Sequence[Any]) -> npt.NDArray[Any]:
    """Lists as an array. Values that are not numbers are missing; rows of different lengths are refused."""
    lists = [row_of(row) for row in rows]
    lengths = {-1 if row is None else len(row) for row in lists}
    if len(lengths) > 1:
        rule = "every record must have the same number of coordinates"
        raise SourceError("rows of different lengths", rule, SUPPORTED, code="rows-of-different-lengths")
    if not rows:
        return np.empty((0, 0))
    if lengths == {-1}:
        return np.array([number_of(value) for value in rows], dtype=np.float64)
    return np.array([[number_of(x) for x in row or ()] for row in lists], dtype=np.float64)


def row_of(value: Any) -> list[Any] | None:
    """The values of a row, or None if it is not a row. No method is called that a value could have overridden."""
    kind = type(value)
    if issubclass(kind, list | tuple):
        return list((list if issubclass(kind, list) else tuple).__iter__(value))
    return list(np.atleast_1d(value)) if issubclass(kind, np.ndarray) else None


def number_of(value: object) -> float:
    """A Python value as a double, NaN if it is not a number; no object can override this rule."""
    kind = type(value)
    if issubclass(kind, float):
        return float.__float__(value)  # type: ignore[arg-type]
    if issubclass(kind, int):
        whole = int.__index__(value)  # type: ignore[arg-type]
        try:
            return float(whole)
        except OverflowError:
            return float("inf") if whole > 0 else float("-inf")
    is_number = issubclass(kind, (np.integer, np.floating, np.bool_)) and kind.__module__ == "numpy"
    return float(value) if is_number else float("nan")  # type: ignore[arg-type]

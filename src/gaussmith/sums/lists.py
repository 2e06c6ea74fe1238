"""Numpy arrays and Python lists at the door: each row a record, each value read by itself, whatever the others are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import SourceError
from gaussmith.sums.sources import Source

SUPPORTED = "pass a numpy array, a list of rows, a path, or a frame of Polars, pandas, PyArrow, DuckDB or Spark"


def open_array(array: npt.NDArray[Any]) -> Source:
    if array.dtype.kind not in "biuf":
        raise SourceError(
            f"array of dtype {array.dtype}",
            "an array must hold numbers: integers, floats or booleans",
            "convert it first, for example with astype(float)",
        )
    if array.ndim not in (1, 2):
        raise SourceError(
            f"array with {array.ndim} dimensions",
            "an array has one row per record and one column per coordinate",
            "reshape it to two dimensions",
        )
    if isinstance(array, np.ma.MaskedArray):
        with np.errstate(all="ignore"):
            array = np.ma.filled(array.astype(np.float64), np.nan)  # masked is missing
    rows = np.asarray(array) if array.ndim == 2 else np.asarray(array)[:, None]
    return Source("array", rows, rows.shape[1])


def array_of_rows(rows: Sequence[Any]) -> npt.NDArray[Any]:
    """Lists as an array. What is no number is missing; rows of different lengths are refused."""
    lists = [row_of(row) for row in rows]
    lengths = {-1 if row is None else len(row) for row in lists}
    if len(lengths) > 1:
        raise SourceError("rows of different lengths", "every record has the same number of coordinates", SUPPORTED)
    if not rows:
        return np.empty((0, 0))
    if lengths == {-1}:
        return np.array([number_of(value) for value in rows], dtype=np.float64)
    return np.array([[number_of(x) for x in row or ()] for row in lists], dtype=np.float64)


def row_of(value: Any) -> list[Any] | None:
    """The values of a row, None for what is no row. No method is called that a value could have overridden."""
    kind = type(value)
    if issubclass(kind, list | tuple):
        return list((list if issubclass(kind, list) else tuple).__iter__(value))
    return list(np.atleast_1d(value)) if issubclass(kind, np.ndarray) else None


def number_of(value: object) -> float:
    """A Python value as a double, NaN if it is no number: a total rule for lists, which no object can override."""
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

"""pandas columns as Polars ones, typed without a look at the data.

A column is converted only when it is used. Types that Polars cannot hold count as objects, which cannot be used;
some of them would make Polars panic.
"""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from gaussmith.engines.arrow_tables import is_held, plain_column
from gaussmith.engines.versions import has_unreadable_views
from gaussmith.expressions import object_code
from gaussmith.expressions.identity import FIRST_SECOND, LAST_SECOND

if typing.TYPE_CHECKING:
    import polars as pl


def type_of_pandas(empty: Any) -> pl.DataType:
    """The Polars type of a pandas column, from a slice of no rows.

    Columns and categories of Python objects are held as texts, whatever they hold. What Polars cannot type, such as
    complex numbers, cannot be used.
    """
    import polars as pl

    if not _is_held(empty.dtype):
        return pl.Object()
    if holds_objects(empty.dtype):
        return pl.String()
    try:
        if _is_extension(empty) or has_unreadable_views([getattr(empty.dtype, "pyarrow_dtype", None)]):
            return pl.Object()
        return series_from_pandas(empty).dtype
    except Exception:  # its words may quote data
        return pl.Object()


def _is_extension(empty: Any) -> bool:
    """Whether PyArrow has no type of its own for a pandas column, such as periods and intervals.

    Polars before 2 takes them for what they are stored as.
    """
    import pyarrow as pa

    return not isinstance(empty.dtype, np.dtype) and isinstance(pa.Array.from_pandas(empty).type, pa.BaseExtensionType)


def _is_object(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def holds_objects(dtype: Any) -> bool:
    """Whether a pandas column holds Python objects, or categories that are: `object_code` makes texts of them.

    Texts are objects in pandas 2.
    """
    return _is_object(dtype) or _has_object_categories(dtype)


def _has_object_categories(dtype: Any) -> bool:
    return hasattr(dtype, "categories") and _is_object(dtype.categories.dtype)


def _is_held(dtype: Any) -> bool:
    """Whether Polars can be asked for such a column; some types of Arrow make it panic."""
    arrow = getattr(dtype, "pyarrow_dtype", None)
    return arrow is None or is_held(arrow)


def series_from_pandas(column: Any, as_nulls: bool = False) -> pl.Series:
    """A pandas column as a Polars one: missing in every pandas spelling becomes null or NaN.

    Python objects become their codes, each value by itself; columns that cannot be used (`as_nulls`) are null.
    """
    import polars as pl

    dtype = column.dtype
    if as_nulls:
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(column))
    if _is_object(dtype):
        return pl.Series([object_code(value) for value in column.array], dtype=pl.String)
    if _has_object_categories(dtype):
        codes = pl.Series([*map(object_code, dtype.categories), None], dtype=pl.String)
        return codes.gather(np.where(column.cat.codes < 0, len(codes) - 1, column.cat.codes).astype(np.int64))
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return pl.Series(column.to_numpy())
    if _is_time(dtype) and np.datetime_data(dtype)[0] == "s":
        seconds = column.to_numpy().astype(np.int64)  # Polars would multiply them by 1000, and some would be others
        inside = (seconds >= FIRST_SECOND) & (seconds <= LAST_SECOND)
        return pl.Series(np.where(inside, column.to_numpy(), np.datetime64("NaT")).astype("M8[ms]"))
    if _is_zoned(dtype):
        return series_from_pandas(column.dt.tz_convert(None)).dt.replace_time_zone("UTC")
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow as pa

        return pl.Series(pl.from_arrow(plain_column(pa.chunked_array(column.array.__arrow_array__()))))
    try:
        series: pl.Series = pl.from_pandas(column)  # type: ignore[assignment]
    except UnicodeEncodeError:  # texts with half a pair of surrogates: these are missing, and no others
        texts = (value if isinstance(value, str) else None for value in column)
        return pl.Series([_text_of(text) for text in texts], dtype=pl.String)
    return series


def _is_time(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "M"


def _is_zoned(dtype: Any) -> bool:
    """Whether a pandas column holds times with a zone, in pandas' own type."""
    return type(dtype).__name__ == "DatetimeTZDtype"


def _text_of(text: str | None) -> str | None:
    if text is None:
        return None
    text = str.__str__(text)
    return None if any("\ud800" <= letter <= "\udfff" for letter in text) else text

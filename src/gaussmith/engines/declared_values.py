"""The index of each value of a category column among the declared values, −1 for all others.

A value belongs to a label when they are equal, by the rule of `gaussmith.expressions.keys`: texts as texts, numbers as
doubles, truths as truths, Python objects by their codes. The same places come from every engine; what an undeclared
value means, the coding says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.engines.engine import Words
from gaussmith.expressions import GroupKeys, Numbers, kinds_of, match_keys

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

PLAIN_NUMBERS = {"Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))}
"""Types of columns whose numbers are compared as they are."""

MIN_ROWS, MAX_ROWS = 1 << 16, 1 << 23
"""Limits on the records of a frame that are counted at a time."""

PIECE = 1 << 15
"""Doubles cast at a time: what is made of them on the way stays in the processor's cache."""

MAX_TABLE = 1 << 20
"""Limit on the range of whole numbers whose places are looked up in a table."""


def array_places(keys: Sequence[GroupKeys]) -> Callable[[npt.NDArray[Any]], Words]:
    """What finds the places of the numbers of an array (rows × columns); the keys are looked at once.

    >>> from gaussmith.expressions import declare_groups, declare_numbers
    >>> find = array_places([declare_numbers("cell", 3), declare_groups(["code"], [(7,), (-2,)], {"code": "number"})])
    >>> find(np.array([[2.0, 7.0], [0.5, -2.0], [np.nan, 3.0], [3.0, np.inf]])).tolist()
    [[2, 0], [-1, 1], [-1, -1], [-1, -1]]
    """
    finders = [_finder(key) for key in keys]

    def find(rows: npt.NDArray[Any]) -> Words:
        with np.errstate(all="ignore"):
            columns = [place(rows[:, j]) for j, place in enumerate(finders)]
        return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)

    return find


def _finder(key: GroupKeys) -> Callable[[npt.NDArray[Any]], Words]:
    """What finds the places of one column: by its numbers themselves, by a table of them, or by a search."""
    if isinstance(key.codes, Numbers):
        size = len(key.codes)
        return lambda x: _within(x, 0, size)
    codes = np.array([code for (code,) in key.codes], float)
    low, span = codes.min(), codes.max() - codes.min() + 1
    if (codes == np.floor(codes)).all() and span <= MAX_TABLE:
        table = np.full(int(span) + 1, -1, np.int64)  # the last, at −1, is the place of all others
        table[(codes - low).astype(np.int64)] = np.arange(len(codes))
        return lambda x: table[_within(x, int(low), int(span))]
    order = np.argsort(codes)
    ordered = codes[order]

    def search(x: npt.NDArray[Any]) -> Words:
        x = x.astype(np.float64, copy=False)
        at = np.minimum(np.searchsorted(ordered, x), len(codes) - 1)
        return np.where(ordered[at] == x, order[at], -1)

    return search


def _within(x: npt.NDArray[Any], low: int, span: int) -> Words:
    """x − low where x is one of the whole numbers from low to low + span − 1, else −1; the array itself if it can be.

    >>> _within(np.array([-1, 0, 2, 3]), 0, 3).tolist(), _within(np.array([7.0, 7.5, 8.0, 9.0]), 7, 2).tolist()
    ([-1, 0, 2, -1], [0, -1, 1, -1])
    """
    if x.dtype.kind == "f":
        found = np.empty(len(x), np.int64)
        for start in range(0, len(x), PIECE):
            _cast_within(x[start : start + PIECE], low, span, found[start : start + PIECE])
        return found
    whole = x.astype(np.int64, copy=False)
    above = whole if low == 0 else whole - low
    size = above.view(np.uint64)  # below `low` it wraps around to numbers above 2^62
    if x.dtype == np.uint64 and len(x) and whole.min() < 0:
        return np.where((size < span) & (whole >= 0), above, -1)
    return above if not len(x) or size.max() < span else np.where(size < span, above, -1)


def _cast_within(x: npt.NDArray[Any], low: int, span: int, found: Words) -> None:
    """Write to `found` what `_within` says of doubles.

    What is no whole number, or too large for one, differs from its cast, whatever that is.
    """
    np.copyto(found, x, casting="unsafe")
    exact = found == x
    if low:
        found -= low
    inside = found.view(np.uint64) < span
    inside &= exact
    if not inside.all():
        found[~inside] = -1


def rows_at_a_time(keys: Sequence[GroupKeys]) -> int:
    """How many records of a frame are counted at a time: the more labels there are, the more a batch costs."""
    return max(MIN_ROWS, min(8 * math.prod(len(key.codes) for key in keys), MAX_ROWS))


def valued_columns(
    frame: nw.LazyFrame[Any], keys: Sequence[GroupKeys], others: Sequence[nw.Expr] = ()
) -> nw.LazyFrame[Any]:
    """The columns as what labels are compared with, named v0, v1 …: numbers as they are, or as `match_keys` reads them.

    Null where a value can match no label. `others` are selected beside them.
    """
    import narwhals as nw

    schema = frame.collect_schema()
    kinds, chosen = kinds_of(schema), []
    for j, key in enumerate(keys):
        (name,), (kind,) = key.columns, key.kinds
        plain = kind == "number" and not key.cuts and str(schema[name]) in PLAIN_NUMBERS
        chosen.append((nw.col(name) if plain else match_keys(key, kinds)["k0"]).alias(f"v{j}"))
    return frame.select(*chosen, *others)


def frame_places(keys: Sequence[GroupKeys]) -> Callable[[pl.DataFrame], Words]:
    """What finds the places of the values of a frame that `valued_columns` made; the keys are looked at once.

    >>> import polars as pl
    >>> from gaussmith.expressions import declare_groups
    >>> find = frame_places([declare_groups(["sex"], [("f",), ("m",)], {"sex": "text"})])
    >>> find(pl.DataFrame({"v0": ["m", "x", None, "f"]})).ravel().tolist()
    [1, -1, -1, 0]
    """
    finders = [_text_finder(key) if key.kinds[0] in ("text", "object") else _number_finder(key) for key in keys]

    def find(batch: pl.DataFrame) -> Words:
        with np.errstate(all="ignore"):
            columns = [place(batch.to_series(j)) for j, place in enumerate(finders)]
        return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)

    return find


def _number_finder(key: GroupKeys) -> Callable[[pl.Series], Words]:
    find = _finder(key)
    return lambda column: find(column.to_numpy())  # null becomes NaN, which is no label


def _text_finder(key: GroupKeys) -> Callable[[pl.Series], Words]:
    import polars as pl

    labels = pl.Enum([str(code) for (code,) in key.codes])

    def find(column: pl.Series) -> Words:
        found: Words = column.cast(labels, strict=False).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return found

    return find


def counted_places(frame: nw.LazyFrame[Any], keys: Sequence[GroupKeys]) -> tuple[Words, Words]:
    """Distinct rows and how often each occurs, counted by the engine that holds the data.

    Values are counted first and compared with the labels then: there are fewer of them than rows.
    """
    import narwhals as nw

    names = [f"v{j}" for j in range(len(keys))]
    one = nw.lit(1).cast(nw.Int64).alias("n")
    counted = valued_columns(frame, keys).with_columns(one).group_by(*names).agg(nw.col("n").sum())
    # What is not declared is one value: a column of free text must not come here row by row.
    declared = [
        nw.when(nw.col(name).is_in([code for (code,) in key.codes])).then(nw.col(name)).alias(name)
        for name, key in zip(names, keys, strict=True)
    ]
    few = counted.select(*declared, "n").group_by(*names).agg(nw.col("n").sum())
    table: pl.DataFrame = few.with_columns(nw.col("n").cast(nw.Int64)).collect("polars").to_native()
    return frame_places(keys)(table.select(names)), table["n"].to_numpy().astype(np.int64)

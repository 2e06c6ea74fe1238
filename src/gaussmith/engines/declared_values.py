"""The index of each value of a category column among the declared values, −1 for all others.

A value belongs to a label when they are equal, by the rule of `gaussmith.expressions.keys`: texts as texts, numbers as
doubles, truths as truths, Python objects by their codes. The same places come from every engine; what an undeclared
value means, the coding says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.engines.engine import Words
from gaussmith.expressions import GroupKeys, kinds_of, match_keys

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl


def array_places(rows: npt.NDArray[Any], keys: Sequence[GroupKeys]) -> Words:
    """Places of the numbers of an array."""
    places = np.full(rows.shape, -1, np.int64)
    for j, key in enumerate(keys):
        codes = np.array([code for (code,) in key.codes], float)
        order = np.argsort(codes)
        with np.errstate(all="ignore"):
            x = rows[:, j].astype(np.float64)
        at = np.minimum(np.searchsorted(codes[order], x), len(codes) - 1)
        found = codes[order][at] == x
        places[found, j] = order[at[found]]
    return places


def matched_columns(frame: nw.LazyFrame[Any], keys: Sequence[GroupKeys]) -> nw.LazyFrame[Any]:
    """The columns as what labels are compared with, named v0, v1 …; null where a value can match none."""
    kinds = kinds_of(frame.collect_schema())
    return frame.select(*(match_keys(key, kinds)["k0"].alias(f"v{j}") for j, key in enumerate(keys)))


def frame_places(batch: pl.DataFrame, keys: Sequence[GroupKeys]) -> Words:
    """Places of the values of a frame that `matched_columns` made."""
    import polars as pl

    places = np.full((batch.height, len(keys)), -1, np.int64)
    for j, key in enumerate(keys):
        codes = [code for (code,) in key.codes]
        found = batch.to_series(j).replace_strict(codes, range(len(codes)), default=-1, return_dtype=pl.Int64)
        places[:, j] = found.fill_null(-1).to_numpy()
    return places


def counted_places(frame: nw.LazyFrame[Any], keys: Sequence[GroupKeys]) -> tuple[Words, Words]:
    """Distinct rows and how often each occurs, counted by the engine that holds the data."""
    import narwhals as nw

    matched = matched_columns(frame, keys)
    names = [f"v{j}" for j in range(len(keys))]
    # What is not declared is one value: a column of free text must not come here row by row.
    declared = [
        nw.when(nw.col(name).is_in([code for (code,) in key.codes])).then(nw.col(name)).alias(name)
        for name, key in zip(names, keys, strict=True)
    ]
    one = nw.lit(1).cast(nw.Int64).alias("n")
    counted = matched.select(*declared).with_columns(one).group_by(*names).agg(nw.col("n").sum())
    table: pl.DataFrame = counted.with_columns(nw.col("n").cast(nw.Int64)).collect("polars").to_native()
    return frame_places(table.select(names), keys), table["n"].to_numpy().astype(np.int64)

"""Category columns as places: where each value stands among those declared, −1 for all others.

A value belongs to a label when they are equal, by the rule of `gaussmith.expressions.keys`: texts as texts, numbers as
doubles, truths as truths, Python objects by their codes. The same places come from every engine; what an undeclared
value means, the coding says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.domains.labels import Label
from gaussmith.errors import RequestError, SourceError
from gaussmith.expressions import GroupKeys, declare_groups, kinds_of, match_keys, object_code
from gaussmith.source_tables import read_source
from gaussmith.sums.lists import row_of
from gaussmith.sums.openings import open_source
from gaussmith.sums.sources import Source, narwhals_frame
from gaussmith.sums.versions import collect_batches

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

Words = npt.NDArray[np.int64]
Values = Sequence[Label] | range

BATCH_ROWS = 1 << 17


def open_categories(data: Any, values: Sequence[Values | None], columns: Sequence[str] | None = None) -> Source:
    """A source of category columns: as `open_source`, and lists or arrays of texts too.

    Each value of a list is an object of its own: 1 and 1.0 are one, 1 and "1" are two, whatever the labels are.
    `values` has one entry for each column, None for a column without labels.
    """
    told = read_source(data)
    data = told.data
    if isinstance(data, np.ndarray) and data.dtype.kind in "UT" and data.ndim in (1, 2):
        data = data.tolist()
    if not isinstance(data, list | tuple):
        return open_source(told if told.said else data, columns=columns)
    found = [(row_of(row), row) for row in data]
    rows = [[value] if row is None else row for row, value in found]  # a value that is no row stands alone
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise SourceError("rows of different lengths", "every record has as many values", "mend the rows")
    if lengths - {len(values)}:
        raise SourceError(
            f"a list of {lengths.pop()} columns", f"every record has {len(values)} of them", "mend the rows"
        )
    by_column = zip(*rows, strict=True) if rows else [()] * len(values)
    opened = open_source(_frame_of(by_column))
    return replace(opened, objects=frozenset(opened.names or ()), ids=told.ids)


def _frame_of(columns: Iterable[Sequence[object]]) -> pl.DataFrame:
    """Lists as columns of codes. Each value is coded by itself: no record changes what another one is read as."""
    import polars as pl

    coded = {str(j): pl.Series(list(map(object_code, column)), dtype=pl.String) for j, column in enumerate(columns)}
    return pl.DataFrame(coded)


def declare_values(source: Source, columns: Sequence[str] | None, values: Sequence[Values]) -> tuple[GroupKeys, ...]:
    """What the values of each column are matched with; refuses labels that do not fit a column. Reads no data."""
    kinds = {} if source.names is None else source.kinds
    declared = []
    for j, labels in enumerate(values):
        name = str(j) if columns is None else columns[j]
        kind = {name: "number"} if source.names is None else kinds
        try:
            declared.append(declare_groups([name], [(label,) for label in labels], kind))
        except RequestError as error:
            raise SourceError(error.what.removeprefix("by: "), error.rule, error.remedy) from None
    return tuple(declared)


def read_places(
    source: Source, columns: Sequence[str] | None, keys: Sequence[GroupKeys]
) -> Iterator[tuple[Words, Words | None]]:
    """Places of the values (rows × columns), in batches; with how often each row occurs where an engine counted."""
    if source.kind == "array":
        for start in range(0, len(source.native), BATCH_ROWS):
            yield _array_places(source.native[start : start + BATCH_ROWS], keys), None
    elif source.kind == "polars":
        assert columns is not None
        lazy: pl.LazyFrame = _matched(narwhals_frame(source, columns), columns, keys).to_native()
        for batch in collect_batches(lazy, BATCH_ROWS):
            yield _frame_places(batch, keys), None
    else:
        assert columns is not None
        yield _counted_places(narwhals_frame(source, columns), columns, keys)


def _array_places(rows: npt.NDArray[Any], keys: Sequence[GroupKeys]) -> Words:
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


def _matched(frame: nw.LazyFrame[Any], columns: Sequence[str], keys: Sequence[GroupKeys]) -> nw.LazyFrame[Any]:
    """The columns as what labels are compared with, named v0, v1 …; null where a value can match none."""
    kinds = kinds_of(frame.collect_schema())
    return frame.select(*(match_keys(key, kinds)["k0"].alias(f"v{j}") for j, key in enumerate(keys)))


def _frame_places(batch: pl.DataFrame, keys: Sequence[GroupKeys]) -> Words:
    import polars as pl

    places = np.full((batch.height, len(keys)), -1, np.int64)
    for j, key in enumerate(keys):
        codes = [code for (code,) in key.codes]
        found = batch.to_series(j).replace_strict(codes, range(len(codes)), default=-1, return_dtype=pl.Int64)
        places[:, j] = found.fill_null(-1).to_numpy()
    return places


def _counted_places(frame: nw.LazyFrame[Any], columns: Sequence[str], keys: Sequence[GroupKeys]) -> tuple[Words, Words]:
    """Distinct rows and how often each occurs, counted by the engine that holds the data."""
    import narwhals as nw

    matched = _matched(frame, columns, keys)
    names = [f"v{j}" for j in range(len(keys))]
    # What is not declared is one value: a column of free text must not come here row by row.
    declared = [
        nw.when(nw.col(name).is_in([code for (code,) in key.codes])).then(nw.col(name)).alias(name)
        for name, key in zip(names, keys, strict=True)
    ]
    one = nw.lit(1).cast(nw.Int64).alias("n")
    counted = matched.select(*declared).with_columns(one).group_by(*names).agg(nw.col("n").sum())
    table: pl.DataFrame = counted.with_columns(nw.col("n").cast(nw.Int64)).collect("polars").to_native()
    return _frame_places(table.select(names), keys), table["n"].to_numpy().astype(np.int64)

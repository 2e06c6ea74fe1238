"""What data can be summed, and the opening of it: names and types of columns are read, no data value.

Arrays and lists become numpy arrays; pandas, PyArrow and files become Polars frames; DuckDB relations and Spark frames
stay where they are. Everything wrong about a request is found here, before anything is charged.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import SourceError, nearest
from gaussmith.sums.failures import attempt
from gaussmith.sums.files import Files, find_files, names_of, scan_files
from gaussmith.sums.tables import lazy_from_arrow, series_from_pandas, type_of_pandas

if typing.TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

SUPPORTED = "pass a numpy array, a list of rows, a path, or a frame of Polars, pandas, PyArrow, DuckDB or Spark"


@dataclass(frozen=True, eq=False)
class Source:
    """Data that can be summed: its engine, and the names and types of its columns. Holds no value of its own.

    `kind` is the engine: "array", "polars", "duckdb" or "spark". `names` is None for an array, which has only a width.
    """

    kind: str
    native: Any = field(repr=False)
    width: int
    names: tuple[str, ...] | None = None
    schema: Mapping[str, nw.dtypes.DType] = field(default_factory=dict, repr=False)
    files: Files | None = None

    @property
    def types(self) -> dict[str, str]:
        """The type of each column, in words such as Float64, String, Date."""
        return {name: str(dtype) for name, dtype in self.schema.items()}

    @property
    def is_text(self) -> bool:
        """Whether numbers arrive as text (CSV, JSON lines) and are read by our own rule."""
        return self.files is not None and self.files.is_text


def open_source(source: object) -> Source:
    """A source ready to be summed. Reads names and types of columns, no data value; refuses what cannot be opened."""
    if isinstance(source, Source):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _open_files(find_files(source))
    if isinstance(source, (np.ndarray, np.generic)):
        return _open_array(np.asanyarray(source))
    if isinstance(source, (list, tuple)):
        return _open_array(_array_of_rows(source))
    module = type(source).__module__.split(".")[0]
    opener = _OPENERS.get(module)
    if opener is not None:
        return opener(source)
    if hasattr(source, "__array__"):
        return _open_array(attempt(lambda: np.asanyarray(source), _unopened(source)))
    raise _unknown(source)


def check_columns(source: Source, columns: Sequence[str] | None, dimension: int) -> tuple[str, ...]:
    """The names of the columns to be summed, in order (none for an array); refuses those that cannot be.

    Without `columns` all of the source's are meant. Requires nothing of the data: only names and types are looked at.
    """
    if source.names is None:
        if columns is not None:
            raise SourceError(
                f"columns={list(columns)!r} for an array", "an array's columns have no names", "leave columns out"
            )
        empty = source.native.shape == (0, 0)  # no rows at all, as in an empty list, fit any dimension
        if dimension and not empty:
            _check_dimension("the array", source.width, dimension)
        return ()
    columns = (columns,) if isinstance(columns, str) else columns  # a name is one column, not its letters
    chosen = source.names if columns is None else tuple(columns)
    known = set(source.names)
    for name in chosen:
        if name not in known:
            raise SourceError(
                f"column={name!r}", f"{_said(source)} has no such column", nearest(str(name), source.names)
            )
    _check_dimension(_said(source) if columns is None else "columns", len(chosen), dimension)
    if not source.is_text:
        for name in chosen:
            _check_type(name, source.schema[name])
    return chosen


def scan(source: Source, columns: Sequence[str], files: Files | None = None) -> pl.LazyFrame:
    """A Polars lazy frame of some columns of a "polars" source; of some of its files, if these are given."""
    columns = list(dict.fromkeys(columns))  # one may be asked twice, under different bounds
    if source.files is not None:
        return scan_files(files or source.files, columns).select(*columns)
    lazy: pl.LazyFrame = source.native(columns)
    return lazy.select(*columns)


def narwhals_frame(source: Source, columns: Sequence[str]) -> nw.LazyFrame[Any]:
    """A narwhals lazy frame of some columns of any source but an array: what expressions are evaluated on."""
    import narwhals as nw

    if source.kind == "polars":
        return nw.from_native(scan(source, columns))
    frame: nw.LazyFrame[Any] = nw.from_native(source.native).lazy().select(*dict.fromkeys(columns))
    return frame


def _check_dimension(what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise SourceError(
            f"{what} has {_plural(found, 'column')}" if what != "columns" else f"{_plural(found, 'column')} named",
            f"the domain has {_plural(wanted, 'coordinate')}",
            "name as many columns as the domain has coordinates, in their order",
        )


def _check_type(name: str, dtype: nw.dtypes.DType) -> None:
    import narwhals as nw

    if isinstance(dtype, nw.Boolean) or (dtype.is_numeric() and not isinstance(dtype, nw.UInt128)):
        return
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        raise SourceError(f"column={name!r} is text", "numbers are needed", "cast it to a number first")
    if isinstance(dtype, nw.Object):
        raise SourceError(
            f"column={name!r} holds Python objects",
            "its type must be known without looking at the data",
            "convert it first, for example with astype('Float64') or astype('boolean')",
        )
    raise SourceError(
        f"column={name!r} is of type {dtype}",
        "numbers are needed: integers, floats, decimals or booleans",
        "derive a number from it first",
    )


def _open_array(array: npt.NDArray[Any]) -> Source:
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


def _array_of_rows(rows: Sequence[Any]) -> npt.NDArray[Any]:
    """Lists as an array. What is no number is missing; rows of different lengths are refused."""
    lengths = {len(row) if isinstance(row, (list, tuple, np.ndarray)) else -1 for row in rows}
    if len(lengths) > 1:
        raise SourceError("rows of different lengths", "every record has the same number of coordinates", SUPPORTED)
    if not rows:
        return np.empty((0, 0))
    flat = lengths == {-1}
    return np.array([_number(v) if flat else [_number(x) for x in v] for v in rows], dtype=np.float64)


def _number(value: object) -> float:
    """A Python value as a double, NaN if it is no number: a total rule for lists."""
    if isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return float("nan")


def _open_files(files: Files) -> Source:
    import narwhals as nw

    problem = SourceError(
        f"source={files.said!r} cannot be opened as {files.format}",
        "its beginning or end is missing, damaged or not of this format",
        "check the file, or give it the suffix of its format",
    )
    if not files.is_text:
        return _open_lazy(lambda: scan_files(files), problem, files)
    names = attempt(lambda: tuple(names_of(files)), problem)
    _check_names(names, repr(files.said))
    return Source("polars", None, len(names), names, dict.fromkeys(names, nw.String()), files)


def _open_lazy(make: Callable[[], pl.LazyFrame], problem: SourceError, files: Files | None = None) -> Source:
    import narwhals as nw
    import polars as pl

    lazy = attempt(make, problem)
    schema = attempt(lambda: dict(nw.from_native(lazy).collect_schema()), problem)
    for name, dtype in lazy.collect_schema().items():
        if dtype == pl.Null:  # a column without any value: as a number it is missing everywhere
            schema[name] = nw.Float64()
    return Source("polars", lambda columns: lazy, len(schema), tuple(schema), schema, files)


def _open_polars(source: Any) -> Source:
    import polars as pl

    frame = source.to_frame() if isinstance(source, pl.Series) else source
    if not isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        raise _unknown(source)
    return _open_lazy(frame.lazy, _unopened(source))


def _open_arrow(source: Any) -> Source:
    _check_names(getattr(getattr(source, "schema", None), "names", ()), "the table")
    lazy = attempt(lambda: lazy_from_arrow(source), _unopened(source))
    if lazy is None:
        raise _unknown(source)
    return _open_lazy(lambda: lazy, _unopened(source))


def _open_pandas(source: Any) -> Source:
    import narwhals as nw
    import polars as pl

    if getattr(source, "ndim", 0) not in (1, 2) or not hasattr(source, "iloc"):
        raise _unknown(source)
    frame = source.to_frame() if source.ndim == 1 else source
    names = tuple(str(name) for name in frame.columns)
    _check_names(names, "the frame")
    schema: dict[str, nw.dtypes.DType] = {}
    for j, name in enumerate(names):
        kind = type_of_pandas(frame.iloc[:0, j])
        schema[name] = nw.from_native(pl.LazyFrame(schema={name: kind})).collect_schema()[name]

    def convert(columns: Sequence[str]) -> pl.LazyFrame:
        return pl.DataFrame({c: series_from_pandas(frame.iloc[:, names.index(c)]) for c in columns}).lazy()

    return Source("polars", convert, len(names), names, schema)


def _open_elsewhere(kind: str) -> Callable[[Any], Source]:
    """An opener for engines that keep the data: only the schema is asked for."""

    def opener(source: Any) -> Source:
        import narwhals as nw

        frame = attempt(lambda: nw.from_native(source).lazy(), _unknown(source))
        schema = attempt(lambda: dict(frame.collect_schema()), _unopened(source))
        _check_names(source.columns, "the frame")
        return Source(kind, source, len(schema), tuple(schema), schema)

    return opener


_OPENERS: dict[str, Callable[[Any], Source]] = {
    "polars": _open_polars,
    "pandas": _open_pandas,
    "pyarrow": _open_arrow,
    "duckdb": _open_elsewhere("duckdb"),
    "_duckdb": _open_elsewhere("duckdb"),
    "pyspark": _open_elsewhere("spark"),
    "narwhals": lambda source: open_source(_native(source)),
}


def _native(source: Any) -> object:
    import narwhals as nw

    return nw.to_native(source)


def _unknown(source: object) -> SourceError:
    return SourceError(f"source of type {type(source).__qualname__}", "this type of data is not known", SUPPORTED)


def _unopened(source: object) -> SourceError:
    return SourceError(
        f"source of type {type(source).__qualname__} whose columns cannot be told",
        "the names and types of the columns must be known before any data is read",
        "check that the frame can be collected",
    )


def _check_names(names: Sequence[str], said: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SourceError(f"column={name!r} occurs twice in {said}", "names of columns are distinct", "rename one")
        seen.add(name)


def _said(source: Source) -> str:
    return repr(source.files.said) if source.files is not None else "the frame"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")

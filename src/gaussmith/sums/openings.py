"""The opening of data: names and types of columns are read, no data value.

Arrays and lists become numpy arrays; pandas, PyArrow and files become Polars frames; DuckDB relations and Spark frames
stay where they are. Everything wrong about a source is found here, before anything is charged.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.addresses import parse_database, scheme_of, without_secrets
from gaussmith.errors import SourceError, nearest
from gaussmith.sums.databases import open_database, read_files, require_duckdb
from gaussmith.sums.failures import attempt
from gaussmith.sums.files import Files, check_keys, find_files, names_of, scan_files
from gaussmith.sums.footers import uneven_columns
from gaussmith.sums.sources import Source
from gaussmith.sums.tables import lazy_from_arrow, series_from_pandas, type_of_pandas, was_read
from gaussmith.sums.versions import check_packed, check_versions, check_views

if typing.TYPE_CHECKING:
    import polars as pl

ENGINES = ("polars", "duckdb", "spark")
"""What can read files."""

SUPPORTED = "pass a numpy array, a list of rows, a path, or a frame of Polars, pandas, PyArrow, DuckDB or Spark"


def open_source(source: object, engine: str | None = None, master: str | None = None) -> Source:
    """A source ready to be summed. Reads names and types of columns, no data value; refuses what cannot be opened.

    `engine` ("polars", "duckdb", "spark") reads files, by default Polars; a frame stays with its own. `master` says
    where Spark runs.
    """
    if engine not in (None, *ENGINES):
        raise SourceError(f"engine={engine!r}", "it names an engine", nearest(str(engine), ENGINES))
    if master is not None and engine != "spark":
        raise SourceError(f"master={master!r}", "it says where Spark runs", 'add engine="spark", or leave master out')
    check_versions(source, engine)
    if isinstance(source, (str, os.PathLike)):
        return _open_path(os.fspath(source), engine, master)
    if engine is not None:
        raise SourceError(
            f"engine={engine!r} for a {type(source).__qualname__}",
            "an engine is chosen for files; a frame stays with its own",
            "leave engine out",
        )
    if isinstance(source, Source):
        return source
    if isinstance(source, (np.ndarray, np.generic)):
        return _open_array(np.asanyarray(source))
    if isinstance(source, (list, tuple)):
        return _open_array(_array_of_rows(source))
    module = type(source).__module__.split(".")[0]
    opener = _OPENERS.get(module)
    if opener is not None:
        return opener(source)
    if hasattr(source, "__array__"):
        return _open_array(attempt(lambda: np.asanyarray(source), _unopened(source), theirs=True))
    raise _unknown(source)


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
    return np.array([number_of(v) if flat else [number_of(x) for x in v] for v in rows], dtype=np.float64)


def number_of(value: object) -> float:
    """A Python value as a double, NaN if it is no number: a total rule for lists."""
    if isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return float("nan")


def _open_path(path: str, engine: str | None, master: str | None) -> Source:
    if scheme_of(path) == "duckdb":
        if engine not in (None, "duckdb"):
            raise SourceError(
                f"engine={engine!r} for {without_secrets(path)!r}", "DuckDB reads its own files", "leave engine out"
            )
        return _open_elsewhere("duckdb")(open_database(parse_database(path)))
    files = find_files(path)
    if engine in (None, "polars"):
        return _open_files(files)
    if files.format != "Parquet":
        raise SourceError(
            f"engine={engine!r} for {files.format} files",
            "only Polars reads texts by the rule that holds for all engines",
            "leave engine out, or convert the files to Parquet",
        )
    check_keys(files)
    uneven = frozenset() if files.remote else _open_files(files).uneven
    if engine == "spark":
        from gaussmith.sums.spark import read_files as read_with_spark

        opened = _open_elsewhere("spark")(read_with_spark(files, master))
    else:
        opened = _open_elsewhere("duckdb")(read_files(files))
    return _without(replace(opened, files=files), uneven)


def _open_files(files: Files) -> Source:
    import narwhals as nw

    first = files.said if len(files.paths) == 1 else files.paths[0]
    problem = SourceError(
        f"source={first!r} cannot be opened as {files.format}",
        "its beginning or end is missing, damaged or not of this format",
        "check the file, or give it the suffix of its format",
    )
    if files.remote:
        problem = SourceError(
            f"source={files.said!r} cannot be opened",
            "the store must answer, and hold data under this address",
            "check the address, and the credentials in the environment that Polars takes them from",
        )
    if files.is_text:
        check_packed(files.paths)
    uneven = uneven_columns(files)
    if files.is_text:
        names = attempt(lambda: tuple(names_of(files)), problem)
        _check_names(names, repr(files.said))
        opened = Source(
            "polars",
            lambda columns: scan_files(files, columns),
            len(names),
            names,
            dict.fromkeys(names, nw.String()),
            files,
            is_text=True,
        )
    else:
        opened = _open_lazy(lambda: scan_files(files), problem, files)
    return _without(opened, uneven)


def _without(source: Source, uneven: frozenset[str]) -> Source:
    """The source without the columns that are not the same in all its files."""
    if not uneven:
        return source
    schema = {name: dtype for name, dtype in source.schema.items() if name not in uneven}
    return replace(source, width=len(schema), names=tuple(schema), schema=schema, uneven=uneven)


def _open_lazy(make: Callable[[], pl.LazyFrame], problem: SourceError, files: Files | None = None) -> Source:
    import narwhals as nw
    import polars as pl

    lazy = attempt(make, problem)
    schema = attempt(lambda: dict(nw.from_native(lazy).collect_schema()), problem)
    _check_names(list(schema), "the frame" if files is None else repr(files.said))
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
    if was_read(source):
        raise SourceError("a reader of record batches", "it can be read once, and was", "open it anew")
    check_views([column.type for column in getattr(source, "schema", ())])
    lazy = attempt(lambda: lazy_from_arrow(source), _unopened(source))
    if lazy is None:
        raise _unknown(source)
    opened = _open_lazy(lambda: lazy, _unopened(source))
    return replace(opened, once=hasattr(source, "read_next_batch"))


def _open_pandas(source: Any) -> Source:
    import narwhals as nw
    import polars as pl

    if getattr(source, "ndim", 0) not in (1, 2) or not hasattr(source, "iloc"):
        raise _unknown(source)
    frame = source.to_frame() if source.ndim == 1 else source
    names = tuple(str(name) for name in frame.columns)
    _check_names(names, "the frame")
    kinds = {name: type_of_pandas(frame.iloc[:0, j]) for j, name in enumerate(names)}
    schema = dict(nw.from_native(pl.LazyFrame(schema=kinds)).collect_schema())

    def convert(columns: Sequence[str]) -> pl.LazyFrame:
        found = {c: series_from_pandas(frame.iloc[:, names.index(c)], kinds[c] == pl.Object) for c in columns}
        return pl.DataFrame(found).lazy()

    return Source("polars", convert, len(names), names, schema)


def _open_elsewhere(kind: str) -> Callable[[Any], Source]:
    """An opener for engines that keep the data: only the schema is asked for."""

    def opener(source: Any) -> Source:
        import narwhals as nw

        if not hasattr(source, "columns"):  # a connection or a session
            raise _unknown(source)
        frame = attempt(lambda: nw.from_native(source).lazy(), _unknown(source))
        schema = attempt(lambda: dict(frame.collect_schema()), _unopened(source))
        _check_names(source.columns, "the frame")
        if kind == "spark":
            from gaussmith.sums.spark import check_frame

            check_frame(source)
        else:
            require_duckdb("a relation of DuckDB")
            _check_letters(source.columns)
        for name in _void(kind, source):  # without any value: as a number it is missing everywhere
            schema[name] = nw.Float64()
        return Source(kind, source, len(schema), tuple(schema), schema)

    return opener


def _void(kind: str, source: Any) -> list[str]:
    """The columns that cannot hold a value at all."""
    if kind == "spark":
        return [column.name for column in source.schema if column.dataType.typeName() == "void"]
    pairs = zip(source.columns, source.types, strict=True)
    return [name for name, dtype in pairs if str(dtype).strip('"') == "NULL"]


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


def _check_letters(names: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if seen.setdefault(name.lower(), name) != name:
            raise SourceError(
                f"columns {seen[name.lower()]!r} and {name!r} of the relation",
                "DuckDB does not tell capital letters from small ones",
                "rename one",
            )


def _check_names(names: Sequence[str], said: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name == "*" or (name[:1] == "^" and name[-1:] == "$"):
            raise SourceError(
                f"column={name!r} in {said}", "Polars takes such a name for a pattern of names", "rename it"
            )
        if name in seen:
            raise SourceError(f"column={name!r} occurs twice in {said}", "names of columns are distinct", "rename one")
        seen.add(name)

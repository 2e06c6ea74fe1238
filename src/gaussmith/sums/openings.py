"""The opening of data: names and types of columns are read, no data value.

Arrays and lists become numpy arrays; pandas, PyArrow and files become Polars frames; DuckDB relations and Spark frames
stay where they are. Everything wrong about a source is found here, before anything is charged.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gaussmith.addresses import parse_database, scheme_of, without_secrets
from gaussmith.errors import SourceError, nearest
from gaussmith.source_tables import SourceTable, read_source
from gaussmith.sums.databases import list_files, open_database, read_files, require_duckdb
from gaussmith.sums.failures import attempt
from gaussmith.sums.files import Files, find_files, names_of, scan_files
from gaussmith.sums.footers import uneven_columns
from gaussmith.sums.lists import SUPPORTED, array_of_rows, open_array
from gaussmith.sums.partitions import check_keys, find_with_polars, list_store
from gaussmith.sums.sources import Source
from gaussmith.sums.tables import (
    has_object_categories,
    is_table,
    lazy_from_arrow,
    series_from_pandas,
    type_of_pandas,
    unheld_columns,
    was_read,
)
from gaussmith.sums.versions import check_packed, check_versions, check_views

if typing.TYPE_CHECKING:
    import polars as pl

ENGINES = ("polars", "duckdb", "spark")
"""What can read files."""


def open_source(
    source: object, engine: str | None = None, master: str | None = None, columns: Sequence[str] | None = None
) -> Source:
    """A source ready to be summed. Reads names and types of columns, no data value; refuses what cannot be opened.

    `engine` ("polars", "duckdb", "spark") reads files, by default Polars; a frame stays with its own. `master` says
    where Spark runs. A table `{"path": …, "ids": …, "row_per_row": …, "line_per_record": …}` says more of the source.
    `columns` are those that will be asked for: JSON lines have no others.
    """
    told = read_source(source)
    opened = _open(told, engine, master, columns)
    return replace(opened, ids=told.ids, row_per_row=told.row_per_row) if told.said else opened


def _open(told: SourceTable, engine: str | None, master: str | None, columns: Sequence[str] | None) -> Source:
    source = told.data
    if engine not in (None, *ENGINES):
        raise SourceError(f"engine={engine!r}", "it names an engine", nearest(str(engine), ENGINES))
    if master is not None and engine != "spark":
        raise SourceError(
            f"master={without_secrets(str(master))!r}",
            "it says where Spark runs",
            'add engine="spark", or leave master out',
        )
    check_versions(source, engine)
    if isinstance(source, (str, os.PathLike)):
        return _open_path(os.fspath(source), engine, master, columns, told)
    if engine is not None:
        raise SourceError(
            f"engine={engine!r} for a {type(source).__qualname__}",
            "an engine is chosen for files; a frame stays with its own",
            "leave engine out",
        )
    if isinstance(source, Source):
        return source
    if isinstance(source, (np.ndarray, np.generic)):
        return open_array(np.asanyarray(source))
    if isinstance(source, (list, tuple)):
        return open_array(array_of_rows(source))
    module = type(source).__module__.split(".")[0]
    opener = _OPENERS.get(module)
    if opener is not None:
        return opener(source)
    if hasattr(source, "__array__"):
        return open_array(attempt(lambda: np.asanyarray(source), _unopened(source), theirs=True))
    raise _unknown(source)


def _open_path(
    path: str, engine: str | None, master: str | None, columns: Sequence[str] | None, told: SourceTable
) -> Source:
    if scheme_of(path) == "duckdb":
        if engine not in (None, "duckdb"):
            raise SourceError(
                f"engine={engine!r} for {without_secrets(path)!r}", "DuckDB reads its own files", "leave engine out"
            )
        relation, of_query = open_database(parse_database(path), told.row_per_row)
        return replace(_open_elsewhere("duckdb")(relation), of_query=of_query)
    files = replace(find_files(path), line_per_record=told.line_per_record)
    if told.line_per_record and files.format not in ("CSV", "TSV"):
        raise SourceError(
            f"line_per_record for {files.format} files", "it is about the lines of CSV and TSV files", "leave it out"
        )
    if engine in (None, "polars"):
        return _open_files(files, columns)
    if files.format != "Parquet":
        raise SourceError(
            f"engine={engine!r} for {files.format} files",
            "only Polars reads texts by the rule that holds for all engines",
            "leave engine out, or convert the files to Parquet",
        )
    here = None if files.remote else _open_files(files)
    uneven = frozenset() if here is None else here.uneven
    look, read = list_files, read_files
    if engine == "spark":
        from gaussmith.sums import spark

        look, read = partial(spark.list_files, master=master), partial(spark.read_files, master=master)
    files = look(files)
    opened = _open_elsewhere(str(engine))(read(files))
    if engine == "duckdb" and here is not None:
        opened = replace(opened, schema={**opened.schema, **_unreadable_times(here.schema)})
    return _without(replace(opened, files=files, texts=frozenset(files.keys), reopen=read, of_query=False), uneven)


def _unreadable_times(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Times in milliseconds as columns of an unknown type: of a Parquet file DuckDB fails on those far away."""
    import narwhals as nw

    return {
        name: nw.Unknown()
        for name, dtype in schema.items()
        if isinstance(dtype, nw.Datetime) and dtype.time_unit == "ms"
    }


def _open_files(files: Files, columns: Sequence[str] | None = None) -> Source:
    import narwhals as nw

    first = files.said if len(files.paths) == 1 else without_secrets(files.paths[0])
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
        names = (
            _names_in_lines(files, columns)
            if files.format == "JSON lines"
            else attempt(lambda: names_of(files), problem)
        )
        _check_names(names, repr(files.said))
        opened = Source(
            "polars",
            lambda columns: scan_files(files, columns),
            len(names),
            names,
            dict.fromkeys(names, nw.String()),
            files,
            texts=frozenset(names),
        )
    else:
        if files.is_unknown:
            files = list_store(files, find_with_polars, problem)
            check_keys(files, attempt(lambda: scan_files(files, ()).collect_schema().names(), problem))
        opened = _open_lazy(lambda: scan_files(files), problem, files)
        opened = replace(opened, native=_scanner(files), texts=frozenset(files.keys), reopen=_scanner)
    return _without(opened, uneven)


def _names_in_lines(files: Files, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns of JSON lines: those that are asked for. No record says which there are."""
    if columns is None:
        raise SourceError(
            f"source={files.said!r}: columns of JSON lines",
            "they are those that are asked for: no record says which there are",
            'name them: columns=["age", …]',
        )
    return tuple(dict.fromkeys(columns))


def _scanner(files: Files) -> Callable[[Sequence[str]], pl.LazyFrame]:
    """What scans columns of these files."""
    return lambda columns: scan_files(files, columns)


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
    return replace(_open_lazy(frame.lazy, _unopened(source)), of_query=isinstance(source, pl.LazyFrame))


def _open_arrow(source: Any) -> Source:
    import narwhals as nw

    _check_names(getattr(getattr(source, "schema", None), "names", ()), "the table")
    if was_read(source):
        raise SourceError("a reader of record batches", "it can be read once, and was", "open it anew")
    check_views([column.type for column in getattr(source, "schema", ())])
    here = is_table(source)  # its columns are converted when they are asked for
    lazy = attempt(lambda: lazy_from_arrow(source.schema.empty_table() if here else source), _unopened(source))
    if lazy is None:
        raise _unknown(source)
    opened = _open_lazy(lambda: lazy, _unopened(source))
    if here:
        opened = replace(opened, native=lambda columns: lazy_from_arrow(source.select([*columns])))
    unheld = unheld_columns(source)  # there, all null, so that rows can be counted; nothing can be asked of them
    schema = {name: nw.Unknown() if name in unheld else dtype for name, dtype in opened.schema.items()}
    return replace(opened, schema=schema, once=hasattr(source, "read_next_batch"))


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

    objects = frozenset(name for j, name in enumerate(names) if has_object_categories(frame.dtypes.iloc[j]))
    return Source("polars", convert, len(names), names, schema, objects=objects)


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
        # What DuckDB and Spark hold is a plan, and may be a query; a table is one by its own account.
        of_query = kind == "spark" or str(getattr(source, "type", "")) != "TABLE_RELATION"
        return Source(kind, source, len(schema), tuple(schema), schema, of_query=of_query)

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

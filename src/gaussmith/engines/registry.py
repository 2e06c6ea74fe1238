"""The engines there are, and the opening of data by the one it belongs to: names and types of columns, no data value.

Everything wrong about a source is found here, before anything is charged.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussmith.engines.addresses import SourceDescription, parse_database, read_source, scheme_of, without_secrets
from gaussmith.engines.duckdb import DUCKDB
from gaussmith.engines.engine import Engine
from gaussmith.engines.files import find_files
from gaussmith.engines.numpy import NUMPY
from gaussmith.engines.polars import POLARS
from gaussmith.engines.source import Source, unknown_source, unreadable_source
from gaussmith.engines.spark import SPARK
from gaussmith.engines.versions import attempt, check_versions
from gaussmith.errors import SourceError, counted, nearest
from gaussmith.notations import named

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (POLARS, DUCKDB, SPARK)}
"""What reads files, by the name that users give it; the first one unless another is asked for."""


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


def name_columns(source: Source, names: Sequence[str]) -> Source:
    """An array as a table whose columns have these names, in order; refuses an array of another width."""
    import polars as pl

    if source.width != len(names) and source.native.size:
        raise SourceError(
            f"an array of {counted(source.width, 'column')}",
            f"{len(names)} are asked for: {', '.join(names[:6])}{', …' if names[6:] else ''}",
            "pass an array with one column for each, in this order",
            code="array-of-other-columns",
            columns=source.width,
            wanted=len(names),
        )
    rows = source.native.reshape(len(source.native), -1) if source.native.size else np.zeros((0, len(names)))
    kept = {name: np.ascontiguousarray(rows[:, j]) for j, name in enumerate(names)}
    return replace(POLARS.open(pl.DataFrame(kept)), ids=source.ids, row_per_row=source.row_per_row)


def engine_of(data: object) -> Engine | None:
    """The engine whose objects are of this type; None where there is none.

    >>> engine_of(__import__("polars").DataFrame()).name
    'polars'
    """
    module = _module_of(data)
    return next((engine for engine in ENGINES.values() if module in engine.modules), None)


def packages_needed(data: object, name: str | None = None) -> list[str]:
    """The packages that work together on this data; `name` is that of the engine for files. Looks at its type alone.

    >>> packages_needed("visits.parquet", "duckdb")
    ['polars', 'duckdb', 'pyarrow', 'polars', 'narwhals']
    """
    if isinstance(data, str | os.PathLike):
        is_database = scheme_of(os.fspath(data)) == DUCKDB.name
        return [*POLARS.packages, *(DUCKDB if is_database else ENGINES[name or POLARS.name]).packages]
    engine = engine_of(data)
    return [] if engine is None else [_module_of(data).lstrip("_"), *engine.packages]


def _module_of(data: object) -> str:
    return type(data).__module__.split(".")[0]


def _open(told: SourceDescription, name: str | None, master: str | None, columns: Sequence[str] | None) -> Source:
    data = told.data
    if name not in (None, *ENGINES):
        raise SourceError(
            f"engine={name!r}",
            "there is no such engine",
            nearest(str(name), ENGINES),
            code="unknown-engine",
            engine=name,
        )
    if master is not None and name != SPARK.name:
        raise SourceError(
            f"master={without_secrets(str(master))!r}",
            "it says where Spark runs",
            f"choose {named('engine')} spark, or leave master out",
            code="master-without-spark",
            master=without_secrets(str(master)),
        )
    check_versions(packages_needed(data, name))
    if isinstance(data, (str, os.PathLike)):
        return _open_path(os.fspath(data), name, master, columns, told)
    if name is not None:
        raise SourceError(
            f"engine={name!r} for a {type(data).__qualname__}",
            "only files have a choice of engine; a frame is read by its own",
            "leave engine out",
            code="engine-for-frame",
            engine=name,
            type=type(data).__qualname__,
        )
    return _open_object(data)


def _open_object(data: Any) -> Source:
    engine = engine_of(data)
    if isinstance(data, Source):
        return data
    if isinstance(data, (np.ndarray, np.generic, list, tuple)):
        return NUMPY.open(data)
    if engine is not None:
        return engine.open(data)
    if _module_of(data) == "narwhals":
        import narwhals as nw

        return open_source(nw.to_native(data))
    if hasattr(data, "__array__"):
        return NUMPY.open(attempt(lambda: np.asanyarray(data), unreadable_source(data), theirs=True))
    raise unknown_source(data)


def _open_path(
    path: str, name: str | None, master: str | None, columns: Sequence[str] | None, told: SourceDescription
) -> Source:
    if scheme_of(path) == DUCKDB.name:
        if name not in (None, DUCKDB.name):
            what = f"engine={name!r} for {without_secrets(path)!r}"
            rule = "DuckDB reads its own files"
            remedy = "leave engine out"
            raise SourceError(what, rule, remedy, code="engine-for-database", engine=name, path=without_secrets(path))
        return DUCKDB.open_database(parse_database(path), told.row_per_row)
    files = replace(find_files(path), line_per_record=told.line_per_record)
    if told.line_per_record and files.format not in ("CSV", "TSV"):
        what, rule = f"line_per_record for {files.format} files", "it applies only to CSV and TSV files"
        raise SourceError(what, rule, "leave it out", code="line-per-record-of-other-format", format=files.format)
    return ENGINES[name or POLARS.name].open_files(files, columns, master)

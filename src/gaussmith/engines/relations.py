"""What DuckDB and Spark have in common: they keep their rows, and are asked in queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gaussmith.engines.engine import Engine
from gaussmith.engines.files import Files
from gaussmith.engines.polars import POLARS
from gaussmith.engines.source import Source, check_names, unknown_source, unreadable_source
from gaussmith.engines.versions import attempt
from gaussmith.errors import SourceError
from gaussmith.expressions.spelling import Derivation, as_number, derive

if TYPE_CHECKING:
    import narwhals as nw

    from gaussmith.engines.engine import Frame


def read_schema(data: Any) -> dict[str, nw.dtypes.DType]:
    """The types of the columns of a relation or a frame; refuses what is neither, and names that cannot be used."""
    import narwhals as nw

    if not hasattr(data, "columns"):  # a connection or a session
        raise unknown_source(data)
    frame = attempt(lambda: nw.from_native(data).lazy(), unknown_source(data))
    schema = attempt(lambda: dict(frame.collect_schema()), unreadable_source(data))
    check_names(data.columns, "the frame")
    return schema


def open_relation(
    engine: Engine, data: Any, schema: dict[str, nw.dtypes.DType], void: Iterable[str], of_query: bool
) -> Source:
    """The source of a relation; `void` are the columns that cannot hold a value at all."""
    import narwhals as nw

    for name in void:  # without any value: as a number it is missing everywhere
        schema[name] = nw.Float64()
    return Source(engine, data, len(schema), tuple(schema), schema, of_query=of_query)


def open_parquet(
    engine: Engine, files: Files, find: Callable[[Files], Files], read: Callable[[Files], Any]
) -> tuple[Source, Source | None]:
    """Parquet files as a source of the engine, and as Polars sees them where they are on this machine.

    `find` lists the files of a store, `read` makes a relation of files.
    """
    if files.format != "Parquet":
        raise SourceError(
            f"engine={engine.name!r} for {files.format} files",
            "only Polars reads text files, so that all engines give the same answers",
            "leave engine out, or convert the files to Parquet",
            code="engine-for-text-files",
            engine=engine.name,
            format=files.format,
        )
    here = None if files.remote else POLARS.open_files(files)
    files = find(files)
    opened = engine.open(read(files))
    opened = replace(opened, files=files, texts=frozenset(files.keys), reopen=read, of_query=False)
    return opened.without(frozenset() if here is None else here.uneven), here


def derive_relation(source: Source, derivation: Derivation) -> Any:
    """A relation with derived columns, and without the rows that the filter drops."""
    return derive(source.engine.frame(source, source.names or ()), derivation).to_native()


def numbered(source: Source, columns: Sequence[str]) -> Source:
    """The source with numbers in those of the columns that hold them as text."""
    import narwhals as nw

    found = [name for name in dict.fromkeys(columns) if name in source.texts]
    if not found:
        return source
    frame = source.engine.frame(source, columns)
    frame = frame.with_columns(*(as_number(name, "text").alias(name) for name in found))
    return replace(source, native=frame.to_native(), schema={**source.schema, **dict.fromkeys(found, nw.Float64())})


def first_numbered(native: Any, of: str, order: Sequence[str], most: int) -> Frame:
    """The first `most` rows of each value of `of` in this order."""
    import narwhals as nw

    frame: Frame = nw.from_native(native)
    place = nw.col("one").cum_sum().over(of, order_by=order)
    placed = frame.with_columns(nw.lit(1).cast(nw.Int64).alias("one")).with_columns(place.alias("place"))
    return placed.filter(nw.col("place") <= most)

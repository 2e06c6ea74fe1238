"""The table of engines: every way to hand data to Gaussmith, from one Polars frame. A test opts out, never in."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

Session = Callable[[], Any]
"""Starts Spark, or finds it running."""


def arrays(data: pl.DataFrame) -> Any:
    rows = [[float("nan") if v is None else float(v) for v in row] for row in data.iter_rows()]
    return np.array(rows, np.float64).reshape(-1, data.width)


def plain_pandas(data: pl.DataFrame) -> Any:
    """pandas on numpy dtypes, which has no missing booleans and no decimals: these are floats there.

    Texts are objects in pandas 2, which are refused: they are converted, as the error says.
    """
    frame = with_floats(data.with_columns(cs.boolean().cast(pl.Float64))).to_pandas()
    return frame.astype({name: "string" for name, kind in data.schema.items() if kind == pl.String})


def with_floats(data: pl.DataFrame) -> pl.DataFrame:
    """Decimals as floats, rounded once: Polars before 2 rounds long ones twice."""
    return data.with_columns(cs.decimal().cast(pl.String).cast(pl.Float64))


def nullable_pandas(data: pl.DataFrame) -> Any:
    kinds = {pl.Int64: "Int64", pl.UInt64: "UInt64", pl.UInt16: "UInt16", pl.Boolean: "boolean"}
    arrow = data.to_pandas(use_pyarrow_extension_array=True)
    return arrow.astype({name: kinds[type(kind)] for name, kind in data.schema.items() if type(kind) in kinds})


def arrow_dataset(data: pl.DataFrame, folder: Path) -> Any:
    import pyarrow.dataset as ds

    data.write_parquet(folder / "dataset.parquet")
    return ds.dataset(folder / "dataset.parquet")


@cache
def duckdb_connection() -> Any:
    """A database takes 20 ms to make: one for all relations, each in a cursor of its own."""
    import duckdb

    return duckdb.connect()


def duckdb_relation(data: pl.DataFrame) -> Any:
    connection = duckdb_connection().cursor()
    connection.register("data", data.to_arrow())
    return connection.sql("select * from data")


def json_lines(data: pl.DataFrame, path: Path) -> None:
    """Written here: Polars would write infinite values as null. Numbers and strings alternate."""

    def token(value: Any) -> Any:
        if isinstance(value, Decimal) or (isinstance(value, float) and not np.isfinite(value)):
            return str(value)
        return value

    path.write_text(
        "".join(json.dumps({k: token(v) for k, v in row.items()}) + "\n" for row in data.iter_rows(named=True))
    )


def write_file(data: pl.DataFrame, path: Path) -> str:
    """The data in a file of the format that its suffix tells."""
    text = data.with_columns(cs.float().cast(pl.Float64))  # 0.1 in single precision is another number in text
    writers: dict[str, Callable[[], object]] = {
        ".parquet": lambda: data.write_parquet(path),
        ".arrow": lambda: data.write_ipc(path),
        ".csv": lambda: text.write_csv(path),
        ".tsv": lambda: text.write_csv(path, separator="\t"),
        ".ndjson": lambda: json_lines(text, path),
    }
    writers[path.suffix]()
    return str(path)


def write_parts(data: pl.DataFrame, folder: Path) -> str:
    """The rows in files below partitions, in no order; an empty one among them."""
    shuffled = data.sample(fraction=1.0, shuffle=True)
    for i, part in enumerate([shuffled[:7], shuffled[7:7], shuffled[7:500], shuffled[500:]]):
        place = folder / "parts" / f"half={i % 2}"
        place.mkdir(parents=True, exist_ok=True)
        part.write_parquet(place / f"{i}.parquet")
    return str(folder / "parts")


def spark_frame(data: pl.DataFrame, folder: Path, session: Session) -> Any:
    data.write_parquet(folder / "spark.parquet")
    return session().read.parquet(str(folder / "spark.parquet")).repartition(5)


ENGINES: dict[str, Callable[[pl.DataFrame, Path, Session], Any]] = {
    "numpy": lambda data, *_: arrays(data),
    "numpy Fortran": lambda data, *_: np.asfortranarray(arrays(data)),
    "lists": lambda data, *_: [list(row) for row in with_floats(data).iter_rows()],
    "polars eager": lambda data, *_: data,
    "polars lazy": lambda data, *_: data.lazy(),
    "polars chunks": lambda data, *_: pl.concat([data[:1], data[1:1], data[1:]], rechunk=False),
    "polars shuffled": lambda data, *_: data.sample(fraction=1.0, shuffle=True),
    "pandas": lambda data, *_: plain_pandas(data),
    "pandas nullable": lambda data, *_: nullable_pandas(data),
    "pandas arrow": lambda data, *_: data.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow table": lambda data, *_: data.to_arrow(),
    "pyarrow reader": lambda data, *_: data.to_arrow().to_reader(100),
    "pyarrow dataset": lambda data, folder, _: arrow_dataset(data, folder),
    "duckdb": lambda data, *_: duckdb_relation(data),
    "parquet": lambda data, folder, _: write_file(data, folder / "data.parquet"),
    "parts": lambda data, folder, _: write_parts(data, folder),
    "ipc": lambda data, folder, _: write_file(data, folder / "data.arrow"),
    "csv": lambda data, folder, _: write_file(data, folder / "data.csv"),
    "tsv": lambda data, folder, _: write_file(data, folder / "data.tsv"),
    "json lines": lambda data, folder, _: write_file(data, folder / "data.ndjson"),
    "spark": spark_frame,
}

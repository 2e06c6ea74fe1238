"""One small table in every form that Gaussmith opens, and a request of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

import gaussmith as gm

FRAME = pl.DataFrame({"age": [42.0, 17.0], "person": ["Ada", "Bob"]})
G = gm.Guarantee(mu=0.5)


def parquet(folder: Path) -> str:
    FRAME.write_parquet(folder / "data.parquet")
    return str(folder / "data.parquet")


def csv(folder: Path) -> str:
    FRAME.write_csv(folder / "data.csv")
    return str(folder / "data.csv")


def json_lines(folder: Path) -> str:
    FRAME.write_ndjson(folder / "data.ndjson")
    return str(folder / "data.ndjson")


def database(folder: Path) -> str:
    with duckdb.connect(str(folder / "study.db")) as connection:
        connection.execute("create table visits as select 42.0 as age")
    return f"duckdb://{folder / 'study.db'}?table=visits"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "array": lambda _: FRAME.select("age").to_numpy(),
    "polars": lambda _: FRAME,
    "pandas": lambda _: FRAME.to_pandas(),
    "pyarrow": lambda _: FRAME.to_arrow(),
    "duckdb": lambda _: duckdb.from_arrow(FRAME.to_arrow()),
    "parquet": parquet,
    "csv": csv,
    "json lines": json_lines,
    "database": database,
}


def ask(source: Any, **more: Any) -> gm.Request:
    return gm.Request(source, sums={"age": (0, 100)}, guarantee=G, **more)

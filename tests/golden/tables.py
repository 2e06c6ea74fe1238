"""The data of the golden cases: one table made by an integer recurrence, and every way to hand it over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from engines import arrays, duckdb_relation, plain_pandas, write_file

ROWS = 150

ODD = [None, float("nan"), float("inf"), float("-inf"), 1e300, -0.0]
"""Values that a column of numbers may hold, whatever its bounds are."""


def recurrence(seed: int) -> Iterator[int]:
    """Integers from 0 to 32767 without end."""
    while True:
        seed = (seed * 1103515245 + 12345) % 2**31
        yield seed >> 16


@cache
def table() -> pl.DataFrame:
    """Visits of a few people: nulls, NaN, infinities, values out of bounds, keys that nobody declares."""
    draw = recurrence(20)

    def numbers(scale: float, shift: float, odd: int = 11) -> list[float | None]:
        found: list[float | None] = []
        for _ in range(ROWS):
            value = next(draw)
            found.append(ODD[value // 16 % len(ODD)] if value % odd == 0 else value / 32768 * scale + shift)
        return found

    def choices(values: Sequence[Any]) -> list[Any]:
        return [values[next(draw) // 8 % len(values)] for _ in range(ROWS)]

    orders = [(1, 2, 3), (1, 3, 2), (2, 1, 3), (3, 2, 1), (1, 1, 3), (None, 1, 2), (0, 4, 2)]
    ranks = choices(orders)
    names = ["ann", "bob", "eve", None, "zoe"]
    ballots = [[names[i - 1] if i in (1, 2, 3) else names[3 + (i or 0) % 2] for i in (o[0], o[1], o[2])] for o in ranks]
    columns: dict[str, pl.Series] = {
        "person": pl.Series(
            [None if v == 0 else f"p{v % 37:02d}" for v in (next(draw) // 4 % 60 for _ in range(ROWS))]
        ),
        "region": pl.Series(choices(["north", "south", "north", "east", None, "west"])),
        "sex": pl.Series(choices(["f", "m"])),
        "year": pl.Series(choices([2020, 2021, 2022, 2023]), dtype=pl.Int64),
        "health": pl.Series(choices(["good", "fair", "poor", "good", None, "unknown"])),
        "band": pl.Series(choices([0, 1, 2, 3, 2, 7, -1]), dtype=pl.Int64),
        "item": pl.Series(choices(["tea", "milk", "bread", "beer", None])),
        "x": pl.Series(numbers(80, -15), dtype=pl.Float64),
        "y": pl.Series(numbers(30, -15), dtype=pl.Float64),
        "n": pl.Series(choices([None, -3, 0, 1, 2, 3, 5, 8, 13, 21, 34]), dtype=pl.Int64),
        **{c: pl.Series(choices([0, 1, 1, 2, None, -1]), dtype=pl.Int64) for c in "abcd"},
        **{f"s{i}": pl.Series(numbers(6, -3, 9), dtype=pl.Float64) for i in (1, 2, 3, 4)},
        **{f"r{i + 1}": pl.Series([o[i] for o in ranks], dtype=pl.Int64) for i in range(3)},
        **{f"o{i + 1}": pl.Series([b[i] for b in ballots]) for i in range(3)},
    }
    return pl.DataFrame(columns)


def duckdb_file(folder: Path) -> str:
    import duckdb

    path = folder / "golden.db"
    if not path.exists():
        with duckdb.connect(str(path)) as connection:
            connection.register("given", table().to_arrow())
            connection.execute("create table visits as select * from given")
    return f"duckdb://{path}?table=visits"


def file(folder: Path, suffix: str) -> str:
    path = folder / f"golden.{suffix}"
    return str(path) if path.exists() else write_file(table(), path)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "polars": lambda _: table(),
    "polars lazy": lambda _: table().lazy(),
    "pandas": lambda _: plain_pandas(table()),
    "pandas arrow": lambda _: table().to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": lambda _: table().to_arrow(),
    "duckdb": lambda _: duckdb_relation(table()),
    "duckdb file": duckdb_file,
    "parquet": lambda folder: file(folder, "parquet"),
    "csv": lambda folder: file(folder, "csv"),
    "json lines": lambda folder: file(folder, "ndjson"),
    "ipc": lambda folder: file(folder, "arrow"),
}
"""Sources with named columns."""


def plain_source(name: str, columns: Sequence[str]) -> Any:
    """Some columns without their names, as "numpy" or as "lists"."""
    chosen = table().select(columns)
    return arrays(chosen) if name == "numpy" else [list(row) for row in chosen.iter_rows()]

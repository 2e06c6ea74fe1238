"""Tables of odd values, and formulas over them compared with the plain reference on an engine."""

from __future__ import annotations

import datetime
import random
import struct
from typing import Any

import duckdb
import narwhals as nw
import polars as pl

from gaussmith.expressions.formulas import Formula, evaluate
from gaussmith.expressions.spelling import kinds_of, to_narwhals

INF, NAN = float("inf"), float("nan")
NUMBERS = [
    None,
    NAN,
    INF,
    -INF,
    0.0,
    -0.0,
    1.0,
    -2.5,
    3.0,
    7.0,
    0.1,
    5e-324,
    1e-300,
    1e300,
    -1.7e308,
    4503599627370497.5,
    2.0**63,
]
TEXTS = [
    None,
    "",
    "a",
    "b",
    "it's",
    "12",
    " 7.5\t",
    "1e299",
    "-.5",
    "5.",
    "4.9e-299",
    "1_000",
    "nan",
    "inf",
    "12\n",
    "2024-02-30",
]
TEXTS += [
    "2024-05-31T10:00",
    "2024-13-01",
    "١٢",
    "0.1",
    "123456789.123456789123456789",
    "9" * 40,
    "0." + "3" * 60,
    "é",
    "True",
    " false",
    "truefalse",
    "-INF",
    "1d",
    "2023-02-29",
    "2000-02-29 23:59:59.5Z",
    "1900-02-29",
    "0000-01-01",
    "0001-01-01",
    "9999-12-31T24:00",
    "2020-12-31T07",
    "2021-01-03 19.30",
    "North\n",
    "%_",
    "\U0001f600a",
]
DATES = [
    None,
    datetime.date(1, 1, 1),
    datetime.date(1969, 12, 31),
    datetime.date(2024, 2, 29),
    datetime.date(2021, 1, 3),
    datetime.date(2020, 12, 31),
    datetime.date(1900, 3, 1),
    datetime.date(9999, 12, 31),
]
TIMES = [
    None,
    datetime.datetime(1, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(2024, 12, 30, 7),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
]
WHOLES = [None, 0, 1, -1, 3, 127, 2**53 + 1, -(2**63), 2**63 - 1]


def table(rows: int, generator: random.Random) -> pl.DataFrame:
    pick = generator.choice
    return pl.DataFrame(
        {
            "i": list(range(rows)),
            "x": [pick(NUMBERS) for _ in range(rows)],
            "y": [pick(NUMBERS) for _ in range(rows)],
            "n": [pick(WHOLES) for _ in range(rows)],
            "s": [pick(TEXTS) for _ in range(rows)],
            "t": [pick(TEXTS) for _ in range(rows)],
            "p": [pick([None, True, False]) for _ in range(rows)],
            "d": [pick(DATES) for _ in range(rows)],
            "w": [pick(TIMES) for _ in range(rows)],
        },
        schema={
            "i": pl.Int64,
            "x": pl.Float64,
            "y": pl.Float64,
            "n": pl.Int64,
            "s": pl.String,
            "t": pl.String,
            "p": pl.Boolean,
            "d": pl.Date,
            "w": pl.Datetime("us"),
        },
    )


KINDS = kinds_of(nw.from_native(table(1, random.Random(1))).schema)


def bits(value: object) -> object:
    """A value as what must agree; −0.0 and 0.0 may not be told apart by any comparison, so they are one."""
    return struct.pack("<d", value + 0.0) if isinstance(value, float) else value


def on_polars(frame: pl.DataFrame) -> Any:
    return nw.from_native(frame.lazy())


def on_duckdb(frame: pl.DataFrame) -> Any:
    return nw.from_native(duckdb.connect().from_arrow(frame.to_arrow()))


def compare(frame: Any, rows: list[dict[str, Any]], tried: list[Formula]) -> None:
    spelled = [to_narwhals(formula).alias(f"f{j}") for j, formula in enumerate(tried)]
    result = frame.select("i", *spelled).collect("polars").to_native().sort("i")
    for j, formula in enumerate(tried):
        expected = [bits(evaluate(formula, row)) for row in rows]
        assert [bits(value) for value in result[f"f{j}"].to_list()] == expected, formula.text

"""Formulas on engines: every row has the value that the plain reference gives it, whatever the other rows hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
import pytest
from odd_rows import KINDS, bits, compare, on_duckdb, on_polars, table

from gaussmith.expressions.formulas import Formula, check, evaluate
from gaussmith.expressions.grammar import parse
from gaussmith.expressions.identity import read_number
from gaussmith.expressions.spelling import as_number, derive, kinds_of, plan_derivation, to_narwhals

CALENDAR = [
    "quarter(d)",
    "quarter(s)",
    "weekday(d)",
    "weekday(s)",
    "week(d)",
    "week(t)",
    "week(w)",
    "hour(w)",
    "hour(d)",
]
CALENDAR += ["hour(s)", "days_between(d, w)", "days_between(s, '2000-02-29')"]


def number(depth: int, generator: random.Random) -> str:
    """A random number of the language, as text."""
    pick = generator.choice
    if depth == 0:
        return pick(["x", "y", "n", "s", "p", "3", "0.1", "1e300", "year(d)", "month(s)", "day(d)", *CALENDAR])
    a, b = number(depth - 1, generator), number(depth - 1, generator)
    forms = [f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"({a} / 3)", f"(7 / {a})", f"(-{a})"]
    forms += [f"min({a}, {b})", f"max({a}, {b})", f"abs({a})", f"floor({a})", f"({truth(depth - 1, generator)} * {a})"]
    forms += [f"ceil({a})", f"sqrt({a})", f"sqrt(abs({a}))", f"coalesce({a}, {b})"]
    forms += [f"if({truth(depth - 1, generator)}, {a}, {b})"]
    return pick(forms)


def truth(depth: int, generator: random.Random) -> str:
    """A random truth of the language, as text."""
    pick = generator.choice
    if depth == 0:
        leaves = [
            "p",
            "s == t",
            "s != 'a'",
            "s in ('a', 'it''s')",
            "s not in ('a', '12')",
            "n in (3, 127)",
            "x not in (0, 7)",
        ]
        leaves += [
            "d >= '2024-02-29'",
            "d != s",
            "s > '2024-05-30'",
            "is_null(x)",
            "is_null(s)",
            "is_null(p)",
            "is_null(d)",
            "number(s) < t",
            "contains(s, 'a')",
            "contains(s, '')",
            "starts_with(s, '2024-')",
            "ends_with(t, '\U0001f600a')",
            "ends_with(s, '\n')",
            "contains(coalesce(s, t), '%')",
            "if(p, s, t) == 'a'",
            "if(x > 1, p, s == t)",
            "coalesce(p, x > 1)",
            "coalesce(p, p)",
            "if(p, s, 'b') in ('a', 'b')",
        ]
        return pick(leaves)
    a, b = number(depth - 1, generator), number(depth - 1, generator)
    p, q = truth(depth - 1, generator), truth(depth - 1, generator)
    sign = pick(["==", "!=", "<", "<=", ">", ">="])
    return pick(
        [f"({a} {sign} {b})", f"({p} and {q})", f"({p} or {q})", f"(not {p})", f"is_null({a})", f"({a} {sign} 3)"]
    )


def formulas(count: int, generator: random.Random, deepest: int = 3) -> list[Formula]:
    found: list[Formula] = []
    while len(found) < count:
        make = generator.choice([number, truth])
        try:
            found.append(check(parse(make(generator.randint(0, deepest), generator)), KINDS))
        except ValueError:  # a constant without a value, or too long
            continue
    return found


@pytest.mark.parametrize("engine", [on_polars, on_duckdb])
@pytest.mark.parametrize("rows", [1, 400])
def test_random_formulas(engine: Callable[[pl.DataFrame], Any], rows: int) -> None:
    generator = random.Random()
    frame = table(rows, generator)
    for _ in range(2):
        compare(engine(frame), frame.to_dicts(), formulas(12, generator))


def test_no_rows() -> None:
    frame = table(3, random.Random()).head(0)
    for engine in (on_polars, on_duckdb):
        compare(engine(frame), [], formulas(12, random.Random()))


def test_random_formulas_on_spark(spark: Any) -> None:
    generator = random.Random()
    frame = table(60, generator)
    schema = "i long, x double, y double, n long, s string, t string, p boolean, d date, w timestamp_ntz"
    compare(
        nw.from_native(spark.createDataFrame(frame.rows(), schema)), frame.to_dicts(), formulas(6, generator, deepest=1)
    )


def test_a_row_does_not_depend_on_other_rows(tmp_path: Path) -> None:
    """Polars divides by a repeated value through its reciprocal; the spelling keeps clear of that."""
    for divisor in (3.0, 7.0):
        folder = tmp_path / f"h={divisor}"
        folder.mkdir()
        pl.DataFrame({"x": [float(k) for k in range(500)]}).write_parquet(folder / "part.parquet")
    scan = pl.scan_parquet(tmp_path / "**" / "*.parquet", hive_schema={"h": pl.Float64})
    formula = check(parse("x / h"), {"x": "number", "h": "number"})
    for engine in ("streaming", "in-memory"):
        native: Any = nw.from_native(scan).with_columns(to_narwhals(formula).alias("q")).to_native()
        for row in native.collect(engine=engine).to_dicts():
            assert row["q"] == row["x"] / row["h"]
    mixed = check(parse("x / max(x * 0, 3)"), {"x": "number"})  # one branch for every row of the chunk
    values = nw.from_native(pl.LazyFrame({"x": [float(k) for k in range(500)]})).select(to_narwhals(mixed).alias("q"))
    assert values.collect()["q"].to_list() == [k / 3 for k in range(500)]


def test_derive_and_filter_everywhere() -> None:
    frame = table(300, random.Random())
    derivation = plan_derivation({"q": "x / n", "big": "q > 1"}, "big or s in ('a', 'b') and not p", KINDS)
    expected = []
    for row in frame.to_dicts():
        row["q"] = evaluate(derivation.columns[0][1], row)
        row["big"] = evaluate(derivation.columns[1][1], row)
        assert derivation.where is not None
        if evaluate(derivation.where, row):
            expected.append((row["i"], bits(row["q"]), row["big"]))
    for engine in (on_polars, on_duckdb):
        result = derive(engine(frame), derivation).select("i", "q", "big").collect("polars").to_native().sort("i")
        assert [(i, bits(q), big) for i, q, big in result.rows()] == expected


def test_the_longest_formulas_run() -> None:
    long = " + ".join(["x"] * 101)
    logic = " and ".join(["(x > y)"] * 30)
    frame = table(20, random.Random())
    for engine in (on_polars, on_duckdb):
        compare(engine(frame), frame.to_dicts(), [check(parse(text), KINDS) for text in (long, logic)])


def test_columns_as_numbers() -> None:
    frame = table(100, random.Random())
    for engine in (on_polars, on_duckdb):
        result = engine(frame).select("i", as_number("s", "text").alias("s"), as_number("x", "number").alias("x"))
        native = result.collect("polars").to_native().sort("i")
        assert native["s"].to_list() == [read_number(text) for text in frame["s"]]
        assert [bits(value) for value in native["x"].to_list()] == [bits(value) for value in frame["x"].to_list()]


def test_long_numbers_are_rounded_once() -> None:
    texts = ["0.500000000000000166533453693773", "12345678901234567.123", "-9007199254740993.0", None]
    frame = pl.DataFrame({"i": range(4), "w": pl.Series(texts).cast(pl.Decimal(38, 20))})
    formula = check(parse("w * 1"), kinds_of(nw.from_native(frame).schema))
    for engine in (on_polars, on_duckdb):
        result = engine(frame).select("i", to_narwhals(formula).alias("w")).collect("polars").to_native().sort("i")
        assert result["w"].to_list() == [None if value is None else float(value) for value in frame["w"]]

"""Every function of the language on odd values: the value of the plain reference, bit by bit, on every engine."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import narwhals as nw
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_rows import KINDS, NUMBERS, TEXTS, WHOLES, bits, compare, on_duckdb, on_polars, table

from gaussmith.expressions.formulas import check, evaluate
from gaussmith.expressions.grammar import parse, written
from gaussmith.expressions.spelling import to_narwhals

ODDLY_NESTED = ["a - (b - c) - -d", "not (a == b) or (not c) == d", "`x y` not in (-1, 2e300)"]

FUNCTIONS = [
    "if(x > 1, y, n)",
    "if(p, x, 7)",
    "if(is_null(x), 0, x) + 1",
    "if(p, s, 7)",
    "if(if(p, x > 1, y > 1), 1, 2)",
    "coalesce(x, y, 3)",
    "coalesce(x / y, y / x)",
    "coalesce(s, t)",
    "if(x > y, 'more', s)",
    "if(x > y, 'more', 'less')",
    "coalesce(p, x > 1)",
    "min(x, y, n)",
    "max(x, n, 0)",
    "abs(n)",
    "sqrt(x)",
    "sqrt(n)",
    "sqrt(s)",
    "sqrt(x * x + y * y)",
    "floor(x)",
    "ceil(x)",
    "ceil(n / 10)",
    "days_between(d, '2024-02-29')",
    "days_between(s, w)",
    "days_between('0001-01-01', t)",
    *(
        f"{name}({column})"
        for name in ("year", "quarter", "month", "week", "day", "weekday", "hour")
        for column in "dws"
    ),
    *(
        f"{name}(s, '{part}')"
        for name in ("contains", "starts_with", "ends_with")
        for part in ("", "a", "%", "é", "12")
    ),
    "contains(if(p, s, t), '-')",
    "s in ('a', 'é', '')",
    "n in (3, 9223372036854775807)",
]


def crossed() -> pl.DataFrame:
    """Rows in which each odd value meets many others."""
    import random

    return table(250, random.Random(7))


@pytest.mark.parametrize("engine", [on_polars, on_duckdb])
def test_functions(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = crossed()
    for start in range(0, len(FUNCTIONS), 8):
        tried = [check(parse(text), KINDS) for text in FUNCTIONS[start : start + 8]]
        compare(engine(frame), frame.to_dicts(), tried)


def test_functions_on_spark(spark: Any) -> None:
    frame = crossed().head(80)
    schema = "i long, x double, y double, n long, s string, t string, p boolean, d date, w timestamp_ntz"
    rows = spark.createDataFrame(frame.rows(), schema)
    for start in range(0, len(FUNCTIONS), 16):
        tried = [check(parse(text), KINDS) for text in FUNCTIONS[start : start + 16]]
        compare(nw.from_native(rows), frame.to_dicts(), tried)


NUMBER = st.none() | st.floats() | st.sampled_from(NUMBERS)
TEXT = st.none() | st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DATE = st.none() | st.dates()


@settings(deadline=None, max_examples=10)
@given(st.lists(st.tuples(NUMBER, NUMBER, st.sampled_from(WHOLES), TEXT, TEXT, DATE), min_size=1, max_size=20))
def test_functions_on_any_values(rows: list[tuple[Any, ...]]) -> None:
    names, kinds = ["x", "y", "n", "s", "t", "d"], [pl.Float64, pl.Float64, pl.Int64, pl.String, pl.String, pl.Date]
    frame = pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")
    texts = ["sqrt(x)", "ceil(y)", "coalesce(x, y)", "if(x < y, n, x)", "week(d)", "days_between(d, s)", "weekday(s)"]
    texts += ["hour(s)", "contains(s, 'a')", "ends_with(s, '1')", "coalesce(s, t)", "quarter(d)"]
    tried = [check(parse(text), KINDS) for text in texts]
    for engine in (on_polars, on_duckdb):
        spelled = [to_narwhals(formula).alias(f"f{j}") for j, formula in enumerate(tried)]
        found = engine(frame.with_row_index("i")).select("i", *spelled).collect("polars").to_native().sort("i")
        for j, formula in enumerate(tried):
            expected = [bits(evaluate(formula, row)) for row in frame.to_dicts()]
            assert [bits(value) for value in found[f"f{j}"].to_list()] == expected, formula.text


def test_every_day_of_the_calendar() -> None:
    """Weeks, weekdays and distances of every day of 400 years, after which the calendar repeats, and of both ends."""
    last, cycle = datetime.date.max.toordinal(), datetime.date(401, 1, 1).toordinal() - 1
    kept = pl.int_range(1, last + 1, eager=True)
    middle = datetime.date(1800, 1, 1).toordinal()
    kept = kept.filter((kept < 800) | kept.is_between(middle, middle + cycle) | (kept > last - 800))
    days = pl.DataFrame({"o": kept})
    days = days.with_columns((pl.col("o") - 719_163).cast(pl.Int32).cast(pl.Date).alias("d"))
    days = days.with_columns(pl.col("d").dt.strftime("%Y-%m-%d").alias("s"))
    for column in "ds":
        texts = [f"weekday({column})", f"week({column})", f"days_between('0001-01-01', {column}) + 1"]
        spelled = [to_narwhals(check(parse(text), KINDS)).alias(f"f{j}") for j, text in enumerate(texts)]
        found: Any = nw.from_native(days.lazy()).select("o", "d", *spelled).collect().to_native()
        assert found.height == days.height > cycle
        assert (found["f0"] == found["d"].dt.weekday()).all()
        assert (found["f1"] == found["d"].dt.week()).all()
        assert (found["f2"] == found["o"]).all()


def test_roots_are_rounded_correctly() -> None:
    import random
    import struct

    generator = random.Random()
    drawn = [struct.unpack("<d", generator.randbytes(8))[0] for _ in range(50_000)]
    numbers = [abs(x) for x in drawn if math.isfinite(x)]
    frame = pl.DataFrame({"i": range(len(numbers)), "x": numbers})
    formula = check(parse("sqrt(x)"), KINDS)
    for engine in (on_polars, on_duckdb):
        found = engine(frame).select("i", to_narwhals(formula).alias("f")).collect("polars").to_native().sort("i")
        assert found["f"].to_list() == [math.sqrt(x) for x in numbers]


@pytest.mark.parametrize("text", [*FUNCTIONS, *ODDLY_NESTED])
def test_written_trees_parse_again(text: str) -> None:
    tree = parse(text).tree
    assert parse(written(tree)).tree == tree
    assert len(written(tree)) <= len(text) + 20

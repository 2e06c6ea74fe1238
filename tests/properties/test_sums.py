"""Promises 3, 4 and 5 as properties: sensitivity in exact integers, no order, no partition, no value that fails."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from summing import total_records

from gaussmith.domains.encoding import BALL_STEPS, BallEncoding, BoxEncoding
from gaussmith.engines.engine import PIECE_ROWS, Totals
from gaussmith.engines.numpy import FEW_ROWS
from gaussmith.engines.registry import open_source
from gaussmith.errors import DomainError
from gaussmith.expressions.spelling import as_number
from gaussmith.totals.records import EXACT_ROWS, PIECE_COLUMNS, PIECE_NUMBERS, BallKernel, BoxKernel

Array = npt.NDArray[Any]
ROWS = 600
EDGES = np.array(
    [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e308, -1e308, 1.7976931348623157e308, np.inf, -np.inf, np.nan, 1.0, -1.0]
)

finite = st.floats(allow_nan=False, allow_infinity=False)


ordinary = st.one_of(finite, st.floats(-1e4, 1e4), st.integers(-1000, 1000).map(float))


@st.composite
def boxes(draw: st.DrawFn) -> tuple[BoxEncoding, float]:
    """Codes of one column with any bounds that doubles can divide, and its upper bound."""
    a, b = draw(ordinary), draw(ordinary)
    low, high = min(a, b), max(a, b)
    substitute = draw(st.floats(low, high)) if low < high else low
    try:
        return BoxEncoding.for_bounds([low], [high], [substitute]), high
    except DomainError:
        assume(False)
        raise


def nasty(codes: BoxEncoding, seed: int, rows: int = ROWS) -> Array:
    """Values everywhere: on edges, next to the bounds and to the borders between codes, and with any bits at all."""
    random = np.random.default_rng(seed)
    low, top, scale = codes.low[0], codes.top[0], codes.scale[0]
    with np.errstate(all="ignore"):
        inside = low + random.random(rows) * (top - low)
        borders = low + (random.integers(0, codes.steps[0] + 1, rows) + 0.5) / scale
        borders = np.nextafter(borders, random.choice([-np.inf, np.inf], rows))
        bounds = np.nextafter(random.choice([low, top], rows), random.choice([-np.inf, np.inf], rows))
        bits = random.integers(0, 2**64, rows, dtype=np.uint64, endpoint=False).view(np.float64)
    choices = np.stack([inside, borders, bounds, bits, random.choice(EDGES, rows)])
    return choices[random.integers(0, len(choices), rows), np.arange(rows)]


def box_total(codes: BoxEncoding, x: Array) -> Totals:
    return total_records(open_source(x), codes)


seeds = st.integers(0, 2**63)


@settings(max_examples=300, deadline=None)
@given(boxes(), seeds)
def test_codes_of_a_box_stay_within_its_steps(box: tuple[BoxEncoding, float], seed: int) -> None:
    """Promise 3: 300 × 600 neighbour pairs; adding a record adds a code in {0, …, steps}, a point inside the bounds."""
    codes, high = box
    x = nasty(codes, seed)
    steps, low, scale = int(codes.steps[0]), Fraction(codes.low[0]), Fraction(codes.scale[0])
    coded = codes.encode(x[:, None])[:, 0].tolist()
    assert min(coded) >= 0 and max(coded) <= steps
    assert low + Fraction(steps) / scale <= Fraction(high)
    everyone = box_total(codes, x)
    assert everyone == Totals([sum(coded)], ROWS)
    for i in (0, seed % ROWS):
        without = box_total(codes, np.delete(x, i))
        assert 0 <= everyone.sums[0] - without.sums[0] <= steps
        assert everyone.records - without.records == 1


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 70), st.floats(1e-300, 1e300), finite, seeds)
def test_codes_of_a_ball_stay_within_its_norm(d: int, radius: float, centre: float, seed: int) -> None:
    """Promise 3: each record's integers have norm at most 2^42, in exact integers; the kernels add exactly these."""
    random = np.random.default_rng(seed)
    codes = BallEncoding(centre * random.random(d), radius)
    with np.errstate(all="ignore"):
        ordinary = codes.centre + radius * random.normal(size=(60, d)) * 2.0 ** random.integers(-60, 60, (60, 1))
        on_the_sphere = random.normal(size=(60, d))
        on_the_sphere *= radius / np.sqrt((on_the_sphere**2).sum(axis=1))[:, None]
        anything = random.integers(0, 2**64, (30, d), dtype=np.uint64, endpoint=False).view(np.float64)
        odd = np.where(random.random((30, d)) < 0.1, random.choice(EDGES, (30, d)), ordinary[:30])
    rows = np.vstack([ordinary, codes.centre + on_the_sphere, anything, odd])
    coded = codes.encode(rows).tolist()
    assert max(sum(k * k for k in record) for record in coded) <= BALL_STEPS**2
    assert total_records(open_source(rows), codes) == Totals(
        [sum(column) for column in zip(*coded, strict=True)], len(rows)
    )


@settings(max_examples=25, deadline=None)
@given(boxes(), seeds)
def test_neither_order_nor_partition_matters(box: tuple[BoxEncoding, float], seed: int) -> None:
    """Promise 4: shuffled, in 37 parts, in other layouts, on other engines."""
    codes, _ = box
    random = np.random.default_rng(seed)
    x = nasty(codes, seed)
    wanted = box_total(codes, x)
    shuffled = random.permutation(x)
    parts = np.split(shuffled, np.sort(random.integers(0, ROWS, 36)))
    assert box_total(codes, shuffled) == wanted
    separately = [box_total(codes, part) for part in parts]
    assert Totals([sum(t.sums[0] for t in separately)], sum(t.records for t in separately)) == wanted
    chunks = pl.concat([pl.DataFrame({"x": part}) for part in parts], rechunk=False)
    assert total_records(open_source(chunks), codes) == wanted
    assert total_records(open_source(chunks.lazy().filter(pl.lit(True))), codes) == wanted
    assert total_records(open_source(chunks.to_arrow().to_reader(41)), codes) == wanted


@pytest.mark.parametrize(
    "rows", [0, 1, EXACT_ROWS - 1, EXACT_ROWS + 1, PIECE_ROWS, PIECE_ROWS + 1, 5 * PIECE_ROWS + 77]
)
@pytest.mark.parametrize("columns", [1, PIECE_COLUMNS, PIECE_COLUMNS + 1])
def test_pieces_of_any_size_add_up(rows: int, columns: int) -> None:
    """The largest code in every place: sums as large as can be are exact, padding and threads change nothing."""
    codes = BoxEncoding.for_bounds([0.0] * columns, [1.0] * columns, [0.5] * columns)
    x = np.full((rows, columns), 7.0)
    assert total_records(open_source(x), codes) == Totals([rows * int(s) for s in codes.steps], rows)
    x[rows // 2 :, 0] = np.nan
    half = int(codes.steps[0]) // 2
    assert total_records(open_source(x), codes).sums[0] == (rows // 2) * int(codes.steps[0]) + (rows - rows // 2) * half


@pytest.mark.parametrize("rows", [1, EXACT_ROWS + 1, PIECE_NUMBERS // 4, PIECE_NUMBERS // 2 + 1, PIECE_NUMBERS + 77])
@pytest.mark.parametrize("columns", [1, 2, 3, 5])
def test_columns_of_any_length_add_up(rows: int, columns: int) -> None:
    """Columns go in pieces of their own: a few long ones or many short ones at a time."""
    codes = BoxEncoding.for_bounds([0.0] * columns, [2.0 - 2.0**-41] * columns, [0.0] * columns)
    each = [np.full(rows, j + 1.0) for j in range(columns)]
    each[-1][rows // 2] = np.nan
    kernel = BoxKernel(codes)
    kernel.add(each)
    wanted = [rows * int(code) for code in codes.encode(np.arange(1.0, columns + 1)[None])[0]]
    wanted[-1] = (rows - 1) * (wanted[-1] // rows)
    assert kernel.sums == wanted


@pytest.mark.parametrize("columns", [1, 150])
def test_wide_tables_go_in_pieces(columns: int) -> None:
    """More columns than there is room for in one piece, with few rows."""
    codes = BoxEncoding.for_bounds([0.0] * columns, [4.0] * columns, [0.0] * columns)
    kernel = BoxKernel(codes)
    kernel.add([np.array([j % 5.0, np.nan]) for j in range(columns)])
    assert [s / 2**39 for s in kernel.sums] == [min(j % 5, 4) for j in range(columns)]


def test_widest_codes_add_exactly() -> None:
    """Steps just below 2^42, the most a column can have: the float sums inside a piece are at their limit of 2^53."""
    codes = BoxEncoding.for_bounds([0.0], [2.0 - 2.0**-41], [0.0])
    assert 2**42 - 2 <= int(codes.steps[0]) <= 2**42
    kernel = BoxKernel(codes)
    kernel.add([np.full(3 * PIECE_NUMBERS + 5, np.inf)])
    assert kernel.sums == [(3 * PIECE_NUMBERS + 5) * int(codes.steps[0])]
    ball = BallKernel(BallEncoding(np.zeros(1), 1.0))
    ball.add([np.full(3 * PIECE_ROWS + 5, -1e300)])
    assert ball.sums == [(3 * PIECE_ROWS + 5) * int(BallEncoding(np.zeros(1), 1.0).encode(np.array([[-1e300]]))[0, 0])]


def test_sums_beyond_64_bits_are_exact() -> None:
    """2^22 rows of the largest code pass 2^63."""
    codes = BoxEncoding.for_bounds([0.0], [2.0 - 2.0**-41], [0.0])
    rows = 1 << 22
    wanted = Totals([rows * int(codes.steps[0])], rows)
    assert wanted.sums[0] >= 2**63
    frame = pl.LazyFrame({"x": pl.repeat(1e9, rows, eager=True)})
    relation = duckdb.sql(f"select 1e9::double as x from range({rows})")
    assert total_records(open_source(relation), codes) == wanted
    assert total_records(open_source(frame), codes) == wanted


# ---- text ------------------------------------------------------------------------------------------------------------

GRAMMAR = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[Ii][Nn][Ff](?:[Ii][Nn][Ii][Tt][Yy])?)")


def read(text: str) -> float:
    """The rule for texts, in Python, whose own conversion rounds correctly. Missing is NaN."""
    trimmed = text.strip(" \t")
    if trimmed.isascii() and trimmed.lower() in ("true", "false"):
        return float(trimmed.lower() == "true")
    return float(trimmed) if GRAMMAR.fullmatch(trimmed) else math.nan


ODD_TEXTS = [
    "",
    " ",
    ".",
    "-",
    "+",
    "e5",
    "1e",
    "1e+",
    "1_000",
    "1,5",
    "0x10",
    "nan",
    "NaN",
    "-nan",
    "١٢",
    "５",
    "1\n",
    "1\r",
]
ODD_TEXTS += [
    "inf",
    "-INF",
    "+Infinity",
    "infinit",
    "true",
    "FALSE",
    "falſe",
    "tRue ",
    "yes",
    "1.",
    ".5",
    "-.5e-3",
    "00012",
]
ODD_TEXTS += [
    "1e400",
    "-1e400",
    "1e-400",
    "1e99999999999999999999",
    "1e-99999999999999999999",
    "9" * 400,
    "0." + "0" * 400 + "1",
]
ODD_TEXTS += [
    "9007199254740993",
    "9007199254740993.0",
    "4503599627370497.5",
    "2.2250738585072011e-308",
    "5e-324",
    "2e-324",
]
ODD_TEXTS += [
    "1.7976931348623159e308",
    " 2",
    "2\t",
    "\u00a02",
    "1 2",
    "--1",
    "1e5e5",
    "1d",
    "1f",
    "0b1",
    "\x00",
    "1\x00",
    "🙂",
]

numbers = st.one_of(
    st.from_regex(GRAMMAR, fullmatch=True),
    st.floats().map(repr),
    st.decimals(allow_nan=False).map(str),
    st.integers().map(str),
)
texts = st.one_of(
    numbers, st.text(max_size=12), st.sampled_from(ODD_TEXTS), st.builds("{}{}".format, numbers, st.text(max_size=2))
)


def tidy(values: list[float | None]) -> list[float | None]:
    """NaN and null are both missing."""
    return [None if v is None or math.isnan(v) else v for v in values]


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=60))
def test_text_becomes_the_nearest_double_or_is_missing(values: list[str]) -> None:
    """Promise 5: any text at all, on Polars and on DuckDB, one rule; compared with Python's own conversion."""
    values = [v.encode("utf-8", "replace").decode() for v in values] + ODD_TEXTS
    frame = pl.DataFrame({"x": values})
    found = nw.from_native(frame).select(as_number("x", "text").alias("x")).to_native()["x"].to_list()
    assert tidy(found) == tidy([read(v) for v in values])
    connection = duckdb.connect()
    connection.execute("create table t (i integer, x varchar)")
    connection.executemany("insert into t values (?, ?)", list(enumerate(values)))
    numbers = nw.from_native(connection.table("t")).select("i", as_number("x", "text").alias("x")).collect("polars")
    assert tidy(numbers.to_native().sort("i")["x"].to_list()) == tidy([read(v) for v in values])


def test_few_rows_and_many_are_coded_alike():
    """A handful of records goes another way through numpy; the integers are the same."""
    odd = [0.0, -0.0, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan, 0.1, 1 / 3, 99.99999999999999, 100.0]
    rows = np.random.default_rng().choice(odd, size=(FEW_ROWS, 40))
    codes = BoxEncoding.for_bounds(np.zeros(40), np.full(40, 100.0), np.full(40, 50.0))
    few = total_records(open_source(rows), codes)
    many = total_records(open_source(np.vstack([rows, rows, rows])), codes)
    assert many.sums == [3 * s for s in few.sums]
    assert many.records == 3 * few.records

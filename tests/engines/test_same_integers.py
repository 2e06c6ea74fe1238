"""Promises 4 and 5: one table of odd values, every engine, the same integers; no value can make it fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Context, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from engines import ENGINES, duckdb_relation
from refusals import refused
from summing import total_people, total_records

import gaussmith as gm
from gaussmith.domains.cells import CellEncoding
from gaussmith.domains.counts import CountEncoding
from gaussmith.domains.encoding import BallEncoding, BoxEncoding, Encoding
from gaussmith.domains.features import TOTAL
from gaussmith.domains.moments import MomentEncoding, coarse_codes
from gaussmith.engines.engine import Totals
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import Source
from gaussmith.expressions.spelling import as_number, kinds_of, plan_derivation
from gaussmith.papers.looks import ColumnCellEncoding, LengthCellEncoding
from gaussmith.papers.points import PointEncoding
from gaussmith.papers.sparse import SparseEncoding
from gaussmith.papers.votes import VoteEncoding
from gaussmith.planning.row_rule import RowRule
from gaussmith.totals.features import Coding, Contribution, PersonTotal
from gaussmith.totals.opened import open_data, total
from gaussmith.totals.records import MaskedEncoding

NASTY = [0.0, -0.0, 5e-324, -5e-324, 2.3e-308, 1e308, -1e308, float("inf"), float("-inf"), float("nan"), None]
NASTY += [100.0, np.nextafter(100, 0), np.nextafter(0, -1), 1 / 3, 49.999999999999993, -1e-9, 2.0**53 + 1, 17.25]


def decimals(digits: int, scale: int, rows: int) -> list[Decimal]:
    """Random decimals of so many digits, signs mixed."""
    random = np.random.default_rng()
    parts = random.integers(0, 10**9, (rows, 5)).tolist()
    wide = Context(prec=60)
    numbers = [int("".join(f"{p:09d}" for p in row)) % 10**digits * (-1) ** row[0] for row in parts]
    return [Decimal(v).scaleb(-scale, wide) for v in numbers]


def table(rows: int) -> pl.DataFrame:
    """Every numeric type, with every value that is odd in it. Fresh values on each run."""
    random = np.random.default_rng()
    pick = [NASTY[i] for i in random.integers(0, len(NASTY), rows)]
    some: list[Any] = [
        v if odd else float(w)
        for v, w, odd in zip(pick, random.normal(50, 40, rows), random.random(rows) < 0.5, strict=True)
    ]
    gaps = random.random(rows) < 0.2

    def gappy(values: list[Any]) -> list[Any]:
        return [None if gap else v for v, gap in zip(values, gaps, strict=True)]

    with np.errstate(over="ignore"):
        single = np.array([np.nan if v is None else v for v in some], np.float64).astype(np.float32)
    edge = np.array([2**53 + 1, 2**63 - 1, -(2**63), 2**62 + 1], np.int64)
    i64 = np.where(random.random(rows) < 0.3, random.choice(edge, rows), random.integers(-(2**63), 2**63 - 1, rows))
    return pl.DataFrame(
        {
            "f64": pl.Series(some, dtype=pl.Float64),
            "f32": pl.Series(single),
            "i64": pl.Series(gappy(i64.tolist()), dtype=pl.Int64),
            "u64": pl.Series(random.integers(0, 2**64 - 1, rows, dtype=np.uint64)),
            "i8": pl.Series(random.integers(-128, 128, rows), dtype=pl.Int8),
            "u16": pl.Series(gappy(random.integers(0, 2**16, rows).tolist()), dtype=pl.UInt16),
            "i32": pl.Series(random.integers(-(2**31), 2**31, rows), dtype=pl.Int32),
            "yes": pl.Series(gappy((random.random(rows) < 0.5).tolist()), dtype=pl.Boolean),
            "money": pl.Series(gappy(decimals(12, 2, rows)), dtype=pl.Decimal(12, 2)),
            "wide": pl.Series(decimals(38, 10, rows), dtype=pl.Decimal(38, 10)),
            "whole": pl.Series(decimals(38, 0, rows), dtype=pl.Decimal(38, 0)),
            "none": pl.Series([None] * rows, dtype=pl.Float64),
            "far": pl.Series(random.normal(1e9, 1e-3, rows)),
        }
    )


LOW = [0.0, 0, -(2.0**62), 2.0**53, -100, 10, -1e9, 0, -5e9, -1e27, -1e37, -1, 1e9 - 1]
HIGH = [100.0, 1 / 3, 2.0**62, 2.0**63, 100, 60000, 1.5e9, 1, 5e9, 1e27, 1e38, 2, 1e9 + 1]
BOX = BoxEncoding.for_bounds(LOW, HIGH, [50, 0.1, 7, 2.0**60, 0, 11.5, 0, 0.5, 0.01, 0, 3, 1.5, 1e9])
BALL = BallEncoding((np.array(LOW) + np.array(HIGH)) / 2, 1e20)
SMALL_BALL = BallEncoding(np.zeros(13), 2.5e-308)
ELLIPSOID = BallEncoding(BALL.centre, (np.array(HIGH) - np.array(LOW)) * 1.7)
CODINGS: dict[str, Any] = {
    "box": BOX,
    "ball": BALL,
    "small ball": SMALL_BALL,
    "ellipsoid": ELLIPSOID,
    "counts": CountEncoding(13, at_most=4),
    "all counts": CountEncoding(13, at_most=13),
    "votes": VoteEncoding(13),
    "sparse": SparseEncoding.for_bounds(np.array(HIGH), at_most=5),
    "points": PointEncoding(
        np.array([np.array(LOW), np.array(HIGH), (np.array(LOW) + np.array(HIGH)) / 2, np.array(LOW)])
    ),
    "moments": MomentEncoding(
        coarse_codes(np.array(LOW), np.array(HIGH), BOX.substitute, None),
        (*((j, j) for j in range(13)), (0, 1), (0, 12), (3, 11), (4, 6)),
    ),
    "column cells": ColumnCellEncoding(np.linspace(LOW, HIGH, 5).T),
    "column cells at odd edges": ColumnCellEncoding(
        np.tile([-1e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.25, 17.25, 50.0, 50.0, 100.0, 1e308], (13, 1))
    ),
    "lengths": LengthCellEncoding(BALL.centre, ELLIPSOID.scale, np.array([0.0, 0.2, 0.3, 0.5, 1.0, 2.0, 1e300])),
    "lengths of small numbers": LengthCellEncoding(np.zeros(13), np.full(13, 1e300), 2.0 ** np.arange(-300, 900, 100)),
    "all sparse": SparseEncoding.for_bounds(np.array(HIGH), at_most=13),
}


def expected(data: pl.DataFrame, codes: Any) -> Totals:
    """The plain spelling of `codes.py`, on values that Python itself turned into doubles."""
    rows = [[float("nan") if v is None else float(v) for v in row] for row in data.iter_rows()]
    coded = codes.encode(np.array(rows, np.float64).reshape(-1, data.width))
    return Totals([sum(column) for column in coded.T.tolist()] if rows else [0] * codes.width, data.height)


@pytest.fixture(scope="module", params=[0, 1, 3000])
def data(request: pytest.FixtureRequest) -> pl.DataFrame:
    return table(request.param)


def opened(engine: str, data: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Source:
    """The data as an engine holds it. Spark starts when the first test asks for it."""
    return open_source(ENGINES[engine](data, folder, lambda: request.getfixturevalue("spark")), columns=data.columns)


@pytest.fixture(scope="module")
def known(data: pl.DataFrame) -> dict[str, Totals]:
    """What every coding has to give, worked out once for all engines."""
    return {coding: expected(data, codes) for coding, codes in CODINGS.items()}


@pytest.fixture(scope="module")
def held(
    data: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Callable[[str], Any]:
    """The data as an engine holds it, made once for all codings; a reader, which can be read once, for each."""

    def make(engine: str) -> Any:
        return ENGINES[engine](data, tmp_path_factory.mktemp("held"), lambda: request.getfixturevalue("spark"))

    kept = cache(make)
    return lambda engine: make(engine) if engine == "pyarrow reader" else kept(engine)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_integers(
    engine: str, coding: str, data: pl.DataFrame, held: Callable[[str], Any], known: dict[str, Totals]
) -> None:
    source = open_source(held(engine), columns=data.columns)
    found = total_records(source, CODINGS[coding], None if source.names is None else data.columns)
    assert found == known[coding]


@pytest.mark.parametrize("engine", ENGINES)
def test_ballots(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Votes that are rankings, and some that are not; and then nothing but the number of records."""
    random = np.random.default_rng()
    rows: list[list[float | None]] = [[float(rank) for rank in random.permutation(4) + 1] for _ in range(200)]
    rows += [[1.0] * 4, [None] * 4, [0.0, 1.0, 2.0, 3.0], [1.5, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, float("inf")]]
    rows += [[1.0, None, 2.0, 3.0], [1.0, float("nan"), 2.0, 3.0], [-1.0, 2.0, 3.0, 4.0], [1e300, 1.0, 2.0, 3.0]]
    data = pl.DataFrame(rows, schema=list("abcd"), orient="row").cast(pl.Float64)
    source = opened(engine, data, tmp_path, request)
    names = None if source.names is None else data.columns
    assert total_records(source, VoteEncoding(4), names) == expected(data, VoteEncoding(4))
    if source.names is not None and engine != "pyarrow reader":  # an array has all its columns; a reader is read once
        assert total_records(source, BoxEncoding.for_bounds([], [], []), []) == Totals([], len(rows))


@pytest.mark.parametrize("engine", ENGINES)
def test_filters_and_derived_columns(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Filtered records go through the kernels; people without a unit column are the same records another way."""
    data = table(400)
    source = opened(engine, data, tmp_path, request)
    bounds, sure = gm.Box({"q": (-10, 90), "u16": (0, 1e9)}), gm.Guarantee(mu=1)
    if source.names is None:
        with refused("request-for-array", word="where"):
            open_data(source, replace(gm.plan(bounds, sure).query, row_rule=RowRule(((TOTAL, "q"),), where="q > 0")))
        return
    draw = gm.plan(bounds, sure, missing={"q": 1, "u16": 2}).query
    codes = draw.block.codes
    rule = RowRule(((TOTAL, "q"), (TOTAL, "u16")), columns=(("q", "f64 * 2 - i8"),), where="q < 150 or i32 > 0")
    (found,) = total(open_data(source, replace(draw, row_rule=rule)))
    frame = open_source(data)
    derivation = plan_derivation(dict(rule.columns), rule.where, kinds_of(frame.schema))
    features = tuple(PersonTotal(name, Coding.of(codes, j)) for j, (_, name) in enumerate(rule.features))
    assert 0 < found.records < 400 and found == total_people(frame, Contribution(features), derivation)


def test_the_table_of_engines_is_complete() -> None:
    """Whatever can be opened is in the table: no kind of frame, no format and no coding can be left out."""
    import gaussmith.engines.files as files
    import gaussmith.engines.registry as registry

    covered = {"polars", "pandas", "pyarrow", "duckdb", "_duckdb", "pyspark"}
    assert {module for engine in registry.ENGINES.values() for module in engine.modules} == covered
    assert {"polars eager", "pandas", "pyarrow table", "duckdb", "spark"} <= set(ENGINES)
    several = {CellEncoding, MaskedEncoding}  # cells, and codings of several draws at once, are tried elsewhere
    assert {type(codes) for codes in CODINGS.values()} == set(Encoding.__subclasses__()) - several
    formats = {"parquet": "Parquet", "ipc": "Arrow IPC", "csv": "CSV", "tsv": "TSV", "json lines": "JSON lines"}
    assert set(formats.values()) == set(files.FORMATS.values()) and set(formats) <= set(ENGINES)


def test_text_is_read_alike_on_spark(spark: Any) -> None:
    """The rule for texts through Java's regular expressions and conversion, against Python's."""
    numbers = ["1", " 2\t", "+.5", "-5.", "1E5", "-1e400", "1e400", "1e-400", "9007199254740993", "-inf", "Infinity"]
    others = ["", "nan", "1d", "1f", "0x10", "1_000", "1\n", "٣", "1e", ".", "yes", "5 kg", "NULL"]
    frame = spark.createDataFrame([(text,) for text in [*numbers, *others, "TRUE", "false", None]], "x string")
    found = nw.from_native(frame).select(as_number("x", "text").alias("x")).collect("polars").to_native()["x"].to_list()
    assert found == [float(text) for text in numbers] + [None] * len(others) + [1.0, 0.0, None]


def test_wide_boxes_and_balls_in_blocks(tmp_path: Path) -> None:
    random = np.random.default_rng()
    rows = random.normal(0, 1, (50, 70))
    rows[3, 69] = np.nan
    data = pl.DataFrame({f"x{j}": rows[:, j] for j in range(70)})
    for codes in (BoxEncoding.for_bounds([-1.0] * 70, [2.0] * 70, [0.25] * 70), BallEncoding(np.full(70, 0.1), 7.0)):
        wanted = expected(data, codes)
        assert total_records(open_source(rows), codes) == wanted
        assert total_records(open_source(data), codes) == wanted
        assert total_records(open_source(duckdb_relation(data)), codes) == wanted


def test_missing_booleans_of_plain_pandas_are_refused_before_they_are_looked_at() -> None:
    frame = table(30).select("yes").to_pandas()
    with refused("column-of-objects", column="yes"):
        total_records(open_source(frame), BoxEncoding.for_bounds([0], [1], [0]))

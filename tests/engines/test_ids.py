"""Which ids are the same, on every engine: the same people for texts, integers, decimals, floats and times."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pytest
from refusals import refused
from summing import total_groups, total_people

from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.registry import open_source
from gaussmith.expressions.keys import declare_groups
from gaussmith.expressions.spelling import plan_derivation
from gaussmith.totals.features import Coding, Contribution, PersonTotal

ONE = Coding.of(BoxEncoding.for_bounds([0], [1], [0]))
SECONDS = 2**61
"""In milliseconds, 64 bits take these seconds for 0."""

SEVENTEEN = ["17", "017", "+17", "17.0", " 17 ", "\t17.", "00017.000"]
OTHERS = ["-17", "18", "9" * 40, "17e0", "1_7", "17.5", "", " ", "+", ".0", "0x11", "١٧", "17\n", "x", None]
ZERO = ["0", "-0", "+0.0", "000", "-0.00"]
LONG = ["9" * 40, "0" + "9" * 40 + ".0"]
NUMBERED = 4
"""17, −17, 18 and forty nines are the people in them, beside 0."""

Engine = Callable[[pa.Table], Any]


def on_duckdb(table: pa.Table) -> Any:
    connection = duckdb.connect()
    connection.register("rows", table)
    connection.execute("create table data as from rows")
    return connection.table("data")


ENGINES: dict[str, Engine] = {
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.DataFrame(pl.from_arrow(table)).lazy(),
    "pyarrow": lambda table: table,
    "reader": lambda table: table.to_reader(2),
    "dataset": lambda table: ds.dataset(table),
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "duckdb": on_duckdb,
}


def people(source: Any, ids: str | None = None, unit: str = "u") -> tuple[int, float]:
    """The number of people, and of ones in x, of which a person has at most one."""
    opened = open_source({"path": source, "ids": ids} if ids else source)
    units = Contribution((PersonTotal("x", ONE),), unit)
    totals = total_people(opened, units, plan_derivation({}, None, opened.kinds))
    return totals.records, totals.sums[0] / ONE.scale


def table(values: list[Any], kind: pa.DataType) -> pa.Table:
    return pa.table({"u": pa.array(values, kind), "x": pa.array([1.0] * len(values))})


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_texts_as_they_are_and_as_integers(engine: Engine) -> None:
    texts = [*SEVENTEEN, *OTHERS, *ZERO, *LONG]
    named = {text for text in texts if text is not None}
    assert people(engine(table(texts, pa.string()))) == (len(named), len(named))
    assert people(engine(table(texts, pa.string())), "text") == (len(named), len(named))
    assert people(engine(table(texts, pa.string())), "integer") == (NUMBERED + 1, NUMBERED + 1)
    assert people(engine(table(SEVENTEEN, pa.string())), "integer") == (1, 1)
    assert people(engine(table(ZERO, pa.string())), "integer") == (1, 1)
    assert people(engine(table(LONG, pa.string())), "integer") == (1, 1)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_numbers_as_they_are_and_as_integers(engine: Engine) -> None:
    integers = [2**53, 2**53 + 1, 0, -1, None]
    for ids in (None, "integer", "text"):
        assert people(engine(table(integers, pa.int64())), ids) == (4, 4)
    floats = [0.0, -0.0, 1.0, 1.5, 2.0**60, -(2.0**52), float("nan"), float("inf"), None]
    assert people(engine(table(floats, pa.float64()))) == (5, 5)
    assert people(engine(table(floats, pa.float64())), "integer") == (4, 4)
    decimals = [Decimal(text) for text in ("0", "-0.00", "1.00", "1.01", "12345678901234567890.00")]
    assert people(engine(table(decimals, pa.decimal128(30, 2)))) == (4, 4)
    assert people(engine(table(decimals, pa.decimal128(30, 2))), "integer") == (3, 3)


TIMES = [
    pytest.param(ENGINES[name], unit, found, id=f"{name} {unit}")
    for unit, found in (("s", 3), ("ms", 3), ("us", 4), ("ns", 5))
    for name in ENGINES
    if unit != "s" or name not in ("polars", "lazy")  # Polars itself has no seconds
]


@pytest.mark.parametrize(("engine", "unit", "found"), TIMES)
def test_times_at_full_precision_inside_the_years_1_to_9999(engine: Engine, unit: str, found: int) -> None:
    """Engines hold other ranges; of nanoseconds DuckDB keeps none in most of what it does with them."""
    ends = [2**63 - 1, -(2**63 - 1)]  # infinite to DuckDB
    times = [0, 1, 1001, SECONDS, 2**55, *ends, None]
    assert people(engine(table(times, pa.timestamp(unit)))) == (found, found)
    both = pa.table({"u": pa.array([0, 1], pa.timestamp("ns")), "x": [1.0, 1.0]})
    assert people(engine(both)) == (2, 2)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_times_are_told_apart_and_matched_by_their_day_at_once(engine: Engine) -> None:
    """The same column names people, in nanoseconds, and groups and filters them by its day."""
    last = 86_400 * 10**9 - 1  # the end of 1970-01-01, which must not be rounded into the next day
    rows = engine(table([0, 1, last, last + 1], pa.timestamp("ns")))
    source = open_source(rows)
    derivation = plan_derivation({"u in nanoseconds": "day(u)"}, "year(u) == 1970", source.kinds)
    keys = declare_groups(["u"], [("1970-01-01",), ("1970-01-02",)], derivation.kinds)
    found = total_groups(source, Contribution((PersonTotal("x", ONE),), "u"), derivation, keys)
    assert [(group.records, group.sums[0] / ONE.scale) for group in found] == [(3, 3.0), (1, 1.0)]


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_dates_far_ahead_are_missing(engine: Engine) -> None:
    days = [0, 2_932_896, 2_932_897, 96_000_000, -719_162, -719_163, 2**31 - 1, None]
    assert people(engine(table(days, pa.date32()))) == (3, 3)
    source = open_source(engine(table(days, pa.date32())))
    later = plan_derivation({}, "year(u) >= 1970", source.kinds)
    assert total_people(source, Contribution((), "x"), later).records == 1
    assert total_people(open_source(engine(table(days[2:4], pa.date32()))), Contribution((), "x"), later).records == 0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_pandas(unit: str) -> None:
    times = np.array([0, 1, 1001, SECONDS, 2**55, 2**63 - 1], dtype=f"M8[{unit}]")
    frame = pd.DataFrame({"u": times, "x": 1.0})
    assert people(frame) == people(table([0, 1, 1001, SECONDS, 2**55, 2**63 - 1], pa.timestamp(unit)))


def test_infinite_times_of_duckdb_name_nobody() -> None:
    kinds = "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "date"
    for kind in kinds:
        rows = f"select unnest(['infinity', '-infinity', '2024-05-31'])::{kind} u, 1.0 x"
        assert people(duckdb.sql(rows)) == (1, 1)
        source = open_source(duckdb.sql(rows))
        assert (
            total_people(source, Contribution((), "x"), plan_derivation({}, "year(u) > 0", source.kinds)).records == 1
        )


@pytest.mark.parametrize(
    ("kind", "ids", "fits"),
    [
        (pa.string(), "text", True),
        (pa.int64(), "text", True),
        (pa.float64(), "text", False),
        (pa.decimal128(9, 2), "text", False),
        (pa.date32(), "text", False),
        (pa.bool_(), "text", False),
        (pa.int8(), "integer", True),
        (pa.float32(), "integer", True),
        (pa.date32(), "integer", False),
        (pa.timestamp("us"), "integer", False),
        (pa.bool_(), "integer", False),
    ],
)
def test_ids_that_do_not_fit_their_column_are_refused_by_its_type(kind: pa.DataType, ids: str, fits: bool) -> None:
    for engine in (ENGINES["polars"], ENGINES["duckdb"]):
        if fits:
            assert people(engine(table([None], kind)), ids) == (0, 0)
            continue
        with refused("ids-do-not-fit-unit", ids=ids, unit="u"):
            people(engine(table([None], kind)), ids)


def test_ids_and_times_on_spark(spark: Any) -> None:
    texts = [*SEVENTEEN, *OTHERS, *ZERO, *LONG]
    frame = spark.createDataFrame([(text, 1.0) for text in texts], "u string, x double")
    assert people(frame, "integer") == people(table(texts, pa.string()), "integer")
    assert people(frame) == people(table(texts, pa.string()))
    decimals = [Decimal(text) for text in ("0", "-0.00", "1.00", "1.01", "12345678901234567890.00")]
    frame = spark.createDataFrame([(number, 1.0) for number in decimals], "u decimal(38,18), x double")
    assert people(frame, "integer") == (3, 3)
    floats = [0.0, -0.0, 1.0, 1.5, 2.0**60, -(2.0**52), float("nan"), float("inf"), None]
    frame = spark.createDataFrame([(number, 1.0) for number in floats], "u double, x double")
    assert people(frame, "integer") == (4, 4)
    days = spark.sql("select explode(array(0, 2932896, 2932897, 96000000, -719162, -719163)) d")
    assert people(days.selectExpr("date_from_unix_date(d) u", "1.0D x")) == (3, 3)
    times = "timestamp_ntz'1970-01-01' + make_interval(y) u"
    years = spark.sql("select explode(array(0, 1, 8029, 8030, 200000)) y")
    assert people(years.selectExpr(times, "1.0D x")) == (3, 3)


def test_a_derived_column_names_people_by_whole_numbers() -> None:
    rows = pl.DataFrame({"a": ["1.0", "1", "1.5", "x"], "x": [1.0] * 4})
    source = open_source({"path": rows, "ids": "integer"})
    derivation = plan_derivation({"u": "number(a)"}, None, source.kinds)
    assert total_people(source, Contribution((), "u"), derivation).records == 1


def test_objects_of_pandas_as_integers() -> None:
    objects = [17, "017", 17.0, "17.0", Decimal("17"), np.int8(17), 17.5, "x", "\0n17", datetime.date(2024, 5, 31)]
    kinds = pd.CategoricalDtype(pd.Index([17, "017", "17.0", 17.5, "x", "\0n17", objects[-1]], dtype=object))
    frame = pd.DataFrame({"u": pd.Categorical([o for o in objects if o in kinds.categories], dtype=kinds), "x": 1.0})
    assert people(frame) == (7, 7)
    assert people(frame, "integer") == (1, 1)


def test_seconds_in_an_arrow_file(tmp_path: Path) -> None:
    """Polars makes milliseconds of them, in which 64 bits take some for others."""
    times = table([0, 1, 1001, SECONDS, 2**55, 2**63 - 1], pa.timestamp("s"))
    feather.write_feather(times, str(tmp_path / "times.feather"), compression="uncompressed")
    assert people(tmp_path / "times.feather") == (3, 3)

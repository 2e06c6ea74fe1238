"""Cells of numbers and dates: one table of odd values, every engine, the same integers as Python's own comparison."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from engines import ENGINES
from refusals import refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.chosen_cells import ChosenCells
from gaussmith.engines.engine import PlacedTotals, Totals
from gaussmith.expressions.identity import object_code
from gaussmith.expressions.spelling import as_date
from gaussmith.totals.opened import total

EDGES = [-60.0, -0.1, 0.0, 0.3, 1 / 3, 17.25, 2.0**53]
ROWS = 1500

Row = dict[str, Any]


def table(rows: int = ROWS) -> pl.DataFrame:
    """Values at every edge and on both sides of it, in every type; fresh on each run."""
    random = np.random.default_rng()
    near = [f(e) for e in EDGES for f in (float, lambda e: math.nextafter(e, -1e9), lambda e: math.nextafter(e, 1e18))]
    odd: list[Any] = [
        *near,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        None,
        5e-324,
        -5e-324,
        1e308,
        *random.normal(0, 40, 9).tolist(),
    ]
    f64 = [odd[i] for i in random.integers(0, len(odd), rows)]
    with np.errstate(over="ignore"):
        f32 = np.array([math.nan if v is None else v for v in f64]).astype(np.float32)
    whole = random.choice([-61, -60, 0, 1, 17, 18, 2**53 - 1, 2**53, 2**53 + 1, 2**62], rows)
    days = [
        None if i == 0 else datetime.date(2023, 12, 28) + datetime.timedelta(days=int(i))
        for i in random.integers(0, 80, rows)
    ]
    return pl.DataFrame(
        {
            "person": random.integers(0, rows // 3, rows),
            "region": random.choice(["north", "south", "east"], rows).tolist(),
            "f64": pl.Series(f64, dtype=pl.Float64),
            "f32": pl.Series(f32),
            "i64": pl.Series(whole, dtype=pl.Int64),
            "money": pl.Series([None if i % 9 == 0 else i % 40 - 20 for i in range(rows)]).cast(pl.Decimal(12, 2)),
            "text": [None if v is None else f" {v!r} " if i % 3 else "12 %" for i, v in enumerate(f64)],
            "day": pl.Series(days, dtype=pl.Date),
        }
    )  # fmt: skip


def place(value: Any) -> int | None:
    """The cell of a value, by Python's own comparison with the edges."""
    if value is None or value != value:
        return None
    return sum(float(value) >= edge for edge in EDGES)


def month(day: datetime.date | None) -> int | None:
    edges = [datetime.date(2024, 1, 1), datetime.date(2024, 2, 1), datetime.date(2024, 3, 1)]
    return None if day is None else sum(day >= edge for edge in edges)


def read_text(text: str | None) -> float | None:
    return None if text is None or "%" in text else float(text)


NUMBERS = ["f64", "f32", "i64", "money"]
SOURCES = [name for name in ENGINES if name not in ("numpy", "numpy Fortran", "lists", "pyarrow reader", "spark")]


def sums_of(request: gm.Request, source: Any) -> list[list[list[int]]]:
    """Of every draw and group the exact counts, which no release shows."""
    prepared = mechanism.prepare_request(request.plan, source)
    return [[numbers_of(each) for each in total(opened)] for opened in prepared.sources]


def numbers_of(totals: Totals) -> list[int]:
    """Counts of cells; of very many the places of those that somebody is in, each with its count."""
    if isinstance(totals, PlacedTotals):
        return [int(n) for pair in zip(totals.places, totals.counts, strict=True) for n in pair]
    return [int(n) for n in totals.sums]


def counted(places: list[int | None], cells: int) -> list[int]:
    found = Counter(p for p in places if p is not None)
    return [found[i] for i in range(cells)]


@pytest.mark.parametrize("engine", [*SOURCES, "spark"])
def test_every_engine_puts_every_value_into_the_same_cell(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data = table()
    columns = [*NUMBERS, *(["text"] if engine in ("csv", "tsv", "json lines") else [])]
    if engine in ("csv", "tsv", "json lines"):  # a single in text is read as a double: another number
        columns.remove("f32")
    asked: dict[str, Any] = {name: {"bins": EDGES} for name in columns}
    asked["day"] = {"by": "month", "between": ["2024-01", "2024-02"]}
    wanted = gm.Request(data, histograms=asked, guarantee=gm.Guarantee(mu=1))
    held = data.with_columns(pl.col("day").cast(pl.String)) if engine == "json lines" else data
    source = ENGINES[engine](held, tmp_path, lambda: request.getfixturevalue("spark"))
    found = dict(zip(asked, sums_of(wanted, source), strict=False))
    for name in columns:
        values = [read_text(v) if name == "text" else v for v in data[name].to_list()]
        assert found[name] == [counted([place(v) for v in values], len(EDGES) + 1)], name
    assert found["day"] == [counted([month(day) for day in data["day"].to_list()], 4)]


def people(data: pl.DataFrame, by: bool) -> dict[Any, list[float]]:
    """The present values of each person, in each group where there are any."""
    found: dict[Any, list[float]] = {}
    for row in data.iter_rows(named=True):
        if row["f64"] is not None and row["f64"] == row["f64"]:
            found.setdefault((row["person"], row["region"]) if by else row["person"], []).append(row["f64"])
    return found


REQUESTS: dict[str, dict[str, Any]] = {
    "values": {"quantiles": {"f64": [0.5]}, "bins": {"f64": EDGES}},
    "clipped": {"quantiles": {"f64": [0.5]}, "bounds": {"f64": (-50, 50)}},
    "by group": {"medians": ["f64"], "bounds": {"f64": (-50, 50)}, "by": {"region": ["south", "north"]}},
    "means": {"medians": ["f64"], "bounds": {"f64": (-50, 50)}, "unit": "person"},
    "totals": {"medians": ["f64"], "total_bounds": {"f64": (-100, 100)}, "unit": "person"},
    "both": {"medians": ["f64"], "bounds": {"f64": (-50, 50)}, "unit": "person", "by": {"region": ["south", "north"]},
             "groups_per_unit": 2},
    "one group": {"medians": ["f64"], "total_bounds": {"f64": (-50, 50)}, "unit": "person",
                  "by": {"region": ["south", "north"]}, "groups_per_unit": 1},
    "stand-in": {"medians": ["f64"], "bounds": {"f64": (-50, 50)}, "missing": {"f64": 7}},
    "filtered": {"medians": ["twice"], "bounds": {"twice": (-50, 50)}, "columns": {"twice": "f64 * 2"},
                 "where": "i64 > 0"},
    "tables": {"marginals": [["f64", "region"], ["day"]], "values": {"region": ["north", "south"]}, "count": True,
               "bins": {"f64": EDGES, "day": {"by": "month", "between": ["2024-01", "2024-02"]}}},
    "people's tables": {"marginals": [["f64", "region"]], "values": {"region": ["north", "south"]},
                        "bins": {"f64": EDGES}, "unit": "person"},
    "bins by group": {"histograms": {"f64": {"bins": EDGES}}, "count": True, "unit": "person", "groups_per_unit": 2,
                      "by": {"region": ["south", "north"]}},
    "tables by group": {"marginals": [["f64", "day"], ["day"]], "by": {"region": ["south", "north"]}, "unit": "person",
                        "bins": {"f64": EDGES, "day": {"by": "month", "between": ["2024-01", "2024-02"]}},
                        "groups_per_unit": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", REQUESTS)
def test_every_engine_counts_the_same_people(name: str, tmp_path: Path) -> None:
    data = table().with_columns(pl.col("f64").clip(-1e6, 1e6))  # of texts, infinities are missing
    wanted = gm.Request(data, guarantee=gm.Guarantee(mu=1), **REQUESTS[name])
    expected = sums_of(wanted, data)
    assert sum(map(sum, expected[0])) > ROWS / 20
    own = list(REQUESTS).index(name)
    for engine in ("duckdb", "csv", ("polars lazy", "polars shuffled", "pandas", "pandas arrow", "parts")[own % 5]):
        folder = tmp_path / engine
        folder.mkdir()
        assert sums_of(wanted, ENGINES[engine](data, folder, lambda: None)) == expected, engine


@pytest.mark.parametrize("name", ["by group", "both", "totals", "people's tables", "bins by group", "tables by group"])
def test_spark_counts_the_same_people(name: str, tmp_path: Path, spark: Any) -> None:
    data = table(400).with_columns(pl.col("f64").clip(-1e6, 1e6))
    wanted = gm.Request(data, guarantee=gm.Guarantee(mu=1), **REQUESTS[name])
    assert sums_of(wanted, ENGINES["spark"](data, tmp_path, lambda: spark)) == sums_of(wanted, data)


def cell_within(value: float, low: float, high: float) -> int:
    """Of 256 equal cells, in exact arithmetic."""
    clipped = min(max(value, low), high)
    return min(255, int((Fraction(clipped) - Fraction(low)) * 256 / (Fraction(high) - Fraction(low))))


WHOSE: dict[str, tuple[Callable[[list[float]], float], tuple[float, float]]] = {
    "means": (lambda rows: sum(min(max(x, -50.0), 50.0) for x in rows) / len(rows), (-50.0, 50.0)),
    "totals": (lambda rows: sum(min(max(x, -1500.0), 1500.0) for x in rows), (-100.0, 100.0)),
}


@pytest.mark.parametrize("name", WHOSE)
def test_a_person_is_in_the_cell_of_its_mean_or_total(name: str) -> None:
    """Whole numbers: no value is within rounding of an edge that it is not at."""
    random = np.random.default_rng()
    data = pl.DataFrame({"person": random.integers(0, 80, 400), "f64": random.integers(-60, 60, 400).astype(float)})
    data = data.with_columns(pl.when(pl.col("f64") == 3).then(None).otherwise(pl.col("f64")).alias("f64"))
    combine, (low, high) = WHOSE[name]
    wanted = gm.Request(data, guarantee=gm.Guarantee(mu=1), **REQUESTS[name])
    rows = people(data.with_columns(region=pl.lit("")), by=False).values()
    assert sums_of(wanted, data) == [[fine_cells(map(combine, rows), wanted)]]
    field, bounds = ("bounds", (-50, 50)) if name == "means" else ("total_bounds", (-100, 100))
    cells = gm.Request(
        data, guarantee=gm.Guarantee(mu=1), quantiles={"f64": [0.2, 0.7]}, unit="person", **{field: {"f64": bounds}}
    )
    assert sums_of(cells, data) == [[counted([cell_within(combine(each), low, high) for each in rows], 256)]]


def fine_cells(values: Iterable[float], request: gm.Request) -> list[int]:
    """In which of the fine cells they are, in exact arithmetic, and how many."""
    domain = request.plan.queries[0].block.domain
    assert isinstance(domain, ChosenCells)
    fine = domain.fine
    clipped = (min(max(Fraction(value), Fraction(fine.low)), Fraction(fine.top)) for value in values)
    found = Counter(math.floor((value - Fraction(fine.low)) / Fraction(fine.width)) for value in clipped)
    return [n for pair in sorted(found.items()) for n in pair]


def test_a_value_is_in_the_fine_cell_of_its_code() -> None:
    """Values at the edges of cells, and far from them."""
    request = gm.Request("x", medians={"f64": (-50, 50)}, guarantee=gm.Guarantee(mu=1))
    domain = request.plan.queries[0].block.domain
    assert isinstance(domain, ChosenCells)
    cells = np.random.default_rng().integers(0, domain.fine.cells, 400)
    values = [*domain.fine.edge(cells).tolist(), *(domain.fine.edge(cells) + domain.fine.width / 2).tolist()]
    values += [-1e308, -50.0, 50.0, 1e308]
    assert sums_of(request, pl.DataFrame({"f64": [*values, None, math.nan]})) == [[fine_cells(values, request)]]


def test_a_list_of_numbers_for_floats_is_asked_about() -> None:
    data = pl.DataFrame({"delay": [1.5, 2.0], "code": [1, 2], "sex": ["f", "m"]})
    for asked in (
        {"histograms": {"delay": [1, 2, 3]}},
        {"marginals": [["delay", "sex"]], "values": {"delay": [1, 2], "sex": ["f", "m"]}},
    ):
        request = gm.Request(data, guarantee=gm.Guarantee(mu=1), **asked)
        with refused("bins-or-values", column="delay") as caught:
            gm.release(request)
        assert "bins or values?" in str(caught.value)
    fine = {"histograms": {"code": [1, 2], "whole": [1, 2]}, "columns": {"whole": "floor(delay)"}}
    assert len(gm.release(gm.Request(data, guarantee=gm.Guarantee(mu=1), **fine)).rows()) == 4


def test_columns_of_other_kinds_are_refused() -> None:
    data = pl.DataFrame({"day": [datetime.date(2024, 1, 1)], "x": [1.0], "sex": ["f"]})
    for asked, code in (
        ({"histograms": {"day": {"bins": [1, 2]}}}, "column-does-not-fit-cells"),
        ({"histograms": {"x": {"by": "year", "between": [2023, 2024]}}}, "column-does-not-fit-cells"),
        ({"medians": {"day": (0, 1)}}, "column-not-numbers"),
        ({"medians": {"sex": (0, 1)}}, "column-of-text"),
        ({"histograms": {"y": {"bins": [1, 2]}}}, "no-such-cell-column"),
    ):
        request = gm.Request(data, guarantee=gm.Guarantee(mu=1), **asked)
        with pytest.raises(gm.RequestError) as caught:
            gm.release(request)
        assert caught.value.code == code, asked


MONTHS = {"day": {"by": "month", "between": ["2024-01", "2024-02"]}}


@pytest.mark.parametrize("asked", [{"by": ["day"], "count": True}, {"histograms": ["day"]}, {"marginals": [["day"]]}])
def test_dates_among_objects_of_pandas_are_in_the_cells_of_dates(asked: dict[str, Any]) -> None:
    """Text is of the type object in pandas 2; so are dates of Python in every version."""
    pd = pytest.importorskip("pandas")
    texts = ["2024-01-05", "2024-01-31T23:59", "2024-02-03", "2023-12-31", "2024-13-01", "none", None] * 100
    days = [datetime.date(2024, 1, 5), datetime.datetime(2024, 1, 31, 23, 59, 59, 999_999), *[None] * 5]
    stamps = [pd.Timestamp("2024-02-03"), datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC), "2023-12-31", 5, b"x"]
    mixed = [a if a is not None else b for a, b in zip(days, [None, None, *stamps], strict=True)] * 100
    request = gm.Request(pl.DataFrame({"day": texts}), bins=MONTHS, guarantee=gm.Guarantee(mu=1e6), **asked)
    wanted = [round(row["value"]) for row in gm.release(request).rows()]
    assert wanted[:4] == [100, 200, 100, 0]  # a table has one more cell, for what is in none
    objects = {
        "text": pd.Series(texts, dtype=object),
        "categories": pd.Series(texts, dtype=object).astype(pd.CategoricalDtype([*{*texts} - {None}])),
    }
    for name, column in objects.items():
        request = gm.Request(pd.DataFrame({"day": column}), bins=MONTHS, guarantee=gm.Guarantee(mu=1e6), **asked)
        assert [round(row["value"]) for row in gm.release(request).rows()] == wanted, name
    frame = pd.DataFrame({"day": pd.Series(mixed, dtype=object)})
    request = gm.Request(frame, bins=MONTHS, guarantee=gm.Guarantee(mu=1e6), **asked)
    assert [round(row["value"]) for row in gm.release(request).rows()][:4] == [100, 200, 100, 100]


def test_dates_and_times_among_objects_are_read_to_the_nanosecond() -> None:
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng()
    first = datetime.datetime(1, 1, 1)
    times: list[Any] = [first + datetime.timedelta(days=int(d)) for d in random.integers(0, 3_652_058, 500)]
    times += [time - datetime.timedelta(microseconds=1) for time in times if time > first]
    times += [datetime.datetime.min, datetime.datetime.max, datetime.datetime(1970, 1, 1), datetime.date(1969, 12, 31)]
    times += [pd.Timestamp("1969-12-31T23:59:59.999999999"), pd.Timestamp("1970-01-01T00:00:00.000000001")]
    times += [datetime.date.min, datetime.date.max, "\0d738890", "2024-05-31", "x", 7, None]
    zone = datetime.timezone(datetime.timedelta(hours=2))
    times += [datetime.datetime(2024, 5, 1, 1, tzinfo=zone)]
    codes = pl.DataFrame({"day": pl.Series(list(map(object_code, times)), dtype=pl.String)})
    found = nw.from_native(codes).select(as_date("day", "object")).to_native()["day"].to_list()
    days = [
        each.year * 10000 + each.month * 100 + each.day if isinstance(each, datetime.date) else None for each in times
    ]
    days[-1], days[-5] = 20240430, None
    days[times.index("2024-05-31")] = 20240531
    assert found == days

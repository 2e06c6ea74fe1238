"""People's own numbers: those of a plain reference, on every engine, in every order; of one person's rows alone."""

from __future__ import annotations

import datetime
import math
import random
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from engines import ENGINES
from refusals import refused

import gaussmith as gm
from gaussmith.engines.registry import open_source
from gaussmith.expressions.spelling import plan_derivation
from gaussmith.planning.row_rule import RowRule
from gaussmith.totals.people import open_person_rows

NUMBERS = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 0.1, 0.2, 19.99, -7.25, 1e-7, 5e-324, 1e300, -1e300, 4.6e9]
COLUMNS = {
    "visits": "count()",
    "north": "count(region == 'north')",
    "some": "any(x > 1)",
    "every": "all(x > 1)",
    "total": "sum(x)",
    "cents": "sum(x, 2)",
    "middle": "mean(x)",
    "least": "min(x)",
    "most": "max(x + 1)",
    "home": "only(region)",
    "first": "min(day)",
    "last": "max(day)",
    "smoker": "only(smokes)",
    "ratio": "total / visits",
    "long": "days_between(first, last) >= 2",
}


def table(rows: int, generator: random.Random) -> pl.DataFrame:
    pick = generator.choice
    days = [None, *(datetime.date(2024, 2, 27) + datetime.timedelta(k) for k in range(4))]
    return pl.DataFrame(
        {
            "person": [pick(["ada", "bob", "cyd", "dan", "é", "", None]) for _ in range(rows)],
            "x": [pick(NUMBERS) for _ in range(rows)],
            "region": [pick(["north", "south", None]) for _ in range(rows)],
            "day": [pick(days) for _ in range(rows)],
            "smokes": [pick([True, True, False, None]) for _ in range(rows)],
        },
        schema={"person": pl.String, "x": pl.Float64, "region": pl.String, "day": pl.Date, "smokes": pl.Boolean},
    )


def rounded(values: list[float], digits: int) -> Fraction:
    scale = 10.0**digits
    reach = 2.0**52 / scale
    return Fraction(sum(math.floor(min(max(v, -reach), reach) * scale + 0.5) for v in values))


def reference(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The person columns, row by row in Python."""
    held: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in frame.to_dicts():
        if row["person"] is not None:
            held[row["person"]].append(row)
    people = {}
    for person, rows in held.items():
        xs = [row["x"] for row in rows if row["x"] is not None and math.isfinite(row["x"])]
        regions = {row["region"] for row in rows} - {None}
        smokes = {row["smokes"] for row in rows} - {None}
        days = [row["day"] for row in rows if row["day"] is not None]
        total = float(rounded(xs, 6)) / 1e6
        people[person] = {
            "visits": float(len(rows)),
            "north": float(sum(row["region"] == "north" for row in rows)),
            "some": any(x > 1 for x in xs),
            "every": len(xs) == len(rows) and all(x > 1 for x in xs),
            "total": total,
            "cents": float(rounded(xs, 2)) / 1e2,
            "middle": float(rounded(xs, 6)) / (1e6 * len(xs)) if xs else None,
            "least": min(xs, default=None),
            "most": max((x + 1 for x in xs), default=None),
            "home": regions.pop() if len(regions) == 1 else None,
            "first": min(days, default=None),
            "last": max(days, default=None),
            "smoker": smokes.pop() if len(smokes) == 1 else None,
            "ratio": total / len(rows),
            "long": bool(days) and (max(days) - min(days)).days >= 2,
        }
    return people


def person_rows(source: Any, columns: dict[str, str], where: str | None = None, people: str | None = None) -> list[Any]:
    rule = RowRule((), "person", where=where, person_columns=tuple(columns.items()), person_where=people)
    opened = open_source(source, columns=["person", "x", "region", "day", "smokes"])
    found = open_person_rows(opened, rule, plan_derivation({}, where, opened.kinds))
    frame = found.engine.frame(found, tuple(columns)).collect("polars").to_native()
    return sorted((tuple(row) for row in frame.rows()), key=repr)


def plain(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value


def check_rows(source: Any, frame: pl.DataFrame, columns: dict[str, str] = COLUMNS) -> None:
    found = [tuple(map(plain, row)) for row in person_rows(source, columns)]
    expected = [tuple(plain(each[name]) for name in columns) for each in reference(frame).values()]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


PARTS = [
    "polars eager",
    "polars lazy",
    "polars shuffled",
    "pandas",
    "pandas arrow",
    "pyarrow table",
    "duckdb",
    "parquet",
]


@pytest.mark.parametrize("engine", PARTS)
@pytest.mark.parametrize("rows", [0, 1, 200])
def test_the_same_numbers_on_every_engine(engine: str, rows: int, tmp_path: Path) -> None:
    frame = table(rows, random.Random())
    if engine.startswith("pandas"):  # numpy has no missing booleans
        frame = frame.with_columns(pl.col("smokes").fill_null(True))
    if engine == "pandas":  # and no dates
        source = frame.drop("day").to_pandas().astype({"person": "string", "region": "string"})
        columns = {name: text for name, text in COLUMNS.items() if name not in ("first", "last", "long")}
        check_rows(source, frame, columns)
        return
    check_rows(ENGINES[engine](frame, tmp_path, lambda: None), frame)


def test_the_same_numbers_on_spark(spark: Any, tmp_path: Path) -> None:
    frame = table(150, random.Random())
    check_rows(ENGINES["spark"](frame, tmp_path, lambda: spark), frame)


def test_rows_are_filtered_first_and_people_after() -> None:
    frame = table(200, random.Random())
    kept = frame.filter(pl.col("region") == "north")
    columns = {"visits": "count()", "total": "sum(x)"}
    found = person_rows(frame, columns, "region == 'north'", "visits >= 3")
    expected = [(each["visits"], each["total"]) for each in reference(kept).values() if each["visits"] >= 3]
    assert found == sorted(expected, key=repr)
    by_request = gm.Request(
        frame, unit="person", person_columns=columns, where="region == 'north' and visits >= 3", count=True,
        guarantee=gm.Guarantee(mu=1e6),
    )  # fmt: skip
    assert round(gm.release(by_request)["count"].value) == len(expected)


def test_a_person_changes_one_row() -> None:
    """Without one person the rows of all others are the same: nothing of a person is in the numbers of another."""
    for _ in range(20):
        frame = table(60, random.Random())
        columns = {name: text for name, text in COLUMNS.items() if name not in ("first", "last", "long")}
        everybody = person_rows(frame, columns)
        for person in frame["person"].drop_nulls().unique():
            others = person_rows(frame.filter(pl.col("person").ne_missing(person)), columns)
            own = person_rows(frame.filter(pl.col("person") == person), columns)
            assert len(own) == 1
            assert sorted(others + own, key=repr) == everybody


def test_sums_are_those_of_decimals() -> None:
    frame = pl.DataFrame({"person": ["a"] * 3, "x": [0.1, 0.1, 0.1]})
    assert person_rows(frame, {"total": "sum(x)", "equal": "total == 0.3"}) == [(0.3, True)]
    many = pl.DataFrame({"person": ["a"] * 100_000, "x": [4.5e9] * 100_000})
    assert person_rows(many, {"total": "sum(x)"}) == [(4.5e14,)]


def answers(**fields: Any) -> dict[str, float]:
    frame = pl.DataFrame({"person": [1, 1, 1, 2, 3, 3], "x": [1.0, 2.0, 4.5, 20.0, None, 3.0], "r": list("nsnnss")})
    request = gm.Request(frame, unit="person", guarantee=gm.Guarantee(mu=1e6), **fields)
    return {answer.name: round(answer.value, 2) + 0.0 for answer in gm.release(request)}


def test_statistics_of_people() -> None:
    columns = {"visits": "count()", "total": "sum(x)", "home": "only(r)"}
    assert answers(person_columns=columns, means={"visits": (0, 10), "total": (0, 100)}) == {
        "visits_mean": 2.0,
        "total_mean": 10.17,
    }
    assert answers(person_columns=columns, histograms={"visits": [1, 2, 3]}) == {
        "visits=1": 1.0,
        "visits=2": 1.0,
        "visits=3": 1.0,
    }
    assert answers(person_columns=columns, sums={"total": (0, 100)}, where="visits >= 2 and x > 1") == {
        "total_sum": 6.5
    }


def test_listed_numbers_and_quantiles_of_people() -> None:
    columns = {"visits": "count()", "total": "sum(x)"}  # visits 3, 1, 2; totals 7.5, 20, 3
    counted = {"visits=1": 1.0, "visits=2": 1.0, "visits=3": 1.0}
    assert answers(person_columns=columns, histograms={"visits": [1, 2, 3]}) == counted
    tables = answers(person_columns=columns, marginals=[["visits"]], values={"visits": [1, 2, 3]})
    assert tables == {**counted, "visits=(other)": 0.0}
    found = answers(
        person_columns=columns, medians={"total": (0, 256)}, quantiles={"visits": [0.9]}, bounds={"visits": (0, 256)}
    )
    assert 7 <= found["total_median"] <= 8 and 3 <= found["visits_q90"] <= 4


def test_notes_and_saved_plans_hold_the_numbers() -> None:
    columns = {"visits": "count()"}
    request = gm.Request(
        pl.DataFrame({"person": [1, 1, 2]}), unit="person", person_columns=columns, count=True, where="visits >= 2",
        guarantee=gm.Guarantee(mu=1),
    )  # fmt: skip
    release = gm.release(request)
    assert "each person is one row, made of their own rows: visits is count()" in release.notes()
    assert "only people where visits >= 2" in release.notes()
    again = gm.Release.from_json(release.to_json())
    assert again.notes() == release.notes()
    rule = request.plan.queries[0].row_rule
    assert rule is not None
    assert RowRule.from_dict(rule.to_dict()) == rule


def test_refusals() -> None:
    frame = pl.DataFrame({"person": [1, 2], "x": [1.0, 2.0], "r": ["a", "b"]})

    def ask(unit: str | None = "person", **fields: Any) -> None:
        gm.release(gm.Request(frame, unit=unit, guarantee=gm.Guarantee(mu=1), **fields))

    with refused("person-columns-without-unit"):
        ask(None, person_columns={"visits": "count()"}, count=True)
    with refused("row-column-beside-person-columns", says='person_columns={"own_r": "only(r)"}'):
        ask(person_columns={"visits": "count()"}, count=True, by={"r": ["a"]})
    with refused("filter-of-rows-and-people", says="x > visits"):
        ask(person_columns={"visits": "count()"}, count=True, where="x > visits")
    with refused("person-column-name-taken"):
        ask(person_columns={"X": "sum(x)"}, count=True)
    with refused("row-column-of-person", says="only(x)"):
        ask(person_columns={"y": "x / count()"}, count=True)
    with refused("unknown-column-in-person-column", says="did you mean 'visits'?"):
        ask(person_columns={"visits": "count()", "y": "visit + 1"}, count=True)
    with refused("aggregate-in-aggregate"):
        ask(person_columns={"y": "sum(max(x))"}, count=True)
    with refused("aggregate-takes-condition", says="count(not is_null(x))"):
        ask(person_columns={"y": "count(x)"}, count=True)
    with refused("decimal-places"):
        ask(person_columns={"y": "sum(x, 13)"}, count=True)
    with refused("limit-beside-person-columns"):
        ask(person_columns={"y": "sum(x)"}, count=True, rows_per_unit=3)
    with refused("unknown-function", says="person_columns"):
        ask(columns={"y": "sum(x)"}, count=True)
    with refused("date-in-aggregate"):
        dated = pl.DataFrame({"person": [1], "d": [datetime.date(2024, 1, 1)]})
        gm.release(
            gm.Request(dated, unit="person", person_columns={"y": "sum(d)"}, count=True, guarantee=gm.Guarantee(mu=1))
        )

"""Histograms, proportions and tables in declared groups: the counts beside plain Python, and how they are shown."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.totals.opened import total

G, SHARP = gm.Guarantee(epsilon=1, delta=1e-6), gm.Guarantee(mu=1e6)
REGIONS, HEALTH = ["north", "south", "east"], ["good", "fair", "poor"]
SCHEMA = {"person": pl.String, "region": pl.String, "health": pl.String, "age": pl.Float64}

Row = dict[str, Any]


def rows_of(people: int = 80) -> list[Row]:
    """People with many rows, in declared and other regions, with declared, other and missing values."""
    pick = random.Random().choice
    return [
        {
            "person": f"p{i}",
            "region": pick([*REGIONS, "west", None]),
            "health": pick([*HEALTH, "odd", None]),
            "age": pick([None, 10.0, 18.0, 39.9, 40.0, 70.0]),
        }
        for i in range(people)
        for _ in range(pick([1, 1, 2, 4, 9]))
    ] + [{"person": None, "region": "north", "health": "good", "age": 30.0}]


def counts(rows: list[Row], **fields: Any) -> dict[tuple[str, str], int]:
    """The exact counts that meet noise, by group and name, and of people; those of 0 left out."""
    plan = gm.Request("table", guarantee=G, by={"region": REGIONS}, **fields).plan
    (opened,) = mechanism.prepare_request(plan, pl.DataFrame(rows, schema=SCHEMA)).sources
    found: dict[tuple[str, str], int] = {}
    for region, totals in zip(REGIONS, total(opened), strict=True):
        names = [*plan.block.answers.names[: len(totals.sums)], "people"]
        found |= {(region, n): int(c) for n, c in zip(names, [*totals.sums, totals.records], strict=True) if c}
    return found


def kept(rows: list[Row], most: int) -> list[tuple[str, list[Row]]]:
    """The groups that each person keeps, with its rows there: those with the most rows, ties to the first declared."""
    found = []
    for person in dict.fromkeys(row["person"] for row in rows if row["person"] is not None):
        own = [row for row in rows if row["person"] == person]
        held = [(region, [row for row in own if row["region"] == region]) for region in REGIONS]
        ranked = sorted((h for h in held if h[1]), key=lambda h: (-len(h[1]), REGIONS.index(h[0])))
        found += ranked[:most]
    return found


def most_frequent(values: list[Any], order: list[Any]) -> Any:
    """The value with the most rows, ties to the first declared; None where none is declared."""
    known = Counter(value for value in values if value in order)
    return min(known, key=lambda value: (-known[value], order.index(value))) if known else None


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_histogram_of_people_in_each_group(most: int) -> None:
    rows = rows_of()
    expected: Counter[tuple[str, str]] = Counter()
    for region, own in kept(rows, most):
        expected[region, "people"] += 1
        value = most_frequent([row["health"] for row in own], HEALTH)
        if value is not None:
            expected[region, f"health={value}"] += 1
    assert counts(rows, histograms={"health": HEALTH}, unit="person", groups_per_unit=most, count=True) == expected


def test_a_histogram_of_rows_in_each_group() -> None:
    rows = rows_of()
    expected = Counter(
        (r["region"], f"health={r['health']}") for r in rows if r["region"] in REGIONS and r["health"] in HEALTH
    )
    expected += Counter((r["region"], "people") for r in rows if r["region"] in REGIONS)
    assert counts(rows, histograms={"health": HEALTH}) == expected
    expected = Counter((r["region"], "people") for r in rows if r["region"] in REGIONS)
    for row in rows:
        if row["region"] in REGIONS and row["age"] is not None:
            cell = "< 18" if row["age"] < 18 else "18 to 40" if row["age"] < 40 else "≥ 40"
            expected[row["region"], f"age={cell}"] += 1
    assert counts(rows, histograms={"age": {"bins": [18, 40]}}) == expected


def test_tables_of_people_in_each_group() -> None:
    rows = rows_of()
    expected: Counter[tuple[str, str]] = Counter()
    cells = [(h, a) for h in [*HEALTH, "(other)"] for a in ("< 40", "≥ 40", "(missing)")]
    for region, own in kept(rows, 2):
        pairs = [
            (
                row["health"] if row["health"] in HEALTH else "(other)",
                "(missing)" if row["age"] is None else "< 40" if row["age"] < 40 else "≥ 40",
            )
            for row in own
        ]
        health, age = most_frequent(pairs, cells)
        expected[region, "people"] += 1
        expected[region, f"health={health}"] += 1
        expected[region, f"health={health}, age={age}"] += 1
    found = counts(
        rows, marginals=[["health"], ["health", "age"]], values={"health": HEALTH}, bins={"age": [40]}, unit="person",
        groups_per_unit=2,
    )  # fmt: skip
    assert found == expected


def test_they_are_shown_and_indexed_by_group() -> None:
    table = pl.DataFrame({"region": ["north"] * 6 + ["south"] * 4, "health": ["good", "fair"] * 5})
    by = {"region": ["north", "south"]}
    released = gm.release(gm.Request(table, histograms={"health": ["good", "fair"]}, by=by, guarantee=SHARP))
    assert round(released["north"]["health=good"].value) == 3 and round(released.total()["health=fair"].value) == 5
    assert "north   health=good" in str(released) and gm.read(released.to_json()) == released
    tables = gm.release(
        gm.Request(table, marginals=[["health"]], values={"health": ["good", "fair"]}, by=by, guarantee=SHARP)
    )
    assert tables["south"].marginal("health").round().tolist() == [2, 2, 0]


def test_proportions_in_each_group_are_shares_of_that_group() -> None:
    table = pl.DataFrame({"region": ["north"] * 8 + ["south"] * 4, "health": ["good"] * 6 + ["fair"] * 6})
    request = gm.Request(
        table, proportions={"health": ["good", "fair"]}, by={"region": ["north", "south"]}, guarantee=SHARP
    )
    released = gm.release(request)
    assert released["north"]["health=good_share"].value == pytest.approx(0.75, abs=1e-4)
    assert released["health=good_share"].values.round(3).ravel().tolist() == pytest.approx([0.75, 0], abs=1e-3)
    shown = {(row["region"], row["answer"]): row["value"] for row in released.rows()}
    assert shown["south", "health=fair_share"] == pytest.approx(1, abs=1e-4) and len(shown) == 8


def test_a_share_is_found_by_its_name() -> None:
    table = pl.DataFrame({"region": ["north"] * 300 + ["south"] * 100, "age": [30.0] * 400})
    asked: dict[str, Any] = {"proportions": {"region": ["north", "south"]}, "guarantee": G}
    released = gm.release(gm.Request(table, count=True, **asked))
    share, row = released["region=north_share"], next(r for r in released.rows() if r["answer"] == "region=north_share")
    assert (share.name, share.value, share.standard_error) == (
        "region=north_share",
        row["value"],
        row["standard_error"],
    )
    assert share.interval() == (row["lower"], row["upper"]) and share.rows() == [row]
    assert "region=north_share" not in released.names  # it is read from the counts, and is no answer of its own
    with refused("no-such-answer", says="region=north_share"):
        released["region=nroth_share"]
    with refused("sampling-error-unknown"):
        share.interval(population=True)
    beside = gm.release(gm.Request(table, sums={"age": (0, 100)}, **asked))
    low, high = beside["region=south_share"].interval(1 - 1e-12)
    assert 0 <= low <= 0.25 <= high <= 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"histograms": {"h": ["a", "b"]}, "values_per_unit": 2}, "histogram-by-groups-of-several-values"),
        ({"marginals": [["h"]], "values": {"h": ["a", "b"]}, "values_per_unit": 2}, "marginals-with-several-values"),
        ({"histograms": {"h": ["a", "b"]}, "count": "rows"}, "histogram-with-rows"),
        ({"histograms": {"h": ["a", "b"]}, "by": {"g": "found"}}, "cells-of-found-groups"),
        ({"marginals": [["h"]], "values": {"h": ["a"]}, "by": {"g": "found"}}, "cells-of-found-groups"),
    ],
)
def test_what_cannot_be_counted_in_groups_is_refused(fields: dict[str, Any], code: str) -> None:
    asked = {"by": {"g": ["x", "y"]}, "groups_per_unit": 1, "rows_per_unit": 2, **fields}
    with refused(code):
        gm.Request("t", unit="person", guarantee=G, **asked)

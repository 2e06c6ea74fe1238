"""Requests with person columns: neighbours differ, in the integers that get noise, by at most what is charged.

Several questions at once, of rows and of people, tied or not; rows of any kind, and people at their bounds.
"""

from __future__ import annotations

import math
import random
from typing import Any

import polars as pl
import pytest
from whole.pairs import distances, spent, total_alone

import gaussmith as gm

SCHEMA = {"person": pl.String, "x": pl.Float64, "r": pl.String}
ODD = (None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, 1 / 3, 10.0, -10.0, 4.0)
OWN = {"visits": "count()", "total": "sum(x)", "home": "only(r)", "often": "count(x > 1) >= 2"}

QUESTIONS: list[list[dict[str, Any]]] = [
    [{"person_columns": OWN, "means": {"total": (-5, 20)}, "sums": {"visits": (0, 3)}, "count": True}],
    [{"person_columns": OWN, "count": True, "where": "visits >= 2"}, {"count": True, "sums": {"x": (0, 10)}}],
    [
        {"person_columns": OWN, "histograms": {"visits": [1, 2, 3]}, "where": "x > 0 and visits <= 3"},
        {"person_columns": OWN, "sums": {"total": (0, 30)}, "where": "x > 0"},
        {"person_columns": {"most": "max(x)"}, "means": {"most": (0, 10)}, "where": "most > 0"},
    ],
    [
        {"person_columns": OWN, "by": {"home": ["n", "s"]}, "means": {"total": (0, 10)}, "where": "r != 'w'"},
        {"person_columns": OWN, "by": {"often": [True, False]}, "count": True},
        {"by": {"r": ["n", "s", "w"]}, "groups_per_unit": 2, "sums": {"x": (0, 10)}},
    ],
]


def person_rows(name: str, generator: random.Random) -> list[dict[str, Any]]:
    size = generator.choice([1, 1, 2, 3, 4, 9])
    region = generator.choice([*"nsw", None, ""])
    rows = []
    for _ in range(size):
        own = region or generator.choice([*"nsw", None])
        rows.append({"person": name, "x": generator.choice([*ODD, generator.gauss(3, 5)]), "r": own})
    return rows


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("asked", QUESTIONS)
def test_neighbours_are_within_what_is_charged(asked: list[dict[str, Any]], neighbours: str) -> None:
    if neighbours == "replace-one":  # the number of all people is public there, and is not asked
        asked = [each | ({} if each.get("where") or each.get("by") else {"count": False}) for each in asked]
    named = [{"name": f"q{q}", **each} for q, each in enumerate(asked)]
    plan = gm.Request(
        "p.parquet", unit="person", questions=named, neighbours=neighbours, guarantee=gm.Guarantee(mu=1)
    ).plan
    generator, largest = random.Random(), 0.0
    for pair in range(1000):
        if pair >= 25 and largest > 0.05:
            break
        others = [row for j in range(generator.randint(0, 2)) for row in person_rows(f"other {j}", generator)]
        before = [] if neighbours == "add-remove" else person_rows("ada", generator)
        one, other = others + before, others + person_rows("ada", generator)
        generator.shuffle(other)
        found = distances(plan, total_alone(plan, one, SCHEMA), total_alone(plan, other, SCHEMA))
        assert max(found) <= 1
        assert spent(plan, found) <= 1
        largest = max(largest, float(spent(plan, found)))
    assert largest > 0.05  # people really moved the integers


def test_a_filter_of_people_is_not_everybody() -> None:
    """A query of some people may not stand for all people that its tie counts."""
    asked = [{"name": "some", **QUESTIONS[1][0]}, {"name": "all", "count": True, "sums": {"x": (0, 10)}}]
    plan = gm.Request("p.parquet", unit="person", questions=asked, guarantee=gm.Guarantee(mu=1)).plan
    from gaussmith.planning.joint_people import counts_everybody

    counted = [counts_everybody(query, None) for query in plan.queries]
    assert counted[:2] == [False, True]

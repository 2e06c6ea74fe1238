"""One person changes the lifted counts of cells by no more than was charged: random neighbours, the real path."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from refusals import damaged, refused
from whole.pairs import distances, spent, total_alone

import gaussmith as gm

PAIRS, CLOSE = 20, Fraction(8, 10)
REGIONS = ["north", "south", "east"]
G = gm.Guarantee(epsilon=1, delta=1e-6)
BINS = {"x": [-20, 0, 7, 30, 60]}
SCHEMA = {"person": pl.String, "region": pl.String, "x": pl.Float64, "y": pl.Float64}

REQUESTS: dict[str, dict[str, Any]] = {
    "values": {"quantiles": {"x": [0.1, 0.5]}, "bins": BINS},
    "values, filtered": {"medians": ["x"], "bins": BINS, "where": "y > 0"},
    "values by group": {"medians": {"x": (0, 60)}, "by": {"region": REGIONS}, "bins": BINS},
    "means": {"medians": {"x": (0, 60)}, "bins": BINS, "unit": "person"},
    "totals": {"quantiles": {"x": [0.9]}, "total_bounds": {"x": (-30, 100)}, "bins": BINS, "unit": "person"},
    "means by group": {
        "medians": {"x": (0, 60)}, "bins": BINS, "unit": "person", "by": {"region": REGIONS}, "groups_per_unit": 2,
    },
    "means replaced": {"medians": {"x": (0, 60)}, "bins": BINS, "unit": "person", "neighbours": "replace-one"},
    "stand-in replaced": {
        "medians": {"x": (0, 60)}, "bins": BINS, "unit": "person", "missing": {"x": 7}, "neighbours": "replace-one",
    },
    "bins": {"histograms": {"x": {"bins": [-20, 0, 7]}}, "count": True, "unit": "person", "values_per_unit": 2},
    "tables": {
        "marginals": [["x", "region"], ["y"]], "bins": {**BINS, "y": [7]}, "values": {"region": REGIONS[:2]},
        "count": True, "unit": "person",
    },
    "tables of rows, replaced": {
        "marginals": [["x", "region"], ["region"]], "bins": BINS, "values": {"region": REGIONS[:2]},
        "neighbours": "replace-one",
    },
    "beside others": {
        "medians": {"x": (0, 60)}, "bins": BINS, "sums": {"y": (0, 90)}, "count": True, "unit": "person",
        "marginals": [["region"]], "values": {"region": REGIONS},
    },
    "bins by group": {
        "histograms": {"x": {"bins": [-20, 0, 7]}}, "count": True, "unit": "person", "by": {"region": REGIONS},
        "groups_per_unit": 2,
    },
    "tables by group, replaced": {
        "marginals": [["x"], ["y", "x"]], "bins": {**BINS, "y": [7]}, "unit": "person", "by": {"region": REGIONS},
        "groups_per_unit": 2, "neighbours": "replace-one",
    },
    "diagnosed values": {"sums": {"x": (0, 60)}, "means": {"y": (0, 60)}, "diagnose": True, "where": "y > 0"},
    "diagnosed people": {
        "sums": {"x": (0, 90)}, "means": {"y": (0, 60)}, "count": "rows", "unit": "person", "rows_per_unit": 3,
        "by": {"region": REGIONS}, "groups_per_unit": 2, "diagnose": True,
    },
    "diagnosed people replaced": {
        "sums": {"x": (0, 90)}, "medians": {"y": (0, 60)}, "unit": "person", "by": {"region": REGIONS[:2]},
        "groups_per_unit": 1, "diagnose": True, "neighbours": "replace-one",
    },
}  # fmt: skip


def random_rows(name: str, generator: random.Random, single: bool) -> list[dict[str, Any]]:
    """The rows of one person, with every edge and odd value."""
    values = [None, math.nan, math.inf, -math.inf, -20.0, 0.0, -0.0, 7.0, 30.0, 60.0, 1e308, 6.999, -19.0, 45.0]
    pick = generator.choice
    many = 1 if single else pick([1, 1, 2, 3, 6])
    place = pick([*REGIONS, "elsewhere", None])
    return [
        {
            "person": name,
            "region": pick([place, *REGIONS]),
            "x": pick(values),
            "y": pick([*values, 90.0]),
        }
        for _ in range(many)
    ]


@pytest.mark.parametrize("name", REQUESTS)
def test_neighbours_stay_within_what_is_charged(name: str) -> None:
    generator = random.Random()
    request = gm.Request("table", guarantee=G, **REQUESTS[name])
    plan, single, worst = request.plan, request.unit is None, Fraction(0)
    for pair in range(50 * PAIRS):
        if pair >= PAIRS and worst > CLOSE:
            break
        others = [row for j in range(generator.randint(0, 2)) for row in random_rows(f"other {j}", generator, single)]
        before = [] if request.neighbours == "add-remove" else random_rows("person", generator, single)
        after = random_rows("person", generator, single)
        one, other = (total_alone(plan, others + rows, SCHEMA) for rows in (before, after))
        found = distances(plan, one, other)
        assert max(found) <= 1
        assert spent(plan, found) <= 1
        worst = max(worst, *found)
    assert worst > CLOSE  # not vacuous: somebody comes close to what is charged


def test_a_rule_that_is_not_of_its_check_is_refused() -> None:
    """A saved diagnosis whose row rule would put a person into a cell that is not there is not read."""
    plan = gm.Request("table", guarantee=G, **REQUESTS["diagnosed people"]).plan.to_dict()
    at, rule = next(
        (i, d["row_rule"]) for i, d in enumerate(plan["queries"]) if "checked" in d["row_rule"]["features"][0][0]
    )
    for damage in (
        {"features": [["checked rows", ""]]},
        {"features": [["checked value", "x"]], "unit": None},
        {"cuts": {}},
        {"keys": []},
        {"groups_per_unit": 1},
    ):
        forged = {**plan, "queries": [*plan["queries"]]}
        forged["queries"][at] = {**plan["queries"][at], "row_rule": {**rule, **damage}}
        words = "a tie of tables with other people" if "unit" in damage else "other numbers of a person than planned"
        with refused(damaged(words)):
            gm.read(json.dumps(forged))


def test_a_rule_by_which_a_person_counts_twice_is_refused() -> None:
    """A saved plan whose row rule would count every row of a person, or more cells than planned, is not read."""
    plan = gm.Request("table", guarantee=G, **REQUESTS["means"]).plan.to_dict()
    rule = plan["queries"][0]["row_rule"]
    for damage in (
        {"features": [["own value", "x"]]},
        {"features": [["values", "x"]], "values_per_unit": 3},
        {"features": [["tabled", "x"]]},
        {"cuts": {}},
        {"cuts": {"x": {"kind": "number", "edges": [1.0], "ends": [0.0, 60.0]}}},
    ):
        forged = {**plan, "queries": [{**plan["queries"][0], "row_rule": {**rule, **damage}}]}
        with refused(damaged("other numbers of a person than planned")):
            gm.read(json.dumps(forged))

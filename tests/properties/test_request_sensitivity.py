"""From rows to lifted integers: one person changes what noise is added to by no more than was charged, exactly.

Ten thousand random tables D, each with a person added, removed or replaced: several rows, several groups, nulls, NaN,
infinities, filters, derived columns. All tables of one request go through one query, each under keys of its own; some
are run one by one as well, the way a release runs, and must give the same integers.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from whole.pairs import Found, distances, in_numbers, spent, total_alone, total_tables

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.planning.plan import Plan

TABLES = 1500
"""For each of the seven requests: more than ten thousand in all."""

ALONE = 12
"""So many of them are also run one by one."""

REGIONS = ["north", "south", "east", "west"]
ODD = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, 1 / 3]
G = gm.Guarantee(epsilon=1, delta=1e-6)

REQUESTS: dict[str, dict[str, Any]] = {
    "sums and count of people": {"sums": {"x": (-20, 60), "y": (5, 9)}, "count": True, "unit": "person"},
    "means over rows, filtered": {
        "sums": {"ratio": (0, 3)}, "means": {"x": (-50, 50), "ratio": (0.1, 0.7)}, "count": True, "unit": "person",
        "rows_per_unit": 3, "where": "not (y > 80) or is_null(x)", "columns": {"ratio": "x / y"},
    },
    "groups with rows": {
        "sums": {"x": (0, 60)}, "means": {"y": (0, 90)}, "count": "rows", "unit": "person", "rows_per_unit": 2,
        "by": {"region": REGIONS}, "groups_per_unit": 2, "where": "is_null(x) or x < 1e300",
    },
    "means over people in groups, replaced": {
        "means": {"y": (0, 90)}, "sums": {"x": (-20, 60)}, "count": True, "unit": "person", "mean_of": "units",
        "by": {"region": REGIONS}, "groups_per_unit": 1, "neighbours": "replace-one",
    },
    "rows in groups, replaced": {
        "means": {"y": (0, 90)}, "count": "rows", "unit": "person", "rows_per_unit": 2, "by": {"region": REGIONS},
        "groups_per_unit": 2, "neighbours": "replace-one",
    },
    "means over rows, replaced": {
        "sums": {"x": (-20, 60)}, "means": {"y": (0, 90)}, "count": True, "unit": "person", "rows_per_unit": 4,
        "neighbours": "replace-one",
    },
    "rows as people, filtered": {
        "sums": {"twice": (0, 150)}, "means": {"y": (0, 90)}, "count": True, "where": "region != 'west'",
        "columns": {"twice": "x * 2"},
    },
}  # fmt: skip


def random_rows(name: str, generator: random.Random, single: bool) -> list[dict[str, Any]]:
    """The rows of one person; now and then of one who reaches every bound."""
    many = 1 if single else generator.choice([1, 1, 2, 3, 5, 9])
    values = [*ODD, 30.0, 60.0, 90.0, -20.0, 7.0]
    if generator.random() < 0.15:
        x, y = generator.choice([(-1e6, 0.0), (1e6, 0.0), (1e6, 90.0), (-1e6, 90.0), (1e6, 7.0), (-1e6, 7.0)])
        places = generator.sample(REGIONS, 2)
        return [{"person": name, "region": places[i % 2], "x": x, "y": y} for i in range(1 if single else 9)]
    pick = generator.choice
    return [
        {
            "person": name if single else pick([name] * 12 + [None]),
            "region": pick([*REGIONS, "elsewhere", None]),
            "x": pick(values),
            "y": pick(values),
        }
        for _ in range(many)
    ]


def neighbours_of(request: gm.Request, generator: random.Random) -> tuple[list[Any], list[Any]]:
    """Two tables that differ in one person."""
    single = request.unit is None
    others = [row for j in range(generator.randint(0, 2)) for row in random_rows(f"other {j}", generator, single)]

    def person() -> list[dict[str, Any]]:
        while True:  # who is in the data has at least one row under that name
            rows = random_rows("person", generator, single)
            if any(row["person"] == "person" for row in rows):
                return rows

    before = [] if request.neighbours == "add-remove" else person()
    return others + before, others + person()


SCHEMA = {"person": pl.String, "region": pl.String, "x": pl.Float64, "y": pl.Float64}


def forgetting(plan: Plan, **changes: Any) -> Plan:
    """The plan with another row rule: the planted mistake of a system that reads the table otherwise."""
    queries = (
        query if query.row_rule is None else replace(query, row_rule=replace(query.row_rule, **changes))
        for query in plan.queries
    )
    return replace(plan, queries=tuple(queries))


def worst(plan: Plan, pairs: list[tuple[Found, Found]]) -> Fraction:
    """The largest squared distance of neighbours, of any noise, in units of what its guarantee leaves room for."""
    return max(max(distances(plan, one, other)) for one, other in pairs)


@pytest.mark.parametrize("name", REQUESTS)
def test_neighbours_stay_within_what_is_charged(name: str) -> None:
    generator = random.Random()
    request = gm.Request("table", guarantee=G, **REQUESTS[name])
    plan = request.plan
    pairs = [neighbours_of(request, generator) for _ in range(TABLES)]
    totals = total_tables(plan, [table for pair in pairs for table in pair], SCHEMA)
    both = list(zip(totals[0::2], totals[1::2], strict=True))
    for (one, other), (t, u) in zip(pairs[:ALONE], both[:ALONE], strict=True):
        assert in_numbers(total_alone(plan, one, SCHEMA)) == in_numbers(t)
        assert in_numbers(total_alone(plan, other, SCHEMA)) == in_numbers(u)
    if request.neighbours == "replace-one" and plan.groups is None:
        assert all(t[0][0].records == u[0][0].records for t, u in both)  # their number is public
    found = worst(plan, both)
    assert found <= 1
    # Not vacuous: somebody comes close to what is charged. (Rows in groups are charged for what few can do.)
    assert found > (Fraction(1, 4) if name == "rows in groups, replaced" else Fraction(9, 10))


BY: dict[str, Any] = {"by": {"region": REGIONS}, "groups_per_unit": 1}
X: dict[str, Any] = {"sums": {"x": (0, 60)}, "count": True}
FEW: dict[str, Any] = {"name": "few", "count": True, "where": "x > 5"}
KINDS: dict[str, Any] = {"name": "kinds", "histograms": {"region": REGIONS}, "values_per_unit": 1}

WHOLE: dict[str, dict[str, Any]] = {
    "a filter of all": {"unit": "person", "where": "y > 0", "questions": [
        {"name": "all", **X}, FEW, {"name": "by", "count": True, **BY, "groups_per_unit": 2},
        {**KINDS, "values_per_unit": 2}]},
    "one filter in each": {"unit": "person", "questions": [
        {"name": "all", **X, "where": "y > 0"}, {**KINDS, "count": True, "where": "y > 0"}]},
    "derived columns": {"unit": "person", "columns": {"z": "x / y"}, "where": "z > 0", "questions": [
        {"name": "all", "means": {"z": (0, 3)}, "mean_of": "units", "count": True},
        {"name": "few", "count": True, "where": "not is_null(x)"}, {"name": "by", "sums": {"z": (1, 2)}, **BY}]},
    "each row a person": {"where": "y > 0", "questions": [
        {"name": "all", **X}, FEW, {"name": "by", "means": {"x": (0, 9)}, **BY}]},
    "rows beside": {"unit": "person", "questions": [
        {"name": "rows", "means": {"x": (0, 60)}, "count": "rows", "rows_per_unit": 3}, FEW,
        {"name": "by", **X, **BY, "groups_per_unit": 3}]},
    "shares": {"unit": "person", "questions": [
        {"name": "by", **X, **BY, "groups_per_unit": 4, "share": 1}, {**FEW, "share": 2}]},
    "a stated error": {"unit": "person", "questions": [
        {"name": "by", **X, **BY, "groups_per_unit": 4}, {**FEW, "error_at_most": 10.0},
        {"name": "all", "count": True}]},
    "filters replaced": {"unit": "person", "neighbours": "replace-one", "where": "y > 0", "questions": [
        {"name": "all", **X}, FEW, {**KINDS, "values_per_unit": 2}]},
    "rows replaced": {"neighbours": "replace-one", "questions": [
        {"name": "all", "sums": {"x": (5, 60)}}, {"name": "few", **X, "where": "x > 5"}, {**KINDS, "count": True}]},
}  # fmt: skip
"""Questions of one table that read the same columns."""


@pytest.mark.parametrize("name", WHOLE)
def test_neighbours_of_whole_requests_stay_within_what_is_charged(name: str) -> None:
    generator = random.Random()
    request = gm.Request("table", guarantee=G, **WHOLE[name])
    plan = request.plan
    assert plan.ties
    pairs = [neighbours_of(request, generator) for _ in range(TABLES // 4)]
    totals = total_tables(plan, [table for pair in pairs for table in pair], SCHEMA)
    both = list(zip(totals[0::2], totals[1::2], strict=True))
    for (one, other), (t, u) in zip(pairs[:ALONE], both[:ALONE], strict=True):
        assert in_numbers(total_alone(plan, one, SCHEMA)) == in_numbers(t)
        assert in_numbers(total_alone(plan, other, SCHEMA)) == in_numbers(u)
    assert Fraction(9, 10) < worst(plan, both) <= 1
    assert max(spent(plan, distances(plan, t, u)) for t, u in both) <= 1
    for one, other in both[:ALONE]:  # what is not noise is public: the same for neighbours
        made = [mechanism.release_totals(plan, totals).records for totals in (one, other)]
        assert made[0] == made[1]


@pytest.mark.parametrize("name", ["sums and count of people", "means over rows, filtered", "groups with rows"])
def test_rows_taken_for_people_would_be_noticed(name: str) -> None:
    """The planted mistake of a system that forgets the unit: one person's rows then count many times."""
    generator = random.Random()
    request = gm.Request("table", guarantee=G, **REQUESTS[name])
    tables = [table for _ in range(40) for table in neighbours_of(request, generator)]
    totals = total_tables(forgetting(request.plan, unit=None), tables, SCHEMA)
    assert worst(request.plan, list(zip(totals[0::2], totals[1::2], strict=True))) > 1


def test_too_many_groups_would_be_noticed() -> None:
    """The planted mistake of a system that keeps all groups of a person."""
    generator = random.Random()
    plan = gm.Request("table", guarantee=G, **{**REQUESTS["groups with rows"], "groups_per_unit": 1}).plan
    rows = [{"person": "p", "region": region, "x": 60.0, "y": 90.0} for region in REGIONS]
    wrong = total_tables(forgetting(plan, groups_per_unit=4), [[], rows], SCHEMA)
    assert worst(plan, [(wrong[0], wrong[1])]) > 1
    right = total_tables(plan, [[], generator.sample(rows, 4)], SCHEMA)
    assert worst(plan, [(right[0], right[1])]) <= 1

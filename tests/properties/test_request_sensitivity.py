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

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains import Groups
from gaussmith.engines.engine import Totals
from gaussmith.plans import Draw, Plan
from gaussmith.plans.certified_grid import NOISE_BITS
from gaussmith.plans.row_rule import RowRule
from gaussmith.totals.opened import open_data, total

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


SCHEMA = {"person": pl.String, "region": pl.String, "x": pl.Float64, "y": pl.Float64, "table": pl.Int64}


def total_all(request: gm.Request, tables: list[list[dict[str, Any]]]) -> list[list[Totals]]:
    """The totals of every table, by group if there are any: one query, the table's number a further key."""
    (draw,) = request.plan.draws
    rule = draw.row_rule
    assert rule is not None
    rows = []
    for number, table in enumerate(tables):
        for row in table:
            unit = None if row["person"] is None else f"{number} {row['person']}"
            rows.append({**row, "person": unit, "table": number})
    frame = pl.DataFrame(rows, schema=SCHEMA)
    labels: list[dict[str, Any]] = [{"table": number} for number in range(len(tables))]
    if draw.groups is not None:
        groups = [dict(zip(draw.groups.columns, label, strict=True)) for label in draw.groups.labels]
        labels = [{**table, **group} for table in labels for group in groups]
    each = draw.block
    by = Groups(labels, each.domain, rule.groups_per_unit)
    apart = replace(rule, by=by.columns)
    found = total(open_data(frame, replace(draw, row_rule=apart, groups=by)))
    size = len(labels) // len(tables)
    return [found[i * size : (i + 1) * size] for i in range(len(tables))]


def total_alone(draw: Draw, rule: RowRule, table: list[dict[str, Any]]) -> list[Totals]:
    frame = pl.DataFrame([{**row, "table": 0} for row in table], schema=SCHEMA)
    (source,) = mechanism.prepare_request(Plan.of(replace(draw, row_rule=rule)), frame).sources
    return total(source)


def lifted(draw: Draw, totals: list[Totals]) -> list[int]:
    """The integers to which noise is added, all groups one after another."""
    each = draw.block
    vectors = [each.grid.lifted(each.codes, t.sums, t.records) for t in totals]
    return [int(y) for vector in vectors for y in vector]


def room(draw: Draw) -> Fraction:
    """(μ 2^52)²: noise of round(2^52 Z) hides any difference of at most this square."""
    return (Fraction(draw.guarantee.mu) * 2**NOISE_BITS) ** 2


def distances(draw: Draw, pairs: list[tuple[list[Totals], list[Totals]]]) -> list[Fraction]:
    """Squared distances of neighbours' lifted integers, in units of what the guarantee leaves room for."""
    found = []
    for one, other in pairs:
        square = sum((a - b) ** 2 for a, b in zip(lifted(draw, one), lifted(draw, other), strict=True))
        found.append(Fraction(square) / room(draw))
    return found


@pytest.mark.parametrize("name", REQUESTS)
def test_neighbours_stay_within_what_is_charged(name: str) -> None:
    generator = random.Random()
    request = gm.Request("table", guarantee=G, **REQUESTS[name])
    (draw,) = request.plan.draws
    rule = draw.row_rule
    assert rule is not None
    pairs = [neighbours_of(request, generator) for _ in range(TABLES)]
    totals = total_all(request, [table for pair in pairs for table in pair])
    both = list(zip(totals[0::2], totals[1::2], strict=True))
    for (one, other), (t, u) in zip(pairs[:ALONE], both[:ALONE], strict=True):
        assert total_alone(draw, rule, one) == t
        assert total_alone(draw, rule, other) == u
    if request.neighbours == "replace-one" and draw.groups is None:
        assert all(t[0].records == u[0].records for t, u in both)  # their number is public
    found = distances(draw, both)
    assert max(found) <= 1
    # Not vacuous: somebody comes close to what is charged. (Groups under replace-one are charged for what few can do.)
    assert max(found) > (Fraction(1, 4) if name.endswith("in groups, replaced") else Fraction(9, 10))


@pytest.mark.parametrize("name", ["sums and count of people", "means over rows, filtered", "groups with rows"])
def test_rows_taken_for_people_would_be_noticed(name: str) -> None:
    """The planted mistake of a system that forgets the unit: one person's rows then count many times."""
    generator = random.Random()
    request = gm.Request("table", guarantee=G, **REQUESTS[name])
    (draw,) = request.plan.draws
    rule = draw.row_rule
    assert rule is not None
    forgetful = replace(rule, unit=None)
    pairs = [neighbours_of(request, generator) for _ in range(40)]
    both = [tuple(total_alone(draw, forgetful, table) for table in pair) for pair in pairs]
    assert max(distances(draw, both)) > 1  # type: ignore[arg-type]


def test_too_many_groups_would_be_noticed() -> None:
    """The planted mistake of a system that keeps all groups of a person."""
    generator = random.Random()
    request = gm.Request("table", guarantee=G, **{**REQUESTS["groups with rows"], "groups_per_unit": 1})
    (draw,) = request.plan.draws
    rule = draw.row_rule
    assert rule is not None
    rows = [{"person": "p", "region": region, "x": 60.0, "y": 90.0} for region in REGIONS]
    many = replace(rule, groups_per_unit=4)
    pair = (total_alone(draw, many, []), total_alone(draw, many, rows))
    assert distances(draw, [pair])[0] > 1
    right = (total_alone(draw, rule, []), total_alone(draw, rule, generator.sample(rows, 4)))
    assert distances(draw, [right])[0] <= 1

"""Random requests for quantiles, tables, moments and a person's own numbers: nobody changes more than was charged.

A few fresh ones; `./run prove requests` tries hundreds.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from whole.pairs import distances, total_alone, total_tables
from whole.statistics import ASKED, SCHEMA, random_request, try_neighbours

import gaussmith as gm


def test_random_neighbours_stay_within_what_is_charged() -> None:
    largest = []
    for _ in range(6):
        seed = str(random.SystemRandom().getrandbits(64))
        generator = random.Random(seed)
        name, request = random_request(generator)
        found, together = try_neighbours(request, generator, 4)
        assert found <= 1 and together <= 1, (seed, name)
        largest.append(found)
    assert max(largest) > Fraction(1, 4)  # not vacuous


def test_all_kinds_are_asked() -> None:
    generator = random.Random(5)
    asked = [random_request(generator) for _ in range(60)]
    assert {name for name, _ in asked} == {*ASKED, "person columns"}
    assert {request.neighbours for _, request in asked} == {"add-remove", "replace-one"}


def test_a_person_with_more_rows_than_were_planned_would_be_noticed() -> None:
    request = gm.Request(
        "table", variances={"x": (0, 60)}, unit="person", rows_per_unit=2, guarantee=gm.Guarantee(epsilon=1, delta=1e-6)
    )
    plan = request.plan
    (query,) = plan.queries
    assert query.row_rule is not None
    rows = [{"person": "p", "region": "north", "x": 60.0, "y": 1.0}] * 6
    nobody, right = (total_alone(plan, table, SCHEMA) for table in ([], rows))
    assert max(distances(plan, nobody, right)) <= 1
    more = replace(query, row_rule=replace(query.row_rule, rows_per_unit=6))
    (wrong,) = total_tables(replace(plan, queries=(more,)), [rows], SCHEMA)
    assert max(distances(plan, nobody, wrong)) == pytest.approx(9 * float(max(distances(plan, nobody, right))))

"""Requests about the rows of people: one noise for all, the best there is, and within what is charged."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from all_people import list_answers
from whole.pairs import distances, spent, total_alone, total_tables
from whole.rows import Question, Row, random_neighbours, random_request, request_of, schema_of

import gaussmith as gm
from gaussmith.domains.domain import rows_of
from gaussmith.numerics.solver import solve as solve_points
from gaussmith.planning.certificate import verify
from gaussmith.planning.plan import Plan

REQUESTS, PAIRS = 12, 30
"""Random requests, and neighbours for each of them."""

MONTHS = ["a", "b", "c", "d"]
QUESTIONS: list[Question] = [
    {"name": "q0", "by": {"g0": MONTHS}, "groups_per_unit": 3, "means": {"x0a": (0, 30)}, "count": "rows"},
    {"name": "q1", "histograms": {"h1": ["young", "old"]}, "values_per_unit": 1},
    {"name": "q2", "count": True},
]
ROWS = 5


def has_tied_rows(plan: Plan) -> bool:
    return any(query.tie is not None and rows_of(query.block.domain) is not None for query in plan.queries)


def random_visits(generator: random.Random) -> list[Row]:
    found = []
    for person in range(60):
        age, months = generator.choice(["young", "old"]), generator.sample(MONTHS, 3)
        for _ in range(generator.randint(1, ROWS)):
            row: Row = dict.fromkeys(schema_of(QUESTIONS)) | {"person": f"{person}", "h1": age}
            found.append(row | {"g0": generator.choice(months), "x0a": generator.uniform(0, 30)})
    return found


def test_with_little_noise_the_answers_are_those_of_the_table() -> None:
    frame = pl.DataFrame(random_visits(random.Random(5)), schema_of(QUESTIONS))
    release = gm.release(request_of(QUESTIONS, ROWS, 1e5, frame))
    assert has_tied_rows(release.plan) and len(release.plan.noises) == 1
    said = {(row["question"], row["g0"], row["answer"]): row["value"] for row in release.rows()}
    expected: dict[Any, float] = {("q2", None, "count"): frame["person"].n_unique()}
    for month in MONTHS:
        inside = frame.filter(pl.col("g0") == month)
        expected |= {("q0", month, "x0a_mean"): inside["x0a"].mean(), ("q0", month, "count"): len(inside)}  # type: ignore[dict-item]
    for age in ("young", "old"):
        expected["q1", None, f"h1={age}"] = frame.filter(pl.col("h1") == age)["person"].n_unique()
    assert said == pytest.approx(expected, abs=2e-3)


def test_the_whole_request_is_at_its_optimum() -> None:
    plan = request_of([{**QUESTIONS[0], "complete": ["x0a"]}, *QUESTIONS[1:]], ROWS, 1.0).plan
    (tie,) = plan.ties
    assert tie.how == "types" and len(tie.members) == 3
    assert plan.optimality < 1.0001 and tie.total_variance < 0.65 * tie.apart
    best = solve_points(list_answers(tie.body), gap=1e-4)  # of everybody who can be in the table
    assert best.lower * (1 - 1e-9) <= tie.total_variance <= best.upper * (1 + 1e-5)
    again = gm.read(plan.to_json())
    again.certify()
    assert again.optimality == plan.optimality
    assert not verify(plan, plan.certificate).problems


@pytest.mark.parametrize(("most", "tied"), [(250, True), (1000, True), (1001, False)])
def test_rows_in_many_groups_are_planned(most: int, tied: bool) -> None:
    """By types, as a box where there are too many of these, and with noise of their own beyond what is certified."""
    many: Question = {"by": {"g0": list(range(1200))}, "groups_per_unit": most, "means": {"x0a": (0, 30)}}
    plan = request_of([{"name": "q0", "count": "rows", **many}, *QUESTIONS[1:]], ROWS, 1.0).plan
    plan.certify()
    assert has_tied_rows(plan) == tied
    if tied:
        (tie,) = plan.ties
        assert 1 - 1e-6 < tie.reach <= 1 and plan.optimality < (1.005 if most == 250 else 1.04)


def test_random_neighbours_stay_within_what_is_charged() -> None:
    largest, tied = [], 0
    for _ in range(REQUESTS):
        seed = str(random.SystemRandom().getrandbits(64))
        generator = random.Random(seed)
        request = random_request(generator)
        plan, questions = request.plan, [dict(each) for each in request.questions]
        most = request.rows_per_unit
        tables = [table for _ in range(PAIRS) for table in random_neighbours(generator, questions, most)]
        totals = total_tables(plan, tables, schema_of(questions))
        assert total_alone(plan, tables[1], schema_of(questions)) == totals[1], seed
        found = [distances(plan, one, other) for one, other in zip(totals[0::2], totals[1::2], strict=True)]
        assert max(map(max, found)) <= 1, seed
        assert max(spent(plan, each) for each in found) <= 1, seed
        largest.append(max(map(max, found)))
        tied += has_tied_rows(plan)
    assert tied >= 3
    assert np.median([float(each) for each in largest]) > 0.9  # somebody comes close to what is charged


def visits_of(rows: Sequence[int], age: str | None = "old") -> list[Row]:
    """One person with so many rows in each of some groups, all numbers at a bound; a row elsewhere if in none."""
    row: Row = dict.fromkeys(schema_of(QUESTIONS)) | {"person": "person", "h1": age, "x0a": 30.0}
    inside = [row | {"g0": month} for month, n in zip(MONTHS, rows, strict=False) for _ in range(n)]
    return inside or [row]


def test_somebody_attains_what_is_charged() -> None:
    plan, schema = request_of(QUESTIONS, ROWS, 1.0).plan, schema_of(QUESTIONS)
    rows = [each for k in range(4) for each in itertools.combinations_with_replacement((1, ROWS), k)]
    nobody, *totals = total_tables(plan, [[], *(visits_of(n, age) for n in rows for age in ("old", None))], schema)
    found = [max(distances(plan, nobody, each)) for each in totals]
    assert Fraction(1) - Fraction(1, 10**11) < max(found) <= 1


def test_a_person_with_more_rows_than_declared_would_be_noticed() -> None:
    """The planted mistake of a system that keeps all rows of a person."""
    plan, schema = request_of(QUESTIONS, ROWS, 1.0).plan, schema_of(QUESTIONS)
    rows = visits_of([3 * ROWS] * 3)
    nobody, right = (total_alone(plan, table, schema) for table in ([], rows))
    assert max(distances(plan, nobody, right)) <= 1
    queries = [
        query if query.row_rule is None else replace(query, row_rule=replace(query.row_rule, rows_per_unit=3 * ROWS))
        for query in plan.queries
    ]
    (found,) = total_tables(replace(plan, queries=tuple(queries)), [rows], schema)
    assert max(distances(plan, nobody, found)) > 1

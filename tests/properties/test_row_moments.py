"""Moments over the rows of people: nobody adds more than k times what a row can, also where means are rounded."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from lifts import entries
from refusals import damaged, refused
from whole.pairs import distances, total_alone, total_tables

import gaussmith as gm
from gaussmith.domains.row_moments import RowMoments
from gaussmith.numerics.matrices import Dense
from gaussmith.privacy.neighbours import ADD_REMOVE

REGIONS = ["north", "south"]
SCHEMA = {"person": pl.String, "region": pl.String, "x": pl.Float64, "y": pl.Float64}
BOUNDS = {"x": (-3.0, 5.0), "y": (0.0, 100.0)}
PAIRS = 200
REQUESTS: dict[str, dict[str, Any]] = {
    "variance": {"variances": {"x": BOUNDS["x"]}, "rows_per_unit": 4},
    "promised": {"covariance": BOUNDS, "rows_per_unit": 3, "complete": ["x", "y"], "count": True},
    "beside others": {
        "variances": ["y"], "means": ["x"], "sums": {"y": (0, 90)}, "bounds": BOUNDS, "rows_per_unit": 2,
        "count": "rows",
    },
    "regression by group": {
        "regression": {"of": "y", "on": ["x"]}, "bounds": BOUNDS, "rows_per_unit": 2, "by": {"region": REGIONS},
        "groups_per_unit": 2,
    },
    "replaced": {"variances": {"x": BOUNDS["x"]}, "rows_per_unit": 3, "neighbours": "replace-one"},
}  # fmt: skip


def rows_of(name: str, generator: random.Random) -> list[dict[str, Any]]:
    """Few rows or many, of all kinds or all at one end."""
    values = [None, float("nan"), float("inf"), -float("inf"), -3.0, 5.0, 0.0, 1.0, 100.0, 50.0, 1e308, 0.1]
    pick = generator.choice
    many, same = pick([1, 2, 3, 4, 5, 9]), pick([True, False])
    one = {"x": pick([-3.0, 5.0, 1.0]), "y": pick([0.0, 100.0])}
    place = pick([*REGIONS, "elsewhere"])
    made = [one if same else {"x": pick(values), "y": pick(values)} for _ in range(many)]
    return [{"person": name, "region": place if same else pick(REGIONS), **row} for row in made]


@pytest.mark.parametrize("name", REQUESTS)
def test_neighbours_stay_within_what_is_charged(name: str) -> None:
    generator = random.Random()
    request = gm.Request("table", unit="person", guarantee=gm.Guarantee(epsilon=1, delta=1e-6), **REQUESTS[name])
    plan, tables = request.plan, []
    for _ in range(PAIRS):
        others = rows_of("other", generator)
        before = [] if request.neighbours == ADD_REMOVE else rows_of("person", generator)
        tables += [others + before, others + rows_of("person", generator)]
    found = total_tables(plan, tables, SCHEMA)
    assert max(max(distances(plan, *found[i : i + 2])) for i in range(0, len(found), 2)) <= 1
    at_ends = [{"person": "person", "region": "north", "x": x, "y": 100.0} for x in [5.0] * 4]
    empty, full = (total_alone(plan, rows, SCHEMA) for rows in ([], at_ends))
    assert max(distances(plan, empty, full)) > Fraction(1, 5)  # not vacuous
    if name in ("variance", "promised"):  # of one row or k, each number at an end or in the middle: one attains it
        corners = itertools.product((1, plan.queries[0].block.domain.max_rows), (1.0, 5.0), (50.0, 100.0))  # type: ignore[attr-defined]
        tables = [[{"person": "p", "region": "north", "x": x, "y": y}] * many for many, x, y in corners]
        reached = max(distances(plan, empty, totals)[0] for totals in total_tables(plan, tables, SCHEMA))
        assert 1 - 1e-4 < reached <= 1


def coarse(steps: tuple[int, ...], k: int) -> RowMoments:
    """A domain whose columns have so few steps that all people can be listed."""
    domain = RowMoments({f"c{j}": (-1, 1) for j in range(len(steps))}, "all", max_rows=k)
    few = replace(domain._coarse_codes, steps=np.array(steps))
    object.__setattr__(domain, "_coarse", few)
    return domain


def every_person(domain: RowMoments, steps: tuple[int, ...], most: int) -> Iterator[list[int]]:
    """The cores of all people with up to `most` rows of codes; of more than k rows as `RowSum` and `RowProduct` say."""
    codes = list(itertools.product(*(range(s + 1) for s in steps)))
    for n in range(1, most + 1):
        for rows in itertools.combinations_with_replacement(codes, n):
            numbers = [[*row, *(row[i] * row[j] for i, j in domain.pairs)] for row in rows]
            sums, k = [sum(column) for column in zip(*numbers, strict=True)], domain.max_rows
            if n > k:
                sums = [k * ((total + n // 2) // n) for total in sums]
            T, d = min(n, k), len(steps)
            core = [2 * sums[j] - T * steps[j] for j in range(d)]
            for at, (i, j) in enumerate(domain.pairs, start=d):
                crossed = 2 * (steps[j] * sums[i] + steps[i] * sums[j])
                core.append(4 * sums[at] - crossed + T * steps[i] * steps[j])
            yield [*core, T]


CASES = [((2,), 2, 5), ((3,), 2, 5), ((5,), 3, 5), ((2, 3), 2, 4)]


def worst_ratio(steps: tuple[int, ...], k: int, most: int, rng: np.random.Generator, queries: int = 25) -> Fraction:
    """The largest squared norm of a person over that of the bound, over random lifts."""
    domain, worst = coarse(steps, k), Fraction(0)
    people = {tuple(core) for core in every_person(domain, steps, most)}
    d, extent = len(steps), np.array([*steps, *(steps[i] * steps[j] for i, j in domain.pairs)], float)
    for _ in range(queries):
        odd, even = [*range(d), *domain.crossed], [*domain.squares, domain.dimension]
        rows = np.zeros((len(odd) + len(even), domain.dimension + 1))
        rows[range(len(odd)), odd] = rng.integers(-8, 9, len(odd)) / 4
        rows[len(odd) :, even] = rng.integers(-8, 9, (len(even), len(even))) / 4
        lift = Dense(rows / np.append(extent, 1.0))
        bound = Fraction(domain.sensitivity(lift, ADD_REMOVE, extent))
        exact = entries(lift)
        for person in people:
            square = sum(sum((e * p for e, p in zip(row, person, strict=True)), Fraction(0)) ** 2 for row in exact)
            worst = max(worst, square / bound**2 if bound else Fraction(0))
    return worst


@pytest.mark.parametrize(("steps", "k", "most"), CASES)
def test_no_person_of_few_codes_exceeds_the_bound(steps: tuple[int, ...], k: int, most: int) -> None:
    assert worst_ratio(steps, k, most, np.random.default_rng(), 8) <= 1


def test_a_bound_without_room_for_rounded_means_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowMoments, "_rounding", Fraction(0))
    found = [worst_ratio(steps, k, most, np.random.default_rng(1)) for steps, k, most in CASES[:3]]
    assert max(found) > 1


def test_values_are_those_of_all_rows_and_people_with_more_are_scaled_down() -> None:
    rows = [("a", 1.0), ("a", 3.0), ("b", 5.0), ("b", 1.0), ("b", 1.0), ("b", 1.0)]
    table = pl.DataFrame(rows, schema=["person", "x"], orient="row")
    sure = gm.Guarantee(mu=1e6)

    def ask(k: int) -> gm.Release:
        return gm.release(gm.Request(table, unit="person", rows_per_unit=k, variances={"x": (0, 8)}, guarantee=sure))

    assert ask(4)["x_variance"].value == pytest.approx(table["x"].var(ddof=0), abs=1e-3)
    weights, x = np.array([1, 1, 0.5, 0.5, 0.5, 0.5]), table["x"].to_numpy()  # b's four rows count as two
    mean = float(weights @ x / weights.sum())
    assert ask(2)["x_variance"].value == pytest.approx(float(weights @ (x - mean) ** 2 / weights.sum()), abs=1e-3)


def test_noise_is_that_of_rows_which_are_people_times_their_number_and_as_good_as_any() -> None:
    G = gm.Guarantee(epsilon=1, delta=1e-6)
    alone = gm.Request("t.csv", variances=["x"], bounds=BOUNDS, guarantee=G).plan
    many = gm.Request("t.csv", variances=["x"], bounds=BOUNDS, unit="person", rows_per_unit=7, guarantee=G).plan
    for name, error in alone.errors(rows=1000).items():
        assert many.errors(rows=1000)[name] == pytest.approx(7 * error, rel=1e-4)
    assert many.optimality < 1.001
    assert "n is the number of rows" in str(many)
    again = gm.Plan.from_json(many.to_json())
    assert again.hash == many.hash and again.certificate.to_json() == many.certificate.to_json()


def test_what_cannot_be_asked() -> None:
    G = gm.Guarantee(epsilon=1, delta=1e-6)
    fields: dict[str, Any] = {"unit": "person", "variances": {"x": (0, 8)}, "guarantee": G}
    with refused("rows-per-unit-missing"):
        gm.Request("t.csv", **fields)
    with refused("row-moments-under-replace-one"):
        gm.Request("t.csv", rows_per_unit=2, complete=["x"], neighbours="replace-one", **fields)
    with refused("row-moments-in-found-groups"):
        gm.Request("t.csv", rows_per_unit=2, by={"to": "found"}, groups_per_unit=1, **fields)
    plan = gm.Request("t.csv", rows_per_unit=2, **fields).plan
    with refused("people-plan-without-request"):
        plan.release(np.zeros((3, 1)))
    with refused(damaged("other numbers of a person than planned")):
        query = plan.queries[0]
        assert query.row_rule is not None
        replace(query, row_rule=replace(query.row_rule, rows_per_unit=3)).certify()


@pytest.mark.parametrize("count", [True, "rows"])
def test_rows_do_not_borrow_the_number_of_people(count: bool | str) -> None:
    """Around a centre everybody adds the centre once; a person with several rows would add it several times."""
    rows = pl.DataFrame({"person": [i // 5 for i in range(500)], "x": [i % 7 + 0.5 for i in range(500)]})
    request = gm.Request(
        rows, unit="person", rows_per_unit=4, variances={"x": (0, 9)}, count=count, guarantee=gm.Guarantee(mu=1e5)
    )
    assert gm.release(request)["x_variance"].value == pytest.approx(4, abs=0.1)

"""Whole requests: their noise is the best there is, and no person changes what it is added to by more than was charged.

Fresh random requests each time; `./run prove requests` tries many more of them (docs/evidence/requests.json).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from refusals import refused
from whole.asks import ALL, FILTER, GROUPS, HISTOGRAM, SMALL, WIDE, Asked, WholeAsk, random_ask, random_worth
from whole.optimum import Least, differences_of, least_total, total_of
from whole.pairs import distances, total_alone, total_tables
from whole.people import rows_at, schema_of
from whole.trials import try_corners, try_optimum, try_pairs

import gaussmith as gm

REQUESTS = 15
PAIRS = 50
"""Of neighbours, for each of thirty requests."""

TIGHT = Fraction(1) - Fraction(2, 10**12)
"""The square of what people at the bounds attain: to 1e-12."""


def test_totals_are_within_one_percent_of_the_optimum_over_all_vertices_and_never_below_it() -> None:
    for _ in range(REQUESTS):
        seed = str(random.SystemRandom().getrandbits(64))
        ask = random_ask(random.Random(seed), SMALL)
        found = try_optimum(ask)
        assert 1 - 1e-6 <= found.most, (seed, ask)
        assert found.least <= 1.01, (seed, ask)


def test_groups_that_weigh_differently_are_at_their_optimum_and_stay_within_what_is_charged() -> None:
    tried = 0
    while tried < 4:
        seed = str(random.SystemRandom().getrandbits(64))
        generator = random.Random(seed)
        ask = random_worth(random_ask(generator, SMALL), generator)
        if not any(each.most > 1 and len(set(each.worth)) > 1 for each in ask.asked):
            continue
        tried += 1
        found = try_optimum(ask)
        assert 1 - 1e-6 <= found.most and found.least <= 1.01, (seed, ask)
        corners = try_corners(ask)
        assert max(corners) <= 1, (seed, ask)
        assert ask.neighbours != "add-remove" or min(corners) > TIGHT, (seed, ask)
        pairs = try_pairs(ask, generator, PAIRS // 2)
        assert pairs.largest <= 1 and pairs.together <= 1 and pairs.differ == 0, (seed, ask)


def test_many_groups_that_weigh_differently_stay_within_what_is_charged() -> None:
    for _ in range(2):
        seed = str(random.SystemRandom().getrandbits(64))
        generator = random.Random(seed)
        ask = random_worth(random_ask(generator, WIDE), generator)
        found = try_pairs(ask, generator, PAIRS // 2)
        assert found.largest <= 1 and found.together <= 1 and found.differ == 0, (seed, ask)


def test_a_shape_with_less_noise_would_be_noticed() -> None:
    """The oracle is no mirror of the solver: totals a little below the optimum are told from it."""
    ask = WholeAsk((Asked(FILTER, count=True), Asked(FILTER, count=True)), True, "add-remove")
    best = least_total(differences_of(ask))
    assert best == Least(*(pytest.approx(8 / 3, rel=1e-4) for _ in range(3)))
    assert total_of(ask.request().plan) == pytest.approx(8 / 3, rel=1e-6)
    assert best.lower > 8 / 3 * (1 - 1e-5)


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["small", "wide"])
def test_random_neighbours_stay_within_what_is_charged(size: Any) -> None:
    largest = []
    for _ in range(15):
        seed = str(random.SystemRandom().getrandbits(64))
        generator = random.Random(seed)
        ask = random_ask(generator, size)
        found = try_pairs(ask, generator, PAIRS)
        assert found.largest <= 1 and found.together <= 1, (seed, ask)
        assert found.differ == 0, (seed, ask)
        largest.append(found.largest)
    assert np.median([float(each) for each in largest]) > 0.9  # somebody comes close to what is charged


def test_people_at_the_corners_attain_what_is_charged() -> None:
    for _ in range(8):
        seed = str(random.SystemRandom().getrandbits(64))
        ask = random_ask(random.Random(seed), SMALL)
        found = try_corners(ask)
        assert max(found) <= 1, (seed, ask)
        if ask.neighbours == "add-remove":  # all of them were tried
            assert min(found) > TIGHT, (seed, ask)


EXTREME = {
    "twelve months, all of them": WholeAsk(
        (Asked(GROUPS, {"x0a": (0.0, 8.0)}, count=True, groups=12, most=12), Asked(ALL, count=True)), True, "add-remove"
    ),
    "filters, histogram and sums": WholeAsk(
        (
            Asked(FILTER, {"x0a": (0.0, 1.0), "x0b": (-2.0, 2.0)}, count=True),
            Asked(HISTOGRAM, groups=5, most=3, count=True),
            Asked(ALL, {"x2a": (0.0, 64.0)}, {"x2b": (-1.0, 1.0)}),
            Asked(GROUPS, count=True, groups=6, most=2),
        ),
        True,
        "add-remove",
    ),
}


@pytest.mark.parametrize("name", EXTREME)
def test_people_who_are_everywhere_attain_what_is_charged(name: str) -> None:
    assert all(TIGHT < each <= 1 for each in try_corners(EXTREME[name]))


def test_a_person_in_more_groups_than_declared_would_be_noticed() -> None:
    """The planted mistake of a system that keeps all groups of a person."""
    ask = WholeAsk((Asked(GROUPS, count=True, groups=6, most=2), Asked(FILTER, count=True)), True, "add-remove")
    plan, schema = ask.request().plan, schema_of(ask)
    assert len(plan.ties) == 1
    rows = rows_at(ask, (dict.fromkeys(range(6), ()), {0: ()}))
    nobody, right = (total_alone(plan, table, schema) for table in ([], rows))
    assert max(distances(plan, nobody, right)) <= 1
    wrong = [
        replace(d, row_rule=replace(d.row_rule, groups_per_unit=6)) for d in plan.queries if d.row_rule is not None
    ]
    (found,) = total_tables(replace(plan, queries=tuple(wrong)), [rows], schema)
    assert max(distances(plan, nobody, found)) > 1


# -- several questions beside each other ---------------------------------------------------------------------------


def apart(ask: WholeAsk) -> float:
    """(Σ √T)²: the total of the questions planned one by one, at the best shares."""
    alone = (replace(ask, asked=(each,)) for each in ask.asked if _can_be_alone([each], ask))  # others are public
    return sum(total_of(one.request().plan) ** 0.5 for one in alone) ** 2


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["small", "wide"])
def test_separate_questions_are_never_better(size: Any) -> None:
    for _ in range(20):
        seed = str(random.SystemRandom().getrandbits(64))
        ask = replace(random_ask(random.Random(seed), size), weights="relative")
        assert total_of(ask.request().plan) <= apart(ask) * (1 + 1e-6), (seed, ask)


def own_total(plan: gm.Plan, names: Sequence[str]) -> float:
    """The total of some questions of a plan."""
    total = 0.0
    for name in names:
        total += plan[name].total_variance
    return total


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["small", "wide"])
def test_another_question_is_never_refused_and_never_makes_the_others_better(size: Any) -> None:
    for _ in range(15):
        seed = str(random.SystemRandom().getrandbits(64))
        ask = replace(random_ask(random.Random(seed), size), weights="relative")
        if len(ask.asked) < 2:
            continue
        fewer = replace(ask, asked=ask.asked[:-1]) if _can_be_alone(ask.asked[:-1], ask) else None
        if fewer is None:
            continue
        plan, before = ask.request().plan, fewer.request().plan
        assert total_of(before) <= total_of(plan) * (1 + 1e-6), (seed, ask)
        others = [f"q{q}" for q in range(len(fewer.asked))]
        assert own_total(plan, others) >= total_of(before) * (1 - 1e-3), (seed, ask)


def _can_be_alone(asked: Sequence[Asked], ask: WholeAsk) -> bool:
    everybody = [each for each in asked if each.kind == ALL]
    return ask.neighbours == "add-remove" or not everybody or any(each.columns for each in everybody)


def test_plans_read_back_are_the_same() -> None:
    for size in (SMALL, WIDE, SMALL, WIDE, WIDE):
        seed = str(random.SystemRandom().getrandbits(64))
        ask = random_ask(random.Random(seed), size)
        plan = ask.request().plan
        again = gm.Plan.from_json(plan.to_json())
        assert again.hash == plan.hash and again.to_json() == plan.to_json(), (seed, ask)
        assert again.errors(rows=1000) == plan.errors(rows=1000), (seed, ask)
        assert again.total_variance == plan.total_variance and again.optimality == plan.optimality, (seed, ask)
        for one, other in zip(plan.ties, again.ties, strict=True):
            for a, b in zip(
                (*one.grid[0].own, one.grid[0].ties), (*other.grid[0].own, other.grid[0].ties), strict=True
            ):
                assert np.array_equal(a, b), (seed, ask)


def test_what_is_public_takes_no_noise_and_is_refused_alone() -> None:
    people, some = Asked(ALL, count=True), Asked(FILTER, count=True)
    plan = WholeAsk((people, some), True, "replace-one").request().plan
    assert plan.shares() == {"q0": 0.0, "q1": 1.0} and len(plan.noises) == 1
    with refused("count-alone-under-replace-one"):
        WholeAsk((people,), True, "replace-one").request()

"""Answers by the same groups: planned as one group, private for all people, and only where a person is in one group."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from planting import plant
from whole.existing import (
    BOUNDS,
    EDGES,
    ROWS,
    SCHEMA,
    effects,
    everyone,
    examine,
    features_of,
    random_by_groups,
    rows_of,
    try_people,
)
from whole.pairs import total_tables

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.moments import Moments
from gaussmith.engines.polars import POLARS
from gaussmith.errors import PlanError
from gaussmith.numerics.joint.lift import TiedLift
from gaussmith.numerics.joint.sensitivity import largest
from gaussmith.planning import one_group
from gaussmith.planning.certificate import verify
from gaussmith.planning.joint_noise import JointNoise
from gaussmith.planning.one_group import by_one_key, one_choice
from gaussmith.planning.plan import Plan

G = gm.Guarantee(mu=1)
KEYS = ["c0", "c1", "c2"]
BY = {"c": KEYS}
A = [*BOUNDS["a"], None]
MEAN = {"means": ["a"], "bounds": BOUNDS}
MIDDLE = {"medians": ["q"], "bins": {"q": EDGES}, "bounds": BOUNDS}
SPREAD = {"variances": ["b"], "bounds": BOUNDS}
UNIT = {"unit": "person", "rows_per_unit": ROWS, "groups_per_unit": 1}
C = [*KEYS, None]
REPLACED = {"neighbours": "replace-one"}


def ask(*questions: dict[str, Any], **fields: Any) -> Plan:
    named = [{"name": f"x{i}", **question} for i, question in enumerate(questions)]
    frame = pl.DataFrame([], schema=SCHEMA)
    return gm.Request(frame, guarantee=G, questions=named, **fields).plan


CASES: dict[str, tuple[Plan, list[dict[str, Any]]]] = {
    "mean and count": (ask({**MEAN, "count": True, "by": BY}), rows_of({"c": C, "a": A})),
    "of people": (ask({**MEAN, "count": True, "by": BY}, **UNIT), rows_of({"c": C, "a": A})),
    "of people's own means": (
        ask({**MEAN, "count": True, "by": BY, "mean_of": "units"}, **UNIT),
        rows_of({"c": C, "a": A}),
    ),
    "two means": (ask({**MEAN, "means": ["a", "b"], "by": BY}, **UNIT), rows_of({"c": C, "a": A, "b": [-2.0, None]})),
    "a median borrows": (
        ask({**MIDDLE, "by": BY}, {**MEAN, "count": True, "by": BY}, **UNIT),
        rows_of({"c": C[1:], "a": A, "q": [-1.0, 6.0, None]}),
    ),
    "a variance borrows": (
        ask({**SPREAD, "mean_of": "units", "by": BY}, {"count": True, "by": BY}, **UNIT),
        rows_of({"c": C, "b": [-2.0, 2.0, 6.0, None]}),
    ),
    "histogram": (ask({"histograms": BY}, {**MEAN, "by": BY}), rows_of({"c": C, "a": A})),
    "histogram of people": (
        ask({"histograms": BY, "values_per_unit": 1}, {**MEAN, "by": BY}, **UNIT),
        rows_of({"c": C, "a": A}),
    ),
    "filters of rows": (
        ask({"count": True, "by": BY, "where": "f"}, {**MEAN, "count": True, "by": BY, "where": "h"}),
        rows_of({"c": C, "a": A, "f": [True, False], "h": [True, False]}),
    ),
    "weights": (
        ask({**MEAN, "count": True, "by": BY, "group_weights": {"c0": 4}}, **UNIT),
        rows_of({"c": C, "a": A}),
    ),
    "replaced": (ask({**MEAN, "count": True, "by": BY}, **REPLACED), rows_of({"c": C, "a": A})),
    "replaced people": (
        ask({**MEAN, "count": True, "by": BY, "mean_of": "units"}, **REPLACED, **UNIT),
        rows_of({"c": C, "a": A}),
    ),
    "beside others": (
        ask({**MEAN, "count": True, "by": BY}, {"sums": ["b"], "bounds": BOUNDS, "where": "f"}, **UNIT),
        rows_of({"c": C[1:], "a": A, "b": [-2.0, 6.0], "f": [True, False]}),
    ),
}


def reaches(plan: Plan, rows: list[dict[str, Any]]) -> np.ndarray:
    """√(sᵀ Σ⁻¹ s) of every person that these rows make, or every two of them, through the release itself."""
    rule = plan.queries[0].row_rule
    assert rule is not None
    people = [[row | {"person": "p"} for row in person] for person in everyone(rows, rule.unit is not None)]
    nobody, *totals = total_tables(plan, [[], *people], SCHEMA)
    plain, _ = features_of(plan, nobody)
    noise = np.array(effects(plan, nobody))
    added = np.array([features_of(plan, each)[0] - plain for each in totals])
    if plan.neighbours == "replace-one":
        added = np.unique(np.round(added, 9), axis=0)
        one, other = np.triu_indices(len(added), 1)
        added = added[one] - added[other]
    sizes = np.linalg.norm(noise, axis=0)
    inverse = np.linalg.pinv((noise / sizes).T @ (noise / sizes), rcond=1e-11, hermitian=True)
    left = (added / sizes) @ (np.eye(len(sizes)) - inverse @ ((noise / sizes).T @ (noise / sizes)))
    assert np.abs(left).max() < 1e-6, "nothing is added that has no noise"
    return np.sqrt(np.einsum("ij,jk,ik->i", added / sizes, inverse, added / sizes))


@pytest.mark.parametrize("name", CASES)
def test_all_people_are_hidden_and_some_just_so(name: str) -> None:
    plan, rows = CASES[name]
    assert any(tie.groups is not None for tie in plan.ties), "it is planned as one group"
    found = reaches(plan, rows)
    assert found.max() <= 1 + 1e-9
    assert found.max() > 0.9


@pytest.mark.parametrize("name", CASES)
def test_all_groups_at_once_are_lifted_as_each_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words for all groups, and in Python's integers group by group: the same, of the tables of many people."""
    plan, rows = CASES[name]
    tables = [[row | {"person": f"{i}"} for i, row in enumerate(rows * 2)], [rows[0] | {"person": "p"}], []]
    for totals in total_tables(plan, tables, SCHEMA):
        words = integers_of(plan, totals)
        for i, each in words.items():  # products of values need more than words
            assert each.dtype == (object if isinstance(plan.queries[i].block.domain, Moments) else np.int64)
        with monkeypatch.context() as patched:
            patched.setattr(mechanism, "in_words", lambda totals: None)
            plain = integers_of(plan, totals)
        assert all(each.dtype == object for each in plain.values())
        assert {i: each.tolist() for i, each in words.items()} == {i: each.tolist() for i, each in plain.items()}


def integers_of(plan: Plan, totals: Any) -> dict[int, np.ndarray]:
    """The integers below each shared noise and below those that borrow from it, copies × rows."""
    found = {}
    for tie in plan.ties:
        seen = mechanism.totals_seen(plan, tie, totals)
        members = [(tie.seen(plan.queries[i]), seen[i]) for i in tie.members]
        found[tie.members[0]] = mechanism.lift_copies(tie, members)
        found |= {i: mechanism.lift_lent(tie, tie.seen(plan.queries[i]), seen[i], seen) for i in tie.lent_to}
    return found


def test_noise_that_is_drawn_once_for_all_groups_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, rows = CASES["mean and count"]
    drawn = "normal_integers(lifted.size, NOISE_BITS)"
    plant(monkeypatch, mechanism._release_tie, drawn, f"np.tile({drawn.replace('size', 'shape[1]')}, len(lifted))")
    with pytest.raises(AssertionError, match="nothing is added that has no noise"):
        reaches(plan, rows)


@pytest.mark.parametrize("name", CASES)
def test_plans_by_one_group_are_saved_and_certified(name: str) -> None:
    plan, _ = CASES[name]
    again = gm.Plan.from_json(plan.to_json())
    assert again.hash == plan.hash and again.total_variance == plan.total_variance
    verdict = verify(again, plan.certificate)
    assert not verdict.problems and verdict.least <= plan.lower_bound * (1 + 1e-9)


TOTALS = {
    "mean + count by 4": (10.137, [{**MEAN, "count": True}]),
    "two means + count by 4": (19.066, [{**MEAN, "means": ["a", "b"], "count": True}]),
    "median by 4; count by 4": (16.852, [{**MIDDLE, "bins": {"q": [0, 2, 4, 6, 8]}}, {"count": True}]),
    "median by 4; mean + count by 4": (
        26.817,
        [{**MIDDLE, "bins": {"q": [0, 2, 4, 6, 8]}}, {**MEAN, "count": True, "complete": ["a"]}],
    ),
    "variance by 4; mean + count by 4": (
        16.575,
        [{**SPREAD, "complete": ["b"]}, {**MEAN, "count": True, "complete": ["a"]}],
    ),
}
"""Optimal totals, computed elsewhere over all extreme people."""


@pytest.mark.parametrize("name", TOTALS)
def test_totals_are_the_optimal_ones(name: str) -> None:
    total, questions = TOTALS[name]
    by = {"c": ["c0", "c1", "c2", "c3"]}
    plan = ask(*({**question, "by": by} for question in questions))
    assert total * (1 - 1e-4) <= plan.total_variance <= total * 1.002
    assert plan.optimality <= 1.001
    one = ask(*questions)
    assert plan.total_variance == pytest.approx(4 * one.total_variance, rel=1e-3)


def test_replacing_a_person_costs_at_most_twice_one_group() -> None:
    """The noise of one group at μ/√2: the person leaves one group and enters another."""
    by = {"c": [f"c{i}" for i in range(4)]}
    plan, one = (ask({**MEAN, "count": True, **more}, **kind) for more, kind in (({"by": by}, REPLACED), ({}, {})))
    assert plan.total_variance == pytest.approx(2 * 4 * one.total_variance, rel=1e-4)
    assert plan.total_variance <= 1.17 * 17.376  # the optimum, computed elsewhere over all pairs of people


def worst_pair(lift: TiedLift) -> float:
    """The largest norm that two people of one column make: in two groups, or in the same one."""
    people = [np.array([z * p, p, 1.0]) for z, p in [(-1, 1), (1, 1), (0, 0)]]
    rows = np.vstack([np.hstack([lift.own[0], np.zeros((2, 1))]) + lift.ties, lift.last])
    seen = [rows @ each for each in people]
    apart = [np.sqrt(v @ v + w @ w) for v in seen for w in seen]
    return float(max(*apart, *(np.linalg.norm(v - w) for v in seen for w in seen)))


def test_two_groups_and_a_change_within_one_are_charged() -> None:
    """Random lifts, also those by which a change within a group is the larger one."""
    (tie,) = CASES["replaced"][0].ties
    rng = np.random.default_rng(3)
    within = 0
    for i in range(200):
        ties, last = np.zeros((2, 3)), np.append(np.zeros(2), rng.normal())
        ties[1, 2] = rng.normal()
        if i % 4 == 0:
            last[1] = rng.normal()
        lift = TiedLift((1,), (np.diag(rng.uniform(0.1, 3, 2)),), ties, last)
        found, truth = replace(tie, lift=lift)._largest(lift, None), worst_pair(lift)
        assert truth * (1 - 1e-12) <= found <= truth * (1.0 + 1e-9 if i % 4 else 2.0)
        within += truth > np.sqrt(2) * largest(lift, tie.body, "add-remove") * 1.01
    assert within > 20


def test_what_two_groups_need_is_seen_in_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, rows = CASES["replaced"]
    plant(monkeypatch, JointNoise._largest, "np.array([found, found])", "np.array([found])")
    assert reaches(gm.Plan.from_json(plan.to_json()), rows).max() > 1.05


@pytest.mark.parametrize("i", range(8))
def test_random_questions_by_the_same_groups_are_near_the_optimum(i: int) -> None:
    fields, rows = random_by_groups(random.Random(f"one group {i}"))
    found = examine(fields, rows)
    assert found.price_from <= 1.1 and found.bound <= 1 + 1e-6


@pytest.mark.parametrize("i", range(4))
def test_people_who_lack_a_value_in_one_of_their_groups_are_hidden(i: int) -> None:
    generator = random.Random(f"{random.SystemRandom().getrandbits(64)}")
    fields, rows = random_by_groups(generator)
    found, _ = try_people(fields | (UNIT if i % 2 else {}), rows, generator, 60)
    assert found.violations == 0 and found.differ == 0 and found.largest <= 1, fields


def test_neighbours_see_that_one_noise_was_planned_for_people_in_two_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: other filters as one group; a person is in one group for one question, in another for the other."""
    chosen = "(rule.unit, rule.where, rule.person_columns) if rule.unit is not None else (None,)"
    plant(monkeypatch, one_group._key, chosen, "(None,)")
    asked = [{"name": "x", "count": True, "by": BY, "where": "f"}, {"name": "y", **MEAN, "by": BY}]
    rows = rows_of({"c": C, "a": A, "f": [True, False]})
    found, lacking = try_people({"questions": asked, **UNIT}, rows, random.Random("two groups"), 200)
    assert found.violations > 0 and lacking > 10


def test_a_hundred_groups_cost_a_hundred_times_one() -> None:
    plan = ask({**MEAN, "count": True, "by": {"c": [f"c{i}" for i in range(100)]}})
    assert plan.total_variance == pytest.approx(100 * 10.1374 / 4, rel=1e-4) and plan.optimality < 1 + 1e-6


APART = {
    "filters of people": (
        ask({"count": True, "by": BY, "where": "f"}, {**MEAN, "by": BY}, **UNIT),
        rows_of({"c": C, "a": A, "f": [True, False]}),
    ),
    "other lists": (
        ask({"count": True, "by": {"c": KEYS[:2]}}, {**MEAN, "by": BY}, **UNIT),
        rows_of({"c": C, "a": A}),
    ),
    "several groups": (
        ask({"count": True, "by": BY}, {**MEAN, "by": BY}, **{**UNIT, "groups_per_unit": 2}),
        rows_of({"c": C, "a": A}),
    ),
    "several values": (
        ask({"histograms": BY, "values_per_unit": 2}, {**MEAN, "by": BY}, **UNIT),
        rows_of({"c": C, "a": A}),
    ),
    "other order": (
        ask({"count": True, "by": {"c": KEYS[::-1]}}, {**MEAN, "by": BY}, **UNIT),
        rows_of({"c": C, "a": A}),
    ),
}


@pytest.mark.parametrize("name", APART)
def test_people_who_can_be_in_two_groups_are_hidden_there_too(name: str) -> None:
    """Counterexamples to one group: the person is in one group for one query, and in another for the other."""
    plan, rows = APART[name]
    assert not by_one_key(plan.queries) and not any(tie.groups is not None for tie in plan.ties)
    with pytest.raises(PlanError, match="not by the same groups"):
        one_choice(plan.queries)
    assert reaches(plan, rows).max() <= 1 + 1e-9


def test_a_plan_for_one_group_would_not_hide_people_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of those who pass a filter beside a mean of everybody: planned as one group the guarantee would break."""
    chosen = "(rule.unit, rule.where, rule.person_columns) if rule.unit is not None else (None,)"
    plant(monkeypatch, one_group._key, chosen, "(None,)")
    plan = ask({"count": True, "by": BY, "where": "f"}, {**MEAN, "by": BY}, **UNIT)
    assert any(tie.groups is not None for tie in plan.ties)
    assert reaches(plan, APART["filters of people"][1]).max() > 1.1


def test_a_saved_plan_cannot_claim_one_group() -> None:
    fields = CASES["of people"][0].to_dict()
    fields["queries"][0]["row_rule"]["where"] = "f"
    with pytest.raises(PlanError):
        gm.Plan.from_dict(fields)


LATE = [("c0", None), ("c0", None), ("c1", 10.0)]
"""Most rows of the person are in c0, where it has no value."""


@pytest.mark.parametrize("asked", [{"means": ["a"]}, {"means": ["a"], "mean_of": "units"}, {"medians": ["a"]}])
@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize("engine", ["polars", "duckdb", "rows that stay on their engine"])
def test_a_missing_value_leaves_the_mean_and_not_the_group(
    engine: str, count: bool, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "rows that stay on their engine":  # as those of Spark do
        monkeypatch.setattr(type(POLARS), "adds_here", False)
    frame = pl.DataFrame([{"person": 1, "c": c, "a": a} for c, a in [*LATE]])
    data: Any = frame
    if engine == "duckdb":
        import duckdb

        data = duckdb.sql("select * from frame")
    question = {**asked, "count": count, "by": {"c": KEYS}, "bounds": BOUNDS, "bins": {"a": [0, 5, 10]}}
    if "medians" not in asked:
        del question["bins"]
    plan = gm.Request(data, guarantee=G, questions=[{"name": "x", **question}], **UNIT).plan
    found = mechanism.add_up(mechanism.prepare_request(plan, data))
    assert [each.records for each in found[0]] == [0, 0, 0]
    if count:
        assert [each.records for each in found[-1]] == [1, 0, 0]

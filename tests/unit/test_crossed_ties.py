"""Tables of the same keys in requests: which share a noise, what they answer, and what their errors are."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from planting import plant
from refusals import Expected, damaged, refused
from whole.pairs import distances, distances_of, lifted, total_alone

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.errors import GaussmithError
from gaussmith.planning import crossed_noise as crossed_keys
from gaussmith.planning.certificate import verify
from gaussmith.planning.crossed_noise import CrossedNoise
from gaussmith.planning.query import tied_sum
from gaussmith.report.charts import shared_answers

Question = dict[str, Any]
A, B = ["k", "l", "m"], [1, 2]
BY_A: Question = {"name": "a", "count": True, "by": {"a": A}}
BY_B: Question = {"name": "b", "count": True, "by": {"b": B}}
BY_AB: Question = {"name": "ab", "count": True, "by": {"b": B[::-1], "a": ["m", "k", "l"]}}
VALUES: Question = {"name": "values", "histograms": {"a": ["l", "m", "k"]}, "count": True}
PEOPLE: Question = {"name": "people", "count": True}
ALL = [BY_A, BY_B, BY_AB, VALUES, PEOPLE]
SCHEMA = {"a": pl.String, "b": pl.Int64, "x": pl.Float64}
SHARP = gm.Guarantee(mu=1e6)
"""No protection, to see what is counted."""


G = gm.Guarantee(epsilon=1, delta=1e-6)


def request(questions: list[Question], source: Any = "x.csv", **fields: Any) -> gm.Request:
    return gm.Request(source, questions=questions, **{"guarantee": gm.Guarantee(mu=1), **fields})


def crossed(plan: gm.Plan) -> list[CrossedNoise]:
    return [tie for tie in plan.ties if isinstance(tie, CrossedNoise)]


def table_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def test_tables_of_the_same_keys_share_one_noise() -> None:
    keys = list(range(10))
    asked = [{**BY_A, "by": {"a": keys}}, {**BY_B, "by": {"b": keys}}, {**BY_AB, "by": {"a": keys, "b": keys}}]
    plan = request(asked).plan
    assert len(plan.noises) == 1 and crossed(plan)
    assert plan.total_variance == pytest.approx(213.74, abs=0.01) and plan.optimality < 1.0001
    assert request(asked, unit="person", groups_per_unit=1).plan.total_variance == pytest.approx(257.99, abs=0.01)
    replaced = request(asked, neighbours="replace-one").plan
    assert replaced.total_variance == pytest.approx(418.19, abs=0.01) and replaced.optimality < 1.0001


SEPARATE: dict[str, tuple[list[Question], dict[str, Any]]] = {
    "people with several rows": ([BY_A, BY_AB], {"unit": "person", "groups_per_unit": 1}),
    "other filters": ([BY_A, {**BY_AB, "where": "x > 1"}], {}),
    "other columns of one name": ([BY_A, {**BY_AB, "columns": {"a": "b"}}], {}),
    "filters of other columns": (
        [{**BY_A, "where": "c > 1", "columns": {"c": "x"}}, {**BY_AB, "where": "c > 1", "columns": {"c": "b"}}],
        {},
    ),
    "other keys": ([BY_A, {**BY_AB, "by": {"a": ["k", "l"], "b": B}}], {}),
    "some combinations": ([BY_A, {**BY_AB, "by": [{"a": "k", "b": 1}, {"a": "l", "b": 2}]}], {}),
    "no common column": ([BY_A, BY_B], {}),
    "shares": ([{**BY_A, "share": 1}, {**BY_AB, "share": 1}], {}),
    "sums": ([{**BY_A, "sums": {"x": (0, 1)}}, BY_AB], {}),
    "numbers of people": (
        [{**BY_A, "by": {"a": [1, 2]}}, {**BY_AB, "by": {"a": [1, 2], "b": B}}],
        {"unit": "person", "person_columns": {"a": "max(x)", "b": "min(x)"}},
    ),
    "bins named as keys": (
        [
            {"name": "bins", "histograms": {"x": {"bins": [0, 1, 2]}}},
            {**BY_AB, "by": {"x": ["< 0", "0 to 1", "1 to 2", "≥ 2"], "b": B}},
        ],
        {},
    ),
    "keys found in the data": ([BY_A, {**BY_AB, "by": {"a": "found"}}], {"guarantee": G}),
}


@pytest.mark.parametrize("name", SEPARATE)
def test_what_is_not_one_cell_of_a_person_is_not_crossed(name: str) -> None:
    questions, fields = SEPARATE[name]
    assert not crossed(request(questions, **fields).plan)


def test_everything_else_keeps_its_own_noise_where_that_is_better() -> None:
    beside: list[Question] = [{"name": "s", "sums": {"x": (0, 1)}}, {"name": "f", "count": True, "where": "x > 1"}]
    plan = request([*ALL, *beside]).plan
    (tie,) = crossed(plan)
    assert tie.members == (0, 1, 2, 3) or tie.members == (0, 1, 2, 3, 4)
    assert sum(Fraction(each.guarantee.mu) ** 2 for each in plan.noises) <= 1
    assert plan.total_variance < sum(np.sqrt([request([each]).plan.total_variance for each in [*ALL, *beside]])) ** 2


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("where", [None, "x > 1"])
def test_answers_are_those_of_the_table(neighbours: str, where: str | None) -> None:
    """Keys in any order, keys that are not declared or missing, a filter: every question gets its own counts."""
    generator = random.Random("rows")
    rows = [
        (generator.choice([*A, "z", None]), generator.choice([*B, 9, None]), generator.choice([0.0, 2.0, None]))
        for _ in range(300)
    ]
    kept = [(a, b) for a, b, x in rows if where is None or (x is not None and x > 1)]
    values = VALUES if neighbours == "add-remove" else {**VALUES, "count": False}
    asked = [{**each, **({"where": where} if where else {})} for each in [BY_A, BY_B, BY_AB, values, PEOPLE]]
    made = request(asked, table_of(rows), guarantee=SHARP, neighbours=neighbours)
    assert crossed(made.plan)
    release = gm.release(made)
    assert release["people"].value == pytest.approx(len(kept), abs=1e-3)
    for key in A:
        expected = sum(a == key for a, _ in kept)
        assert release["a"][key].value == pytest.approx(expected, abs=1e-3)
        assert release["values"][f"a={key}"].value == pytest.approx(expected, abs=1e-3)
    for a, b in itertools.product(A, B):
        assert release["ab"][b, a].value == pytest.approx(kept.count((a, b)), abs=1e-3)
    north = release["ab"].total(a="k")["count"].value
    assert north == pytest.approx(sum(a == "k" and b in B for a, b in kept), abs=1e-3)
    assert gm.Release.from_json(release.to_json()) == release


def neighbours_of(neighbours: str) -> list[tuple[list[Any], list[Any]]]:
    """All pairs of tables that differ in one person, around a few others."""
    others = [("k", 1, 2.0), ("z", None, 2.0), ("m", 2, 0.0)]
    people = list(itertools.product([*A, "z"], [*B, 9], [2.0, 0.0]))
    if neighbours == "add-remove":
        return [(others, [*others, person]) for person in people]
    return [([*others, one], [*others, other]) for one, other in itertools.combinations(people, 2)]


def reach(plan: gm.Plan, neighbours: str) -> Fraction:
    """The largest squared distance of neighbours, from rows to integers, over what the guarantee leaves room for."""
    seen: dict[str, Any] = {}

    def integers(rows: list[Any]) -> Any:
        if str(rows) not in seen:
            found = total_alone(plan, [dict(zip(SCHEMA, row, strict=True)) for row in rows], SCHEMA)
            seen[str(rows)] = lifted(plan, found)
        return seen[str(rows)]

    return max(max(distances_of(plan, integers(one), integers(other))) for one, other in neighbours_of(neighbours))


ASKED: dict[str, tuple[list[Question], str]] = {
    "all": (ALL, "add-remove"),
    "filtered": ([{**each, "where": "x > 1"} for each in (BY_A, BY_AB, PEOPLE)], "add-remove"),
    "replaced": ([BY_A, BY_B, BY_AB], "replace-one"),
    "replaced and filtered": ([{**each, "where": "x > 1"} for each in (BY_A, BY_AB, PEOPLE)], "replace-one"),
}


@pytest.mark.parametrize("name", ASKED)
def test_nobody_changes_more_than_is_charged_and_somebody_attains_it(name: str) -> None:
    questions, neighbours = ASKED[name]
    plan = request(questions, neighbours=neighbours).plan
    assert len(plan.noises) == 1 and crossed(plan)
    found = reach(plan, neighbours)
    assert 1 - Fraction(2, 10**12) <= found <= 1


@pytest.mark.parametrize(
    ("function", "right", "wrong"),
    [
        (mechanism._cores, "[*core, each.records]", "[*core, 2 * each.records]"),
        (mechanism.lift_members, "members[tie.people][1][0].records", "-members[tie.people][1][0].records"),
    ],
)
def test_a_planted_fault_is_noticed_and_beyond_what_is_charged(
    function: Any, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = request([VALUES, BY_AB, PEOPLE]).plan
    assert crossed(plan)
    plant(monkeypatch, function, right, wrong)
    with refused("data-not-readable"):
        reach(plan, "add-remove")
    plant(monkeypatch, CrossedNoise.is_steady, "return False", "return True")
    assert reach(plan, "add-remove") > 1


def test_errors_are_those_of_the_noise() -> None:
    """Every lifted cell in turn gets a unit of noise: what comes back in each answer adds up to its variance."""
    plan = request(ALL, guarantee=gm.Guarantee(mu=2)).plan
    (tie,) = plan.ties
    queries = [plan.queries[i] for i in tie.members]
    units = [tie.features(queries, row) for row in np.eye(tie.lift.size) * tie.noise_scale]
    for k, query in enumerate(queries):
        found = np.array([each[k] for each in units])  # noises × groups × features
        variances = (found**2).sum(axis=0)
        assert np.sqrt(variances[0]) == pytest.approx(query.block.noise.variances**0.5)
        if query.groups is not None:
            chosen = [0, query.size - 1]
            added = tied_sum(query, chosen).shape.features.dense() * tie.noise_scale
            assert (found[:, chosen].sum(axis=1) ** 2).sum() == pytest.approx(float((added**2).sum()))
        for j, other in enumerate(queries):
            beside = np.array([each[j] for each in units])
            between = np.einsum("nf,ng->fg", found[:, 0], beside[:, 0])
            if k == j and query.groups is not None:
                assert tie.covariance_of(query, other, True) == pytest.approx(between)
    assert plan.total_variance == pytest.approx(sum(query.total_variance for query in queries))
    names, correlations = shared_answers(plan, tie)
    assert len(names) == len(correlations) and np.abs(correlations).max() <= 1 + 1e-9
    assert np.linalg.eigvalsh(correlations).min() > -1e-9


def test_saved_certified_and_told() -> None:
    plan = request(ALL).plan
    assert gm.Plan.from_json(plan.to_json()) == plan
    assert not verify(plan, plan.certificate).problems
    assert "one noise for all" in str(plan) and "one noise shared by all questions" in plan.explain()
    assert all(cost >= 1 for cost in plan.costs().values())
    limited = [{**each, "error_at_most": 1.2} if each["name"] == "people" else each for each in ALL]
    assert request(limited).plan["people"].errors()["count"] <= 1.2 < plan["people"].errors()["count"]


SAVED = request(ALL).plan.to_dict()
Change = Callable[[dict[str, Any]], Any]
CUT = {"kind": "number", "edges": [0.0, 1.0], "ends": None}
OTHERS = damaged("queries that are not tables of the same people")
OTHER_TABLES = damaged("a lift that does not fit its tables")
TWO_TIES = damaged("a query in two ties, or in none")
FORGED: dict[str, tuple[Change, Expected]] = {
    "rows of people": (lambda p: [d["row_rule"].update(unit="person") for d in p["queries"]], OTHERS),
    "another filter": (lambda p: p["queries"][0]["row_rule"].update(where="x > 1"), OTHERS),
    "another column": (lambda p: p["queries"][0]["row_rule"].update(columns={"a": "b"}), OTHERS),
    "a key less": (lambda p: p["queries"][0]["groups"]["labels"].pop(), OTHER_TABLES),
    "another key": (lambda p: p["queries"][0]["groups"]["labels"].__setitem__(0, ["z"]), OTHER_TABLES),
    "a cell less": (lambda p: p["queries"][2]["groups"]["labels"].pop(), OTHERS),
    "a member less": (lambda p: (p["ties"][0]["members"].pop(), p["ties"][0]["scales"].pop()), TWO_TIES),
    "a member twice": (
        lambda p: p["ties"][0].update(members=[0, 0, 1, 2, 3]),
        damaged("queries that are not there"),
    ),
    "a field more": (lambda p: p["ties"][0].update(more=1), damaged("a tie that is not understood")),
    "a scale of nothing": (
        lambda p: p["ties"][0]["scales"].__setitem__(0, 0.0),
        damaged("a scale that is not positive"),
    ),
    "a lift of other tables": (lambda p: p["ties"][0]["lift"].update(sizes=[2, 3]), OTHER_TABLES),
    "numbers left out": (lambda p: p["ties"][0]["lift"].update(ways=[[0], [1]]), "crossed-lift-not-finite"),
    "rows without a value": (lambda p: p["queries"][0]["row_rule"].update(present=["x"]), OTHERS),
    "a filter of people": (
        lambda p: p["queries"][0]["row_rule"].update(person_columns={"c": "count()"}, person_where="c > 1"),
        OTHERS,
    ),
    "cells of numbers": (lambda p: p["queries"][0]["row_rule"].update(cuts={"a": CUT}), OTHERS),
    "another guarantee": (
        lambda p: p["ties"][0].update(guarantee={"mu": 2.0}),
        damaged("does not fit its tie"),
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_plan_that_was_changed_is_refused(name: str) -> None:
    change, code = FORGED[name]
    fields = copy.deepcopy(SAVED)
    change(fields)
    with refused(code):
        gm.Plan.from_dict(fields)


def test_whatever_lift_is_read_is_certified_anew() -> None:
    """A lift that was made ten times as large is brought back to the guarantee: nobody gains by it."""
    plan = request([BY_A, BY_AB]).plan
    (tie,) = crossed(plan)
    fields = plan.to_dict()
    fields["ties"][0]["lift"] = tie.lift.scaled(10.0).to_dict()
    read = gm.Plan.from_dict(fields)
    assert read["a"].standard_errors == pytest.approx(plan["a"].standard_errors)
    assert reach(read, "add-remove") <= 1


def test_tables_that_cannot_be_of_the_same_rows_are_not_released() -> None:
    """A source that changes between two queries: more people by two keys than by one of them."""
    plan = request([BY_A, BY_AB]).plan
    rows = [{"a": "k", "b": 1, "x": 0.0}]
    one, two = total_alone(plan, rows, SCHEMA), total_alone(plan, [], SCHEMA)
    mechanism.release_totals(plan, [one[0], two[1]])
    with refused("data-not-readable"):
        mechanism.release_totals(plan, [two[0], one[1]])


def test_every_key_of_a_person_counts_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """If tables of people with several rows were taken for tables of one, somebody would exceed what is charged."""
    plant(monkeypatch, crossed_keys._reads_all_rows, "rule.unit or ", "")
    try:
        plan = request([BY_A, BY_AB], unit="x", groups_per_unit=1).plan
    except GaussmithError:
        pytest.fail("the planted fault was refused by something else")
    assert crossed(plan)
    plant(monkeypatch, CrossedNoise.is_steady, "return False", "return True")
    one = [{"a": "k", "b": 9, "x": 1.0}] * 2 + [{"a": "l", "b": 1, "x": 1.0}]
    assert max(distances(plan, total_alone(plan, [], SCHEMA), total_alone(plan, one, SCHEMA))) > 1


def test_tables_under_other_filters_would_exceed_what_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise is not made for somebody who is in the table by two keys, and not in that by one of them."""
    fields = request([BY_A, BY_AB]).plan.to_dict()
    fields["queries"][0]["row_rule"]["where"] = "x > 1"
    with refused(OTHERS):
        gm.Plan.from_dict(fields)
    right = "if len(rules) < len(queries) or len(filters) > 1:\n        return False"
    plant(monkeypatch, crossed_keys._same_rows, right, "filters = {None}")
    plan = gm.Plan.from_dict(fields)
    one = [{"a": "k", "b": 1, "x": 0.0}]
    nobody, somebody = (total_alone(plan, rows, SCHEMA) for rows in ([], one))
    with refused("data-not-readable"):
        distances(plan, nobody, somebody)
    plant(monkeypatch, CrossedNoise.is_steady, "return False", "return True")
    assert max(distances(plan, nobody, somebody)) > 1

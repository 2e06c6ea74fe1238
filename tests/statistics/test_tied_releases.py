"""Noise that several questions share is what the plan states: in each answer, between groups and between questions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from laws import rejects, verdict
from planting import plant

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.domain import free_marks
from gaussmith.planning.joint_noise import JointNoise, feature_rows
from gaussmith.planning.joint_people import counts_everybody
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import Query, tied_sum
from gaussmith.totals.opened import total

G = gm.Guarantee(epsilon=1, delta=1e-6)
REGIONS, MONTHS = ["north", "south", "east", "west"], list(range(1, 13))
SCHEMA = {
    "person": pl.String,
    "region": pl.String,
    "kind": pl.String,
    "month": pl.Int64,
    "x": pl.Float64,
    "y": pl.Float64,
}
SCHEMA |= {"f": pl.Int64}

CASES: dict[str, dict[str, Any]] = {
    "groups, filters, a histogram and everybody": {
        "questions": [
            {"name": "regions", "sums": {"x": (0, 60)}, "count": True, "by": {"region": REGIONS}, "groups_per_unit": 3},
            {"name": "few", "count": True, "where": "f == 1"},
            {"name": "some", "count": True, "where": "f == 2"},
            {"name": "kinds", "histograms": {"kind": ["a", "b", "c"]}, "values_per_unit": 1, "count": True},
            {"name": "all", "sums": {"x": (-20, 60)}, "means": {"y": (5, 9)}, "mean_of": "units"},
        ],
    },
    "months and a filtered mean": {
        "questions": [
            {"name": "months", "count": True, "by": {"month": MONTHS}, "groups_per_unit": 12},
            {"name": "mean", "means": {"y": (0, 90)}, "sums": {"x": (0, 1)}, "where": "f == 1", "mean_of": "units"},
        ],
    },
    "more than can be listed": {
        "questions": [
            {"name": "months", "sums": {"x": (0, 9)}, "count": True, "by": {"month": MONTHS}, "groups_per_unit": 9},
            {"name": "both", "sums": {"x": (0, 9), "y": (2, 3)}, "by": {"region": REGIONS}, "groups_per_unit": 4},
            {"name": "kinds", "histograms": {"kind": list("abcdefgh")}, "values_per_unit": 5},
            {"name": "few", "sums": {"x": (0, 60), "y": (5, 9)}, "where": "f == 1"},
        ],
    },
    "rows of people": {
        "questions": [
            {"name": "months", "means": {"y": (5, 9)}, "count": "rows", "by": {"month": MONTHS}, "groups_per_unit": 4},
            {"name": "few", "means": {"y": (5, 9)}, "sums": {"x": (0, 60)}, "count": True, "where": "f == 1"},
            {"name": "kinds", "histograms": {"kind": ["a", "b", "c"]}, "values_per_unit": 1},
            {"name": "all", "count": "rows"},
        ],
        "rows_per_unit": 6,
    },
    "regions replaced": {
        "questions": [
            {"name": "regions", "sums": {"x": (0, 60)}, "count": True, "by": {"region": REGIONS}, "groups_per_unit": 2},
            {"name": "few", "means": {"y": (5, 9)}, "count": True, "where": "f == 1", "mean_of": "units"},
        ],
        "neighbours": "replace-one",
    },
}  # fmt: skip


@cache
def plan_of(name: str) -> Plan:
    return gm.Request("table", unit="person", guarantee=G, **CASES[name]).plan


def release_nobody(plan: Plan, times: int) -> np.ndarray:
    """What is released from an empty table: noise alone, all features of all queries one after another."""
    sources = mechanism.prepare_request(plan, pl.DataFrame(schema=SCHEMA)).sources
    totals = [total(source) for source in sources]
    releases = (mechanism.release_totals(plan, totals) for _ in range(times))
    return np.array([np.concatenate([noisy.ravel() for noisy in release.noisy]) for release in releases])


def _reads(query: Query, tie: JointNoise) -> tuple[np.ndarray, bool]:
    """What the features of a group are of its core, and whether they are read from the number of people too."""
    if free_marks(query.block.domain) is not None:
        return np.eye(1), False
    return feature_rows(query.block.problem), counts_everybody(query, tie.where)


def stated(plan: Plan) -> np.ndarray:
    """The covariance of all of that, as the lift of each noise states it: own, between groups, between questions."""
    sizes = [query.size * query.block.shape.features.shape[0] for query in plan.queries]
    starts = np.cumsum([0, *sizes])
    found = np.zeros((starts[-1], starts[-1]))
    for at, query in zip(starts, plan.queries, strict=False):
        if query.tie is None:
            F = query.block.shape.features.dense()
            C = np.kron(np.eye(query.size), F @ F.T) * query.block.noise_scale**2
            found[at : at + len(C), at : at + len(C)] = C
    for tie in plan.ties:
        for a in tie.members:
            for b in tie.members:
                C = _between(plan.queries[a], plan.queries[b], tie) * tie.noise_scale**2
                found[starts[a] : starts[a] + len(C), starts[b] : starts[b] + C.shape[1]] = C
    return found


def _between(one: Query, other: Query, tie: JointNoise) -> np.ndarray:
    """The covariance of the features of two queries, unit noise: (groups × features) of one with those of the other."""
    left, right = _cores(one, tie), _cores(other, tie)
    parts = range(len(tie.body.parts))
    noise = {(p, q): tie.lift.covariance(p, q) for p in parts for q in parts}
    C = np.zeros((len(left), len(right)))
    for i, (p, g, column) in enumerate(left):
        for j, (q, h, row) in enumerate(right):
            if p is None and q is None:
                C[i, j] = tie.lift.people_variance
            elif p is None or q is None:
                part, place = (q, row) if p is None else (p, column)
                C[i, j] = tie.lift.people_covariance(part)[place]
            else:
                own, between = noise[p, q]
                C[i, j] = (own if p == q and g == h else between)[column, row]
    return _maps(one, tie) @ C @ _maps(other, tie).T


def _cores(query: Query, tie: JointNoise) -> list[tuple[int | None, int, int]]:
    """Part, group and place of each number that the features of a query are read from; people are of no part."""
    place, people = query.place, [(None, 0, 0)]
    assert place is not None
    if free_marks(query.block.domain) is not None:
        cells: list[Any] = [(place.part, place.start + i, 0) for i in range(query.block.domain.dimension)]
        return cells + (people if query.block.shape.counted else [])
    rows, everybody = _reads(query, tie)
    width = rows.shape[1] - everybody
    found: list[Any] = []
    for i in range(query.size):
        found += [] if place.part is None else [(place.part, place.start + i, j) for j in range(width)]
        found += people if everybody else []
    return found


def _maps(query: Query, tie: JointNoise) -> np.ndarray:
    if free_marks(query.block.domain) is not None:
        return np.eye(query.block.domain.dimension + query.block.shape.counted)
    return np.kron(np.eye(query.size), _reads(query, tie)[0])


@pytest.mark.parametrize("name", CASES)
def test_released_noise_has_the_stated_covariance(name: str) -> None:
    plan = plan_of(name)
    assert plan.ties
    covariance = stated(plan)
    errors = release_nobody(plan, 5000)
    assert not rejects(errors, covariance), verdict(errors, covariance)
    apart = np.diag(np.diag(covariance))
    assert rejects(errors, apart), "answers taken for independent are caught"


def test_noise_that_is_two_percent_too_small_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of("groups, filters, a histogram and everybody")
    plant(monkeypatch, mechanism._release_tie, "noise = normal_integers(lifted.size, NOISE_BITS)",
          "noise = (normal_integers(lifted.size, NOISE_BITS) * 0.98).astype(int)")  # fmt: skip
    assert rejects(release_nobody(plan, 9000), stated(plan))


@pytest.mark.parametrize("name", CASES)
def test_errors_of_questions_and_of_groups_added_up_are_those_of_the_whole(name: str) -> None:
    plan, covariance = plan_of(name), stated(plan_of(name))
    starts = np.cumsum([0, *(query.size * query.block.shape.features.shape[0] for query in plan.queries)])
    for at, query in zip(starts, plan.queries, strict=False):
        size = query.block.shape.features.shape[0]
        F = query.block.shape.features.dense()
        whole = covariance[at : at + query.size * size, at : at + query.size * size].reshape(
            query.size, size, query.size, size
        )
        for group in range(query.size):
            np.testing.assert_allclose(
                F @ F.T * query.block.noise_scale**2, whole[group, :, group], rtol=1e-9, atol=1e-9
            )
        if query.groups is not None and query.tie is not None:
            F = tied_sum(query, range(query.size)).shape.features.dense()
            added = whole.sum(axis=(0, 2))
            np.testing.assert_allclose(F @ F.T * query.block.noise_scale**2, added, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_totals_are_those_of_the_questions(name: str) -> None:
    plan = plan_of(name)
    for tie in plan.ties:
        apart = sum(plan.queries[i].total_variance for i in tie.members)
        assert tie.total_variance == pytest.approx(apart, rel=1e-9)

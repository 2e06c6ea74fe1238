"""Noise of tables of the same keys is what the plan states, in every cell and between any two of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from laws import rejects, verdict
from planting import plant

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.planning.crossed_noise import CrossedNoise
from gaussmith.planning.plan import Plan
from gaussmith.totals.opened import total

A, B = ["k", "l", "m"], [1, 2]
QUESTIONS: list[dict[str, Any]] = [
    {"name": "both", "count": True, "by": {"b": B, "a": A}},
    {"name": "a", "histograms": {"a": A[::-1]}},
    {"name": "b", "count": True, "by": {"b": B}},
    {"name": "people", "count": True},
]


def plan_of(neighbours: str) -> Plan:
    asked = QUESTIONS if neighbours == "add-remove" else QUESTIONS[:3]
    return gm.Request("x", questions=asked, guarantee=gm.Guarantee(mu=0.7), neighbours=neighbours).plan


def release_nobody(plan: Plan, times: int) -> np.ndarray:
    """What is released from an empty table: noise alone, all answers one after another."""
    empty = pl.DataFrame(schema={"a": pl.String, "b": pl.Int64})
    totals = [total(source) for source in mechanism.prepare_request(plan, empty).sources]
    releases = (mechanism.release_totals(plan, totals) for _ in range(times))
    return np.array([np.concatenate([noisy.ravel() for noisy in each.noisy]) for each in releases])


def stated(plan: Plan) -> np.ndarray:
    """The covariance of all of that, by the keys that two cells have in common."""
    (tie,) = plan.ties
    assert isinstance(tie, CrossedNoise)
    both = [{"b": b, "a": a} for b in B for a in A]
    cells: list[dict[str, Any]] = [*both, *({"a": a} for a in A[::-1]), *({"b": b} for b in B)]
    cells += [{}] if () in tie.lift.ways else []
    order = {"b": 0, "a": 1}  # as they are first declared
    ways = [tie.lift.ways.index(tuple(sorted(order[column] for column in cell))) for cell in cells]
    found = np.zeros((len(cells), len(cells)))
    for i, one in enumerate(cells):
        for j, other in enumerate(cells):
            same = [order[column] for column in one if column in other and one[column] == other[column]]
            found[i, j] = tie.lift.covariance(ways[i], ways[j], same)
    return found * tie.noise_scale**2


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_released_noise_has_the_stated_covariance(neighbours: str) -> None:
    plan = plan_of(neighbours)
    covariance, errors = stated(plan), release_nobody(plan, 600)
    assert not rejects(errors, covariance), verdict(errors, covariance)
    assert rejects(errors, np.diag(np.diag(covariance))), "answers taken for independent are caught"


def test_noise_that_is_too_small_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of("add-remove")
    plant(monkeypatch, mechanism._release_tie, "noise = normal_integers(lifted.size, NOISE_BITS)",
          "noise = (normal_integers(lifted.size, NOISE_BITS) * 0.85).astype(int)")  # fmt: skip
    assert rejects(release_nobody(plan, 400), stated(plan))

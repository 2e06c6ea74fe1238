"""A statistic is one file and one line: a toy is planned, told, saved, released, and asked of a table and of groups."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.features import BoundedColumn, Need, One, Value
from gaussmith.errors import PlanError
from gaussmith.planning.certificate import verify
from gaussmith.planning.plan import Plan
from gaussmith.report.plans import plan_text
from gaussmith.requests.question import Question
from gaussmith.requests.translation import parts_of, plan_part
from gaussmith.statistics.registry import STATISTICS
from gaussmith.statistics.statistic import AskedAnswer, Statistic

LOUD = gm.Guarantee(mu=1e6)
GUARANTEE = gm.Guarantee(mu=1)


class Excesses(Statistic):
    """By how much a sum exceeds 10 for each record: Σx − 10 n."""

    kind = "excess"
    field = "excesses"
    coefficients = (1.0, -10.0)

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        return Value(columns[0]), One()


@pytest.fixture(autouse=True)
def excesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STATISTICS, Excesses.kind, Excesses)  # its line in statistics/registry.py


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_toy_statistic_is_planned_told_saved_and_released(neighbours: str, tmp_path: Path) -> None:
    box = gm.Box({"age": (0, 100), "bmi": (0, 50)})
    plan = gm.plan(box, GUARANTEE, answers="excesses", count=True, weights="equal", neighbours=neighbours)
    features = plan.block.problem.features
    assert plan.names == ("age", "bmi", "count")
    assert features.weights.tolist() == [1, 1] and features.count_weight == 2 * 100 + 1
    planned = plan.standard_errors
    assert np.sqrt(np.diag(plan.covariance())) == pytest.approx(planned, rel=1e-12, abs=1e-12)
    assert plan.errors() == dict(zip(plan.names, planned.tolist(), strict=True))  # not over a number of rows
    assert "age" in str(plan) and "Chosen" in plan.explain()
    assert "age ±" not in plan_text(plan, rows=100)  # it is not told as a share of what sums add up to
    read = gm.read(plan.to_json())
    assert isinstance(read, gm.Plan) and read == plan
    assert not verify(plan, plan.certificate).problems
    data = np.column_stack([np.linspace(0, 100, 1001), np.linspace(0, 50, 1001)])
    released = plan.release(data)
    assert released.standard_errors == pytest.approx(planned, rel=1e-12, abs=1e-12)
    assert np.sqrt(np.diag(released.covariance())) == pytest.approx(planned, rel=1e-9, abs=1e-9)
    truth = data.sum(axis=0) - 10 * len(data)
    low, high = released.intervals(1 - 1e-9)
    assert (low[:2] < truth).all() and (truth < high[:2]).all()
    assert gm.read(released.to_json()) == released
    assert "age" in released.report(tmp_path / "toy.html").read_text("utf-8")
    fields = json.loads(plan.to_json())
    assert [each["kind"] for each in fields["queries"][0]["block"]["answers"]["statistics"]] == ["excess", "count"]


TABLE = pl.DataFrame(
    {"person": [1, 1, 2, 3], "spent": [30.0, 5.0, 12.0, 50.0], "region": ["n", "n", "s", "s"]},
)
ASKED = [
    AskedAnswer("sum", (BoundedColumn("spent", 0, 100),)),
    AskedAnswer("excess", (BoundedColumn("spent", 0, 100),)),
]


def released_from(question: Question, unit: str | None) -> gm.Release:
    """What a request with such a field would come to."""
    (part,) = parts_of(question)
    plan = Plan.of(plan_part(replace(part, asked=tuple(ASKED)), unit, LOUD, "add-remove"))
    return mechanism.release(mechanism.prepare_request(plan, TABLE))


def rounded(values: Any) -> list[Any]:
    return np.asarray(values).round().tolist()


def test_a_toy_statistic_is_asked_of_a_table() -> None:
    people = released_from(Question(count=True), "person")
    assert people.names == ("spent_sum", "spent_excess", "count")
    assert rounded(people.values) == [97, 97 - 30, 3]
    assert len(people.block.problem.features.index) == 1  # the sum and the excess need one and the same feature
    assert rounded(released_from(Question(count=True), None).values) == [97, 97 - 40, 4]
    grouped = released_from(Question(count=True, by={"region": ["n", "s"]}), "person")
    assert rounded(grouped.values) == [[35, 25, 1], [62, 42, 2]]


def test_a_kind_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = gm.plan(gm.Box([0], [1]), GUARANTEE, answers="excesses").to_json()
    monkeypatch.delitem(STATISTICS, Excesses.kind)
    with pytest.raises(PlanError, match="statistic 'excess' · this version does not know it"):
        gm.read(text)
    with pytest.raises(PlanError, match='it is "sums", "means" or a matrix'):
        gm.plan(gm.Box([0], [1]), GUARANTEE, answers="excesses")

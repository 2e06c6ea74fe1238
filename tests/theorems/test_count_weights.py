"""The number of records is a feature of any weight: at weight e a plan is that of weight 1, all others divided by e.

With every weight e times as large the best noise is the same and its total e times as large, whatever the domain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.domains.domain import Domain, Problem
from gaussmith.planning.block import Block
from gaussmith.planning.certificate import verify
from gaussmith.planning.choice import plan_problem
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import Query
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.asking import aim, ask
from gaussmith.statistics.sum import Count

UNIT = gm.Guarantee(mu=1)
W3 = [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 2, 3]]
POINTS = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [0.0, 0.0]]

CASES: dict[str, tuple[Domain, dict[str, Any]]] = {
    "box": (gm.Box([0, 0], [1, 3]), {}),
    "box, means": (gm.Box([0, 0], [1, 3]), {"answers": "means"}),
    "box, lifted": (gm.Box([0] * 12, [1] * 12), {}),
    "box, matrix": (gm.Box([0, 1, 2], [1, 3, 3]), {"answers": W3}),
    "ball": (gm.domains.Ball(3, 1.0, [1, 0, 2]), {}),
    "gaussian": (gm.domains.GaussianData([1, 2], [1, 3]), {}),
    "counts": (gm.Counts(5, at_most=2), {}),
    "counts, weighted": (gm.Counts(4, at_most=2), {"weights": [1.0, 2.0, 3.0, 4.0]}),
    "votes": (gm.domains.Votes(4), {}),
    "sparse": (gm.domains.SparseSum(3, bound=[1.0, 2.0, 3.0], at_most=2), {}),
    "sparse, matrix": (gm.domains.SparseSum(3, bound=[1.0, 2.0, 3.0], at_most=2), {"answers": W3}),
    "cells": (gm.Cells(5), {}),
    "cells, weighted": (gm.Cells(4), {"weights": [1.0, 2.0, 3.0, 4.0]}),
    "cells or none": (gm.Cells(5, or_none=True), {}),
    "cells or none, weighted": (gm.Cells(3, or_none=True), {"weights": [1.0, 2.0, 3.0]}),
    "prefix": (gm.Cells(6), {"answers": gm.workloads.prefix(6)}),
    "prefix or none": (gm.Cells(6, or_none=True), {"answers": gm.workloads.prefix(6)}),
    "marginals": (gm.Cells(shape=(2, 3)), {"answers": gm.workloads.marginals([2, 3], [1])}),
    "marginals with all": (gm.Cells(shape=(2, 3)), {"answers": gm.workloads.marginals([2, 3], [0, 1])}),
    "points": (gm.domains.Points(POINTS), {}),
}


def plan_at(name: str, scale: float, count_weight: float, neighbours: str, targets: Any = None) -> Block:
    """The plan of a case, all weights but the count's `scale` times those of the case."""
    domain, options = CASES[name]
    asked = ask(domain, options.get("answers", "sums"), weights=options.get("weights", "equal"))
    statistics = [replace(each, weights=scale * each.weights) for each in asked.statistics]
    answers = Answers.of(asked.features, [*statistics, Count.of_records(count_weight)], "equal")
    answers = aim(answers, "total" if targets is None else "worst", targets)
    return plan_problem(Problem(domain, answers.features, neighbours), answers, UNIT)


@pytest.mark.parametrize("e", [0.04, 1.0, 9.0])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", CASES)
def test_the_count_has_any_weight(name: str, neighbours: str, e: float) -> None:
    plan, scaled = plan_at(name, 1.0, e, neighbours), plan_at(name, 1 / e, 1.0, neighbours)
    assert plan.total_variance == pytest.approx(e * scaled.total_variance, rel=3e-3)  # where noise is solved: to a gap
    assert plan.standard_errors == pytest.approx(scaled.standard_errors, rel=0.05)
    errors = plan.standard_errors
    if not plan.answers.any_divided:
        assert plan.total_variance == pytest.approx(float(plan.answers.weights @ errors**2), rel=1e-9)
    assert plan.optimality == pytest.approx(scaled.optimality, rel=3e-3)
    whole = Plan.of(Query(plan, UNIT, neighbours))
    assert verify(whole, whole.certificate).problems == ()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("e", [0.25, 4.0])
@pytest.mark.parametrize("name", ["cells", "prefix", "points"])
def test_the_worst_answer_counts_the_records_at_their_target(name: str, e: float, neighbours: str) -> None:
    size = CASES[name][0].dimension
    plan = plan_at(name, 1.0, e, neighbours, targets=np.ones(size))
    scaled = plan_at(name, 1.0, 1.0, neighbours, targets=np.full(size, np.sqrt(e)))
    assert plan.price == pytest.approx(e * scaled.price, rel=3e-3)
    assert plan.price >= e * (plan.count_standard_error or 0.0) ** 2 * (1 - 1e-9)
    whole = Plan.of(Query(plan, UNIT, neighbours))
    assert verify(whole, whole.certificate).problems == ()

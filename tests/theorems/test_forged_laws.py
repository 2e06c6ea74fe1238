"""Whatever law a certificate names, it proves no more than is true: a forged one falls, or proves less.

A plan at its limit has the smallest price there is, so no bound may lie above it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.domains.domain import WorstCase
from gaussmith.domains.worst_cases import prove
from gaussmith.errors import PlanError
from gaussmith.planning.certificate import Certificate, verify

W = gm.workloads
UNIT = gm.Guarantee(mu=1)

PLANS: dict[str, tuple[Any, dict[str, Any]]] = {
    "box": (gm.Box([0, -1, 2], [1, 3, 4]), {"count": True}),
    "box replaced": (gm.Box([0, -1, 2], [1, 3, 4]), {"neighbours": "replace-one"}),
    "few answers": (gm.Box([0] * 11, [1] * 11), {"answers": [[1] * 11, list(range(11))], "count": True}),
    "few answers replaced": (
        gm.Box([0] * 11, [1] * 11), {"answers": [[1] * 11, list(range(11))], "neighbours": "replace-one"},
    ),
    "closed box": (gm.Box([0] * 11, [1] * 11), {"count": True}),
    "ball": (gm.domains.Ball(3, 2, [1, 0, 2]), {"answers": [[1, 2, 0], [0, 1, 1]], "count": True}),
    "counts": (gm.Counts(5, at_most=2), {"weights": [1, 2, 3, 4, 5]}),
    "even counts": (gm.Counts(6, at_most=5), {}),
    "cells": (gm.Cells(5), {"count": True}),
    "cells replaced": (gm.Cells(5), {"neighbours": "replace-one"}),
    "tree": (gm.Cells(6), {"answers": W.tree(6), "count": True}),
    "tree replaced": (gm.Cells(6), {"answers": W.tree(6), "neighbours": "replace-one"}),
    "worst": (gm.Cells(6), {"answers": W.ranges(6), "objective": "worst"}),
    "sparse": (gm.domains.SparseSum(6, at_most=2, bound=np.arange(1, 7.0)), {"count": True}),
    "points": (gm.domains.Points([[0, 0], [1, 5], [2, -3], [0.5, 1]]), {"count": True}),
    "marginals": (gm.Cells(shape=(3, 2, 4)), {"answers": W.marginals([3, 2, 4], 2)}),
    "marginals replaced": (
        gm.Cells(shape=(3, 2, 4)), {"answers": W.marginals([3, 2, 4], 2), "neighbours": "replace-one"},
    ),
}  # fmt: skip
MADE = {
    name: gm.plan(domain, UNIT, **(options if "objective" in options else {"weights": "equal"} | options))
    for name, (domain, options) in PLANS.items()
}
CORNERS = gm.Box([0] * 3, [1] * 3).corners()
LAWS = [
    *(plan.block.bounding_law for plan in MADE.values()),
    WorstCase("corners", 0.0, {"corners": CORNERS, "weights": np.ones(len(CORNERS))}),
]


def forgeries(law: WorstCase) -> list[WorstCase]:
    """A law's numbers made larger, of other signs, or spread out evenly."""
    changes: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda x: x * 10,
        lambda x: -x * 10,
        lambda x: x * 0 + 10,
        lambda x: np.where(np.arange(x.size).reshape(x.shape) % 2 == 0, -7 * np.abs(x), x),
        lambda x: x + 1,
    ]
    found = [law]
    for name in law.numbers:
        found += [replace(law, numbers={**law.numbers, name: change(law.numbers[name])}) for change in changes]
    return found


@pytest.mark.parametrize("name", PLANS)
def test_no_law_proves_more_than_is_true(name: str) -> None:
    """Its own law and those of all other plans, changed in every way: under other neighbours, domains, answers."""
    plan = MADE[name]
    own = prove(plan.block.problem, plan.block.bounding_law)
    assert plan.price * (1 - 2e-3) <= own <= plan.price  # at its limit: what follows is tight
    for law in LAWS:
        for forged in forgeries(law):
            with np.errstate(all="ignore"):
                try:
                    lower = prove(plan.block.problem, forged)
                except (PlanError, KeyError, ValueError, TypeError, IndexError, OverflowError):
                    continue  # as `verify` takes them: nothing is proven
            assert not lower > plan.price * (1 + 1e-9), (law.kind, forged)


@pytest.mark.parametrize("levels", [[[1, 1, 1.0]], [[0, 0, 1.0]], [[0, 1, 1.0]], [[1, 0, -1.0]], [[2, 2, 1.0]]])
def test_levels_are_those_of_differences(levels: list[list[float]]) -> None:
    for name in ("cells", "cells replaced", "even counts"):
        plan = MADE[name]
        law = WorstCase("levels", 0.0, {"levels": np.array(levels)})
        try:
            lower = prove(plan.block.problem, law)
        except PlanError:
            continue
        assert lower <= plan.price * (1 + 1e-9), name


def forged(certificate: Any, **fields: Any) -> Certificate:
    (proof,) = certificate.to_dict()["proofs"]
    return Certificate.from_json(json.dumps({**certificate.to_dict(), "proofs": [{**proof, **fields}]}))


def with_block(plan: gm.Plan, block: Any) -> gm.Plan:
    """The plan with another block in its only draw."""
    return replace(plan, queries=(replace(plan.query, block=block),))


def test_a_certificate_says_nothing_that_its_plan_does_not_keep() -> None:
    plan = MADE["tree"]
    honest = plan.certificate
    assert verify(plan, honest).problems == ()
    for fields, words in (
        ({"price": honest.proof.price * (1 - 1e-6)}, "the plan's price is"),
        ({"lower_bound": honest.proof.lower_bound * (1 + 1e-6)}, "the law proves"),
        ({"objective": "worst"}, "another objective"),
    ):
        assert any(words in problem for problem in verify(plan, forged(honest, **fields)).problems), fields
    odd = replace(honest, proofs=(replace(honest.proof, lower_bound=float("nan"), price=float("nan")),))
    assert "the certificate's numbers are not finite" in verify(plan, odd).problems


def test_a_plan_that_reads_too_little_from_its_noise_is_found() -> None:
    """Features made smaller by hand state errors below what any noise can have."""
    plan = MADE["counts"]
    shape = plan.block.shape
    features = shape.features.scaled(np.full(shape.features.shape[1], 0.5))
    small = with_block(plan, replace(plan.block, shape=replace(shape, features=features)))
    found = verify(small, small.certificate)
    assert any("does not give the answers it claims" in problem for problem in found.problems)


def test_shares_of_groups_and_hashes_of_questions_are_verified() -> None:
    by = gm.plan(gm.Groups({"k": [1, 2]}, gm.Box([0], [1]), at_most=2), UNIT, shape="lifted")
    assert verify(by, by.certificate).problems == ()
    alone = with_block(by, gm.plan(gm.Box([0], [1]), UNIT).block)
    assert any("share is too large" in problem for problem in verify(alone, alone.certificate).problems)
    asked = [{"name": "a", "sums": {"x": (0, 5)}}, {"name": "b", "count": True, "where": "x > 1"}]
    joint = gm.Request("a.csv", questions=asked, guarantee=UNIT).plan
    assert verify(joint, joint.certificate).problems == ()
    other = replace(joint.certificate, plan_hash="0" * 64)
    assert verify(joint, other).problems == ("the certificate is for another plan",)
    assert len(joint.ties) == len(joint.certificate.proofs) == 1
    fewer = replace(joint.certificate, proofs=())
    assert verify(joint, fewer).problems == ("the certificate needs one proof for each query of the plan",)

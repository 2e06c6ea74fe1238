"""Questions that share one noise: what it saves, what they cost each other, limits on errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import refused
from visits import G

import gaussmith as gm

MONTHS_AND_REGIONS: list[dict[str, Any]] = [
    {"name": "months", "count": True, "by": {"month": list(range(12))}, "groups_per_unit": 12},
    {
        "name": "regions",
        "sums": {"spent": (0, 1)},
        "count": True,
        "by": {"region": ["n", "e", "s", "w"]},
        "groups_per_unit": 1,
    },
    {"name": "people", "count": True},
]
ALONE: dict[str, Any] = {"unit": "person", "guarantee": gm.Guarantee(mu=1)}


def test_questions_share_one_noise() -> None:
    """Months with people in all of them, sums by four groups, and the count: 264 with separate noise, 116 with one."""
    best = gm.Request("x", questions=MONTHS_AND_REGIONS, **ALONE).plan
    assert best.total_variance == pytest.approx(116.36, abs=0.01) and best.optimality < 1.001
    assert best.ties[0].apart == pytest.approx(263.61, abs=0.01)
    for shares in ((1, 1, 1), (5, 1, 1), (4, 1, 0.2), (3.4, 1.2, 0.3)):
        stated = [{**question, "share": share} for question, share in zip(MONTHS_AND_REGIONS, shares, strict=True)]
        assert gm.Request("x", questions=stated, **ALONE).plan.total_variance > best.total_variance


def test_weights_of_a_question_do_not_weigh_it_against_others() -> None:
    asked = [
        {**question, "sums": {"spent": (0, 1e6)}} if "sums" in question else question for question in MONTHS_AND_REGIONS
    ]
    plans = [
        gm.Request("x", questions=[{**question, "weights": weights} for question in asked], **ALONE).plan
        for weights in ("relative", "equal")
    ]
    months = [float(plan["months"].standard_errors[0]) for plan in plans]
    assert months[1] == pytest.approx(months[0], rel=0.2)


def test_what_cannot_share_a_noise_splits_the_guarantee_by_the_roots_of_totals() -> None:
    counted = {
        "name": "kinds",
        "histograms": {"kind": ["a", "b"]},
        "values_per_unit": 1,
        "count": True,
        "where": "age > 9",
    }
    plan = gm.Request("x", questions=[*MONTHS_AND_REGIONS, counted], **ALONE).plan
    roots = {id(each): np.sqrt(each.total_variance) * each.guarantee.mu for each in plan.noises}
    assert len(roots) == 2
    for each in plan.noises:
        assert each.guarantee.mu**2 == pytest.approx(roots[id(each)] / sum(roots.values()))


def test_stated_errors_are_kept_and_the_rest_is_as_small_as_it_gets() -> None:
    plain = gm.Request("x", questions=MONTHS_AND_REGIONS, **ALONE).plan
    limited = [{**q, "error_at_most": 1.5} if q["name"] == "people" else q for q in MONTHS_AND_REGIONS]
    plan = gm.Request("x", questions=limited, **ALONE).plan
    error = plan["people"].errors()["count"]
    assert 1.5 * 0.998 < error <= 1.5 < plain["people"].errors()["count"]
    assert plan["months"].errors()["count"] > plain["months"].errors()["count"]
    loose = [{**q, "error_at_most": 9} if q["name"] == "people" else q for q in MONTHS_AND_REGIONS]
    assert gm.Request("x", questions=loose, **ALONE).plan == plain
    with refused("error-limit-out-of-reach"):
        gm.Request("x", questions=[{**q, "error_at_most": 0.5} for q in MONTHS_AND_REGIONS[2:]], **ALONE)
    with refused("error-limits-out-of-reach"):
        gm.Request("x", questions=[{**q, "error_at_most": 2.3} for q in MONTHS_AND_REGIONS[:2]], **ALONE)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"error_at_most": 0}, "error-limit-not-positive"),
        ({"error_at_most": "small"}, "error-limit-not-positive"),
        ({"error_at_most": 5, "share": 1}, "error-limit-beside-share"),
        ({"error_at_most": 5, "count": False, "means": {"a": (0, 1)}}, "error-limit-of-means-alone"),
    ],
)
def test_limits_of_errors_that_mean_nothing_are_refused(more: dict[str, Any], code: str) -> None:
    with refused(code):
        gm.Request("x", questions=[{"count": True, **more}, {"count": True, "where": "a > 1"}], guarantee=G)


def test_questions_say_what_they_cost_the_others() -> None:
    plan = gm.Request("x", questions=MONTHS_AND_REGIONS, **ALONE).plan
    costs = plan.costs()
    assert list(costs) == ["months", "regions", "people"]
    for name, factor in costs.items():
        others = [q for q in MONTHS_AND_REGIONS if q["name"] != name]
        without = gm.Request("x", questions=others, **ALONE).plan.total_variance
        assert factor == pytest.approx((plan.total_variance - plan[name].total_variance) / without, rel=1e-3)
    assert "What each question costs the others" in plan.explain()
    assert gm.Request("x", questions=MONTHS_AND_REGIONS[:1], **ALONE).plan.costs() == {"months": 1.0}

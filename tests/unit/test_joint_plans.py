"""The guarantee of several questions: Σ μ² of the parts within μ², exactly; shares that are what they say."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from gaussmith.joint_plans import JointPlan, Part, Slot, read_plan
from planting import plant

import gaussmith as gm
from gaussmith.certificate import verify
from gaussmith.errors import GaussmithError, PlanError

ASKED = [{"name": "spending", "sums": {"spent": (0, 500)}}, {"name": "north", "count": True, "where": "region == 'n'"}]
JOINT = gm.Request("visits.csv", unit="person", questions=ASKED, guarantee=gm.Guarantee(mu=5)).plan
assert isinstance(JOINT, JointPlan)
PART = JOINT.parts[0]


def joint(total: float, mus: Sequence[float], share: Callable[[float], float] | None = None) -> JointPlan:
    """A plan of as many parts as there are μ, each a question; shares as they should be, unless said."""
    parts = []
    for mu in mus:
        plan = replace(PART.plan, guarantee=gm.Guarantee(mu=mu))
        parts.append(Part(plan, PART.reading, (share or (lambda mu: (mu / total) ** 2))(mu)))
    slots = tuple(Slot(f"q{i}", i, (0,), False) for i in range(len(mus)))
    return JointPlan(gm.Guarantee(mu=total), JOINT.neighbours, tuple(parts), slots)


def kept(total: float, mus: Sequence[float]) -> bool:
    """Whether the parts are accepted, in memory and from a file, and by whoever verifies their certificates."""
    plan = joint(total, mus)
    try:
        plan.certify()
    except PlanError as error:
        assert "parts that spend too much" in str(error)
        with pytest.raises(PlanError, match="parts that spend too much"):
            read_plan(plan.to_json())
        return False
    assert read_plan(plan.to_json()) == plan
    return True


UP, DOWN = math.inf, 0.0
EXACT = [
    (5.0, [3.0, 4.0]),
    (1.0, [0.5] * 4),
    (1.0, [1.0]),
    (13.0, [3.0, 4.0, 12.0]),
    (0.25, [2.0**-5] * 64),
]


def check_sums() -> None:
    # In doubles this sum is 1: the excess is 2^-106.
    assert math.nextafter(1.0, 0.0) ** 2 + 2.0**-52 <= 1.0
    assert not kept(1.0, [math.nextafter(1.0, 0.0), 2.0**-26])
    for total, mus in EXACT:
        assert sum(Fraction(mu) ** 2 for mu in mus) == Fraction(total) ** 2
        assert kept(total, mus)
        assert not kept(math.nextafter(total, DOWN), mus)
        assert kept(math.nextafter(total, UP), mus)
        assert not kept(total, [math.nextafter(mus[0], UP), *mus[1:]])
        assert kept(total, [math.nextafter(mus[0], DOWN), *mus[1:]])
        assert not kept(total, [*mus, 1e-9])
        assert kept(100 * total, mus) and not kept(total / 100, mus)


def test_parts_keep_the_guarantee_together() -> None:
    check_sums()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("spent > Fraction(self.guarantee.mu) ** 2", "False"),
        ("spent > Fraction(self.guarantee.mu) ** 2", "spent >= Fraction(self.guarantee.mu) ** 2"),
        ("spent > Fraction(self.guarantee.mu) ** 2", "float(spent) > self.guarantee.mu ** 2"),
        ("Fraction(part.plan.guarantee.mu) ** 2 for", "Fraction(part.share) for"),
        ("Fraction(part.plan.guarantee.mu) ** 2 for part in self.parts)",
         "Fraction(part.plan.guarantee.mu) ** 2 for part in self.parts[1:])"),
        ("Fraction(part.plan.guarantee.mu) ** 2 for", "Fraction(part.plan.guarantee.mu ** 2) for"),
    ],
)  # fmt: skip
def test_planted_faults_are_found(right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, JointPlan.certify, right, wrong)
    with pytest.raises((AssertionError, PlanError)):
        check_sums()


def test_what_was_planned_is_kept_and_verified() -> None:
    for shares in ([1.0, 1.0], [1e-3, 1.0], [0.1, 0.7]):
        asked = [{**question, "share": share} for question, share in zip(ASKED, shares, strict=True)]
        plan = gm.Request("visits.csv", unit="person", questions=asked, guarantee=gm.Guarantee(mu=0.3)).plan
        assert isinstance(plan, JointPlan)
        spent = sum(Fraction(part.plan.guarantee.mu) ** 2 for part in plan.parts)
        assert 1 - Fraction(1, 10**15) <= spent / Fraction(0.3) ** 2 <= 1
        assert verify(plan, plan.certificate).problems == ()
        part = plan.parts[0]
        more = replace(part.plan, guarantee=gm.Guarantee(mu=math.nextafter(part.plan.guarantee.mu * (1 + 1e-12), 1)))
        over = replace(plan, parts=(replace(part, plan=more), *plan.parts[1:]))
        assert any("spend too much" in problem for problem in verify(over, over.certificate).problems)


@pytest.mark.parametrize("share", [math.nan, -0.36, 0.0, math.inf, 0.37, 1.0, -math.inf])
def test_shares_that_the_parts_do_not_have_are_refused(share: float) -> None:
    plan = joint(5.0, [3.0, 4.0], share=lambda mu: share)
    with pytest.raises(PlanError, match="share="):
        plan.certify()
    fields = joint(5.0, [3.0, 4.0]).to_dict()
    fields["parts"][0]["share"] = share
    with pytest.raises(PlanError, match="share="):
        read_plan(json.dumps(fields))


@pytest.mark.parametrize("mu", [math.nan, -3.0, 0.0, math.inf, None, "3", True, [3.0]])
def test_a_part_whose_guarantee_is_no_number_is_refused(mu: Any) -> None:
    fields = joint(5.0, [3.0, 4.0]).to_dict()
    fields["parts"][0]["plan"]["guarantee"] = {"mu": mu}
    with pytest.raises(GaussmithError):
        read_plan(json.dumps(fields))


@pytest.mark.parametrize("share", [math.nan, -1.0, 0.0, math.inf, "1", True])
def test_questions_that_ask_for_no_share_are_refused(share: Any) -> None:
    asked = [{**ASKED[0], "share": share}, ASKED[1]]
    with pytest.raises(GaussmithError, match="share"):
        gm.Request("visits.csv", unit="person", questions=asked, guarantee=gm.Guarantee(mu=5)).plan  # noqa: B018


def test_parts_with_other_neighbours_are_refused() -> None:
    plan = joint(5.0, [3.0, 4.0])
    with pytest.raises(PlanError, match="other neighbours"):
        replace(plan, neighbours="replace-one").certify()

"""A new adaptive rule is one file and one line: here one that looks at a count, and asks for a sum if it is large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import polars as pl
import pytest
from fixed_noise import fixed_noise
from refusals import damaged, refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.pipeline.staged_release import release_stages
from gaussmith.planning.staging import ANSWERS, NOTHING, RULES, Seen, StageStep, Staging, share_of

TABLE = pl.DataFrame({"x": [float(i % 7) for i in range(500)]})
WHOLE = gm.Guarantee(mu=2)


@dataclass(frozen=True)
class EnoughPeople:
    """Spends a tenth on a count; the answers follow if it is at least `people`."""

    people: float

    kind: ClassVar[str] = "enough people"
    most_before: ClassVar[Fraction] = Fraction(1, 10)

    def step(self, seen: Sequence[Seen], left: Fraction) -> StageStep:
        if not seen:
            return StageStep("count", self.most_before)
        return StageStep(ANSWERS if seen[0].values["people"][0] >= self.people else NOTHING)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "people": self.people}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> EnoughPeople:
        return cls(fields["people"])

    def describe(self) -> list[str]:
        return ["stage 1, 10 % of the budget: the number of people"]


def planner(step: StageStep, share: gm.Guarantee) -> gm.Plan:
    asked: dict[str, Any] = {"name": "people", "count": True} if step.stage == "count" else {"sums": {"x": (0, 6)}}
    return gm.Request(TABLE, questions=[asked], guarantee=share).plan


def staged(rule: EnoughPeople) -> gm.Plan:
    step = rule.step((), WHOLE.mu_squared)
    first = planner(step, share_of(WHOLE, step, WHOLE.mu_squared))
    guessed = planner(
        StageStep(ANSWERS), share_of(WHOLE, StageStep(ANSWERS), WHOLE.mu_squared * (1 - rule.most_before))
    )
    return replace(guessed, guarantee=WHOLE, staging=Staging(rule, first, "Nothing is guessed.", planner))


def released(plan: gm.Plan) -> gm.Release:
    assert plan.staging is not None
    with fixed_noise():
        first = mechanism.prepare_request(plan.staging.first, TABLE)
        return release_stages(plan, first, lambda own: mechanism.prepare_request(own, TABLE))


def test_a_rule_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, EnoughPeople.kind, EnoughPeople)
    plan = staged(EnoughPeople(400))
    plan.certify()
    assert gm.read(plan.to_json()) == plan
    assert "10 % of the budget: the number of people" in str(plan)
    release = released(plan)
    assert release["x_sum"].value == pytest.approx(TABLE["x"].sum(), abs=30)
    assert release.path is not None
    assert release.path.taken + release.plan.spent <= WHOLE.mu_squared
    assert gm.read(release.to_json()) == release
    none = released(staged(EnoughPeople(10_000)))
    assert none.taken_less == none.path.taken > 0  # type: ignore[union-attr]
    assert gm.read(none.to_json()) == none


def test_a_stage_that_takes_more_than_its_share_is_refused() -> None:
    plan = staged(EnoughPeople(400))
    assert plan.staging is not None
    dear = replace(plan.staging, planner=lambda step, share: planner(step, WHOLE))
    with refused(damaged("that spends too much")):
        released(replace(plan, staging=dear))
    with refused(damaged("that spends too much")):
        replace(plan, staging=replace(plan.staging, first=planner(StageStep("count"), WHOLE))).certify()
    other = gm.Request(TABLE, sums={"x": (0, 6)}, neighbours="replace-one", guarantee=gm.Guarantee(mu=0.1)).plan
    with refused(damaged("a stage whose neighbours differ from the plan's")):
        replace(plan, staging=replace(plan.staging, first=other)).certify()

"""The stages before the draws of a plan: an adaptive rule, the plan of the first stage, and what is guessed until then.

Every stage has an ordinary plan, certified before its data is read. Stages after the first are planned when the ones
before were seen, from their noisy outputs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.numerics.exact import sqrt_downward
from gaussmith.stages import Rule, Step
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.plans.plan import Plan

Planner = Callable[[Step, Guarantee], "Plan"]
"""The plan of a step, which may spend so much. It sees no data: a step has what follows from noisy outputs."""


@dataclass(frozen=True, eq=False)
class Staging:
    """What comes before the draws of a plan.

    guess:   what is assumed about the outcome of the stages, in words, for the errors that the plan states
    planner: makes the plans of later stages; None in a plan that was read from a file, which cannot be released
    """

    rule: Rule
    first: Plan
    guess: str
    planner: Planner | None = field(default=None, repr=False)

    def certify(self, guarantee: Guarantee, neighbours: str) -> Fraction:
        """What the stages take of μ² on any path, at most; refuses a first stage that takes more than its part."""
        self.first.certify()
        step = self.rule.step((), guarantee.mu_squared)
        if step.share is None or self.first.spent > step.share * guarantee.mu_squared:
            what, rule = "a first stage that spends too much", "its μ² must fit in its share"
            raise PlanError(what, rule, "plan again", code="stage-spends-too-much")
        if self.first.neighbours != neighbours:
            what, rule = "a stage whose neighbours differ from the plan's", "they must be the same"
            raise PlanError(what, rule, "plan again", code="stage-of-other-neighbours")
        return self.rule.most_before * guarantee.mu_squared

    def most_after(self, guarantee: Guarantee) -> Fraction:
        """What is spent of μ² after the first stage, on any path."""
        from gaussmith.stages.keys import KeysFirst

        left = guarantee.mu_squared - self.first.spent
        return min(left, self.rule.answers * guarantee.mu_squared) if isinstance(self.rule, KeysFirst) else left

    def finder(self, questions: Sequence[str]) -> Plan:
        """The first stage, as far as it finds the keys of the only question."""
        from gaussmith.stages.keys import KeysFirst

        assert isinstance(self.rule, KeysFirst)
        names = dict(self.rule.finders)
        found = [names[question] for question in questions if question in names]
        return self.first if len(found) != 1 else self.first[found[0]]

    def to_dict(self) -> dict[str, Any]:
        return {"rule": self.rule.to_dict(), "first": self.first.to_dict(), "guess": self.guess}

    @classmethod
    def from_dict(cls, fields: Any) -> Staging:
        """The stages that `to_dict` described, without what plans the later ones."""
        from gaussmith.plans.plan import Plan
        from gaussmith.stages import read_rule

        return cls(read_rule(fields["rule"]), Plan.from_dict(fields["first"]), str(fields["guess"]))


def share_of(whole: Guarantee, step: Step, left: Fraction) -> Guarantee:
    """What a step may spend: its share of the whole μ², or all that is left. Rounded down."""
    square = left if step.share is None else min(left, step.share * whole.mu_squared)
    return Guarantee(mu=sqrt_downward(square))

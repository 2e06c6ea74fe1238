"""A draw: one noise, its groups, and its share of the guarantee.

A person counts in at most m groups, so the groups of one person together keep μ when each has μ divided by a share:

    add-remove    √m: a person is added to at most m groups
    replace-one   √(m·f): in each of m groups a record may change, or leave one group and enter another

Every group has the same plan, for add-remove inside the group: whether a person is in it is secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.domains import Groups
from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, check
from gaussmith.numerics.exact import fraction_down, sqrt_upward
from gaussmith.plans.block import Block
from gaussmith.plans.choice import plan_problem
from gaussmith.plans.row_rule import RowRule
from gaussmith.problem import Problem
from gaussmith.problem.answers import Answers

_FIELDS = {"block", "guarantee", "neighbours", "groups", "row_rule"}


@dataclass(frozen=True, eq=False)
class Draw:
    """The block of every group (or of all records, without groups), and the guarantee of all groups together."""

    block: Block
    guarantee: Guarantee
    neighbours: str
    groups: Groups | None = None
    row_rule: RowRule | None = None
    """How the records come from a table; None for plain data."""

    @property
    def size(self) -> int:
        """How many groups there are; 1 without groups."""
        return 1 if self.groups is None else self.groups.size

    @property
    def is_shared(self) -> bool:
        """Whether a group has less than the draw's guarantee, because a person may be in several."""
        return self.block.guarantee != self.guarantee

    @property
    def _times(self) -> int:
        return self.size if self.block.answers.targets is None else 1

    @property
    def total_variance(self) -> float:
        """The weighted total over all groups."""
        return self.size * self.block.total_variance

    @property
    def price(self) -> float:
        """What was made small: the total, or the worst squared error (of any group) in units of its target squared."""
        return self._times * self.block.price

    @cached_property
    def lower_bound(self) -> float:
        """No Gaussian noise with this guarantee has a smaller price: what people in a single group already force."""
        # A person in one group, added, removed or moved elsewhere, is an add-remove difference in that group.
        return self._times * self.block.lower_bound * self.block.guarantee.mu**2 / self.guarantee.mu**2

    @property
    def optimality(self) -> float:
        """price / lower_bound: what is known over all groups. At its share of μ a group has `block.optimality`."""
        return self.block.optimality * (self.guarantee.mu / self.block.guarantee.mu) ** 2

    @cached_property
    def standard_scale(self) -> float:
        """The standard Gaussian's errors in a group over those it has at this plan's share of μ: its own may differ."""
        from gaussmith.plans.standard_gaussian import standard_block

        if self.groups is None or self.neighbours == ADD_REMOVE:
            return 1.0  # √m, whatever the shape
        other = standard_block(self.block)
        if other is None:
            return 1.0
        return _share(self.groups, self.neighbours, other) / _share(self.groups, self.neighbours, self.block)

    def certify(self) -> None:
        """Check with all rounding upward that the groups together keep the guarantee; raises PlanError otherwise."""
        self.block.certify()
        if self.groups is None:
            if self.block.neighbours != self.neighbours:
                what = "a block whose neighbours differ from its draw's"
                raise PlanError(what, "they must be the same", "plan again", code="block-of-other-neighbours")
            share = 1.0
        else:
            if self.block.neighbours != ADD_REMOVE:
                what = "a group planned with a public number of people"
                raise PlanError(what, "its number of people is private", "plan again", code="group-with-public-number")
            share = _share(self.groups, self.neighbours, self.block)
        if Fraction(self.block.guarantee.mu) * Fraction(share) > Fraction(self.guarantee.mu):
            what = "a block's guarantee" if self.groups is None else "a group's share"
            raise PlanError(
                f"{what} is too large", "shares add up to the guarantee", "plan again", code="share-too-large"
            )

    def to_dict(self) -> dict[str, Any]:
        return {
            "block": self.block.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "groups": None if self.groups is None else self.groups.to_dict(),
            "row_rule": None if self.row_rule is None else self.row_rule.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Any) -> Draw:
        """The draw that `to_dict` described; refuses what it does not know."""
        if not isinstance(fields, dict) or set(fields) != _FIELDS:
            rule = "it must have exactly the fields it was saved with"
            raise PlanError("a draw that cannot be read", rule, "plan again", code="draw-not-understood")
        block = Block.from_dict(fields["block"])
        return cls(
            block,
            Guarantee.from_dict(fields["guarantee"]),
            check(fields["neighbours"]),
            None if fields["groups"] is None else Groups.from_dict(fields["groups"], block.domain),
            None if fields["row_rule"] is None else RowRule.from_dict(fields["row_rule"]),
        )


def draw_groups(
    groups: Groups,
    guarantee: Guarantee,
    answers: Answers,
    neighbours: str,
    missing: Mapping[str, float] | None = None,
    shape: str = "best",
) -> Draw:
    """One block for every group, at the share of the guarantee that is left when a person is in `at_most` of them."""
    problem = Problem(groups.domain, answers, ADD_REMOVE)
    block = plan_problem(problem, guarantee, missing, shape)
    share = _share(groups, neighbours, block)
    if share > 1:
        mu = fraction_down(Fraction(guarantee.mu) / Fraction(share))
        block = plan_problem(problem, Guarantee(mu=mu), missing, shape)
    return Draw(block, guarantee, neighbours, groups)


def _share(groups: Groups, neighbours: str, block: Block) -> float:
    """By how much μ is divided for one group, rounded up."""
    m = float(groups.at_most)
    if neighbours == ADD_REMOVE:
        return sqrt_upward(m)
    unit = block.domain.largest(block.shape.lift, ADD_REMOVE)
    changed = block.domain.largest_change(block.shape.lift)  # ‖lift (s − s′)‖ of two records, rounded up
    factor = max(2.0, float(np.nextafter((changed / unit) ** 2, np.inf)) * (1 + 2.0**-50))
    return sqrt_upward(m * factor * (1 + 2.0**-50))

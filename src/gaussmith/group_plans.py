"""Plans of groups: one plan for each declared group, and the guarantee that holds over all a person is in.

A person is in at most m groups, and groups have noise of their own. Under add-remove a person's differences in m groups
add up as μ², so each group is planned at μ/√m: the full guarantee when m = 1.

Under replace-one a person may leave m groups and enter m others, or change within a group. With a shape whose
add-remove differences have norm at most 1, its differences of two records at most D, both are covered by planning at

    μ / (√m · max(√2, D)),

since 2m groups with one record more or less cost 2m, and m groups with one record changed cost m·D². The number of
people in a group is private either way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import Domain, Groups
from gaussmith.errors import GaussmithError, PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, check, protects
from gaussmith.numerics.exact import fraction_down, sqrt_upward
from gaussmith.numerics.linear import Array
from gaussmith.planner import plan_answers
from gaussmith.plans import Plan

if TYPE_CHECKING:
    from gaussmith.certificate import Certificate
    from gaussmith.group_releases import GroupRelease

FORMAT = 1


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """What `gaussmith.plan` returns for groups; `each` is the plan of one group.

    >>> import gaussmith as gm
    >>> by = gm.Groups({"region": ["north", "south", "east"]}, gm.Box({"visits": (0, 80)}), at_most=1)
    >>> plan = gm.plan(by, gm.Guarantee(mu=1), count=True)
    >>> alone = gm.plan(gm.Box({"visits": (0, 80)}), gm.Guarantee(mu=1), count=True)
    >>> plan.each.standard_errors == alone.standard_errors
    array([ True])
    """

    groups: Groups
    guarantee: Guarantee
    neighbours: str
    each: Plan

    @property
    def answers(self) -> Answers:
        """Asked of every group."""
        return self.each.answers

    @property
    def domain(self) -> Domain:
        """Of every group."""
        return self.each.domain

    @property
    def standard_errors(self) -> Array:
        """Of the answers of one group; all groups are alike."""
        return self.each.standard_errors

    @property
    def count_standard_error(self) -> float | None:
        """Of the number of people in one group, if asked."""
        return self.each.count_standard_error

    @property
    def total_variance(self) -> float:
        """The weighted total over all groups."""
        return self.groups.size * self.each.total_variance

    @property
    def price(self) -> float:
        """What was made small: the total, or the worst squared error (of any group) in units of its target squared."""
        return self._times * self.each.price

    @property
    def _times(self) -> int:
        return self.groups.size if self.each.answers.targets is None else 1

    @cached_property
    def lower_bound(self) -> float:
        """No Gaussian noise with this guarantee has a smaller price: what people in a single group already force."""
        # A person in one group, added, removed or moved elsewhere, is an add-remove difference in that group.
        return self._times * self.each.lower_bound * self.each.guarantee.mu**2 / self.guarantee.mu**2

    @property
    def optimality(self) -> float:
        """price / lower_bound: what is known over all groups. At its share of μ each has `each.optimality`."""
        return self.each.optimality * (self.guarantee.mu / self.each.guarantee.mu) ** 2

    @cached_property
    def standard_scale(self) -> float:
        """The standard Gaussian's errors in a group over those it has at this plan's share of μ: its own may differ."""
        from gaussmith.standards import standard_plan

        other = None if self.neighbours == ADD_REMOVE else standard_plan(self.each)
        if other is None:
            return 1.0  # √m, whatever the shape
        return _share(self.groups, self.neighbours, other) / _share(self.groups, self.neighbours, self.each)

    @property
    def certificate(self) -> Certificate:
        """The certificate of one group, at its share of the guarantee; all are alike."""
        return self.each.certificate

    def covariance(self) -> Array:
        """Of the noise in the answers of one group; groups have noise of their own."""
        return self.each.covariance()

    @property
    def protects(self) -> str:
        """What is protected, in plain words."""
        return protects(self.neighbours)

    def errors(self, rows: int | None = None) -> dict[str, float]:
        """The standard error of each answer of a group; means need a guess of the rows in a group."""
        return self.each.errors(rows)

    def certify(self) -> None:
        """Check with all rounding upward that the groups together keep the guarantee; raises PlanError otherwise."""
        self.each.certify()
        if self.each.neighbours != ADD_REMOVE:
            raise PlanError(
                "a group planned for a public number of people", "it is private in every group", "plan again"
            )
        share = _share(self.groups, self.neighbours, self.each)
        if Fraction(self.each.guarantee.mu) * Fraction(share) > Fraction(self.guarantee.mu):
            raise PlanError("a group's share is too large", "shares add up to the guarantee", "plan again")

    def explain(self) -> str:
        """What was chosen and why, in plain words."""
        m = self.groups.at_most
        held = "one group" if m == 1 else f"at most {m} groups"
        whole = ""
        if self.each.guarantee != self.guarantee:
            what = "total" if self.each.answers.targets is None else "largest in units of its target squared"
            whole = (
                f"\nAll groups together: the {what} is {self.price:.6g}, and no Gaussian noise with the whole "
                f"guarantee can go below {self.lower_bound:.6g}: within a factor {self.optimality:.3g} of it."
            )
        return (
            f"{self.groups.size} declared groups, a person in {held}: "
            f"each is planned at μ={self.each.guarantee.mu:.4g}, so that together they keep {self.guarantee}.\n"
            f"In each group:\n{self.each.explain()}{whole}"
        )

    def __str__(self) -> str:
        from gaussmith.joint_tables import group_plan_table

        return group_plan_table(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.joint_tables import group_plan_html

        return group_plan_html(self)

    def chart(self, columns: tuple[str, str] | None = None, kind: str = "shape") -> Any:
        """A picture of the noise in one group (an Altair chart), as `Plan.chart` draws it."""
        return self.each.chart(columns, kind)

    def release(
        self, data: Any, columns: list[str] | None = None, ledger: Any = None, id: str | None = None
    ) -> GroupRelease:
        """Release every declared group from a frame or file that holds keys and numbers, each row one person.

        `columns` names the columns of the domain's coordinates where they differ from its own names.
        """
        from gaussmith.job import release_group_plan

        return release_group_plan(self, data, columns, ledger, id)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "kind": "groups",
            "groups": self.groups.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "each": self.each.to_dict(),
        }

    def to_json(self) -> str:
        """The plan as canonical JSON."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_dict(cls, fields: Any) -> GroupPlan:
        """The plan that `to_dict` described, certified anew."""
        expected = {"format", "kind", "groups", "guarantee", "neighbours", "each"}
        if not isinstance(fields, dict) or fields.get("format") != FORMAT or set(fields) != expected:
            raise PlanError(
                "a plan of groups that is not understood", f"this version reads format {FORMAT}", "plan again"
            )
        try:
            each = Plan.from_dict(fields["each"])
            groups = Groups.from_dict(fields["groups"], each.domain)
            plan = cls(groups, Guarantee.from_dict(fields["guarantee"]), check(fields["neighbours"]), each)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            if isinstance(error, GaussmithError):
                raise
            raise PlanError(
                f"a damaged plan ({type(error).__name__})", "every field must be as it was saved", "plan again"
            ) from None
        plan.certify()
        return plan

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupPlan) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)


def plan_groups(
    groups: Groups,
    guarantee: Guarantee,
    answers: Answers,
    neighbours: str,
    missing: Mapping[str, float] | None = None,
    shape: str = "best",
) -> GroupPlan:
    """One plan for every group, at the share of the guarantee that is left when a person is in `at_most` of them."""
    each = plan_answers(groups.domain, guarantee, answers, ADD_REMOVE, missing, shape)
    share = _share(groups, neighbours, each)
    if share > 1:
        mu = fraction_down(Fraction(guarantee.mu) / Fraction(share))
        each = plan_answers(groups.domain, Guarantee(mu=mu), answers, ADD_REMOVE, missing, shape)
    plan = GroupPlan(groups, guarantee, neighbours, each)
    plan.certify()
    return plan


def _share(groups: Groups, neighbours: str, each: Plan) -> float:
    """By how much μ is divided for one group, rounded up."""
    m = float(groups.at_most)
    if neighbours == ADD_REMOVE:
        return sqrt_upward(m)
    unit = each.domain.largest(each.shape.lift, ADD_REMOVE)
    changed = each.domain.largest_change(each.shape.lift)  # ‖lift (s − s′)‖ of two records, rounded up
    factor = max(2.0, float(np.nextafter((changed / unit) ** 2, np.inf)) * (1 + 2.0**-50))
    return sqrt_upward(m * factor * (1 + 2.0**-50))

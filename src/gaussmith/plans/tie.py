"""A tie: one noise for several draws, because every person is in all of them at once.

A person is one vector over all questions, so noise that fits the whole vector is smaller than noise that fits each
question by itself. The draws of a tie keep their own tables, groups and answers; what they share is the lift
(`numerics.tied`), its noise, and one number of people.

What a tie may assume of a person follows from the draws alone (`make_body`), also when a plan is read from a file: how
many groups there are, how many of them a person is in, and whether everybody who is counted is in a draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, check
from gaussmith.numerics.exact import sqrt_upward
from gaussmith.numerics.linear import Array
from gaussmith.numerics.threads import single_threaded
from gaussmith.numerics.tied.lift import TiedLift
from gaussmith.numerics.tied.parts import Body
from gaussmith.plans.certified_grid import NOISE_BITS
from gaussmith.plans.joint_noise import JointNoise, certified_lift
from gaussmith.plans.lending import check_borrower
from gaussmith.plans.tied_features import feature_rows, shared_covariance, tied_shape, tied_total
from gaussmith.plans.tied_people import (
    Place,
    check_common,
    counts_everybody,
    extents_of,
    make_body,
    parts_by_groups,
    parts_of,
    placed,
    same_people,
)
from gaussmith.problem import Law
from gaussmith.problem.law import refused_law
from gaussmith.shapes import Shape
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.numerics.tied.law import TypesLaw
    from gaussmith.plans.draw import Draw


@dataclass(frozen=True, eq=False)
class Tie(JointNoise):
    """The noise of several draws of a plan: `members` are their places among its draws.

    people:  which member counts all people that the lift speaks of; None where it does not take their number
    where:   the filter that everybody who is counted passes, in every draw
    """

    members: tuple[int, ...]
    places: tuple[Place, ...]
    people: int | None
    where: str | None
    lift: TiedLift
    guarantee: Guarantee
    neighbours: str
    how: str
    """By which of the ways in `numerics.tied` the lift was found."""
    law: Law | None
    """The law on people that bounds every noise, known from planning; else one is found when asked."""
    apart: float
    """What the total would be if every draw had noise of its own, at the best shares."""
    body: Body = field(repr=False)
    """What one person adds, from the draws."""
    extents: tuple[Array, ...] = field(repr=False)
    """The integer that stands for 1 in each column of each part."""
    borrowers: tuple[int, ...] = ()
    """The places of draws that take the noisy number of everybody from this noise, and have noise of their own."""

    @classmethod
    def of(cls, draws: Sequence[Draw], **fields: Any) -> Tie:
        """The tie of these draws, its members in order; refuses a lift that is not one of theirs."""
        places, people, where, lift = (fields[name] for name in ("places", "people", "where", "lift"))
        check_common(draws, where)
        if where is not None and fields["neighbours"] != ADD_REMOVE:
            what, rule = "a filter of everybody under replace-one", "only the number of all people is public"
            raise PlanError(what, rule, "plan again", code="tie-filtered-under-replace-one")
        body = make_body(draws, places, where)
        if lift.counted != (people is not None):
            raise PlanError(
                "a lift that does not fit its people",
                "their number is counted where it is used",
                "plan again",
                code="tied-lift-does-not-fit-people",
            )
        if people is not None and not (0 <= people < len(draws) and counts_everybody(draws[people], where)):
            raise PlanError(
                "people counted by a draw of some", "everybody is counted", "plan again", code="tie-counts-some-people"
            )
        sizes = [(part.groups, part.width) for part in body.parts]
        if list(zip(lift.groups, lift.widths, strict=True)) != sizes:
            raise PlanError(
                "a lift that does not fit its draws",
                "it has a column per number of each",
                "plan again",
                code="tied-lift-does-not-fit-draws",
            )
        return cls(**fields, body=body, extents=extents_of(draws, places, body))

    # -- privacy ----------------------------------------------------------------------------------------------------

    @cached_property
    @single_threaded()
    def grid(self) -> tuple[TiedLift, float]:
        """The certified integer lift, and how many grid steps one lifted unit is; refuses what cannot be certified."""
        units = [
            np.append(1.0 / each, np.ones(part.width - part.columns))
            for each, part in zip(self.extents, self.body.parts, strict=True)
        ]
        return certified_lift(
            self.guarantee.mu,
            self.lift.size,
            self._largest(self.lift, None),
            lambda scale: self.lift.scaled(units, 1.0, scale),
            lambda lift: self._largest(lift, self.extents),
        )

    def certify(self, draws: Sequence[Draw]) -> None:
        """Check in exact arithmetic that the draws of a plan keep the guarantee; raises PlanError otherwise."""
        same = [draw.tie is self for draw in draws] == [i in self.members for i in range(len(draws))]
        if same:
            members = [draws[i] for i in self.members]
            check_common(members, self.where)
            body = make_body(members, self.places, self.where)
            extents = extents_of(members, self.places, body)
            same = len(body.parts) == len(self.body.parts)
            same = same and all(same_people(a, b) for a, b in zip(body.parts, self.body.parts, strict=True))
            same = same and body.families == self.body.families
            same = same and all(np.array_equal(a, b) for a, b in zip(extents, self.extents, strict=True))
        if not same:
            what, rule = "a tie of other draws", "it was made for all draws that name it"
            raise PlanError(what, rule, "plan again", code="tie-of-other-draws")
        for i, draw in enumerate(draws):
            if (draw.block.lender is self) != (i in self.borrowers):
                raise lent_to_others()
        if self.borrowers:
            lent = [draws[i] for i in self.borrowers]
            check_common([*(draws[i] for i in self.members), *lent], self.where)
            for draw in lent:
                check_borrower(draw, self)
        self.grid  # noqa: B018 (made here, or refused)

    def _largest(self, lift: TiedLift, extents: Sequence[Array] | None) -> float:
        from gaussmith.numerics.tied.largest import largest

        return largest(lift, self.body, self.neighbours, extents)

    @property
    def reach(self) -> float:
        """The largest difference of neighbours over what the guarantee allows, on the grid: at most 1."""
        found = self._largest(self.grid[0], self.extents) + sqrt_upward(float(self.lift.size))
        return found / (self.guarantee.mu * 2.0**NOISE_BITS)

    @property
    def unit(self) -> float:
        """How many grid steps one lifted unit is."""
        return self.grid[1]

    @property
    def lent_to(self) -> tuple[int, ...]:
        return self.borrowers

    # -- how good it is ---------------------------------------------------------------------------------------------

    @cached_property
    @single_threaded()
    def total_variance(self) -> float:
        """The weighted total of all answers of all draws, each draw's taken by its scale."""
        return tied_total(self.lift, self.body) * self.noise_scale**2

    @cached_property
    @single_threaded()
    def bounding_law(self) -> Law:
        """The law on people that proves the lower bound."""
        return self.law or bound_of(self.body, self.neighbours)

    def proven(self, law: Law) -> float:
        """The bound that a law proves at μ = 1, computed apart from the choice of the lift; rounded down."""
        from gaussmith.proofs.tied import lower_bound

        if law.kind != "types":
            raise refused_law()
        return lower_bound(self.body, self.neighbours, types_of(law, len(self.body.parts)))

    # -- from sums to answers ---------------------------------------------------------------------------------------

    def cores(self, draws: Sequence[Draw], members: Sequence[Sequence[Sequence[int]]]) -> list[list[Sequence[int]]]:
        """The cores of the groups of each part, from those of every member: pooled draws follow each other."""
        found: list[list[Sequence[int]]] = [[] for _ in self.body.parts]
        for draw, place, groups in zip(draws, self.places, members, strict=True):
            for q, places in parts_by_groups(draw, place):
                found[q] += groups if places is None else [groups[i] for i in places]
        return found

    def lifted(self, draws: Sequence[Draw], members: Sequence[Sequence[Sequence[int]]], people: int) -> list[int]:
        """The integers to which the noise is added, from the cores of every member and the number of people."""
        return self.grid[0].exact_times(self.cores(draws, members), people)

    def is_steady(self, members: Sequence[Sequence[Sequence[int]]], people: int) -> bool:
        """Whether the tables of all members can be of the same rows: those of a tie are read apart."""
        return True

    def shapes_of(self, draw: Draw, place: Place) -> list[Shape]:
        """The noise in one group of a draw: of each weight where its groups weigh differently."""
        several = [q for q, places in parts_by_groups(draw, place) if places is not None]
        each = [tied_shape(draw, self.lift, place, self.where, {q: 1}) for q in several]
        return each or [tied_shape(draw, self.lift, place, self.where)]

    def shape_of_sum(self, draw: Draw, place: Place, groups: Sequence[int]) -> Shape:
        """The noise in several groups of a draw added up."""
        chosen, of_parts = set(groups), parts_by_groups(draw, place)
        numbers = {q: len(chosen if places is None else chosen.intersection(places)) for q, places in of_parts}
        return tied_shape(draw, self.lift, place, self.where, numbers)

    def covariance_of(self, one: Draw, other: Draw, same_keys: bool, classes: tuple[int, int] = (0, 0)) -> Array:
        """Of the noise in the features of a group of one draw with those of another's, or of the same group.

        `classes` says which of their weights the groups have, where they weigh differently.
        """
        same = one is other and same_keys and classes[0] == classes[1]
        return shared_covariance(self, one, other, same, classes)

    def root_without(self, draws: Sequence[Draw], gone: Sequence[int]) -> float:
        """√T at μ = 1 of the best noise for all members but some."""
        from gaussmith.numerics.tied.ladder import solve

        body = self.body_without(draws, gone)
        if not body.parts:
            return math.sqrt(body.people_weight)
        return math.sqrt(solve(body, self.neighbours).total)

    def body_without(self, draws: Sequence[Draw], gone: Sequence[int]) -> Body:
        """What one person adds to all members but some."""
        kept = [j for j in range(len(draws)) if j not in gone]
        found = [(j, parts_of(draws[j], self.where, self.places[j].scale)) for j in kept]
        members, places = placed(found, [place.scale for place in self.places])
        return make_body([draws[j] for j in members], places, self.where)

    def number(self, noisy: Array) -> float:
        """The noisy number of everybody, from the noisy rows of the lift."""
        return self.lift.undone(noisy)[1] or 0.0

    def features(self, draws: Sequence[Draw], noisy: Array) -> list[Array]:
        """What is read from the noisy rows of the lift: for each member groups × features."""
        cores, people = self.lift.undone(noisy)
        everybody = np.array([[0.0 if people is None else people]])
        found = []
        for draw, place in zip(draws, self.places, strict=True):
            core = np.zeros((1, 0)) if place.part is None else cores[place.part]
            for q, places in parts_by_groups(draw, place):
                if places is not None:
                    core = np.zeros((draw.size, core.shape[1])) if q == place.part else core
                    core[list(places)] = cores[q]
            if draw.block.domain.marks_at_most is not None:
                counts = core[place.start : place.start + draw.block.domain.dimension].T
                found.append(np.hstack([counts, everybody]) if draw.block.shape.counted else counts)
                continue
            core = core[place.start : place.start + draw.size]
            core = np.hstack([core, everybody]) if counts_everybody(draw, self.where) else core
            found.append(core @ feature_rows(draw.block.problem).T)
        return found

    def to_dict(self) -> dict[str, Any]:
        """All but what follows from the draws."""
        lent = {"borrowers": list(self.borrowers)} if self.borrowers else {}
        return lent | {
            "members": list(self.members),
            "places": [[place.part, place.start, place.scale] for place in self.places],
            "people": self.people,
            "where": self.where,
            "lift": self.lift.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "how": self.how,
            "law": None if self.law is None else self.law.to_dict(),
            "apart": self.apart,
        }


def tie_from_dict(fields: dict[str, Any], draws: Sequence[Draw]) -> Tie:
    """The tie that `to_dict` described, of these draws of its plan; refuses what does not fit them."""
    expected = {"members", "places", "people", "where", "lift", "guarantee", "neighbours", "how", "law", "apart"}
    if set(fields) - {"borrowers"} != expected:
        raise PlanError(
            "a tie that is not understood",
            "it must have exactly the fields it was saved with",
            "plan again",
            code="tie-not-understood",
        )
    members = tuple(int(i) for i in fields["members"])
    places = tuple(Place(None if q is None else int(q), int(start), float(s)) for q, start, s in fields["places"])
    if len(set(members)) != len(members) or not all(0 <= i < len(draws) for i in members):
        raise PlanError(
            "a tie of draws that are not there",
            "it names draws of its plan, each once",
            "plan again",
            code="tie-draws-missing",
        )
    return Tie.of(
        [draws[i] for i in members],
        members=members,
        places=places,
        people=None if fields["people"] is None else int(fields["people"]),
        where=None if fields["where"] is None else str(fields["where"]),
        lift=TiedLift.from_dict(fields["lift"]),
        guarantee=Guarantee.from_dict(fields["guarantee"]),
        neighbours=check(fields["neighbours"]),
        how=str(fields["how"]),
        law=None if fields["law"] is None else Law.from_dict(fields["law"]),
        apart=float(fields["apart"]),
        borrowers=tuple(int(i) for i in fields.get("borrowers", ())),
    )


def lent_to_others() -> PlanError:
    """The reason for refusing draws that take a number from a noise which does not say so."""
    what, rule = "a noise that lends its number to other draws", "it names the draws that take it"
    return PlanError(what, rule, "plan again", code="number-lent-to-others")


MAX_LAW = 20_000
"""Limit on the numbers of a law that a plan keeps; a longer one is found again when it is asked for."""


def bound_by(body: Body, neighbours: str, types: TypesLaw) -> Law:
    """A law on types as a plan and a certificate write it, with the bound that it proves."""
    from gaussmith.proofs.tied import lower_bound

    return Law("types", lower_bound(body, neighbours, types), types_numbers(types))


def types_numbers(types: TypesLaw) -> dict[str, Array]:
    """The numbers of a law on types, by name."""
    numbers = {"weights": types.weights}
    for q, (corners, counts, picks) in enumerate(zip(types.corners, types.counts, types.picks, strict=True)):
        numbers |= {f"corners {q}": corners, f"counts {q}": counts, f"picks {q}": picks}
    return numbers


def bound_of(body: Body, neighbours: str) -> Law:
    """A law on the people of a body, found apart from any noise, with the bound that it proves."""
    return bound_by(body, neighbours, law_for(body, neighbours))


def law_for(body: Body, neighbours: str) -> TypesLaw:
    """A law on the people of a body, found apart from any noise.

    With many columns it is searched for less long: the bound is then a hundredth below the best, or less.
    """
    from gaussmith.proofs.tied_laws import find_law

    columns = max((part.columns for part in body.parts), default=0)
    gap = 1e-3 if columns <= 8 else 3e-3 if columns <= 16 else 1e-2
    return find_law(body, neighbours, gap)


def kept_law(body: Body, neighbours: str, types: TypesLaw | None) -> Law | None:
    """The law that comes with a lift, where it is short enough to be kept."""
    if types is None or sum(each.size for each in (*types.corners, *types.counts, *types.picks)) > MAX_LAW:
        return None
    return bound_by(body, neighbours, types)


def types_of(law: Law, parts: int) -> TypesLaw:
    """The law on types that `types_numbers` wrote."""
    from gaussmith.numerics.tied.law import TypesLaw

    corners, counts, picks = (
        tuple(law.numbers[f"{name} {q}"] for q in range(parts)) for name in ("corners", "counts", "picks")
    )
    return TypesLaw(corners, counts, picks, law.numbers["weights"])

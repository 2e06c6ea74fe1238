"""A tie: one noise for several queries, because every person is in all of them at once.

A person is one vector over all questions, so noise that fits the whole vector is smaller than noise that fits each
question by itself. The queries of a tie keep their own tables, groups and answers; what they share is the lift
(`numerics.tied`), its noise, and one number of people.

What a tie may assume of a person follows from the queries alone (`make_body`), also when a plan is read from a file:
how many groups there are, how many of them a person is in, and whether everybody who is counted is in a query.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.domain import Domain, Problem, WorstCase, check_law, free_marks, refused_law
from gaussmith.domains.groups import Groups
from gaussmith.domains.strategies import Strategy
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array, Words, norm_upward, sqrt_upward
from gaussmith.numerics.joint.lift import TiedLift, core_covariance, total_of
from gaussmith.numerics.joint.parts import Body
from gaussmith.numerics.matrices import Dense, Exchangeable, Matrix
from gaussmith.numerics.threads import single_threaded
from gaussmith.planning.certified_grid import NOISE_BITS, SharedNoise, certified_lift
from gaussmith.planning.joint_people import (
    NAME,
    JointPeople,
    Place,
    check_common,
    counts_everybody,
    extents_of,
    make_body,
    parts_by_groups,
    parts_of,
    placed,
    possible_people,
    same_people,
)
from gaussmith.planning.lending import check_borrower
from gaussmith.planning.one_group import inside, one_choice, weight_of
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, check

if TYPE_CHECKING:
    from gaussmith.numerics.joint.law import TypesLaw
    from gaussmith.planning.query import Query


# What is read back from tied noise: the features of each query, and the noise in them.


def tied_shape(
    query: Query, tie_lift: TiedLift, place: Place, where: str | None, groups: Mapping[int, int] | None = None
) -> Strategy:
    """The shape of the noise in one group of a query, or in several added up: features of unit noise of their own.

    `groups` says how many of each part are added up; without it, one of the first. The lift of the shape is empty: a
    tied query is lifted with all others of its tie.
    """
    none: Matrix = Dense(np.zeros((0, 0)))
    problem = query.block.problem
    if free_marks(query.block.domain) is not None:
        assert place.part is not None
        same, between = tie_lift.covariance(place.part, place.part)
        counted = bool(problem.count_weight)
        people = tie_lift.people_variance if counted else 0.0
        beside = float(tie_lift.people_covariance(place.part)[0]) if counted else 0.0
        features = alike_features(
            query.block.domain.dimension, float(same[0, 0]), float(between[0, 0]), counted, beside, people
        )
        return Strategy(NAME, none, features, counted)
    everybody = counts_everybody(query, where)
    rows, counted = feature_rows(problem), bool(problem.count_weight)
    if place.part is None:
        covariance = np.array([[tie_lift.people_variance]])
    elif groups is None:
        covariance = core_covariance(tie_lift, place.part, everybody)
    else:
        covariance = np.zeros((tie_lift.widths[place.part],) * 2)
        for one, n in groups.items():
            covariance += n * tie_lift.covariance(one, one)[0] + n * (n - 1) * tie_lift.covariance(one, one)[1]
            for other, m in groups.items():
                if other != one:
                    covariance += n * m * tie_lift.covariance(one, other)[1]
    return Strategy(NAME, none, Dense(rows[:, : len(covariance)] @ _root(covariance)), counted)


def feature_rows(problem: Problem[Domain]) -> Array:
    """What each feature is of the core of a group: of its columns, then of its count."""
    features, d = problem.features, problem.domain.dimension
    rows = np.zeros((features.size + bool(problem.count_weight), d + 1))
    radius = problem.domain.coded[1]
    if features.matrix is not None:
        rows[: features.size, :d] = features.matrix * radius
    else:
        rows[np.arange(features.size), features.index] = radius[features.index]
    rows[: features.size, d] = problem.coded_offsets
    if problem.count_weight:
        rows[-1, d] = 1.0
    return rows


def _root(covariance: Array) -> Array:
    """F with F Fᵀ = covariance, which may be singular."""
    scale = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.clip(values, 0.0, None)))


def alike_features(size: int, variance: float, between: float, counted: bool, beside: float, people: float) -> Matrix:
    """Features that all have one variance and one covariance, and then the number of people."""
    inner = np.sqrt(max(variance - between, 0.0))
    border = beside / np.sqrt(people) if counted else 0.0
    rest = max(inner**2 + size * (between - border**2), 0.0)  # along the sum, what people do not explain
    shared = (np.sqrt(rest) - inner) / size
    if not counted:
        return Exchangeable(size, float(inner), float(shared))
    return Exchangeable(size, float(inner), float(shared), float(border), (0.0, float(np.sqrt(people))))


def shared_covariance(
    tie: JointNoise, one: Query, other: Query, same_group: bool = False, classes: tuple[int, int] = (0, 0)
) -> Array:
    """Of the noise in the features of a group of one tied query with that of another query's, or of the same group.

    `classes` says which of their weights the groups have, where they weigh differently.
    """
    left, right = (_core_rows(query, tie) for query in (one, other))
    places = [None if query.place is None else query.place.part for query in (one, other)]
    cores = [None if q is None else q + at for q, at in zip(places, classes, strict=True)]
    people = tie.lift.people_variance if tie.lift.counted else 0.0
    found = np.zeros((left.shape[1], right.shape[1]))
    a, b = (0 if q is None else tie.lift.widths[q] for q in cores)
    if cores[0] is not None and cores[1] is not None:
        found[:a, :b] = tie.lift.covariance(cores[0], cores[1])[0 if same_group else 1]
    if left.shape[1] > a and cores[1] is not None:  # the last number of a core may be that of all people
        found[a:, :b] = tie.lift.people_covariance(cores[1])
    if right.shape[1] > b and cores[0] is not None:
        found[:a, b:] = tie.lift.people_covariance(cores[0])[:, None]
    found[a:, b:] = people
    return np.asarray(left @ found @ right.T) * tie.noise_scale**2


def _core_rows(query: Query, tie: JointNoise) -> Array:
    """What each feature of a query takes from the core of one group, and from the number of people if it uses that."""
    if free_marks(query.block.domain) is None:
        return feature_rows(query.block.problem)
    counted = bool(query.block.problem.count_weight)
    return np.eye(2) if counted else np.eye(1)


@dataclass(frozen=True, eq=False)
class JointNoise(SharedNoise):
    """The noise of several queries of a plan: `members` are their places among its queries.

    people:  which member counts all people that the lift speaks of; None where it does not take their number
    where:   the filter that everybody who is counted passes, in every query
    groups:  where all queries are by the same groups: the noise is that of one group, and is drawn anew in each. Body,
             lift and law are then those of one group, in which people come and go; totals and bounds are over all.

    Guarantee: ‖lift · s‖ is certified in exact integers for all people of the body. With groups a person is in one of
    them for all queries (`one_group.one_choice`), and changes what that group's noise hides alone: the body of one
    group is enough. A person who is replaced changes what the noise of two groups hides, or one group twice.
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
    law: WorstCase | None
    """The law on people that bounds every noise, known from planning; else one is found when asked."""
    apart: float
    """What the total would be if every query had noise of its own, at the best shares."""
    body: Body = field(repr=False)
    """What one person adds, from the queries: whatever it is in one of them, it may be anything in the others."""
    people_sets: tuple[tuple[JointPeople, ...], ...] = field(repr=False)
    """People who can exist, in sets of queries whose bounds add up; one or two ways to divide the queries."""
    extents: tuple[Array, ...] = field(repr=False)
    """The integer that stands for 1 in each column of each part."""
    borrowers: tuple[int, ...] = ()
    """The places of queries that take the noisy number of everybody from this noise, and have noise of their own."""
    groups: Groups | None = None

    @classmethod
    def of(cls, queries: Sequence[Query], **fields: Any) -> JointNoise:
        """The tie of these queries, its members in order; refuses a lift that is not one of theirs."""
        places, people, where, lift = (fields[name] for name in ("places", "people", "where", "lift"))
        neighbours = fields["neighbours"]
        if fields.get("groups") is not None:
            queries, neighbours = _inside(queries, fields["groups"]), ADD_REMOVE
        check_common(queries, where)
        if where is not None and neighbours != ADD_REMOVE:
            raise damaged_plan("a filter of everybody under replace-one")
        body = make_body(queries, places, where)
        if lift.counted != (people is not None):
            raise damaged_plan("a lift that does not fit its people")
        if people is not None and not (0 <= people < len(queries) and counts_everybody(queries[people], where)):
            raise damaged_plan("people counted by a query of some")
        sizes = [(part.groups, part.width) for part in body.parts]
        if list(zip(lift.groups, lift.widths, strict=True)) != sizes:
            raise damaged_plan("a lift that does not fit its queries")
        ways = [[JointPeople(tuple(range(len(queries))), body)]]
        if neighbours == ADD_REMOVE:  # else only groups of one query share a noise
            found = possible_people(queries, [place.scale for place in places], range(len(queries)), where)
            rules = {(query.row_rule or RowRule(())).where for query in queries}
            (first, *others), *_ = found
            if others or first.times != 1.0 or first.full or (len(rules) == 1 and rules != {where}):
                fields["law"], ways = None, found  # a law on the body would be about people who cannot exist
        return cls(**fields, body=body, people_sets=tuple(map(tuple, ways)), extents=extents_of(queries, places, body))

    # -- privacy ----------------------------------------------------------------------------------------------------

    @cached_property
    @single_threaded()
    def grid(self) -> tuple[TiedLift, float]:
        """The certified integer lift, and how many grid steps one lifted unit is; refuses what cannot be certified."""
        return certified_lift(
            self.guarantee.mu,
            self.lift.size,
            self._largest(self.lift, None),
            self.lift_at,
            lambda lift: self._largest(lift, self.extents),
        )

    def lift_at(self, scale: float) -> TiedLift:
        """The integer lift of this scale, not certified."""
        units = [
            np.append(1.0 / each, np.ones(part.width - part.columns))
            for each, part in zip(self.extents, self.body.parts, strict=True)
        ]
        return self.lift.scaled(units, 1.0, scale)

    def certify(self, queries: Sequence[Query]) -> None:
        """Check in exact arithmetic that the queries of a plan keep the guarantee; raises PlanError otherwise."""
        same = [query.tie is self for query in queries] == [i in self.members for i in range(len(queries))]
        if same:
            members = [queries[i] for i in self.members]
            if self.groups is not None:
                _inside([queries[i] for i in (*self.members, *self.borrowers)], self.groups)
            members = [self.seen(query) for query in members]
            check_common(members, self.where)
            body = make_body(members, self.places, self.where)
            extents = extents_of(members, self.places, body)
            same = len(body.parts) == len(self.body.parts)
            same = same and all(same_people(a, b) for a, b in zip(body.parts, self.body.parts, strict=True))
            same = same and body.families == self.body.families
            same = same and all(np.array_equal(a, b) for a, b in zip(extents, self.extents, strict=True))
        if not same:
            raise damaged_plan("a tie of other queries")
        for i, query in enumerate(queries):
            if (query.block.lender is self) != (i in self.borrowers):
                raise lent_to_others()
        if self.borrowers:
            lent = [self.seen(queries[i]) for i in self.borrowers]
            check_common([*(self.seen(queries[i]) for i in self.members), *lent], self.where)
            for query in lent:
                check_borrower(query, self)
        self.grid  # noqa: B018 (made here, or refused)

    def _largest(self, lift: TiedLift, extents: Sequence[Array] | None) -> float:
        from gaussmith.numerics.joint.sensitivity import largest

        found = largest(lift, self.body, self._comes_and_goes, extents)
        if self._comes_and_goes == self.neighbours:
            return found
        if lift.last is not None and lift.last[:-1].any():
            return 2.0 * found
        within = TiedLift(lift.groups, lift.own, lift.ties[:, : lift.starts[-1]], None)  # the number stays
        return max(norm_upward(np.array([found, found])), largest(within, self.body, self.neighbours, extents))

    @property
    def _comes_and_goes(self) -> str:
        """The neighbours of the body: in one of several groups people come and go, also where they are replaced."""
        return self.neighbours if self.groups is None else ADD_REMOVE

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

    # -- one group, and all of them ---------------------------------------------------------------------------------

    @property
    def copies(self) -> int:
        return 1 if self.groups is None else self.groups.size

    @property
    def times(self) -> float:
        """What one group is worth, over all groups."""
        return 1.0 if self.groups is None else weight_of(self.groups)

    def seen(self, query: Query) -> Query:  # type: ignore[override]
        return query if self.groups is None else inside(query)

    # -- how good it is ---------------------------------------------------------------------------------------------

    @cached_property
    @single_threaded()
    def total_variance(self) -> float:
        """The weighted total of all answers of all queries, each query's taken by its scale."""
        return total_of(self.lift, self.body) * self.noise_scale**2 * self.times

    @cached_property
    @single_threaded()
    def bounding_law(self) -> WorstCase:
        """The law on people that proves the lower bound."""
        if self.law is not None:
            return replace(self.law, lower=self._everywhere(self.law.lower))
        each = [bound_of_sets(sets, self._comes_and_goes) for sets in self.people_sets]
        best = max(range(len(each)), key=lambda k: each[k].lower)
        told = {WAY: np.array([best], float)} if best else {}
        return replace(each[best], numbers=each[best].numbers | told, lower=self._everywhere(each[best].lower))

    @property
    def is_bound_quick(self) -> bool:
        return self.law is not None or len(self.body.parts) <= MAX_SOUGHT

    def _everywhere(self, lower: float) -> float:
        """The bound of all groups, from that of one; rounded down."""
        return lower if self.groups is None else lower * self.times * (1.0 - 2.0**-40)

    def proven(self, law: WorstCase) -> float:
        """The bound that a law proves at μ = 1, computed apart from the choice of the lift; rounded down."""
        if law.kind != "types":
            raise refused_law()
        (way,) = law.numbers.get(WAY, np.zeros(1))
        check_law(way in range(len(self.people_sets)))
        return self._everywhere(proven_of_sets(self.people_sets[int(way)], self._comes_and_goes, law))

    # -- from sums to answers ---------------------------------------------------------------------------------------

    def cores(self, queries: Sequence[Query], members: Sequence[Sequence[Sequence[int]]]) -> list[list[Sequence[int]]]:
        """The cores of the groups of each part, from those of every member as seen: pooled queries follow each
        other."""
        found: list[list[Sequence[int]]] = [[] for _ in self.body.parts]
        for query, place, groups in zip(queries, self.places, members, strict=True):
            for q, places in parts_by_groups(query, place):
                found[q] += groups if places is None else [groups[i] for i in places]
        return found

    def lifted(self, queries: Sequence[Query], members: Sequence[Sequence[Sequence[int]]], people: int) -> list[int]:
        """The integers to which the noise is added, from the cores of every member and the number of people."""
        return self.grid[0].exact_times(self.cores(queries, members), people)

    def lifted_rows(self, queries: Sequence[Query], members: Sequence[Words], people: Words) -> Words | None:
        each: list[list[Words]] = [[] for _ in self.body.parts]
        for query, place, groups in zip(queries, self.places, members, strict=True):
            for q, places in parts_by_groups(query, place):
                each[q].append(groups if places is None else groups[:, list(places)])
        return self.grid[0].exact_times_rows([np.concatenate(cores, axis=1) for cores in each], people)

    def is_steady(self, members: Sequence[Sequence[Sequence[int]]], people: int) -> bool:
        """Whether the tables of all members can be of the same rows: those of a tie are read apart."""
        return True

    def shapes_of(self, query: Query, place: Place) -> list[Strategy]:
        """The noise in one group of a query: of each weight where its groups weigh differently."""
        if self.groups is not None:
            return [self.shape_of_sum(query, place, (0,))]
        several = [q for q, places in parts_by_groups(query, place) if places is not None]
        each = [tied_shape(query, self.lift, place, self.where, {q: 1}) for q in several]
        return each or [tied_shape(query, self.lift, place, self.where)]

    def shape_of_sum(self, query: Query, place: Place, groups: Sequence[int]) -> Strategy:
        """The noise in several groups of a query added up."""
        if self.groups is not None:
            shape = tied_shape(self.seen(query), self.lift, place, self.where)
            rows = shape.features.dense()
            if query.groups is None:  # every value of a histogram has noise of its own
                deviation = float(np.sqrt((rows * rows).sum()))
                return replace(
                    shape, features=Exchangeable(query.block.domain.dimension, deviation, 0.0), counted=False
                )
            return shape if len(groups) == 1 else replace(shape, features=Dense(rows * math.sqrt(len(groups))))
        chosen, of_parts = set(groups), parts_by_groups(query, place)
        numbers = {q: len(chosen if places is None else chosen.intersection(places)) for q, places in of_parts}
        return tied_shape(query, self.lift, place, self.where, numbers)

    def covariance_of(self, one: Query, other: Query, same_keys: bool, classes: tuple[int, int] = (0, 0)) -> Array:
        """Of the noise in the features of a group of one query with those of another's, or of the same group.

        `classes` says which of their weights the groups have, where they weigh differently.
        """
        same = one is other and same_keys and classes[0] == classes[1]
        if self.groups is None:
            return shared_covariance(self, one, other, same, classes)
        found = shared_covariance(self, self.seen(one), self.seen(other), same)
        return found if same_keys else np.zeros_like(found)

    def root_without(self, queries: Sequence[Query], gone: Sequence[int]) -> float:
        """√T at μ = 1 of the best noise for all members but some."""
        from gaussmith.numerics.joint.ladder import solve
        from gaussmith.numerics.joint.sensitivity import largest

        body = self.body_without(queries, gone)
        total = solve(body, self._comes_and_goes).total if body.parts else body.people_weight
        widened = self._largest(self.lift, None) / largest(self.lift, self.body, self._comes_and_goes)
        return math.sqrt(total * self.times) * widened

    def body_without(self, queries: Sequence[Query], gone: Sequence[int]) -> Body:
        """What one person adds to all members but some."""
        queries = [self.seen(query) for query in queries]
        kept = [j for j in range(len(queries)) if j not in gone]
        found = [(j, parts_of(queries[j], self.where, self.places[j].scale)) for j in kept]
        members, places = placed(found, [place.scale for place in self.places])
        return make_body([queries[j] for j in members], places, self.where)

    def number(self, noisy: Array) -> Array:
        """The noisy number of everybody, from the noisy rows of the lift; of each copy."""
        people = self.lift.undone(noisy)[1]
        return np.zeros(noisy.shape[:-1]) if people is None else people

    def features(self, queries: Sequence[Query], noisy: Array) -> list[Array]:
        """What is read from the noisy rows of the lift, of one copy or of several: for each member, as it is seen,
        groups × features."""
        cores, people = self.lift.undone(noisy)
        copies = noisy.shape[:-1]
        everybody = np.zeros((*copies, 1, 1)) if people is None else people[..., None, None]
        found = []
        for query, place in zip(queries, self.places, strict=True):
            core = np.zeros((*copies, 1, 0)) if place.part is None else cores[place.part]
            for q, places in parts_by_groups(query, place):
                if places is not None:
                    core = np.zeros((*copies, query.size, core.shape[-1])) if q == place.part else core
                    core[..., list(places), :] = cores[q]
            if free_marks(query.block.domain) is not None:
                counts = np.swapaxes(core[..., place.start : place.start + query.block.domain.dimension, :], -1, -2)
                counted = query.block.shape.counted
                found.append(np.concatenate([counts, everybody], axis=-1) if counted else counts)
                continue
            core = core[..., place.start : place.start + query.size, :]
            core = np.concatenate([core, everybody], axis=-1) if counts_everybody(query, self.where) else core
            found.append(core @ feature_rows(query.block.problem).T)
        return found

    def to_dict(self) -> dict[str, Any]:
        """All but what follows from the queries."""
        lent: dict[str, Any] = {"borrowers": list(self.borrowers)} if self.borrowers else {}
        lent |= {} if self.groups is None else {"in_every_group": True}
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


def tie_from_dict(fields: dict[str, Any], queries: Sequence[Query]) -> JointNoise:
    """The tie that `to_dict` described, of these queries of its plan; refuses what does not fit them."""
    expected = {"members", "places", "people", "where", "lift", "guarantee", "neighbours", "how", "law", "apart"}
    if set(fields) - {"borrowers", "in_every_group"} != expected or fields.get("in_every_group", True) is not True:
        raise damaged_plan("a tie that is not understood")
    members = tuple(int(i) for i in fields["members"])
    places = tuple(Place(None if q is None else int(q), int(start), float(s)) for q, start, s in fields["places"])
    if len(set(members)) != len(members) or not all(0 <= i < len(queries) for i in members):
        raise damaged_plan("a tie of queries that are not there")
    own = [queries[i] for i in members]
    return JointNoise.of(
        own,
        groups=one_choice(own) if "in_every_group" in fields else None,
        members=members,
        places=places,
        people=None if fields["people"] is None else int(fields["people"]),
        where=None if fields["where"] is None else str(fields["where"]),
        lift=TiedLift.from_dict(fields["lift"]),
        guarantee=Guarantee.from_dict(fields["guarantee"]),
        neighbours=check(fields["neighbours"]),
        how=str(fields["how"]),
        law=None if fields["law"] is None else WorstCase.from_dict(fields["law"]),
        apart=float(fields["apart"]),
        borrowers=tuple(int(i) for i in fields.get("borrowers", ())),
    )


def _inside(queries: Sequence[Query], groups: Groups) -> list[Query]:
    """The queries in one of these groups; refuses queries by others."""
    if one_choice(queries).labels != groups.labels:
        raise damaged_plan("one noise in every group for queries that are not by the same groups")
    return [inside(query) for query in queries]


def lent_to_others() -> PlanError:
    """The reason for refusing queries that take a number from a noise which does not say so."""
    return damaged_plan("a noise that lends its number to other queries")


MAX_SOUGHT = 16
"""Limit on the parts for which a law is searched to print how good the noise is; 32 took five times the planning."""

MAX_LAW = 20_000
"""Limit on the numbers of a law that a plan keeps; a longer one is found again when it is asked for."""


def bound_by(body: Body, neighbours: str, types: TypesLaw) -> WorstCase:
    """A law on types as a plan and a certificate write it, with the bound that it proves."""
    from gaussmith.domains.joint_law import lower_bound

    return WorstCase("types", lower_bound(body, neighbours, types), types_numbers(types))


def types_numbers(types: TypesLaw, head: str = "") -> dict[str, Array]:
    """The numbers of a law on types, by name."""
    numbers = {f"{head}weights": types.weights}
    for q, (corners, counts, picks) in enumerate(zip(types.corners, types.counts, types.picks, strict=True)):
        numbers |= {f"{head}corners {q}": corners, f"{head}counts {q}": counts, f"{head}picks {q}": picks}
    return numbers


def bound_of(body: Body, neighbours: str) -> WorstCase:
    """A law on the people of a body, found apart from any noise, with the bound that it proves."""
    return bound_by(body, neighbours, law_for(body, neighbours))


WAY = "way"
"""The number of a law that says in which way queries are divided into sets; without it in the first."""


def bound_of_sets(sets: Sequence[JointPeople], neighbours: str) -> WorstCase:
    """Laws on people who can exist, one for each set of queries, with the bound that they prove together."""
    numbers: dict[str, Array] = {}
    for k, each in enumerate(sets):
        numbers |= types_numbers(each.law(neighbours), _head(sets, k))
    law = WorstCase("types", 0.0, numbers)
    return replace(law, lower=proven_of_sets(sets, neighbours, law))


def proven_of_sets(sets: Sequence[JointPeople], neighbours: str, law: WorstCase) -> float:
    """What laws on sets of queries prove together: bounds of queries that are divided add up; rounded down."""
    laws = [types_of(law, len(each.body.parts), _head(sets, k)) for k, each in enumerate(sets)]
    each = [people.proven(types, neighbours) for people, types in zip(sets, laws, strict=True)]
    return each[0] if len(each) == 1 else math.fsum(each) * (1.0 - 2.0**-52)


def _head(sets: Sequence[JointPeople], k: int) -> str:
    """What the names of the numbers of a set's law begin with, where there are several."""
    return f"set {k} " if len(sets) > 1 else ""


def law_for(body: Body, neighbours: str) -> TypesLaw:
    """A law on the people of a body, found apart from any noise.

    With many columns it is searched for less long: the bound is then a hundredth below the best, or less.
    """
    from gaussmith.domains.joint_bounds import find_law

    columns = max((part.columns for part in body.parts), default=0)
    gap = 1e-3 if columns <= 8 else 3e-3 if columns <= 16 else 1e-2
    return find_law(body, neighbours, gap)


def kept_law(body: Body, neighbours: str, types: TypesLaw | None) -> WorstCase | None:
    """The law that comes with a lift, where it is short enough to be kept."""
    if types is None or sum(each.size for each in (*types.corners, *types.counts, *types.picks)) > MAX_LAW:
        return None
    return bound_by(body, neighbours, types)


def types_of(law: WorstCase, parts: int, head: str = "") -> TypesLaw:
    """The law on types that `types_numbers` wrote."""
    from gaussmith.numerics.joint.law import TypesLaw

    corners, counts, picks = (
        tuple(law.numbers[f"{head}{name} {q}"] for q in range(parts)) for name in ("corners", "counts", "picks")
    )
    return TypesLaw(corners, counts, picks, law.numbers[f"{head}weights"])

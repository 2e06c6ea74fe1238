"""Which queries of a plan share one noise: all that can, where that is better than noise of their own.

Every query is planned by itself first, with the whole guarantee. T being its total, noise of its own for each costs at
best (Σ √T)², with a share of μ² in proportion to √T. One noise for several replaces their terms by √T of the tie; the
tie and the remaining queries split μ² in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from gaussmith.domains.domain import Problem, free_marks, rows_coordinate
from gaussmith.domains.groups import Groups
from gaussmith.errors import PlanError
from gaussmith.expressions.formulas import common_filter
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.joint.parts import Body, JointPart
from gaussmith.planning.block import Block
from gaussmith.planning.joint_people import Place, counts_everybody, make_body, parts_of, placed
from gaussmith.planning.lending import Lending, around_centre, find_borrowers, find_centres, lent_by
from gaussmith.planning.one_group import by_one_key, counted_in_groups, inside, one_choice, weight_of
from gaussmith.planning.query import UNTOLD, AnyTie, Query, tied
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.asking import ask

if TYPE_CHECKING:
    from gaussmith.numerics.joint.ladder import Solution
    from gaussmith.planning.crossed_noise import Crossing
    from gaussmith.planning.joint_noise import JointNoise
    from gaussmith.planning.plan import Plan


WORTHWHILE = 1e-3
"""Groups of one question are tied where that saves more than this share of the total: their errors are correlated."""


@dataclass(frozen=True, eq=False)
class Questions:
    """Queries that are planned under one guarantee.

    alone:      the queries, each planned with the whole guarantee
    scales:     what the squared errors of each are worth beside those of the others
    plan_alone: makes query i with noise of its own, at its share of the guarantee
    everybody:  the row rule of all people that the queries are about
    whole:      whether they are all that is asked; else they are about one group, and repeated in every group
    """

    alone: Sequence[Query]
    scales: Sequence[float]
    plan_alone: Callable[[int, Guarantee], Query]
    everybody: RowRule
    guarantee: Guarantee
    neighbours: str
    whole: bool = True

    def queries(self) -> list[Query]:
        """The queries in their order, tied where that is better; those that only count the people of a tie come
        last."""
        sets = by_one_key(self.alone) if self.whole else []
        repeated = [each for each in map(self._repeated, sets) if each is not None]
        every = bool(repeated) and len(repeated[0].members) == len(self.alone)
        if every and self.neighbours == ADD_REMOVE:  # there is no better noise
            return self._shared(repeated[:1], self._roots)
        found = self._joined_best([])
        if not repeated:
            return found
        other = self._joined_best(repeated)
        return other if total_of(other) < total_of(found) else found

    @cached_property
    def _roots(self) -> list[float]:
        """√T of each query with noise of its own, at μ = 1."""
        mu = self.guarantee.mu
        return [math.sqrt(s * query.total_variance) * mu for query, s in zip(self.alone, self.scales, strict=True)]

    def _joined_best(self, repeated: Sequence[_Repeated]) -> list[Query]:
        """The queries, tied where that is better; some by the same groups as one group that is repeated."""
        roots = self._roots
        ties = self._best(roots, repeated)
        try:
            lending = self._lending(ties, roots)
            if lending is not None:
                return self._shared(*lending)
        except PlanError:  # doubles cannot hold a shape around a centre
            pass
        try:
            return self._shared(ties, roots)
        except PlanError:  # doubles cannot hold the lift of all together
            if not ties:
                raise
            return self._shared([], roots)

    def _lending(
        self, ties: Sequence[AnyJoined], roots: Sequence[float]
    ) -> tuple[list[AnyJoined], list[float], Lending] | None:
        """Ties, roots and centres where queries borrow the number of everybody from a tie; None where none should."""
        held = {i for each in ties for i in each.members}
        own = [i for i in range(len(roots)) if i not in held and not self.alone[i].is_public]
        where = self.everybody.where
        borrowers = find_borrowers([(i, self.alone[i], self.scales[i]) for i in own], where)
        if not borrowers or len(roots) == 1 or self.neighbours != ADD_REMOVE:
            return None
        lender = next((each for each in ties if isinstance(each, _Joined)), None)
        if lender is None:
            members, places = placed(self._found(held), self.scales)
            body = make_body([self.alone[i] for i in members], places, where)
            lender = _Joined(members, places, body, None)
        if len(borrowers) == 1 and lender.is_silent:
            return None
        solved: dict[float, Solution] = {}

        def others(worth: float) -> tuple[float, float]:
            solved[worth] = found = lender.solved(worth)
            return found.total, found.lift.people_variance

        lending = find_centres(borrowers, others)
        found = solved[lending.worth]
        now = replace(lender, solution=found)
        total = found.total + (lending.energy - lending.worth) * found.lift.people_variance
        changed, gone = list(roots), [each.place for each in borrowers]
        for i, root in zip(gone, lending.roots, strict=True):
            changed[i] = root
        now = replace(now, total=total)
        rest = [each for each in ties if each is not lender]
        before = sum(each.root for each in ties) + sum(roots[i] for i in own)
        after = now.root + sum(each.root for each in rest) + sum(changed[i] for i in own if i not in now.members)
        return ([now, *rest], changed, lending) if after**2 < before**2 * (1.0 - WORTHWHILE) else None

    def _best(self, roots: Sequence[float], repeated: Sequence[_Repeated]) -> list[AnyJoined]:
        """The noises that several queries share; those by the same groups, and tables of the same keys, by themselves
        where that is better."""

        def cost(ties: Sequence[AnyJoined]) -> float:
            own = (root for i, root in enumerate(roots) if not any(i in each.members for each in ties))
            return sum(each.root for each in ties) + sum(own)

        def beside(crossings: Sequence[Crossing | _Repeated]) -> list[AnyJoined]:
            taken = {i for each in crossings for i in each.members}
            return [*crossings, *(each for each in self._joined(taken) if each.is_better(roots))]

        chosen: list[Crossing | _Repeated] = [*repeated]
        best = beside(chosen)
        if len(roots) < 2 or not self.whole:
            return best
        from gaussmith.planning.crossed_noise import find_crossings

        for alternatives in find_crossings(self.alone, self.scales, self.neighbours):
            before = chosen
            taken = {i for each in chosen for i in each.members}
            for each in alternatives:
                if not taken.isdisjoint(each.members):
                    continue
                trial = beside([*before, each])
                if cost(trial) < cost(best) * (1.0 - 1e-9):
                    chosen, best = [*before, each], trial
        return best

    def _shared(self, ties: Sequence[AnyJoined], roots: Sequence[float], lending: Lending | None = None) -> list[Query]:
        """The queries at their shares of the guarantee, some of them tied, some around centres that borrow from a
        tie."""
        own = [i for i in range(len(roots)) if not any(i in each.members for each in ties)]
        own = [i for i in own if not self.alone[i].is_public]
        noises = [*(each.root for each in ties), *(roots[i] for i in own)]
        shares = self.guarantee.split(noises) if len(noises) > 1 else (self.guarantee,) * len(noises)
        queries = list(self.alone)
        centred = {} if lending is None else lending.by_place
        for i, share in zip(own, shares[len(ties) :], strict=True):
            if i in centred:
                queries[i] = around_centre(self.alone[i], centred[i], share, self.scales[i])
                continue
            query = self.alone[i] if share is self.guarantee else self.plan_alone(i, share)
            queries[i] = replace(query, scale=self.scales[i])
        for k, (each, share) in enumerate(zip(ties, shares, strict=False)):
            each.tie(self, queries, share, each.apart(roots), *([tuple(centred)] if centred and k == 0 else []))
        return queries

    def _repeated(self, members: tuple[int, ...]) -> _Repeated | None:
        """The plan for one group of queries by the same groups; None where doubles cannot hold it."""
        groups = one_choice([self.alone[i] for i in members])
        alone = [inside(self.alone[i]) for i in members]
        rules = [query.row_rule for query in alone if query.row_rule is not None]

        def plan_alone(k: int, share: Guarantee) -> Query:
            return inside(self.plan_alone(members[k], share))

        questions = Questions(
            alone,
            [self.scales[i] for i in members],
            plan_alone,
            everybody_of(rules, self.everybody.where, ADD_REMOVE),
            self.guarantee,
            ADD_REMOVE,
            whole=False,
        )
        try:
            found = questions.queries()
            total = total_of(found) * weight_of(groups) * self.guarantee.mu**2
            if self.neighbours != ADD_REMOVE:
                tie = cast("JointNoise | None", found[0].tie)
                if tie is None or tie.borrowers or any(query.tie is not tie for query in found):
                    return None
                total = replace(tie, groups=groups, neighbours=self.neighbours).total_variance * self.guarantee.mu**2
            require_finite(total)
        except PlanError:
            return None
        return _Repeated(members, groups, questions, tuple(found), math.sqrt(total))

    def _joined(self, taken: Container[int]) -> list[_Joined]:
        """The other queries that can share a noise, and the best noise found for them; under replace-one each by
        itself.

        There one person's differences in several questions are independent, and of either sign: noise of their own is
        as good as any (docs/theory.md).
        """
        found = self._found(taken)
        if self.neighbours == ADD_REMOVE:
            several = len(found) > 1 and any(parts for _, parts in found)
            # Groups that exclude each other are at their optimum with noise of their own.
            bundles = [found] if several or any(self.alone[i].held > 1 for i, _ in found) else []
        else:
            bundles = [[(i, parts)] for i, parts in found if parts and self.alone[i].hides_membership]
        solved = map(self._solved, bundles)
        return [each for each in solved if each is not None]

    def _found(self, taken: Container[int]) -> list[tuple[int, tuple[JointPart, ...]]]:
        """What a person adds to each of the other queries that can share a noise."""
        found: list[tuple[int, tuple[JointPart, ...]]] = []
        for i, (query, scale) in enumerate(zip(self.alone, self.scales, strict=True)):
            if i in taken:
                continue
            try:
                found.append((i, parts_of(query, self.everybody.where, scale)))
            except PlanError:
                continue
        return found

    def _solved(self, found: Sequence[tuple[int, tuple[JointPart, ...]]]) -> _Joined | None:
        """The best noise found for some queries; None where doubles cannot hold it."""
        from gaussmith.numerics.joint.ladder import solve

        members, places = placed(found, self.scales)
        try:
            with within_doubles():
                body = make_body([self.alone[i] for i in members], places, self.everybody.where)
                solution = solve(body, self.neighbours)
                require_finite(solution.total)
                if not solution.total > 0:
                    return None
        except (PlanError, ValueError):
            return None
        return _Joined(members, places, body, solution)

    def tie(
        self, queries: list[Query], joined: _Joined, share: Guarantee, apart: float, borrowers: tuple[int, ...] = ()
    ) -> None:
        """Join some queries of a list; one more that counts their people is added where they need it.

        `borrowers` are the places of those that take the number of everybody from the tie.
        """
        from gaussmith.planning.joint_noise import JointNoise, kept_law

        members, places, found = joined.members, joined.places, joined.solution
        assert found is not None
        where, people = self.everybody.where, None
        if found.lift.counted:
            people = next((k for k, i in enumerate(members) if counts_everybody(queries[i], where)), None)
            if people is None:
                queries.append(_count_people(self.everybody, self.guarantee))
                people = len(members)
                members, places = (*members, len(queries) - 1), (*places, Place(None, 0, 1.0))
        with within_doubles():
            law = kept_law(joined.body, self.neighbours, found.law)
        tie = JointNoise.of(
            [queries[i] for i in members],
            members=members,
            places=places,
            people=people,
            where=where,
            lift=found.lift,
            guarantee=share,
            neighbours=self.neighbours,
            how=found.how,
            law=law,
            apart=apart**2 / share.mu**2,
            borrowers=borrowers,
        )
        with within_doubles():
            for i, place in zip(members, places, strict=True):
                queries[i] = tied(queries[i], tie, place)
                require_finite(queries[i].block.standard_errors, queries[i].total_variance)
        for i in borrowers:
            queries[i] = lent_by(queries[i], tie)


@dataclass(frozen=True, eq=False)
class _Joined:
    """Queries that can share a noise: which, where they are in the body, and the noise that was found.

    `total` stands for that of the noise where others take the number of everybody from it.
    """

    members: tuple[int, ...]
    places: tuple[Place, ...]
    body: Body
    solution: Solution | None
    total: float | None = None

    @property
    def root(self) -> float:
        """√T of the noise, at μ = 1."""
        assert self.solution is not None
        return math.sqrt(self.solution.total if self.total is None else self.total)

    @property
    def is_silent(self) -> bool:
        """Whether nothing is asked of it."""
        return not self.body.parts and not self.body.people_weight

    def solved(self, worth: float) -> Solution:
        """The best noise where the number of everybody is worth so much more."""
        from gaussmith.numerics.joint.ladder import solve

        with within_doubles():
            found = solve(replace(self.body, people_weight=self.body.people_weight + worth), ADD_REMOVE)
            require_finite(found.total, found.lift.people_variance)
        return found

    def apart(self, roots: Sequence[float]) -> float:
        """Σ √T with noise of its own for each."""
        return sum(roots[i] for i in self.members)

    def tie(
        self,
        questions: Questions,
        queries: list[Query],
        share: Guarantee,
        apart: float,
        borrowers: tuple[int, ...] = (),
    ) -> None:
        """Join the queries in a list of all."""
        questions.tie(queries, self, share, apart, borrowers)

    def is_better(self, roots: Sequence[float]) -> bool:
        """Whether the queries are tied: groups where that saves something, questions unless that costs something."""
        save = WORTHWHILE if len(self.members) == 1 else -1e-9
        return self.root**2 < self.apart(roots) ** 2 * (1.0 - save)


@dataclass(frozen=True, eq=False)
class _Repeated:
    """Queries by the same groups, planned as one group that is repeated: its noises, at the guarantee of all.

    `root` is √T over all groups, at μ = 1.
    """

    members: tuple[int, ...]
    groups: Groups
    questions: Questions
    found: tuple[Query, ...]
    root: float

    def apart(self, roots: Sequence[float]) -> float:
        """Σ √T with noise of its own for each."""
        return sum(roots[i] for i in self.members)

    def tie(self, questions: Questions, queries: list[Query], share: Guarantee, apart: float) -> None:
        """Put the noises of one group, at this share, into a list of all queries; each is drawn anew in every group."""
        own = self.questions
        found = self.found
        if share != own.guarantee:
            alone = [own.plan_alone(k, share) for k in range(len(self.members))]
            found = tuple(replace(own, alone=alone, guarantee=share).queries())
        places = list(self.members)
        like = next(queries[i] for i in places if queries[i].groups is not None)
        for each in found[len(places) :]:
            places.append(len(queries))
            queries.append(counted_in_groups(each, like))
        for i, each in zip(places, found, strict=True):
            outer = queries[i]
            if each.tie is None and outer.groups is None:
                queries[i] = replace(questions.plan_alone(i, each.guarantee), scale=each.scale)
            elif each.tie is None:
                queries[i] = replace(outer, block=each.block, guarantee=each.guarantee, scale=each.scale)
        for tie in {id(each.tie): each.tie for each in found if each.tie is not None}.values():
            own_tie = cast("JointNoise", tie)
            moved = replace(
                own_tie,
                members=tuple(places[k] for k in own_tie.members),
                borrowers=tuple(places[k] for k in own_tie.borrowers),
                groups=self.groups,
                neighbours=questions.neighbours,
                apart=tie.apart * weight_of(self.groups),
            )
            for i, place in zip(moved.members, moved.places, strict=True):
                queries[i] = tied(queries[i], moved, place)
            for i in moved.borrowers:
                queries[i] = replace(queries[i], block=replace(queries[i].block, lender=moved))


AnyJoined: TypeAlias = "_Joined | Crossing | _Repeated"


def total_of(queries: Sequence[Query]) -> float:
    """The weighted total of the noises of some queries, each once."""
    ties = {id(query.tie): query.tie for query in queries if query.tie is not None}
    own = (query.scale * query.total_variance for query in queries if query.tie is None)
    return sum(tie.total_variance for tie in ties.values()) + sum(own)


def scale_of(query: Query) -> float:
    """What the squared errors of a query are worth beside others: relative to what one person can change, on average.

    Weights that were given say how the answers of one question compare with each other, not with other questions.
    """
    return scales_of([query, query], [{0}, {1}])[0]


def scales_of(queries: Sequence[Query], asking: Sequence[set[int]]) -> list[float]:
    """The same for queries of several questions: `asking` has the questions of each, which have one scale each."""
    if len(queries) == 1:
        return [1.0]
    families: list[tuple[set[int], set[int]]] = []  # questions that have a query in common, and their queries
    for i, questions in enumerate(asking):
        joined = [family for family in families if family[0] & questions]
        families = [family for family in families if not family[0] & questions]
        some = set.union(questions, *(asked for asked, _ in joined)), set.union({i}, *(held for _, held in joined))
        families.append(some)
    found = [1.0] * len(queries)
    for _, members in families:
        widths = [width for i in members for width in _relative_weights(queries[i])]
        for i in members:
            by_rule = (
                queries[i].block.answers.weighting == "relative" or free_marks(queries[i].block.domain) is not None
            )
            found[i] = 1.0 if by_rule or not widths else float(1.0 / np.mean(widths))
    return found


def _relative_weights(query: Query) -> list[float]:
    """How much the squared error of each answer matters relative to what one person can change in it."""
    features, domain = query.block.problem.features, query.block.domain
    if features.is_linear or not features.size or free_marks(domain) is not None:
        return []
    asked = features.index != rows_coordinate(domain)
    ranges = domain.ranges[features.index[asked]]
    return list(map(float, features.weights[asked] * ranges * ranges))


def everybody_of(rules: Sequence[RowRule], where: str | None, neighbours: str) -> RowRule:
    """The row rule of all people that some queries are about: those that pass the filter of all, else `where`.

    Under replace-one it is everybody in the table: only their number is public.
    """
    columns = [dict(rule.columns) for rule in rules]
    filters = {rule.where for rule in rules}
    if neighbours != ADD_REMOVE:
        where = None
    elif len(filters) == 1:
        (own,) = filters
        if common_filter(own, own, columns):
            where = own
    if not all(common_filter(where, rule.where, columns) for rule in rules):  # its columns are derived in several ways
        where = None
    shared = {name: text for name, text in columns[0].items() if all(each.get(name) == text for each in columns)}
    return RowRule((), rules[0].unit, columns=tuple(shared.items()), where=where)


def placed_again(queries: Sequence[Query], people: Sequence[Query]) -> list[Query]:
    """Queries that were tied each by itself in one list, those that count people for them last."""
    from gaussmith.planning.joint_noise import JointNoise

    found = [*queries, *people]
    for tie in {id(query.tie): query.tie for query in found if query.tie is not None}.values():
        members = tuple(i for i, query in enumerate(found) if query.tie is tie)
        if isinstance(tie, JointNoise):
            borrowers = tuple(i for i, query in enumerate(found) if query.block.lender is tie)
            moved: AnyTie = replace(tie, members=members, borrowers=borrowers)
        else:
            moved, borrowers = replace(tie, members=members), ()
        for i, place in zip(members, tie.places, strict=True):
            found[i] = tied(found[i], moved, place)
        for i in borrowers:
            assert isinstance(moved, JointNoise)
            found[i] = replace(found[i], block=replace(found[i].block, lender=moved))
    return found


def _count_people(rule: RowRule, guarantee: Guarantee) -> Query:
    """The query that counts people for the others; no question asks for their number."""
    from gaussmith.domains.box import Records

    domain = Records()
    silent = Answers.of(ask(domain, count=True).features, [], "equal")
    block = Block(Problem(domain, silent.features, ADD_REMOVE), silent, guarantee, UNTOLD, domain.centre)
    return Query(block, guarantee, ADD_REMOVE, row_rule=rule)


# What questions cost each other, and how errors that are stated beforehand are kept.

MAX_ROUNDS = 60
"""Limit on the rounds in which the worth of questions is found that keeps their errors."""

CLOSE = 1e-3
"""How close to its limit the error of a question has to come that is limited."""


def question_shares(plan: Plan) -> dict[str, float]:
    """Each question's share of μ²: that of every noise its answers come from."""
    found = {}
    for slot in plan.slots:
        if slot.name in plan.questions:
            queries = [plan.queries[i] for i in slot.queries]
            shares = {id(query.tie or query): query.share_of(plan.guarantee) for query in queries}
            lenders = [query.block.lender for query in queries if query.block.lender is not None]
            shares |= {id(tie): (tie.guarantee.mu / plan.guarantee.mu) ** 2 for tie in lenders}
            found[slot.name] = sum(shares.values())
    return found


def question_costs(plan: Plan) -> dict[str, float]:
    """By how much larger the total squared error of all other questions is because a question is asked, as a factor.

    Questions of the same queries are counted together. Without the others a question costs nobody anything: 1.
    """
    found: dict[tuple[int, ...], float] = {}
    for slot in plan.slots:
        if slot.queries not in found:
            found[slot.queries] = _cost(plan, slot.queries)
    return {slot.name: found[slot.queries] for slot in plan.slots}


def _cost(plan: Plan, asked: Sequence[int]) -> float:
    """The others' total beside some queries, over what it would be without them."""
    if plan.guarantee.is_pure:
        from gaussmith.planning.pure_noise import cost_of_others

        return cost_of_others(plan.pure_noises, asked, plan.guarantee)
    some = [plan.queries[i] for i in asked]
    lenders = {id(query.block.lender) for query in plan.queries if query.block.lender is not None}
    touched = [tie for tie in plan.ties if any(query.tie is tie for query in some) or id(tie) in lenders]
    lent = [query for query in plan.queries if query.block.lender is not None]
    taken = [*lent, *(query for query in some if query.tie is None), *touched]
    others = [each for each in plan.noises if not any(each is one for one in taken)]
    roots = [math.sqrt(each.scale * each.price) * each.guarantee.mu for each in others]
    own = sum((query.scale if query.place is None else query.place.scale) * query.price for query in some)
    for tie in touched:
        gone = [k for k, i in enumerate(tie.members) if i in asked]
        queries = [plan.queries[k] for k in tie.members]
        roots.append(_lent_without(plan, tie, queries, gone, asked) if tie.lent_to else tie.root_without(queries, gone))
    without = (sum(roots) / plan.guarantee.mu) ** 2
    return (plan.price - own) / without if without else 1.0


def _lent_without(
    plan: Plan, tie: AnyTie, queries: Sequence[Query], gone: Sequence[int], asked: Sequence[int]
) -> float:
    """Σ √T at μ = 1 of a tie and of those that borrow from it, without some of either."""
    from gaussmith.planning.joint_noise import JointNoise

    assert isinstance(tie, JointNoise)
    left = [(i, tie.seen(plan.queries[i]), plan.queries[i].scale) for i in tie.lent_to if i not in asked]
    borrowers, body = find_borrowers(left, tie.where), tie.body_without(queries, gone)
    if not borrowers or (len(borrowers) == 1 and not body.parts and not body.people_weight):
        alone = sum(math.sqrt(scale * query.block.bounding_law.lower) for _, query, scale in left)
        return tie.root_without(queries, gone) + alone * math.sqrt(tie.times)

    def others(worth: float) -> tuple[float, float]:
        from gaussmith.numerics.joint.ladder import solve

        found = solve(replace(body, people_weight=body.people_weight + worth), plan.neighbours)
        return found.total, found.lift.people_variance

    lending = find_centres(borrowers, others)
    total, variance = others(lending.worth)
    root = math.sqrt(total + (lending.energy - lending.worth) * variance) + sum(lending.roots)
    return root * math.sqrt(tie.times)


def queries_within(questions: Questions, limits: Sequence[float | None]) -> list[Query]:
    """The queries in which no sum, count or cell of a limited question has a larger standard error than its limit.

    A question that would exceed its limit is worth more until it just keeps it (a Lagrange multiplier), and those that
    keep it anyway are left alone; so the total of all others is as small as it can be.
    """
    for i, limit in enumerate(limits):
        least = 0.0 if limit is None else _largest_error(_only(questions, i))
        if limit is not None and least > limit:
            raise PlanError(
                f"error_at_most={limit:g}",
                f"with the whole guarantee and nothing else asked it would be {least:.4g}",
                "allow a larger error, or use a larger ε",
                code="error-limit-out-of-reach",
            )
    scales = list(questions.scales)
    for _ in range(MAX_ROUNDS):
        queries = replace(questions, scales=scales).queries()
        settled = True
        for i, limit in enumerate(limits):
            if limit is None:
                continue
            excess = _largest_error(queries[i]) / limit
            least = questions.scales[i]
            settled = settled and (1 - CLOSE <= excess <= 1 or (excess < 1 and scales[i] <= least))
            # Errors go down as the fourth root of the worth where a question has little of the guarantee.
            aim = excess / (1 - CLOSE / 2)
            scales[i] = max(least, scales[i] * aim**4)
        if settled:
            return queries
    reached = max(
        _largest_error(query) / limit for query, limit in zip(queries, limits, strict=False) if limit is not None
    )
    raise PlanError(
        "error_at_most of several questions",
        f"together they cannot be kept: some error would be {reached:.3g} times its limit",
        "allow larger errors, or use a larger ε",
        code="error-limits-out-of-reach",
    )


def _only(questions: Questions, i: int) -> Query:
    """The query of one question, if nothing else were asked."""

    def plan_alone(_: int, share: Guarantee) -> Query:
        return questions.plan_alone(i, share)

    return replace(questions, alone=[questions.alone[i]], scales=[1.0], plan_alone=plan_alone).queries()[0]


def _largest_error(query: Query) -> float:
    """Of the sums, counts and cells of a query: the largest standard error."""
    return float(np.max([block.standard_errors[~block.answers.divided] for block in query.blocks]))

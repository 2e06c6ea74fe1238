"""Which draws of a plan share one noise: all that can, where that is better than noise of their own.

Every draw is planned by itself first, with the whole guarantee. T being its total, noise of its own for each costs at
best (Σ √T)², with a share of μ² in proportion to √T. One noise for several replaces their terms by √T of the tie; the
tie and the remaining draws split μ² in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.expressions import common_filter
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.tied.parts import Body, Part
from gaussmith.plans.block import Block
from gaussmith.plans.crossing import Crossing, find_crossings
from gaussmith.plans.draw import UNTOLD, AnyTie, Draw, tied
from gaussmith.plans.lending import Lending, around_centre, find_borrowers, find_centres, lent_by
from gaussmith.plans.row_rule import RowRule
from gaussmith.plans.tied_people import Place, counts_everybody, make_body, parts_of, placed
from gaussmith.problem import Problem
from gaussmith.statistics import Answers
from gaussmith.statistics.asking import ask
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.numerics.tied.ladder import Solution

WORTHWHILE = 1e-3
"""Groups of one question are tied where that saves more than this share of the total: their errors are correlated."""


@dataclass(frozen=True, eq=False)
class Questions:
    """Draws that are planned under one guarantee.

    alone:      the draws, each planned with the whole guarantee
    scales:     what the squared errors of each are worth beside those of the others
    plan_alone: makes draw i with noise of its own, at its share of the guarantee
    everybody:  the row rule of all people that the draws are about
    """

    alone: Sequence[Draw]
    scales: Sequence[float]
    plan_alone: Callable[[int, Guarantee], Draw]
    everybody: RowRule
    guarantee: Guarantee
    neighbours: str

    def draws(self) -> list[Draw]:
        """The draws in their order, tied where that is better; those that only count the people of a tie come last."""
        mu = self.guarantee.mu
        roots = [math.sqrt(s * draw.total_variance) * mu for draw, s in zip(self.alone, self.scales, strict=True)]
        ties = self._best(roots)
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
        self, ties: Sequence[_Joined | Crossing], roots: Sequence[float]
    ) -> tuple[list[_Joined | Crossing], list[float], Lending] | None:
        """Ties, roots and centres where draws borrow the number of everybody from a tie; None where none should."""
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

    def _best(self, roots: Sequence[float]) -> list[_Joined | Crossing]:
        """The noises that several draws share: tables of the same keys by themselves where that is better."""

        def cost(ties: Sequence[_Joined | Crossing]) -> float:
            own = (root for i, root in enumerate(roots) if not any(i in each.members for each in ties))
            return sum(each.root for each in ties) + sum(own)

        def beside(crossings: Sequence[Crossing]) -> list[_Joined | Crossing]:
            taken = {i for each in crossings for i in each.members}
            return [*crossings, *(each for each in self._joined(taken) if each.is_better(roots))]

        chosen: list[Crossing] = []
        best = beside(chosen)
        for alternatives in find_crossings(self.alone, self.scales, self.neighbours):
            before = chosen
            for each in alternatives:
                trial = beside([*before, each])
                if cost(trial) < cost(best) * (1.0 - 1e-9):
                    chosen, best = [*before, each], trial
        return best

    def _shared(
        self, ties: Sequence[_Joined | Crossing], roots: Sequence[float], lending: Lending | None = None
    ) -> list[Draw]:
        """The draws at their shares of the guarantee, some of them tied, some around centres that borrow from a tie."""
        own = [i for i in range(len(roots)) if not any(i in each.members for each in ties)]
        own = [i for i in own if not self.alone[i].is_public]
        noises = [*(each.root for each in ties), *(roots[i] for i in own)]
        shares = self.guarantee.split(noises) if len(noises) > 1 else (self.guarantee,) * len(noises)
        draws = list(self.alone)
        centred = {} if lending is None else lending.by_place
        for i, share in zip(own, shares[len(ties) :], strict=True):
            if i in centred:
                draws[i] = around_centre(self.alone[i], centred[i], share, self.scales[i])
                continue
            draw = self.alone[i] if share is self.guarantee else self.plan_alone(i, share)
            draws[i] = replace(draw, scale=self.scales[i])
        for k, (each, share) in enumerate(zip(ties, shares, strict=False)):
            each.tie(self, draws, share, each.apart(roots), *([tuple(centred)] if centred and k == 0 else []))
        return draws

    def _joined(self, taken: Container[int]) -> list[_Joined]:
        """The other draws that can share a noise, and the best noise found for them; under replace-one each by itself.

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

    def _found(self, taken: Container[int]) -> list[tuple[int, tuple[Part, ...]]]:
        """What a person adds to each of the other draws that can share a noise."""
        found: list[tuple[int, tuple[Part, ...]]] = []
        for i, (draw, scale) in enumerate(zip(self.alone, self.scales, strict=True)):
            if i in taken:
                continue
            try:
                found.append((i, parts_of(draw, self.everybody.where, scale)))
            except PlanError:
                continue
        return found

    def _solved(self, found: Sequence[tuple[int, tuple[Part, ...]]]) -> _Joined | None:
        """The best noise found for some draws; None where doubles cannot hold it."""
        from gaussmith.numerics.tied.ladder import solve

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
        self, draws: list[Draw], joined: _Joined, share: Guarantee, apart: float, borrowers: tuple[int, ...] = ()
    ) -> None:
        """Tie some draws of a list; one more that counts their people is added where they need it.

        `borrowers` are the places of those that take the number of everybody from the tie.
        """
        from gaussmith.plans.tie import Tie, kept_law

        members, places, found = joined.members, joined.places, joined.solution
        assert found is not None
        where, people = self.everybody.where, None
        if found.lift.counted:
            people = next((k for k, i in enumerate(members) if counts_everybody(draws[i], where)), None)
            if people is None:
                draws.append(_count_people(self.everybody, self.guarantee))
                people = len(members)
                members, places = (*members, len(draws) - 1), (*places, Place(None, 0, 1.0))
        with within_doubles():
            law = kept_law(joined.body, self.neighbours, found.law)
        tie = Tie.of(
            [draws[i] for i in members],
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
                draws[i] = tied(draws[i], tie, place)
                require_finite(draws[i].block.standard_errors, draws[i].total_variance)
        for i in borrowers:
            draws[i] = lent_by(draws[i], tie)


@dataclass(frozen=True, eq=False)
class _Joined:
    """Draws that can share a noise: which, where they are in the body, and the noise that was found.

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
        from gaussmith.numerics.tied.ladder import solve

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
        draws: list[Draw],
        share: Guarantee,
        apart: float,
        borrowers: tuple[int, ...] = (),
    ) -> None:
        """Tie the draws in a list of all."""
        questions.tie(draws, self, share, apart, borrowers)

    def is_better(self, roots: Sequence[float]) -> bool:
        """Whether the draws are tied: groups where that saves something, questions unless that costs something."""
        save = WORTHWHILE if len(self.members) == 1 else -1e-9
        return self.root**2 < self.apart(roots) ** 2 * (1.0 - save)


def scale_of(draw: Draw) -> float:
    """What the squared errors of a draw are worth beside others: relative to what one person can change, on average.

    Weights that were given say how the answers of one question compare with each other, not with other questions.
    """
    return scales_of([draw, draw], [{0}, {1}])[0]


def scales_of(draws: Sequence[Draw], asking: Sequence[set[int]]) -> list[float]:
    """The same for draws of several questions: `asking` has the questions of each, which have one scale each."""
    if len(draws) == 1:
        return [1.0]
    families: list[tuple[set[int], set[int]]] = []  # questions that have a draw in common, and their draws
    for i, questions in enumerate(asking):
        joined = [family for family in families if family[0] & questions]
        families = [family for family in families if not family[0] & questions]
        some = set.union(questions, *(asked for asked, _ in joined)), set.union({i}, *(held for _, held in joined))
        families.append(some)
    found = [1.0] * len(draws)
    for _, members in families:
        widths = [width for i in members for width in _relative_weights(draws[i])]
        for i in members:
            by_rule = draws[i].block.answers.weighting == "relative" or draws[i].block.domain.marks_at_most is not None
            found[i] = 1.0 if by_rule or not widths else float(1.0 / np.mean(widths))
    return found


def _relative_weights(draw: Draw) -> list[float]:
    """How much the squared error of each answer matters relative to what one person can change in it."""
    features, domain = draw.block.problem.features, draw.block.domain
    if features.is_linear or not features.size or domain.marks_at_most is not None:
        return []
    asked = features.index != domain.rows_coordinate
    ranges = domain.ranges[features.index[asked]]
    return list(map(float, features.weights[asked] * ranges * ranges))


def everybody_of(rules: Sequence[RowRule], where: str | None, neighbours: str) -> RowRule:
    """The row rule of all people that some draws are about: those that pass the filter of all, else `where`.

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


def placed_again(draws: Sequence[Draw], people: Sequence[Draw]) -> list[Draw]:
    """Draws that were tied each by itself in one list, those that count people for them last."""
    from gaussmith.plans.tie import Tie

    found = [*draws, *people]
    for tie in {id(draw.tie): draw.tie for draw in found if draw.tie is not None}.values():
        members = tuple(i for i, draw in enumerate(found) if draw.tie is tie)
        if isinstance(tie, Tie):
            borrowers = tuple(i for i, draw in enumerate(found) if draw.block.lender is tie)
            moved: AnyTie = replace(tie, members=members, borrowers=borrowers)
        else:
            moved, borrowers = replace(tie, members=members), ()
        for i, place in zip(members, tie.places, strict=True):
            found[i] = tied(found[i], moved, place)
        for i in borrowers:
            assert isinstance(moved, Tie)
            found[i] = replace(found[i], block=replace(found[i].block, lender=moved))
    return found


def _count_people(rule: RowRule, guarantee: Guarantee) -> Draw:
    """The draw that counts people for the others; no question asks for their number."""
    from gaussmith.domains import Records

    domain = Records()
    silent = Answers.of(ask(domain, count=True).features, [], "equal")
    block = Block(Problem(domain, silent.features, ADD_REMOVE), silent, guarantee, UNTOLD, domain.centre)
    return Draw(block, guarantee, ADD_REMOVE, row_rule=rule)

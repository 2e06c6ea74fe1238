"""Which draws of a plan are tables of the same keys, and the noise that is best for them together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.plans.crossed_keys import Attribute, Cross, Keyed, cross_of, keyed_of
from gaussmith.plans.draw import Draw, tied
from gaussmith.problem import Law
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.numerics.crossed.moments import CrossedSolution


@dataclass(frozen=True, eq=False)
class Crossing:
    """Draws that are tables of the same keys, and the noise that was found for them."""

    members: tuple[int, ...]
    scales: tuple[float, ...]
    cross: Cross
    solution: CrossedSolution

    @property
    def root(self) -> float:
        """√T of the noise, at μ = 1."""
        return math.sqrt(self.solution.total)

    @property
    def law(self) -> Law:
        """The law on people that bounds every noise for these tables."""
        from gaussmith.plans.crossed_tie import KIND
        from gaussmith.proofs.crossed import lower_bound

        weights = self.solution.weights
        return Law(KIND, lower_bound(self.cross.tables, weights), {"weights": weights})

    def apart(self, roots: Sequence[float]) -> float:
        """Σ √T with noise of its own for each."""
        return sum(roots[i] for i in self.members)

    def tie(self, questions: Any, draws: list[Draw], share: Guarantee, apart: float) -> None:
        """Tie the draws in a list of all."""
        from gaussmith.plans.crossed_tie import CrossedTie

        made = CrossedTie.of(
            [draws[i] for i in self.members],
            self.scales,
            members=self.members,
            lift=self.solution.lift,
            guarantee=share,
            neighbours=self.cross.tables.neighbours,
            law=self.law,
            apart=apart**2 / share.mu**2,
        )
        with within_doubles():
            for i, place in zip(self.members, made.places, strict=True):
                draws[i] = tied(draws[i], made, place)
                require_finite(draws[i].block.standard_errors, draws[i].total_variance)


def find_crossings(draws: Sequence[Draw], scales: Sequence[float], neighbours: str) -> Iterator[list[Crossing]]:
    """Of each filter what can share a noise, with the best noise for it: all tables, or those that share a column."""
    keyed = {i: each for i, each in enumerate(map(keyed_of, draws)) if each is not None}
    for members, related in _related(keyed, draws):
        sets = dict.fromkeys((members, related))
        found = [_solved(each, draws, scales, neighbours) for each in sets]
        yield [each for each in found if each is not None]


def bound_tables(
    draws: Sequence[Draw], scales: Sequence[float], neighbours: str, among: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], float | None]]:
    """Which draws among some are tables that share a column, and the least price of them together at μ = 1.

    None where no bound is known: their keys are too many, or their groups weigh differently.
    """
    keyed = {i: each for i in among if (each := keyed_of(draws[i], weighted=True)) is not None}
    for _, related in _related(keyed, draws):
        found = _solved(related, draws, scales, neighbours)
        yield related, None if found is None else found.law.lower


def _related(keyed: Mapping[int, Keyed], draws: Sequence[Draw]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The tables of each filter, and those of them that share a column with another."""
    filters: dict[str | None, list[int]] = {}
    for i in keyed:
        rule = draws[i].row_rule
        assert rule is not None
        filters.setdefault(rule.where, []).append(i)
    for members in filters.values():
        related = tuple(i for i in members if any(i != j and _are_related(keyed[i], keyed[j]) for j in members))
        if related:
            yield tuple(members), related


def _are_related(one: Keyed, other: Keyed) -> bool:
    """Whether two tables have an attribute in common."""
    attributes: set[Attribute] = {*one.attributes}
    return not attributes.isdisjoint(other.attributes)


def _solved(members: Sequence[int], draws: Sequence[Draw], scales: Sequence[float], neighbours: str) -> Crossing | None:
    """The best noise for some tables; None where they are too many, or doubles cannot hold it."""
    from gaussmith.numerics.crossed.moments import solve

    own = tuple(scales[i] for i in members)
    try:
        with within_doubles():
            cross = cross_of([draws[i] for i in members], own, neighbours)
            solution = solve(cross.tables)
            require_finite(solution.total)
    except (PlanError, ValueError, FloatingPointError):
        return None
    return Crossing(tuple(members), own, cross, solution)

"""Noise of a pure ε: which numbers are drawn together, from which law, at which share of ε; and what certifies it.

Numbers in the ∞-norm that a person reaches in the same group, or in no group, are one noise: whatever one person adds
to each query, it adds at most S to the largest number of all. So no filter, missing value or law on people matters.
Queries by the same groups are one noise in each group; `one_choice` says when a person's groups are the same.
All others have noise of their own, and ε is split: parts of cost c_i/ε_i² have shares in proportion to c_i^⅓.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.pure_strategies import MAX_NORM, PureStrategy, price_of_one
from gaussmith.domains.pure_strategies import pure_strategies as strategies_of
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.noise.law import Law
from gaussmith.numerics.exact import fraction_down
from gaussmith.planning.one_group import by_one_key, one_choice
from gaussmith.planning.pure_lattice import FINE, Drawn, certified_sensitivity, pure_grid
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE

if TYPE_CHECKING:
    from gaussmith.planning.query import Query


@dataclass(frozen=True, eq=False)
class PureNoise:
    """What is drawn together: queries by their places, and how often: once, or anew in every group."""

    members: tuple[int, ...]
    queries: tuple[Query, ...]

    @property
    def epsilon(self) -> Fraction:
        """What it takes of ε: all groups of a person together."""
        return self.queries[0].guarantee.pure_epsilon

    @property
    def copies(self) -> int:
        """How often it is drawn."""
        return self.queries[0].size

    @property
    def law(self) -> Law:
        law = self.queries[0].block.noise_law
        assert law is not None
        return law

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the numbers of each query begin."""
        return tuple(query.block.drawn.start for query in self.queries if query.block.drawn is not None)

    @property
    def total_variance(self) -> float:
        """The weighted total of its queries."""
        return sum(query.scale * query.total_variance for query in self.queries)

    def certify(self) -> None:
        """Check that the queries fit each other: one law, each number once, and one choice of groups; or PlanError.

        Each query was certified by itself: what a person adds to it has a norm of at most S.
        """
        first = self.queries[0]
        start = 0
        for query in self.queries:
            drawn, mine = query.block.drawn, first.block.drawn
            if drawn is None or mine is None or replace(drawn, start=0) != replace(mine, start=0):
                raise damaged_plan("queries of several laws in one noise")
            if drawn.start != start or query.guarantee != first.guarantee:
                raise damaged_plan("queries that do not fit their noise")
            if query.block.guarantee != first.block.guarantee or query.size != first.size:
                raise damaged_plan("queries that do not fit their noise")
            start += query.block.shape.lift.shape[0]
        if start != self.law.numbers:
            raise damaged_plan("a noise of other numbers than its queries")
        if len(self.queries) > 1:
            if first.block.drawn is None or first.block.drawn.norm != MAX_NORM:
                raise damaged_plan("queries together in the 1-norm")
            if any(query.groups is not None for query in self.queries):
                one_choice(self.queries)


def pure_noises(queries: Sequence[Query]) -> tuple[PureNoise, ...]:
    """The noises of queries, in the order of the first of each."""
    members: dict[int, list[int]] = {}
    for i, query in enumerate(queries):
        if query.noise is not None:
            members.setdefault(query.noise, []).append(i)
    return tuple(PureNoise(tuple(at), tuple(queries[i] for i in at)) for at in members.values())


def certify_pure(queries: Sequence[Query], guarantee: Guarantee) -> None:
    """Check that all noises together take no more than ε; each query and noise is certified too. Or PlanError."""
    if any(query.noise is None for query in queries):
        raise damaged_plan("a query without noise under pure ε")
    spent = Fraction(0)
    for noise in pure_noises(queries):
        noise.certify()
        spent += noise.epsilon
    if spent > guarantee.pure_epsilon:
        raise damaged_plan("queries that spend too much")


def no_certificate() -> PlanError:
    """The reason why nothing is said of the least noise under pure ε."""
    return PlanError(
        "the least noise under pure ε",
        "no bound is known that holds for all noise of a pure ε",
        "compare plans by their errors",
        code="no-certificate-under-pure-epsilon",
    )


def certify_query(query: Query) -> None:
    """Check one query: its sensitivity, and that all groups of a person keep its ε; or PlanError."""
    query.block.certify()
    if query.neighbours != ADD_REMOVE or query.tie is not None or query.block.lender is not None:
        raise damaged_plan("pure noise for other neighbours")
    if query.groups is not None and query.groups.is_found:
        raise damaged_plan("pure noise for groups that are found")
    held = 1 if query.groups is None else query.groups.at_most
    if held * query.block.guarantee.pure_epsilon > query.guarantee.pure_epsilon:
        raise damaged_plan("a group's share is too large")


def drawn_after(before: Sequence[Query], queries: Sequence[Query]) -> list[Query]:
    """The queries, whose noises are others than those before them."""
    used = max((query.noise + 1 for query in before if query.noise is not None), default=0)
    return [query if query.noise is None else replace(query, noise=query.noise + used) for query in queries]


def pure_instead(queries: Sequence[Query], guarantee: Guarantee) -> list[Query] | None:
    """The same queries with pure noise at the stated ε, from those of Gaussian noise; None where these are not kept.

    A query that takes the number of everybody from others, that chooses a cell, or whose groups are found, has no such
    counterpart here.
    """
    borrows = any(query.block.lender is not None or query.block.shape.people is not None for query in queries)
    finds = any(query.groups is not None and query.groups.is_found for query in queries)
    chooses = any(query.block.domain.chosen for query in queries)
    if (
        guarantee.epsilon is None
        or borrows
        or finds
        or chooses
        or any(query.neighbours != ADD_REMOVE for query in queries)
    ):
        return None
    bare = [replace(query, block=replace(query.block, tie=None, whole=None)) for query in queries]
    scales = [query.scale if query.place is None else query.place.scale for query in queries]
    try:
        return plan_pure(bare, scales, Guarantee(epsilon=guarantee.epsilon))
    except PlanError:  # no pure noise is planned for what is asked
        return None


def cost_of_others(noises: Sequence[PureNoise], asked: Sequence[int], guarantee: Guarantee) -> float:
    """By how much larger the total of all other noises is because some queries are asked beside them, as a factor."""
    others = [noise for noise in noises if not set(noise.members) & set(asked)]
    costs = [noise.total_variance * float(noise.epsilon) ** 2 for noise in others]
    alone = sum(cost ** (1 / 3) for cost in costs) ** 3 / float(guarantee.pure_epsilon) ** 2
    return sum(noise.total_variance for noise in others) / alone if alone else 1.0


# Choosing.


@dataclass(frozen=True, eq=False)
class _Member:
    """A query and its strategy, before anything is known of its share."""

    place: int
    query: Query
    chosen: PureStrategy
    scale: float

    @property
    def price(self) -> float:
        """The weighted total of all groups where each number has noise of variance 1."""
        return self.scale * self.query.size * price_of_one(self.chosen, self.query.block.problem)

    @property
    def held(self) -> int:
        """In how many groups a person is."""
        return 1 if self.query.groups is None else self.query.groups.at_most


def unit_variance(norm: str, numbers: int) -> float:
    """Of one number at ε = 1 and S = 1, on a fine lattice; on whole numbers it is less."""
    return (numbers + 1) * (numbers + 2) / 3 if norm == MAX_NORM else 2.0


def plan_pure(
    alone: Sequence[Query], scales: Sequence[float], guarantee: Guarantee, limits: Sequence[float | None] = ()
) -> list[Query]:
    """The queries with pure noise: drawn together where that is cheaper, at the shares of ε with the least total.

    `alone` says what is asked and how rows are read; its own noise, if any, is left aside. `limits` are the largest
    standard errors allowed of sums and counts.
    """
    members = [_member(i, query, scale) for i, (query, scale) in enumerate(zip(alone, scales, strict=True))]
    sets = _sets(members)
    limit = dict(enumerate(limits))
    made = [(each, _variance(each)) for each in sets]
    costs = [sum(m.price for m in each) * variance for each, variance in made]
    needed = [
        max((_epsilon_for(m, variance, limit.get(m.place)) for m in each), default=0.0) for each, variance in made
    ]
    shares = shares_of(guarantee.pure_epsilon, costs, needed)
    found: dict[int, Query] = {}
    for k, (each, share) in enumerate(zip(sets, shares, strict=True)):
        found |= _drawn_together(k, each, share)
    return [found[i] for i in range(len(alone))]


def _member(place: int, query: Query, scale: float) -> _Member:
    problem = query.block.problem
    if query.neighbours != ADD_REMOVE:
        problem = replace(problem, neighbours=query.neighbours)  # which is refused
    ways = strategies_of(problem)
    best = min(ways, key=lambda way: price_of_one(way, problem) * unit_variance(way.norm, way.numbers))
    return _Member(place, query, best, scale)


def _sets(members: Sequence[_Member]) -> list[list[_Member]]:
    """Which are drawn together: those in the ∞-norm by the same groups, or by none, where that is cheaper."""
    apart = [[member] for member in members if member.chosen.norm != MAX_NORM]
    cubes = [member for member in members if member.chosen.norm == MAX_NORM]
    together = [[member for member in cubes if member.query.groups is None]]
    grouped = [member for member in cubes if member.query.groups is not None]
    for places in by_one_key([member.query for member in grouped]):
        together.append([grouped[i] for i in places])
    placed = {member.place for each in together for member in each}
    apart += [[member] for member in grouped if member.place not in placed]
    for each in together:
        apart += [each] if each and _cost([each]) <= _cost([[member] for member in each]) else [[m] for m in each]
    return sorted(apart, key=lambda each: each[0].place)


def _cost(sets: Sequence[Sequence[_Member]]) -> float:
    """The least total at ε = 1: (Σ c^⅓)³."""
    return float(sum(math.cbrt(sum(m.price for m in each) * _variance(each)) for each in sets) ** 3)


def _variance(members: Sequence[_Member]) -> float:
    """Of one number of a set at ε = 1, on a fine lattice."""
    first = members[0]
    numbers = sum(member.chosen.numbers for member in members)
    lattice, _ = _lattice(members)
    return float(unit_variance(first.chosen.norm, numbers)) * float(lattice * first.held) ** 2


def _lattice(members: Sequence[_Member]) -> tuple[float, float]:
    """The largest change of one person in lifted units, and the steps of the lattice per lifted unit."""
    scale = 1.0 if all(member.chosen.is_whole for member in members) else FINE
    grids = [pure_grid(m.chosen.strategy.lift, m.query.block.codes, scale) for m in members]
    each = zip(members, grids, strict=True)
    largest = max(
        certified_sensitivity(grid, m.chosen.norm, m.query.block.domain, m.query.block.codes) for m, grid in each
    )
    return largest / scale, scale


def _epsilon_for(member: _Member, variance: float, limit: float | None) -> float:
    """The ε with which no sum or count has a larger standard error than its limit."""
    if limit is None:
        return 0.0
    block = replace(member.query.block, shape=member.chosen.strategy, guarantee=Guarantee(epsilon=1), drawn=None)
    unit = block.answers.largest_variances(_unit_noise(member), block.domain)
    return math.sqrt(variance * float(np.max(unit[~block.answers.divided]))) / limit * (1 + 1e-9)


def _unit_noise(member: _Member) -> Any:
    from gaussmith.statistics.statistic import Noisy

    shape = member.chosen.strategy
    return Noisy(np.zeros(shape.features.shape[0]), shape.features, 1.0, shape.counted, None)


def shares_of(epsilon: Fraction, costs: Sequence[float], needed: Sequence[float]) -> list[Guarantee]:
    """ε_i = max(needed_i, t·c_i^⅓) with the t that spends all of ε; each rounded down."""
    if sum(needed) > epsilon:
        raise PlanError(
            f"error_at_most under ε={float(epsilon):g}",
            f"the limits on errors need ε={sum(needed):.4g}",
            "allow a larger error, or use a larger ε",
            code="error-limits-need-more-epsilon",
        )
    roots = [cost ** (1 / 3) for cost in costs]
    low, high = 0.0, float(epsilon) / max(sum(roots), 1e-300)
    for _ in range(100):
        middle = (low + high) / 2
        spent = sum(max(need, middle * root) for need, root in zip(needed, roots, strict=True))
        low, high = (middle, high) if spent <= epsilon else (low, middle)
    t = high if not any(needed) else low
    sizes = [Fraction(max(need, t * root)) for need, root in zip(needed, roots, strict=True)]
    total = max(sum(sizes, Fraction(0)), Fraction(1, 10**300))
    return [Guarantee(epsilon=fraction_down(epsilon * size / total)) for size in sizes]


def _drawn_together(k: int, members: Sequence[_Member], share: Guarantee) -> dict[int, Query]:
    """The queries of one noise, at its share of ε."""
    held = members[0].held
    copy = share if held == 1 else Guarantee(epsilon=fraction_down(share.pure_epsilon / held))
    largest, scale = _lattice(members)
    numbers, start = sum(member.chosen.numbers for member in members), 0
    found = {}
    for member in members:
        drawn = Drawn(member.chosen.norm, round(largest * scale), numbers, start, scale)
        start += member.chosen.numbers
        block = replace(
            member.query.block,
            guarantee=copy,
            shape=member.chosen.strategy,
            alternatives=(),
            law=None,
            whole=None,
            tie=None,
            lender=None,
            drawn=drawn,
        )
        found[member.place] = replace(
            member.query, block=block, guarantee=share, place=None, scale=member.scale, by_weight=(), noise=k
        )
    return found

"""Queries whose features take the noisy number of everybody from a noise that others share.

Quantiles and second moments have noise of their own: what a person adds to them is not a box in each of some groups.
Measured from a centre they need less of it, and the centre times the number of everybody is added from the noisy number
that a tie has. Only the reading borrows: each noise is certified by itself, and their shares of μ² add up.

With centres of energy E_i = Σ w · centre² the least total is (Σ √C_i + √T)², C_i the total around the centre and T that
of the tie where the number of everybody is worth Σ E_i more. All queries meet in one number, Λ = √T over the
variance of the noisy number; query i has its best centre where that number is worth Λ² − E_i outside (docs/theory.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains.box import Box
from gaussmith.errors import damaged_plan
from gaussmith.expressions.formulas import common_filter
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.planning.joint_people import counts_everybody
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.neighbours import ADD_REMOVE

if TYPE_CHECKING:
    from gaussmith.planning.block import Block
    from gaussmith.planning.centring import Centred
    from gaussmith.planning.joint_noise import JointNoise
    from gaussmith.planning.query import Query
    from gaussmith.privacy.guarantee import Guarantee


SETTLED = 0.25
"""What others make of the number of everybody may be off by so much: the total is off by the square of it."""


@dataclass(frozen=True, eq=False)
class Borrower:
    """A query that can be measured from a centre: its place among the queries, its scale, and who its records are."""

    place: int
    query: Query
    scale: float
    everybody: bool

    def centred(self, outside: float) -> Centred:
        """The best shape around a centre; `outside` is what the number of everybody is worth to others."""

        from gaussmith.planning.centring import centred_shape

        block = self.query.block
        return centred_shape(block.problem, outside / self.scale, self.everybody)

    def energy(self) -> float:
        """A guess of what the number of everybody is worth to it."""
        block = self.query.block
        if block.problem.features.runs is None:
            return 0.1 * self.scale * block.total_variance * block.guarantee.mu**2
        points, weights = block.domain.differences(block.problem, block.bounding_law) or (np.zeros((1, 1)), np.ones(1))
        mean = weights @ points / weights.sum()
        return 0.45 * self.scale * float(mean @ mean)


def find_borrowers(queries: Sequence[tuple[int, Query, float]], where: str | None) -> list[Borrower]:
    """Those among some queries with noise of their own that can be measured from a centre, by the filter of
    everybody."""
    found = []
    for i, query, scale in queries:
        rule = query.row_rule or RowRule(())
        plain = query.groups is None and query.neighbours == ADD_REMOVE and not rule.keys
        plain = plain and query.block.neighbours == ADD_REMOVE and _has_centre(query.block)
        plain = plain and not query.block.domain.chosen
        everybody = counts_everybody(query, where)
        if query.block.problem.features.marginals is not None and not everybody:
            continue  # whoever is left out is in no cell
        if plain and common_filter(where, rule.where, [dict(rule.columns)]):
            found.append(Borrower(i, query, scale, everybody))
    return found


def _has_centre(block: Block) -> bool:
    """Whether its features are measured from a centre. Those of a box are not: it is told first, as the usual case."""
    if isinstance(block.domain, Box):
        return False

    from gaussmith.planning.centring import can_be_centred

    return can_be_centred(block.problem)


@dataclass(frozen=True, eq=False)
class Lending:
    """Borrowers with their shapes around centres, beside others for whom the number of everybody is worth something.

    worth: what it is worth to all borrowers, as it was given to the others
    """

    borrowers: tuple[Borrower, ...]
    centred: tuple[Centred, ...]
    worth: float

    @property
    def energy(self) -> float:
        """What the squared error of the number of everybody is worth because of the centres."""
        return sum(b.scale * c.energy for b, c in zip(self.borrowers, self.centred, strict=True))

    @property
    def by_place(self) -> dict[int, Centred]:
        """The shape of each borrower, by its place among the queries."""
        return {each.place: made for each, made in zip(self.borrowers, self.centred, strict=True)}

    @property
    def roots(self) -> list[float]:
        """√C of each borrower's own noise, at μ = 1."""
        return [math.sqrt(b.scale * c.total) for b, c in zip(self.borrowers, self.centred, strict=True)]


def find_centres(borrowers: Sequence[Borrower], others: Callable[[float], tuple[float, float]]) -> Lending:
    """The best centres of some queries beside others.

    `others` says of a worth of the number of everybody the total of the others' noise at μ = 1, and the variance of the
    number in it. Raises PlanError where doubles cannot hold a shape.
    """
    energies = [each.energy() for each in borrowers]
    asked = [0.0] * len(borrowers)
    centred: list[Centred] = []
    for _ in range(3):
        worth = sum(energies)
        total, variance = others(worth)
        whole = total / variance**2
        outside = [max(whole - energy, 1e-3 * whole) for energy in energies]
        if all(abs(new - old) <= SETTLED * old for new, old in zip(outside, asked, strict=True)):
            break
        with within_doubles():
            asked, centred = outside, [b.centred(each) for b, each in zip(borrowers, outside, strict=True)]
            energies = [b.scale * c.energy for b, c in zip(borrowers, centred, strict=True)]
            require_finite(*energies)
    return Lending(tuple(borrowers), tuple(centred), worth)


def around_centre(query: Query, centred: Centred, share: Guarantee, scale: float) -> Query:
    """The query with a shape around its centre, before it is told which noise lends it the number of everybody."""
    block = replace(query.block, guarantee=share, shape=centred.shape, alternatives=())
    return replace(query, block=block, guarantee=share, scale=scale)


def lent_by(query: Query, tie: JointNoise) -> Query:
    """The query with the noisy number of everybody that a tie has; refuses one that does not fit."""

    from gaussmith.planning.centring import lent

    check_borrower(tie.seen(query), tie)
    told = replace(query.block, lender=tie)
    with within_doubles():
        made = replace(told, shape=lent(told.shape, 1.0 / number_unit(told)))
        require_finite(made.standard_errors, made.total_variance)
    return replace(query, block=made)


def number_unit(block: Block) -> float:
    """The unit in which the features of a block take the noisy number of everybody: its noise is one lifted row's."""
    assert block.lender is not None
    return block.grid.noise_scale / (math.sqrt(block.lender.lift.people_variance) * block.lender.noise_scale)


def check_borrower(query: Query, tie: JointNoise) -> None:
    """Refuse a query, as the tie sees it, whose people it does not count, or that leaves some out without saying so."""
    fits = query.groups is None and query.neighbours == tie.neighbours == ADD_REMOVE and query.tie is None
    fits = fits and tie.people is not None and tie.lift.counted and query.block.shape.people is not None
    if not fits or (query.block.shape.absent is None and not counts_everybody(query, tie.where)):
        raise damaged_plan("a query that takes the number of others than it is measured from")

"""The choice of the noise of one block: every shape that fits, and the cheapest of them. Never sees data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gaussmith.checks import check_number
from gaussmith.domains.domain import Domain, Problem
from gaussmith.domains.strategies import BEST, Progress, Search, Strategy, check_name, price
from gaussmith.errors import PlanError
from gaussmith.numerics.doubles import require_finite, too_far, within_doubles
from gaussmith.planning.block import Block
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.statistic import Noisy

SAME_COST = 1.0 + 1e-9
"""Shapes that cost the same but for rounding: which is cheaper in the last digits differs between processors."""


def plan_problem(
    problem: Problem[Domain],
    answers: Answers,
    guarantee: Guarantee,
    missing: Mapping[str, float] | None = None,
    shape: str = BEST,
    gap: float | None = None,
    progress: Progress | None = None,
) -> Block:
    """The block for a problem and the answers read from its features; refused where doubles cannot hold it."""
    with within_doubles():
        require_finite(problem.features.weights, 1 / problem.features.weights)
        made = _plan_problem(problem, answers, guarantee, missing or {}, Search(shape, guarantee.mu, gap, progress))
        _check_sizes(made)
        return made


def at_guarantee(block: Block, guarantee: Guarantee) -> Block:
    """The block at another guarantee, if its shape is the same at all; refused where doubles cannot hold it.

    Privacy does not rest on that: a block is certified at its own guarantee.
    """
    assert not block.domain.shape_follows_mu
    with within_doubles():
        made = block if block.guarantee == guarantee else replace(block, guarantee=guarantee)
        _check_sizes(made)
        return made


def _plan_problem(
    problem: Problem[Domain], answers: Answers, guarantee: Guarantee, missing: Mapping[str, float], search: Search
) -> Block:
    domain = problem.domain
    if domain.dimension == 0 and not problem.secret_count:
        raise refused_count()
    domain.check(problem)
    if search.gap is not None:
        from gaussmith.numerics.solver import GAP_RULE, SMALLEST_GAP

        rule, remedy = GAP_RULE
        gap = check_number("gap", search.gap, low=SMALLEST_GAP, rule=rule, remedy=remedy, error=PlanError)
        search = replace(search, gap=gap)
    stand_ins = domain.substitutes(problem.features, missing)
    check_name(search.shape)
    candidates = domain.candidates(problem, search)
    law = max((c.law for c in candidates.found if c.law is not None), key=lambda law: law.lower, default=None)
    single = search.shape == BEST or len(candidates.found) == 1
    named = [c for c in candidates.found if single or c.shape.name == search.shape]
    priced = [(_price(c.shape, problem, answers), c) for c in named]
    priced = [(cost, c) for cost, c in priced if np.isfinite(cost)]
    if not priced:
        raise too_far()
    least = min(cost for cost, _ in priced)
    best = next(c for cost, c in priced if cost <= least * SAME_COST)  # the first, on every processor
    others = (*((c.shape.name, cost) for cost, c in priced if c is not best), *candidates.compared)
    return Block(best.fitted(problem), answers, guarantee, best.shape, stand_ins, others, law)


def refused_count() -> PlanError:
    """The reason for refusing a plan that needs no noise."""
    return PlanError(
        "a count alone under replace-one",
        "the number of records is public there, and needs no noise",
        "ask for sums or means too, or choose add-remove",
        code="count-alone-under-replace-one",
    )


def _price(shape: Strategy, problem: Problem[Domain], answers: Answers) -> float:
    """What a shape is chosen by, at μ = 1: the weighted total of the answers' squared errors, or the worst of them."""
    if problem.features.targets is not None:
        return price(shape, problem)
    rows, public = shape.features, None if problem.secret_count else 0
    return answers.averaged_total(Noisy(np.zeros(rows.shape[0]), rows, 1.0, shape.counted, public))


def _check_sizes(block: Block) -> None:
    """Refuse a plan whose errors, total or bound doubles cannot hold; where they come near, all of it is checked."""
    sizes = block.shape.variances() / block.guarantee.mu**2
    require_finite(sizes, price(block.shape, block.problem) / block.guarantee.mu**2)
    noisy = sizes[sizes > 0]
    if len(noisy) and (noisy.max() > 1e60 or noisy.min() < 1e-60):
        block.certify()
        require_finite(block.standard_errors, block.price, block.lower_bound)
        if block.price > 0 and not block.lower_bound > 0:
            raise too_far()

"""What questions cost each other, and how errors that are stated beforehand are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.plans.draw import AnyTie, Draw
from gaussmith.plans.lending import find_borrowers, find_centres
from gaussmith.plans.tie import Tie
from gaussmith.plans.tying import Questions

if TYPE_CHECKING:
    from gaussmith.plans.plan import Plan

MAX_ROUNDS = 60
"""Limit on the rounds in which the worth of questions is found that keeps their errors."""

CLOSE = 1e-3
"""How close to its limit the error of a question has to come that is limited."""


def question_shares(plan: Plan) -> dict[str, float]:
    """Each question's share of μ²: that of every noise its answers come from."""
    found = {}
    for slot in plan.slots:
        if slot.name in plan.questions:
            draws = [plan.draws[i] for i in slot.draws]
            shares = {id(draw.tie or draw): draw.share_of(plan.guarantee) for draw in draws}
            lenders = [draw.block.lender for draw in draws if draw.block.lender is not None]
            shares |= {id(tie): (tie.guarantee.mu / plan.guarantee.mu) ** 2 for tie in lenders}
            found[slot.name] = sum(shares.values())
    return found


def question_costs(plan: Plan) -> dict[str, float]:
    """By how much larger the total squared error of all other questions is because a question is asked, as a factor.

    Questions of the same draws are counted together. Without the others a question costs nobody anything: 1.
    """
    found: dict[tuple[int, ...], float] = {}
    for slot in plan.slots:
        if slot.draws not in found:
            found[slot.draws] = _cost(plan, slot.draws)
    return {slot.name: found[slot.draws] for slot in plan.slots}


def _cost(plan: Plan, asked: Sequence[int]) -> float:
    """The others' total beside some draws, over what it would be without them."""
    some = [plan.draws[i] for i in asked]
    lenders = {id(draw.block.lender) for draw in plan.draws if draw.block.lender is not None}
    touched = [tie for tie in plan.ties if any(draw.tie is tie for draw in some) or id(tie) in lenders]
    lent = [draw for draw in plan.draws if draw.block.lender is not None]
    taken = [*lent, *(draw for draw in some if draw.tie is None), *touched]
    others = [each for each in plan.noises if not any(each is one for one in taken)]
    roots = [math.sqrt(each.scale * each.price) * each.guarantee.mu for each in others]
    own = sum((draw.scale if draw.place is None else draw.place.scale) * draw.price for draw in some)
    for tie in touched:
        gone = [k for k, i in enumerate(tie.members) if i in asked]
        draws = [plan.draws[k] for k in tie.members]
        roots.append(_lent_without(plan, tie, draws, gone, asked) if tie.lent_to else tie.root_without(draws, gone))
    without = (sum(roots) / plan.guarantee.mu) ** 2
    return (plan.price - own) / without if without else 1.0


def _lent_without(plan: Plan, tie: AnyTie, draws: Sequence[Draw], gone: Sequence[int], asked: Sequence[int]) -> float:
    """Σ √T at μ = 1 of a tie and of those that borrow from it, without some of either."""
    assert isinstance(tie, Tie)
    left = [(i, plan.draws[i], plan.draws[i].scale) for i in tie.lent_to if i not in asked]
    borrowers, body = find_borrowers(left, tie.where), tie.body_without(draws, gone)
    if not borrowers or (len(borrowers) == 1 and not body.parts and not body.people_weight):
        alone = sum(math.sqrt(scale * draw.block.bounding_law.lower) for _, draw, scale in left)
        return tie.root_without(draws, gone) + alone

    def others(worth: float) -> tuple[float, float]:
        from gaussmith.numerics.tied.ladder import solve

        found = solve(replace(body, people_weight=body.people_weight + worth), plan.neighbours)
        return found.total, found.lift.people_variance

    lending = find_centres(borrowers, others)
    total, variance = others(lending.worth)
    return math.sqrt(total + (lending.energy - lending.worth) * variance) + sum(lending.roots)


def draws_within(questions: Questions, limits: Sequence[float | None]) -> list[Draw]:
    """The draws in which no sum, count or cell of a limited question has a larger standard error than its limit.

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
        draws = replace(questions, scales=scales).draws()
        settled = True
        for i, limit in enumerate(limits):
            if limit is None:
                continue
            excess = _largest_error(draws[i]) / limit
            least = questions.scales[i]
            settled = settled and (1 - CLOSE <= excess <= 1 or (excess < 1 and scales[i] <= least))
            # Errors go down as the fourth root of the worth where a question has little of the guarantee.
            aim = excess / (1 - CLOSE / 2)
            scales[i] = max(least, scales[i] * aim**4)
        if settled:
            return draws
    reached = max(_largest_error(draw) / limit for draw, limit in zip(draws, limits, strict=False) if limit is not None)
    raise PlanError(
        "error_at_most of several questions",
        f"together they cannot be kept: some error would be {reached:.3g} times its limit",
        "allow larger errors, or use a larger ε",
        code="error-limits-out-of-reach",
    )


def _only(questions: Questions, i: int) -> Draw:
    """The draw of one question, if nothing else were asked."""

    def plan_alone(_: int, share: Guarantee) -> Draw:
        return questions.plan_alone(i, share)

    return replace(questions, alone=[questions.alone[i]], scales=[1.0], plan_alone=plan_alone).draws()[0]


def _largest_error(draw: Draw) -> float:
    """Of the sums, counts and cells of a draw: the largest standard error."""
    return float(np.max([block.standard_errors[~block.answers.divided] for block in draw.blocks]))

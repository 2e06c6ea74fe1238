"""The plan of means of vectors of which nothing is known: looks at the columns, then a clipped sum. Never sees data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussmith.domains import Domain, UnknownGaussianData, domain_from_dict
from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import sqrt_downward
from gaussmith.plans.plan import Plan
from gaussmith.plans.row_rule import RowRule
from gaussmith.plans.staging import Staging, share_of
from gaussmith.stages import ANSWERS, Step
from gaussmith.stages.vector_means import VectorRule

GUESS = (
    "Errors are stated as if every column came out as normal with standard deviation 1: multiply them by the true "
    "standard deviations."
)

Make = Callable[[Domain, Guarantee, str, Any], Plan]
"""Plans a domain in one stage: with a guarantee, for these answers, at these weights."""


def plan_vectors(
    domain: UnknownGaussianData,
    guarantee: Guarantee,
    neighbours: str,
    weights: Any,
    make: Make,
    row_rule: RowRule | None = None,
) -> Plan:
    """A plan with stages; its own draw is that of the last stage under a stated guess.

    weights: "relative" (to the spread that is found), "equal", or one positive number per column.
    """
    rule = VectorRule(
        domain.dimension,
        domain.rows,
        guarantee.mu,
        neighbours != ADD_REMOVE,
        domain.normal,
        _weights(weights, domain.dimension),
        domain.names,
    )

    def plan_step(step: Step, share: Guarantee) -> Plan:
        asked = domain_from_dict(dict(step.asks["domain"]))
        last = "weights" in step.asks
        made = make(asked, share, "means" if last else "sums", step.asks["weights"] if last else "equal")
        return made if row_rule is None else _reading(made, row_rule)

    whole = guarantee.mu_squared
    first = rule.step((), whole)
    left = Guarantee(mu=sqrt_downward((1 - rule.most_before) * whole))
    guessed = plan_step(Step(ANSWERS, None, rule.guessed()), left)
    staging = Staging(rule, plan_step(first, share_of(guarantee, first, whole)), GUESS, plan_step)
    return replace(guessed, guarantee=guarantee, staging=staging)


def _reading(plan: Plan, row_rule: RowRule) -> Plan:
    return replace(plan, draws=tuple(replace(draw, row_rule=row_rule) for draw in plan.draws))


def _weights(weights: Any, dimension: int) -> tuple[float, ...] | None:
    """None: relative; refuses what is not one positive number per column."""
    if isinstance(weights, str) and weights == "relative":
        return None
    if isinstance(weights, str) and weights == "equal":
        return (1.0,) * dimension
    try:
        found = np.array(weights, float)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.shape != (dimension,) or not ((found > 0) & (found < 1e150)).all():
        raise PlanError(
            f"weights={weights!r}"[:120],
            f"they must be one positive number for each of {dimension} columns",
            'write weights="relative" or weights="equal"',
            code="weights-of-vectors-damaged",
        )
    return tuple(found.tolist())


def refuse_for_vectors(given: Sequence[tuple[str, bool]]) -> None:
    """Refuse options of a plan that mean nothing where it has stages."""
    for name, is_usual in given:
        if not is_usual:
            raise PlanError(
                f"{name} for Gaussian data of which nothing is known",
                "its plan has stages, and answers are the means",
                f"leave {name} out, or give mean and sd",
                code="option-not-for-vectors",
                name=name,
            )

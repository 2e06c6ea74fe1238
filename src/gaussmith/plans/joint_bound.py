"""How little noise all draws of a plan need together, also where they do not share it.

A lower bound for each draw by itself leaves out that one person is in all of them. Draws that could share a noise are
one body (`tied_people`), whatever noise they have: a law on its people bounds every Gaussian noise for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.doubles import within_doubles
from gaussmith.numerics.tied.parts import Part
from gaussmith.plans.row_rule import RowRule
from gaussmith.plans.tie import bound_of
from gaussmith.plans.tied_people import make_body, parts_of
from gaussmith.plans.tying import everybody_of, placed

if TYPE_CHECKING:
    from gaussmith.plans.draw import Draw
    from gaussmith.plans.plan import Plan


def bound_together(plan: Plan) -> float:
    """No Gaussian noise with the plan's guarantee has a smaller price for all draws; 0 where nothing is known.

    Draws that cannot share a noise add their own bounds. Guarantee: rounded down. Proof: docs/theory.md, statement 48.
    """
    if plan.neighbours != ADD_REMOVE:
        return 0.0
    rules = [draw.row_rule or RowRule(()) for draw in plan.draws]
    where = everybody_of(rules, None, plan.neighbours).where
    found, apart = [], 0.0
    scales = [draw.scale if draw.place is None else draw.place.scale for draw in plan.draws]
    for i, draw in enumerate(plan.draws):
        parts = _parts(draw, where, scales[i])
        if parts is None and draw.tie is not None:
            return 0.0
        if parts is None:
            apart += scales[i] * draw.lower_bound * draw.guarantee.mu**2
        else:
            found.append((i, parts))
    members, places = placed(found, scales)
    try:
        with within_doubles():
            body = make_body([plan.draws[i] for i in members], places, where)
            joint = bound_of(body, plan.neighbours).lower if body.parts else body.people_weight
    except PlanError:
        return 0.0
    return (joint + apart) / plan.guarantee.mu**2 * (1.0 - 2.0**-45)


def _parts(draw: Draw, where: str | None, scale: float) -> tuple[Part, ...] | None:
    """What a person adds to a draw; None where it is not one of groups and columns, or has targets."""
    if draw.block.problem.features.targets is not None:
        return None
    try:
        with within_doubles():
            return parts_of(draw, where, scale)
    except PlanError:
        return None

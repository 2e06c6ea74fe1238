"""How little noise all draws of a plan need together, also where they do not share it.

A lower bound for each draw by itself leaves out that one person is in all of them. Draws that could share a noise are
one body (`tied_people`), whatever noise they have: a law on its people bounds every Gaussian noise for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.doubles import within_doubles
from gaussmith.numerics.tied.parts import Part
from gaussmith.numerics.trace_roots import square_down
from gaussmith.plans.crossed_tie import KIND
from gaussmith.plans.crossing import bound_tables
from gaussmith.plans.row_rule import RowRule
from gaussmith.plans.tie import bound_of
from gaussmith.plans.tied_people import make_body, parts_of, placed
from gaussmith.plans.tying import everybody_of

if TYPE_CHECKING:
    from gaussmith.plans.draw import AnyTie, Draw
    from gaussmith.plans.plan import Plan


def least_price(plan: Plan) -> float:
    """No Gaussian noise with the plan's guarantee has a smaller price: the best bound that is known."""
    mu = plan.guarantee.mu
    least = {id(each): plan.worth_of(each) * each.lower_bound * (each.guarantee.mu / mu) ** 2 for each in plan.noises}
    if len(least) == 1 or plan.neighbours == ADD_REMOVE:
        alone = sum(least.values())
        return max(alone, bound_together(plan)) if len(least) > 1 and not plan.is_narrowed else alone
    tables = []
    # What changes in tables of the same keys has no signs of its own.
    for members, bound in () if plan.is_narrowed else _loose_tables(plan):
        each = sum(least.pop(id(_noise_of(plan.draws[i]))) for i in members)
        tables.append(max(each, bound / mu**2 * (1.0 - 2.0**-45)))
    return square_down(sum(map(math.sqrt, [*tables, *least.values()])) * (1 - 2.0**-45))


def bound_together(plan: Plan) -> float:
    """No Gaussian noise with the plan's guarantee has a smaller price for all draws; 0 where nothing is known.

    Draws that cannot share a noise add their own bounds. So do tables of the same keys: nobody is in any cell of each,
    and as parts of one body they would be bounded by more than they need. Guarantee: rounded down.
    Proof: docs/theory.md, statement 44.
    """
    if plan.neighbours != ADD_REMOVE:
        return 0.0
    scales = _scales(plan)
    crossed = [(tie.members, tie.bounding_law.lower) for tie in plan.ties if tie.how == KIND]
    apart, keyed = 0.0, set()
    for tables, bound in [*crossed, *_loose_tables(plan)]:
        apart += bound
        keyed |= {*tables}
    rest = [i for i in range(len(plan.draws)) if i not in keyed]
    rules = [plan.draws[i].row_rule or RowRule(()) for i in rest]
    where = everybody_of(rules, None, plan.neighbours).where if rules else None
    found = []
    for i in rest:
        draw = plan.draws[i]
        parts = _parts(draw, where, scales[i])
        if parts is None and draw.tie is not None:
            return 0.0
        if parts is None:
            apart += _alone(plan, draw)
        else:
            found.append((i, parts))
    joint = 0.0
    members, places = placed(found, scales)
    if members:
        try:
            with within_doubles():
                body = make_body([plan.draws[i] for i in members], places, where)
                joint = bound_of(body, plan.neighbours).lower if body.parts else body.people_weight
        except PlanError:
            return 0.0
    return (joint + apart) / plan.guarantee.mu**2 * (1.0 - 2.0**-45)


def _scales(plan: Plan) -> list[float]:
    return [draw.scale if draw.place is None else draw.place.scale for draw in plan.draws]


def _loose_tables(plan: Plan) -> Iterator[tuple[tuple[int, ...], float]]:
    """Tables of the same keys that do not share their noise, and their least price together at μ = 1."""
    own = [i for i, draw in enumerate(plan.draws) if draw.tie is None or draw.tie.members == (i,)]
    for members, bound in bound_tables(plan.draws, _scales(plan), plan.neighbours, own):
        yield members, sum(_alone(plan, plan.draws[i]) for i in members) if bound is None else bound


def _noise_of(draw: Draw) -> Draw | AnyTie:
    return draw if draw.tie is None else draw.tie


def _alone(plan: Plan, draw: Draw) -> float:
    """The least price of a draw that does not share its noise, at μ = 1."""
    noise = _noise_of(draw)
    return plan.worth_of(noise) * noise.lower_bound * noise.guarantee.mu**2


def _parts(draw: Draw, where: str | None, scale: float) -> tuple[Part, ...] | None:
    """What a person adds to a draw; None where it is not one of groups and columns, or has targets."""
    if draw.block.problem.features.targets is not None:
        return None
    try:
        with within_doubles():
            return parts_of(draw, where, scale)
    except PlanError:
        return None

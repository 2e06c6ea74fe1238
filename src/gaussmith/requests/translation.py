"""From a part of a question to its draw and the row rule of the table that feeds it. Sees bounds and rules, never data.

One person adds a vector of numbers. Sums are totals over a person's rows, clamped to their bounds; means over people
are each person's own mean. Means over rows are two sums, over all rows that count: the distances from the middle of
the bounds, and the rows themselves, of which a person has at most `rows_per_unit` (see `domains.people`). Which domain
holds what is asked is the matter of `plans.assembly`.
"""

from __future__ import annotations

from dataclasses import replace

from gaussmith.checks import is_number
from gaussmith.domains import Groups
from gaussmith.errors import RequestError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.plans import Block, Draw
from gaussmith.plans.assembly import ASSEMBLIES, Assembled, PersonRule
from gaussmith.plans.choice import plan_problem
from gaussmith.plans.draw import draw_filtered, draw_groups
from gaussmith.plans.row_rule import RowRule
from gaussmith.problem import Problem
from gaussmith.requests.parts import Part
from gaussmith.statistics.registry import STATISTICS
from gaussmith.statistics.statistic import VALUES


def assemble_part(part: Part, unit: str | None) -> Assembled:
    """Domain, answers and coordinates of a part."""
    rule = PersonRule(unit is not None, part.rows_per_unit or 1, part.mean_of, part.count, part.values_per_unit)
    made = ASSEMBLIES[part.over](part.asked, rule, part.weights, part.missing)
    names = [STATISTICS[asked.kind].name_of(asked.columns, *asked.arguments) for asked, _ in part.within]
    named = {name: where for name, (_, where) in zip(names, part.within, strict=True) if names.count(name) == 1}
    return replace(made, answers=made.answers.stating(named))


def plan_part(part: Part, unit: str | None, guarantee: Guarantee, neighbours: str) -> Draw:
    """The draw of a part of a question, with the row rule of its table."""
    is_marks = part.over == VALUES
    filtered = part.is_filtered and neighbours != ADD_REMOVE  # who passes is secret, though n is public
    if filtered and is_marks and part.count:
        raise RequestError(
            "the count of a filtered histogram under replace-one",
            "the number of all people is public there, and that of those who pass the filter is not",
            "make it a question of its own: count = true, where = …",
            code="filtered-histogram-count-under-replace-one",
        )
    made = assemble_part(part, unit)
    groups = Groups(part.by, made.domain, part.groups_per_unit) if part.by else None
    row_rule = rule_of(part, unit, made, () if groups is None else groups.columns)
    missing = missing_of(part, made)
    if groups is not None:
        draw = draw_groups(groups, guarantee, made.answers, neighbours, missing)
        return replace(draw, block=standing_in(draw.block, made.stand_ins), row_rule=row_rule)
    problem = Problem(made.domain, made.answers.features, ADD_REMOVE if filtered else neighbours)

    def plan_alone(share: Guarantee) -> Block:
        return standing_in(plan_problem(problem, made.answers, share, missing), made.stand_ins)

    draw = Draw(plan_alone(guarantee), guarantee, problem.neighbours, row_rule=row_rule)
    return draw_filtered(draw, neighbours, plan_alone) if filtered else draw


def rule_of(part: Part, unit: str | None, made: Assembled, by: tuple[str, ...]) -> RowRule:
    """How rows become the records of a part."""
    is_marks = part.over == VALUES
    return RowRule(
        made.made,
        unit,
        None if made.domain.rows_coordinate is None else part.rows_per_unit,
        by,
        1 if is_marks else part.groups_per_unit,
        part.columns,
        part.where,
        part.present,
        min(part.values_per_unit, made.domain.dimension) if is_marks else 1,
        stand_ins=tuple((column, float(value)) for column, value in part.missing.items() if is_number(value)),
    )


def missing_of(part: Part, made: Assembled) -> dict[str, float]:
    """What stands in for missing values, by coordinate, where the planner chooses it."""
    if made.stand_ins is not None:
        return {}
    named = zip(made.domain.names or (), made.made, strict=False)  # a column may have several, under different bounds
    return {name: part.missing[column] for name, (_, column) in named if column in part.missing}


def standing_in(block: Block, stand_ins: Array | None) -> Block:
    """The block with what stands in for missing values."""
    return block if stand_ins is None else replace(block, substitutes=stand_ins)

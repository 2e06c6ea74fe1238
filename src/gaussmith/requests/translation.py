"""From a part of a question to its draw and the row rule of the table that feeds it. Sees bounds and rules, never data.

One person adds a vector of numbers. Sums are totals over a person's rows, clamped to their bounds; means over people
are each person's own mean. Means over rows are two sums, over all rows that count: the distances from the middle of
the bounds, and the rows themselves, of which a person has at most `rows_per_unit` (see `domains.people`). Which domain
holds what is asked is the matter of `plans.assembly`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gaussmith.checks import is_number
from gaussmith.domains import FOUND, Domain, FoundGroups, Groups
from gaussmith.errors import RequestError
from gaussmith.expressions import split_filter
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.plans import Block, Draw
from gaussmith.plans.assembled import Assembled, PersonRule
from gaussmith.plans.assembly import ASSEMBLIES
from gaussmith.plans.choice import plan_problem
from gaussmith.plans.draw import draw_filtered, draw_groups, draw_public
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


def plan_part(
    part: Part,
    unit: str | None,
    guarantee: Guarantee,
    neighbours: str,
    find: Callable[[Domain], FoundGroups] | None = None,
) -> Draw:
    """The draw of a part of a question, with the row rule of its table; `find` makes groups whose keys are found."""
    person, unit = unit, None if part.person_columns else unit  # then each person is one row
    where, person_where = split_filter(part.where, dict(part.person_columns))
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
    if find is not None and made.domain.records_are_rows:
        raise RequestError(
            "variances, covariances or a regression over rows in groups that are found",
            "they are over rows in declared groups only",
            'declare the groups, or write mean_of = "units"',
            code="row-moments-in-found-groups",
        )
    groups: Groups | None = None if find is None else find(made.domain)
    if part.by and find is None:
        groups = Groups(part.by, made.domain, part.groups_per_unit, part.group_weights)
    row_rule = RowRule(
        made.made,
        person,
        None if made.domain.rows_coordinate is None else part.rows_per_unit,
        () if groups is None else groups.columns,
        1 if is_marks and not part.by else part.groups_per_unit,
        part.columns,
        where,
        part.present,
        min(part.values_per_unit, made.domain.dimension) if is_marks else 1,
        complete=part.complete,
        complete_by_type=part.complete_by_type,
        cuts=made.cuts,
        stand_ins=tuple((column, float(value)) for column, value in part.missing.items() if is_number(value)),
        person_columns=part.person_columns,
        person_where=person_where,
        by_cuts=part.by_cuts,
        found=() if find is None else tuple(name for name, keys in part.by.items() if keys == FOUND),
    )
    row_rule = replace(row_rule, **made.rule)
    missing = {}
    if made.stand_ins is None:  # one column may have several coordinates, under different bounds
        named = zip(made.domain.names or (), made.made, strict=False)
        missing = {name: part.missing[column] for name, (_, column) in named if column in part.missing}
        missing = {**_in_both(made), **missing}
    if groups is not None:
        if isinstance(groups, FoundGroups):
            from gaussmith.plans.found_draws import draw_found

            draw = draw_found(groups, guarantee, made.answers, missing)
        else:
            draw = draw_groups(groups, guarantee, made.answers, neighbours, missing)
        return replace(draw, block=_standing_in(draw.block, made.stand_ins), row_rule=row_rule)
    problem = Problem(made.domain, made.answers.features, ADD_REMOVE if filtered else neighbours)
    if made.domain.dimension == 0 and not problem.secret_count:
        return replace(draw_public(made.domain, made.answers, guarantee, neighbours), row_rule=row_rule)

    def plan_alone(share: Guarantee) -> Block:
        return _standing_in(plan_problem(problem, made.answers, share, missing), made.stand_ins)

    draw = Draw(plan_alone(guarantee), guarantee, problem.neighbours, row_rule=row_rule)
    return draw_filtered(draw, neighbours, plan_alone) if filtered else draw


def _in_both(made: Assembled) -> dict[str, float]:
    """The middle of a column that is in a sum and in a mean: it stands in only where a promise is broken."""
    features, domain = made.answers.features, made.domain
    if features.is_linear or not features.size:
        return {}
    ways = ({*features.index[features.centred].tolist()}, {*features.index[~features.centred].tolist()})
    return {domain.name(j): float(domain.middles[j]) for j in ways[0] & ways[1]}


def _standing_in(block: Block, stand_ins: Array | None) -> Block:
    return block if stand_ins is None else replace(block, substitutes=stand_ins)

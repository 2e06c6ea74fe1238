"""From a question to its plan and the row rule of the table that feeds it. Sees bounds and rules, never data.

One person adds a vector of numbers. Sums are totals over a person's rows, clamped to their bounds; means over people
are each person's own mean. Means over rows are two sums, over all rows that count: the distances from the middle of
the bounds, and the rows themselves, of which a person has at most `rows_per_unit` (see `domains.people`). Which domain
holds what is asked is the matter of `plans.assembly`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gaussmith.checks import is_number
from gaussmith.domains import Groups
from gaussmith.errors import RequestError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.plans import Block, Draw
from gaussmith.plans.assembly import AskedAnswer, Assembled, PersonRule, assemble, assemble_histogram
from gaussmith.plans.choice import plan_problem
from gaussmith.plans.draw import draw_filtered, draw_groups, draw_public
from gaussmith.plans.row_rule import RowRule
from gaussmith.problem import Problem
from gaussmith.problem.features import BoundedColumn
from gaussmith.requests.question import Question
from gaussmith.statistics import Means
from gaussmith.statistics.registry import STATISTICS


def asked_of(question: Question) -> list[AskedAnswer]:
    """The answers of a question about columns, in order: sums, then means."""
    return [
        AskedAnswer(kind, (BoundedColumn(column, low, high),))
        for kind, known in STATISTICS.items()
        if known.field is not None
        for column, (low, high) in getattr(question, known.field, {}).items()
    ]


def assemble_question(question: Question, unit: str | None, asked: Sequence[AskedAnswer]) -> Assembled:
    """Domain, answers and coordinates of a question."""
    if question.histograms:
        ((column, values),) = question.histograms.items()
        few = min(question.values_per_unit, len(values))
        return assemble_histogram(column, values, few, bool(question.count))
    rule = PersonRule(unit is not None, question.rows_per_unit or 1, question.mean_of, question.count)
    made = assemble(asked, rule, question.weights, question.missing)
    named = {
        Means.name_of((BoundedColumn(column, *where),)): where for column, where in question.where_means_lie.items()
    }
    return replace(made, answers=made.answers.stating(named))


def plan_question(
    question: Question,
    unit: str | None,
    guarantee: Guarantee,
    neighbours: str,
    asked: Sequence[AskedAnswer] | None = None,
) -> Draw:
    """The draw of a question, with the row rule of its table; `asked` gives the answers where they are not its own."""
    question.check_unit(unit)
    filtered = question.where is not None and neighbours != ADD_REMOVE  # who passes is secret, though n is public
    if filtered and question.histograms and question.count:
        raise RequestError(
            "the count of a filtered histogram under replace-one",
            "the number of all people is public there, and that of those who pass the filter is not",
            "make it a question of its own: count = true, where = …",
            code="filtered-histogram-count-under-replace-one",
        )
    made = assemble_question(question, unit, asked_of(question) if asked is None else asked)
    groups = None
    if question.by:
        groups = Groups(question.by, made.domain, question.groups_per_unit, question.group_weights)
    elif question.group_weights:
        raise RequestError(
            "group_weights without groups",
            "they apply only to groups",
            "declare them: by = …",
            code="group-weights-without-groups",
        )
    if groups is None and not question.histograms and question.groups_per_unit != 1:
        raise RequestError(
            f"groups_per_unit={question.groups_per_unit} without groups",
            "it applies only to groups",
            "declare them: by = …",
            code="groups-per-unit-without-groups",
            groups_per_unit=question.groups_per_unit,
        )
    row_rule = RowRule(
        made.made,
        unit,
        None if made.domain.rows_coordinate is None else question.rows_per_unit,
        () if groups is None else groups.columns,
        1 if question.histograms else question.groups_per_unit,
        tuple(question.columns.items()),
        question.where,
        min(question.values_per_unit, made.domain.dimension) if question.histograms else 1,
        stand_ins=tuple((column, float(value)) for column, value in question.missing.items() if is_number(value)),
    )
    missing = {}
    if made.stand_ins is None:  # one column may have several coordinates, under different bounds
        named = zip(made.domain.names or (), made.made, strict=False)
        missing = {name: question.missing[column] for name, (_, column) in named if column in question.missing}
    if groups is not None:
        draw = draw_groups(groups, guarantee, made.answers, neighbours, missing)
        return replace(draw, block=_standing_in(draw.block, made.stand_ins), row_rule=row_rule)
    problem = Problem(made.domain, made.answers.features, ADD_REMOVE if filtered else neighbours)
    if made.domain.dimension == 0 and not problem.secret_count:
        return replace(draw_public(made.domain, made.answers, guarantee, neighbours), row_rule=row_rule)

    def plan_alone(share: Guarantee) -> Block:
        return _standing_in(plan_problem(problem, made.answers, share, missing), made.stand_ins)

    draw = Draw(plan_alone(guarantee), guarantee, problem.neighbours, row_rule=row_rule)
    return draw_filtered(draw, neighbours, plan_alone) if filtered else draw


def _standing_in(block: Block, stand_ins: Array | None) -> Block:
    return block if stand_ins is None else replace(block, substitutes=stand_ins)

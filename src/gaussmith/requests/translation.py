"""From a question to its plan and the row rule of the table that feeds it. Sees bounds and rules, never data.

One person adds a vector of numbers. Sums are totals over a person's rows, clamped to their bounds; means over people
are each person's own mean. Means over rows are two sums, over all rows that count: the distances from the middle of
the bounds, and the rows themselves, of which a person has at most `rows_per_unit` (see `domains.people`).

Weights "relative" measure every error by what one person can change: the width of the bounds of a sum or a mean over
people, `rows_per_unit` times the width for a mean over rows, `rows_per_unit` for the number of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaussmith.checks import is_number
from gaussmith.domains import Box, Cells, Counts, Domain, Groups, People, Records
from gaussmith.errors import RequestError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.plans import Block, Draw
from gaussmith.plans.choice import plan_problem
from gaussmith.plans.draw import draw_groups
from gaussmith.plans.row_rule import MEAN as OWN_MEAN
from gaussmith.plans.row_rule import ROW_SUM, ROWS, TOTAL, VALUES, RowRule
from gaussmith.problem import Problem
from gaussmith.problem.answers import MEAN, SUM, Answers, ask, read_weights
from gaussmith.problem.codes import centre_of
from gaussmith.requests.question import Question

Asked = tuple[str, str, float, float]
"""One answer: "sum" or "mean", the column, its bounds."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a question comes to: the domain of one person, the answers, what stands in for missing values (None: the
    planner's own rule), and what each coordinate is made of."""

    domain: Domain
    answers: Answers
    stand_ins: Array | None
    features: tuple[tuple[str, str], ...]


def asked_of(question: Question) -> list[Asked]:
    """The answers of a question in order: sums, then means."""
    return [
        (kind, column, low, high)
        for kind, bounds in ((SUM, question.sums), (MEAN, question.means))
        for column, (low, high) in bounds.items()
    ]


def plan_question(
    question: Question, unit: str | None, guarantee: Guarantee, neighbours: str, asked: Sequence[Asked] | None = None
) -> Draw:
    """The draw of a question, with the row rule of its table; `asked` gives the answers where they are not its own."""
    question.check_unit(unit)
    if question.where is not None and neighbours != ADD_REMOVE:
        raise RequestError(
            "where under replace-one",
            "the number of people is public, and a filter would reveal who passes it",
            'leave neighbours out: the default is "add-remove"',
            code="where-under-replace-one",
        )
    if question.histograms:
        return _plan_histogram(question, unit, guarantee, neighbours)
    drawn = draw_question(question, unit, asked_of(question) if asked is None else asked)
    groups = Groups(question.by, drawn.domain, question.groups_per_unit) if question.by else None
    if groups is None and question.groups_per_unit != 1:
        raise RequestError(
            f"groups_per_unit={question.groups_per_unit} without groups",
            "it applies only to groups",
            "declare them: by = …",
            code="groups-per-unit-without-groups",
            groups_per_unit=question.groups_per_unit,
        )
    row_rule = RowRule(
        drawn.features,
        unit,
        None if drawn.domain.rows_coordinate is None else question.rows_per_unit,
        () if groups is None else groups.columns,
        question.groups_per_unit,
        tuple(question.columns.items()),
        question.where,
        stand_ins=tuple((column, float(value)) for column, value in question.missing.items() if is_number(value)),
    )
    missing = {}
    if drawn.stand_ins is None:  # one column may have several coordinates, under different bounds
        named = zip(drawn.domain.names or (), drawn.features, strict=True)
        missing = {name: question.missing[column] for name, (_, column) in named if column in question.missing}
    if groups is not None:
        draw = draw_groups(groups, guarantee, drawn.answers, neighbours, missing)
        return replace(draw, block=_standing_in(draw.block, drawn.stand_ins), row_rule=row_rule)
    block = plan_problem(Problem(drawn.domain, drawn.answers, neighbours), guarantee, missing)
    return Draw(_standing_in(block, drawn.stand_ins), guarantee, neighbours, row_rule=row_rule)


def _plan_histogram(question: Question, unit: str | None, guarantee: Guarantee, neighbours: str) -> Draw:
    """How many people have each value: each counts in one of them, or in a few; or in none."""
    ((column, values),) = question.histograms.items()
    k = min(question.values_per_unit, len(values))
    domain: Domain = Cells(values, or_none=True) if k == 1 else Counts(values, at_most=k)
    answers = ask(domain, count=bool(question.count))
    answers = replace(answers, names=tuple(f"{column}={name}" for name in answers.names))
    row_rule = RowRule(
        ((VALUES, column),),
        unit,
        columns=tuple(question.columns.items()),
        where=question.where,
        values_per_unit=k,
    )
    return Draw(plan_problem(Problem(domain, answers, neighbours), guarantee), guarantee, neighbours, row_rule=row_rule)


def _standing_in(block: Block, stand_ins: Array | None) -> Block:
    return block if stand_ins is None else replace(block, substitutes=stand_ins)


def draw_question(question: Question, unit: str | None, asked: Sequence[Asked]) -> Drawn:
    """Domain, answers and features of a question about rows that are people, or about people with rows."""
    if unit is None:
        return _of_rows(question, asked)
    k = question.rows_per_unit or 1
    over_rows = k > 1 and (question.count == "rows" or (question.mean_of == "rows" and bool(question.means)))
    return _of_people_with_rows(question, asked, k) if over_rows else _of_people(question, asked)


def _of_rows(question: Question, asked: Sequence[Asked]) -> Drawn:
    """Each row is a person: a column asked twice with the same bounds is read once."""
    names: dict[tuple[str, float, float], str] = {}
    for _, column, low, high in asked:
        if (column, low, high) not in names:
            names[column, low, high] = _free(names.values(), column, f"{column} within {low:g} to {high:g}")
    for column in question.sums:
        if column in question.means and column not in question.missing:
            raise RequestError(
                f"column {column!r} is asked for both as a sum and as a mean",
                "missing values are replaced differently in sums and means",
                f"choose one value: missing = {{ {column} = 0 }}",
                code="request-sum-and-mean-without-missing",
                column=column,
            )
    places = list(names)
    domain: Domain = Box({names[key]: key[1:] for key in places}) if places else Records()
    kinds = [(places.index((c, low, high)), kind, f"{c}_{kind}") for kind, c, low, high in asked]
    answers = ask(domain, count=bool(question.count), weights=question.weights, kinds=kinds)
    return Drawn(domain, answers, None, tuple((TOTAL, column) for column, _, _ in places))


def _of_people(question: Question, asked: Sequence[Asked]) -> Drawn:
    """People by their totals and their own means: a box."""
    names = _distinct(asked)
    domain: Domain = (
        Box({n: (low, high) for n, (_, _, low, high) in zip(names, asked, strict=True)}) if asked else Records()
    )
    kinds = [(j, kind, f"{column}_{kind}") for j, (kind, column, _, _) in enumerate(asked)]
    answers = ask(domain, count=bool(question.count), weights=question.weights, kinds=kinds)
    features = tuple((TOTAL if kind == SUM else OWN_MEAN, column) for kind, column, _, _ in asked)
    return Drawn(domain, answers, _stand_ins(question.missing, asked), features)


def _of_people_with_rows(question: Question, asked: Sequence[Asked], k: int) -> Drawn:
    """People by their totals, or own means, and by their rows: a cone."""
    ratio = question.mean_of == "rows"
    own = [a for a in asked if a[0] == SUM or not ratio]
    over = [a for a in asked if a[0] == MEAN and ratio]
    names = _distinct([*own, *over])
    boxes = [
        Box({n: (low, high) for n, (_, _, low, high) in zip(part_names, part, strict=True)}) if part else None
        for part_names, part in ((names[: len(own)], own), (names[len(own) :], over))
    ]
    domain = People(boxes[0], boxes[1], k)
    size = len(own) + len(over)
    shown = question.count == "rows"
    numbers, label = read_weights(question.weights, 2 * domain.radius[:size], size)
    over_weights = numbers[len(own) :]
    rows_weight = float(over_weights @ domain.spread[len(own) : size])
    if shown:
        rows_weight += 1.0 / k**2 if label == "relative" else 1.0
    answers = Answers(
        (*(f"{column}_{kind}" for kind, column, _, _ in [*own, *over]), "count"),
        np.arange(size + 1),
        np.array([kind == MEAN and not ratio for kind, *_ in [*own, *over]] + [False]),
        None,
        question.count is True,
        np.append(numbers, rows_weight),
        label,
        np.array([-1] * len(own) + [size] * len(over) + [-1]),
        np.concatenate([np.zeros(len(own)), domain.row_centres, [0.0]]),
        hidden=0 if shown else 1,
    )
    kinds = [TOTAL if kind == SUM else OWN_MEAN for kind, *_ in own] + [ROW_SUM] * len(over)
    columns = [column for _, column, _, _ in [*own, *over]]
    features = (*zip(kinds, columns, strict=True), (ROWS, ""))
    stand_ins = np.append(_stand_ins(question.missing, [*own, *over]), 0.0)
    return Drawn(domain, answers, stand_ins, features)


def _distinct(asked: Sequence[Asked]) -> list[str]:
    """A name for each coordinate: the column's, or one that tells it from the others."""
    names: list[str] = []
    for kind, column, low, high in asked:
        within = f"{column} {kind} within {low:g} to {high:g}"
        names.append(_free(names, column, f"{column} {kind}", within))
    return names


def _free(taken: Collection[str], *names: str) -> str:
    """The first of these names that is not taken yet, or else the last of them with a number."""
    numbered = (f"{names[-1]} ({i})" for i in itertools.count(2))
    return next(name for name in itertools.chain(names, numbered) if name not in taken)


def _stand_ins(missing: Mapping[str, Any], asked: Sequence[Asked]) -> Array:
    """What stands in for a missing value of a row: nothing in a total, the centre in a mean; or what `missing` says."""
    values = []
    for kind, column, low, high in asked:
        lowest, highest = (min(low, 0.0), max(high, 0.0)) if kind == SUM else (low, high)
        value = missing.get(column, 0.0 if kind == SUM else float(centre_of(np.array(low), np.array(high))))
        if not (is_number(value) and lowest <= value <= highest):
            raise RequestError(
                f"missing = {{ {column} = {value!r} }}",
                f"a value that replaces missing ones must lie between {lowest:g} and {highest:g}",
                "choose a value inside them",
                code="request-missing-outside-bounds",
                column=column,
                value=value,
                lowest=lowest,
                highest=highest,
            )
        values.append(float(value))
    return np.array(values, float)

"""From statistics over columns to a problem: the smallest domain that holds the features that they need.

    rows are people                  one coordinate for each column within its bounds: a box
    people by totals and own means   one coordinate for each of these: a box
    people with rows                 totals, own means, sums over rows and the number of rows: a cone (`domains.people`)
    nothing but the number           records
    declared values of a column      cells, or counts where a person has several of them
    squares and products             values, squares and products (`plans.moment_assembly`)

Weights "relative" measure every error by what one person can change: the width of the bounds of a sum or a mean over
people, `rows_per_unit` times the width for a mean over rows, `rows_per_unit` for the number of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gaussmith.checks import is_number
from gaussmith.domains import Box, Domain, Records
from gaussmith.errors import RequestError
from gaussmith.numerics.linear import Array
from gaussmith.plans.assembled import Assembled, PersonRule
from gaussmith.plans.cell_assembly import assemble_limits, assemble_quantiles, assemble_tables
from gaussmith.plans.moment_assembly import assemble_moments
from gaussmith.problem.codes import centre_of
from gaussmith.problem.features import ROW_SUM, ROWS, TOTAL, VALUES, Need, One, Value, of_coordinates
from gaussmith.statistics import ONE, Answers, Count, Histograms, Statistic
from gaussmith.statistics.asking import ground_of, read_weights
from gaussmith.statistics.count import NAME
from gaussmith.statistics.registry import STATISTICS
from gaussmith.statistics.statistic import CELLS, LIMITS, MOMENTS, NUMBERS, TABLES, AskedAnswer, Ground
from gaussmith.statistics.statistic import VALUES as VALUES_OF


def assemble(asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]) -> Assembled:
    """The domain, the answers and the coordinates of statistics over columns; and of the number of people or rows."""
    needed = [_needs(a, rule) for a in asked]
    values = [need for needs in needed for need in needs if need.column is not None]
    over_rows = rule.counts_rows or any(need == One(of_rows=True) for needs in needed for need in needs)
    coordinates = _coordinates(values, rule.unit)
    domain = _domain(coordinates, rule, over_rows)
    # The features: each value once, in order; then the number of rows, where it is needed.
    at = {coordinate: j for j, coordinate in enumerate(coordinates)}
    distinct = {value: i for i, value in enumerate(dict.fromkeys(values))}
    index = [at[_coordinate(value, rule.unit)] for value in distinct]
    centred = [value.centred for value in distinct]
    rows_place = len(distinct)
    if over_rows:
        index, centred = [*index, len(coordinates)], [*centred, False]
    features = of_coordinates(np.array(index, np.int64), np.array(centred, bool))
    places = [[_place(need, distinct, rows_place) for need in needs] for needs in needed]
    leads = np.array([index[first] for first, *_ in places], np.int64)
    numbers, label = read_weights(weights, domain.ranges[leads], len(asked))
    statistics = _placed(asked, places, numbers, ground_of(domain, features))
    if rule.counts_rows:
        weight = 1.0 / rule.rows_per_unit**2 if label == "relative" else 1.0
        statistics.append(Count((NAME,), np.array([[rows_place]]), np.array([weight])))
    elif rule.count:
        statistics.append(Count.of_records())
    made = tuple((value.made, value.column.name) for value in coordinates)
    stand_ins = _stand_ins(missing, coordinates) if rule.unit else None
    if over_rows:
        assert stand_ins is not None
        made, stand_ins = (*made, (ROWS, "")), np.append(stand_ins, 0.0)
    return Assembled(domain, Answers.of(features, statistics, label), stand_ins, made)


def assemble_values(
    asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]
) -> Assembled:
    """How many people have each value of a column: each counts in one of them, or in a few; or in none."""
    from gaussmith.domains import Cells, Counts

    ((_, _, (column, values, cut)),) = asked
    at_most, count = min(rule.values_per_unit, len(values)), bool(rule.count)
    domain: Domain = Cells(values, or_none=True) if at_most == 1 else Counts(values, at_most=at_most)
    domain.check_coordinates()
    d = domain.dimension
    names = tuple(Histograms.label(column, domain.name(j)) for j in range(d))
    histogram = STATISTICS[asked[0].kind](names, np.arange(d)[:, None], np.ones(d))
    features = of_coordinates(np.arange(d), np.zeros(d, bool))
    answers = Answers.of(features, [histogram, *([Count.of_records()] if count else [])], "equal")
    return Assembled(domain, answers, None, ((VALUES, column),), cuts=() if cut is None else ((column, cut),))


ASSEMBLIES = {
    NUMBERS: assemble,
    VALUES_OF: assemble_values,
    CELLS: assemble_quantiles,
    TABLES: assemble_tables,
    MOMENTS: assemble_moments,
    LIMITS: assemble_limits,
}
"""By `Statistic.over`: what makes the domain, the answers and the coordinates of a part of a question."""


def _needs(asked: AskedAnswer, rule: PersonRule) -> tuple[Need, ...]:
    known = STATISTICS[asked.kind]
    return known.needs(asked.columns, rule.of(known.divided))


def _placed(
    asked: Sequence[AskedAnswer], places: Sequence[Sequence[int]], weights: Array, ground: Ground
) -> list[Statistic]:
    """The statistics that read these places, in order; neighbours of one kind are read together."""
    found: list[Statistic] = []
    for kind, members in itertools.groupby(range(len(asked)), key=lambda i: asked[i].kind):
        some, known = list(members), STATISTICS[kind]
        names = tuple(known.name_of(asked[i].columns, *asked[i].arguments) for i in some)
        read = np.array([places[i] for i in some], np.int64)
        found.append(known.placed(names, read, weights[some], ground))
    return found


def _place(need: Need, places: Mapping[Value, int], rows_place: int) -> int:
    if need.column is None:
        return rows_place if need.of_rows else ONE
    return places[need]


def _coordinate(value: Value, unit: bool) -> Value:
    """The coordinate that a feature adds up: where each row is a person, a column within bounds is read once."""
    return Value(value.column, value.made) if unit else Value(value.column)


def _coordinates(values: Sequence[Value], unit: bool) -> list[Value]:
    """What a person adds: numbers of the person first, then sums over rows."""
    found = list(dict.fromkeys(_coordinate(value, unit) for value in values))
    return sorted(found, key=lambda value: value.made == ROW_SUM)


def _domain(coordinates: Sequence[Value], rule: PersonRule, over_rows: bool) -> Domain:
    names = _distinct(coordinates, rule.unit)
    named = [(name, value.column[1:], value.made == ROW_SUM) for name, value in zip(names, coordinates, strict=True)]
    own, rows = ({name: bounds for name, bounds, summed in named if summed == of_rows} for of_rows in (False, True))
    if over_rows:
        from gaussmith.domains import People

        return People(Box(own) if own else None, Box(rows) if rows else None, rule.rows_per_unit)
    if own:
        return Box(own)
    return Records()


def _distinct(coordinates: Sequence[Value], unit: bool) -> list[str]:
    """A name for each coordinate: the column's, or one that tells it from the others."""
    names: list[str] = []
    for (column, low, high), made in ((value.column, value.made) for value in coordinates):
        kinds = [f"{column} {'sum' if made == TOTAL else 'mean'}"] if unit else []
        names.append(_free(names, column, *kinds, f"{(kinds or [column])[-1]} within {low:g} to {high:g}"))
    return names


def _free(taken: Collection[str], *names: str) -> str:
    """The first of these names that is not taken yet, or else the last of them with a number."""
    numbered = (f"{names[-1]} ({i})" for i in itertools.count(2))
    return next(name for name in itertools.chain(names, numbered) if name not in taken)


def _stand_ins(missing: Mapping[str, Any], coordinates: Sequence[Value]) -> Array:
    """What stands in for a missing value of a row: nothing in a total, the centre in a mean; or what `missing` says."""
    values = []
    for (column, low, high), made in ((value.column, value.made) for value in coordinates):
        lowest, highest = (min(low, 0.0), max(high, 0.0)) if made == TOTAL else (low, high)
        value = missing.get(column, 0.0 if made == TOTAL else float(centre_of(np.array(low), np.array(high))))
        if not (is_number(value) and lowest <= value <= highest):
            raise RequestError(
                f"missing of {column!r} = {value!r}",
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

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
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from gaussmith.checks import is_number
from gaussmith.domains.box import Box, Records
from gaussmith.domains.domain import Domain, check_coordinates
from gaussmith.domains.encoding import centre_of
from gaussmith.domains.features import (
    MEAN,
    ROW_SUM,
    ROWS,
    TABLED,
    TOTAL,
    VALUES,
    Need,
    One,
    Value,
    of_coordinates,
    of_workload,
)
from gaussmith.domains.workloads import marginals, prefix
from gaussmith.errors import RequestError
from gaussmith.expressions.keys import Cut
from gaussmith.numerics.exact import Array
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.asking import Number, ask_moments, ask_workload, ground_of, numbers_of, read_weights
from gaussmith.statistics.histogram import Histograms
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.registry import STATISTICS
from gaussmith.statistics.statistic import CELLS, LIMITS, MOMENTS, NUMBERS, ONE, TABLES, AskedAnswer, Ground, Statistic
from gaussmith.statistics.statistic import VALUES as VALUES_OF
from gaussmith.statistics.sum import NAME, Count

# What is made of a part of a question: how people come out of rows, and the problem that this makes.


@dataclass(frozen=True)
class PersonRule:
    """How people come out of rows, and what numbers are over.

    `unit` is False where each row is a person; else `rows_per_unit` rows of a person count. `means_of` and `count` say
    whether means are over "rows" or "units", and whether people (True) or "rows" are counted. A person counts in at
    most `values_per_unit` of some declared values.
    """

    unit: bool
    rows_per_unit: int
    means_of: str
    count: bool | str
    values_per_unit: int = 1

    def of(self, divided: bool) -> str:
        """Whose numbers a statistic is about: those of records (rows are people), of people or of rows."""
        if not self.unit:
            return "records"
        return "rows" if divided and self.means_of == "rows" and self.rows_per_unit > 1 else "people"

    @property
    def counts_rows(self) -> bool:
        """Whether rows are counted, and are not people."""
        return self.unit and self.count == "rows" and self.rows_per_unit > 1


@dataclass(frozen=True, eq=False)
class Assembled:
    """The domain of one person, the answers, what stands in for missing values (None: the planner's own rule), and
    what each coordinate is made of."""

    domain: Domain
    answers: Answers
    stand_ins: Array | None
    made: tuple[tuple[str, str], ...]
    cuts: tuple[tuple[str, Cut], ...] = ()
    """The cells of columns that are counted in cells."""
    rule: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the row rule that are not those of the question's part."""


# From quantiles and tables to a problem: cells of which a person is in one, and what is asked of their counts.
#
# limits how many people are in each cell between and beyond the limits of a question (`plans.limit_cells`) quantiles
# the numbers of people below each edge of the cells of one column; a person without a value is in no cell tables
# marginals of the cells of several columns, one more cell for what is missing or not declared

MAX_COMBINATIONS = 1 << 48
"""Limit on the cells of all columns of tables together: one number ranks them by up to 2^14 rows of a person."""

OTHER, MISSING = "(other)", "(missing)"
"""The cells of what is not declared, and of what is missing where every value has a cell."""


def assemble_quantiles(
    asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]
) -> Assembled:
    """Quantiles of one number of each person."""
    from gaussmith.domains.cells import Cells

    ((_, _, (column, levels, cut, made), *_),) = asked
    names, wanted = zip(*levels, strict=True)
    domain = Cells({column: cut.cells}, or_none=True)
    read = Quantiles.reading(names, wanted, cut.limits)
    answers = Answers.of(of_workload(prefix(cut.cells)), [read], "equal")
    return Assembled(domain, answers, None, ((made, column),), ((column, cut),))


def assemble_choice(
    asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]
) -> Assembled:
    """One quantile of one number of each person, chosen among fine cells within bounds, at an ε that is set later."""
    from gaussmith.domains.chosen_cells import ChosenCells
    from gaussmith.privacy.choices import level_of
    from gaussmith.statistics.chosen import ChosenQuantiles

    ((_, _, (column, ((name, level),), cut, made), *_),) = asked
    domain = ChosenCells(column, level_of(level), cut.ends, Fraction(1))
    read = ChosenQuantiles.around(name, level, domain.fine, 1.0)
    own = Cut(tuple(domain.fine.nominal[1:-1]), ends=cut.ends)
    answers = Answers.of(of_workload(prefix(domain.dimension)), [read], "equal")
    return Assembled(domain, answers, None, ((made, column),), ((column, own),))


def assemble_tables(
    asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]
) -> Assembled:
    """Tables over some columns each, all of them together: they add up."""
    from gaussmith.domains.cells import Cells

    ((_, _, (tables, declared), *_),) = asked
    columns = [column for column, _, _ in declared]
    labels = {column: [*values, OTHER if cut is None else MISSING] for column, values, cut in declared}
    sizes = [len(each) for each in labels.values()]
    whole = math.prod(sizes)
    if whole > MAX_COMBINATIONS:
        raise RequestError(
            f"marginals over {whole:.3g} combinations of values",
            f"all columns together have at most {MAX_COMBINATIONS:,}",
            "ask for tables of other columns in another question",
            code="too-many-combinations",
            combinations=whole,
        )
    domain = Cells(labels, other={c: labels[c][-1] for c in columns})
    ways = [tuple(sorted(columns.index(column) for column in table)) for table in tables]
    work = marginals(sizes, ways)
    cuts = tuple((column, cut) for column, _, cut in declared if cut is not None)
    answers = ask_workload(domain, work, bool(rule.count), "equal")
    return Assembled(domain, answers, None, tuple((TABLED, column) for column in columns), cuts)


def assemble_limits(
    asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]
) -> Assembled:
    """How many people are between the limits of a question and how many beyond; each is in one cell."""
    from gaussmith.domains.cells import Cells
    from gaussmith.statistics.histogram import Diagnosis

    ((_, _, (names, kind, column, ends, own), *_),) = asked
    domain, d = Cells(list(names), or_none=True), len(names)
    features = of_coordinates(np.arange(d), np.zeros(d, bool))
    read = Diagnosis(names, np.arange(d)[:, None], np.ones(d))
    cuts = () if ends is None else ((column, Cut((), ends=ends)),)
    return Assembled(domain, Answers.of(features, [read], "equal"), None, ((kind, column),), cuts, dict(own))


# Statistics of squares and products: the domain of the numbers that they need, and of their products.

AROUND = 0.15
"""Where squares are measured from, as a share of the largest: that of data with a standard deviation of 0.3 of the half
range and a mean as far from the middle."""


def assemble_moments(
    asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]
) -> Assembled:
    """Domain, answers and coordinates of statistics of second moments: of rows that are people, of people's own
    means, or of the rows of people."""
    from gaussmith.domains.box import Box
    from gaussmith.domains.moments import Moments
    from gaussmith.domains.row_moments import RowMoments

    of = rule.of(divided=True)
    needed = [STATISTICS[each.kind].needs(each.columns, of) for each in asked]
    numbers, pairs = numbers_of(needed)
    at = {number: j for j, number in enumerate(numbers)}
    names = _names(numbers)
    box = Box({name: (column.low, column.high) for name, (column, _) in zip(names, numbers, strict=True)})
    places = [(at[first], at[second]) for first, second in pairs]
    over_rows = of == "rows"
    domain = RowMoments(box, places, AROUND, rule.rows_per_unit) if over_rows else Moments(box, places, AROUND)
    answers = ask_moments(domain, asked, needed, at, weights, bool(rule.count))
    stand_ins = np.array(
        [missing.get(column.name, middle) for (column, _), middle in zip(numbers, box.centre, strict=True)]
    )
    made = tuple((made, column.name) for column, made in numbers)
    limits = {"rows_per_unit": rule.rows_per_unit} if over_rows else {}
    return Assembled(domain, answers, stand_ins if rule.unit else None, made, rule=limits)


def _names(numbers: Sequence[Number]) -> list[str]:
    """A name for each number: the column's, or one with its bounds where a column has several."""
    names: list[str] = []
    for column, made in numbers:
        name = column.name
        if [other.name for other, _ in numbers].count(name) > 1:
            name = f"{name} {'mean' if made == MEAN else ''} within {column.low:g} to {column.high:g}".replace(
                "  ", " "
            )
        names.append(name)
    return names


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
    from gaussmith.domains.cells import Cells
    from gaussmith.domains.counts import Counts

    ((_, _, (column, values, cut), *_),) = asked
    at_most, count = min(rule.values_per_unit, len(values)), bool(rule.count)
    domain: Domain = Cells(values, or_none=True) if at_most == 1 else Counts(values, at_most=at_most)
    check_coordinates(domain)
    d = domain.dimension
    names = Histograms.labels(column, domain.names or [str(j) for j in range(d)])
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
        from gaussmith.domains.people import People

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

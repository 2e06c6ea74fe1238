"""Statistics of squares and products: the domain of the numbers that they need, and of their products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gaussmith.plans.assembled import Assembled, PersonRule
from gaussmith.problem.features import MEAN
from gaussmith.statistics.asking_moments import Number, ask_moments, numbers_of
from gaussmith.statistics.registry import STATISTICS
from gaussmith.statistics.statistic import AskedAnswer

AROUND = 0.15
"""Where squares are measured from, as a share of the largest: that of data with a standard deviation of 0.3 of the half
range and a mean as far from the middle."""


def assemble_moments(
    asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]
) -> Assembled:
    """Domain, answers and coordinates of statistics of second moments: of rows that are people, of people's own
    means, or of the rows of people."""
    from gaussmith.domains import Box, Moments, RowMoments

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

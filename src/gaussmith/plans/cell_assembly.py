"""From quantiles and tables to a problem: cells of which a person is in one, and what is asked of their counts.

limits      how many people are in each cell between and beyond the limits of a question (`plans.limit_cells`)
quantiles   the numbers of people below each edge of the cells of one column; a person without a value is in no cell
tables      marginals of the cells of several columns, one more cell for what is missing or not declared
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gaussmith.errors import RequestError
from gaussmith.expressions.cuts import Cut
from gaussmith.plans.assembled import Assembled, PersonRule
from gaussmith.problem.features import TABLED, of_coordinates, of_workload
from gaussmith.statistics import Answers, Quantiles
from gaussmith.statistics.asking import ask_workload
from gaussmith.statistics.statistic import AskedAnswer
from gaussmith.workloads import marginals, prefix

MAX_COMBINATIONS = 1 << 40
"""Limit on the cells of all columns of tables together: one number names each."""

OTHER, MISSING = "(other)", "(missing)"
"""The cells of what is not declared, and of what is missing where every value has a cell."""


def assemble_quantiles(
    asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]
) -> Assembled:
    """Quantiles of one number of each person."""
    from gaussmith.domains import Cells

    ((_, _, (column, levels, cut, made)),) = asked
    names, wanted = zip(*levels, strict=True)
    domain = Cells({column: cut.cells}, or_none=True)
    read = Quantiles.reading(names, wanted, cut.limits)
    answers = Answers.of(of_workload(prefix(cut.cells)), [read], "equal")
    return Assembled(domain, answers, None, ((made, column),), ((column, cut),))


def assemble_tables(
    asked: Sequence[AskedAnswer], rule: PersonRule, weights: Any, missing: Mapping[str, float]
) -> Assembled:
    """Tables over some columns each, all of them together: they add up."""
    from gaussmith.domains import Cells

    ((_, _, (tables, declared)),) = asked
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
    from gaussmith.domains import Cells
    from gaussmith.statistics.diagnosis import Diagnosis

    ((_, _, (names, kind, column, ends, own)),) = asked
    domain, d = Cells(list(names), or_none=True), len(names)
    features = of_coordinates(np.arange(d), np.zeros(d, bool))
    read = Diagnosis(names, np.arange(d)[:, None], np.ones(d))
    cuts = () if ends is None else ((column, Cut((), ends=ends)),)
    return Assembled(domain, Answers.of(features, [read], "equal"), None, ((kind, column),), cuts, dict(own))

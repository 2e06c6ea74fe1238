"""From quantiles and tables to a problem: cells of which a person is in one, and what is asked of their counts.

quantiles   the numbers of people below each edge of the cells of one column; a person without a value is in no cell
tables      marginals of the cells of several columns, one more cell for what is missing or not declared
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gaussmith.domains import Cells
from gaussmith.errors import RequestError
from gaussmith.expressions.cuts import Cut
from gaussmith.plans.assembly import Assembled
from gaussmith.problem.features import TABLED, of_workload
from gaussmith.statistics import Answers, Quantiles
from gaussmith.statistics.asking import ask_workload
from gaussmith.workloads import marginals, prefix

MAX_COMBINATIONS = 1 << 40
"""Limit on the cells of all columns of tables together: one number names each."""

OTHER, MISSING = "(other)", "(missing)"
"""The cells of what is not declared, and of what is missing where every value has a cell."""


def assemble_quantiles(column: str, levels: Mapping[str, float], cut: Cut, made: str) -> Assembled:
    """Quantiles, by name, of one number of each person."""
    domain = Cells({column: cut.cells}, or_none=True)
    asked = Quantiles.over(tuple(levels), tuple(levels.values()), cut.limits)
    return Assembled(domain, Answers.of(of_workload(prefix(cut.cells)), [asked], "equal"), None, ((made, column),))


def assemble_tables(
    tables: Sequence[Sequence[str]], labels: Mapping[str, Sequence[Any]], cut: Collection[str], count: bool
) -> Assembled:
    """Tables over some columns each; `labels` are the declared values of a column, or of those in `cut` its cells."""
    columns = list(dict.fromkeys(column for table in tables for column in table))
    labels = {c: [*labels[c], MISSING if c in cut else OTHER] for c in columns}
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
    return Assembled(
        domain, ask_workload(domain, work, count, "equal"), None, tuple((TABLED, column) for column in columns)
    )

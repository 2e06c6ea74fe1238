"""Several questions in one Context of OpenDP: a query for each, zCDP composition, one row or one total for a person.

`truncate_num_groups` is not used: in 0.16.0 it fails when it samples, and otherwise keeps one group too few. The
number of months is declared in a margin instead, which gives the same scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import opendp.prelude as dp
import polars as pl
from opendp_budget import find_rho
from questions import PERSON, Question, measure

rho = cache(find_rho)
MOST_PEOPLE = 100_000
STATED: dict[str, float] = {}


def ask(context: Any, question: Question) -> Any:
    """One query of the context. The number of people of a person's rows is one: all but one are dropped."""
    query, answer = context.query(), dp.len(signed=True)
    if question.where:
        query = query.filter(pl.col(question.where) == 1)
    if question.total:
        query = query.group_by(PERSON).agg(pl.col(question.column).first(), pl.col(question.total).sum())
        total = pl.col(question.total).fill_null(0.0).fill_nan(0.0)
        answer = total.dp.sum((0.0, question.width))
    else:
        query = query.truncate_per_group(1, by=[question.column] if question.most > 1 else None)
    if not question.column:
        return query.select(answer)
    keys = pl.LazyFrame({question.column: list(question.keys)})
    return query.group_by(question.column).agg(answer).with_keys(keys)


def state(question: Question, query: Any) -> float:
    """The scale that the query states. It is asked once: that takes as long as a release, and no data."""
    if question.name not in STATED:
        (STATED[question.name],) = query.summarize()["scale"]
    return STATED[question.name]


def release(path: str, job: Sequence[Question], weights: Sequence[float]) -> list[tuple[list[float], float]]:
    groups = {question.column: len(question.keys) for question in job if question.column}
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier=PERSON),
        privacy_loss=dp.loss_of(rho=rho()),
        split_by_weights=list(weights),
        margins=[
            dp.polars.Margin(max_length=MOST_PEOPLE),
            *(dp.polars.Margin(by=[column], max_groups=size) for column, size in groups.items()),
        ],
    )
    found = []
    for question in job:
        query = ask(context, question)
        scale = state(question, query)
        table = query.release().collect()
        if question.column:
            order = pl.DataFrame({question.column: list(question.keys)})
            table = order.join(table, on=question.column, how="left", maintain_order="left")
        found.append(([float(value) for value in table[table.columns[-1]]], scale))
    return found


if __name__ == "__main__":
    measure(release, 1 / 2, "opendp")  # the squared error is inverse to ρ

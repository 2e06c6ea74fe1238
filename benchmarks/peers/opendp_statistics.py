"""OpenDP's Context: a query for each job, by copy; Laplace noise under pure ε, or Gaussian noise under zCDP.

It has no variance of people whose number is secret: these are made of three sums of its own, the squares measured from
the middle of the bounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import opendp.prelude as dp
import polars as pl
from asked import AREAS, COLUMNS, COPY, DECILES, FIRST, SPREAD, VALUES, Answers, Ask, between, centred, report
from child import EPSILON
from opendp_budget import find_rho

TABLE = pl.scan_parquet(sys.argv[1])
COPIES = TABLE.select(COPY).unique().collect().height
LONGEST = 100_000


def column(name: str) -> pl.Expr:
    return pl.col(name).fill_null(0.0).fill_nan(0.0)


def away(name: str) -> pl.Expr:
    """A column measured from the middle of its bounds."""
    low, high = COLUMNS[name]
    return column(name).clip(low, high) - (low + high) / 2


def release(loss: Any, answers: list[pl.Expr], keys: tuple[str, tuple[int, ...]] | None = None) -> pl.DataFrame:
    """One query by copy, or by copy and key."""
    declared: dict[str, list[int]] = {COPY: list(range(COPIES))}
    every = pl.LazyFrame(declared, schema={COPY: pl.Int64})
    if keys is not None:
        every = every.join(pl.LazyFrame({keys[0]: list(keys[1])}, schema={keys[0]: pl.Int64}), how="cross")
    by = [COPY] if keys is None else [COPY, keys[0]]
    groups = COPIES * (1 if keys is None else len(keys[1]))
    context = dp.Context.compositor(
        data=TABLE,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=loss,
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=by, max_length=LONGEST, max_groups=groups)],
    )
    return context.query().group_by(by).agg(answers).with_keys(every).release().collect().sort(by).drop(COPY)


def sums(names: tuple[str, ...]) -> list[pl.Expr]:
    return [column(name).dp.sum(COLUMNS[name]) for name in names]


def spreads(loss: Any, names: tuple[str, ...]) -> Answers:
    asked = [dp.len()]
    for name in names:
        low, high = COLUMNS[name]
        half = (high - low) / 2
        asked += [away(name).dp.sum((-half, half)).alias(f"{name} sum")]
        asked += [(away(name) * away(name)).dp.sum((0.0, half**2)).alias(f"{name} squares")]
    found = release(loss, asked).rows()
    return [[centred(row[1 + 2 * k], row[2 + 2 * k], row[0]) for k in range(len(names))] for row in found]


def cells(loss: Any, name: str, values: tuple[int, ...]) -> Answers:
    found = release(loss, [dp.len()], (name, values))[:, -1].to_list()
    return [[float(x) for x in found[i : i + len(values)]] for i in range(0, len(found), len(values))]


def means_by_area(loss: Any) -> Answers:
    found = release(loss, [column(FIRST).dp.mean(COLUMNS[FIRST])], ("area", AREAS))[:, -1].to_list()
    return [found[i : i + len(AREAS)] for i in range(0, len(found), len(AREAS))]


def plain(answers: list[pl.Expr]) -> Callable[[Any], Answers]:
    return lambda loss: [[float(x) for x in row] for row in release(loss, answers).rows()]


def quantiles(levels: tuple[float, ...]) -> list[pl.Expr]:
    return [column(FIRST).dp.quantile(q, between(FIRST)).alias(f"q{q}") for q in levels]


def shares(loss: Any) -> Answers:
    return [[x / sum(row) for x in row] for row in cells(loss, "health", VALUES)]


def means(names: tuple[str, ...]) -> list[pl.Expr]:
    return [column(name).dp.mean(COLUMNS[name]) for name in names]


JOBS: dict[str, Callable[[Any], Answers]] = {
    "one count": plain([dp.len()]),
    "one sum": plain(sums((FIRST,))),
    "one mean": plain(means((FIRST,))),
    "five sums": plain(sums(tuple(COLUMNS))),
    "five means": plain(means(tuple(COLUMNS))),
    "a mean in each of 10 areas": means_by_area,
    "a histogram of 10 values": lambda loss: cells(loss, "area", AREAS),
    "shares of five values": shares,
    "one median": plain(quantiles((0.5,))),
    "nine deciles": plain(quantiles(DECILES)),
    "one variance": lambda loss: spreads(loss, (FIRST,)),
    "three variances": lambda loss: spreads(loss, SPREAD),
}


def asking(loss: Any) -> Ask:
    return lambda job: JOBS[job](loss) if job in JOBS else None


if __name__ == "__main__":
    ways = [("pure ε", dp.loss_of(epsilon=EPSILON)), ("zCDP", dp.loss_of(rho=find_rho()))]
    report([(way, asking(loss)) for way, loss in ways], "opendp")

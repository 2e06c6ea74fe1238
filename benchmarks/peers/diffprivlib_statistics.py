"""diffprivlib's own functions: pure ε, Laplace and geometric noise; the number of people is public where it divides."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import polars as pl
from asked import AREAS, COLUMNS, DECILES, FIRST, SPREAD, VALUES, Answers, report
from child import EPSILON
from diffprivlib import models, tools

TABLE = pl.read_parquet(sys.argv[1]).filter(pl.col("copy") == 0)
REPEATS = 300
DATA = {name: TABLE[name].to_numpy() for name in TABLE.columns}


def each(tool: Callable[..., float], columns: tuple[str, ...]) -> list[float]:
    """One answer per column with an equal share of ε."""
    share = EPSILON / len(columns)
    return [float(tool(DATA[name], epsilon=share, bounds=COLUMNS[name])) for name in columns]


def cells(column: str, size: int) -> list[float]:
    counts, _ = tools.histogram(DATA[column], epsilon=EPSILON, bins=size, range=(-0.5, size - 0.5))
    return [float(count) for count in counts]


def shares() -> list[float]:
    counts = cells("health", len(VALUES))
    return [count / sum(counts) for count in counts]


def by_area() -> list[float]:
    wages, areas = DATA[FIRST], DATA["area"]
    return [float(tools.mean(wages[areas == k], epsilon=EPSILON, bounds=COLUMNS[FIRST])) for k in AREAS]


def regress() -> list[float]:
    names = list(SPREAD[1:])
    low, high = zip(*(COLUMNS[name] for name in names), strict=True)
    model = models.LinearRegression(epsilon=EPSILON, bounds_X=(low, high), bounds_y=COLUMNS[FIRST])
    model.fit(np.column_stack([DATA[name] for name in names]), DATA[FIRST])
    return [float(slope) for slope in np.ravel(model.coef_)]


JOBS: dict[str, Callable[[], list[float]]] = {
    "one count": lambda: [float(tools.count_nonzero(np.ones(len(TABLE)), epsilon=EPSILON))],
    "one sum": lambda: each(tools.sum, (FIRST,)),
    "one mean": lambda: each(tools.mean, (FIRST,)),
    "five sums": lambda: each(tools.sum, tuple(COLUMNS)),
    "five means": lambda: each(tools.mean, tuple(COLUMNS)),
    "a mean in each of 10 areas": by_area,
    "a histogram of 10 values": lambda: cells("area", len(AREAS)),
    "shares of five values": lambda: [
        count / sum(found) for found in [cells("health", len(VALUES))] for count in found
    ],
    "one median": lambda: [float(tools.median(DATA[FIRST], epsilon=EPSILON, bounds=COLUMNS[FIRST]))],
    "nine deciles": lambda: [
        float(x) for x in tools.quantile(DATA[FIRST], list(DECILES), epsilon=EPSILON, bounds=COLUMNS[FIRST])
    ],
    "one variance": lambda: each(tools.var, (FIRST,)),
    "three variances": lambda: each(tools.var, SPREAD),
    "a regression on two columns": regress,
}


def ask(job: str) -> Answers:
    return [JOBS[job]() for _ in range(REPEATS)]


if __name__ == "__main__":
    report([("pure ε", ask)], "diffprivlib")

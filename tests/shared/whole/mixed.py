"""Random requests that mix quantiles and variances with other questions, each of columns of its own.

Extra question e has the column y{e}: a quantile over a few cells, or a variance. Where it is not complete, a person may
have no value there, and is counted all the same. What the answers of these weigh is taken from the plan's problem.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith.domains.cells import Cells
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import Query
from whole.asks import Size, WholeAsk, complete, random_ask
from whole.optimum import differences_of, least_total, total_of
from whole.pairs import distances, spent, total_tables
from whole.people import ODD, Table, everyone, random_rows, rows_at, schema_of
from whole.trials import Beside, Pairs, compare_pairs

QUANTILE, VARIANCE = "quantile", "variance"
MIXED = Size(people=16, answers=4, questions=2, groups=3, most=2, columns=1)
"""The other questions of a mixed request: everybody can be listed, and a cone solver finds the optimum."""


@dataclass(frozen=True)
class Extra:
    """A question about one column: some quantiles of it over cells of one width, or its variance."""

    kind: str
    low: float
    high: float
    cells: int
    levels: tuple[float, ...]
    complete: bool

    unit: bool
    """Whether people have several rows: then values beyond the bounds count as these, and no cell is open."""

    def question(self, e: int) -> dict[str, Any]:
        column = f"y{e}"
        said: dict[str, Any] = {"name": f"e{e}", "bounds": {column: (self.low, self.high)}}
        if self.kind == VARIANCE:
            return said | {"variances": [column], "complete": [column] if self.complete else []}
        edges = np.linspace(self.low, self.high, self.cells + 1).tolist()
        said = said if self.unit else {"name": f"e{e}"}
        return said | {"bins": {column: edges}, "quantiles": {column: list(self.levels)}}

    @property
    def values(self) -> list[float | None]:
        """A value of every kind of person at the corners; None: no value."""
        if self.kind == VARIANCE:
            middle = (self.low + self.high) / 2
            return [self.low, self.high, middle, *([] if self.complete else [None])]
        width = (self.high - self.low) / self.cells
        inside = range(self.cells) if self.unit else range(-1, self.cells + 1)
        return [*(self.low + (i + 0.5) * width for i in inside), None]

    def corners(self, query: Query) -> np.ndarray:
        """What the people of `values` add to the weighted answers, in order."""
        problem = query.block.problem
        if isinstance(problem.domain, Cells):
            assert len(self.values) == problem.domain.dimension + 1
            rows = problem.rows * problem.root_weights
            return np.vstack([rows.T, np.zeros((1, len(rows)))])
        signs = np.array([[-1.0], [1.0], [0.0]])
        core = np.column_stack([problem.domain.cores(signs), np.ones(3)])
        found = core @ problem.lifted_rows.T
        return found if self.complete else np.vstack([found, np.zeros((1, found.shape[1]))])


@dataclass(frozen=True)
class MixedAsk:
    """Questions as others ask them, and some about quantiles and variances."""

    base: WholeAsk
    extras: tuple[Extra, ...]

    def request(self, mu: float = 1.0) -> gm.Request:
        asked = [complete(each.question(q)) for q, each in enumerate(self.base.asked)]
        return gm.Request(
            "people.parquet",
            questions=[*asked, *(each.question(e) for e, each in enumerate(self.extras))],
            unit="person" if self.base.unit else None,
            mean_of="units",
            guarantee=gm.Guarantee(mu=mu),
        )

    @property
    def schema(self) -> dict[str, Any]:
        return schema_of(self.base) | {f"y{e}": pl.Float64 for e in range(len(self.extras))}


def random_mixed(generator: random.Random) -> MixedAsk:
    base = random_ask(generator, MIXED)
    while base.neighbours != "add-remove" or base.weights != "relative":
        base = random_ask(generator, MIXED)
    extras = []
    for _ in range(generator.choice([1, 1, 2])):
        low = generator.choice([0.0, -1.0, 2.0]) * generator.choice([1.0, 30.0])
        levels = generator.choice([(0.5,), (0.1, 0.5, 0.9)])
        kind = generator.choice([QUANTILE, VARIANCE])
        width = generator.choice([1.0, 50.0])
        extras.append(
            Extra(kind, low, low + width, generator.randint(2, 4), levels, generator.random() < 0.4, base.unit)
        )
    return MixedAsk(base, tuple(extras))


def extra_queries(ask: MixedAsk, plan: Plan) -> list[Query]:
    slots = {slot.name: slot for slot in plan.slots}
    return [plan.queries[slots[f"e{e}"].queries[0]] for e in range(len(ask.extras))]


def try_mixed_optimum(ask: MixedAsk) -> Beside:
    """The total of a plan beside the least of any Gaussian noise, over all people at the corners of all questions."""
    plan = ask.request().plan
    blocks = [extra.corners(query) for extra, query in zip(ask.extras, extra_queries(ask, plan), strict=True)]
    people = differences_of(ask.base)
    for block in blocks:
        people = np.hstack([np.repeat(people, len(block), axis=0), np.tile(block, (len(people), 1))])
    best, total = least_total(np.unique(people, axis=0)), total_of(plan)
    return Beside(total / best.upper, total / best.lower, plan.optimality)


def mixed_people(ask: MixedAsk) -> list[Table]:
    """Everybody at the corners of all questions, as rows."""
    found = []
    for corners in everyone(ask.base, alike=True):
        for values in itertools.product(*(extra.values for extra in ask.extras)):
            own = {f"y{e}": value for e, value in enumerate(values)}
            found.append([row | own for row in rows_at(ask.base, corners)])
    return found


def try_mixed_corners(ask: MixedAsk) -> tuple[list[Fraction], Fraction]:
    """Of each noise the largest squared distance of people at the corners, and of all noises together."""
    plan = ask.request().plan
    nobody, *people = total_tables(plan, [[], *mixed_people(ask)], ask.schema)
    found = [distances(plan, nobody, each) for each in people]
    return [max(each[i] for each in found) for i in range(len(plan.noises))], max(spent(plan, each) for each in found)


def random_mixed_rows(ask: MixedAsk, generator: random.Random, name: str) -> Table:
    rows = random_rows(ask.base, generator, name)
    for e, extra in enumerate(ask.extras):
        one = generator.choice([*extra.values, *ODD, 3 * extra.high])
        for row in rows:
            row[f"y{e}"] = one if generator.random() < 0.7 else generator.choice([*extra.values, *ODD])
    return rows


def try_mixed_pairs(ask: MixedAsk, generator: random.Random, count: int) -> Pairs:
    """Random neighbours, from rows to integers."""
    plan, schema = ask.request(mu=generator.choice([0.1, 1.0, 5.0])).plan, ask.schema
    tables: list[Table] = []
    for _ in range(count):
        others = [row for j in range(generator.randint(0, 2)) for row in random_mixed_rows(ask, generator, f"o{j}")]
        rows = random_mixed_rows(ask, generator, "person")
        while not any(row["person"] == "person" for row in rows):
            rows = random_mixed_rows(ask, generator, "person")
        tables += [others, others + rows]
    return compare_pairs(plan, tables, schema)

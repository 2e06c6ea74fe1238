"""People of a random request as rows of its table: at the corners of its body, and of every other kind."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import polars as pl

from whole.asks import ALL, FILTER, GROUPS, HISTOGRAM, KEYS, Asked, WholeAsk

Row = dict[str, Any]
Table = list[Row]
Corner = dict[int, tuple[int, ...]]
"""The groups a person is in, and in each of them which bound every column is at."""

ODD = (None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, 1 / 3)


def schema_of(ask: WholeAsk) -> dict[str, Any]:
    """The columns of the table that a request reads."""
    found: dict[str, Any] = {"person": pl.String}
    for q, each in enumerate(ask.asked):
        found |= dict.fromkeys(each.columns, pl.Float64)
        found |= {FILTER: {f"f{q}": pl.Int64}, GROUPS: {f"g{q}": pl.String}, HISTOGRAM: {f"h{q}": pl.String}}.get(
            each.kind, {}
        )
    return found


def corners_of(asked: Asked, alike: bool) -> Iterator[Corner]:
    """Everything that a person at bounds can be in a question; `alike`: one of each type, in the first groups, where
    all weigh the same."""
    inside = list(itertools.product((0, 1), repeat=len(asked.columns)))
    for k in range(asked.most + 1) if asked.kind != ALL else (1,):
        if alike and not asked.worth:
            yield from (dict(enumerate(which)) for which in itertools.combinations_with_replacement(inside, k))
            continue
        for where in itertools.combinations(range(asked.groups), k):
            for which in itertools.product(inside, repeat=k):
                yield dict(zip(where, which, strict=True))


def everyone(ask: WholeAsk, alike: bool) -> Iterator[tuple[Corner, ...]]:
    """All corners of the body of one person; `alike`: all types, since noise is the same in every group."""
    return itertools.product(*(list(corners_of(each, alike)) for each in ask.asked))


def count_types(ask: WholeAsk) -> int:
    """How many people `everyone` has of each kind one."""
    sizes = []
    for each in ask.asked:
        corners = 2 ** len(each.columns)
        levels = (1,) if each.kind == ALL else range(each.most + 1)
        sizes.append(sum(math.comb(k + corners - 1, k) for k in levels))
    return math.prod(sizes)


def random_corner(ask: WholeAsk, generator: random.Random) -> tuple[Corner, ...]:
    found = []
    for each in ask.asked:
        k = 1 if each.kind == ALL else generator.choice([generator.randint(0, each.most), each.most])
        where = sorted(generator.sample(range(each.groups), k))
        found.append({g: tuple(generator.randint(0, 1) for _ in each.columns) for g in where})
    return tuple(found)


def rows_at(ask: WholeAsk, corners: tuple[Corner, ...], name: str = "person") -> Table:
    """The rows of one person at these corners."""
    size = max(1, *(len(corner) for corner in corners))
    rows: Table = [{"person": name} for _ in range(size)]
    for q, (each, corner) in enumerate(zip(ask.asked, corners, strict=True)):
        letter = {FILTER: "f", GROUPS: "g", HISTOGRAM: "h"}.get(each.kind)
        for row in rows if letter else []:
            row[f"{letter}{q}"] = 0 if each.kind == FILTER else None
        for row, (group, bounds) in zip(rows, corner.items(), strict=False):
            if letter:
                row[f"{letter}{q}"] = 1 if each.kind == FILTER else KEYS[group]
            for (column, pair), at in zip(each.columns.items(), bounds, strict=True):
                # A person's total is that of all rows, its own mean that of each of them.
                for which in rows if each.kind == ALL and column in each.means else (row,):
                    which[column] = pair[at]
    return rows


def random_rows(ask: WholeAsk, generator: random.Random, name: str) -> Table:
    """The rows of one person, with anything in them; now and then of one at the bounds."""
    if generator.random() < 0.3:
        return rows_at(ask, random_corner(ask, generator), name)
    rows = []
    for _ in range(generator.choice([1, 1, 2, 3, 5, 9]) if ask.unit else 1):
        row: Row = {"person": generator.choice([name] * 12 + [None]) if ask.unit else name}
        for q, each in enumerate(ask.asked):
            for column, (low, high) in each.columns.items():
                row[column] = generator.choice(
                    [*ODD, low, high, (low + high) / 2, 3 * high, generator.gauss(low, high)]
                )
            row[f"f{q}"] = generator.choice([0, 1, 1, 2, None])
            row[f"g{q}"] = row[f"h{q}"] = generator.choice([*KEYS[: each.groups], "elsewhere", None])
        rows.append({column: row.get(column) for column in schema_of(ask)})
    return rows


def neighbours_of(ask: WholeAsk, generator: random.Random) -> tuple[Table, Table]:
    """Two tables that differ in one person."""
    others = [row for j in range(generator.randint(0, 2)) for row in random_rows(ask, generator, f"other {j}")]

    def person() -> Table:
        while True:  # who is in the data has at least one row under that name
            rows = random_rows(ask, generator, "person")
            if any(row["person"] == "person" for row in rows):
                return rows

    before = [] if ask.neighbours == "add-remove" else person()
    return others + before, others + person()

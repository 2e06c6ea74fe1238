"""Random requests about the rows of people: means over rows, numbers of rows, totals of people, and tables for them.

Question q has the columns x{q}a, x{q}b (means over rows), y{q} (totals), f{q} (its filter), g{q} (its keys) and h{q}.
"""

from __future__ import annotations

import math
import random
from typing import Any

import polars as pl

import gaussmith as gm
from whole.asks import KEYS, complete

Row = dict[str, Any]
Question = dict[str, Any]

ODD = (None, math.nan, math.inf, -math.inf, 0.0, 1e308, 1 / 3)


def random_question(generator: random.Random, q: int) -> Question:
    said: Question = {"name": f"q{q}"}
    kind = generator.choice(["all", "filter", "groups", "groups", "histogram"])
    if kind == "histogram":
        return said | {"histograms": {f"h{q}": list(KEYS[: generator.randint(2, 4)])}, "values_per_unit": 1}
    if kind == "filter":
        said["where"] = f"f{q} == 1"
    if kind == "groups":
        groups = generator.randint(2, 5)
        said |= {"by": {f"g{q}": list(KEYS[:groups])}, "groups_per_unit": generator.randint(1, groups)}
    lows = [generator.choice([0.0, -1.0, 5.0]) for _ in range(generator.randint(0, 2))]
    means = {
        f"x{q}{letter}": (low, low + generator.choice([1.0, 30.0])) for letter, low in zip("ab", lows, strict=False)
    }
    sums = {f"y{q}": generator.choice([(0.0, 8.0), (-1.0, 1.0), (2.0, 3.0)])} if generator.random() < 0.4 else {}
    count = generator.choice(["rows", "rows", True, False]) or (not means and not sums and "rows")
    return said | {name: value for name, value in (("means", means), ("sums", sums), ("count", count)) if value}


def random_request(generator: random.Random) -> gm.Request:
    """One to four questions, one of them at least about rows."""
    while True:
        questions = [random_question(generator, q) for q in range(generator.randint(1, 4))]
        if any("means" in each or each.get("count") == "rows" for each in questions):
            return request_of(questions, generator.choice([2, 3, 5]), generator.choice([0.1, 1.0, 5.0]))


def request_of(questions: list[Question], rows: int, mu: float, source: Any = "visits.parquet") -> gm.Request:
    guarantee = gm.Guarantee(mu=mu)
    asked = [complete(question) for question in questions]
    return gm.Request(source, unit="person", rows_per_unit=rows, questions=asked, guarantee=guarantee)


def schema_of(questions: list[Question]) -> dict[str, Any]:
    found: dict[str, Any] = {"person": pl.String}
    for q, each in enumerate(questions):
        found |= {f"f{q}": pl.Int64, f"g{q}": pl.String, f"h{q}": pl.String}
        found |= dict.fromkeys([*each.get("means", ()), *each.get("sums", ())], pl.Float64)
    return found


def random_rows(generator: random.Random, questions: list[Question], most: int, name: str) -> list[Row]:
    """The rows of one person: anything, or all numbers at bounds, with one row, as many as count, or more."""
    odd, side = generator.random() < 0.4, generator.choice([None, 0, 1])
    inside = {
        q: generator.sample(next(iter(each["by"].values())), each["groups_per_unit"])
        for q, each in enumerate(questions)
        if "by" in each
    }
    found = []
    for i in range(generator.choice([1, 1, most, most, 3 * most, 12 * most])):
        row: Row = dict.fromkeys(schema_of(questions)) | {"person": name}
        for q, each in enumerate(questions):
            here = inside.get(q, [None])
            row[f"f{q}"] = generator.choice([0, 1, None]) if odd else 1
            row[f"g{q}"] = generator.choice([*KEYS[:5], None]) if odd else here[i % len(here)]
            row[f"h{q}"] = generator.choice([*KEYS[:4], None]) if odd else "a"
            for column, pair in (each.get("means", {}) | each.get("sums", {})).items():
                at = generator.randint(0, 1) if side is None else side
                row[column] = generator.choice([*ODD, *pair]) if odd else pair[at]
        found.append(row)
    return found


def random_neighbours(generator: random.Random, questions: list[Question], most: int) -> tuple[list[Row], list[Row]]:
    """Two tables that differ in one person."""
    others = [
        row for j in range(generator.randint(0, 2)) for row in random_rows(generator, questions, most, f"other {j}")
    ]
    return others, others + random_rows(generator, questions, most, "person")

"""Sums, squares and products of people and groups: the same integers on every engine, those of plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from engines import ENGINES

import gaussmith as gm
from gaussmith.engines.registry import open_source
from gaussmith.totals.opened import open_data, total

BOUNDS = {"x": (0.0, 100.0), "y": (-3.0, 1.0)}
ROWS = 240
NAMED = [name for name in ENGINES if not name.startswith("numpy") and name not in ("lists", "pyarrow reader")]
"""Engines whose columns have names, and that can be read twice."""


def table() -> pl.DataFrame:
    """People with one to three rows, some of them without a number, some far outside the bounds."""
    rows = []
    for i in range(ROWS):
        x = None if i % 11 == 3 else (i * 37 % 1000) / 7 - 10
        y = float("nan") if i % 13 == 5 else (i * 53 % 100) / 20 - 3.5
        rows.append({"person": i * 7 % 101, "sex": "fmx"[i % 3], "x": x, "y": y})
    return pl.DataFrame(rows, schema_overrides={"x": pl.Float64, "y": pl.Float64})


def coded(codes: Any, column: int, value: float | None) -> int:
    base = codes.base
    low, top = float(base.low[column]), float(base.top[column])
    return int((min(max(value or 0.0, low), top) - low) * float(base.scale[column]) + 0.5)


def wanted(codes: Any, people: list[list[dict[str, Any]]]) -> tuple[list[int], int]:
    """Of each person the mean of its codes, rounded; and the product of two such means."""
    sums, count = [0] * codes.width, 0
    for rows in people:
        means = []
        for j, name in enumerate(BOUNDS):
            found = [coded(codes, j, row[name]) for row in rows]
            means.append((sum(found) + len(found) // 2) // len(found))
        numbers = [*means, *(means[i] * means[j] for i, j in codes.pairs)]
        sums, count = [a + b for a, b in zip(sums, numbers, strict=True)], count + 1
    return sums, count


def present(row: dict[str, Any]) -> bool:
    return all(row[name] is not None and row[name] == row[name] for name in BOUNDS)


@pytest.mark.parametrize("unit", [None, "person"])
@pytest.mark.parametrize("by", [None, "sex"])
@pytest.mark.parametrize("engine", NAMED)
def test_people_and_groups(
    engine: str, by: str | None, unit: str | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data = table()
    held = ENGINES[engine](data, tmp_path, lambda: request.getfixturevalue("spark"))
    groups: dict[str, Any] = {} if by is None else {"by": {by: ["f", "m"]}}
    request_ = gm.Request(
        held, covariance=BOUNDS, unit=unit, mean_of="units", guarantee=gm.Guarantee(mu=1),
        **groups | ({"groups_per_unit": 2} if by and unit else {}),
    )  # fmt: skip
    (query,) = request_.plan.queries
    found = total(open_data(open_source(held, columns=data.columns), query))
    rows = [row for row in data.iter_rows(named=True) if present(row)]
    for totals, key in zip(found, ["f", "m"] if by else [None], strict=True):
        mine: dict[Any, list[dict[str, Any]]] = {}
        for i, row in enumerate(rows):
            if key is None or row["sex"] == key:
                mine.setdefault(i if unit is None else row["person"], []).append(row)
        assert (list(totals.sums), totals.records) == wanted(query.block.codes, list(mine.values()))


@pytest.mark.parametrize("by", [None, "sex"])
@pytest.mark.parametrize("engine", NAMED)
def test_rows_of_people(engine: str, by: str | None, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """At most two rows of a person count; those of people with more as twice their mean row."""
    data, k = table(), 2
    held = ENGINES[engine](data, tmp_path, lambda: request.getfixturevalue("spark"))
    groups: dict[str, Any] = {} if by is None else {"by": {by: ["f", "m"]}, "groups_per_unit": 2}
    asked = gm.Request(
        held, covariance=BOUNDS, unit="person", rows_per_unit=k, guarantee=gm.Guarantee(mu=1), **groups
    )  # fmt: skip
    (query,) = asked.plan.queries
    codes = query.block.codes
    found = total(open_data(open_source(held, columns=data.columns), query))
    rows = [row for row in data.iter_rows(named=True) if present(row)]
    for totals, key in zip(found, ["f", "m"] if by else [None], strict=True):
        mine: dict[Any, list[list[int]]] = {}
        for row in rows:
            if key is None or row["sex"] == key:
                c = [coded(codes, j, row[name]) for j, name in enumerate(BOUNDS)]
                mine.setdefault(row["person"], []).append([*c, *(c[i] * c[j] for i, j in codes.pairs)])
        sums = [0] * codes.width
        for own in mine.values():
            n, added = len(own), [sum(column) for column in zip(*own, strict=True)]
            added = added if n <= k else [k * ((each + n // 2) // n) for each in added]
            sums = [a + b for a, b in zip(sums, added, strict=True)]
        assert (list(totals.sums), totals.records) == (sums, sum(min(len(own), k) for own in mine.values()))
        assert by or max(map(len, mine.values())) > k

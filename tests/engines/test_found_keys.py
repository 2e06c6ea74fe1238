"""Found keys on every engine: the people, spare numbers and features of each key are the same integers."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from doors.noise import found_draws
from engines import ENGINES

import gaussmith as gm
from gaussmith import mechanism

ROWS = 900
KEPT = 4
PLAIN = {"numpy", "numpy Fortran", "lists"}
"""Columns have no names there, and groups need them."""

ASKED: dict[str, dict[str, Any]] = {
    "texts": {"by": {"key": "found"}, "sums": {"x": (-9, 9)}, "count": True},
    "numbers and declared": {"by": {"year": "found", "sex": ["f", "m"]}, "count": True, "where": "x > -5"},
    "quantiles": {"by": {"key": "found"}, "medians": {"x": (-9, 9)}},
    "moments": {"by": {"key": "found"}, "variances": {"x": (-9, 9)}, "mean_of": "units"},
}


def table() -> pl.DataFrame:
    """People with more keys than count, all with few rows, so that ties are many; fresh on each run."""
    random = np.random.default_rng()
    names = ["Ålesund", "oslo", "Oslo", " oslo", "", "日本", "a\tb", 'quo"te', "1", "01", None]
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in random.integers(0, 60, ROWS)],
            "key": [names[i] for i in random.integers(0, len(names), ROWS)],
            "year": pl.Series(random.integers(1990, 2025, ROWS), dtype=pl.Int64),
            "sex": [["f", "m", "x"][i] for i in random.integers(0, 3, ROWS)],
            "x": random.normal(0, 6, ROWS).round(3),
        }
    )


def expected_people(data: pl.DataFrame) -> dict[tuple[str, ...], int]:
    """People per key by Python alone: of each person the KEPT keys with most rows, ties by md5."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for row in data.iter_rows(named=True):
        if row["key"] is not None:
            rows[row["person"]][row["key"]] += 1
    found: Counter[tuple[str, ...]] = Counter()
    for person, keys in rows.items():
        ranked = sorted(keys, key=lambda key, own=keys, who=person: (-own[key], _digest(who, key)))
        found.update((key,) for key in ranked[:KEPT])
    return dict(found)


def _digest(person: str, key: str) -> str:
    text = f"{len(person)}:{person}{len(key)}:{key}"
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _found(source: Any, asked: dict[str, Any]) -> list[Any]:
    request = gm.Request(
        source, unit="person", groups_per_unit=KEPT, guarantee=gm.Guarantee(epsilon=1, delta=1e-6), **asked
    )
    return [draw.by_key for draw in found_draws(mechanism.prepare_request(request.plan, source))]


@pytest.mark.parametrize("engine", [name for name in ENGINES if name not in PLAIN and name != "pyarrow reader"])
def test_every_engine_finds_the_same(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    data = table()
    if engine in ("csv", "tsv", "json lines"):  # there an empty text is a missing one, and years are texts
        data = data.with_columns(pl.col("key").replace({"": "empty"}), pl.format("y{}", "year").alias("year"))
    source = ENGINES[engine](data, tmp_path, lambda: request.getfixturevalue("spark"))
    for name, asked in ASKED.items():
        assert _found(source, asked) == _found(data, asked), name


def test_people_are_those_that_python_finds() -> None:
    data = table()
    request = gm.Request(
        data, unit="person", groups_per_unit=KEPT, guarantee=gm.Guarantee(epsilon=1, delta=1e-6), **ASKED["texts"]
    )
    opened = mechanism.prepare_request(request.plan, data).sources[0]
    batches = opened.summation.stream(opened.source, (), 1)
    assert {(row[0],): row[1] for batch in batches for row in batch.rows()} == expected_people(data)

"""Keys first on every engine: the same keys are shown, and the same people are counted under them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from engines import ENGINES

import gaussmith as gm

SHOWN = ("polars eager", "polars shuffled", "pandas", "pandas arrow", "pyarrow table", "duckdb", "csv", "spark")


def table() -> pl.DataFrame:
    """Everybody has more rows under a key of their own, and equal numbers under others."""
    keys = [("north", "own", "own", f"k{i % 7}", f"k{i % 5}", None) for i in range(300)]
    rows = [
        (i, f"own {i}" if key == "own" else key, float((i * 13 + j) % 11))
        for i, own in enumerate(keys)
        for j, key in enumerate(own)
    ]
    return pl.DataFrame(rows, schema={"person": pl.Int64, "key": pl.String, "x": pl.Float64}, orient="row")


def counts(truth: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """What two groups of each person make of the keys that are shown: most rows first, then the order of keys."""
    held = truth.filter(pl.col("key").is_not_null() & ~pl.col("key").str.starts_with("own"))
    held = held.group_by("person", "key").agg(pl.len().cast(pl.Int64).alias("n"), pl.col("x").sum())
    kept = held.sort("person", -pl.col("n"), "key").group_by("person", maintain_order=True).head(2)
    found = kept.group_by("key").agg(pl.len(), pl.col("x").sum())
    return {key: (n, round(x)) for key, n, x in found.rows()}


@pytest.mark.parametrize("name", SHOWN)
def test_the_same_people_are_counted_everywhere(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source = ENGINES[name](table(), tmp_path, lambda: request.getfixturevalue("spark"))
    asked = gm.Request(
        source, unit="person", by={"key": "found"}, groups_per_unit=2, count=True, sums={"x": (0, 40)},
        keys_first=True, budget={"keys": 0.1}, guarantee=gm.Guarantee(mu=3000), keys_delta=1e-12,
    )  # fmt: skip
    release = gm.release(asked)
    found = {key: (round(release[key]["count"].value), round(release[key]["x_sum"].value)) for (key,) in release.labels}
    assert found == counts(table())

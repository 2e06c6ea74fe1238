"""Promise 4 in stages: the same noise gives the same integers, the same path and the same bounds on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from engines import ENGINES
from fixed_noise import fixed_noise

import gaussmith as gm

POWERS = [2.0**k * sign for k in (-20, -3, 0, 10, 40) for sign in (1, -1)]
EDGES = [y for x in POWERS for y in (x, np.nextafter(x, -np.inf), np.nextafter(x, np.inf))]
ODD = [*EDGES, 0.0, -0.0, 5e-324, 1e308, float("inf"), float("-inf"), float("nan"), None]
"""Values at the edges of cells and next to them, where logarithms would go wrong; and odd ones."""

SHOWN = ("polars eager", "polars shuffled", "pandas", "pandas arrow", "pyarrow table", "duckdb", "csv", "spark")

ASKS: dict[str, dict[str, Any]] = {
    "rows": {"means": {"x": "private"}, "variances": {"y": "private"}},
    "people": {"unit": "person", "sums": {"x": "private"}, "means": {"y": "private"}, "rows_per_unit": 2},
    "quantiles": {"quantiles": {"x": [0.2, 0.5], "y": [0.9]}, "bins": {"x": "private", "y": "private"}},
}

ON_SPARK: dict[str, Any] = {"means": {"y": "private"}}
"""Every stage is several queries of Spark, each of which takes a second; other tests hold its features one by one."""


def table() -> pl.DataFrame:
    usual = [float(v) for v in np.exp(np.sin(np.arange(400) * 0.7) * 2)]
    x = [*usual, *ODD]
    y = [1000 + float(v) for v in np.cos(np.arange(len(x)))]
    return pl.DataFrame({"x": x, "y": y, "person": [i // 2 for i in range(len(x))]})


def staged(source: Any, ask: dict[str, Any]) -> tuple[list[int], Any]:
    with fixed_noise() as sums:
        release = gm.release(gm.Request(source, guarantee=gm.Guarantee(mu=3), **ask))
    assert release.path is not None
    return sums, [(stage.step.stage, stage.step.asks) for stage in release.path.stages] + [release.path.last.asks]


@pytest.mark.parametrize("name", SHOWN)
def test_stages_are_the_same_everywhere(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source = ENGINES[name](table(), tmp_path, lambda: request.getfixturevalue("spark"))
    for ask in ASKS.values() if name != "spark" else [ON_SPARK]:
        expected, path = staged(table(), ask)
        found, same = staged(source, ask)
        assert same == path
        assert found == expected
        assert len(path) > 2

"""How often noise alone says of clean data that people are beyond limits: in one release of twenty at most."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.pipeline import learning
from gaussmith.planning.error_distribution import normal_width
from gaussmith.releases import diagnosis

RELEASES, COLUMNS = 200, 9
MOST = int(stats.binom.isf(1e-7, RELEASES, 0.05))
"""More accusations than this in so many releases happen once in 10^7 where each release has at most 5 %."""


def clean() -> gm.Request:
    table = pl.DataFrame({f"c{i}": np.linspace(20, 80, 400) for i in range(COLUMNS)})
    bounds = dict.fromkeys(table.columns, (0.0, 100.0))
    return gm.Request(table, sums=bounds, guarantee=gm.Guarantee(epsilon=1, delta=1e-6), diagnose=True)


def accusations() -> int:
    request = clean()
    prepared = mechanism.prepare_request(request.plan, request.source)
    found = 0
    for _ in range(RELEASES):
        told = mechanism.release(prepared).diagnosis()
        found += any(line.startswith("about ") for line in told)
    return found


def test_clean_columns_are_rarely_accused() -> None:
    assert accusations() <= MOST


def test_single_intervals_accuse_too_often(monkeypatch) -> None:
    """With intervals that hold each for itself, as they once were, a third of all releases accuse."""
    monkeypatch.setattr(diagnosis, "joint_width", lambda release: 1.96)
    assert accusations() > MOST


def share_accused(monkeypatch, releases: int) -> int:
    """How often a suggestion says of columns that nobody exceeds that people do: each has two noisy ends."""
    asked = [f"bounds {i}" for i in range(COLUMNS)]
    rng = np.random.default_rng()

    class Counts:
        def __init__(self, values: np.ndarray) -> None:
            self.values, self.standard_errors = values, np.full(3, 10.0)

    found = 0
    for _ in range(releases):
        counts = {name: Counts(np.array([0, 5000, 0]) + rng.normal(0, 10, 3)) for name in asked}
        monkeypatch.setattr(learning, "_question", lambda release, name, counts=counts: counts[name])
        outside = learning._outside(None, dict.fromkeys(asked, (0.0, 1.0)), None)
        found += any(each.low > 0 for each in outside.values())
    return found


def test_suggested_bounds_of_clean_columns_are_rarely_accused(monkeypatch) -> None:
    assert share_accused(monkeypatch, 2000) <= stats.binom.isf(1e-7, 2000, 0.05)


def test_single_intervals_of_a_suggestion_accuse_too_often(monkeypatch) -> None:
    """With intervals that hold each for itself, a fifth of all suggestions accuse."""
    monkeypatch.setattr(learning, "normal_width", lambda confidence, several=1: normal_width(confidence))
    assert share_accused(monkeypatch, 2000) > stats.binom.isf(1e-7, 2000, 0.05)

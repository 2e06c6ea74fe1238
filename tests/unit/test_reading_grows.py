"""What is read from a release costs as much as there is to read: twice the answers, at most about twice the calls."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from growing import growth

import gaussmith as gm
from gaussmith.statistics.moment import Moment

G = gm.Guarantee(mu=1)

LINEAR = 2.2
"""Calls at twice the size over those at the size; those of a square would be near 4."""


def released(table: pl.DataFrame, **asked: Any) -> gm.Release:
    return gm.release(gm.Request(table, guarantee=G, **asked))


def of_values(size: int) -> gm.Release:
    values = [str(i) for i in range(size)]
    return released(pl.DataFrame({"x": values}), proportions={"x": values})


def of_groups(size: int, **asked: Any) -> gm.Release:
    keys = [str(i) for i in range(size)]
    table = pl.DataFrame({"key": keys, "x": ["a"] * size})
    return released(table, by={"key": keys}, **asked)


def of_two_questions(size: int) -> gm.Release:
    """Both are about every person, so that they share one noise."""
    values = [str(i) for i in range(size)]
    table = pl.DataFrame({"person": values, "x": values, "y": values})
    asked = [{"name": name, "proportions": {name: values}, "values_per_unit": 1} for name in ("x", "y")]
    return released(table, unit="person", questions=asked)


@pytest.mark.parametrize("make", [of_values, of_two_questions], ids=lambda make: make.__name__)
def test_the_table_of_shares_grows_with_their_number(make: Callable[[int], gm.Release]) -> None:
    def work(size: int) -> Callable[[], Any]:
        release = make(size)
        return lambda: (str(release), release.to_json())

    assert growth(work, 80) < LINEAR


def test_shares_in_groups_grow_with_the_number_of_groups() -> None:
    def work(size: int) -> Callable[[], Any]:
        release = of_groups(size, proportions={"x": ["a", "b"]})
        return lambda: str(release)

    assert growth(work, 60) < LINEAR


def test_shares_of_groups_grow_with_their_number() -> None:
    def work(size: int) -> Callable[[], Any]:
        release = of_groups(size, count=True)
        return lambda: release.shares().columns()

    assert growth(work, 60) < LINEAR


def test_groups_are_found_by_their_place() -> None:
    class Key(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Key.compared += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    keys = [f"{i}" for i in range(300)]
    release = of_groups(300, count=True)
    assert [each.labels for each in release] == [()] * 300
    assert [each.value for each in release] == release.values[:, 0].tolist()
    for place, key in enumerate(keys):
        assert release[Key(key)].view.groups == (place,)
    assert Key.compared <= 2 * len(keys)


def test_a_key_that_cannot_be_hashed_is_no_group() -> None:
    release = of_groups(3, count=True)
    with pytest.raises(gm.PlanError, match="it was not declared"):
        release[["0"]]


def test_shares_are_those_of_their_definition() -> None:
    """Values, errors and ends, from the noisy counts and the covariance of their noise alone."""
    release = of_values(12)
    counts, C = release.values, release.covariance()
    shares, total = release.shares(), counts.sum()
    slopes = np.eye(12) / total - np.outer(counts, np.ones(12)) / total**2
    assert shares.values == pytest.approx(counts / total, rel=1e-12)
    assert shares.standard_errors == pytest.approx(np.sqrt(np.diag(slopes @ C @ slopes.T)), rel=1e-9)
    assert shares.covariance == pytest.approx(slopes @ C @ slopes.T, rel=1e-9, abs=1e-12)


def regression(columns: int) -> gm.Release:
    names = ["y", *(f"x{i}" for i in range(columns))]
    random = np.random.default_rng()
    table = pl.DataFrame({name: random.uniform(0, 10, 5000) for name in names})
    asked = {"of": "y", "on": names[1:]}
    return gm.release(
        gm.Request(table, regression=asked, bounds=dict.fromkeys(names, (0, 10)), guarantee=gm.Guarantee(mu=1e4))
    )


def test_a_regression_is_read_once_for_its_whole_table() -> None:
    release = regression(4)
    kinds = release.block.answers.statistics
    with mock.patch.object(Moment, "_found", autospec=True, side_effect=Moment._found) as found:
        assert "x3" in str(release)
        release.to_json()
        release.covariance()
    assert found.call_count == len(kinds) == 2


def test_a_regression_is_read_in_the_memory_of_its_noise() -> None:
    release = regression(20)
    noise = release.block.shape.features.dense().nbytes
    tracemalloc.start()
    try:
        values, errors = release.values, release.standard_errors
        lower, upper = release.raw_intervals(2.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * noise
    assert ((lower < values) & (values < upper) & (errors > 0)).all()


def test_means_that_may_be_missing_are_planned_and_released_in_proportion() -> None:
    """Each is a query with rows of its own: none looks at all columns, or at all other queries."""

    def work(size: int) -> Callable[[], Any]:
        columns = [f"x{i}" for i in range(size)]
        table = pl.DataFrame({name: [1.0, None] for name in columns})
        return lambda: released(table, means=dict.fromkeys(columns, (0, 1 + size)))

    assert growth(work, 200) < LINEAR


def test_tables_over_many_columns_are_printed_without_all_their_cells() -> None:
    values = {f"x{i}": ["a", "b"] for i in range(30)}
    table = pl.DataFrame({name: ["a", "b"] for name in values})
    release = released(table, marginals=[list(pair) for pair in pairwise(values)], values=values)
    assert "x1=a" in str(release)
    low, high = release.limits
    assert low.tolist() == [0.0] * 29 * 9 and high.tolist() == [np.inf] * 29 * 9

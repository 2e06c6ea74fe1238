"""What plans promise about means holds wherever within their bounds the means lie, also in tiny groups.

No seed; false alarms have a chance below 1e-9. Errors that hold on average over the bounds only must be rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

import gaussmith as gm
from gaussmith.planning.error_distribution import ErrorLaw, normal_width, rows_needed
from gaussmith.statistics.statistic import counts_records

G = gm.Guarantee(epsilon=1, delta=1e-6)
DRAWS = 40_000
ALARM = 1e-9 / 1000  # of one test among the at most a thousand here

Array = npt.NDArray[np.float64]


def test_rows_needed_by_releases_of_groups() -> None:
    """Through the real path: 3 000 groups of as many rows as needed, at the ends of the bounds and in the middle."""
    groups, box = 3000, gm.Box({"age": (0, 100)})
    alone = gm.plan(box, G, answers="means", shape="lifted")
    plan = gm.plan(gm.Groups({"g": list(range(groups))}, box), G, answers="means", shape="lifted")
    assert plan.standard_errors == pytest.approx(alone.standard_errors)  # of one group; the noise of each is its own

    def covered(rows: int, mean: float, error: float) -> int:
        table = pl.DataFrame({"g": np.repeat(np.arange(groups), rows), "age": np.full(groups * rows, float(mean))})
        values = np.asarray(plan.release(table).values, float).ravel()
        assert values.shape == (groups,)
        return int((np.abs(values - mean) <= error).sum())

    for error in (40.0, 10.0):
        rows = plan.rows_needed(error, confidence=0.95)
        assert rows < 100
        hits = {mean: covered(rows, mean, error) for mean in (0.0, 50.0, 100.0)}
        for mean, k in hits.items():
            assert stats.binomtest(k, groups, 0.95, "less").pvalue > ALARM, (error, mean)
        assert hits[50.0] > 0.97 * groups  # in the middle the error of the count does not matter
        average = normal_width(0.95) * math.sqrt(alone.block.averaged_covariance()[0, 0])
        few = math.ceil(average / error)
        assert stats.binomtest(covered(few, 100.0, error), groups, 0.95, "less").pvalue < 1e-9


REQUEST: dict[str, Any] = {"unit": "person", "rows_per_unit": 5, "guarantee": G}

PLANS: dict[str, Callable[[], gm.Plan]] = {
    "one mean": lambda: gm.plan(gm.Box([0], [100]), G, answers="means"),
    "means": lambda: gm.plan(gm.Box([0, 1, 2], [1, 3, 2.5]), G, answers="means"),
    "means stated": lambda: gm.plan(gm.Box([0, 1], [1, 3]), G, answers="means", mean_within={"0": (0, 0.2), "1": 0.5}),
    "standard": lambda: gm.plan(gm.Box([0, 1, 2], [1, 3, 2.5]), G, answers="means", shape="isotropic"),
    "means replaced": lambda: gm.plan(gm.Box([0, 1], [1, 3]), G, answers="means", neighbours="replace-one"),
    "ball": lambda: gm.plan(gm.domains.Ball(5, 2, [3, 0, 0, 1, 1]), G, answers="means"),
    "gaussian": lambda: gm.plan(gm.domains.GaussianData([5, 0, 1], [1, 2, 0.1]), G, answers="means"),
    "sums and means": lambda: gm.Request(
        "x", sums={"a": (0, 9)}, means={"b": (0, 5), "c": (1, 2)}, guarantee=G, complete=["b", "c"]
    ).plan,
    "over rows": lambda: gm.Request("x", means={"b": (0, 5), "c": (1, 2)}, complete=["b", "c"], **REQUEST).plan,
    "rows and people": lambda: gm.Request("x", sums={"a": (0, 9)}, means={"b": (0, 5)}, complete=["b"], **REQUEST).plan,
    "rows replaced": lambda: gm.Request(
        "x", means={"b": (0, 5)}, complete=["b"], neighbours="replace-one", **REQUEST
    ).plan,
    "tied": lambda: gm.Request(
        "x", means={"b": (0, 5), "c": (1, 2)}, sums={"a": (3, 9)}, by={"g": [1, 2, 3]}, guarantee=G, unit="person",
        mean_of="units", groups_per_unit=3, complete=["a", "b", "c"],
    ).plan,
}  # fmt: skip


def drawn(plan: gm.Plan, draws: int = DRAWS) -> tuple[Array, Array, Array, Array]:
    """Noise above and below each answer but the count, how far each mean may lie, and what it may be measured by."""
    block = plan.block
    dense = block.shape.features.dense() * block.noise_scale
    noise = np.random.default_rng().standard_normal((draws, dense.shape[1])) @ dense.T
    above, below, farthest = [], [], []
    for statistic in block.answers.statistics:
        if counts_records(statistic):
            continue
        for i, places in enumerate(statistic.places):
            above.append(noise[:, places[0]])
            secret = statistic.divided and (places[-1] >= 0 or not block.public_count)
            below.append(noise[:, places[-1]] if secret else np.zeros(draws))
            limit = block.domain.means.distances[block.problem.features.index[places[0]]] if statistic.divided else 0.0
            stated = getattr(statistic, "within", None)
            if stated is not None:
                limit = min(limit, np.abs(stated[i] - statistic.middles[i]).max())
            farthest.append(limit)
    divided = block.answers.divided[: block.answers.size]
    return np.stack(above, 1), np.stack(below, 1), np.array(farthest), divided


def places_of_means(plan: gm.Plan, farthest: Array) -> dict[str, Array]:
    rng = np.random.default_rng()
    size = len(farthest)
    if isinstance(plan.domain, gm.domains.Ball):
        around = rng.standard_normal(size)
        return {
            "centre": np.zeros(size),
            "on an axis": farthest * (np.arange(size) == 0),
            "in all": farthest / math.sqrt(size),
            "somewhere": farthest * around / np.linalg.norm(around),
        }
    return {
        "centre": np.zeros(size),
        "upper ends": farthest,
        "lower ends": -farthest,
        "corner": farthest * rng.choice([-1, 1], size),
        "somewhere": farthest * rng.uniform(-1, 1, size),
    }


@pytest.mark.parametrize("name", PLANS)
def test_promises_hold_wherever_the_means_lie(name: str) -> None:
    plan = PLANS[name]()
    above, below, farthest, divided = drawn(plan)
    law, size = plan.error_law, len(farthest)
    tightest = 0.0
    for where, u in places_of_means(plan, farthest).items():
        e = above - u * below
        largest = np.abs(e).max(axis=1)

        def holds(inside: npt.NDArray[np.bool_], p: float, where: str = where) -> None:
            assert stats.binomtest(int(inside.sum()), DRAWS, p, "less").pvalue > ALARM, where

        for p in (0.5, 0.95):
            holds(largest <= plan.maximum_error(p), p)
            holds((e * e).sum(axis=1) <= plan.squared_error_quantile(p), p)
            for j in range(size):
                holds(np.abs(e[:, j]) <= plan.error_quantiles(p)[j], p)
        tightest = max(tightest, stats.binomtest(int((largest <= plan.maximum_error(0.8)).sum()), DRAWS, 0.8).pvalue)
        slack = 8 * largest.std() / math.sqrt(DRAWS)
        assert largest.mean() <= plan.expected_maximum_error() + slack
        assert (e * e).sum(axis=1).mean() <= plan.expected_squared_error * (1 + 8 * math.sqrt(2 * size / DRAWS))
        for error in (0.02 * float(law.own.max()), 0.3 * float(law.own.max())):  # some hundred rows, and a few
            n = plan.rows_needed(error, confidence=0.9)
            over = np.where(divided, n + below, n)
            holds(((np.abs(e) <= error * over) & (over > 0)).all(axis=1), 0.9)
    if law.common:  # then the law is exactly that of some means
        assert tightest > ALARM


def test_the_average_over_the_bounds_is_no_promise() -> None:
    """The same statements from the mean square r²/3 fail at the ends of the bounds, and by how much."""
    plan = PLANS["one mean"]()
    above, below, farthest, _ = drawn(plan)
    e = np.abs(above - farthest * below)[:, 0]
    average = ErrorLaw(np.sqrt(np.diag(plan.block.averaged_covariance())), np.zeros(1))
    for p, bound in ((0.95, average.maximum_error(0.95)), (0.95, math.sqrt(average.squared_error_quantile(0.95)))):
        assert stats.binomtest(int((e <= bound).sum()), DRAWS, p, "less").pvalue < 1e-9
    few = rows_needed(average, 0.01, 0.95)
    within = e <= 0.01 * (few + below[:, 0])
    assert 0.82 < within.mean() < 0.90 and few < plan.rows_needed(0.01, 0.95)


def test_rows_needed_are_no_more_than_they_must_be() -> None:
    """One row less fails at the end of the bounds, by the integral over the count alone."""
    plan = PLANS["one mean"]()
    (own,), (divisor,) = plan.error_law.own, plan.error_law.divisors
    for error in (0.01, 5.0, 40.0):
        n = plan.rows_needed(error, 0.95)

        def chance(rows: float, error: float = error) -> float:
            b = np.linspace(-9, 9, 200_001) * divisor
            reach = np.maximum(error * (rows + b), 0)
            inside = stats.norm.cdf((reach + 50 * b) / own) - stats.norm.cdf((-reach + 50 * b) / own)
            return float(np.trapezoid(inside * stats.norm.pdf(b / divisor), b / divisor))

        assert chance(n) > 0.95 - 1e-6 and chance(n - 1) < 0.95 + 1e-6


def test_stated_places_narrow_the_promise_and_nothing_else() -> None:
    box = gm.Box({"age": (0, 100), "height": (0, 2)})
    free = gm.plan(box, G, answers="means")
    told = gm.plan(box, G, answers="means", mean_within={"age": (40, 60)})
    assert told.rows_needed(1.0) < free.rows_needed(1.0) and told.maximum_error() < free.maximum_error()
    assert told.standard_errors[0] < free.standard_errors[0] and told.standard_errors[1] == free.standard_errors[1]
    assert told.block.shape.to_dict() == free.block.shape.to_dict() and told.price == free.price

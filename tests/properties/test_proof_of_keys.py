"""The proof of found keys sees what is wrong: intervals that forget, thresholds too low, people counted twice."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom
from shown.curves import curve, largest_delta, shown_alone, simulate
from shown.intervals import Cell, covered
from shown.neighbours import compare, random_pair, try_pairs
from shown.persons import count_alone, threshold_at, weigh_alone

import gaussmith as gm


@pytest.mark.parametrize("cell", [Cell(12, 1, 1, False), Cell(12, 10, 10, True)])
def test_intervals_that_forget_are_seen(cell: Cell) -> None:
    rng = np.random.default_rng(1)
    assert binom.cdf(covered(cell, 1000, rng)["count"], 1000, 0.95) > 1e-6
    assert binom.cdf(covered(cell, 1000, rng, conditional=False)["count"], 1000, 0.95) < 1e-6


def test_a_low_threshold_is_seen_by_every_route() -> None:
    for kappa, audit in ((Fraction(1, 5), count_alone), (Fraction(1, 10**5), None)):
        right, low = (threshold_at(3, kappa, 1) for _ in range(2))
        low.__dict__["bar"] = right.bar - (1 << 51)
        found = [
            audit(each, 3, 5000) if audit else weigh_alone(each, 3, 20_000, np.random.default_rng(2))
            for each in (right, low)
        ]
        assert [each.passes for each in found] == [True, False]
        allowed = -math.expm1(math.log1p(-float(kappa)) / 3)
        assert shown_alone(right, 3) == pytest.approx(allowed, rel=1e-9)
        assert shown_alone(low, 3) > 1.1 * allowed


def test_the_curve_by_quadrature_is_that_of_a_gaussian_and_of_keys() -> None:
    mu = gm.Guarantee(epsilon=1, delta=1e-5).mu
    found = curve(1.0, np.array([0.0, math.log1p(-1e-5)]), np.array([mu, 0.0]))
    assert found == pytest.approx([1e-5, 1e-5], rel=1e-9)
    request = gm.Request(
        "visits.csv",
        unit="person",
        by={"town": "found"},
        groups_per_unit=5,
        count=True,
        guarantee=gm.Guarantee(epsilon=1, delta=1e-5),
    )
    assert largest_delta(request).delta == pytest.approx(1e-5, rel=1e-6)
    simulated = simulate(2, 1, 1000, 0.5, 20_000)
    assert abs(simulated.delta - simulated.exact) < 5 * simulated.error


def test_changes_beyond_what_is_charged_are_seen() -> None:
    threshold = threshold_at(4, Fraction(1, 10**5), 1)
    S = threshold.spares
    before = {("a",): (3, 3 * S[0])}
    assert compare(threshold, before, {("a",): (4, 4 * S[0])}) == []
    assert compare(threshold, before, {("a",): (4, 3 * S[0] + S[1]), ("b",): (1, S[1])}) == []
    assert compare(threshold, before, {("a",): (5, 4 * S[0])})
    assert compare(threshold, before, {})
    assert compare(threshold, before, {("a",): (4, 4 * S[0]), ("b",): (1, S[0])})  # two keys, each as if it were one
    assert compare(threshold, before, {("a",): (3, 3 * S[0]), ("b",): (2, S[0])})
    assert compare(threshold, {}, {(str(i),): (1, 0) for i in range(5)})


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_random_neighbours_change_what_is_charged(engine: str) -> None:
    for i in range(3):
        chance = random.Random(f"teeth:{i}")
        assert try_pairs(random_pair(chance, newcomers=2), engine, chance) == []

"""What published estimators of means spend: PLAN's code is computed to spend 3 to 12 times what it counts."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.papers.mean_estimators import quantile_divergence

c = gm.papers


def spread(people: int) -> np.ndarray:
    """One number per person, even over (0, 100)."""
    return 100 * (np.arange(people) + 0.5) / people


def copied(values: np.ndarray) -> np.ndarray:
    """As PLAN's code takes them: each number moved by −0.1, 0 and 0.1."""
    return np.concatenate([values - 0.1, values, values + 0.1])


@pytest.mark.parametrize(("neighbours", "factor"), [("add-remove", 3.0), ("replace-one", 12.0)])
def test_the_medians_of_plan_cost_what_the_entry_says(neighbours, factor):
    """The law of the published step on two neighbouring data sets, computed exactly: D_α/α reaches the stated ρ."""
    rho = 1e-4
    epsilon = np.sqrt(8 * rho / 3)
    here = spread(200)
    there = np.append(here[1:], 99.9) if neighbours == "replace-one" else here[1:]
    for order in (1.0001, 2.0, 16.0):
        found = quantile_divergence(copied(here), copied(there), (0.0, 100.0), 0.5, epsilon, 0.5, order)
        assert 0.9 * factor * rho < found <= factor * rho
    entry = c.plan_mean(dimension=1, rho=rho / 0.0625, rows=200, neighbours=neighbours, as_published=True)
    assert entry.steps[0].claimed_rho == pytest.approx(rho)
    assert entry.steps[0].true_rho == pytest.approx(factor * rho)


def test_an_honest_quantile_costs_what_it_was_given():
    rho = 1e-4
    here = spread(200)
    there = np.append(here[1:], 99.9)
    for order in (1.0001, 2.0, 16.0):
        found = quantile_divergence(here, there, (0.0, 100.0), 0.5, np.sqrt(8 * rho), 1.0, order)
        assert 0.9 * rho < found <= rho


def test_what_each_claims_and_spends():
    published = c.plan_mean(dimension=64, rho=0.5, rows=10_000, as_published=True)
    assert not published.holds and published.sound == "no"
    assert 3.7 < published.true_rho / published.claimed_rho < 3.8
    added = c.plan_mean(dimension=64, rho=0.5, rows=10_000, as_published=True, neighbours="add-remove")
    assert not added.holds and added.true_rho / added.claimed_rho == pytest.approx(1.5)
    for entry in (
        c.plan_mean(dimension=64, rho=0.5, rows=10_000),
        c.plan_mean(dimension=64, rho=0.5, rows=10_000, neighbours="add-remove"),
        c.iome(dimension=50, rho=0.5),
        *(c.coinpress(dimension=50, rho=0.5, rows=1000, radius=70, steps=t) for t in (1, 2, 3, 4)),
    ):
        assert entry.holds and entry.claimed_rho == pytest.approx(0.5) and entry.true_rho == pytest.approx(0.5)
        assert entry.claimed.mu == pytest.approx(1.0)


def test_coinpress_has_published_splits_only():
    with refused("unknown-coinpress-steps", steps=7):
        c.coinpress(dimension=2, rho=1, rows=100, radius=1, steps=7)

"""A chosen quantile and its interval beside noisy cells at equal μ: how far off, how wide, and how often right.

Unseeded, with the samplers of releases. Coverage is a binomial count, and false alarms come once in 10^9 runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from planting import plant
from scipy import stats

import gaussmith as gm
from gaussmith.domains.chosen_cells import FineCells, edges_around
from gaussmith.noise.keystream import Keystream
from gaussmith.noise.selection import Occupied, RankSelection
from gaussmith.planning.block import Block
from gaussmith.planning.error_distribution import normal_width
from gaussmith.privacy.choices import choice_at, level_of, rank_sensitivity, spread_of_ranks
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.statistics import chosen
from gaussmith.statistics.chosen import FOR_VALUE, ChosenQuantiles
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.statistic import Noisy

MU = gm.Guarantee(epsilon=1, delta=1e-6).mu
FINE = 1 << 20
TODAY = 256
WIDTH = normal_width(0.95)


@lru_cache
def block_of(cells: int, mu: float) -> Block:
    asked = gm.workloads.prefix(cells)
    return gm.plan(gm.Cells({"x": cells}, or_none=True), gm.Guarantee(mu=mu), answers=asked).block


def noisy_of(block: Block, below: np.ndarray, beside: np.ndarray | None = None) -> Noisy:
    """Numbers below edges with the noise of a block, and what stands after them."""
    rows = block.shape.features.dense()
    noise = np.random.default_rng().normal(size=(len(below), rows.shape[1])) @ rows.T * block.noise_scale
    features = below + noise if beside is None else np.column_stack([below + noise, beside])
    return Noisy(features, block.shape.features, block.noise_scale**2, False)


def places_in(x: np.ndarray, low: float, top: float, cells: int) -> np.ndarray:
    return np.clip(np.floor((x - low) / (top - low) * cells), 0, cells - 1).astype(np.int64)


def truth(x: np.ndarray, level: float) -> float:
    """The smallest value with at least qn values at or below it."""
    return float(np.sort(x)[max(0, math.ceil(level * len(x)) - 1)])


class Run:
    """Values and ends of intervals of so many releases of one quantile."""

    def __init__(self, x: np.ndarray, values: np.ndarray, low: np.ndarray, high: np.ndarray, level: float) -> None:
        x = np.sort(x)
        self.values, self.low, self.high = values, low, high
        target = level * len(x)
        below, upto = (np.searchsorted(x, values, side=side) for side in ("left", "right"))
        self.ranks = np.maximum(0, np.maximum(below - target, target - upto))
        self.width = np.searchsorted(x, high, side="right") - np.searchsorted(x, low, side="left")
        known = len(x) > 0
        self.covers = (low <= truth(x, level)) & (truth(x, level) <= high) if known else np.ones(len(values), bool)

    @property
    def rms(self) -> float:
        return float(np.sqrt((self.ranks**2).mean()))


def choose(x: np.ndarray, bounds: tuple[float, float], level: float, mu: float, times: int) -> tuple[Any, np.ndarray]:
    table = Occupied.of(places_in(x, *bounds, FINE), np.ones(len(x)), FINE)
    epsilon, delta = choice_at(mu), rank_sensitivity(level_of(level), ADD_REMOVE)
    return table, RankSelection(level_of(level), epsilon, delta).sample(table, times, Keystream().words)


def with_interval(x: np.ndarray, bounds: tuple[float, float], level: float, mu: float, times: int) -> Run:
    """A choice and the noisy numbers around it: μ² in two parts."""
    own = mu * math.sqrt(FOR_VALUE)
    table, places = choose(x, bounds, level, own, times)
    fine = FineCells(*bounds, (bounds[1] - bounds[0]) / FINE, FINE)
    edges = np.column_stack([edges_around(places, FINE), np.full(times, FINE)])
    block = block_of(fine.around, mu * math.sqrt(1 - FOR_VALUE))
    noisy = noisy_of(block, table.below(edges.ravel()).reshape(edges.shape), places)
    spread = spread_of_ranks(choice_at(own), rank_sensitivity(level_of(level), ADD_REMOVE))
    read = ChosenQuantiles.around("x", level, fine, spread)
    low, high = read.intervals(noisy, WIDTH)
    assert (low <= high).all()
    return Run(x, read.values(noisy)[:, 0], low[:, 0], high[:, 0], level)


def value_alone(x: np.ndarray, bounds: tuple[float, float], level: float, mu: float, times: int) -> Run:
    _, places = choose(x, bounds, level, mu, times)
    fine = FineCells(*bounds, (bounds[1] - bounds[0]) / FINE, FINE)
    values = np.array([fine.value(int(place)) for place in places])
    return Run(x, values, values, values, level)


def today(x: np.ndarray, bounds: tuple[float, float], level: float, mu: float, times: int) -> Run:
    """From the numbers in 256 cells of one width."""
    edges = np.linspace(*bounds, TODAY + 1)
    below = np.cumsum(np.bincount(places_in(x, *bounds, TODAY), minlength=TODAY))
    noisy = noisy_of(block_of(TODAY, mu), np.tile(below, (times, 1)))
    read = Quantiles.reading(["x"], [level], edges.tolist())
    low, high = read.intervals(noisy, WIDTH)
    return Run(x, read.values(noisy)[:, 0], low[:, 0], high[:, 0], level)


def people(kind: str, n: int) -> np.ndarray:
    draw = np.random.default_rng()
    drawn: dict[str, Callable[[], np.ndarray]] = {
        "uniform": lambda: draw.random(n) * 100,
        "lognormal": lambda: np.minimum(draw.lognormal(3, 0.6, n), 100),
        "whole": lambda: np.floor(draw.random(n) * 100),
        "poisson": lambda: np.minimum(draw.poisson(20, n), 100).astype(float),
        "zeros": lambda: np.where(draw.random(n) < 0.7, 0.0, draw.random(n) * 100),
        "two heaps": lambda: np.where(np.arange(n) < n // 2, 3.0, 97.0),
        "one heap": lambda: np.full(n, 42.0),
        "at the top": lambda: np.full(n, 100.0),
        "beyond": lambda: np.where(draw.random(n) < 0.6, 1e9, draw.random(n)),
    }
    return drawn[kind]()


# ── how good it is ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["uniform", "lognormal"])
def test_ranks_and_widths_beside_noisy_cells_at_equal_mu(kind):
    """20 000 people: 0.45 of the rank error for the value alone, 0.8 with an interval, which is no wider."""
    x, bounds, times = people(kind, 20_000), (0.0, 100.0), 3000
    cells = today(x, bounds, 0.5, MU, times)
    alone, both = value_alone(x, bounds, 0.5, MU, times), with_interval(x, bounds, 0.5, MU, times)
    assert alone.rms <= 0.45 * cells.rms
    assert both.rms <= 0.8 * cells.rms
    assert np.median(both.width) <= np.median(cells.width)


CASES = [
    *(("uniform", n, level) for n in (0, 1, 2, 5, 30, 300, 20_000) for level in (0.5, 0.1)),
    *(("lognormal", n, 0.5) for n in (10, 1000)),
    *((kind, n, 0.5) for kind in ("whole", "poisson", "zeros", "two heaps") for n in (40, 5000)),
    ("one heap", 3, 0.5),
    ("one heap", 3000, 0.5),
    ("at the top", 50, 0.5),
    ("beyond", 500, 0.5),
    ("zeros", 2000, 0.75),
    ("poisson", 2000, 0.99),
    ("two heaps", 101, 0.5),
]


@pytest.mark.parametrize(("kind", "n", "level"), CASES)
def test_intervals_cover(kind, n, level):
    bounds, times = (0.0, 100.0), 20_000
    x = np.clip(people(kind, n), *bounds)
    found = with_interval(x, bounds, level, MU, times)
    missed = times - int(found.covers.sum())
    assert stats.binom.sf(missed - 1, times, 0.05) > 1e-9, f"{missed} of {times} missed"


def test_most_groups_with_nobody_are_unknown():
    found = with_interval(np.zeros(0), (0.0, 100.0), 0.5, MU, 2000)
    assert np.mean(np.isinf(found.low) & np.isinf(found.high)) > 0.9


# ── planted faults ──────────────────────────────────────────────────────────────────────────────────────────────


def missed() -> float:
    """The share of intervals that miss, of 3000 people who all differ."""
    found = with_interval(np.linspace(0, 100, 3000), (0.0, 100.0), 0.5, MU, 4000)
    return float(1 - found.covers.mean())


def test_edges_that_are_not_those_of_the_counts_are_noticed(monkeypatch):
    assert missed() < 0.05
    plant(monkeypatch, chosen.ChosenQuantiles.limits_of, "edges_around(np", "20_000 + edges_around(np")
    assert missed() > 0.5


def test_noise_that_is_taken_for_a_fifth_is_noticed(monkeypatch):
    """Ends by tests at a fifth of the width miss: what covers is the noise, and not luck of the edges."""
    plant(
        monkeypatch,
        chosen.ChosenQuantiles._inverted,
        "_inverted(noisy, widths, sampled)",
        "_inverted(noisy, 0.2 * widths, sampled)",
    )
    assert missed() > 0.1


# ── what is read ────────────────────────────────────────────────────────────────────────────────────────────────


def test_values_are_the_shortest_numbers_in_their_cells():
    fine = FineCells(0.0, 120.0, 120 / FINE, FINE)
    for age in range(0, 120, 7):
        (place,) = places_in(np.array([float(age)]), 0.0, 120.0, FINE)
        assert fine.value(int(place)) == age
    for place in np.random.default_rng().integers(0, FINE, 200).tolist():
        low, high = fine.edge([place, place + 1])
        assert low <= fine.value(place) < high
    tiny = FineCells(1e-30, 3e-30, 2e-30 / FINE, FINE)
    assert tiny.edge(5) <= tiny.value(5) < tiny.edge(6)


def test_edges_are_in_order_and_within_bounds():
    fine = FineCells(-5.0, 5.0, 10 / FINE, FINE)
    for place in (0, 1, 77, FINE // 2, FINE - 1):
        edges = edges_around(place, FINE)
        assert len(edges) == fine.around - 1 and (np.diff(edges) >= 0).all() and {place, place + 1} <= {*edges.tolist()}
        assert edges[0] >= 0 and edges[-1] <= FINE


def test_one_group_reads_as_one_of_many():
    x, bounds = people("uniform", 1000), (0.0, 100.0)
    _, places = choose(x, bounds, 0.5, MU, 3)
    fine = FineCells(*bounds, 100 / FINE, FINE)
    read, block = ChosenQuantiles.around("x", 0.5, fine, 1.0), block_of(fine.around, MU)
    below = np.sort(np.random.default_rng().normal(500, 300, (3, fine.around)))
    many = noisy_of(block, below, places)
    one = Noisy(many.features[1], block.shape.features, block.noise_scale**2, False)
    assert read.values(one).shape == (1,) and read.values(one)[0] == read.values(many)[1, 0]
    for alone, each in zip(read.intervals(one, WIDTH), read.intervals(many, WIDTH), strict=True):
        assert alone.shape == (1,) and alone[0] == each[1, 0]

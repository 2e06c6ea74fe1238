"""How often the intervals of shown groups hold the truth, with noise that is conditioned on being shown.

A group of n people in which each is in j groups is shown if Û or a·Û + b·V̂ is high enough. Given the noise of the
spare number, the noise of people is normal above a bar; the law of the former, given that the group is shown, is that
of a normal weighted by the chance to pass. Both are drawn by inversion, so that cells of rare groups cost no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr, ndtri

import gaussmith as gm
from gaussmith.numerics.exact import Array, Words
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.discovered_groups import Threshold, threshold_of
from gaussmith.planning.error_distribution import normal_width
from gaussmith.releases.readout import shown_intervals

ANSWERS = ("sum", "mean", "count")
FARTHEST = 14.0
"""Standard deviations of the spare noise that are looked at."""


@dataclass(frozen=True)
class Cell:
    """Groups of `people`, each in `each_in` of at most `most` groups, shown by one look or by both, above a floor."""

    people: int
    most: int
    each_in: int
    looks: bool
    at_least: int = 1

    @property
    def name(self) -> str:
        looks = f"two looks, each person in {self.each_in}" if self.looks else "one look"
        floor = f", at least {self.at_least}" if self.at_least > 1 else ""
        return f"{self.people} people, m = {self.most}, {looks}{floor}"


def every_cell(people: tuple[int, ...] = (8, 12, 20, 50, 200)) -> list[Cell]:
    """All cells: m = 1, 3, 10, 30, with and without looks; some above a floor."""
    cells = []
    for n in people:
        cells += [Cell(n, m, m, False) for m in (1, 3, 10, 30)]
        cells += [Cell(n, m, j, True) for m, j in ((10, 1), (10, 10), (30, 3), (30, 30))]
    return [*cells, *(Cell(n, m, 1, m > 1, 5) for n in people[:2] for m in (1, 10))]


@lru_cache(maxsize=64)
def _planned(m: int, at_least: int, looks: bool) -> tuple[Any, Threshold]:
    request = gm.Request(
        "visits.csv",
        unit="person",
        by={"key": "found"},
        groups_per_unit=m,
        keys_at_least=at_least,
        count=True,
        sums={"spent": (0, 60)},
        means={"age": (0, 100)},
        mean_of="units",
        complete=["age"],
        guarantee=gm.Guarantee(epsilon=1, delta=1e-5),
    )
    (query,) = request.plan.queries
    threshold = threshold_of(query)
    assert threshold is not None
    if threshold.has_spare and not looks:
        threshold.__dict__["has_spare"] = False  # the whole of κ for the count alone
    assert threshold.has_spare == looks
    return query.block, threshold


def covered(cell: Cell, repeats: int, rng: np.random.Generator, conditional: bool = True) -> dict[str, int]:
    """In how many shown groups the 95 % interval of each answer holds the truth.

    Without `conditional` the intervals forget that the groups were shown: they must be found to fail.
    """
    block, threshold = _planned(cell.most, cell.at_least, cell.looks)
    noise, spare, spare_noise = _query_shown(cell, threshold, repeats, rng)
    people = np.full(repeats, cell.people, np.int64)
    if not threshold.shows(people, noise, spare, spare_noise).all():
        raise AssertionError(f"{cell.name}: a query that is not shown")
    bars = threshold.bars(spare, spare_noise) if conditional else np.full(repeats, -1e9)
    F, L = block.shape.features.dense(), block.shape.lift.dense()
    offsets = rng.uniform(-1, 1, size=2)  # of the sum and of the mean, in half widths of their bounds
    noises = rng.normal(size=(repeats, len(L)))
    noises[:, -1] = noise * 2.0**-NOISE_BITS
    features = (L @ np.array([*(cell.people * offsets), cell.people]) + noises * block.noise_scale) @ F.T
    low, high = shown_intervals(block, features, bars, cell.at_least, normal_width(0.95), "fieller")
    truth = np.array([cell.people * (30 + 30 * offsets[0]), 50 + 50 * offsets[1], cell.people])
    held = ((low <= truth) & (truth <= high)).sum(axis=0)
    return dict(zip(ANSWERS, map(int, held), strict=True))


def _query_shown(
    cell: Cell, threshold: Threshold, repeats: int, rng: np.random.Generator
) -> tuple[Words, Words, Words]:
    """The noise of people and of the spare number given that the group is shown, and the spare number."""
    unit = 2.0**NOISE_BITS
    each = threshold.spares[cell.each_in - 1] if cell.looks else 0
    spare = np.full(repeats, each * cell.people, np.int64)

    def above(noises: Words) -> Array:
        """From where on noise of people shows the group, in standard deviations."""
        bars = threshold.bars(np.full(len(noises), each * cell.people, np.int64), noises)
        return np.asarray((bars - cell.people) / threshold.noise)

    v = np.zeros(repeats)
    if cell.looks:
        grid = np.linspace(-FARTHEST, FARTHEST, 40_001)
        log_weights = log_ndtr(-above(_integers(grid * unit))) - grid**2 / 2
        weights = np.exp(log_weights - log_weights.max())
        mass = np.concatenate([[0.0], np.cumsum((weights[1:] + weights[:-1]) / 2)])
        v = np.interp(rng.uniform(size=repeats) * mass[-1], mass, grid)
    spare_noise = _integers(v * unit)
    least = above(spare_noise)
    u = -ndtri(ndtr(-least) * (1 - rng.uniform(size=repeats)))
    noise = _integers(np.ceil(np.maximum(u, least) * unit)) + (1 << 18)  # a double of a bar has 53 bits
    return noise, spare, spare_noise


def _integers(values: Array) -> npt.NDArray[np.int64]:
    return np.round(values).astype(np.int64)

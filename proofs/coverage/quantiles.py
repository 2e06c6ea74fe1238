"""Coverage of quantiles: of the people in the data, by group, with missing values, differences, the population.

`cases()` gives the cases; each is a name, the coverage that is promised, and a function that makes so many releases and
says in how many of them the interval held the truth (of the answer of which it held least often). Releases are exact
counts of the real path plus normal noise by the plan's own law; intervals are those of the library, for all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import norm

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.planning.error_distribution import normal_width
from gaussmith.releases.contrasts import recovered_interval, shared_width
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.statistic import Noisy
from gaussmith.totals.opened import total

SIZES = (500, 2_000, 20_000)
LEVELS = (0.1, 0.5, 0.9)
BOUNDS = (0.0, 200.0)
GROUPS = ("a", "b", "c")
GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-6)
NOMINAL = 0.95
CHUNK = 2_000
"""Releases made at a time."""

Array = npt.NDArray[np.float64]
Hits = Callable[[int, np.random.Generator], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Case:
    """A name, the promised coverage, and how many of so many intervals held the truth."""

    name: str
    nominal: float
    covered: Callable[[int], int]


def cases() -> list[Case]:
    """By the number of people, by group or not, with a fifth of the values missing or none."""
    return list(_cases())


def _cases() -> Iterator[Case]:
    for n in SIZES:
        for by in (False, True):
            for missing in (0.0, 0.2):
                told = f"{', by group' if by else ''}{f', {missing:.0%} missing' if missing else ''}"
                yield _case(f"quantiles, n = {n:,}{told}", of_people(n, by, missing))
    for n in SIZES:
        for missing in (0.0, 0.2):
            told = f", {missing:.0%} missing" if missing else ""
            yield _case(f"differences of quantiles of two groups, n = {n:,}{told}", of_difference(n, missing))
    for n in SIZES[:2]:
        yield _case(f"quantiles of the population, n = {n:,}", of_population(n))


def _case(name: str, make: Callable[[np.random.Generator], Hits]) -> Case:
    def covered(repeats: int) -> int:
        random = np.random.default_rng()
        hits, held = make(random), np.zeros(1, int)
        for start in range(0, repeats, CHUNK):
            some = min(CHUNK, repeats - start)
            held = held + hits(some, random).reshape(some, -1).sum(axis=0)
        return int(held.min())

    return Case(name, NOMINAL, covered)


def people(n: int, missing: float, random: np.random.Generator) -> pl.DataFrame:
    """Lognormal incomes, some of them missing."""
    income: list[float] = random.lognormal(3, 1, n).tolist()
    kept = [None if gap else x for gap, x in zip(random.random(n) < missing, income, strict=True)]
    return pl.DataFrame({"income": pl.Series(kept, dtype=pl.Float64), "group": random.choice(GROUPS, n).tolist()})


def true_quantiles(values: pl.Series) -> Array:
    """The smallest value with at least qn of the values at or below it, within the bounds."""
    ordered = np.sort(values.drop_nulls().to_numpy())
    return np.array([ordered[int(np.ceil(q * len(ordered))) - 1] for q in LEVELS]).clip(*BOUNDS)


def request_for(data: pl.DataFrame, by: bool) -> gm.Request:
    groups: dict[str, Any] = {"by": {"group": list(GROUPS)}} if by else {}
    asked = {"income": list(LEVELS)}
    return gm.Request(data, quantiles=asked, bounds={"income": BOUNDS}, guarantee=GUARANTEE, **groups)


def statistic_of(request: gm.Request) -> Quantiles:
    (read,) = request.plan.queries[0].block.answers.statistics
    assert isinstance(read, Quantiles)
    return read


def released(request: gm.Request, counts: Array, random: np.random.Generator) -> Noisy:
    """Releases of so many people in each cell: the last axis has the cells."""
    block = request.plan.queries[0].block
    rows = block.shape.features.dense()
    noise = random.standard_normal((*counts.shape[:-1], rows.shape[1])) @ rows.T * block.noise_scale
    features = np.cumsum(counts, axis=-1) + noise
    return Noisy(features, block.shape.features, block.noise_scale**2, block.shape.counted)


def exact_counts(request: gm.Request) -> Array:
    """Of every group the number of people in each cell, by the real path."""
    (opened,) = mechanism.prepare_request(request.plan, request.source).sources
    return np.array([[int(count) for count in each.sums] for each in total(opened)], float)


def of_people(n: int, by: bool, missing: float) -> Callable[[np.random.Generator], Hits]:
    """The same people in every release."""

    def make(random: np.random.Generator) -> Hits:
        data = people(n, missing, random)
        request = request_for(data, by)
        read, counts = statistic_of(request), exact_counts(request)
        parts = [data.filter(pl.col("group") == g) for g in GROUPS] if by else [data]
        truth = np.array([true_quantiles(part["income"]) for part in parts])

        def hits(repeats: int, random: np.random.Generator) -> npt.NDArray[np.bool_]:
            noisy = released(request, np.broadcast_to(counts, (repeats, *counts.shape)), random)
            low, high = read.intervals(noisy, normal_width(NOMINAL))
            return np.asarray((low <= truth) & (truth <= high))

        return hits

    return make


def of_difference(n: int, missing: float) -> Callable[[np.random.Generator], Hits]:
    """The quantiles of one group less those of another, whose noise is another query."""

    def make(random: np.random.Generator) -> Hits:
        data = people(n, missing, random)
        request = request_for(data, True)
        read, counts = statistic_of(request), exact_counts(request)[:2]
        one, other = (true_quantiles(data.filter(pl.col("group") == g)["income"]) for g in GROUPS[:2])

        def hits(repeats: int, random: np.random.Generator) -> npt.NDArray[np.bool_]:
            noisy = released(request, np.broadcast_to(counts, (repeats, *counts.shape)), random)
            told = read.values(noisy), *read.intervals(noisy, shared_width(normal_width(NOMINAL), 2))
            sides = (np.swapaxes(each, 1, 2) for each in told)
            low, high = recovered_interval(np.array([1.0, -1.0]), *sides, None)
            return np.asarray((low <= one - other) & (one - other <= high))

        return hits

    return make


def of_population(n: int) -> Callable[[np.random.Generator], Hits]:
    """Fresh people in every release; the truth is that of the law they are drawn from."""

    def make(random: np.random.Generator) -> Hits:
        request = request_for(people(10, 0, random), False)
        read = statistic_of(request)
        truth = np.exp(3 + norm.ppf(LEVELS)).clip(*BOUNDS)

        def hits(repeats: int, random: np.random.Generator) -> npt.NDArray[np.bool_]:
            places = np.searchsorted(read.edges[1:-1], random.lognormal(3, 1, (repeats, n)), side="right")
            counts = np.array([np.bincount(each, minlength=read.cells) for each in places], float)
            low, high = read.population_intervals(released(request, counts, random), normal_width(NOMINAL))
            return np.asarray((low <= truth) & (truth <= high))

        return hits

    return make


def rank_errors(n: int, repeats: int = 2_000) -> dict[float, float]:
    """The root mean square error of each quantile in ranks, times μ."""
    random = np.random.default_rng()
    data = people(n, 0.0, random)
    request = request_for(data, False)
    read, counts = statistic_of(request), exact_counts(request)
    values = read.values(released(request, np.broadcast_to(counts[0], (repeats, counts.shape[1])), random))
    ordered = np.sort(data["income"].to_numpy().clip(*BOUNDS))
    ranks = np.searchsorted(ordered, values, side="right") - np.array(LEVELS) * n
    found = np.sqrt(np.mean(ranks**2, axis=0)) * GUARANTEE.mu
    return dict(zip(LEVELS, found.tolist(), strict=True))

"""Coverage of the intervals of variances, standard deviations, covariances, correlations and coefficients.

`cases()` gives the cases; each is a name, the coverage that is promised, and a function that makes so many releases and
says in how many of them the interval held the truth. Releases are known sums plus production noise, pushed through the
lift of the plan; the answers are read for all of them at once, as a release does for its groups. An answer that is
unknown has the whole line for an interval, which holds the truth: tests/statistics/test_moment_coverage.py leaves them
out, too.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import gaussmith as gm
from gaussmith.noise.gaussian import normal_integers
from gaussmith.numerics.exact import Array
from gaussmith.planning.block import Block
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.error_distribution import normal_width
from gaussmith.statistics.statistic import Noisy

SIZES = (500, 2_000, 20_000)
GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-6)
NOMINAL = 0.95
BOUNDS = {"age": (0, 110), "bmi": (10, 70), "income": (0, 200_000)}
ASKED: dict[str, Any] = {
    "variances": "variances",
    "covariance": "covariance",
    "regression": {"of": "income", "on": ["age", "bmi"]},
}
GROUPS = {"north": 0.5, "south": 0.3, "east": 0.2}
"""The shares of groups; the smallest is looked at."""
CHUNK = 5_000
"""Releases made at a time."""


@dataclass(frozen=True)
class Case:
    """A name, the promised coverage, and how many of so many intervals held the truth."""

    name: str
    nominal: float
    covered: Callable[[int], int]


def cases() -> list[Case]:
    """All cases: each answer of each question, by the number of people, by group, and with people who have no age."""
    return [
        Case(f"{name}, n = {n:,}{_told(by, missing)}", NOMINAL, covered)
        for n in SIZES
        for by in (False, True)
        for missing in (False, True)
        for name, covered in _of_size(n, by, missing)
    ]


def _told(by: bool, missing: bool) -> str:
    return f"{', in a fifth by group' if by else ''}{', a third of whom have no age' if missing else ''}"


def _of_size(n: int, by: bool, missing: bool) -> Iterator[tuple[str, Callable[[int], int]]]:
    """One case per answer; people without an age are left out, as a request does, and n is that of the others."""
    data = people(n)
    if by:
        data = data[: int(n * min(GROUPS.values()))]
    kept = data[: len(data) - len(data) // 3] if missing else data
    for asked, answers in ASKED.items():
        plan = gm.plan(gm.Moments(BOUNDS, around=0.15), GUARANTEE, answers=answers, weights="relative")
        block = grouped_block(asked) if by else plan.block
        for i, name in enumerate(block.answers.names):
            yield f"{asked}: {name}", _counting(block, in_order(block, kept), i)


def grouped_block(asked: str) -> Block:
    """The noise and the answers of each group of a request."""
    wanted: Any = {"variances": list(BOUNDS), "covariance": list(BOUNDS)}.get(asked, ASKED[asked])
    by = {"region": list(GROUPS)}
    request = gm.Request(
        "nowhere.csv", bounds=BOUNDS, by=by, complete=list(BOUNDS), guarantee=GUARANTEE, **{asked: wanted}
    )
    (query,) = request.plan.queries
    return query.block


def in_order(block: Block, data: Array) -> Array:
    """The columns in the order of the domain: a regression has the one that is explained first."""
    names = list(BOUNDS)
    return data[:, [names.index(name) for name in (block.domain.names or ()) if name in BOUNDS]]


def people(n: int) -> Array:
    """Ages, body mass indices and incomes with a spread of 0.3 of their half ranges, correlated, off the middle."""
    rng = np.random.default_rng(zlib.crc32(b"people"))  # which people is no matter of chance: the noise is
    z = rng.normal(size=(n, 3)) * 0.3
    z[:, 2] = 0.4 * z[:, 0] + 0.3 * z[:, 1] + 0.8 * z[:, 2]
    low, high = np.array(list(BOUNDS.values()), float).T
    return np.clip((low + high) / 2 + (z + np.array([0.1, -0.2, 0.15])) * (high - low) / 2, low, high)


def _counting(block: Block, data: Array, answer: int) -> Callable[[int], int]:
    truth = true_features(block, data)

    def covered(repeats: int) -> int:
        found = 0
        for start in range(0, repeats, CHUNK):
            low, high, exact = read_intervals(block, truth, min(CHUNK, repeats - start))
            found += int(((low[:, answer] <= exact[answer]) & (exact[answer] <= high[:, answer])).sum())
        return found

    return covered


def true_features(block: Block, data: Array) -> Array:
    """The features without noise, from the exact sums of the codes."""
    codes = block.codes
    pieces = [codes.sum_rows(data[i : i + 4096]).tolist() for i in range(0, len(data), 4096)]
    core = codes.centred([sum(column) for column in zip(*pieces, strict=True)], len(data))
    units = [c / e for c, e in zip(core, codes.extents.tolist(), strict=True)]
    return block.shape.features.times(block.shape.lift.times(np.array([*units, len(data)], float)))


def read_intervals(block: Block, truth: Array, repeats: int) -> tuple[Array, Array, Array]:
    """Ends of the intervals of all answers in so many releases, and the true answers."""
    shape = block.shape
    rows = shape.lift.shape[0]
    noise = normal_integers(repeats * rows, NOISE_BITS).reshape(repeats, rows) * 2.0**-NOISE_BITS * block.noise_scale
    noisy = Noisy(truth + noise @ shape.features.dense().T, shape.features, block.noise_scale**2, shape.counted)
    width = normal_width(NOMINAL, 1)
    ends = [each.intervals(noisy, width, "fieller") for each in block.answers.statistics]
    low, high = (np.concatenate(each, axis=-1) for each in zip(*ends, strict=True))
    exact = Noisy(truth, shape.features, 1e-60, shape.counted)
    return low, high, block.answers.gathered(lambda each: each.values(exact))

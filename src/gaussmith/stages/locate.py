"""Where the values of a column lie and how far they spread, from noisy counts in cells between powers of two.

Stage 1 of a mean of vectors of which nothing is known. The edges are ±2^k, so that a record's cell is decided by exact
comparisons; the middle cell holds 0 and the outer cells are open.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gaussmith.stages.fitting import Hypotheses, fit_people, make_hypotheses
from gaussmith.stages.laws import NORMAL_ONLY
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]

LEAST_POWER, LARGEST_POWER = -20, 40
POWERS = np.ldexp(1.0, np.arange(LEAST_POWER, LARGEST_POWER + 1))
EDGES: Array = np.concatenate([-POWERS[::-1], POWERS])
"""122 edges, 123 cells."""
OFFSETS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
"""|mean|/sd of the hypotheses."""
ROUNDS = 40
NEAR = 8.0
"""Hypotheses whose standard deviation differs by this factor at most, and whose means by so many of them, are near."""
LEAST_SCORE = 6.0
"""Φ⁻¹(1 − 10⁻⁶/1 000): below it the best of some thousand hypotheses may fit nothing but noise."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Of every coordinate a centre and a width (one standard deviation, uncertainty included); and the people."""

    centre: Array
    width: Array
    people: float


@lru_cache(maxsize=1)
def log_hypotheses() -> Hypotheses:
    """Normal laws with sd = 2^(b/2) over the whole range and a mean of up to 64 of them."""
    sds = 2.0 ** np.arange(LEAST_POWER + 1, LARGEST_POWER - 1, 0.5)
    offsets = np.array(sorted({s * r for r in OFFSETS for s in (-1.0, 1.0)}))
    means, spread = (offsets[None, :] * sds[:, None]).ravel(), np.repeat(sds, len(offsets))
    return make_hypotheses(EDGES, NORMAL_ONLY, means, spread)


def locate(cells: Array, people: float, sd: float) -> Frame:
    """The frame of every coordinate, from noisy cells (coordinates × 123) with noise of standard deviation `sd`.

    `people` is a guess of how many there are.
    """
    known = log_hypotheses()
    weights, found = fit_people(cells, people, sd, known, ROUNDS)
    weights = _near_the_best(weights, known)
    centre = weights @ known.means
    spread = weights @ (known.means**2 + known.sds**2) - centre * centre
    return Frame(centre, np.sqrt(np.maximum(spread, 1e-300)), found)


def _near_the_best(weights: Array, known: Hypotheses) -> Array:
    """The weights of hypotheses near the likeliest one of each column, adding up to 1.

    Hypotheses reach up to 2^45: a weight of 10⁻⁹ far away would move a mean over all of them.
    """
    best = weights.argmax(axis=1)
    mean, sd = known.means[best][:, None], known.sds[best][:, None]
    like = (known.sds >= sd / NEAR) & (known.sds <= sd * NEAR)
    near = like & (np.abs(known.means - mean) <= NEAR * np.maximum(known.sds, sd))
    kept = np.where(near, weights, 0.0)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def is_found(cells: Array, sd: float) -> bool:
    """Whether the cells of most columns hold more people than noise would show once in about 10⁶ columns.

    The largest matched filter of a column, in standard deviations of its noise, is compared with LEAST_SCORE.
    """
    P = log_hypotheses().fractions
    scores = cells @ (P / np.linalg.norm(P, axis=1, keepdims=True)).T / sd
    return bool(np.median(scores.max(axis=1)) > LEAST_SCORE)

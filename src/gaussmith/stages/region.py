"""Where the numbers of people lie, from noisy counts of cells; and the bounds that make the error of a sum least.

Two noisy counts describe a column: how many people have their lowest value in each cell, and how many their highest.
Where a person has one value both are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from gaussmith.stages.line import Line

CORE, CORE_OF_ZOOM = 1e-6, 1e-3
"""The probability that noise alone puts some cell into the core: of the whole line, and of a zoom into a part of it."""

FAINT = 0.01
"""The same for a single cell that is taken where no cell is in the core."""

STEP = 2.5
"""By how many standard errors a cell must exceed 0 to be added to the region."""

NOISE = 1.25
"""The error of a sum in units of half the width over μ: between a sum alone (1) and a sum beside a count."""

Counts = Sequence[float]
Region = tuple[int, int]


def find_region(line: Line, lowest: Counts, highest: Counts, error: float) -> Region | None:
    """The first and the last cell that people are in; None where nothing stands out of the noise.

    The core are the outermost cells that noise alone would hardly show. It grows one cell at a time while the next
    cell, or the next two together, stand out. A false step then costs a factor of 2, not one of 2^30.
    """
    size = line.cells
    bar = -NormalDist().inv_cdf((CORE_OF_ZOOM if line.is_zoomed else CORE) / size) * error
    core = [i for i in range(size) if max(lowest[i], highest[i]) > bar]
    if not core:
        largest = max(range(size), key=lambda i: max(lowest[i], highest[i]))
        if max(lowest[largest], highest[largest]) <= -NormalDist().inv_cdf(FAINT / size) * error:
            return None
        core = [largest]
    first, last = core[0], core[-1]
    while last + 1 < size and _stands_out(highest[last + 1 : last + 3], error):
        last += 1
    while first > 0 and _stands_out(lowest[max(first - 2, 0) : first][::-1], error):
        first -= 1
    return first, last


def _stands_out(following: Counts, error: float) -> bool:
    """Whether the next cell, or the next two together, are more than noise."""
    return following[0] > STEP * error or (len(following) > 1 and sum(following) > STEP * math.sqrt(2) * error)


def least_bounds(
    line: Line, lowest: Counts, highest: Counts, error: float, region: Region, mu: float
) -> tuple[float, float]:
    """The ends of cells, at most one beyond the region, with the least squared noise plus squared clipping of a sum.

        (1.25 (hi − lo) / 2μ)² + (Σ n_i (mid_i − hi)₊)² + (Σ n_i (lo − mid_i)₊)²

    What was seen in the region counts as it was seen, not below 0. The cell next to it counts as far as its people
    could have stayed unseen: between a quarter and one standard error.
    """
    first, last = region
    middles = [(a + b) / 2 for a, b in zip(line.lower, line.upper, strict=True)]
    above = {i: max(highest[i], 0.0) for i in range(first, last + 1)}
    below = {i: max(lowest[i], 0.0) for i in range(first, last + 1)}
    if last + 1 < line.cells:
        above[last + 1] = min(max(highest[last + 1], error / 4), error)
    if first > 0:
        below[first - 1] = min(max(lowest[first - 1], error / 4), error)
    starts = range(max(first - 1, 0), last + 1)
    stops = range(first, min(last + 1, line.cells - 1) + 1)
    down = {i: sum(n * max(line.lower[i] - middles[k], 0.0) for k, n in below.items()) for i in starts}
    up = {j: sum(n * max(middles[k] - line.upper[j], 0.0) for k, n in above.items()) for j in stops}
    best = min(
        (math.hypot(NOISE * (line.upper[j] - line.lower[i]) / (2 * mu), up[j], down[i]), i, j)
        for i in starts
        for j in stops
        if j >= i and line.upper[j] > line.lower[i]
    )
    return line.lower[best[1]], line.upper[best[2]]

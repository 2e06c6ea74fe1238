"""The best shape that hides the differences of all pairs of many points: found on the few points that matter.

Only pairs that are far apart, as the noise measures it, carry weight. So the search runs on some points, all pairs of
which are solved; then all points are measured with the shape found, those of the farthest pairs are added, and so on
until no pair is farther than the gap allows. What comes out is scaled, and certified, over all points.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.differences import Pairs
from gaussmith.numerics.optimum import Optimum, certify_shape, solve
from gaussmith.numerics.search import Progress

Array = npt.NDArray[np.float64]
Words = npt.NDArray[np.int64]

MANY = 300
"""Points above which pairs are not all searched."""

_ROUNDS = 60
_CHUNK = 1 << 21


def has_few_far(points: Array) -> bool:
    """Whether there are many points of few numbers each, so that most pairs do not matter."""
    return len(points) > MANY and 8 * points.shape[1] <= len(points)


def solve_far(
    points: Array,
    *,
    objective: Literal["total", "worst"] = "total",
    targets: Array | None = None,
    gap: float = 1e-3,
    progress: Progress | None = None,
) -> tuple[Optimum, Words]:
    """As `solve(points, pairs=True)`, with the points whose pairs have the weights, in the order of those.

    Guarantee: that of `solve`, for all pairs of all points.
    """
    chosen = _first(points)
    for _ in range(_ROUNDS):
        found = solve(points[chosen], pairs=True, objective=objective, targets=targets, gap=gap / 2, progress=progress)
        far, largest = _farthest(points @ found.lift.T, chosen)
        if largest <= 1.0 + gap / 4 or not len(far):
            break
        chosen = np.union1d(_kept(found, chosen), far)
    aims = np.zeros(0) if targets is None and objective == "total" else targets
    if aims is None:
        aims = np.ones(points.shape[1])
    lower = found.lower  # some differences bound the price of all
    whole = certify_shape(Pairs(points), found.lift, found.decode, found.weights, found.rounds, lower, aims)
    return replace(whole, shares=found.shares), chosen


def _first(points: Array) -> Words:
    """Points at the ends of some directions: those in which all points vary, and of every answer."""
    centred = points - points.mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    centred = centred / np.where(scale > 0, scale, 1.0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    kept = directions[sizes > 1e-13 * sizes[0]]
    sides = centred @ np.vstack([kept, np.eye(points.shape[1])]).T
    return np.unique(np.concatenate([sides.argmax(axis=0), sides.argmin(axis=0)]).astype(np.int64))


def _kept(found: Optimum, chosen: Words) -> Words:
    """The points that have a weight, or are near it."""
    size = len(chosen)
    first, second = np.triu_indices(size, 1)
    used = found.weights > 1e-6 * found.weights.max()
    return chosen[np.union1d(first[used], second[used])] if size > MANY else chosen


def _farthest(Y: Array, chosen: Words) -> tuple[Words, float]:
    """Points of the pairs that are farther apart than 1, the farthest first and not all of them; and that distance."""
    Y = Y - Y[chosen].mean(axis=0)
    radii = np.sqrt(np.einsum("ij,ij->i", Y, Y))
    # A pair farther apart than 1 has both ends farther from the middle than 1 less the largest radius.
    near = np.flatnonzero(radii > 1.0 - radii.max())
    Z, squares = Y[near], radii[near] ** 2
    most, other = np.empty(len(near)), np.empty(len(near), np.int64)
    step = max(1, _CHUNK // max(1, len(near)))
    for start in range(0, len(near), step):
        at = slice(start, start + step)
        apart = squares[at, None] + squares - 2.0 * (Z[at] @ Z.T)
        other[at] = apart.argmax(axis=1)
        most[at] = apart[np.arange(len(apart)), other[at]]
    if not len(near):
        return np.zeros(0, np.int64), 0.0
    order = np.argsort(-most)[: max(16, 2 * Y.shape[1])]
    order = order[most[order] > 1.0]
    ends = near[np.unique(np.append(order, other[order]))]
    return np.setdiff1d(ends, chosen), float(np.sqrt(max(most.max(), 0.0)))

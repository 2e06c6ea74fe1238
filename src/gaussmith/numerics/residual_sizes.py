"""What a record adds to the residuals of marginals, and what noise there costs: see `residuals` for the mathematics."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.way_tables import MANY, WayTable, fits_table

Array = npt.NDArray[np.float64]
Subset = tuple[int, ...]

MAX_PATTERNS = 10
"""Limit on the attributes of which every way to differ is planned for."""


def subsets_of(way: Subset, shape: Sequence[int]) -> list[Subset]:
    """The subsets with a residual: an attribute with a single value has none."""
    varied = [i for i in way if shape[i] > 1]
    return [A for size in range(len(varied) + 1) for A in itertools.combinations(varied, size)]


def prices_of(shape: tuple[int, ...], ways: tuple[Subset, ...], weights: Array) -> tuple[list[Subset], Array]:
    """v_A = Σ over the marginals above A of w ∏_{i∈A} (n_i−1) ∏_{j∈way∖A} 1/n_j, for each A below one of them."""
    if fits_table(shape, ways):
        table = way_table(shape, ways)
        return table.subsets, table.prices(weights)
    above: dict[Subset, float] = {}
    for way, weight in zip(ways, weights.tolist(), strict=True):
        every = weight / math.prod(shape[i] for i in way)
        for A in subsets_of(way, shape):
            above[A] = above.get(A, 0.0) + every
    subsets = sorted(above, key=lambda A: (len(A), A))
    return subsets, np.array([above[A] * math.prod((shape[i] - 1) * shape[i] for i in A) for A in subsets])


def sizes_of(shape: tuple[int, ...], subsets: list[Subset]) -> Array:
    """p_A: the squared norm of a record's residual A."""
    if len(subsets) > MANY:
        longest = max(map(len, subsets))
        rows = np.array([(*A, *(-1,) * (longest - len(A))) for A in subsets], np.int64)
        sizes = np.array(shape, float)
        return np.asarray(np.append((sizes - 1) / sizes, 1.0)[rows].prod(axis=1))
    return np.array([math.prod((shape[i] - 1) / shape[i] for i in A) for A in subsets])


def most_moved(shape: tuple[int, ...], subsets: list[Subset], neighbours: str) -> Array:
    """Squared norms in the residuals, never too small: a row for every kind of difference there is."""
    p = sizes_of(shape, subsets)
    if neighbours == "add-remove":
        return p[None, :] * (1.0 + 8.0 * 2.0**-50)
    attributes = {i for A in subsets for i in A}
    if len(attributes) <= MAX_PATTERNS:
        # Two records matter only by where they differ: 2^attributes patterns, all of them planned for.
        return moved_by(shape, subsets, every_pattern(len(attributes))) + 8.0 * 2.0**-50
    # Else bound each residual alone: records that differ in its smallest attribute only are furthest apart there.
    alone = [2.0 * math.prod((n - 1) / n for n in sorted(shape[i] for i in A)[1:]) for A in subsets]
    return np.array([alone]) * (1.0 + 8.0 * 2.0**-50)


def every_pattern(attributes: int) -> npt.NDArray[np.bool_]:
    """All ways to differ in some attributes, one per row."""
    return np.array(list(itertools.product((True, False), repeat=attributes))[:-1])


def moved_by(shape: tuple[int, ...], subsets: list[Subset], differs: npt.NDArray[np.bool_]) -> Array:
    """‖residual A of x − x′‖² for two records that differ in the given attributes, a row per pattern."""
    attributes = sorted({i for A in subsets for i in A})
    p = sizes_of(shape, subsets)
    moved = np.empty((len(differs), len(subsets)))
    for row, pattern in enumerate(differs):
        common = {i: -1 / shape[i] if x else 1 - 1 / shape[i] for i, x in zip(attributes, pattern, strict=True)}
        moved[row] = [2.0 * (q - math.prod(common[i] for i in A)) for q, A in zip(p, subsets, strict=True)]
    return np.maximum(moved, 0.0)


@lru_cache(maxsize=1)
def way_table(shape: tuple[int, ...], ways: tuple[Subset, ...]) -> WayTable:
    """The last marginals asked for as a table: a plan asks several times for the same."""
    return WayTable(shape, ways)

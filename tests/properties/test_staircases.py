"""Reflected staircases: whole products, and norms of columns and of pairs, beside every entry written out."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gaussmith.errors import PlanError
from gaussmith.numerics.reflected_maps import ENDS, Ends, Reflection, Staircase


def random_stairs(generator: random.Random, ends: Ends) -> Staircase:
    n = generator.randint(1, 30)
    most = n - (ends == "even")
    edges = [0, *sorted(generator.sample(range(1, most + 1), generator.randint(0, min(4, most))))]
    heights = [generator.randint(1, 9) for _ in edges]
    heights[0] += 60 * sum(heights)  # so that no eigenvalue is negative
    return Staircase(Reflection(n, ends), np.array(edges), np.array(heights))


def written_out(stairs: Staircase) -> np.ndarray:
    """Every entry in Python's integers, from the kernel extended beyond both ends."""
    n, ends = stairs.line.cells, stairs.line.ends
    steps = list(zip(stairs.edges.tolist(), stairs.heights.tolist(), strict=True))

    def t(k: int) -> int:
        turns, k = divmod(k + n, 2 * n + {"odd": 2, "mixed": 1, "even": 0}[ends])
        sign = (-1) ** turns if ends == "mixed" else 1
        return sign * sum(height for edge, height in steps if edge >= abs(k - n))

    sign, shift = (-1, 2) if ends == "odd" else (1, 1)
    return np.array([[t(i - j) + sign * t(i + j + shift) for j in range(n)] for i in range(n)], object)


@pytest.mark.parametrize("ends", ENDS)
def test_products_and_norms_are_those_of_the_entries(ends: Ends) -> None:
    generator = random.Random()
    for _ in range(40):
        stairs = random_stairs(generator, ends)
        n, T = stairs.line.cells, written_out(stairs)
        z = np.array([generator.randint(-99, 99) for _ in range(n)])
        assert stairs.exact_times(z) == list(T @ z.astype(object))
        columns = np.array([generator.randint(1, 9) for _ in range(n)])
        S = T * columns.astype(object)
        G = S.T @ S
        largest = max(G[i, i] for i in range(n)) ** 0.5
        assert largest <= stairs.largest_column(columns) <= largest * (1 + 1e-12)
        apart = max(G[i, i] + G[j, j] - 2 * G[i, j] for i in range(n) for j in range(n)) ** 0.5
        assert apart <= stairs.largest_pair(columns)


def test_steps_that_are_not_stairs_are_refused() -> None:
    line = Reflection(5, "mixed")
    for edges, heights in (([0, 0], [3, 1]), ([0, 6], [9, 1]), ([0], [0]), ([0, 2], [1, 9])):
        with pytest.raises(PlanError):
            Staircase(line, np.array(edges), np.array(heights))

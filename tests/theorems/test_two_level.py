"""Two-level shapes against reference values, every corner of small domains, and rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import numpy.typing as npt
import pytest
from refusals import refused

from gaussmith.numerics.solver import solve
from gaussmith.numerics.two_level import TwoLevel, cells, counts, votes

Array = npt.NDArray[np.float64]


def differences(records: Array, neighbours: str) -> Array:
    if neighbours == "add-remove":
        return records[np.abs(records).sum(axis=1) > 0]
    pairs = np.unique((records[:, None] - records[None]).reshape(-1, records.shape[1]), axis=0)
    return np.asarray(pairs[np.abs(pairs).sum(axis=1) > 0])


def is_private_exactly(shape: TwoLevel, levels: list[tuple[int, int]]) -> bool:
    """The constraint on the standard deviations, and on the lift, at the given (size, sum), in rationals."""
    d, (diagonal, offset) = shape.dimension, shape.lift()
    x = 1 / Fraction(shape.a1) ** 2 if shape.a1 else Fraction(0)
    y = 1 / Fraction(shape.a2) ** 2 if shape.a2 else Fraction(0)
    across, along = Fraction(diagonal) ** 2, (Fraction(diagonal) + d * Fraction(offset)) ** 2
    for size, total in levels:
        if shape.a1 == 0 and total != 0:
            return False
        a, b = Fraction(total**2, d), Fraction(size * d - total**2, d)
        if a * x + b * y > 1 or a * along + b * across > 1:
            return False
    return True


@pytest.mark.parametrize(
    ("dimension", "at_most", "total"),
    [
        (2, 1, 2.0),
        (2, 2, 2.6666666666666665),
        (3, 2, 5.333333333333332),
        (5, 2, 9.519183588453084),
        (5, 5, 12.857142857142858),
        (10, 3, 28.048636250920516),
        (10, 6, 42.836326148038886),
        (10, 10, 43.07692307692308),
        (100, 10, 951.6992462263972),
        (100, 50, 2997.4937185533104),
        (100, 100, 3025.0),
    ],
)
def test_counts_add_remove_reach_the_reference_totals(dimension: int, at_most: int, total: float) -> None:
    assert counts(dimension, at_most, "add-remove").total == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize(
    ("dimension", "at_most", "total"),
    [(3, 1, 4.5), (3, 2, 25 / 3), (10, 3, 55.384615), (5, 3, 23.333333), (9, 5, 77), (10, 6, 98.557551), (10, 7, 100)],
)
def test_counts_replace_one_reach_the_reference_totals(dimension: int, at_most: int, total: float) -> None:
    assert counts(dimension, at_most, "replace-one").total == pytest.approx(total, rel=1e-7)


@pytest.mark.parametrize(
    ("candidates", "total"),
    [(2, 2.0), (3, 13.928203230275512), (5, 116.56854249492383), (10, 1720.5159572826337), (100, 11337616.328556193)],
)
def test_votes_reach_the_reference_totals(candidates: int, total: float) -> None:
    assert votes(candidates, "add-remove").total == pytest.approx(total, rel=1e-12)
    expected = {2: 2, 3: 16, 4: 60}.get(candidates, (candidates - 1) * candidates * (candidates**2 - 1) / 3)
    assert votes(candidates, "replace-one").total == pytest.approx(expected, rel=1e-12)
    assert votes(candidates, "replace-one").a1 == 0


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("dimension", [2, 3, 4, 5])
def test_no_other_shape_beats_them_on_small_domains(dimension: int, neighbours: str) -> None:
    corners = np.array(list(product([0.0, 1.0], repeat=dimension)))
    found = {k: (corners[corners.sum(axis=1) <= k], counts(dimension, k, neighbours)) for k in range(1, dimension + 1)}
    found[-1] = (np.eye(dimension), cells(dimension, neighbours))
    if dimension <= 4:
        ranks = np.array(list(permutations(range(dimension))), dtype=float)
        found[-2] = (ranks, votes(dimension, neighbours))
    for records, shape in found.values():
        best = solve(differences(records, neighbours), gap=1e-6)
        assert best.lower <= shape.total * (1 + 1e-12)
        assert shape.lower <= best.upper
        assert shape.total <= best.lower * (1 + 1e-6)
        assert shape.total <= shape.lower * (1 + 1e-12)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_every_corner_up_to_twelve_dimensions_is_hidden_exactly(neighbours: str) -> None:
    for d in range(2, 13):
        for k in range(1, d + 1):
            if neighbours == "add-remove":
                levels = [(j, j) for j in range(1, k + 1)]
            else:
                levels = [(p + q, abs(p - q)) for p in range(k + 1) for q in range(min(k, d - p) + 1)]
            shape = counts(d, k, neighbours)
            assert is_private_exactly(shape, levels), (d, k)
            assert shape.lower <= shape.total <= shape.lower * (1 + 1e-12)


@pytest.mark.parametrize("d", [10**3, 10**6 - 1, 10**6])
def test_large_domains_are_hidden_exactly_at_random_and_extreme_levels(d: int) -> None:
    rng = np.random.default_rng(d)
    root = math.isqrt(d)
    for k in [1, 2, root, d // 2 - 1, d // 2, d // 2 + 1, (d + root) // 2, (d + root) // 2 + 1, d - 1, d]:
        around = [j for j in range((d + root) // 2 - 20, (d + root) // 2 + 21) if j <= k]
        levels = [(j, j) for j in {1, k, *around, *rng.integers(1, k + 1, 50).tolist()}]
        assert is_private_exactly(counts(d, k, "add-remove"), levels)
        pairs = [(p, min(q, d - p)) for p, q in rng.integers(0, k + 1, (50, 2)).tolist()]
        pairs += [(k, min(k, d - k)), (k, 0), ((d + root) // 2, d - (d + root) // 2)]
        levels = [(p + q, abs(p - q)) for p, q in pairs if p <= k]
        assert is_private_exactly(counts(d, k, "replace-one"), levels)


def test_one_level_is_enough_up_to_half_of_d_plus_its_root() -> None:
    for d in range(2, 60):
        for k in range(1, d + 1):
            joseph_yu = (k / d) * (math.sqrt(k) + math.sqrt((d - k) * (d - 1))) ** 2
            total = counts(d, k, "add-remove").total
            if k <= (d + math.sqrt(d)) / 2:
                assert total == pytest.approx(joseph_yu, rel=1e-12), (d, k)
            else:
                assert total >= joseph_yu * (1 - 1e-12), (d, k)
                assert total == pytest.approx(counts(d, d, "add-remove").total, rel=1e-12) or k - 1 <= (d + d**0.5) / 2
        lebeda = d * (math.sqrt(d) + 1) ** 2 / 4
        if math.isqrt(d) ** 2 == d:
            assert counts(d, d, "add-remove").total == pytest.approx(lebeda, rel=1e-12)
        else:
            assert counts(d, d, "add-remove").total < lebeda


def test_the_lift_has_the_stated_covariance() -> None:
    shapes = counts(7, 3, "add-remove"), counts(7, 6, "replace-one"), votes(7, "replace-one"), cells(7, "add-remove")
    for shape in shapes:
        d, (diagonal, offset) = shape.dimension, shape.lift()
        A = diagonal * np.eye(d) + offset * np.ones((d, d))
        ones = np.full((d, d), 1 / d)
        Sigma = shape.a2**2 * (np.eye(d) - ones) + shape.a1**2 * ones
        assert np.allclose(A.T @ A, np.linalg.pinv(Sigma), atol=1e-12)
        assert np.trace(Sigma) == pytest.approx(shape.total, rel=1e-12)


def test_wrong_requests_are_refused() -> None:
    for wrong in (0, 6, -1):
        with refused("at-most-out-of-range", at_most=wrong):
            counts(5, wrong, "add-remove")
    with refused("neighbours-not-one-of-two", neighbours="both"):
        votes(5, "both")
    with refused("dimension-without-change", dimension=0):
        cells(0, "add-remove")
    with refused("dimension-without-change", dimension=1):
        cells(1, "replace-one")
    assert counts(1, 1, "replace-one").total == pytest.approx(1)  # one item: had or not, whatever the number of people
    with refused("ranking-of-one-candidate", dimension=1):
        votes(1, "add-remove")

"""`sensitivity` of moments on random lifts, against brute force in exact arithmetic: all codes of small grids.

A record is (z, z_i z_j, 1). The bound must never lie below the largest lifted record of a grid with points inside, and
be equal to the largest over z_j² in {0, 1}: that the two agree is the vertex argument itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from lifts import Vector, check_bound, entries, largest_added, largest_changed, numbers
from planting import plant
from refusals import damaged, refused

from gaussmith.domains import moments as bounds
from gaussmith.domains.moments import Moments
from gaussmith.numerics.matrices import Bordered, Dense, Diagonal, Exchangeable, Matrix
from gaussmith.privacy.neighbours import ADD_REMOVE, REPLACE_ONE

DRAWS = 60
HALF = Fraction(1, 2)
GRID = (-1, -HALF, 0, HALF, 1)


def domain_of(columns: int, products: object = "all") -> Moments:
    return Moments({f"c{j}": (-1, 1) for j in range(columns)}, products)  # type: ignore[arg-type]


def cores(domain: Moments, points: Sequence[Sequence[Fraction | int]], extent: Vector) -> list[Vector]:
    """The definition of a record's core: its values, and the products of pairs of them."""
    found = []
    for z in points:
        core = [Fraction(x) for x in z] + [Fraction(z[i]) * Fraction(z[j]) for i, j in domain.pairs]
        found.append([x * e for x, e in zip(core, extent, strict=True)])
    return found


def random_lift(rng: np.random.Generator, domain: Moments, counted: bool) -> Matrix:
    """Rows that see one value, one product of two columns, or squares and the number of records; in any order."""
    width = domain.dimension + counted
    odd = [*range(domain.columns_count), *domain.crossed]
    even = [*domain.squares, *([width - 1] if counted else [])]
    rows = np.zeros((len(odd) + len(even) + 1, width))
    for k, j in enumerate(odd):
        rows[k, j] = numbers(rng, 1)[0]
    rows[np.ix_(range(len(odd), len(rows)), even)] = numbers(rng, len(rows) - len(odd), len(even))
    return Dense(rows[rng.permutation(len(rows))])


def draw_extent(rng: np.random.Generator, domain: Moments) -> tuple[np.ndarray | None, Vector]:
    if rng.random() < 0.3:
        return None, [Fraction(1)] * domain.dimension
    steps = rng.integers(1, 1 << 21, domain.columns_count).astype(float)
    first, second = domain.ends
    extent = np.concatenate([steps, steps[first] * steps[second]])
    return extent, [Fraction(e) for e in extent.tolist()]


def check_added(domain: Moments, rng: np.random.Generator, draws: int = DRAWS) -> None:
    inside = list(itertools.product(GRID, repeat=domain.columns_count))
    vertices = list(itertools.product((0, 1), repeat=domain.columns_count))
    for _ in range(draws):
        lift = random_lift(rng, domain, counted=True)
        extent, units = draw_extent(rng, domain)
        rows = entries(lift)
        bound = domain.sensitivity(lift, ADD_REMOVE, extent)
        check_bound(bound, largest_added(rows, cores(domain, vertices, units), True), 1.0, lift)
        check_bound(bound, largest_added(rows, cores(domain, inside, units), True), 1.0, lift)


def check_changed(domain: Moments, rng: np.random.Generator, loose: float, draws: int = DRAWS) -> None:
    fine = [Fraction(k, 12) for k in range(-12, 13)] if domain.columns_count == 1 else GRID
    points = list(itertools.product(fine, repeat=domain.columns_count))
    for _ in range(draws):
        lift = random_lift(rng, domain, counted=False)
        extent, units = draw_extent(rng, domain)
        truth = largest_changed(entries(lift), cores(domain, points, units))
        check_bound(domain.sensitivity(lift, REPLACE_ONE, extent), truth, loose, lift)


CASES = [(1, "all"), (2, "all"), (3, "all"), (3, "squares"), (3, [(0, 0), (0, 1), (1, 2)]), (2, [(0, 1)])]


@pytest.mark.parametrize(("columns", "products"), CASES)
def test_the_bound_is_the_largest_record(columns: int, products: object) -> None:
    check_added(domain_of(columns, products), np.random.default_rng())


def test_replacing_a_record_of_one_column_is_bounded_exactly() -> None:
    check_changed(domain_of(1), np.random.default_rng(), 1.01)  # the worst pair lies between the points of the grid


@pytest.mark.parametrize(("columns", "products"), [(2, "all"), (2, "squares"), (3, [(0, 1), (1, 1)])])
def test_replacing_a_record_is_never_above_the_bound(columns: int, products: object) -> None:
    check_changed(domain_of(columns, products), np.random.default_rng(), 2.0, 15)


def test_vertices_do_not_bound_pairs() -> None:
    """STATISTICS.md, D: the shape that hides all pairs of vertices does not hide z = 1, z′ = −0.211."""
    a, b = 0.25, 0.75  # the best noise for the pairs of {−1, 0, 1}: 1/a + 1/b = 16/3
    lift = Diagonal(np.sqrt([a, b]))
    vertices = [(Fraction(x),) for x in (-1, 0, 1)]
    domain = domain_of(1)
    assert largest_changed(entries(lift), cores(domain, vertices, [Fraction(1)] * 2)) <= 1 + Fraction(1, 10**9)
    assert domain.sensitivity(lift, REPLACE_ONE) ** 2 == pytest.approx(1.0512, abs=2e-4)


def alike_lift(rng: np.random.Generator, domain: Moments) -> tuple[Dense, list[Fraction]]:
    """A lift that treats all columns alike, and its squared norm with k ones."""
    d, m = domain.columns_count, len(domain.crossed)
    value, product, own, shared, border, first, last = np.abs(rng.normal(size=7)).tolist()
    block = np.full((d + 1, d + 1), shared)
    block[:d, :d] += own * np.eye(d)
    block[:d, d], block[d, :d], block[d, d] = -border, first, last
    alone = [*range(d), *domain.crossed]
    lift = np.zeros((d + m + d + 1, domain.dimension + 1))
    lift[np.arange(d + m), alone] = [value] * d + [product] * m
    lift[d + m :, [*domain.squares, domain.dimension]] = block
    squares = []
    for k in range(d + 1):
        y = [Fraction(int(i < k)) for i in range(d)] + [Fraction(1)]
        sums = (sum(Fraction(x) * v for x, v in zip(row, y, strict=True)) for row in block.tolist())
        pairs = k * (k - 1) // 2 if m else 0
        squares.append(k * Fraction(value) ** 2 + pairs * Fraction(product) ** 2 + sum(s * s for s in sums))
    return Dense(lift), squares


@pytest.mark.parametrize("products", ["all", "squares"])
def test_many_columns_are_bounded_by_the_number_of_ones(products: str) -> None:
    domain, rng = domain_of(13, products), np.random.default_rng()
    for _ in range(5):
        lift, squares = alike_lift(rng, domain)
        check_bound(domain.sensitivity(lift, ADD_REMOVE), max(squares), 1.0, lift)


def test_many_columns_that_differ_are_never_above_the_bound() -> None:
    domain, rng = domain_of(13, "squares"), np.random.default_rng()
    for _ in range(10):
        lift = random_lift(rng, domain, counted=True)
        y = rng.integers(0, 2, (400, 13))
        points = np.hstack([y, y, np.ones((400, 1))]).astype(float)
        largest = np.linalg.norm(points @ lift.dense().T, axis=1).max()
        assert domain.sensitivity(lift, ADD_REMOVE) >= largest * (1 - 1e-9)


def test_other_lifts_are_refused() -> None:
    domain = domain_of(2)
    mixed = np.zeros((1, domain.dimension + 1))
    mixed[0, [0, -1]] = 1.0
    with refused(damaged("a lift of moments that mixes values and squares")):
        domain.sensitivity(Dense(mixed), ADD_REMOVE)
    with refused(damaged("which its domain cannot bound")):
        domain.sensitivity(Exchangeable(domain.dimension + 1, 2.0**60, 2.0**120), ADD_REMOVE)
    with refused(damaged("a lift of")):
        domain.sensitivity(Diagonal(np.ones(3)), ADD_REMOVE)
    apart = Bordered(np.array([domain.dimension]), np.array([1.0]), np.array([2.0**-60]), domain.dimension + 1)
    with refused(damaged("which its domain cannot bound")):  # its two entries in the last column would be rounded
        domain.sensitivity(apart, ADD_REMOVE)


FAULTS = [
    (2, ADD_REMOVE, bounds.largest_moment, "(v >> j) & 1", "(v >> j) & 0"),
    (2, ADD_REMOVE, bounds.largest_moment, "np.ones((len(y), 1))", "np.zeros((len(y), 1))"),
    (2, ADD_REMOVE, bounds.largest_moment, "return largest_norm(", "return 0.99 * largest_norm("),
    (1, REPLACE_ONE, bounds._largest_of_one, "found = max(found, size(low)", "found = max(found, 0 * size(low)"),
    (1, REPLACE_ONE, bounds._largest_of_one, "return sqrt_upward(found)", "return 0.99 * sqrt_upward(found)"),
]


@pytest.mark.parametrize(("columns", "neighbours", "function", "right", "wrong"), FAULTS)
def test_planted_faults_are_found(
    columns: int, neighbours: str, function: object, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, function, right, wrong)
    with pytest.raises(AssertionError, match="the truth"):
        if neighbours == ADD_REMOVE:
            check_added(domain_of(columns), np.random.default_rng(), 5 * DRAWS)
        else:
            check_changed(domain_of(columns), np.random.default_rng(), 1.02, 5 * DRAWS)


@pytest.mark.parametrize("factor", [0.99, 1 - 1e-12, 1.01])
def test_a_bound_that_is_a_little_off_is_found(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Moments.sensitivity
    monkeypatch.setattr(Moments, "sensitivity", lambda *given: factor * right(*given))
    with pytest.raises(AssertionError, match="the truth"):
        check_added(domain_of(2), np.random.default_rng())

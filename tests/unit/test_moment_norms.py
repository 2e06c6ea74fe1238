"""The parts of the largest norm of lifted moments, each against exact arithmetic: on them their privacy rests."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from refusals import damaged, refused

from gaussmith.domains import moments as moment_norms
from gaussmith.domains.moments import (
    _Alike,
    _by_levels,
    _check_kinds,
    _largest_of_one,
    _largest_square,
    _twice_from_middle,
    largest_moment,
    largest_replaced,
)
from gaussmith.numerics.exact import Array

TIGHT = 1 + 2.0**-44
"""What some roundings upward may add."""


def squared(matrix: Array, vector: list[Fraction]) -> Fraction:
    """‖matrix · vector‖², exactly."""
    rows = ([Fraction(x) for x in row] for row in matrix.tolist())
    return sum((sum(x * v for x, v in zip(row, vector, strict=True)) ** 2 for row in rows), Fraction(0))


def alike_block(q: int, tail: bool) -> Array:
    """q rows of a form that does not change when squares are swapped, and one more."""
    block = np.full((q + tail, q + 1), 0.375)
    block[np.arange(q), np.arange(q)] = -1.25
    block[:q, q] = 0.6875
    if tail:
        block[q, :q], block[q, q] = 0.8125, -0.5
    return block


# -- blocks that treat all squares alike ------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("q", [1, 2, 3, 5])
def test_an_alike_block_is_its_own_nearest_and_its_norm_is_exact(q: int, tail: bool) -> None:
    block = alike_block(q, tail)
    alike = _Alike.nearest(block)
    assert alike.matrix(block.shape).tolist() == block.tolist()
    for k in range(q + 1):
        ones = [Fraction(int(i < k)) for i in range(q)] + [Fraction(1)]
        assert alike.square(k, q) == squared(block, ones)


def test_the_nearest_alike_block_has_the_means_of_a_block() -> None:
    block = np.array([[1.0, 2.0, 5.0], [4.0, 3.0, 7.0], [0.5, 1.5, 9.0]])
    assert _Alike.nearest(block).matrix((3, 3)).tolist() == [[2, 3, 6], [3, 2, 6], [1, 1, 9]]
    assert _Alike.nearest(block[:2]).matrix((2, 3)).tolist() == [[2, 3, 6], [3, 2, 6]]
    assert _Alike.nearest(np.array([[2.0, 3.0]])) == _Alike(2.0, 0.0, 3.0)


@pytest.mark.parametrize("shape", [(1, 3), (4, 3), (0, 3), (0, 1), (1, 1), (2, 1), (5, 3)])
def test_blocks_of_other_forms_have_a_nearest_of_zeros(shape: tuple[int, int]) -> None:
    alike = _Alike.nearest(np.full(shape, 3.0))
    assert alike == _Alike() == _Alike(0.0, 0.0, 0.0, (0.0, 0.0))
    found = alike.matrix(shape)
    assert found.shape == shape and not found.any()
    assert alike.square(2, 2) == 0


def test_a_norm_without_ones_is_that_of_borders_alone() -> None:
    assert _Alike(5.0, 3.0, 2.0, (7.0, 0.5)).square(0, 4) == 4 * 2**2 + Fraction(1, 4)
    assert _Alike(5.0, 3.0, 2.0, (7.0, 0.5)).square(1, 1) == (5 + 3 + 2) ** 2 + Fraction(15, 2) ** 2


# -- many columns ------------------------------------------------------------------------------------------------------


def all_pairs(d: int) -> tuple[tuple[int, int], ...]:
    return tuple(itertools.combinations_with_replacement(range(d), 2))


def alike_lift(d: int, pairs: tuple[tuple[int, int], ...], value: float, product: float, block: Array) -> Array:
    """Rows over single values, over products of two columns, and a block over squares and the number of records."""
    square = [d + at for at, (i, j) in enumerate(pairs) if i == j]
    crossed = [d + at for at, (i, j) in enumerate(pairs) if i != j]
    lift = np.zeros((d + len(crossed) + len(block), d + len(pairs) + 1))
    lift[np.arange(d), np.arange(d)] = value
    lift[np.arange(d, d + len(crossed)), crossed] = product
    lift[np.ix_(range(d + len(crossed), len(lift)), [*square, lift.shape[1] - 1])] = block
    return lift


def record(pairs: tuple[tuple[int, int], ...], y: tuple[int, ...], extent: Array) -> list[Fraction]:
    core = [*y, *(y[i] * y[j] for i, j in pairs)]
    return [*(Fraction(e) * x for e, x in zip(extent.tolist(), core, strict=True)), Fraction(1)]


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("product", [0.0, 0.3125])
@pytest.mark.parametrize("value", [0.0, 0.75])
@pytest.mark.parametrize("unit", [1.0, 0.1, 3.0])
def test_levels_are_exact_where_columns_are_alike(value: float, product: float, tail: bool, unit: float) -> None:
    """At least the truth for the doubles given, and no more than roundings above it."""
    d, pairs = 4, all_pairs(4)
    lift = alike_lift(d, pairs, value, product, alike_block(d, tail) / 7)
    extent = np.full(d + len(pairs), unit)
    truth = max(squared(lift, record(pairs, y, extent)) for y in itertools.product((0, 1), repeat=d))
    for bound in (_by_levels(lift, d, pairs, extent), largest_moment(lift, d, pairs, extent)):
        assert truth <= Fraction(bound) ** 2 <= truth * Fraction(TIGHT) ** 2


@pytest.mark.parametrize(
    "pairs",
    [
        ((0, 0), (1, 1), (2, 2)),
        ((0, 1), (0, 2), (1, 1)),
        ((0, 1), (1, 2)),
        (),
        ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2)),
    ],
)
def test_levels_never_lie_below_the_truth_where_columns_differ(pairs: tuple[tuple[int, int], ...]) -> None:
    d, rng = 3, np.random.default_rng(len(pairs))
    square = [d + at for at, (i, j) in enumerate(pairs) if i == j]
    odd = [j for j in range(d + len(pairs)) if j not in square]
    for scale in (1.0, 1e-3, 1e-9):
        q = len(square)
        base = alike_block(q, True) if q else np.array([[-0.5]])
        lift = np.zeros((len(odd) + len(base), d + len(pairs) + 1))
        lift[np.arange(len(odd)), odd] = 0.5 + scale * rng.normal(size=len(odd))
        even = [*square, lift.shape[1] - 1]
        lift[np.ix_(range(len(odd), len(lift)), even)] = base + scale * rng.normal(size=base.shape)
        extent = np.ones(d + len(pairs))
        truth = max(squared(lift, record(pairs, y, extent)) for y in itertools.product((0, 1), repeat=d))
        bound = Fraction(_by_levels(lift, d, pairs, extent)) ** 2
        # With k ones among fewer products than k (k − 1)/2, or than columns, more is charged than can be.
        assert truth <= bound <= truth * Fraction(1 + 20 * scale + (len(pairs) != 3 or 2 * (q != 3)) + 1e-12) ** 2
        exact = Fraction(largest_moment(lift, d, pairs, extent)) ** 2
        assert truth <= exact <= truth * Fraction(TIGHT) ** 2


def test_products_are_counted_as_often_as_ones_make_them() -> None:
    """With k ones among d columns there are k (k − 1)/2 products, and never more than are asked."""
    d = 5
    for pairs, most in ((tuple(p for p in all_pairs(d) if p[0] != p[1]), 10), (((0, 1), (2, 3)), 2)):
        lift = alike_lift(d, pairs, 0.0, 2.0, np.array([[3.0]]))
        assert Fraction(_by_levels(lift, d, pairs, np.ones(d + len(pairs)))) ** 2 == pytest.approx(
            4 * most + 9, rel=1e-12
        )


def test_where_vertices_are_listed_and_where_levels_are(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(moment_norms, "_by_levels", lambda *given: called.append(given[1]) or 1.0)
    monkeypatch.setattr(moment_norms, "MAX_VERTICES", 8)
    for d in (1, 2, 3, 4, 5):
        largest_moment(np.ones((1, d + 1)) * np.append(np.zeros(d), 1), d, (), np.ones(d))
    assert called == [4, 5]


def test_a_rounded_extent_does_not_lower_the_bound() -> None:
    """Entries times extents are rounded: the bound must hold for what they are exactly."""
    rng = np.random.default_rng(7)
    d, pairs = 3, ((0, 0), (1, 1), (2, 2))
    for _ in range(120):
        numbers = rng.uniform(0.1, 1, 4)
        block = np.zeros((3, 4))
        block[:, :3] = numbers[0] * np.eye(3)
        block[:, 3] = numbers[1]
        lift = alike_lift(d, pairs, float(numbers[2]), 0.0, block)
        extent = np.full(6, float(numbers[3]) * 2.0**41)
        ones = record(pairs, (1, 1, 1), extent)
        for bound in (_by_levels(lift, d, pairs, extent), largest_moment(lift, d, pairs, extent)):
            assert squared(lift, ones) <= Fraction(bound) ** 2 <= squared(lift, ones) * Fraction(TIGHT) ** 2


def test_the_largest_square_of_some_columns() -> None:
    lift = np.array([[3.0, 0.0, 1.0], [4.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    extent = np.array([1.0, 8.0, 2.0])
    assert float(_largest_square(lift, [0, 1], extent)) == pytest.approx(25, rel=1e-14)
    assert float(_largest_square(lift, [0, 1, 2], extent)) == pytest.approx(25, rel=1e-14)
    assert float(_largest_square(lift, [2], extent)) == pytest.approx(12, rel=1e-14)
    assert _largest_square(lift, [1], extent) == 0 and _largest_square(lift, [], extent) == 0
    assert _largest_square(lift, [0], extent) >= 25 and _largest_square(lift, [2], extent) >= 12


def test_each_row_sees_numbers_of_one_kind() -> None:
    """Columns: two values, their product, one square, the number of records."""
    pairs = ((0, 1), (1, 1))
    values, product, square, number = (0, 1), 2, 3, 4

    def row(*seen: int) -> Array:
        found = np.zeros((2, 5))
        found[0, list(seen)] = -1.0
        return found

    for seen in ((values[0],), (values[1],), (product,), (square,), (number,), (square, number), ()):
        _check_kinds(row(*seen), 2, pairs)
    for seen in (values, (0, product), (0, square), (1, number), (product, number), (product, square), (0, 3, 4)):
        with refused(damaged("a lift of moments that mixes values and squares")):
            _check_kinds(row(*seen), 2, pairs)
        for bound in (largest_moment, largest_replaced):
            with refused(damaged("a lift of moments that mixes values and squares")):
                bound(row(*seen), 2, pairs, np.ones(4))


# -- two records ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extent", [(1.0, 1.0), (0.5, 0.25), (3.0, 9.0)])
@pytest.mark.parametrize("b", [0.0, 1.0, 1.9, 2.0, 2.1, 3.0, 8.0, 1e6])
@pytest.mark.parametrize("a", [0.0, 0.5, 1.0])
def test_two_records_of_one_column(a: float, b: float, extent: tuple[float, float]) -> None:
    """a t² + b t² (2 − t)², for every t in [0, 2]: at least the truth, and equal to it."""
    lift = np.zeros((2, 2))
    lift[0, 0], lift[1, 1] = math.sqrt(a) / extent[0], math.sqrt(b) / extent[1]
    slope, bend = (Fraction(lift[i, i]) ** 2 * Fraction(extent[i]) ** 2 for i in (0, 1))
    found = Fraction(_largest_of_one(lift, True, np.array(extent))) ** 2

    def size(t: Fraction) -> Fraction:
        return slope * t**2 + bend * t**2 * (2 - t) ** 2

    assert found >= max(size(Fraction(t, 512)) for t in range(1025))
    inner = 1 - 2 * float(slope) / float(bend) if bend else -1.0
    turns = [2.0, *([(3 - math.sqrt(inner)) / 2] if inner >= 0 else [])]
    truth = max(float(slope) * t**2 + float(bend) * t**2 * (2 - t) ** 2 for t in turns)
    assert float(found) == pytest.approx(truth, rel=1e-13, abs=1e-300)
    both = Fraction(largest_replaced(lift, 1, ((0, 0),), np.array(extent))) ** 2
    assert both == found


def test_one_column_without_its_square() -> None:
    lift = np.array([[0.75], [1.0]])
    assert _largest_of_one(lift, False, np.array([2.0])) == pytest.approx(2 * 1.25 * 2, rel=1e-14)
    assert largest_replaced(lift, 1, (), np.array([2.0])) >= 5
    assert _largest_of_one(np.array([[0.0625]]), False, np.ones(1)) == pytest.approx(0.125, rel=1e-14)


def worst_pair(lift: Array, pairs: tuple[tuple[int, int], ...], steps: int) -> float:
    d = len(lift[0]) - len(pairs)
    grid = np.array(list(itertools.product(np.linspace(-1, 1, steps), repeat=d)))
    cores = np.hstack([grid, *(grid[:, [i]] * grid[:, [j]] for i, j in pairs)]) @ lift.T
    return float(max(np.linalg.norm(cores - one, axis=1).max() for one in cores))


@pytest.mark.parametrize("ratio", [0.25, 1.0, 4.0, 16.0])
@pytest.mark.parametrize("pairs", [((0, 0), (1, 1)), ((0, 0), (0, 1), (1, 1)), ((0, 1),), ((0, 0),)])
def test_two_records_of_several_columns(pairs: tuple[tuple[int, int], ...], ratio: float) -> None:
    """Twice the distance from the best middle: above the truth, and no share of the squares gives less."""
    d = 2
    lift = np.diag([1.0, 0.5, *(math.sqrt(ratio) * (1.0 if i == j else 0.5) for i, j in pairs)])
    extent = np.ones(d + len(pairs))
    found, bound = _twice_from_middle(lift, d, pairs, extent), largest_replaced(lift, d, pairs, extent)
    truth = worst_pair(lift, pairs, 9)
    assert found >= truth
    if any(i != j for i, j in pairs):
        assert bound == found
    else:  # each column moves by itself, so that the two largest changes meet in one pair
        assert truth <= bound <= found and bound == pytest.approx(worst_pair(lift, pairs, 41), rel=2e-3)
    square = [d + at for at, (i, j) in enumerate(pairs) if i == j]
    middle = lift[:, square].sum(axis=1)
    shares = [largest_moment(np.column_stack([lift, -c * middle]), d, pairs, extent) for c in np.linspace(0, 1, 41)]
    assert found <= 2 * min(shares) * (1 + 1e-6)
    wider = _twice_from_middle(lift / 2, d, pairs, 2 * extent)
    assert wider == pytest.approx(found, rel=1e-6)


# -- roundings that go down ---------------------------------------------------------------------------------------

NEAR = Fraction(1 + 1e-12) ** 2


def test_blocks_of_another_form_are_bounded_by_their_entries() -> None:
    """One row over all squares and the number, all alike: the bound by entries is exact, but for roundings up."""
    rng = np.random.default_rng(5)
    pairs = tuple((j, j) for j in range(3))
    for unit in [1.0, *rng.uniform(1, 2, 300).tolist()]:
        row = np.zeros((1, 7))
        row[0, 3:] = unit / 3
        extent = np.append(np.ones(3), np.full(3, 1.0))
        truth = (4 * Fraction(unit / 3)) ** 2
        found = Fraction(_by_levels(row, 3, pairs, extent)) ** 2
        assert truth <= found <= truth * NEAR
    # rows that differ and add up to nothing: the nearest block that treats them alike is zero
    lift = np.zeros((2, 5))
    lift[0, 2:], lift[1, 2:] = 0.3, -0.3
    truth = 2 * (3 * Fraction(0.3)) ** 2
    assert truth <= Fraction(_by_levels(lift, 2, ((0, 0), (1, 1)), np.ones(4))) ** 2 <= truth * NEAR


def test_blocks_whose_squares_differ_by_a_rounding() -> None:
    """Each entry is 2⁻⁵⁰ away from the nearest block that treats squares alike; the first square is the worst."""
    apart = 2.0**-49
    lift = np.zeros((2, 5))
    lift[:, 2:4] = [[1 + apart, -1.0], [-1 - apart, 1.0]]
    truth = 2 * Fraction(1 + apart) ** 2
    assert truth <= Fraction(_by_levels(lift, 2, ((0, 0), (1, 1)), np.ones(4))) ** 2 <= truth * NEAR


def test_squares_times_a_rounded_extent() -> None:
    """No ones and all ones are equally far: the roundings of the squares count twice."""
    rng = np.random.default_rng(12)
    pairs = tuple((j, j) for j in range(3))
    for number, size in rng.uniform(1, 2, (150, 2)).tolist():
        lift = np.zeros((3, 7))
        lift[:, 3:6], lift[:, 6] = number, -1.5 * number * size
        extent = np.append(np.ones(3), np.full(3, size))
        truth = 3 * (3 * Fraction(number) * Fraction(size) + Fraction(lift[0, 6])) ** 2
        assert truth <= Fraction(_by_levels(lift, 3, pairs, extent)) ** 2 <= truth * NEAR


def test_one_square_times_a_rounded_extent() -> None:
    rng = np.random.default_rng(11)
    for number, extent in rng.uniform(1, 2, (200, 2)).tolist():
        lift = np.zeros((1, 3))
        lift[0, 1] = number
        truth = Fraction(number) * Fraction(extent)
        assert truth <= Fraction(_by_levels(lift, 1, ((0, 0),), np.array([1.0, extent]))) <= truth * NEAR


def test_the_turning_point_of_two_records_is_enclosed() -> None:
    """a t² + b t² (2 − t)² at its exact turning point, to 100 digits."""
    rng = np.random.default_rng(2)
    for value, square in rng.uniform(0.1, 1, (300, 2)).tolist():
        lift = np.array([[value * 0.5, square]])
        a, b = Fraction(value * 0.5) ** 2, Fraction(square) ** 2
        if 2 * a >= b:
            continue
        inner = 1 - 2 * a / b
        root = Fraction(math.isqrt(int(inner * 10**200)), 10**100)
        t = (3 - root) / 2
        truth = a * t * t + b * t * t * (2 - t) ** 2
        found = Fraction(_largest_of_one(lift, True, np.ones(2))) ** 2
        assert max(truth, 4 * a) <= found <= max(truth, 4 * a) * NEAR


def test_the_middle_of_all_records_is_sought_among_all_shares() -> None:
    """Squares alone: the worst two are 0 and all ones, so the best middle is half of them, and nothing is lost."""
    for d in (2, 3):
        pairs = tuple((j, j) for j in range(d))
        lift = np.zeros((1, 2 * d))
        lift[0, d:] = 1.0
        assert _twice_from_middle(lift, d, pairs, np.ones(2 * d)) == pytest.approx(d, rel=1e-5)
        assert _twice_from_middle(lift, d, pairs, np.ones(2 * d)) >= d

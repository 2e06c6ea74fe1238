"""Parts of the largest lifted difference that random lifts seldom reach: each case is made for one of them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from lifts import check_bound, entries, exchangeable, largest_added
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.domains.domain import Problem
from gaussmith.domains.extremes import (
    Marks,
    exact_numbers,
    largest_cell,
    largest_corner,
    largest_level,
    largest_listed,
    largest_vertex,
    repeats,
    without_count,
)
from gaussmith.domains.features import of_coordinates, of_matrix
from gaussmith.domains.people import People
from gaussmith.domains.row_moments import RowMoments
from gaussmith.numerics.matrices import Bordered, Dense, Diagonal, Exchangeable, Factored
from gaussmith.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE_ONE

TIGHT = Fraction(1 + 1e-12) ** 2


def exact_sum(numbers: Any) -> Fraction:
    return sum((Fraction(float(x)) for x in numbers), Fraction(0))


# -- roundings that all go down ---------------------------------------------------------------------------------------


def test_the_doubt_of_vertices_covers_roundings_that_add_up() -> None:
    """Columns alike: every product is rounded in the same direction, so that nothing cancels."""
    rng = np.random.default_rng(3)
    for d in (2, 5, 11):
        for _ in range(150):
            x, column, left, bound = rng.uniform(1, 2, 4).tolist()
            lift = Factored(np.array([[left]]), np.full((1, d + 1), x), np.full(d + 1, column))
            bounds = np.append(np.full(d, bound), 1.0)
            truth = Fraction(left) * Fraction(x) * Fraction(column) * exact_sum(bounds)
            for fixed in (True, False):
                found = Fraction(largest_vertex(lift, bounds, fixed))
                assert truth <= found <= truth * TIGHT


def test_the_doubt_of_vertices_covers_what_is_left_of_two_large_numbers() -> None:
    """An answer that is the difference of two nearly equal sums: roundings count by the size of the sums."""
    rng = np.random.default_rng(9)
    for d in (1, 4, 40):
        for _ in range(40):
            first, columns = rng.uniform(1, 2, (2, d)).tolist()
            second = [x * (1 + 1e-9 * rng.uniform(1, 2)) for x in first]
            lift = Factored(np.array([[1.0, -1.0]]), np.array([first, second]), np.array(columns))
            apart = ((Fraction(x) - Fraction(y)) * Fraction(c) for x, y, c in zip(first, second, columns, strict=True))
            truth = abs(sum(apart, Fraction(0)))
            for fixed in (True, False):
                assert truth <= Fraction(largest_vertex(lift, np.ones(d), fixed)) <= truth * Fraction(1 + 1e-4)


def test_vertices_of_numbers_below_all_normal_doubles() -> None:
    """Products that vanish as doubles still count."""
    lift = Factored(np.array([[1e-160]]), np.full((1, 4), 1e-160), np.full(4, 1e-20))
    truth = 4 * Fraction(1e-160) ** 2 * Fraction(1e-20)
    assert Fraction(largest_vertex(lift, np.ones(4), True)) >= truth
    assert largest_vertex(lift, np.ones(4), False) < 1e-150


# -- levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((2.0, 3.0, 5.0, (7.0, 11.0)), (2, 3, 5, 7, 11)),
        ((2.0, 3.0, None, (7.0, 11.0)), (2, 3, 0, 7, 0)),
        ((2.0, 3.0, 5.0, None), (2, 3, 5, 0, 0)),
        ((2.0, 3.0, None, None), (2, 3, 0, 0, 0)),
    ],
)
def test_the_numbers_of_a_lift_that_treats_all_alike(numbers: Any, expected: Any) -> None:
    assert exact_numbers(Exchangeable(4, *numbers)) == expected


def test_the_number_of_ones_that_is_worst_lies_anywhere() -> None:
    """The squared norm with j ones is quadratic in j: every j from 0 to k is the worst of some lift."""
    rng = np.random.default_rng(1)
    for d, k in ((3, 3), (6, 4), (7, 7)):
        records = [[Fraction(int(i < j)) for i in range(d)] for j in range(k + 1)]
        worst = set()
        for _ in range(250):
            lift = exchangeable(rng, d, counted=True)
            squares = [largest_added(entries(lift), [record], True) for record in records]
            worst.add(squares.index(max(squares)))
            check_bound(largest_level(lift, Marks(d, k)._added(lift)), max(squares), 1.0, lift)
        assert {0, k} < worst
    for top in (1.2, 2.3, 3.0, 3.6, 4.4, 4.9):  # bend j² + slope j + f² is largest there, with a tail (e, f)
        bend = 0.09 - 1 / 6
        lift = Exchangeable(6, 1.0, -1 / 6, 0.25, (0.3, (-2 * bend * top - 1) / 0.6))
        squares = [largest_added(entries(lift), [[Fraction(int(i < j)) for i in range(6)]], True) for j in range(7)]
        assert squares.index(max(squares)) == round(top)
        check_bound(largest_level(lift, Marks(6, 6)._added(lift)), max(squares), 1.0, lift)
    for top in range(1, 6):  # the same without a tail
        lift = Exchangeable(6, 1.0, -1 / 6 - 1 / 8, (top + 0.25) / 8 * 4 / 6, None)
        squares = [largest_added(entries(lift), [[Fraction(int(i < j)) for i in range(6)]], True) for j in range(7)]
        check_bound(largest_level(lift, Marks(6, 6)._added(lift)), max(squares), 1.0, lift)


def test_listed_records_are_visited_with_and_without_the_number_of_records() -> None:
    records = np.array([[1.0, 0.0], [0.0, 2.0]])
    assert largest_listed(np.eye(2), records, ADD_REMOVE) == pytest.approx(2)
    assert largest_listed(np.array([[1.0, 0.0, 4.0]]), records, ADD_REMOVE) == pytest.approx(5)
    assert largest_listed(np.eye(2), records, REPLACE_ONE) == pytest.approx(math.sqrt(5))
    for neighbours in NEIGHBOURS:
        with refused("too-many-records-for-dense-lift"):
            largest_listed(np.eye(2), None, neighbours)
    assert without_count(Dense(np.ones((1, 3))), 2).shape == (1, 2)
    assert without_count(Dense(np.ones((1, 3))), 3).shape == (1, 3)


def test_how_many_records_are_listed() -> None:
    counts = gm.Counts(4, 2)
    assert counts.records(11) is not None and counts.records(10) is None  # 1 + 4 + 6
    listed = counts.records()
    assert listed is not None and {tuple(row) for row in listed.tolist()} == {
        row for row in itertools.product((0.0, 1.0), repeat=4) if sum(row) <= 2
    }
    sparse = gm.domains.SparseSum(4, 3, 1.0)
    assert sparse.records(32) is not None and sparse.records(31) is None  # 4 · 2³
    every = sparse.records()
    assert every is not None and len(np.unique(every, axis=0)) == 32 and (np.abs(every).sum(axis=1) == 3).all()
    votes = gm.domains.Votes(3)
    assert votes.records(6) is not None and votes.records(5) is None
    assert gm.domains.Votes(7).records() is None and gm.domains.Votes(13).records(10**30) is None
    assert gm.domains.Votes(6).records() is not None


# -- cells ------------------------------------------------------------------------------------------------------------


class AskedLift:
    """A lift of many cells that is asked for the norm of single cells, or of pairs."""

    ways = None
    shape = (5, 5)

    def __init__(self, kind: str, single: float, pair: float) -> None:
        self.kind, self.norms = kind, {False: single, True: pair}

    def sensitivity(self, bounds: Any) -> float:
        return float(getattr(bounds, self.kind)(self))

    def largest_norm(self, pairs: bool) -> float:
        return self.norms[pairs]


@pytest.mark.parametrize(("single", "pair"), [(3.0, 2.0), (2.0, 3.0)])
def test_many_cells_are_asked_for_single_cells_and_for_pairs(single: float, pair: float) -> None:
    """Replacing a record in a cell by one in none changes a single cell."""
    for or_none in (False, True):
        cells = gm.Cells(5, or_none=or_none)
        for kind in ("levelled", "reflected"):
            lift: Any = AskedLift(kind, single, pair)
            assert cells.sensitivity(lift, ADD_REMOVE) == single
            assert cells.sensitivity(lift, REPLACE_ONE) == (max(single, pair) if or_none else pair)


def test_a_record_in_no_cell_may_be_the_worst() -> None:
    """The column of the number of records is cancelled by those of all cells, but not where there is no cell."""
    matrix = np.array([[-3.0, -2.5, 4.0], [1.0, 0.0, 0.0]])
    assert largest_cell(matrix, 2, ADD_REMOVE, or_none=True) == pytest.approx(4)
    assert largest_cell(matrix, 2, ADD_REMOVE, or_none=False) == pytest.approx(1.5)
    assert largest_cell(matrix[:, :2], 2, ADD_REMOVE, or_none=False) == pytest.approx(math.sqrt(10))
    assert largest_cell(matrix[:, :2], 2, REPLACE_ONE, or_none=False) == pytest.approx(math.sqrt(1.25))
    assert largest_cell(matrix[:, :2], 2, REPLACE_ONE, or_none=True) == pytest.approx(math.sqrt(10))


# -- boxes, balls and people ------------------------------------------------------------------------------------------


def test_corners_are_visited_up_to_a_limit() -> None:
    wide, wider = gm.Box([0] * 12, [1] * 12), gm.Box([0] * 13, [1] * 13)
    assert wide.corners().shape == (4096, 12)
    with refused("too-many-corners-of-box", dimension=13):
        wider.corners()
    ones = np.ones((1, 12))
    assert largest_corner(ones, np.ones(12), fixed=False) == pytest.approx(12)
    assert largest_corner(np.ones((1, 13)), np.ones(13), fixed=True) == pytest.approx(13)
    for fixed in (True, False):
        with refused("too-many-corners-for-dense-lift"):
            largest_corner(np.ones((1, 13 + fixed)), np.ones(13 + fixed), fixed=fixed)
    people = People(gm.Box([0] * 11, [1] * 11), None, 2)
    assert people.corners().shape == (4096, 12)
    with refused("too-many-extreme-units", dimension=13):
        People(gm.Box([0] * 12, [1] * 12), None, 2).corners()


def test_a_change_is_seen_through_every_kind_of_lift_of_a_box() -> None:
    box = gm.Box([0, 0], [1, 1])
    rows = np.array([[1.0, 2.0, 7.0], [0.5, -1.0, 3.0]])
    truth = max(np.linalg.norm(rows[:, :2] @ s) for s in itertools.product((-2, 2), repeat=2))
    factored = Factored(np.eye(2), rows, np.ones(3))
    for lift in (Dense(rows), factored):
        assert box.extremes().replacement_sensitivity(lift) == pytest.approx(truth)


def test_the_radius_of_a_ball_in_integers_is_the_largest_of_all() -> None:
    ball = gm.domains.Ball(2, 1.0)
    assert ball.sensitivity(Diagonal(np.array([1.0, 1.0])), REPLACE_ONE, np.array([3.0, 5.0])) == pytest.approx(10)
    assert repeats(Bordered(np.array([2, 2]), np.ones(2), np.zeros(2), 3), 2) == 1.0, "no row sees a coordinate"
    assert repeats(Bordered(np.array([0, 0, 1]), np.ones(3), np.zeros(3), 3), 2) == pytest.approx(math.sqrt(2))
    assert ball.sensitivity(Bordered(np.array([2]), np.array([3.0]), np.zeros(1), 3), ADD_REMOVE) == pytest.approx(3)
    with refused(damaged("a ball with a dense lift")):
        ball.sensitivity(Dense(np.ones((2, 2))), REPLACE_ONE)
    with refused(damaged("a ball with a border under replace-one")):
        ball.sensitivity(Bordered(np.array([0]), np.ones(1), np.ones(1), 2), REPLACE_ONE)


def test_lifts_that_do_not_fit_people_are_refused() -> None:
    people = People(gm.Box([0], [1]), gm.Box([0], [1]), 3)
    for neighbours, columns in ((ADD_REMOVE, 3), (ADD_REMOVE, 5), (REPLACE_ONE, 4), (REPLACE_ONE, 2)):
        with refused(damaged("a lift of")):
            people.sensitivity(Diagonal(np.ones(columns)), neighbours)
    tied = Bordered(np.arange(3), np.ones(3), np.array([0.0, 1.0, 0.0]), 3)
    with refused(damaged("a lift that combines columns")):
        people.sensitivity(tied, REPLACE_ONE)
    mixed = of_matrix(np.ones((1, 3)))
    with refused("matrix-of-people-under-replace-one"):
        people.check(Problem(people, mixed, REPLACE_ONE))
    people.check(Problem(people, mixed, ADD_REMOVE))
    people.check(Problem(people, of_coordinates(np.arange(3), np.zeros(3, bool)), REPLACE_ONE))
    own, over, rows = people.worths(np.array([4.0, 9.0, 16.0]))
    assert own.tolist() == [1] and over.tolist() == [4.5] and rows == 16 * 3**2


def test_two_people_of_row_moments_differ_by_twice_what_one_adds() -> None:
    domain = RowMoments({"a": (0, 1)}, "squares", max_rows=3)
    lift = Diagonal(np.array([1.0, 2.0, 0.5]))
    assert domain.extremes().replacement_sensitivity(lift) == 2 * domain.sensitivity(lift, ADD_REMOVE)


def test_the_reach_of_votes_is_the_largest_and_balls_refuse_other_sizes() -> None:
    uneven = np.array([1.0, 4.0, 2.0])
    votes, lift = gm.domains.Votes(3), Diagonal(np.array([1.0, 2.0, 3.0]))
    assert votes.sensitivity(lift, REPLACE_ONE, uneven) == pytest.approx(4 * votes.sensitivity(lift, REPLACE_ONE))
    with refused(damaged("a lift of")):
        gm.domains.Ball(2, 1.0).sensitivity(Diagonal(np.ones(2)), ADD_REMOVE)

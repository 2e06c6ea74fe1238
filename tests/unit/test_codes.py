"""Codes of columns: limits that keep sums in 64 bits, points within bounds, substitutes, and what Spark is told."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from refusals import refused

from gaussmith.domains import encoding as codes
from gaussmith.domains.encoding import FOLD, BallEncoding, BoxEncoding, centre_of, literal, nearest_to_zero
from gaussmith.domains.moments import coarse_codes
from gaussmith.engines import duckdb
from gaussmith.engines.engine import BATCH_ROWS
from gaussmith.totals import groups as group_rows

BOUNDS = [(2.0**-60, 1.0), (-1.0, 3 * 2.0**-54), (-0.1, 0.2), (-(2.0**-60), 1.0), (0.0, 1 + 0.75 * 2.0**-41)]
"""Distances that are no doubles, and one whose last part of a step would be rounded up."""


def test_limits_leave_room_in_64_bits() -> None:
    for rows in (BATCH_ROWS, duckdb.BATCH_ROWS, group_rows.MAX_ROWS):  # as many codes are added up in words
        assert rows << codes.BITS + 1 < 1 << 63  # a code is at most 2^(BITS + 1)
        assert rows * codes.BALL_STEPS < 1 << 63
    assert int(codes.MAX_WHOLE) << 41 <= 1 << 63


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_the_last_point_lies_within_bounds_whose_distance_is_no_double(low: float, high: float) -> None:
    made = BoxEncoding.for_bounds([low], [high], [low])
    steps, scale = int(made.steps[0]), Fraction(float(made.scale[0]))
    assert Fraction(low) + steps / scale <= Fraction(high)
    assert Fraction(low) + (steps + 2) / scale > Fraction(high)
    assert made.encode(np.array([[high], [np.inf]])).ravel().tolist() == [steps, steps]


@pytest.mark.parametrize("low", [0.0, 1.0, -1.0, 0.1, 1e16, -1e16, 2.0**53, 1e100, 5e-200, 2.0**-1000])
@pytest.mark.parametrize("doubles", [1, 2, 3, 7])
def test_bounds_may_be_neighbouring_doubles(low: float, doubles: int) -> None:
    """However narrow they are, the code of the last point is the last step, of values as of their squares."""
    high = low
    for _ in range(doubles):
        high = math.nextafter(high, math.inf)
    if high - low < 2.0**-970:  # as near zero as that, doubles cannot be divided
        with refused("bounds-distance-beyond-doubles"):
            BoxEncoding.for_bounds([low], [high], [low])
        return
    fine, coarse = BoxEncoding.for_bounds([low], [high], [low]), coarse_codes(np.r_[low], np.r_[high], np.r_[low], None)
    for made in (fine, coarse):
        assert made.steps[0] > 0
        assert made.encode(np.array([[low], [high], [np.inf]])).ravel().max() <= made.steps[0]


def test_bounds_without_a_distance_and_substitutes_that_do_not_fit_are_refused() -> None:
    with refused("bounds-distance-beyond-doubles"):
        BoxEncoding.for_bounds([1.0], [1.0], [1.0])
    with refused("missing-not-finite"):
        BoxEncoding.for_bounds([0.0], [1.0], [np.nan])
    with refused("missing-not-finite"):
        BoxEncoding.for_bounds([0.0], [1.0], [0.0, 1.0])


def test_the_margin_of_a_ball_grows_with_its_dimension() -> None:
    margins = [1 - BallEncoding(np.zeros(d), 1.0).margin for d in (1, 1 << 12, 1 << 13, 1 << 14)]
    assert margins == [2.0**-40, 2.0**-40, 2.0**-39, 2.0**-38]


def test_words_are_used_only_where_they_hold_the_result() -> None:
    sums, times, steps = np.array([[5]]), np.array([[2]]), np.array([3])
    found = codes._less_steps(sums, times, steps)
    assert found is not None and found.tolist() == [[2 * 5 - 2 * 3]]
    assert codes._less_steps(np.array([[1 << 61]]), times, steps) is None
    assert codes._less_steps(sums, np.array([[1 << 31]]), np.array([1 << 31])) is None


def test_substitutes_lie_where_they_are_said_to() -> None:
    lower, upper = np.array([-4.0, 2.0, -6.0]), np.array([8.0, 4.0, -2.0])
    assert centre_of(lower, upper).tolist() == [2, 3, -4]
    assert nearest_to_zero(lower, upper).tolist() == [0, 2, -2]


@pytest.mark.parametrize("d", [1, 31, 32, 33, 70])
def test_spark_is_told_to_add_every_square_of_a_ball_once(d: int) -> None:
    told = BallEncoding(np.zeros(d), 1.0)
    full = literal(told.margin * codes.BALL_STEPS)
    assert told.spell(range(d))[6] == [
        f"if(h > shrink, u{j} * (shrink * {full}), z{j} * {full}) y{j}" for j in range(d)
    ]
    text = told.spell(range(d))[4][-1]
    assert text.endswith(" root")
    blocks = text.removeprefix("sqrt(").removesuffix(") root").split(") + (")
    assert [each.count("*") for each in blocks] == [min(FOLD, d - s) for s in range(0, d, FOLD)]
    assert [each for block in blocks for each in block.strip("()").split(" + ")] == [f"u{j} * u{j}" for j in range(d)]


def test_sql_has_the_margin_of_a_ball() -> None:
    ball = BallEncoding(np.zeros(2), 1.0)
    full = literal(ball.margin * codes.BALL_STEPS)
    assert ball.spell(range(2))[6] == [f"if(h > shrink, u{j} * (shrink * {full}), z{j} * {full}) y{j}" for j in (0, 1)]

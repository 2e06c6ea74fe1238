"""Directed rounding, checked in rationals: on the promised side, and no further than promised."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from gaussmith.numerics.exact import (
    fraction_down,
    fraction_up,
    product_upward,
    smaller_reading,
    sqrt_downward,
    sqrt_upward,
    stated_up,
    sum_squares_upward,
    sum_upward,
)

doubles = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
fractions = st.one_of(
    st.fractions(),
    st.builds(lambda m, e: Fraction(m) * Fraction(10) ** e, st.integers(-(10**20), 10**20), st.integers(-400, 400)),
    st.builds(lambda x, n: Fraction(x) + Fraction(n, 2**1200), doubles, st.integers(-1, 1)),
)


@given(fractions)
def test_fractions_go_to_the_neighbouring_doubles(value: Fraction) -> None:
    up, down = fraction_up(value), fraction_down(value)
    assert down <= value <= up
    assert math.nextafter(up, -math.inf) < value or up == value
    assert math.nextafter(down, math.inf) > value or down == value


def test_fractions_beyond_the_doubles() -> None:
    huge, top = Fraction(10) ** 400, math.ldexp(1 - 2.0**-53, 1024)
    assert (fraction_up(huge), fraction_down(huge)) == (math.inf, top)
    assert (fraction_up(-huge), fraction_down(-huge)) == (-top, -math.inf)
    assert fraction_up(Fraction(top) + 1) == math.inf
    assert math.copysign(1, fraction_down(Fraction(0))) == 1


@given(doubles)
def test_the_smaller_reading_is_below_both(number: float) -> None:
    reading = smaller_reading(number)
    assert reading <= Fraction(number)
    assert reading <= Fraction(repr(number))
    assert reading in (Fraction(number), Fraction(repr(number)))


@given(fractions.filter(lambda value: abs(value) < 10**308))
def test_stated_numbers_hold_under_both_readings(value: Fraction) -> None:
    stated = stated_up(value)
    assert smaller_reading(stated) >= value
    assert stated == fraction_up(value) or smaller_reading(fraction_up(value)) < value


@given(st.lists(positive, max_size=30))
def test_sums_are_the_nearest_double_above(values: list[float]) -> None:
    exact, answer = sum(map(Fraction, values), start=Fraction(0)), sum_upward(values)
    assert answer >= exact
    assert answer == exact or math.nextafter(answer, 0) < exact


@given(st.lists(doubles, max_size=70))
def test_sums_of_squares_are_above_and_tight(values: list[float]) -> None:
    exact, answer = sum((Fraction(x) ** 2 for x in values), start=Fraction(0)), sum_squares_upward(values)
    assert answer >= exact
    limit = exact * (1 + Fraction(1, 10**14))
    assert answer <= limit or math.nextafter(math.nextafter(answer, 0), 0) < exact


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1e-154, 1.0, 1e150])
@pytest.mark.parametrize("size", [1, 2, 3, 1000, 4097])
def test_sums_of_squares_at_every_scale(scale: float, size: int) -> None:
    x = np.random.default_rng().standard_t(2, size) * scale
    exact = sum((Fraction(v) ** 2 for v in x.tolist()), start=Fraction(0))
    answer = sum_squares_upward(x)
    assert answer >= exact
    assert answer <= exact * (1 + Fraction(1, 10**14)) or answer < 1e-307


def test_a_million_squares_take_little_time_and_lose_little() -> None:
    x = np.random.default_rng().normal(size=1_000_000)
    times = []
    for _ in range(5):
        start = time.process_time()
        answer = sum_squares_upward(x)
        times.append(time.process_time() - start)
    # Squares as integers of 2^-200: exact, and much faster than rationals.
    mantissa, exponent = np.frexp(x)
    exact = sum(
        (int(m) ** 2) << (2 * (int(e) + 100)) for m, e in zip((mantissa * 2.0**53).tolist(), exponent, strict=True)
    )
    ratio = Fraction(answer) * 2**306 / exact
    assert 1 <= ratio <= 1 + Fraction(1, 10**14)
    assert min(times) < 0.05


@given(st.lists(positive, max_size=6))
def test_products_are_the_nearest_double_above(factors: list[float]) -> None:
    exact, answer = math.prod(map(Fraction, factors), start=Fraction(1)), product_upward(*factors)
    assert answer >= exact
    assert answer == exact or math.nextafter(answer, 0) < exact


@given(st.one_of(positive, fractions.map(abs)))
def test_roots_are_the_neighbouring_doubles(value: float | Fraction) -> None:
    up, down, exact = sqrt_upward(value), sqrt_downward(value), Fraction(value)
    assert Fraction(down) ** 2 <= exact <= (Fraction(up) ** 2 if up < math.inf else math.inf)
    assert up == down or math.nextafter(down, math.inf) == up


@given(st.integers(0, 2**26), st.integers(-500, 500))
def test_roots_of_squares_are_exact(n: int, e: int) -> None:
    x = math.ldexp(n, e)
    assert sqrt_upward(Fraction(x) ** 2) == sqrt_downward(Fraction(x) ** 2) == x


def test_infinity_stays_an_upper_bound() -> None:
    inf = math.inf
    assert sum_upward([1, inf]) == sum_upward([1.7e308, 1.7e308]) == inf
    assert sum_squares_upward([1, -inf]) == sum_squares_upward([1e200]) == inf
    assert product_upward(0.0, inf) == product_upward(1e200, 1e200) == inf
    assert sqrt_upward(inf) == sqrt_downward(inf) == inf


def test_nothing_adds_up_to_nothing() -> None:
    assert sum_upward([]) == sum_squares_upward([]) == sum_squares_upward(np.zeros(3)) == 0.0
    assert product_upward() == 1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: sum_upward([1.0, -1.0]),
        lambda: sum_upward([math.nan]),
        lambda: sum_squares_upward([1.0, math.nan]),
        lambda: product_upward(-1.0),
        lambda: product_upward(math.nan, 1.0),
        lambda: sqrt_upward(-1.0),
        lambda: sqrt_downward(math.nan),
    ],
)
def test_negative_numbers_and_nan_are_refused(call) -> None:  # type: ignore[no-untyped-def]
    with refused("negative-number-rounded-up"):
        call()

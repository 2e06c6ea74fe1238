"""Doubles rounded to a named side: `up` means at least the exact value, `down` at most.

A certificate is only as good as its last rounding. Everything here returns a double on the promised side of the exact
(rational) result and, but for `sum_squares_upward` and `norm_upward`, the nearest such double.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gaussmith.errors import DomainError

_ROOT_BITS = 64  # more than the 53 bits of a double, so that no double lies strictly between two candidates


def fraction_up(value: Fraction) -> float:
    """The smallest double at or above `value`; infinite beyond the largest double.

    >>> fraction_up(Fraction(1, 10)), fraction_up(Fraction(1, 10**400)), fraction_up(Fraction(10**400))
    (0.1, 5e-324, inf)
    """
    nearest = _nearest_double(value)
    return nearest if not math.isfinite(nearest) or nearest >= value else math.nextafter(nearest, math.inf)


def fractions_up(values: Iterable[Fraction]) -> list[float]:
    """The smallest double at or above each value.

    >>> fractions_up([Fraction(1, 10), Fraction(1, 3)]) == [0.1, math.nextafter(1 / 3, 1)]
    True
    """
    return [fraction_up(value) for value in values]


def fraction_down(value: Fraction) -> float:
    """The largest double at or below `value`; minus infinity beyond the most negative double.

    >>> fraction_down(Fraction(1, 10)), fraction_down(Fraction(1, 10**400))
    (0.09999999999999999, 0.0)
    """
    return -fraction_up(-value) + 0.0  # never −0


def _nearest_double(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator  # integer division is correctly rounded, subnormals included
    except OverflowError:
        # Just beyond the largest double; below zero the largest negative double is the one "at or above".
        return math.inf if value > 0 else -sys.float_info.max


def smaller_reading(number: float) -> Fraction:
    """The smaller of the two meanings of a typed double: its exact value, or the decimal it is written as.

    0.1 means one tenth, but the double is slightly more; the double 0.3 is slightly less than three tenths.
    A budget taken as the smaller of the two holds in either case.

    >>> smaller_reading(0.1) == Fraction(1, 10), smaller_reading(0.3) < Fraction(3, 10)
    (True, True)
    """
    return min(Fraction(number), Fraction(repr(float(number))))


def stated_up(value: Fraction) -> float:
    """The smallest double that is at or above `value` both exactly and as the decimal it is written as.

    >>> stated_up(Fraction(1, 10)), stated_up(Fraction(0.1))
    (0.1, 0.10000000000000002)
    """
    nearest = fraction_up(value)
    return nearest if nearest == math.inf or smaller_reading(nearest) >= value else math.nextafter(nearest, math.inf)


def sum_upward(values: Iterable[float]) -> float:
    """The smallest double at or above the exact sum of numbers that are 0 or more.

    Requires (checked): no NaN, nothing negative. Rounding: up; infinite if the sum is beyond the largest double.

    >>> sum_upward([0.1] * 10), sum_upward([1.0, 2.0**-80])
    (1.0000000000000002, 1.0000000000000002)
    """
    terms = [float(value) for value in values]
    _check_not_negative(all(term >= 0 for term in terms))
    if math.inf in terms:
        return math.inf
    try:
        total = math.fsum(terms)  # correctly rounded
    except OverflowError:
        return math.inf
    return total if math.fsum([*terms, -total]) <= 0 else math.nextafter(total, math.inf)


def sum_squares_upward(values: npt.ArrayLike) -> float:
    """A double at or above the exact sum of squares of an array; for a million numbers at most 1e-14 of it too high.

        Σ x_j²  ≤  result  ≤  Σ x_j² · (1 + (3⌈log₂ d⌉ + 9)·2⁻⁵³)     (or one step of the smallest double)

    Rounding: the numbers are scaled by a power of two so that squares neither overflow nor vanish, squared (each off by
    at most 2⁻⁵³ of itself), and added in halves, so that ⌈log₂ d⌉ roundings of 2⁻⁵³ follow; the margin covers twice
    that. What scaling and squaring lose below the smallest normal double is less than the last step up.
    Requires (checked): no NaN. An infinite number gives infinity.

    >>> sum_squares_upward([3.0, 4.0]) >= 25, sum_squares_upward([0.0]), sum_squares_upward([1e-200]) > 0
    (True, 0.0, True)
    """
    x = np.abs(np.asarray(values, dtype=np.float64).ravel())
    top = float(x.max()) if x.size else 0.0
    _check_not_negative(not math.isnan(top))  # the maximum is NaN if any number is
    if top in (0.0, math.inf):
        return top
    # Within ±1000 the scale and its inverse are ordinary doubles; the largest number then lies between 2^-75 and 2^25.
    exponent = min(max(math.frexp(top)[1], -1000), 1000)
    terms = x * math.ldexp(1.0, -exponent)
    terms *= terms
    rounds = 0
    while terms.size > 1:
        half = (terms.size + 1) // 2
        folded = terms[:half].copy()
        folded[: terms.size - half] += terms[half:]
        terms, rounds = folded, rounds + 1
    total = math.nextafter(float(terms[0]) * (1.0 + (rounds + 2) * 2.0**-52), math.inf)
    try:
        result = math.ldexp(total, 2 * exponent)
    except OverflowError:
        return math.inf
    return result if result >= sys.float_info.min else math.nextafter(result, math.inf)


def product_upward(*factors: float) -> float:
    """The smallest double at or above the exact product of numbers that are 0 or more; 0 × infinity is infinity.

    >>> product_upward(0.1, 3.0) >= Fraction(0.1) * 3, product_upward(1e-200, 1e-200), product_upward(2.0, 4.0)
    (True, 5e-324, 8.0)
    """
    _check_not_negative(all(factor >= 0 for factor in factors))
    if math.inf in factors:
        return math.inf
    return fraction_up(math.prod((Fraction(factor) for factor in factors), start=Fraction(1)))


def sqrt_upward(value: float | Fraction) -> float:
    """The smallest double at or above the square root of a double or rational that is 0 or more.

    >>> sqrt_upward(4.0), sqrt_upward(2.0) ** 2 >= 2, sqrt_upward(Fraction(1, 10**700)) > 0
    (2.0, True, True)
    """
    if _is_infinite_root(value):
        return math.inf
    if isinstance(value, float):
        found = math.sqrt(value)  # the nearest double to the root: it is the one, or the next
        while not _is_square_above(found, value):
            found = math.nextafter(found, math.inf)
        return found
    root, shift, exact = _integer_root(Fraction(value))
    return fraction_up(_shifted(root if exact else root + 1, shift))


def norm_upward(values: npt.ArrayLike) -> float:
    """A double at or above the Euclidean norm of an array; as near as `sum_squares_upward`.

    >>> norm_upward([3.0, 4.0]) >= 5
    True
    """
    return sqrt_upward(sum_squares_upward(values))


def sqrt_downward(value: float | Fraction) -> float:
    """The largest double at or below the square root of a double or rational that is 0 or more.

    >>> sqrt_downward(4.0), Fraction(sqrt_downward(2.0)) ** 2 < 2
    (2.0, True)
    """
    if _is_infinite_root(value):
        return math.inf
    root, shift, _ = _integer_root(Fraction(value))
    return fraction_down(_shifted(root, shift))


def _is_infinite_root(value: float | Fraction) -> bool:
    _check_not_negative(value >= 0)
    return value == math.inf


def _integer_root(value: Fraction) -> tuple[int, int, bool]:
    """(r, k, exact) with r = ⌊√value·2^k⌋ of at least 64 bits, so that no double lies strictly between r and r+1."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    shift = max(0, _ROOT_BITS - bits // 2)
    scaled, rest = divmod(value.numerator << (2 * shift), value.denominator)
    root = math.isqrt(scaled)
    return root, shift, rest == 0 and root * root == scaled


def _is_square_above(root: float, value: float) -> bool:
    """Whether root² is at or above a value, exactly."""
    (a, b), (c, d) = root.as_integer_ratio(), value.as_integer_ratio()
    return a * a * d >= c * b * b


def _shifted(root: int, shift: int) -> Fraction:
    return Fraction(root, 1 << shift)


def _check_not_negative(holds: bool) -> None:
    if not holds:
        raise DomainError(
            "a number that is negative or NaN",
            "upward rounding of sums, products and roots is for numbers that are 0 or more",
            "check the bounds, radii or weights this number came from",
            code="negative-number-rounded-up",
        )

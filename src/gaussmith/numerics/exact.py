"""Doubles rounded to a named side: `up` means at least the exact value, `down` at most.

A certificate is only as good as its last rounding. Everything here returns a double on the promised side of the exact
(rational) result and, but for `sum_squares_upward` and `norm_upward`, the nearest such double.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

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


# Exact products of doubles and whole numbers, rounded once at the end: a double is an integer and a power of two.

Array = npt.NDArray[np.float64]
Words = npt.NDArray[np.int64]
Integers = Sequence[int] | Words
"""Whole numbers: 64-bit words where they are known to fit, Python's own where not. Both are exact."""


FEW = 32
"""Vectors of fewer numbers are quicker in Python's integers than in numpy's words."""


def integer_rows(matrix: Array) -> tuple[list[list[int]], list[int]]:
    """Each row as integers and one power of two: entry = mantissa · 2^exponent, exactly."""
    fractions, powers = np.frexp(matrix)
    whole = np.ldexp(fractions, 53).astype(np.int64).tolist()
    rows, exponents = [], []
    for entries, power in zip(whole, powers, strict=True):
        least = int(power.min()) - 53
        rows.append([m << (int(p) - 53 - least) for m, p in zip(entries, power, strict=True)])
        exponents.append(least)
    return rows, exponents


def common_power(numbers: Sequence[float]) -> tuple[list[int], int]:
    """Doubles as integers over one power of two: number = integer · 2^exponent, exactly."""
    rows, exponents = integer_rows(np.array([numbers], float))
    return rows[0], exponents[0]


def python(vector: Integers) -> Sequence[int]:
    """As Python integers, which do not overflow."""
    return vector.tolist() if isinstance(vector, np.ndarray) else vector


def shift(value: int, exponent: int) -> int:
    """round(value · 2^exponent), halves up, in integers."""
    if exponent >= 0:
        return value << exponent
    return (value + (1 << (-exponent - 1))) >> -exponent


def scale_exactly(entries: Array, vector: Integers) -> Integers:
    """round(entries[j] · vector[j]) for each j, exactly: a double is a 53-bit integer and a power of two."""
    fractions, powers = np.frexp(entries)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    shifts = 53 - powers
    if isinstance(vector, np.ndarray) and len(vector) >= FEW:
        small = np.abs(entries) * (np.abs(vector.astype(float)) + 1.0) < 2.0**61
        if (small & (shifts > 0) & (shifts < 128)).all():
            return _scale_words(mantissas, vector, shifts)
    whole = python(vector)
    return [shift(m * k, -s) for m, k, s in zip(mantissas.tolist(), whole, shifts.tolist(), strict=True)]


def multiply_words(a: Any, b: Any) -> tuple[Any, Any]:
    """The product of unsigned words of 64 bits in two words: the upper and the lower one."""
    half = np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & half, a >> np.uint64(32), b & half, b >> np.uint64(32)
    low, middle, other, high = a0 * b0, a0 * b1, a1 * b0, a1 * b1
    carry = (low >> np.uint64(32)) + (middle & half) + (other & half)
    low = (low & half) | (carry << np.uint64(32))
    return high + (middle >> np.uint64(32)) + (other >> np.uint64(32)) + (carry >> np.uint64(32)), low


def _scale_words(mantissas: Words, vector: Words, shifts: Words) -> Words:
    """round(mantissa · vector / 2^shift), halves up, through products of 128 bits in two words.

    Requires (checked by the caller): 0 < shift < 128, results below 2^62.
    """
    negative = (mantissas < 0) ^ (vector < 0)
    high, low = multiply_words(np.abs(mantissas).view(np.uint64), np.abs(vector).view(np.uint64))
    # Add half a unit; of a negative product, whose size is rounded here, the half itself must round towards zero.
    s = shifts.astype(np.uint64)
    below = s <= 64
    unit_low = np.where(below, np.uint64(1) << np.minimum(s - 1, np.uint64(63)), np.uint64(0))
    unit_high = np.where(below, np.uint64(0), np.uint64(1) << np.maximum(s, np.uint64(65)) - np.uint64(65))
    borrow = negative.astype(np.uint64)
    unit_high = unit_high - ((unit_low == 0) & negative)
    unit_low = unit_low - borrow  # wraps to all ones where the unit lies in the high word
    total = low + unit_low
    high = high + unit_high + (total < low)
    inner = np.where(
        s < 64,
        (total >> np.minimum(s, np.uint64(63))) | np.where(s < 64, high << (np.uint64(64) - np.clip(s, 1, 63)), 0),
        high >> np.clip(s, 64, 127) - np.uint64(64),
    )
    sized = inner.astype(np.int64)
    return np.asarray(np.where(negative, -sized, sized))


# Exact products with many whole numbers at once, in words of 64 bits where these hold them.
#
# What is found is the integer that Python's own arithmetic gives; where words might not hold it, that is used.

LONGEST = 61
"""Bits of the results that are kept in words: noise of 60 bits can be added to them."""


def is_small(shape: tuple[int, int]) -> bool:
    """Whether a matrix has few rows and columns, and may be written out for `multiply_rows`."""
    return max(shape) <= FEW


def largest_of(numbers: Words) -> int:
    """The largest absolute value of some words.

    >>> largest_of(np.array([-(2**63), 5])) == 2**63
    True
    """
    return max(-int(numbers.min(initial=0)), int(numbers.max(initial=0)))


def sum_exactly(numbers: Integers) -> int:
    """The sum of whole numbers.

    >>> sum_exactly(np.full(4, 2**62)) == 2**64
    True
    """
    if isinstance(numbers, np.ndarray) and len(numbers) >= FEW and largest_of(numbers) * len(numbers) < 1 << 63:
        return int(numbers.sum())
    return sum(python(numbers))


def map_integers(rule: Callable[[int], int], numbers: Integers, end: Sequence[int] = ()) -> Integers:
    """rule(n) for each whole number n, and then `end`. If few numbers occur often, each goes through the rule once.

    >>> map_integers(lambda n: n * 2**40, np.arange(64) % 3, [5])[-3:].tolist()
    [2199023255552, 0, 5]
    """
    if isinstance(numbers, np.ndarray) and len(numbers) >= FEW:
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < len(numbers) // 2:
            table = list(map(rule, range(low, high + 1)))
            if all(abs(value) < 1 << LONGEST for value in (*table, *end)):
                found = np.empty(len(numbers) + len(end), np.int64)
                found[len(numbers) :] = end
                above = numbers if low == 0 else numbers - low
                np.array(table, np.int64).take(above, out=found[: len(numbers)], mode="wrap")  # all are in range
                return found
    return [*map(rule, python(numbers)), *end]


def multiply_rows(matrix: Array, vectors: Words) -> Words | None:
    """round(matrix · v), halves up, for each row v of `vectors`; None where words might not hold it.

    The entries are cut into limbs of b bits, and each limb is multiplied by all v in words:

        matrix = Σ_k limb_k · 2^(b k),   out = ⌊Σ_k (limb_k · v) · 2^(b k) + ½⌋

    From the lowest limb on, what exceeds b bits is carried to the next one; what remains below 1 is cut off.
    b is such that |limb_k| · Σ|v| < 2^62, where numbers of more than 31 bits are two numbers each.

    >>> multiply_rows(np.array([[0.5, 3.0], [1e9, -1.0]]), np.array([[1, 2], [-3, 0]])).tolist()
    [[7, 999999998], [-1, -3000000000]]
    """
    if matrix.shape[1] > MAX_ADDED or largest_of(vectors) >= 1 << 62:
        return None
    sizes = np.abs(vectors).max(axis=0, initial=0).astype(float)
    matrix = np.where(sizes > 0, matrix, 0.0)
    with np.errstate(over="ignore"):
        if (np.abs(matrix) @ (sizes + 1.0)).max(initial=0.0) >= 2.0**LONGEST:
            return None
    if sizes.max(initial=0.0) >= 2.0**31:
        low, high = np.abs(vectors) & ((1 << 31) - 1), np.abs(vectors) >> 31
        vectors = np.hstack([low, high]) * np.tile(np.sign(vectors), 2)
        matrix = np.hstack([matrix, matrix * 2.0**31])
    bits = 62 - int(np.abs(vectors).sum(axis=1).max(initial=0)).bit_length()
    powers = np.frexp(matrix[matrix != 0])[1]
    first = min(-1, (int(powers.min(initial=0)) - 53) // bits)
    last = max(-1, (int(powers.max(initial=0)) - 1) // bits)
    if last - first >= MAX_LIMBS:
        return None
    found = np.zeros((len(vectors), len(matrix)), np.int64)
    for k in range(first, last + 1):
        product = vectors @ _limb(matrix, bits, k)
        if k < 0:
            found = (found + product + (1 << (bits - 1) if k == -1 else 0)) >> bits
        elif bits * k < 64:  # beyond are multiples of 2^64, which cancel
            found += product << (bits * k)
    return found


MAX_ADDED = 1 << 20
"""Limit on the products that are added up in words: limbs then have 10 bits or more."""

MAX_LIMBS = 16
"""Limit on the limbs of a matrix: where its entries lie farther apart, products are left to Python."""


def _limb(matrix: Array, bits: int, k: int) -> Words:
    """Of every entry the bits from 2^(bits k) to 2^(bits (k + 1)), with its sign; transposed.

    Exact: a double times a power of two, and its upper bits, are doubles.
    """
    inside = np.trunc(matrix * 2.0 ** (-bits * k))
    inside -= np.trunc(matrix * 2.0 ** (-bits * (k + 1))) * 2.0**bits
    return np.ascontiguousarray(inside.astype(np.int64).T)

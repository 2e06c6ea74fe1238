"""Exact products of doubles and whole numbers, rounded once at the end: a double is an integer and a power of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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

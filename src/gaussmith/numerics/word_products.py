"""Exact products with many whole numbers at once, in words of 64 bits where these hold them.

What is found is the integer that Python's own arithmetic gives; where words might not hold it, that is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.products import FEW, Array, Integers, Words, multiply_words, python

LONGEST = 61
"""Bits of the results that are kept in words: noise of 60 bits can be added to them."""


def is_small(shape: tuple[int, int]) -> bool:
    """Whether a matrix has few rows and columns, and may be written out for `multiply_rows`."""
    return max(shape) <= FEW


def sum_exactly(numbers: Integers) -> int:
    """The sum of whole numbers.

    >>> sum_exactly(np.full(4, 2**62)) == 2**64
    True
    """
    if isinstance(numbers, np.ndarray) and len(numbers) >= FEW:
        largest = max(abs(int(numbers.min())), abs(int(numbers.max())))
        if largest * len(numbers) < 1 << 63:
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

        matrix[i, j] = mantissa · 2^(power − 53),
        out[g, i] = floor(2^-s Σ_j mantissa_j · (v_gj · 2^(power_j − least)) + ½)

    with s = 53 − least. Mantissas have 53 bits and shifted numbers at most 62, so 2^10 products add up in 128 bits.

    >>> multiply_rows(np.array([[0.5, 3.0], [1e9, -1.0]]), np.array([[1, 2], [-3, 0]])).tolist()
    [[7, 999999998], [-1, -3000000000]]
    """
    sizes = [max(abs(int(v.min())), abs(int(v.max()))) for v in vectors.T] if len(vectors) else [0] * vectors.shape[1]
    if matrix.shape[1] > 1 << 10:
        return None
    found = [_multiply_row(row, vectors, sizes) for row in matrix]
    rows = [row for row in found if row is not None]
    return np.column_stack(rows) if rows and len(rows) == len(found) else None


def _multiply_row(row: Array, vectors: Words, sizes: Sequence[int]) -> Words | None:
    used = [j for j in range(len(row)) if row[j] and sizes[j]]
    if not used:
        return np.zeros(len(vectors), np.int64)
    fractions, powers = np.frexp(row)
    mantissas, least = np.ldexp(fractions, 53).astype(np.int64).tolist(), min(int(powers[j]) for j in used)
    shifts, s = [int(power) - least for power in powers], 53 - least
    fits = all(shifts[j] < 62 and sizes[j] << shifts[j] < 1 << 62 for j in used)
    if not fits or not 0 < s < 126 or sum(abs(float(row[j])) * (sizes[j] + 1.0) for j in used) >= 2.0**LONGEST:
        return None
    high = low = np.zeros(len(vectors), np.uint64)
    for j in used:
        shifted = vectors[:, j] << shifts[j]
        high, low = _add(high, low, *_signed_product(mantissas[j], shifted))
    half = 1 << (s - 1)
    high, low = _add(high, low, np.uint64(half >> 64), np.uint64(half & ((1 << 64) - 1)))
    return _shifted(high, low, s)


Unsigned = npt.NDArray[np.uint64]


def _signed_product(mantissa: int, numbers: Words) -> tuple[Unsigned, Unsigned]:
    """The product in two words, as the complement of two where it is negative."""
    high, low = multiply_words(np.uint64(abs(mantissa)), np.abs(numbers).view(np.uint64))
    negative = (numbers < 0) ^ (mantissa < 0)
    flipped = ~low + np.uint64(1)
    return np.where(negative, ~high + (flipped == 0), high), np.where(negative, flipped, low)


def _add(
    high: Unsigned, low: Unsigned, more_high: Unsigned | np.uint64, more_low: Unsigned | np.uint64
) -> tuple[Unsigned, Unsigned]:
    total = low + more_low
    return high + more_high + (total < low), total


def _shifted(high: Unsigned, low: Unsigned, s: int) -> Words:
    """The signed number of two words, divided by 2^s and rounded down; it must fit one word."""
    if s >= 64:
        return high.view(np.int64) >> (s - 64)
    return ((low >> np.uint64(s)) | (high << np.uint64(64 - s))).view(np.int64)

"""Decisions about uniform reals of which only some binary digits are drawn, and uniform whole numbers.

A draw is an exact function of exact reals. Doubles decide when every real with the drawn digits gives the same answer;
otherwise a `Real` draws further digits until integers that enclose both sides agree.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Words = Callable[[int], npt.NDArray[np.uint64]]
Integers = npt.NDArray[Any]
"""Whole numbers: 64-bit ones where all of them fit, Python's own where not."""

Enclosure = Callable[[int], tuple[int, int]]
"""precision → (low, high) with low ≤ 2^precision · x ≤ high; high − low must stay bounded."""

WORD = 64
GUARD = 16
"""Enclosures are this many bits narrower than the real that they are compared with."""


class Real:
    """A uniform real from 0 to 1: the binary digits drawn so far, and where further ones come from.

    >>> coin = Real(0b1, 1, lambda: 0)  # 0.1 and zeros to come: one half
    >>> coin.lies_below(exponential(Fraction(1, 2))), coin.lies_below(exponential(Fraction(1))), coin.digits
    (True, False, 65)
    """

    def __init__(self, place: int, digits: int, words: Callable[[], int]) -> None:
        self.place, self.digits, self._words = place, digits, words

    def lengthen(self) -> None:
        self.place, self.digits = self.place << WORD | self._words(), self.digits + WORD

    def lies_below(self, enclose: Enclosure) -> bool:
        """Whether this real is smaller than a number, as the exact reals say."""
        while True:
            low, high = enclose(self.digits + GUARD)
            if self.place + 1 << GUARD <= low:
                return True
            if self.place << GUARD >= high:
                return False
            self.lengthen()


def exponential(exponent: Fraction) -> Enclosure:
    """Integers around e^−exponent, for an exponent above 0.

    >>> exponential(Fraction(1))(20)
    (385749, 385750)
    """

    def enclose(precision: int) -> tuple[int, int]:
        if exponent >= precision:  # e^−x < 2^−x
            return 0, 1
        scaled, rest = divmod(exponent.numerator << precision, exponent.denominator)
        low, _ = enclose_exponential(scaled + (rest > 0), precision, precision)
        _, high = enclose_exponential(scaled, precision, precision)
        return low, high

    return enclose


def uniform_integers(limits: Integers, times: int, words: Words) -> Integers:
    """For each limit so many whole numbers from 0 to the limit, all of them equally likely and in a row.

    Guarantee: exactly uniform: as many random bits as the limit has, drawn again where they exceed it.
    Requires (owed): limits ≥ 0; 64-bit limits are below 2^63.

    >>> uniform_integers(np.array([6, 1]), 2, lambda n: np.arange(2, n + 2, dtype=np.uint64) << np.uint64(61)).tolist()
    [2, 3, 1, 1]
    """
    if limits.dtype == object:
        return _uniform_wide(np.repeat(limits, times), words)
    most = np.repeat(limits.view(np.uint64), times)
    # A double may round a limit up to a power of two: one bit more than needed is as good.
    spare = np.repeat(np.minimum(WORD - np.frexp(limits.astype(np.float64))[1], WORD - 1).astype(np.uint64), times)
    found: npt.NDArray[np.uint64] = words(len(most)) >> spare
    waiting = np.flatnonzero(found > most)
    while len(waiting):
        again = words(len(waiting)) >> spare[waiting]
        found[waiting] = again
        waiting = waiting[again > most[waiting]]
    return found.view(np.int64)


def _uniform_wide(limits: Integers, words: Words) -> Integers:
    """The same beyond 64 bits: a leading part and further digits, drawn again where they exceed the limit."""
    digits = max(0, int(max(limits, default=0)).bit_length() - 62)
    found = np.zeros(len(limits), dtype=object)
    waiting = np.arange(len(limits))
    while len(waiting):
        leading = uniform_integers((limits[waiting] >> digits).astype(np.int64), 1, words).astype(object)
        found[waiting] = (leading << digits) + uniform_bits(len(waiting), digits, words)
        waiting = waiting[found[waiting] > limits[waiting]]
    return found


def uniform_bits(size: int, bits: int, words: Words) -> Integers:
    """Uniform whole numbers of so many bits; 64-bit integers if they have at most 62.

    >>> uniform_bits(2, 3, lambda n: np.full(n, 5 << 61, dtype=np.uint64)).tolist()
    [5, 5]
    """
    if bits == 0:
        return np.zeros(size, dtype=np.int64)
    if bits < 63:
        return (words(size) >> np.uint64(WORD - bits)).view(np.int64)
    found = np.zeros(size, dtype=object)
    for _ in range(-(-bits // WORD)):
        found = found << WORD | words(size).astype(object)
    cut: Integers = found >> (-bits % WORD)
    return cut


def enclose_exponential(numerator: int, shift: int, precision: int) -> tuple[int, int]:
    """Integers around an exponential: the first never above it, the second never below it, at most 2 apart.

        low ≤ 2^precision · e^{−numerator/2^shift} ≤ high

    Guarantee: holds for every numerator ≥ 0; only the distance of the two rests on the working precision.
    Rounding: e^{+y} is summed for a small y and squared back up, each step rounded down for one side and up for the
    other; then both are inverted, which swaps the sides.

    >>> enclose_exponential(1, 0, 20), round(2**20 / 2.718281828, 2)
    ((385749, 385750), 385749.55)
    """
    halvings = max(0, numerator.bit_length() - shift + 8)  # so that y < 2^-8 and few terms are needed
    work = precision + halvings + 8
    scaled = numerator << work
    y_low, y_high = scaled >> shift + halvings, _raise(scaled, shift + halvings)
    term_low = term_high = low = high = 1 << work
    i = 0
    while term_high > 1:
        i += 1
        term_low, term_high = (term_low * y_low >> work) // i, -(-_raise(term_high * y_high, work) // i)
        low, high = low + term_low, high + term_high
    high += 1  # the terms left out add up to less than the last one
    for _ in range(halvings):
        low, high = low * low >> work, _raise(high * high, work)
    one = 1 << work + precision
    return one // high, -(-one // low)


def _raise(number: int, shift: int) -> int:
    """number / 2^shift, rounded up."""
    return -(-number >> shift)

"""Bounds that people like: the roundest numbers just outside of those that were learned."""

from __future__ import annotations

import math
from fractions import Fraction

ROOM = Fraction(1, 200)
"""By how much of the width each end may move outwards: together less than 1 % more noise."""


def rounded_bounds(low: float, high: float) -> tuple[float, float]:
    """The roundest bounds that hold these and are at most 1 % wider.

    >>> rounded_bounds(0.0, 131072.0)
    (0.0, 131500.0)
    >>> rounded_bounds(-16.0, 498.7)
    (-16.0, 500.0)
    """
    a, b = Fraction(low), Fraction(high)
    room = (b - a) * ROOM
    return 0.0 - _roundest(-a, -a + room), _roundest(b, b + room)


def _roundest(first: Fraction, last: Fraction) -> float:
    """The multiple of the largest of 1, 2, 5, 10, 20, … (or tenths, …) from `first` to `last`, the nearest to `first`.

    As a double it is never below `first`.
    """
    if first <= 0 <= last:
        return 0.0
    exponent = math.floor(math.log10(max(abs(first), abs(last)))) + 1
    for power in range(exponent, exponent - 40, -1):
        for digit in (5, 2, 1):
            step = digit * Fraction(10) ** power
            multiple = math.ceil(first / step) * step
            if multiple <= last and Fraction(float(multiple)) >= first:
                return float(multiple)
    return float(first)

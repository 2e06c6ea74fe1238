"""The exact slow path: one point decided by integer arithmetic and as many random bits as it takes.

A point has a place z and a height, both uniform reals of which some binary digits are drawn. Whether it lies below the
curve c · e^{−z²/2} is decided between integers that enclose both sides. While the enclosures overlap, place and height
are given 64 more random digits and the enclosures are made 64 bits narrower, which leaves a doubt about once in 2^55.
There is no floating point here and no last place, so nothing is truncated.
"""

from __future__ import annotations

from collections.abc import Callable

from gaussmith.errors import GaussmithError
from gaussmith.noise.cells import FAR, HEIGHT, PLACES

DIGITS = 48
"""Binary digits of a place within its bin, and of a height within its cell, with which a decision begins."""

WORD = 64
GUARD = 16
"""Enclosures are this many bits narrower than the random real they are compared with."""

LARGEST = 126
"""The largest whole part that is returned, which keeps noise of 52 binary places below 2^59."""


def settle(place: int, level: int, height: int, more: Callable[[], int]) -> bool:
    """Whether a point of an edge cell lies below the curve: what the exact reals say.

    Its place begins with `place`, in units of 2^−53; its height above the bottom of the cell with `height`, in units of
    2^−48; `more()` gives the next random word when they must be known more precisely.

    >>> settle(0, HEIGHT - 1, 0, more=lambda: 0), settle(31 << DIGITS, HEIGHT - 1, 0, more=lambda: 0)
    (True, False)
    """
    return decide(place, (level << DIGITS) + height, DIGITS, PLACES, more)


def settle_far(height: int, more: Callable[[], int]) -> int | None:
    """The place of a point of the far cell in units of 2^−53, or None when it is not below the curve.

    The cell is cut into strips without end: to the right and to the left one for each whole part k = 6, 7, …, with a
    width of 1 and a height of 2^−(k+1). All of them together are as large as one cell, and the curve is below the top
    of each. Coins choose a strip by its area; then the point is decided as any other.

    >>> coins = iter([1, 1, 0, 1, 0, 0])  # k = 8, to the left, then the digits of the place and the height
    >>> settle_far(0, more=lambda: next(coins)) == -(8 << 53) - 1
    True
    """
    if height >> DIGITS - 9:  # above 2^−9 of its height a strip is above the curve, whichever it is
        return None
    k = FAR
    while more() & 1:
        k += 1
    left = more() & 1
    place, height = k << WORD | more(), height << WORD - DIGITS | more() >> DIGITS
    if not decide(place, height, WORD, 0, more, lowered=k + 1):
        return None
    if k > LARGEST:
        raise GaussmithError(
            "a draw beyond 127 standard deviations",
            "noise must fit in 64 bits",
            "draw again: this never happens by chance",
            code="draw-too-large",
        )
    place >>= WORD - DIGITS - PLACES
    return ~place if left else place


def decide(place: int, height: int, digits: int, places: int, more: Callable[[], int], lowered: int = 0) -> bool:
    """Whether 2^−lowered · y < c · e^{−z²/2}, where z begins with `place` and y with `height`.

    Both are known to `digits` binary digits and go on with `more()`; z is in units of 2^−places.

    >>> decide(0, 0, 64, 0, more=lambda: 0)
    True
    """
    while True:
        # z lies between `place` and `place` + 1, both on one side of 0, and the exponent z²/2 grows with its size.
        nearest, farthest = sorted((place * place, (place + 1) ** 2))
        shift, precision = 2 * (digits + places) + 1, digits + lowered + GUARD
        low, _ = enclose_exponential(farthest, shift, precision)
        if height + 1 << GUARD <= HEIGHT * low:
            return True
        _, high = enclose_exponential(nearest, shift, precision)
        if height << GUARD >= HEIGHT * high:
            return False
        place, height, digits = place << WORD | more(), height << WORD | more(), digits + WORD


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

"""The exact slow path: one proposal decided by integer arithmetic and as many random bits as it takes.

The words of a proposal are the first 64 binary digits of three uniform reals U, X, V in [0, 1):

    k = min{j : U < C_j},   C_j = Σ_{i≤j} e^{−i²/2} / Σ_{i≥0} e^{−i²/2},        accepted when V < e^{−X(2k+X)/2}.

Every comparison is made between integers that enclose both sides. While the enclosures overlap, the reals are given
64 more random digits and the enclosures are made 64 bits narrower, which leaves a doubt about once in 2^60.
There is no floating point here and no last k, so nothing is truncated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

WORD = 64
GUARD = 16
"""Enclosures are this many bits narrower than the random real they are compared with."""


def settle(first: int, second: int, third: int, more: Callable[[], int]) -> int | None:
    """The whole part k of the accepted proposal, or None when it is rejected: what the exact reals say.

    `first`, `second`, `third` are the leading words of U, X, V; `more()` gives the next random word when one of
    them must be known more precisely.

    >>> settle(0, 0, 0, more=lambda: 0), settle(0, 2**63, 2**64 - 1, more=lambda: 0)
    (0, None)
    """
    k = decide_whole(first, more)
    return k if decide_acceptance(k, second, third, more) else None


def decide_whole(word: int, more: Callable[[], int]) -> int:
    """The k with C_{k−1} ≤ U < C_k, where U begins with `word` and goes on with `more()`.

    >>> decide_whole(2**63, more=lambda: 0)
    0
    """
    u, digits = word, WORD
    while True:
        sums, (total_low, total_high) = _cumulate(digits + GUARD)
        for k, (low, high) in enumerate(sums):
            if (u + 1) * total_high <= low << digits:
                return k
            if u * total_low < high << digits:
                break
        u, digits = u << WORD | more(), digits + WORD


def decide_acceptance(whole: int, fraction: int, word: int, more: Callable[[], int]) -> bool:
    """Whether V < e^{−X(2k+X)/2}, where k = `whole`, X begins with `fraction`, V with `word`, both go on with `more()`.

    >>> decide_acceptance(0, 2**63, 0, more=lambda: 0)
    True
    """
    x, v, digits = fraction, word, WORD
    while True:
        # X lies in [x, x+1]/2^digits and the exponent X(2k+X)/2 grows with X.
        nearest, farthest = (end * ((whole << digits + 1) + end) for end in (x, x + 1))
        low, _ = enclose_exponential(farthest, 2 * digits + 1, digits + GUARD)
        if v + 1 << GUARD <= low:
            return True
        _, high = enclose_exponential(nearest, 2 * digits + 1, digits + GUARD)
        if v << GUARD >= high:
            return False
        x, v, digits = x << WORD | more(), v << WORD | more(), digits + WORD


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


@lru_cache(maxsize=8)
def _cumulate(precision: int) -> tuple[tuple[tuple[int, int], ...], tuple[int, int]]:
    """Enclosures of 2^precision · Σ_{i≤k} e^{−i²/2} for k = 0, 1, … until the terms vanish, and of the whole sum."""
    sums = tuple(_accumulate(precision))
    low, high = sums[-1]
    return sums, (low, high + 1)  # terms beyond the last, which was at most 1, add up to less than 1


def _accumulate(precision: int) -> Iterator[tuple[int, int]]:
    low = high = i = 0
    term_high = 2
    while term_high > 1:
        term_low, term_high = enclose_exponential(i * i, 1, precision)
        low, high, i = low + term_low, high + term_high, i + 1
        yield low, high

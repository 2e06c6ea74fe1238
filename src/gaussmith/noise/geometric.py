"""Two-sided geometric noise: independent whole numbers z with P(z) ∝ e^{−(ε/S)|z|}, the law of the 1-norm.

A number is a sign and a size, and −0 is drawn again. The size G is geometric, P(G ≥ k) = e^{−λk} with λ = ε/S, and its
quotient H and rest L by 2^b are independent, because P(H = h, L = l) is a product. b is chosen such that λ·2^b is
about 2^−8:

- H = ⌊−ln U / (λ·2^b)⌋ with U uniform, read off doubles unless they are near a whole number;
- L is uniform among b bits and kept with probability e^{−λL} > 1 − 2^−8, else all is drawn again.

Doubtful cases are decided by `reals.Real` with further digits of the same reals, so the law is exact.
See docs/decisions.md, 17.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from gaussmith.noise.law import FARTHEST, Floats, Width, least_cover
from gaussmith.noise.reals import Integers, Real, Words, exponential, uniform_bits

BLOCK = 1 << 15
"""Numbers at a time: their buffers stay in the processor's second cache."""

SPARE = 64
"""Numbers beyond those that are needed, as some are drawn again."""

DIGITS = 52
"""Leading bits of a word that are digits of U; of the others one is the sign, and `CHANCE` decide on L."""

CHANCE = 8
SIGN = 1 << CHANCE

FINEST = Fraction(1, 1 << CHANCE + 1)
"""λ·2^b lies above this, and at or below twice as much if b > 0."""

NEAR = 2.0**-22
"""No computed −ln U/(λ·2^b) is this far from the true one, for U ≥ `SMALL`; the derivation is at `_quotients`."""

SMALL = 2.0**-20
ERROR = 2.0**-40
"""No computed chance of L is this far from the true one."""


@dataclass(frozen=True)
class Geometric:
    """The law P(z) ∝ e^{−(ε/S)·Σ|z_i|} of a block of numbers: each is independent of the others.

    Guarantee: added to an integer statistic that changes by at most S in the 1-norm between neighbours, the sum is
    exactly ε-DP: P(z)/P(z′) = e^{(ε/S)(‖z′‖₁ − ‖z‖₁)} ≤ e^ε.
    Requires (owed): 0 < ε ≤ 100, S ≥ 1, numbers ≥ 1.

    >>> law = Geometric(Fraction(1), 1)
    >>> round(law.variance, 6), law.quantile(0.95)
    (1.841347, Width(half=3, covered=0.9732...))
    """

    epsilon: Fraction
    sensitivity: int
    numbers: int = 1

    norm: ClassVar[str] = "1"

    @property
    def rate(self) -> Fraction:
        return Fraction(self.epsilon) / self.sensitivity

    def sample(self, blocks: int, words: Words) -> Integers:
        """So many independent blocks, one row each, exactly of this law."""
        drawn = geometric_integers(self.rate, blocks * self.numbers, words, signed=True)
        return drawn.reshape(blocks, self.numbers)

    @property
    def variance(self) -> float:
        """Of one number: 2q/(1−q)² = 1/(2 sinh²(λ/2))."""
        return 1 / (2 * math.sinh(self.rate / 2) ** 2)

    def tail(self, beyond: float | Floats) -> Floats:
        """P(|Z| > beyond) of one number, 2q^{k+1}/(1+q) with k = ⌊beyond⌋; also for an array."""
        rate = float(self.rate)
        exponents = np.clip(rate * (np.floor(beyond) + 1), 0.0, FARTHEST)
        return np.asarray(np.where(exponents > 0, 2 * np.exp(-exponents) / (1 + math.exp(-rate)), 1.0))

    def quantile(self, level: float) -> Width:
        """The least whole number that covers one number of noise with this probability, and its true coverage."""
        return least_cover(self.tail, 1 - level)


@dataclass(frozen=True)
class Split:
    """How a size is drawn: its rate λ, the bits b of the rest, and λ·2^b, the rate of the quotient."""

    rate: Fraction

    @cached_property
    def bits(self) -> int:
        """
        >>> Split(Fraction(1)).bits, Split(Fraction(1, 2**52)).bits
        (0, 44)
        """
        return int(FINEST / self.rate).bit_length()

    @cached_property
    def of_quotient(self) -> Fraction:
        return self.rate * (1 << self.bits)


def geometric_integers(rate: Fraction, size: int, words: Words, signed: bool = False) -> Integers:
    """Independent whole numbers with P(k) ∝ e^{−rate·|k|}, over k ≥ 0 or, if signed, over all k.

    Guarantee: given uniform words the law is exact. The numbers are Python's own if some exceed 62 bits.
    Requires (owed): rate > 0; a numpy logarithm with error below 2^−32 on [2^−20, 1], as `expm1` near 0.

    >>> from gaussmith.noise.keystream import Keystream
    >>> noise = geometric_integers(Fraction(1, 2**40), 1000, Keystream().words, signed=True)
    >>> noise.dtype, bool(abs(noise).max() < 2**46)
    (dtype('int64'), True)
    """
    split, parts, left = Split(rate), [], size
    while left > 0:
        # Of signed numbers almost half are drawn again when most are 0.
        wanted = 2 * left if signed and not split.bits else left
        part = _draw(min(BLOCK, wanted + wanted // 64 + SPARE), split, words, signed)[:left]
        parts.append(part)
        left -= len(part)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _draw(size: int, split: Split, words: Words, signed: bool) -> Integers:
    """Numbers made of so many words, less those that must be drawn again."""
    drawn = words(size)
    found = _quotients(drawn >> np.uint64(64 - DIGITS), split.of_quotient, words)
    kept = np.ones(size, dtype=np.bool_)
    if split.bits:
        rests = uniform_bits(size, split.bits, words)
        kept = _accepted(drawn, rests, split, words)
        if int(found.max()).bit_length() + split.bits > 62:
            found = found.astype(object)
        found = (found << split.bits) + rests
    if signed:
        minus = (drawn & np.uint64(SIGN)) != 0
        kept &= ~(minus & (found == 0))
        np.negative(found, out=found, where=minus)
    return found[kept]


def _quotients(places: npt.NDArray[np.uint64], rate: Fraction, words: Words) -> Integers:
    """⌊−ln U / rate⌋ for uniform reals U that begin with these digits.

    Rounding: U is off by 2^−53 from the middle of its digits, −ln U by 2^−33 for U ≥ 2^−20, and the quotient by 2^9
    times as much, 2^−24; the division of a number below 2^13 adds 2^−38. The rest of `NEAR` is left to the logarithm.
    """
    one = np.float64(1.0).view(np.uint64)
    u = (places | one).view(np.float64) - (1 - 2.0**-53)
    quotients = np.log(u)
    quotients *= -float(1 / rate)
    nearest = np.rint(quotients)
    doubtful = np.abs(quotients - nearest) <= NEAR
    doubtful &= nearest > 0
    doubtful |= u < SMALL
    found = quotients.astype(np.int64)  # rounds towards 0
    for i in np.flatnonzero(doubtful):
        found[i] = settle_quotient(Real(int(places[i]), DIGITS, lambda: int(words(1)[0])), rate)
    return found


def settle_quotient(real: Real, rate: Fraction) -> int:
    """⌊−ln U / rate⌋: the largest k with U < e^{−rate·k}, whatever digits of U it takes.

    >>> settle_quotient(Real(0, 52, lambda: 1 << 63), Fraction(1, 512))  # −ln 2^−53 = 36.7
    18809
    """
    while not real.place:
        real.lengthen()
    k = max(0, int(Fraction(real.digits * math.log(2) - math.log(real.place)) / rate))
    while real.lies_below(exponential(rate * (k + 1))):
        k += 1
    while k and not real.lies_below(exponential(rate * k)):
        k -= 1
    return k


def _accepted(drawn: npt.NDArray[np.uint64], rests: Integers, split: Split, words: Words) -> npt.NDArray[np.bool_]:
    """Which rests are kept, each with probability e^{−λ·rest}: a uniform real V lies below that.

    V begins with `CHANCE` bits of the first word, and lies below unless all of them are 1. Then a word v goes on, and
    V = 1 − 2^−8 (1 − v). Rounding: all terms are at most 1 and there are fewer than 2^8 of them: below 2^−45.
    """
    ones = np.uint64((1 << CHANCE) - 1)
    kept = np.ones(len(drawn), dtype=np.bool_)
    open_ = np.flatnonzero((drawn & ones) == ones)
    heights = words(len(open_))
    fine = float(split.of_quotient) * 2.0**-split.bits
    margins = 1 - heights * 2.0**-64 + (1 << CHANCE) * np.expm1(-fine * rests[open_].astype(np.float64))
    kept[open_] = margins > 0
    for j in np.flatnonzero(np.abs(margins) <= ERROR):
        real = Real(int(ones) << 64 | int(heights[j]), CHANCE + 64, lambda: int(words(1)[0]))
        kept[open_[j]] = keeps(real, split.rate * int(rests[open_[j]]))
    return kept


def keeps(real: Real, exponent: Fraction) -> bool:
    """Whether V < e^{−exponent}."""
    return exponent == 0 or real.lies_below(exponential(exponent))

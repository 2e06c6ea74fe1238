"""Cube noise: D whole numbers drawn together with P(z) ∝ e^{−(ε/S)·max|z_i|}, the law of the ∞-norm.

Given a radius K every number is uniform in −K … K, where K ≥ 0 has weight (2K+1)^D q^K, q = e^{−ε/S}: the sum of q^k
over k ≥ r is proportional to q^r. K is drawn without rejection, as J plus the sum of D + 1 geometric numbers, because

    Σ_K (2K+1)^D q^K = Σ_J B(D, J) q^J · (1 − q)^{−(D+1)},      J = 0 … D,

with the Eulerian numbers B of type B. See docs/decisions.md, 17.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from gaussmith.noise.geometric import BLOCK, geometric_integers
from gaussmith.noise.law import FARTHEST, Floats, Width, least_cover
from gaussmith.noise.reals import Enclosure, Integers, Real, Words, exponential, uniform_integers


@dataclass(frozen=True)
class Cube:
    """The law P(z) ∝ e^{−(ε/S)·max|z_i|} of a block of numbers, which share a radius.

    Guarantee: added to an integer statistic that changes by at most S in the ∞-norm between neighbours, the sum is
    exactly ε-DP: P(z)/P(z′) = e^{(ε/S)(‖z′‖ − ‖z‖)} ≤ e^ε.
    Requires (owed): 0 < ε ≤ 100, S ≥ 1, numbers ≥ 1.

    >>> law = Cube(Fraction(1), 1, numbers=2)
    >>> round(law.variance, 6), law.quantile(0.95)
    (3.902809, Width(half=4, covered=0.9660...))
    """

    epsilon: Fraction
    sensitivity: int
    numbers: int

    norm: ClassVar[str] = "max"

    @property
    def rate(self) -> Fraction:
        return Fraction(self.epsilon) / self.sensitivity

    def sample(self, blocks: int, words: Words) -> Integers:
        """So many independent blocks, one row each, exactly of this law."""
        return cube_integers(self.rate, self.numbers, blocks, words)

    @property
    def variance(self) -> float:
        """Of one number: E[K(K+1)]/3."""
        return _variance_of(self)

    def tail(self, beyond: float | Floats) -> Floats:
        """P(|Z| > beyond) of one number, exactly on the lattice; also for an array.

            P(|Z| > t) = Σ_{K>t} w(K) · 2(K−t)/(2K+1),      w(K) ∝ (2K+1)^D q^K,      t whole

        Both sums over K are finite sums of positive terms (`_moments`), with c = 2t+3 and c = 1.
        """
        rate, d = float(self.rate), self.numbers
        step, moments = -math.expm1(-rate), _moments(self.rate, d)
        t = np.maximum(np.floor(np.minimum(beyond, FARTHEST / rate)), -1.0)
        factors = [0.0, *(i * moments[i] + step * moments[i - 1] for i in range(1, d + 1))]
        above = np.exp(-rate * (t + 1)) * _sum_terms(factors, (2 * t + 3) * (step / 2))
        return np.asarray(np.minimum(above / (d * _sum_terms(moments, np.array(step / 2))), 1.0))

    def quantile(self, level: float) -> Width:
        """The least whole number that covers one number of noise with this probability, and its true coverage."""
        return least_cover(self.tail, 1 - level)


@lru_cache(maxsize=64)
def _moments(rate: Fraction, n: int) -> tuple[float, ...]:
    """e_i = (1−q)^{i+1}/i! · Σ_j j^i q^j for i = 0 … n: e_i = q Σ_{l<i} e_l (1−q)^{i−l−1}/(i−l)!, all positive.

    Σ_{j≥0} (2j+c)^n q^j = 2^n n!/(1−q)^{n+1} · Σ_{i≤n} e_i x^{n−i}/(n−i)!,      x = c(1−q)/2
    """
    step, q = -math.expm1(-rate), math.exp(-rate)
    weights = [1.0]
    for k in range(1, n):
        weights.append(weights[-1] * step / (k + 1))
    found = [1.0]
    for i in range(1, n + 1):
        found.append(q * math.fsum(found[i - 1 - k] * weights[k] for k in range(i)))
    return tuple(found)


@lru_cache(maxsize=64)
def _variance_of(law: Cube) -> float:
    """E[K(K+1)]/3 = (M(D+2)/M(D) − 1)/12 with M(n) = Σ_K (2K+1)^n q^K."""
    if law.rate > Fraction(1, 8):  # few terms, all positive: nothing cancels
        sizes = np.arange(float(least_cover(law.tail, 1e-200).half))
        return float((2 * sizes + 1) @ law.tail(sizes))
    d, step = law.numbers, -math.expm1(-law.rate)
    most, least = (_sum_terms(_moments(law.rate, n), np.array(step / 2)) for n in (d + 2, d))
    return (4 * (d + 2) * (d + 1) / step**2 * float(most / least) - 1) / 12


def _sum_terms(factors: Sequence[float], x: Floats) -> Floats:
    """Σ_i factors_i · x^{n−i}/(n−i)!."""
    total, power = np.zeros_like(x), np.ones_like(x)
    for k, factor in enumerate(reversed(factors)):
        total = total + factor * power
        power = power * x / (k + 1)
    return total


@lru_cache(maxsize=64)
def eulerian(n: int) -> tuple[int, ...]:
    """B(n, j) for j = 0 … n, the Eulerian numbers of type B.

        B(n, j) = (2j+1) B(n−1, j) + (2n−2j+1) B(n−1, j−1),      B(0, 0) = 1

    >>> eulerian(3)
    (1, 23, 23, 1)
    """
    row = [1]
    for m in range(1, n + 1):
        row = [
            (2 * j + 1) * a + (2 * m - 2 * j + 1) * b for j, (a, b) in enumerate(zip([*row, 0], [0, *row], strict=True))
        ]
    return tuple(row)


def cube_integers(rate: Fraction, numbers: int, blocks: int, words: Words) -> Integers:
    """Independent blocks of numbers with P(z) ∝ e^{−rate·max|z_i|}: one row each.

    Guarantee: given uniform words the law is exact. The numbers are Python's own if some exceed 62 bits.
    Requires (owed): rate > 0; what `geometric_integers` requires.

    >>> from gaussmith.noise.keystream import Keystream
    >>> cube_integers(Fraction(1, 2**40), 3, 100, Keystream().words).shape
    (100, 3)
    """
    step = max(1, BLOCK // (numbers + 1))
    parts = []
    for start in range(0, blocks, step):
        radii = draw_radii(rate, numbers, min(step, blocks - start), words)
        parts.append(uniform_integers(2 * radii, numbers, words).reshape(-1, numbers) - radii[:, None])
    return np.concatenate(parts) if parts else np.zeros((0, numbers), dtype=np.int64)


def draw_radii(rate: Fraction, numbers: int, blocks: int, words: Words) -> Integers:
    """Independent radii K ≥ 0 with weight (2K+1)^numbers · e^{−rate·K}."""
    parts = geometric_integers(rate, (numbers + 1) * blocks, words).reshape(blocks, numbers + 1)
    if parts.dtype != object and parts.sum(axis=1, dtype=np.float64).max(initial=0) > 2.0**61:
        parts = parts.astype(object)
    radii: Integers = parts.sum(axis=1) + _offsets(rate, numbers, words(blocks), words)
    return radii


def _offsets(rate: Fraction, numbers: int, drawn: npt.NDArray[np.uint64], words: Words) -> npt.NDArray[np.int64]:
    """J: the first j with U < C_j, C_j = P(J ≤ j), for uniform reals U that begin with these words."""
    ends = _ends(rate, numbers)
    found = np.searchsorted(ends, drawn)
    doubtful = ends[np.minimum(found, numbers - 1)] == drawn
    for i in np.flatnonzero(doubtful):
        found[i] = settle_offset(Real(int(drawn[i]), 64, lambda: int(words(1)[0])), rate, numbers)
    return found


def settle_offset(real: Real, rate: Fraction, numbers: int) -> int:
    """J for a uniform real, whatever digits of it that takes.

    >>> [settle_offset(Real(place, 64, lambda: 0), Fraction(1), 3) for place in (0, 2**64 - 1)]
    [0, 3]
    """
    j = 0
    while j < numbers and not real.lies_below(share(rate, numbers, j)):
        j += 1
    return j


@lru_cache(maxsize=64)
def _ends(rate: Fraction, numbers: int) -> npt.NDArray[np.uint64]:
    """The first 64 binary digits of C_j, j = 0 … D−1."""
    ends = []
    for j in range(numbers):
        precision, low, high = 64, 0, 1
        while low != high:
            precision += 64
            low, high = (end >> precision - 64 for end in share(rate, numbers, j)(precision))
        ends.append(low)
    return np.array(ends, dtype=np.uint64)


def share(rate: Fraction, numbers: int, most: int) -> Enclosure:
    """Integers around P(J ≤ most), for most < numbers."""
    weights = eulerian(numbers)

    def enclose(precision: int) -> tuple[int, int]:
        work = precision + 2 * numbers + 32
        low, high = exponential(rate)(work)
        lower, upper = _powers(low, high, numbers, work)
        first_low, first_high = (
            sum(w * p for w, p in zip(weights[: most + 1], powers, strict=False)) for powers in (lower, upper)
        )
        rest_low, rest_high = (
            sum(w * p for w, p in zip(weights[most + 1 :], powers[most + 1 :], strict=True))
            for powers in (lower, upper)
        )
        return (first_low << precision) // (first_low + rest_high), -(
            -(first_high << precision) // (first_high + rest_low)
        )

    return enclose


def _powers(low: int, high: int, most: int, places: int) -> tuple[list[int], list[int]]:
    """Integers around 2^places · q^j for j = 0 … most, from those around q."""
    lower, upper = [1 << places], [1 << places]
    for _ in range(most):
        lower.append(lower[-1] * low >> places)
        upper.append(-(-upper[-1] * high >> places))
    return lower, upper

"""The law of a linear combination of noise, Σ a_i Z_i over independent blocks: tails and half-widths, never too small.

A summand is what one block adds, or one number where the numbers of a block are independent:

- one number: exactly, on its lattice (`Law.tail`);
- several of a cube on a coarse lattice: given the radius they are independent, so a sum over radii;
- several of a cube on a fine lattice: their limit R·(a·U), R ~ Gamma(D+1)/λ, U uniform in the cube.

Several summands are put on a grid and convolved. If all their values are multiples of one step, that is exact.
Otherwise each is moved to the nearest point of the grid, which moves the half-width by 10^−3 of itself or less.
See docs/decisions.md, 17 for the bounds.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gaussmith.noise.law import FARTHEST, Floats, Law, Width

Block = tuple[Law, Sequence[float]]
"""A law, and what each number of one of its blocks is multiplied by."""

Tail = Callable[[Floats], Floats]

POINTS = 1 << 18
"""Points of a grid on which summands are convolved, at most."""

WORK = 1 << 24
"""Cosines that a sum over radii may take; beyond, a lattice counts as fine."""

COARSE_POINTS = 1 << 14
"""Points of the grid of one summand on a coarse lattice, where its values are not multiples of one step."""

MISSED = 1e-13
"""A grid ends where each summand, and their sum, lie beyond with less than this probability."""

ROUNDING = 1e-11
"""Above the error of sums and Fourier transforms of probabilities in doubles."""

SIGNS = 6
"""Up to so many numbers of a block all combinations of signs are summed, if little cancels."""

CANCELLED = 1e5
SERIES, TABLE = 1 << 12, 1 << 10


class Summand(NamedTuple):
    """One part of a combination: P(|X| > x) ≤ e^factor · (tail(x − slack) + error), with = where these are 0."""

    tail: Tail
    deviation: float
    step: Fraction | None = None
    """X is a whole multiple of it."""
    slack: float = 0.0
    factor: float = 0.0
    error: float = 0.0


def combination_tail(blocks: Sequence[Block], beyond: float) -> float:
    """P(|Σ a_i Z_i| > beyond), at or above the truth: equal where the grid is exact, as for whole numbers.

    >>> from gaussmith.noise.geometric import Geometric
    >>> count = Geometric(Fraction(1), 1)
    >>> round(combination_tail([(count, [1]), (count, [-1])], 4), 6)
    0.03139
    """
    return _at(_combined(_plain(blocks))[0], beyond)


def half_width(blocks: Sequence[Block], level: float) -> Width:
    """A half-width that covers Σ a_i Z_i with at least this probability, and with which it surely covers.

    Guarantee: the least multiple of the step where all values are multiples of one and the grid is exact; otherwise at
    or above the least, by the bounds of the module.

    >>> from gaussmith.noise.geometric import Geometric
    >>> count = Geometric(Fraction(1), 1)
    >>> half_width([(count, [1]), (count, [-1])], 0.95)
    Width(half=4.0, covered=0.968609...)
    """
    return _half_width(_plain(blocks), level)


Plain = tuple[tuple[Law, tuple[float, ...]], ...]


def _plain(blocks: Sequence[Block]) -> Plain:
    """The same combination without signs, zeros and order, none of which matters: every law is symmetric."""
    found: list[tuple[Law, tuple[float, ...]]] = []
    for law, weights in blocks:
        sizes = sorted((abs(float(a)) for a in weights if a), reverse=True)
        if law.norm == "1":
            found += [(law, (a,)) for a in sizes]
        elif sizes:
            found.append((law, tuple(sizes)))
    return tuple(sorted(found, key=repr))


@lru_cache(maxsize=4096)
def _half_width(blocks: Plain, level: float) -> Width:
    tail, step = _combined(blocks)
    missed = 1 - level
    unit = float(step or 0)
    low, high = 0.0, max(math.sqrt(sum(law.variance * sum(a * a for a in sizes) for law, sizes in blocks)), unit)
    if not blocks or _at(tail, 0.0) <= missed:
        return Width(0.0, 1 - _at(tail, 0.0))
    farthest = FARTHEST * high
    while _at(tail, high) > missed:
        low, high = high, 2 * high
        if high > farthest:  # more than doubles can tell
            return Width(math.inf, 1.0)
    if unit:
        least, most = int(low // unit), math.ceil(high / unit)
        while most - least > 1:
            half = (most + least) // 2
            least, most = (half, most) if _at(tail, half * unit) > missed else (least, half)
        high = most * unit
    else:
        while high - low > 1e-10 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if _at(tail, middle) > missed else (low, middle)
    return Width(high, 1 - _at(tail, high))


def _at(tail: Tail, x: float) -> float:
    return float(tail(np.array([float(x)]))[0])


@lru_cache(maxsize=32)
def _combined(blocks: Plain) -> tuple[Tail, Fraction | None]:
    """P(|Σ| > x) as a function, at or above the truth, and the step of which all values are multiples."""
    summands = Counter(blocks)
    parts = {block: _summand(block[0], block[1]) for block in summands}
    slack = sum(parts[block].slack * count for block, count in summands.items())
    factor = math.exp(sum(parts[block].factor * count for block, count in summands.items()))
    error = sum(parts[block].error * count for block, count in summands.items())
    if len(blocks) == 1:
        (only,) = parts.values()
        inner, step = only.tail, only.step
    elif blocks:
        inner, step, moved = _convolved([(parts[block], count) for block, count in summands.items()])
        slack, error = slack + moved, error + ROUNDING
    else:
        return lambda x: np.where(x >= 0, 0.0, 1.0), None

    def tail(x: Floats) -> Floats:
        return np.where(x < slack, 1.0, np.minimum(1.0, factor * (inner(np.maximum(x - slack, 0.0)) + error)))

    return tail, step if slack == 0 else None


def _common_step(steps: Sequence[Fraction | None]) -> Fraction | None:
    """The largest number of which all steps are multiples."""
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        return None
    below = math.lcm(*(step.denominator for step in known))
    return Fraction(math.gcd(*(int(step * below) for step in known)), below)


# -- several summands ---------------------------------------------------------------------------------------------


def _convolved(parts: Sequence[tuple[Summand, int]]) -> tuple[Tail, Fraction | None, float]:
    """P(|Σ| > x) on a grid, the step of exact values, and by how much the sum was moved where it is not exact."""
    ends = [_reach(part) for part, _ in parts]
    end = _end_of_sum(parts, ends)
    step = _common_step([part.step for part, _ in parts])
    if step is not None and end / float(step) < POINTS / 2 - 2:
        h, moved = float(step), 0.0
    else:
        step, h = None, 2 * end / (POINTS - 4)
        many = sum(count for _, count in parts)
        # Independent and symmetric movements of at most h/2 each: Hoeffding's bound, but for `MISSED`.
        moved = h * min(many / 2, math.sqrt(many * math.log(2 / MISSED) / 2))
    size = 1 << max(3, (2 * math.ceil(end / h) + 3 - 1).bit_length())
    product: Floats = np.ones(size // 2 + 1)
    for part, count in parts:
        edges = np.concatenate([[1.0], part.tail((np.arange(size // 2, dtype=np.float64) + 0.5) * h)])
        masses = np.zeros(size)
        masses[: size // 2] = -np.diff(edges) / 2
        masses[0] *= 2
        masses[size // 2 + 1 :] = masses[size // 2 - 1 : 0 : -1]
        product = product * np.fft.rfft(masses).real ** count
    masses = np.maximum(np.fft.irfft(product, size)[: size // 2], 0.0)
    beyond = np.append(2 * np.cumsum(masses[:0:-1])[::-1], 0.0)  # P(|Σ| > k·h)

    def tail(x: Floats) -> Floats:
        return beyond[np.minimum(np.floor(x / h), len(beyond) - 1).astype(np.int64)]

    return tail, step, moved


def _reach(part: Summand) -> float:
    """Where a summand lies beyond with less than `MISSED`."""
    low, high = 0.0, part.deviation
    while _at(part.tail, high) > MISSED:
        low, high = high, 2 * high
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (middle, high) if _at(part.tail, middle) > MISSED else (low, middle)
    return high


def _end_of_sum(parts: Sequence[tuple[Summand, int]], ends: Sequence[float]) -> float:
    """Where the sum lies beyond with less than `MISSED`, once no summand does: the best of Chernoff's bounds."""
    best = sum(end * count for end, (_, count) in zip(ends, parts, strict=True))
    tables: list[tuple[Floats, Floats, int]] = []
    for end, (part, count) in zip(ends, parts, strict=True):
        places = np.arange(400.0) * (end / 399)
        tables.append((places[1:], -np.diff(np.append(1.0, part.tail(places[1:]))), count))
    for power in np.geomspace(0.02, 20, 40):
        s = power / max(ends)
        logs = [count * math.log(float(masses @ np.cosh(s * places))) for places, masses, count in tables]
        best = min(best, (math.log(2 / MISSED) + sum(logs)) / s)
    return best


# -- one summand --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _summand(law: Law, sizes: tuple[float, ...]) -> Summand:
    deviation = math.sqrt(law.variance * sum(a * a for a in sizes))
    step = _common_step([Fraction(a) for a in sizes])
    if len(sizes) == 1:
        return Summand(lambda x: law.tail(x / sizes[0]), deviation, step)
    radii = math.ceil((law.numbers + 40 + 9 * math.sqrt(law.numbers + 1)) / law.rate)
    points = COARSE_POINTS
    if step is not None and sum(sizes) / float(step) * radii < points:
        points = 1 << (2 * int(sum(sizes) / float(step)) * radii + 2).bit_length()
    else:
        step = None
    if len(sizes) * radii * points <= 2 * WORK:
        tail, h = _coarse(law, sizes, radii, points, step)
        slack = 0.0 if step else len(sizes) * h / 2
        return Summand(tail, deviation, step, slack, error=ROUNDING)
    inner, error = _fine(law.numbers, sizes)
    rate = float(law.rate)
    return Summand(lambda x: inner(x * rate), deviation, None, sum(sizes) / 2, rate, error)


def _coarse(law: Law, sizes: Sequence[float], radii: int, points: int, step: Fraction | None) -> tuple[Tail, float]:
    """P(|a·Z| > x) of a cube by a sum over its radii: given K, the numbers are independent and uniform in −K … K.

        E e^{iθX} = Σ_K w(K) Π_i (1 + 2 Σ_{v≤K} cos(θ a_i v)) / (2K+1),      w(K) ∝ (2K+1)^D q^K

    at the frequencies of a grid, on which the values a_i v are rounded where they are not multiples of the step.
    """
    h = float(step) if step else sum(sizes) * radii / (points // 2 - len(sizes) - 2)
    theta = np.arange(points // 2 + 1) * (2 * np.pi / points)
    k = np.arange(radii + 1)
    logs = law.numbers * np.log(2 * k + 1) - float(law.rate) * k
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    sums = [np.ones_like(theta) for _ in sizes]
    found = np.zeros_like(theta)
    for radius in range(radii + 1):
        if radius:
            for a, each in zip(sizes, sums, strict=True):
                each += 2 * np.cos(theta * round(a * radius / h))
        found += weights[radius] * math.prod(each / (2 * radius + 1) for each in sums)
    masses = np.maximum(np.fft.irfft(found, points)[: points // 2], 0.0)
    beyond = np.append(2 * np.cumsum(masses[:0:-1])[::-1], 0.0)

    def tail(x: Floats) -> Floats:
        return beyond[np.minimum(np.floor(x / h), len(beyond) - 1).astype(np.int64)]

    return tail, h


def _fine(numbers: int, sizes: tuple[float, ...]) -> tuple[Tail, float]:
    """P(R·|a·U| > x), R ~ Gamma(D+1), U uniform in the cube, at or above the truth; and the error of its doubles."""
    if len(sizes) == 2 and sizes[1] < 1e-6 * sizes[0]:
        # One number of weight a + b is less peaked than two of weights a and b (Proschan 1965).
        sizes = (sizes[0] + sizes[1],)
    n = len(sizes)
    cancelled = sum(sizes) ** n / (math.factorial(n) * math.prod(sizes)) if n <= SIGNS else math.inf
    if cancelled < CANCELLED or n <= 2:
        return _signed(numbers, sizes), cancelled * 1e-14
    return _layered(numbers, sizes)


def _signed(numbers: int, sizes: Sequence[float]) -> Tail:
    """The same by all combinations of signs σ with c = Σ σ_i a_i > 0:

    2^{1−n}/(n! Π a_i) · Σ_σ (Π σ_i) cⁿ H(x/c),      H(y) = E (1 − y/R)₊ⁿ = e^−y Σ_i C(D−n, i) (D−i)!/D! y^i
    """
    n, (first, *rest) = len(sizes), sizes

    def tail(x: Floats) -> Floats:
        total = np.zeros_like(x)
        for signs in itertools.product((1, -1), repeat=n):
            c = math.fsum(sign * a for sign, a in zip(signs, sizes, strict=True))
            if c > 0:
                total += math.prod(signs) * (c / first) ** n * _cut(numbers, n, np.minimum(x / c, FARTHEST))
        scale = 2.0 ** (1 - n) / math.factorial(n) / math.prod(a / first for a in rest)
        return np.clip(scale * total, 0.0, 1.0)

    return tail


def _cut(numbers: int, n: int, y: Floats) -> Floats:
    """E (1 − y/R)₊ⁿ for R ~ Gamma(D+1)."""
    term, total = np.full_like(y, 1.0), np.zeros_like(y)
    for i in range(numbers - n + 1):
        total += term
        term = term * y * ((numbers - n - i) / ((i + 1) * (numbers - i)))
    return total * np.exp(-y)


def _layered(numbers: int, sizes: Sequence[float]) -> tuple[Tail, float]:
    """The same for many numbers: Σ_j P(s_j < |a·U| ≤ s_{j+1}) · P(R > x/s_{j+1}), a bound from above.

    The law of |a·U| ≤ m = Σ a_i is a sine series with coefficients Π sinc(a_i k π/m). What is left out of it is bounded
    by the p largest a_i, for the best p. The tail is convex, so that a table of it may be interpolated from above.
    """
    m = sum(sizes)
    k = np.arange(1, SERIES)
    shape = np.prod([np.sinc(k * (a / m)) for a in sizes], axis=0)
    spectrum = np.concatenate([[0.0], shape / k, [0.0]])
    series = -np.fft.irfft(1j * spectrum, 2 * SERIES)[: SERIES + 1] * 2 * SERIES / 2
    places = np.arange(SERIES + 1) / SERIES
    masses = np.diff(places + (2 / np.pi) * series)
    left_out = min(math.prod(m / (math.pi * a * (SERIES - 1)) for a in sizes[:p]) / p for p in range(1, len(sizes) + 1))
    x = np.concatenate([[0.0], np.geomspace(1e-4, 1, 64)[:-1], np.linspace(1, FARTHEST / 10, TABLE)]) * m
    table = np.array(
        [float(masses @ _upper_gamma(numbers + 1, np.minimum(at / (places[1:] * m), FARTHEST))) for at in x]
    )
    logs = np.minimum.accumulate(np.clip(table, 0.0, 1.0))

    def tail(at: Floats) -> Floats:
        return np.interp(at, x, logs)

    return tail, 2 * left_out * 2 / math.pi


def _upper_gamma(shape: int, y: Floats) -> Floats:
    """P(R > y) for R ~ Gamma(shape), shape whole: e^−y Σ_{i<shape} y^i/i!."""
    term, total = np.ones_like(y), np.zeros_like(y)
    for i in range(shape):
        total += term
        term = term * y / (i + 1)
    return total * np.exp(-y)

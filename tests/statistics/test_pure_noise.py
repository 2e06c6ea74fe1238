"""Geometric and cube noise against exact null laws, unseeded; and planted faults that the same checks must reject.

A check takes a sampler and returns a p-value that is exact or too large. Noise passes when it exceeds `LEVEL`; there
are fewer than 100 such comparisons in this file, so a false alarm has probability below 100 · LEVEL = 1e-9.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from planting import plant
from scipy import stats

from gaussmith.noise import cube, geometric, reals
from gaussmith.noise.cube import Cube
from gaussmith.noise.geometric import Geometric, Split
from gaussmith.noise.keystream import Keystream
from gaussmith.noise.law import Law

LEVEL = 1e-11
FINE = 2**52
Sampler = Callable[[int], np.ndarray]


def sampler(law: Law) -> Sampler:
    return lambda blocks: law.sample(blocks, Keystream().words)


def two_sided(below: float, above: float) -> float:
    return min(1.0, 2 * min(below, above))


def count_p(count: int, trials: int, probability: float) -> float:
    law = stats.binom(trials, probability)
    return two_sided(law.cdf(count), law.sf(count - 1))


def smallest(p_values: Iterable[float]) -> float:
    """The p-value of the worst of several (Bonferroni)."""
    p_values = list(p_values)
    return min(1.0, len(p_values) * min(p_values))


# ── checks ──────────────────────────────────────────────────────────────────────────────────────────────────────


def check_values(law: Law) -> Callable[[Sampler], float]:
    """How often each value of the first number comes, and any value beyond, are binomial counts."""

    def check(draw: Sampler) -> float:
        n = 1_000_000
        first = draw(n)[:, 0]
        top = int(law.quantile(1 - 1e-5).half)
        below = np.array([1.0, *(float(law.tail(t)) for t in range(top + 1))])
        sizes = -np.diff(below)  # P(|Z| = t)
        each = [count_p(int((first == 0).sum()), n, sizes[0]), count_p(int((np.abs(first) > top).sum()), n, below[-1])]
        for t in range(1, top + 1):
            each += [count_p(int((first == side * t).sum()), n, sizes[t] / 2) for side in (-1, 1)]
        return smallest(each)

    return check


def radius_weights(law: Law) -> np.ndarray:
    """P(K = k), in doubles."""
    k = np.arange(int((law.numbers + 60) / law.rate))
    logs = law.numbers * np.log(2 * k + 1) - float(law.rate) * k
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def check_largest(law: Law) -> Callable[[Sampler], float]:
    """How often each largest size of a block of cube noise comes: P(max ≤ m) = Σ w(K) min(1, (2m+1)/(2K+1))^D."""

    def check(draw: Sampler) -> float:
        n = 1_000_000
        largest = np.abs(draw(n)).max(axis=1)
        weights = radius_weights(law)
        k = np.arange(len(weights))
        up_to = [float(weights @ np.minimum(1, (2 * m + 1) / (2 * k + 1)) ** law.numbers) for m in range(len(k))]
        top = next(m for m, p in enumerate(up_to) if p > 1 - 1e-5)
        each = [count_p(int((largest <= m).sum()), n, up_to[m]) for m in range(top + 1)]
        return smallest(each)

    return check


def check_shared_radius(law: Law) -> Callable[[Sampler], float]:
    """How often two numbers of a block are both large: Σ w(K) (2(K−t)/(2K+1))², more often than independent ones."""

    def check(draw: Sampler) -> float:
        n = 1_000_000
        sizes = np.abs(draw(n)[:, :2])
        weights = radius_weights(law)
        k = np.arange(len(weights))
        t = int(law.quantile(0.8).half)
        both = float(weights @ (2 * np.maximum(k - t, 0) / (2 * k + 1)) ** 2)
        return count_p(int((sizes > t).all(axis=1).sum()), n, both)

    return check


def check_scale(law: Law) -> Callable[[Sampler], float]:
    """On a fine lattice λ·N(z) of a block is Gamma(D): for both norms, the sum over blocks is Gamma(D · blocks)."""

    def check(draw: Sampler) -> float:
        n = 2_000_000 // law.numbers
        sizes = np.abs(draw(n)).astype(float)
        norms = sizes.sum(axis=1) if law.norm == "1" else sizes.max(axis=1)
        total = norms.sum() * float(law.rate)
        gamma = stats.gamma(law.numbers * n)
        return two_sided(gamma.cdf(total), gamma.sf(total))

    return check


def check_tails(law: Law) -> Callable[[Sampler], float]:
    def check(draw: Sampler) -> float:
        n = 1_000_000
        last = np.abs(draw(n)[:, -1])
        levels = (0.5, 0.9, 0.99, 0.999, 0.9999)
        ends = [law.quantile(level).half for level in levels]
        return smallest(count_p(int((last > end).sum()), n, float(law.tail(end))) for end in ends)

    return check


def check_low_bits(draw: Sampler) -> float:
    """On a fine lattice each of the lowest 40 bits is a fair coin, unrelated to the next bit and to the sign."""
    z = draw(300_000).ravel()[:300_000]
    bits = [(z >> i & 1).astype(bool) for i in range(41)]
    events = [*bits, *(a ^ b for a, b in itertools.pairwise(bits)), z > 0, (z > 0) ^ bits[0]]
    return smallest(count_p(int(event.sum()), len(event), 0.5) for event in events)


def check_fresh(draw: Sampler) -> float:
    """On a fine lattice blocks, calls and the numbers of a block have unrelated signs; blocks, unrelated sizes."""
    n = 500_000
    z, other = draw(n), draw(n)
    plus, first = z > 0, np.abs(z[:, 0])
    median = np.median(
        np.abs(draw(200_000)[:, 0])
    )  # of other draws: given them, both events below are fair or not alike
    large, large_other = first > median, np.abs(other[:, 0]) > median
    signs = [plus[1:, 0] ^ plus[:-1, 0], plus[:, 0] ^ (other[:, 0] > 0), plus[n // 2 :, 0] ^ plus[: n // 2, 0]]
    if z.shape[1] > 1:
        signs.append(plus[:, 0] ^ plus[:, 1])
    p_values = [count_p(int(event.sum()), len(event), 0.5) for event in signs]
    for a, b in ((large[::2], large[1::2]), (large, large_other)):
        table = np.array([[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]])
        # Given its margins a table of independent events is hypergeometric.
        law = stats.hypergeom(table.sum(), table[0].sum(), table[:, 0].sum())
        p_values.append(two_sided(law.cdf(table[0, 0]), law.sf(table[0, 0] - 1)))
    return smallest(p_values)


COARSE = [Geometric(Fraction(1), 1), Geometric(Fraction(3), 1), Geometric(Fraction(0.1), 3, 2)]
COARSE_CUBES = [Cube(Fraction(1), 1, 1), Cube(Fraction(1), 1, 3), Cube(Fraction(3), 1, 10), Cube(Fraction(0.5), 4, 2)]
FINE_LAWS = [
    Geometric(Fraction(1), FINE),
    Geometric(Fraction(0.1), 2**20, 2),
    Cube(Fraction(1), FINE, 1),
    Cube(Fraction(1), FINE, 5),
    Cube(Fraction(3), 2**40, 40),
]


def name(law: Law) -> str:
    return f"{type(law).__name__} ε={float(law.epsilon):g} S={law.sensitivity} D={law.numbers}"


@pytest.mark.parametrize("law", COARSE + COARSE_CUBES, ids=name)
def test_values_of_whole_numbers(law):
    assert check_values(law)(sampler(law)) > LEVEL


@pytest.mark.parametrize("law", COARSE_CUBES, ids=name)
def test_largest_whole_numbers_of_blocks(law):
    assert check_largest(law)(sampler(law)) > LEVEL
    if law.numbers > 1:
        assert check_shared_radius(law)(sampler(law)) > LEVEL


@pytest.mark.parametrize("law", FINE_LAWS, ids=name)
def test_noise_on_fine_lattices(law):
    assert check_scale(law)(sampler(law)) > LEVEL
    assert check_tails(law)(sampler(law)) > LEVEL
    assert check_fresh(sampler(law)) > LEVEL


@pytest.mark.parametrize("law", [law for law in FINE_LAWS if law.sensitivity > 2**45], ids=name)
def test_low_bits_on_fine_lattices(law):
    assert check_low_bits(sampler(law)) > LEVEL


def test_numbers_beyond_words_have_the_law():
    law = Cube(Fraction(1), 2**70, 3)
    blocks = 20_000
    largest = np.abs(law.sample(blocks, Keystream().words)).max(axis=1).astype(float)
    total = largest.sum() * float(law.rate)
    gamma = stats.gamma(law.numbers * blocks)
    assert two_sided(gamma.cdf(total), gamma.sf(total)) > LEVEL


# ── planted faults ──────────────────────────────────────────────────────────────────────────────────────────────

ONE, NUMBERS, ONE_CUBE, NUMBERS_CUBE = COARSE[0], FINE_LAWS[0], COARSE_CUBES[1], FINE_LAWS[3]

FAULTS = {
    "a radius of D geometric numbers": (
        cube.draw_radii,
        "(numbers + 1) * blocks, words).reshape(blocks, numbers + 1)",
        "numbers * blocks, words).reshape(blocks, numbers)",
        NUMBERS_CUBE,
        check_scale(NUMBERS_CUBE),
    ),
    "the offset left out": (
        cube.draw_radii,
        "_offsets(rate, numbers, words(blocks), words)",
        "0",
        ONE_CUBE,
        check_largest(ONE_CUBE),
    ),
    "an offset with the weights of another rate": (
        cube.draw_radii,
        "_offsets(rate, ",
        "_offsets(2 * rate, ",
        ONE_CUBE,
        check_largest(ONE_CUBE),
    ),
    "a rate off by 2 % in whole numbers": (
        geometric.geometric_integers,
        "Split(rate)",
        "Split(rate * Fraction(102, 100))",
        ONE,
        check_values(ONE),
    ),
    "a rate off by 2 % on a fine lattice": (
        geometric.geometric_integers,
        "Split(rate)",
        "Split(rate * Fraction(98, 100))",
        NUMBERS,
        check_scale(NUMBERS),
    ),
    "a radius off by 2 %": (
        cube.draw_radii,
        "geometric_integers(rate,",
        "geometric_integers(rate * Fraction(98, 100),",
        NUMBERS_CUBE,
        check_scale(NUMBERS_CUBE),
    ),
    "two zeros": (geometric._draw, "kept &= ~(minus & (found == 0))", "pass", ONE, check_values(ONE)),
    "no sign": (geometric._draw, "np.negative(found, out=found, where=minus)", "pass", NUMBERS, check_fresh),
    "the same noise again": (
        reals.uniform_integers,
        "words(len(most)) >> spare",
        "np.full(len(most), 2**63 + 2**40 + 7, dtype=np.uint64) >> spare",
        NUMBERS_CUBE,
        check_fresh,
    ),
    "a radius for all blocks": (
        cube.draw_radii,
        "return radii",
        "return np.full(blocks, radii[0] + (2 << 52))",
        NUMBERS_CUBE,
        check_tails(NUMBERS_CUBE),
    ),
    "low bits that are 0": (
        reals.uniform_bits,
        "(words(size) >> np.uint64(WORD - bits))",
        "(words(size) >> np.uint64(WORD - bits) << np.uint64(3))",
        NUMBERS,
        check_low_bits,
    ),
    "low bits of the cube that are 0": (
        cube.cube_integers,
        "- radii[:, None]",
        "- radii[:, None] & -8",
        NUMBERS_CUBE,
        check_low_bits,
    ),
    "a cube that ends one below its radius": (
        reals.uniform_integers,
        "np.flatnonzero(found > most)",
        "np.flatnonzero(found >= most)",
        ONE_CUBE,
        check_largest(ONE_CUBE),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_rejected(fault, monkeypatch):
    function, right, wrong, law, check = FAULTS[fault]
    plant(monkeypatch, function, right, wrong)
    assert check(sampler(law)) < 1e-20


def test_noise_that_is_used_twice_is_rejected():
    def draw(blocks: int) -> np.ndarray:
        z = sampler(NUMBERS)(blocks)
        z[1::2] = z[::2]
        return z

    assert check_fresh(draw) < 1e-20


def test_a_call_that_repeats_another_is_rejected():
    kept = sampler(NUMBERS)(500_000)
    assert check_fresh(lambda blocks: kept[:blocks]) < 1e-20


def test_independent_numbers_do_not_pass_for_numbers_that_share_a_radius():
    def draw(blocks: int) -> np.ndarray:
        return np.stack([sampler(ONE_CUBE)(blocks)[:, 0] for _ in range(3)], axis=1)

    assert check_values(ONE_CUBE)(draw) > LEVEL  # each alone is right
    assert check_shared_radius(ONE_CUBE)(draw) < 1e-20
    assert check_largest(ONE_CUBE)(draw) < 1e-20


# ── the acceptance of rests, which moves the law by 2^−9 ────────────────────────────────────────────────────────


def check_dropped(scale: int) -> float:
    """How many of a block of numbers are drawn again is a binomial count: each with 1 − (1−e^−θ)/θ, nearly."""
    split, size = Split(Fraction(1, scale)), 4_000_000
    theta = float(split.of_quotient)
    kept = len(geometric._draw(size, split, Keystream().words, signed=False))
    return count_p(size - kept, size, 1 + np.expm1(-theta) / theta)


def check_accepted(scale: int) -> float:
    """Of rests in each eighth of their range so many are dropped: 1 − e^−y, y from 0 to θ."""
    split, size = Split(Fraction(1, scale)), 4_000_000
    rests = reals.uniform_bits(size, split.bits, Keystream().words)
    dropped = rests[~geometric._accepted(Keystream().words(size), rests, split, Keystream().words)]
    ends = float(split.of_quotient) * np.arange(9) / 8
    shares = 1 / 8 + np.diff(np.exp(-ends)) / ends[-1]
    counts = np.bincount((dropped >> split.bits - 3).astype(int), minlength=8)
    return smallest(count_p(int(count), size, share) for count, share in zip(counts, shares, strict=True))


@pytest.mark.parametrize("scale", [2**40, 2**52])
def test_rests_are_dropped_as_often_as_they_should(scale):
    assert check_dropped(scale) > LEVEL
    assert check_accepted(scale) > LEVEL


REFUSED = {
    "left out": (geometric._draw, "kept = _accepted(drawn, rests, split, words)", "pass", check_dropped),
    "by another rate": (geometric._accepted, "np.expm1(-fine *", "np.expm1(-0.5 * fine *", check_accepted),
    "the wrong way round": (geometric._accepted, "1 - heights * 2.0**-64", "heights * 2.0**-64 - 1", check_accepted),
    "by a constant": (geometric._accepted, "margins > 0", "heights >> np.uint64(63) == 0", check_accepted),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_fault_of_acceptance_is_rejected(fault, monkeypatch):
    function, right, wrong, check = REFUSED[fault]
    plant(monkeypatch, function, right, wrong)
    assert check(2**52) < 1e-20

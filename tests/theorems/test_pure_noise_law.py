"""The samplers of pure noise are exact in law: what they do with words, enumerated; and every doubt settled rightly."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from planting import plant

from gaussmith.noise import cube, geometric, reals
from gaussmith.noise.cube import Cube, cube_integers, eulerian
from gaussmith.noise.geometric import Geometric, Split, geometric_integers
from gaussmith.noise.keystream import Keystream
from gaussmith.noise.reals import Real, exponential, uniform_bits, uniform_integers

ONES = 2**64 - 1
WORDS = Keystream().words


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(120):
        yield


def true(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


class Digits:
    """Further words of a real, and how many were taken."""

    def __init__(self, words: list[int]) -> None:
        self.words, self.count = words, 0

    def __call__(self) -> int:
        self.count += 1
        return self.words[self.count - 1]


def near(edge: mpmath.mpf, first: int, distance: int, side: int) -> tuple[int, Digits, bool]:
    """The digits of a real that is 2^−distance above or below an edge, and whether it is below."""
    real = min(max(edge + side * mpmath.mpf(2) ** -distance, mpmath.mpf(0)), 1 - mpmath.mpf(2) ** -320)
    scaled = int(mpmath.floor(real * mpmath.mpf(2) ** (first + 256)))
    words = [scaled >> 64 * i & ONES for i in (3, 2, 1, 0)]
    return scaled >> 256, Digits(words), bool(mpmath.mpf(scaled) / mpmath.mpf(2) ** (first + 256) < edge)


# ── decisions ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("exponent", [Fraction(1), Fraction(1, 3), Fraction(0.1), Fraction(50), Fraction(7, 2**80)])
@pytest.mark.parametrize("precision", [20, 68, 180])
def test_enclosures_hold_the_exponential_and_are_narrow(exponent, precision):
    low, high = exponential(exponent)(precision)
    assert low <= mpmath.exp(-true(exponent)) * mpmath.mpf(2) ** precision <= high
    assert high - low <= 4


def test_an_exponential_far_below_the_precision_is_enclosed_at_once():
    assert exponential(Fraction(10**300))(68) == (0, 1)


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 500), Fraction(0.3), Fraction(2)])
@pytest.mark.parametrize("k", [1, 2, 3, 60])
def test_a_quotient_on_the_edge_is_decided_as_the_exact_reals_say(rate, k):
    edge, taken = mpmath.exp(-true(rate) * k), set()
    for distance, side in itertools.product(range(10, 300, 6), (-1, 1)):
        if distance < -mpmath.log(edge, 2) + 2:
            continue
        place, more, below = near(edge, 52, distance, side)
        found = geometric.settle_quotient(Real(place, 52, more), rate)
        assert (found >= k) is below
        taken.add(more.count)
    assert len(taken) > 2


@pytest.mark.parametrize("numbers", [1, 2, 5, 20])
@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(3), Fraction(1, 2**52)])
def test_an_offset_on_the_edge_is_decided_as_the_exact_reals_say(numbers, rate):
    q = mpmath.exp(-true(rate))
    weights = [w * q**j for j, w in enumerate(eulerian(numbers))]
    taken = set()
    for j in range(numbers):
        edge = mpmath.fsum(weights[: j + 1]) / mpmath.fsum(weights)
        assert int(cube._ends(rate, numbers)[j]) == int(mpmath.floor(edge * 2**64))
        for distance, side in itertools.product(range(20, 250, 17), (-1, 1)):
            place, more, below = near(edge, 64, distance, side)
            if abs(side * mpmath.mpf(2) ** -distance) < (1 - edge) / 2:
                assert (cube.settle_offset(Real(place, 64, more), rate, numbers) <= j) is below
                taken.add(more.count)
    assert {0, 1, 2, 3} <= taken


class Replay:
    """Words that begin with planted ones at each request for many, then random ones; the same for the same seed."""

    def __init__(self, seed: int, planted: list[int]) -> None:
        self.random, self.planted = random.Random(seed), planted

    def __call__(self, size: int) -> np.ndarray:
        drawn = [self.random.getrandbits(64) for _ in range(size)]
        if size > 1:
            places = self.random.sample(range(size), min(size, len(self.planted)))
            for place, word in zip(places, self.planted, strict=False):
                drawn[place] = word
        return np.array(drawn, dtype=np.uint64)


def words_at_edges(rate: Fraction) -> list[int]:
    """Words whose U begins as e^{−θk} does, or is next to it, and that put L in doubt; and the smallest U."""
    of_quotient = true(Split(rate).of_quotient)
    places = [int(mpmath.exp(-of_quotient * k) * 2**52) for k in (1, 2, 3, 7, 50)]
    found = [
        min(max(place + by, 0), 2**52 - 1) << 12 | chance
        for place in places
        for by in (-1, 0, 1)
        for chance in (0, 255, 511)
    ]
    return [*found, 0, 4095, 1 << 12, ONES]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("scale", [1, 300, 2**12, 2**52, 2**60, 2**70, 2**140])
def test_a_draw_is_what_settling_every_number_exactly_gives(scale, signed, monkeypatch):
    rate, seed = Fraction(1, scale), random.getrandbits(60)
    planted = words_at_edges(rate)
    fast = geometric_integers(rate, 400, Replay(seed, planted), signed)
    monkeypatch.setattr(geometric, "NEAR", 1.0)
    monkeypatch.setattr(geometric, "SMALL", 2.0)
    monkeypatch.setattr(geometric, "ERROR", 1e9)
    slow = geometric_integers(rate, 400, Replay(seed, planted), signed)
    assert fast.tolist() == slow.tolist()
    assert fast.dtype == (np.int64 if scale < 2**60 else object) or scale == 2**60


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 100), Fraction(1, 2**9), Fraction(1, 2**52)])
def test_doubles_stay_within_the_stated_error(rate):
    """For U at the ends of its digits the true quotient is within NEAR/2 of the computed one."""
    of_quotient = true(Split(rate).of_quotient)
    places = [int(WORDS(1)[0]) >> 12 >> shift for shift in range(32) for _ in range(12)]
    worst = 0
    for place in places:
        if place < 2**32:
            continue
        one = np.array([place], dtype=np.uint64) | np.float64(1).view(np.uint64)
        u = one.view(np.float64) - (1 - 2.0**-53)
        computed = float(np.log(u)[0] * -float(1 / Split(rate).of_quotient))
        for end in (0, 1):
            real = -mpmath.log(mpmath.mpf(place + end) / 2**52) / of_quotient
            worst = max(worst, abs(real - computed))
    assert worst < geometric.NEAR / 2


# ── the law, enumerated ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", range(9))
def test_powers_of_odd_numbers_are_offsets_and_sums_of_geometric_numbers(n):
    """(2k+1)^n = Σ_j B(n, j)·C(k−j+n, n), for every k: both are polynomials of degree n in k."""
    for k in range(2 * n + 3):
        found = sum(b * math.comb(k - j + n, n) for j, b in enumerate(eulerian(n)) if k >= j)
        assert found == (2 * k + 1) ** n
    assert sum(eulerian(n)) == 2**n * math.factorial(n)


def radius_law(numbers: int, q: Fraction, most: int, monkeypatch) -> list[Fraction]:
    """The weights of radii up to `most`: `draw_radii` is handed every tuple of geometric numbers and every offset."""
    law = [Fraction(0)] * (most + 1)
    weights = [b * q**j for j, b in enumerate(eulerian(numbers))]

    def columns(rate, size, words):
        tuples = list(itertools.product(range(most + 1), repeat=size // blocks))
        tuples = [each for each in tuples if sum(each) <= most]
        given.append(tuples)
        return np.array([tuples[i % len(tuples)] for i in range(blocks)]).reshape(-1)

    given: list[list[tuple[int, ...]]] = []
    blocks = 20_000
    monkeypatch.setattr(cube, "geometric_integers", columns)
    for j, weight in enumerate(weights):
        monkeypatch.setattr(cube, "_offsets", lambda rate, numbers, drawn, words, j=j: np.full(blocks, j))
        radii = cube.draw_radii(Fraction(1), numbers, blocks, WORDS)
        tuples = given[-1]
        assert len(tuples) <= blocks
        for each, radius in zip(tuples, radii.tolist(), strict=False):
            if radius <= most:
                law[radius] += weight * math.prod(((1 - q) * q**g for g in each), start=Fraction(1))
    return [each / sum(weights) for each in law]


@pytest.mark.parametrize("numbers", [1, 2, 3])
def test_the_radius_and_the_cube_make_the_law_of_the_largest_number(numbers, monkeypatch):
    """P(z) of what is drawn, in rationals, is proportional to q^max|z|, and its ratios keep to e^ε = q^−S."""
    q, most = Fraction(1, 3), 7
    law = radius_law(numbers, q, most, monkeypatch)
    # Beyond `most`: w(K)/(2K+1)^D is constant times q^K, so the rest of Σ_{K≥r} is one geometric sum.
    heights = [weight / (2 * k + 1) ** numbers for k, weight in enumerate(law)]
    assert all(b == a * q for a, b in itertools.pairwise(heights))
    at = [sum(heights[r:], Fraction(0)) + heights[-1] * q / (1 - q) for r in range(most + 1)]
    assert sum(((2 * r + 1) ** numbers - (2 * r - 1) ** numbers * (r > 0)) * p for r, p in enumerate(at)) < 1
    points = list(itertools.product(range(-2, 3), repeat=numbers))
    for sensitivity in (1, 2):
        ratios = [
            at[max(map(abs, z))] / at[max(abs(a + b) for a, b in zip(z, by, strict=True))]
            for z in points
            for by in itertools.product(range(-sensitivity, sensitivity + 1), repeat=numbers)
        ]
        assert max(ratios) == q**-sensitivity


def test_too_few_geometric_numbers_are_noticed(monkeypatch):
    plant(
        monkeypatch,
        cube.draw_radii,
        "(numbers + 1) * blocks, words).reshape(blocks, numbers + 1)",
        "numbers * blocks, words).reshape(blocks, numbers)",
    )
    law = radius_law(2, Fraction(1, 3), 7, monkeypatch)
    heights = [weight / (2 * k + 1) ** 2 for k, weight in enumerate(law)]
    assert not all(b == a / 3 for a, b in itertools.pairwise(heights))


@pytest.mark.parametrize("sensitivity", [1, 3])
def test_ratios_of_independent_numbers_keep_to_the_guarantee(sensitivity):
    """Quotient, rest and sign, multiplied out: P(z) ∝ q^{|z|} in rationals, and neighbours in the 1-norm by e^ε."""
    q, bits = Fraction(2, 3), 2
    rests = [q**rest / sum(q**other for other in range(1 << bits)) for rest in range(1 << bits)]  # uniform, kept by q^L
    size = [(1 - q ** (1 << bits)) * q ** ((k >> bits) << bits) * rests[k % (1 << bits)] for k in range(40)]
    law = {z: size[abs(z)] for z in range(-39, 40)}  # −0 is not a number of its own
    assert all(law[z] == law[0] * q ** abs(z) for z in law)
    pairs = [(a, b) for a in range(-4, 5) for b in range(-4, 5)]
    moves = [(i, j) for i in range(-3, 4) for j in range(-3, 4) if abs(i) + abs(j) <= sensitivity]
    ratios = [law[a] * law[b] / (law[a + i] * law[b + j]) for a, b in pairs for i, j in moves]
    assert max(ratios) == q**-sensitivity


@pytest.mark.parametrize("limit", range(20))
def test_whole_numbers_up_to_a_limit_are_equally_likely(limit):
    """Every string of leading bits, once: each number comes once, and all others are drawn again."""
    bits = max(1, (limit + 1).bit_length())
    given = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    again: list[int] = []

    def words(size):
        if size == 1 << bits:
            return given
        again.append(size)
        return np.zeros(size, dtype=np.uint64)

    found = uniform_integers(np.full(1 << bits, limit), 1, words)
    counts = np.bincount(found, minlength=limit + 1)
    counts[0] -= sum(again)
    assert len(counts) == limit + 1 and len(set(counts.tolist())) == 1
    assert sum(again) == (1 << bits) - int(counts.sum())


def test_wide_limits_are_kept_and_reached():
    limits = np.array([2**80 + 5, 2**76, 2**80 - 1] * 2000, dtype=object)
    found = uniform_integers(limits, 1, WORDS)
    assert all(0 <= each <= limit for each, limit in zip(found, limits, strict=True))
    assert all(0.97 < max(found[i::3]) / limits[i] <= 1 and min(found[i::3]) / limits[i] < 0.03 for i in range(3))
    assert len({each % 2**20 for each in found[1::3]}) > 1900


@pytest.mark.parametrize("bits", [0, 1, 44, 62, 63, 64, 65, 130])
def test_uniform_bits_use_every_bit_of_their_words(bits):
    ones = uniform_bits(3, bits, lambda size: np.full(size, ONES, dtype=np.uint64))
    assert ones.tolist() == [2**bits - 1] * 3
    assert (ones.dtype == object) is (bits > 62)


# ── what is said of a law ───────────────────────────────────────────────────────────────────────────────────────

VARIANCES = {  # D, ε, S: Var(Z)/S² on the lattice
    (1, 1, 1): "1.84134718841558",
    (1, 3, 1): "0.11028201100412",
    (2, 1, 1): "3.90280933414376",
    (3, 1, 4): "6.66148951324309",
    (11, 1, 2): "51.9791666666704",
}
DEVIATIONS = {
    1: "1.4142135623731",
    2: "2.0",
    3: "2.58198889747161",
    4: "3.16227766016838",
    6: "4.32049379893857",
    9: "6.05530070819498",
    17: "10.6770782520313",
    33: "19.9164923283862",
}
QUANTILES = {
    1: "2.99573227355399",
    2: "4.11300328071964",
    3: "5.18633014572417",
    6: "8.28166497067734",
    17: "19.1164756875251",
}


@pytest.mark.parametrize("case", VARIANCES)
def test_variances_on_lattices(case):
    numbers, epsilon, sensitivity = case
    law = Cube(Fraction(epsilon), sensitivity, numbers)
    assert mpmath.almosteq(law.variance / sensitivity**2, mpmath.mpf(VARIANCES[case]), 1e-13)
    if numbers == 1:
        assert math.isclose(Geometric(Fraction(epsilon), sensitivity).variance, law.variance, rel_tol=1e-13)


@pytest.mark.parametrize("numbers", DEVIATIONS)
def test_standard_deviations_of_fine_lattices(numbers):
    law = Cube(Fraction(1), 2**52, numbers)
    assert math.isclose(math.sqrt(law.variance) / 2**52, float(DEVIATIONS[numbers]), rel_tol=1e-13)


@pytest.mark.parametrize("numbers", QUANTILES)
def test_quantiles_of_fine_lattices(numbers):
    width = Cube(Fraction(1), 2**52, numbers).quantile(0.95)
    assert math.isclose(width.half / 2**52, float(QUANTILES[numbers]), rel_tol=1e-12)
    assert math.isclose(width.covered, 0.95, rel_tol=1e-12)


def test_whole_numbers_at_epsilon_one_are_covered_by_three():
    for law in (Geometric(Fraction(1), 1), Cube(Fraction(1), 1, 1)):
        width = law.quantile(0.95)
        assert width.half == 3 and round(width.covered, 3) == 0.973
        assert law.tail(2) > 0.05  # not by two


def brute(rate: Fraction, numbers: int, t: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """P(|Z| > t) and the variance, summed over radii."""
    q = mpmath.exp(-true(rate))
    total = above = second = mpmath.mpf(0)
    for k in range(int((numbers + 120) / rate)):
        weight = q**k * (2 * k + 1) ** numbers
        total += weight
        second += weight * k * (k + 1) / 3
        if k > t:
            above += weight * mpmath.mpf(2 * (k - t)) / (2 * k + 1)
    return above / total, second / total


@pytest.mark.parametrize("numbers", [1, 2, 5, 40])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 7), Fraction(3), Fraction(1, 11)])
def test_tails_and_variances_are_sums_over_radii(numbers, rate):
    law = Cube(rate, 1, numbers)
    for t in (0, 1, 5, 30, 90):
        above, second = brute(rate, numbers, t)
        assert mpmath.almosteq(mpmath.mpf(float(law.tail(t))), above, 1e-12)
        assert float(law.tail(t + 0.5)) == float(law.tail(t))
    assert mpmath.almosteq(mpmath.mpf(law.variance), second, 1e-12)
    assert float(law.tail(-1)) == 1 == float(law.tail(-0.5))


def test_tails_on_fine_lattices_are_the_limit():
    """Q(D+1, x) − (x/D)·Q(D, x) with x = εt."""
    for numbers, x in itertools.product((1, 3, 17), (0.1, 1.0, 10.0, 60.0)):
        limit = mpmath.gammainc(numbers + 1, x, regularized=True) - x / numbers * mpmath.gammainc(
            numbers, x, regularized=True
        )
        found = float(Cube(Fraction(1), 2**60, numbers).tail(x * 2**60))
        assert mpmath.almosteq(mpmath.mpf(found), limit, 1e-11)


def test_tails_far_out_are_never_too_small():
    for law in (Cube(Fraction(1), 1, 2), Cube(Fraction(100), 1, 2), Geometric(Fraction(1), 1)):
        assert 0 < law.tail(10**30) < 1e-250


def test_tails_of_independent_numbers():
    q = mpmath.exp(-mpmath.mpf(1) / 3)
    law = Geometric(Fraction(1), 3)
    for t in (0, 1, 20):
        expected = 2 * mpmath.fsum(q**k for k in range(t + 1, 2000)) * (1 - q) / (1 + q)
        assert mpmath.almosteq(mpmath.mpf(float(law.tail(t))), expected, 1e-13)
    assert law.tail(np.array([-1.0, 0.5]))[0] == 1 and law.quantile(0.0).half == 0


# ── shapes ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("blocks", [0, 1, 7, 40_000])
def test_every_number_of_blocks_is_served_in_full(blocks):
    for law in (Geometric(Fraction(1), 2**52, 3), Cube(Fraction(1), 2**52, 3)):
        drawn = law.sample(blocks, WORDS)
        assert drawn.shape == (blocks, 3) and drawn.dtype == np.int64
        assert np.count_nonzero(drawn) == 3 * blocks


@pytest.mark.parametrize("law", [Geometric(Fraction(1, 3), 2**70, 2), Cube(Fraction(1, 3), 2**70, 2)])
def test_numbers_beyond_words_are_python_integers(law):
    drawn = law.sample(2000, WORDS)
    assert drawn.dtype == object and {type(each) for each in drawn.ravel().tolist()} == {int}
    scaled = drawn.astype(float) / math.sqrt(law.variance)
    assert 0.8 < scaled.std() < 1.2
    assert len({each % 1024 for each in drawn.ravel().tolist()}) > 900  # low bits are drawn too


def test_many_numbers_in_a_block_stay_words_as_long_as_their_sum_does():
    assert cube_integers(Fraction(1, 2**52), 128, 50, WORDS).dtype == np.int64
    assert reals.WORD == 64

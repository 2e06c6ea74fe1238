"""The law of the noise against an oracle of several hundred digits: every table, bound and decision of the sampler.

The decisions that doubles cannot make happen about once in 4e11 draws; here they are made to happen.
"""

from __future__ import annotations

import itertools
import random

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaussmith.noise import decide, normal
from gaussmith.noise.keystream import Keystream

ONES = 2**64 - 1
DIGITS = 256
"""Binary digits of the random reals that the tests make up; the oracle carries far more."""


@pytest.fixture(autouse=True)
def _precision():
    with mpmath.workprec(1500):
        yield


def weigh(k: int) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(k * k) / 2)


def cumulate(k: int) -> mpmath.mpf:
    """P(whole part ≤ k), the normaliser from the theta function rather than from a sum."""
    total = (1 + mpmath.jtheta(3, 0, mpmath.exp(-mpmath.mpf(1) / 2))) / 2
    return mpmath.fsum(weigh(i) for i in range(k + 1)) / total


def accept(k: int, x: mpmath.mpf) -> mpmath.mpf:
    """The probability with which k + x is accepted."""
    return mpmath.exp(-x * (2 * k + x) / 2)


def split(number: mpmath.mpf) -> list[int]:
    """The first DIGITS binary digits of a number in [0, 1), as words."""
    digits = int(mpmath.floor(number * 2**DIGITS))
    return [digits >> shift & ONES for shift in range(DIGITS - 64, -1, -64)]


def join(words: list[int]) -> mpmath.mpf:
    return mpmath.fsum(mpmath.mpf(word) / mpmath.mpf(2) ** (64 * i) for i, word in enumerate(words, 1))


class Supply:
    """Further digits, in the order in which they are asked for."""

    def __init__(self, *reals: list[int]) -> None:
        self.words = iter([word for words in zip(*reals, strict=True) for word in words])
        self.count = 0

    def __call__(self) -> int:
        self.count += 1
        return next(self.words)


def test_thresholds_are_the_distribution_function_cut_to_64_digits():
    assert [int(mpmath.floor(2**64 * cumulate(j))) for j in range(10)] == list(normal.THRESHOLDS)
    assert normal.THRESHOLDS[-1] == ONES  # so that what lies beyond is reached through an undecided word


def test_an_accepted_proposal_has_the_normal_density():
    for k, x in itertools.product(range(12), (mpmath.mpf(i) / 7 for i in range(8))):
        assert mpmath.almosteq(weigh(k) * accept(k, x), mpmath.exp(-((k + x) ** 2) / 2), 1e-300)


def test_the_acceptance_rate_is_the_stated_one():
    rate = cumulate(0) * mpmath.sqrt(mpmath.pi / 2)  # ∫ e^{−z²/2} over Σ e^{−k²/2}, and weigh(0) = 1
    assert round(float(rate), 4) == 0.7148
    drawn = Keystream().words(3 * 10**5).reshape(3, -1)
    _, accepted = normal._judge(*drawn, Keystream().words, normal._Desk(10**5))
    assert abs(accepted.mean() - float(rate)) < 7 * 0.452 / 10**2.5  # seven standard errors: 3e-12


@given(
    numerator=st.integers(0, 2**400),
    shift=st.integers(0, 400),
    precision=st.integers(1, 300),
)
def test_enclosures_hold_the_exponential_and_are_narrow(numerator, shift, precision):
    shift = max(shift, numerator.bit_length() - 14)  # exponents up to 2^14: e^{−16384} is far below all precisions
    low, high = decide.enclose_exponential(numerator, shift, precision)
    # Carry enough digits for the exponent itself, which the oracle's division would otherwise round.
    truth = mpmath.exp(-mpmath.mpf(numerator) / mpmath.mpf(2) ** shift) * mpmath.mpf(2) ** precision
    assert low <= truth <= high
    assert high - low <= 2


@pytest.mark.parametrize("precision", [10, 80, 144, 500])
def test_enclosures_of_the_sums_hold_them(precision):
    sums, (low, high) = decide._cumulate(precision)
    scale = mpmath.mpf(2) ** precision
    for k, (below, above) in enumerate(sums):
        truth = mpmath.fsum(weigh(i) for i in range(k + 1)) * scale
        assert below <= truth <= above
        assert above - below <= 2 * (k + 1)
    assert low <= scale / cumulate(0) <= high
    assert (low, high) == (sums[-1][0], sums[-1][1] + 1)  # the terms beyond the last add up to less than 1


@pytest.mark.parametrize("j", [*range(10), 10, 12, 13])
def test_a_word_on_a_threshold_is_decided_as_the_exact_real_says(j):
    threshold, rounds = cumulate(j), set()
    for distance in range(40, 240, 3):
        for side in (-1, 1):
            u = threshold + side * mpmath.mpf(2) ** -distance
            if not 0 <= u < 1:  # beyond the end of the interval
                continue
            words = split(u)
            supply = Supply(words[1:])
            truth = next(k for k in itertools.count() if join(words) < cumulate(k))
            assert decide.decide_whole(words[0], supply) == truth
            rounds.add(supply.count)
            if j < 10 and words[0] not in normal.THRESHOLDS:
                assert supply.count == 0  # the fast path decides these by comparing, and it is right
                assert sum(words[0] > t for t in normal.THRESHOLDS) == truth
    assert {1, 2, 3} <= rounds


@pytest.mark.parametrize("k", [0, 1, 2, 5, 9, 10, 14])
def test_a_proposal_on_the_edge_is_decided_as_the_exact_reals_say(k):
    rounds = set()
    for distance in range(40, 240, 2):
        x = [random.getrandbits(64) for _ in range(4)]
        edge = accept(k, join(x))
        for side in (-1, 1):
            v = split(edge + side * mpmath.mpf(2) ** -distance * random.uniform(1, 2))
            supply = Supply(x[1:], v[1:])
            assert decide.decide_acceptance(k, x[0], v[0], supply) is bool(join(v) < edge)
            rounds.add(supply.count)
    assert {0, 2, 4, 6} <= rounds


@pytest.mark.parametrize("x", [0, 1, ONES])
@pytest.mark.parametrize("v", [0, 1, ONES - 1, ONES])
@pytest.mark.parametrize("k", [0, 3])
def test_the_ends_of_the_interval_are_decided_as_the_exact_reals_say(k, x, v):
    for tail in ([0] * 3, [ONES] * 3):
        for other in ([0] * 3, [ONES] * 3):
            truth = join([v, *other]) < accept(k, join([x, *tail]))
            if [x, *tail] != [0] * 4 or [v, *other] != [ONES] * 4:  # V → 1 at X = 0: no digit ever decides
                assert decide.decide_acceptance(k, x, v, Supply(tail, other)) is bool(truth)


def plant(n: int) -> np.ndarray:
    """Random proposals, half of which doubles cannot decide: U on a threshold, or V where acceptance begins."""
    u, x, v = Keystream().words(3 * n).reshape(3, n)
    for i in range(0, n, 4):
        u[i] = normal.THRESHOLDS[i // 4 % 10]
    for i in range(1, n, 4):
        whole = sum(int(u[i]) > t for t in normal.THRESHOLDS)
        edge = int(mpmath.floor(2**64 * accept(whole, mpmath.mpf(int(x[i])) / 2**64)))
        v[i] = min(max(edge + random.randint(-12, 12) * random.choice((1, 2**8, 2**20)), 0), ONES)
    for i, (a, b) in enumerate(itertools.product((0, 1, ONES - 1, ONES), repeat=2)):
        x[4 * i + 3], v[4 * i + 3] = a, b
    return np.concatenate([u, x, v])


@pytest.mark.parametrize("bits", [0, 3, 52, 56])
def test_a_draw_is_what_settling_every_proposal_exactly_gives(bits):
    """The fast path with its rare exceptions equals the slow path throughout, word for word."""
    size = 400
    log = []

    def words(count: int) -> np.ndarray:
        drawn = plant(count // 3) if count > 1000 else Keystream().words(count)
        log.append(drawn.copy())
        return drawn

    drawn = normal._draw(size, bits, words)

    replies = iter(log)
    expected, further = [], []

    def more() -> int:
        further.append(int(next(replies)[0]))
        return further[-1]

    while len(expected) < size:
        u, x, v = ([int(word) for word in words] for words in next(replies).reshape(3, -1))
        accepted = []
        for proposal in zip(u, x, v, strict=True):
            k = decide.settle(*proposal, more)
            if k is not None:
                accepted.append((k << 64) + proposal[1])
        accepted = accepted[: size - len(expected)]
        signs = np.unpackbits(next(replies).view(np.uint8))
        for magnitude, minus in zip(accepted, signs, strict=False):
            rounded = (magnitude * 2**bits + 2**63) >> 64
            expected.append(-rounded if minus else rounded)
    assert next(replies, None) is None
    assert drawn.tolist() == expected
    assert len(further) > 100


def test_doubles_stay_within_the_stated_error():
    n = 3000
    x, v = Keystream().words(2 * n).reshape(2, n)
    x[:6] = 0, 1, 2**11, 2**63, ONES - 2**10, ONES
    x[6:200] >>= np.arange(194, dtype=np.uint64) % np.uint64(64)
    whole = np.arange(n, dtype=np.uint8) % np.uint8(10)
    margins = normal._compute_margins(whole, x, v, normal._Desk(n))
    worst = 0
    for k, a, b, margin in zip(whole.tolist(), x.tolist(), v.tolist(), margins.tolist(), strict=True):
        for end in (0, 1):  # the reals that begin with these words lie between the ends
            real = accept(k, (mpmath.mpf(a) + end) / 2**64) - (mpmath.mpf(b) + 1 - end) / 2**64
            worst = max(worst, abs(margin - real))
    assert worst < 2.0**-48, "numpy's exponential is less exact here than on any machine seen: the margin is thinner"
    assert 100 * worst < normal.ERROR

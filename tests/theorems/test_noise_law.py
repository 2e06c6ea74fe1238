"""The law of the noise against an oracle of several hundred digits: every table, bound and decision of the sampler.

Most decisions that doubles cannot make happen less than once in 10^10 draws; here they are made to happen.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaussmith.noise import gaussian as cells
from gaussmith.noise import gaussian as decide
from gaussmith.noise import gaussian as normal
from gaussmith.noise.keystream import Keystream

ONES = 2**64 - 1
DIGITS = 48
BINS = range(-192, 192)


@pytest.fixture(autouse=True)
def _precision():
    with mpmath.workprec(1500):
        yield


def curve(z: mpmath.mpf | int) -> mpmath.mpf:
    return 803 * mpmath.exp(-(mpmath.mpf(z) ** 2) / 2)


def highest(j: int) -> mpmath.mpf:
    """The curve at the end of bin j that is nearer to 0."""
    return curve(mpmath.mpf(max(j, -1 - j)) / 32)


def lowest(j: int) -> mpmath.mpf:
    return curve(mpmath.mpf(max(j + 1, -j)) / 32)


def split(number: mpmath.mpf, digits: int) -> list[int]:
    """So many binary digits of a number in [0, 1), as an integer, then three words of further ones."""
    whole = int(mpmath.floor(number * mpmath.mpf(2) ** (digits + 192)))
    return [whole >> 192, whole >> 128 & ONES, whole >> 64 & ONES, whole & ONES]


def join(first: int, digits: int, further: list[int]) -> mpmath.mpf:
    """The number of these digits."""
    for word in further:
        first = first << 64 | word
    return mpmath.mpf(first) / mpmath.mpf(2) ** (digits + 64 * len(further))


class Supply:
    """Words in the order in which they are asked for: some first, then further digits of several reals in turn."""

    def __init__(self, *reals: list[int], first: tuple[int, ...] = ()) -> None:
        self.words = iter([*first, *(word for words in zip(*reals, strict=True) for word in words)])
        self.count = -len(first)

    def __call__(self) -> int:
        self.count += 1
        return next(self.words)


# ── the cells ───────────────────────────────────────────────────────────────────────────────────────────────────


def check_cells(cover: cells.Cover) -> None:
    """Sure cells lie below the curve, and with the edge cells they cover it: each place at each height once."""
    sure = Counter(cover.bins[: cover.first_edge].tolist())
    edge = list(zip(cover.bins[cover.first_edge :].tolist(), cover.levels.tolist(), strict=True))
    assert len(cover.bins) == cells.CELLS == 2**16
    assert {*sure, *(j for j, _ in edge)} == set(BINS)
    for j in BINS:
        levels = [level for bin_, level in edge[: cover.far] if bin_ == j]
        assert sure[j] <= lowest(j)  # the top of the highest sure cell
        assert levels == list(range(sure[j], sure[j] + len(levels)))
        assert sure[j] + len(levels) >= highest(j)
    # The far cell is decided apart; in those left over, if there are any, no point is accepted.
    assert edge[cover.far :] and all(level > highest(j) for j, level in edge[cover.far :])


def test_cells_cover_the_curve():
    check_cells(cells.make_cover())


@pytest.mark.parametrize("fault", ["bin", "level", "first_edge", "far"])
def test_a_cover_with_a_fault_is_rejected(fault):
    cover = cells.make_cover()
    bins, levels = cover.bins.copy(), cover.levels.copy()
    if fault == "bin":
        bins[0] += 1
    if fault == "level":
        levels[0] -= 1
    first_edge = cover.first_edge + (fault == "first_edge")
    far = cover.far + (fault == "far")
    with pytest.raises((AssertionError, ValueError)):
        check_cells(cells.Cover(bins, levels, first_edge, far))


def test_no_end_of_a_bin_is_so_near_a_whole_number_that_doubles_could_mistake_it():
    assert highest(0) == cells.HEIGHT
    ends = [lowest(j) for j in range(192)]
    assert min(abs(end - mpmath.nint(end)) for end in ends) > 1e-5


def test_a_higher_curve_would_need_more_cells():
    assert 2 * sum(math.ceil(highest(j) * 804 / 803) for j in range(192)) + 1 > cells.CELLS


def test_a_line_of_the_cache_holds_bins_of_every_size():
    cover = cells.make_cover()
    sizes = np.abs(cover.bins[: cover.first_edge // 32 * 32].reshape(-1, 32) / 32)
    assert np.ptp(sizes.mean(axis=1)) < 0.1
    assert sizes.max(axis=1).min() > 1.9
    assert sizes.min(axis=1).max() < 0.1


def test_an_accepted_proposal_has_the_normal_density():
    """At any place the heights that are accepted, of sure cells and of edge cells, add up to that of the curve."""
    cover = cells.make_cover()
    sure = Counter(cover.bins[: cover.first_edge].tolist())
    edge = list(zip(cover.bins[cover.first_edge :].tolist(), cover.levels.tolist(), strict=True))
    for j in range(-192, 192, 7):
        for height in (curve((j + mpmath.mpf(i) / 7) / 32) for i in range(8)):
            crossed = [min(max(height - level, 0), 1) for bin_, level in edge if bin_ == j]
            assert mpmath.almosteq(sure[j] + mpmath.fsum(crossed), height, 1e-300)


def test_the_strips_of_the_far_cell_cover_the_curve_and_are_as_large_as_a_cell():
    heights = {k: mpmath.mpf(2) ** -(k + 1) for k in range(6, 400)}
    assert mpmath.almosteq(2 * mpmath.fsum(heights.values()), mpmath.mpf(1) / 32, 1e-100)
    assert all(curve(k) < height / 2**9 for k, height in heights.items())  # above which a point is rejected at once


def test_the_acceptance_rate_is_the_stated_one():
    rate = float(803 * mpmath.sqrt(2 * mpmath.pi) * 32 / 2**16)
    assert round(rate, 4) == 0.9828
    n = 10**6
    _, rejected = normal._throw(np.empty(n, dtype=np.int64), Keystream().words)
    assert abs(1 - len(rejected) / n - rate) < 7 * (rate * (1 - rate) / n) ** 0.5  # seven standard errors: 3e-12


# ── decisions ───────────────────────────────────────────────────────────────────────────────────────────────────


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


@pytest.mark.parametrize("j", [0, 1, 31, 77, 150, 191, -1, -2, -40, -192])
def test_a_point_on_the_edge_is_decided_as_the_exact_reals_say(j):
    rounds = set()
    for distance in range(20, 220, 2):
        place = [(j << DIGITS) + random.getrandbits(DIGITS), *(random.getrandbits(64) for _ in range(3))]
        edge = curve(join(place[0], DIGITS + 5, place[1:]))
        for side in (-1, 1):
            height = max(edge + side * mpmath.mpf(2) ** -distance * random.uniform(1, 2), mpmath.mpf(0))
            level = int(mpmath.floor(height))
            words = split(height - level, DIGITS)
            supply = Supply(place[1:], words[1:])
            truth = level + join(words[0], DIGITS, words[1:]) < edge
            assert decide.settle(place[0], level, words[0], supply) is bool(truth)
            rounds.add(supply.count)
    assert {0, 2, 4, 6} <= rounds


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("k", [6, 7, 8, 11])
def test_a_far_point_on_the_edge_is_decided_as_the_exact_reals_say(k, left):
    rounds = set()
    for distance in range(40, 230, 3):
        place = [random.getrandbits(64) for _ in range(4)]
        edge = curve(k + join(place[0], 64, place[1:])) * 2 ** (k + 1)
        for side in (-1, 1):
            height = split(max(edge + side * mpmath.mpf(2) ** -distance, mpmath.mpf(0)), 64)
            first = (*[1] * (k - 6), 0, left, place[0], height[0] << 48 & ONES)
            supply = Supply(place[1:], height[1:], first=first)
            found = decide.settle_far(height[0] >> 16, supply)
            expected = (k << 53) + (place[0] >> 11)
            truth = join(height[0], 64, height[1:]) < edge
            assert found == ((~expected if left else expected) if truth else None)
            rounds.add(supply.count)
    assert {0, 2, 4} <= rounds


@pytest.mark.parametrize("height", [2**39, 2**40, 2**48 - 1])
def test_a_far_point_that_is_too_high_needs_no_further_digits(height):
    assert decide.settle_far(height, more=Supply()) is None


@pytest.mark.parametrize("x", [0, 1, 2**48 - 1])
@pytest.mark.parametrize("v", [0, 1, 2**48 - 2, 2**48 - 1])
@pytest.mark.parametrize(("j", "level"), [(0, 802), (-1, 802), (5, 790), (-192, 0), (191, 0)])
def test_the_ends_of_a_cell_are_decided_as_the_exact_reals_say(j, level, x, v):
    place = (j << DIGITS) + x
    for tail, other in itertools.product(([0] * 3, [ONES] * 3), repeat=2):
        edge = curve(join(place, DIGITS + 5, tail))
        height = level + join(v, DIGITS, other)
        if abs(edge - height) > mpmath.mpf(2) ** -200:  # at the top of the curve no digit ever decides
            assert decide.settle(place, level, v, Supply(tail, other)) is bool(height < edge)


# ── whole draws ─────────────────────────────────────────────────────────────────────────────────────────────────


class Planted:
    """Random words, half of which are points that doubles cannot decide, or of the far cell; keeps what it gave."""

    def __init__(self) -> None:
        self.given: list[list[int]] = []
        self.edge: list[int] | None = None

    def __call__(self, count: int) -> np.ndarray:
        drawn = [random.getrandbits(64) for _ in range(count)]
        if self.edge is not None:
            drawn = [self.plant_height(*pair) for pair in zip(self.edge, drawn, strict=True)]
            self.edge = None
        elif count > 1:  # points; a word alone is for further digits
            drawn = [self.plant_point(i, word) for i, word in enumerate(drawn)]
            self.edge = [word for word in drawn if word >> DIGITS >= cells.make_cover().first_edge]
        self.given.append(drawn)
        return np.array(drawn, dtype=np.uint64)

    def plant_point(self, i: int, word: int) -> int:
        cover = cells.make_cover()
        if i % 40 == 0:
            return cover.first_edge + cover.far << DIGITS
        if i % 2:
            return random.randrange(cover.first_edge, 2**16) << DIGITS | word >> 16
        return word

    def plant_height(self, point: int, word: int) -> int:
        cover = cells.make_cover()
        cell = (point >> DIGITS) - cover.first_edge
        if cell >= cover.far:
            return word >> random.choice((0, 8, 10, 24, 26))
        z = mpmath.mpf((int(cover.bins[point >> DIGITS]) << DIGITS) + point % 2**DIGITS) / 2**53
        edge = int(mpmath.floor(2**64 * (curve(z) - cover.levels[cell])))
        return min(max(edge + random.randint(-12, 12) * random.choice((1, 2**8, 2**16, 2**30)), 0), ONES)


def settle_all(given: list[list[int]], size: int, bits: int) -> tuple[list[int], int]:
    """What the exact path makes of every point of a draw, word for word; and how many further words that took."""
    cover, replies, drawn, further = cells.make_cover(), iter(given), [], 0

    def more() -> int:
        nonlocal further
        further += 1
        return next(replies)[0]

    while len(drawn) < size:
        points = next(replies)
        heights = iter(next(replies))
        places = []
        for point in points:
            cell = (point >> DIGITS) - cover.first_edge
            place = (int(cover.bins[point >> DIGITS]) << DIGITS) + point % 2**DIGITS
            height = next(heights) >> 16 if cell >= 0 else 0
            if cell == cover.far:
                place = decide.settle_far(height, more)
            elif cell >= 0 and not decide.settle(place, int(cover.levels[cell]), height, more):
                place = None
            places.append(place)
        kept = len([place for place in places if place is not None])
        last = iter([place for place in places[kept:] if place is not None])
        drawn += [next(last) if place is None else place for place in places[:kept]]
    assert next(replies, None) is None
    return [(place * 2**bits + 2**52) >> 53 for place in drawn[:size]], further


@pytest.mark.parametrize("bits", [0, 3, 51, 52])
def test_a_draw_is_what_settling_every_point_exactly_gives(bits):
    """The fast path with its rare exceptions equals the slow path throughout, word for word."""
    size, words = 800, Planted()
    drawn = normal._draw(size, bits, words)
    expected, further = settle_all(words.given, size, bits)
    assert drawn.tolist() == expected
    assert further > 100
    assert len(words.given) > 4  # more than one block


def test_doubles_stay_within_the_stated_error():
    n = 3000
    fractions, heights = Keystream().words(2 * n).reshape(2, n) >> np.uint64(16)
    fractions[:6] = 0, 1, 2**11, 2**47, 2**48 - 2, 2**48 - 1
    fractions[6:200] >>= np.arange(194, dtype=np.uint64) % np.uint64(48)
    bins = np.concatenate([np.arange(n // 2) % 192, -1 - np.arange(n // 2) % 192])
    places = (bins << DIGITS) + fractions.astype(np.int64)
    levels = np.floor(803 * np.exp(-((places * 2.0**-53) ** 2) / 2))
    margins = normal._compute_margins(places, levels, heights)
    worst = 0
    for place, level, height, margin in zip(
        places.tolist(), levels.tolist(), heights.tolist(), margins.tolist(), strict=True
    ):
        for x, y in itertools.product((0, 1), repeat=2):  # the reals that begin with these digits lie between the ends
            real = curve(mpmath.mpf(place + x) / 2**53) - level - mpmath.mpf(height + y) / 2**48
            worst = max(worst, abs(margin - real))
    assert worst < 2.0**-40, "numpy's exponential is less exact here than on any machine seen: the margin is thinner"
    assert 100 * worst < normal.ERROR

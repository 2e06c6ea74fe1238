"""Tails and half-widths of linear combinations of noise: closed forms, brute force, and never below the truth."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from gaussmith.noise import combinations
from gaussmith.noise.combinations import combination_tail, half_width
from gaussmith.noise.cube import Cube
from gaussmith.noise.geometric import Geometric
from gaussmith.noise.keystream import Keystream
from gaussmith.noise.law import Law

FINE = 2**52
ONE = Fraction(1)

PAIRS = {  # D, a, b: the 95 % half-width of a·Z₁ + b·Z₂ on a fine lattice, times ε/S
    (2, 1, 1): 5.99146454711,
    (2, 1, 0.5): 4.66994356492,
    (3, 1, 1): 7.63292061034,
    (3, 1, 0.25): 5.37847151507,
    (6, 1, 0.7): 10.653708159,
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("sign", [1, -1])
def test_half_widths_of_two_numbers_that_share_a_radius(pair, sign):
    numbers, a, b = pair
    width = half_width([(Cube(ONE, FINE, numbers), [a, sign * b])], 0.95)
    assert math.isclose(width.half / FINE, PAIRS[pair], rel_tol=1e-9)
    assert width.half / FINE > PAIRS[pair] * (1 - 1e-11)
    assert 0.95 <= width.covered < 0.95 + 1e-9


def test_half_widths_of_sums_of_two_independent_laplace_numbers():
    """P(|X| > x) = (1 + x/2)·e^−x."""
    law, root = Geometric(ONE, FINE), optimize.brentq(lambda x: (1 + x / 2) * math.exp(-x) - 0.05, 0, 20, xtol=1e-14)
    width = half_width([(law, [1]), (law, [-1])], 0.95)
    assert root <= width.half / FINE < root * (1 + 2e-4)
    assert half_width([(Geometric(ONE, FINE, 2), [1, 1])], 0.95) == width  # numbers of a block are independent too
    for x in (0.5, 3.0, 12.0):
        found = combination_tail([(law, [2]), (law, [2])], 2 * x * FINE)
        assert (1 + x / 2) * math.exp(-x) <= found < (1 + x / 2) * math.exp(-x) * (1 + 1e-3)


def test_one_number_is_what_its_law_says():
    for law in (Geometric(ONE, 1), Cube(Fraction(0.3), 7, 4), Cube(ONE, FINE, 4)):
        weights = [0.0] * (law.numbers - 1) + [-0.5]
        width, alone = half_width([(law, weights)], 0.9), law.quantile(0.9)
        assert width == (alone.half / 2, alone.covered)
        assert combination_tail([(law, weights)], width.half) == pytest.approx(1 - width.covered, abs=1e-15)


def test_nothing_covers_nothing():
    assert half_width([(Geometric(ONE, 1), [0])], 0.95) == (0, 1) == half_width([], 0.95)
    assert combination_tail([], -1) == 1 == combination_tail([(Geometric(ONE, 1), [1])], -1)


def test_levels_beyond_what_doubles_tell_have_no_half_width():
    law = Geometric(ONE, FINE)
    assert half_width([(law, [1]), (law, [1])], 1 - 1e-15) == (math.inf, 1)


# ── brute force on small lattices ───────────────────────────────────────────────────────────────────────────────


def exact(blocks: list[tuple[Law, list[float]]], end: int = 45) -> dict[Fraction, float]:
    """The probability of each value of a combination, by enumeration of radii and numbers."""
    found: dict[Fraction, float] = {Fraction(0): 1.0}
    for law, weights in blocks:
        part: dict[Fraction, float] = defaultdict(float)
        q = math.exp(-law.rate)
        if law.norm == "1":
            for z in range(-60, 61):
                part[Fraction(weights[0]) * z] += (1 - q) / (1 + q) * q ** abs(z)
        else:
            masses = [(2 * k + 1) ** law.numbers * q**k for k in range(end)]
            for k, mass in enumerate(masses):
                for z in itertools.product(range(-k, k + 1), repeat=len(weights)):
                    value = sum(Fraction(a) * b for a, b in zip(weights, z, strict=True))
                    part[value] += mass / sum(masses) / (2 * k + 1) ** len(weights)
        joined: dict[Fraction, float] = defaultdict(float)
        for (a, p), (b, r) in itertools.product(found.items(), part.items()):
            joined[a + b] += p * r
        found = joined
    return found


WHOLE = [
    [(Geometric(ONE, 1), [1]), (Geometric(ONE, 1), [-1])],
    [(Geometric(ONE, 1), [1]), (Geometric(Fraction(2), 1), [3]), (Cube(ONE, 1, 2), [2])],
    [(Cube(ONE, 1, 2), [1, -1])],
    [(Cube(ONE, 1, 3), [0.5, 1.5])],
    [(Cube(ONE, 1, 2), [1, 2]), (Geometric(ONE, 1), [1])],
]


@pytest.mark.parametrize("blocks", WHOLE)
def test_whole_combinations_are_exact(blocks):
    law = exact(blocks)
    values = np.array([abs(float(value)) for value in law])
    masses = np.array(list(law.values()))
    for beyond in (0.0, 0.5, 1.0, 2.0, 4.5, 9.0, 13.0):
        assert math.isclose(combination_tail(blocks, beyond), masses[values > beyond].sum(), abs_tol=1e-10)
    width = half_width(blocks, 0.95)
    assert masses[values <= width.half].sum() >= 0.95 > masses[values < width.half].sum()  # the least
    assert math.isclose(width.covered, masses[values <= width.half].sum(), abs_tol=1e-10)
    assert width.covered <= masses[values <= width.half].sum() + 1e-12


ROUNDED = [
    [(Cube(ONE, 1, 2), [1, -0.37])],
    [(Geometric(ONE, 1), [1]), (Geometric(ONE, 1), [-0.37])],
    [(Cube(Fraction(2), 1, 2), [1, -0.37]), (Geometric(Fraction(2), 1), [0.61])],
]


@pytest.mark.parametrize("blocks", ROUNDED)
def test_combinations_that_are_not_whole_are_never_too_narrow(blocks):
    law = exact(blocks, end=20 if len(blocks) > 1 else 40)
    values = np.array([abs(float(value)) for value in law])
    masses = np.array(list(law.values()))
    for level in (0.5, 0.9, 0.95, 0.99):
        width = half_width(blocks, level)
        truth = masses[values <= width.half].sum()
        assert truth >= level - 1e-8 and truth >= width.covered - 1e-8
        assert masses[values <= width.half * 0.99].sum() < level + 0.02  # at most about one value of the lattice more


def forget() -> None:
    for function in (combinations._combined, combinations._summand):
        function.cache_clear()


@pytest.mark.parametrize("sensitivity", [20, 60])
def test_the_limit_bounds_a_lattice_that_is_not_fine(sensitivity, monkeypatch):
    """Where a sum over radii is refused, the limit takes its place: above the exact tail, by about the rate."""
    law, weights = Cube(ONE, sensitivity, 2), [1, -1]
    sizes = [0.5 * sensitivity, 2 * sensitivity, 6 * sensitivity]
    monkeypatch.setattr(combinations, "WORK", 1 << 40)
    monkeypatch.setattr(combinations, "COARSE_POINTS", 1 << 20)
    forget()
    true = [combination_tail([(law, weights)], each) for each in sizes]
    monkeypatch.setattr(combinations, "WORK", 0)
    forget()
    found = [combination_tail([(law, weights)], each) for each in sizes]
    forget()
    for size, a, b in zip(sizes, found, true, strict=True):
        assert b < a < b * (1 + (2 + size / sensitivity) / sensitivity)


# ── the limit of fine lattices ──────────────────────────────────────────────────────────────────────────────────


def share(numbers: int, sizes: tuple[float, ...], x: float) -> float:
    """P(R·|a·U| > x) with two numbers integrated over, and the radius."""
    a, b, *rest = sizes

    def beyond(s: float) -> float:
        """P(aU + bV > s)."""
        return sum(i * j * max(i * a + j * b - s, 0) ** 2 for i in (1, -1) for j in (1, -1)) / (8 * a * b)

    def given(r: float) -> float:
        if not rest:
            return 2 * beyond(x / r)
        (c,) = rest
        return 2 * integrate.quad(lambda w: beyond(x / r - c * w) / 2, -1, 1, epsabs=1e-12)[0]

    gamma = stats.gamma(numbers + 1)
    return integrate.quad(lambda r: given(r) * gamma.pdf(r), x / sum(sizes), numbers + 80, epsabs=1e-9, limit=300)[0]


@pytest.mark.parametrize(
    ("numbers", "sizes"), [(2, (1.0, 0.3)), (5, (1.0, 1.0)), (3, (1.0, 0.6, 0.25)), (7, (2.0, 2.0, 1.0))]
)
def test_sums_over_signs_are_the_law_of_several_numbers(numbers, sizes):
    tail = combinations._signed(numbers, sizes)
    for x in (0.3, 2.0, 7.0):
        assert math.isclose(float(tail(np.array([x]))[0]), share(numbers, sizes, x), abs_tol=1e-7)


@pytest.mark.parametrize(("numbers", "sizes"), [(3, (1.0, 0.6, 0.25)), (5, (1.0, 1.0, 0.5, 0.5, 0.4)), (9, (1.0,) * 6)])
def test_layers_are_the_same_law_from_above(numbers, sizes):
    signed = combinations._signed(numbers, sizes)
    layered, error = combinations._layered(numbers, sizes)
    x = np.linspace(0, 20, 200)
    above = layered(x) - signed(x)
    assert error < 1e-6
    assert above.min() > -error - 1e-12
    assert above.max() < 1e-3


def test_a_weight_that_is_next_to_nothing_changes_next_to_nothing():
    law = Cube(ONE, FINE, 2)
    alone, both = (half_width([(law, [1, b])], 0.95).half for b in (0, 1e-9))
    assert alone < both < alone * (1 + 1e-8)


# ── coverage ────────────────────────────────────────────────────────────────────────────────────────────────────

SAMPLED: list[tuple[list[tuple[Law, list[float]]], float]] = [  # and by how much they may cover too often
    ([(Cube(ONE, FINE, 3), [1, -0.5, 0.2])], 0),
    ([(Cube(ONE, FINE, 8), [1, 0.5, 0.2, 0.1, 0.3, -0.2, 0.9, 1])], 0.001),
    ([(Cube(ONE, FINE, 8), [1, 0.01, 0.02, 0.01, 0.03, -0.02, 0.01, 0.01])], 0.001),
    ([(Cube(ONE, FINE, 2), [1, -0.4]), (Cube(ONE, 2 * FINE, 2), [0.7, 0.2])], 0.001),
    ([(Cube(ONE, FINE, 7), [1, 1, 1, 1, 1, -1, 1]), (Geometric(ONE, FINE), [3])], 0.001),
    ([(Cube(ONE, 30, 3), [1, -0.37, 1])], 0.02),
    ([(Geometric(ONE, FINE), [0.1 * i]) for i in range(1, 20)], 0.001),
    ([(Geometric(ONE, 1), [1])] * 30 + [(Cube(ONE, 1, 2), [2, 1])], 0.03),
]


@pytest.mark.parametrize(("blocks", "excess"), SAMPLED)
def test_half_widths_cover_as_often_as_they_say(blocks, excess):
    """Unseeded; a false alarm has probability below 1e-9 each."""
    n, words = 200_000, Keystream().words
    total = sum(law.sample(n, words).astype(float) @ np.array(weights, float) for law, weights in blocks)
    for level in (0.8, 0.95, 0.999):
        width = half_width(blocks, level)
        assert width.covered >= level
        covered = int((np.abs(total) <= width.half).sum())
        assert stats.binom(n, width.covered).cdf(covered) > 1e-10
        assert stats.binom(n, min(level + excess, 1 - 1e-12)).sf(covered - 1) > 1e-10 or excess > 1 - level


def test_numbers_that_share_a_radius_are_not_independent():
    """Taken as independent they would seem to cover more often than they do."""
    law = Cube(ONE, FINE, 5)
    together = half_width([(law, [1, 1, 1, 1, 1])], 0.999).half
    apart = half_width([(law, [1, 0, 0, 0, 0])] * 5, 0.999).half
    assert apart < 0.97 * together


def test_the_limit_would_not_cover_whole_numbers():
    """The trap of coarse lattices: 3.00 and 1.00 by the limit cover 92.7 % and 90.5 %."""
    for epsilon, covered in ((1, 0.927), (3, 0.905)):
        limit = -math.log(0.05) / epsilon
        law = Cube(Fraction(epsilon), 1, 1)
        assert round(1 - combination_tail([(law, [1])], limit), 3) == covered
        assert half_width([(law, [1])], 0.95).half == math.ceil(limit)

"""Promise 2: outputs lie on a public grid, so the low bits of a release say nothing; a naive float mechanism is broken.

The attack looks only at how fine the released double is (its lowest set bit): adding noise to a large sum in floating
point wipes out low bits that noise added to zero keeps. It learns on half of the outputs and is judged on the rest.
The integers behind released doubles are also read off them, modulo 2^k: they show noise that is too coarse itself.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from planting import plant
from scipy import stats

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines.engine import Totals
from gaussmith.noise import gaussian as normal

OUTPUTS = 10_000


def lowest_bit(values: np.ndarray) -> np.ndarray:
    """The exponent of the lowest set bit of each double."""
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    return exponent - 53 + np.log2(whole & -whole).astype(int)


def attack(without: np.ndarray, with_person: np.ndarray) -> float:
    """How often the best rule on lowest bits, learned on one half, is right on the other."""
    half = OUTPUTS // 2
    a, b = lowest_bit(without), lowest_bit(with_person)
    cuts = np.arange(-120, 60)
    scores = [((a[:half] < c).mean() + (b[:half] >= c).mean()) / 2 for c in cuts]
    flip = max(scores) < 1 - min(scores)
    cut = cuts[int(np.argmin(scores) if flip else np.argmax(scores))]
    score = ((a[half:] < cut).mean() + (b[half:] >= cut).mean()) / 2
    return float(1 - score if flip else score)


def naive(total: float, sigma: float) -> np.ndarray:
    """What many libraries did: a double plus a double."""
    return total + sigma * np.random.default_rng().standard_normal(OUTPUTS)


def test_the_attack_breaks_a_naive_float_mechanism():
    """One person of value 1, σ = 1: the promise is δ(10) = 1e-22, yet an event of 10 % never happens with them in."""
    without, with_person = naive(0.0, 1.0), naive(1.0, 1.0)
    assert (lowest_bit(without) < -53).mean() > 0.1
    assert (lowest_bit(with_person) < -53).mean() == 0
    # and where the noise hides the sum's size (σ = 50), the best rule on low bits is right nearly always
    assert attack(naive(0.0, 50.0), naive(2.0**20, 50.0)) > 0.9


def test_the_attack_finds_nothing_in_a_release():
    """The same attack on releases of no records and of one, at μ = 0.02: no better than the guarantee allows."""
    mu = 0.02
    plan = gm.plan(gm.Box([0.0], [1.0]), gm.Guarantee(mu=mu))
    top = int(plan.block.codes.encode(np.array([[1.0]]))[0, 0])

    def outputs(totals: Totals) -> np.ndarray:
        return np.array([mechanism.release_totals(plan, [[totals]]).values[0] for _ in range(OUTPUTS)])

    score = attack(outputs(Totals([0], 0)), outputs(Totals([top], 1)))
    allowed = stats.norm.cdf(mu / 2)
    tail = stats.binom.sf(round(score * OUTPUTS) - 1, OUTPUTS, allowed)
    assert tail > 1e-9


def test_every_release_is_a_decoded_integer():
    """A release is features · (integer / scale): the same doubles are reachable from any data."""
    plan = gm.plan(gm.Box([-1.0], [1.0]), gm.Guarantee(mu=1))
    entry = plan.block.shape.features.dense()[0, 0]
    for records in (0, 3):
        value = mechanism.release_totals(plan, [[Totals([records * 2**40], records)]]).values[0]
        guess = value / entry * plan.block.grid.scale
        near = [math.floor(guess) + k for k in range(-2, 3)]
        assert any(entry * (k / plan.block.grid.scale) == value for k in near)


def uniform_p(values: np.ndarray, plan: gm.Plan) -> float:
    """Whether the integers behind released doubles are uniform modulo 2^k, by each of their bits.

    Doubles keep 53 bits of integers below 2^56 or so, and reading takes two or three more: bits from the 12th on are
    those of the integers, up to an error below 2^6 that does not depend on them. Noise of 2^52 makes each of them fair.
    """
    integers = np.round(values / plan.block.shape.features.dense()[0, 0] * plan.block.grid.scale).astype(np.int64)
    ones = [int((integers >> bit & 1).sum()) for bit in range(12, 48)]
    return min(1.0, 2 * len(ones) * min(stats.binom.cdf(min(each, OUTPUTS - each), OUTPUTS, 0.5) for each in ones))


def released(plan: gm.Plan, totals: Totals) -> np.ndarray:
    return np.array([mechanism.release_totals(plan, [[totals]]).values[0] for _ in range(OUTPUTS)])


COARSE = {
    "in the sampler": (normal._draw, "return noise[:size]", "return noise[:size] & -(1 << 30)"),
    "before it is added": (mechanism._release_noise, "zip(lifted, noise,", "zip(lifted, noise & -(1 << 30),"),
    "after it was added": (mechanism.add, "dtype=object)", "dtype=object) & -(1 << 30)"),
}


@pytest.mark.parametrize("records", [0, 3])
def test_the_integers_of_releases_are_uniform_modulo_powers_of_two(records):
    plan = gm.plan(gm.Box([-1.0], [1.0]), gm.Guarantee(mu=1))
    assert uniform_p(released(plan, Totals([records * 2**40 + records], records)), plan) > 1e-9


@pytest.mark.parametrize("where", COARSE)
def test_noise_whose_low_30_bits_are_0_is_found(where, monkeypatch):
    plan = gm.plan(gm.Box([-1.0], [1.0]), gm.Guarantee(mu=1))
    plant(monkeypatch, *COARSE[where])
    assert uniform_p(released(plan, Totals([2**40], 3)), plan) < 1e-100

"""Tails and quantiles of Σ λ_j Z_j² against closed forms in 60 digits, other integrals, and published values."""

from __future__ import annotations

import math
import time

import mpmath
import numpy as np
import pytest
from refusals import refused

from gaussmith.errors import DomainError
from gaussmith.numerics.quadratic_forms import log_tail, lower_tail, quantile, tail

TAILS = [0.5, 0.3, 1e-2, 1e-6, 1e-15, 1e-50, 1e-100]

# Quantiles for the weights j^-power, j = 1..d: (power, d) → the values at tails 1e-2, 1e-4, 1e-6, 1e-9.
PUBLISHED = {
    (0.5, 1): (6.6348966010212145, 15.136705226623395, 23.928126976935477, 37.32489305136239),
    (0.5, 2): (8.011769229413227, 16.479076000665508, 25.224306538315684, 38.59109704281411),
    (1, 2): (7.395561651730867, 15.854379910355515, 24.63547913029431, 38.026774754860476),
    (0.5, 10): (12.541414560231555, 20.991264651961302, 29.68000791068504, 43.00953332403371),
    (1, 10): (9.046812651898042, 17.479997067189572, 26.25463301271977, 39.64229481108149),
    (0.5, 100): (27.475257047920863, 35.98590047257175, 44.626366164386994, 57.91966711416747),
    (1, 100): (11.357546109658593, 19.78585555496862, 28.559208063614705, 41.94613434352158),
}


def equal_tail(d: int, q: float) -> mpmath.mpf:
    """Equal weights 1: the incomplete gamma function."""
    with mpmath.workdps(60):
        return mpmath.gammainc(mpmath.mpf(d) / 2, mpmath.mpf(q) / 2, mpmath.inf, regularized=True)


def pairs_tail(weights: list[float], q: float, digits: int = 60) -> mpmath.mpf:
    """Each weight twice: a sum of exponentials, Σ_i e^(−q/2λ_i) ∏_{j≠i} λ_i/(λ_i − λ_j)."""
    with mpmath.workdps(digits):
        lam = [mpmath.mpf(w) for w in weights]
        return mpmath.fsum(
            mpmath.exp(-mpmath.mpf(q) / (2 * a)) * mpmath.fprod(a / (a - b) for b in lam if b != a) for a in lam
        )


def rays_tail(weights: list[float], q: float, s: float) -> mpmath.mpf:
    """The inversion integral along rays from s, 60° up and down: another path than ours (0 < s < 1/(2 max λ))."""
    with mpmath.workdps(40):
        lam, turn = [mpmath.mpf(w) for w in weights], mpmath.expjpi(mpmath.mpf(1) / 3)

        def integrand(t: mpmath.mpf) -> mpmath.mpf:
            z = s + t * turn
            K = -mpmath.fsum(mpmath.log(1 - 2 * a * z) for a in lam) / 2
            return (turn * mpmath.exp(K - z * q) / z).imag

        return mpmath.quad(integrand, [0, 0.25, 0.5, 1, 2, 4, 8, 16, 32]) / mpmath.pi


@pytest.mark.parametrize("d", [1, 2, 3, 10, 100, 1000, 100_000])
def test_equal_weights_are_the_gamma_law(d: int) -> None:
    for p in TAILS:
        q = quantile(np.ones(d), p)
        truth = equal_tail(d, q)
        assert tail(np.ones(d), q) == pytest.approx(float(truth), rel=1e-12, abs=0)
        assert p == pytest.approx(float(truth), rel=1e-12, abs=0)


@pytest.mark.parametrize("variance", [1e-300, 0.3, 1.0, 1e300])
@pytest.mark.parametrize("p", [*TAILS, 0.9, 1 - 1e-9, 1e-300])
def test_one_weight_is_the_square_of_a_normal(variance: float, p: float) -> None:
    q = quantile([variance], p)
    with mpmath.workdps(40):
        truth = mpmath.erfc(mpmath.sqrt(mpmath.mpf(q) / (2 * mpmath.mpf(variance))))
        assert mpmath.almosteq(truth, p, rel_eps=1e-12)
        assert tail([variance], q) == pytest.approx(float(truth), rel=1e-12, abs=0)


@pytest.mark.parametrize("p", [*TAILS, 0.99, 1 - 1e-12])
def test_two_equal_weights_are_exponential(p: float) -> None:
    q = quantile([0.5, 0.5], p)
    assert q == pytest.approx(-math.log1p(p - 1) if p > 0.5 else -math.log(p), rel=1e-13, abs=0)
    assert log_tail([0.5, 0.5], q) == pytest.approx(-q, rel=1e-13, abs=0)


@pytest.mark.parametrize(
    "weights",
    [
        [1.0, 0.5],
        [1.0, 0.999],
        [3.0, 2.0, 1.0, 0.5, 0.01],
        [1.0, 1e-6],
        [1 / j for j in range(1, 21)],
        [1.0, *(0.02 + 0.0001 * j for j in range(40))],
    ],
)
def test_weights_in_pairs_are_sums_of_exponentials(weights: list[float]) -> None:
    doubled, mean = np.repeat(weights, 2), 2 * sum(weights)
    for q in [0.5 * mean, mean, 1.3 * mean, 3 * mean, 20 * mean, 200 * max(weights) + mean]:
        truth = pairs_tail(weights, q, digits=200)
        assert mpmath.almosteq(mpmath.log(truth), log_tail(doubled, q), rel_eps=1e-12, abs_eps=1e-13)
        if truth < 0.6:
            assert tail(doubled, q) == pytest.approx(float(truth), rel=1e-12, abs=0)
    for p in TAILS:
        assert mpmath.almosteq(pairs_tail(weights, quantile(doubled, p), digits=200), p, rel_eps=1e-12)


@pytest.mark.parametrize(
    ("weights", "q", "s"), [([1.0, 0.7, 0.2, 0.1, 0.05], 9.0, 0.3), ([1.0, 0.9, 0.8, 0.3] * 3, 25.0, 0.2)]
)
def test_any_weights_agree_with_the_integral_along_rays(weights: list[float], q: float, s: float) -> None:
    assert tail(weights, q) == pytest.approx(float(rays_tail(weights, q, s)), rel=1e-12, abs=0)


@pytest.mark.parametrize("small", [0.5, 0.1, 0.05, 0.01, 0.001])
def test_one_large_weight_and_many_small_ones(small: float) -> None:
    """Here the path of steepest descent fails: beside one pair of weights 1, 400 small ones make a Gaussian core.

    The law is a gamma law plus an exponential one: integrate over the gamma part.
    """
    weights, shape = [1.0] * 2 + [small] * 400, 200
    for q in (2 + 400 * small, 6 + 400 * small, 40 + 400 * small):
        with mpmath.workdps(40):
            # P(E + G > q), E exponential of mean 2, G gamma of shape 200 and scale 2·small.
            rate, theta, Q = mpmath.mpf(1) / 2, 2 * mpmath.mpf(small), mpmath.mpf(q)
            alone = mpmath.gammainc(shape, Q / theta, mpmath.inf, regularized=True)
            ratio = 1 - rate * theta
            both = mpmath.exp(-rate * Q) / ratio**shape * mpmath.gammainc(shape, 0, Q * ratio / theta, regularized=True)
            truth = alone + both
            assert tail(weights, q) == pytest.approx(float(truth), rel=1e-12, abs=0)


@pytest.mark.parametrize("d", [1, 2, 7, 100])
def test_lower_tails_keep_their_digits(d: int) -> None:
    for q in (1e-60, 1e-9, 1e-3, 0.1 * d, 0.9 * d, 1.0 * d, 3.0 * d):
        with mpmath.workdps(60):
            truth = mpmath.gammainc(mpmath.mpf(d) / 2, 0, mpmath.mpf(q) / 2, regularized=True)
            answer = lower_tail(np.ones(d), q)
            assert answer == pytest.approx(float(truth), rel=1e-12, abs=1e-300)
            assert tail(np.ones(d), q) == pytest.approx(float(1 - truth), rel=1e-12, abs=0)


@pytest.mark.parametrize(("power", "d"), PUBLISHED)
def test_published_quantiles(power: float, d: int) -> None:
    weights = np.arange(1, d + 1) ** -float(power)
    answers = [quantile(weights, p) for p in (1e-2, 1e-4, 1e-6, 1e-9)]
    assert answers == pytest.approx(PUBLISHED[power, d], rel=1e-12, abs=0)


@pytest.mark.parametrize("seed", [671, 3710, 4693, 7678, 8948, 1010263])
def test_medians_of_few_weights_far_apart(seed: int) -> None:
    """Newton's steps alone jumped off to where the tail is 0: near the median of such weights it is no exponential."""
    generator = np.random.default_rng(seed)
    d = int(10 ** generator.uniform(0, 3.3))
    weights = 10 ** -generator.uniform(0, 5, d) * 10 ** generator.uniform(-10, 10)
    for p in (0.43, 0.46430991749194983, 0.47, 0.4810320643745961, 0.49, 0.499):
        assert tail(weights, quantile(weights, p)) == pytest.approx(p, rel=1e-9)


def test_tails_and_quantiles_are_inverse_and_monotone_for_random_weights() -> None:
    generator = np.random.default_rng()
    for _ in range(60):
        d = int(10 ** generator.uniform(0, 3.3))
        weights = 10 ** -generator.uniform(0, 5, d) * 10 ** generator.uniform(-10, 10)
        p = sorted((10 ** -generator.uniform(0.31, 100), 10 ** -generator.uniform(0, 3), generator.uniform(0, 1)))
        values = [quantile(weights, t) for t in p]
        assert values[0] > values[1] > values[2] or p[1] == p[2]
        assert [tail(weights, v) for v in values] == pytest.approx(p, rel=1e-12, abs=0)
        assert [lower_tail(weights, v) for v in values] == pytest.approx([1 - t for t in p], rel=1e-12, abs=1e-15)


def test_scale_and_zeros_do_not_matter() -> None:
    weights = np.array([0.3, 0.2, 0.2])
    assert quantile(weights * 2.0**600, 1e-9) == quantile(weights, 1e-9) * 2.0**600
    assert quantile([*weights, 0.0], 1e-9) == quantile(weights, 1e-9)


def test_the_ends() -> None:
    assert (tail([1.0], 0.0), tail([1.0], -1.0), tail([1.0], -math.inf), tail([1.0], math.inf)) == (1.0, 1.0, 1.0, 0.0)
    assert (lower_tail([1.0], 0.0), lower_tail([1.0], -3.0), lower_tail([1.0], math.inf)) == (0.0, 0.0, 1.0)
    assert tail([1.0], 5000.0) == 0.0
    assert log_tail([1.0, 1.0], 1e60) == pytest.approx(-5e59, rel=1e-15, abs=0)
    assert log_tail([1.0], 1e100) == pytest.approx(-5e99, rel=1e-15, abs=0)
    assert log_tail([1.0], 5e-324) == 0.0


def test_a_quantile_of_a_thousand_weights_is_quick() -> None:
    weights = 1 / np.arange(1, 1001)
    times = []
    for _ in range(5):
        start = time.process_time()
        quantile(weights, 1e-6)
        times.append(time.process_time() - start)
    assert min(times) < 0.02


@pytest.mark.parametrize("weights", [[], [0.0], [-1.0, 2.0], [math.nan], [math.inf, 1.0]])
def test_weights_that_mean_nothing_are_refused(weights: list[float]) -> None:
    with refused("squares-weights-out-of-range"):
        tail(weights, 1.0)


@pytest.mark.parametrize("p", [0, 1, -0.1, math.nan, 2])
def test_tails_that_are_no_probability_are_refused(p: float) -> None:
    with refused("tail-out-of-range", DomainError):
        quantile([1.0], p)


def test_a_value_that_is_no_number_is_refused() -> None:
    with refused("tail-at-nan"):
        lower_tail([1.0], math.nan)

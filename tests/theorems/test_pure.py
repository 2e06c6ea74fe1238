"""Pure ε in other terms: a guess, and a mixture with Gaussian noise, by brute force over laws."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from gaussmith.privacy import pure
from gaussmith.privacy.gaussian import delta_upward
from gaussmith.privacy.pure import delta_of_mixture, gdp_of_pure, guess_of_pure

GDP = {"0.1": "0.125309012211608", "0.5": "0.623892592098508", "1": "1.2320353853449", "3": "3.3406837122406"}


@pytest.mark.parametrize("epsilon", GDP)
def test_gdp_of_pure(epsilon):
    found = gdp_of_pure(Fraction(epsilon))
    assert math.isclose(found, float(GDP[epsilon]), rel_tol=1e-14)
    with mpmath.workdps(60):
        e = mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
        assert mpmath.ncdf(mpmath.mpf(found) / 2) >= mpmath.exp(e) / (1 + mpmath.exp(e))


@pytest.mark.parametrize("epsilon", [1e-90, 1e-10, 0.1, 1.0, 3.0, 36.0, 100.0])
def test_the_guess_is_rounded_up_and_no_further(epsilon):
    found = guess_of_pure(Fraction(epsilon))
    with mpmath.workdps(150):
        truth = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        assert mpmath.mpf(math.nextafter(found, 0)) < truth <= found <= 1


def geometric_pair(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """A count with geometric noise and the count beside it."""
    k = np.arange(-int(60 / epsilon), int(60 / epsilon) + 2)
    q = math.exp(-epsilon)
    return (1 - q) / (1 + q) * q ** abs(k - 1.0), (1 - q) / (1 + q) * q ** abs(k + 0.0)


def hockey_stick(parts: list[float], mu: float, epsilon: float) -> float:
    """δ(ε) of geometric noise at each part beside N(μ, 1): a sum over whole outcomes, an integral over the normal.

    Given the ratio r of the whole outcomes, max over events of P − e^ε Q is p·δ_G(ε − ln r; μ).
    """
    p, q = np.ones(1), np.ones(1)
    for part in parts:
        a, b = geometric_pair(part)
        p, q = np.outer(p, a).ravel(), np.outer(q, b).ravel()
        order = np.round(np.log(p / q), 9)  # outcomes of one ratio are one outcome
        _, place = np.unique(order, return_inverse=True)
        p, q = np.bincount(place, weights=p), np.bincount(place, weights=q)
    x = np.linspace(-14, 14 + mu, 200_001)
    above, below = stats.norm.pdf(x - mu), stats.norm.pdf(x)
    steps = x[1] - x[0]
    return sum(
        float(np.maximum(a * above - math.exp(epsilon) * b * below, 0).sum() * steps) for a, b in zip(p, q, strict=True)
    )


@pytest.mark.parametrize(
    ("parts", "mu", "epsilon"),
    [
        ([0.4], 0.3, 1.0),
        ([0.1], 0.2, 0.5),
        ([0.9], 0.7, 2.0),
        ([0.4] * 3, 0.5, 1.0),
        ([0.4, 0.7, 0.2], 0.3, 0.0),
        ([2.0], 0.4, 0.5),
    ],
)
def test_a_mixture_is_what_geometric_and_normal_noise_do_together(parts, mu, epsilon):
    found = delta_of_mixture(Fraction(epsilon), [Fraction(part) for part in parts], mu)
    assert math.isclose(found, hockey_stick(parts, mu, epsilon), rel_tol=1e-6, abs_tol=1e-12)


def test_a_mixture_alone_is_its_part():
    epsilon, mu = Fraction(1), 0.4
    assert math.isclose(delta_of_mixture(epsilon, [], mu), delta_upward(epsilon, mu), rel_tol=1e-14)
    assert delta_of_mixture(epsilon, [epsilon], 0.0) == 0 == delta_of_mixture(epsilon, [Fraction(1, 4)] * 4, 0.0)
    assert delta_of_mixture(Fraction(99, 100), [epsilon], 0.0) > 0
    assert delta_of_mixture(Fraction(0), [Fraction(100)], 1.0) <= 1


def test_a_mixture_is_rounded_up():
    """All signs, with 80 digits."""
    for _ in range(20):
        parts = [Fraction(random.uniform(0.01, 1)) for _ in range(random.randrange(1, 5))]
        epsilon, mu = Fraction(random.uniform(0, 3)), random.uniform(0.05, 2)
        kappa = random.choice([Fraction(0), Fraction(1, 10**6), Fraction(1, 7)])
        with mpmath.workdps(80):
            at, truth = mpmath.mpf(epsilon.numerator) / epsilon.denominator, mpmath.mpf(0)
            share = mpmath.mpf(kappa.numerator) / kappa.denominator
            at -= mpmath.log(1 - share)
            each = [mpmath.mpf(part.numerator) / part.denominator for part in parts]
            for signs in itertools.product((1, -1), repeat=len(each)):
                t = at - mpmath.fsum(sign * part for sign, part in zip(signs, each, strict=True))
                weight = mpmath.fprod(
                    1 / (1 + mpmath.exp(-sign * part)) for sign, part in zip(signs, each, strict=True)
                )
                truth += weight * (mpmath.ncdf(mu / 2 - t / mu) - mpmath.exp(t) * mpmath.ncdf(-mu / 2 - t / mu))
            truth = share + (1 - share) * truth
            found = delta_of_mixture(epsilon, parts, mu, kappa)
            assert truth <= found < truth * (1 + mpmath.mpf(10) ** -13)


def test_many_unequal_parts_are_bounded(monkeypatch):
    parts = [Fraction(i, 100) for i in range(1, 9)]
    exact = delta_of_mixture(Fraction(1), parts, 0.3)
    monkeypatch.setattr(pure, "MOST_LOSSES", 16)
    bound = delta_of_mixture(Fraction(1), parts, 0.3)
    assert exact < bound < delta_upward(Fraction(1) - sum(parts), 0.3)
    assert sum(pure._merged(parts).elements()) == sum(parts) and len(pure._merged(parts)) <= 4


def test_a_mixture_is_less_than_both_in_a_row():
    """Exact composition beats adding ε, and beats the μ of the pure part."""
    epsilon, part, mu = Fraction(1), Fraction(1, 2), 0.3
    found = delta_of_mixture(epsilon, [part], mu)
    assert found < delta_upward(epsilon - part, mu)
    assert found < delta_upward(epsilon, math.hypot(mu, gdp_of_pure(part)))

"""(ε, δ)-DP releases of other tools in a ledger of μ and κ, by brute force over finite mechanisms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

import gaussmith as gm
from gaussmith.ledger.protection import both_ways
from gaussmith.ledger.units import UNIT_BITS
from gaussmith.numerics.exact import smaller_reading
from gaussmith.privacy.gaussian import mu_downward
from gaussmith.privacy.pure import covers_pure, gdp_of_pure
from gaussmith.privacy.thresholds import mu_beside

GRID = np.linspace(-6, 6, 49)


def hockey_stick(p: np.ndarray, q: np.ndarray, t: float) -> float:
    return float(np.maximum(p - math.exp(t) * q, 0).sum())


def gaussian(t: float, mu: float) -> float:
    """δ(t; μ) for any real t."""
    cdf = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731
    return cdf(mu / 2 - t / mu) - math.exp(t) * cdf(-mu / 2 - t / mu)


def response(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    q = 1 / (1 + math.exp(epsilon))
    return np.array([1 - q, q]), np.array([q, 1 - q])


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 3.0, 10.0, 60.0])
def test_gdp_of_pure_is_the_closed_form_rounded_up(epsilon: float) -> None:
    mu = gdp_of_pure(Fraction(epsilon))
    mp = mpmath.MPContext()
    mp.dps = 80
    e = mp.mpf(epsilon)
    tail = mp.erfc(mp.mpf(mu) / mp.sqrt(8)) / 2
    below = mp.erfc(mp.mpf(math.nextafter(math.nextafter(mu, 0), 0)) / mp.sqrt(8)) / 2
    assert tail <= 1 / (1 + mp.exp(e)) < below
    assert covers_pure(mu, Fraction(epsilon)) and not covers_pure(mu * (1 - 1e-12), Fraction(epsilon))


@pytest.mark.parametrize("epsilon", [1e-90, 1e-13])
def test_tiny_epsilons_are_covered(epsilon: float) -> None:
    assert gdp_of_pure(Fraction(epsilon)) >= 1.2534 * epsilon


def test_no_pure_mechanism_beats_its_mu() -> None:
    """Random pairs of laws with ratios within e^±ε, in both directions; randomised response touches the bound."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        epsilon, size = float(rng.uniform(0.05, 4)), int(rng.integers(2, 7))
        p = rng.dirichlet(np.ones(size) * rng.uniform(0.2, 3))
        q = p * np.exp(rng.choice([-epsilon, epsilon], size))
        q /= q.sum()
        if not np.all(p > 1e-12) or np.allclose(p, q):
            continue
        true = float(np.abs(np.log(p / q)).max())
        mu = gdp_of_pure(Fraction(true))
        for t in GRID:
            assert hockey_stick(p, q, t) <= gaussian(t, mu) + 1e-12
            assert hockey_stick(q, p, t) <= gaussian(t, mu) + 1e-12
        p, q = response(epsilon)
        best = gdp_of_pure(Fraction(epsilon))
        assert hockey_stick(p, q, 0.0) > gaussian(0.0, best * (1 - 1e-6))


def test_approximate_mechanisms_are_covered_by_kappa_and_mu() -> None:
    """Random pairs: at each ε their own δ is the κ with which the μ of ε-DP covers them, at every other ε too."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        size = int(rng.integers(2, 7))
        p, q = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
        epsilon = float(rng.uniform(0.05, 3))
        delta = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        mu = gdp_of_pure(Fraction(epsilon))
        for t in GRID:
            most = delta + (1 - delta) * gaussian(t, mu)
            assert max(hockey_stick(p, q, t), hockey_stick(q, p, t)) <= most + 1e-12


def worst(epsilon: float, mu: float, pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """H_{e^ε} of a Gaussian pair beside finite ones, exactly: a sum over the outcomes of the finite ones."""
    total = 0.0
    for outcome in itertools.product(*(range(len(p)) for p, _ in pairs)):
        a = math.prod(float(p[i]) for (p, _), i in zip(pairs, outcome, strict=True))
        b = math.prod(float(q[i]) for (_, q), i in zip(pairs, outcome, strict=True))
        total += a if b == 0 else 0.0 if a == 0 else a * gaussian(epsilon - math.log(a / b), mu)
    return total


def shown(kappa: float) -> tuple[np.ndarray, np.ndarray]:
    """Found keys: with the person, something that only this person has is shown with probability κ."""
    return np.array([kappa, 1 - kappa]), np.array([0.0, 1.0])


def leaky(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    p, q = response(epsilon)
    return np.array([delta, 0, *(1 - delta) * p]), np.array([0, delta, *(1 - delta) * q])


@pytest.mark.parametrize(("epsilon", "delta", "K"), [(1.0, 0.2, 0.1), (0.5, 0.3, 0.25), (2.0, 0.05, 0.04)])
@pytest.mark.parametrize("other", [1e-4, 0.3])
def test_a_full_ledger_with_other_tools_keeps_its_guarantee(
    tmp_path: Path, epsilon: float, delta: float, K: float, other: float
) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(epsilon=epsilon, delta=delta), keys_delta=K)
    half = Fraction(K) / 2
    ledger.add(epsilon=other, delta=float(half), note="theirs")
    left = Fraction(ledger.remaining, 1 << UNIT_BITS)
    mu = math.sqrt(left)  # all that is left goes to Gaussian noise, and the other half of κ to found keys
    for keys in (shown(float(half)), shown(float(half))[::-1]):
        pairs = [leaky(other, float(half)), keys]
        assert worst(epsilon, mu, pairs) <= delta + 1e-12
    extra = both_ways(ledger.guarantee, ledger.keys_delta)
    assert extra > 0
    e, d = smaller_reading(epsilon), smaller_reading(delta)
    rest = (d - Fraction(K)) / (1 - Fraction(K))
    one, two = (Fraction(mu) ** 2 for mu in (mu_beside(e, d, Fraction(K)), mu_downward(e, rest)))
    assert extra == one - two
    # Without that extra charge, all κ leaking both ways would break the promise.
    assert worst(epsilon, math.sqrt(one), [leaky(1e-9, K)]) > delta
    assert worst(epsilon, math.sqrt(two), [leaky(1e-9, K)]) <= delta + 1e-9

"""Three caps of a ledger against analysts who choose each release after earlier answers, by brute force over trees.

Releases are randomised response, a three-valued pure mechanism, Gaussian noise read in cells, and found keys; the last
one may be Gaussian noise as it is. The value of a tree is sup P(S) − x Q(S) of all that its analyst sees, exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import gaussmith as gm
from gaussmith.ledger.units import PURE_UNITS, UNIT_BITS, budget_square
from gaussmith.privacy.guarantee import Guarantee

Pair = tuple[np.ndarray, np.ndarray]
Steps = tuple[int, int, int]

CELLS = np.array([-math.inf, -1.5, -0.5, 0.5, 1.5, 2.5, math.inf])


def hockey(x: float, mu: float) -> float:
    """G(x) = sup P(S) − x Q(S) for N(μ, 1) and N(0, 1), for any x > 0."""
    if mu == 0:
        return max(1 - x, 0.0)
    t = math.log(x)
    return float(norm.cdf(mu / 2 - t / mu) - x * norm.cdf(-mu / 2 - t / mu))


def bound(x: float, E: float, V: float, K: float) -> float:
    """K + (1 − K) h(x/(1 − K)), h that of randomised response at E beside Gaussian noise at √V."""
    p, y = 1 / (1 + math.exp(-E)), x / (1 - K)
    return K + (1 - K) * (p * hockey(y * math.exp(-E), math.sqrt(V)) + (1 - p) * hockey(y * math.exp(E), math.sqrt(V)))


def response(epsilon: float) -> Pair:
    """Randomised response: all of its ε in either direction."""
    q = 1 / (1 + math.exp(epsilon))
    return np.array([1 - q, q]), np.array([q, 1 - q])


def lopsided(epsilon: float) -> Pair:
    """An ε-DP mechanism of three outcomes, one of which says nothing."""
    a = math.exp(-epsilon)
    p = np.array([0.3, 0.2, 0.5])
    q = np.array([0.3, 0.2 * a, 0.5 + 0.2 * (1 - a)])
    assert np.abs(np.log(p / q)).max() <= epsilon + 1e-12
    return p, q


def in_cells(mu: float, centre: float) -> Pair:
    """Gaussian noise at μ, of which only a cell is seen."""
    edges = CELLS + centre
    return np.diff(norm.cdf(edges - mu)), np.diff(norm.cdf(edges))


def keys(kappa: float) -> Pair:
    """With the person, something that only this person has is shown with probability κ."""
    return np.array([kappa, 1 - kappa]), np.array([0.0, 1.0])


def releases(parts: tuple[float, float, float], left: Steps) -> Iterator[tuple[Steps, Pair]]:
    """What may be released next, and the steps that it takes: some of the pure ε, or one of the others."""
    pure, mu, kappa = parts
    for n in range(1, left[0] + 1):
        yield (n, 0, 0), response(n * pure)
        yield (n, 0, 0), lopsided(n * pure)
    if left[1]:
        yield (0, 1, 0), in_cells(mu, 0.0)
        yield (0, 1, 0), in_cells(mu, 1.0)
    if left[2]:
        yield (0, 0, 1), keys(kappa)


def best(x: float, steps: Steps, parts: tuple[float, float, float], reverse: bool = False) -> float:
    """The largest value of a tree whose analyst may make so many releases of each kind, in any order."""
    mu = parts[1]

    @cache
    def value(x: float, left: Steps) -> float:
        if x == 0:
            return 1.0
        found = hockey(x, mu * math.sqrt(left[1]))  # all noise that is left, at once and as it is
        for taken, pair in releases(parts, left):
            p, q = pair[::-1] if reverse else pair
            rest = (left[0] - taken[0], left[1] - taken[1], left[2] - taken[2])
            seen = (a * value(round(x * b / a, 13), rest) for a, b in zip(p, q, strict=True) if a > 0)
            found = max(found, sum(seen))
        return found

    return value(x, steps)


PARTS = [(0.3, 0.4, 0.05), (1.0, 0.5, 0.01), (0.05, 0.8, 0.2)]


@pytest.mark.parametrize("parts", PARTS, ids=str)
@pytest.mark.parametrize("steps", [(1, 1, 0), (2, 2, 0), (1, 1, 1), (2, 1, 1)], ids=str)
@pytest.mark.parametrize("times", [1.0, 1.5, 3.0])
def test_no_analyst_exceeds_three_caps(parts: tuple[float, float, float], steps: Steps, times: float) -> None:
    """At ε = E and beyond, whether a person is added or removed."""
    E, V, K = steps[0] * parts[0], steps[1] * parts[1] ** 2, steps[2] * parts[2]
    x = math.exp(times * E)
    most = bound(x, E, V, K)
    added, removed = best(x, steps, parts), best(x, steps, parts, reverse=True)
    assert removed <= most * (1 + 1e-9)
    assert added == pytest.approx(most, rel=1e-9)  # and no smaller δ is enough
    if K == 0:
        assert removed == pytest.approx(added, rel=1e-9)


def test_below_the_pure_part_a_removed_person_is_told_by_more() -> None:
    """So the part for pure noise is at most ε: with found keys the formula fails for a smaller one."""
    parts, x = (1.0, 0.05, 0.2), math.exp(0.5)
    assert best(x, (1, 1, 1), parts, reverse=True) > bound(x, 1.0, 0.05**2, 0.2) * (1 + 1e-3)


@pytest.mark.parametrize(
    ("epsilon", "delta", "E", "K"), [(1.0, 0.05, 0.4, 0.01), (0.5, 0.2, 0.5, 0.1), (2.0, 1e-3, 1.0, 1e-4)]
)
def test_a_full_ledger_keeps_its_guarantee(tmp_path: Path, epsilon: float, delta: float, E: float, K: float) -> None:
    guarantee = Guarantee(epsilon=epsilon, delta=delta)
    ledger = gm.Ledger.create(tmp_path / "l", guarantee, pure_epsilon=E, keys_delta=K)
    pure, V = ledger.pure_budget / PURE_UNITS, ledger.budget / 2**UNIT_BITS
    kappa = ledger.keys_budget / 2**UNIT_BITS
    assert bound(math.exp(epsilon), pure, V, kappa) <= delta * (1 + 1e-9)
    if E < epsilon:  # nothing wasted
        assert bound(math.exp(epsilon), pure, V, kappa) >= delta * (1 - 1e-6)
    parts, steps = (pure / 2, math.sqrt(V / 2), kappa), (2, 2, 1)
    for reverse in (False, True):
        assert best(math.exp(epsilon), steps, parts, reverse) <= delta * (1 + 1e-9)
        assert best(math.exp(epsilon), (1, 1, 1), (pure, math.sqrt(V), kappa), reverse) <= delta * (1 + 1e-9)


def test_a_cap_of_noise_that_forgets_the_pure_part_breaks_the_guarantee() -> None:
    """μ² planned at ε instead of ε − E: what a ledger would promise without the third cap in its budget."""
    guarantee, E = Guarantee(epsilon=1, delta=1e-3), 0.5
    right = budget_square(guarantee, Fraction(0), Fraction(1, 2))
    wrong = budget_square(guarantee)
    values = [best(math.e, (1, 1, 0), (E, math.sqrt(V), 0.1)) for V in (right, wrong)]
    assert values[0] <= 1e-3 * (1 + 1e-9) < 1e-2 < values[1]


def test_a_rest_that_moves_between_noise_and_pure_epsilon_breaks_the_guarantee() -> None:
    """An analyst spends part of μ², looks at the likelihood ratio, and then buys noise or pure ε with what is left."""
    epsilon, delta = 3.0, 1e-6
    whole = Guarantee(epsilon=epsilon, delta=delta).mu
    first = math.sqrt(0.2) * whole
    low, high = 0.0, epsilon  # the largest E with δ(ε − E; first) ≤ δ: what a movable rule would still sell
    for _ in range(60):
        E = (low + high) / 2
        low, high = (E, high) if hockey(math.exp(epsilon - E), first) <= delta else (low, E)
    rest = math.sqrt(whole**2 - first**2)
    pairs = list(zip(*response(low), strict=True))

    def gain(choices: Callable[[float], list[float]]) -> float:
        def density(y: float) -> float:
            ratio = math.exp(first * y - first**2 / 2)
            return ratio * max(choices(math.exp(epsilon) / ratio)) * float(norm.pdf(y))

        return float(quad(density, -8, 16, limit=800, points=[first / 2 + epsilon / first])[0])

    def noise(x: float) -> list[float]:
        return [hockey(x, rest)]

    def either(x: float) -> list[float]:
        return [hockey(x, rest), sum(max(float(a - x * b), 0.0) for a, b in pairs)]

    assert gain(noise) == pytest.approx(delta, rel=1e-4)
    assert gain(either) > 1.8 * delta


@pytest.mark.parametrize(("epsilon", "delta", "E", "K"), [(1.0, 0.2, 0.4, 0.1), (0.6, 0.3, 0.3, 0.25)])
def test_other_tools_and_keys_in_a_full_ledger_with_a_pure_part(
    tmp_path: Path, epsilon: float, delta: float, E: float, K: float
) -> None:
    """(ε, δ)-DP releases leak in both directions; what is charged beside them keeps the guarantee, and is needed."""
    guarantee, half = Guarantee(epsilon=epsilon, delta=delta), Fraction(K) / 2
    ledger = gm.Ledger.create(tmp_path / "l", guarantee, pure_epsilon=E, keys_delta=K)
    made = ledger.add(epsilon=E / 2, delta=float(half), note="theirs")
    assert made.pure_charge > 0 and made.keys_charge > 0 and made.charge > 0
    mu = math.sqrt(Fraction(ledger.remaining, 1 << UNIT_BITS))
    theirs, found = leaky(E / 2, float(half)), keys(float(half))
    for reverse in (False, True):
        key = found[::-1] if reverse else found
        assert beside(math.exp(epsilon), mu, [theirs, key, response(E / 2)]) <= delta * (1 + 1e-9)
    whole = math.sqrt(Fraction(ledger.budget, 1 << UNIT_BITS))
    assert beside(math.exp(epsilon), whole, [leaky(E, K)]) > delta * (1 + 1e-6)


def leaky(epsilon: float, delta: float) -> Pair:
    """Shows everything with probability δ, in either direction; otherwise it is randomised response."""
    p, q = response(epsilon)
    return np.array([delta, 0, *(1 - delta) * p]), np.array([0, delta, *(1 - delta) * q])


def beside(x: float, mu: float, pairs: list[Pair]) -> float:
    """sup P(S) − x Q(S) of finite releases and Gaussian noise at μ, side by side."""
    total = 0.0
    for outcome in itertools.product(*(zip(p, q, strict=True) for p, q in pairs)):
        a, b = (math.prod(float(each[i]) for each in outcome) for i in (0, 1))
        total += 0.0 if a == 0 else a if b == 0 else a * hockey(x * b / a, mu)
    return total

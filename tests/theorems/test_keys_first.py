"""Keys first (statement 75): δ(ε) of two stages by quadrature, the second chosen by an adversary who saw the first.

A person has a keys that nobody else has among the m kept ones. With probability Q = q^a none of them is shown. The
first stage moves the rest by μ_1 √((m−a)/m), and the second moves its output by as much as the adversary likes, within
μ_2: it may ask about keys in which this person is, or in which it is not.

    δ(ε) = 1 − Q + Q ∫ p(y) δ_Gauss(ε − ln Q − l(y); a_2(y)) dy
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from gaussmith.planning.discovered_groups import split_keys_first
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.thresholds import Found, delta_upper

Y = np.linspace(-12.0, 12.0, 24_001)
Rule = Callable[[np.ndarray], np.ndarray]


def gaussian_delta(epsilon: np.ndarray, moved: np.ndarray) -> np.ndarray:
    at = np.maximum(moved, 1e-12)
    return np.maximum(ndtr(at / 2 - epsilon / at) - np.exp(epsilon) * ndtr(-at / 2 - epsilon / at), 0.0)


def staged_delta(epsilon: float, hidden: float, new: int, m: int, first: float, second: Rule) -> float:
    """δ(ε) where a person with `new` new keys is added; each stays hidden with this probability."""
    Q, moved = hidden**new, first * math.sqrt((m - new) / m)
    density = np.exp(-(Y**2) / 2) / math.sqrt(2 * math.pi)
    loss = moved * Y + moved**2 / 2
    rest = (density * gaussian_delta(epsilon - math.log(Q) - loss, second(Y))).sum() * (Y[1] - Y[0])
    return float(1 - Q + Q * rest)


def rules(most: float) -> list[Rule]:
    random = np.random.default_rng()
    found: list[Rule] = [lambda y: np.full_like(y, most), lambda y: most * (y > 0), lambda y: most * (y < 0.1)]
    for _ in range(6):
        edges, heights = np.sort(random.normal(0, 2, 5)), most * random.random(6) ** 0.3
        found.append(lambda y, edges=edges, heights=heights: heights[np.searchsorted(edges, y)])
    return found


@pytest.mark.parametrize("m", [1, 3, 10])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_no_choice_of_the_answers_gains(m: int, share: float) -> None:
    mu, kappa = 0.6, 1e-3
    first, second = mu * math.sqrt(share), mu * math.sqrt(1 - share)
    hidden = (1 - kappa) ** (1 / m)
    for epsilon in (1.0, 1.5, 2.5):
        stated = delta_upper(Fraction(epsilon), [Found(first, Fraction(kappa))], second)
        found = {a: [staged_delta(epsilon, hidden, a, m, first, rule) for rule in rules(second)] for a in range(m + 1)}
        assert max(map(max, found.values())) <= stated * (1 + 1e-6)
        assert max(found[0][0], found[m][0]) == pytest.approx(stated, rel=1e-5)  # and an end attains it


@pytest.mark.parametrize("epsilon", [1.0, 1.5])
def test_a_share_that_is_spent_twice_gains(epsilon: float) -> None:
    """The planted fault: the answers get all of μ² although keys took half of it; or keys are found again at κ."""
    mu, kappa, m = 0.6, 1e-3, 3
    half = mu * math.sqrt(0.5)
    stated = delta_upper(Fraction(epsilon), [Found(half, Fraction(kappa))], half)
    hidden = (1 - kappa) ** (1 / m)
    assert staged_delta(epsilon, hidden, 0, m, half, lambda y: np.full_like(y, mu)) > 1.1 * stated
    small = delta_upper(Fraction(epsilon), [Found(0.05, Fraction(kappa))], 0.05)
    assert staged_delta(epsilon, hidden**2, m, m, 0.05, lambda y: np.full_like(y, 0.05)) > 1.5 * small


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.3, 1e-6), (4.0, 1e-3)])
def test_a_stated_guarantee_keeps_all_of_its_noise(epsilon: float, delta: float) -> None:
    """κ is nearly δ and μ is μ(ε, δ): the larger of the two counts, as of keys and answers in one stage."""
    whole, kappa = split_keys_first(Guarantee(epsilon=epsilon, delta=delta), Fraction(1, 2), [1.0], None)
    assert whole == 1 and 0.5 * delta < kappa <= delta
    stated, given = split_keys_first(
        Guarantee(epsilon=epsilon, delta=delta), Fraction(1, 2), [1.0], Fraction(delta) / 4
    )
    assert stated < 1 and given <= Fraction(delta) / 4

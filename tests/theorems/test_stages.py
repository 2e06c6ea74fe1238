"""Stages that depend on earlier outputs, played by an adversary who chooses them: δ(ε) by quadrature (statement 70).

Stage 1 moves its output by a_1. Having seen it, the adversary chooses by how much stage 2 moves its own, within what is
left of μ². With l the loss of stage 1,

    δ(ε) = ∫ p(y) δ_Gauss(ε − l(y); a_2(y)) dy,

which no choice brings above that of one Gaussian release with μ; and one that takes more than is left does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtr

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0)
Y = np.linspace(-12.0, 12.0, 48_001)
Rule = Callable[[np.ndarray], np.ndarray]


def gaussian_delta(epsilon: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """δ(ε) of a Gaussian release that is moved by so many standard deviations; ε may be negative."""
    at = np.maximum(moved, 1e-12)
    return np.maximum(ndtr(at / 2 - epsilon / at) - np.exp(epsilon) * ndtr(-at / 2 - epsilon / at), 0.0)


def staged_delta(epsilon: float, first: float, second: Rule) -> float:
    """δ(ε) of two stages, of which the second is chosen by the noisy output of the first."""
    density = np.exp(-(Y**2) / 2) / math.sqrt(2 * math.pi)  # of the output less what a person adds
    loss = first * Y + first**2 / 2
    return float((density * gaussian_delta(epsilon - loss, second(Y))).sum() * (Y[1] - Y[0]))


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("share", [0.06, 0.5, 0.9])
def test_no_choice_of_the_second_stage_gains(mu: float, share: float) -> None:
    random = np.random.default_rng()
    first, left = mu * math.sqrt(share), mu * math.sqrt(1 - share)
    rules: list[Rule] = [lambda y: np.full_like(y, left), lambda y: left * (y > 0), lambda y: left * (y < first / 2)]
    for _ in range(8):
        edges, heights = np.sort(random.normal(0, 2, 6)), left * random.random(7) ** 0.3
        rules.append(lambda y, edges=edges, heights=heights: heights[np.searchsorted(edges, y)])
    for epsilon in EPSILONS:
        whole = float(gaussian_delta(np.array(epsilon), np.array(mu)))
        found = [staged_delta(epsilon, first, rule) for rule in rules]
        assert max(found) <= whole * (1 + 1e-7)
        assert found[0] == pytest.approx(whole, rel=1e-6)  # all of it, always: exactly one release with μ


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_share_that_is_taken_twice_gains(epsilon: float) -> None:
    """The planted fault: what stage 1 took is given to stage 2 as well, only where its output looks promising."""
    mu, share = 1.0, 0.3
    first = mu * math.sqrt(share)
    greedy = staged_delta(epsilon, first, lambda y: np.where(y > 0, mu, mu * math.sqrt(1 - share)))
    assert greedy > float(gaussian_delta(np.array(epsilon), np.array(mu))) * 1.02

"""Confidence bounds on what an attack achieves: exact binomial tails, never a normal approximation.

An attack guesses which of two neighbours an output came from. Under μ-GDP an attack that is wrong with probability α on
one neighbour and β on the other has

    Φ⁻¹(1 − α) − Φ⁻¹(β) ≤ μ,      and over both, asked equally often,      P(right) ≤ Φ(μ/2).

So an upper bound on α and on β, or a lower bound on P(right), is a lower bound on μ. The number of right guesses among
n₀ outputs of one neighbour and n₁ = n₀ of the other is a sum of independent trials of average p; its upper tail above
n p + 1 is at most that of the binomial with the same n and p (Hoeffding 1956), so the exact binomial bound holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

BETS = (1.02, 1.05, 1.1, 1.3, 2.0, 4.0, 8.0)
"""The multiples of the claimed μ that the early look bets on, each with an equal part of its stake."""


def lower_bound(hits: int, trials: int, error: float) -> float:
    """The Clopper–Pearson lower bound on a probability: it is above the truth with probability at most `error`.

    >>> round(lower_bound(700, 1000, 1e-6), 4)
    0.6279
    """
    from scipy.special import betaincinv

    return 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, error))


def upper_bound(hits: int, trials: int, error: float) -> float:
    """The Clopper–Pearson upper bound on a probability: it is below the truth with probability at most `error`."""
    return 1.0 - lower_bound(trials - hits, trials, error)


def mu_from_guesses(right: int, trials: int, error: float) -> float:
    """A lower bound on μ from right guesses, half of the trials on each neighbour: 2 Φ⁻¹(p); at least 0.

    >>> round(mu_from_guesses(700, 1000, 1e-6), 3)
    0.653
    """
    return max(0.0, 2.0 * quantile(lower_bound(right, trials, error)))


def mu_from_event(on_one: int, on_other: int, trials: int, error: float) -> float:
    """A lower bound on μ from an event that was seen so often on either neighbour, each in so many trials.

    Better than right guesses where the event is rare on one side.
    """
    best = 0.0
    for more, less in ((on_one, on_other), (on_other, on_one)):
        alpha = upper_bound(less, trials, error / 4)
        power = lower_bound(more, trials, error / 4)
        best = max(best, quantile(power) - quantile(alpha))
    return best


def at_least(mu: float) -> str:
    """A lower bound on μ in words.

    >>> at_least(0.0521), at_least(0.0)
    ('μ is at least 0.0521', 'no evidence against the claim')
    """
    return f"μ is at least {mu:.4g}" if mu > 0 else "no evidence against the claim"


def epsilon_from_event(on_one: int, on_other: int, trials: int, delta: float, error: float) -> float:
    """A lower bound on ε at δ from the same: ln((P(E) − δ)/P′(E)), at least 0."""
    best = 0.0
    for more, less in ((on_one, on_other), (on_other, on_one)):
        alpha = upper_bound(less, trials, error / 4)
        power = lower_bound(more, trials, error / 4)
        if power > delta:
            best = max(best, math.log((power - delta) / alpha))
    return best


def quantile(probability: float) -> float:
    """Φ⁻¹."""
    from scipy.special import ndtri

    return float(ndtri(min(max(probability, 0.0), 1.0)))


def normal_cdf(x: float) -> float:
    """Φ."""
    from scipy.special import ndtr

    return float(ndtr(x))


# -- sizes of samples -------------------------------------------------------------------------------------------------


def samples_to_refute(mu: float, factor: float, error: float, power: float = 0.8) -> int:
    """How many outputs (both neighbours together) the guesses need to refute μ where the truth is factor · μ.

    >>> samples_to_refute(0.268, 1 / 0.95, 1e-5) < 1_000_000
    True
    """
    p, q = normal_cdf(mu / 2), normal_cdf(mu * factor / 2)
    if q <= p:
        raise ValueError("the factor must be above 1")
    a, b = -quantile(error), quantile(power)
    root = (a * math.sqrt(p * (1 - p)) + b * math.sqrt(q * (1 - q))) / (q - p)
    return 2 * math.ceil(root * root / 2)


def factor_detected(mu: float, samples: int, error: float, power: float = 0.8) -> float:
    """The smallest multiple of μ that so many outputs refute with this power; infinity where none does."""
    low, high = 1.0, 2.0
    while samples_to_refute(mu, high, error, power) > samples:
        low, high = high, 2 * high
        if mu * high > 60:
            return math.inf
    for _ in range(50):
        middle = (low + high) / 2
        if middle <= 1.0 or samples_to_refute(mu, middle, error, power) > samples:
            low = middle
        else:
            high = middle
    return high


def draws_for_scale(change: float, dimension: int, error: float, power: float = 0.999) -> int:
    """How many draws of a noise of so many coordinates the exact χ² test needs to notice this relative change.

    >>> draws_for_scale(0.1, 1, 1e-6), draws_for_scale(0.01, 1, 1e-6)      # MATH.md section 8: 2 918 and 315 848
    (2918, 315848)
    """
    from scipy.special import chdtri, gammaincc, gammaincinv

    def misses(draws: int) -> float:
        k = draws * dimension
        low, high = 2 * gammaincinv(k / 2, error / 2), chdtri(k, error / 2)
        scale = (1 - change) ** 2
        return float(gammaincc(k / 2, low / scale / 2) - gammaincc(k / 2, high / scale / 2))

    most = 1
    while misses(most) > 1 - power:
        most *= 2
    least = most // 2
    while most - least > 1:
        middle = (most + least) // 2
        least, most = (middle, most) if misses(middle) > 1 - power else (least, middle)
    return most


def scale_detected(draws: int, dimension: int, error: float, power: float = 0.8) -> float:
    """The smallest relative shortage of noise that so many draws notice with this power."""
    low, high = 0.0, 0.999
    if draws_for_scale(high, dimension, error, power) > draws:
        return 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if draws_for_scale(middle, dimension, error, power) > draws else (low, middle)
    return high


# -- the early look ---------------------------------------------------------------------------------------------------


class EarlyLook:
    """A bet against the claim that may be read after any number of pairs, and stops an audit early.

    Of each pair of outputs, one of either neighbour, a statistic guesses which is which. Under μ-GDP a pair is
    √2 μ-GDP, so a guess is right with probability at most p₀ = Φ(μ/√2), whatever happened before. For p₁ > p₀ the
    wealth ∏ (p₁/p₀)^X ((1−p₁)/(1−p₀))^(1−X) is then a supermartingale that begins at 1, and so is the average over
    several p₁. By Ville's inequality it ever reaches 1/error with probability at most `error` (docs/audit.md).
    """

    def __init__(self, mu: float, error: float) -> None:
        """`mu` is what is claimed of one output; of a pair it is √2 times that."""
        self.error = error
        self.right = self.pairs = 0
        p = normal_cdf(mu / math.sqrt(2))
        bets = [normal_cdf(mu * factor / math.sqrt(2)) for factor in BETS]
        self._gains = [(math.log(q / p), math.log1p(-q) - math.log1p(-p)) for q in bets if p < q < 1.0]

    def see(self, guesses: npt.NDArray[np.bool_]) -> bool:
        """Take in further pairs; returns whether the claim is refuted by now."""
        self.pairs += len(guesses)
        self.right += int(guesses.sum())
        return self.log_wealth >= -math.log(self.error)

    @property
    def log_wealth(self) -> float:
        """ln of the wealth, which depends on the number of right guesses alone."""
        if not self._gains:
            return 0.0
        found = [self.right * up + (self.pairs - self.right) * down for up, down in self._gains]
        top = max(found)
        return top + math.log(sum(math.exp(each - top) for each in found) / len(BETS))


def bonferroni(values: Sequence[float]) -> float:
    """The smallest p-value times the number of values: at most 1."""
    return min(1.0, min(values) * len(values)) if len(values) else 1.0

"""Pure ε-differential privacy as Gaussian differential privacy: the smallest μ that covers it.

    μ(ε) = 2 Φ⁻¹(e^ε / (1 + e^ε))

Two neighbours of a pure ε-DP mechanism are at least as hard to tell apart as the two laws of randomised response, whose
trade-off function has corners at (0, 1), (q, q) and (1, 0), q = 1/(1 + e^ε). That of N(0, 1) and N(μ, 1) is convex and
ends at the same points: it lies below as soon as it does at q, which is where μ ≥ 2 Φ⁻¹(1 − q) (docs/theory.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from gaussmith.numerics.exact import fraction_up
from gaussmith.numerics.found_keys import DIGITS, normal_quantile, upper_tail

TINY = Fraction(1, 10**12)
"""Below this μ(ε) = 1.2533… ε to many digits, and twice ε is more."""


def mu_of_pure(epsilon: Fraction) -> float:
    """The smallest μ with which every ε-DP mechanism is μ-GDP, rounded up.

    Guarantee: ε-DP implies μ-GDP. Requires (owed): 0 < ε. Rounding: up.

    >>> mu_of_pure(Fraction(1))
    1.232035385344901
    """
    if epsilon < TINY:
        return fraction_up(2 * epsilon)
    found = float(2 * normal_quantile(_tail(epsilon)))
    while not covers_pure(found, epsilon):
        found = math.nextafter(found, math.inf)
    return found


def covers_pure(mu: float, epsilon: Fraction) -> bool:
    """Whether every ε-DP mechanism is μ-GDP, for certain: Φ(−μ/2) ≤ 1/(1 + e^ε) with guard digits."""
    tail = _tail(epsilon)
    return bool(upper_tail(Fraction(mu) / 2) <= tail * (1 - tail.context.mpf(10) ** (8 - DIGITS)))


def _tail(epsilon: Fraction) -> Any:
    """1/(1 + e^ε), as a number of the context of tails."""
    mp = upper_tail(0).context
    return 1 / (1 + mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator))

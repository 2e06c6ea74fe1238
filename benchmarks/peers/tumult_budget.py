"""The largest ρ that gives (ε, δ): Tumult has Gaussian noise under zCDP alone, and no conversion of its own."""

from __future__ import annotations

import math

from child import DELTA, EPSILON


def find_rho() -> float:
    """The largest ρ that gives (ε, δ), by the tight conversion of Canonne, Kamath and Steinke (2020)."""
    low, high = 1e-6, 1.0
    while high / low > 1 + 1e-9:
        rho = math.sqrt(low * high)
        low, high = (rho, high) if delta_of(rho) <= DELTA else (low, rho)
    return low


def delta_of(rho: float) -> float:
    def bound(excess: float) -> float:  # the order α = 1 + excess
        power = excess * ((1 + excess) * rho - EPSILON) + (1 + excess) * math.log1p(-1 / (1 + excess))
        return power - math.log(excess)

    low, high = math.log(1e-3), math.log(1e6)  # convex in the logarithm of the order near its only minimum
    for _ in range(200):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if bound(math.exp(first)) < bound(math.exp(second)) else (first, high)
    return math.exp(bound(math.exp(low)))

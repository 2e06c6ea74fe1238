"""The cone of people with many rows: bounds from laws on the number of their rows.

In `shapes/people.py` a, b, D and E are explained; p is the probability of a person with all k rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gaussmith.numerics.products import Array


def total(a: Array, b: Array, D: float, E: float, k: int, p: float) -> float:
    """T for one law: its square bounds every Gaussian noise from below, at own numbers centred at zero."""
    q = p + (1 - p) / k**2
    tied = D * q + E + 2 * (1 - 1 / k) * math.sqrt(D * E * p * (1 - p))
    return float(a.sum() + math.sqrt(q) * b.sum()) + math.sqrt(tied)


def replaced_total(a: Array, b: Array, D: float, k: int, p: float) -> float:
    """The same under replace-one."""
    q, r = pair_moments(k, p)
    return float(2 * a.sum() + math.sqrt(q) * b.sum() + math.sqrt(D * r))


def pair_moments(k: int, p: float) -> tuple[float, float]:
    """E (t + t′)² and E (t − t′)² of two people with k rows each, with chance p, else with k rows and one."""
    return 4 * p + (1 - p) * (1 + 1 / k) ** 2, (1 - p) * (1 - 1 / k) ** 2


def best_share(value: Callable[[float], float]) -> float:
    """The p in [0, 1] at which a concave function is largest, by golden sections of the angle with sin² = p."""
    golden = (math.sqrt(5) - 1) / 2
    low, high = 0.0, math.pi / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    f, g = value(math.sin(left) ** 2), value(math.sin(right) ** 2)
    for _ in range(80):
        if f < g:
            low, left, f = left, right, g
            right = low + golden * (high - low)
            g = value(math.sin(right) ** 2)
        else:
            high, right, g = right, left, f
            left = high - golden * (high - low)
            f = value(math.sin(left) ** 2)
    return math.sin((low + high) / 2) ** 2

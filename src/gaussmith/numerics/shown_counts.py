"""Counts that are shown only above a bar: intervals and estimates that know it.

Of a group that is shown, the noisy count y is normal around the true n with standard deviation s, cut off below `bar`:

    R(n) = P(count ≥ y | shown) = Φ̄((y − n)/s) / Φ̄((bar − n)/s),      y ≥ bar

grows from 0 to 1 with n. The interval is {n : α/2 ≤ R(n) ≤ 1 − α/2}, the estimate the n with R(n) = ½, of which half
the estimates of a shown group lie above. Ordinary intervals miss small groups that were shown: their count was lucky.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from gaussmith.numerics.linear import Array

STEPS = 80
"""Halvings of a bracket: from hundreds of standard deviations to the last bits of a double."""

FARTHEST = 1e9
"""The bracket reaches so many standard deviations below the bar; an end beyond is told as infinite."""


def chance(count: Array, bar: Array, s: Array, people: Array) -> Array:
    """R(n), computed from logarithms, so that it holds far below the bar."""
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = log_ndtr((people - count) / s) - log_ndtr((people - bar) / s)
        return np.asarray(np.exp(np.minimum(ratio, 0.0)))


def people_at(count: Array, bar: Array, s: Array, level: float) -> Array:
    """The n with R(n) = level; −inf where the count lies at the bar itself."""
    count, bar, s = np.broadcast_arrays(*(np.asarray(a, float) for a in (count, bar, s)))
    high = count + 40.0 * s
    reach = np.ones_like(count)
    low = bar - reach * s
    for _ in range(64):
        wide = (chance(count, bar, s, low) > level) & (reach < FARTHEST)
        if not wide.any():
            break
        reach = np.where(wide, 2 * reach, reach)
        low = np.where(wide, bar - reach * s, low)
    unbounded = chance(count, bar, s, low) > level
    for _ in range(STEPS):
        middle = (low + high) / 2
        above = chance(count, bar, s, middle) > level
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(unbounded, -np.inf, (low + high) / 2)


def interval(count: Array, bar: Array, s: Array, confidence: float, least: float = 0.0) -> tuple[Array, Array]:
    """Ends of the intervals of the true numbers of people, none below `least`.

    >>> low, high = interval(np.array(25.0), np.array(16.91), np.array(3.73), 0.95)
    >>> round(float(low), 4), round(float(high), 4)
    (16.5125, 32.3095)
    """
    half = (1 - confidence) / 2
    low, high = people_at(count, bar, s, half), people_at(count, bar, s, 1 - half)
    return np.maximum(low, least), np.maximum(high, least)

"""Counts that are shown only above a bar: intervals and estimates that know it.

Of a group that is shown, the noisy count y is normal around the true n with standard deviation s, cut off below `bar`:

    R(n) = P(count ≥ y | shown) = Φ̄((y − n)/s) / Φ̄((bar − n)/s),      y ≥ bar

grows from 0 to 1 with n. The interval is {n : α/2 ≤ R(n) ≤ 1 − α/2}, the estimate the n with R(n) = ½, of which half
the estimates of a shown group lie above. Ordinary intervals miss small groups that were shown: their count was lucky.
"""

from __future__ import annotations

import numpy as np

from gaussmith.numerics.linear import Array

STEPS = 80
"""Halvings of a bracket: from hundreds of standard deviations to the last bits of a double."""

NEVER = -8.5
"""A normal number is below this with probability 1e-17: a bar there cuts off nothing that doubles can tell."""

FARTHEST = 1e9
"""The bracket reaches so many standard deviations below the bar; an end beyond is told as infinite."""


def chance(count: Array, bar: Array, s: Array, people: Array) -> Array:
    """R(n), computed from logarithms, so that it holds far below the bar."""
    from scipy.special import log_ndtr  # imported where it is used: start-up would take a fifth longer

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


def selected_quantile(p: float, k: Array, rho: Array) -> Array:
    """The p-quantile of a standard normal Z, given that another with which it has correlation ρ is above k.

        P(Z ≤ z | Z′ ≥ k) = (Φ(z) − Φ₂(z, k; ρ)) / Φ(−k)

    >>> selected_quantile(0.975, np.array(-40.0), np.array(0.5)).round(4).item()
    1.96
    """
    from scipy.special import ndtri

    ks, rhos = np.broadcast_arrays(np.asarray(k, float), np.clip(np.asarray(rho, float), -1 + 1e-12, 1 - 1e-12))
    found = np.full(ks.shape, float(ndtri(p)))
    near = ks > NEVER  # below it nothing is cut off
    found[near] = _selected(p, ks[near], rhos[near])
    return found


def _selected(p: float, k: Array, rho: Array) -> Array:
    from scipy.special import ndtr

    kept = ndtr(-k)
    low, high = np.full(k.shape, -40.0), np.full(k.shape, 40.0)
    for _ in range(60):
        middle = (low + high) / 2
        below = (ndtr(middle) - _both_below(middle, k, rho)) < p * kept
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)


def _both_below(h: Array, k: Array, rho: Array) -> Array:
    """Φ₂(h, k; ρ), by Owen's function."""
    from scipy.special import ndtr, owens_t

    root = np.sqrt((1 - rho) * (1 + rho))
    h = np.where(h == 0, 1e-300, h)
    k = np.where(k == 0, 1e-300, k)
    with np.errstate(over="ignore"):
        ah, ak = (k / h - rho) / root, (h / k - rho) / root
    apart = np.where(h * k < 0, 0.5, 0.0)
    return np.asarray((ndtr(h) + ndtr(k)) / 2 - owens_t(h, ah) - owens_t(k, ak) - apart)

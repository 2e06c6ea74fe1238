"""What a choice by the exponential mechanism costs, as ε and as μ; and by how much one person changes a rank.

The weights e^{εu/(2Δ)} of a utility that changes by at most Δ between neighbours have log ratios within a range of
length ε. A trade-off function with a loss of that range lies above the one of two outcomes with logit P − logit Q = ε,
and among those pairs the symmetric one, Q = 1/(1 + e^{ε/2}), needs the largest μ (docs/theory.md):

    μ(ε) = 2 Φ⁻¹(e^{ε/2} / (1 + e^{ε/2})),    the μ of randomised response at ε/2

A choice that may lose more than a range of ε, such as permute-and-flip, must not be charged so.
"""

from __future__ import annotations

import math
from fractions import Fraction

from gaussmith.numerics.exact import sqrt_downward
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.privacy.pure import covers_pure, gdp_of_pure

FINEST_LEVEL = 1 << 20
"""Levels of quantiles are fractions with at most this denominator, so that ranks are words."""


def gdp_of_choice(epsilon: Fraction) -> float:
    """The smallest μ with which every exponential mechanism at ε is μ-GDP, rounded up.

    Guarantee: what is chosen with weights e^{εu/(2Δ)} is μ-GDP. Requires (owed): 0 < ε. Rounding: up.

    >>> round(gdp_of_choice(Fraction(1)), 6)
    0.623893
    """
    return gdp_of_pure(epsilon / 2)


def choice_at(mu: float) -> Fraction:
    """The largest ε, as a double and at most 100, of an exponential mechanism that is μ-GDP; rounded down.

        ε(μ) = 2 ln(Φ(μ/2) / Φ(−μ/2)),    about 1.596 μ

    >>> round(float(choice_at(0.2367)), 5)
    0.37796
    """
    from scipy.special import log_ndtr

    found = min(2 * float(log_ndtr(mu / 2) - log_ndtr(-mu / 2)) * (1 + 2.0**-40), 100.0)
    while not covers_pure(mu, Fraction(found) / 2):
        found *= 1 - 2.0**-44
    return Fraction(found)


def level_of(level: float) -> Fraction:
    """The level of a quantile as it is used: the nearest fraction with a small denominator.

    >>> level_of(0.1), level_of(1 / 3)
    (Fraction(1, 10), Fraction(1, 3))
    """
    return Fraction(level).limit_denominator(FINEST_LEVEL)


def rank_sensitivity(level: Fraction, neighbours: str, rows: int = 1) -> Fraction:
    """Δ: by how much one person changes #below − q·n, for any cell. Rows that count: up to so many of a person.

    Added or removed, a person changes the rank by 1 − q or by −q; replaced, from below to above, by 1 whatever q is.

    >>> rank_sensitivity(Fraction(9, 10), "add-remove"), rank_sensitivity(Fraction(9, 10), "replace-one", rows=3)
    (Fraction(9, 10), Fraction(3, 1))
    """
    return rows * (max(level, 1 - level) if neighbours == ADD_REMOVE else Fraction(1))


def charge_of_choice(epsilon: Fraction, level: Fraction, neighbours: str, groups: int, grouped: bool) -> Fraction:
    """What choices in up to so many groups of a person take of μ², at Δ of `rank_sensitivity`; rounded up.

    Added or removed, a person changes each of its groups by Δ. Replaced, it changes within a group by Δ = 1, or leaves
    one and enters another, and changes each of both by max(q, 1−q), which costs a choice that part of its ε.

    >>> round(float(charge_of_choice(Fraction(1), Fraction(1, 2), "add-remove", 3, True)), 6)
    1.167726
    """
    within = Fraction(gdp_of_choice(epsilon)) ** 2
    if neighbours == ADD_REMOVE or not grouped:
        return groups * within
    moved = Fraction(gdp_of_choice(epsilon * max(level, 1 - level))) ** 2
    return groups * max(within, 2 * moved)


def choice_within(square: Fraction, level: Fraction, neighbours: str, groups: int, grouped: bool) -> Fraction:
    """The largest ε of a choice in each group that takes no more than this of μ² in all; rounded down."""
    each = square / groups
    found = choice_at(sqrt_downward(each))
    if neighbours == ADD_REMOVE or not grouped:
        return found
    part = max(level, 1 - level)
    moved = Fraction(float(choice_at(sqrt_downward(each / 2)) / part) * (1 - 2.0**-50))
    return min(found, moved, Fraction(100))


def spread_of_ranks(epsilon: Fraction, sensitivity: Fraction) -> float:
    """Root mean square of ranks that are chosen among cells finer than people: Laplace noise, √2 · 2Δ/ε.

    >>> round(spread_of_ranks(Fraction(1), Fraction(1, 2)), 6)
    1.414214
    """
    return math.sqrt(2) * 2 * float(sensitivity) / float(epsilon)

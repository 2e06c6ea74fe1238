"""Guarantees as events of dp_accounting, and back: for those who compose releases with that library.

A release of Gaussmith is the event of one Gaussian mechanism with noise multiplier 1/μ. Of other events, those are read
that μ covers: Gaussian and Laplace noise (which is pure ε-DP), and compositions of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from gaussmith.errors import GuaranteeError
from gaussmith.numerics.exact import fraction_down, fraction_up
from gaussmith.privacy.thresholds import DIGITS, normal_quantile, upper_tail

# Pure ε-differential privacy as Gaussian differential privacy: the smallest μ that covers it.
#
#     μ(ε) = 2 Φ⁻¹(e^ε / (1 + e^ε))
#
# Two neighbours of a pure ε-DP mechanism are at least as hard to tell apart as the two laws of randomised response,
# whose trade-off function has corners at (0, 1), (q, q) and (1, 0), q = 1/(1 + e^ε). That of N(0, 1) and N(μ, 1) is
# convex and ends at the same points: it lies below as soon as it does at q, which is where μ ≥ 2 Φ⁻¹(1 − q)
# (docs/theory.md).

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


def gaussian_event(mu: float) -> Any:
    """The event of a Gaussian mechanism at μ; its noise multiplier 1/μ rounded down, so that it promises no more."""
    dp_accounting = _library()
    return dp_accounting.GaussianDpEvent(noise_multiplier=fraction_down(1 / Fraction(mu)))


def squares_of(event: Any) -> Iterator[Fraction]:
    """The μ² of each mechanism in an event, never too small; refuses what μ does not cover."""
    dp_accounting = _library()
    if isinstance(event, dp_accounting.GaussianDpEvent) and event.noise_multiplier > 0:
        yield 1 / Fraction(event.noise_multiplier) ** 2
    elif isinstance(event, dp_accounting.LaplaceDpEvent) and event.noise_multiplier > 0:
        yield Fraction(mu_of_pure(1 / Fraction(event.noise_multiplier))) ** 2
    elif isinstance(event, dp_accounting.ComposedDpEvent):
        for each in event.events:
            yield from squares_of(each)
    elif isinstance(event, dp_accounting.SelfComposedDpEvent):
        yield event.count * sum(squares_of(event.event), Fraction(0))
    elif not isinstance(event, dp_accounting.NoOpDpEvent):
        raise GuaranteeError(
            f"a {type(event).__name__}",
            "no μ covers it: known are Gaussian and Laplace noise, and compositions of these",
            "charge an (ε, δ) that it satisfies to a ledger: gaussmith ledger add",
            code="event-not-covered",
            event=type(event).__name__,
        )


def _library() -> Any:
    try:
        import dp_accounting
    except ImportError:
        raise GuaranteeError(
            "dp_accounting is not installed",
            "events are values of that library",
            "install the package dp-accounting",
            code="dp-accounting-not-installed",
        ) from None
    return dp_accounting

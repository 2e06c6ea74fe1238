"""Pure ε-differential privacy: as Gaussian differential privacy, as a guess, and beside Gaussian noise.

Two neighbours of a pure ε-DP mechanism are at least as hard to tell apart as the two laws of randomised response, which
is right with probability p = e^ε/(1 + e^ε). Its trade-off function has corners at (0, 1), (1 − p, 1 − p) and (1, 0);
that of N(0, 1) and N(μ, 1) is convex and ends at the same points: it lies below as soon as it does at 1 − p, which is
where μ ≥ 2 Φ⁻¹(p). The converse is false: no μ implies a pure ε (docs/theory.md).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gaussmith.numerics.exact import fraction_up
from gaussmith.privacy.gaussian import delta_upward
from gaussmith.privacy.thresholds import DIGITS, mu_beside, normal_quantile, upper_tail

TINY = Fraction(1, 10**12)
"""Below this μ(ε) = 1.2533… ε to many digits, and twice ε is more."""

MOST_LOSSES = 1 << 12
"""So many combinations of losses are added up, at most; beyond, the two smallest ε are taken as one, their sum."""


def gdp_of_pure(epsilon: Fraction) -> float:
    """The smallest μ with which every ε-DP mechanism is μ-GDP, rounded up.

        μ(ε) = 2 Φ⁻¹(e^ε / (1 + e^ε))

    Guarantee: ε-DP implies μ-GDP. Requires (owed): 0 < ε. Rounding: up.

    >>> gdp_of_pure(Fraction(1))
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


def guess_of_pure(epsilon: Fraction) -> float:
    """How often an attacker can guess right, at most, whether a person is in the table: e^ε/(1 + e^ε), rounded up.

    >>> guess_of_pure(Fraction(1))
    0.7310585786300049
    """
    tail = _tail(epsilon)
    return min(1.0, _up(1 - tail, tail.context))


def delta_of_pure(epsilon: Fraction, at: Fraction) -> float:
    """δ with which every ε-DP mechanism is (at, δ)-DP: that of randomised response, rounded up; 0 from ε on.

        δ = (e^ε − e^at) / (1 + e^ε)

    >>> delta_of_pure(Fraction(1), Fraction(1)), round(delta_of_pure(Fraction(1), Fraction(0)), 6)
    (0.0, 0.462117)
    """
    if at >= epsilon:
        return 0.0
    tail = _tail(epsilon)
    mp = tail.context
    return min(1.0, _up((1 - tail) - tail * mp.exp(mp.mpf(at.numerator) / at.denominator), mp))


def delta_of_mixture(epsilon: Fraction, pure: Sequence[Fraction], mu: float, kappa: Fraction = Fraction(0)) -> float:
    """δ(ε) of one request with parts of pure ε_i beside Gaussian noise at μ, and found keys at κ; rounded up.

        δ(ε) = Σ over signs σ of Π p(σ_i) · δ_G(ε − Σ σ_i ε_i; μ),      p(±) = 1/(1 + e^∓ε_i)
        beside found keys:  κ + (1 − κ) · δ(ε − ln(1 − κ))

    Guarantee: every such request is (ε, δ)-DP, whatever its parts are; with κ = 0 and parts of randomised response it
    is so for no smaller δ. Requires (owed): ε ≥ 0, ε_i > 0, μ ≥ 0, 0 ≤ κ < 1. Rounding: up.

    >>> delta_of_mixture(Fraction(1), [Fraction(1, 2)], 0.3), delta_of_mixture(Fraction(1), [Fraction(1)], 0.0)
    (0.0047141963446009..., 0.0)
    """
    mp = upper_tail(0).context
    counts = _merged(pure)
    at = epsilon
    if kappa:
        log = mp.log1p(-mp.mpf(kappa.numerator) / kappa.denominator)
        at += _rational(-log * (1 - mp.mpf(10) ** (8 - DIGITS)))  # δ falls with ε: a smaller one is safe
    total = mp.zero
    for wins in itertools.product(*(range(count + 1) for count in counts.values())):
        weight, loss = mp.one, Fraction(0)
        for j, (each, count) in zip(wins, counts.items(), strict=True):
            tail = _tail(each)
            weight *= math.comb(count, j) * (1 - tail) ** j * tail ** (count - j)
            loss += (2 * j - count) * each
        total += weight * _delta_of_gaussian(at - loss, mu, mp)
    share = mp.mpf(kappa.numerator) / kappa.denominator
    result = share + (1 - share) * total
    return min(1.0, _up(result, mp)) if result else 0.0


def mu_beside_pure(epsilon: Fraction, delta: Fraction, kappa: Fraction, pure: Fraction) -> float:
    """The largest μ of Gaussian noise beside found keys at κ and pure noise at E = `pure`, asked in any order; rounded
    down.

        κ + (1 − κ) · (p · δ_G(t − E; μ) + (1 − p) · δ_G(t + E; μ)) ≤ δ,      t = ε − ln(1 − κ),  p = e^E/(1 + e^E)

    This is what a ledger leaves for noise, of which κ and E are reserved; it holds whoever asks, after whatever answers
    (docs/theory.md, statement 81). Requires (owed): 1e-90 ≤ ε − E, 0 ≤ κ < δ < 1.

    >>> mu_beside_pure(Fraction(3), Fraction(1, 10**6), Fraction(0), Fraction(1, 2))
    0.56076453647...
    """
    low = mu_beside(epsilon - pure, delta, kappa)  # as if pure noise always told for the person, and not against
    if not pure:
        return low
    high = 2 * low
    while _keeps_beside_pure(high, epsilon, delta, kappa, pure):
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _keeps_beside_pure(middle, epsilon, delta, kappa, pure) else (low, middle)
    return low


def _keeps_beside_pure(mu: float, epsilon: Fraction, delta: Fraction, kappa: Fraction, pure: Fraction) -> bool:
    return Fraction(delta_of_mixture(epsilon, [pure], mu, kappa)) <= delta


def _merged(pure: Sequence[Fraction]) -> Counter[Fraction]:
    """How often each ε comes, in few enough combinations: a part at ε₁ and one at ε₂ are one at ε₁ + ε₂ as well."""
    counts = Counter(pure)
    while math.prod(count + 1 for count in counts.values()) > MOST_LOSSES:
        first, second = sorted(counts.elements())[:2]
        counts = counts - Counter([first, second]) + Counter([first + second])
    return counts


def _delta_of_gaussian(epsilon: Fraction, mu: float, mp: Any) -> Any:
    """δ_G for an ε of either sign, at or above the truth: 1 − e^ε (1 − δ_G(−ε)) below 0."""
    if epsilon >= 0:
        return mp.mpf(delta_upward(epsilon, mu)) if mu else mp.zero
    above = mp.mpf(delta_upward(-epsilon, mu)) if mu else mp.zero
    return 1 - mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator) * (1 - above)


def _tail(epsilon: Fraction) -> Any:
    """1/(1 + e^ε), as a number of the context of tails."""
    mp = upper_tail(0).context
    return 1 / (1 + mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator))


def _up(value: Any, mp: Any) -> float:
    """The double at or above a positive number of so many digits."""
    return fraction_up(_rational(value * (1 + mp.mpf(10) ** (8 - DIGITS))))


def _rational(value: Any) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)

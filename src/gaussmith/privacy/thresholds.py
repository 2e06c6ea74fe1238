"""Keys found in the data: the exact privacy of Gaussian noise with a threshold, and thresholds on the safe side.

Every key that somebody has gets noise, and its group is shown if the noisy number of people is at least a threshold.
A person keeps at most m groups. With q the probability that a group of this person alone stays hidden,

    κ = 1 − q^m

and a person with a new keys (which nobody else has) out of j ≤ m moves the rest by μ√((j−a)/m). The exact curve is

    F(a) = 1 − Q + Q δ(ε − ln Q; √(μ²(m−a)/m + μ₀²)),      Q = q^a,                                        (1)

where μ₀ belongs to Gaussian answers released beside. Removing a person gives less (docs/theory.md has the proofs). If
z = ε/μ_tot − μ_tot/2 ≥ CORNER, the largest F is at a = 0 or a = m, so of several questions with found keys

    δ(ε) = max over N of  1 − Q_N + Q_N δ(ε − ln Q_N; √(μ₀² + Σ_{i∉N} μ_i²)),      Q_N = ∏_N (1 − κ_i).     (2)

Where z is smaller, κ + (1 − κ) δ(ε − ln(1 − κ); μ_tot) with 1 − κ = ∏(1 − κ_i) holds always, and is used instead.
All statements are rounded to the safe side: δ up, thresholds up, κ down where it is chosen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gaussmith.numerics.exact import Array, fraction_up, sqrt_upward
from gaussmith.privacy.gaussian import delta_is_at_most, delta_upward, mu_downward

CORNER = Fraction(84, 100)
"""From here on only the ends matter: z(z + φ(z)/Φ(z)) ≥ 1 holds for z ≥ 0.83993."""

MAX_VERTICES = 8
"""With more questions than this the bound that always holds is used."""

DIGITS = 60
"""Working digits of tails; results are confirmed on their safe side."""


class Found(NamedTuple):
    """One question about found keys: its μ over all of a person's groups, and the probability κ spent on its keys."""

    mu: float
    kappa: Fraction


# -- tails, with guard digits -------------------------------------------------------------------------------------


def upper_tail(x: Any) -> Any:
    """Φ(−x) to about DIGITS digits of itself, as a number of its own context; x is a rational, a double or such."""
    mp = _context()
    return mp.erfc(_number(mp, x) / mp.sqrt(2)) / 2


def shown_alone(kappa: Fraction, groups: int) -> Any:
    """p = 1 − (1 − κ)^(1/groups): with which probability one group of a single person may be shown; rounded down.

    Never by that formula, in which all digits cancel.
    """
    mp = _context()
    p = -mp.expm1(mp.log1p(-_number(mp, kappa)) / groups)
    return p * (1 - mp.mpf(10) ** (4 - DIGITS))


def normal_quantile(p: Any) -> Any:
    """x with Φ(−x) = p, for 0 < p < ½, by Newton's method on ln Φ(−x); as exact as the digits carried."""
    mp = _context()
    x = mp.sqrt(max(-2 * mp.log(2 * p), mp.mpf(10) ** -8))
    for _ in range(60):
        tail = upper_tail(x)
        step = (mp.log(tail) - mp.log(p)) * tail * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
        x += step
        if abs(step) < abs(x) * mp.mpf(10) ** (6 - DIGITS):
            break
    return x


def standard_threshold(kappa: Fraction, groups: int) -> float:
    """x = (τ − 1)/s: how many standard deviations of its noise the threshold lies above one person's count.

    >>> round(standard_threshold(Fraction(1, 10**5), 10), 6)
    4.753423
    """
    return float(normal_quantile(shown_alone(kappa, groups)))


# -- integer thresholds -------------------------------------------------------------------------------------------


def hides(threshold: int, person: int, kappa: Fraction, groups: int, noise_bits: int) -> bool:
    """Whether a person alone in `groups` groups shows none with probability at least 1 − κ, for certain.

    Φ((T − ½ − Y)/2^bits)^groups ≥ 1 − κ,   Y what the person adds: noise is round(2^bits Z)
    """
    distance = (Fraction(threshold) - Fraction(1, 2) - person) / (1 << noise_bits)
    return bool(upper_tail(distance) <= shown_alone(kappa, groups))


def integer_threshold(kappa: Fraction, groups: int, person: int, noise_bits: int) -> int:
    """The least integer T that the noisy integer of a count is compared with, so that `hides` holds.

    `person` is the largest integer that people add who may not be told apart: one person's, or that of a floor.

    >>> integer_threshold(Fraction(1, 10**6), 10, 381726310023117, 52)
    23797460731032074
    """
    mp = _context()
    x = normal_quantile(shown_alone(kappa, groups))
    threshold = int(mp.ceil(x * (1 << noise_bits) + mp.mpf(1) / 2)) + person
    while not hides(threshold, person, kappa, groups, noise_bits):
        threshold += 1
    while hides(threshold - 1, person, kappa, groups, noise_bits):
        threshold -= 1
    return threshold


def shows_geometric(threshold: int, hidden: int, rate: Fraction) -> Any:
    """P(Z ≥ T − L) of one number of geometric noise, P(Z = z) ∝ e^{−rate·|z|}: q^{T−L}/(1 + q), for T > L."""
    mp = _context()
    rate_ = _number(mp, rate)
    return mp.exp(-rate_ * (threshold - hidden)) / (1 + mp.exp(-rate_))


def geometric_threshold(kappa: Fraction, groups: int, epsilon: Fraction, hidden: int = 1, sensitivity: int = 1) -> int:
    """The least T at which a group is shown if its count with geometric noise of ε/(m·sensitivity) is at least T.

    A person is in at most m groups, and changes the count of each by at most `sensitivity`; a group that may not be
    told from none has a count of at most `hidden`: 1 for people, k with a floor k, rows_per_unit for rows. With p the
    probability that such a group is shown,

        1 − (1 − p)^m ≤ κ    and    p ≤ 1 − e^{−ε/m},

    and all noisy counts of shown groups together are (ε, κ)-DP: shown groups that nobody else has come with probability
    κ at most; if all of them stay hidden, each does with a factor from e^{−ε/m} to 1, and every other group is ε/m-DP.
    Rounding: up.

    >>> geometric_threshold(Fraction(1, 10**5), 1, Fraction(1)), geometric_threshold(Fraction(1, 10**5), 3, Fraction(1))
    (13, 38)
    """
    mp = _context()
    rate = epsilon / (groups * sensitivity)
    removed = -mp.expm1(-_number(mp, epsilon) / groups) * (1 - mp.mpf(10) ** (4 - DIGITS))
    most = min(shown_alone(kappa, groups), removed)
    above = -(mp.log(most) + mp.log1p(mp.exp(-_number(mp, rate)))) / _number(mp, rate)
    threshold = hidden + max(1, int(mp.ceil(above)) - 1)
    while shows_geometric(threshold, hidden, rate) > most:
        threshold += 1
    return threshold


def look_threshold(
    kappa: Fraction, weights: tuple[int, int], persons: Sequence[tuple[int, int]], looks: int, noise_bits: int
) -> int:
    """The least T for a·Û + b·V̂ ≥ T, one of `looks` ways to be shown, as an upper bound: exact up to rounding.

    `persons[j − 1]` is the largest (Y_u, Y_v) at which a group of a person in j groups may still have to be hidden.
    Each of its j groups is shown by this look with probability at most p_j/looks, p_j = 1 − (1 − κ)^(1/j). Û and V̂
    each carry round(2^bits Z), so that half a unit of either counts: ½(|a| + |b|).
    """
    mp = _context()
    a, b = weights
    sd = mp.sqrt(a * a + b * b) * (1 << noise_bits) * (1 + mp.mpf(10) ** (8 - DIGITS))
    highest = None
    for j, (u, v) in enumerate(persons, start=1):
        x = normal_quantile(shown_alone(kappa, j) / looks) * (1 + mp.mpf(10) ** (8 - DIGITS))
        threshold = a * u + b * v + int(mp.ceil(sd * x + mp.mpf(abs(a) + abs(b)) / 2))
        highest = threshold if highest is None else max(highest, threshold)
    assert highest is not None, "a person is in at least one group"
    return highest


# -- the curve ----------------------------------------------------------------------------------------------------


def delta_of_case(epsilon: Fraction, groups: int, mu: float, hidden: Any, new: int, beside: float = 0.0) -> Any:
    """F(a) of (1), to many digits, where each new group stays hidden with probability `hidden`.

    >>> float(delta_of_case(Fraction(1), 10, 0.268, 1 - upper_tail(4.75), 3))
    3.36161450943...e-06
    """
    mp = _context()
    Q = _number(mp, hidden) ** new
    square = _number(mp, mu) ** 2 * (groups - new) / groups + _number(mp, beside) ** 2
    return 1 - Q + Q * _delta(mp, _number(mp, epsilon) - mp.log(Q), mp.sqrt(square))


def delta_upper(epsilon: Fraction, found: Sequence[Found], beside: float = 0.0) -> float:
    """δ(ε) of Gaussian answers at μ₀ = `beside` with questions about found keys in one release; rounded up.

    >>> delta_upper(Fraction(1), [Found(0.2, Fraction(1, 2**20))]) == 2.0**-20
    True
    """
    return max(_beside(epsilon, kappa, mu) for kappa, mu in _cases(epsilon, found, beside))


def keeps(delta: Fraction, epsilon: Fraction, found: Sequence[Found], beside: float = 0.0) -> bool:
    """Whether δ(ε) ≤ δ for certain, by 60 digits."""
    return all(_keeps(delta, epsilon, kappa, mu) for kappa, mu in _cases(epsilon, found, beside))


def _cases(epsilon: Fraction, found: Sequence[Found], beside: float) -> Iterator[tuple[Fraction, float]]:
    """The (κ, μ) of which the largest κ + (1 − κ) δ(ε − ln(1 − κ); μ) is δ(ε): vertices, or one bound for all."""
    total = _root([*(each.mu for each in found), beside])
    if len(found) > MAX_VERTICES or not _at_corner(epsilon, total):
        yield _shown([each.kappa for each in found]), total
        return
    for chosen in itertools.product((False, True), repeat=len(found)):
        new = [each.kappa for each, is_new in zip(found, chosen, strict=True) if is_new]
        old = [each.mu for each, is_new in zip(found, chosen, strict=True) if not is_new]
        yield _shown(new), _root([*old, beside])


def largest_kappa(epsilon: Fraction, delta: Fraction, mus: Sequence[float], beside: float = 0.0) -> Fraction:
    """The largest κ, the same for each question, that keeps δ(ε) ≤ δ; 0 if there is none. Rounded down.

    >>> largest_kappa(Fraction(1), Fraction(1, 10**5), [mu_downward(1, Fraction(1, 10**5))]) == Fraction(1, 10**5)
    True
    """

    def fits(kappa: Fraction) -> bool:
        return keeps(delta, epsilon, [Found(mu, kappa) for mu in mus], beside)

    if fits(delta):
        return delta
    low, high = Fraction(0), delta
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def mu_beside(epsilon: Fraction, delta: Fraction, kappa: Fraction) -> float:
    """The largest μ with κ + (1 − κ) δ(ε − ln(1 − κ); μ) ≤ δ, whatever is asked in which order; rounded down.

    This is what a ledger leaves for noise, of which `kappa` is reserved for keys.
    Requires (owed): 0 ≤ κ < δ < 1.

    >>> round(mu_beside(Fraction(1), Fraction(1, 10**5), Fraction(1, 10**6)), 5)
    0.26636
    """
    return mu_downward(min(_higher(epsilon, kappa), Fraction(100)), (delta - kappa) / (1 - kappa))


def _shown(kappas: Sequence[Fraction]) -> Fraction:
    """1 − ∏(1 − κ)."""
    return 1 - math.prod((1 - kappa for kappa in kappas), start=Fraction(1))


def _beside(epsilon: Fraction, kappa: Fraction, mu: float) -> float:
    """κ + (1 − κ) δ(ε − ln(1 − κ); μ), rounded up."""
    if mu == 0:
        return fraction_up(kappa)
    return fraction_up(kappa + (1 - kappa) * Fraction(delta_upward(_higher(epsilon, kappa), mu)))


def _keeps(delta: Fraction, epsilon: Fraction, kappa: Fraction, mu: float) -> bool:
    """Whether κ + (1 − κ) δ(ε − ln(1 − κ); μ) ≤ δ for certain."""
    if mu == 0 or kappa > delta:
        return kappa <= delta
    rest = (delta - kappa) / (1 - kappa)
    return rest > 0 and delta_is_at_most(rest, _higher(epsilon, kappa), mu)


def _higher(epsilon: Fraction, kappa: Fraction) -> Fraction:
    """ε − ln(1 − κ), rounded down: the series is cut."""
    return epsilon + sum((kappa**n / n for n in range(1, 5)), start=Fraction(0))


def _root(mus: Sequence[float]) -> float:
    return sqrt_upward(sum((Fraction(mu) ** 2 for mu in mus), start=Fraction(0)))


def _at_corner(epsilon: Fraction, mu: float) -> bool:
    return mu == 0 or epsilon / Fraction(mu) - Fraction(mu) / 2 >= CORNER


def _delta(mp: Any, epsilon: Any, mu: Any) -> Any:
    """δ(ε; μ) for any real ε."""
    if mu == 0:
        return mp.zero if epsilon >= 0 else 1 - mp.exp(epsilon)
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    root = mp.sqrt(2)
    return (mp.erfc(-a / root) - mp.exp(epsilon) * mp.erfc(-b / root)) / 2


_CONTEXT: Any = None


def _context() -> Any:
    """A context of its own, whose precision never changes: so threads may share it."""
    global _CONTEXT
    if _CONTEXT is None:
        import mpmath

        context = mpmath.MPContext()
        context.dps = DIGITS
        _CONTEXT = context
    return _CONTEXT


def _number(mp: Any, value: Any) -> Any:
    return mp.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mp.mpf(value)


# Counts that are shown only above a bar: intervals and estimates that know it.
#
# Of a group that is shown, the noisy count y is normal around the true n with standard deviation s, cut off below
# `bar`:
#
#     R(n) = P(count ≥ y | shown) = Φ̄((y − n)/s) / Φ̄((bar − n)/s),      y ≥ bar
#
# grows from 0 to 1 with n. The interval is {n : α/2 ≤ R(n) ≤ 1 − α/2}, the estimate the n with R(n) = ½, of which
# half the estimates of a shown group lie above. Ordinary intervals miss small groups that were shown: their count was
# lucky.

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

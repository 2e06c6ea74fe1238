"""The curve of Gaussian noise: which (ε, δ) a release of parameter μ satisfies, and its two inverses.

    δ(ε; μ) = Φ(a) − e^ε Φ(b),      a = μ/2 − ε/μ,   b = −μ/2 − ε/μ,      ε ≥ 0, μ > 0          (1)

It is exact, for both directions of neighbours. Its derivative in μ is φ(a), so that

    δ(ε; μ) = ∫₀^μ φ(m/2 − ε/m) dm,      1 − δ(ε; μ) = ∫_μ^∞ φ(m/2 − ε/m) dm.                    (2)

Why Newton's method is safe here: the logarithm of the integrand in (2) is concave in m, and concave in ln m once the
factor m of the substitution is included. So ln δ and ln(1−δ) are concave in μ and in ln μ, and Newton's steps approach
the root from one side (after at most one step across it). As a function of ε, δ is the convolution of two log-concave
functions, hence log-concave too. No bracket is needed and the steps cannot run away.

All arithmetic is in multiple precision with guard bits for the cancellation in (1); an answer is a double that was
confirmed on its safe side with 60 digits. Arguments are doubles or rationals and are taken at their exact value.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any

from gaussmith.numerics.exact import fraction_down, fraction_up

Number = float | Fraction

SEARCH_BITS = 60
CONFIRM_BITS = 200
"""60 digits, for the final check of every answer."""

_SMALLEST_DOUBLE = 5e-324
_FAR = 1e100  # beyond this many standard deviations only the leading term −a²/2 of ln δ is visible in a double
_contexts = threading.local()


def mu_downward(epsilon: Number, delta: Number) -> float:
    """The largest double μ with δ(ε; μ) ≤ δ: the calibration of Gaussian noise, never on the unsafe side.

        max { μ : Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) ≤ δ }

    Guarantee: δ(ε; result) ≤ δ, confirmed with 60 digits (so that a tie closer than 1e-50 gives the double below).
    Requires (owed): 1e-90 ≤ ε ≤ 100, 0 < δ < 1. Rounding: down.

    >>> mu_downward(1, Fraction(1, 10**6))
    0.2367043806634357
    """
    mp = _context()
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    near_one = 2 * delta > 1

    def newton_factor(mu: Any, bits: int) -> Any:
        """By how much to multiply μ: Newton's step in ln μ on ln δ, or in μ on ln(1−δ) if δ > ½."""
        d, rest, density, _ = _curve(mp, epsilon, mu, bits)
        if near_one:
            return 1 + mp.log(rest / _mpf(mp, 1 - delta)) * rest / (density * mu)
        return mp.exp(mp.log(_mpf(mp, delta) / d) * d / (density * mu))

    # Both starting values are safe: ρ-zCDP's conversion ε = μ²/2 + μ√(2 ln 1/δ), and δ(ε; μ) ≤ δ(0; μ) ≤ μ/√(2π).
    e, log_delta = float(epsilon), _log(delta)
    start = 2 * e / (math.sqrt(2 * e - 2 * log_delta) + math.sqrt(-2 * log_delta))
    mp.prec = CONFIRM_BITS
    mu = mp.mpf(max(start, float(delta) * math.sqrt(2 * math.pi)))
    for bits, enough in ((SEARCH_BITS, 2.0**-30), (2 * SEARCH_BITS, 2.0**-50)):
        factor = mp.inf
        while abs(factor - 1) > enough:
            factor = newton_factor(mu, bits)
            mu *= factor
    candidate = fraction_down(_fraction(mu))
    while not delta_is_at_most(delta, epsilon, candidate):
        candidate = math.nextafter(candidate, 0.0)
    return candidate


def delta_upward(epsilon: Number, mu: Number) -> float:
    """The smallest double at or above δ(ε; μ); at ε = 0 that of 2Φ(μ/2) − 1. Never 0: at least 5e-324.

    Guarantee: result ≥ δ(ε; μ). Requires (owed): ε ≥ 0 finite, 1e-100 ≤ μ ≤ 1e100. Rounding: up, by 60 digits.

    >>> delta_upward(1, 1.0), delta_upward(10, 0.05)
    (0.12693673750664397, 5e-324)
    """
    if _is_far(Fraction(epsilon), mu):
        return _SMALLEST_DOUBLE
    mp = _context()
    d, _, _, _ = _curve(mp, Fraction(epsilon), mu, CONFIRM_BITS)
    d *= 1 + _slack(mp)
    return _SMALLEST_DOUBLE if d < _SMALLEST_DOUBLE else fraction_up(min(_fraction(d), Fraction(1)))


def epsilon_upward(delta: Number, mu: Number) -> float:
    """The smallest ε ≥ 0 with δ(ε; μ) ≤ δ, as a double on the safe side (at or above; relative excess below 1e-15).

    Guarantee: δ(result; μ) ≤ δ, confirmed with 60 digits; 0 when already δ(0; μ) ≤ δ.
    Requires (owed): 0 < δ < 1, 1e-100 ≤ μ ≤ 1e100. Rounding: up.

    >>> epsilon_upward(1e-6, 1.0), epsilon_upward(0.5, 1.0)
    (4.886554117462213, 0.0)
    """
    mp = _context()
    delta = Fraction(delta)
    if delta_is_at_most(delta, 0, mu):
        return 0.0
    mp.prec = CONFIRM_BITS
    m = _mpf(mp, mu)
    # A start on the safe side, from which Newton's steps on the concave ln δ(ε) descend to the root.
    epsilon = m * (m / 2 + math.sqrt(-2 * _log(delta)))
    for bits, enough, floor in ((SEARCH_BITS, 2.0**-30, 2.0**-40), (CONFIRM_BITS, 2.0**-60, 2.0**-100)):
        step = mp.inf
        while abs(step) > enough * max(epsilon, floor * m):
            d, rest, _, slope = _curve(mp, _fraction(epsilon), mu, bits)
            difference = _mpf(mp, 1 - delta) - rest if 2 * delta > 1 else d - _mpf(mp, delta)
            step = -mp.log1p(difference / _mpf(mp, delta)) * d / slope
            epsilon = max(epsilon + step, mp.zero)
    answer = fraction_up(_fraction(epsilon))
    pad = 2.0**-54
    while math.isfinite(answer) and not delta_is_at_most(delta, answer, mu):
        answer += pad * max(answer, floor * float(mu))
        pad *= 2
    return answer


def delta_is_at_most(delta: Number, epsilon: Number, mu: Number) -> bool:
    """Whether δ(ε; μ) ≤ δ for certain, by 60 digits: a tie within 1e-50 counts as no."""
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    if _is_far(epsilon, mu):
        return delta >= _SMALLEST_DOUBLE
    mp = _context()
    d, rest, _, _ = _curve(mp, epsilon, mu, CONFIRM_BITS)
    if 2 * delta > 1:
        return bool(rest * (1 - _slack(mp)) >= _mpf(mp, 1 - delta))
    return bool(d * (1 + _slack(mp)) <= _mpf(mp, delta))


def log_delta(epsilon: Number, mu: Number) -> float:
    """ln δ(ε; μ), correct to one or two units in the last place; for δ too small for a double.

    >>> log_delta(10, 0.05)
    -20009.51169301767
    """
    epsilon = Fraction(epsilon)
    if epsilon > _FAR * mu:
        return float(-((epsilon / Fraction(mu)) ** 2) / 2) if epsilon < 1e150 * mu else -math.inf
    mp = _context()
    d, rest, _, _ = _curve(mp, epsilon, mu, CONFIRM_BITS)
    return float(mp.log(d) if d < 0.5 else mp.log1p(-rest))


def delta_digits(epsilon: Number, mu: Number, digits: int = 17) -> str:
    """δ(ε; μ) in decimal, however small, rounded to the given number of digits (at most 50).

    >>> delta_digits(10, 0.05, digits=6)
    '9.53863e-8691'
    """
    mp = _context()
    d, _, _, _ = _curve(mp, Fraction(epsilon), mu, CONFIRM_BITS)
    return str(mp.nstr(d, digits, min_fixed=0, max_fixed=0))


def _curve(mp: Any, epsilon: Fraction, mu: Any, bits: int) -> tuple[Any, Any, Any, Any]:
    """δ, 1 − δ, ∂δ/∂μ = φ(a) and ∂δ/∂ε = −e^ε Φ(b), each to about `bits` bits of itself; leaves `mp.prec` raised.

    μ is a double, a rational, or a number of the context, which is taken as exact.
    """
    m, e = float(mu), float(epsilon)
    t, h = e / m, m / 2
    # Subtracting loses the bits of Φ(a)/δ, about max(1, t)/μ; an error of a is magnified by up to 2a² in Φ(a).
    lost = max(0.0, -math.log2(m)) + (math.log2(t) if t > 1 else 0.0) + 2 * math.log2(2 + t + h)
    mp.prec = bits + math.ceil(lost) + 16
    E, mu = _mpf(mp, epsilon), _mpf(mp, mu)
    a, b = mu / 2 - E / mu, -mu / 2 - E / mu
    root = mp.sqrt(2)
    tail = mp.exp(E) * mp.erfc(-b / root) / 2
    smaller = mp.erfc(abs(a) / root) / 2
    near, far = (smaller, 1 - smaller) if a < 0 else (1 - smaller, smaller)
    density = mp.exp(-a * a / 2) / mp.sqrt(2 * mp.pi)
    return near - tail, far + tail, density, -tail


def _is_far(epsilon: Fraction, mu: Number) -> bool:
    """Whether a < −100, hence δ ≤ Φ(a) far below the smallest double (Φ(−39) is)."""
    return epsilon > (Fraction(mu) / 2 + 100) * Fraction(mu)


def _slack(mp: Any) -> Any:
    """Relative error allowed to `_curve` when it is asked for CONFIRM_BITS: far more than it makes."""
    return mp.ldexp(1, 30 - CONFIRM_BITS)


def _context() -> Any:
    """This thread's own multiple-precision context: precision is state, and must not be shared."""
    context = getattr(_contexts, "mp", None)
    if context is None:
        import mpmath

        context = _contexts.mp = mpmath.MPContext()
    return context


def _mpf(mp: Any, value: Number) -> Any:
    """A number at the context's present precision; doubles are exact from 53 bits on."""
    return mp.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mp.mpf(value)


def _fraction(value: Any) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    magnitude = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -magnitude if sign else magnitude


def _log(delta: Fraction) -> float:
    return math.log(delta) if 2 * delta <= 1 else math.log1p(-float(1 - delta))

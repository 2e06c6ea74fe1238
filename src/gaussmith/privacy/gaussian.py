"""The curve of Gaussian noise: which (ε, δ) a release of parameter μ satisfies, and its two inverses.

    δ(ε; μ) = Φ(a) − e^ε Φ(b),      a = μ/2 − ε/μ,   b = −μ/2 − ε/μ,      ε ≥ 0, μ > 0          (1)

It is exact, for both directions of neighbours. Its derivative in μ is φ(a), so that

    δ(ε; μ) = ∫₀^μ φ(m/2 − ε/m) dm,      1 − δ(ε; μ) = ∫_μ^∞ φ(m/2 − ε/m) dm.                    (2)

Why Newton's method is safe here: the logarithm of the integrand in (2) is concave in m, and concave in ln m once the
factor m of the substitution is included. So ln δ and ln(1−δ) are concave in μ and in ln μ, and Newton's steps approach
the root from one side (after at most one step across it). As a function of ε, δ is the convolution of two log-concave
functions, hence log-concave too. No bracket is needed and the steps cannot run away.

With e^ε φ(b) = φ(a) and the scaled tail R(x) = exp(x²/2) Φ(−x), both terms of (1) have one factor, for a ≤ 0

    δ(ε; μ) = e^(−a²/2) (R(|a|) − R(|b|)),                                                        (3)

so that nothing overflows. All arithmetic is in decimals with guard digits for the cancellation in (3); an answer is a
double that was confirmed on its safe side with 60 digits. Arguments are doubles or rationals, at their exact value.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from gaussmith.numerics.exact import fraction_down, fraction_up

# Functions of the normal distribution in decimal arithmetic of any precision, to about as many digits as it has.
#
# Python's own decimals: exp, ln and sqrt round correctly, exponents reach 10^18, and nothing needs to be imported
# that is not there already.

EXTRA = 10
"""Digits beyond those asked for, inside a function."""


def precision(digits: int) -> decimal.Context:
    """A context of so many digits, for `decimal.localcontext`; what is too small for its exponents is 0."""
    traps = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
    low, high = decimal.MIN_EMIN, decimal.MAX_EMAX
    return decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_EVEN, Emin=low, Emax=high, traps=traps)


def rational(value: float | Fraction | Decimal) -> Decimal:
    """A number in the present context; doubles and decimals are exact."""
    return Decimal(value.numerator) / value.denominator if isinstance(value, Fraction) else Decimal(value)


@lru_cache(maxsize=64)
def pi(digits: int) -> Decimal:
    """π by Machin's formula, 16 arctan 1/5 − 4 arctan 1/239.

    >>> pi(40)
    Decimal('3.141592653589793238462643383279502884197')
    """
    unit: int = 10 ** (digits + EXTRA)

    def arctan(inverse: int) -> int:
        term = total = unit // inverse
        k = 1
        while term:
            term //= -inverse * inverse
            k += 2
            total += term // k
        return total

    with decimal.localcontext(precision(digits)):
        return Decimal(4 * (4 * arctan(5) - arctan(239))) / unit


def scaled_erfc(x: Decimal) -> Decimal:
    """exp(x²)·erfc(x) for x ≥ 0, to about the digits of the present context.

    Small x: exp(x²) − (2x/√π) Σₙ (2x²)ⁿ/(2n+1)!!, in which x²/ln 10 digits cancel. Large x: Laplace's continued
    fraction 1/(x + ½/(x + 1/(x + …)))/√π; its terms are positive, so the value lies between any two convergents.

    >>> with decimal.localcontext(precision(30)):
    ...     +scaled_erfc(Decimal(1)), +scaled_erfc(Decimal(20))
    (Decimal('0.427583576155807004410750344491'), Decimal('0.0281743487410513193186491545345'))
    """
    digits = decimal.getcontext().prec + EXTRA
    if 2 * x * x > digits:
        with decimal.localcontext(precision(digits)):
            return _convergent(x, digits) / pi(digits).sqrt()
    digits += math.ceil(float(x) ** 2 / math.log(10)) + EXTRA
    with decimal.localcontext(precision(digits)):
        square = 2 * x * x
        term = total = Decimal(1)
        n, enough = 1, Decimal(10) ** -digits
        while term > enough * total:
            n += 2
            term = term * square / n
            total += term
        return (x * x).exp() - 2 * x * total / pi(digits).sqrt()


def _convergent(x: Decimal, digits: int) -> Decimal:
    """Laplace's continued fraction 1/(x + ½/(x + 1/(x + …))), between two convergents that agree to so many digits.

    Less five: that is above the rounding of thousands of steps, so that they always come to agree.
    """
    above, above_before = Decimal(1), Decimal(0)
    below, below_before = x, Decimal(1)
    k, enough = 0, Decimal(10) ** (5 - digits)
    while True:
        k += 1
        half = Decimal(k) / 2
        above, above_before = x * above + half * above_before, above
        below, below_before = x * below + half * below_before, below
        found, before = above / below, above_before / below_before
        if abs(found - before) <= enough * found:
            return found


Number = float | Fraction

SEARCH, CONFIRM = 20, 60
"""Digits of a search for an answer, and of the final check of every answer."""

WORKING = 100
"""Digits in which values of the curve are compared and steps are taken."""

_SLACK = Decimal(10) ** (10 - CONFIRM)
"""Relative error allowed to `_curve` when it is asked for CONFIRM digits: far more than it makes."""

_SMALLEST_DOUBLE = 5e-324
_FAR = 1e100  # beyond this many standard deviations only the leading term −a²/2 of ln δ is visible in a double


def mu_downward(epsilon: Number, delta: Number) -> float:
    """The largest double μ with δ(ε; μ) ≤ δ: the calibration of Gaussian noise, never on the unsafe side.

        max { μ : Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) ≤ δ }

    Guarantee: δ(ε; result) ≤ δ, confirmed with 60 digits (so that a tie closer than 1e-50 gives the double below).
    Requires (owed): 1e-90 ≤ ε ≤ 100, 0 < δ < 1. Rounding: down.

    >>> mu_downward(1, Fraction(1, 10**6))
    0.2367043806634357
    """
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    near_one = 2 * delta > 1

    def newton_factor(mu: Decimal, digits: int) -> Decimal:
        """By how much to multiply μ: Newton's step in ln μ on ln δ, or in μ on ln(1−δ) if δ > ½."""
        at = _curve(epsilon, mu, digits)
        if near_one:
            return 1 + (at.rest / rational(1 - delta)).ln() * at.rest / (at.density * mu)
        return ((rational(delta) / at.delta).ln() * at.delta / (at.density * mu)).exp()

    # Both starting values are safe: ρ-zCDP's conversion ε = μ²/2 + μ√(2 ln 1/δ), and δ(ε; μ) ≤ δ(0; μ) ≤ μ/√(2π).
    e, log_delta = float(epsilon), _log(delta)
    start = 2 * e / (math.sqrt(2 * e - 2 * log_delta) + math.sqrt(-2 * log_delta))
    start = max(start, float(delta) * math.sqrt(2 * math.pi))
    with localcontext(precision(WORKING)):
        mu = Decimal(start if near_one else _nearer(start, e, log_delta))
        for digits, enough in ((SEARCH, Decimal("1e-9")), (2 * SEARCH, Decimal("1e-15"))):
            factor = Decimal(0)
            while abs(factor - 1) > enough:
                factor = newton_factor(mu, digits)
                mu *= factor
        candidate = fraction_down(Fraction(mu))
    while not delta_is_at_most(delta, epsilon, candidate):
        candidate = math.nextafter(candidate, 0.0)
    return candidate


def _nearer(mu: float, epsilon: float, log_delta: float) -> float:
    """A start near the root, by Newton's steps in doubles; the one given where they do not come to rest.

    Steps in decimals follow, so nothing depends on it but their number.
    """
    found, step = mu, math.inf
    for _ in range(20):
        a, b = found / 2 - epsilon / found, -found / 2 - epsilon / found
        delta = (math.erfc(-a / math.sqrt(2)) - math.exp(epsilon) * math.erfc(-b / math.sqrt(2))) / 2
        density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
        if not (delta > 0 and density > 0):
            return mu
        step = (log_delta - math.log(delta)) * delta / (density * found)
        if abs(step) > 1:
            return mu
        found *= math.exp(step)
        if abs(step) < 1e-9:
            return found
    return mu


def delta_upward(epsilon: Number, mu: Number) -> float:
    """The smallest double at or above δ(ε; μ); at ε = 0 that of 2Φ(μ/2) − 1. Never 0: at least 5e-324.

    Guarantee: result ≥ δ(ε; μ). Requires (owed): ε ≥ 0 finite, 1e-100 ≤ μ ≤ 1e100. Rounding: up, by 60 digits.

    >>> delta_upward(1, 1.0), delta_upward(10, 0.05)
    (0.12693673750664397, 5e-324)
    """
    if _is_far(Fraction(epsilon), mu):
        return _SMALLEST_DOUBLE
    with localcontext(precision(WORKING)):
        d = _curve(Fraction(epsilon), mu, CONFIRM).delta * (1 + _SLACK)
    return _SMALLEST_DOUBLE if d < _SMALLEST_DOUBLE else fraction_up(min(Fraction(d), Fraction(1)))


def epsilon_upward(delta: Number, mu: Number) -> float:
    """The smallest ε ≥ 0 with δ(ε; μ) ≤ δ, as a double on the safe side (at or above; relative excess below 1e-15).

    Guarantee: δ(result; μ) ≤ δ, confirmed with 60 digits; 0 when already δ(0; μ) ≤ δ.
    Requires (owed): 0 < δ < 1, 1e-100 ≤ μ ≤ 1e100. Rounding: up.

    >>> epsilon_upward(1e-6, 1.0), epsilon_upward(0.5, 1.0)
    (4.886554117462213, 0.0)
    """
    delta = Fraction(delta)
    if delta_is_at_most(delta, 0, mu):
        return 0.0
    floor = 1e-30
    with localcontext(precision(WORKING)):
        m = rational(mu)
        # A start on the safe side, from which Newton's steps on the concave ln δ(ε) descend to the root.
        epsilon = m * (m / 2 + Decimal(math.sqrt(-2 * _log(delta))))
        for digits, enough, least in ((SEARCH, Decimal("1e-9"), "1e-12"), (CONFIRM, Decimal("1e-18"), "1e-30")):
            step = Decimal("inf")
            while abs(step) > enough * max(epsilon, Decimal(least) * m):
                at = _curve(Fraction(epsilon), mu, digits)
                difference = rational(1 - delta) - at.rest if 2 * delta > 1 else at.delta - rational(delta)
                step = -_log_above(difference / rational(delta)) * at.delta / at.slope
                epsilon = max(epsilon + step, Decimal(0))
        answer = fraction_up(Fraction(epsilon))
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
    with localcontext(precision(WORKING)):
        at = _curve(epsilon, mu, CONFIRM)
        if 2 * delta > 1:
            return at.rest * (1 - _SLACK) >= rational(1 - delta)
        return at.delta * (1 + _SLACK) <= rational(delta)


def log_delta(epsilon: Number, mu: Number) -> float:
    """ln δ(ε; μ), correct to one or two units in the last place; for δ too small for a double.

    >>> log_delta(10, 0.05)
    -20009.51169301767
    """
    epsilon = Fraction(epsilon)
    if epsilon > _FAR * mu:
        return float(-((epsilon / Fraction(mu)) ** 2) / 2) if epsilon < 1e150 * mu else -math.inf
    with localcontext(precision(WORKING)):
        at = _curve(epsilon, mu, CONFIRM)
        return float(at.log if at.delta < Decimal("0.5") else _log_above(-at.rest))


def delta_digits(epsilon: Number, mu: Number, digits: int = 17) -> str:
    """δ(ε; μ) in decimal, however small, rounded to the given number of digits (at most 50).

    >>> delta_digits(10, 0.05, digits=6)
    '9.53863e-8691'
    """
    at = _curve(Fraction(epsilon), mu, CONFIRM)
    with localcontext(precision(WORKING)):
        d, power = at.delta, 0
        if not d:  # too small even for a decimal: its logarithm is not
            with localcontext(precision(WORKING + at.log.adjusted())):
                power = int(at.log / Decimal(10).ln())
                d = (at.log - power * Decimal(10).ln()).exp()
    mantissa, exponent = f"{d:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0")
    power += int(exponent)
    return f"{mantissa}{'0' if mantissa.endswith('.') else ''}{f'e{power:+}' if power else ''}"


@dataclass(frozen=True, eq=False)
class _At:
    """The curve at one point: δ, 1 − δ, ∂δ/∂μ = φ(a), ∂δ/∂ε = −e^ε Φ(b), and ln δ."""

    delta: Decimal
    rest: Decimal
    density: Decimal
    slope: Decimal
    log: Decimal


def _curve(epsilon: Fraction, mu: float | Fraction | Decimal, digits: int) -> _At:
    """The curve at a point, each value to about so many digits of itself; what is below 10^(−10^18) is 0.

    μ is a double, a rational, or a decimal, which is taken as exact.
    """
    m, e = float(mu), float(epsilon)
    t, h = e / m, m / 2
    # Subtracting loses the digits of Φ(a)/δ, about max(1, t)/μ; an error of a is magnified by up to 2a² in Φ(a).
    lost = max(0.0, -math.log10(m)) + (math.log10(t) if t > 1 else 0.0) + 2 * math.log10(2 + t + h)
    held = digits + math.ceil(lost) + 10
    with localcontext(precision(held)):
        E, mu = rational(epsilon), rational(mu)
        a, b = mu / 2 - E / mu, -mu / 2 - E / mu
        root = Decimal(2).sqrt()
        factor = (-a * a / 2).exp()
        of_a, of_b = scaled_erfc(abs(a) / root) / 2, scaled_erfc(-b / root) / 2
        density = factor / (2 * pi(held)).sqrt()
        tail = factor * of_b
        if a <= 0:
            scaled = of_a - of_b
            return _At(factor * scaled, 1 - factor * scaled, density, -tail, scaled.ln() - a * a / 2)
        rest = factor * (of_a + of_b)
        return _At(1 - rest, rest, density, -tail, (1 - rest).ln())


def _is_far(epsilon: Fraction, mu: Number) -> bool:
    """Whether a < −100, hence δ ≤ Φ(a) far below the smallest double (Φ(−39) is)."""
    return epsilon > (Fraction(mu) / 2 + 100) * Fraction(mu)


def _log_above(x: Decimal) -> Decimal:
    """ln(1 + x), also for x too small to be seen beside 1."""
    return x - x * x / 2 if abs(x) < Decimal("1e-40") else (1 + x).ln()


def _log(delta: Fraction) -> float:
    return math.log(delta) if 2 * delta <= 1 else math.log1p(-float(1 - delta))

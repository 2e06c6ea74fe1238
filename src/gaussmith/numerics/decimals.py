"""Functions of the normal distribution in decimal arithmetic of any precision, to about as many digits as it has.

Python's own decimals: exp, ln and sqrt round correctly, exponents reach 10^18, and nothing needs to be imported that is
not there already.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

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

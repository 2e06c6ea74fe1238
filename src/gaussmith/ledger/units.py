"""Privacy as whole numbers: μ² counted in units of 2⁻²⁵⁶, so that adding up charges never rounds.

    1 unit = 2⁻²⁵⁶ of μ²        μ_total² = Σ μ_i²

With 256 binary places the square of every double μ ≥ 2⁻⁷⁵ is a whole number of units; a smaller one is rounded up.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from typing import TYPE_CHECKING

from gaussmith.errors import GuaranteeError
from gaussmith.numerics.exact import smaller_reading

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee

UNIT_BITS = 256


def charge_units(mu: float) -> int:
    """The whole number of units that covers one release at μ, never too few.

        ⌈2²⁵⁶ μ²⌉

    Guarantee: units · 2⁻²⁵⁶ ≥ μ², in exact arithmetic. Requires: a finite μ above 0 (checked). Rounding: up.

    >>> charge_units(0.125) == 2 ** (256 - 6)
    True
    >>> charge_units(1e-90)
    1
    """
    return math.ceil(Fraction(check_mu(mu)) ** 2 * (1 << UNIT_BITS))


def budget_square(guarantee: Guarantee) -> Fraction:
    """What a ledger may spend in all, exactly: 2ρ where ρ is what was stated, else μ². Errs low.

        Σ μ_i² ≤ 2ρ     or     Σ μ_i² ≤ μ²

    A ledger for ρ = 1 takes a hundred releases of ρ = 0.01; √2 cut to a double and squared again would be too little.

    Guarantee: releases that together keep to it keep what was stated. Requires: a finite μ above 0 (checked).
    Rounding: a typed ρ is read as its double or its decimal, whichever is smaller.

    >>> from gaussmith.guarantee import Guarantee
    >>> budget_square(Guarantee(rho=0.1)), budget_square(Guarantee(mu=1.5))
    (Fraction(1, 5), Fraction(9, 4))
    """
    from gaussmith.guarantee import Guarantee

    if not isinstance(guarantee, Guarantee):
        raise GuaranteeError(
            f"guarantee of type {type(guarantee).__name__}",
            "a ledger says what may be spent in all",
            "write gaussmith.Guarantee(epsilon=3, delta=1e-6)",
        )
    mu = check_mu(guarantee.mu)
    if guarantee.stated_rho is None:
        return Fraction(mu) ** 2
    return 2 * smaller_reading(guarantee.stated_rho)


def budget_units(square: Fraction) -> int:
    """The whole number of units in `square`, never too many.

        ⌊2²⁵⁶ square⌋

    Guarantee: units · 2⁻²⁵⁶ ≤ square, in exact arithmetic. Requires: nothing. Rounding: down.

    >>> budget_units(Fraction(100, 64)) == 100 * charge_units(0.125)
    True
    """
    return math.floor(square * (1 << UNIT_BITS))


def largest_mu(units: int) -> float:
    """The largest double μ whose charge fits in `units`; 0.0 when there is none. Errs low.

        max { μ : ⌈2²⁵⁶ μ²⌉ ≤ units }

    Guarantee: charge_units(μ) ≤ units. Requires: nothing. Rounding: down, to 53 bits.

    >>> largest_mu(charge_units(0.3)) == 0.3
    True
    >>> largest_mu(charge_units(0.3) - 1) < 0.3
    True
    """
    if units <= 0:
        return 0.0
    # 400 more bits before the root are 200 more after it: 53 good ones even of a single unit.
    root = math.isqrt(units << 400)
    surplus = max(root.bit_length() - 53, 0)
    return math.ldexp(root >> surplus, surplus - 200 - UNIT_BITS // 2)


def guarantee_of(units: int) -> Guarantee | None:
    """The guarantee that so many units buy, rounded down; None for too few to name one."""
    from gaussmith.guarantee import SMALLEST_MU, Guarantee

    mu = largest_mu(units)
    return Guarantee(mu=mu) if mu >= SMALLEST_MU else None


def round_down(value: float, digits: int = 6) -> float:
    """`value` > 0 cut (never rounded up) to so many significant digits, for printing what would still fit.

    >>> round_down(0.123456789), round_down(1.0), round_down(0.09999999)
    (0.123456, 1.0, 0.0999999)
    """
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    return float(context.create_decimal_from_float(value))


def check_mu(mu: object) -> float:
    """`mu` itself, once it is something that can be charged. Asked here again: the ledger relies on no other check."""
    if isinstance(mu, bool) or not isinstance(mu, (int, float)) or not math.isfinite(mu) or mu <= 0:
        raise GuaranteeError(
            f"mu={mu!r} cannot be charged",
            "a charge is a finite number above 0",
            "state a guarantee such as Guarantee(epsilon=1, delta=1e-6)",
        )
    return float(mu)

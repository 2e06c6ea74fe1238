"""Privacy amounts as integers: μ² and κ in units of 2⁻²⁵⁶, so that adding up charges never rounds.

    1 unit = 2⁻²⁵⁶ of μ²        μ_total² = Σ μ_i²        1 unit = 2⁻²⁵⁶ of κ        κ_total = Σ κ_i

With 256 binary places the square of every double μ ≥ 2⁻⁷⁵ is a whole number of units; a smaller one is rounded up.

κ is the δ spent on keys found in the data. A ledger has a limit for each of the two sums, both fixed when it is
created. Nothing moves between them: an analyst who could choose after seeing answers would get twice the δ.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from typing import TYPE_CHECKING

from gaussmith.checks import is_number
from gaussmith.errors import GuaranteeError
from gaussmith.numerics.exact import smaller_reading
from gaussmith.privacy.thresholds import mu_beside

if TYPE_CHECKING:
    from gaussmith.privacy.guarantee import Guarantee

UNIT_BITS = 256
NO_KEYS = Fraction(0)


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


def square_units(square: Fraction) -> int:
    """The whole number of units that covers an exact sum of μ², never too few; refuses less than 1.

        ⌈2²⁵⁶ Σ μ_i²⌉

    Guarantee: units · 2⁻²⁵⁶ ≥ Σ μ_i², in exact arithmetic. Requires: a sum above 0 (checked). Rounding: up.

    >>> square_units(Fraction(1, 64)) == charge_units(0.125)
    True
    """
    if not isinstance(square, Fraction) or square <= 0:
        raise GuaranteeError(
            f"taken={square!r}",
            "what a release took is a fraction above 0",
            "store it without",
            code="taken-not-positive",
        )
    return math.ceil(square * (1 << UNIT_BITS))


def budget_square(guarantee: Guarantee, keys_delta: Fraction = NO_KEYS) -> Fraction:
    """The exact total that a ledger may spend: 2ρ if ρ was stated, otherwise μ². Rounded down.

        Σ μ_i² ≤ 2ρ     or     Σ μ_i² ≤ μ²

    A ledger for ρ = 1 takes a hundred releases of ρ = 0.01; √2 cut to a double and squared again would be too little.
    Of a stated (ε, δ) the K = `keys_delta` is set aside, and μ is the largest with

        K + (1 − K) δ(ε − ln(1 − K); μ) ≤ δ

    Guarantee: releases whose Σ μ_i² keeps to it and whose Σ κ_i keeps to K together keep what was stated (of a stated
    μ or ρ: up to a probability of K). Requires: a finite μ above 0, K below a stated δ (both checked).
    Rounding: a typed ρ, ε or δ is read as its double or its decimal, whichever is smaller.

    >>> from gaussmith.privacy.guarantee import Guarantee
    >>> budget_square(Guarantee(rho=0.1)), budget_square(Guarantee(mu=1.5))
    (Fraction(1, 5), Fraction(9, 4))
    """
    from gaussmith.privacy.guarantee import Guarantee

    if not isinstance(guarantee, Guarantee):
        raise GuaranteeError(
            f"guarantee of type {type(guarantee).__name__}",
            "a ledger needs a total guarantee",
            "write gaussmith.Guarantee(epsilon=3, delta=1e-6)",
            code="ledger-without-guarantee",
            type=type(guarantee).__name__,
        )
    mu = check_mu(guarantee.mu)
    if guarantee.stated_rho is not None:
        return 2 * smaller_reading(guarantee.stated_rho)
    if keys_delta and guarantee.epsilon is not None and guarantee.delta is not None:
        mu = _mu_beside_keys(guarantee.epsilon, guarantee.delta, keys_delta)
    return Fraction(mu) ** 2


def _mu_beside_keys(epsilon: float, delta: float, K: Fraction) -> float:
    rest = smaller_reading(delta) - K
    if rest <= 0:
        raise GuaranteeError(
            f"keys_delta={float(K):g} of delta={delta:g}",
            "the part reserved for found keys must be less than δ",
            f"give a part of it, such as keys_delta={delta / 10:g}",
            code="keys-delta-exceeds-delta",
            keys_delta=K,
            delta=delta,
        )
    return mu_beside(smaller_reading(epsilon), smaller_reading(delta), K)


def keys_units(keys_delta: Fraction) -> int:
    """The whole number of units that covers one release at κ, never too few.

        ⌈2²⁵⁶ κ⌉

    Guarantee: units · 2⁻²⁵⁶ ≥ κ, in exact arithmetic. Requires: nothing. Rounding: up.

    >>> keys_units(Fraction(1, 2**20)) == 2 ** (256 - 20), keys_units(Fraction(1, 10**99)), keys_units(NO_KEYS)
    (True, 1, 0)
    """
    return math.ceil(keys_delta * (1 << UNIT_BITS))


def budget_units(square: Fraction) -> int:
    """The whole number of units in `square` (or in a cap of κ), never too many.

        ⌊2²⁵⁶ square⌋

    Guarantee: units · 2⁻²⁵⁶ ≤ square, in exact arithmetic. Requires: nothing. Rounding: down.

    >>> budget_units(Fraction(100, 64)) == 100 * charge_units(0.125)
    True
    """
    return math.floor(square * (1 << UNIT_BITS))


def largest_mu(units: int) -> float:
    """The largest double μ whose charge fits in `units`; 0.0 if there is none. Rounded down.

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
    surplus = root.bit_length() - 53
    return math.ldexp(root >> surplus, surplus - 200 - UNIT_BITS // 2)


def guarantee_of(units: int) -> Guarantee | None:
    """The guarantee that corresponds to `units`, rounded down; None if there are too few."""
    from gaussmith.privacy.guarantee import SMALLEST_MU, Guarantee

    mu = largest_mu(units)
    return Guarantee(mu=mu) if mu >= SMALLEST_MU else None


def round_down(value: float, digits: int = 6) -> float:
    """`value` > 0 truncated (never rounded up) to some significant digits, for printing what would still fit.

    >>> round_down(0.123456789), round_down(1.0), round_down(0.09999999)
    (0.123456, 1.0, 0.0999999)
    """
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    return float(context.create_decimal_from_float(value))


def check_mu(mu: object) -> float:
    """`mu` itself, if it can be charged. Checked here again: the ledger relies on no other check."""
    if not isinstance(mu, int | float) or not is_number(mu) or not 0 < mu < math.inf:
        raise GuaranteeError(
            f"mu={mu!r} cannot be charged",
            "a charge is a finite number above 0",
            "state a guarantee such as Guarantee(epsilon=1, delta=1e-6)",
            code="charge-not-positive",
            mu=mu,
        )
    return float(mu)


def check_keys_delta(value: object) -> Fraction:
    """κ, or the limit of all κ, exactly; refuses anything but a probability below 1."""
    if isinstance(value, int | float | Fraction) and is_number(value) and 0 <= value < 1:
        return Fraction(value)
    raise GuaranteeError(
        f"keys_delta={value!r} cannot be charged",
        "it must be a probability below 1, and 0 if no keys are found in the data",
        "leave it out, or give a number far below 1, such as 1e-8",
        code="keys-delta-out-of-range",
        keys_delta=value,
    )

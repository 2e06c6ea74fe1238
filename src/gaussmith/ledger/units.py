"""Privacy amounts as integers: μ², κ and pure ε in small units, so that adding up charges never rounds.

    1 unit = 2⁻²⁵⁶ of μ²     μ_total² = Σ μ_i²        1 unit = 2⁻²⁵⁶ of κ     κ_total = Σ κ_i
    1 unit = 1/PURE_UNITS of ε     ε_total = Σ ε_i

With 256 binary places the square of every double μ ≥ 2⁻⁷⁵ is a whole number of units; a smaller one is rounded up. A
pure ε is typed in decimals and divided among releases: ten times 0.1, and three times a third, must be 1. So is the
unit of ε chosen.

κ is the δ spent on keys found in the data, pure ε what is spent on noise that has no δ. A ledger has a limit for each
of the three sums, all fixed when it is created. Nothing moves between them: an analyst who could choose after seeing
answers would get twice the δ.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from gaussmith.checks import is_number
from gaussmith.errors import GuaranteeError
from gaussmith.numerics.exact import fraction_down, smaller_reading
from gaussmith.privacy.composition import Charge
from gaussmith.privacy.pure import mu_beside_pure

if TYPE_CHECKING:
    from gaussmith.privacy.guarantee import Guarantee

UNIT_BITS = 256
NO_KEYS = NO_PURE = Fraction(0)

PURE_UNITS = math.lcm(*range(1, 101)) * 10**60 << UNIT_BITS
"""Units in a pure ε of 1. Decimals of 60 places, doubles from 2⁻²⁰⁰ up, and the n-th parts of both for n ≤ 100 are
whole numbers of them."""

LEAST_EPSILON = Fraction(1, 10**90)
"""With less of ε beside pure noise, no Gaussian noise is allowed: its calibration begins here."""


class Units(NamedTuple):
    """Amounts of a ledger in whole units: of μ², of κ, and of pure ε."""

    square: int
    keys: int
    pure: int

    def fits(self, left: Units) -> bool:
        """Whether each of these is within what is left of it: nothing moves between them."""
        return self.square <= left.square and self.keys <= left.keys and self.pure <= left.pure

    def less(self, spent: Units) -> Units:
        """What is left when so much was spent."""
        return Units(self.square - spent.square, self.keys - spent.keys, self.pure - spent.pure)


NO_UNITS = Units(0, 0, 0)


def units_of(charge: Charge) -> Units:
    """The whole numbers of units that cover a charge, none too few.

    >>> units_of(Charge(mu_squared=Fraction(1, 64))) == (2 ** (256 - 6), 0, 0)
    True
    """
    square, keys = (math.ceil(each * (1 << UNIT_BITS)) for each in (charge.mu_squared, charge.kappa))
    return Units(square, keys, pure_units(charge.pure))


def charge_of(guarantee: Guarantee, kappa: Fraction = NO_KEYS) -> Charge:
    """What a release takes that is stated by its guarantee alone: all of its ε where that is pure, else its μ².

    >>> from gaussmith.privacy.guarantee import Guarantee
    >>> charge_of(Guarantee(mu=0.5))
    Charge(pure=Fraction(0, 1), mu_squared=Fraction(1, 4), kappa=Fraction(0, 1))
    """
    if is_pure(guarantee):
        return Charge(pure=exact_epsilon(guarantee.epsilon), kappa=kappa)
    return Charge(mu_squared=Fraction(check_mu(guarantee.mu)) ** 2, kappa=kappa)


def is_pure(guarantee: object) -> bool:
    """Whether a guarantee is an ε alone, without a δ."""
    return bool(getattr(guarantee, "is_pure", False))


def exact_epsilon(epsilon: float | Fraction | None) -> Fraction:
    """A stated ε as a fraction: itself, or the smaller of the two meanings of a double."""
    if isinstance(epsilon, Fraction):
        return epsilon
    assert epsilon is not None
    return smaller_reading(epsilon)


CLOSE = Fraction(1, 10**9)
"""So far a charge may be from its guarantee: the version that wrote it may have read an ε a little differently."""


def is_part_of(pure: Fraction, guarantee: Guarantee) -> bool:
    """Whether a pure ε is 0, or a part of the ε that a guarantee states."""
    if not pure or guarantee.epsilon is None:
        return not pure
    return 0 < pure <= exact_epsilon(guarantee.epsilon) * (1 + CLOSE)


def is_charge_of(charge: Charge, guarantee: Guarantee) -> bool:
    """Whether a charge can be that of a release under this guarantee: μ² is all of it, or pure ε is all, or both are
    parts of it. How the parts follow from a plan only the plan knows."""
    if not charge.pure and not is_pure(guarantee):
        return abs(charge.mu_squared - guarantee.charge()) <= guarantee.charge() * CLOSE
    if not is_part_of(charge.pure, guarantee) or (charge.mu_squared and is_pure(guarantee)):
        return False
    return bool(charge.mu_squared) or charge.pure >= exact_epsilon(guarantee.epsilon) * (1 - CLOSE)


def pure_units(epsilon: Fraction) -> int:
    """The whole number of units that covers a pure ε, never too few.

        ⌈PURE_UNITS · ε⌉

    Guarantee: units / PURE_UNITS ≥ ε, in exact arithmetic. Requires: nothing. Rounding: up.

    >>> 10 * pure_units(Fraction(1, 10)) == 3 * pure_units(Fraction(1, 3)) == pure_units(Fraction(1))
    True
    """
    return math.ceil(epsilon * PURE_UNITS)


def taken_pure_units(epsilon: Fraction) -> int:
    """The same of what a release in stages took of pure ε; refuses less than 0."""
    if not isinstance(epsilon, Fraction) or epsilon < 0:
        what, rule = f"taken={epsilon!r}", "what a release took of pure ε is a fraction, 0 or more"
        raise GuaranteeError(what, rule, "store it without", code="taken-not-a-part")
    return pure_units(epsilon)


def pure_budget_units(epsilon: Fraction) -> int:
    """The whole number of units in a cap of pure ε, never too many: ⌊PURE_UNITS · ε⌋. Rounding: down."""
    return math.floor(epsilon * PURE_UNITS)


def largest_pure(units: int) -> Fraction:
    """The largest pure ε that fits in `units`, exactly.

    >>> largest_pure(pure_units(Fraction(1, 3)))
    Fraction(1, 3)
    """
    return Fraction(max(units, 0), PURE_UNITS)


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


def budget_square(guarantee: Guarantee, keys_delta: Fraction = NO_KEYS, pure: Fraction = NO_PURE) -> Fraction:
    """The exact total of μ² that a ledger may spend: 2ρ if ρ was stated, otherwise μ². Rounded down.

        Σ μ_i² ≤ 2ρ     or     Σ μ_i² ≤ μ²

    A ledger for ρ = 1 takes a hundred releases of ρ = 0.01; √2 cut to a double and squared again would be too little.
    Of a stated (ε, δ) the K = `keys_delta` and E = `pure` are set aside, and μ is the largest with

        K + (1 − K) (p δ(t − E; μ) + (1 − p) δ(t + E; μ)) ≤ δ,      t = ε − ln(1 − K),  p = e^E/(1 + e^E)

    It is 0 where pure noise takes all of ε.

    Guarantee: releases whose Σ μ_i² keeps to it, whose Σ κ_i keeps to K and whose pure Σ ε_i keeps to E together keep
    what was stated (of a stated μ or ρ: up to a probability of K). Requires: a finite μ above 0, K below a stated δ,
    E at most ε (all checked). Rounding: a typed ρ, ε or δ is read as its double or its decimal, whichever is smaller.
    Proof: docs/theory.md, statement 81.

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
    if is_pure(guarantee):
        return Fraction(0)
    if guarantee.stated_rho is not None:
        return 2 * smaller_reading(guarantee.stated_rho)
    if (keys_delta or pure) and guarantee.epsilon is not None and guarantee.delta is not None:
        return Fraction(_mu_beside(exact_epsilon(guarantee.epsilon), guarantee.delta, keys_delta, pure)) ** 2
    return Fraction(check_mu(guarantee.mu)) ** 2


def _mu_beside(epsilon: Fraction, delta: float, K: Fraction, E: Fraction) -> float:
    if smaller_reading(delta) <= K:
        raise GuaranteeError(
            f"keys_delta={float(K):g} of delta={delta:g}",
            "the part reserved for found keys must be less than δ",
            f"give a part of it, such as keys_delta={delta / 10:g}",
            code="keys-delta-exceeds-delta",
            keys_delta=K,
            delta=delta,
        )
    return mu_beside_pure(epsilon, smaller_reading(delta), K, E) if epsilon - E >= LEAST_EPSILON else 0.0


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


def round_down(value: float | Fraction, digits: int = 6) -> float:
    """`value` > 0 truncated (never rounded up) to some significant digits, for printing what would still fit.

    >>> round_down(0.123456789), round_down(1.0), round_down(0.09999999), round_down(Fraction(3, 10))
    (0.123456, 1.0, 0.0999999, 0.3)
    """
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    if isinstance(value, Fraction):
        return float(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
    return float(context.create_decimal_from_float(value))


def stated_down(epsilon: Fraction) -> float:
    """The largest double that states no more than this ε: as a double or a decimal, whichever is smaller.

    >>> stated_down(Fraction(2, 5)), stated_down(Fraction(3, 10)), stated_down(Fraction(1, 3)) <= Fraction(1, 3)
    (0.4, 0.3, True)
    """
    above = math.nextafter(fraction_down(epsilon), math.inf)
    return above if smaller_reading(above) <= epsilon else fraction_down(epsilon)


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


def check_pure_epsilon(value: object, guarantee: Guarantee) -> Fraction:
    """The part of ε that a ledger sets aside for pure noise, exactly; a double as its smaller meaning."""
    if is_pure(guarantee):
        if value:
            what, rule = (
                f"pure_epsilon={value!r} beside an epsilon without delta",
                "such a ledger is for pure noise alone",
            )
            raise GuaranteeError(what, rule, "leave pure_epsilon out", code="pure-epsilon-beside-pure")
        return exact_epsilon(guarantee.epsilon)
    if not (isinstance(value, int | float | Fraction) and is_number(value) and 0 <= value < math.inf):
        rule = "it is the part of ε for releases with pure noise: a number, and 0 where there are none"
        raise GuaranteeError(
            f"pure_epsilon={value!r}",
            rule,
            "give a part of ε, such as 0.5",
            code="pure-epsilon-out-of-range",
            pure=value,
        )
    pure = value if isinstance(value, Fraction) else smaller_reading(value)
    if pure and guarantee.epsilon is None:
        raise GuaranteeError(
            f"pure_epsilon={value!r} beside mu or rho",
            "the part for pure noise is taken from a stated ε",
            "state epsilon and delta, or leave it out: noise with a μ can be charged to any ledger",
            code="pure-epsilon-without-epsilon",
        )
    if pure and pure > exact_epsilon(guarantee.epsilon):
        raise GuaranteeError(
            f"pure_epsilon={float(pure):g} of epsilon={float(guarantee.epsilon or 0):g}",
            "the part for pure noise is at most ε",
            f"give a part of it, such as pure_epsilon={float(guarantee.epsilon or 0) / 6:.2g}",
            code="pure-epsilon-exceeds-epsilon",
            pure=pure,
            epsilon=guarantee.epsilon,
        )
    return pure

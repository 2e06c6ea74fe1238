"""What is left in a ledger, as a privacy guarantee, and the errors for charges that do not fit."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from gaussmith.errors import BudgetError, GuaranteeError
from gaussmith.ledger.units import UNIT_BITS, charge_units, guarantee_of, largest_mu, round_down
from gaussmith.numerics.exact import fraction_down
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee


@dataclass(frozen=True)
class Outlook:
    """What a release would take of the whole budget and what would be left; ε at the ledger's δ, None without one."""

    share: float
    left: float
    epsilon_before: float | None
    epsilon_after: float | None
    times: int
    """The number of such releases that would fit, including this one."""


def largest_epsilon(units: int, whole: Guarantee) -> float | None:
    """The largest ε of one release that fits in `units` at the δ of `whole`, rounded down; None without a δ."""
    from gaussmith.guarantee import Guarantee

    if whole.delta is None:
        return None
    if units >= charge_units(whole.mu):
        return whole.epsilon
    rest = guarantee_of(units)
    if rest is None:
        return 0.0
    # ε for a given μ is rounded up and μ for a given ε down: the answer is at, or just below, the first guess.
    guess, step = rest.epsilon_at(delta=whole.delta), 2.0**-52
    while guess > 0 and step < 1:
        with suppress(GuaranteeError):
            if charge_units(Guarantee(epsilon=guess, delta=whole.delta).mu) <= units:
                return guess
        guess, step = guess * (1 - step), step * 4
    return 0.0


def refuse_charge(guarantee: Guarantee, left: int, whole: Guarantee, where: str) -> BudgetError:
    """The error for a release that takes more μ² than is left."""
    mu, epsilon, delta = largest_mu(left), largest_epsilon(left, whole), whole.delta
    asked = f"mu={guarantee.mu:.6g}"
    if guarantee.epsilon is not None:
        asked = f"epsilon={guarantee.epsilon:g} at delta={guarantee.delta:g} ({asked})"
    fits = f"mu={round_down(mu):g}"
    if mu == 0:
        remedy = "no budget is left: no further release fits"
    elif epsilon is None:
        remedy = f"at most {fits} fits"
    elif epsilon > 0:
        remedy = f"at most epsilon={round_down(epsilon):g} at delta={delta:g} fits, which is {fits}"
    else:
        remedy = f"at most {fits} fits, which is no epsilon above 0 at delta={delta:g}"
    return BudgetError(
        f"the release asks for {asked}, more than is left in ledger={where}",
        "charges add up as μ² and never exceed the ledger's guarantee; nothing was charged",
        remedy,
        requested=guarantee,
        remaining=guarantee_of(left),
        epsilon=epsilon,
        mu=mu,
        code="budget-exceeded",
        ledger=where,
    )


def refuse_keys(keys_delta: Fraction, left: int, where: str) -> BudgetError:
    """The error for a release that takes more κ than is left."""
    rest = fraction_down(Fraction(left, 1 << UNIT_BITS))
    fits = (
        "no release that finds keys in the data fits, and none of another tool with a δ: declare the keys, or "
        "ask for a ledger that reserves a part of δ (keys_delta)"
    )
    if rest > 0:
        fits = f"at most keys_delta={round_down(rest):g} fits: state in the request how much it takes"
    return BudgetError(
        f"the release asks for keys_delta={float(keys_delta):.6g}, more than is left for it in ledger={where}",
        "spending on found keys and on the δ of other tools never exceeds the part reserved when the ledger was "
        "created; nothing was charged",
        fits,
        requested=keys_delta,
        remaining=rest,
        code="keys-budget-exceeded",
        ledger=where,
    )

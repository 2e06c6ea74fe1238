"""Where a ledger stood right after one charge: what all releases up to it took together. Nothing of it is from data."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gaussmith.ledger.units import UNIT_BITS
from gaussmith.numerics.exact import fraction_down, fraction_up, smaller_reading, sqrt_upward

if TYPE_CHECKING:
    from gaussmith.ledger.book import Ledger
    from gaussmith.ledger.chain import Receipt


def standing_of(ledger: Ledger, receipt: Receipt) -> dict[str, Any]:
    """What was charged up to and with this entry, for the record of its release.

    releases · mu and keys_delta of all of them together · epsilon at the ledger's delta (None without one) · budget ·
    dataset. Rounding: all up.
    """
    from gaussmith.guarantee import Guarantee

    entries = [entry for entry in ledger.entries() if entry.seq <= receipt.seq]
    spent, keys = (Fraction(units, 1 << UNIT_BITS) for units in (entries[-1].spent, entries[-1].keys_spent))
    mu, delta, epsilon = sqrt_upward(spent), ledger.guarantee.delta, None
    if delta is not None and keys < smaller_reading(delta):
        # κ + (1 − κ) δ(ε) ≤ δ wherever δ(ε) ≤ δ − κ
        epsilon = Guarantee(mu=mu).epsilon_at(delta=fraction_down(smaller_reading(delta) - keys))
    return {
        "releases": sum(entry.kind == "reserve" for entry in entries),
        "mu": mu,
        "keys_delta": fraction_up(keys),
        "epsilon": epsilon,
        "budget": ledger.guarantee.to_dict(),
        "dataset": ledger.dataset,
    }

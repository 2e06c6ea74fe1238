"""What the charges of one ledger protect: one kind of neighbours, and one unit. Other guarantees do not add up.

A unit is given by the columns whose values identify the person: `("person",)`, or several. If each row is one person,
there is no such column and the unit is `EACH_ROW`. The first unit, set at creation or by a charge, is binding.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gaussmith.checks import is_number
from gaussmith.errors import BudgetError, GuaranteeError, LedgerError
from gaussmith.ledger.chain import LedgerEntry, canonical, check_seal
from gaussmith.ledger.pages import unreadable
from gaussmith.ledger.units import LEAST_EPSILON, round_down
from gaussmith.notations import setting
from gaussmith.numerics.exact import smaller_reading, sqrt_upward
from gaussmith.privacy.composition import NOTHING, Charge
from gaussmith.privacy.pure import gdp_of_pure, mu_beside_pure

if TYPE_CHECKING:
    from gaussmith.ledger.book import Ledger, Reservation
    from gaussmith.privacy.guarantee import Guarantee


Unit = tuple[str, ...]

EACH_ROW: Unit = ()
"""The unit of a table in which each row is one person."""


@dataclass(frozen=True)
class Protection:
    """The neighbours and the unit set so far; None if not set."""

    neighbours: str | None = None
    unit: Unit | None = None


def read_unit(unit: str | Sequence[str] | None) -> Unit | None:
    """The columns that identify the person, in a fixed order; `EACH_ROW` for no column; None if nothing is stated.

    >>> read_unit("person"), read_unit(["person", "house"]), read_unit(EACH_ROW), read_unit(None)
    (('person',), ('house', 'person'), (), None)
    """
    if unit is None:
        return None
    columns = (unit,) if isinstance(unit, str) else unit
    if not isinstance(columns, list | tuple) or not all(isinstance(each, str) and each for each in columns):
        raise LedgerError(
            f"unit={unit!r} cannot be used",
            "a unit is the column that identifies the person, or several columns",
            'write unit="person", or unit=() where each row is one person',
            code="ledger-unit-unusable",
            unit=unit,
        )
    return tuple(sorted(set(columns)))


def name_unit(unit: Unit) -> str:
    """The unit as shown in messages.

    >>> print(name_unit(("person",)), name_unit(("house", "person")), name_unit(EACH_ROW), sep=" | ")
    'person' | ['house', 'person'] | each row
    """
    return repr(unit[0]) if len(unit) == 1 else repr(list(unit)) if unit else "each row"


def describe_unit(unit: Unit) -> str:
    """Who is one person, in plain words.

    >>> print(describe_unit(("house", "person")), describe_unit(EACH_ROW), sep="; ")
    all rows with the same house and person are one person; each row is one person
    """
    return f"all rows with the same {' and '.join(unit)} are one person" if unit else "each row is one person"


def find_protection(naming: Callable[[str], Iterable[LedgerEntry]], where: str) -> Protection:
    """The protection stated first, each half by the first entry that states it; `naming` finds entries that may."""
    neighbours = (_told(entry, where).neighbours for entry in naming("neighbours"))
    units = (_told(entry, where).unit for entry in naming("unit"))
    return Protection(
        next((each for each in neighbours if each is not None), None),
        next((each for each in units if each is not None), None),
    )


def check_protection(kept: Protection, asked: Protection, where: str) -> None:
    """Refuse a charge for neighbours or a unit other than those set first."""
    if None not in (kept.neighbours, asked.neighbours) and kept.neighbours != asked.neighbours:
        raise LedgerError(
            f"neighbours={asked.neighbours!r} is charged to ledger={where}, whose charges have {kept.neighbours!r}",
            "guarantees add up only if they protect the same thing",
            f"ask with neighbours={kept.neighbours!r}, or charge another ledger",
            code="ledger-of-other-neighbours",
            neighbours=asked.neighbours,
            ledger=where,
            kept=kept.neighbours,
        )
    if kept.unit is not None and asked.unit is not None and kept.unit != asked.unit:
        again = f"ask with unit={name_unit(kept.unit)}" if kept.unit else "ask without a unit"
        raise LedgerError(
            f"unit={name_unit(asked.unit)} is charged to ledger={where}, whose unit is {name_unit(kept.unit)}",
            "guarantees add up only if they protect the same people; in this ledger " + describe_unit(kept.unit),
            f"{again}, or charge another ledger",
            code="ledger-of-another-unit",
            unit=name_unit(asked.unit),
            ledger=where,
            kept=name_unit(kept.unit),
        )


def _told(entry: LedgerEntry, where: str) -> Protection:
    """What one entry states, once its hash is checked; one that cannot be read then was forged."""
    check_seal(entry, where)
    if entry.kind == "store":
        return Protection()
    try:
        body = json.loads(entry.body)
        return Protection(body.get("neighbours"), read_unit(body.get("unit")))
    except (AttributeError, ValueError):
        raise unreadable(where) from None


# Charges for releases that other tools made of the same data: pure ε-DP, (ε, δ)-DP or Gaussian noise of a known μ.
#
# An (ε, δ)-DP mechanism is at least as private as this one: with probability δ it shows everything, otherwise it is
# randomised response at ε. So it is charged κ = δ and its ε; or the smallest μ that covers ε-DP (`privacy.pure`), in a
# ledger that sets nothing aside for pure noise.
#
# Its κ may leak in both directions, adding a person and removing one; the κ of keys found in the data in one only,
# and a ledger for (ε, δ) with K set aside relies on that: its μ keeps K + (1 − K) δ(ε − ln(1 − K); μ) ≤ δ. With leaks
# in both it must keep K + (1 − K) δ(ε; μ) ≤ δ. The difference of the two squares is charged in addition. With E set
# aside for pure noise δ(ε; μ) is that of both (docs/theory.md).

MAX_NOTE = 1_000
"""Limit on the characters of a note."""


def larger_reading(number: float) -> Fraction:
    """The larger of the two meanings of a typed double: its exact value, or the decimal it is written as.

    >>> larger_reading(0.1) == Fraction(0.1), larger_reading(0.3) == Fraction(3, 10)
    (True, True)
    """
    return max(Fraction(number), Fraction(repr(float(number))))


def add_release(
    ledger: Ledger,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    mu: float | None = None,
    note: str = "",
    id: str | None = None,
    neighbours: str | None = None,
    unit: Any = None,
) -> Reservation:
    """Charge a release that another tool made, and store what was said of it. Refused if it does not fit.

    Guarantee: with it, all releases of the ledger together keep its guarantee. Requires (owed): the other release keeps
    what is stated here, for the same people and neighbours. Rounding: all charges up.
    """
    from gaussmith.privacy.guarantee import Guarantee

    _check(epsilon, delta, mu, note)
    charge, kappa = None, Fraction(0)
    if mu is not None:
        guarantee = Guarantee(mu=mu)
        stated: dict[str, Any] = {"mu": float(mu)}
    else:
        assert epsilon is not None
        stated = {"epsilon": float(epsilon), "delta": float(delta)}
        kappa = larger_reading(delta)
        extra = both_ways(ledger.guarantee, ledger.keys_delta, ledger.pure_epsilon) if kappa else Fraction(0)
        if ledger.pure_epsilon:
            charge = Charge(larger_reading(epsilon), extra, kappa)
            guarantee = Guarantee(epsilon=epsilon, delta=delta)
        else:
            guarantee = Guarantee(mu=sqrt_upward(Fraction(gdp_of_pure(larger_reading(epsilon))) ** 2 + extra))
    record = {"kind": "release of another tool", "stated": stated, "note": note}
    asked = hashlib.sha256(canonical(record).encode()).hexdigest()
    try:
        made = ledger.reserve(
            id, asked, guarantee, neighbours=neighbours, unit=unit, keys_delta=0 if charge else kappa, charge=charge,
            note={"made by": "another tool", **stated, "note": note},
        )  # fmt: skip
    except BudgetError as error:
        if error.code == "pure-budget-exceeded" and not delta:
            raise _no_pure_room(epsilon, error, ledger.where) from None
        if error.code != "keys-budget-exceeded":
            raise
        raise _no_room(delta, error.remaining, ledger.where) from None
    ledger.store(made.release_id, canonical(record).encode())
    return made


def _no_room(delta: float, left: Any, where: str) -> BudgetError:
    """The error for a release of another tool whose δ does not fit."""
    fits = f"at most δ={float(left):.3g} fits" if left else "create the ledger with keys_delta"
    return BudgetError(
        f"a release of another tool with δ={delta:g}, more than is set aside in ledger={where}",
        "the δ of other tools comes from a part of δ that is set aside when a ledger is created; nothing was charged",
        f"{fits}; or state a release with Gaussian noise by its μ or ρ, which needs none",
        requested=delta,
        remaining=left,
        code="no-room-for-other-delta",
        ledger=where,
    )


def _no_pure_room(epsilon: Any, error: BudgetError, where: str) -> BudgetError:
    """The error for an ε-DP release of another tool for which too little pure ε is left."""
    left = error.remaining if isinstance(error.remaining, Fraction) else 0
    fits = f"at most epsilon={round_down(left):g} fits" if left else "none is left"
    mu = gdp_of_pure(larger_reading(epsilon))
    return BudgetError(
        f"a release of another tool with epsilon={epsilon:g}, more pure ε than is left in ledger={where}",
        error.rule,
        f"{fits}; or state {setting('mu', mu)} instead, which every release of this epsilon keeps",
        requested=error.requested,
        remaining=error.remaining,
        mu=mu,
        code="no-room-for-other-pure",
        ledger=where,
    )


def both_ways(whole: Guarantee, K: Fraction, E: Fraction = NOTHING) -> Fraction:
    """What is charged of μ² beside an (ε, δ)-DP release, because its κ may leak in both directions; rounded up.

    0 for a ledger whose budget is stated as μ or ρ: its statement is "up to a probability of K" in both directions.

    >>> from gaussmith.privacy.guarantee import Guarantee
    >>> 0 < both_ways(Guarantee(epsilon=3, delta=1e-6), Fraction(1, 10**7)) < 1e-6
    True
    """
    if not K or whole.epsilon is None or whole.delta is None:
        return Fraction(0)
    epsilon, delta = smaller_reading(whole.epsilon), smaller_reading(whole.delta)
    if epsilon - E < LEAST_EPSILON:  # there is no Gaussian noise in such a ledger
        return Fraction(0)
    one_way = Fraction(mu_beside_pure(epsilon, delta, K, E))
    return one_way**2 - Fraction(mu_beside_pure(epsilon, (delta - K) / (1 - K), NOTHING, E)) ** 2


def _check(epsilon: object, delta: object, mu: object, note: object) -> None:
    if (epsilon is None) == (mu is None):
        raise GuaranteeError(
            "a release of another tool without epsilon or mu" if epsilon is None else "epsilon beside mu",
            "state what the other tool promises: epsilon (and delta, if it is not 0), or mu for Gaussian noise",
            f"write {setting('epsilon', 1)} and {setting('delta', 1e-6)}, or {setting('mu', 0.5)} where its noise is "
            "Gaussian with σ = 2 × sensitivity",
            code="other-release-without-guarantee",
        )
    if mu is None and not (is_number(epsilon) and 0 < epsilon <= 100):
        rule = "ε of another tool must be above 0 and at most 100"
        raise GuaranteeError(f"epsilon={epsilon!r}", rule, "check it", code="other-epsilon-out-of-range")
    if not (is_number(delta) and 0 <= delta < 1) or (mu is not None and delta):
        rule = "δ of another tool is a probability below 1, and there is none beside mu"
        raise GuaranteeError(f"delta={delta!r}", rule, "leave it out for pure ε-DP", code="other-delta-out-of-range")
    if not isinstance(note, str) or len(note) > MAX_NOTE or not note.isprintable():
        rule = f"a note is printable text of at most {MAX_NOTE:,} characters"
        raise LedgerError("note cannot be kept", rule, "shorten it", code="other-note-unusable")

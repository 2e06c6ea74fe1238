"""What the charges of one ledger protect: one kind of neighbours, and one unit. Other guarantees do not add up.

A unit is given by the columns whose values identify the person: `("person",)`, or several. If each row is one person,
there is no such column and the unit is `EACH_ROW`. The first unit, set at creation or by a charge, is binding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from gaussmith.errors import LedgerError
from gaussmith.ledger.chain import Entry, check_seal
from gaussmith.ledger.pages import unreadable
from gaussmith.values import dataclass

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


def find_protection(entries: Iterable[Entry | None], where: str) -> Protection:
    """The protection stated by the first entries; reads only as many entries as needed."""
    found = Protection()
    for entry in entries:
        if entry is not None and entry.kind in ("create", "reserve"):
            told = _told(check_seal(entry, where), where)
            unit = told.unit if found.unit is None else found.unit
            found = Protection(found.neighbours or told.neighbours, unit)
        if found.neighbours is not None and found.unit is not None:
            break
    return found


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


def _told(entry: Entry, where: str) -> Protection:
    """What one entry states; a sealed entry that cannot be read was forged."""
    try:
        body = json.loads(entry.body)
        return Protection(body.get("neighbours"), read_unit(body.get("unit")))
    except (AttributeError, ValueError):
        raise unreadable(where) from None

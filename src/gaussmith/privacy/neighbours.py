"""Neighbouring datasets: what a guarantee protects.

Under *add-remove*, neighbours differ by adding or removing one record, so the number of people is secret too.
Under *replace-one*, neighbours differ by changing one record, so the number of people is public.
"""

from __future__ import annotations

import re

from gaussmith.errors import PlanError, nearest

ADD_REMOVE = "add-remove"
REPLACE_ONE = "replace-one"
NEIGHBOURS = (ADD_REMOVE, REPLACE_ONE)

_PROTECTION = {
    ADD_REMOVE: "adding or removing one {unit}; the number of {units} is secret",
    REPLACE_ONE: "changing one {unit}'s record; the number of {units} is public",
}
_PLURALS = {"person": "people"}


def check(neighbours: str) -> str:
    """One of `NEIGHBOURS`, ignoring case and separators (`Add_Remove`, `add/remove`); refuses anything else.

    >>> check("Add_Remove")
    'add-remove'
    """
    name = "-".join(re.split(r"[\s_/-]+", str(neighbours).strip().lower()))
    if name in NEIGHBOURS:
        return name
    raise PlanError(
        f"neighbours={neighbours!r}",
        "neighbours must be 'add-remove' (the number of people is secret) or 'replace-one' (it is public)",
        nearest(name, NEIGHBOURS),
        code="unknown-neighbours",
        neighbours=neighbours,
    )


def choose(neighbours: str, neighbors: str | None) -> str:
    """One of `NEIGHBOURS`, from the British or the American argument; the two must not contradict each other.

    >>> choose("add-remove", "replace-one")
    'replace-one'
    """
    chosen = check(neighbours)
    other = chosen if neighbors is None else check(neighbors)
    if other != chosen != ADD_REMOVE:
        raise PlanError(
            f"neighbours={chosen!r} and neighbors={other!r}",
            "these are two spellings of one field",
            "leave one out",
            code="neighbours-spelled-twice",
            neighbours=chosen,
            neighbors=other,
        )
    return other


def protects(neighbours: str, unit: str = "person") -> str:
    """What is protected, in plain words, for reports and printed text.

    >>> protects("add-remove")
    'adding or removing one person; the number of people is secret'
    >>> protects("replace-one", unit="household")
    "changing one household's record; the number of households is public"
    """
    return _PROTECTION[check(neighbours)].format(unit=unit, units=_PLURALS.get(unit, f"{unit}s"))

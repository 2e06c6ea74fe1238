"""A pair with a name, and what is needed to write one down.

A case says what must be seen: `released` (both, within what is charged), `refused` (both, alike, before data is read),
or `alike` (either of them). `engines` are further ones that must give the same integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doors.asks import Ask
from doors.comparison import Finding, compare, compare_engines, forgive
from doors.runs import RELEASED, run
from doors.tables import Table, types_of
from doors.values import TEXT

ALIKE = "alike"

WIDE = (-50, 50)
"""One person more or less changes a sum by half its width: two who are taken for one can change it by all of it."""

SUM = Ask({"unit": "person", "sums": {"x": WIDE}})
COUNT = Ask({"unit": "person", "count": True})
ROWS = Ask({"count": True})
PAIRS = Ask(pairs=2)

TOGETHER = Ask({"unit": "person", "sums": {"x": WIDE}, "count": True})

BY_DUCKDB = ("duckdb",)

Make = Callable[[Path, bool], Any]
"""Makes a source in a folder, with one person or without."""


@dataclass(frozen=True)
class Case:
    """A pair with a name; `item` is where the list of doors has it, 0 for what the harness found itself.

    changes:  whether the person must be counted
    limit:    what the project may state as a limit instead of keeping to it
    """

    name: str
    item: int
    make: Make
    ask: Ask
    expect: str = RELEASED
    engine: str | None = None
    engines: tuple[str, ...] = ()
    changes: bool = False
    limit: str | None = None


def try_case(case: Case, folder: Path) -> Finding:
    """What a named pair shows; a problem also where it is not what the case expects."""
    places = [folder / "without", folder / "with"]
    for place in places:
        place.mkdir(parents=True)
    sources = [case.make(place, with_person) for place, with_person in zip(places, (False, True), strict=True)]
    one, other = (run(case.ask, s, place, case.engine) for s, place in zip(sources, places, strict=True))
    found = compare(one, other)
    problems = list(found.problems)
    if case.expect != ALIKE and found.status != case.expect:
        problems.append(f"{found.status} and not {case.expect}: {(other if found.status == one.status else one).said}")
    if case.changes and found.status == RELEASED and not found.square:
        problems.append("a person is not counted")
    for engine in case.engines:
        again = [run(case.ask, s, place, engine) for s, place in zip(sources, places, strict=True)]
        problems += [f"{problem} by {engine}" for problem in compare(*again).problems]
        for a, b in zip((one, other), again, strict=True):
            problems += [f"{problem} by {engine}" for problem in compare_engines(a, b)]
    return forgive(Finding(found.status, found.square, tuple(dict.fromkeys(problems))), case.limit)


def people(*several: tuple[Any, float], kind: str = TEXT, region: str = "north") -> Table:
    """A row for each id and number."""
    rows = [{"person": each, "region": region, "sex": "f", "x": float(x), "y": 1} for each, x in several]
    return Table(types_of(kind), tuple(rows))


def either(write: Callable[[Table, Path], Any], without: Table, with_person: Table) -> Make:
    return lambda folder, has: write(with_person if has else without, folder)


def two_as_one(write: Callable[[Table, Path], Any], one: Any, other: Any, kind: str = TEXT) -> Make:
    """Two people who change a sum by twice what is charged if they are taken for one."""
    return either(write, people((one, 50), kind=kind), people((one, 50), (other, -100), kind=kind))

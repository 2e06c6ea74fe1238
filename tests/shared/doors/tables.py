"""Tables of no format, and pairs of them that differ in one person."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from doors.values import FLOAT, IDS, INTEGER, JUNK, ODD, ODD_INTEGERS, TEXT

REGIONS = ("north", "south", "east")
SEXES = ("f", "m")

Row = dict[str, Any]
Identity = Callable[[str, Any], Any]
"""From the type of an id and the id to what identifies its person; None for nobody."""


@dataclass(frozen=True)
class Table:
    """Rows with typed columns."""

    types: dict[str, str]
    rows: tuple[Row, ...] = field(repr=False)

    def values(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]

    def with_rows(self, rows: Sequence[Row]) -> Table:
        return replace(self, rows=tuple(rows))

    def mapped(self, name: str, change: Callable[[Any], Any]) -> Table:
        """The table with every value of one column changed."""
        return self.with_rows([{**row, name: change(row[name])} for row in self.rows])

    def retyped(self, **types: str) -> Table:
        return replace(self, types={**self.types, **types})


def types_of(id_type: str) -> dict[str, str]:
    return {"person": id_type, "region": TEXT, "sex": TEXT, "x": FLOAT, "y": INTEGER}


def random_row(person: Any, generator: random.Random, is_text: bool) -> Row:
    pick = generator.choice
    regions = [*REGIONS, *REGIONS, "North", "elsewhere", "", None]
    x: Any = pick(JUNK) if is_text and generator.random() < 0.25 else pick(ODD)
    y: Any = pick(JUNK) if is_text and generator.random() < 0.25 else pick(ODD_INTEGERS)
    return {"person": person, "region": pick(regions), "sex": pick([*SEXES, None]), "x": x, "y": y}


def extreme_person(person: Any, generator: random.Random, sign: int, many: int) -> list[Row]:
    """Rows that reach every bound, mostly on one side."""
    regions = generator.sample(REGIONS, 3)
    sex = generator.choice(SEXES)
    side = sign if generator.random() < 0.7 else -sign
    y = generator.choice([90, 2**40]) if side > 0 else generator.choice([0, -5])
    return [{"person": person, "region": regions[i % 3], "sex": sex, "x": sign * 1e6, "y": y} for i in range(many)]


def random_person(person: Any, generator: random.Random, is_text: bool, single: bool = False) -> list[Row]:
    """The rows of one person; now and then of one who reaches every bound."""
    many = 1 if single else generator.choice([1, 1, 2, 3, 5, 9])
    if generator.random() < 0.3:
        return extreme_person(person, generator, generator.choice([1, -1]), many)
    return [random_row(person, generator, is_text) for _ in range(many)]


def random_ids(pool: Sequence[Any], generator: random.Random) -> list[Any]:
    """A few distinct ids, most of them side by side in their pool, where those stand that are alike."""
    start, many = generator.randrange(len(pool)), min(len(pool), generator.randint(2, 5))
    places = dict.fromkeys((start + i) % len(pool) for i in range(many))
    places[generator.randrange(len(pool))] = None
    return [pool[place] for place in places]


def neighbours(
    ids: str, generator: random.Random, identity: Identity, *, is_text: bool, single: bool, replaced: bool
) -> tuple[Table, Table]:
    """Two tables that differ in all rows of one person: removed, or replaced by others of the same person.

    With `single` a row is a person and one row differs. Now and then they differ in rows of nobody instead.
    """
    kind = IDS[ids]
    several = random_ids(kind.pool, generator)
    someone = [each for each in several if identity(kind.type, each) is not None]
    chosen = generator.choice(someone or [None])
    keys = {identity(kind.type, chosen)}
    if not replaced and not single and generator.random() < 0.05:
        chosen, keys = None, {None}
    others = [each for each in [*several, None] if identity(kind.type, each) not in keys]
    # Often the person outweighs all others and draws the other way: taken for one of them, it would turn that one over.
    sign = generator.choice([1, -1]) if generator.random() < 0.4 else 0
    if sign:
        rows = [row for each in others for row in extreme_person(each, generator, -sign, 1)]
    else:
        rows = [row for each in others for row in random_person(each, generator, is_text)]
    rows = generator.sample(rows, min(len(rows), 24))
    types = types_of(kind.type)

    def with_person() -> Table:
        spellings = [each for each in several if identity(kind.type, each) in keys] or [chosen]
        own = random_person(chosen, generator, is_text, single)
        own = extreme_person(chosen, generator, sign, 1 if single else 9) if sign else own
        own = own if single else [{**row, "person": generator.choice(spellings)} for row in own]
        both = [*rows, *own]
        generator.shuffle(both)
        return Table(types, tuple(both))

    if replaced:
        return with_person(), with_person()
    pair = [Table(types, tuple(rows)), with_person()]
    generator.shuffle(pair)
    return pair[0], pair[1]

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


def random_person(person: Any, generator: random.Random, is_text: bool, single: bool = False) -> list[Row]:
    """The rows of one person; often of one who reaches every bound."""
    if generator.random() < 0.4:
        x, y = generator.choice([(1e6, 90), (1e6, 2**40), (-1e6, 90), (1e6, 0), (-1e6, -5)])
        few = generator.sample(REGIONS, 3)
        sex = generator.choice(SEXES)
        many = range(1 if single else 9)
        return [{"person": person, "region": few[i % 3], "sex": sex, "x": x, "y": y} for i in many]
    many = range(1 if single else generator.choice([1, 1, 2, 3, 5, 9]))
    return [random_row(person, generator, is_text) for _ in many]


def neighbours(
    ids: str, generator: random.Random, identity: Identity, *, is_text: bool, single: bool, replaced: bool
) -> tuple[Table, Table]:
    """Two tables that differ in all rows of one person: removed, or replaced by others of the same person.

    With `single` a row is a person and one row differs. Now and then they differ in rows of nobody instead.
    """
    kind = IDS[ids]
    several = generator.sample(kind.pool, min(len(kind.pool), generator.randint(2, 6)))
    someone = [each for each in several if identity(kind.type, each) is not None]
    chosen = generator.choice(someone or [None])
    keys = {identity(kind.type, chosen)}
    if not replaced and not single and generator.random() < 0.05:
        chosen, keys = None, {None}
    others = [each for each in [*several, None] if identity(kind.type, each) not in keys]
    rows = [row for each in others for row in random_person(each, generator, is_text)]
    rows = generator.sample(rows, min(len(rows), 24))
    types = types_of(kind.type)

    def with_person() -> Table:
        spellings = [each for each in several if identity(kind.type, each) in keys] or [chosen]
        own = random_person(chosen, generator, is_text, single)
        own = own if single else [{**row, "person": generator.choice(spellings)} for row in own]
        both = [*rows, *own]
        generator.shuffle(both)
        return Table(types, tuple(both))

    if replaced:
        return with_person(), with_person()
    pair = [Table(types, tuple(rows)), with_person()]
    generator.shuffle(pair)
    return pair[0], pair[1]

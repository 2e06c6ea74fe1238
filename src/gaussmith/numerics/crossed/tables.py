"""Tables of people by some of their keys, and the types of people: which of the keys of a person are declared.

A table counts people by the attributes of its *way*: (0,) by the first, (0, 1) by the first and the second, () all of
them. A person whose key of some attribute is not declared is in no cell of the tables by that attribute.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from gaussmith.errors import PlanError
from gaussmith.numerics.products import Array
from gaussmith.values import dataclass

Way = tuple[int, ...]
Declared = frozenset[int]

ADD_REMOVE = "add-remove"

MOST_ATTRIBUTES = {ADD_REMOVE: 4, "replace-one": 3}
"""Limit on the attributes of tables that share a noise: all types are certified."""


class Moved(NamedTuple):
    """A difference of neighbours: the declared keys of one person and of another; None: there is no such person.

    `same` are the attributes in which both have one and the same declared key.
    """

    one: Declared | None
    other: Declared | None = None
    same: Declared = frozenset()


@dataclass(frozen=True, eq=False)
class Tables:
    """The number of declared keys of each attribute, the ways of the tables, and what each cell of a table is worth.

    `hidden` says that a replaced person may also leave all tables, because there is a filter; else everybody stays, and
    the number of people is public.
    """

    sizes: tuple[int, ...]
    ways: tuple[Way, ...]
    weights: Array
    neighbours: str
    hidden: bool = False

    def __post_init__(self) -> None:
        used = sorted({i for way in self.ways for i in way})
        fits = len(self.weights) == len(self.ways) == len(set(self.ways)) > 0 and min(self.sizes, default=1) >= 1
        fits = (
            fits and used == list(range(len(self.sizes))) and all(way == tuple(sorted(set(way))) for way in self.ways)
        )
        if not fits:
            raise PlanError(
                "tables that do not fit their keys",
                "each is by some of the attributes, and there is one of a kind",
                "plan again",
                code="crossed-tables-do-not-fit",
            )
        most = MOST_ATTRIBUTES[self.neighbours]
        if len(self.sizes) > most:
            raise PlanError(
                f"tables of {len(self.sizes)} attributes",
                f"at most {most} share a noise",
                "plan them apart",
                code="crossed-tables-of-many-keys",
            )
        if self.neighbours != ADD_REMOVE and not self.hidden and () in self.ways:
            raise PlanError(
                "the number of all people under replace-one",
                "it is public there, and needs no noise",
                "plan it apart",
                code="crossed-tables-with-public-count",
            )

    def cells(self, way: Iterable[int]) -> int:
        """The number of cells of a table by these attributes."""
        return math.prod(self.sizes[i] for i in way)

    @cached_property
    def residuals(self) -> tuple[Way, ...]:
        """The sets of attributes in which some table varies, beyond all smaller ones; () is what all cells share."""
        found = {A for way in self.ways for A in subsets(way) if all(self.sizes[i] > 1 for i in A)}
        return tuple(sorted(found, key=lambda A: (len(A), A)))

    def above(self, residual: Way) -> list[int]:
        """Which tables vary in a residual."""
        return [w for w, way in enumerate(self.ways) if set(residual) <= set(way)]

    def dimension(self, residual: Way) -> int:
        """How many numbers a residual has."""
        return math.prod(self.sizes[i] - 1 for i in residual)

    @cached_property
    def types(self) -> tuple[Moved, ...]:
        """All kinds of differences of neighbours, each once; one that changes nothing is not listed."""
        every = range(len(self.sizes))
        people = [frozenset(declared) for declared in subsets(every)]
        if self.neighbours == ADD_REMOVE:
            return tuple(Moved(one) for one in people if self._counts(one))
        states: list[Declared | None] = [*people, *([None] if self.hidden and () in self.ways else [])]
        found = []
        for one, other in itertools.combinations_with_replacement(states, 2):
            both = () if one is None or other is None else sorted(one & other)
            for same in subsets(both):
                if all(self.sizes[i] > 1 for i in both if i not in same) and not (one == other == frozenset(same)):
                    found.append(Moved(one, other, frozenset(same)))
        return tuple(found)

    def _counts(self, declared: Declared) -> bool:
        return any(declared.issuperset(way) for way in self.ways)


def subsets(way: Iterable[int]) -> Iterator[Way]:
    """All sets of these attributes, smaller ones first."""
    listed = tuple(way)
    return (A for size in range(len(listed) + 1) for A in itertools.combinations(listed, size))

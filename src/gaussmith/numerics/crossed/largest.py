"""The largest norm of a lifted difference of neighbours, in exact arithmetic: privacy rests on this number alone.

The lift treats all keys of an attribute alike. So what a person adds to a lifted cell of table W depends on which
attributes of W the cell has in common with the person, E: the sum of all c_{WVB} with V ⊆ D and B ⊆ E, D being the
declared keys of the person. As many cells of W have exactly E in common as there are ways to differ in the others.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from gaussmith.numerics.crossed.lift import CrossedLift
from gaussmith.numerics.crossed.tables import Declared, Moved, Tables, Way, subsets
from gaussmith.numerics.exact import sqrt_upward
from gaussmith.numerics.products import common_power

Shares = list[tuple[bool, bool, int]]
"""Whether a key is that of one person, whether it is that of the other, and how many such keys there are."""


def largest(lift: CrossedLift, tables: Tables) -> float:
    """The largest norm of the lifted difference of two neighbours, rounded up.

    Guarantee: at least the norm of lift · (x − x′) for all tables x, x′ of neighbours, and attained by some.
    """
    whole, exponent = common_power(lift.numbers.tolist())
    added = _added(lift, whole, {each for moved in tables.types for each in moved[:2] if each is not None})
    worst = max((_square(lift, added, moved) for moved in tables.types), default=0)
    return sqrt_upward(Fraction(worst) * Fraction(4) ** exponent)


def _added(
    lift: CrossedLift, whole: list[int], people: set[Declared]
) -> dict[tuple[int, Declared], dict[Declared, int]]:
    """What a person adds to a cell of each table, by the attributes that it has in common with the cell."""
    found = {}
    for w, way in enumerate(lift.ways):
        terms = [
            (c, frozenset(lift.ways[v]), frozenset(B))
            for c, (at, v, B) in zip(whole, lift.terms, strict=True)
            if at == w
        ]
        for declared in people:
            own = [(c, B) for c, V, B in terms if V <= declared]
            shared = [frozenset(E) for E in subsets(i for i in way if i in declared)]
            found[w, declared] = {E: sum(c for c, B in own if B <= E) for E in shared}
    return found


def _square(lift: CrossedLift, added: dict[tuple[int, Declared], dict[Declared, int]], moved: Moved) -> int:
    """The squared norm of one kind of difference."""
    total = 0
    for w, way in enumerate(lift.ways):
        one = {} if moved.one is None else added[w, moved.one]
        other = {} if moved.other is None else added[w, moved.other]
        for shares in itertools.product(*(_shares(moved, i, lift.sizes[i]) for i in way)):
            cells = math.prod(count for _, _, count in shares)
            first, second = (_common(way, held) for held in ([a for a, _, _ in shares], [b for _, b, _ in shares]))
            total += cells * (one.get(first, 0) - other.get(second, 0)) ** 2
    return total


def _shares(moved: Moved, attribute: int, size: int) -> Shares:
    """The keys of an attribute, by whose they are."""
    one, other = (each is not None and attribute in each for each in moved[:2])
    if attribute in moved.same:
        return [(True, True, 1), (False, False, size - 1)]
    own = [(True, False, 1)] * one + [(False, True, 1)] * other
    return [*own, (False, False, size - len(own))]


def _common(way: Way, held: list[bool]) -> Declared:
    return frozenset(i for i, holds in zip(way, held, strict=True) if holds)

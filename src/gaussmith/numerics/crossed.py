"""One noise for tables of the same keys: people by a, by b, by a and b, and all of them.

Every person is one row, and so is in one cell of each table at most: that of its keys, where all of them are declared.

tables.py   what one person adds, by which of its keys are declared: its type
moments.py  what a law on types adds to each residual, and the least noise there is
lift.py     the lift: sums over some keys of each table, added to the cells of each
largest.py  the largest norm of a lifted person: the number on which privacy rests
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array, common_power, shift, sqrt_upward
from gaussmith.numerics.packed_arrays import pack, unpack

# Tables of people by some of their keys, and the types of people: which of the keys of a person are declared.
#
# A table counts people by the attributes of its *way*: (0,) by the first, (0, 1) by the first and the second, () all
# of them. A person whose key of some attribute is not declared is in no cell of the tables by that attribute.

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
            raise damaged_plan("tables that do not fit their keys")
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
        people = [frozenset(declared) for declared in subsets(range(len(self.sizes)))]
        if self.neighbours == ADD_REMOVE:
            return tuple(Moved(one) for one in people if self._counts(one))
        states: list[Declared | None] = [*people, *([None] if self.hidden and () in self.ways else [])]
        pairs = itertools.combinations_with_replacement(states, 2)
        return tuple(moved for one, other in pairs for moved in self._replaced(one, other))

    def _replaced(self, one: Declared | None, other: Declared | None) -> Iterator[Moved]:
        """The differences of two people with these keys: those that both have may be one and the same, or differ."""
        both = () if one is None or other is None else sorted(one & other)
        for same in subsets(both):
            differ = all(self.sizes[i] > 1 for i in both if i not in same)
            if differ and not (one == other == frozenset(same)):
                yield Moved(one, other, frozenset(same))

    def _counts(self, declared: Declared) -> bool:
        return any(declared.issuperset(way) for way in self.ways)


def subsets(way: Iterable[int]) -> Iterator[Way]:
    """All sets of these attributes, smaller ones first."""
    listed = tuple(way)
    return (A for size in range(len(listed) + 1) for A in itertools.combinations(listed, size))


# The lift of tables of the same keys: to every cell of a table sums of the cells of each table are added.
#
# With x_V the counts of table V, and m_{V→B} its sums over all attributes but those of B,
#
#     y_W[cell] = Σ_V Σ_{B ⊆ W∩V} c_{WVB} · m_{V→B}[cell_B]
#
# so that a lift of many cells is kept in a few numbers c, and treats all keys of an attribute alike. Along each
# residual A (what varies with all attributes of A, beyond all smaller sets) it is one small matrix over the tables
# above A:
#
#     K_A[W, V] = Σ_{B ⊇ A} c_{WVB} N_{V∖B} √(N_{W∖A}/N_{V∖A}),       N the number of cells
#
# by which it is made, undone, and the noise in the tables known.

Counts = npt.NDArray[Any]
"""A table: an axis per attribute. Exact ones hold Python's integers."""


@dataclass(frozen=True, eq=False)
class CrossedLift:
    """`numbers` are the c_{WVB} in the order of `terms_of`."""

    sizes: tuple[int, ...]
    ways: tuple[Way, ...]
    numbers: Array

    def __post_init__(self) -> None:
        if len(self.numbers) != len(self.terms) or not np.isfinite(self.numbers).all():
            raise PlanError(
                "a lift of tables with too few numbers, or one that is not finite",
                "there is a finite number for any two tables and any of the attributes that both have",
                "plan again; if this persists, the scales of the questions lie too far apart",
                code="crossed-lift-not-finite",
            )

    @classmethod
    def of(cls, sizes: tuple[int, ...], ways: tuple[Way, ...], residuals: Mapping[Way, Array]) -> CrossedLift:
        """The lift that is this matrix along each residual."""
        numbers = []
        for w, v, B in terms_of(ways):
            parts = []
            for A, K in residuals.items():
                if set(B) <= set(A) <= set(ways[w]) & set(ways[v]):
                    at = _above(ways, A)
                    outside = _cells(sizes, ways[w], A) * _cells(sizes, ways[v], A)
                    signs = math.prod(-1.0 / sizes[i] for i in A if i not in B)
                    parts.append(K[at.index(w), at.index(v)] * signs / math.sqrt(outside))
            numbers.append(math.fsum(parts))
        return cls(sizes, ways, np.array(numbers))

    @cached_property
    def terms(self) -> list[tuple[int, int, Way]]:
        """Which table is added to, which is added, summed down to which attributes."""
        return list(terms_of(self.ways))

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of each table."""
        return [tuple(self.sizes[i] for i in way) for way in self.ways]

    @property
    def size(self) -> int:
        """How many cells all tables have: how many draws of noise the lift takes."""
        return sum(math.prod(shape) for shape in self.shapes)

    def scaled(self, factor: float) -> CrossedLift:
        """Every number times a factor."""
        return replace(self, numbers=self.numbers * factor)

    # -- products ---------------------------------------------------------------------------------------------------

    def exact_times(self, tables: Sequence[Counts]) -> list[int]:
        """round(lift · tables), halves up, each cell rounded once; the tables in order, each cell by cell."""
        found: list[int] = []
        for w, shape in enumerate(self.shapes):
            own = [(c, v, B) for c, (at, v, B) in zip(self.numbers, self.terms, strict=True) if at == w]
            whole, exponent = common_power([c for c, _, _ in own])
            cells = np.zeros(shape, object)
            for c, (_, v, B) in zip(whole, own, strict=True):
                cells[...] += self._spread(self._summed(tables[v].astype(object), v, B), w, B) * c
            found += [shift(value, exponent) for value in cells.ravel().tolist()]
        return found

    def undone(self, noisy: Array) -> list[Array]:
        """The tables, from all lifted cells."""
        at = np.cumsum([0, *(math.prod(shape) for shape in self.shapes)])
        rows = [noisy[a:b].reshape(shape) for a, b, shape in zip(at, at[1:], self.shapes, strict=False)]
        found = [np.zeros(shape) for shape in self.shapes]
        for c, (w, v, B) in zip(self._back.numbers, self.terms, strict=True):
            found[w] = found[w] + c * self._spread(self._summed(rows[v], v, B), w, B)
        return found

    def _summed(self, table: Counts, v: int, B: Way) -> Counts:
        away = tuple(axis for axis, i in enumerate(self.ways[v]) if i not in B)
        return np.asarray(table.sum(axis=away), table.dtype) if away else table

    def _spread(self, summed: Counts, w: int, B: Way) -> Counts:
        """The sums as a table by all attributes of way w, one wide along those that are not in B."""
        return summed.reshape(tuple(self.sizes[i] if i in B else 1 for i in self.ways[w]))

    # -- along residuals --------------------------------------------------------------------------------------------

    @cached_property
    def residuals(self) -> dict[Way, Array]:
        """K_A for each residual."""
        found: dict[Way, Array] = {}
        for A in sorted({A for way in self.ways for A in subsets(way)}):
            if all(self.sizes[i] > 1 for i in A):
                at = _above(self.ways, A)
                found[A] = np.zeros((len(at), len(at)))
                for c, (w, v, B) in zip(self.numbers, self.terms, strict=True):
                    if set(A) <= set(B):
                        root = math.sqrt(_cells(self.sizes, self.ways[w], A) / _cells(self.sizes, self.ways[v], A))
                        found[A][at.index(w), at.index(v)] += c * _cells(self.sizes, self.ways[v], B) * root
        return found

    @cached_property
    def _inverses(self) -> dict[Way, Array]:
        return {A: np.asarray(np.linalg.inv(K), float) for A, K in self.residuals.items()}

    @cached_property
    def _back(self) -> CrossedLift:
        """What undoes the lift."""
        return CrossedLift.of(self.sizes, self.ways, self._inverses)

    @cached_property
    def is_undone(self) -> bool:
        """Whether doubles can undo the lift: what comes back differs by less than a part in 10⁸ from what went in."""
        try:
            pairs = [(self.residuals[A], inverse) for A, inverse in self._inverses.items()]
        except np.linalg.LinAlgError:
            return False
        return all(float(np.abs(K @ inverse - np.eye(len(K))).max()) < 1e-8 for K, inverse in pairs)

    @cached_property
    def _covariances(self) -> dict[Way, Array]:
        """Of the noise in the tables along each residual, with unit noise on every lifted cell."""
        return {A: inverse @ inverse.T for A, inverse in self._inverses.items()}

    def covariance(self, one: int, other: int, same: Iterable[int]) -> float:
        """Of the noise in a cell of one table with that in a cell of another; they share the keys of `same`."""
        alike, shared = set(same), set(self.ways[one]) & set(self.ways[other])
        parts = []
        for A, C in self._covariances.items():
            if set(A) <= shared:
                at = _above(self.ways, A)
                along = math.prod((1.0 if i in alike else 0.0) - 1.0 / self.sizes[i] for i in A)
                outside = _cells(self.sizes, self.ways[one], A) * _cells(self.sizes, self.ways[other], A)
                parts.append(C[at.index(one), at.index(other)] * along / math.sqrt(outside))
        return math.fsum(parts)

    def summed_variance(self, table: int, cells: Sequence[Sequence[int]]) -> float:
        """Of the noise in several cells of a table added up, each given by the places of its keys."""
        marks = np.zeros(self.shapes[table])
        for cell in cells:
            marks[tuple(cell)] += 1.0
        return self.combined_covariance({table: marks}, {table: marks})

    def combined_covariance(self, one: Mapping[int, Array], other: Mapping[int, Array]) -> float:
        """Of the noise in two combinations of cells, each with the factors of all cells of some tables."""
        parts = []
        for A, C in self._covariances.items():
            at = _above(self.ways, A)
            right = {v: self._along(marks, v, A) for v, marks in other.items() if v in at}
            for w in (w for w in one if w in at and right):
                left = self._along(one[w], w, A)
                parts += [C[at.index(w), at.index(v)] * float((left * each).sum()) for v, each in right.items()]
        return math.fsum(parts)

    def _along(self, marks: Array, table: int, A: Way) -> Array:
        """What of the factors of a table's cells is along a residual, in units of its own."""
        along = self._summed(marks, table, A)
        for axis in range(along.ndim):
            along = along - along.mean(axis=axis, keepdims=True)
        return np.asarray(along / math.sqrt(_cells(self.sizes, self.ways[table], A)))

    # -- saved form -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        return {"sizes": list(self.sizes), "ways": [list(way) for way in self.ways], "numbers": pack(self.numbers)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> CrossedLift:
        """The lift that `to_dict` described."""
        ways = tuple(tuple(int(i) for i in way) for way in fields["ways"])
        return cls(tuple(int(n) for n in fields["sizes"]), ways, unpack(fields["numbers"]))


def terms_of(ways: Sequence[Way]) -> Iterator[tuple[int, int, Way]]:
    """Two tables, and a set of attributes that both have."""
    for w, way in enumerate(ways):
        for v, other in enumerate(ways):
            for B in subsets(i for i in way if i in other):
                yield w, v, B


def _above(ways: Sequence[Way], A: Way) -> list[int]:
    return [w for w, way in enumerate(ways) if set(A) <= set(way)]


def _cells(sizes: Sequence[int], way: Way, A: Way) -> int:
    """How many cells of a table by `way` one of a table by A stands for."""
    return math.prod(sizes[i] for i in way if i not in A)


# The largest norm of a lifted difference of neighbours, in exact arithmetic: privacy rests on this number alone.
#
# The lift treats all keys of an attribute alike. So what a person adds to a lifted cell of table W depends on which
# attributes of W the cell has in common with the person, E: the sum of all c_{WVB} with V ⊆ D and B ⊆ E, D being the
# declared keys of the person. As many cells of W have exactly E in common as there are ways to differ in the others.

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


# The least noise for tables of the same keys: a law on types of people, and the noise that is best against it.
#
# Permuting the keys of an attribute changes nothing, so that a best noise has along each residual A one matrix Σ_A
# over the tables above it. With b_A what a person of a type adds there (each table scaled to its weight),
#
#     the least total is the largest S² over laws on types,   S = Σ_A √dim_A · tr (E b_A b_Aᵀ)^½,
#     and the best noise is Σ_A = S · (E b_A b_Aᵀ / dim_A)^½.

MAX_ROUNDS = 3_000
"""Limit on the rounds in which the worst law is found."""

POWER = 1.5
"""How quickly types that need more noise gain weight."""


@dataclass(frozen=True, eq=False)
class CrossedSolution:
    """A lift whose largest norm is 1, the weighted total of its noise, and the law that bounds every noise."""

    lift: CrossedLift
    total: float
    weights: Array


def solve(tables: Tables, gap: float = 1e-5) -> CrossedSolution:
    """The least noise for these tables, but for a relative gap."""
    rows = {A: np.array([residual_rows(tables, A, moved) for moved in tables.types]) for A in tables.residuals}
    weights = np.full(len(tables.types), 1.0 / len(tables.types))
    for _ in range(MAX_ROUNDS):
        costs, _, _ = _costs(tables, rows, weights)
        if costs.max() <= 1.0 + gap:
            break
        weights = weights * costs**POWER
        weights /= weights.sum()
    _, S, noises = _costs(tables, rows, weights)
    roots = {A: _lift_of(tables, A, *noise) for A, noise in noises.items()}
    lift = CrossedLift.of(tables.sizes, tables.ways, roots)
    norm = largest(lift, tables)
    return CrossedSolution(lift.scaled(1.0 / norm), S * S * norm**2, weights)


def _lift_of(tables: Tables, A: Way, values: Array, vectors: Array) -> Array:
    """Σ_A^{-½}, for tables that are not yet scaled to their weights."""
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T * np.sqrt(tables.weights[tables.above(A)]))


def _costs(
    tables: Tables, rows: dict[Way, Array], weights: Array
) -> tuple[Array, float, dict[Way, tuple[Array, Array]]]:
    """The squared norm of each type under the best noise for a law; S; and the noise along each residual."""
    found, S = {}, 0.0
    for A, each in rows.items():
        flat = (each * np.sqrt(weights)[:, None, None]).reshape(-1, each.shape[2])
        _, values, vectors = np.linalg.svd(flat, full_matrices=False)
        if len(values) < each.shape[2]:  # fewer kinds of people than tables
            raise ValueError("types that do not fill the tables")
        values = np.maximum(values, values[0] * 1e-9) / math.sqrt(tables.dimension(A))
        found[A] = values, vectors.T
        S += tables.dimension(A) * float(values.sum())
    costs = np.zeros(len(weights))
    for A, (values, vectors) in found.items():
        costs += ((rows[A] @ vectors) ** 2 / (S * values)).sum(axis=(1, 2))
    return costs, S, {A: (S * values, vectors) for A, (values, vectors) in found.items()}


def residual_rows(tables: Tables, A: Way, moved: Moved) -> Array:
    """Rows whose squares add up to b_A b_Aᵀ of a difference: one person's, and what the other's adds to it."""
    one, other = (_added_moments(tables, A, each) for each in (moved.one, moved.other))
    if tables.neighbours == ADD_REMOVE:
        return np.array([one])
    # Keys that differ are at the angle of two corners of a simplex; where one is not declared it does not matter.
    angle = math.prod(1.0 if i in moved.same else -1.0 / (tables.sizes[i] - 1) for i in A)
    return np.array([one - angle * other, math.sqrt(1.0 - angle * angle) * other])


def _added_moments(tables: Tables, A: Way, declared: Declared | None) -> Array:
    """What a person adds along a residual to each table above it, scaled to its weight."""
    found = []
    for w in tables.above(A):
        way = tables.ways[w]
        share = math.prod((tables.sizes[i] - 1) / tables.sizes[i] for i in A) / tables.cells(
            i for i in way if i not in A
        )
        inside = declared is not None and declared.issuperset(way)
        found.append(math.sqrt(float(tables.weights[w]) * share) if inside else 0.0)
    return np.array(found)

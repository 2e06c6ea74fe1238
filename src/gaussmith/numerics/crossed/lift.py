"""The lift of tables of the same keys: to every cell of a table sums of the cells of each table are added.

With x_V the counts of table V, and m_{V→B} its sums over all attributes but those of B,

    y_W[cell] = Σ_V Σ_{B ⊆ W∩V} c_{WVB} · m_{V→B}[cell_B]

so that a lift of many cells is kept in a few numbers c, and treats all keys of an attribute alike. Along each residual
A (what varies with all attributes of A, beyond all smaller sets) it is one small matrix over the tables above A:

    K_A[W, V] = Σ_{B ⊇ A} c_{WVB} N_{V∖B} √(N_{W∖A}/N_{V∖A}),       N the number of cells

by which it is made, undone, and the noise in the tables known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError
from gaussmith.numerics.crossed.tables import Way, subsets
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.numerics.products import Array, common_power, shift
from gaussmith.values import dataclass

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

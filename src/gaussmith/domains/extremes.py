"""The extreme units of a domain, and how far a strategy takes them: the one privacy duty of a domain.

A norm is convex, so over all that one unit can add it is largest at an extreme unit. A domain describes these, and what
privacy needs follows from the description: the sensitivity of a strategy here, joint noise in
`planning/joint_people.py`.

    Signs(p)                       p numbers, each −1 or 1
    Marks(n, at_most, at_least)    n numbers, of which `at_least` to `at_most` are 1 and the others 0
    PersonRows(p, at_most)               with T = 1 … k rows: p sums over rows, each within ±T/k, and the number T/k
    Sphere(n)                      n numbers of Euclidean norm 1
    Product(one, other, …)         each of these, whatever the others are

A unit that may be absent adds nothing: `Marks` with `at_least` 0. Of signs and spheres nothing has to be said, because
0 lies between their extreme units. A domain with extreme units of another kind describes them in its own file.

The numbers of a unit are its core. A strategy sees the core and, under add-remove, the number 1 in a last column: the
unit itself. `extent` is the integer that stands for core 1, coordinate by coordinate. Sensitivities are in the 2-norm,
which Gaussian noise needs; a noise law with another norm adds a method beside `sensitivity` to each kind.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import (
    Array,
    fraction_up,
    fractions_up,
    norm_upward,
    product_upward,
    sqrt_upward,
    sum_upward,
)
from gaussmith.numerics.matrices import Bordered, Diagonal, Exchangeable, Matrix, NormBounds
from gaussmith.numerics.norms import largest_distance, largest_norm, longest_row, widest_pair
from gaussmith.numerics.two_level import replaced_counts
from gaussmith.privacy.neighbours import ADD_REMOVE, REPLACE_ONE

if TYPE_CHECKING:
    from gaussmith.numerics.matrices import Factored


MAX_LISTED = 1 << 12
"""Limit on the extreme units that are visited to certify a dense strategy."""

Level = tuple[Fraction, Fraction, int]
"""(t, δ, τ): the squared norm of a difference, its sum, and its change in the number of records."""


class Extremes(ABC):
    """The extreme units of one kind."""

    size: int
    """How many numbers the core of a unit has."""
    rows: int = 1
    """How many rows of a unit may count; 1 where a record is a unit."""

    @abstractmethod
    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """The sensitivity: at least ‖lift · s‖ for every difference s of neighbours; rounded up."""

    def replacement_sensitivity(self, lift: Matrix) -> float:
        """At least ‖lift · (s − s′)‖ for every two units, through a strategy for add-remove; rounded up."""
        return self.sensitivity(without_count(lift, self.size), REPLACE_ONE)


@dataclass(frozen=True)
class Signs(Extremes):
    """So many numbers, each −1 or 1 whatever the others are.

    >>> Signs(2).sensitivity(Diagonal(np.array([3.0, 4.0, 0.0])), ADD_REMOVE) - 5 < 1e-14
    True
    """

    size: int

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """Add-remove: s = ±(z, 1) with |z_j| ≤ extent_j; replace-one: s = z with |z_j| ≤ 2·extent_j."""
        extent = np.ones(self.size) if extent is None else extent
        fixed = neighbours == ADD_REMOVE
        bounds = np.append(extent, 1.0) if fixed else 2.0 * extent
        check_columns(lift, len(bounds))
        if not self.size:  # one unit more or less changes the number of units by one
            return lift.sensitivity(NormBounds(diagonal=lambda lift: float(np.abs(lift.entries).sum())))
        return lift.sensitivity(
            NormBounds(
                dense=lambda matrix: largest_corner(matrix, bounds, fixed),
                diagonal=lambda lift: norm_upward(np.nextafter(np.abs(lift.entries) * bounds, np.inf)),
                bordered=lambda lift: _largest_bordered(lift, bounds, fixed),
                factored=lambda lift: largest_vertex(lift, bounds, fixed),
            )
        )


@dataclass(frozen=True)
class Marks(Extremes):
    """So many numbers, of which at least `at_least` and at most `at_most` are 1, the others being 0.

    >>> Marks(3, at_most=2).sensitivity(Diagonal(np.array([3.0, 1.0, 4.0])), ADD_REMOVE) - 5 < 1e-14
    True
    """

    size: int
    at_most: int
    at_least: int = 0

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """Add-remove: s = (x, 1), x with j ≤ k ones; replace-one: p ones and q minus ones, p, q ≤ k, p + q ≤ n.

        Under replace-one `at_least` makes the bound smaller only where k is 1.
        """
        n, k, added = self.size, self.at_most, neighbours == ADD_REMOVE
        check_lift(lift, n, neighbours)
        apart = {not added, not added and self.at_least > 0}  # two records with a one each, one with none, or both
        bounds = NormBounds(
            dense=lambda matrix: largest_listed(matrix, self.listed(), neighbours),
            diagonal=lambda lift: largest_few(lift, np.ones(n), k if added else 2 * k),
            exchangeable=lambda lift: largest_level(lift, self._added(lift) if added else self._replaced()),
        )
        if k == 1:
            bounds = replace(
                bounds,
                dense=lambda matrix: largest_cell(matrix, n, neighbours, not self.at_least),
                reflected=lambda lift: max(lift.largest_norm(pairs) for pairs in apart),
                levelled=lambda lift: max(lift.largest_norm(pairs) for pairs in apart),
            )
        return lift.sensitivity(bounds)

    def listed(self, most: int = MAX_LISTED) -> Array | None:
        """Every record, one per row; None if there are more than `most`."""
        n, ones = self.size, range(self.at_least, self.at_most + 1)
        return None if sum(math.comb(n, j) for j in ones) > most else np.vstack([_marked(n, j) for j in ones])

    def _added(self, lift: Exchangeable) -> list[Level]:
        """The levels of added records that can have the largest norm, which is quadratic in the number of ones."""
        a, b, c, e, f = exact_numbers(lift)
        k = self.at_most
        bend = 2 * a * b + lift.size * b * b + e * e
        slope = a * a + 2 * a * c + 2 * lift.size * b * c + 2 * e * f
        ones = {self.at_least, k}
        if bend < 0:
            top = math.floor(-slope / (2 * bend))
            ones |= {j for j in (top, top + 1) if self.at_least <= j <= k}
        return [(Fraction(j), Fraction(j), 1) for j in ones]

    def _replaced(self) -> list[Level]:
        """The levels of differences of two records that can have the largest norm."""
        if self.at_most == self.at_least == 1:
            return [(Fraction(2), Fraction(0), 0)]
        return [(Fraction(t), Fraction(delta), 0) for t, delta in replaced_counts(self.size, self.at_most)]


@dataclass(frozen=True)
class PersonRows(Extremes):
    """What a person with T rows adds, 1 ≤ T ≤ `at_most`: `sums` over rows, each within ±T/k, and T/k with k = at_most.

    A norm is convex in T once all signs are known, so it is largest where T is 1 or k.
    """

    sums: int
    at_most: int

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.sums + 1

    @property
    def rows(self) -> int:  # type: ignore[override]
        return self.at_most

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        return Product(Signs(0), self).sensitivity(lift, neighbours, extent)


@dataclass(frozen=True)
class Sphere(Extremes):
    """So many numbers of Euclidean norm 1."""

    size: int

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """Under add-remove s = ±(z, 1) with ‖z‖ ≤ extent; under replace-one s = z with ‖z‖ ≤ 2·extent.

        ‖lift·(z, 1)‖² ≤ (max inner · √repeats · ‖z‖ + ‖border‖)² + last², for rows that see one coordinate each.
        """
        reach = 1.0 if extent is None else float(np.max(extent))
        private = neighbours == ADD_REMOVE
        check_columns(lift, self.size + private)
        rows = lift.as_bordered()
        if rows is None:
            raise damaged_plan("a ball with a dense lift")
        varying = rows.index < self.size
        inner, border = np.abs(rows.inner[varying]), np.abs(rows.border[varying])
        last = np.abs(rows.inner[~varying]) + np.abs(rows.border[~varying])
        if not private and border.any():
            raise damaged_plan("a ball with a border under replace-one")
        largest = product_upward(float(inner.max(initial=0.0)), repeats(rows, self.size), reach)
        if not private:
            return 2.0 * largest
        return norm_upward(np.append(last, sum_upward([largest, norm_upward(border)])))


@dataclass(frozen=True, init=False)
class Product(Extremes):
    """Units that are of each of several kinds, whatever they are in the others; their cores stand one after the other.

    >>> Product(Signs(1), PersonRows(1, at_most=2)).vertices(np.array([10.0, 2.0, 2.0])).tolist()[:3]
    [[-10.0, -2.0, 2.0], [-10.0, 2.0, 2.0], [-10.0, -1.0, 1.0]]
    """

    factors: tuple[Extremes, ...]

    def __init__(self, *factors: Extremes) -> None:
        object.__setattr__(self, "factors", factors)

    @property
    def size(self) -> int:  # type: ignore[override]
        return sum(factor.size for factor in self.factors)

    @property
    def rows(self) -> int:  # type: ignore[override]
        return max(factor.rows for factor in self.factors)

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """Over all extreme units where these are visited; of signs and rows beside them also row by row."""
        extent = np.ones(self.size) if extent is None else extent
        private = neighbours == ADD_REMOVE
        check_columns(lift, self.size + private)
        rows = lift.as_bordered()
        if rows is None:
            vertices, entries = self.vertices(extent), lift.exact_entries()
            if private:
                return largest_norm(entries, np.hstack([vertices, np.ones((len(vertices), 1))]))
            return largest_distance(entries, vertices) * (1 + 2.0**-40)  # 1/k is a rounded double
        if not private and rows.border.any():
            raise damaged_plan("a lift that combines columns")
        match self.factors:
            case (Signs(own), PersonRows() as counted) if private:
                return max(_reach(rows, own, counted, extent, T) for T in (1, counted.at_most))
            case (Signs(own), PersonRows() as counted):
                return max(_change(rows, own, counted, extent, other) for other in (1, counted.at_most))
        raise damaged_plan("a lift of rows over units of another kind")

    def vertices(self, extent: Array) -> Array:
        """The extreme units, one per row, where each kind has few."""
        if math.prod(map(count_vertices, self.factors)) > MAX_LISTED:
            what, rule = f"units with {self.size} numbers", f"they have more than {MAX_LISTED} extremes"
            raise PlanError(what, rule, "use a closed form", code="too-many-extreme-units", dimension=self.size)
        ends = np.cumsum([factor.size for factor in self.factors])
        parts = [list_vertices(f, each) for f, each in zip(self.factors, np.split(extent, ends[:-1]), strict=True)]
        found = np.zeros((1, 0))
        for part in parts:
            found = np.hstack([np.repeat(found, len(part), axis=0), np.tile(part, (len(found), 1))])
        return found


def count_vertices(extremes: Extremes) -> int:
    """How many extreme units there are; more than are ever visited where these cannot be listed."""
    match extremes:
        case Signs(n):
            return 1 << n
        case PersonRows(sums):
            return 2 << sums
        case Marks(n, most, least):
            return sum(math.comb(n, j) for j in range(least, most + 1))
        case Product():
            return math.prod(map(count_vertices, extremes.factors))
    return MAX_LISTED + 1


def list_vertices(extremes: Extremes, extent: Array) -> Array:
    """The extreme units, one per row, in units of `extent`; of rows, t is rounded to nearest and sums are rounded up.

    With codes for extents t is a whole number, and exact.
    """
    match extremes:
        case Signs(n):
            return _signs(n) * extent
        case PersonRows(sums, k):
            found = []
            for T in (k, 1):
                t = Fraction(T, k)
                reach = np.array(fractions_up(Fraction(e) * t for e in extent[:-1]))
                last = np.full((1 << sums, 1), float(Fraction(extent[-1]) * t))
                found.append(np.hstack([_signs(sums) * reach, last]))
            return np.vstack(found)
        case Marks(n, most, least):
            return np.vstack([_marked(n, j) for j in range(least, most + 1)]) * extent
        case Product():
            return extremes.vertices(extent)
    raise damaged_plan("extreme units that cannot be listed")


def _signs(size: int) -> Array:
    return np.array(list(itertools.product((-1.0, 1.0), repeat=size))).reshape(1 << size, size)


def _marked(size: int, ones: int) -> Array:
    """All rows with so many ones."""
    chosen = list(itertools.combinations(range(size), ones))
    rows = np.zeros((len(chosen), size))
    if ones:
        np.put_along_axis(rows, np.array(chosen), 1.0, axis=1)
    return rows


# -- what a strategy has to fit ---------------------------------------------------------------------------------------


def check_lift(lift: Matrix, width: int, neighbours: str) -> bool:
    """Whether the lift also covers the number of records; refuses a lift that does not fit."""
    counted = lift.shape[1] == width + 1
    if not (counted and neighbours == ADD_REMOVE):
        check_columns(lift, width)
    return counted


def check_columns(lift: Matrix, width: int) -> None:
    """Refuse a lift that has another number of columns."""
    if lift.shape[1] != width:
        raise damaged_plan(f"a lift of {lift.shape[1]} columns")


def without_count(lift: Matrix, width: int) -> Matrix:
    """The part of a lift that sees a record's coordinates, not the number of records."""
    return lift if lift.shape[1] == width else lift.without_last()


# -- signs ------------------------------------------------------------------------------------------------------------


def _largest_bordered(lift: Bordered, bounds: Array, fixed: bool) -> float:
    """max ‖lift·s‖ over all |s| ≤ bounds, rounded up: each row sees one varying coordinate and the last one."""
    inner = np.nextafter(np.abs(lift.inner) * bounds[lift.index], np.inf)
    if not fixed and not lift.border.any():
        return norm_upward(inner)
    border = np.nextafter(np.abs(lift.border) * bounds[-1], np.inf)
    return norm_upward(np.nextafter(inner + border, np.inf))


def largest_corner(lift: Array, bounds: Array, fixed: bool) -> float:
    """max ‖lift·s‖ over the corners s of ±bounds (the last one fixed if `fixed`), rounded up."""
    free = len(bounds) - fixed
    if 2**free > MAX_LISTED:
        what, rule = "a dense lift over many corners", f"at most {MAX_LISTED} can be visited"
        raise PlanError(what, rule, "use a closed form", code="too-many-corners-for-dense-lift")
    signs = _signs(free)
    if fixed:
        signs = np.hstack([signs, np.ones((len(signs), 1))])
    return largest_norm(lift, signs * bounds)


def largest_vertex(lift: Factored, bounds: Array, fixed: bool) -> float:
    """max ‖lift·s‖ over the box |s_j| ≤ bounds_j (the last coordinate being its bound if `fixed`), rounded up.

    A norm is convex, so it is largest at a vertex of what the box becomes in the lift's inner numbers. All vertices are
    visited; which signs they have rests on `inner` alone and is found exactly. Guarantee: at least the exact maximum
    for these doubles. Rounding: above it by some d·2⁻⁵⁰ of the sum of what all columns add.
    """
    from gaussmith.numerics.zonotopes import find_vertices

    free = len(bounds) - fixed
    steps = np.abs(lift.columns) * bounds
    size = np.abs(lift.left) @ (np.abs(lift.inner) @ steps)  # at least each row's part, at every vertex
    doubt = 8.0 * (sum(lift.inner.shape) + 8) * 2.0**-53 * size + len(bounds) * float(np.finfo(float).tiny)
    vertices = find_vertices(lift.inner[:, :free])
    K = vertices.gathered(lift.inner[:, :free] * steps[:free])
    middle = lift.left @ (lift.inner[:, -1] * steps[-1]) if fixed else np.zeros(len(lift.left))
    found = 0.0
    for block in vertices.blocks():
        Y = (block @ K.T) @ lift.left.T
        for signed in (Y, -Y) if fixed else (Y,):
            found = max(found, longest_row(np.abs(signed + middle) + doubt))
    return found


# -- marks ------------------------------------------------------------------------------------------------------------


def largest_level(lift: Exchangeable, levels: Iterable[Level]) -> float:
    """The largest norm over differences given by their levels, in exact arithmetic, then rounded up.

    inner² t + 2 inner δ (shared δ + border τ) + d (shared δ + border τ)² + (tail₀ δ + tail₁ τ)²
    """
    a, b, c, e, f = exact_numbers(lift)
    squares = []
    for t, delta, tau in levels:
        rest = b * delta + c * tau
        squares.append(a * a * t + 2 * a * delta * rest + lift.size * rest * rest + (e * delta + f * tau) ** 2)
    return sqrt_upward(max(squares))


def exact_numbers(lift: Exchangeable) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
    """inner, shared, border, tail₀ and tail₁; without a border there is no last column, and tail₁ is unused."""
    first, last = lift.tail or (0.0, 0.0)
    border, last = (0.0, 0.0) if lift.border is None else (lift.border, last)
    return Fraction(lift.inner), Fraction(lift.shared), Fraction(border), Fraction(first), Fraction(last)


def largest_few(lift: Diagonal, reach: Array, at_most: int) -> float:
    """√ of the sum of the k largest (entry · reach)², plus the last entry's square if there is one; rounded up."""
    products = np.nextafter(np.abs(lift.entries[: len(reach)]) * reach, np.inf)
    k = min(at_most, len(products))
    largest = np.partition(products, len(products) - k)[len(products) - k :]
    return norm_upward(np.append(largest, lift.entries[len(reach) :]))


def largest_listed(matrix: Array, records: Array | None, neighbours: str) -> float:
    """The largest norm over the differences of listed records, every one of them visited; rounded up."""
    if records is None:
        what, rule = "a dense lift over many records", f"at most {MAX_LISTED} can be visited"
        raise PlanError(what, rule, "use a closed form", code="too-many-records-for-dense-lift")
    if neighbours != ADD_REMOVE:
        return largest_distance(matrix, records)
    if matrix.shape[1] > records.shape[1]:
        records = np.hstack([records, np.ones((len(records), 1))])
    return largest_norm(matrix, records)


def largest_cell(matrix: Array, cells: int, neighbours: str, or_none: bool) -> float:
    """The largest norm over records in a single cell, for a dense lift; rounded up."""
    columns = matrix[:, :cells].T
    if neighbours != ADD_REMOVE:
        return widest_pair(np.vstack([columns, np.zeros((1, len(matrix)))]) if or_none else columns)
    if matrix.shape[1] == cells:
        return longest_row(columns)
    last = matrix[:, cells]
    # The sum of two doubles is off by at most half a unit in the last place: the value used is never smaller in size.
    reach = np.nextafter(np.abs(columns + last), np.inf)
    return longest_row(np.vstack([reach, np.abs(last)]) if or_none else reach)


# -- rows of people, beside numbers of their own ----------------------------------------------------------------------


def _reach(lift: Bordered, own: int, rows: PersonRows, extent: Array, T: int) -> float:
    """An upper bound on the norm over all people with T rows, one of them more or less."""
    over, last, t = slice(own, own + rows.sums), own + rows.sums, Fraction(T, rows.at_most)
    bounds = np.append(extent, 1.0)
    bounds[over] = fractions_up(Fraction(e) * t for e in extent[over])
    index, inner, border = lift.index, lift.inner, lift.border
    reach = np.nextafter(np.nextafter(np.abs(inner) * bounds[index], np.inf) + np.abs(border), np.inf)
    known = np.flatnonzero(index >= last)  # nothing varies here but T, and its sign against the border is known
    values = {last: Fraction(extent[last]) * t, last + 1: Fraction(1)}
    reach[known] = fractions_up(abs(Fraction(inner[i]) * values[int(index[i])] + Fraction(border[i])) for i in known)
    return norm_upward(reach)


def _change(lift: Bordered, own: int, rows: PersonRows, extent: Array, other: int) -> float:
    """An upper bound on the norm over two people, one with all rows that count and one with `other` rows."""
    over, last, k = slice(own, own + rows.sums), own + rows.sums, rows.at_most
    bounds = 2.0 * extent
    bounds[over] = fractions_up(Fraction(e) * Fraction(k + other, k) for e in extent[over])
    bounds[last] = fraction_up(Fraction(extent[last]) * Fraction(k - other, k))
    return norm_upward(np.nextafter(np.abs(lift.inner) * bounds[lift.index], np.inf))


# -- spheres ----------------------------------------------------------------------------------------------------------


def repeats(lift: Bordered, size: int) -> float:
    """The square root of the largest number of rows that see one coordinate; 1 for every strategy planned here."""
    varying = lift.index[lift.index < size]
    return sqrt_upward(float(np.bincount(varying).max())) if varying.size else 1.0

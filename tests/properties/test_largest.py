"""`sensitivity` of every domain on random lifts, against brute force in exact arithmetic.

Privacy rests on this one number. What a record can be is written here anew, from the definition of each domain, and
lifts are drawn at random: signs, zeros, scales and structures that no planner makes. The bound must never lie below the
largest lifted difference, and be equal to it (1e-9) unless a case says how far above it may be, and why.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from lifts import (
    Vector,
    bordered,
    check_bound,
    dense,
    diagonal,
    entries,
    exchangeable,
    factored,
    largest_added,
    largest_changed,
    repeated,
    unbordered,
)
from planting import plant
from refusals import damaged, refused

from gaussmith.domains import extremes
from gaussmith.domains.box import Box, Records
from gaussmith.domains.cells import Cells
from gaussmith.domains.chosen_cells import ChosenCells
from gaussmith.domains.counts import Counts
from gaussmith.domains.extremes import Marks, Signs, largest_cell
from gaussmith.domains.moments import Moments
from gaussmith.domains.people import People
from gaussmith.domains.registry import DOMAINS
from gaussmith.domains.row_moments import RowMoments
from gaussmith.numerics import exact, norms, zonotopes
from gaussmith.numerics.matrices import Bordered, Exchangeable, Matrix
from gaussmith.papers.ball import Ball
from gaussmith.papers.gaussian import GaussianData, UnknownGaussianData
from gaussmith.papers.looks import ColumnCells, LengthCells
from gaussmith.papers.points import Points
from gaussmith.papers.sparse import SparseSigns, SparseSum
from gaussmith.papers.votes import Rankings, Votes
from gaussmith.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE_ONE

DRAWS = 150
"""Lifts of each kind of neighbours; faults are found within a few of them."""


# -- what a record can be, by the definition of its domain ----------------------------------------------------------


def box_cores(domain: Box, extent: Vector) -> Iterator[Vector]:
    """|z_j| ≤ extent_j: a norm is convex, so corners are enough."""
    for signs in itertools.product((-1, 1), repeat=domain.dimension):
        yield [s * e for s, e in zip(signs, extent, strict=True)]


def count_cores(domain: Counts, extent: Vector) -> Iterator[Vector]:
    """Zeros and ones, at most k ones."""
    for row in itertools.product((0, 1), repeat=domain.dimension):
        if sum(row) <= domain.at_most:
            yield [Fraction(x) for x in row]


def vote_cores(domain: Votes, extent: Vector) -> Iterator[Vector]:
    """A ranking gives 0 … d−1 points."""
    for row in itertools.permutations(range(domain.dimension)):
        yield [x * extent[0] for x in row]


def sparse_cores(domain: SparseSum, extent: Vector) -> Iterator[Vector]:
    """At most k coordinates are not zero, each within ±extent_j."""
    for row in itertools.product((-1, 0, 1), repeat=domain.dimension):
        if sum(map(abs, row)) <= domain.at_most:
            yield [x * e for x, e in zip(row, extent, strict=True)]


def cell_cores(domain: Cells, extent: Vector) -> Iterator[Vector]:
    """One of the cells; with `or_none` also none."""
    d = math.prod(domain.sizes)
    for j in range(d):
        yield [Fraction(int(i == j)) for i in range(d)]
    if domain.or_none:
        yield [Fraction(0)] * d


def point_cores(domain: Points, extent: Vector) -> Iterator[Vector]:
    """A lift counts how many records are at each point."""
    n = len(domain.points)
    for j in range(n):
        yield [Fraction(int(i == j)) for i in range(n)]


def people_cores(domain: People, extent: Vector) -> Iterator[Vector]:
    """T = 1 … k rows: own numbers within ±extent, sums over rows within ±(T/k)·extent, and (T/k)·extent of T."""
    p = 0 if domain.own is None else domain.own.dimension
    q = 0 if domain.rows is None else domain.rows.dimension
    k = domain.max_rows
    for T in range(1, k + 1):
        for signs in itertools.product((-1, 1), repeat=p + q):
            own = [s * e for s, e in zip(signs[:p], extent[:p], strict=True)]
            over = [s * e * Fraction(T, k) for s, e in zip(signs[p:], extent[p : p + q], strict=True)]
            yield [*own, *over, extent[-1] * Fraction(T, k)]


def record_cores(domain: Records, extent: Vector) -> Iterator[Vector]:
    yield []


# -- cases ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A domain, its definition, the lifts it takes under each kind of neighbours, and how loose its bound may be."""

    domain: Any
    cores: Callable[[Any, Vector], Iterator[Vector]]
    lifts: dict[str, tuple[Callable[[np.random.Generator, int], Matrix], ...]]
    count: str = "always"
    """Whether a lift sees the record itself in a last column under add-remove: always, sometimes."""
    extents: str = "any"
    """Core 1 in integers: any number of each coordinate, one for all, or always 1."""

    @property
    def width(self) -> int:
        """How many numbers a record's core has: of points one each."""
        return len(self.domain.points) if isinstance(self.domain, Points) else self.domain.dimension

    def draw_extent(self, rng: np.random.Generator) -> np.ndarray | None:
        if self.extents == "ones" or rng.random() < 0.3:
            return None
        found = rng.integers(1, 1 << 42, self.width).astype(float)
        return found if self.extents == "any" else np.full(self.width, found[0])


def looseness(lift: Matrix) -> float:
    """How far above the truth the bound of a box may be: exact, unless rows pull one coordinate apart.

    Where several rows with a border see one coordinate, each is bounded by |inner| + |border|, and
    Σ (|a| + |b|)² ≤ 2 Σ (a² + b²) ≤ 2 · the larger of Σ (a + b)² and Σ (a − b)².
    """
    if isinstance(lift, Bordered) and lift.border.any() and len(set(lift.index.tolist())) < len(lift.index):
        return math.sqrt(2)
    return 1.0


def alike(rng: np.random.Generator, width: int, size: int) -> Exchangeable:
    return exchangeable(rng, size, counted=width > size)


def tallied_lifts(size: int) -> dict[str, Any]:
    kinds = (diagonal, dense, lambda rng, width: alike(rng, width, size))
    return {ADD_REMOVE: kinds, REPLACE_ONE: kinds}


LISTED = {ADD_REMOVE: (diagonal, dense), REPLACE_ONE: (diagonal, dense)}


ROWS = {ADD_REMOVE: (diagonal, dense, bordered, repeated), REPLACE_ONE: (diagonal, dense, bordered, repeated)}
CONE = {ADD_REMOVE: (diagonal, dense, bordered, repeated), REPLACE_ONE: (diagonal, unbordered)}
POINTS = [[0, 0], [1, 0], [1, 5], [-2, 3.5]]

FEW = {ADD_REMOVE: (factored,), REPLACE_ONE: (factored,)}

CASES = {
    "few answers": Case(Box([0, -3, 0.1, 0, 0], [1, 8, 0.3, 1, 2]), box_cores, FEW),
    "box": Case(Box([0, -3, 0.1], [1, 8, 0.3]), box_cores, ROWS),
    "one column": Case(Box([0], [1]), box_cores, ROWS),
    "people": Case(People(Box([0], [10]), Box([0, -1], [4, 1]), 5), people_cores, CONE),
    "people of rows": Case(People(None, Box([0], [4]), 2), people_cores, CONE),
    "people counted": Case(People(Box([0, 2], [10, 3]), None, 7), people_cores, CONE),
    "counts": Case(Counts(4, 2), count_cores, tallied_lifts(4), "sometimes", "ones"),
    "counts of most": Case(Counts(5, 4), count_cores, tallied_lifts(5), "sometimes", "ones"),
    "votes": Case(Votes(4), vote_cores, tallied_lifts(4), "sometimes", "one"),
    "sparse": Case(SparseSum(4, 2, [1, 2, 3, 4]), sparse_cores, LISTED, "sometimes"),
    "cells": Case(Cells(size=5), cell_cores, tallied_lifts(5), "sometimes", "ones"),
    "cells or none": Case(Cells(size=4, or_none=True), cell_cores, tallied_lifts(4), "sometimes", "ones"),
    "points": Case(Points(POINTS), point_cores, tallied_lifts(4), "sometimes", "ones"),
    "records": Case(Records(), record_cores, {ADD_REMOVE: (diagonal,), REPLACE_ONE: (diagonal,)}),
}


def check_case(case: Case, neighbours: str, rng: np.random.Generator, draws: int = DRAWS) -> None:
    for i in range(draws):
        counted = neighbours == ADD_REMOVE and (case.count == "always" or bool(rng.random() < 0.6))
        kinds = case.lifts[neighbours]
        lift = kinds[i % len(kinds)](rng, case.width + counted)
        extent = case.draw_extent(rng)
        units = [Fraction(1)] * case.width if extent is None else [Fraction(e) for e in extent]
        cores = list(case.cores(case.domain, units))
        rows = entries(lift)
        truth = largest_added(rows, cores, counted) if neighbours == ADD_REMOVE else largest_changed(rows, cores)
        check_bound(case.domain.sensitivity(lift, neighbours, extent), truth, looseness(lift), (lift, extent))


def check_changes(case: Case, rng: np.random.Generator, draws: int = DRAWS) -> None:
    """Two records seen through an add-remove lift: what groups rest on under replace-one."""
    cores = list(case.cores(case.domain, [Fraction(1)] * case.width))
    for i in range(draws):
        kinds = case.lifts[ADD_REMOVE]
        lift = kinds[i % len(kinds)](rng, case.width + 1)
        truth = largest_changed([row[: case.width] for row in entries(lift)], cores)
        check_bound(case.domain.extremes().replacement_sensitivity(lift), truth, 1.0, lift)


@pytest.fixture(autouse=True)
def _no_vertices_found_under_a_fault() -> Iterator[None]:
    yield
    zonotopes._find.cache_clear()


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("name", CASES)
def test_the_bound_is_the_largest_difference(name: str, neighbours: str) -> None:
    check_case(CASES[name], neighbours, np.random.default_rng())


@pytest.mark.parametrize("name", CASES)
def test_the_bound_of_a_change_is_the_largest_change(name: str) -> None:
    check_changes(CASES[name], np.random.default_rng())


def test_every_domain_is_tried() -> None:
    # See test_largest_unlisted, test_largest_moments, test_row_moments, test_looks; chosen cells are cells.
    elsewhere = {Ball, ChosenCells, ColumnCells, GaussianData, LengthCells, Moments, RowMoments}
    without_lift = {UnknownGaussianData}
    assert {type(case.domain) for case in CASES.values()} | elsewhere | without_lift == set(DOMAINS.values())


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("name", ["box", "people", "sparse", "records"])
def test_lifts_of_other_structures_are_refused(name: str, neighbours: str) -> None:
    """Written out, their entries would be rounded: 2^60 + 2^120 is 2^120, and two records would look alike."""
    domain, width = CASES[name].domain, CASES[name].width
    lift = Exchangeable(width + (neighbours == ADD_REMOVE) or 1, 2.0**60, 2.0**120)
    odd = {"records": "a lift of 1 columns"}
    usual = "which its domain cannot bound"
    with refused(damaged(usual if neighbours == ADD_REMOVE else odd.get(name, usual))):
        domain.sensitivity(lift, neighbours)
    if name == "sparse":
        bordered = Bordered(np.arange(width), *np.ones((2, width)), width + 1)
        with refused(damaged(usual)):
            domain.extremes().replacement_sensitivity(bordered)
    elif name != "records":  # of those nothing changes
        with refused(damaged("a lift of")):
            domain.extremes().replacement_sensitivity(lift)


# -- planted faults ---------------------------------------------------------------------------------------------------

CHANGE = "change"

FAULTS: list[tuple[str, str, Any, str, str]] = [
    (
        "people",
        ADD_REMOVE,
        extremes.Product.sensitivity,
        "for T in (1, counted.at_most)",
        "for T in (counted.at_most,)",
    ),
    ("people", ADD_REMOVE, extremes.Product.sensitivity, "for T in (1, counted.at_most)", "for T in (1,)"),
    ("people of rows", ADD_REMOVE, extremes.list_vertices, "for T in (k, 1)", "for T in (k, k)"),
    ("people of rows", ADD_REMOVE, extremes.list_vertices, "for T in (k, 1)", "for T in (1, 1)"),
    ("people", ADD_REMOVE, extremes._reach, "+ np.abs(border)", "+ border"),
    ("people", ADD_REMOVE, extremes._reach, "extent[over])", "extent[over] / 2)"),
    (
        "people",
        REPLACE_ONE,
        extremes.Product.sensitivity,
        "other in (1, counted.at_most)",
        "other in (counted.at_most,)",
    ),
    ("people", REPLACE_ONE, extremes.Product.sensitivity, "other in (1, counted.at_most)", "other in (1,)"),
    ("people", REPLACE_ONE, extremes._change, "Fraction(k + other, k)", "Fraction(k, k)"),
    ("people", CHANGE, extremes._change, "bounds = 2.0 * extent", "bounds = 1.0 * extent"),
    ("box", ADD_REMOVE, extremes._signs, "(-1.0, 1.0)", "(1.0, 1.0)"),
    ("box", ADD_REMOVE, extremes._largest_bordered, "np.abs(lift.border)", "0 * lift.border"),
    ("box", ADD_REMOVE, Signs.sensitivity, "np.append(extent, 1.0)", "np.append(extent, 0.0)"),
    ("box", REPLACE_ONE, Signs.sensitivity, "2.0 * extent", "extent"),
    ("box", CHANGE, Signs.sensitivity, "2.0 * extent", "extent"),
    ("box", ADD_REMOVE, norms.largest_norm, "(1.0 + 4.0 * _UNIT)", "0.99"),
    ("few answers", ADD_REMOVE, extremes.largest_vertex, "longest_row(", "0.99 * longest_row("),
    ("few answers", ADD_REMOVE, extremes.largest_vertex, "(Y, -Y) if fixed", "(Y,) if fixed"),
    ("few answers", ADD_REMOVE, extremes.largest_vertex, "signed + middle", "signed"),
    ("few answers", REPLACE_ONE, extremes.largest_vertex, "* bounds", "* bounds / 2"),
    ("few answers", REPLACE_ONE, extremes.largest_vertex, "np.abs(lift.columns)", "np.maximum(lift.columns, 0)"),
    ("few answers", REPLACE_ONE, zonotopes._regions, "(1, -1), repeat", "(1, 1), repeat"),
    ("few answers", REPLACE_ONE, zonotopes._distinct, "if first > 0 else -shared", "if True else -shared"),
    ("few answers", REPLACE_ONE, zonotopes.Vertices.gathered, "columns * self.facing", "columns"),
    ("few answers", REPLACE_ONE, zonotopes._minors, "(-1) ** i * level", "level"),
    ("few answers", CHANGE, Signs.sensitivity, "2.0 * extent", "extent"),
    ("counts", ADD_REMOVE, Marks._added, "{self.at_least, k}", "{k}"),
    ("counts of most", ADD_REMOVE, Marks._added, "bend < 0", "bend > 0"),
    ("counts of most", ADD_REMOVE, Marks._added, "(top, top + 1)", "(top,)"),
    ("counts", REPLACE_ONE, Marks.sensitivity, "2 * k", "k"),
    ("counts", REPLACE_ONE, Marks._replaced, "self.at_most)]", "self.at_most - 1)]"),
    ("counts", ADD_REMOVE, extremes.largest_few, "min(at_most, ", "min(at_most - 1, "),
    ("counts", ADD_REMOVE, extremes.largest_level, "lift.size * rest", "rest"),
    ("cells", ADD_REMOVE, extremes.exact_numbers, "(0.0, 0.0) if", "(0.0, last) if"),
    ("counts", ADD_REMOVE, exact.sqrt_upward, "fraction_up(", "fraction_down("),
    ("counts", REPLACE_ONE, norms._widest, "2.0 * (block", "1.0 * (block"),
    ("counts", ADD_REMOVE, extremes.largest_listed, "np.ones(", "np.zeros("),
    ("votes", ADD_REMOVE, Rankings._largest_diagonal, "entries * np.arange(d)", "entries * np.arange(d)[::-1]"),
    ("votes", ADD_REMOVE, Rankings._largest_diagonal, "reach * unit", "reach"),
    ("votes", REPLACE_ONE, Rankings._largest_diagonal, "2.0 * np.arange(d) - (d - 1)", "1.0 * np.arange(d)"),
    ("votes", ADD_REMOVE, Rankings._level, "2 * d - 1", "2 * d - 2"),
    ("votes", REPLACE_ONE, Rankings._level, "(d * d - 1) // 3", "(d * d - 1) // 6"),
    ("sparse", REPLACE_ONE, SparseSigns.sensitivity, "2.0 * reach", "reach"),
    ("sparse", ADD_REMOVE, SparseSigns.listed, "(-1.0, 1.0)", "(1.0, 1.0)"),
    ("cells", REPLACE_ONE, Marks.sensitivity, "2 * k", "k"),
    ("cells", REPLACE_ONE, Marks._replaced, "Fraction(2)", "Fraction(1)"),
    ("cells or none", ADD_REMOVE, Marks._added, "{self.at_least, k}", "{k}"),
    ("cells or none", REPLACE_ONE, Marks._replaced, "self.at_most == self.at_least == 1", "True"),
    ("cells or none", ADD_REMOVE, largest_cell, "np.vstack([reach, np.abs(last)]) if or_none else reach", "reach"),
    ("cells or none", REPLACE_ONE, largest_cell, "if or_none else columns)", "if False else columns)"),
    ("cells", ADD_REMOVE, largest_cell, "columns + last", "columns - last"),
    ("points", REPLACE_ONE, Marks.sensitivity, "2 * k", "k"),
    ("records", ADD_REMOVE, Signs.sensitivity, ".sum()", ".sum() * 0.99"),
]


@pytest.mark.parametrize(("name", "kind", "function", "right", "wrong"), FAULTS)
def test_planted_faults_are_found(
    name: str, kind: str, function: Any, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, function, right, wrong)
    check: Callable[..., None] = check_changes if kind == CHANGE else check_case
    with pytest.raises(AssertionError, match="the truth"):
        check(CASES[name], *(() if kind == CHANGE else (kind,)), np.random.default_rng(), 40 * DRAWS)


@pytest.mark.parametrize("factor", [0.99, 1 - 1e-12, 1.01])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("name", CASES)
def test_a_bound_that_is_a_little_off_is_found(
    name: str, neighbours: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(CASES[name].domain)
    right = kind.sensitivity
    monkeypatch.setattr(kind, "sensitivity", lambda *given: factor * right(*given))
    if name == "records" and neighbours == REPLACE_ONE:  # nothing but their number is asked, and it is public
        check_case(CASES[name], neighbours, np.random.default_rng())
        return
    with pytest.raises(AssertionError, match="the truth"):
        check_case(CASES[name], neighbours, np.random.default_rng())

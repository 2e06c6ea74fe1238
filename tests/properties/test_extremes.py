"""The description of extreme units: what follows from it is right and tight, and what engines add up lies inside.

Privacy rests on both: `sensitivity` of a description must not lie below any difference of units that fit it, and no
row of any engine may become integers outside the hull of what its domain describes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from engines import duckdb_relation
from lifts import Vector, bordered, check_bound, dense, diagonal, entries, exchangeable, largest_added, largest_changed
from refusals import damaged, refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.chosen_cells import ChosenCells
from gaussmith.domains.domain import records_are_rows
from gaussmith.domains.extremes import Extremes, Marks, PersonRows, Product, Signs, Sphere
from gaussmith.domains.moments import ValueProducts
from gaussmith.numerics.matrices import Dense
from gaussmith.papers.sparse import SparseSigns
from gaussmith.papers.votes import Rankings
from gaussmith.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE_ONE
from gaussmith.totals.opened import total_all

# -- the library function, on random descriptions ---------------------------------------------------------------------


def units_of(kind: Extremes, extent: Vector) -> Iterator[Vector]:
    """Every unit that a norm can be largest at, by the definition of each kind; of rows also those between."""
    match kind:
        case Signs(n):
            for signs in itertools.product((-1, 1), repeat=n):
                yield [s * e for s, e in zip(signs, extent, strict=True)]
        case Marks(n, most, least):
            for row in itertools.product((0, 1), repeat=n):
                if least <= sum(row) <= most:
                    yield [x * e for x, e in zip(row, extent, strict=True)]
        case PersonRows(sums, k):
            for T in range(1, k + 1):
                for signs in itertools.product((-1, 1), repeat=sums):
                    over = [s * e * Fraction(T, k) for s, e in zip(signs, extent, strict=False)]
                    yield [*over, extent[-1] * Fraction(T, k)]
        case Product(factors):
            ends = np.cumsum([factor.size for factor in factors]).tolist()
            parts = [extent[end - f.size : end] for f, end in zip(factors, ends, strict=True)]
            for each in itertools.product(*(units_of(f, part) for f, part in zip(factors, parts, strict=True))):
                yield [x for part in each for x in part]


def query_kind(rng: np.random.Generator) -> Extremes:
    chosen = int(rng.integers(3))
    if chosen == 0:
        return Signs(int(rng.integers(1, 4)))
    if chosen == 1:
        n = int(rng.integers(2, 5))
        most = int(rng.integers(1, n + 1))
        return Marks(n, most, int(rng.integers(0, min(most + 1, n))))  # two units at least
    return PersonRows(int(rng.integers(0, 3)), int(rng.integers(2, 5)))


def query_extent(kind: Extremes, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers, as codes have: of marks 1, of the number of rows a multiple of the most that count."""
    match kind:
        case Marks(n):
            return np.ones(n)
        case PersonRows(sums, k):
            return np.append(rng.integers(1, 1 << 42, sums), k * int(rng.integers(1, 9))).astype(float)
        case Product(factors):
            return np.concatenate([query_extent(factor, rng) for factor in factors])
    return rng.integers(1, 1 << 42, kind.size).astype(float)


def check_kind(kind: Extremes, neighbours: str, rng: np.random.Generator, lifts: Any) -> None:
    lift = lifts[int(rng.integers(len(lifts)))](rng, kind.size + (neighbours == ADD_REMOVE))
    extent = query_extent(kind, rng)
    units, rows = list(units_of(kind, [Fraction(e) for e in extent])), entries(lift)
    truth = largest_added(rows, units, True) if neighbours == ADD_REMOVE else largest_changed(rows, units)
    check_bound(kind.sensitivity(lift, neighbours, extent), truth, 1.0, (kind, lift, extent))


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_sensitivity_is_that_of_the_units_described(neighbours: str) -> None:
    """Of one kind or a product of two, with any dense strategy: never below the truth, and equal to it."""
    rng = np.random.default_rng()
    for _ in range(400):
        kinds = [query_kind(rng) for _ in range(int(rng.integers(1, 3)))]
        check_kind(kinds[0] if len(kinds) == 1 else Product(*kinds), neighbours, rng, [dense])


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_strategies_row_by_row_are_bounded_alike(neighbours: str) -> None:
    rng = np.random.default_rng()
    for _ in range(200):
        signs, rows = Signs(int(rng.integers(0, 3))), PersonRows(int(rng.integers(0, 3)), int(rng.integers(2, 5)))
        check_kind(Product(signs, rows), neighbours, rng, [diagonal])
        check_kind(Signs(int(rng.integers(1, 4))), neighbours, rng, [diagonal, bordered])
        n = int(rng.integers(2, 5))
        marks = [Marks(n, int(rng.integers(1, n + 1))), Marks(n, 1, 1)][int(rng.integers(2))]
        kinds = [diagonal, lambda rng, width, n=n: exchangeable(rng, n, width > n)]
        check_kind(marks, neighbours, rng, kinds)


def test_rows_and_marks_with_a_least_number() -> None:
    """Exactly two of three: all pairs differ in two places, and no unit is empty."""
    two = Marks(3, 2, at_least=2)
    rows = np.array([[1.0, 1.0, 1.0, -2.0]])  # the number of ones, less two
    assert two.sensitivity(Dense(rows), ADD_REMOVE) < 1e-12 < 1 < Marks(3, 2).sensitivity(Dense(rows), ADD_REMOVE)
    assert two.sensitivity(Dense(np.eye(3)), REPLACE_ONE) == pytest.approx(np.sqrt(2))


def test_units_that_cannot_be_visited_are_refused() -> None:
    with refused("too-many-extreme-units", dimension=14):
        Product(Signs(12), PersonRows(1, 2)).sensitivity(Dense(np.ones((1, 15))), ADD_REMOVE)
    with refused("too-many-extreme-units"):
        Product(Signs(1), Sphere(2)).sensitivity(Dense(np.ones((1, 4))), ADD_REMOVE)
    with refused(damaged("a lift of rows over units of another kind")):
        Product(Signs(1), Marks(2, 1)).sensitivity(diagonal(np.random.default_rng(), 4), ADD_REMOVE)


# -- records on engines, inside what their domain describes -----------------------------------------------------------


def is_inside(kind: Extremes, core: list[int], extent: list[int]) -> bool:
    """Whether a unit's integers lie in the hull of what is described, by the definition of each kind."""
    match kind:
        case Signs():
            return all(abs(x) <= e for x, e in zip(core, extent, strict=True))
        case Marks(_, most, least):
            return set(core) <= {0, 1} and least <= sum(core) <= most
        case PersonRows(sums, k):
            T = core[-1]  # its extent is k
            return 1 <= T <= k == extent[-1] and all(abs(core[j]) * k <= T * extent[j] for j in range(sums))
        case Sphere():
            return sum(x * x for x in core) <= extent[0] ** 2
        case SparseSigns(_, most):
            return sum(x != 0 for x in core) <= most and all(abs(x) <= e for x, e in zip(core, extent, strict=True))
        case Rankings(d):  # no preference is the mean of all rankings
            points = sorted(Fraction(x, extent[0]) for x in core)
            return sum(points) == d * (d - 1) // 2 and all(sum(points[:j]) >= j * (j - 1) // 2 for j in range(d))
        case ValueProducts(columns, pairs, 1):
            within = all(abs(x) <= e for x, e in zip(core[:columns], extent, strict=False))
            return within and all(core[columns + at] == core[i] * core[j] for at, (i, j) in enumerate(pairs))
        case ValueProducts(_, _, rows):  # each is T times a mean row, which is rounded
            return all(abs(x) <= (1 + kind.rounding) * rows * e for x, e in zip(core, extent, strict=True))
        case Product(factors):
            ends = list(itertools.accumulate(factor.size for factor in factors))
            at = [slice(end - factor.size, end) for factor, end in zip(factors, ends, strict=True)]
            return all(is_inside(f, core[s], extent[s]) for f, s in zip(factors, at, strict=True))
    raise AssertionError(f"no definition of {kind}")


ENGINES = {
    "numpy": lambda frame: frame.to_numpy().astype(float),
    "polars": lambda frame: frame,
    "duckdb": duckdb_relation,
}

PLAIN: dict[str, Any] = {
    "box": (gm.Box([0, -3, 1], [1, 8, 1.5]), {}),
    "moments": (gm.Moments(gm.Box([0, -3, 1], [1, 8, 1.5])), {}),
    "counts": (gm.Counts(3, 2), {}),
    "cells": (gm.Cells(3), {}),
    "cells or none": (gm.Cells(3, or_none=True), {}),
    "ball": (gm.domains.Ball(3, 2.0, centre=[1, 0, 0]), {}),
    "gaussian": (gm.domains.GaussianData([0, 1, 2], [1, 2, 3]), {}),
    "sparse": (gm.domains.SparseSum(3, 2, [1, 2, 3]), {}),
    "votes": (gm.domains.Votes(3), {}),
    "points": (gm.domains.Points([[0, 0, 0], [1, 2, 3], [-1, 0, 4]]), {}),
}

ODD = [None, float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e300, -1e300, 5e-324, 1.0, 2.0]


def query_value(rng: np.random.Generator) -> float | None:
    return ODD[int(rng.integers(len(ODD)))] if rng.random() < 0.4 else float(rng.normal() * 10.0 ** rng.integers(-1, 2))


def check_totals(query: Any, totals: Any) -> int:
    """One unit's totals in each group lie inside what its domain describes; in how many groups it is."""
    codes, kind = query.block.codes, query.block.domain.extremes()
    if isinstance(query.block.domain, ChosenCells):  # around any cell that is chosen
        cells = query.block.domain.fine.cells
        totals = [mechanism.total_around(query, each, int(np.random.default_rng().integers(cells))) for each in totals]
    extent, present = [int(e) for e in codes.extents], 0
    for group in totals:
        sums, records = [int(s) for s in group.sums], int(group.records)
        if not records:
            assert not any(sums), "nobody adds nothing"
            continue
        present += 1
        assert records == 1 or records_are_rows(query.block.domain)
        core = [int(x) for x in codes.centred(sums, records)]
        assert is_inside(kind, core, extent), (kind, core, extent)
    return present


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PLAIN)
def test_records_of_any_engine_lie_inside_their_extremes(name: str, engine: str) -> None:
    domain, options = PLAIN[name]
    plan, rng = gm.plan(domain, gm.Guarantee(mu=1), **options), np.random.default_rng()
    columns = 1 if name.startswith("cells") else 3
    for _ in range(60):
        row = [query_value(rng) for _ in range(columns)]
        frame = pl.DataFrame([row], schema=dict.fromkeys("abc"[:columns], pl.Float64), orient="row")
        if name.startswith("cells"):
            frame = pl.DataFrame({"a": [None if row[0] is None else int(rng.integers(-1, 5))]}, {"a": pl.Int64})
        (totals,) = total_all(mechanism.prepare(plan, ENGINES[engine](frame)).sources)
        check_totals(plan.queries[0], totals)


ASKED: dict[str, dict[str, Any]] = {
    "rows": {"sums": {"a": (-1, 2)}, "means": {"b": (0, 5)}, "count": True, "rows_per_unit": 3, "mean_of": "rows"},
    "people": {"sums": {"a": (-1, 2)}, "means": {"b": (0, 5)}, "count": True, "mean_of": "units"},
    "groups": {"sums": {"a": (-1, 2)}, "count": True, "by": {"c": ["x", "y", "z"]}, "groups_per_unit": 2},
    "groups of rows": {"means": {"a": (-1, 2)}, "by": {"c": ["x", "y"]}, "groups_per_unit": 2, "rows_per_unit": 2},
    "values": {"histograms": {"c": ["x", "y", "z"]}, "values_per_unit": 2, "medians": {"a": (-1, 2)}},
    "variances": {"variances": {"a": (-1, 2)}, "means": {"a": (-1, 2)}, "mean_of": "units"},
    "variances of rows": {"variances": {"a": (-1, 2)}, "rows_per_unit": 3, "mean_of": "rows"},
}


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("name", ASKED)
def test_people_of_any_engine_lie_inside_their_extremes(name: str, engine: str) -> None:
    """One person with a few rows: in each group it is within what is described, and in no more groups than planned."""
    request = gm.Request("table", unit="person", guarantee=gm.Guarantee(mu=1), **ASKED[name])
    plan, rng, seen = request.plan, np.random.default_rng(), 0
    for _ in range(25):
        n = int(rng.integers(1, 7))
        frame = pl.DataFrame(
            {
                "person": [1] * n,
                "a": pl.Series([query_value(rng) for _ in range(n)], dtype=pl.Float64),
                "b": pl.Series([query_value(rng) for _ in range(n)], dtype=pl.Float64),
                "c": pl.Series(rng.choice(["x", "y", "z", "other"], n).tolist(), dtype=pl.String),
            }
        )
        prepared = mechanism.prepare_request(plan, ENGINES[engine](frame))
        for query, totals in zip(plan.queries, total_all(prepared.sources), strict=True):
            present = check_totals(query, totals)
            assert present <= (1 if query.groups is None else query.groups.at_most)
            seen += present
    assert seen, "somebody was counted"


@pytest.mark.parametrize(
    ("kind", "core", "extent"),
    [
        (Signs(2), [3, -5], [3, 4]),
        (Marks(3, 1), [1, 1, 0], [1, 1, 1]),
        (Marks(3, 2), [2, 0, 0], [1, 1, 1]),
        (Marks(2, 1, 1), [0, 0], [1, 1]),
        (PersonRows(1, 3), [5, 1], [12, 3]),
        (PersonRows(1, 3), [0, 4], [12, 3]),
        (Sphere(2), [3, 4], [4, 4]),
        (SparseSigns(2, 1), [1, 1], [5, 5]),
        (Rankings(3), [0, 0, 6], [2, 2, 2]),
        (ValueProducts(1, ((0, 0),)), [2, 3], [4, 16]),
        (ValueProducts(1, ((0, 0),), 2), [9, 0], [4, 16]),
        (Product(Signs(1), PersonRows(0, 2)), [1, 3], [1, 2]),
    ],
)
def test_the_check_rejects_what_is_outside(kind: Extremes, core: list[int], extent: list[int]) -> None:
    assert not is_inside(kind, core, extent)

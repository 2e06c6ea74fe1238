"""Looks at columns of which nothing is known: no record changes the noised integers by more than is charged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.papers import locating
from gaussmith.papers.looks import ColumnCells, LengthCells
from gaussmith.planning.certified_grid import NOISE_BITS

ODD = np.array(
    [0.0, -0.0, 5e-324, 2.2e-308, 1e-6, 0.3, 1.0, -1.0, 17.25, 1e16, 1.7e308, -1.7e308, np.inf, -np.inf, np.nan]
)
LOOKS = {
    "powers of two": lambda: ColumnCells(np.tile(locating.LOCATING_EDGES, (3, 1))),
    "around frames": lambda: ColumnCells(
        locating.edges_around(locating.Frame(np.array([0.0, 1e9, -3.0]), np.array([1.0, 1e-9, 1e12]), 100.0))
    ),
    "lengths": lambda: LengthCells([0.0, 1.0, -1.0], [1.0, 1e300, 1e-300], [0.0, 0.5, 1.0, 1e300]),
}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", LOOKS)
def test_neighbours_stay_within_the_guarantee_in_exact_integers(name, neighbours):
    g = gm.Guarantee(mu=0.3)
    plan = gm.plan(LOOKS[name](), g, weights="equal", neighbours=neighbours)
    codes, grid = plan.block.codes, plan.block.grid
    rng = np.random.default_rng()
    with np.errstate(all="ignore"):
        records = rng.choice(ODD, (400, 3)) * rng.choice([1.0, -0.7, 3.0], (400, 3))
        coded = codes.encode(records).astype(object)
        assert codes.sum_rows(records).tolist() == coded.sum(axis=0).tolist()
    base = rng.integers(0, 10**6, codes.width).astype(object)
    limit = (Fraction(g.mu) * 2**NOISE_BITS) ** 2
    squares = []
    for one, other in zip(coded[::2], coded[1::2], strict=True):
        with_one, rest = (
            (base + one, 10**6),
            ((base + other, 10**6) if neighbours == "replace-one" else (base, 10**6 - 1)),
        )
        here, there = (grid.lifted(codes, sums.tolist(), n) for sums, n in (with_one, rest))
        squares.append(sum((int(a) - int(b)) ** 2 for a, b in zip(here, there, strict=True)))
    assert max(squares) <= limit
    assert max(squares) > limit * Fraction(1, 4)


def test_a_record_is_in_one_cell_of_each_column_or_in_none():
    rng = np.random.default_rng()
    records = rng.choice(ODD, (500, 3))
    codes = ColumnCells(np.tile(locating.LOCATING_EDGES, (3, 1))).codes()
    by_column = codes.encode(records).reshape(500, 3, -1).sum(axis=2)
    assert (by_column == ~np.isnan(records)).all()
    lengths = LengthCells(np.zeros(3), np.ones(3), [1.0, 2.0]).codes().encode(records).sum(axis=1)
    assert (lengths == np.isfinite(records).all(axis=1)).all()


def test_cells_that_allow_one_more_than_is_charged_are_caught():
    """A planted bug: codes that count a record twice go beyond the guarantee, and the comparison above sees it."""
    g = gm.Guarantee(mu=0.3)
    plan = gm.plan(LOOKS["powers of two"](), g, weights="equal")
    codes, grid = plan.block.codes, plan.block.grid
    one = 2 * codes.encode(np.ones((1, 3)))[0]
    here, there = (grid.lifted(codes, sums, n) for sums, n in ((one.tolist(), 1), ([0] * codes.width, 0)))
    assert sum((int(a) - int(b)) ** 2 for a, b in zip(here, there, strict=True)) > (Fraction(g.mu) * 2**NOISE_BITS) ** 2


def test_saved_plans_of_looks_are_the_same():
    for make in LOOKS.values():
        plan = gm.plan(make(), gm.Guarantee(mu=1), weights="equal")
        again = gm.read(plan.to_json())
        assert again == plan and again.domain == plan.domain

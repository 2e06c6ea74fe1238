"""Marginals planned by residuals: published errors, the solver on the whole table, and exact integers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest
from refusals import Expected, damaged, refusal, refused

import gaussmith as gm
from gaussmith.errors import PlanError
from gaussmith.numerics import marginals as residual_sizes
from gaussmith.numerics import marginals as way_tables
from gaussmith.numerics.marginals import MarginalPlan, Residuals, plan_marginals
from gaussmith.numerics.solver import solve

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Way = tuple[int, ...]

SMALL = [50, 100, 7, 4, 2]


def up_to(attributes: int, size: int, least: int = 0) -> list[Way]:
    return [A for r in range(least, size + 1) for A in combinations(range(attributes), r)]


def workload(shape: list[int], ways: list[Way]) -> Array:
    """One row per record (cell of the whole table), one column per cell of each marginal."""
    records = list(product(*map(range, shape)))
    columns = []
    for way in ways:
        for cell in product(*(range(shape[i]) for i in way)):
            columns.append([float(all(x[i] == c for i, c in zip(way, cell, strict=True))) for x in records])
    return np.array(columns).T


def marginals_of(table: Counts, ways: list[Way]) -> dict[Way, Counts]:
    axes = range(table.ndim)
    return {way: table.sum(axis=tuple(a for a in axes if a not in way)) for way in ways}


def lifted_records(plan: MarginalPlan) -> list[list[Fraction]]:
    """The exact lifted vector of every possible record."""
    rows = []
    for record in product(*map(range, plan.shape)):
        table = np.zeros(plan.shape, dtype=np.int64)
        table[record] = 1
        row: list[Fraction] = []
        for A, values in plan.lift(marginals_of(table, list(plan.ways))):
            scales = plan.scales(A).ravel().tolist()
            row += [Fraction(c) * int(x) for c, x in zip(scales, values.ravel().tolist(), strict=True)]
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("shape", "ways", "rmse"),
    [
        (SMALL, up_to(5, 1, 1), 1.744),
        (SMALL, up_to(5, 2, 2), 2.035),
        (SMALL, up_to(5, 3), 2.276),
        ([85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2], up_to(14, 3), 10.665),
        ([101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15], up_to(12, 3), 8.876),
        ([10] * 10, up_to(10, 3), 9.348),
    ],
    ids=["5 one-way", "5 two-way", "5 up to three", "14 up to three", "12 up to three", "10 × 10 up to three"],
)
def test_published_errors(shape: list[int], ways: list[Way], rmse: float) -> None:
    plan = plan_marginals(shape, ways)
    assert abs(plan.rmse - rmse) <= 5.001e-4
    spent = sum(plan.variance(way) * math.prod(shape[i] for i in way) for way in ways)
    assert spent == pytest.approx(plan.total, rel=1e-9)
    assert plan.lower <= plan.total <= plan.lower * (1 + 1e-12)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("shape", "ways"),
    [([3], [(0,)]), ([2, 3], [(0,), (1,)]), ([2, 3], [(0, 1)]), ([3, 2, 2], [(0, 1), (2,), ()]), ([1, 4], [(0, 1)])],
)
def test_no_other_shape_beats_it_on_small_tables(shape: list[int], ways: list[Way], neighbours: str) -> None:
    points = workload(shape, ways)
    if neighbours == "replace-one":
        points = np.array([a - b for a, b in combinations(points, 2)])
    best = solve(points, gap=1e-5)
    plan = plan_marginals(shape, ways, neighbours=neighbours)
    assert best.lower <= plan.total <= best.upper * (1 + 2e-6)
    assert plan.lower <= best.upper
    variances = np.diag(plan_covariance(plan))
    expected = np.concatenate([np.full(math.prod(shape[i] for i in way), plan.variance(way)) for way in ways])
    assert np.allclose(variances, expected, rtol=1e-9)


def plan_covariance(plan: MarginalPlan) -> Array:
    """The answers' covariance, by decoding every unit vector of the lifted space."""
    shapes = {A: tuple(plan.shape[i] - 1 for i in A) for A in plan.subsets}
    count = 0.0 if plan.neighbours == "replace-one" else None
    rows = []
    for A, size in shapes.items():
        for index in np.ndindex(*size):
            noisy = {B: np.zeros(other) for B, other in shapes.items()}
            noisy[A][index] = 1.0
            decoded = plan.decode(noisy, count)
            rows.append(np.concatenate([decoded[way].ravel() for way in plan.ways]))
    F = np.array(rows).T
    return np.asarray(F @ F.T)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("shape", [[2], [5, 3], [2, 3, 4]])
def test_every_record_is_hidden_exactly(shape: list[int], neighbours: str) -> None:
    plan = plan_marginals(shape, up_to(len(shape), 2, 1), neighbours=neighbours)
    lifted = lifted_records(plan)
    norms = [sum(x * x for x in row) for row in lifted]
    if neighbours == "replace-one":
        norms = [sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a, b in combinations(lifted, 2)]
    assert max(norms) <= 1
    assert max(norms) >= 1 - Fraction(1, 10**12)


def test_lift_then_decode_gives_the_counts_back() -> None:
    rng = np.random.default_rng(5)
    table = rng.integers(0, 1000, size=(4, 1, 3, 2, 5))
    ways = [(0, 2), (2, 4), (1, 3), (0, 3, 4), ()]
    counts = marginals_of(table, ways)
    for neighbours, count in (("add-remove", None), ("replace-one", float(table.sum()))):
        plan = plan_marginals(table.shape, ways, neighbours=neighbours)
        lifted = {A: values * plan.scales(A) for A, values in plan.lift(counts)}
        assert sum(x.size for x in lifted.values()) == plan.lifted_dimension
        for way, back in plan.decode(lifted, count).items():
            assert np.allclose(back, counts[way], rtol=1e-9, atol=1e-6)


def test_noisy_marginals_agree_with_each_other() -> None:
    rng = np.random.default_rng(6)
    plan = plan_marginals([4, 3, 2], [(0, 1), (1, 2)])
    noisy = {A: rng.normal(size=tuple(plan.shape[i] - 1 for i in A)) for A in plan.subsets}
    decoded = plan.decode(noisy)
    assert np.allclose(decoded[0, 1].sum(axis=0), decoded[1, 2].sum(axis=1))


def test_huge_counts_and_many_cells_stay_exact() -> None:
    plan = plan_marginals([3000, 3000], [(0, 1)])
    column = np.array([10**30, 5, 7, *[0] * 2997], dtype=object)
    contrasts = plan.contrasts((0,), column)
    assert contrasts[0] == 10**30 - 5
    assert contrasts[1] == 10**30 + 5 - 14
    assert contrasts[-1] == 10**30 + 12
    counts = np.full(1000, 2**41, dtype=np.int64)
    wide = plan_marginals([1000], [(0,)])
    assert not wide.contrasts((0,), counts).any()


def test_a_hundred_attributes_are_planned_without_their_product() -> None:
    plan = plan_marginals([10] * 100, up_to(100, 2))
    assert len(plan.subsets) == 1 + 100 + 4950
    assert plan.total <= plan.lower * (1 + 1e-12)
    assert plan.cells == 1 + 1000 + 495_000
    table = {way: np.zeros([10] * len(way), dtype=np.int64) for way in plan.ways}
    lifted = dict(plan.lift(table))
    assert sum(x.size for x in lifted.values()) == plan.lifted_dimension
    replaced = plan_marginals([10] * 100, up_to(100, 2), neighbours="replace-one")
    assert replaced.lower <= replaced.total <= replaced.lower * 1.2


def test_weights_move_accuracy_to_where_it_counts() -> None:
    even = plan_marginals([5, 5], [(0,), (1,)])
    uneven = plan_marginals([5, 5], [(0,), (1,)], weights=[9.0, 1.0])
    assert uneven.variance((0,)) < even.variance((0,)) < uneven.variance((1,))
    assert uneven.rmse > even.rmse


def test_what_means_nothing_is_refused() -> None:
    wrong: list[tuple[list[Way], Expected]] = [
        ([], refusal("marginals-not-distinct", marginals=0)),
        ([(0,), (0,)], refusal("marginals-not-distinct", marginals=2)),
        ([(2,)], refusal("marginal-of-unknown-attributes", marginal=(2,))),
        ([(0, 0)], refusal("marginal-of-unknown-attributes", marginal=(0, 0))),
    ]
    for ways, expected in wrong:
        with refused(expected, PlanError):
            plan_marginals([2, 2], ways)
    with refused("attribute-without-values"):
        plan_marginals([0], [(0,)])
    with refused("marginal-weights-not-positive"):
        plan_marginals([2], [(0,)], weights=[0.0])
    with refused("neighbours-not-one-of-two"):
        plan_marginals([2], [(0,)], neighbours="none")
    with refused("marginals-never-change"):
        plan_marginals([2], [()], neighbours="replace-one")
    plan = plan_marginals([2, 2], [(0,)])
    with refused("marginal-not-in-residual-plan", marginal=(1,)):
        plan.variance((1,))
    with refused("marginal-of-wrong-shape"):
        plan.contrasts((0,), np.zeros(3, dtype=np.int64))
    with refused("public-count-under-add-remove"):
        plan.decode({}, count=3.0)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_many_marginals_are_planned_as_few_are(monkeypatch, neighbours):
    """As arrays: the same residuals and variances, to the last bit, and the same errors."""
    asked = gm.workloads.marginals([2, 3, 4, 5, 2, 7, 3, 2, 2, 3, 4, 3], [0, 1, 3, 2, 4])
    weights = np.linspace(1, 2, len(asked.ways))
    few = plan_marginals(asked.shape, asked.ways, weights, neighbours)
    one_by_one = [few.variance(way) for way in asked.ways]
    for module in (residual_sizes, way_tables):
        monkeypatch.setattr(module, "MANY", 8)
    many = plan_marginals(asked.shape, asked.ways, weights, neighbours)
    assert many.subsets == few.subsets and np.array_equal(many.variances, few.variances)
    assert np.allclose(many.variances_of_ways, one_by_one, rtol=1e-14, atol=0)
    made = Residuals(asked.shape, asked.ways, many.subsets, many.variances)
    with refused(damaged("residuals of other marginals")):
        replace(made, subsets=(*many.subsets[:-1], many.subsets[-2]))

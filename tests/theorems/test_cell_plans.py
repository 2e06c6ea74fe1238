"""Histograms, workloads, points and marginals: known optima, every cell hidden, answers that are read back exactly."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.numerics.solver import solve
from gaussmith.planning.certified_grid import NOISE_BITS

UNIT = gm.Guarantee(mu=1)
BOTH = ("add-remove", "replace-one")
W = gm.workloads

# workload, cells, the least total lies between; computed elsewhere, add-remove at μ = 1
WORKLOADS = [
    ("prefix", 2, 2.618033988205325, 2.6180555555555554, 3),
    ("prefix", 8, 17.866177330783085, 17.8662863132511, 36),
    ("prefix", 64, 282.2014210375348, 282.20345353664607, 2080),
    ("prefix", 256, 1631.4030444563955, 1631.4165975149915, 32896),
    ("ranges", 4, 16.440887335907437, 16.44090762940191, 20),
    ("ranges", 16, 413.1402168283698, 413.142444378522, 816),
    ("ranges", 64, 11024.381503416194, 11024.452753591573, 45760),
]


@pytest.mark.parametrize(("kind", "n", "least", "most", "identity"), WORKLOADS)
def test_workloads_are_at_their_optimum(kind, n, least, most, identity):
    plan = gm.plan(gm.Cells(n), UNIT, answers=getattr(W, kind)(n))
    assert least * (1 - 1e-9) <= plan.total_variance <= most * 1.001
    assert plan.lower_bound <= most
    assert plan.optimality <= 1.00101
    cells = gm.plan(gm.Cells(n), UNIT)
    from_cells = plan.block.problem.features.workload.places
    assert (
        sum(stop - start for start, stop in zip(*from_cells, strict=True))
        == identity
        == pytest.approx(identity * cells.total_variance / n)
    )


def test_histograms_are_at_their_optimum():
    for d in (2, 5, 1000):
        assert gm.plan(gm.Cells(d), UNIT).total_variance == pytest.approx(d, rel=1e-9)
        assert gm.plan(gm.Cells(d, or_none=True), UNIT).total_variance == pytest.approx(d, rel=1e-9)
        public = gm.plan(gm.Cells(d), UNIT, neighbours="replace-one")
        assert public.total_variance == pytest.approx(2 * (d - 1), rel=1e-9)
        assert public.block.shape.features.dense()[:, :].sum(axis=0) == pytest.approx(0, abs=1e-9)  # noise ⟂ 1
        apart = gm.plan(gm.Cells(d, or_none=True), UNIT, neighbours="replace-one")
        assert apart.total_variance == pytest.approx(2 * (d - 1) + 2 / (d + 1), rel=1e-9)
        assert max(public.optimality, apart.optimality) < 1 + 1e-9
    prefix = gm.plan(gm.Cells(8), UNIT, answers=W.prefix(8), neighbours="replace-one", gap=1e-4)
    assert 17.4676 * (1 - 1e-6) <= prefix.total_variance <= 17.4693 * 1.0001
    assert prefix.standard_errors[-1] == 0  # all cells together: the public number of records


QUESTIONS = {
    "cells": {},
    "count": {"count": True},
    "weights": {"weights": [1.0, 2.0, 3.0, 4.0, 0.1], "count": True},
    "prefix": {"answers": W.prefix(5)},
    "tree": {"answers": W.tree(5), "count": True},
    "ranges": {"answers": W.ranges(5), "weights": np.linspace(1, 3, 15)},
    "matrix": {"answers": np.random.default_rng(2).normal(size=(7, 5)), "count": True},
    "narrow matrix": {"answers": W.matrix(np.random.default_rng(3).normal(size=(2, 5)))},
    "worst": {"answers": W.ranges(5), "objective": "worst"},
    "targets": {"answers": W.prefix(5), "objective": "worst", "targets": [1.0, 2.0, 3.0, 4.0, 5.0]},
}


def matrix_of(options: dict, cells: int) -> np.ndarray:
    asked = options.get("answers")
    if asked is None:
        return np.eye(cells)
    if hasattr(asked, "places"):
        return np.array([[float(a <= j < b) for j in range(cells)] for a, b in zip(*asked.places, strict=True)])
    return np.asarray(getattr(asked, "matrix", asked))


@pytest.mark.parametrize("or_none", [False, True], ids=["one cell", "or none"])
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("asked", QUESTIONS)
def test_every_question_is_solved_hidden_and_read_back(asked, neighbours, or_none):
    options, d = QUESTIONS[asked], 5
    domain, g = gm.Cells(d, or_none=or_none), gm.Guarantee(epsilon=1, delta=1e-6)
    plan = gm.plan(
        domain, g, neighbours=neighbours, **(options if "objective" in options else {"weights": "equal"} | options)
    )
    private, count = neighbours == "add-remove", bool(options.get("count"))
    A = matrix_of(options, d)
    X = np.eye(d) if not or_none else np.vstack([np.eye(d), np.zeros((1, d))])
    full = np.hstack([X, np.ones((len(X), 1))])
    S = full if private else np.array([a - b for a, b in itertools.combinations(full, 2)])
    weights = np.array(options.get("weights", np.ones(len(A))))
    rows = np.hstack([np.sqrt(weights)[:, None] * A, np.zeros((len(A), 1))])
    if count and private:
        rows = np.vstack([rows, np.eye(d + 1)[-1:]])
    points = S @ rows.T
    if options.get("objective") == "worst":
        moving = np.abs(points).max(axis=0) > 0
        targets = np.array(options.get("targets", np.ones(len(A))))[moving]
        best = solve(points[:, moving], objective="worst", targets=targets, gap=1e-4)
    else:
        best = solve(points, gap=1e-5)
    assert plan.price * g.mu**2 == pytest.approx(best.upper, rel=1.3e-3)
    assert plan.lower_bound * g.mu**2 <= best.upper
    assert plan.optimality < 1.0011
    # no difference beyond the guarantee, in rationals, with the doubles of the release
    C = plan.block.grid.lift.dense()
    limit = Fraction(g.mu) * 2**NOISE_BITS - Fraction(math.isqrt(C.shape[0] * 2**40) + 1, 2**20)
    largest = 0.0
    for s in S[:, : C.shape[1]]:
        lifted = [sum(Fraction(a) * int(k) for a, k in zip(row, s, strict=True)) for row in C.tolist()]
        square = sum(y * y for y in lifted)
        assert square <= limit * limit
        largest = max(largest, math.sqrt(square))
    assert largest >= g.mu * 2**NOISE_BITS * (1 - 1e-3)
    # what is decoded is what was asked, for every record
    F = plan.block.shape.features.dense()[: len(A)]
    decoded = full[:, : plan.block.shape.lift.shape[1]] @ plan.block.shape.lift.dense().T @ F.T
    decoded = decoded + (0 if plan.block.shape.public is None else plan.block.shape.public)
    assert decoded == pytest.approx(X @ A.T, abs=1e-9)
    again = gm.Plan.from_json(plan.to_json())
    assert again == plan
    assert (again.standard_errors == plan.standard_errors).all()
    assert list(again.answers.names) == list(plan.answers.names)


@pytest.mark.parametrize("neighbours", BOTH)
def test_the_worst_answer_is_better_than_under_the_least_total(neighbours):
    total = gm.plan(gm.Cells(9), UNIT, answers=W.ranges(9), neighbours=neighbours)
    worst = gm.plan(gm.Cells(9), UNIT, answers=W.ranges(9), neighbours=neighbours, objective="worst")
    assert worst.standard_errors.max() < total.standard_errors.max()
    assert total.total_variance < worst.total_variance
    assert worst.price == pytest.approx(worst.standard_errors.max() ** 2)


def test_wide_prefix_sums_keep_every_pair_hidden():
    """Prefix sums over 120 cells, replace-one: all pairs, in doubles, against the certified norm."""
    plan = gm.plan(gm.Cells(120), UNIT, answers=W.prefix(120), neighbours="replace-one")
    Y = plan.block.shape.lift.dense().T
    G = Y @ Y.T
    g = np.diag(G)
    assert np.sqrt((g[:, None] + g - 2 * G).max()) <= 1 + 1e-9
    assert plan.optimality <= 1.00101


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("scales", [np.ones(5), np.array([1, 1e2, 1e4, 1e6, 1e7])], ids=["one scale", "seven decades"])
def test_points_of_any_scale_keep_every_point_noisy(scales, neighbours):
    P = np.random.default_rng(4).normal(size=(40, 5)) * scales
    for weights in ("relative", "equal"):
        try:
            plan = gm.plan(gm.domains.Points(P), UNIT, neighbours=neighbours, weights=weights, count=True)
        except gm.errors.PlanError as error:  # or refused, in words
            assert "scale" in str(error)
            assert weights == "equal" and scales.max() > 1
            continue
        A = plan.block.shape.lift.dense()
        norms = np.linalg.norm(A, axis=0)
        if neighbours == "replace-one":
            norms = np.linalg.norm(A[:, :, None] - A[:, None, :], axis=0)[np.triu_indices(40, 1)]
        assert norms.max() <= 1 + 1e-9
        assert norms.min() > 0  # no point, and no pair, without noise
        F = plan.block.shape.features.dense()[:5]
        decoded = (F @ A).T + (0 if plan.block.shape.public is None else plan.block.shape.public)
        assert decoded / scales == pytest.approx(P / scales, abs=1e-6)
        assert plan.optimality < 1.0011
        assert gm.Plan.from_json(plan.to_json()) == plan


def test_points_and_the_solver_agree():
    P = np.random.default_rng(5).normal(size=(60, 4))
    plan = gm.plan(gm.domains.Points(P), UNIT, gap=1e-6, weights="equal")
    assert plan.total_variance == pytest.approx(solve(P, gap=1e-6).upper, rel=2e-6)
    linear = gm.plan(gm.domains.Points(P), UNIT, answers=[[1, 1, 0, 0], [0, 0, 1, -1]], gap=1e-6, weights="equal")
    assert linear.total_variance == pytest.approx(
        solve(P @ np.array([[1, 1, 0, 0], [0, 0, 1, -1]]).T, gap=1e-6).upper, rel=2e-6
    )


# -- marginals ---------------------------------------------------------------------------------------------------------

SMALL = [50, 100, 7, 4, 2]


@pytest.mark.parametrize(
    ("shape", "ways", "rmse"),
    [
        (SMALL, 1, 1.744),
        (SMALL, 2, 2.035),
        (SMALL, range(4), 2.276),
        ([85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2], range(4), 10.665),
        ([101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15], range(4), 8.876),
        ([10] * 10, range(4), 9.348),
    ],
)
def test_marginals_have_the_published_errors(shape, ways, rmse):
    plan = gm.plan(gm.Cells(shape=shape), UNIT, answers=W.marginals(shape, ways))
    assert math.sqrt(plan.total_variance / plan.answers.size) == pytest.approx(rmse, abs=6e-4)
    assert plan.optimality < 1 + 1e-9


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("count", [False, True])
def test_marginals_are_the_optimum_of_the_whole_table(neighbours, count):
    shape, ways = [3, 2, 2], [(0, 1), (2,), (1, 2)]
    domain = gm.Cells(shape=shape)
    plan = gm.plan(domain, UNIT, answers=W.marginals(shape, ways), neighbours=neighbours, count=count)
    records = np.array(list(itertools.product(*map(range, shape))))
    codes = plan.block.codes.encode(records).astype(float)  # one row per record: its cell in each marginal
    S = codes if neighbours == "add-remove" else np.array([a - b for a, b in itertools.combinations(codes, 2)])
    points = np.hstack([S, np.ones((len(S), 1))]) if count and neighbours == "add-remove" else S
    best = solve(points, gap=1e-5)
    assert plan.total_variance == pytest.approx(best.upper, rel=1e-4)
    A = plan.block.shape.lift.dense()
    norms = np.linalg.norm(S @ A.T, axis=1)
    assert 1 - 1e-6 <= norms.max() <= 1 + 1e-9
    decoded = codes @ A.T @ plan.block.shape.features.dense()[: codes.shape[1]].T
    decoded = decoded + (0 if plan.block.shape.public is None else plan.block.shape.public)
    assert decoded == pytest.approx(codes, abs=1e-9)
    rows = np.array([plan.block.shape.features.row(i) for i in range(plan.block.shape.features.shape[0])])
    assert rows == pytest.approx(plan.block.shape.features.dense(), abs=1e-9)
    assert plan.block.shape.features.row_norms() == pytest.approx(np.linalg.norm(rows, axis=1), abs=1e-9)
    assert gm.Plan.from_json(plan.to_json()) == plan


def test_marginals_of_a_hundred_attributes_are_planned_without_the_product():
    shape = [10] * 100
    plan = gm.plan(gm.Cells(shape=shape), UNIT, answers=W.marginals(shape, range(3)))
    assert plan.answers.size == 1 + 1000 + 4950 * 100
    assert plan.optimality < 1 + 1e-9
    rows = np.random.default_rng(6).integers(0, 10, (2000, 100))
    released = plan.release(rows)
    pair, single = released.marginal(3, 7), released.marginal(3)
    assert pair.sum(axis=1) == pytest.approx(single, abs=1e-8)
    true = np.zeros((10, 10))
    np.add.at(true, (rows[:, 3], rows[:, 7]), 1)
    assert np.abs(pair - true).max() < 8 * plan.standard_errors[-1]

"""A few linear answers over many columns are at their optimum, private at every corner, and certified."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import gaussmith as gm
from gaussmith.domains.box_strategies import solved_few
from gaussmith.domains.domain import Problem
from gaussmith.domains.strategies import price
from gaussmith.numerics.solver import solve
from gaussmith.numerics.zonotopes import find_vertices
from gaussmith.planning.certificate import verify
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.statistics.asking import ask

UNIT = gm.Guarantee(mu=1)

# Answers over [0, 1]^d, the number of vertices, and limits of the optimum from all corners.
SOLVED = [
    (
        [[-7, -6.9375, 6.125, 1.1875, 2.25, 2.3125, 4.375, -8.5625, 1.5],
         [-7, -1.9375, 8.125, 1.1875, -7.75, 1.3125, -6.625, 5.4375, 9.5]],
        16, 1159.839835339349, 1159.8513548001567,
    ),
    (
        [[9, 2.0625, 7.125, -1.8125, -6.75, 1.3125, -0.625, 3.4375],
         [9, -3.9375, 7.125, -6.8125, -2.75, 5.3125, -4.625, 3.4375],
         [-1, 1.0625, 8.125, 6.1875, 6.25, 1.3125, 9.375, 9.4375]],
        56, 3206.891138817363, 3206.923069568234,
    ),
    (
        [[-7, -5.9375, -3.875, 1.1875, 6.25, 1.3125, 9.375, -2.5625, 8.5, 2.5625, 4.625],
         [-5, 2.0625, 6.125, 7.1875, 7.25, 9.3125, -6.625, 5.4375, -0.5, 4.5625, -3.375]],
        22, 3054.9219911382356, 3054.9508669211455,
    ),
    (
        [[-9, -7.9375, 9.125, 8.1875, -3.75, -0.6875, -4.625, -6.5625, 7.5, 3.5625],
         [-8, -5.9375, 1.125, 8.1875, 9.25, -4.6875, 2.375, -8.5625, -5.5, -5.4375],
         [-1, -2.9375, 4.125, -0.8125, -2.75, 8.3125, 2.375, 4.4375, 5.5, -2.4375]],
        90, 3330.116422380607, 3330.1497205201617,
    ),
]  # fmt: skip


def few(domain, W, neighbours="add-remove", count=False, gap=None):
    """The problem and its shape by vertices, also where corners are few enough to be visited."""
    problem = Problem(domain, ask(domain, W, count, "equal").features, neighbours)
    return problem, solved_few(problem, gap)


def signs_of(d):
    return np.array(list(itertools.product((-1.0, 1.0), repeat=d)))


@pytest.mark.parametrize(("W", "vertices", "least", "most"), SOLVED)
def test_reference_values(W, vertices, least, most):
    d = len(W[0])
    assert find_vertices(np.array(W)).size == vertices == len(ConvexHull(signs_of(d) @ np.array(W).T).vertices)
    problem, found = few(gm.Box([0] * d, [1] * d), W, gap=1e-6)
    assert least <= price(found.shape, problem) <= most * (1 + 1e-6)
    assert found.law.lower <= most


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("count", [False, True])
def test_vertices_are_worth_as_much_as_all_corners(neighbours, count):
    """Unequal boxes away from zero, weights, ties, parallel columns and dependent answers."""
    rng = np.random.default_rng(2)
    for k, d in ((1, 5), (2, 7), (3, 6), (3, 8)):
        W = rng.integers(-2, 3, (k, d)).astype(float)
        W[:, 0], W[0, 1] = 1.0, 1.0
        W[:, -1] = -2 * W[:, 0]
        if k == 3:
            W[2] = W[0] + W[1]
        W[np.flatnonzero(~W.any(axis=1)), 0] = 1.0
        domain = gm.Box(rng.normal(size=d), 1.5 + rng.random(d) * 3)
        problem, found = few(domain, W, neighbours, count, gap=1e-6)
        z = domain.corners()
        if neighbours == "add-remove":
            points = np.column_stack([z, np.ones(len(z))]) @ problem.lifted_rows.T
        else:
            points = 2 * z @ problem.core_rows.T
        best = solve(points, gap=1e-6)
        cost = price(found.shape, problem)
        assert best.lower <= cost * (1 + 1e-9) and cost <= best.upper * (1 + 3e-6)
        assert found.law.lower == pytest.approx(cost, rel=5e-5) and found.law.lower <= cost * (1 + 1e-9)
        every = np.column_stack([z, np.ones(len(z))]) if neighbours == "add-remove" else 2 * z
        assert np.linalg.norm(every @ found.shape.lift.dense().T, axis=1).max() == pytest.approx(1, abs=1e-9)


# Answers, columns, and how many times the optimum the closed form costs over [0, 1]^d.
FIGURES = [(2, 30, 1.162), (3, 30, 1.172), (2, 100, 1.194), (3, 60, 1.219), (4, 20, 1.139)]


def drawn_answers():
    """The matrices of the figures above, with columns in general position."""
    rng = np.random.default_rng(0)
    found = {(k, d): rng.normal(size=(k, d)).round(2) for k, d in ((2, 12), *(f[:2] for f in FIGURES))}
    return [(found[k, d], ratio) for k, d, ratio in FIGURES]


@pytest.mark.parametrize(("W", "ratio"), drawn_answers())
def test_the_closed_form_loses_what_vertices_win(W, ratio):
    domain = gm.Box(np.zeros(W.shape[1]), np.ones(W.shape[1]))
    plan = gm.plan(domain, UNIT, answers=W, weights="equal")
    closed = gm.plan(domain, UNIT, answers=W, shape="lifted", weights="equal")
    assert plan.block.shape.name == "solved" and 1 <= plan.optimality <= 1.0002
    assert closed.total_variance / plan.total_variance == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("count", [False, True])
def test_plans_are_saved_certified_and_verified(neighbours, count):
    rng = np.random.default_rng(6)
    W = rng.normal(size=(3, 25))
    domain = gm.Box(-rng.random(25) * 4, 1 + rng.random(25))
    g = gm.Guarantee(epsilon=1, delta=1e-6)
    plan = gm.plan(domain, g, answers=W, count=count, neighbours=neighbours, weights="relative")
    assert plan.block.shape.name == "solved" and plan.optimality <= 1.0002
    read, certificate = gm.read(plan.to_json()), gm.read(plan.certificate.to_json())
    assert read == plan
    found = verify(read, certificate)
    assert found.problems == () and found.reach <= 1 and found.optimality <= 1.0002
    assert len(plan.to_json()) < 40_000  # a short law: as many corners as it takes


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("count", [False, True])
def test_no_corner_exceeds_the_guarantee_in_exact_arithmetic(neighbours, count):
    """The very numbers of the release, in rationals: random corners, and corners improved sign by sign."""
    rng = np.random.default_rng(7)
    k, d = 3, 20
    W = rng.normal(size=(k, d)) * 10.0 ** rng.integers(-2, 3, (k, 1))
    lower = rng.normal(size=d) * 10.0 ** rng.integers(-2, 3, d)
    domain = gm.Box(lower, lower + rng.random(d) * 10.0 ** rng.integers(-2, 3, d))
    g = gm.Guarantee(epsilon=1, delta=1e-6)
    plan = gm.plan(domain, g, answers=W, count=count, neighbours=neighbours, weights="relative")
    lift, extents = plan.block.grid.lift, plan.block.codes.extents
    left, inner = ([[Fraction(x) for x in row] for row in part] for part in (lift.left, lift.inner))
    columns = [Fraction(c) for c in lift.columns]

    def square(core):
        scaled = [c * x for c, x in zip(columns, core, strict=True)]
        middle = [sum(h * x for h, x in zip(row, scaled, strict=True)) for row in inner]
        return sum(sum(a * y for a, y in zip(row, middle, strict=True)) ** 2 for row in left)

    C, fixed = lift.dense(), neighbours == "add-remove"
    reach = extents if fixed else 2 * extents
    limit = Fraction(g.mu) * 2**NOISE_BITS - Fraction(math.isqrt(len(lift.left) * 2**40) + 1, 2**20)
    largest = 0
    for _ in range(30):
        z = rng.choice([-1.0, 1.0], d)
        while True:  # flip what makes the norm larger
            whole = np.append(z * reach, [1.0] * fixed)
            norms = [np.linalg.norm(C @ (whole - 2 * np.eye(len(whole))[j] * whole)) for j in range(d)]
            if max(norms) <= np.linalg.norm(C @ whole) * (1 + 1e-12):
                break
            z[int(np.argmax(norms))] *= -1
        found = square([int(x) for x in whole])
        assert found <= limit * limit
        largest = max(largest, found)
    assert largest >= limit * limit * Fraction(1 - 1e-9)


def test_releases_read_back_what_was_summed():
    """With a guarantee that leaves hardly any noise the answers are those of the data, but for the codes' steps."""
    rng = np.random.default_rng(8)
    W = rng.normal(size=(2, 15))
    lower = rng.normal(size=15)
    data = lower + rng.random((50, 15)) * 3
    for neighbours, count in (("add-remove", True), ("add-remove", False), ("replace-one", False)):
        domain = gm.Box(lower, lower + 3)
        plan = gm.plan(domain, gm.Guarantee(mu=1e9), answers=W, count=count, neighbours=neighbours, weights="equal")
        assert plan.block.shape.name == "solved"
        release = plan.release(data)
        expected = [*(W @ data.sum(axis=0)), *([50] if count else [])]
        assert release.values == pytest.approx(expected, abs=1e-5)


def test_many_answers_or_columns_keep_the_closed_form():
    rng = np.random.default_rng(9)
    for k, d in ((5, 60), (70, 12), (20, 20)):
        plan = gm.plan(gm.Box([0] * d, [1] * d), UNIT, answers=rng.normal(size=(k, d)), weights="equal")
        assert plan.block.shape.name == "lifted box"


def test_groups_hold_boxes_with_few_answers():
    W = np.random.default_rng(1).normal(size=(2, 12))
    for neighbours in ("add-remove", "replace-one"):
        groups = gm.Groups({"k": [1, 2, 3]}, gm.Box([0] * 12, [1] * 12), at_most=2)
        plan = gm.plan(groups, UNIT, answers=W, neighbours=neighbours, weights="equal")
        assert plan.block.shape.name == "solved"
        assert verify(plan, plan.certificate).problems == ()

"""Boxes and balls: totals between certified limits, guarantees on every corner, means free of where the box lies."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.planning.certified_grid import NOISE_BITS

UNIT = gm.Guarantee(mu=1)

# lower, upper, closed form, least total at least / at most, isotropic, replace-one optimum; at μ = 1
BOXES = [
    ([0.001], [1.349], 1.819801, 1.81980099999945, 1.819801, 1.819801, 1.817104),
    ([-0.274, -0.891], [0.361, -0.52], 1.46371233676, 1.46301764139, 1.46308514185, 1.848404, 1.012036),
    (
        [0.06, 1.34, -0.492],
        [0.598, 2.972, 0.937],
        15.9342923673,
        15.8556981565,
        15.8570402621,
        30.205071,
        12.952801,
    ),
    (
        [0.105, -0.93, -0.029, 0.695, -1.344],
        [0.738, -0.781, 0.246, 0.854, -0.554],
        6.54951707256,
        6.5230403832,
        6.52368944724,
        20.02856,
        4.024036,
    ),
    (
        [-1.267, 0.271, 0.157, -0.187, -2.517, -0.539, -0.049, 0.113],
        [-1.05, 0.891, 0.533, 0.258, 0.372, -0.093, 0.919, 2.535],
        41.2914384407,
        41.22033086,
        41.2244486581,
        133.171352,
        70.274689,
    ),
]


@pytest.mark.parametrize(("lower", "upper", "closed", "least", "most", "isotropic", "replace"), BOXES)
def test_totals_lie_between_the_certified_limits(lower, upper, closed, least, most, isotropic, replace):
    plan = gm.plan(gm.Box(lower, upper), UNIT, weights="equal")
    assert least <= plan.total_variance <= closed * (1 + 1e-10)
    assert plan.total_variance <= most * 1.0001
    assert 1 <= plan.optimality <= 1.0002
    assert plan.lower_bound <= most
    named = {
        name: gm.plan(gm.Box(lower, upper), UNIT, shape=name, weights="equal").total_variance
        for name in ("lifted", "isotropic")
    }
    assert named["lifted"] == pytest.approx(closed, rel=1e-9)
    assert named["isotropic"] == pytest.approx(isotropic, rel=1e-9)
    public = gm.plan(gm.Box(lower, upper), UNIT, neighbours="replace-one", weights="equal")
    assert public.total_variance == pytest.approx(replace, rel=1e-9)
    assert public.optimality == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("dimension", "count", "most"), [(16, False, 10.57), (16, True, 10.58), (128, False, 26.1)])
def test_unit_cube_figures(dimension, count, most):
    g = gm.Guarantee(epsilon=1, delta=1e-6)
    plan = gm.plan(gm.Box(np.zeros(dimension), np.ones(dimension)), g, count=count)
    assert plan.standard_errors.max() <= most
    # the poster's main result, (√d + 1)/2 noise per sum in units of 1/μ, without the count in the objective
    if not count:
        assert plan.standard_errors[0] * g.mu == pytest.approx((math.sqrt(dimension) + 1) / 2, rel=1e-9)


def test_means_do_not_care_where_the_box_lies():
    years = gm.plan(gm.Box({"year": (1990, 2020)}), UNIT, answers="means", weights="equal")
    shifted = gm.plan(gm.Box({"year": (0, 30)}), UNIT, answers="means", weights="equal")
    assert years.standard_errors == pytest.approx(shifted.standard_errors, rel=1e-12)
    sums = gm.plan(gm.Box({"year": (1990, 2020)}), UNIT, weights="equal")
    assert sums.standard_errors[0] > 50 * years.standard_errors[0]


def differences(domain, neighbours, extents):
    """Every extreme difference of the integer core, in exact integers."""
    d = domain.dimension
    corners = [
        [int(s * e) for s, e in zip(signs, extents, strict=True)] for signs in itertools.product((-1, 1), repeat=d)
    ]
    if neighbours == "add-remove":
        return [[*corner, 1] for corner in corners]
    return [[2 * k for k in corner] for corner in corners]


CASES = [
    (d, neighbours, answers, count, weights, shape)
    for d in (1, 2, 3, 6, 9, 12)
    for neighbours in ("add-remove", "replace-one")
    for answers, count, weights in (("sums", False, "equal"), ("sums", True, "relative"), ("means", True, "relative"))
    for shape in ("best", "lifted", "elliptical", "isotropic")
]


@pytest.mark.parametrize(("d", "neighbours", "answers", "count", "weights", "shape"), CASES)
def test_no_difference_exceeds_the_guarantee_in_exact_arithmetic(d, neighbours, answers, count, weights, shape):
    """Over all corners: ‖C s‖ + √m ≤ μ 2^52 with C the very doubles of the release, in rationals."""
    rng = np.random.default_rng(d)
    lower = rng.normal(size=d) * 10.0 ** rng.integers(-3, 4, d)
    domain = gm.Box(lower, lower + rng.random(d) * 10.0 ** rng.integers(-3, 4, d))
    g = gm.Guarantee(epsilon=1, delta=1e-6)
    plan = gm.plan(domain, g, neighbours=neighbours, answers=answers, count=count, weights=weights, shape=shape)
    C = plan.block.grid.lift.dense()
    rows = [[Fraction(x) for x in row] for row in C]
    limit = Fraction(g.mu) * 2**NOISE_BITS
    points = differences(domain, neighbours, plan.block.codes.extents)
    points = points if len(points) <= 64 else [points[i] for i in rng.choice(len(points), 64, replace=False)]
    for s in points:
        square = sum(sum(a * k for a, k in zip(row, s, strict=True)) ** 2 for row in rows)
        room = limit - Fraction(math.isqrt(C.shape[0] * 2**40) + 1, 2**20)
        assert square <= room * room
    # and not wastefully so: some corner uses nearly all of it
    every = np.array(differences(domain, neighbours, plan.block.codes.extents), float)
    if shape in ("best", "lifted"):
        assert np.linalg.norm(every @ C.T, axis=1).max() >= g.mu * 2**NOISE_BITS * (1 - 1e-3)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("centre", [None, [3.0, 4.0, 0.0]])
def test_ball(neighbours, centre):
    """Isotropic noise dC² (4dC² under replace-one); a centre and the count are lifted, at the optimum."""
    C, d = 2.0, 3
    plan = gm.plan(gm.domains.Ball(d, C, centre), UNIT, neighbours=neighbours, count=True, weights="equal")
    if neighbours == "replace-one":
        assert plan.total_variance == pytest.approx(4 * d * C * C, rel=1e-9)
    else:
        E = 1 + (25.0 if centre else 0.0)
        assert plan.total_variance == pytest.approx((C * math.sqrt(d) + math.sqrt(E)) ** 2, rel=1e-9)
    assert plan.optimality < 1.0001
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20_000, d))
    z /= np.linalg.norm(z, axis=1)[:, None]
    s = np.hstack([z, np.ones((len(z), 1))]) if neighbours == "add-remove" else 2 * z
    assert np.linalg.norm(s @ plan.block.shape.lift.dense().T, axis=1).max() <= 1 + 1e-12


def test_certificate_of_wide_boxes_is_close():
    """[0, 1]^d: the closed form is the optimum at 16, certified to 0.1 %; within 1.2 % at 50, and closer beyond."""
    for d, within in ((16, 1.001), (32, 1.002), (50, 1.012), (2000, 1.002), (100_000, 1.001)):
        plan = gm.plan(gm.Box(np.zeros(d), np.ones(d)), UNIT)
        assert 1 <= plan.optimality <= within


def test_weights_move_noise_where_it_matters_less():
    domain = gm.Box({"a": (0, 1), "b": (0, 1)})
    plan = gm.plan(domain, UNIT, weights=[100, 1])
    assert plan.standard_errors[0] < gm.plan(domain, UNIT).standard_errors[0] < plan.standard_errors[1]


def test_linear_answers_beat_adding_up_sums():
    W = np.array([[1.0, 1, 1, 1], [1, -1, 0, 0], [0, 0, 1, -1]])
    domain = gm.Box(np.zeros(4), np.ones(4))
    plan = gm.plan(domain, UNIT, answers=W, weights="equal")
    sums = gm.plan(domain, UNIT)
    from_sums = np.sqrt(np.diag(W @ sums.covariance() @ W.T))
    assert plan.total_variance <= (from_sums**2).sum() * (1 + 1e-9)
    assert plan.optimality < 1.001
    closed = gm.plan(domain, UNIT, answers=W, shape="lifted", weights="equal")
    assert plan.total_variance <= closed.total_variance
    assert closed.total_variance <= math.pi / 2 * plan.total_variance


def test_linear_answers_of_replaced_records_are_solved_where_small_and_closed_beyond():
    """Replace-one, T = Σ √ω_j Δ_j; the solver is never above it, nor it above π/2 times the solver."""
    rng = np.random.default_rng(9)
    for k, d in ((4, 3), (4, 6), (12, 40)):
        W = rng.normal(size=(k, d))
        domain = gm.Box(-rng.random(d), 1 + rng.random(d))
        plan = gm.plan(domain, UNIT, answers=W, neighbours="replace-one", weights="equal")
        closed = gm.plan(domain, UNIT, answers=W, neighbours="replace-one", shape="lifted", weights="equal")
        omega = (W * W).sum(axis=0)
        T = float(np.sqrt(omega) @ (domain.upper - domain.lower))
        assert closed.total_variance == pytest.approx(T * T, rel=1e-9)
        assert plan.total_variance <= closed.total_variance * (1 + 1e-9)
        assert closed.total_variance <= math.pi / 2 * plan.lower_bound * 1.001 or d > 10
        assert plan.block.shape.name == ("solved" if d <= 10 else "elliptical")
        if d <= 10:
            assert plan.optimality < 1.0002
            corners = 2 * domain.corners()
            assert np.linalg.norm(corners @ plan.block.shape.lift.dense().T, axis=1).max() <= 1 + 1e-9
        assert gm.Plan.from_json(plan.to_json()) == plan


def test_linear_answers_use_the_master_formula():
    """Add-remove: ω_j = (WᵀW)_jj and E = cᵀWᵀWc + 1 for the count give T = Σ √ω_j r_j + √E."""
    rng = np.random.default_rng(10)
    W = rng.normal(size=(12, 40))
    domain = gm.Box(-rng.random(40), 1 + rng.random(40))
    plan = gm.plan(domain, UNIT, answers=W, count=True, weights="equal")
    omega, c = (W * W).sum(axis=0), domain.centre
    T = float(np.sqrt(omega) @ domain.radius) + math.sqrt(float((W @ c) @ (W @ c)) + 1)
    assert plan.total_variance == pytest.approx(T * T, rel=1e-9)
    assert plan.block.shape.name == "lifted box"
    assert 1 <= plan.optimality <= math.pi / 2


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("size", [3, 10, 64, 300])
def test_many_answers_of_one_column_do_not_lift_the_bound_above_the_price(size: int, neighbours: str) -> None:
    """All but one or two eigenvalues of the moment are zero, and their rounding is no part of the bound."""
    answers = np.linspace(1, 2, size)[:, None]
    plan = gm.plan(gm.Box([2], [5]), UNIT, answers=answers, neighbours=neighbours, weights="equal")
    assert 1 <= plan.price / plan.lower_bound < 1 + 1e-7

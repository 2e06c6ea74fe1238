"""Boxes with a few wide columns and many narrow ones: close to their optimum, private at every corner."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.numerics.optimum import solve
from gaussmith.plans.certificate import verify
from gaussmith.plans.certified_grid import NOISE_BITS

UNIT = gm.Guarantee(mu=1)


def box(wide, narrow):
    widths = [*wide, *narrow]
    return gm.Box([0] * len(widths), widths)


# Wide columns [0, w], narrow ones, the total of one solved block beside them, and the closed form's.
FIGURES = [([1, 1], [0.03] * 9, 3.1724, 3.3986), ([1, 1], [0.001] * 9, 2.6828, 2.9296)]


@pytest.mark.parametrize(("wide", "narrow", "most", "closed"), FIGURES)
def test_reference_values(wide, narrow, most, closed):
    plan = gm.plan(box(wide, narrow), UNIT, weights="equal")
    assert plan.block.shape.name == "wide" and plan.total_variance <= most
    lifted = gm.plan(box(wide, narrow), UNIT, shape="lifted", weights="equal")
    assert lifted.total_variance == pytest.approx(closed, abs=1e-4)
    assert 1 <= plan.optimality <= 1.001


@pytest.mark.parametrize(("wide", "narrow", "most", "closed"), FIGURES)
def test_all_corners_together_are_hardly_better(wide, narrow, most, closed):
    plan = gm.plan(box(wide, narrow), UNIT, weights="equal")
    corners = np.array(list(itertools.product(*[(0.0, w) for w in (*wide, *narrow)])))[1:]
    best = solve(corners, gap=5e-4, max_rounds=400)
    assert best.lower <= plan.total_variance * (1 + 1e-9)
    assert plan.total_variance <= best.upper * 1.001
    assert plan.lower_bound <= best.upper


RANDOM = [(seed, count) for seed in range(6) for count in (False, True)]


@pytest.mark.parametrize(("seed", "count"), RANDOM)
def test_never_worse_than_the_closed_form_and_verified(seed, count):
    rng = np.random.default_rng(seed)
    wide, narrow = rng.random(int(rng.integers(2, 6))) + 0.5, rng.random(int(rng.integers(9, 40))) * 0.1
    widths = np.append(wide, narrow) * 10.0 ** rng.integers(-3, 4)
    lower = widths * rng.choice([0.0, -0.5, 0.3, -1.0], len(widths))
    order = rng.permutation(len(widths))
    domain = gm.Box(lower[order], (lower + widths)[order])
    plan, closed = (gm.plan(domain, UNIT, count=count, shape=shape, weights="equal") for shape in ("best", "lifted"))
    assert plan.total_variance <= closed.total_variance
    assert 1 <= plan.optimality <= 1.02
    found = verify(gm.read(plan.to_json()), gm.read(plan.certificate.to_json()))
    assert found.problems == () and found.reach <= 1


@pytest.mark.parametrize("count", [False, True])
def test_sums_and_means_beside_each_other(count):
    """Some answers are means, whose middle needs no count; the request's own weights decide what is wide."""
    columns = {f"c{j}": (0.0, 1.0 if j < 3 else 0.02) for j in range(14)}
    sums = {name: bounds for name, bounds in columns.items() if name != "c2"}
    request = gm.Request(
        "a.csv", sums=sums, means={"c2": columns["c2"]}, count=count, weights="equal", guarantee=UNIT, complete=["c2"]
    )
    plan = request.plan
    closed = gm.plan(plan.block.domain, UNIT, shape="lifted", weights="equal")
    assert verify(plan, plan.certificate).problems == ()
    assert plan.optimality <= 1.02 and closed.optimality >= 1


def test_no_corner_exceeds_the_guarantee_in_exact_arithmetic():
    rng = np.random.default_rng(3)
    widths = np.append([1.0, 3.0, 2.0], rng.random(9) * 0.05)
    lower = widths * rng.choice([0.0, -0.25, 0.3], 12)
    domain, g = gm.Box(lower, lower + widths), gm.Guarantee(epsilon=1, delta=1e-6)
    plan = gm.plan(domain, g, weights="equal")
    assert plan.block.shape.name == "wide"
    lift, extents = plan.block.grid.lift, [int(e) for e in plan.block.codes.extents]
    rows = [[Fraction(x) for x in lift.row(i)] for i in range(lift.shape[0])]
    limit = Fraction(g.mu) * 2**NOISE_BITS - Fraction(math.isqrt(len(rows) * 2**40) + 1, 2**20)
    over = lift.over.tolist()
    squares = []
    for signs in itertools.product((-1, 1), repeat=len(over)):  # every narrow column is as far out either way
        z = [e * s for e, s in zip(extents, rng.choice([-1, 1], 12).tolist(), strict=True)] + [1]
        for j, s in zip(over, signs, strict=True):
            z[j] = s * extents[j]
        squares.append(sum(sum(a * x for a, x in zip(row, z, strict=True)) ** 2 for row in rows))
    assert limit * limit * Fraction(1 - 1e-9) <= max(squares) <= limit * limit


def test_releases_read_back_what_was_summed():
    rng = np.random.default_rng(4)
    widths = np.append([1.0, 3.0], rng.random(12) * 0.05)
    data = widths * (0.2 + rng.random((40, 14)))
    domain = gm.Box(widths * 0.2, widths * 1.2)
    for count in (False, True):
        plan = gm.plan(domain, gm.Guarantee(mu=1e9), count=count, shape="wide", weights="equal")
        release = plan.release(data)
        assert release.values == pytest.approx([*data.sum(axis=0), *([40] if count else [])], abs=1e-6)


def test_where_there_is_nothing_to_win_the_closed_form_stays():
    even = gm.plan(gm.Box([0] * 20, [1] * 20), UNIT)
    around_zero = gm.plan(gm.Box([-1, -1] + [-0.01] * 12, [1, 1] + [0.01] * 12), UNIT, weights="equal")
    means = gm.plan(box([1, 1], [0.01] * 12), UNIT, answers="means", weights="equal")
    public = gm.plan(box([1, 1], [0.01] * 12), UNIT, neighbours="replace-one", weights="equal")
    assert {plan.block.shape.name for plan in (even, around_zero, means, public)} <= {"lifted box", "elliptical"}
    with pytest.raises(gm.PlanError, match="much wider than the others"):
        gm.plan(gm.Box([0] * 20, [1] * 20), UNIT, shape="wide")


def test_a_thousand_narrow_columns_are_planned_and_saved():
    plan = gm.plan(box([1, 1], [0.001] * 1000), UNIT, weights="equal")
    closed = gm.plan(box([1, 1], [0.001] * 1000), UNIT, shape="lifted", weights="equal")
    assert plan.block.shape.name == "wide"
    assert plan.total_variance < 0.99 * closed.total_variance
    assert gm.read(plan.to_json()) == plan
    assert len(plan.to_json()) < 3 * len(closed.to_json())

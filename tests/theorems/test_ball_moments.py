"""Σ xxᵀ over a ball: the optimum by its formula, by points of the sphere, and the bound on lifted records."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.numerics.matrices import Dense
from gaussmith.papers.ball_moments import BallMoments
from gaussmith.planning.certificate import verify
from gaussmith.privacy.neighbours import ADD_REMOVE, REPLACE_ONE

UNIT = gm.Guarantee(mu=1)


def plan_of(d: int, neighbours: str = ADD_REMOVE, radius: float = 1.0) -> gm.Plan:
    return gm.plan(BallMoments(d, radius=radius), UNIT, weights="relative", neighbours=neighbours)


def products(domain: BallMoments, z: np.ndarray) -> np.ndarray:
    first, second = np.array(domain.pairs).T
    return np.asarray(z[:, first] * z[:, second])


def directions(rng: np.random.Generator, d: int, count: int) -> np.ndarray:
    z = rng.normal(size=(count, d))
    return np.asarray(z / np.linalg.norm(z, axis=1)[:, None])


@pytest.mark.parametrize(("d", "known"), [(1, 1.0), (2, 2.9142), (10, 53.109)])
def test_reference_values(d: int, known: float) -> None:
    D, plan = d * (d + 1) // 2, plan_of(d)
    formula = (math.sqrt(1 / d) + math.sqrt((D - 1) * (1 - 1 / d))) ** 2
    assert plan.total_variance == pytest.approx(formula, rel=1e-5) and formula == pytest.approx(known, rel=1e-4)
    assert plan.lower_bound <= formula <= plan.total_variance and plan.optimality < 1.0001
    assert not verify(plan, plan.certificate).problems
    assert plan_of(d, radius=3.0).errors()["0²"] == pytest.approx(9 * plan.errors()["0²"])


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_replacing_a_record(d: int) -> None:
    D = d * (d + 1) // 2
    plan = plan_of(d, REPLACE_ONE)
    assert plan.total_variance == pytest.approx(2 * (D - 1) + 2 / (d + 1), rel=1e-4)
    assert plan.lower_bound <= plan.total_variance and plan.optimality < 1.001


def test_points_of_the_sphere_give_the_same_optimum() -> None:
    """Another route, which knows nothing of rotations: the noise is solved for records on a circle."""
    domain = BallMoments(2, radius=1)
    angles = np.linspace(0, math.pi, 24, endpoint=False)
    points = products(domain, np.column_stack([np.cos(angles), np.sin(angles)]))
    solved = gm.plan(gm.domains.Points(points), UNIT, weights=[1, 2, 1])
    assert solved.total_variance == pytest.approx(plan_of(2).total_variance, rel=2e-3)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_no_record_is_beyond_the_bound(d: int) -> None:
    """Random lifts, near invariant ones and those of plans; records inside and on the sphere; pairs of them."""
    rng = np.random.default_rng()
    domain = BallMoments(d, radius=1)
    own = plan_of(d).block.shape.lift.dense()[:, :-1]
    for lift in (own, own * (1 + 1e-3 * rng.normal(size=own.shape)), rng.normal(size=(3, domain.dimension))):
        z = directions(rng, d, 400) * rng.uniform(0.8, 1, size=(400, 1))
        z[:200] = directions(rng, d, 200)
        v = products(domain, z) @ lift.T
        added = domain.sensitivity(Dense(np.column_stack([lift, np.zeros(len(lift))])), ADD_REMOVE)
        replaced = domain.sensitivity(Dense(lift), REPLACE_ONE)
        assert np.linalg.norm(v, axis=1).max() <= added
        assert np.linalg.norm(v[:200] - v[200:], axis=1).max() <= replaced
        assert (
            domain.extremes().replacement_sensitivity(Dense(np.column_stack([lift, np.zeros(len(lift))]))) == replaced
        )
    exact = domain.sensitivity(Dense(np.column_stack([own, np.zeros(len(own))])), ADD_REMOVE)
    assert np.linalg.norm(products(domain, directions(rng, d, 9)) @ own.T, axis=1) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 7, 32])
def test_the_integers_of_a_record_stay_in_the_ball(d: int) -> None:
    """‖ccᵀ‖ ≤ 2^42 in exact arithmetic, for records far beyond the radius and odd ones."""
    rng = np.random.default_rng()
    rows = rng.normal(size=(200, d)) * 10.0 ** rng.uniform(-3, 6, size=(200, 1))
    rows[0], rows[1, 0] = 1e308, np.nan
    codes = BallMoments(d, radius=2.5).codes()
    for coded in codes.encode(rows).tolist():
        size = sum(Fraction(c) ** 2 * (1 if i == j else 2) for c, (i, j) in zip(coded, codes.pairs, strict=True))
        assert size <= Fraction(2) ** 84
    assert codes.sum_rows(rows).tolist() == codes.encode(rows).sum(axis=0).tolist()
    assert not codes.encode(rows)[1].any()  # an odd value makes a record the centre


def test_a_release(tmp_path: Path) -> None:
    rng = np.random.default_rng()
    x = rng.normal(size=(4000, 3))
    plan = gm.plan(BallMoments(3, radius=2, names=["a", "b", "c"]), gm.Guarantee(mu=1e6))
    clipped = x / np.maximum(1, np.linalg.norm(x, axis=1) / 2)[:, None]
    released = plan.release(x)
    assert released.values == pytest.approx((clipped.T @ clipped)[np.triu_indices(3)], abs=0.01)
    assert released["a·b"].value == pytest.approx(float(clipped[:, 0] @ clipped[:, 1]), abs=0.01)
    assert gm.read(released.to_json()) == released and gm.read(plan.to_json()) == plan
    assert "the product of every two" in Path(released.report(tmp_path / "r.html")).read_text("utf-8")


def test_what_cannot_be_asked_is_refused() -> None:
    for asked in ({"count": True}, {"answers": "means"}):
        with refused("ball-moments-with-count"):
            gm.plan(BallMoments(2, radius=1), UNIT, **asked)  # type: ignore[arg-type]
    with refused("too-many-columns-of-ball-moments"):
        BallMoments(33, radius=1)
    with refused("radius-of-moments-out-of-range"):
        BallMoments(2, radius=1e100)
    domain = BallMoments(2, radius=1)
    with refused(damaged("a lift of ball moments that counts")):
        domain.sensitivity(Dense(np.ones((3, 4))), ADD_REMOVE)
    with refused(damaged("a lift of")):
        domain.sensitivity(Dense(np.ones((3, 3))), ADD_REMOVE)

"""Balls and ellipsoids: (√S + √E)² is the optimum, whatever is asked, and is certified as such."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.numerics.solver import solve
from gaussmith.numerics.trace_roots import weighted_lower
from gaussmith.planning.certificate import verify

UNIT = gm.Guarantee(mu=1)

# What varies (B), what every record adds (v), and limits of the optimum from 2 000 points of the circle.
CIRCLES = [
    ([[1.0, 0.0], [0.0, 2.0]], [1.0, 1.0], 13.32381496401497, 13.32455568340109),
    ([[2.0, 1.0], [0.0, 0.5]], [3.0, -1.0], 29.739724475803786, 29.741377656511098),
]


def records_around(B, v):
    """A ball whose linear answers vary by B around v."""
    return gm.domains.Ball(len(B[0]), 1.0, np.linalg.solve(B, v)), np.array(B)


def law_on_the_sphere(Q, m):
    """Points of the sphere and their chances with E zzᵀ = Q, E z = m: the decomposition of Sturm and Zhang."""
    d = len(m)
    X = np.block([[Q, m[:, None]], [m[None, :], np.ones((1, 1))]])
    e, V = np.linalg.eigh(X)
    parts = [V[:, i] * math.sqrt(e[i]) for i in range(d + 1) if e[i] > 1e-12]
    J = np.diag([1.0] * d + [-1.0])
    for _ in range(4 * (d + 1)):
        sizes = [p @ J @ p for p in parts]
        i, j = int(np.argmax(sizes)), int(np.argmin(sizes))
        if sizes[i] < 1e-13 or sizes[j] > -1e-13:
            break
        a, b, c = sizes[j], 2 * (parts[i] @ J @ parts[j]), sizes[i]
        t = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
        norm = math.sqrt(1 + t * t)
        parts[i], parts[j] = (parts[i] + t * parts[j]) / norm, (parts[j] - t * parts[i]) / norm
    parts = [p for p in parts if p @ p > 1e-10]
    return np.array([p[:-1] / p[-1] for p in parts]), np.array([p[-1] ** 2 for p in parts])


@pytest.mark.parametrize(("B", "v", "least", "most"), CIRCLES)
def test_reference_values_of_circles(B, v, least, most):
    domain, W = records_around(B, v)
    plan = gm.plan(domain, UNIT, answers=W, weights="equal")
    assert least <= plan.total_variance <= most
    assert least <= plan.certificate.proof.lower_bound <= plan.total_variance
    assert plan.optimality == pytest.approx(1, abs=1e-12)


def test_the_count_beside_a_circle_costs_its_own_root():
    plan = gm.plan(gm.domains.Ball(2, 1.0), UNIT, count=True, weights="equal")
    assert plan.total_variance == pytest.approx((math.sqrt(2) + 1) ** 2, rel=1e-12)
    assert plan.optimality == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_law_on_the_sphere_attains_the_bound(seed):
    """The points are written down, so that the bound needs no theorem but that of certificates."""
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    B, v = rng.normal(size=(k, d)), rng.normal(size=k) * 2
    S, E = float((B * B).sum()), float(v @ v)
    z, chances = law_on_the_sphere(B.T @ B / S, B.T @ v / math.sqrt(S * E))
    assert np.allclose(np.linalg.norm(z, axis=1), 1, atol=1e-6)
    z /= np.linalg.norm(z, axis=1)[:, None]
    found = weighted_lower(z @ B.T + v, chances) ** 2
    assert found == pytest.approx((math.sqrt(S) + math.sqrt(E)) ** 2, rel=1e-5)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_points_of_the_sphere_solved_one_by_one_come_near_from_below(neighbours):
    rng = np.random.default_rng(5)
    W, centre = rng.normal(size=(3, 2)), np.array([0.7, -0.2])
    plan = gm.plan(gm.domains.Ball(2, 1.5, centre), UNIT, answers=W, neighbours=neighbours, weights="equal")
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    z = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)])
    points = (z + centre) @ W.T if neighbours == "add-remove" else 2 * z @ W.T
    best = solve(points, gap=1e-6)
    assert best.lower <= plan.total_variance * (1 + 1e-9)
    assert best.upper == pytest.approx(plan.certificate.proof.lower_bound, rel=1e-3)


def random_round(rng, i):
    d, k = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    centre = rng.normal(size=d) * 3 * (i % 4 > 0)
    if i % 2:
        return gm.domains.Ball(d, float(10 ** rng.normal()), centre), rng.normal(size=(k, d))
    return gm.domains.GaussianData(centre, 10 ** rng.normal(size=d)), rng.normal(size=(k, d))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("asked", ["sums", "means", "matrix"])
@pytest.mark.parametrize("count", [False, True])
def test_every_plan_is_certified_as_the_optimum_and_verified_after_saving(neighbours, asked, count):
    rng = np.random.default_rng(11)
    for i in range(8):
        domain, W = random_round(rng, i)
        g = gm.Guarantee(mu=float(0.1 + rng.random()))
        answers = W if asked == "matrix" else asked
        plan = gm.plan(domain, g, answers=answers, count=count, neighbours=neighbours, weights="relative")
        assert 1 <= plan.optimality <= 1 + 1e-11
        certificate = gm.read(plan.certificate.to_json())
        assert 1 - 1e-11 <= certificate.proof.optimality <= 1 + 1e-11
        assert verify(gm.read(plan.to_json()), certificate).problems == ()


def test_a_bound_is_at_most_the_optimum_in_rationals():
    """S and E are squares of rationals here, so that the optimum is one too."""
    plan = gm.plan(gm.domains.Ball(4, radius=0.1, centre=[0.3, 0.0, 0.0, 0.0]), UNIT, weights="equal")
    exact = (2 * Fraction(0.1) + Fraction(0.3)) ** 2
    assert exact * (1 - Fraction(1, 10**12)) < Fraction(plan.lower_bound) <= exact


def test_a_centre_that_cancels_is_worth_nothing():
    """An answer in which the centre's parts cancel but for rounding proves no more than the spread."""
    W = np.array([[0.1, 0.2, -0.3]])
    plan = gm.plan(gm.domains.Ball(3, 1.0, [1.0, 1.0, 1.0]), UNIT, answers=W, weights="equal")
    exact = sum(Fraction(x) ** 2 for x in W[0])
    at_centre = abs(sum(Fraction(x) for x in W[0]))
    assert Fraction(plan.lower_bound) <= exact + at_centre**2 + 2 * at_centre
    assert plan.optimality <= 1 + 1e-11

"""Counts, rankings and sparse sums: the known optima, and no difference beyond the guarantee."""

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

# dimension, at most, optimum, isotropic; add-remove, μ = 1, computed elsewhere
COUNTS = [
    (2, 1, 2.0, 2),
    (2, 2, 8 / 3, 4),
    (3, 2, 16 / 3, 6),
    (5, 2, 9.519183588453084, 10),
    (5, 5, 12.857142857142858, 25),
    (10, 3, 28.048636250920516, 30),
    (10, 6, 42.836326148038886, 60),
    (10, 10, 43.07692307692308, 100),
    (100, 10, 951.6992462263972, 1000),
    (100, 50, 2997.4937185533104, 5000),
    (100, 100, 3025.0, 10000),
]
REPLACED = [
    (3, 1, 4.5),
    (3, 2, 25 / 3),
    (10, 3, 55.384615),
    (5, 3, 70 / 3),
    (9, 5, 77),
    (10, 6, 98.557551),
    (10, 7, 100),
]
VOTES = [
    (2, 2.0, 2),
    (3, 13.928203230275512, 15),
    (5, 116.56854249492383, 150),
    (10, 1720.5159572826337, 2850),
    (100, 11337616.328556193, 32835000),
]


@pytest.mark.parametrize(("d", "k", "optimum", "isotropic"), COUNTS)
def test_counts_are_at_their_optimum(d, k, optimum, isotropic):
    plan = gm.plan(gm.Counts(d, at_most=k), UNIT)
    assert plan.total_variance == pytest.approx(optimum, rel=1e-9)
    assert plan.lower_bound <= plan.total_variance <= plan.lower_bound * (1 + 1e-9)
    assert dict(plan.block.alternatives)["isotropic"] == pytest.approx(isotropic, rel=1e-9)
    assert gm.Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(("d", "k", "optimum"), REPLACED)
def test_replaced_counts_are_at_their_optimum(d, k, optimum):
    plan = gm.plan(gm.Counts(d, at_most=k), UNIT, neighbours="replace-one")
    assert plan.total_variance == pytest.approx(optimum, rel=1e-7)
    assert plan.optimality < 1 + 1e-9


@pytest.mark.parametrize(("d", "optimum", "isotropic"), VOTES)
def test_votes_are_at_their_optimum(d, optimum, isotropic):
    plan = gm.plan(gm.domains.Votes(d), UNIT, weights="equal")
    assert plan.total_variance == pytest.approx(optimum, rel=1e-9)
    assert plan.optimality < 1 + 1e-9
    assert dict(plan.block.alternatives)["isotropic"] == pytest.approx(isotropic, rel=1e-9)
    public = gm.plan(gm.domains.Votes(d), UNIT, neighbours="replace-one", weights="equal")
    assert public.total_variance == pytest.approx(d * (d * d - 1) / 3 * (d - 1), rel=1e-9)


def test_sparse_sums_are_at_their_optimum():
    for d, k, b in ((10, 3, 2.0), (1000, 7, 0.5)):
        plan = gm.plan(gm.domains.SparseSum(d, at_most=k, bound=b), UNIT, weights="equal")
        assert plan.total_variance == pytest.approx(d * k * b * b, rel=1e-9)
        public = gm.plan(gm.domains.SparseSum(d, at_most=k, bound=b), UNIT, neighbours="replace-one", weights="equal")
        assert public.total_variance == pytest.approx(4 * plan.total_variance, rel=1e-9)
        assert max(plan.optimality, public.optimality) < 1 + 1e-9
    # one large bound: it gets a whole unit of attention, the rest share the other
    plan = gm.plan(gm.domains.SparseSum(3, at_most=2, bound=[10, 1, 1]), UNIT, weights="equal")
    assert plan.total_variance == pytest.approx(130.28427124746, rel=1e-9)
    assert plan.total_variance < dict(plan.block.alternatives)["isotropic"]


DOMAINS = {
    "counts 4 of 6": gm.Counts(6, at_most=4),
    "counts 2 of 5": gm.Counts(5, at_most=2),
    "one item": gm.Counts(1, at_most=1),
    "votes": gm.domains.Votes(4),
    "sparse": gm.domains.SparseSum(4, at_most=2, bound=[1.0, 2.5, 0.3, 1.0]),
}
RNG = np.random.default_rng(3)
QUESTIONS = {
    "sums": {},
    "count": {"count": True},
    "weights": {"weights": [4.0, 1.0, 0.2, 1.0, 2.0, 0.1]},
    "linear": {"answers": RNG.normal(size=(3, 6)), "count": True},
}


def fitted(options: dict, d: int) -> dict:
    cut = {"weights": lambda w: w[:d], "answers": lambda W: W[:, :d]}
    return {name: cut.get(name, lambda x: x)(value) for name, value in options.items()}


def records_of(domain) -> np.ndarray:
    """Every extreme record, in units of the core, written here from the definition."""
    d = domain.dimension
    if isinstance(domain, gm.domains.Votes):
        return np.array(list(itertools.permutations(range(d))), float)
    sizes = (0, 1) if isinstance(domain, gm.Counts) else (-1, 0, 1)
    every = np.array(list(itertools.product(sizes, repeat=d)), float)
    return every[(every != 0).sum(axis=1) <= domain.at_most]


def differences_of(domain, neighbours: str) -> np.ndarray:
    X = records_of(domain)
    return X if neighbours == "add-remove" else np.unique((X[:, None] - X[None]).reshape(-1, X.shape[1]), axis=0)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("name", DOMAINS)
def test_solver_agrees_and_no_difference_exceeds_the_guarantee(name, asked, neighbours):
    """Each question at the optimum of a solver that sees all records; ‖C s‖ + √m ≤ μ 2^52 in rationals at the worst."""
    domain, options = DOMAINS[name], fitted(QUESTIONS[asked], DOMAINS[name].dimension)
    g = gm.Guarantee(epsilon=1, delta=1e-6)
    plan = gm.plan(domain, g, neighbours=neighbours, **({"weights": "equal"} | options))
    d = domain.dimension
    S = differences_of(domain, neighbours)
    W = np.array(options.get("answers", np.eye(d))) * domain.radius
    weights = np.array(options.get("weights", np.ones(len(W))))
    asked_rows = np.sqrt(weights)[:, None] * W
    points = S @ asked_rows.T
    private = neighbours == "add-remove"
    if options.get("count") and private:
        points = np.hstack([points, np.ones((len(S), 1))])
    best = solve(points, gap=1e-5)
    assert plan.total_variance * g.mu**2 == pytest.approx(best.upper, rel=3e-4)
    assert plan.lower_bound * g.mu**2 <= best.upper
    assert plan.optimality < 1 + 2e-4
    # the guarantee, with the very doubles of the release
    C = plan.block.grid.lift.dense()
    core = S * plan.block.codes.extents
    if C.shape[1] > d:
        core = np.hstack([core, np.ones((len(core), 1))])
    norms = np.linalg.norm(core @ C.T, axis=1)
    limit = Fraction(g.mu) * 2**NOISE_BITS - Fraction(math.isqrt(C.shape[0] * 2**40) + 1, 2**20)
    for i in np.argsort(norms)[-4:]:
        rows = [sum(Fraction(a) * int(k) for a, k in zip(row, core[i], strict=True)) for row in C.tolist()]
        assert sum(y * y for y in rows) <= limit * limit
    assert norms.max() >= g.mu * 2**NOISE_BITS * (1 - 1e-4)  # and not wastefully so
    # what is decoded is what was asked
    F = plan.block.shape.features.dense()[: len(W)]
    X = records_of(domain)
    full = np.hstack([X, np.ones((len(X), 1))])[:, : plan.block.shape.lift.shape[1]]
    decoded = full @ plan.block.shape.lift.dense().T @ F.T + (
        0 if plan.block.shape.public is None else plan.block.shape.public
    )
    assert decoded == pytest.approx(X @ W.T, abs=1e-9)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize(("d", "k"), [(12, 1), (12, 6), (12, 9), (12, 12), (11, 7)])
def test_every_corner_of_twelve_counts_is_hidden(d, k, neighbours):
    plan = gm.plan(gm.Counts(d, at_most=k), UNIT, neighbours=neighbours, count=neighbours == "add-remove")
    if neighbours == "add-remove":
        S = np.indices((2,) * d).reshape(d, -1).T
        S = np.hstack([S[S.sum(axis=1) <= k], np.ones((int((S.sum(axis=1) <= k).sum()), 1))])
    else:
        S = np.indices((3,) * d, dtype=np.int8).reshape(d, -1).T - 1
        S = S[((S > 0).sum(axis=1) <= k) & ((S < 0).sum(axis=1) <= k)]
    norms = np.linalg.norm(S @ plan.block.shape.lift.dense().T, axis=1)
    assert 1 - 1e-5 <= norms.max() <= 1 + 1e-12


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize(
    "domain",
    [
        gm.Counts(50, at_most=9),
        gm.Counts(50, at_most=40),
        gm.domains.Votes(30),
        gm.domains.SparseSum(60, 20, np.geomspace(1, 99, 60)),
    ],
    ids=repr,
)
def test_random_and_adversarial_differences_of_wide_domains_are_hidden(domain, neighbours):
    """10^5 differences: at random, and those that a few steps of ascent make as large as they can."""
    plan = gm.plan(domain, UNIT, neighbours=neighbours, count=True, weights="equal")
    A = plan.block.shape.lift.dense()
    d, rng = domain.dimension, np.random.default_rng(5)
    for _ in range(10):
        if isinstance(domain, gm.domains.Votes):
            X = rng.permuted(np.tile(np.arange(d, dtype=float), (10_000, 1)), axis=1)
            Y = d - 1 - X
        else:
            ranks = rng.permuted(np.tile(np.arange(d), (10_000, 1)), axis=1)
            ones = rng.integers(1, domain.at_most + 1, (10_000, 1))
            X, Y = (ranks < ones).astype(float), (ranks >= d - ones).astype(float)
            if isinstance(domain, gm.domains.SparseSum):
                X *= rng.choice([-1.0, 1.0], X.shape)
                Y = -X
        S = X if neighbours == "add-remove" else X - Y
        if A.shape[1] > d:
            S = np.hstack([S, np.ones((len(S), 1))])
        assert np.linalg.norm(S @ A.T, axis=1).max() <= 1 + 1e-12
    largest = domain.sensitivity(plan.block.shape.lift, neighbours)
    assert 1 - 1e-5 <= largest <= 1 + 1e-12
    if isinstance(domain, gm.domains.SparseSum):  # adversarial: the k coordinates that count most
        entries = np.sort(np.abs(np.diag(A)[:d]))[::-1][: domain.at_most] * (1 if neighbours == "add-remove" else 2)
        last = np.diag(A)[d:]
        assert np.sqrt((entries**2).sum() + (last**2).sum()) == pytest.approx(largest, rel=1e-9)


def test_a_certified_bound_holds_where_records_cannot_be_listed():
    rng = np.random.default_rng(8)
    for domain in (gm.Counts(40, at_most=20), gm.domains.Votes(12), gm.domains.SparseSum(40, at_most=9, bound=1.0)):
        for neighbours in BOTH:
            plan = gm.plan(
                domain,
                UNIT,
                neighbours=neighbours,
                answers=rng.normal(size=(5, domain.dimension)),
                count=True,
                weights="equal",
            )
            assert 0 < plan.lower_bound <= plan.total_variance  # valid, and far apart: such answers have no closed form
            weighted = gm.plan(domain, UNIT, neighbours=neighbours, weights=np.geomspace(1, 2, domain.dimension))
            assert weighted.optimality < 1.05

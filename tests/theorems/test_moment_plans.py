"""Statements 46 to 48: the best noise for sums, squares and products, by two routes; its lower bound, certified."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from whole.existing import distinct, least_total

import gaussmith as gm
from gaussmith.domains.moment_strategies import Types, solve_types, subsets
from gaussmith.planning.certificate import verify
from gaussmith.privacy.neighbours import REPLACE_ONE

ONE = gm.Guarantee(mu=1)


def box(columns: int) -> dict[str, tuple[float, float]]:
    return {f"c{j}": (-1, 1) for j in range(columns)}


OPTIMA = [(1, 6.4, 6.4), (2, 24.336, 16.19), (3, 68.235, 30.2256), (5, 316.4, 70.6212), (10, 3451, 240.8)]
"""The optimum with all products, and with squares alone."""


@pytest.mark.parametrize(("columns", "every", "squares"), OPTIMA)
def test_reference_values(columns: int, every: float, squares: float) -> None:
    for products, expected in (("all", every), ("squares", squares)):
        plan = gm.plan(gm.Moments(box(columns), products), ONE, count=True, weights="equal")
        assert plan.block.price == pytest.approx(expected, rel=1e-3)
        assert plan.optimality < 1.0001
        assert plan.block.lower_bound <= plan.block.price


def test_fifty_columns() -> None:
    plan = gm.plan(gm.Moments(box(50)), ONE, count=True, weights="equal")
    assert plan.block.price == pytest.approx(1_646_030, rel=1e-3)
    assert dict(plan.block.alternatives)["isotropic"] == pytest.approx(1_758_276, rel=1e-6)


@pytest.mark.parametrize("columns", [1, 2])
def test_points_of_a_grid_give_the_same_optimum(columns: int) -> None:
    """A second route: the solver for listed points, over {−1, −½, 0, ½, 1}^d, which knows nothing of vertices."""
    grid = np.array(list(itertools.product((-1, -0.5, 0, 0.5, 1), repeat=columns)))
    first, second = np.triu_indices(columns)
    points = np.hstack([grid, grid[:, first] * grid[:, second]])
    listed = gm.plan(gm.domains.Points(points), ONE, count=True, gap=1e-3)
    ours = gm.plan(gm.Moments(box(columns)), ONE, count=True, weights="equal")
    assert listed.block.lower_bound <= ours.block.price * (1 + 1e-9)
    assert listed.block.price == pytest.approx(ours.block.price, rel=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_weigh_differently_are_solved_over_all_vertices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = gm.Moments(box(2), around=0.15)
    weights = rng.uniform(0.1, 3, domain.dimension)
    ours = gm.plan(domain, ONE, weights=weights, count=True)
    assert ours.optimality < 1.0001
    grid = np.array(list(itertools.product((-1, -0.5, 0, 0.5, 1), repeat=2)))
    points = np.hstack([grid, grid[:, [0]] ** 2 - 0.15, grid[:, [0]] * grid[:, [1]], grid[:, [1]] ** 2 - 0.15])
    listed = gm.plan(gm.domains.Points(points), ONE, weights=weights, count=True, gap=1e-3)
    assert listed.block.price == pytest.approx(ours.block.price, rel=3e-3)


def test_levels_and_vertices_agree() -> None:
    d = 4
    K, k = subsets(d, 1 << d), np.arange(d + 1.0)
    i, j = np.triu_indices(d, 1)
    vertices = Types(np.hstack([K, K[:, i] * K[:, j]]), np.column_stack([K, np.ones(len(K))]))
    alone = np.column_stack([d * k, 6 * k * (k - 1) / 2, (d - 1) * (k - k * k / d)])
    levels = Types(alone, np.column_stack([k / 2, np.ones(d + 1)]))
    assert solve_types(vertices, 1e-8).trace == pytest.approx(solve_types(levels, 1e-8).trace, rel=1e-7)


def test_many_columns_that_weigh_differently_have_an_honest_bound() -> None:
    domain = gm.Moments(box(12), "squares")
    weights = np.linspace(1, 4, domain.dimension)
    plan = gm.plan(domain, ONE, weights=weights, count=True)
    assert 1.0 < plan.optimality < 1.2
    assert not verify(plan, plan.certificate).problems


def test_replacing_a_record_of_one_column() -> None:
    plan = gm.plan(gm.Moments(box(1)), ONE, neighbours=REPLACE_ONE, weights="equal")
    assert plan.block.price == pytest.approx(40 * math.sqrt(5) - 84, rel=1e-9)
    assert plan.optimality < 1 + 1e-9


@pytest.mark.parametrize(("columns", "at_least"), [(2, 31.2), (3, 109.08)])
def test_replacing_a_record_of_several_columns(columns: int, at_least: float) -> None:
    """The price is above what cutting planes found to be needed, and so is the law's bound, nearly."""
    plan = gm.plan(gm.Moments(box(columns)), ONE, neighbours=REPLACE_ONE, weights="equal")
    assert at_least <= plan.block.lower_bound <= plan.block.price


@pytest.mark.parametrize("columns", [2, 3])
def test_replacing_a_record_of_columns_without_products(columns: int) -> None:
    """Columns change independently: the roots of their own optima add up, and no noise has less."""
    weights = np.linspace(1, 4, columns)
    plan = gm.plan(gm.Moments(box(columns), "squares"), ONE, neighbours=REPLACE_ONE, weights=[*weights, *weights])
    assert plan.optimality < 1.0001
    each = [gm.plan(gm.Moments(box(1)), ONE, neighbours=REPLACE_ONE, weights=[w, w]).block.price for w in weights]
    assert plan.block.price == pytest.approx(sum(map(math.sqrt, each)) ** 2, rel=1e-9)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("products", ["all", "squares", [("a", "a"), ("a", "b")]])
def test_every_certificate_holds_and_is_read_back(neighbours: str, products: object) -> None:
    domain = gm.Moments({"a": (0, 3), "b": (10, 70)}, products, around=0.15)  # type: ignore[arg-type]
    plan = gm.plan(domain, gm.Guarantee(mu=0.3), neighbours=neighbours, weights="relative")
    assert not verify(plan, plan.certificate).problems
    again = gm.read(plan.to_json())
    assert again == plan and again.certificate.to_json() == plan.certificate.to_json()


def test_a_law_that_is_none_is_refused() -> None:
    plan = gm.plan(gm.Moments(box(2)), ONE, count=True, weights="equal")
    law = plan.block.bounding_law
    changed = type(law)("moments", law.lower, {**law.numbers, "levels": law.numbers["levels"] + 1})
    with pytest.raises(gm.PlanError, match="not a law of differences"):
        plan.block.proven(changed)


COMING: dict[str, tuple[dict[str, Any], float, bool]] = {
    "some left out": ({"variances": ["a"]}, 0.7021, False),
    "some filtered": ({"variances": ["a"], "complete": ["a"], "where": "f"}, 0.7021, False),
    "groups": ({"variances": ["a"], "by": {"c": ["x", "y"]}}, 2 * 1.0556, True),
}
"""What is asked under replace-one, the total at μ = 1, and whether a record also leaves a group for another."""


@pytest.mark.parametrize("name", COMING)
def test_a_record_of_one_column_that_comes_goes_or_changes(name: str) -> None:
    """All of it is hidden, on a fine grid; without groups a law on these changes needs as much noise."""
    asked, total, groups = COMING[name]
    plan = gm.Request("rows.parquet", bounds={"a": (-1, 1)}, neighbours=REPLACE_ONE, guarantee=ONE, **asked).plan
    (query,) = plan.queries
    plan.certify()
    assert plan.total_variance == pytest.approx(total, rel=1e-3)
    z = np.linspace(-1, 1, 801)
    seen = np.column_stack([z, z * z, np.ones(len(z))]) @ query.block.shape.lift.dense().T * query.block.guarantee.mu
    known = (seen * seen).sum(axis=1)
    changes = known[:, None] + known - 2 * seen @ seen.T
    assert max(known.max() * (2 if groups else 1), changes.max()) <= 1 + 1e-12
    assert changes.max() > 0.999
    law = np.vstack([seen, (seen[:, None] - seen)[::20, ::20].reshape(-1, 3)])
    features, shape = query.block.problem.features, query.block.shape
    worth = [*features.weights, *([features.count_weight] if shape.counted else [])]
    answers = law @ shape.features.dense().T / query.block.guarantee.mu * np.sqrt(worth)
    assert groups or least_total(distinct(answers))[0] > 0.998 * plan.price

"""The largest difference where records are not a list: balls, ellipsoids, marginals, and a person in several groups.

As in `test_largest`: random lifts, exact arithmetic, never below the truth, and equal to it unless said otherwise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from lifts import (
    Vector,
    bordered,
    check_bound,
    dense,
    diagonal,
    entries,
    largest_added,
    largest_changed,
    numbers,
    repeated,
    unbordered,
)
from planting import plant
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.domains.box import Box
from gaussmith.domains.cells import CellMarks, Cells
from gaussmith.domains.counts import Counts
from gaussmith.domains.extremes import Sphere, repeats
from gaussmith.domains.groups import Groups
from gaussmith.numerics import marginals as residual_sizes
from gaussmith.numerics.marginals import ResidualLift, Residuals
from gaussmith.numerics.matrices import Bordered, Dense, Matrix
from gaussmith.papers.ball import Ball
from gaussmith.papers.gaussian import GaussianData
from gaussmith.planning import query as query_module
from gaussmith.planning.query import Query
from gaussmith.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE_ONE

DRAWS = 150

# -- balls ------------------------------------------------------------------------------------------------------------


def even(rng: np.random.Generator, width: int) -> Bordered:
    """Rows alike in size, each of its own coordinate: what a planner makes of a ball."""
    found = bordered(rng, width)
    alike = np.where(found.index == width - 1, found.inner, np.copysign(abs(float(numbers(rng, 1)[0])), found.inner))
    return Bordered(found.index, alike, found.border, width)


def farthest(A: list[Vector], b: Vector) -> Fraction:
    """‖A z + b‖² at a rational z with ‖z‖ ≤ 1 that makes it largest, but for 1e-11: no more than the truth.

    Every row of A has one entry at most, so that AᵀA = diag(c). With g = Aᵀb the best z is g/(λ − c) at the λ above all
    c where its norm is 1; where it is shorter than 1 at every such λ, the rest lies along the largest c.
    """
    d = len(A[0])
    c = np.array([float(sum(row[j] ** 2 for row in A)) for j in range(d)])
    g = np.array([float(sum(row[j] * y for row, y in zip(A, b, strict=True))) for j in range(d)])
    top = int(np.argmax(c))
    low, high = 1e-18 * (c[top] + np.abs(g).max()), c[top] + float(np.linalg.norm(g))
    z = np.zeros(d)
    if high > 0:
        for _ in range(200):
            middle = math.sqrt(low * high)
            z = g / (middle + (c[top] - c))
            low, high = (middle, high) if np.linalg.norm(z) > 1 else (low, middle)
        z = g / (high + (c[top] - c))
    z[top] += math.copysign(math.sqrt(max(0.0, 1 - float(z @ z) + float(z[top] ** 2))) - abs(z[top]), g[top])
    point = [Fraction(x) * (1 - Fraction(1, 10**12)) for x in z]
    assert sum(x * x for x in point) <= 1
    return Fraction(
        sum((sum(x * y for x, y in zip(row, point, strict=True)) + t) ** 2 for row, t in zip(A, b, strict=True))
    )


def ball_looseness(lift: Matrix, dimension: int) -> float:
    """A bordered lift of a ball is bounded by its largest entry, the rows on one coordinate r, and its border.

    √r where rows repeat, and √2 more where a border is added to rows that are not alike:
    (max |a| √r + ‖b‖)² ≤ 2r (max a² + ‖b‖²), and ±z together reach max a² + ‖b‖².
    """
    if not isinstance(lift, Bordered):
        return 1.0
    varying = lift.index < dimension
    rows = max(np.bincount(lift.index[varying]), default=1)
    uneven = rows > 1 or len(set(np.abs(lift.inner[varying]).tolist())) > 1
    return math.sqrt(rows) * (math.sqrt(2) if uneven and lift.border.any() else 1.0)


BALLS: dict[str, Any] = {
    "ball": Ball(3, 2.5, [1, 0, -1]),
    "interval": Ball(1, 2.0),
    "gaussian": GaussianData([1, 0, -1], [1, 0.1, 3]).clipped_to(np.array([4, 0.5, 9])),
}
BALL_LIFTS: dict[str, tuple[Callable[..., Matrix], ...]] = {
    ADD_REMOVE: (diagonal, even, bordered, repeated),
    REPLACE_ONE: (diagonal, unbordered),
}


def check_ball(name: str, kind: str, rng: np.random.Generator, queries: int = DRAWS) -> None:
    domain = BALLS[name]
    d, private = domain.dimension, kind != REPLACE_ONE
    kinds = BALL_LIFTS[ADD_REMOVE if private else REPLACE_ONE]
    for i in range(queries):
        lift = kinds[i % len(kinds)](rng, d + private)
        reach = float(rng.integers(1, 1 << 42)) if kind != "change" and rng.random() < 0.7 else 1.0
        rows = [[x * Fraction(reach) for x in row[:d]] for row in entries(lift)]
        if kind == ADD_REMOVE:
            truth = farthest(rows, [row[d] for row in entries(lift)])
            bound, loose = domain.sensitivity(lift, kind, np.full(d, reach)), ball_looseness(lift, d)
        else:  # two records lie 2 apart at most, in any direction
            truth = 4 * max(sum(row[j] ** 2 for row in rows) for j in range(d))
            bound = (
                domain.extremes().replacement_sensitivity(lift)
                if private
                else domain.sensitivity(lift, kind, np.full(d, reach))
            )
            loose = math.sqrt(max(np.bincount(lift.index[lift.index < d]), default=1)) if i % len(kinds) else 1.0
        check_bound(bound, truth, loose, (lift, reach))


@pytest.mark.parametrize("kind", [*NEIGHBOURS, "change"])
@pytest.mark.parametrize("name", BALLS)
def test_the_bound_of_a_ball(name: str, kind: str) -> None:
    check_ball(name, kind, np.random.default_rng())


def test_dense_lifts_of_balls_are_refused() -> None:
    for domain in BALLS.values():
        lift = Dense(np.eye(domain.dimension + 1))
        with refused(damaged("a ball with a dense lift")):
            domain.sensitivity(lift, ADD_REMOVE)
        with refused(damaged("a ball with a dense lift")):
            domain.extremes().replacement_sensitivity(lift)


@pytest.mark.parametrize(
    ("kind", "function", "right", "wrong"),
    [
        (ADD_REMOVE, Sphere.sensitivity, "repeats(rows, self.size)", "1.0"),
        (ADD_REMOVE, Sphere.sensitivity, "[largest, norm", "[largest, 0 * norm"),
        (
            ADD_REMOVE,
            Sphere.sensitivity,
            "np.append(last, sum_upward([largest, norm_upward(border)]))",
            "sum_upward([largest, norm_upward(border)])",
        ),
        (ADD_REMOVE, Sphere.sensitivity, "float(np.max(extent))", "1.0"),
        (ADD_REMOVE, Sphere.sensitivity, "inner.max(initial=0.0)", "inner.min(initial=0.0)"),
        (REPLACE_ONE, Sphere.sensitivity, "2.0 * largest", "largest"),
        (REPLACE_ONE, repeats, ".max()", ".min()"),
        ("change", Sphere.sensitivity, "2.0 * largest", "largest"),
        ("change", Sphere.sensitivity, "repeats(rows, self.size)", "1.0"),
    ],
)
def test_faults_of_balls_are_found(
    kind: str, function: Any, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, function, right, wrong)
    with pytest.raises(AssertionError, match="the truth"):
        check_ball("ball", kind, np.random.default_rng(), 20 * DRAWS)


# -- marginals --------------------------------------------------------------------------------------------------------

WAYS = {
    "single": ((2, 3, 2), ((0,), (1,), (2,))),
    "pairs": ((2, 2, 2, 2), tuple(itertools.combinations(range(4), 2))),
    "uneven": ((4, 2, 3), ((0, 1), (2,))),
    "whole": ((3, 2), ((0, 1),)),
}


def marginal_lift(rng: np.random.Generator, sizes: Any, ways: Any) -> ResidualLift:
    """Residuals of random variances, scaled so that their roundings to whole numbers are far below 1e-12."""
    subsets = sorted({A for way in ways for n in range(len(way) + 1) for A in itertools.combinations(way, n)})
    variances = 4.0 ** rng.uniform(-3, 3, len(subsets))
    lift = ResidualLift(Residuals(tuple(sizes), tuple(ways), tuple(subsets), variances))
    return lift.scaled(np.full(lift.shape[1], 2.0**60))


def counted_cells(sizes: Any, ways: Any, or_none: bool) -> list[list[int]]:
    """What one record adds to the counts of all marginals: a one in a cell of each; or, in no cell, nothing."""
    found = []
    for cell in itertools.product(*map(range, sizes)):
        counts: list[int] = []
        for way in ways:
            places = itertools.product(*(range(sizes[i]) for i in way))
            counts += [int(place == tuple(cell[i] for i in way)) for place in places]
        found.append(counts)
    return [*found, [0] * len(found[0])] if or_none else found


def check_marginals(name: str, kind: str, or_none: bool, rng: np.random.Generator, queries: int = 8) -> None:
    sizes, ways = WAYS[name]
    domain = Cells(shape=sizes, or_none=or_none)
    for _ in range(queries):
        lift = marginal_lift(rng, sizes, ways)
        Y = np.array([lift.exact_times(record) for record in counted_cells(sizes, ways, or_none)], object)
        apart = Y if kind == ADD_REMOVE else (Y[:, None] - Y[None]).reshape(-1, Y.shape[1])
        truth = math.sqrt((apart * apart).sum(axis=1).max())
        bound = domain.extremes().replacement_sensitivity(lift) if kind == "change" else domain.sensitivity(lift, kind)
        rounding = 2 * math.sqrt(Y.shape[1]) / truth
        check_bound(bound / truth, Fraction(1 - rounding - 1e-15) ** 2, 1.0 + 2 * rounding, lift.residuals)


@pytest.mark.parametrize("or_none", [False, True])
@pytest.mark.parametrize("kind", [*NEIGHBOURS, "change"])
@pytest.mark.parametrize("name", WAYS)
def test_the_bound_of_marginals(name: str, kind: str, or_none: bool) -> None:
    """`change` is what groups rest on under replace-one: a lift of marginals has other columns than the cells."""
    if or_none and kind == REPLACE_ONE:
        lift = marginal_lift(np.random.default_rng(), *WAYS[name])
        with refused(damaged("residuals of other cells")):
            Cells(shape=WAYS[name][0], or_none=True).sensitivity(lift, kind)
        return
    check_marginals(name, kind, or_none, np.random.default_rng())


def test_marginals_of_many_attributes_are_bounded_one_by_one() -> None:
    """Beyond ten attributes patterns are not listed. For single columns of two values the bound is still exact."""
    rng = np.random.default_rng()
    sizes, ways = (2,) * 11, tuple((i,) for i in range(11))
    lift = ResidualLift(Residuals(sizes, ways, ways, 2.0**-120 * 4.0 ** rng.uniform(-3, 3, 11)))
    first, last = ([int(i % 2 == side) for i in range(22)] for side in (0, 1))
    Y = [int(x) - int(y) for x, y in zip(lift.exact_times(first), lift.exact_times(last), strict=True)]
    truth = math.sqrt(sum(y * y for y in Y))
    assert truth <= Cells(shape=sizes).sensitivity(lift, REPLACE_ONE) <= truth * (1 + 1e-9)


@pytest.mark.parametrize(
    ("kind", "or_none", "function", "right", "wrong"),
    [
        (ADD_REMOVE, False, residual_sizes.sizes_of, "(shape[i] - 1) / shape[i]", "(shape[i] - 1.01) / shape[i]"),
        (REPLACE_ONE, False, residual_sizes.every_pattern, "[:-1]", "[1:]"),
        (REPLACE_ONE, False, residual_sizes.moved_by, "-1 / shape[i]", "1 / shape[i]"),
        (REPLACE_ONE, False, residual_sizes.most_moved, 'neighbours == "add-remove"', "True"),
        (
            "change",
            False,
            CellMarks.replacement_sensitivity,
            "lift.largest_norm(REPLACE_ONE)",
            "lift.largest_norm(ADD_REMOVE)",
        ),
        ("change", True, CellMarks.replacement_sensitivity, "moved if self.at_least else", "moved if True else"),
    ],
)
def test_faults_of_marginals_are_found(
    kind: str, or_none: bool, function: Any, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, function, right, wrong)
    with pytest.raises(AssertionError, match="the truth"):
        for _ in range(20):
            check_marginals("uneven", kind, or_none, np.random.default_rng())


# -- groups -----------------------------------------------------------------------------------------------------------


def worst_person(unit: Fraction, change: Fraction, groups: int, at_most: int, neighbours: str) -> Fraction:
    """The largest squared difference over all groups: who leaves or enters one adds `unit`, who stays `change`."""
    sets = [set(s) for n in range(at_most + 1) for s in itertools.combinations(range(groups), n)]
    if neighbours == ADD_REMOVE:
        return max(len(s) * unit for s in sets)
    return max(len(a ^ b) * unit + len(a & b) * change for a in sets for b in sets)


def check_groups(groups: int, at_most: int, neighbours: str, rng: np.random.Generator, queries: int = 12) -> None:
    """A query of groups is accepted up to the share of μ that brute force finds, and refused just above it."""
    domains: list[tuple[Any, list[Any]]] = [
        (Box([0, -1], [1, 3]), list(itertools.product((-1, 1), repeat=2))),
        (Counts(3, 2), [z for z in itertools.product((0, 1), repeat=3) if sum(z) <= 2]),
    ]
    for domain, records in domains:
        cores = [[Fraction(x) for x in z] for z in records]
        by = Groups({"k": list(range(groups))}, domain, at_most)
        made = gm.plan(domain, gm.Guarantee(mu=1), count=True).block
        for i in range(queries):
            lift = (diagonal, dense)[i % 2](rng, domain.dimension + 1)
            rows = entries(lift)
            unit = largest_added(rows, cores, True)
            if not unit:
                continue
            change = largest_changed([row[:-1] for row in rows], cores)
            share = math.sqrt(worst_person(unit, change, groups, at_most, neighbours) / unit)
            # With fewer than 2m groups nobody can leave m and enter m others: there the bound is only an upper one.
            exact = neighbours == ADD_REMOVE or groups >= 2 * at_most or change >= 2 * unit
            for slack, kept in ((1 + 1e-9, False), (1 - 1e-9, exact)):
                each = replace(made, guarantee=gm.Guarantee(mu=slack / share), shape=replace(made.shape, lift=lift))
                plan = Query(each, gm.Guarantee(mu=1), neighbours, by)
                if slack > 1:
                    with refused(damaged("is too large")):
                        plan.certify()
                elif kept:
                    plan.certify()


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize(("groups", "at_most"), [(1, 1), (3, 1), (4, 2), (3, 2), (3, 3)])
def test_groups_keep_the_guarantee_together(groups: int, at_most: int, neighbours: str) -> None:
    check_groups(groups, at_most, neighbours, np.random.default_rng())


@pytest.mark.parametrize(
    ("groups", "at_most", "neighbours", "right", "wrong"),
    [
        (4, 2, ADD_REMOVE, "float(groups.at_most)", "float(groups.at_most - 1)"),
        (4, 2, ADD_REMOVE, "return sqrt_upward(m)", "return 1.0"),
        (4, 2, REPLACE_ONE, "max(2.0, ", "max(1.0, "),
        (3, 2, REPLACE_ONE, "(changed / unit) ** 2", "0.0"),
        (4, 2, REPLACE_ONE, "neighbours == ADD_REMOVE", "True"),
    ],
)
def test_faults_of_groups_are_found(
    groups: int, at_most: int, neighbours: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, query_module._share, right, wrong)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_groups(groups, at_most, neighbours, np.random.default_rng(), 60)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3), (3, 4, 2)])
def test_groups_of_marginals_keep_the_guarantee_when_a_record_is_replaced(sizes: tuple[int, ...]) -> None:
    ways = len(sizes) - 1
    by = Groups({"k": ["a", "b"]}, Cells(shape=sizes))
    plan = gm.plan(by, gm.Guarantee(mu=1), answers=gm.workloads.marginals(list(sizes), ways), neighbours=REPLACE_ONE)
    lift, each = plan.block.shape.lift, plan.block
    Y = np.array(counted_cells(sizes, lift.residuals.ways, False), float) @ lift.dense().T
    apart = np.linalg.norm(Y[:, None] - Y[None], axis=2).max()
    assert max(apart, math.sqrt(2)) * each.guarantee.mu == pytest.approx(1, rel=1e-9)

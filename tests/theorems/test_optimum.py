"""The solver against closed forms, reference values, a cone solver, and points made to break it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import pytest
from refusals import refused

from gaussmith.domains.cell_strategies import has_few_far, solve_far
from gaussmith.errors import PlanError
from gaussmith.numerics.norms import largest_distance, largest_norm
from gaussmith.numerics.solver import Optimum, solve

Array = npt.NDArray[np.float64]


def prefix(cells: int) -> Array:
    """The differences of prefix sums: a person in cell i adds one to every prefix from i on."""
    return np.triu(np.ones((cells, cells)))


def ranges(cells: int) -> Array:
    rows = [[1.0 if a <= i <= b else 0.0 for i in range(cells)] for a in range(cells) for b in range(a, cells)]
    return np.array(rows).T


def is_private_exactly(best: Optimum, points: Array, pairs: bool = False) -> bool:
    """‖lift·s‖² ≤ 1 for all s, in rational arithmetic."""
    lift = [[Fraction(x) for x in row] for row in best.lift.tolist()]
    lifted = []
    for point in points.tolist():
        s = [Fraction(x) for x in point]
        lifted.append([sum((a * x for a, x in zip(row, s, strict=True)), Fraction(0)) for row in lift])
    if pairs:
        lifted = [[x - y for x, y in zip(a, b, strict=True)] for a, b in combinations(lifted, 2)]
    return all(sum(y * y for y in row) <= 1 for row in lifted)


def by_cone_solver(points: Array) -> float:
    """max tr X subject to [[M(λ), X], [Xᵀ, I]] ⪰ 0, λ in the simplex: (tr M^{1/2})², by cvxpy and Clarabel."""
    if points.shape[1] > len(points):
        points = np.linalg.qr(points.T)[1].T  # the same differences in coordinates of their span
    N, k = points.shape
    lam, X = cp.Variable(N, nonneg=True), cp.Variable((k, k))
    M = points.T @ cp.diag(lam) @ points
    problem = cp.Problem(cp.Maximize(cp.trace(X)), [cp.bmat([[M, X], [X.T, np.eye(k)]]) >> 0, cp.sum(lam) == 1])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value) ** 2


@pytest.mark.parametrize(
    ("points", "at_least", "at_most"),
    [
        (prefix(2), 2.618033988205325, 2.6180555555555554),
        (prefix(8), 17.866177330783085, 17.8662863132511),
        (prefix(64), 282.2014210375348, 282.20345353664607),
        (prefix(256), 1631.4030444563955, 1631.4165975149915),
        (ranges(4), 16.440887335907437, 16.44090762940191),
        (ranges(16), 413.1402168283698, 413.142444378522),
        (ranges(64), 11024.381503416194, 11024.452753591573),
    ],
    ids=["prefix 2", "prefix 8", "prefix 64", "prefix 256", "ranges 4", "ranges 16", "ranges 64"],
)
def test_workloads_reach_the_reference_values(points: Array, at_least: float, at_most: float) -> None:
    best = solve(points)
    assert best.gap <= 1e-3
    assert best.lower <= at_most
    assert best.upper >= at_least
    assert at_least * (1 - 1e-3) <= best.lower
    assert best.upper <= at_most * (1 + 1e-3)


@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_the_corners_of_a_sign_cube_need_their_dimension_squared(dimension: int) -> None:
    corners = np.array(list(product([-1.0, 1.0], repeat=dimension)))
    best = solve(corners, gap=1e-8)
    assert best.lower <= dimension**2 <= best.upper
    assert best.gap <= 1e-8


def test_random_points_agree_with_a_cone_solver() -> None:
    rng = np.random.default_rng(20240501)
    for N, k in [(5, 3), (12, 4), (30, 5), (4, 6)]:
        points = rng.normal(size=(N, k))
        best = solve(points, gap=1e-6)
        oracle = by_cone_solver(points)
        assert best.lower <= oracle * (1 + 1e-6)
        assert oracle <= best.upper * (1 + 1e-6)
        assert best.gap <= 1e-6


@pytest.mark.parametrize("ratio", [1.0, 1e3, 3e3, 1e5, 1e7])
@pytest.mark.parametrize("shape", [(6, 6), (40, 5), (5, 9)])
def test_scales_far_apart_leave_no_point_without_noise(ratio: float, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(7)
    points = rng.normal(size=shape) * np.geomspace(1, ratio, shape[0])[:, None]
    best = solve(points)
    assert best.gap <= 1e-3
    assert is_private_exactly(best, points)
    back = points @ best.lift.T @ best.decode.T
    assert np.allclose(back, points, rtol=1e-6, atol=1e-6)
    # Every difference is spread over noise: along each one the noise's size is at least the difference's own.
    along = np.linalg.norm((points / np.linalg.norm(points, axis=1, keepdims=True)) @ best.decode, axis=1)
    assert (along >= np.linalg.norm(points, axis=1) * (1 - 1e-6)).all()


def test_columns_in_far_apart_units_are_kept_or_refused() -> None:
    rng = np.random.default_rng(8)
    for ratio in (1e3, 1e7, 1e12):
        points = rng.normal(size=(20, 4)) * np.array([1.0, 1.0, ratio, ratio**0.5])
        best = solve(points)
        back = points @ best.lift.T @ best.decode.T
        assert (np.abs(back - points).max(axis=0) <= 1e-6 * np.abs(points).max(axis=0)).all()
        assert is_private_exactly(best, points)
    for small in (1e-7, 1e-13, 1e-20, 1e-30, 1e-100):
        points = np.array([[1e7, 0.0, 1.0], [1e7, small, 1.0], [1.0, small, small]])
        try:
            best = solve(points)
        except PlanError as refusal:
            assert refusal.code == "points-too-far-apart"
            continue
        back = points @ best.lift.T @ best.decode.T
        assert (np.abs(back - points).max(axis=0) <= 1e-6 * np.abs(points).max(axis=0)).all()
        assert is_private_exactly(best, points)
    with refused("differences-out-of-scale"):
        solve([[1e150, 0.0], [0.0, 1e-2]])


def test_dependent_zero_and_repeated_points_change_nothing() -> None:
    points = np.array([[1.0, 2.0, 3.0], [2.0, -1.0, 1.0]])
    more = np.vstack([points, -points, points, 0 * points, 0.5 * points[:1]])
    one, two = solve(points, gap=1e-9), solve(more, gap=1e-9)
    assert one.lift.shape == (2, 3)
    assert two.weights.shape == (9,)
    assert abs(one.upper / two.upper - 1) <= 1e-8
    assert np.allclose(one.covariance, two.covariance, rtol=1e-4)
    assert is_private_exactly(two, more)


def test_huge_and_tiny_units_only_scale_the_answer() -> None:
    points = np.random.default_rng(3).normal(size=(10, 3))
    base = solve(points, gap=1e-6)
    for unit in (1e-120, 1e120):
        best = solve(points * unit, gap=1e-6)
        assert abs(best.upper / unit**2 / base.upper - 1) <= 1e-6
        assert is_private_exactly(best, points * unit)


@pytest.mark.parametrize("cells", [2, 5, 8, 20])
def test_pairs_are_solved_as_if_written_down(cells: int) -> None:
    written = np.array([a - b for a, b in combinations(prefix(cells), 2)])
    one = solve(prefix(cells), pairs=True, gap=1e-6)
    two = solve(written, gap=1e-6)
    assert abs(one.upper / two.upper - 1) <= 2e-6
    assert one.lower <= two.upper and two.lower <= one.upper
    assert one.lift.shape == (cells - 1, cells)
    if cells <= 8:
        assert is_private_exactly(one, prefix(cells), pairs=True)


def test_replacing_a_record_in_prefix_sums_reaches_the_reference_value() -> None:
    best = solve(prefix(8), pairs=True, gap=1e-5)
    assert 17.4676 <= best.upper and best.lower <= 17.4693
    assert best.upper <= 17.4693


@pytest.mark.parametrize("cells", [64, 128])
def test_many_pairs_close_the_gap_too(cells: int) -> None:
    best = solve(prefix(cells), pairs=True)
    assert best.gap <= 1e-3
    Y = prefix(cells) @ best.lift.T
    assert max(float(((Y - y) ** 2).sum(axis=1).max()) for y in Y) <= 1 + 1e-12
    assert np.allclose((Y - Y[0]) @ best.decode.T, prefix(cells) - prefix(cells)[0], atol=1e-9)


def test_half_a_million_pairs_do_not_take_over_together() -> None:
    """Pairs that cost too much but hardly weigh grow at once; here so many do that the search went in circles."""
    best = solve(np.tri(1024), pairs=True, gap=0.05, max_rounds=20)
    assert best.gap <= 0.05


def test_cells_alone_and_with_an_empty_one_reach_their_closed_forms_under_replacement() -> None:
    for d in (2, 3, 7):
        exactly = solve(np.eye(d), pairs=True, gap=1e-8)
        assert exactly.lower <= 2 * (d - 1) * (1 + 1e-10) and exactly.upper >= 2 * (d - 1) * (1 - 1e-10)
        at_most = solve(np.vstack([np.eye(d), np.zeros(d)]), pairs=True, gap=1e-8)
        total = 2 * (d - 1) + 2 / (d + 1)
        assert at_most.lower <= total * (1 + 1e-10) and at_most.upper >= total * (1 - 1e-10)


def test_the_worst_answer_agrees_with_a_cone_solver() -> None:
    rng = np.random.default_rng(17)
    for points in (rng.normal(size=(6, 3)), prefix(4), np.diag([1.0, 0.1, 0.01])):
        k = points.shape[1]
        targets = np.linspace(1, 2, k)
        Sigma, largest = cp.Variable((k, k), symmetric=True), cp.Variable()
        hidden = [cp.bmat([[Sigma, s[:, None]], [s[None, :], np.ones((1, 1))]]) >> 0 for s in points]
        limits = [Sigma[j, j] <= largest * targets[j] ** 2 for j in range(k)]
        cp.Problem(cp.Minimize(largest), hidden + limits).solve(solver=cp.CLARABEL)
        best = solve(points, objective="worst", targets=targets, gap=1e-6)
        assert best.gap <= 1e-6
        assert best.lower <= largest.value * (1 + 1e-6)
        assert largest.value <= best.upper * (1 + 1e-6)
        assert (np.diag(best.covariance) / targets**2).max() <= best.upper
        assert is_private_exactly(best, points)


@pytest.mark.parametrize("points", [prefix(40), ranges(12), 1e9 * prefix(5), np.eye(7)])
def test_the_worst_answer_is_levelled_and_no_better_than_the_average(points: Array) -> None:
    worst, total = solve(points, objective="worst"), solve(points)
    assert worst.gap <= 1e-3
    assert worst.upper <= np.diag(total.covariance).max() * (1 + 1e-3)
    assert worst.upper * points.shape[1] >= total.lower
    assert np.allclose(points @ worst.lift.T @ worst.decode.T, points, rtol=1e-9, atol=1e-9 * points.max())


def test_the_worst_answer_gives_back_what_its_lift_takes() -> None:
    """To the last digits on every processor, though small singular values have lost some."""
    points = ranges(6)
    moving = points[:, np.ptp(points, axis=0) > 0]
    best = solve(moving, pairs=True, objective="worst")
    centred = (moving - moving.mean(axis=0)).T
    lost = np.abs(best.decode @ (best.lift @ centred) - centred).sum(axis=1)
    assert (lost < 1e-14 * np.linalg.norm(best.decode, axis=1)).all()


def test_pairs_and_the_worst_answer_go_together() -> None:
    written = np.array([a - b for a, b in combinations(prefix(10), 2)])
    one = solve(prefix(10), pairs=True, objective="worst", gap=1e-4)
    two = solve(written, objective="worst", gap=1e-4)
    assert one.lower <= two.upper and two.lower <= one.upper
    assert max(one.gap, two.gap) <= 1e-4


def test_the_largest_norm_is_never_below_the_exact_one() -> None:
    rng = np.random.default_rng(23)
    for spread in (0.0, 3.0, 12.0):
        lift = rng.normal(size=(4, 6)) * 10 ** rng.uniform(-spread, spread, (4, 6))
        points = rng.normal(size=(7, 6)) * 10 ** rng.uniform(-spread, spread, (7, 6))
        exact_lift = [[Fraction(x) for x in row] for row in lift.tolist()]
        lifted = [
            [sum((a * Fraction(x) for a, x in zip(row, p, strict=True)), Fraction(0)) for row in exact_lift]
            for p in points.tolist()
        ]
        norm = largest_norm(lift, points)
        truth = max(sum(y * y for y in row) for row in lifted)
        assert Fraction(norm) ** 2 >= truth
        distance = largest_distance(lift, points)
        apart = max(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a, b in combinations(lifted, 2))
        assert Fraction(distance) ** 2 >= apart
        assert norm <= math.sqrt(truth) * (1 + 1e-12)
        assert distance <= math.sqrt(apart) * (1 + 1e-10)


def test_an_unknown_wish_is_refused() -> None:
    with refused("objective-not-total-or-worst", objective="best"):
        solve([[1.0]], objective="best")  # type: ignore[arg-type]
    with refused("targets-with-objective-total"):
        solve([[1.0]], targets=[1.0])
    for targets in ([1.0, 2.0], [0.0], [np.nan]):
        with refused("optimum-targets-not-positive"):
            solve([[1.0]], objective="worst", targets=targets)
    with refused("differences-all-zero"):
        solve([[1.0, 2.0]], pairs=True)
    with refused("differences-all-zero"):
        solve([[1.0, 2.0], [1.0, 2.0]], pairs=True)


@pytest.mark.parametrize("gap", [0.0, -1e-3, 1e-11, float("nan")])
def test_an_impossible_gap_is_refused(gap: float) -> None:
    with refused("gap-out-of-range", PlanError):
        solve([[1.0]], gap=gap)


@pytest.mark.parametrize("points", [[[0.0, 0.0]], [[np.nan]], [[np.inf]], [], [1.0, 2.0], np.zeros((0, 3))])
def test_points_that_mean_nothing_are_refused(points: object) -> None:
    with pytest.raises(PlanError) as caught:
        solve(points)  # type: ignore[arg-type]
    assert caught.value.code in ("differences-all-zero", "differences-not-finite", "differences-malformed")


def test_progress_hears_every_round() -> None:
    heard: list[tuple[int, float]] = []
    best = solve(prefix(16), progress=lambda rounds, gap: heard.append((rounds, gap)))
    assert [r for r, _ in heard] == list(range(1, best.rounds + 1))
    assert heard[-1][1] <= 1e-3 < heard[0][1]


def test_running_out_of_rounds_is_told_not_hidden() -> None:
    best = solve(prefix(32), gap=1e-6, max_rounds=2)
    assert best.rounds == 2
    assert best.gap > 1e-3
    assert is_private_exactly(best, prefix(32))


@pytest.mark.parametrize("objective", ["total", "worst"])
def test_pairs_of_many_points_are_solved_on_the_few_that_matter(objective):
    rng = np.random.default_rng(11)
    for points in (
        rng.normal(size=(400, 3)) * [1.0, 30.0, 0.01],
        rng.uniform(size=(350, 2)),
        np.eye(4)[rng.integers(0, 4, 320)],
    ):
        assert has_few_far(points)
        few, chosen = solve_far(points, objective=objective, gap=1e-3)
        every = solve(points, pairs=True, objective=objective, gap=1e-3)
        assert few.gap <= 1e-3 and few.lower <= every.upper and every.lower <= few.upper
        assert largest_distance(few.lift, points) <= 1.0
        assert len(chosen) < 150 and len(few.weights) == len(chosen) * (len(chosen) - 1) // 2

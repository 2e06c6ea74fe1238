"""Whatever the points, a shape hides every difference exactly, tells its gap and gives the answers back, or refuses."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from gaussmith.errors import PlanError
from gaussmith.numerics.solver import solve
from gaussmith.numerics.two_level import counts
from gaussmith.papers.sparse import diagonal

Array = npt.NDArray[np.float64]

NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1, 1, allow_subnormal=False),
    st.sampled_from([1e7, -1e7, 1e-7, 1e3, 0.1, 1 / 3]),
)


@st.composite
def points(draw: st.DrawFn) -> Array:
    rows, columns = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    array = np.array(draw(st.lists(NUMBERS, min_size=rows * columns, max_size=rows * columns))).reshape(rows, columns)
    array[np.abs(array) < 1e-12] = 0.0
    units = draw(st.lists(st.sampled_from([1.0, 1.0, 1e3, 1e-3]), min_size=rows, max_size=rows))
    return np.asarray(array * np.array(units)[:, None])


@settings(max_examples=150, deadline=None)
@given(points(), st.booleans(), st.sampled_from(["total", "worst"]))
def test_every_shape_is_exactly_private_and_honest(
    array: Array, pairs: bool, objective: Literal["total", "worst"]
) -> None:
    try:
        best = solve(array, pairs=pairs, objective=objective)
    except PlanError as refusal:
        assert refusal.what.startswith("points")
        return
    lift = [[Fraction(x) for x in row] for row in best.lift.tolist()]
    lifted = [
        [sum((a * Fraction(x) for a, x in zip(row, point, strict=True)), Fraction(0)) for row in lift]
        for point in array.tolist()
    ]
    if pairs:
        lifted = [[x - y for x, y in zip(a, b, strict=True)] for a, b in combinations(lifted, 2)]
    assert all(sum(y * y for y in row) <= 1 for row in lifted)
    assert 0 < best.lower <= best.upper
    sizes = np.abs(array[array != 0])
    assert best.gap <= 1e-3 or sizes.max() > 1e7 * sizes.min()  # beyond that the gap may stay open, and says so
    moved = array - array[0] if pairs else array
    back = moved @ best.lift.T @ best.decode.T
    assert (np.abs(back - moved) <= 2e-6 * np.abs(moved).max(axis=0)).all()
    variances = np.diag(best.covariance)
    price = variances.sum() if objective == "total" else variances.max()
    assert abs(price / best.upper - 1) <= 1e-9


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.data())
def test_every_corner_is_hidden_by_the_lift_of_counts(d: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, d))
    neighbours = data.draw(st.sampled_from(["add-remove", "replace-one"] if d > 1 else ["add-remove"]))
    diagonal_entry, offset = counts(d, k, neighbours).lift()
    corners = ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).astype(float)
    corners = corners[corners.sum(axis=1) <= k]
    if neighbours == "replace-one":
        chosen = data.draw(st.lists(st.integers(0, len(corners) - 1), min_size=2, max_size=40))
        corners = (corners[chosen][:, None] - corners[chosen][None]).reshape(-1, d)
    lifted = diagonal_entry * corners + offset * corners.sum(axis=1, keepdims=True)
    assert (lifted**2).sum(axis=1).max() <= 1 + 1e-13


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=30), st.integers(1, 40))
def test_sparse_sums_are_hidden_exactly_whatever_their_bounds(bounds: list[float], at_most: int) -> None:
    variances, total = diagonal(bounds, np.ones(len(bounds)), at_most)
    parts = (Fraction(b) ** 2 / Fraction(v) for b, v in zip(bounds, variances.tolist(), strict=True))
    ratios = sorted(parts, reverse=True)
    assert sum(ratios[:at_most]) <= 1
    assert sum(ratios[:at_most]) >= 1 - Fraction(1, 10**12)
    assert total <= sum(bounds) ** 2 * (1 + 1e-9)

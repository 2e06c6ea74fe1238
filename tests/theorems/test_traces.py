"""The trace of a square root against eigenvalues in forty digits, against dense eigenvalues, and on boxes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from mpmath import mp
from refusals import refused

from gaussmith.numerics.trace_roots import trace_sqrt_lower

Array = npt.NDArray[np.float64]


def in_forty_digits(a: Array, U: Array, C: Array) -> float:
    with mp.workdps(40):
        exact = mp.diag(a.tolist()) + mp.matrix(U.tolist()) * mp.matrix(C.tolist()) * mp.matrix(U.tolist()).T
        return float(sum(mp.sqrt(max(m, 0)) for m in mp.eigsy(exact, eigvals_only=True)))


@pytest.mark.parametrize("spread", [0, 2, 6])
@pytest.mark.parametrize(("d", "r"), [(1, 1), (4, 1), (5, 2), (8, 3)])
def test_below_the_truth_and_close_to_it(d: int, r: int, spread: int) -> None:
    rng = np.random.default_rng([d, r, spread])
    a = 10.0 ** rng.uniform(-spread, spread, d)
    U = rng.normal(size=(d, r)) * a[:, None] ** 0.25
    B = rng.normal(size=(r, r))
    truth = in_forty_digits(a, U, B @ B.T)
    assert 0 <= 1 - trace_sqrt_lower(a, U, B @ B.T) / truth <= 1e-9


def test_directions_that_shrink_or_vanish_stay_below_the_truth() -> None:
    ones = np.ones((5, 1))
    for shrink, near in [(0.2, 1e-6), (0.2 * (1 - 1e-8), 1e-8), (0.19, 1e-9)]:
        C = np.array([[-shrink]])
        truth = in_forty_digits(np.ones(5), ones, C)
        assert 0 <= 1 - trace_sqrt_lower(np.ones(5), ones, C) / truth <= near
    lower = trace_sqrt_lower(np.zeros(3), np.eye(3), np.diag([1.0, 4.0, 9.0]))
    assert 0 <= 1 - lower / 6 <= 1e-9


def test_a_diagonal_alone_needs_no_integral() -> None:
    assert trace_sqrt_lower([4.0, 9.0], np.zeros((2, 1)), [[1.0]]) == pytest.approx(5, rel=1e-12)


def box(lower: Array, upper: Array) -> tuple[Array, Array, Array, float]:
    """M = diag(r²) + c cᵀ + c (r∘b)ᵀ + (r∘b) cᵀ, b = (2/π) arcsin of the centre's cosines, and T of the same box."""
    c, r = (lower + upper) / 2, (upper - lower) / 2
    b = 2 / np.pi * np.arcsin(c / np.linalg.norm(c))
    return r * r, np.stack([c, r * b], axis=1), np.array([[1.0, 1.0], [1.0, 0.0]]), float(r.sum() + np.linalg.norm(c))


def test_boxes_of_any_dimension_are_within_their_stated_distance_of_the_optimum() -> None:
    a, U, C, T = box(np.zeros(50), np.ones(50))
    lower = trace_sqrt_lower(a, U, C)
    dense = np.sqrt(np.linalg.eigvalsh(np.diag(a) + U @ C @ U.T)).sum()
    assert 0 <= 1 - lower / dense <= 1e-9
    assert 1.0 < (T / lower) ** 2 <= 1.012
    rng = np.random.default_rng(4)
    corner = rng.normal(size=200_000)
    a, U, C, T = box(corner, corner + rng.uniform(0.1, 5, 200_000))
    assert 1.0 < (T / trace_sqrt_lower(a, U, C)) ** 2 <= 1.001


def test_what_means_nothing_is_refused() -> None:
    ones = np.ones((2, 1))
    with refused("trace-shapes-do-not-match"):
        trace_sqrt_lower([1.0, 1.0, 1.0], ones, [[1.0]])
    with refused("trace-core-too-large", size=4):
        trace_sqrt_lower(np.ones(5), np.ones((5, 4)), np.eye(4))
    with refused("trace-entries-out-of-range"):
        trace_sqrt_lower([1.0, -1.0], ones, [[1.0]])
    with refused("trace-entries-out-of-range"):
        trace_sqrt_lower([1.0, np.nan], ones, [[1.0]])
    with refused("trace-core-not-symmetric"):
        trace_sqrt_lower([1.0, 1.0], np.ones((2, 2)), [[1.0, 2.0], [0.0, 1.0]])

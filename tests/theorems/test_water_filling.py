"""Water-filling against the solver on every signed corner, closed forms, and rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest
from refusals import refused

from gaussmith.numerics.solver import solve
from gaussmith.papers.sparse import blocks, diagonal

Array = npt.NDArray[np.float64]


def corners(bounds: Array, at_most: int) -> Array:
    """Every vector with `at_most` entries ±b_j (fewer or smaller ones lie between these)."""
    rows = []
    for J in combinations(range(len(bounds)), at_most):
        for signs in product([-1.0, 1.0], repeat=at_most):
            row = np.zeros(len(bounds))
            row[list(J)] = np.array(signs) * bounds[list(J)]
            rows.append(row)
    return np.array(rows)


def is_private_exactly(bounds: Array, variances: Array, at_most: int) -> bool:
    used = [(Fraction(b) ** 2, Fraction(v)) for b, v in zip(bounds.tolist(), variances.tolist(), strict=True) if b > 0]
    ratios = sorted((b / v for b, v in used), reverse=True)
    return sum(ratios[:at_most]) <= 1


@pytest.mark.parametrize(("d", "k"), [(2, 1), (3, 2), (4, 1), (4, 3), (5, 2), (5, 5)])
def test_no_other_shape_beats_it_on_small_domains(d: int, k: int) -> None:
    rng = np.random.default_rng([d, k])
    for spread in (0.0, 1.0, 2.0):
        b, w = np.exp(spread * rng.normal(size=d)), np.exp(rng.normal(size=d))
        variances, total = diagonal(b, w, k)
        best = solve(corners(b, k) * np.sqrt(w), gap=1e-6)
        assert best.lower <= total <= best.upper * (1 + 1e-9)
        assert total == pytest.approx(float(w @ variances), rel=1e-12)
        assert is_private_exactly(b, variances, k)


def test_equal_bounds_give_d_k_b_squared() -> None:
    for d, k, b in [(7, 3, 2.0), (1000, 999, 0.1), (5, 9, 1.0)]:
        variances, total = diagonal(np.full(d, b), np.ones(d), k)
        assert total == pytest.approx(d * min(k, d) * b * b, rel=1e-12)
        assert np.allclose(variances, min(k, d) * b * b)


def test_blocks_reach_the_reference_total_and_beat_an_equal_split() -> None:
    multipliers, total = blocks([100.0, 1.0, 1.0], 2)
    assert total == pytest.approx(130.284271, rel=1e-8)
    assert float(multipliers @ np.array([100.0, 1.0, 1.0])) == pytest.approx(total, rel=1e-12)
    assert is_private_exactly(np.ones(3), multipliers, 2)


def test_one_active_block_keeps_every_shape_as_it_is() -> None:
    multipliers, total = blocks([3.0, 50.0, 0.2], 1)
    assert np.allclose(multipliers, 1.0)
    assert total == pytest.approx(53.2, rel=1e-12)


def test_large_and_badly_scaled_domains_stay_exactly_private() -> None:
    rng = np.random.default_rng(11)
    for spread, k in [(1.0, 1), (1.0, 50), (8.0, 7), (30.0, 299)]:
        b = np.exp(spread * rng.normal(size=300))
        variances, total = diagonal(b, np.ones(300), k)
        assert is_private_exactly(b, variances, k)
        assert np.isfinite(total)
    b = np.array([1.0, 1e-120, 1e-130, 0.5])
    variances, _ = diagonal(b, np.ones(4), 2)
    assert (variances > 0).all()
    assert is_private_exactly(b, variances, 2)


def test_what_never_moves_needs_no_noise_and_what_nobody_wants_is_not_released() -> None:
    variances, total = diagonal([1.0, 0.0, 2.0], [1.0, 1.0, 0.0], 2)
    assert variances[1] == 0 and np.isinf(variances[2])
    assert total == pytest.approx(1.0, rel=1e-12)
    assert diagonal([0.0], [1.0], 1)[1] == 0.0
    assert blocks([0.0, 2.0], 2)[0][0] == 1.0


def test_what_means_nothing_is_refused() -> None:
    with refused("at-most-below-one", at_most=0):
        diagonal([1.0], [1.0], 0)
    with refused("bounds-or-weights-out-of-range"):
        diagonal([-1.0], [1.0], 1)
    with refused("totals-out-of-range"):
        blocks([np.inf], 1)
    with refused("bounds-and-weights-do-not-match"):
        diagonal([1.0, 2.0], [1.0], 1)
    with refused("bounds-beyond-doubles"):
        diagonal([1e-200], [1.0], 1)

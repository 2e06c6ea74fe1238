"""Published bounds lie above the exact quantile where they hold; what the report got wrong about them."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from refusals import refused

from gaussmith.numerics import quadratic_forms
from gaussmith.papers import quadratic_tails as tail_bounds

WEIGHTS = {
    "one": np.ones(1),
    "ten equal": np.full(10, 0.1),
    "thousand equal": np.full(1000, 1e-3),
    "1/j": 1 / np.arange(1, 51),
    "one large": np.array([1.0] + [0.01] * 99),
}
TAILS = [0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-12, 1e-50]


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("bound", [tail_bounds.chebyshev, tail_bounds.laurent_massart, tail_bounds.truncated_bernstein])
def test_bounds_for_any_tail_lie_above_the_quantile(bound, name: str) -> None:  # type: ignore[no-untyped-def]
    for p in TAILS:
        assert bound(WEIGHTS[name], p) > quadratic_forms.quantile(WEIGHTS[name], p)


@pytest.mark.parametrize("name", WEIGHTS)
def test_bernstein_lies_above_the_quantile_in_its_range_and_is_refused_beyond(name: str) -> None:
    lam = WEIGHTS[name]
    limit = float((lam**2).sum() / (8 * lam.max() ** 2))
    for share in (0.01, 0.3, 0.999):
        p = math.exp(-limit * share)
        assert tail_bounds.bernstein(lam, p) > quadratic_forms.quantile(lam, p)
    with refused("tail-below-bernstein"):
        tail_bounds.bernstein(lam, math.exp(-limit * 1.001))


def test_bernstein_beyond_its_range_would_be_wrong() -> None:
    """One weight at tail 1e-6: lemma 3.2's formula gives 11.5, the quantile is 23.9."""
    formula = 1 + 2 * math.sqrt(2 * math.log(1e6))
    assert formula < 0.5 * quadratic_forms.quantile([1.0], 1e-6)


def test_laurent_massart_is_near_the_truth_far_out() -> None:
    assert tail_bounds.laurent_massart([1.0], 1e-100) < 1.2 * quadratic_forms.quantile([1.0], 1e-100)


def test_the_formulas_of_the_report() -> None:
    sigma = np.array([3.0, 1.0, 0.5, 0.25])
    lam = sigma / sigma.sum()
    assert tail_bounds.chebyshev(lam, 0.05) == pytest.approx(1 + math.sqrt(2 * (lam**2).sum() / 0.05))
    variance, C, ln = 2 * (sigma**2).sum() / sigma.sum() ** 2, 16 * sigma.max() / sigma.sum(), math.log(1e-4 / 2)
    t = -(C * ln - math.sqrt(ln * (-18 * variance + C**2 * ln))) / 3
    assert tail_bounds.truncated_bernstein(lam, 1e-4) == pytest.approx(1 + t, rel=1e-14, abs=0)
    assert 2 * math.exp(-(t**2 / 2) / (variance + C * t / 3)) == pytest.approx(1e-4, rel=1e-12, abs=0)


def test_one_square_and_its_corollary() -> None:
    for variance in (0.01, 1.0, 7.0):
        assert tail_bounds.square_tail(variance, 16 * variance) == pytest.approx(
            6.334248366623996e-05, rel=1e-13, abs=0
        )
        assert tail_bounds.square_tail(variance, tail_bounds.square_quantile(variance, 1e-9)) == pytest.approx(
            1e-9, rel=1e-12, abs=0
        )
        assert tail_bounds.square_tail(variance, -1.0) == 1.0
    assert round(1 / tail_bounds.square_tail(1.0, 16.0)) == 15787


def test_the_condition_of_theorem_5_can_never_hold() -> None:
    """ln n ≤ Σσ²/(8(Σσ)²) ≤ 1/8 < ln 2; the right condition, ln n ≤ Σσ²/(8 max σ²), can."""
    generator = np.random.default_rng()
    for _ in range(100):
        sigma = generator.exponential(size=generator.integers(1, 50))
        assert (sigma**2).sum() / (8 * sigma.sum() ** 2) <= 1 / 8 + 1e-15 < math.log(2)
    assert tail_bounds.bernstein(np.full(100, 0.01), 1 / 1000) > 1


def test_the_proof_of_lemma_3_2_fails_where_its_moments_hold() -> None:
    """(2k−1)!! ≤ 2^(k−2) k! fails at k = 2, 3, 4; what is needed, E|Z−1|^k ≤ 2^(k−2) k!, holds.

    For k ≥ 6 because E|Z−1|^k ≤ 1 + (2k−1)!!, below by direct integration.
    """

    def odd(k: int) -> int:
        return math.prod(range(1, 2 * k, 2))

    def needed(k: int) -> int:
        return 2 ** (k - 2) * math.factorial(k)

    assert [k for k in range(2, 60) if odd(k) > needed(k)] == [2, 3, 4]
    assert all(1 + odd(k) <= needed(k) for k in range(6, 60))
    for k in range(2, 6):  # Z = x², x normal
        moment = mpmath.quad(lambda x, k=k: 2 * mpmath.npdf(x) * abs(x * x - 1) ** k, [0, 1, 3, 6, 12, 20])
        assert moment <= needed(k) * (1 + mpmath.mpf(10) ** -12)
    assert odd(2) == 3  # E X⁴ = 3σ⁴, not 8σ⁴


def test_bad_weights_and_tails_are_refused() -> None:
    with refused("squares-weights-out-of-range"):
        tail_bounds.chebyshev([-1.0], 0.1)
    with refused("squares-weights-out-of-range"):
        tail_bounds.square_tail(0.0, 1.0)
    for bound in (
        tail_bounds.chebyshev,
        tail_bounds.bernstein,
        tail_bounds.laurent_massart,
        tail_bounds.truncated_bernstein,
    ):
        with refused("tail-out-of-range", tail=0):
            bound([1.0], 0)

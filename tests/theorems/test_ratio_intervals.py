"""Intervals for ratios: Fieller's cover as often as they say at any count; the delta method at large ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

import gaussmith as gm
from gaussmith.planning.error_distribution import normal_width
from gaussmith.statistics.mean import Means, delta_intervals, fieller_intervals

SIZE = 60_000


@pytest.mark.parametrize(("count", "ratio"), [(3.0, 2.0), (6.0, -1.0), (12.0, 0.3), (1000.0, 5.0)])
def test_fieller_covers_exactly_however_small_the_count(count: float, ratio: float) -> None:
    """Noise of variance 1 on the count: at 3 standard errors the set is often the whole line, which covers too."""
    variance, count_variance, covariance = 4.0, 1.0, -0.8
    noise = np.random.default_rng().multivariate_normal(
        [0, 0], [[variance, covariance], [covariance, count_variance]], size=SIZE
    )
    numerators, denominators = ratio * count + noise[:, 0], count + noise[:, 1]
    moments = (np.full(SIZE, variance), np.full(SIZE, count_variance), np.full(SIZE, covariance))
    width = normal_width(0.9)
    low, high = fieller_intervals(width, numerators, denominators, *moments)
    covered = int(((low <= ratio) & (ratio <= high)).sum())
    assert stats.binomtest(covered, SIZE, 0.9, alternative="less").pvalue > 1e-9
    if count > 10:  # never unbounded here: exact on both sides
        assert np.isfinite(low).all()
        assert stats.binomtest(covered, SIZE, 0.9).pvalue > 1e-9
    low, high = delta_intervals(width, numerators, denominators, *moments)
    near = int(((low <= ratio) & (ratio <= high)).sum())
    if count == 1000:  # of many standard errors
        assert stats.binomtest(near, SIZE, 0.9).pvalue > 1e-9


def shown_coverage(count: float, lean: float, bar: float, both_sides: bool = False) -> tuple[float, float]:
    """How often a 95 % interval of a mean is bounded, and how often a bounded one holds, by quadrature.

    `count` is the number of records in standard errors of its noise; `lean` the mean's distance from the middle times
    that standard error, over the standard error of the numerator; bounded means n̂ above `bar` standard errors.
    """
    z = normal_width(0.95)

    def held(noisy: float) -> float:
        """P(|N̂ − ρn̂| ≤ z·√(1 + lean²) | n̂), times the density of n̂; N̂ has unit noise."""
        reach, shift = z * np.hypot(1, lean), lean * (count - noisy)
        return float((stats.norm.cdf(reach - shift) - stats.norm.cdf(-reach - shift)) * stats.norm.pdf(noisy - count))

    sides = [(bar, bar + 12.0 + count)] + ([(-bar - 12.0, -bar)] if both_sides else [])
    shown = float(stats.norm.sf(bar - count) + (stats.norm.cdf(-bar - count) if both_sides else 0))
    return shown, sum(integrate.quad(held, *side, epsabs=1e-12)[0] for side in sides) / shown


LEAN = 1.316
"""Of a mean at its bound, under the noise of one mean: r·sd(n̂)/sd(N̂) = 3^(1/4)."""


@pytest.mark.parametrize(
    ("count", "bounded", "holds"),
    [(0.0, 0.025, 0.57), (1 / 7, 0.035, 0.62), (5 / 7, 0.107, 0.81), (10 / 7, 0.298, 0.92), (2.0, 0.516, 0.953)],
)
def test_bounded_intervals_of_tiny_groups_hold_less_often(count: float, bounded: float, holds: float) -> None:
    """As docs/release.md says. The intervals of a plan with this lean; counts in its standard errors."""
    z = normal_width(0.95)
    shown, held = shown_coverage(count, LEAN, z)
    assert (shown, held) == (pytest.approx(bounded, abs=0.001), pytest.approx(holds, abs=0.006))
    # unknown ones hold the truth, so that all together keep the promise
    assert shown * held + 1 - shown >= 0.95 - 1e-9
    # a higher bar makes bounded intervals rarer, not better; reading counts far below 0 makes them worse
    assert shown_coverage(count, LEAN, 3.0)[1] < held + 1e-9
    assert shown_coverage(count, LEAN, z, both_sides=True)[1] <= held + 1e-9


def test_the_lean_is_that_of_a_plan() -> None:
    half = 50.0
    plan = gm.plan(gm.Box([0], [2 * half]), gm.Guarantee(mu=1), answers="means")
    block = plan.block
    features = block.shape.features.dense()
    covariance = features @ features.T
    assert half * np.sqrt(covariance[1, 1] / covariance[0, 0]) == pytest.approx(LEAN, rel=1e-3)
    assert abs(covariance[0, 1]) < 1e-9


def test_a_mean_over_a_count_far_below_zero_is_unknown() -> None:
    """|n̂| is 5 standard errors, but on the wrong side: the interval would be narrow, and about nothing."""
    numbers = (np.array([300.0]), np.array([-35.0]), np.array([900.0]), np.array([49.0]), np.array([0.0]))
    assert np.isfinite(fieller_intervals(normal_width(0.95), *numbers)).all()  # a ratio may have any denominator

    class Noisy:
        def at(self, places: np.ndarray) -> np.ndarray:
            return np.array([numbers[int(p)][0] for p in places])

        def variance(self, places: np.ndarray) -> np.ndarray:
            return np.array([numbers[2 + int(p)][0] for p in places])

        def covariance(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
            return np.zeros(len(one))

    means = Means(["age_mean"], np.array([[0, 1]]), np.ones(1), np.array([50.0]), np.array([833.0]))
    low, high = means.intervals(Noisy(), normal_width(0.95), "fieller")
    assert low[0] == -np.inf and high[0] == np.inf

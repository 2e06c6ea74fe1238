"""Intervals for ratios: Fieller's cover as often as they say at any count; the delta method at large ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gaussmith.plans.error_distribution import normal_width
from gaussmith.statistics.mean import delta_intervals, fieller_intervals

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

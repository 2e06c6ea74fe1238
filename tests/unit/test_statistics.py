"""Statistics read from noisy features; and a new one, added as docs/architecture.md says: one class, four duties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from refusals import refused

from gaussmith.numerics.linear import Array, Dense
from gaussmith.statistics import Count, Means, Noisy, Statistic, Sums
from gaussmith.statistics.mean import check_method

ROWS = np.array([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0, 1.0, 1.0]])
"""Three features of independent noises: two sums and the number of records."""

TWO_GROUPS = Noisy(np.array([[30.0, 50.0, 10.0], [4.0, 8.0, 2.0]]), Dense(ROWS), unit=0.01, counted=True)
ONE = Noisy(np.array([30.0, 50.0, 10.0]), Dense(ROWS), unit=0.01, counted=True)
C = ROWS @ ROWS.T * 0.01
FIRST, BOTH = np.array([0]), np.array([0, 1])


@dataclass(frozen=True)
class Difference:
    """The first feature less the second: a toy."""

    def values(self, noisy: Noisy) -> Array:
        return noisy.features[..., :1] - noisy.features[..., 1:2]

    def errors(self, noisy: Noisy) -> Array:
        variance = noisy.variances[0] + noisy.variances[1] - 2 * noisy.covariances(1)[0]
        return np.full((*noisy.features.shape[:-1], 1), np.sqrt(variance))

    def intervals(self, noisy: Noisy, width: float, method: str) -> tuple[Array, Array]:
        values, half = self.values(noisy), width * self.errors(noisy)
        return values - half, values + half

    def gradient(self, noisy: Noisy) -> Array:
        return np.array([[1.0, -1.0, 0.0]])


STATISTICS: dict[str, Statistic] = {
    "sums": Sums(BOTH),
    "count": Count(),
    "means over records": Means(BOTH, np.array([-1, -1]), np.array([5.0, 0.0])),
    "a mean over another feature": Means(FIRST, np.array([1]), np.array([5.0])),
    "a new one": Difference(),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_errors_follow_from_the_gradient(name: str) -> None:
    """Of every statistic: the error is that of its gradient, and the gradient that of its value."""
    statistic = STATISTICS[name]
    J = statistic.gradient(ONE)
    assert np.sqrt(np.diag(J @ C @ J.T)) == pytest.approx(statistic.errors(ONE), rel=1e-12)
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-6
        moved = [statistic.values(Noisy(ONE.features + s * step, ONE.rows, ONE.unit, True)) for s in (-1, 1)]
        assert (moved[1] - moved[0]) / 2e-6 == pytest.approx(J[:, j], abs=1e-6)


@pytest.mark.parametrize("name", STATISTICS)
def test_groups_are_read_as_each_would_be(name: str) -> None:
    statistic = STATISTICS[name]
    for method in ("fieller", "delta"):
        lower, upper = statistic.intervals(TWO_GROUPS, 1.96, method)
        for g, features in enumerate(TWO_GROUPS.features):
            alone = Noisy(features, TWO_GROUPS.rows, TWO_GROUPS.unit, True)
            assert statistic.values(TWO_GROUPS)[g] == pytest.approx(statistic.values(alone), rel=1e-15)
            assert statistic.errors(TWO_GROUPS)[g] == pytest.approx(statistic.errors(alone), rel=1e-15)
            ends = statistic.intervals(alone, 1.96, method)
            assert lower[g] == pytest.approx(ends[0]) and upper[g] == pytest.approx(ends[1])
            assert (ends[0] <= statistic.values(alone)).all() and (statistic.values(alone) <= ends[1]).all()


def test_a_public_number_of_records_has_no_noise() -> None:
    public = Noisy(np.array([30.0, 50.0]), Dense(ROWS[:2]), unit=0.01, counted=False, records=10)
    assert Count().values(public).tolist() == [10.0] and Count().errors(public).tolist() == [0.0]
    means = STATISTICS["means over records"]
    assert means.values(public).tolist() == [8.0, 5.0]
    assert means.errors(public) == pytest.approx(np.sqrt(np.diag(C)[:2]) / 10)
    low, high = means.intervals(public, 1.96, "fieller")
    assert (high - low) / 2 == pytest.approx(1.96 * means.errors(public))


def test_a_mean_over_nobody_is_unknown() -> None:
    nobody = Noisy(np.array([0.3, 0.1, 0.0]), Dense(ROWS), unit=0.01, counted=True)
    low, high = STATISTICS["means over records"].intervals(nobody, 1.96, "fieller")
    assert np.isneginf(low).all() and np.isposinf(high).all()


def test_unknown_methods_are_refused() -> None:
    with refused("unknown-interval-method", says="did you mean 'fieller'", method="fieler"):
        check_method("fieler")

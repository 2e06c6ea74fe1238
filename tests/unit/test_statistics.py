"""Statistics: what they read from noisy features, and what the features are worth to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused

from gaussmith.domains.features import of_coordinates
from gaussmith.numerics.matrices import Dense
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.mean import Means, check_method
from gaussmith.statistics.statistic import ONE, Noisy, Statistic
from gaussmith.statistics.sum import Count, Sums

ROWS = np.array([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0, 1.0, 1.0]])
"""Three features of independent noises: two sums and the number of records."""

TWO_GROUPS = Noisy(np.array([[30.0, 50.0, 10.0], [4.0, 8.0, 2.0]]), Dense(ROWS), unit=0.01, counted=True)
SINGLE = Noisy(np.array([30.0, 50.0, 10.0]), Dense(ROWS), unit=0.01, counted=True)
C = ROWS @ ROWS.T * 0.01


class Differences(Statistic):
    """The first feature less the second."""

    kind = "difference"
    coefficients = (1.0, -1.0)


def means(*places: list[int], middles: list[float]) -> Means:
    size = len(places)
    return Means(NAMES[:size], np.array(places), np.ones(size), np.array(middles), np.full(size, 4.0))


NAMES = ("a", "b")
STATISTICS: dict[str, Statistic] = {
    "sums": Sums(NAMES, np.array([[0], [1]]), np.ones(2)),
    "count": Count.of_records(),
    "means over records": means([0, ONE], [1, ONE], middles=[5.0, 0.0]),
    "a mean over another feature": means([0, 1], middles=[5.0]),
    "a difference": Differences(NAMES[:1], np.array([[0, 1]]), np.ones(1)),
}


def answers_of(statistic: Statistic) -> Answers:
    return Answers.of(of_coordinates(np.arange(2), np.zeros(2, bool)), [statistic], "given")


@pytest.mark.parametrize("name", STATISTICS)
def test_errors_follow_from_the_gradient(name: str) -> None:
    """Of every statistic: the error is that of its gradient, and the gradient that of its value."""
    statistic = STATISTICS[name]
    J = answers_of(statistic).gradient(SINGLE)
    assert np.sqrt(np.diag(J @ C @ J.T)) == pytest.approx(statistic.errors(SINGLE), rel=1e-12)
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-6
        moved = [statistic.values(Noisy(SINGLE.features + s * step, SINGLE.rows, SINGLE.unit, True)) for s in (-1, 1)]
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
    count, ratios = STATISTICS["count"], STATISTICS["means over records"]
    assert count.values(public).tolist() == [10.0] and count.errors(public).tolist() == [0.0]
    assert ratios.values(public).tolist() == [8.0, 5.0]
    assert ratios.errors(public) == pytest.approx(np.sqrt(np.diag(C)[:2]) / 10)
    low, high = ratios.intervals(public, 1.96, "fieller")
    assert (high - low) / 2 == pytest.approx(1.96 * ratios.errors(public))
    assert ratios.averaged_variances(public) == pytest.approx(np.diag(C)[:2])


def test_a_mean_over_nobody_is_unknown() -> None:
    nobody = Noisy(np.array([0.3, 0.1, 0.0]), Dense(ROWS), unit=0.01, counted=True)
    low, high = STATISTICS["means over records"].intervals(nobody, 1.96, "fieller")
    assert np.isneginf(low).all() and np.isposinf(high).all()


@pytest.mark.parametrize("name", STATISTICS)
def test_features_are_worth_what_the_planned_errors_make_of_them(name: str) -> None:
    """With independent noise the weighted total over features is that over answers."""
    statistic = STATISTICS[name]
    apart = Noisy(np.zeros(3), Dense(np.diag([2.0, 3.0, 5.0])), unit=0.01, counted=True)
    answers = answers_of(replace(statistic, weights=np.linspace(1, 2, len(statistic.weights))))
    over_features = answers.features.weights @ apart.variances[:2] + answers.features.count_weight * apart.variances[2]
    assert answers.averaged_total(apart) == pytest.approx(over_features, rel=1e-12)
    planned = answers.averaged_covariance(apart)
    assert np.diag(planned) == pytest.approx(answers.averaged_variances(apart), rel=1e-12)


def test_a_mean_is_planned_for_anywhere_in_its_range() -> None:
    """Var N + spread · Var D: the delta method's error, averaged over where the mean may lie; and its largest."""
    statistic = STATISTICS["means over records"]
    limits = np.array([3.0, 2.0])
    largest = [max(C[i, i] - 2 * u * C[i, 2] + u * u * C[2, 2] for u in (-limits[i], limits[i])) for i in range(2)]
    assert statistic.largest_variances(SINGLE, lambda places: limits[places]) == pytest.approx(largest)
    assert statistic.averaged_variances(SINGLE) == pytest.approx(np.diag(C)[:2] + 4.0 * C[2, 2])
    assert [worth.tolist() for _, worth in statistic.worth(3)] == [[1, 1], [4, 4]]


def test_some_answers_need_some_of_the_features() -> None:
    """Of a sum, two means and the count: the second mean alone keeps its features and what these are worth to it."""
    statistics = [
        Sums(("s",), np.array([[0]]), np.array([3.0])),
        Means(("m", "n"), np.array([[1, 2], [3, 2]]), np.array([5.0, 7.0]), np.zeros(2), np.array([2.0, 11.0])),
        Count.of_records(),
    ]
    answers = Answers.of(of_coordinates(np.arange(4), np.zeros(4, bool)), statistics, "given")
    assert answers.names == ("s", "m", "n", "count") and answers.size == 3 and answers.count
    assert answers.features.weights.tolist() == [3, 5, 5 * 2 + 7 * 11, 7] and answers.features.count_weight == 1
    one, kept = answers.picked([2])
    assert one.names == ("n",) and kept == [3, 2] and one.features.index.tolist() == [3, 2]
    assert one.features.weights.tolist() == [7, 77] and one.features.count_weight == 0
    assert one.statistics[0].places.tolist() == [[0, 1]]
    swapped, kept = answers.picked([3, 2, 0])
    assert swapped.names == ("count", "n", "s") and kept == [3, 0, 2]


def test_unknown_methods_are_refused() -> None:
    with refused("unknown-interval-method", says="did you mean 'fieller'", method="fieler"):
        check_method("fieler")

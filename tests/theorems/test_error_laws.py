"""Laws of the errors of a plan, by other routes: eigenvalues, closed forms, and draws from the covariance."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy import stats

import gaussmith as gm
from gaussmith.errors import PlanError
from gaussmith.planning.error_distribution import MAX_DISTINCT, ErrorLaw, rows_needed

G = gm.Guarantee(epsilon=1, delta=1e-5)

PLANS = {
    "lifted box": lambda: gm.plan(gm.Box([0] * 12, range(1, 13)), G, shape="lifted", weights="equal"),
    "solved box": lambda: gm.plan(gm.Box([0, 1, 2], [1, 3, 2.5]), G, weights="equal"),
    "isotropic": lambda: gm.plan(gm.Box([0] * 5, [1] * 5), G, shape="isotropic", count=True),
    "replaced": lambda: gm.plan(gm.Box([0, 1, 2], [1, 3, 2.5]), G, neighbours="replace-one", weights="equal"),
    "ball around a centre": lambda: gm.plan(gm.domains.Ball(4, 1, [3, 0, 0, 1]), G, count=True, weights="equal"),
    "means replaced": lambda: gm.plan(
        gm.Box([0, 1, 2], [1, 3, 2.5]),
        G,
        answers="means",
        neighbours="replace-one",
        weights="equal",
    ),  # with a secret number their law is that of the worst means: tests/statistics/test_promised_means.py
    "linear": lambda: gm.plan(
        gm.Box([0, 1, 2], [1, 3, 2.5]), G, answers=[[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]], weights="equal"
    ),
    "counts": lambda: gm.plan(gm.Counts(9, at_most=2), G),
    "counts replaced": lambda: gm.plan(gm.Counts(9, at_most=3), G, neighbours="replace-one"),
    "votes": lambda: gm.plan(gm.domains.Votes(5), G, weights="equal"),
    "votes replaced": lambda: gm.plan(gm.domains.Votes(5), G, neighbours="replace-one", weights="equal"),
    "sparse sums": lambda: gm.plan(gm.domains.SparseSum(6, at_most=2, bound=[1, 2, 3, 4, 5, 6]), G, weights="equal"),
    "gaussian": lambda: gm.plan(gm.domains.GaussianData([5, 0, 1], [1, 2, 0.1]), G, weights="equal"),
}


@pytest.mark.parametrize("name", PLANS)
def test_laws_of_a_plan_are_those_of_draws_from_its_covariance(name: str) -> None:
    plan = PLANS[name]()
    size = plan.answers.size
    C = plan.covariance()[:size, :size]
    law = plan.error_law
    assert law.variances == pytest.approx(np.diag(C), rel=1e-9)
    assert np.sort(law.eigenvalues) == pytest.approx(np.linalg.eigvalsh(C), rel=1e-8, abs=1e-9 * np.trace(C))
    assert plan.expected_squared_error == pytest.approx(np.trace(C))
    values, vectors = np.linalg.eigh(C)
    draws = np.random.default_rng().standard_normal((40_000, size)) * np.sqrt(np.clip(values, 0, None)) @ vectors.T
    for p in (0.3, 0.9):
        below = int(((draws**2).sum(axis=1) <= plan.squared_error_quantile(p)).sum())
        assert stats.binomtest(below, 40_000, p).pvalue > 1e-9
    within = int((np.abs(draws).max(axis=1) <= plan.maximum_error(0.8)).sum())
    exact = law.covariance is None and law.spectrum is None
    assert stats.binomtest(within, 40_000, 0.8, alternative="two-sided" if exact else "less").pvalue > 1e-9
    largest = np.abs(draws).max(axis=1)
    error = 8 * largest.std() / math.sqrt(len(largest))
    expected = plan.expected_maximum_error()
    assert largest.mean() < expected + error
    if exact:
        assert largest.mean() > expected - error
    whole = plan.covariance()  # the count, where it is asked, has an error of its own as well
    values, vectors = np.linalg.eigh(whole)
    draws = np.random.default_rng().standard_normal((40_000, len(whole))) * np.sqrt(np.clip(values, 0, None))
    each = (np.abs(draws @ vectors.T) <= plan.error_quantiles(0.9)).sum(axis=0)
    assert len(each) == len(plan.names)
    assert min(stats.binomtest(int(k), 40_000, 0.9).pvalue for k in each) > 1e-9 / size


def test_equal_variances_are_chi_square_and_independent_maxima_are_powers() -> None:
    law = ErrorLaw(np.full(50, 2.0), np.zeros(50))
    assert law.squared_error_quantile(0.99) == pytest.approx(4 * stats.chi2.ppf(0.99, 50), rel=1e-10)
    m = law.maximum_error(0.95)
    assert (2 * stats.norm.cdf(m / 2) - 1) ** 50 == pytest.approx(0.95, rel=1e-8)
    assert law.maximum_error(1 - 1e-9) / 2 == pytest.approx(stats.norm.isf(1e-9 / 100), rel=1e-6)


def test_a_common_draw_alone_or_nearly_so() -> None:
    """All answers share one draw: the largest error is |t|·s, and a little noise of their own hardly changes it."""
    shared = ErrorLaw(np.full(20, 1e-3), np.full(20, 3.0))
    assert shared.maximum_error(0.95) == pytest.approx(3 * 1.959964, rel=2e-3)
    bound = ErrorLaw(np.zeros(20), np.full(20, 3.0))  # no own part: Šidák's bound, too large but not too small
    assert bound.maximum_error(0.95) > shared.maximum_error(0.95)
    assert ErrorLaw(np.zeros(3), np.zeros(3)).maximum_error(0.9) == 0
    assert ErrorLaw(np.zeros(3), np.zeros(3)).squared_error_quantile(0.9) == 0
    assert ErrorLaw(np.zeros(3), np.zeros(3)).expected_maximum_error() == 0


def test_eigenvalues_of_many_variances_are_bounded_from_above() -> None:
    rng = np.random.default_rng()
    own, shares = rng.uniform(0.5, 2, MAX_DISTINCT + 200), rng.normal(size=MAX_DISTINCT + 200)
    found = np.sort(ErrorLaw(own, shares).eigenvalues)
    true = np.linalg.eigvalsh(np.diag(own**2) + np.outer(shares, shares))
    assert (found >= true * (1 - 1e-9)).all()
    assert found.sum() < true.sum() * 1.01
    ties = ErrorLaw(np.repeat([1.0, 2.0], 3), np.array([0, 0, 0, 1.0, 1.0, 0]))
    assert np.sort(ties.eigenvalues) == pytest.approx([1, 1, 1, 4, 4, 6])


def test_wide_plans_answer_quickly() -> None:
    plan = gm.plan(gm.Box(np.zeros(5000), np.random.default_rng().uniform(1, 2, 5000)), G, weights="equal")
    start = time.perf_counter()
    assert plan.squared_error_quantile(0.95) > plan.expected_squared_error
    assert plan.maximum_error(0.95) > plan.standard_errors.max()
    assert time.perf_counter() - start < 20


def test_rows_needed_meets_its_target_and_no_fewer_would() -> None:
    plan = gm.plan(gm.Box([0] * 10, [1] * 10), G)
    n = plan.rows_needed(error=0.01, confidence=0.9)
    assert plan.maximum_error(0.9) / n <= 0.01 < plan.maximum_error(0.9) / (n - 1)
    assert plan.rows_needed(error=1e9) == 1


def test_counting_queries_of_the_slides_are_a_plan_under_replace_one() -> None:
    """k fractions of n rows, Δ₂ = √k/n: the same law as isotropic noise on a box [0, 1]^k with one row replaced."""
    from gaussmith.papers.lecture import counting_queries
    from gaussmith.papers.lecture import rows_needed as slides_rows

    k, n = 40, 1000
    law = counting_queries(queries=k, rows=n, epsilon=1, delta=1e-5, failure=0.05)
    plan = gm.plan(gm.Box([0] * k, [1] * k), G, neighbours="replace-one")
    assert plan.maximum_error(0.95) / n == pytest.approx(law.maximum_error, rel=1e-6)
    assert plan.rows_needed(error=0.02, confidence=0.95) == slides_rows(
        queries=k, error=0.02, epsilon=1, delta=1e-5, failure=0.05
    )
    # The slides' own bounds hold and are larger; their ≈, without the factor 2 under the root, asks for too few rows.
    assert law.union_bound > law.maximum_error


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.squared_error_quantile(1.0),
        lambda p: p.maximum_error(0),
        lambda p: p.error_quantiles(2),
        lambda p: p.rows_needed(error=0),
        lambda p: p.rows_needed(error=math.nan),
    ],
)
def test_wrong_numbers_are_refused(call) -> None:
    with pytest.raises(PlanError) as caught:
        call(gm.plan(gm.Box([0], [1]), G))
    assert caught.value.code in ("probability-out-of-range", "number-out-of-range")


def test_rows_needed_of_a_law() -> None:
    assert rows_needed(ErrorLaw(np.ones(1), np.zeros(1)), 0.1, 0.95) == 20

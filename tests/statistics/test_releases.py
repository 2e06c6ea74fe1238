"""Released errors are what the plan claims, in every direction; and each test here rejects planted mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from laws import rejects, verdict

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines.engine import Totals
from gaussmith.noise.gaussian import normal_integers

G = gm.Guarantee(epsilon=1, delta=1e-6)


def totals_of(plan: gm.Plan, rows: np.ndarray) -> Totals:
    codes = plan.block.codes.encode(rows)
    return Totals([int(s) for s in codes.sum(axis=0)], len(rows))


def released(plan: gm.Plan, rows: np.ndarray, times: int) -> np.ndarray:
    """The values of `times` independent releases of the same data."""
    totals = totals_of(plan, rows)
    return np.array([mechanism.release_totals(plan, [[totals]]).values for _ in range(times)])


def test_sixteen_sums_agree_with_the_claim_in_every_direction_over_ten_thousand_releases():
    plan = gm.plan(gm.Box(np.zeros(16), np.ones(16)), G)
    rows = np.random.default_rng().random((50, 16))
    errors = released(plan, rows, 10_000) - rows.sum(axis=0)
    assert not rejects(errors, plan.covariance()), verdict(errors, plan.covariance())


CASES = {
    "solved with count": (gm.Box([0, -1, 2], [1, 3, 4]), {"count": True}),
    "relative": (gm.Box([0, 1000], [1e-3, 2000]), {"weights": "relative", "count": True}),
    "replace-one": (gm.Box([0, -1, 2], [1, 3, 4]), {"neighbours": "replace-one"}),
    "isotropic": (gm.Box([0, -1, 2], [1, 3, 4]), {"shape": "isotropic", "count": True}),
    "elliptical": (gm.Box([0, -1, 2], [1, 3, 4]), {"shape": "elliptical"}),
    "ball": (gm.domains.Ball(3, 2, [1, 1, 1]), {"count": True}),
    "linear": (gm.Box([0, -1, 2], [1, 3, 4]), {"answers": [[1, 1, 1], [1, -1, 0]], "count": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_every_shape_agrees_with_its_claim(name):
    domain, options = CASES[name]
    plan = gm.plan(domain, G, **options)
    rng = np.random.default_rng()
    rows = domain.centre + (rng.random((40, domain.dimension)) - 0.5) * domain.radius
    W = np.array(options.get("answers", np.eye(domain.dimension)), float)
    truth = W @ rows.sum(axis=0)
    count = options.get("count", False)
    errors = released(plan, rows, 3_000) - (np.append(truth, len(rows)) if count else truth)
    covariance = plan.covariance()
    assert not rejects(errors, covariance), verdict(errors, covariance)


def test_means_agree_with_the_delta_method_for_many_records():
    """At 10^7 records the mean's error is linear in the noise to a part in 10^5; the claim is exact to that order."""
    domain = gm.Box({"age": (0, 100), "visits": (0, 80)})
    plan = gm.plan(domain, G, answers="means", weights="relative")
    n, means = 10_000_000, np.array([30.0, 3.0])
    codes = plan.block.codes.encode(means[None, :])[0]
    totals = Totals([int(k) * n for k in codes], n)
    releases = [mechanism.release_totals(plan, [[totals]]) for _ in range(4_000)]
    errors = np.array([r.values for r in releases]) - means
    # the claim at the true values: covariance of (numerator − (mean − centre)·n̂)/n
    F = plan.block.shape.features.dense()
    J = np.hstack([np.eye(2), -(means - domain.centre)[:, None]]) / n
    claimed = J @ (F @ F.T) @ J.T * plan.block.noise_scale**2
    assert not rejects(errors, claimed), verdict(errors, claimed)
    assert releases[0].standard_errors == pytest.approx(np.sqrt(np.diag(claimed)), rel=1e-2)


# -- planted mistakes: each must be caught by the same verdict -----------------------------------------------------


def draw(plan: gm.Plan, times: int) -> np.ndarray:
    """Unit noise as the mechanism draws it."""
    m = plan.block.shape.lift.shape[0]
    return normal_integers(times * m).reshape(times, m) / 2.0**52


def test_mistakes_are_caught():
    plan = gm.plan(gm.Box(np.zeros(16), np.ones(16)), G)
    covariance = plan.covariance()
    F = plan.block.shape.features.dense()[:16] * plan.block.noise_scale
    Z = draw(plan, 10_000)
    right = Z @ F.T
    assert not rejects(right, covariance)
    assert rejects(right * 0.98, covariance), "noise 2 % too small"
    assert rejects(right * 1.02, covariance), "noise 2 % too large"
    one_bad = Z.copy()
    one_bad[:, 3] *= 0.9
    assert rejects(one_bad @ F.T, covariance), "one direction 10 % short"
    reused = np.repeat(Z[:5_000], 2, axis=0)
    assert rejects(reused @ F.T, covariance), "noise used twice"
    shared = Z.copy()
    shared[:, 1] = shared[:, 0]
    assert rejects(shared @ F.T, covariance), "two coordinates share a draw"
    uniform = (np.random.default_rng().random(Z.shape) - 0.5) * np.sqrt(12)
    assert rejects(uniform @ F.T, covariance), "not Gaussian"


def test_transposed_factor_is_caught():
    plan = gm.plan(gm.Box([0, 0], [1, 5]), G)
    F = plan.block.shape.features.dense() * plan.block.noise_scale
    assert F.shape == (2, 2)
    Z = draw(plan, 10_000)
    assert not rejects(Z @ F.T, plan.covariance())
    # A symmetric factor would hide the mistake: turn it, which leaves the covariance of F·Z unchanged.
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    assert not rejects(Z @ (F @ turn).T, plan.covariance())
    assert rejects(Z @ (F @ turn), plan.covariance())


def test_unclipped_data_is_caught():
    plan = gm.plan(gm.Box([0, 0], [1, 1]), G)
    rows = np.full((10, 2), 0.5)
    rows[0, 0] = 1000.0  # one person far outside the bounds
    clipped = np.clip(rows, 0, 1).sum(axis=0)
    right = released(plan, rows, 2_000)
    assert not rejects(right - clipped, plan.covariance())
    wrong = right + (rows.sum(axis=0) - clipped)
    assert rejects(wrong - clipped, plan.covariance())


def test_a_mean_divided_by_the_true_count_is_caught():
    domain = gm.Box({"age": (0, 100)})
    plan = gm.plan(domain, G, answers="means")
    n, mean = 1_000_000, 5.0  # far from the centre, where the count's noise matters
    k = int(plan.block.codes.encode(np.array([[mean]]))[0, 0])
    releases = [mechanism.release_totals(plan, [[Totals([k * n], n)]]) for _ in range(4_000)]
    F = plan.block.shape.features.dense()
    J = np.array([[1.0, -(mean - 50.0)]]) / n
    claimed = J @ (F @ F.T) @ J.T * plan.block.noise_scale**2
    right = np.array([r.values for r in releases]) - mean
    assert not rejects(right, claimed)
    cheating = np.array([50.0 + r.noisy[0][0, :1] / n for r in releases]) - mean
    assert rejects(cheating, claimed)

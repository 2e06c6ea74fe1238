"""Gaussian data released: the noise is as planned, and noise and clipping together cost what was foretold."""

from __future__ import annotations

import laws
import numpy as np
import pytest

import gaussmith as gm

G = gm.Guarantee(epsilon=1, delta=1e-5)


@pytest.mark.parametrize(
    ("answers", "neighbours"), [("sums", "add-remove"), ("sums", "replace-one"), ("means", "replace-one")]
)
def test_released_noise_has_the_planned_covariance(answers: str, neighbours: str) -> None:
    sd, centre = np.array([2.0, 0.5, 0.01]), np.array([1.0, 0.0, -3.0])
    plan = gm.plan(
        gm.domains.GaussianData(centre, sd), G, answers=answers, neighbours=neighbours, count=answers == "sums"
    )
    rows = centre + sd * np.random.default_rng().standard_normal((500, 3))
    axes = plan.domain.half_axes
    norm = np.linalg.norm((rows - centre) / axes, axis=1, keepdims=True)
    kept = centre + (rows - centre) / np.maximum(norm, 1)
    truth = kept.sum(axis=0) if answers == "sums" else kept.mean(axis=0) * 500
    found = np.array([plan.release(rows).values[:3] for _ in range(1500)]) * (1 if answers == "sums" else 500)
    covariance = plan.covariance()[:3, :3]
    assert not laws.rejects(found - truth, covariance)
    assert laws.rejects(found - rows.sum(axis=0) - 500 * axes, covariance)


def test_privacy_does_not_depend_on_the_data_being_normal() -> None:
    """A record of any size moves the sum by at most its half axes, together at most one."""
    plan = gm.plan(gm.domains.GaussianData(0, [1.0, 2.0]), G)
    for record in ([1e300, 0], [0, -1e9], [1e5, 1e5], [np.nan, 1], [np.inf, 0], [-0.0, 5e-324]):
        moved = np.array(plan.block.codes.encode(np.array([record], float))[0], float) / 2**42
        assert np.linalg.norm(moved) <= 1


def observed(sd: np.ndarray, plan: gm.Plan, rows: float, records: np.ndarray) -> tuple[float, float]:
    """Noise as planned plus rows times the average squared loss of the sampled records; and its standard error."""
    norm = np.linalg.norm(records / plan.domain.half_axes, axis=1)
    lost = ((records * (1 - 1 / np.maximum(norm, 1))[:, None]) ** 2).sum(axis=1)
    return plan.total_variance + rows * float(lost.mean()), rows * float(lost.std()) / np.sqrt(len(records))


@pytest.mark.parametrize("d", [2, 10, 100, 1000])
@pytest.mark.parametrize("rows", [1e2, 1e4, 1e6])
def test_the_best_clip_costs_no_more_than_the_one_in_n_clip(d: int, rows: float) -> None:
    sd = 1 / np.arange(1.0, d + 1)
    records = sd * np.random.default_rng().standard_normal((20_000 if d < 1000 else 4_000, d))
    best = gm.plan(gm.domains.GaussianData(0, sd, rows=rows), G)
    plain = gm.plan(gm.domains.GaussianData(0, sd, rows=rows, clip=1 / rows, scaling="report"), G)
    ours, error = observed(sd, best, rows, records)
    theirs, _ = observed(sd, plain, rows, records)
    assert ours < theirs
    if best.domain.clipped_fraction() * len(records) > 300:  # else too few are clipped for an average to be normal
        foretold = best.total_variance + best.domain.clipping_loss(np.ones(d))
        assert abs(ours - foretold) < 8 * error + 1e-4 * foretold


def test_a_mean_off_by_what_was_stated_costs_what_was_foretold() -> None:
    """The clip chosen for a mean that may be off loses less than the clip that trusts it; means are drawn anew."""
    sd, rows = np.array([1.0, 0.5]), 10_000
    rng = np.random.default_rng()
    plans = {
        within: gm.plan(gm.domains.GaussianData(0, sd, rows=rows, mean_within=within), G) for within in (None, 0.3)
    }
    lost: dict[float | None, list[float]] = {within: [] for within in plans}
    for _ in range(200):
        records = 0.3 * rng.standard_normal(2) + sd * rng.standard_normal((20_000, 2))
        for within, plan in plans.items():
            norm = np.linalg.norm(records / plan.domain.half_axes, axis=1)
            shift = (records * (1 - 1 / np.maximum(norm, 1))[:, None]).mean(axis=0)
            lost[within].append(plan.total_variance + rows**2 * float((shift**2).sum()))
    assert np.mean(lost[0.3]) < 0.7 * np.mean(lost[None])


def test_the_improved_scaling_cuts_noise_by_a_fifth() -> None:
    sd = 1 / np.arange(1.0, 11.0)
    report, improved = (
        gm.plan(gm.domains.GaussianData(0, sd, clip=1e-6, scaling=scaling), G, weights="equal").total_variance
        for scaling in ("report", "best")
    )
    assert improved < 0.8 * report


def test_the_whole_error_of_real_releases_is_as_foretold() -> None:
    """Sums of 2000 fresh records against the true sum: squared error = noise + clipping, within 8 standard errors."""
    sd = np.array([1.0, 0.3, 0.1])
    plan = gm.plan(gm.domains.GaussianData(0, sd, rows=2000), G)
    rng = np.random.default_rng()
    squares = []
    for _ in range(400):
        rows = sd * rng.standard_normal((2000, 3))
        squares.append(float(((plan.release(rows).values - rows.sum(axis=0)) ** 2).sum()))
    foretold = plan.total_variance + plan.domain.clipping_loss(np.ones(3))
    assert plan.domain.clipping_loss(np.ones(3)) > 0.05 * foretold
    assert abs(np.mean(squares) - foretold) < 8 * np.std(squares) / np.sqrt(400)

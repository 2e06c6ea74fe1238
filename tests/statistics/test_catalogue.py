"""Draws of every entry have the stated law. No seeds; false alarm 1e-9; mutants are rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import laws
import numpy as np
import pytest
from scipy import stats

import gaussmith as gm

c = gm.papers
G = {"epsilon": 0.5, "delta": 1e-5}
SIZE = 20_000

ENTRIES: dict[str, Callable[[], Any]] = {
    "classic": lambda: c.classic(dimension=3, **G),
    "slides": lambda: c.slides(dimension=3, **G),
    "analytic": lambda: c.analytic(dimension=3, **G),
    "elliptical": lambda: c.elliptical(sensitivity=[0.1, 3, 7], **G),
    "correlated": lambda: c.correlated(dimension=6, count=True, **G),
    "correlated box": lambda: c.correlated(dimension=3, lower=[0, -1, 2], upper=[1, 4, 3], **G),
    "clipped": lambda: c.clipped(dimension=3, radius=2, **G),
    "gaussian data": lambda: c.gaussian_data(sd=[1, 0.2], rows=1000, **G),
    "counts": lambda: c.bounded_contribution(dimension=6, at_most=4, **G),
    "votes": lambda: c.bounded_contribution(dimension=4, kind="votes", neighbours="replace-one", **G),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_draws_have_the_stated_covariance(name: str) -> None:
    entry = ENTRIES[name]()
    draws, covariance = entry.sample(SIZE), entry.covariance()
    if name == "votes":  # no noise along 1: drop the direction in which nothing moves
        assert np.abs(draws.sum(axis=1)).max() < 1e-9 * np.abs(draws).max()
        draws, covariance = draws[:, 1:], covariance[1:, 1:]
    assert not laws.rejects(draws, covariance)
    assert laws.rejects(0.98**2 * draws, covariance)
    assert laws.rejects(draws + 0.1 * np.sqrt(np.diag(covariance)), covariance)


def rank_one_verdict(draws: np.ndarray, sigma: float) -> float:
    """The smallest p-value: ‖y‖/σ is half-normal, directions are uniform, both independent of each other."""
    r = np.linalg.norm(draws, axis=1)
    u = draws / r[:, None]
    M = draws.shape[1]
    p = [
        stats.kstest(r / sigma, "halfnorm").pvalue,
        laws.two_sided(float((r * r).sum() / sigma**2), len(r)),
        stats.kstest((u[:, 0] + 1) / 2, stats.beta((M - 1) / 2, (M - 1) / 2).cdf).pvalue,
        stats.kstest((u @ np.ones(M) / np.sqrt(M) + 1) / 2, stats.beta((M - 1) / 2, (M - 1) / 2).cdf).pvalue,
        stats.spearmanr(r, np.abs(u[:, 1])).pvalue,
    ]
    return min(p) * len(p)


def test_rank_one_draws_have_a_normal_length_in_a_uniform_direction() -> None:
    entry = c.rank_one(dimension=6, epsilon=1, delta=1e-5)
    draws = entry.sample(SIZE)
    assert rank_one_verdict(draws, entry.sigma) > laws.FALSE_ALARM
    assert (draws**2).sum(axis=1).mean() == pytest.approx(entry.total_variance, rel=0.1)  # 10 standard errors
    assert rank_one_verdict(1.05 * draws, entry.sigma) < laws.FALSE_ALARM
    flat = draws * [2, 1, 1, 1, 1, 1]
    assert rank_one_verdict(flat, entry.sigma) < laws.FALSE_ALARM


@pytest.mark.parametrize("M", [3, 10, 100])
def test_the_attack_succeeds_as_often_as_computed(M: int) -> None:
    entry = c.rank_one(dimension=M, epsilon=1, delta=1e-5)
    tries = 4000
    right = round(entry.attack(tries) * tries)
    assert stats.binomtest(right, tries, entry.attack_success).pvalue > laws.FALSE_ALARM
    if M == 100:
        assert right > 0.98 * tries


def test_the_true_delta_is_seen_in_draws() -> None:
    """δ(ε) = E[(1 − e^{ε−L})₊] as an average over draws: bounded terms, so Hoeffding's bound at 1e-9."""
    entry = c.rank_one(dimension=10, epsilon=1, delta=1e-5)
    y = entry.sample(200_000)
    shifted = y.copy()
    shifted[:, 0] -= 1
    a, b = (np.linalg.norm(v, axis=1) for v in (y, shifted))
    loss = (b * b - a * a) / (2 * entry.variance) + 9 * np.log(b / a)
    terms = np.maximum(0, -np.expm1(1 - loss))
    allowed = np.sqrt(np.log(2 / laws.FALSE_ALARM) / (2 * len(terms)))
    assert abs(terms.mean() - entry.true_delta(1)) < allowed
    assert terms.mean() > 1000 * entry.claimed.delta

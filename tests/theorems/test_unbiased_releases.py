"""No unbiased release of any law goes far below the best Gaussian noise at the same μ (theory, statement 60)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import gaussmith as gm
from gaussmith.planning.certificate import unbiased_factor

REACH = 400
Z = np.arange(-REACH, REACH + 1)


def noises() -> dict[str, np.ndarray]:
    """Symmetric laws on the integers, of many forms, so that a noisy count is unbiased."""
    rng = np.random.default_rng(11)
    found = {f"geometric {q}": q ** np.abs(Z) for q in (0.3, 0.6, 0.9)}
    found |= {f"normal {s}": np.exp(-((Z / s) ** 2) / 2) for s in (0.3, 0.8, 2.0, 10.0)}
    found |= {f"heavy {s}": (1.0 + (Z / s) ** 2) ** -3.0 for s in (1.0, 5.0)}
    for i in range(20):
        shares, sizes = rng.dirichlet(np.ones(3)), rng.uniform(0.7, 12.0, 3)
        found[f"mixture {i}"] = sum(w * np.exp(-np.abs(Z / s)) for w, s in zip(shares, sizes, strict=True))
    return {name: np.maximum(p / p.sum(), 1e-300) for name, p in found.items()}


def least_mu(p: np.ndarray) -> float:
    """The smallest μ whose curve lies above that of a count with this noise, at every ε at which the count's bends."""
    moved, stays = p[:-1], p[1:]
    found = 0.0
    for epsilon in np.unique(np.round(np.log(moved / stays), 12)):
        delta = float(np.maximum(moved - math.exp(epsilon) * stays, 0.0).sum())
        if epsilon > 0 and delta > 1e-12:
            found = max(found, brentq(lambda mu, e=epsilon, d=delta: curve(mu, e) - d, 1e-3, 50.0))
        elif epsilon == 0 or delta > 1e-12:
            both = float(np.abs(moved - stays).sum()) / 2
            found = max(found, 2 * float(norm.ppf((1 + both) / 2)))
    return found


def curve(mu: float, epsilon: float) -> float:
    above, below = (epsilon / mu - mu / 2) / math.sqrt(2), (epsilon / mu + mu / 2) / math.sqrt(2)
    return (math.erfc(above) - math.exp(epsilon) * math.erfc(below)) / 2


@pytest.mark.parametrize("name", noises())
def test_no_noise_on_a_count_has_less_variance(name: str) -> None:
    p = noises()[name]
    mu, variance = least_mu(p), float(p @ Z**2)
    chi_square = float((p[:-1] ** 2 / p[1:]).sum()) - 1.0
    assert chi_square <= math.expm1(mu * mu) * (1 + 1e-6)
    assert variance * chi_square >= 1 - 1e-6
    plan = gm.plan(gm.Records(), gm.Guarantee(mu=mu), count=True)
    factor = unbiased_factor(plan)
    assert factor is not None
    assert variance >= plan.total_variance / factor * (1 - 1e-6)


def test_the_bound_is_not_that_of_gaussian_noise() -> None:
    """Some law has less variance than the best Gaussian noise at the same μ: without the factor it would be false."""
    assert any(float(p @ Z**2) < 0.99 / least_mu(p) ** 2 for p in noises().values())


@pytest.mark.parametrize(
    ("guarantee", "factor"),
    [
        (gm.Guarantee(epsilon=1, delta=1e-6), 1.0286),
        (gm.Guarantee(epsilon=3, delta=1e-6), 1.2425),
        (gm.Guarantee(mu=1), 1.7183),
    ],
)
def test_the_factor_is_the_published_one(guarantee: gm.Guarantee, factor: float) -> None:
    plan = gm.plan(gm.Box({"a": (0, 1)}), guarantee, count=True)
    found = unbiased_factor(plan)
    assert found is not None and found == pytest.approx(factor, abs=1e-4)
    assert found >= plan.optimality * math.expm1(guarantee.mu**2) / guarantee.mu**2
    assert f"less than 1/{math.ceil(found * 1e4) / 1e4:g} of this total variance" in plan.explain()


G = gm.Guarantee(epsilon=1, delta=1e-6)
A: dict[str, Any] = {"guarantee": gm.Guarantee(mu=1), "bounds": {"a": (0, 1)}}
UNPROVEN: dict[str, dict[str, Any]] = {
    "ratios": {"means": ["a"]},
    "quantiles": {"medians": ["a"]},
    "replace-one": {"sums": ["a"], "neighbours": "replace-one"},
    "groups that are found": {"count": True, "unit": "p", "groups_per_unit": 1, "by": {"c": "found"}, "guarantee": G},
    "stages": {"sums": {"a": "private"}, "bounds": {}},
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_nothing_is_said_where_nothing_is_proven(name: str) -> None:
    fields = {**A, **UNPROVEN[name]}
    plan = gm.Request("rows.parquet", **fields).plan
    assert unbiased_factor(plan) is None
    assert "unbiased release" not in plan.explain()


def test_verify_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gaussmith.cli import main

    plan = gm.plan(gm.Box({"a": (0, 1)}), gm.Guarantee(mu=1), count=True)
    files = tmp_path / "plan.json", tmp_path / "proof.json"
    files[0].write_text(plan.to_json(), "utf-8")
    files[1].write_text(plan.certificate.to_json(), "utf-8")
    assert main(["verify", *map(str, files)]) == 0
    assert "no unbiased release of these sums and counts that is μ-GDP" in " ".join(capsys.readouterr().out.split())

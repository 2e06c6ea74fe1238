"""Intervals of second moments hold the truth as often as they say: production noise, exact binomial limits."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

import gaussmith as gm
from gaussmith.noise.gaussian import normal_integers
from gaussmith.statistics.regression import joint_distance
from gaussmith.statistics.statistic import Noisy


def _proof() -> Any:
    """The cases of `./run prove statistics`; by path, for its folder has the name of a package."""
    path = Path(__file__).parents[2] / "proofs" / "coverage" / "moments.py"
    spec = importlib.util.spec_from_file_location("proof_of_moments", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


proof = _proof()

REPEATS = 4_000
FALSE_ALARM = 1e-9


def is_covered(covered: int, repeats: int, at_least: float) -> bool:
    """Whether so few misses are likely where intervals hold the truth at least so often."""
    return bool(binom.cdf(covered, repeats, at_least) > FALSE_ALARM)


@pytest.mark.parametrize("n", proof.SIZES)
@pytest.mark.parametrize("asked", proof.ASKED)
def test_coverage(asked: str, n: int) -> None:
    domain = gm.Moments(proof.BOUNDS, around=0.15)
    plan = gm.plan(domain, proof.GUARANTEE, answers=proof.ASKED[asked], weights="relative")
    truth = proof.true_features(plan.block, proof.people(n))
    low, high, exact = proof.read_intervals(plan.block, truth, REPEATS)
    known = np.isfinite(low) & np.isfinite(high)
    held = (low <= exact) & (exact <= high)
    for i, name in enumerate(plan.names):
        assert is_covered(int(held[:, i].sum()), REPEATS, 0.95), name
        told = int(known[:, i].sum())  # also of those that are told
        assert is_covered(int((held & known)[:, i].sum()), told, 0.95), name
        if n > 2_000:
            assert binom.sf(int(held[:, i].sum()), REPEATS, 0.965) > FALSE_ALARM, f"{name}: too wide"


def test_intervals_that_are_too_narrow_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "normal_width", lambda *_: 1.6)
    plan = gm.plan(gm.Moments(proof.BOUNDS, around=0.15), proof.GUARANTEE, answers="variances", weights="relative")
    truth = proof.true_features(plan.block, proof.people(2_000))
    low, high, exact = proof.read_intervals(plan.block, truth, REPEATS)
    assert not is_covered(int(((low <= exact) & (exact <= high))[:, 0].sum()), REPEATS, 0.95)


@pytest.mark.parametrize("n", [100, 20_000])
def test_the_joint_region_of_coefficients_is_exact(n: int) -> None:
    """Also for so few people that no coefficient can be told."""
    domain = gm.Moments(proof.BOUNDS, around=0.15)
    block = gm.plan(domain, proof.GUARANTEE, answers=proof.ASKED["regression"], weights="relative").block
    data = proof.people(n)
    design = np.column_stack([data[:, :2], np.ones(n)])
    beta = np.linalg.lstsq(design, data[:, 2], rcond=None)[0]
    shape, truth = block.shape, proof.true_features(block, data)
    noise = normal_integers(REPEATS * shape.lift.shape[0], 52).reshape(REPEATS, -1) * 2.0**-52 * block.noise_scale
    noisy = Noisy(truth + noise @ shape.features.dense().T, shape.features, block.noise_scale**2, shape.counted)
    found = joint_distance(block.answers.statistics[0], noisy, beta)
    for level in (0.5, 0.95):
        inside = int((found <= chi2.ppf(level, 3)).sum())
        assert binom.cdf(inside, REPEATS, level) > FALSE_ALARM and binom.sf(inside, REPEATS, level) > FALSE_ALARM


def test_cases_of_the_proof_can_be_run() -> None:
    found = proof.cases()
    alone, by_group = 2 * 3 * (6 + 12 + 3), 2 * 3 * (6 + 6 + 3)
    assert len({case.name for case in found}) == len(found) == alone + by_group
    assert 150 < found[0].covered(200) <= 200

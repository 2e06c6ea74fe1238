"""Audits of functions: naive ones, sound ones, and those that cheat."""

from __future__ import annotations

import itertools
import math

import numpy as np
from refusals import refused

import gaussmith as gm
from gaussmith.audit.attacks import low_bits, lowest_bits
from gaussmith.audit.auditor import audit

G = gm.Guarantee(epsilon=1, delta=1e-5)
SAFE = {"error": 1e-11, "samples": 4_000}
"""A true claim fails one test here less than once in 10^9 runs of this file."""

# -- functions ----------------------------------------------------------------------------------------------


RANDOM = np.random.default_rng()


def naive(data):
    return np.clip(data, 0, 1).sum() + RANDOM.standard_normal() / G.mu


def test_a_naive_float_mechanism_is_refuted_by_its_low_bits():
    verdict = audit(naive, gm.Box([0], [1]), G, samples=100_000, error=1e-11)
    assert [each.name for each in verdict.refuted_by] == ["low bits"]


def test_little_noise_stops_early_and_unclipped_data_is_found():
    rng = np.random.default_rng()
    little = audit(
        lambda d: round(np.clip(d, 0, 1).sum() + rng.normal(), 3), gm.Box([0], [1]), G, samples=100_000, error=1e-11
    )
    assert not little.survived and any(each.name == "early look" and each.refutes for each in little.attempts)
    wild = audit(lambda d: round(d.sum() + rng.normal() / G.mu, 3), gm.Box([0], [1]), G, samples=20_000, error=1e-11)
    assert not wild.survived


def test_a_function_with_enough_noise_survives_also_as_epsilon_delta():
    rng = np.random.default_rng()

    def laplace(data):
        return float(np.round(np.clip(data, 0, 1).sum() + rng.laplace(), 3))

    verdict = audit(laplace, gm.Box([0], [1]), G, gaussian=False, samples=20_000, error=1e-11)
    assert verdict.survived, str(verdict)
    assert not audit(laplace, gm.Box([0], [1]), G, samples=40_000, error=1e-11).survived  # it is no Gaussian noise


def test_functions_that_cheat_are_refuted():
    rng, calls, cache = np.random.default_rng(), itertools.count(), {}
    few = itertools.cycle(rng.normal(size=30) / G.mu)

    def total(data):
        return float(np.clip(data, 0, 1).sum())

    def noisy(data):
        return round(total(data) + rng.normal() / G.mu, 6)

    cheats = {
        "no noise at first": lambda d: total(d) if next(calls) < 2_000 else noisy(d),
        "noise until it is learned": lambda d: noisy(d) if next(calls) < 5_000 else total(d),
        "a cache": lambda d: cache.setdefault(d.tobytes(), noisy(d)),
        "few noises": lambda d: total(d) + next(few),
        "no number for some": lambda d: math.nan if len(d) % 2 and rng.random() < 0.3 else noisy(d),
        "an exact count beside": lambda d: [noisy(d), len(d)],
    }
    for name, cheat in cheats.items():
        calls = itertools.count()
        verdict = audit(cheat, gm.Box([0], [1]), G, samples=20_000, error=1e-11)
        assert not verdict.survived, f"{name}: {verdict}"
    kept = audit(lambda d: (noisy(d), d.fill(0.5))[0], gm.Box([0], [1]), G, samples=4_000, error=1e-11)
    assert kept.samples < 3 * 4_000 + 4 * 2 * 1_000  # outputs that several attacks look at count once
    assert kept.survived, str(kept)  # it may write into its table: that is a copy


def test_functions_that_cannot_be_judged_are_refused():
    count = itertools.count()

    def often_wrong(data):
        raise KeyError("age")

    for wrong in (often_wrong, lambda d: "text", lambda d: 1j, lambda d: {"a": 1}):
        with refused("audited-function-failed"):
            audit(wrong, gm.Box([0], [1]), G)
    for wrong in (lambda d: [0.0] * (1 + next(count) % 2), lambda d: np.zeros(1 + len(d)), lambda d: []):
        with refused("audited-function-of-changing-size", says="would tell neighbours apart"):
            audit(wrong, gm.Box([0], [1]), G)


def test_lowest_bits():
    assert lowest_bits(np.array([1.0, 0.75, 2.0**-30, 3.0])).tolist() == [0, -2, -30, 0]
    grid = np.round(np.random.default_rng().normal(size=(4000, 1)) * 1024) / 1024
    assert low_bits(grid[:2000], grid[2000:], 1e-11).mu < 1.0

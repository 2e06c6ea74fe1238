"""How often a person alone is shown, counted through the comparison of integers that releases use.

Two ways: with κ so large that it can be counted, and at κ = 1e-5 by importance sampling: noise is drawn where it shows
groups, and each query is weighed by how likely it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.stats import binom

import gaussmith as gm
from gaussmith.noise.gaussian import normal_integers
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.discovered_groups import BITS, LOOK, Threshold

UNIT = 2.0**NOISE_BITS


@dataclass(frozen=True)
class Audit:
    """What was found of a person in j groups: the probability that one is shown, and what is allowed."""

    name: str
    found: float
    error: float
    kappa: float
    passes: bool


def threshold_at(m: int, kappa: Fraction, at_least: int) -> Threshold:
    guarantee = gm.Guarantee(epsilon=1, delta=1e-5)
    request = gm.Request(
        "visits.csv", unit="person", by={"key": "found"}, groups_per_unit=m, count=True, guarantee=guarantee
    )
    return Threshold(request.plan.queries[0].block, m, kappa, at_least)


def count_alone(threshold: Threshold, j: int, repeats: int) -> Audit:
    """With a κ that can be counted; where j = m and there is one look it must be attained too."""
    kappa = float(threshold.kappa)
    noise, spare_noise = normal_integers(2 * repeats * j, NOISE_BITS).reshape(2, repeats * j)
    shown = _shows(threshold, j, noise, spare_noise).reshape(repeats, j).any(axis=1).sum()
    kept = binom.sf(shown - 1, repeats, kappa) > 1e-6
    attained = j < threshold.at_most or threshold.has_spare or binom.cdf(shown, repeats, kappa) > 1e-6
    found = float(shown) / repeats
    return Audit(_name(threshold, j), found, math.sqrt(found / repeats), kappa, bool(kept and attained))


def weigh_alone(threshold: Threshold, j: int, repeats: int, rng: np.random.Generator) -> Audit:
    """At a small κ, by importance sampling from two normals, each moved to where one of the looks passes."""
    people = threshold.people(threshold.at_least)
    centres = [((threshold.bar - people) / UNIT, 0.0)]
    if threshold.has_spare:
        a, b = LOOK
        spare = _spare(threshold, j) * threshold.step
        rest = ((threshold.second_bar << BITS) - a * people - b * spare) / (UNIT * (a * a + b * b))
        centres.append((a * rest, b * rest))
    which = rng.integers(0, len(centres), repeats)
    z = rng.normal(size=(repeats, 2)) + np.array(centres)[which]
    logs = np.array([z @ np.array(c) - (c[0] ** 2 + c[1] ** 2) / 2 for c in centres])
    weights = len(centres) / np.exp(logs).sum(axis=0)
    noise, spare_noise = np.round(z.T * UNIT).astype(np.int64)
    hits = np.where(_shows(threshold, j, noise.copy(), spare_noise.copy()), weights, 0.0)
    p, error = float(hits.mean()), float(hits.std() / math.sqrt(repeats))
    found, error = -math.expm1(j * math.log1p(-p)), j * error
    kappa = float(threshold.kappa)
    attained = j < threshold.at_most or threshold.has_spare or found + 5 * error >= kappa
    return Audit(_name(threshold, j), found, error, kappa, found - 5 * error <= kappa and attained)


def every_person(kappa: Fraction) -> Iterator[tuple[Threshold, int]]:
    """j = 1 … m of several m, with and without looks, with and without a floor."""
    for m in (1, 3, 4, 10, 30):
        for at_least in (1, 4):
            threshold = threshold_at(m, kappa, at_least)
            yield from ((threshold, j) for j in range(1, m + 1))


def _shows(threshold: Threshold, j: int, noise: np.ndarray, spare_noise: np.ndarray) -> np.ndarray:
    people = np.full(len(noise), threshold.at_least, np.int64)
    spare = np.full(len(noise), _spare(threshold, j), np.int64)
    return threshold.shows(people, noise, spare, spare_noise)


def _spare(threshold: Threshold, j: int) -> int:
    """The largest spare number of a group that this person makes reach the floor: others may be in one group."""
    if not threshold.has_spare:
        return 0
    return threshold.spares[j - 1] + (threshold.at_least - 1) * threshold.spares[0]


def _name(threshold: Threshold, j: int) -> str:
    return f"j = {j} of m = {threshold.at_most}, at least {threshold.at_least}"

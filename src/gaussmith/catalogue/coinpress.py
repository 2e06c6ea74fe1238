"""CoinPress: noisy means of clipped records, each in a smaller ball than the one before."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gaussmith.catalogue.entry import Array, check_dimension, check_positive
from gaussmith.catalogue.staged import StagedEntry, Step
from gaussmith.errors import DomainError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import REPLACE_ONE

SPLITS = {
    1: (1.0,),
    2: (1 / 4, 3 / 4),
    3: (1 / 8, 1 / 8, 3 / 4),
    4: (1 / 12, 1 / 12, 1 / 12, 3 / 4),
}
"""The part of ρ that each of t steps gets in the published experiments."""


def coinpress(*, dimension: int, rho: float, rows: float, radius: float, steps: int = 4) -> StagedEntry:
    """CoinPress for the mean of vectors whose covariance is known, here the identity.

        clip at R = min(√(r² + 6r + γ²), r + γ),   γ² = d + 2√(d ln 100) + 2 ln 100,
        noise 2R/(n √(2ρ_i)) on every coordinate of the mean,   next r = γ √(1/n + noise²)

    Two records clipped to a ball of radius R change a mean of n by at most 2R/n: each step costs the ρ_i it says.

    >>> entry = coinpress(dimension=50, rho=0.5, rows=1000, radius=70)
    >>> entry.sound, entry.holds, round(entry.true_rho, 12)
    ('yes', True, 0.5)
    """
    d, n = check_dimension(dimension), check_positive("rows", rows)
    check_positive("radius", radius)
    if steps not in SPLITS:
        rule, remedy = "its budget is published for 1 to 4 steps", "write steps=4"
        raise DomainError(f"steps={steps!r}", rule, remedy, code="unknown-coinpress-steps", steps=steps)
    claimed = Guarantee(rho=rho)
    found = []
    for i, (clip, sd) in enumerate(zip(*_course(d, n, radius, rho, SPLITS[steps]), strict=True)):
        true = (2 * clip / n) ** 2 / (2 * sd**2)
        found.append(Step(f"mean {i + 1}, clipped at {clip:.4g}", SPLITS[steps][i] * rho, true))
    return StagedEntry(
        name="CoinPress",
        reference="Biswas, Dong, Kamath, Ullman, CoinPress: practical private mean and covariance estimation (2020)",
        theorem="t clipped means with noise for sensitivity 2R/n at ρ_1, …, ρ_t are Σρ_i-zCDP.",
        needs="the number of records, a ball that holds the mean, and the covariance",
        claimed=claimed,
        neighbours=REPLACE_ONE,
        sound="yes",
        steps=tuple(found),
        gaussian=True,
    )


def _course(d: int, n: float, radius: float, rho: float, parts: Any) -> tuple[Array, Array]:
    """The norm to which records are clipped in each step, and the noise of each; neither depends on data."""
    tail = math.sqrt(d + 2 * math.sqrt(d * math.log(100)) + 2 * math.log(100))
    clips, noises, r = [], [], radius
    for part in parts:
        clip = min(math.sqrt(r * r + 6 * r + tail * tail), r + tail)
        sd = 2 * clip / n / math.sqrt(2 * part * rho)
        clips.append(clip)
        noises.append(sd)
        r = math.sqrt(1 / n + sd * sd) * tail
    return np.array(clips), np.array(noises)

"""IOME, by Huang, Liang and Yi: rotate, centre at noisy medians, clip at a noisy quantile of the norms."""

from __future__ import annotations

from gaussmith.catalogue.entry import check_dimension
from gaussmith.catalogue.staged import StagedEntry, Step
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import REPLACE_ONE

CENTRE, NORM = 0.25, 0.01
"""The part of ρ for the medians, and of the rest for the norm to clip at."""


def iome(*, dimension: int, rho: float, steps: int = 20) -> StagedEntry:
    """Instance-optimal mean estimation: the shifted clipped mean after a random rotation.

        medians of d′ rotated coordinates (d′ the next power of two) by bisection, T noisy counts with variance T/(2ρ_j)
        norm C with about √(8d/ρ) records beyond it, by bisection;   noise 2C/(n √(2ρ_3)) on the mean

    Replacing a record changes a count by 1 and the clipped mean by 2C/n: T counts cost T·ρ_j/T, all as stated.

    >>> entry = iome(dimension=64, rho=0.5)
    >>> entry.sound, entry.holds, [round(step.true_rho, 6) for step in entry.steps]
    ('yes', True, [0.125, 0.00375, 0.37125])
    """
    d = check_dimension(dimension)
    size = 1 << (d - 1).bit_length()
    claimed = Guarantee(rho=rho)
    each, norm = CENTRE * rho / size, NORM * (1 - CENTRE) * rho
    return StagedEntry(
        name="IOME",
        reference="Huang, Liang, Yi, Instance-optimal mean estimation under differential privacy (2021)",
        theorem="Rotating, centring at private medians and clipping at a private quantile of the norms is ρ-zCDP.",
        needs="the number of records, and a range that holds every value",
        claimed=claimed,
        neighbours=REPLACE_ONE,
        sound="yes",
        steps=(
            Step(f"medians of {size} rotated coordinates", CENTRE * rho, size * _bisection_rho(each, steps)),
            Step("norm to clip at", norm, _bisection_rho(norm, steps)),
            Step("clipped mean", (1 - CENTRE) * rho - norm, (1 - CENTRE) * rho - norm),
        ),
        gaussian=True,
    )


def _bisection_rho(rho: float, steps: int) -> float:
    """T counts, each changed by 1 at most, with noise of variance T/(2ρ)."""
    variance = steps / (2 * rho)
    return steps / (2 * variance)

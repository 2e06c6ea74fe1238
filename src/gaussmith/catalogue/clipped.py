"""The clipped sum: records clipped to norm C, equal noise on every coordinate."""

from __future__ import annotations

import numpy as np

from gaussmith.catalogue.classic import classic
from gaussmith.catalogue.entry import UP, GaussianEntry, check_dimension, check_positive
from gaussmith.catalogue.laws import Independent
from gaussmith.errors import DomainError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, check

CALIBRATIONS = ("analytic", "classic")


def clipped(
    *,
    dimension: int,
    radius: float,
    epsilon: float,
    delta: float,
    neighbours: str = "add-remove",
    calibration: str = "analytic",
    as_published: bool = False,
) -> GaussianEntry:
    """Noise on a sum of records clipped to norm C, rounded up.

        σ = C/μ under add-remove, 2C/μ under replace-one;   `as_published`: C/μ under replace-one, which is half of it

    `calibration="classic"` has the report's own noise, √(2 ln(1.25/δ))/ε in place of 1/μ, refused for ε ≥ 1. The report
    defines neighbours by replacement and uses C as the sensitivity, but two records clipped to C can differ by 2C
    (errata, 1).

    >>> right = clipped(dimension=3, radius=2, epsilon=1, delta=1e-5, neighbours="replace-one")
    >>> wrong = clipped(dimension=3, radius=2, epsilon=1, delta=1e-5, as_published=True)
    >>> right.sound, right.holds, wrong.sound, wrong.holds, round(wrong.true_mu / wrong.claimed.mu, 6)
    ('corrected', True, 'no', False, 2.0)
    >>> report = clipped(dimension=3, radius=2, epsilon=0.5, delta=1e-5, calibration="classic", as_published=True)
    >>> report.standard_errors.round(2), report.holds
    (array([19.38, 19.38, 19.38]), False)
    """
    d, C = check_dimension(dimension), check_positive("radius", radius)
    neighbours = "replace-one" if as_published else check(neighbours)
    claimed = Guarantee(epsilon=epsilon, delta=delta)
    reach = C if neighbours == ADD_REMOVE else 2 * C
    if calibration not in CALIBRATIONS:
        what, rule = f"calibration={calibration!r}", "it must be analytic or classic"
        remedy = nearest(str(calibration), CALIBRATIONS)
        raise DomainError(what, rule, remedy, code="unknown-calibration", calibration=calibration)
    of_one = UP / claimed.mu
    if calibration == "classic":
        of_one = float(classic(dimension=1, epsilon=epsilon, delta=delta).standard_errors[0])
    sigma = (C if as_published else reach) * of_one
    return GaussianEntry(
        name="clipped sum"
        + (", classic" if calibration == "classic" else "")
        + (" as published" if as_published else ""),
        reference="Poulsen, Differentially private vector aggregation in the case of multivariate Gaussian data "
        "(2022), section 3",
        theorem="Clipping every record to norm C makes the sensitivity of the sum C, so that noise for sensitivity C "
        "is (ε, δ)-DP.",
        claimed=claimed,
        neighbours=neighbours,
        sound="no" if as_published else "yes" if neighbours == ADD_REMOVE else "corrected",
        noise=Independent(np.full(d, sigma)),
        true_mu=reach / sigma,
    )

"""The clipped sum: records clipped to norm C, equal noise on every coordinate."""

from __future__ import annotations

import numpy as np

from gaussmith.catalogue.entry import UP, GaussianEntry, check_dimension, check_positive
from gaussmith.catalogue.laws import Independent
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, check


def clipped(
    *,
    dimension: int,
    radius: float,
    epsilon: float,
    delta: float,
    neighbours: str = "add-remove",
    as_published: bool = False,
) -> GaussianEntry:
    """Noise on a sum of records clipped to norm C, rounded up.

        σ = C/μ under add-remove, 2C/μ under replace-one;   `as_published`: C/μ under replace-one, which is half of it

    The report defines neighbours by replacement and uses C as the sensitivity, but two records clipped to C can differ
    by 2C (errata, 1).

    >>> right = clipped(dimension=3, radius=2, epsilon=1, delta=1e-5, neighbours="replace-one")
    >>> wrong = clipped(dimension=3, radius=2, epsilon=1, delta=1e-5, as_published=True)
    >>> right.sound, right.holds, wrong.sound, wrong.holds, round(wrong.true_mu / wrong.claimed.mu, 6)
    ('corrected', True, 'no', False, 2.0)
    """
    d, C = check_dimension(dimension), check_positive("radius", radius)
    neighbours = "replace-one" if as_published else check(neighbours)
    claimed = Guarantee(epsilon=epsilon, delta=delta)
    reach = C if neighbours == ADD_REMOVE else 2 * C
    sigma = (C if as_published else reach) / claimed.mu * UP
    return GaussianEntry(
        name="clipped sum" + (" as published" if as_published else ""),
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

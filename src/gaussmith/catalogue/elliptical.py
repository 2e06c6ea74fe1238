"""The elliptical Gaussian mechanism: more noise on wide coordinates, less on narrow ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gaussmith.catalogue.entry import UP, GaussianEntry, check_dimension, check_vector
from gaussmith.catalogue.laws import Independent
from gaussmith.errors import DomainError
from gaussmith.guarantee import Guarantee
from gaussmith.numerics.exact import norm_upward


def elliptical(
    *,
    sensitivity: Any,
    epsilon: float,
    delta: float,
    dimension: int | None = None,
    neighbours: str = "replace-one",
) -> GaussianEntry:
    """Noise proportional to the square root of each coordinate's sensitivity; sound, rounded up.

        σ_j² = Δ_j ‖Δ‖₁ / μ²,    total ‖Δ‖₁²/μ²   (equal noise: d ‖Δ‖₂²/μ²)

    `sensitivity` is Δ_j, the most that coordinate j of the sum changes: the width of its bounds under replace-one, the
    largest absolute value under add-remove. One number with `dimension=` applies to all coordinates.

    >>> entry = elliptical(sensitivity=[9, 1], epsilon=1, delta=1e-5)
    >>> (entry.standard_errors * entry.claimed.mu).round(3), round(entry.total_variance * entry.claimed.mu**2, 6)
    (array([9.487, 3.162]), 100.0)
    """
    widths = check_vector("sensitivity", sensitivity)
    if dimension is not None:
        d = check_dimension(dimension)
        if len(widths) not in (1, d):
            raise DomainError(
                f"dimension={d} beside {len(widths)} sensitivities",
                "they must agree",
                "leave out dimension=",
                code="dimension-differs-from-sensitivities",
                dimension=d,
                sensitivities=len(widths),
            )
        widths = np.full(d, widths[0]) if len(widths) == 1 else widths
    claimed = Guarantee(epsilon=epsilon, delta=delta)
    sigma = np.sqrt(widths * math.fsum(widths)) / claimed.mu * UP
    # The largest difference has every coordinate at its bound: sᵀΣ⁻¹s = Σ Δ_j²/σ_j².
    true_mu = norm_upward(widths / sigma)
    return GaussianEntry(
        name="elliptical Gaussian",
        reference="Pagh and Lebeda, Private Vector Aggregation when Coordinates have Different Sensitivity (2022)",
        theorem="If coordinate j changes by at most Δ_j, noise of variance Δ_j‖Δ‖₁σ² is as private as noise σ² on "
        "a sum of sensitivity 1, and no other independent noise has a smaller total.",
        claimed=claimed,
        neighbours=neighbours,
        sound="yes",
        noise=Independent(sigma),
        true_mu=true_mu,
    )

"""The bound of a law on people in tables of the same keys: no Gaussian noise at μ = 1 has a smaller total."""

from __future__ import annotations

import math

import numpy as np

from gaussmith.numerics.crossed.moments import residual_rows
from gaussmith.numerics.crossed.tables import Tables
from gaussmith.numerics.products import Array
from gaussmith.numerics.trace_roots import nuclear_lower, square_down
from gaussmith.problem.law import check_law

_DOUBT = 64.0 * 2.0**-53
"""How far the numbers of a law and of what its people add may be off, relative to their size."""


def lower_bound(tables: Tables, weights: Array) -> float:
    """S², S = Σ_A √dim_A · tr (E b_A b_Aᵀ)^½ over the residuals A, for this law on the types; rounded down.

    Proof: docs/theory.md, statement 39.
    """
    fits = weights.shape == (len(tables.types),) and bool(np.isfinite(weights).all()) and bool((weights >= 0).all())
    check_law(fits and weights.sum() > 0)
    share = np.sqrt(weights / math.fsum(weights))
    root = 0.0
    for A in tables.residuals:
        rows = np.vstack([p * residual_rows(tables, A, moved) for p, moved in zip(share, tables.types, strict=True)])
        # A matrix of rank r that is off by E in the Frobenius norm has a nuclear norm off by at most √r·E.
        doubt = _DOUBT * math.sqrt(min(rows.shape)) * float(np.linalg.norm(rows))
        root += math.sqrt(tables.dimension(A)) * max(0.0, nuclear_lower(rows) - doubt) * (1.0 - _DOUBT)
    return square_down(root * (1.0 - _DOUBT))

"""The bound of a law on people in tables of the same keys: no Gaussian noise at μ = 1 has a smaller total."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from gaussmith.domains.domain import check_law
from gaussmith.domains.joint_law import Beside
from gaussmith.numerics.crossed import ADD_REMOVE, Tables, Way, residual_rows
from gaussmith.numerics.exact import Array
from gaussmith.numerics.trace_roots import nuclear_lower, square_down

_DOUBT = 64.0 * 2.0**-53
"""How far the numbers of a law and of what its people add may be off, relative to their size."""


def lower_bound(tables: Tables, weights: Array) -> float:
    """S², S = Σ_A √dim_A · tr (E b_A b_Aᵀ)^½ over the residuals A, for this law on the types; rounded down.

    Proof: docs/theory.md, statement 39.
    """
    return square_down(_root(tables, weights, tables.residuals) * (1.0 - _DOUBT))


def tables_beside(tables: Tables, weights: Array) -> Beside:
    """The same law beside other questions, under add-remove: only what people add to all cells together has a mean."""
    check_law(tables.neighbours == ADD_REMOVE)
    rest = _root(tables, weights, [A for A in tables.residuals if A != ()])
    rows = [residual_rows(tables, (), moved) for moved in tables.types]
    check_law(all(len(each) == 1 for each in rows) and tables.dimension(()) == 1)
    return Beside(np.vstack(rows), weights / math.fsum(weights), np.vstack(rows)[:0], 4.0 * _DOUBT, rest)


def _root(tables: Tables, weights: Array, residuals: Iterable[Way]) -> float:
    """Σ √dim_A · tr (E b_A b_Aᵀ)^½ over some residuals, rounded down."""
    fits = weights.shape == (len(tables.types),) and bool(np.isfinite(weights).all()) and bool((weights >= 0).all())
    check_law(fits and weights.sum() > 0)
    share = np.sqrt(weights / math.fsum(weights))
    root = 0.0
    for A in residuals:
        rows = np.vstack([p * residual_rows(tables, A, moved) for p, moved in zip(share, tables.types, strict=True)])
        # A matrix of rank r that is off by E in the Frobenius norm has a nuclear norm off by at most √r·E.
        doubt = _DOUBT * math.sqrt(min(rows.shape)) * float(np.linalg.norm(rows))
        root += math.sqrt(tables.dimension(A)) * max(0.0, nuclear_lower(rows) - doubt) * (1.0 - _DOUBT)
    return root

"""What the noise does to an answer: intervals, for sums and for ratios, one at a time and all at once.

Intervals cover the noise alone: not clipping to the bounds, not the sampling of people into the data.
"""

from __future__ import annotations

import numpy as np

from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.linear import Array


def check_method(method: str) -> str:
    """The name of a way to make intervals of ratios: "fieller" or "delta"; refuses others."""
    if method not in ("fieller", "delta"):
        raise PlanError(f"method={method!r}", 'it is "fieller" or "delta"', nearest(str(method), ["fieller", "delta"]))
    return method


def sum_intervals(values: Array, errors: Array, width: float) -> tuple[Array, Array]:
    """Central intervals of answers whose noise is Gaussian."""
    return values - width * errors, values + width * errors


def fieller_intervals(
    width: float, numerators: Array, denominators: Array, variances: Array, below: Array, both: Array
) -> tuple[Array, Array]:
    """Intervals of numerator/denominator when both carry Gaussian noise, by Fieller: exact coverage at any size.

        { ρ : (N − ρ D)² ≤ width² (Var N − 2ρ Cov + ρ² Var D) }

    `variances`, `below`, `both` are Var N, Var D, Cov. Where the noise leaves the denominator's sign open the set is
    unbounded: then the interval is the whole line, and says so.
    """
    z2 = width * width
    A = denominators * denominators - z2 * below
    B = numerators * denominators - z2 * both
    C = numerators * numerators - z2 * variances
    root = np.sqrt(np.maximum(B * B - A * C, 0.0))
    known = A > 0  # else the denominator may be zero
    return np.where(known, (B - root) / A, -np.inf), np.where(known, (B + root) / A, np.inf)


def delta_intervals(
    width: float, numerators: Array, denominators: Array, variances: Array, below: Array, both: Array
) -> tuple[Array, Array]:
    """Intervals of numerator/denominator by the delta method: symmetric, good for a denominator of many errors."""
    ratio = numerators / denominators
    errors = ratio_errors(numerators, denominators, variances, below, both)
    return ratio - width * errors, ratio + width * errors


def ratio_errors(numerators: Array, denominators: Array, variances: Array, below: Array, both: Array) -> Array:
    """The standard error of numerator/denominator to first order."""
    ratio = numerators / denominators
    spread = variances - 2 * ratio * both + ratio * ratio * below
    return np.asarray(np.sqrt(np.maximum(spread, 0.0)) / np.abs(denominators))

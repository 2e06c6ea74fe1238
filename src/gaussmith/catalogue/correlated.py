"""Correlated noise with the count: one draw shared by all sums, for records in [0, 1]^d, and for any box."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from gaussmith.catalogue.entry import UP, Array, GaussianEntry, check_dimension, check_vector
from gaussmith.catalogue.laws import Shared
from gaussmith.errors import DomainError
from gaussmith.guarantee import Guarantee

MAX_CORNERS = 1 << 12
"""Limit on the corners that are checked."""


def correlated(
    *,
    dimension: int,
    epsilon: float,
    delta: float,
    lower: Any = 0.0,
    upper: Any = 1.0,
    count: bool = False,
    as_printed: bool = False,
) -> GaussianEntry:
    """The poster's noise for sums of records in [0, 1]^d under add-remove, its extension to any box, and the count.

        sum_j + z_j + η,  n + 2η:     Var z_j = (d + √d)/4,  Var η = (√d + 1)/4      (at μ = 1)
        any box:  T = Σ r_j + ‖c‖,  Var z_j = r_j T,  n̂ = n + η₀ with Var η₀ = T/‖c‖,  sum_j + z_j + c_j η₀

    Guarantee: with the count exactly μ; without it at most μ. `as_printed` uses Var η = √(d+1)/4, as in the poster's
    text: not private (errata, 5).

    >>> entry = correlated(dimension=16, epsilon=1, delta=1e-6)
    >>> (entry.standard_errors * entry.claimed.mu)[:2].round(6)
    array([2.5, 2.5])
    """
    d = check_dimension(dimension)
    low, high = (_bounds(name, value, d) for name, value in (("lower", lower), ("upper", upper)))
    if not (low < high).all():
        rule = "each lower bound is below its upper bound"
        raise DomainError("lower and upper", rule, "swap or widen the bounds", code="lower-bound-not-below-upper")
    claimed = Guarantee(epsilon=epsilon, delta=delta)
    c, r = (low + high) / 2, (high - low) / 2
    length = math.sqrt(math.fsum(c * c))
    T = math.fsum(r) + length
    scales, share = np.sqrt(r * T), math.sqrt(T / length) if length else 0.0
    if as_printed:
        if low.any() or (high != 1).any():
            what, rule = "as_printed=True with bounds", "the poster has [0, 1]^d only"
            raise DomainError(what, rule, "leave out the bounds", code="printed-form-with-bounds")
        share = 2 * math.sqrt(math.sqrt(d + 1) / 4)
    if count and not share:
        raise DomainError(
            "count=True for a box around zero",
            "its noise has no part that the count shares",
            "use gaussmith.plan(…, count=True)",
            code="count-of-box-around-zero",
        )
    scales, share = scales / claimed.mu * UP, share / claimed.mu * UP
    shares = c * share
    if count:
        noise = Shared(np.append(scales, 0.0), np.append(shares, share))
        true_mu = math.sqrt(math.fsum((r / scales) ** 2) + 1 / share**2)
    else:
        noise = Shared(scales, shares)
        true_mu = math.sqrt(_largest_cost(low, high, scales, shares, share))
    return GaussianEntry(
        name="correlated Gaussian" + (" as printed" if as_printed else ""),
        reference="Lebeda, Better Gaussian Mechanism using Correlated Noise (poster, 2024)",
        theorem="For records in [0, 1]^d under add-remove, one shared draw makes the error of each sum (√d + 1)/2, "
        "not √d (at μ = 1).",
        claimed=claimed,
        neighbours="add-remove",
        sound="no" if as_printed else "corrected",
        noise=noise,
        true_mu=true_mu,
    )


def _bounds(name: str, value: Any, d: int) -> Array:
    vector = check_vector(name, value, positive=False)
    if len(vector) not in (1, d):
        raise DomainError(
            f"{len(vector)} numbers in {name}",
            f"there are {d} coordinates",
            "give one, or one each",
            code="numbers-do-not-match-coordinates",
            numbers=len(vector),
            name=name,
            coordinates=d,
        )
    return np.full(d, vector[0]) if len(vector) == 1 else vector


def _largest_cost(low: Array, high: Array, scales: Array, shares: Array, share: float) -> float:
    """max sᵀΣ⁻¹s over the corners of the box (a convex function is largest at one); Σ = diag(scales²) + shares sharesᵀ.

    By levels if all coordinates are equal, corner by corner if there are few; otherwise the bound with the count also
    released, which is never below the true value and barely above it.
    """
    d = len(low)
    a, g = 1 / scales**2, shares / scales**2
    bend = 1 / (1 + float(shares @ g))
    if np.ptp(low) == np.ptp(high) == 0:
        j = np.arange(d + 1)  # the number of coordinates at their upper bound
        total = j * high[0] + (d - j) * low[0]
        squares = j * high[0] ** 2 + (d - j) * low[0] ** 2
        return float((squares * a[0] - (g[0] * total) ** 2 * bend).max())
    if 2**d <= MAX_CORNERS:
        corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
        return float((corners**2 @ a - (corners @ g) ** 2 * bend).max())
    r = (high - low) / 2
    return math.fsum((r / scales) ** 2) + (1 / share**2 if share else 0.0)

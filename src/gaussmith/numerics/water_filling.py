"""The best diagonal shape when a record touches only a few of many parts: sparse sums, and groups of blocks.

A record moves at most k of d coordinates, coordinate j by at most b_j. Signs are free, so the best shape is diagonal:

    minimise Σ w_j v_j   subject to   Σ_{j in J} b_j²/v_j ≤ 1  for every J of size k.

The dual spreads k units of weight π over the coordinates, at most one on each, to make V = Σ √w_j b_j √π_j large:
the largest coordinates get a whole one, the rest a share in proportion to their squared size, as in water-filling.
For blocks: scaling the best shape of block b (total T_b) by a number plays the part of v_b with b_b² = T_b.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-14
"""Relative error of a pairwise sum of up to 2³⁰ quotients, several times over."""


def diagonal(bounds: npt.ArrayLike, weights: npt.ArrayLike, at_most: int) -> tuple[Array, float]:
    """Variances of the best noise for sums of sparse vectors, and their weighted total; both rounded up.

        v_j = b_j² √π_j V / a_j,   a_j = √w_j b_j,   V = Σ a_j √π_j,   total Σ w_j v_j = V²

    Add-remove at μ = 1; four times that under replace-one. A bound of zero needs no noise (0); a weight of zero is not
    released at all (inf).
    Guarantee: the k largest b_j²/v_j add up to at most 1; no Gaussian noise has a smaller weighted total.
    Requires (checked): finite bounds ≥ 0 and weights ≥ 0, 1 ≤ k.
    Rounding: the variances grow by the certified excess of that sum.

    >>> variances, total = diagonal([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], at_most=2)
    >>> round(total, 9)
    8.0
    """
    b, w = np.asarray(bounds, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if b.ndim != 1 or b.shape != w.shape:
        what = f"bounds of shape {b.shape}, weights of shape {w.shape}"
        raise PlanError(what, "one of each per sum", "match them", code="bounds-and-weights-do-not-match")
    if not (np.isfinite(b).all() and np.isfinite(w).all() and (b >= 0).all() and (w >= 0).all()):
        what = "bounds or weights that are negative or not finite"
        raise PlanError(what, "numbers ≥ 0", "bound every coordinate", code="bounds-or-weights-out-of-range")
    variances = np.where(w > 0, 0.0, np.inf)
    active = (b > 0) & (w > 0)
    if not active.any():
        return variances, 0.0
    b, w = b[active], w[active]
    a = np.sqrt(w) * b
    roots = _roots(a, at_most)
    V = float((a * a * roots).sum())
    v = b * b * (roots * V)
    if not (v > 1e-290).all() or not np.isfinite(v).all():
        what = "bounds too small or too large for doubles"
        raise PlanError(what, "their squares must be numbers", "change the unit", code="bounds-beyond-doubles")
    v *= _excess(b * b / v, at_most)
    variances[active] = v
    return variances, float((w * v).sum()) * (1.0 + _ROUNDING)


def blocks(totals: npt.ArrayLike, at_most: int) -> tuple[Array, float]:
    """Multipliers of the blocks' own best shapes when a record is in at most m of them, and the total; both rounded up.

        Σ_b = multiplier_b · Σ_b*,   multiplier_b = √π_b V / √T_b,   V = Σ √(T_b π_b),   total V²

    Guarantee: the m largest 1/multiplier_b add up to at most 1; optimal under add-remove.
    Requires (checked): finite totals ≥ 0, 1 ≤ m. A block with total 0 has nothing to hide (multiplier 1).

    >>> multipliers, total = blocks([100.0, 1.0, 1.0], at_most=2)
    >>> round(total, 6)
    130.284271
    """
    T = np.asarray(totals, dtype=np.float64)
    if T.ndim != 1 or not (np.isfinite(T).all() and (T >= 0).all()):
        what = "totals that are negative or not finite"
        raise PlanError(what, "one total ≥ 0 per block", "plan the blocks first", code="totals-out-of-range")
    multipliers, total = diagonal(np.ones(len(T)), T, at_most)
    multipliers[T == 0] = 1.0
    return multipliers, total


def _roots(a: Array, at_most: int) -> Array:
    """√π_j / a_j: 1/a_j for the t largest, √((k−t)/R) for the rest, R = Σ a_j² over the rest.

    t is the least number with (k−t) a²_{t+1} ≤ R; t = k−1 always has it. Dividing by a_j first keeps coordinates whose
    square is too small for a double.
    """
    if at_most < 1:
        rule = "a record touches at least one part"
        raise PlanError(f"at_most={at_most}", rule, "use at_most=1 or more", code="at-most-below-one", at_most=at_most)
    k = min(at_most, len(a))
    order = np.argsort(-a, kind="stable")
    unit = float(a[order[0]])
    squares = (a[order] / unit) ** 2
    rest = np.cumsum(squares[::-1])[::-1]  # from the smallest up, so that small ones count
    t = int(np.argmax((k - np.arange(k)) * squares[:k] <= rest[:k]))
    roots = np.empty(len(a))
    roots[order[:t]] = 1.0 / a[order[:t]]
    roots[order[t:]] = math.sqrt((k - t) / rest[t]) / unit
    return roots


def _excess(ratios: Array, at_most: int) -> float:
    """The sum of the k largest ratios, rounded up: what the variances must grow by."""
    k = min(at_most, len(ratios))
    largest = np.partition(ratios, len(ratios) - k)[len(ratios) - k :]
    return float(largest.sum()) * (1.0 + _ROUNDING)

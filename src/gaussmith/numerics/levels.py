"""Counts of at most k ones together with a secret number of records: symmetric in all coordinates but the last.

A record is (x, 1) with x in {0,1}^d, j ≤ k ones. Swapping coordinates changes nothing, so the best shape is

    a₂² (I − 11ᵀ/d)   across,   and a 2 × 2 block for (Σx/√d, √e·1),

e being the weight of the number of records. By its level j a record has squared size j(d−j)/d across, and the point
(j/√d, √e) in the block. The same problem, with every record of a level as one, has three coordinates:

    (± √((d−1) j(d−j)/d),  j/√d,  √e),      j = 0 … k,

and is solved as such: the first coordinate stands for the d−1 directions across, and its sign is free.
"""

from __future__ import annotations

import math

import numpy as np

from gaussmith.numerics.linear import Array, Exchangeable
from gaussmith.numerics.optimum import solve
from gaussmith.values import dataclass

GAP = 1e-6
"""Relative gap to the certified optimum for the three coordinates."""


@dataclass(frozen=True, eq=False)
class CountedLevels:
    """A shape at μ = 1 up to its last rounding: the caller certifies the largest norm of the lift and scales it.

    `lift` acts on (Σx, n) and `decode` takes lifted coordinates back to (Σx, n); `levels` and `shares` are the law that
    proves that no Gaussian noise has a total below `lower`.
    """

    lift: Exchangeable
    decode: Exchangeable
    levels: Array
    shares: Array
    lower: float


def counted(dimension: int, at_most: int, extra: float) -> CountedLevels:
    """The best shape for d counts and the number of records, whose squared error counts `extra` times, add-remove.

    Requires (owed): 1 ≤ at_most ≤ dimension, extra > 0.

    >>> best = counted(2, 2, 1.0)
    >>> round(best.lower, 3)                            # all four records (x, 1), solved one by one
    4.949
    """
    d, k = dimension, at_most
    j = np.arange(k + 1.0)
    z, u = np.sqrt((d - 1) * j * (d - j) / d), j / math.sqrt(d)
    t = np.full(k + 1, math.sqrt(extra))
    both = z > 0
    points = np.vstack([np.column_stack([z, u, t]), np.column_stack([-z, u, t])[both]])
    best = solve(points, gap=GAP)
    share = best.weights[: k + 1].copy()
    share[both] += best.weights[k + 1 :]
    share /= share.sum()
    return _shape(d, extra, j, share)


def _shape(d: int, extra: float, j: Array, share: Array) -> CountedLevels:
    across = float(share @ ((d - 1) * j * (d - j) / d))
    first, second = float(share @ j), float(share @ (j * j))
    B = np.array([[second / d, first * math.sqrt(extra / d)], [first * math.sqrt(extra / d), extra]])
    # √B = (B + √det·I)/√(tr B + 2√det), and det = e·Var(j)/d without cancellation.
    variance = float(share @ ((j - first) ** 2))
    det = math.sqrt(extra * variance / d)
    trace_block = math.sqrt(B[0, 0] + B[1, 1] + 2 * det)
    trace = math.sqrt(across) + trace_block
    inverse = np.array([[B[1, 1] + det, -B[0, 1]], [-B[0, 1], B[0, 0] + det]]) / (det * trace_block * trace)
    g1 = math.sqrt(inverse[0, 0])
    g2 = inverse[0, 1] / g1
    # The corner of the triangular factor from the determinant: subtracting squares would lose digits.
    h = 1.0 / (math.sqrt(det) * trace * g1)
    a = math.sqrt((d - 1) / (trace * math.sqrt(across))) if across > 0 else g1
    c, f = g2 * math.sqrt(extra / d), h * math.sqrt(extra)
    lift = Exchangeable(d, a, (g1 - a) / d, c, (0.0, f))
    decode = Exchangeable(d, 1 / a, (1 / g1 - 1 / a) / d, -c / (g1 * f), (0.0, 1 / f))
    return CountedLevels(lift, decode, j, share, trace * trace * (1.0 - 2.0**-40))

"""Where a search over all pairs of many points in a row begins: at the best weights of every second point.

Points that follow each other, such as the cells of prefix sums, have nearly the weights of their neighbours. So the
pairs of every second point are solved first, from every fourth, and so on; what is found is spread over neighbours. A
start cannot harm: the search goes on from it over all pairs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.optimum import solve
from gaussmith.numerics.search import Progress

Array = npt.NDArray[np.float64]

FEW = 1024
"""Points whose pairs are searched from even weights."""


def start_in_a_row(points: Array, gap: float, progress: Progress | None = None) -> Array | None:
    """Weights of all pairs of points that follow each other, in the order of `numpy.triu_indices`; None for few.

    >>> start_in_a_row(np.eye(3), 1e-3) is None
    True
    """
    n = len(points)
    if n <= FEW:
        return None
    some = points[::2]
    start = start_in_a_row(some, gap, progress)
    found = solve(some, pairs=True, gap=gap, start=start, progress=progress)
    weights = np.zeros((len(some),) * 2)
    weights[np.triu_indices(len(some), 1)] = found.weights
    first, second = np.triu_indices(n, 1)
    return np.asarray(weights[first // 2, second // 2])

"""The line cut into cells, of which noisy counts are seen: signed powers of two, or cells of one width.

Edges are exact doubles, so that every engine decides by the same comparisons. What lies beyond the outer edges is in
open cells; here these get an end too, one cell away, because a bound must lie somewhere.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from gaussmith.values import dataclass

FIRST, LAST = -20, 40
"""The exponents of the first and the last power of two."""

ZOOM_CELLS = 16
"""How many cells of one width a zoom has inside its ends."""


@dataclass(frozen=True)
class Line:
    """Cells by their inner edges, with the lower and the upper end of each."""

    edges: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    is_zoomed: bool

    @property
    def cells(self) -> int:
        return len(self.lower)


def powers_of_two() -> Line:
    """123 cells with the edges ±2^k, k = −20 … 40. The one in the middle holds 0, and its ends count as 0.

    >>> line = powers_of_two()
    >>> line.cells, line.lower[61], line.upper[61], line.lower[62] == 2**-20, line.upper[-1] == 2**41
    (123, 0.0, 0.0, True, True)
    """
    powers = [2.0**k for k in range(FIRST, LAST + 1)]
    edges = (*(-p for p in reversed(powers)), *powers)
    far = 2.0 ** (LAST + 1)
    lower, upper = [-far, *edges], [*edges, far]
    middle = len(powers)
    lower[middle] = upper[middle] = 0.0
    return Line(edges, tuple(lower), tuple(upper), False)


def equal_line(low: float, high: float) -> Line | None:
    """Cells of one width from `low` to `high`; None where doubles are too coarse for so many.

    >>> equal_line(0.0, 32.0).edges[:3]
    (0.0, 2.0, 4.0)
    """
    a, b = Fraction(low), Fraction(high)
    edges = tuple(float(a + (b - a) * i / ZOOM_CELLS) for i in range(ZOOM_CELLS + 1))
    width = (b - a) / ZOOM_CELLS
    ends = float(a - width), float(b + width)
    if not all(x < y for x, y in itertools.pairwise((ends[0], *edges, ends[1]))):
        return None
    return Line(edges, (ends[0], *edges), (*edges, ends[1]), True)

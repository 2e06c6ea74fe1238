"""How a mean of vectors of which nothing is known divides its budget, from public numbers alone."""

from __future__ import annotations

from gaussmith.values import dataclass

PRECISIONS = (0.05, 0.05, 0.035)
"""The standard deviation of a cell in stages 1 to 3 that is aimed at, as a part of all people."""
LEVEL_PRECISION = 0.01
LEAST, MOST = 0.003, 0.08
LEVEL_LEAST, LEVEL_MOST = 0.01, 0.02


@dataclass(frozen=True)
class VectorShares:
    """Shares of μ²: of the three looks at the columns, and of the histogram of Q; the rest is for the sum."""

    columns: tuple[float, float, float]
    level: float

    @property
    def left(self) -> float:
        return 1.0 - sum(self.columns) - self.level


def vector_shares(dimension: int, mu: float, rows: float, public: bool) -> VectorShares:
    """s_i = k² d/(μ w_i n₀)² within limits; k² is 2 where the number of people is public (replace-one), else 1.

    >>> vector_shares(16, 1.0, 4000.0, public=True)
    VectorShares(columns=(0.003, 0.003, 0.003), level=0.01)
    """
    squared = 2.0 if public else 1.0
    first, second, third = (min(max(squared * dimension / (mu * w * rows) ** 2, LEAST), MOST) for w in PRECISIONS)
    last = min(max(squared / (mu * LEVEL_PRECISION * rows) ** 2, LEVEL_LEAST), LEVEL_MOST)
    return VectorShares((first, second, third), last)

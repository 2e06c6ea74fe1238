"""Codes of the second moments of a ball: columns are cut into about 2^21 steps, and products are of those codes.

With y the code of a ball, ‖y‖ ≤ 2^42, and F = 2^21 − ⌈√d⌉ a column becomes c = floor(y·F/2^42 + ½): rounding adds √d/2
at most to the norm, so that ‖c‖ ≤ 2^21 and ‖ccᵀ‖ ≤ 2^42. A product stands for radius²·c_i c_j / F².
"""

from __future__ import annotations

import math

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.numerics.products import Words
from gaussmith.problem.codes import BallCodes, Codes
from gaussmith.problem.sql import Step, literal
from gaussmith.values import dataclass

STEPS = 1 << 21
EXACT_ROWS = 1 << 11
"""Limit on the products that add up exactly in doubles: 2^11 · 2^42 = 2^53."""


@dataclass(frozen=True, eq=False)
class BallMomentCodes(Codes):
    """The coding of products of two numbers of a record; `pairs` says of which.

    >>> codes = BallMomentCodes(BallCodes(np.zeros(2), 5.0), ((0, 0), (0, 1), (1, 1)))
    >>> (codes.encode(np.array([[3.0, -4.0]])) / codes.full**2 * 25).round(4)
    array([[  9., -12.,  16.]])
    """

    base: BallCodes
    pairs: tuple[tuple[int, int], ...]

    @property
    def columns(self) -> int:
        return self.base.columns

    @property
    def width(self) -> int:
        return len(self.pairs)

    @property
    def full(self) -> float:
        """F: the code of a column that is as long as the radius."""
        return float(STEPS - math.isqrt(self.base.columns - 1) - 1)

    @property
    def stretch(self) -> float:
        """What core 1 stands for, in units of radius²."""
        return (STEPS / self.full) ** 2

    @property
    def extents(self) -> Array:
        return np.full(self.width, float(STEPS) ** 2)

    def _columns_of(self, rows: Array) -> Array:
        return np.asarray(np.floor(self.base.encode(rows).astype(float) * (self.full * 2.0**-42) + 0.5))

    def encode(self, rows: Array) -> Words:
        c = self._columns_of(rows).astype(np.int64)
        first, second = np.array(self.pairs, np.int64).T
        return np.asarray(c[:, first] * c[:, second])

    def sum_rows(self, rows: Array) -> Words:
        c = self._columns_of(rows)
        table = np.zeros((self.columns,) * 2, np.int64)
        for start in range(0, len(c), EXACT_ROWS):
            piece = c[start : start + EXACT_ROWS]
            table += (piece.T @ piece).astype(np.int64)
        first, second = np.array(self.pairs, np.int64).T
        return np.asarray(table[first, second])

    def spell(self, which: range) -> list[Step]:
        """As `encode`: the codes of the ball in all columns that are needed, these rounded, then products."""
        ends = {j: self.pairs[j] for j in which}
        needed = sorted({i for pair in ends.values() for i in pair})
        factor = literal(self.full * 2.0**-42)
        *steps, coded = self.base.spell(range(self.columns))
        kept = [text for text in coded if int(text.rpartition(" c")[2]) in needed]
        rounded = [f"floor(c{i} * {factor} + 0.5D) v{i}" for i in needed]
        made = [f"cast(cast(v{i} as double) * cast(v{k} as double) as bigint) c{j}" for j, (i, k) in ends.items()]
        return [*steps, kept, rounded, made]

"""Codes of squares and products: columns are cut into 2^20 to 2^21 steps, and squares and products are of those codes.

A product of two codes has at most 42 bits. The sums beside them add up the same codes, so that a record is one point
(c, c_i c_j) of a grid, and what it adds around the middle is exact: with v = 2c − steps

    v_i v_j = 4 c_i c_j − 2 steps_j c_i − 2 steps_i c_j + steps_i steps_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.numerics.products import Integers, Words
from gaussmith.problem.codes import BITS, BoxCodes, Codes
from gaussmith.problem.sql import Step
from gaussmith.values import dataclass

MOMENT_BITS = 20
"""At least 2^20 steps lie between the bounds of a column, and at most 2^21."""

EXACT_ROWS = 1 << 11
"""Limit on the products that add up exactly in doubles: 2^11 · 2^42 = 2^53."""

Pairs = tuple[tuple[int, int], ...]


def coarse_codes(lower: Array, upper: Array, substitute: Array, names: Sequence[str] | None) -> BoxCodes:
    """The codes of a box, in 2^21 times wider steps."""
    fine = BoxCodes.for_bounds(lower, upper, substitute, names)
    wider = 2.0 ** (BITS - MOMENT_BITS)
    scale, steps = fine.scale / wider, np.floor(fine.steps / wider)
    top = np.minimum(fine.top, np.nextafter(fine.low + steps / scale, np.inf))
    for _ in range(4):
        over = np.floor((top - fine.low) * scale + 0.5) > steps
        top = np.where(over, np.nextafter(top, fine.low), top)
    return replace(fine, top=top, scale=scale, steps=steps.astype(np.int64))


@dataclass(frozen=True, eq=False)
class MomentCodes(Codes):
    """The coding of values, and of products of two values: `pairs` says of which; a square is a pair of one column.

    >>> codes = MomentCodes(coarse_codes(np.zeros(1), np.full(1, 64.0), np.zeros(1), None), ((0, 0),))
    >>> codes.encode(np.array([[3.0]])) / codes.base.scale ** [1, 2]
    array([[3., 9.]])
    """

    base: BoxCodes
    pairs: Pairs

    @property
    def columns(self) -> int:
        return self.base.columns

    @property
    def width(self) -> int:
        return self.base.columns + len(self.pairs)

    @cached_property
    def _ends(self) -> tuple[Words, Words]:
        first, second = np.array(self.pairs, np.int64).reshape(-1, 2).T
        return first, second

    @property
    def extents(self) -> Array:
        """The largest absolute core integer of one record; a product has at most 42 bits, which a double holds."""
        steps = self.base.steps.astype(float)
        first, second = self._ends
        return np.concatenate([steps, steps[first] * steps[second]])

    def centred(self, sums: Integers, records: int) -> list[int]:
        """The summed core: values and products measured from the middle of the bounds."""
        whole, steps, d = [int(s) for s in sums], self.base.steps.tolist(), self.columns
        found = [2 * whole[j] - records * steps[j] for j in range(d)]
        for at, (i, j) in enumerate(self.pairs, start=d):
            crossed = 2 * (steps[j] * whole[i] + steps[i] * whole[j])
            found.append(4 * whole[at] - crossed + records * steps[i] * steps[j])
        return found

    def encode(self, rows: Array) -> Words:
        codes = self.base.encode(rows)
        first, second = self._ends
        return np.hstack([codes, codes[:, first] * codes[:, second]])

    def sum_rows(self, rows: Array) -> Words:
        """The summed integers of an array of records: whole doubles below 2^53, exact in any order."""
        codes = self.base.encode(rows).astype(float)
        values, table = np.zeros(self.columns, np.int64), np.zeros((self.columns,) * 2, np.int64)
        for start in range(0, len(codes), EXACT_ROWS):
            piece = codes[start : start + EXACT_ROWS]
            values += piece.sum(axis=0).astype(np.int64)
            table += (piece.T @ piece).astype(np.int64)
        return np.concatenate([values, table[self._ends]])

    def spell(self, which: range) -> list[Step]:
        """As `encode`: the codes of all columns that are needed, then products of whole doubles below 2^42."""
        d = self.columns
        ends = {j: (j,) if j < d else self.pairs[j - d] for j in which}
        needed = sorted({i for pair in ends.values() for i in pair})
        known, coded = zip(*(self.base.spell(range(i, i + 1)) for i in needed), strict=True)
        renamed = [f"{text[0].rpartition(' ')[0]} v{i}" for i, text in zip(needed, coded, strict=True)]
        made = [f"cast({' * '.join(f'cast(v{i} as double)' for i in pair)} as bigint) c{j}" for j, pair in ends.items()]
        return [[text[0] for text in known], renamed, made]

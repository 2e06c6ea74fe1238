"""How records that are counted, ranked or sparse become whole numbers.

Each coding here is a total rule that looks at one record alone: whatever a record holds, its integers lie in the domain
that was planned for, or in its convex hull, where no norm is larger. Rows are numbers, NaN for what is missing.

    CountCodes    1 where the value is above zero; of more than k ones the first k in declared order stay
    VoteCodes     twice the number of candidates ranked below; a ballot that is no ranking counts as no preference
    SparseCodes   clamped to ±bound, rounded to a power of two; of more than k non-zeros the k largest stay
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.codes import BoxCodes

Array = npt.NDArray[np.float64]
Words = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CountCodes:
    """Which of d items a record has: 1 where the value is above zero, 0 else; missing is 0.

    Of more than `at_most` ones the first in declared order stay.

    >>> CountCodes(4, 2).encode(np.array([[1.0, 0.0, 1.0, 1.0], [np.nan, -3.0, 0.5, np.inf]])).tolist()
    [[1, 0, 1, 0], [0, 0, 1, 1]]
    """

    columns: int
    at_most: int

    @property
    def width(self) -> int:
        return self.columns

    @property
    def extents(self) -> Array:
        return np.ones(self.columns)

    def centred(self, sums: Sequence[int], records: int) -> Sequence[int] | Words:
        return sums

    def encode(self, rows: Array) -> Words:
        ones = rows > 0
        return (ones & (np.cumsum(ones, axis=1) <= self.at_most)).astype(np.int64)


@dataclass(frozen=True)
class VoteCodes:
    """A ranking of d candidates as points: the columns hold ranks, 1 the best; each gets those ranked below it, twice.

    A ballot that does not use each of the ranks 1 … d once gives everyone d−1, twice the mean number of points: it lies
    in the middle of all rankings, so that it needs no more noise and favours nobody.

    >>> VoteCodes(3).encode(np.array([[1.0, 3.0, 2.0], [1.0, 1.0, 2.0]])).tolist()
    [[4, 0, 2], [2, 2, 2]]
    """

    columns: int

    @property
    def width(self) -> int:
        return self.columns

    @property
    def extents(self) -> Array:
        return np.full(self.columns, 2.0)

    def centred(self, sums: Sequence[int], records: int) -> Sequence[int] | Words:
        return sums

    def encode(self, rows: Array) -> Words:
        d = self.columns
        valid = (np.sort(rows, axis=1) == np.arange(1.0, d + 1)).all(axis=1)  # NaN is sorted last and equals nothing
        ranks = np.where(valid[:, None], rows, (d + 1) / 2)
        return (2 * (d - ranks)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """A sparse vector: each value clamped to ±bound and rounded to a whole number of steps, a power of two each.

    Of more than `at_most` non-zero codes those stay whose values are largest in size after clamping, ties to the
    earlier coordinate. Missing values are 0; ±inf clamps.

    >>> codes = SparseCodes.for_bounds([1.0, 1.0, 8.0], 2)
    >>> (codes.encode(np.array([[0.5, -2.0, 3.0], [0.25, np.nan, 0.0]])) / codes.sizes.scale).tolist()
    [[0.0, -1.0, 3.0], [0.25, 0.0, 0.0]]
    """

    sizes: BoxCodes
    at_most: int

    @classmethod
    def for_bounds(cls, bounds: npt.ArrayLike, at_most: int, names: Sequence[str] | None = None) -> SparseCodes:
        """The codes of coordinates within ±bounds; refuses bounds that doubles cannot divide."""
        b = np.array(bounds, float)
        return cls(BoxCodes.for_bounds(np.zeros(len(b)), b, np.zeros(len(b)), names), at_most)

    @property
    def columns(self) -> int:
        return len(self.sizes.low)

    @property
    def width(self) -> int:
        return self.columns

    @cached_property
    def extents(self) -> Array:
        return self.sizes.steps.astype(float)

    def centred(self, sums: Sequence[int], records: int) -> Sequence[int] | Words:
        return sums

    def encode(self, rows: Array) -> Words:
        x = np.where(np.isnan(rows), 0.0, rows)
        size = np.minimum(np.abs(x), self.sizes.top)
        codes = (size * self.sizes.scale + 0.5).astype(np.int64)
        size[codes == 0] = 0.0
        if (np.count_nonzero(size, axis=1) > self.at_most).any():
            order = np.argsort(-size, axis=1, kind="stable")
            np.put_along_axis(codes, order[:, self.at_most :], 0, axis=1)
        return np.where(x < 0, -codes, codes)


RowCodes = CountCodes | VoteCodes | SparseCodes
"""Codings that read rows of numbers."""

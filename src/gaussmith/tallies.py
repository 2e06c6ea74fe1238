"""How records that are counted, ranked or sparse become whole numbers.

Each coding here is a total rule that looks at one record alone: whatever a record holds, its integers lie in the domain
that was planned for, or in its convex hull, where no norm is larger. Rows are numbers, NaN for what is missing.

    CountCodes    1 where the value is above zero; of more than k ones the first k in declared order stay
    VoteCodes     twice the number of candidates ranked below; a ballot that is no ranking counts as no preference
    SparseCodes   clamped to ±bound, rounded to a power of two; of more than k non-zeros the k largest stay
    CellCodes     the cell that the values of a record name; undeclared values have a stand-in, or no cell at all
    PointCodes    the nearest of the declared points
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.codes import BoxCodes
from gaussmith.numerics.products import Integers

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

    def centred(self, sums: Integers, records: int) -> Integers:
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

    def centred(self, sums: Integers, records: int) -> Integers:
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

    def centred(self, sums: Integers, records: int) -> Integers:
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


@dataclass(frozen=True)
class CellCodes:
    """Which cell of each of some marginals a record is in. The columns hold the places of values, −1 for undeclared.

    `ways` lists the attributes of each marginal, `others` what an undeclared value counts as; None: it is in no cell.

    >>> CellCodes((3, 2), ((0, 1),), (2, 0)).encode(np.array([[0, 1], [-1, 1]])).tolist()
    [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    """

    sizes: tuple[int, ...]
    ways: tuple[tuple[int, ...], ...]
    others: tuple[int, ...] | None

    @property
    def columns(self) -> int:
        return len(self.sizes)

    @cached_property
    def widths(self) -> list[int]:
        """The cells of each marginal."""
        return [math.prod(self.sizes[i] for i in way) for way in self.ways]

    @property
    def width(self) -> int:
        return sum(self.widths)

    @property
    def extents(self) -> Array:
        return np.ones(self.width)

    def centred(self, sums: Integers, records: int) -> Integers:
        return sums

    def add_counts(self, counts: Words, places: Words, weights: Words | None = None) -> None:
        """Add to `counts` how many records are in each cell; `weights` says how often each row occurs."""
        if self.others is None:
            declared = np.asarray((places >= 0).all(axis=1))
            places, weights = places[declared], None if weights is None else weights[declared]
        else:
            places = np.where(places >= 0, places, np.array(self.others))
        start = 0
        for way, width in zip(self.ways, self.widths, strict=True):
            at = np.zeros(len(places), np.int64)
            for i in way:
                at = at * self.sizes[i] + places[:, i]
            if weights is None:
                counts[start : start + width] += np.bincount(at, minlength=width)
            else:
                np.add.at(counts[start : start + width], at, weights)
            start += width

    def encode(self, rows: npt.NDArray[np.int64]) -> Words:
        found = np.zeros((len(rows), self.width), np.int64)
        for counts, row in zip(found, rows, strict=True):
            self.add_counts(counts, row[None])
        return found


@dataclass(frozen=True, eq=False)
class PointCodes:
    """Which of the declared points a record is: the nearest, in units of each coordinate's spread; ties to the earlier.

    A record with a missing value is the first point. Infinite values are taken as the largest number there is.

    >>> PointCodes(np.array([[0.0, 0.0], [1.0, 500.0]])).encode(np.array([[0.9, 480.0], [np.nan, 500.0]])).tolist()
    [[0, 1], [1, 0]]
    """

    points: Array

    @property
    def columns(self) -> int:
        return int(self.points.shape[1])

    @property
    def width(self) -> int:
        return len(self.points)

    @property
    def extents(self) -> Array:
        return np.ones(len(self.points))

    def centred(self, sums: Integers, records: int) -> Integers:
        return sums

    @cached_property
    def unit(self) -> Array:
        """What each coordinate is measured in: its spread."""
        spread = np.ptp(self.points, axis=0)
        return np.where(spread > 0, spread, 1.0)

    def place(self, rows: Array) -> Words:
        """Where the point of each record stands."""
        missing = np.asarray(np.isnan(rows).any(axis=1))
        x = np.where(missing[:, None], self.points[0], rows) / self.unit
        best = np.full(len(rows), np.inf)
        at = np.zeros(len(rows), np.int64)
        for i, point in enumerate(self.points / self.unit):
            # One operation at a time, coordinate by coordinate: a record's point must not depend on its neighbours.
            distance = np.zeros(len(rows))
            for j in range(len(point)):
                step = np.minimum(np.abs(x[:, j] - point[j]), 1e150)
                distance = distance + step * step
            nearer = distance < best
            best[nearer], at[nearer] = distance[nearer], i
        return at

    def encode(self, rows: Array) -> Words:
        found = np.zeros((len(rows), self.width), np.int64)
        found[np.arange(len(rows)), self.place(rows)] = 1
        return found


RowCodes = CountCodes | VoteCodes | SparseCodes | PointCodes
"""Codings that read rows of numbers."""


def sum_rows(codes: RowCodes, rows: Array) -> Words:
    """The summed integers of an array of records; points are counted, not written out."""
    if isinstance(codes, PointCodes):
        return np.bincount(codes.place(rows), minlength=codes.width)
    return np.asarray(codes.encode(rows).sum(axis=0))

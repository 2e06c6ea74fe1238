"""A choice instead of noise: which cell holds a quantile, by the exponential mechanism, exact in law.

Cells are in order; a sparse table says how many people are in those that somebody is in. With b people below a cell
and e below its end, its distance from the quantile q of n people is

    d = max(0, b − qn, qn − e),    and the cell is chosen with probability ∝ e^{−εd/(2Δ)}.

d is 0 in the one cell where the quantile is, and in an empty cell it is |(1−q)·below − q·above|. Adding a person
changes b − qn by 1 − q or −q, and e − qn as well; the largest of numbers changes by no more than each of them, so
Δ = max(q, 1−q); for a person replaced Δ = 1 (`privacy.choices`).

A law has a variance, and is added; a choice has none, and needs all ranks. So it is a protocol of its own: `Selection`.

Between two cells in which somebody is all cells have one distance, so a draw takes as long as there are such cells,
however many are empty. Doubles decide where a uniform real falls unless it is too near an end; then integers that
enclose all weights, and more digits of the same real, do.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gaussmith.noise.reals import Enclosure, Real, Words, exponential, uniform_integers

Places = npt.NDArray[np.int64]

FARTHEST = 700.0
"""Weights below e^−700 of the largest are computed as if they were as large; they count less than one unit."""

BITS = 61
"""All weights together are about 2^60 to 2^61 units, and never more: words hold their sums."""

ERROR = 40
"""No computed weight is off by more than 2^−40 of itself: of the exponent, below 700, three roundings (2^−42), and of
the exponential fewer than 2^−45."""

SPARE = 32
"""Enclosures of sums are made with so many more bits than asked: each term may be a few units wide."""


@dataclass(frozen=True, eq=False)
class Occupied:
    """How many people are in each cell that somebody is in: places in increasing order, and counts above 0."""

    places: Places
    counts: Places
    cells: int
    """How many cells there are."""

    @classmethod
    def of(cls, places: npt.ArrayLike, counts: npt.ArrayLike, cells: int) -> Occupied:
        """From places in any order, also several times, and counts that may be 0.

        >>> Occupied.of([5, 2, 5], [1, 0, 2], 8)
        Occupied(places=array([5]), counts=array([3]), cells=8)
        """
        at, inverse = np.unique(np.asarray(places, np.int64), return_inverse=True)
        total = np.zeros(len(at), np.int64)
        np.add.at(total, inverse, np.asarray(counts, np.int64))
        return cls(at[total > 0], total[total > 0], cells)

    @property
    def people(self) -> int:
        return int(self.counts.sum())

    def below(self, edges: npt.ArrayLike) -> Places:
        """How many people are in cells before each of these.

        >>> Occupied.of([5, 2], [1, 2], 8).below([0, 3, 8]).tolist()
        [0, 2, 3]
        """
        sums = np.concatenate([[0], np.cumsum(self.counts)])
        return np.asarray(sums[np.searchsorted(self.places, np.asarray(edges, np.int64), side="left")])


class Selection(Protocol):
    """A choice of a cell among all cells of a table that is exactly ε-DP; `privacy.choices` says what μ that is."""

    def __hash__(self) -> int: ...

    @property
    def epsilon(self) -> Fraction: ...

    def sample(self, table: Occupied, times: int, words: Words) -> Places:
        """So many independent choices, exactly of this law. Each is charged."""


@dataclass(frozen=True)
class RankSelection:
    """The cell that holds a quantile, by the exponential mechanism over ranks.

    Guarantee: if one person changes #below − level·n by at most `sensitivity` at every edge, what is chosen is exactly
    ε-DP: weights change by factors whose logarithms lie within a range of ε.
    Requires (owed): 0 < ε ≤ 100, 0 < level < 1, sensitivity > 0, fewer than 2^42 people, denominators of levels ≤ 2^20.

    >>> from gaussmith.noise.keystream import Keystream
    >>> median = RankSelection(Fraction(1, 2), Fraction(50), Fraction(1, 2))
    >>> median.sample(Occupied.of([700, 500, 900], [1, 1, 1], 1000), 3, Keystream().words).tolist()
    [700, 700, 700]
    """

    level: Fraction
    epsilon: Fraction
    sensitivity: Fraction

    def sample(self, table: Occupied, times: int, words: Words) -> Places:
        """So many independent cells, one draw each."""
        runs = runs_of(table, self.level)
        rate = self.epsilon / (2 * self.sensitivity * self.level.denominator)
        at = draw_runs(runs, rate, times, words)
        return np.asarray(runs.starts[at] + uniform_integers(runs.sizes[at] - 1, 1, words))


@dataclass(frozen=True, eq=False)
class EvenCells:
    """Cells that follow each other and have one distance: where they start, how many, and how far off they are.

    Distances are whole numbers, in units of one person over the denominator of the level.
    """

    starts: Places
    sizes: Places
    distances: Places


def runs_of(table: Occupied, level: Fraction) -> EvenCells:
    """The runs of a table: a gap, a cell in which somebody is, a gap, …; gaps without cells are left out.

    >>> runs = runs_of(Occupied.of([2, 3], [3, 1], 6), Fraction(1, 2))
    >>> runs.starts.tolist(), runs.sizes.tolist(), runs.distances.tolist()
    ([0, 2, 3, 4], [2, 1, 1, 2], [4, 0, 2, 4])
    """
    m = len(table.places)
    sums = np.concatenate([[0], np.cumsum(table.counts)])
    ranks = level.denominator * sums - level.numerator * sums[-1]  # before the first cell, and after each
    starts, sizes, distances = (np.empty(2 * m + 1, np.int64) for _ in range(3))
    starts[1::2], sizes[1::2] = table.places, 1
    starts[0], starts[2::2] = 0, table.places + 1
    sizes[0::2] = np.append(table.places, table.cells) - starts[0::2]
    distances[0::2] = np.abs(ranks)
    distances[1::2] = np.maximum(0, np.maximum(ranks[:-1], -ranks[1:]))
    kept = sizes > 0
    return EvenCells(starts[kept], sizes[kept], distances[kept])


def draw_runs(runs: EvenCells, rate: Fraction, times: int, words: Words) -> Places:
    """So many independent numbers of runs, each with probability ∝ size · e^{−rate·distance}.

    A uniform real from 0 to 2^61 chooses the run in whose piece it falls, and is drawn again beyond the last.
    Guarantee: given uniform words the law is exact.
    """
    beyond = runs.distances - runs.distances.min()
    weights = np.exp(-np.minimum(beyond * float(rate), FARTHEST)) * runs.sizes
    exponent = int(
        np.frexp(weights.sum() * (1 + 2.0**-30))[1]
    )  # all weights are below 2^exponent, however they were rounded
    ends = np.cumsum(np.floor(np.ldexp(weights, BITS - exponent)).astype(np.int64))
    # Of each piece less than one unit was cut off, and each weight may be off by a 2^−40th.
    slack = (ends >> ERROR - 1) + 2 * np.arange(1, len(ends) + 1) + 2
    surely = np.maximum.accumulate(ends - slack)
    exact = Pieces(runs.sizes, beyond, rate, exponent)
    found = np.empty(times, np.int64)
    waiting = np.arange(times)
    while len(waiting):
        drawn = words(len(waiting)) >> np.uint64(64 - BITS)
        x = drawn.view(np.int64)
        first = np.searchsorted(ends + slack, x, side="right")  # all before lie below x for certain
        last = np.searchsorted(surely, x, side="right")  # this one's end lies above x for certain
        for i in np.flatnonzero(first != last):
            first[i] = settle(Real(int(drawn[i]), BITS, lambda: int(words(1)[0])), exact, int(first[i]), int(last[i]))
        found[waiting] = first
        waiting = waiting[first == len(ends)]
    return found


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of an interval of length 1, as exact as is asked: their ends are sums of weights over 2^exponent."""

    sizes: Places
    beyond: Places
    rate: Fraction
    exponent: int

    def end(self, last: int) -> Enclosure:
        """Integers around the end of a piece."""

        def enclose(precision: int) -> tuple[int, int]:
            work = max(precision - self.exponent, 0) + SPARE
            low = high = 0
            for size, beyond in zip(self.sizes[: last + 1].tolist(), self.beyond[: last + 1].tolist(), strict=True):
                each = exponential(self.rate * beyond)(work) if beyond else (1 << work, 1 << work)
                low, high = low + size * each[0], high + size * each[1]
            shift = work - (precision - self.exponent)
            return low >> shift, -(-high >> shift)

        return enclose


def settle(real: Real, pieces: Pieces, first: int, last: int) -> int:
    """The piece in which a real falls, between two; whatever digits of it that takes. As many as there are: beyond all.

    >>> pieces = Pieces(np.array([1, 1]), np.array([0, 1]), Fraction(1), 1)  # ends at 0.5 and 0.5 + 0.5/e = 0.68
    >>> [settle(Real(place, 3, lambda: 1 << 63), pieces, 0, 2) for place in (3, 4, 5, 6)]
    [0, 1, 2, 2]
    """
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if real.lies_below(pieces.end(middle)) else (middle + 1, last)
    return first

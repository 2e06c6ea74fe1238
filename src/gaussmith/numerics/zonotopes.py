"""The vertices of a zonotope {H z : |z_j| ≤ 1} in a few dimensions, all of them, found in exact arithmetic.

A vertex is where some direction u is largest: z_j = sign(uᵀh_j), u on none of the planes uᵀh_j = 0. So vertices are
the regions that these planes cut out of space, and each region has an edge, a line ±u on k−1 independent planes. There

    z_j = sign(uᵀh_j) off the planes through u,    any region of those planes among themselves on them.

Every set of k−1 generators is tried. Its u is made of determinants; their signs come from doubles where these are
beyond doubt, else from whole numbers, so that no region is overlooked and no tie is guessed. Generators that are
multiples of each other are one plane. With D planes in general position there are 2 Σ_{i<k} C(D−1, i) vertices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array, integer_rows

Bits = npt.NDArray[np.uint8]
Columns = list[tuple[int, ...]]

MAX_VERTICES = 20_000
"""Limit on the vertices that are visited."""

MAX_RANK = 14
"""Limit on dimensions: so many have 2^14 vertices with no more generators than dimensions."""

MAX_ROWS = 128
"""Limit on the coordinates that generators are given in, however few dimensions they span."""

MAX_SIGNS = 1 << 25
"""Limit on the signs that are looked at on the way there: regions are found several times each."""

_UNIT = 2.0**-53
_CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class Vertices:
    """Half of the vertices of a zonotope as signs: the other half has the opposite ones.

    `plane[j]` says which of the distinct planes generator j stands for (−1: it is zero), `facing[j]` on which side.
    """

    packed: Bits
    planes: int
    plane: npt.NDArray[np.int64]
    facing: Array

    @property
    def size(self) -> int:
        """How many there are, both halves together."""
        return 2 * len(self.packed)

    def blocks(self) -> Iterator[Array]:
        """The signs of the planes, one vertex a row, so many at a time that they fit into memory."""
        rows = max(1, _CHUNK // max(1, self.planes))
        for start in range(0, len(self.packed), rows):
            yield self._signs(self.packed[start : start + rows])

    def gathered(self, columns: Array) -> Array:
        """What each plane's sign is multiplied by, where sign j is multiplied by column j."""
        found = np.zeros((len(columns), self.planes))
        used = self.plane >= 0
        np.add.at(found.T, self.plane[used], (columns * self.facing).T[used])
        return found

    def points(self, columns: Array) -> Array:
        """Half of the vertices themselves, one a row, of the zonotope of columns that are these generators rescaled."""
        K = self.gathered(columns)
        return np.concatenate([block @ K.T for block in self.blocks()])

    def signs(self, rows: npt.NDArray[np.int64]) -> Array:
        """The signs of all generators at some vertices, of those in the first half."""
        each = self._signs(self.packed[rows])
        return np.asarray(np.where(self.plane >= 0, each[:, self.plane] * self.facing, 1.0))

    def _signs(self, packed: Bits) -> Array:
        return 2.0 * np.unpackbits(packed, axis=1, count=self.planes).astype(np.float64) - 1.0


def is_within_reach(generators: Array) -> bool:
    """Whether the vertices are few enough to be found, going by general position.

    >>> is_within_reach(np.ones((2, 50))), is_within_reach(np.eye(20))
    (True, False)
    """
    if len(generators) > MAX_ROWS or _rank_in_doubles(generators) > MAX_RANK:
        return False
    columns, _, _ = _distinct(generators)
    return _is_few(_rank(columns), len(columns))


def _rank_in_doubles(generators: Array) -> int:
    """The rank but for rounding, found quickly; that of the exact numbers may be larger."""
    scale = np.abs(generators).max(axis=1, keepdims=True, initial=0.0)
    return int(np.linalg.matrix_rank(generators / np.where(scale > 0, scale, 1.0))) if generators.size else 0


def find_vertices(generators: Array) -> Vertices:
    """All vertices of the zonotope of these generators (columns), in exact arithmetic; refuses too many.

    Guarantee: every vertex of {H D z : |z_j| ≤ 1} is H D z or −H D z for a row z that comes back, whatever the
    positive diagonal D, for the exact values of these doubles.

    >>> find_vertices(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])).size
    6
    """
    H = np.ascontiguousarray(generators, np.float64)
    if not np.isfinite(H).all():
        raise damaged_plan("generators that are not finite")
    H = H[H.any(axis=1)]
    return _find(H.tobytes(), H.shape)


@lru_cache(maxsize=8)
def _find(raw: bytes, shape: tuple[int, int]) -> Vertices:
    """Plan, grid and certificate ask for the same vertices."""
    H = np.frombuffer(raw).reshape(shape)
    if not is_within_reach(H):
        raise PlanError(
            f"{shape[0]} answers over {shape[1]} columns",
            f"at most {MAX_VERTICES:,} vertices can be visited",
            "use a closed form",
            code="too-many-vertices",
            answers=shape[0],
            columns=shape[1],
        )
    columns, plane, facing = _distinct(H)
    return Vertices(_regions(columns), len(columns), plane, facing)


def _is_few(rank: int, planes: int) -> bool:
    if rank < 1 or 2 * math.comb(planes - 1, rank - 1) > MAX_VERTICES:  # the last term of the sum, at most half of it
        return rank < 1
    found = 2 * sum(math.comb(planes - 1, i) for i in range(rank))
    return found <= MAX_VERTICES and math.comb(planes, rank - 1) * 2 ** (rank - 1) * planes <= MAX_SIGNS


def _distinct(H: Array) -> tuple[Columns, npt.NDArray[np.int64], Array]:
    """The directions of the columns without repetition, as whole numbers without a common factor; and where each is."""
    rows, _ = integer_rows(H)  # each row over its own power of two: that moves no sign
    known: dict[tuple[int, ...], int] = {}
    plane, facing = np.full(H.shape[1], -1, np.int64), np.ones(H.shape[1])
    for j, column in enumerate(zip(*rows, strict=True)):
        shared = math.gcd(*column)
        if shared:
            first = next(x for x in column if x)
            facing[j] = math.copysign(1.0, first)
            shared = shared if first > 0 else -shared
            plane[j] = known.setdefault(tuple(x // shared for x in column), len(known))
    return list(known), plane, facing


def _regions(columns: Columns) -> Bits:
    """The regions that the planes of these columns cut out of space, half of them, as packed signs."""
    columns = _in_full_rank(columns)
    k, D = len(columns[0]) if columns else 0, len(columns)
    if k <= 1:  # one plane at most: all columns are multiples of one
        return np.packbits(np.ones((1, D), bool), axis=1)
    if k == D:
        signs = np.array(list(itertools.product((True, False), repeat=D - 1))).reshape(-1, D - 1)
        return np.packbits(np.column_stack([np.ones(len(signs), bool), signs]), axis=1)
    planes = _Planes.of(columns)
    found: set[bytes] = set()
    through: dict[bytes, Bits] = {}
    patterns = np.array(list(itertools.product((1, -1), repeat=k - 1)), np.int8)
    subsets = itertools.combinations(range(D), k - 1)
    while chosen := list(itertools.islice(subsets, max(1, _CHUNK // (D * len(patterns))))):
        at = np.array(chosen)
        signs = planes.signs(at)
        zeros = (signs == 0).sum(axis=1)
        plain = zeros == k - 1
        each = np.repeat(signs[plain][:, None, :], len(patterns), axis=1)
        np.put_along_axis(each, np.repeat(at[plain][:, None, :], len(patterns), axis=1), patterns[None], axis=2)
        _add(found, each.reshape(-1, D))
        for row in np.unique(signs[~plain & (zeros < D)], axis=0):
            _add(found, _around(row, columns, through))
    return np.frombuffer(b"".join(sorted(found)), np.uint8).reshape(len(found), -1)


def _around(row: npt.NDArray[np.int8], columns: Columns, through: dict[bytes, Bits]) -> npt.NDArray[np.int8]:
    """The regions around a line on many planes: its signs off these, and any region of theirs on them."""
    on = np.flatnonzero(row == 0)
    key = on.tobytes()
    if key not in through:
        through[key] = _regions([columns[j] for j in on])
    half = 2 * np.unpackbits(through[key], axis=1, count=len(on)).astype(np.int8) - 1
    there = np.concatenate([half, -half])
    each = np.repeat(row[None, :], len(there), axis=0)
    each[:, on] = there
    return each


def _add(found: set[bytes], signs: npt.NDArray[np.int8]) -> None:
    """Take in regions, each with the opposite one as the same."""
    packed = np.packbits(signs * signs[:, :1] > 0, axis=1)
    found.update(map(bytes, np.unique(packed, axis=0)))


@dataclass(frozen=True, eq=False)
class _Planes:
    """Planes as doubles and as whole numbers; `exact` where the doubles are the whole numbers and these are small."""

    columns: Columns
    doubles: Array
    exact: bool

    @classmethod
    def of(cls, columns: Columns) -> _Planes:
        if max(abs(x) for column in columns for x in column) < 2**53:
            return cls(columns, np.array(columns, float).T, True)
        return cls(columns, np.array([_fractions_of(column) for column in columns]).T, False)

    def signs(self, at: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
        """sign(uᵀh_j) for the line u on each chosen set of planes; all zero where these fix no line."""
        F = self.doubles
        k = len(F)
        minors, sizes, top = _minors(F, at)
        values, doubt = minors @ F, sizes @ np.abs(F)
        if not (self.exact and max(top, float(doubt.max(initial=0.0))) < 2.0**53):
            # k(k+1)/2 roundings in a determinant, and one of each number; twice as much is allowed for.
            doubt = 2.0 * (k * (k + 1) + 2 * k) * _UNIT * doubt + 1e-290
        else:
            doubt[:] = 0.0
        signs = np.sign(values).astype(np.int8)
        np.put_along_axis(signs, at, np.int8(0), axis=1)
        open_ = np.abs(values) <= doubt
        np.put_along_axis(open_, at, False, axis=1)
        if doubt.any():
            for row in np.flatnonzero(open_.any(axis=1)):
                line = _exact_minors([self.columns[j] for j in at[row]])
                for j in np.flatnonzero(open_[row]):
                    value = sum(a * b for a, b in zip(line, self.columns[j], strict=True))
                    signs[row, j] = (value > 0) - (value < 0)
        return signs


def _minors(F: Array, at: npt.NDArray[np.int64]) -> tuple[Array, Array, float]:
    """u with uᵀh = det(h, chosen columns) for each choice; the same with all signs plus; and the largest of these."""
    k = len(F)
    level: dict[tuple[int, ...], tuple[Any, Any]] = {(): (np.ones(len(at)), np.ones(len(at)))}
    top = 1.0
    for r in range(at.shape[1]):
        column = F[:, at[:, r]]
        following = {}
        for rows in itertools.combinations(range(k), r + 1):
            value, size = np.zeros(len(at)), np.zeros(len(at))
            for place, i in enumerate(rows):
                below, its_size = level[rows[:place] + rows[place + 1 :]]
                value = value + (-1) ** (r + place) * column[i] * below
                size = size + np.abs(column[i]) * its_size
            following[rows] = value, size
            top = max(top, float(size.max(initial=0.0)))
        level = following
    order = [tuple(j for j in range(k) if j != i) for i in range(k)]
    minors = np.column_stack([(-1) ** i * level[rows][0] for i, rows in enumerate(order)])
    return minors, np.column_stack([level[rows][1] for rows in order]), top


def _exact_minors(chosen: Sequence[Sequence[int]]) -> list[int]:
    """The same u in whole numbers, for one choice."""
    k = len(chosen) + 1
    level: dict[tuple[int, ...], int] = {(): 1}
    for r, column in enumerate(chosen):
        level = {
            rows: sum(
                (-1) ** (r + place) * column[i] * level[rows[:place] + rows[place + 1 :]]
                for place, i in enumerate(rows)
            )
            for rows in itertools.combinations(range(k), r + 1)
        }
    return [(-1) ** i * level[tuple(j for j in range(k) if j != i)] for i in range(k)]


def _fractions_of(column: Sequence[int]) -> list[float]:
    """A column over its largest number, each rounded once."""
    top = max(abs(x) for x in column)
    return [float(Fraction(x, top)) for x in column]


def _rank(columns: Columns) -> int:
    return len(_independent(columns)) if columns else 0


def _in_full_rank(columns: Columns) -> Columns:
    """The same columns in as many coordinates as they have dimensions: any independent rows tell all signs."""
    if not columns:
        return columns
    base = [columns[j] for j in _independent(columns)]
    rows = _independent([tuple(column[i] for column in base) for i in range(len(columns[0]))])
    return [tuple(column[i] for i in rows) for column in columns]


def _independent(vectors: Sequence[tuple[int, ...]]) -> list[int]:
    """Places of vectors that are independent and span the others, in exact arithmetic."""
    reduced: list[tuple[int, list[Fraction]]] = []  # each with the place of its first number that is not zero, made 1
    found = []
    for place, vector in enumerate(vectors):
        if len(reduced) == len(vector):
            break
        rest = [Fraction(x) for x in vector]
        for pivot, known in reduced:
            if rest[pivot]:
                factor = rest[pivot]
                rest = [a - factor * b for a, b in zip(rest, known, strict=True)]
        pivot = next((i for i, x in enumerate(rest) if x), -1)
        if pivot >= 0:
            lead = rest[pivot]
            reduced.append((pivot, [x / lead for x in rest]))
            found.append(place)
    return found

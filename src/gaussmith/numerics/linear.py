"""The few kinds of matrices a plan is made of, and the exact product of a matrix of doubles with integers.

A plan holds two matrices: the *lift*, which turns the summed core of the records into the coordinates that receive
noise, and the *features*, which turn noisy coordinates back into answers. For a box of a million columns both have
at most two entries per row, so they are stored by structure, never as a million by a million numbers.

    Diagonal(entries)                  row i = entries[i] at column i
    Bordered(index, inner, border, …)  row i = inner[i] at column index[i], and border[i] at the last column
    Exchangeable(size, inner, …)       rows that are symmetric in all coordinates: inner at i, one number elsewhere
    Dense(matrix)                      anything small

Elsewhere: `factored` (a few rows over many columns), `headed` (a dense block beside bordered rows), `intervals` and
`residual_maps` (workloads over cells), `reflected_maps` and `levelled_maps` (prefix sums, ranges and trees of many).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError
from gaussmith.numerics.matrix import Matrix, NormBounds
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.numerics.products import Array, Integers, Words, common_power, integer_rows, python, scale_exactly, shift
from gaussmith.numerics.word_products import is_small, map_integers, multiply_rows, sum_exactly
from gaussmith.values import dataclass

__all__ = [
    "Array", "Bordered", "Dense", "Diagonal", "Exchangeable", "Integers", "Matrix", "NormBounds", "Words",
    "matrix_from_dict",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Diagonal(Matrix):
    """A square diagonal matrix."""

    entries: Array

    def __post_init__(self) -> None:
        _check(self.entries.ndim == 1 and bool(np.isfinite(self.entries).all()))

    @cached_property
    def shape(self) -> tuple[int, int]:
        return len(self.entries), len(self.entries)

    def times(self, vector: Array) -> Array:
        return self.entries * vector

    def exact_times(self, vector: Integers) -> Integers:
        return scale_exactly(self.entries, vector)

    def times_rows(self, vectors: Array) -> Array:
        return self.entries * vectors

    def exact_times_rows(self, vectors: Words) -> Words | None:
        return multiply_rows(np.diag(self.entries), vectors) if is_small(self.shape) else None

    def scaled(self, columns: Array) -> Diagonal:
        return Diagonal(self.entries * columns)

    def row_norms(self) -> Array:
        return np.abs(self.entries)

    def row(self, i: int) -> Array:
        row = np.zeros(len(self.entries))
        row[i] = self.entries[i]
        return row

    def dense(self) -> Array:
        return np.diag(self.entries)

    def picked(self, rows: Sequence[int]) -> Bordered:
        at = np.array(rows, np.int64)
        return Bordered(at, self.entries[at], np.zeros(len(at)), len(self.entries))

    def as_bordered(self) -> Bordered:
        return self.picked(range(len(self.entries)))

    def largest(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.diagonal is None else bounds.diagonal(self)

    def without_last(self) -> Diagonal:
        return Diagonal(self.entries[:-1])

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "diagonal", "entries": self.entries.tolist()}


@dataclass(frozen=True, eq=False)
class Bordered(Matrix):
    """Rows with one inner entry and one entry in the last column: feature i = inner·y[index] + border·y[last]."""

    index: npt.NDArray[np.int64]
    inner: Array
    border: Array
    columns: int

    def __post_init__(self) -> None:
        _check(self.index.ndim == 1 and self.index.shape == self.inner.shape == self.border.shape)
        _check(bool(np.isfinite(self.inner).all() and np.isfinite(self.border).all()))
        # A negative index would count from the end and break comparisons of indices.
        _check(bool(((self.index >= 0) & (self.index < self.columns)).all()))

    @cached_property
    def shape(self) -> tuple[int, int]:
        return len(self.inner), self.columns

    def times(self, vector: Array) -> Array:
        if not len(vector):
            return np.zeros(len(self.inner))
        return np.asarray(self.inner * vector[self.index] + self.border * vector[-1])

    def exact_times(self, vector: Integers) -> Integers:
        vector = python(vector)
        last = vector[-1]
        return [shift(a * vector[j] + b * last, e) for (a, b), e, j in self._integers]

    @cached_property
    def _integers(self) -> list[tuple[list[int], int, int]]:
        """Each row as two integers and one power of two, with the column of the first."""
        pairs = integer_rows(np.column_stack([self.inner, self.border]))
        return list(zip(*pairs, self.index.tolist(), strict=True))

    def times_rows(self, vectors: Array) -> Array:
        if not vectors.shape[1]:
            return np.zeros((len(vectors), len(self.inner)))
        return np.asarray(self.inner * vectors[:, self.index] + self.border * vectors[:, -1:])

    def exact_times_rows(self, vectors: Words) -> Words | None:
        apart = not (self.index == self.columns - 1).any()  # else two entries would be one, and rounded
        return multiply_rows(self.dense(), vectors) if apart and is_small(self.shape) else None

    def scaled(self, columns: Array) -> Bordered:
        return Bordered(self.index, self.inner * columns[self.index], self.border * columns[-1], self.columns)

    def row_norms(self) -> Array:
        at_last = self.index == self.columns - 1  # there both entries meet in one column
        apart = np.hypot(self.inner, self.border)
        return np.asarray(np.where(at_last, np.abs(self.inner + self.border), apart))

    def row(self, i: int) -> Array:
        row = np.zeros(self.columns)
        row[self.index[i]] += self.inner[i]
        row[-1] += self.border[i]
        return row

    def dense(self) -> Array:
        full = np.zeros(self.shape)
        rows = np.arange(len(self.inner))
        full[rows, self.index] += self.inner
        full[:, -1] += self.border
        return full

    def picked(self, rows: Sequence[int]) -> Bordered:
        at = np.array(rows, np.int64)
        return Bordered(self.index[at], self.inner[at], self.border[at], self.columns)

    def as_bordered(self) -> Bordered:
        return self

    def largest(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.bordered is None else bounds.bordered(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "bordered",
            "index": self.index.tolist(),
            "inner": self.inner.tolist(),
            "border": self.border.tolist(),
            "columns": self.columns,
        }


@dataclass(frozen=True, eq=False)
class Exchangeable(Matrix):
    """A matrix that does not change when coordinates are swapped, with an own row and an own column at the end.

        out_i = inner · v_i + shared · Σ_j v_j + border · v_last,      i < size
        out_last = tail[0] · Σ_j v_j + tail[1] · v_last

    Without a border (None) there is no last column; without a tail no last row.

    >>> Exchangeable(3, 1.0, -1 / 3).times(np.array([3.0, 0.0, 0.0]))
    array([ 2., -1., -1.])
    """

    size: int
    inner: float
    shared: float
    border: float | None = None
    tail: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        numbers = [self.inner, self.shared, self.border or 0.0, *(self.tail or ())]
        _check(self.size >= 1 and bool(np.isfinite(numbers).all()))

    @property
    def shape(self) -> tuple[int, int]:
        return self.size + (self.tail is not None), self.size + (self.border is not None)

    def times(self, vector: Array) -> Array:
        first, last = self._split(vector)
        total = float(first.sum())
        out = self.inner * first
        out += self.shared * total + (self.border or 0.0) * last
        return out if self.tail is None else np.append(out, self.tail[0] * total + self.tail[1] * last)

    def exact_times(self, vector: Integers) -> Integers:
        first, last = self._split(vector)
        total, last = sum_exactly(first), int(last)
        (a, b, c), e = common_power((self.inner, self.shared, self.border or 0.0))
        rest = b * total + c * last
        end = []
        if self.tail is not None:
            (f, g), tail_e = common_power(self.tail)
            end = [shift(f * total + g * last, tail_e)]
        return map_integers(lambda x: shift(a * x + rest, e), first, end)

    def scaled(self, columns: Array) -> Exchangeable:
        first, last = self._split(columns)
        if not (first == first[0]).all():
            what, rule = "columns with different scales", "an exchangeable matrix has one scale for all columns"
            raise PlanError(what, rule, "plan again", code="exchangeable-columns-scaled-apart")
        unit, end = float(first[0]), float(last)
        border = None if self.border is None else self.border * end
        tail = None if self.tail is None else (self.tail[0] * unit, self.tail[1] * end)
        return Exchangeable(self.size, self.inner * unit, self.shared * unit, border, tail)

    def row_norms(self) -> Array:
        square = (self.inner + self.shared) ** 2 + (self.size - 1) * self.shared**2 + (self.border or 0.0) ** 2
        norms = np.full(self.size, np.sqrt(square))
        if self.tail is None:
            return norms
        return np.append(norms, np.sqrt(self.size * self.tail[0] ** 2 + self.tail[1] ** 2))

    def row(self, i: int) -> Array:
        i = range(self.shape[0])[i]
        row = np.zeros(self.shape[1])
        if i == self.size:
            assert self.tail is not None
            row[: self.size], row[self.size :] = self.tail
            return row
        row[: self.size], row[self.size :] = self.shared, self.border or 0.0
        row[i] += self.inner
        return row

    def dense(self) -> Array:
        return np.array([self.row(i) for i in range(self.shape[0])])

    def as_exchangeable(self) -> Exchangeable:
        return self

    def largest(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.exchangeable is None else bounds.exchangeable(self)

    def without_last(self) -> Exchangeable:
        return Exchangeable(self.size, self.inner, self.shared, None, self.tail)

    def _split(self, vector: Any) -> tuple[Any, Any]:
        """The symmetric coordinates, and the last one (0 if there is none)."""
        return (vector, 0) if self.border is None else (vector[: self.size], vector[self.size])

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "exchangeable",
            "size": self.size,
            "inner": self.inner,
            "shared": self.shared,
            "border": self.border,
            "tail": None if self.tail is None else list(self.tail),
        }


@dataclass(frozen=True, eq=False)
class Dense(Matrix):
    """Any matrix small enough to write down."""

    matrix: Array

    def __post_init__(self) -> None:
        _check(self.matrix.ndim == 2 and bool(np.isfinite(self.matrix).all()))

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def times(self, vector: Array) -> Array:
        return self.matrix @ vector

    def exact_times(self, vector: Integers) -> Integers:
        mantissas, exponents = self.integer_rows
        vector = python(vector)
        return [
            shift(sum(m * k for m, k in zip(row, vector, strict=True)), e)
            for row, e in zip(mantissas, exponents, strict=True)
        ]

    def times_rows(self, vectors: Array) -> Array:
        return np.asarray(np.matmul(self.matrix, vectors[:, :, None])[:, :, 0])  # each by itself, and so rounded alike

    def exact_times_rows(self, vectors: Words) -> Words | None:
        return multiply_rows(self.matrix, vectors) if is_small(self.shape) else None

    @cached_property
    def integer_rows(self) -> tuple[list[list[int]], list[int]]:
        """Each row as integers and one power of two: entry = mantissa · 2^exponent, exactly."""
        return integer_rows(self.matrix)

    def scaled(self, columns: Array) -> Dense:
        return Dense(self.matrix * columns)

    def row_norms(self) -> Array:
        return np.asarray(np.linalg.norm(self.matrix, axis=1))

    def row(self, i: int) -> Array:
        return np.asarray(self.matrix[i])

    def dense(self) -> Array:
        return self.matrix

    def largest(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.dense is None else bounds.dense(self.matrix)

    def exact_entries(self) -> Array:
        return self.matrix

    def without_last(self) -> Dense:
        return Dense(self.matrix[:, :-1])

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "dense", "matrix": pack(self.matrix)}


def matrix_from_dict(fields: dict[str, Any]) -> Matrix:
    """The matrix described by `to_dict`; refuses unknown kinds."""
    kind = fields.get("kind")
    if kind == "diagonal":
        return Diagonal(np.array(fields["entries"], float))
    if kind == "bordered":
        return Bordered(
            np.array(fields["index"], np.int64),
            np.array(fields["inner"], float),
            np.array(fields["border"], float),
            int(fields["columns"]),
        )
    if kind == "exchangeable":
        border, tail = fields["border"], fields["tail"]
        return Exchangeable(
            int(fields["size"]),
            float(fields["inner"]),
            float(fields["shared"]),
            None if border is None else float(border),
            None if tail is None else (float(tail[0]), float(tail[1])),
        )
    if kind == "dense":
        return Dense(unpack(fields["matrix"]))
    if kind == "intervals":
        from gaussmith.numerics.intervals import Intervals

        return Intervals.from_dict(fields)
    if kind == "factored":
        from gaussmith.numerics.factored import Factored

        return Factored.from_dict(fields)
    if kind == "headed":
        from gaussmith.numerics.headed import Headed

        return Headed.from_dict(fields)
    if kind in ("residual lift", "residual decode"):
        from gaussmith.numerics.residual_maps import map_from_dict

        return map_from_dict(fields)
    if kind in ("reflected lift", "reflected decode"):
        from gaussmith.numerics.reflected_maps import reflected_from_dict

        return reflected_from_dict(fields)
    if kind in ("levelled lift", "levelled decode"):
        from gaussmith.numerics.levelled_maps import levelled_from_dict

        return levelled_from_dict(fields)
    what, rule = f"matrix kind = {kind!r}", "this version does not know it"
    raise PlanError(what, rule, "upgrade gaussmith, or plan again", code="unknown-matrix-kind", kind=kind)


def _check(holds: bool) -> None:
    """Check the dimensions, on which privacy depends: an extra row would share its noise with another."""
    if not holds:
        raise PlanError(
            "a matrix with an entry that is not finite or out of range",
            "a plan's matrices must hold finite numbers, each in its row and column",
            "plan again; if this persists, the scales of bounds or weights are too far apart",
            code="matrix-not-finite",
        )

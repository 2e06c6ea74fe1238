"""The few kinds of matrices a plan is made of, and the exact product of a matrix of doubles with integers.

A plan holds two matrices: the *lift*, which turns the summed core of the records into the coordinates that receive
noise, and the *features*, which turn noisy coordinates back into answers. For a box of a million columns both have
at most two entries per row, so they are stored by structure, never as a million by a million numbers.

    Diagonal(entries)                  row i = entries[i] at column i
    Bordered(index, inner, border, …)  row i = inner[i] at column index[i], and border[i] at the last column
    Exchangeable(size, inner, …)       rows that are symmetric in all coordinates: inner at i, one number elsewhere
    Dense(matrix)                      anything small

Elsewhere: `intervals` and `marginals` (workloads over cells), `reflected_maps` and `levelled_maps` (prefix sums, ranges
and trees of many).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import (
    Array,
    Integers,
    Words,
    common_power,
    integer_rows,
    is_small,
    largest_of,
    map_integers,
    multiply_rows,
    python,
    scale_exactly,
    shift,
    sum_exactly,
)
from gaussmith.numerics.packed_arrays import pack, unpack

if TYPE_CHECKING:
    from gaussmith.numerics.levelled_maps import LevelledLift
    from gaussmith.numerics.marginals import ResidualLift
    from gaussmith.numerics.reflected_maps import ReflectedLift

__all__ = [
    "Array",
    "Bordered",
    "Dense",
    "Diagonal",
    "Exchangeable",
    "Integers",
    "Matrix",
    "NormBounds",
    "Words",
    "matrix_from_dict",
]


# What every kind of matrix can do, and how the largest norm of a lift is bounded by its kind.


class Matrix(Protocol):
    """What plans ask of a matrix, whatever its structure."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def times(self, vector: Array) -> Array:
        """The product with a vector, in doubles."""

    def exact_times(self, vector: Integers) -> Integers:
        """The product with a vector of integers, exact, then rounded to the nearest integer (halves up)."""
        self._refuse_as_lift()

    def times_rows(self, vectors: Array) -> Array:
        """The product with each row of an array, as `times` computes it."""
        return np.array([self.times(vector) for vector in vectors]).reshape(len(vectors), self.shape[0])

    def exact_times_rows(self, vectors: Words) -> Words | None:
        """The product with each row of an array of integers, as `exact_times` finds it; None where that must."""
        return None

    def scaled(self, columns: Array) -> Matrix:
        """Column j multiplied by columns[j] (each entry rounded to nearest)."""
        self._refuse_as_lift()

    def row_norms(self) -> Array:
        """The Euclidean norm of each row."""
        return np.asarray(np.linalg.norm(self.dense(), axis=1))

    def row(self, i: int) -> Array:
        """One row, written out."""
        return np.asarray(self.dense()[i])

    def dense(self) -> Array:
        """All entries, for matrices small enough."""

    def to_dict(self) -> dict[str, Any]: ...

    def picked(self, rows: Sequence[int]) -> Matrix:
        """Some rows, in this order."""
        return Dense(self.dense()[np.array(rows, np.int64)])

    @property
    def ways(self) -> tuple[tuple[int, ...], ...] | None:
        """The marginals whose counts are lifted, one after the other; None where a record's coordinates are."""
        return None

    def as_bordered(self) -> Bordered | None:
        """The same numbers as a bordered matrix, where every row has one inner entry and one in the last column."""
        return None

    def as_exchangeable(self) -> Exchangeable | None:
        """The same numbers as an exchangeable matrix, where they are kept as one."""
        return None

    def sensitivity(self, bounds: NormBounds) -> float:
        """The largest norm of a lifted difference, by the bound for matrices of this kind."""
        self._refuse_kind()

    def exact_entries(self) -> Array:
        """The entries of a matrix that is written down; refuses the other kinds, whose entries `dense` may round."""
        self._refuse_kind()

    def without_last(self) -> Matrix:
        """The same norms without the last column, for lifts that a domain bounds this way."""
        self._refuse_kind()

    def _refuse_as_lift(self) -> NoReturn:
        raise damaged_plan(f"{type(self).__name__} as a lift: answers are only read from it")

    def _refuse_kind(self) -> NoReturn:
        raise damaged_plan(f"a lift of kind {type(self).__name__}, which its domain cannot bound")


@dataclass(frozen=True)
class NormBounds:
    """How a domain bounds the norm of its lifted differences, by kinds of lift: never too small.

    A lift of a kind that has no bound here is refused.
    """

    dense: Callable[[Array], float] | None = None
    diagonal: Callable[[Diagonal], float] | None = None
    bordered: Callable[[Bordered], float] | None = None
    exchangeable: Callable[[Exchangeable], float] | None = None
    residual: Callable[[ResidualLift], float] | None = None
    factored: Callable[[Factored], float] | None = None
    reflected: Callable[[ReflectedLift], float] | None = None
    levelled: Callable[[LevelledLift], float] | None = None


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

    def sensitivity(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.diagonal is None else bounds.diagonal(self)

    def exact_entries(self) -> Array:
        return self.dense()

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

    def sensitivity(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.bordered is None else bounds.bordered(self)

    def without_last(self) -> Bordered:
        """The rows that see another column, without their borders."""
        rows, last = self.index < self.columns - 1, self.columns - 1
        return Bordered(self.index[rows], self.inner[rows], np.zeros(int(rows.sum())), last)

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

    def exact_times_rows(self, vectors: Words) -> Words | None:
        firsts, lasts = vectors[:, : self.size], vectors[:, self.size :]
        if largest_of(firsts) * self.size >= 1 << 62:
            return None
        beside = np.column_stack([firsts.sum(axis=1), lasts])
        own = [self.inner, self.shared, *([] if self.border is None else [self.border])]
        each = np.column_stack([firsts.ravel(), np.repeat(beside, self.size, axis=0)])
        found = multiply_rows(np.array([own]), each)
        end = np.zeros((0, beside.shape[1])) if self.tail is None else np.array([self.tail[: beside.shape[1]]])
        ends = multiply_rows(end, beside)
        return None if found is None or ends is None else np.hstack([found.reshape(firsts.shape), ends])

    def scaled(self, columns: Array) -> Exchangeable:
        first, last = self._split(columns)
        if not (first == first[0]).all():
            raise damaged_plan("columns with different scales")
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

    def sensitivity(self, bounds: NormBounds) -> float:
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
        return multiply_rows(self.matrix, vectors)

    @cached_property
    def integer_rows(self) -> tuple[list[list[int]], list[int]]:
        """Each row as integers and one power of two: entry = mantissa · 2^exponent, exactly."""
        return integer_rows(self.matrix)

    def scaled(self, columns: Array) -> Dense:
        return Dense(self.matrix * columns)

    def dense(self) -> Array:
        return self.matrix

    def sensitivity(self, bounds: NormBounds) -> float:
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
    if kind in _READERS:
        return _READERS[kind](fields)
    if kind in _ELSEWHERE:
        module, name = _ELSEWHERE[kind]
        read: Callable[[dict[str, Any]], Matrix] = getattr(import_module(f"gaussmith.numerics.{module}"), name)
        return read(fields)
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


# A lift over many columns through a few numbers: left · inner · diag(columns), kept as three parts.
#
# What a few answers take from a record is written down as it was given (`inner`): rounded together with the rest,
# columns that are multiples of each other would no longer be, and the vertices of what they span could not be told
# exactly.


@dataclass(frozen=True, eq=False)
class Factored(Matrix):
    """The matrix left (m × p) · inner (p × q) · diag(columns), never multiplied out where it is used exactly.

    >>> lift = Factored(np.array([[0.5]]), np.array([[1.0, 3.0]]), np.array([2.0, 4.0]))
    >>> lift.dense(), lift.exact_times([1, 2])
    (array([[1., 6.]]), [13])
    """

    left: Array
    inner: Array
    columns: Array

    def __post_init__(self) -> None:
        parts = (self.left, self.inner, self.columns)
        fit = [part.ndim for part in parts] == [2, 2, 1]
        fit = fit and self.left.shape[1] == len(self.inner) and self.inner.shape[1] == len(self.columns)
        if not fit or not all(np.isfinite(part).all() for part in parts):
            raise PlanError(
                "a factored matrix with an entry that is not finite or out of range",
                "its three parts must hold finite numbers and fit together",
                "plan again; if this persists, the scales of bounds or weights are too far apart",
                code="factored-matrix-not-finite",
            )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.columns)

    def times(self, vector: Array) -> Array:
        return np.asarray(self.left @ (self.inner @ (self.columns * vector)))

    def exact_times(self, vector: Integers) -> Integers:
        (scales, unit), (inner, powers), (left, lasts) = self._integers
        scaled = [c * k for c, k in zip(scales, python(vector), strict=True)]
        least = min(powers, default=0)
        middle = [
            sum(h * x for h, x in zip(row, scaled, strict=True)) << (power - least)
            for row, power in zip(inner, powers, strict=True)
        ]
        return [
            shift(sum(a * y for a, y in zip(row, middle, strict=True)), last + least + unit)
            for row, last in zip(left, lasts, strict=True)
        ]

    @cached_property
    def _integers(
        self,
    ) -> tuple[tuple[list[int], int], tuple[list[list[int]], list[int]], tuple[list[list[int]], list[int]]]:
        """The three parts as integers and powers of two: the columns over one power, the others row by row."""
        return common_power(self.columns.tolist()), integer_rows(self.inner), integer_rows(self.left)

    def scaled(self, columns: Array) -> Factored:
        return Factored(self.left, self.inner, self.columns * columns)

    def dense(self) -> Array:
        """All entries, rounded."""
        return np.asarray(self.left @ self.inner * self.columns)

    def sensitivity(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.factored is None else bounds.factored(self)

    def without_last(self) -> Factored:
        return Factored(self.left, self.inner[:, :-1], self.columns[:-1])

    def to_dict(self) -> dict[str, Any]:
        parts = {"left": self.left, "inner": self.inner, "columns": self.columns}
        return {"kind": "factored"} | {name: pack(part) for name, part in parts.items()}


# A matrix with one more column: what features take from a number that another noise has.


@dataclass(frozen=True, eq=False)
class Extended(Matrix):
    """Features of any kind with a last column beside them; it is saved without that column.

    >>> from gaussmith.numerics.matrices import Diagonal
    >>> Extended(Diagonal(np.ones(2)), np.array([3.0, 4.0])).times(np.array([1.0, 2.0, 10.0]))
    array([31., 42.])
    """

    inner: Matrix
    last: Array

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.inner.shape
        return rows, columns + 1

    def times(self, vector: Array) -> Array:
        return np.asarray(self.inner.times(vector[:-1]) + self.last * vector[-1])

    def row_norms(self) -> Array:
        return np.hypot(self.inner.row_norms(), self.last)

    def row(self, i: int) -> Array:
        return np.append(self.inner.row(i), self.last[i])

    def dense(self) -> Array:
        return np.column_stack([self.inner.dense(), self.last])

    def without_last(self) -> Matrix:
        return self.inner

    def to_dict(self) -> dict[str, Any]:
        raise damaged_plan("features with a number that another noise has")


# Matrices as plans save them, by kind; those of workloads are imported when one is read.

_READERS: dict[Any, Callable[[dict[str, Any]], Matrix]] = {
    "diagonal": lambda fields: Diagonal(np.array(fields["entries"], float)),
    "bordered": lambda fields: Bordered(
        np.array(fields["index"], np.int64),
        np.array(fields["inner"], float),
        np.array(fields["border"], float),
        int(fields["columns"]),
    ),
    "exchangeable": lambda fields: Exchangeable(
        int(fields["size"]),
        float(fields["inner"]),
        float(fields["shared"]),
        None if fields["border"] is None else float(fields["border"]),
        None if fields["tail"] is None else (float(fields["tail"][0]), float(fields["tail"][1])),
    ),
    "dense": lambda fields: Dense(unpack(fields["matrix"])),
    "factored": lambda fields: Factored(*(unpack(fields[name]) for name in ("left", "inner", "columns"))),
}

_ELSEWHERE: dict[Any, tuple[str, str]] = {
    "intervals": ("intervals", "intervals_from_dict"),
    **dict.fromkeys(("residual lift", "residual decode", "table counts"), ("marginals", "map_from_dict")),
    **dict.fromkeys(("reflected lift", "reflected decode"), ("reflected_maps", "reflected_from_dict")),
    **dict.fromkeys(("levelled lift", "levelled decode"), ("levelled_maps", "levelled_from_dict")),
}

"""The few kinds of matrices a plan is made of, and the exact product of a matrix of doubles with integers.

A plan holds two matrices: the *lift*, which turns the summed core of the records into the coordinates that receive
noise, and the *features*, which turn noisy coordinates back into what was asked. For a box of a million columns both
have at most two entries a row, so they are kept by structure, never as a million by a million numbers.

    Diagonal(entries)                  row i = entries[i] at column i
    Bordered(index, inner, border, …)  row i = inner[i] at column index[i], and border[i] at the last column
    Dense(matrix)                      anything small
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError

Array = npt.NDArray[np.float64]


class Matrix(Protocol):
    """What plans ask of a matrix, whatever its structure."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def times(self, vector: Array) -> Array:
        """The product with a vector, in doubles."""

    def exact_times(self, vector: Sequence[int]) -> list[int]:
        """The product with a vector of integers, exact, then rounded to the nearest integer (halves up)."""

    def scaled(self, columns: Array) -> Matrix:
        """Column j multiplied by columns[j] (each entry rounded to nearest)."""

    def row_norms(self) -> Array:
        """The Euclidean norm of each row."""

    def row(self, i: int) -> Array:
        """One row, written out."""

    def dense(self) -> Array:
        """All entries, for matrices small enough."""

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, eq=False)
class Diagonal:
    """A square diagonal matrix."""

    entries: Array

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.entries), len(self.entries)

    def times(self, vector: Array) -> Array:
        return self.entries * vector

    def exact_times(self, vector: Sequence[int]) -> list[int]:
        return _exact_scale(self.entries, vector)

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

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "diagonal", "entries": self.entries.tolist()}


@dataclass(frozen=True, eq=False)
class Bordered:
    """Rows with one inner entry and one entry in the last column: feature i = inner·y[index] + border·y[last]."""

    index: npt.NDArray[np.int64]
    inner: Array
    border: Array
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.inner), self.columns

    def times(self, vector: Array) -> Array:
        return np.asarray(self.inner * vector[self.index] + self.border * vector[-1])

    def exact_times(self, vector: Sequence[int]) -> list[int]:
        pairs = Dense(np.column_stack([self.inner, self.border])).integer_rows
        last = vector[-1]
        return [_shift(a * vector[j] + b * last, e) for (a, b), e, j in zip(*pairs, self.index.tolist(), strict=True)]

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

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "bordered",
            "index": self.index.tolist(),
            "inner": self.inner.tolist(),
            "border": self.border.tolist(),
            "columns": self.columns,
        }


@dataclass(frozen=True, eq=False)
class Dense:
    """Any matrix small enough to write down."""

    matrix: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def times(self, vector: Array) -> Array:
        return self.matrix @ vector

    def exact_times(self, vector: Sequence[int]) -> list[int]:
        mantissas, exponents = self.integer_rows
        return [
            _shift(sum(m * k for m, k in zip(row, vector, strict=True)), e)
            for row, e in zip(mantissas, exponents, strict=True)
        ]

    @cached_property
    def integer_rows(self) -> tuple[list[list[int]], list[int]]:
        """Each row as integers and one power of two: entry = mantissa · 2^exponent, exactly."""
        fractions, powers = np.frexp(self.matrix)
        whole = np.ldexp(fractions, 53).astype(np.int64).tolist()
        rows, exponents = [], []
        for entries, power in zip(whole, powers, strict=True):
            least = int(power.min()) - 53
            rows.append([m << (int(p) - 53 - least) for m, p in zip(entries, power, strict=True)])
            exponents.append(least)
        return rows, exponents

    def scaled(self, columns: Array) -> Dense:
        return Dense(self.matrix * columns)

    def row_norms(self) -> Array:
        return np.asarray(np.linalg.norm(self.matrix, axis=1))

    def row(self, i: int) -> Array:
        return np.asarray(self.matrix[i])

    def dense(self) -> Array:
        return self.matrix

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "dense", "matrix": self.matrix.tolist()}


def matrix_from_dict(fields: dict[str, Any]) -> Matrix:
    """The matrix that `to_dict` described; refuses what it does not know."""
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
    if kind == "dense":
        return Dense(np.array(fields["matrix"], float))
    raise PlanError(f"matrix kind = {kind!r}", "this version does not know it", "upgrade gaussmith, or plan again")


def _shift(value: int, exponent: int) -> int:
    """round(value · 2^exponent), halves up, in integers."""
    if exponent >= 0:
        return value << exponent
    return (value + (1 << (-exponent - 1))) >> -exponent


def _exact_scale(entries: Array, vector: Sequence[int]) -> list[int]:
    """round(entries[j] · vector[j]) for each j, exactly: a double is a 53-bit integer and a power of two."""
    fractions, powers = np.frexp(entries)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    shifts = 53 - powers
    if len(entries) and shifts.min() <= 0:
        return [_shift(m * k, -s) for m, k, s in zip(mantissas.tolist(), vector, shifts.tolist(), strict=True)]
    return [((m * k >> (s - 1)) + 1) >> 1 for m, k, s in zip(mantissas.tolist(), vector, shifts.tolist(), strict=True)]

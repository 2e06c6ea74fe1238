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
Words = npt.NDArray[np.int64]
Integers = Sequence[int] | Words
"""Whole numbers: 64-bit words where they are known to fit, Python's own where not. Both are exact."""


class Matrix(Protocol):
    """What plans ask of a matrix, whatever its structure."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def times(self, vector: Array) -> Array:
        """The product with a vector, in doubles."""

    def exact_times(self, vector: Integers) -> Integers:
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

    def __post_init__(self) -> None:
        _check(self.entries.ndim == 1 and bool(np.isfinite(self.entries).all()))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.entries), len(self.entries)

    def times(self, vector: Array) -> Array:
        return self.entries * vector

    def exact_times(self, vector: Integers) -> Integers:
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

    def __post_init__(self) -> None:
        _check(self.index.ndim == 1 and self.index.shape == self.inner.shape == self.border.shape)
        _check(bool(np.isfinite(self.inner).all() and np.isfinite(self.border).all()))
        # A negative place would count from the end: the last column, but not for whoever compares places.
        _check(bool(((self.index >= 0) & (self.index < self.columns)).all()))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.inner), self.columns

    def times(self, vector: Array) -> Array:
        return np.asarray(self.inner * vector[self.index] + self.border * vector[-1])

    def exact_times(self, vector: Integers) -> Integers:
        pairs = Dense(np.column_stack([self.inner, self.border])).integer_rows
        vector = _python(vector)
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

    def __post_init__(self) -> None:
        _check(self.matrix.ndim == 2 and bool(np.isfinite(self.matrix).all()))

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def times(self, vector: Array) -> Array:
        return self.matrix @ vector

    def exact_times(self, vector: Integers) -> Integers:
        mantissas, exponents = self.integer_rows
        vector = _python(vector)
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


def pick_rows(matrix: Matrix, rows: Sequence[int]) -> Matrix:
    """Some rows of a matrix, in this order."""
    at = np.array(rows, np.int64)
    if isinstance(matrix, Bordered):
        return Bordered(matrix.index[at], matrix.inner[at], matrix.border[at], matrix.columns)
    if isinstance(matrix, Diagonal):
        return Bordered(at, matrix.entries[at], np.zeros(len(at)), len(matrix.entries))
    return Dense(matrix.dense()[at])


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


def _check(holds: bool) -> None:
    """Privacy rests on these shapes: a row too many would share its noise with another."""
    if not holds:
        raise PlanError(
            "a matrix with a number that is not finite or has no place",
            "a plan's matrices hold finite numbers, each in its row and column",
            "plan again; if this persists, the bounds or weights lie too far apart",
        )


def _python(vector: Integers) -> Sequence[int]:
    """As Python integers, which do not overflow."""
    return vector.tolist() if isinstance(vector, np.ndarray) else vector


def _shift(value: int, exponent: int) -> int:
    """round(value · 2^exponent), halves up, in integers."""
    if exponent >= 0:
        return value << exponent
    return (value + (1 << (-exponent - 1))) >> -exponent


def _exact_scale(entries: Array, vector: Integers) -> Integers:
    """round(entries[j] · vector[j]) for each j, exactly: a double is a 53-bit integer and a power of two."""
    fractions, powers = np.frexp(entries)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    shifts = 53 - powers
    if isinstance(vector, np.ndarray):
        small = np.abs(entries) * (np.abs(vector.astype(float)) + 1.0) < 2.0**61
        if (small & (shifts > 0) & (shifts < 128)).all():
            return _scale_words(mantissas, vector, shifts)
        vector = vector.tolist()
    return [_shift(m * k, -s) for m, k, s in zip(mantissas.tolist(), vector, shifts.tolist(), strict=True)]


def _scale_words(mantissas: Words, vector: Words, shifts: Words) -> Words:
    """round(mantissa · vector / 2^shift), halves up, through products of 128 bits in two words.

    Requires (checked by the caller): 0 < shift < 128, results below 2^62.
    """
    negative = (mantissas < 0) ^ (vector < 0)
    a, b = np.abs(mantissas).view(np.uint64), np.abs(vector).view(np.uint64)
    half = np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & half, a >> 32, b & half, b >> 32
    low, middle, other, high = a0 * b0, a0 * b1, a1 * b0, a1 * b1
    carry = (low >> 32) + (middle & half) + (other & half)
    low = (low & half) | (carry << 32)
    high = high + (middle >> 32) + (other >> 32) + (carry >> 32)
    # Add half a unit; of a negative product, whose size is rounded here, the half itself must round towards zero.
    s = shifts.astype(np.uint64)
    below = s <= 64
    unit_low = np.where(below, np.uint64(1) << np.minimum(s - 1, np.uint64(63)), np.uint64(0))
    unit_high = np.where(below, np.uint64(0), np.uint64(1) << np.maximum(s, np.uint64(65)) - np.uint64(65))
    borrow = negative.astype(np.uint64)
    unit_high = unit_high - ((unit_low == 0) & negative)
    unit_low = unit_low - borrow  # wraps to all ones where the unit lies in the high word
    total = low + unit_low
    high = high + unit_high + (total < low)
    inner = np.where(
        s < 64,
        (total >> np.minimum(s, np.uint64(63))) | np.where(s < 64, high << (np.uint64(64) - np.clip(s, 1, 63)), 0),
        high >> np.clip(s, 64, 127) - np.uint64(64),
    )
    sized = inner.astype(np.int64)
    return np.asarray(np.where(negative, -sized, sized))

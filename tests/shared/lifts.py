"""Lifts drawn at random, of every structure, and their products with differences in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gaussmith.numerics.matrices import Bordered, Dense, Diagonal, Exchangeable, Factored, Matrix

Vector = list[Fraction]

TIGHT = 1 + 1e-9
TINY = Fraction(1e-140) ** 2
"""Where nothing differs at all, a bound is rounded up to one of the smallest doubles."""


def check_bound(bound: float, square: Fraction, loose: float, what: Any) -> None:
    """The bound is at least the root of `square`, and at most `loose` times that, but for 1e-9."""
    assert Fraction(bound) ** 2 >= square, f"below the truth: {what}"
    assert Fraction(bound) ** 2 <= square * Fraction(loose * TIGHT) ** 2 + TINY, f"far above the truth: {what}"


def numbers(rng: np.random.Generator, *size: int) -> np.ndarray:
    """Of either sign, some zero, some a thousand times as large as others, all of them of some scale."""
    found = rng.normal(size=size) * 10.0 ** rng.integers(-1, 2, size) * (rng.random(size) > 0.15)
    return np.asarray(found * 10.0 ** float(rng.integers(-15, 15)))


def diagonal(rng: np.random.Generator, width: int) -> Diagonal:
    return Diagonal(numbers(rng, width))


def dense(rng: np.random.Generator, width: int) -> Dense:
    return Dense(numbers(rng, int(rng.integers(1, width + 3)), width))


def bordered(rng: np.random.Generator, width: int) -> Bordered:
    """Every column is seen by one row at most; the row of the last one has no border beside it."""
    index = rng.permutation(width)[: int(rng.integers(1, width + 1))]
    inner, border = numbers(rng, 2, len(index))
    return Bordered(index, inner, np.where(index == width - 1, 0.0, border), width)


def repeated(rng: np.random.Generator, width: int) -> Bordered:
    """Columns are seen by any number of rows; in the last one both entries have the same sign."""
    index = rng.integers(0, width, int(rng.integers(1, 2 * width + 1)))
    inner, border = numbers(rng, 2, len(index))
    return Bordered(index, np.where(index == width - 1, np.copysign(inner, border), inner), border, width)


def unbordered(rng: np.random.Generator, width: int) -> Bordered:
    found = repeated(rng, width)
    return Bordered(found.index, found.inner, np.zeros(len(found.index)), width)


def factored(rng: np.random.Generator, width: int) -> Factored:
    """A few rows over the columns: any numbers, or small whole ones, with columns in a plane, parallel, or zero."""
    p = int(rng.integers(1, 4))
    inner = rng.integers(-2, 3, (p, width)).astype(float) if rng.random() < 0.5 else numbers(rng, p, width)
    if p > 2 and rng.random() < 0.3:
        inner[2] = inner[0] - inner[1]
    return Factored(numbers(rng, int(rng.integers(1, 4)), p), inner, numbers(rng, width))


def exchangeable(rng: np.random.Generator, size: int, counted: bool) -> Exchangeable:
    inner, shared, border, first, second = numbers(rng, 5).tolist()
    tail = (first, second) if rng.random() < 0.6 else None
    return Exchangeable(size, inner, shared * float(rng.choice([1.0, 1 / size])), border if counted else None, tail)


def entries(lift: Matrix) -> list[Vector]:
    """The entries as rationals, by the definition of each kind of matrix."""
    if isinstance(lift, Bordered):
        rows = [[Fraction(0)] * lift.columns for _ in lift.index]
        for row, j, inner, border in zip(rows, lift.index, lift.inner, lift.border, strict=True):
            row[j] += Fraction(inner)
            row[-1] += Fraction(border)
        return rows
    if isinstance(lift, Exchangeable):
        d, last = lift.size, [] if lift.border is None else [Fraction(lift.border)]
        a, b = Fraction(lift.inner), Fraction(lift.shared)
        rows = [[b + a * (i == j) for j in range(d)] + last for i in range(d)]
        if lift.tail is not None:
            rows.append([Fraction(lift.tail[0])] * d + [Fraction(lift.tail[1])] * len(last))
        return rows
    if isinstance(lift, Factored):
        inner = [[Fraction(x) * Fraction(c) for x, c in zip(row, lift.columns, strict=True)] for row in lift.inner]
        return [
            [
                sum((Fraction(a) * x for a, x in zip(row, column, strict=True)), Fraction(0))
                for column in zip(*inner, strict=True)
            ]
            for row in lift.left
        ]
    return [[Fraction(x) for x in row] for row in lift.dense().tolist()]


def lifted(rows: list[Vector], vectors: Sequence[Vector]) -> tuple[np.ndarray, int]:
    """rows · v of every vector v in whole numbers, one a row, and what they are to be divided by."""
    above = []
    below = [math.lcm(*(x.denominator for v in part for x in v)) for part in (rows, vectors)]
    for part, n in zip((rows, vectors), below, strict=True):
        above.append(np.array([[x.numerator * (n // x.denominator) for x in v] for v in part], object))
    A, V = above
    Y = V @ A.T if V.size and A.size else np.zeros((len(V), len(A)), object)
    return Y, below[0] * below[1]


def largest_added(rows: list[Vector], cores: Sequence[Vector], counted: bool) -> Fraction:
    """max ‖rows · (z, 1)‖² over all records z."""
    Y, below = lifted(rows, [[*z, Fraction(1)] if counted else z for z in cores])
    return Fraction(int((Y * Y).sum(axis=1).max(initial=0)), below**2)


def largest_changed(rows: list[Vector], cores: Sequence[Vector]) -> Fraction:
    """max ‖rows · (z − z′)‖² over all pairs of records."""
    Y, below = lifted(rows, cores)
    apart = Y[:, None] - Y[None]
    return Fraction(int((apart * apart).sum(axis=2).max(initial=0)), below**2)

"""Lifts over up to millions of cells whose kernel is a staircase: exact products are a few dozen cumulative sums.

    lift = unit · T · diag(columns),      t(k) = Σ_{l: edges_l ≥ |k|} heights_l,      all but `unit` whole numbers

T is a reflected kernel (`reflections`), a sum of boxes of width 2·edges_l + 1: T z is made of differences of one
cumulative sum, in whole numbers. So are the norms of its columns, on which privacy rests. The inverse of T and the
variances of answers come from fast transforms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from gaussmith.errors import damaged_plan
from gaussmith.numerics.exact import Array, Integers, Words, common_power, product_upward, shift, sqrt_upward
from gaussmith.numerics.matrices import Matrix, NormBounds
from gaussmith.numerics.packed_arrays import pack_slow, unpack_slow

# Symmetric matrices over many cells that fast transforms diagonalise: a kernel, reflected at both ends of the cells.
#
#     T_ij = t(i − j) + t(i + j + 1)     mixed ends: values repeat beyond the left one, change their sign at the right
#     T_ij = t(i − j) − t(i + j + 2)     odd ends: they change their sign at both
#     T_ij = t(i − j) + t(i + j + 1)     even ends: they repeat beyond both
#
# Extended so, a vector has a period, T is a cyclic convolution, and T² or T^−1 are matrices of the same kind: each is
# known by its n eigenvalues (the *symbol*), at the frequencies
#
#     θ_m = π − 2π m/(2n + 1)  (mixed),   θ_m = π m/(n + 1)  (odd),   m = 1 … n;   θ_m = π m/n  (even),   m = 0 … n−1.
#
# With W the prefix sums of n cells, or all their ranges, WᵀW is such a matrix: 1/(4 sin²(θ/2)), with mixed ends, for
# ranges times n + 1 and with odd ends. For prefix sums of vectors that add up to 0 it is that with even ends, less m
# = 0.

Ends = Literal["mixed", "odd", "even"]

_BASE = 32
"""Blocks of triangular sums that are written out."""


@dataclass(frozen=True)
class Reflection:
    """The cells 0 … n−1 and what lies beyond their ends.

    >>> line = Reflection(4, "mixed")
    >>> A = np.tril(np.ones((4, 4)))
    >>> bool(np.allclose(line.dense(line.squared_sines**-1 / 4), A.T @ A))
    True
    """

    cells: int
    ends: Ends

    @property
    def odd(self) -> bool:
        return self.ends == "odd"

    @property
    def even(self) -> bool:
        return self.ends == "even"

    @property
    def period(self) -> int:
        """Of an extended vector; with mixed ends of one whose every second sign is changed."""
        return 2 * self.cells + {"mixed": 1, "odd": 2, "even": 0}[self.ends]

    @property
    def _own(self) -> slice:
        """Where the frequencies of a symbol are among those of a transform."""
        return slice(0, self.cells) if self.even else slice(1, self.cells + 1)

    @cached_property
    def squared_sines(self) -> Array:
        """sin²(θ/2) for every frequency, in the order in which a symbol lists them."""
        at = np.arange(self._own.start, self._own.stop)
        wave = np.cos if self.ends == "mixed" else np.sin
        return np.asarray(wave(np.pi * at / self.period) ** 2)

    def _turned(self, values: Array) -> Array:
        """With mixed ends: every second sign changed, so that the period is a simple one."""
        if self.ends != "mixed":
            return values
        found = values.copy()
        found[1::2] *= -1.0
        return found

    def symbol(self, kernel: Array) -> Array:
        """The eigenvalues of T, from t(0) … t(n)."""
        from scipy.fft import rfft

        window = np.zeros(self.period)
        window[: self.cells + 1] = turned = self._turned(kernel)
        window[-self.cells :] += turned[:0:-1]
        return np.asarray(np.real(rfft(window))[self._own])

    def kernel(self, symbol: Array) -> Array:
        """t(0) … t(2n + 1) of the matrix with these eigenvalues."""
        from scipy.fft import irfft

        values = np.zeros(self.period // 2 + 1)
        values[self._own] = symbol
        found = irfft(values, self.period)
        return self._turned(np.append(found, found[: 2 * self.cells + 2 - self.period]))

    def times(self, symbol: Array, vector: Array) -> Array:
        """The product of the matrix with these eigenvalues and a vector."""
        from scipy.fft import irfft, rfft

        n = self.cells
        spread = np.zeros(self.period)
        if self.odd:
            spread[1 : n + 1], spread[n + 2 :] = vector, -vector[::-1]
        elif self.even:
            spread[:n], spread[n:] = vector, vector[::-1]
        else:
            spread[:n], spread[n + 1 :] = vector, -vector[::-1]
        values = rfft(self._turned(spread))
        chosen = np.zeros_like(values)
        chosen[self._own] = values[self._own] * symbol
        found = irfft(chosen, self.period)
        return np.asarray(found[1 : n + 1] if self.odd else self._turned(found[:n]))

    def diagonal(self, symbol: Array) -> Array:
        """The diagonal of the matrix with these eigenvalues."""
        t = self.kernel(symbol)
        return np.asarray(t[0] + self.sign * t[self.shift :: 2][: self.cells])

    @property
    def sign(self) -> float:
        return -1.0 if self.odd else 1.0

    @property
    def shift(self) -> int:
        """What is added to i + j in the reflected part."""
        return 2 if self.odd else 1

    def row(self, kernel: Array, i: int) -> Array:
        """Row i of the matrix with a kernel as `kernel` returns it."""
        at = np.arange(self.cells)
        return np.asarray(kernel[np.abs(at - i)] + self.sign * kernel[at + i + self.shift])

    def dense(self, symbol: Array) -> Array:
        """All entries, for few cells."""
        kernel = self.kernel(symbol)
        return np.array([self.row(kernel, i) for i in range(self.cells)])

    def prefix_squares(self, symbol: Array, scales: Array) -> Array:
        """e_{≤t}ᵀ K e_{≤t} for every t, K the matrix with these eigenvalues and e the scales up to t, zeros behind.

        Each grows on the one before by e_t (K_tt e_t + 2 Σ_{i<t} K_ti e_i).
        """
        from scipy.fft import irfft, next_fast_len, rfft

        n, kernel = self.cells, self.kernel(symbol)
        length = next_fast_len(2 * n, real=True)
        near = kernel[:n].copy()
        near[0] = 0.0
        inner = irfft(rfft(near, length) * rfft(scales, length), length)[:n]
        inner += self.sign * _triangular_hankel(kernel[self.shift :], scales)
        own = kernel[0] + self.sign * kernel[self.shift :: 2][:n]
        return np.asarray(np.cumsum(scales * (own * scales + 2.0 * inner)))


def _triangular_hankel(h: Array, e: Array) -> Array:
    """Σ_{i<t} h(t + i) e_i for every t: blocks of one size beside each other, the size doubled in every round."""
    from scipy.fft import irfft, rfft

    n = len(e)
    size = max(_BASE, 1 << (n - 1).bit_length())
    e, h = np.pad(e, (0, size - n)), np.pad(h, (0, max(0, 2 * size - len(h))))
    found = np.zeros(size)
    inside = np.arange(_BASE)
    at = (inside[:, None] + inside).ravel()
    below = np.tril(np.ones((_BASE, _BASE)), -1).ravel()
    step = 4096
    for first in range(0, size // _BASE, step):
        starts = np.arange(first, min(first + step, size // _BASE)) * _BASE
        blocks = (h[2 * starts[:, None] + at] * below).reshape(-1, _BASE, _BASE)
        found[starts[0] : starts[-1] + _BASE] = np.einsum("bij,bj->bi", blocks, e[starts[:, None] + inside]).ravel()
    width = _BASE
    while width < size:
        starts = np.arange(0, size, 2 * width)
        left = np.ascontiguousarray(e.reshape(-1, 2 * width)[:, width - 1 :: -1][:, :width])
        right = h[2 * starts[:, None] + width + np.arange(2 * width)]
        sums = irfft(rfft(left, 2 * width, axis=1) * rfft(right, axis=1), 2 * width, axis=1)
        found.reshape(-1, 2 * width)[:, width:] += sums[:, width - 1 : 2 * width - 1]
        width *= 2
    return found[:n]


KERNEL_BITS = 20
COLUMN_BITS = 16
"""t(0) and the columns are whole numbers of so many bits: price is lost by fewer, not privacy."""

ENDS = get_args(Ends)

_ROUNDED = 2.0**-50
"""More than what a whole number loses as a double, relative to the largest of them."""

_LIMB = 22
"""Bits of the lower limb of sums that 64 bits may not hold."""

_MAX_WORD = 1 << 62


@dataclass(frozen=True, eq=False)
class Staircase:
    """A reflected kernel of steps: `edges` ascending from 0 on, `heights` > 0 of each step down."""

    line: Reflection
    edges: Words
    heights: Words

    def __post_init__(self) -> None:
        edges, heights, n = self.edges, self.heights, self.line.cells
        fits = edges.ndim == heights.ndim == 1 and len(edges) == len(heights) >= 1
        fits = fits and bool((np.diff(edges) > 0).all()) and 0 <= edges[0] and edges[-1] <= n - self.line.even
        _check(n >= 1 and fits and bool((heights > 0).all()) and int(heights.sum()) <= 1 << KERNEL_BITS)
        _check(bool(self.symbol.min() > 0))

    @cached_property
    def symbol(self) -> Array:
        """The eigenvalues of T."""
        steps = np.zeros(self.line.cells + 1)
        steps[self.edges] = self.heights
        return self.line.symbol(np.ascontiguousarray(np.cumsum(steps[::-1])[::-1]))

    @cached_property
    def _squared(self) -> Array:
        """The kernel of T²."""
        return self.line.kernel(self.symbol**2)

    @cached_property
    def column_squares(self) -> Array:
        """The squared norm of each column of T, to about 14 digits."""
        squared, line = self._squared, self.line
        return np.asarray(squared[0] + line.sign * squared[line.shift :: 2][: line.cells])

    @cached_property
    def _exact_squared(self) -> Array:
        """τ(0) … τ(2n + 1), a kernel of T², added up in whole numbers and rounded once.

        Beyond the ends t repeats with the opposite sign after 2n + 1 (mixed ends), or as it is after 2n + 2 (odd) or
        2n (even). In τ a constant, or one with the sign of (−1)^k, may differ from `_squared` where the ends are not
        even: it cancels in every entry of T².
        """
        n, line = self.line.cells, self.line
        t = np.zeros(n + 1, np.int64)
        t[self.edges] = self.heights
        t = np.cumsum(t[::-1])[::-1]
        around, none = np.concatenate([t[:0:-1], t]), np.zeros(1, np.int64)  # from −n to n
        beyond = {"odd": [none, around[:-1]], "mixed": [-around], "even": [around[1:], around[1:2]]}  # to 3n + 1
        sums = np.concatenate([none, np.cumsum(np.concatenate([around, *beyond[line.ends]]))])
        size = 2 * n + 2
        high, low = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for edge, height in zip(self.edges.tolist(), self.heights.tolist(), strict=True):
            box = sums[n + edge + 1 :][:size] - sums[n - edge :][:size]
            high += (box >> _LIMB) * height
            low += (box & ((1 << _LIMB) - 1)) * height
        return np.asarray(high.astype(float) * 2.0**_LIMB + low.astype(float))

    def largest_column(self, columns: Words) -> float:
        """An upper bound of the norms of the columns of T · diag(columns)."""
        tau, line = self._exact_squared, self.line
        own = tau[0] + line.sign * tau[line.shift :: 2][: line.cells]
        squares = (own + _ROUNDED * tau[0]) * columns.astype(float) ** 2
        return sqrt_upward(float(squares.max()) * (1.0 + 2.0**-50))

    def largest_pair(self, columns: Words) -> float:
        """An upper bound of the distance of two columns: their inner product is τ(a) − τ(b) with a ≤ b, τ of T².

        With odd ends a = |i − j| and b = i + j + 2 or what is left of the period, at most n + 1; with mixed ones
        b = 2n − i − j, because τ changes its sign after 2n + 1. Both have the same parity. Where τ rises by at most
        r between two such places, no inner product is below −r. With even ends it is τ(i − j) + τ(i + j + 1), at least
        twice the least τ.
        """
        n, tau = self.line.cells, self._exact_squared
        if self.line.even:
            least = float(tau.min()) - _ROUNDED * float(tau[0])
            inner = 2.0 * least * float(columns.min() if least > 0 else columns.max()) ** 2
            return sqrt_upward(2.0 * (self.largest_column(columns) ** 2 - inner) * (1.0 + 2.0**-49))
        falling = [tau[parity : n + 2 if self.line.odd else 2 * n + 2 : 2] for parity in (0, 1)]
        rise = max(float((each - np.minimum.accumulate(each)).max()) for each in falling if len(each))
        square = self.largest_column(columns) ** 2 + (rise + _ROUNDED * tau[0]) * float(columns.max()) ** 2
        return sqrt_upward(2.0 * square * (1.0 + 2.0**-50))

    def exact_times(self, vector: Words | npt.NDArray[np.object_]) -> list[int]:
        """T z for whole numbers z, exactly."""
        if vector.dtype == object or not len(vector):
            return [int(v) for v in self._boxed(vector)]
        # Cumulative sums of limbs, times at most 2^KERNEL_BITS in all, stay below 2^62.
        bits = 62 - KERNEL_BITS - (3 * self.line.cells + 4).bit_length()
        found, power, rest = np.zeros(len(vector), object), 0, vector
        while True:
            last = bool((np.abs(rest) < 1 << bits).all())
            limb = rest if last else rest & ((1 << bits) - 1)
            found = found + (self._boxed(limb).astype(object) << power if power else self._boxed(limb).astype(object))
            if last:
                return list(found)
            rest, power = rest >> bits, power + bits

    def _boxed(self, z: Any) -> Any:
        n, line = self.line.cells, self.line
        none = np.zeros(1, z.dtype)
        back = z[::-1]
        # Beyond the ends by at most n: where the sign changes, a zero is between the cells and their reflection.
        parts = {"odd": [-back, none, z, none, -back], "mixed": [back, z, none, -back], "even": [back, z, back]}
        extended = np.concatenate(parts[line.ends])
        start = n + 1 if line.odd else n
        sums = np.concatenate([none, np.cumsum(extended)])
        found = np.zeros(n, z.dtype)
        for edge, height in zip(self.edges.tolist(), self.heights.tolist(), strict=True):
            found += (sums[start + edge + 1 :][:n] - sums[start - edge :][:n]) * height
        return found

    def to_dict(self) -> dict[str, Any]:
        steps = {"edges": self.edges.tolist(), "heights": self.heights.tolist()}
        return {"cells": self.line.cells, "ends": self.line.ends, **steps}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Staircase:
        ends = fields["ends"]
        _check(ends in ENDS)
        line = Reflection(int(fields["cells"]), ends)
        return cls(line, np.array(fields["edges"], np.int64), np.array(fields["heights"], np.int64))


@dataclass(frozen=True, eq=False)
class ReflectedLift(Matrix):
    """The lift unit · T · diag(columns).

    `or_none`: the last cell of T is that of records in no cell, whose number is what the others leave of a public one:
    the lift takes a vector x over the other cells as (x, −Σx).
    """

    stairs: Staircase
    columns: Words
    unit: float
    or_none: bool = False

    def __post_init__(self) -> None:
        fits = self.columns.shape == (self.stairs.line.cells,) and math.isfinite(self.unit) and self.unit > 0
        fits = fits and len(self.columns) > self.or_none
        _check(fits and bool(((self.columns > 0) & (self.columns <= 1 << 2 * COLUMN_BITS)).all()))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns), len(self.columns) - self.or_none

    def times(self, vector: Array) -> Array:
        full = np.append(vector, -vector.sum()) if self.or_none else vector
        return self.stairs.line.times(self.stairs.symbol, self.columns * full) * self.unit

    def exact_times(self, vector: Integers) -> Integers:
        whole = np.asarray(vector, object if not isinstance(vector, np.ndarray) else None)
        if self.or_none:
            whole = np.append(whole.astype(object), -sum(map(int, whole)))
        if whole.dtype == object or int(np.abs(whole).max(initial=0)) * int(self.columns.max()) >= _MAX_WORD:
            largest = max((abs(int(v)) for v in whole), default=0) * int(self.columns.max())
            whole = whole.astype(np.int64 if largest < _MAX_WORD else object)
        (mantissa,), power = common_power((self.unit,))
        return [shift(mantissa * value, power) for value in self.stairs.exact_times(whole * self.columns)]

    def scaled(self, columns: Array) -> ReflectedLift:
        if not (columns == columns[0]).all():
            raise damaged_plan("columns with different scales")
        return replace(self, unit=self.unit * float(columns[0]))

    def row(self, i: int) -> Array:
        kernel = self.stairs.line.kernel(self.stairs.symbol)
        return self._of_cells(self.stairs.line.row(kernel, range(len(self.columns))[i]) * self.columns * self.unit)

    def dense(self) -> Array:
        return self._of_cells(self.stairs.line.dense(self.stairs.symbol) * self.columns * self.unit)

    def _of_cells(self, full: Array) -> Array:
        return full[..., :-1] - full[..., -1:] if self.or_none else full

    def sensitivity(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.reflected is None else bounds.reflected(self)

    def largest_norm(self, pairs: bool) -> float:
        """An upper bound of ‖lift · e_i‖, or of ‖lift · (e_i − e_j)‖ for pairs; with `or_none` of both."""
        bound = self.stairs.largest_pair if pairs or self.or_none else self.stairs.largest_column
        return product_upward(self.unit, bound(self.columns))

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "reflected lift",
            "stairs": self.stairs.to_dict(),
            "columns": pack_slow(self.columns),
            "unit": self.unit,
            "or_none": self.or_none,
        }


@dataclass(frozen=True, eq=False)
class ReflectedDecode(Matrix):
    """The answers read from a reflected lift: all prefix sums or all ranges; then the sum of all cells if `counted`.

    `closed`: the sum of all cells is public, and so is the share of it that each prefix sum takes: the one that leaves
    the least noise. Where the last cell is that of records in no cell, no answer has it. `rows` picks some answers.
    """

    lift: ReflectedLift
    ranges: bool
    counted: bool = False
    closed: bool = False
    rows: Words | None = None

    @cached_property
    def _places(self) -> tuple[Words, Words]:
        n = self.lift.shape[1]
        if self.ranges:
            starts, ends = np.triu_indices(n)
            starts, stops = starts.astype(np.int64), ends.astype(np.int64) + 1
        else:
            starts, stops = np.zeros(n, np.int64), np.arange(1, n + 1)
        if self.counted:
            starts, stops = np.append(starts, 0), np.append(stops, n)
        return (starts, stops) if self.rows is None else (starts[self.rows], stops[self.rows])

    @property
    def shape(self) -> tuple[int, int]:
        coordinates, n = self.lift.shape
        every = (n * (n + 1) // 2 if self.ranges else n) + self.counted
        return every if self.rows is None else len(self.rows), coordinates

    @property
    def _scales(self) -> Array:
        return np.asarray(1.0 / (self.lift.columns.astype(float) * self.lift.unit))

    @cached_property
    def _with_all(self) -> Array:
        """The covariance of each prefix sum, from none on, with the sum of all cells."""
        stairs, e = self.lift.stairs, self._scales
        return np.append(0.0, np.cumsum(stairs.line.times(stairs.symbol**-2, e) * e))

    @cached_property
    def _shares(self) -> Array:
        """What each prefix sum, from none on, takes from the public sum of all cells: 0 at first, 1 at last."""
        found = self._with_all / self._with_all[-1] if self.closed else np.zeros(self.lift.shape[0] + 1)
        found[-1] = float(self.closed)
        return found

    @property
    def public(self) -> Array:
        """What each answer takes from the public sum of all cells."""
        starts, stops = self._places
        return np.asarray(self._shares[stops] - self._shares[starts])

    def times(self, vector: Array) -> Array:
        stairs, (starts, stops) = self.lift.stairs, self._places
        sums = np.append(0.0, np.cumsum(stairs.line.times(1.0 / stairs.symbol, vector) * self._scales))
        sums = sums - self._shares * sums[-1]
        return np.asarray(sums[stops] - sums[starts])

    def row_norms(self) -> Array:
        return self._norms if self.rows is None else self._norms[self.rows]

    @cached_property
    def _norms(self) -> Array:
        stairs, n = self.lift.stairs, self.lift.shape[1]
        inverse = stairs.symbol**-2
        if self.ranges:
            variances, whole = self._range_variances(stairs.line.kernel(inverse))
        else:
            variances = stairs.line.prefix_squares(inverse, self._scales)
            whole = float(variances[-1])
            if self.closed:
                variances, whole = variances - (self._shares * self._with_all)[1:], 0.0
                variances[-1] = 0.0
            variances = variances[:n]
        if self.counted:
            variances = np.append(variances, whole)
        assert len(variances) == (n * (n + 1) // 2 if self.ranges else n) + self.counted
        return np.sqrt(np.maximum(variances, 0.0))

    def _range_variances(self, kernel: Array) -> tuple[Array, float]:
        """The variance of every range, start by start, from the covariances of prefix sums; then that of the last."""
        n, line, e = self.lift.shape[1], self.lift.stairs.line, self._scales
        own = np.append(0.0, line.prefix_squares(self.lift.stairs.symbol**-2, e))
        own = own - self._shares * self._with_all
        if self.closed:
            own[-1] = 0.0
        found = np.empty(n * (n + 1) // 2)
        shared = np.zeros(len(e))  # the covariance of the prefix before `start` with every prefix
        at = 0
        for start in range(n):
            known = self._shares[start] * self._with_all[start + 1 : n + 1]
            found[at : at + n - start] = own[start + 1 : n + 1] + own[start] - 2.0 * (shared[start:n] - known)
            at += n - start
            shared += np.cumsum(line.row(kernel, start) * e) * e[start]
        return found, float(own[-1])

    def row(self, i: int) -> Array:
        stairs, (starts, stops) = self.lift.stairs, self._places
        first, last = int(starts[i]), int(stops[i])
        inside = np.full(self.lift.shape[0], self._shares[first] - self._shares[last])
        inside[first:last] += 1.0
        return stairs.line.times(1.0 / stairs.symbol, inside * self._scales)

    def dense(self) -> Array:
        return np.array([self.row(i) for i in range(self.shape[0])]).reshape(self.shape)

    def picked(self, rows: Sequence[int]) -> ReflectedDecode:
        at = np.array(rows, np.int64)
        return replace(self, rows=at if self.rows is None else self.rows[at])

    def to_dict(self) -> dict[str, Any]:
        fields = {"kind": "reflected decode", "lift": self.lift.to_dict(), "ranges": self.ranges}
        rows = None if self.rows is None else self.rows.tolist()
        return fields | {"counted": self.counted, "closed": self.closed, "rows": rows}


def reflected_from_dict(fields: dict[str, Any]) -> ReflectedLift | ReflectedDecode:
    """The map described by `to_dict`."""
    if fields["kind"] == "reflected lift":
        columns = _unpack(fields["columns"])
        stairs, unit = Staircase.from_dict(fields["stairs"]), float(fields["unit"])
        return ReflectedLift(stairs, columns, unit, bool(fields["or_none"]))
    lift = reflected_from_dict(fields["lift"])
    assert isinstance(lift, ReflectedLift)
    rows = fields["rows"]
    picked = None if rows is None else np.array(rows, np.int64)
    made = ReflectedDecode(lift, bool(fields["ranges"]), bool(fields["counted"]), bool(fields["closed"]))
    _check(picked is None or bool(((picked >= 0) & (picked < made.shape[0])).all()))
    return replace(made, rows=picked)


def _unpack(text: str) -> Words:
    try:
        return unpack_slow(text)
    except ValueError:
        _check(False)
        raise


def _check(holds: bool) -> None:
    if not holds:
        raise damaged_plan("a reflected matrix with numbers that do not fit")

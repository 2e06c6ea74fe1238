"""Symmetric matrices over many cells that fast transforms diagonalise: a kernel, reflected at both ends of the cells.

    T_ij = t(i − j) + t(i + j + 1)     mixed ends: values repeat beyond the left one, change their sign at the right
    T_ij = t(i − j) − t(i + j + 2)     odd ends: they change their sign at both
    T_ij = t(i − j) + t(i + j + 1)     even ends: they repeat beyond both

Extended so, a vector has a period, T is a cyclic convolution, and T² or T^−1 are matrices of the same kind: each is
known by its n eigenvalues (the *symbol*), at the frequencies

    θ_m = π − 2π m/(2n + 1)  (mixed),    θ_m = π m/(n + 1)  (odd),    m = 1 … n;    θ_m = π m/n  (even),   m = 0 … n−1.

With W the prefix sums of n cells, or all their ranges, WᵀW is such a matrix: 1/(4 sin²(θ/2)), with mixed ends, for
ranges times n + 1 and with odd ends. For prefix sums of vectors that add up to 0 it is that with even ends, less m = 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]
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

"""Many marginals and the residuals below them as arrays: a million three-way tables are a million rows of numbers.

The same sums as in `residuals`, in the same order of additions, for attributes that all have several values.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]
Words = npt.NDArray[np.int64]
Subset = tuple[int, ...]

MANY = 4096
"""Marginals above which they are worked on as arrays."""

_WAYS = 6
"""Limit on the attributes of one marginal: each has 2^ways residuals."""


def fits_table(shape: Sequence[int], ways: Sequence[Subset]) -> bool:
    """Whether these are many marginals of few attributes each, all of several values."""
    longest = max(map(len, ways), default=0)
    return len(ways) > MANY and longest <= _WAYS and min(shape) > 1 and (len(shape) + 1) ** longest * 8 < 2**62


@dataclass(frozen=True, eq=False)
class WayTable:
    """Marginals, and which residuals are below each: a key for every pair of the two, in the order of the marginals."""

    shape: tuple[int, ...]
    ways: tuple[Subset, ...]

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.ways))

    @cached_property
    def _lengths(self) -> Words:
        return np.array([len(way) for way in self.ways], np.int64)

    @cached_property
    def _by_length(self) -> list[tuple[Words, Words]]:
        """The marginals of each length: their places, and their attributes, one marginal a row."""
        found = []
        for length in np.unique(self._lengths).tolist():
            at = np.flatnonzero(self._lengths == length)
            rows = np.array([self.ways[i] for i in at.tolist()], np.int64).reshape(len(at), length)
            found.append((at, rows))
        return found

    @cached_property
    def cells(self) -> Array:
        """The cells of each marginal."""
        sizes, found = np.array(self.shape, float), np.ones(len(self.ways))
        for at, rows in self._by_length:
            found[at] = sizes[rows].prod(axis=1)
        return found

    @cached_property
    def _below(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Words]:
        """For every marginal and every residual below it: the places of both; then all keys in order."""
        base, longest = len(self.shape) + 1, self._longest
        starts = np.append(0, np.cumsum(2**self._lengths))
        ways, keys = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.int64)
        for at, rows in self._by_length:
            columns = range(rows.shape[1])
            chosen = [A for size in range(len(columns) + 1) for A in itertools.combinations(columns, size)]
            for k, A in enumerate(chosen):
                key = np.full(len(at), len(A), np.int64)
                for j in range(longest):
                    key = key * base + (rows[:, A[j]] + 1 if j < len(A) else 0)
                ways[starts[at] + k], keys[starts[at] + k] = at, key
        known, places = np.unique(keys, return_inverse=True)
        return ways, places.reshape(-1).astype(np.int32), known

    @cached_property
    def members(self) -> Words:
        """The attributes of each residual, one a row, −1 behind the last."""
        keys, base = self._below[2], len(self.shape) + 1
        found = np.empty((len(keys), self._longest), np.int64)
        for j in reversed(range(self._longest)):
            keys, found[:, j] = np.divmod(keys, base)
        return found - 1

    @cached_property
    def subsets(self) -> list[Subset]:
        """The residuals, smaller ones first."""
        lengths = (self.members >= 0).sum(axis=1).tolist()
        return [tuple(row[:n]) for row, n in zip(self.members.tolist(), lengths, strict=True)]

    def products(self, factors: Array) -> Array:
        """The product of one factor per attribute, for each residual."""
        return np.asarray(np.append(factors, 1.0)[self.members].prod(axis=1))

    def prices(self, weights: Array) -> Array:
        """v_A = Σ over the marginals above A of w ∏_{i∈A} (n_i−1) ∏_{j∈way∖A} 1/n_j, for each residual."""
        ways, places, keys = self._below
        above = np.bincount(places, (weights / self.cells)[ways], len(keys))
        sizes = np.array(self.shape, float)
        return np.asarray(above * self.products((sizes - 1) * sizes))

    def variances(self, of_residuals: Array, without_first: bool) -> Array:
        """Of each cell of every marginal: Σ_{A⊆way} σ_A² ∏_{i∈A} (n_i−1)/n_i ∏_{j∈way∖A} 1/n_j².

        `without_first`: the residual of no attribute has no noise and is not among those given.
        """
        known = np.append(0.0, of_residuals) if without_first else of_residuals
        sizes, (ways, places, _) = np.array(self.shape, float), self._below
        each = known * self.products((sizes - 1) / sizes) * self.products(sizes) ** 2
        return np.asarray(np.bincount(ways, each[places], len(self.ways)) / self.cells**2)

"""Sets of differences that the solver can weigh: rows given one by one, or all differences of pairs of points.

The second kind is what replacing one record over n cells gives. Its n(n−1)/2 differences are never written down: their
weighted moment is a graph's Laplacian between two copies of the points, and a lifted difference's squared norm is a
distance between two lifted points.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.norms import largest_distance, largest_norm
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

_WRITTEN = 1 << 24
"""Limit on explicit numbers; larger sets are handled implicitly."""


class Differences(Protocol):
    """The interface of a set of differences s_1 … s_N in k answers, for the solver."""

    @property
    def size(self) -> int:
        """N, the number of differences."""

    @property
    def answers(self) -> int:
        """k, their length."""

    def moment(self, weights: Array) -> Array:
        """Σ λ_i s_i s_iᵀ (k × k)."""

    def factor(self, weights: Array) -> Array:
        """A matrix B with BᵀB = Σ λ_i s_i s_iᵀ, formed without squaring anything."""

    def squares(self, lift: Array) -> Array:
        """‖lift·s_i‖² for every difference, to working precision."""

    def rows(self, index: Index) -> Array:
        """The chosen differences, written down."""

    def generators(self) -> Array:
        """A few differences with the same span as all of them."""

    def times(self, matrix: Array) -> Differences:
        """The differences in other coordinates: each s becomes s·matrix."""

    def largest_norm(self, lift: Array) -> float:
        """max ‖lift·s_i‖, rounded upward."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Differences given as the rows of a matrix."""

    points: Array

    @property
    def size(self) -> int:
        return len(self.points)

    @property
    def answers(self) -> int:
        return int(self.points.shape[1])

    def moment(self, weights: Array) -> Array:
        B = self.factor(weights)
        return np.asarray(B.T @ B)

    def factor(self, weights: Array) -> Array:
        return np.asarray(np.sqrt(weights)[:, None] * self.points)

    def squares(self, lift: Array) -> Array:
        Y = self.points @ lift.T
        return np.asarray(np.einsum("ij,ij->i", Y, Y))

    def rows(self, index: Index) -> Array:
        return np.asarray(self.points[index])

    def generators(self) -> Array:
        return self.points

    def times(self, matrix: Array) -> Rows:
        return Rows(self.points @ matrix)

    def largest_norm(self, lift: Array) -> float:
        return largest_norm(lift, self.points)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The differences points[i] − points[j] of all pairs i < j, in the order of `numpy.triu_indices`."""

    points: Array

    @property
    def size(self) -> int:
        return len(self.points) * (len(self.points) - 1) // 2

    @property
    def answers(self) -> int:
        return int(self.points.shape[1])

    @cached_property
    def _ends(self) -> tuple[Index, Index]:
        return np.triu_indices(len(self.points), 1)

    def _laplacian(self, weights: Array) -> Array:
        L = np.zeros((len(self.points),) * 2)
        L[self._ends] = -weights
        L += L.T
        np.fill_diagonal(L, -L.sum(axis=1))
        return L

    def moment(self, weights: Array) -> Array:
        M = self._centred.T @ self._laplacian(weights) @ self._centred
        return np.asarray((M + M.T) / 2)

    def factor(self, weights: Array) -> Array:
        support = np.flatnonzero(weights > 1e-14 * weights.max())
        if len(support) * self.answers <= _WRITTEN:
            return np.asarray(np.sqrt(weights[support])[:, None] * self.rows(support))
        # Too many to write down. Squares are formed here, of the weights only, which are similar over cells.
        e, Q = np.linalg.eigh(self._laplacian(weights))
        return np.asarray((Q * np.sqrt(np.maximum(e, 0.0))).T @ self._centred)

    def squares(self, lift: Array) -> Array:
        Y = self._centred @ lift.T
        G = Y @ Y.T
        g = np.diag(G)
        i, j = self._ends
        return np.maximum(g[i] + g[j] - 2.0 * G[i, j], 0.0)

    def rows(self, index: Index) -> Array:
        i, j = self._ends
        return np.asarray(self.points[i[index]] - self.points[j[index]])

    @cached_property
    def _centred(self) -> Array:
        return np.asarray(self.points - self.points.mean(axis=0))

    def generators(self) -> Array:
        return np.asarray(self.points[1:] - self.points[0])

    def times(self, matrix: Array) -> Pairs:
        return Pairs(self._centred @ matrix)

    def largest_norm(self, lift: Array) -> float:
        return largest_distance(lift, self.points)

"""Sums over ranges of adjacent cells: prefix sums, ranges, trees, and single cells.

Each answer adds up the cells start … stop−1, so that a million answers cost one cumulative sum. The matrix of these
answers is never written down; its Gram matrix comes from differences in two directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import damaged_plan
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Matrix
from gaussmith.numerics.packed_arrays import pack, unpack

Places = npt.NDArray[np.int64]

_CHUNK = 1 << 22
_WORK = 1 << 27
"""Numbers above which differences of rows are not written down for their norms."""
_VISITED = 2048


def gram(starts: Places, stops: Places, cells: int, weights: Array) -> Array:
    """Σ_i w_i 1_i 1_iᵀ, 1_i being the indicator of the cells of answer i; exact for whole weights below 2^53.

    >>> gram(np.array([0, 0]), np.array([1, 2]), 2, np.ones(2))
    array([[2., 1.],
           [1., 1.]])
    """
    G = np.zeros((cells + 1, cells + 1))
    np.add.at(G, (starts, starts), weights)
    np.add.at(G, (stops, stops), weights)
    np.add.at(G, (starts, stops), -weights)
    np.add.at(G, (stops, starts), -weights)
    return np.asarray(np.cumsum(np.cumsum(G, axis=0), axis=1)[:cells, :cells])


def largest_of_runs(starts: Places, stops: Places, cells: int, weights: Array, *, pairs: bool, alone: bool) -> float:
    """The largest squared norm of W e_i where a record is `alone`, and of W (e_i − e_j) for pairs, W as in `gram`.

    Of many cells, pairs are not visited: then it is what two records far apart add up to, an upper bound.

    >>> largest_of_runs(np.array([0, 0]), np.array([1, 2]), 2, np.ones(2), pairs=False, alone=True)
    2.0
    """
    if pairs and cells <= _VISITED:
        G = gram(starts, stops, cells, weights)
        sizes = np.diag(G)
        return max(float((sizes[:, None] + sizes - 2 * G).max()), float(sizes.max()) if alone else 0.0)
    steps = np.bincount(starts, weights, cells + 1) - np.bincount(stops, weights, cells + 1)
    largest = float(np.cumsum(steps)[:cells].max())
    if not pairs:
        return largest
    whole = float(weights[(starts == 0) & (stops == cells)].sum())  # what holds all cells does not change
    return 2.0 * (largest - whole)


@dataclass(frozen=True, eq=False)
class Intervals(Matrix):
    """The features of interval answers: row i adds up the rows start_i … stop_i − 1 of `inner` (cells × m).

    `closed`: the sum over all cells is public, so its row is zero and answers over all cells have no noise.

    >>> Intervals(np.array([0, 1]), np.array([2, 3]), np.eye(3)).times(np.array([1.0, 2.0, 4.0]))
    array([3., 6.])
    """

    starts: Places
    stops: Places
    inner: Array
    closed: bool = False

    def __post_init__(self) -> None:
        cells = len(self.inner) if self.inner.ndim == 2 else -1
        sound = self.starts.shape == self.stops.shape and bool(np.isfinite(self.inner).all())
        if not sound or not bool(((self.starts >= 0) & (self.starts < self.stops) & (self.stops <= cells)).all()):
            raise damaged_plan("intervals out of range")

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts), int(self.inner.shape[1])

    @cached_property
    def _cumulated(self) -> Array:
        C = np.vstack([np.zeros(self.inner.shape[1]), np.cumsum(self.inner, axis=0)])
        if self.closed:
            C[-1] = 0.0
        return C

    def times(self, vector: Array) -> Array:
        C = self._cumulated @ vector
        return np.asarray(C[self.stops] - C[self.starts])

    def scaled(self, columns: Array) -> Intervals:
        return Intervals(self.starts, self.stops, self.inner * columns, self.closed)

    def without_last(self) -> Intervals:
        return Intervals(self.starts, self.stops, self.inner[:, :-1], self.closed)

    def row_norms(self) -> Array:
        return self._norms.copy()

    @cached_property
    def _norms(self) -> Array:
        if len(self.starts) * self.inner.shape[1] > _WORK:
            # ‖a − b‖² from scalar products, of all ends at once: good to a few roundings of the longest.
            C = self._cumulated
            G = C @ C.T
            sizes = np.diag(G)
            squares = sizes[self.starts] + sizes[self.stops] - 2.0 * G[self.starts, self.stops]
            return np.sqrt(np.maximum(squares, 0.0))
        norms = np.empty(len(self.starts))
        step = max(1, _CHUNK // max(1, self.inner.shape[1]))
        for first in range(0, len(norms), step):
            at = slice(first, first + step)
            rows = self._cumulated[self.stops[at]] - self._cumulated[self.starts[at]]
            norms[at] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return norms

    def row(self, i: int) -> Array:
        return np.asarray(self._cumulated[self.stops[i]] - self._cumulated[self.starts[i]])

    def dense(self) -> Array:
        return np.asarray(self._cumulated[self.stops] - self._cumulated[self.starts])

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "intervals",
            "starts": pack(self.starts.astype(float)),
            "stops": pack(self.stops.astype(float)),
            "inner": pack(self.inner),
            "closed": self.closed,
        }


def intervals_from_dict(fields: dict[str, Any]) -> Intervals:
    """The matrix described by `to_dict`."""
    starts, stops = (unpack(fields[name]).astype(np.int64) for name in ("starts", "stops"))
    return Intervals(starts, stops, unpack(fields["inner"]), bool(fields["closed"]))

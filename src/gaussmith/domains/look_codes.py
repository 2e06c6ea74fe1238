"""Encodings for looks at columns of numbers: in which cell each number is, and how long the whole record is.

A cell is decided by comparisons of doubles with stated edges, low ≤ x < high, so every engine finds the same one. The
outer cells are open: ±inf is in them. A value that is missing or not a number is in no cell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.linear import Array, Words
from gaussmith.problem.codes import Codes
from gaussmith.problem.sql import INFINITY, Step, literal
from gaussmith.problem.squares import folded_squares, spell_squares
from gaussmith.values import dataclass


@dataclass(frozen=True, eq=False)
class ColumnCellCodes(Codes):
    """The cell of each number of a record: a one for it, zeros for the other cells of its column.

    >>> ColumnCellCodes(np.array([[0.0, 1.0]])).encode(np.array([[0.5], [-np.inf], [1.0], [np.nan]])).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
    """

    edges: Array
    """One row for each column, rising."""

    @property
    def columns(self) -> int:
        return len(self.edges)

    @property
    def cells(self) -> int:
        """The cells of one column."""
        return int(self.edges.shape[1]) + 1

    @property
    def width(self) -> int:
        return self.columns * self.cells

    @property
    def extents(self) -> Array:
        return np.ones(self.width)

    def encode(self, rows: Array) -> Words:
        found = np.zeros((len(rows), self.columns, self.cells), np.int64)
        for j, edges in enumerate(self.edges):
            x = np.asarray(rows[:, j], float)
            at = np.flatnonzero(~np.isnan(x))
            found[at, j, np.searchsorted(edges, x[at], side="right")] = 1
        return found.reshape(len(rows), self.width)

    def sum_rows(self, rows: Array) -> Words:
        """As the sum of `encode`, without its zeros."""
        found = np.empty((self.columns, self.cells), np.int64)
        for j, edges in enumerate(self.edges):
            x = np.asarray(rows[:, j], float)
            x = x[~np.isnan(x)]
            found[j] = np.bincount(np.searchsorted(edges, x, side="right"), minlength=self.cells)
        return found.ravel()

    def spell(self, which: range) -> list[Step]:
        """As `encode`: null makes a comparison false, and NaN is above all numbers."""
        return [[f"if({self._inside(*divmod(i, self.cells))}, 1L, 0L) c{i}" for i in which]]

    def _inside(self, j: int, k: int) -> str:
        edges = self.edges[j]
        above = [f"x{j} >= {literal(edges[k - 1])}"] if k > 0 else []
        below = f"x{j} < {literal(edges[k])}" if k < len(edges) else f"x{j} <= {INFINITY}"
        return " and ".join([*above, below])


@dataclass(frozen=True, eq=False)
class LengthCellCodes(Codes):
    """The cell of a record's length ‖(x − centre)·scale‖: a one for it, zeros for the others.

    The length is h·‖z/h‖ with z = (x − centre)·scale and h = max|z_j|, squares added in the order of `BallCodes`. A
    record with a value that is missing, not a number or infinite is in no cell, as is one too far away for doubles.

    >>> codes = LengthCellCodes(np.zeros(2), np.ones(2), np.array([5.0, 6.0]))
    >>> codes.encode(np.array([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0], [np.nan, 0.0]])).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
    """

    centre: Array
    scale: Array
    edges: Array

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def width(self) -> int:
        return len(self.edges) + 1

    @property
    def extents(self) -> Array:
        return np.ones(self.width)

    def _places(self, rows: Array) -> npt.NDArray[np.int64]:
        """The cells of the records that have one."""
        x = np.array(rows, float, order="F")
        with np.errstate(over="ignore", invalid="ignore"):
            z = (x - self.centre) * self.scale
            h = np.abs(z).max(axis=1)
            odd = ~np.isfinite(h)
            z = np.where(odd[:, None], 0.0, z)
            h = np.where(odd | (h == 0), 1.0, h)
            u = z / h[:, None]
            length = h * np.sqrt(folded_squares(u))
        return np.where(odd, -1, np.searchsorted(self.edges, length, side="right"))

    def encode(self, rows: Array) -> Words:
        places = self._places(rows)
        found = np.zeros((len(rows), self.width), np.int64)
        at = np.flatnonzero(places >= 0)
        found[at, places[at]] = 1
        return found

    def sum_rows(self, rows: Array) -> Words:
        places = self._places(rows)
        return np.asarray(np.bincount(places[places >= 0], minlength=self.width), np.int64)

    def spell(self, which: range) -> list[Step]:
        """As `encode`: an odd coordinate is made infinite, and the largest one tells that the record is odd."""
        d, last = self.columns, len(self.edges)
        x = [f"coalesce(if(abs(x{j}) < {INFINITY}, x{j}, {INFINITY}), {INFINITY})" for j in range(d)]
        z = [f"z{j}" for j in range(d)]

        def inside(k: int) -> str:
            above = [f"length >= {literal(self.edges[k - 1])}"] if k > 0 else []
            below = f"length < {literal(self.edges[k])}" if k < last else f"length <= {INFINITY}"
            return " and ".join(["not odd", *above, below])

        return [
            [f"({x[j]} - {literal(self.centre[j])}) * {literal(self.scale[j])} z{j}" for j in range(d)],
            [*z, f"greatest({', '.join(f'abs({each})' for each in z)}, 0D) g"],
            [*(f"if(g < {INFINITY}, {each}, 0D) {each}" for each in z), f"if(g < {INFINITY} and g > 0D, g, 1D) h",
             f"not (g < {INFINITY}) odd"],
            [*(f"z{j} / h u{j}" for j in range(d)), "h", "odd"],
            [f"h * sqrt({spell_squares(d)}) length", "odd"],
            [f"if({inside(k)}, 1L, 0L) c{k}" for k in which],
        ]  # fmt: skip

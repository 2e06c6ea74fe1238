"""Rows with one inner entry and one in the last column, but for a few that take several columns: a dense head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array, Integers, python
from gaussmith.numerics.matrices import Bordered, Dense, Matrix
from gaussmith.numerics.packed_arrays import pack, unpack

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Headed(Matrix):
    """A bordered matrix whose rows `at` have `head` at the columns `over` in place of an inner entry.

        out_i = Σ_c head[i, c] · v[over[c]] + border · v_last    for rows in `at`,      else as the bordered rows

    >>> rest = Bordered(np.array([0, 2]), np.array([0.0, 5.0]), np.array([1.0, 0.0]), 4)
    >>> Headed(rest, np.array([0]), np.array([0, 1]), np.array([[2.0, 3.0]])).dense()
    array([[2., 3., 0., 1.],
           [0., 0., 5., 0.]])
    """

    rest: Bordered
    at: Places
    over: Places
    head: Array

    def __post_init__(self) -> None:
        rows, columns = self.rest.shape
        fits = self.at.ndim == self.over.ndim == 1 and self.head.shape == (len(self.at), len(self.over))
        for places, limit in ((self.at, rows), (self.over, columns - 1)):  # the last column is the border's
            fits = fits and bool(((places >= 0) & (places < limit)).all()) and len(np.unique(places)) == len(places)
        if not fits or not np.isfinite(self.head).all() or self.rest.inner[self.at].any():
            raise PlanError(
                "a headed matrix with an entry that is not finite or out of range",
                "its rows and columns must each be listed once, and its head must replace inner entries",
                "plan again; if this persists, the scales of bounds or weights are too far apart",
                code="headed-matrix-not-finite",
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.rest.shape

    @cached_property
    def block(self) -> Dense:
        """The rows of the head: its columns, then the last one."""
        return Dense(np.column_stack([self.head, self.rest.border[self.at]]))

    @cached_property
    def others(self) -> Bordered:
        """The rows beside the head."""
        return self.rest.picked(np.setdiff1d(np.arange(self.shape[0]), self.at).tolist())

    def times(self, vector: Array) -> Array:
        found = self.rest.times(vector)
        found[self.at] += self.head @ vector[self.over]
        return found

    def exact_times(self, vector: Integers) -> Integers:
        whole = python(vector)
        found = list(self.rest.exact_times(whole))
        taken = [*(whole[j] for j in self.over.tolist()), whole[-1]]
        for i, value in zip(self.at.tolist(), self.block.exact_times(taken), strict=True):
            found[i] = value
        return found

    def scaled(self, columns: Array) -> Headed:
        return Headed(self.rest.scaled(columns), self.at, self.over, self.head * columns[self.over])

    def row_norms(self) -> Array:
        norms = self.rest.row_norms()
        norms[self.at] = self.block.row_norms()
        return norms

    def row(self, i: int) -> Array:
        row = self.rest.row(i)
        for k in np.flatnonzero(self.at == range(self.shape[0])[i]):
            row[self.over] += self.head[k]
        return row

    def dense(self) -> Array:
        full = self.rest.dense()
        full[np.ix_(self.at, self.over)] += self.head
        return full

    def to_dict(self) -> dict[str, Any]:
        places = {"at": self.at.tolist(), "over": self.over.tolist()}
        return {"kind": "headed", "rest": self.rest.to_dict(), "head": pack(self.head), **places}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Headed:
        """The matrix that `to_dict` described."""
        from gaussmith.numerics.matrices import matrix_from_dict

        rest = matrix_from_dict(fields["rest"]).as_bordered()
        if rest is None:
            raise damaged_plan("a headed matrix over dense rows")
        return cls(rest, np.array(fields["at"], np.int64), np.array(fields["over"], np.int64), unpack(fields["head"]))

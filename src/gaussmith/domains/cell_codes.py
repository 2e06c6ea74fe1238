"""Encodings of records as counts of cells: of all cells, or of the cells of some marginals."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.linear import Array, Words
from gaussmith.problem.codes import Codes
from gaussmith.values import dataclass


@dataclass(frozen=True)
class CellCodes(Codes):
    """Which cell of each of some marginals a record is in. The columns hold the places of values, −1 for undeclared.

    `ways` lists the attributes of each marginal, `others` the substitute of an undeclared value; None: no cell.

    >>> CellCodes((3, 2), ((0, 1),), (2, 0)).encode(np.array([[0, 1], [-1, 1]])).tolist()
    [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    """

    sizes: tuple[int, ...]
    ways: tuple[tuple[int, ...], ...]
    others: tuple[int, ...] | None

    @property
    def columns(self) -> int:
        return len(self.sizes)

    @cached_property
    def widths(self) -> list[int]:
        """The cells of each marginal."""
        return [math.prod(self.sizes[i] for i in way) for way in self.ways]

    @property
    def width(self) -> int:
        return sum(self.widths)

    @property
    def extents(self) -> Array:
        return np.ones(self.width)

    def add_places(self, sums: Words, places: Words, weights: Words | None = None) -> None:
        """Add to `sums` how many records are in each cell; `weights` says how often each row occurs."""
        if places.min(initial=0) >= 0:
            pass
        elif self.others is None:
            declared = np.asarray((places >= 0).all(axis=1))
            places, weights = places[declared], None if weights is None else weights[declared]
        else:
            places = np.where(places >= 0, places, np.array(self.others))
        start = 0
        for way, width in zip(self.ways, self.widths, strict=True):
            at = places[:, way[0]] if way else np.zeros(len(places), np.int64)
            for i in way[1:]:
                at = at * self.sizes[i] + places[:, i]
            np.add.at(sums[start : start + width], at, 1 if weights is None else weights)
            start += width

    def encode(self, rows: npt.NDArray[np.int64]) -> Words:
        found = np.zeros((len(rows), self.width), np.int64)
        for counts, row in zip(found, rows, strict=True):
            self.add_places(counts, row[None])
        return found

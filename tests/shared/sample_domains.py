"""One domain of each kind, small enough to be written out by hand."""

from __future__ import annotations

import numpy as np

import gaussmith as gm
from gaussmith.domains.people import People
from gaussmith.domains.row_moments import RowMoments
from gaussmith.papers.looks import ColumnCells, LengthCells


class Domains:
    """One domain of each kind, made anew in every test."""

    def __init__(self) -> None:
        self.box = gm.Box({"a": (1.0, 4.0), "b": (-3.0, -1.0), "c": (-2.0, 6.0)})
        self.people = People(gm.Box({"own": (1.0, 5.0)}), gm.Box({"p": (-1.0, 3.0), "q": (0.0, 0.5)}), 4)
        self.only_own, self.only_rows = People(gm.Box([0], [2]), None, 3), People(None, gm.Box([1], [5]), 2)
        self.moments = gm.Moments({"a": (1.0, 5.0), "b": (0.0, 6.0)}, around=0.25)
        self.few = gm.Moments(gm.Box([0.0, 0.0, 0.0], [2.0, 4.0, 8.0]), [(2, 0), (1, 1), (0, 2)])
        self.rows = RowMoments({"a": (1.0, 5.0)}, "squares", 0.5, max_rows=3)
        self.gaussian = gm.domains.GaussianData([1, -2], [3, 4], rows=50, mean_within=[4, 3], names=["a", "b"])
        self.clipped = gm.domains.GaussianData([1, -2], [3, 4], rows=50).clipped_to(np.array([6.0, 2.0]))
        self.unknown = gm.domains.GaussianData(dimension=2, rows=30, normal=True)
        self.ball = gm.domains.Ball(2, 3.0, centre=[1.0, -2.0], names=["u", "v"])
        self.points = gm.domains.Points([[0, 1, 0], [2, -5, 0]], names=["a", "b", "c"])
        self.sparse, self.even = gm.domains.SparseSum(["a", "b"], 1, [1.0, 4.0]), gm.domains.SparseSum(3, 2, 0.5)
        self.counts, self.votes = gm.Counts(["bread", "milk", "tea"], at_most=2), gm.domains.Votes(4)
        self.cells = gm.Cells({"x": ["p", "q"], "y": 3}, other={"x": "q", "y": 2})
        self.none = gm.Cells(size=3, or_none=True)
        self.columns = ColumnCells([[0, 1], [2, 3]], names=["a", "b"])
        self.lengths = LengthCells([0, 1], [2, 3], [1, 2, 4])

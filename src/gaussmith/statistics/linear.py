"""Linear answers: each row of a matrix over the coordinates of a record, which is a feature of its own."""

from __future__ import annotations

from gaussmith.statistics.statistic import Statistic


class Linear(Statistic):
    """Features that mix coordinates, as they are."""

    kind = "linear"

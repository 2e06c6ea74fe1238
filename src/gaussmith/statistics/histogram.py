"""Histograms: how many people have each of the declared values of a column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.problem.features import Places
from gaussmith.statistics.statistic import Statistic


class Histograms(Statistic):
    """Counts of cells, or of items of which a person has a few."""

    kind = "histogram"

    @staticmethod
    def label(column: str, value: str) -> str:
        """What the number of people with this value is called."""
        return f"{column}={value}"

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """A number of people or rows is not negative."""
        return np.zeros(len(self.weights)), np.full(len(self.weights), np.inf)

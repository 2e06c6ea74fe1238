"""Histograms: how many people have each of the declared values of a column."""

from __future__ import annotations

from gaussmith.statistics.statistic import Statistic


class Histograms(Statistic):
    """Counts of cells, or of items of which a person has a few."""

    kind = "histogram"

    @staticmethod
    def label(column: str, value: str) -> str:
        """What the number of people with this value is called."""
        return f"{column}={value}"

"""Diagnosis: how many people were inside the limits of a question, and how many beyond."""

from __future__ import annotations

from typing import Any

from gaussmith.statistics.histogram import Histograms
from gaussmith.statistics.statistic import LIMITS, AskedAnswer


class Diagnosis(Histograms):
    """Counts of people by where they are between limits; planned as a histogram, asked by `diagnose`."""

    kind = "diagnosis"
    field = None
    over = LIMITS
    counts_beside = False

    @classmethod
    def size_of(cls, asked: AskedAnswer) -> int:
        """One for each cell."""
        return len(asked.arguments[0])

    @classmethod
    def shares_domain(cls, asked: AskedAnswer) -> Any:
        """Each has cells of its own."""
        return asked.arguments

"""Histograms: how many people have each of the declared values of a column."""

from __future__ import annotations

from typing import Any

from gaussmith.statistics.statistic import VALUES, AskedAnswer, Statistic


class Histograms(Statistic):
    """Counts of cells, or of items of which a person has a few."""

    kind = "histogram"
    field = "histograms"
    over = VALUES

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """The column and its declared values."""
        return [AskedAnswer(cls.kind, (), (column, tuple(values))) for column, values in wanted.items()]

    @classmethod
    def size_of(cls, asked: AskedAnswer) -> int:
        """One for each value."""
        return len(asked.arguments[1])

    @classmethod
    def shares_domain(cls, asked: AskedAnswer) -> Any:
        """Each histogram has cells of its own."""
        return asked.arguments

    @staticmethod
    def label(column: str, value: str) -> str:
        """What the number of people with this value is called."""
        return f"{column}={value}"

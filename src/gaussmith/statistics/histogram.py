"""Histograms: how many people have each of the declared values of a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.problem.features import Places
from gaussmith.statistics.statistic import VALUES, AskedAnswer, Statistic


class Histograms(Statistic):
    """Counts of cells, or of items of which a person has a few."""

    kind = "histogram"
    field: ClassVar[str | None] = "histograms"
    over = VALUES
    counts_values = True

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """The column and its declared values."""
        return [AskedAnswer(cls.kind, (), (column, *_declared(values))) for column, values in wanted.items()]

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

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """A number of people or rows is not negative."""
        return np.zeros(len(self.weights)), np.full(len(self.weights), np.inf)


def _declared(values: Any) -> tuple[tuple[Any, ...], Any]:
    """The declared values and None; or the names of declared cells, and the cells."""
    return (tuple(values), None) if isinstance(values, list | tuple) else (values.labels, values.cut)

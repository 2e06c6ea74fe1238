"""Histograms: how many people have each of the declared values of a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from gaussmith.domains.features import Places
from gaussmith.numerics.exact import Array
from gaussmith.statistics.statistic import LIMITS, VALUES, AskedAnswer, Statistic


class Histograms(Statistic):
    """Counts of cells, or of items of which a person has a few."""

    kind = "histogram"
    field: ClassVar[str | None] = "histograms"
    over = VALUES
    counts_values = True

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """The column and its declared values."""
        declared = [(column, *_declared(values)) for column, values in wanted.items()]
        return [AskedAnswer(cls.kind, (), each, size=len(each[1])) for each in declared]

    @staticmethod
    def labels(column: str, values: Sequence[str]) -> tuple[str, ...]:
        """What the numbers of people with these values are called."""
        return tuple(f"{column}={value}" for value in values)

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """A number of people or rows is not negative."""
        return np.zeros(len(self.weights)), np.full(len(self.weights), np.inf)


def _declared(values: Any) -> tuple[tuple[Any, ...], Any]:
    """The declared values and None; or the names of declared cells, and the cells."""
    return (tuple(values), None) if isinstance(values, list | tuple) else (values.labels, values.cut)


# Proportions: the counts of a histogram, whose shares of all of them are shown beside them.


class Proportions(Histograms):
    """Counted and planned as a histogram. The shares are read from the counts, and have intervals of their own."""

    kind = "proportion"
    field = "proportions"
    shows_shares = True


# Diagnosis: how many people were inside the limits of a question, and how many beyond.


class Diagnosis(Histograms):
    """Counts of people by where they are between limits; planned as a histogram, asked by `diagnose`."""

    kind = "diagnosis"
    field = None
    over = LIMITS
    counts_beside = False

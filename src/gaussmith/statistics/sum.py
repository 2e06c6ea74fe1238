"""Sums: of a number of each record, within its bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gaussmith.domains.features import BoundedColumn, Need, One, Places, Value
from gaussmith.numerics.exact import Array
from gaussmith.statistics.statistic import COUNT, ONE, TABLES, AskedAnswer, Statistic


class Sums(Statistic):
    """Features as they are."""

    kind = "sum"
    field = "sums"

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        """The column's total."""
        return (Value(columns[0]),)

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """A sum of numbers that are not negative is not negative; nor is one of numbers that are not positive above 0.

        How many records there are is secret, so no other limit is known.
        """
        places = self.places[:, 0]
        return (
            np.where(lowest(places) >= 0, 0.0, -np.inf),
            np.where(highest(places) <= 0, 0.0, np.inf),
        )


# The count: the number of records, noisy where it is secret and exact where it is public; or of their rows.

NAME = COUNT


class Count(Statistic):
    """One answer: how many records there are, or how many rows of people."""

    kind = COUNT

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        """The number itself."""
        return (One(of_rows=of == "rows"),)

    @classmethod
    def of_records(cls, weight: float = 1.0) -> Count:
        """The number of records."""
        return cls((NAME,), np.array([[ONE]]), np.array([weight]))

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """A number of people or rows is not negative."""
        return np.zeros(len(self.weights)), np.full(len(self.weights), np.inf)


# Linear answers: each row of a matrix over the coordinates of a record, which is a feature of its own.


class Linear(Statistic):
    """Features that mix coordinates, as they are."""

    kind = "linear"


# Workloads: many linear answers over the cells of a histogram, which are features of their own.


class Workloads(Statistic):
    """The answers of a workload in order. There may be millions: names and weights follow from the workload."""

    kind = "workload"
    field = "marginals"
    over = TABLES
    of_columns = False

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """All tables together; of each column its declared values or the names of its cells, and these."""
        tables, declared = wanted
        sizes = {column: len(labels) + 1 for column, labels, _ in declared}  # one more for all that is not declared
        size = sum(math.prod(sizes[column] for column in table) for table in tables)
        return [AskedAnswer(cls.kind, (), wanted, size=size)]

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """Each answer adds up numbers of people in cells, so it is not negative."""
        return np.zeros(len(self.weights)), np.full(len(self.weights), np.inf)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}

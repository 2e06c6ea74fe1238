"""Workloads: many linear answers over the cells of a histogram, which are features of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.problem.features import Places
from gaussmith.statistics.statistic import TABLES, AskedAnswer, Statistic


class Workloads(Statistic):
    """The answers of a workload in order. There may be millions: names and weights follow from the workload."""

    kind = "workload"
    field = "marginals"
    over = TABLES
    of_columns = False

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """All tables together; of each column its declared values or the names of its cells, and these."""
        return [AskedAnswer(cls.kind, (), wanted)]

    @classmethod
    def size_of(cls, asked: AskedAnswer) -> int:
        """One for each cell of each table; a column has one more for all that is not declared."""
        tables, declared = asked.arguments
        sizes = {column: len(labels) + 1 for column, labels, _ in declared}
        return sum(math.prod(sizes[column] for column in table) for table in tables)

    @classmethod
    def shares_domain(cls, asked: AskedAnswer) -> Any:
        """Tables are planned together, with no others."""
        return asked.arguments

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """Each answer adds up numbers of people in cells, so it is not negative."""
        return np.zeros(len(self.weights)), np.full(len(self.weights), np.inf)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}

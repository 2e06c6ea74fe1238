"""The count: the number of records, noisy where it is secret and exact where it is public; or of their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.problem.features import BoundedColumn, Need, One, Places
from gaussmith.statistics.statistic import ONE, Statistic

NAME = "count"


class Count(Statistic):
    """One answer: how many records there are, or how many rows of people."""

    kind = "count"

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        """The number itself."""
        return (One(of_rows=of == "rows"),)

    @classmethod
    def of_records(cls, weight: float = 1.0) -> Count:
        """The number of records."""
        return cls((NAME,), np.array([[ONE]]), np.array([weight]))

    @property
    def counts_records(self) -> bool:
        """Whether it is the number of records, and not of rows."""
        return bool((self.places == ONE).all())

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """A number of people or rows is not negative."""
        return np.zeros(len(self.weights)), np.full(len(self.weights), np.inf)

"""Sums: of a number of each record, within its bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.problem.features import BoundedColumn, Need, Places, Value
from gaussmith.statistics.statistic import AskedAnswer, Statistic


class Sums(Statistic):
    """Features as they are."""

    kind = "sum"
    field = "sums"

    @classmethod
    def leaves_out(cls, asked: AskedAnswer) -> bool:
        """A missing value adds 0: where that is outside the bounds, by leaving the row out."""
        return not all(column.low <= 0 <= column.high for column in asked.columns)

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

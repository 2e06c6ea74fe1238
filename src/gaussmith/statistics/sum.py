"""Sums: of a number of each record, within its bounds."""

from __future__ import annotations

from collections.abc import Sequence

from gaussmith.problem.features import BoundedColumn, Need, Value
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

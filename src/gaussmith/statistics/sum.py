"""Sums: of a number of each record, within its bounds."""

from __future__ import annotations

from collections.abc import Sequence

from gaussmith.problem.features import BoundedColumn, Need, Value
from gaussmith.statistics.statistic import Statistic


class Sums(Statistic):
    """Features as they are."""

    kind = "sum"
    field = "sums"

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        """The column's total."""
        return (Value(columns[0]),)

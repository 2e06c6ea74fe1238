"""What is made of a part of a question: how people come out of rows, and the problem that this makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from gaussmith.expressions.cuts import Cut
from gaussmith.numerics.linear import Array
from gaussmith.problem import Domain
from gaussmith.statistics import Answers
from gaussmith.values import dataclass


@dataclass(frozen=True)
class PersonRule:
    """How people come out of rows, and what numbers are over.

    `unit` is False where each row is a person; else `rows_per_unit` rows of a person count. `means_of` and `count` say
    whether means are over "rows" or "units", and whether people (True) or "rows" are counted. A person counts in at
    most `values_per_unit` of some declared values.
    """

    unit: bool
    rows_per_unit: int
    means_of: str
    count: bool | str
    values_per_unit: int = 1

    def of(self, divided: bool) -> str:
        """Whose numbers a statistic is about: those of records (rows are people), of people or of rows."""
        if not self.unit:
            return "records"
        return "rows" if divided and self.means_of == "rows" and self.rows_per_unit > 1 else "people"

    @property
    def counts_rows(self) -> bool:
        """Whether rows are counted, and are not people."""
        return self.unit and self.count == "rows" and self.rows_per_unit > 1


@dataclass(frozen=True, eq=False)
class Assembled:
    """The domain of one person, the answers, what stands in for missing values (None: the planner's own rule), and
    what each coordinate is made of."""

    domain: Domain
    answers: Answers
    stand_ins: Array | None
    made: tuple[tuple[str, str], ...]
    cuts: tuple[tuple[str, Cut], ...] = ()
    """The cells of columns that are counted in cells."""
    rule: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the row rule that are not those of the question's part."""

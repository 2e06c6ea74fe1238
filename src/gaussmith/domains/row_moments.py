"""Values, squares and products over the rows of people with many rows.

A person with T ≤ k rows adds T·(u, 1), with u the mean of its rows' values, squares and products: a point of the convex
hull of what one row can be. A norm is convex in u, and grows with T: nobody adds more than k times what one row can. So
the best noise is that of rows which are people, k times as large (docs/theory.md, 61).

People with more than k rows count as k rows, each their mean row, rounded to codes. A rounded mean may leave the hull,
which is curved, by half a step in each number; that is added to the largest norm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from gaussmith.checks import check_whole
from gaussmith.domains.box import Box
from gaussmith.domains.domain import DomainWords, Problem, WorstCase
from gaussmith.domains.moments import Moments, ValueProducts
from gaussmith.domains.people import LIMIT
from gaussmith.domains.strategies import Candidate
from gaussmith.errors import DomainError, PlanError, counted
from gaussmith.notations import setting


class RowMoments(Moments):
    """Moments over rows, of which `max_rows` = k count for each person; what is counted as records are rows.

    >>> RowMoments({"km": (0, 100)}, "squares", max_rows=12).max_rows
    12
    """

    kind = "row moments"

    max_rows: int

    def __init__(
        self,
        bounds: Mapping[str, tuple[float, float]] | Box,
        products: str | Sequence[tuple[str | int, str | int]] = "all",
        around: float = 0.0,
        max_rows: int = 2,
    ) -> None:
        super().__init__(bounds, products, around)
        rule, remedy = "people with several rows have a limit of 2 or more", "if each person has one row, use Moments"
        limit = check_whole(LIMIT, max_rows, 2, rule=rule, remedy=remedy, error=DomainError)
        object.__setattr__(self, "max_rows", limit)

    @cached_property
    def _rounding(self) -> Fraction:
        """By what share a person with a rounded mean row may add more than k times what one row adds.

        A rounded mean is off by half a code, so by one in the core of a value and by 2 + steps_i + steps_j in that of a
        product. With Δ the largest norm of a row, a lift takes core 1 of a value or a product of two columns to Δ at
        most, and of a square to 2Δ: each is a combination of two to four rows at the ends of the bounds.
        """
        steps = [int(s) for s in self._coarse_codes.steps]
        off = sum((Fraction(1, s) for s in steps), Fraction(0))
        for i, j in self.pairs:
            off += (2 if i == j else 1) * Fraction(2 + steps[i] + steps[j], steps[i] * steps[j])
        return off

    def extremes(self) -> ValueProducts:
        return replace(super().extremes(), rows=self.max_rows, rounding=self._rounding)

    def check(self, problem: Problem[Any]) -> None:
        super().check(problem)
        if not problem.secret_count:
            what = "variances, covariances or a regression over rows under replace-one"
            rule = "the number of people is public there, and that of their rows is not"
            remedy = f"leave neighbours out, or write {setting('mean_of', 'units')}"
            raise PlanError(what, rule, remedy, code="row-moments-under-replace-one")

    def _solved(self, problem: Problem[Moments], gap: float | None = None) -> Candidate:
        found = super()._solved(problem, gap)
        assert found.law is not None
        return replace(found, law=replace(found.law, lower=self._of_people(found.law.lower)))

    def proven(self, problem: Problem[Any], law: WorstCase) -> float:
        return self._of_people(super().proven(problem, law))

    def _of_people(self, bound: float) -> float:
        """From a bound for rows: a person may have k equal rows, which add k times what one adds; rounded down."""
        return bound * self.max_rows**2 * (1.0 - 2.0**-50)

    @property
    def words(self) -> DomainWords:
        return DomainWords(f"{super().words.reading} Of each person at most {counted(self.max_rows, 'row')} count.")

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), LIMIT: self.max_rows}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> RowMoments:
        pairs = [(int(i), int(j)) for i, j in fields["pairs"]]
        return cls(Box.from_dict(fields["box"]), pairs, fields["around"], fields[LIMIT])

    def __repr__(self) -> str:
        return f"Row{super().__repr__()[:-1]}; at most {counted(self.max_rows, 'row')} of a person)"

"""Counts: which of d items a record has, at most k of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gaussmith.domains.labels import Label, check_at_most, read_labels
from gaussmith.domains.lift_norms import (
    MAX_LISTED,
    Level,
    check_lift,
    exact_numbers,
    largest_few,
    largest_level,
    largest_listed,
    without_count,
)
from gaussmith.domains.uncentred import Listed
from gaussmith.neighbours import ADD_REMOVE, REPLACE_ONE
from gaussmith.numerics.linear import Array, Exchangeable, Matrix, NormBounds, Words
from gaussmith.numerics.two_level import replaced_counts
from gaussmith.problem import Law, Problem
from gaussmith.problem.codes import Codes
from gaussmith.problem.sql import INFINITY, Step
from gaussmith.proofs.exchangeable import proven_levels
from gaussmith.shapes.candidates import Candidate, Search
from gaussmith.shapes.exchangeable import even_counts, exchangeable
from gaussmith.values import dataclass
from gaussmith.workloads import Workload


@dataclass(frozen=True)
class CountCodes(Codes):
    """Which of d items a record has: 1 where the value is above zero, 0 else; missing is 0.

    If there are more than `at_most` ones, the first in declared order are kept.

    >>> CountCodes(4, 2).encode(np.array([[1.0, 0.0, 1.0, 1.0], [np.nan, -3.0, 0.5, np.inf]])).tolist()
    [[1, 0, 1, 0], [0, 0, 1, 1]]
    """

    columns: int
    at_most: int

    @property
    def width(self) -> int:
        return self.columns

    @property
    def extents(self) -> Array:
        return np.ones(self.columns)

    def encode(self, rows: Array) -> Words:
        ones = rows > 0
        return (ones & (np.cumsum(ones, axis=1) <= self.at_most)).astype(np.int64)

    def spell(self, which: range) -> list[Step]:
        """1 above zero; of more than k ones those stay whose place is not after that of the k-th."""
        d, k = self.columns, self.at_most
        above = [f"x{j} > 0D and x{j} <= {INFINITY}" for j in range(d)]
        if k >= d:
            return [[f"if({above[j]}, 1L, 0L) c{j}" for j in which]]
        places = ", ".join(f"if({above[j]}, {j}, null)" for j in range(d))
        last = f"coalesce(get(array_compact(array({places})), {k - 1}), {d}) last"
        numbers = [f"x{j}" for j in which]
        return [[*numbers, last], [f"if({above[j]} and last >= {j}, 1L, 0L) c{j}" for j in which]]


@dataclass(frozen=True, init=False)
class Counts(Listed):
    """The records in {0, 1}^d with at most k ones: which items a person has, bought, visited.

    A record with more than `at_most` items keeps the first of them, in declared order.

    >>> Counts(["bread", "milk", "tea"], at_most=2)
    Counts(3 items, at most 2 of them)
    """

    kind = "counts"
    forms = ("numbers", "pairs")

    dimension: int
    labels: tuple[Label, ...] | None
    at_most: int

    def __init__(self, items: int | Sequence[Label], at_most: int) -> None:
        size, labels = read_labels("item", items)
        object.__setattr__(self, "dimension", size)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "at_most", check_at_most("item", at_most, size))

    @property
    def marks_at_most(self) -> int:
        return self.at_most

    @property
    def reading(self) -> str:
        """The treatment of records, in plain words."""
        rest = "" if self.at_most == self.dimension else (
            f" If a record has more than {self.at_most}, the first {self.at_most} in declared order count."
        )  # fmt: skip
        return (
            f"A record has some of {self.dimension} items: those with a value above zero. Missing values and values "
            f"that are not numbers count as zero.{rest}"
        )

    @property
    def person(self) -> str:
        """Who is one person; for pairs the record does not say."""
        return "each row is one person; in pairs of persons and items, a person is all rows with the same person"

    @property
    def declared_values(self) -> tuple[Label, ...] | None:
        return self.labels

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> CountCodes:
        """The encoding of records as integers."""
        return CountCodes(self.dimension, self.at_most)

    def records(self, most: int = MAX_LISTED) -> Array | None:
        """Every record, one per row; None if there are more than `most`."""
        d, k = self.dimension, self.at_most
        if sum(math.comb(d, j) for j in range(k + 1)) > most:
            return None
        listed = np.zeros((0, d))
        for j in range(k + 1):
            chosen = list(itertools.combinations(range(d), j))
            rows = np.zeros((len(chosen), d))
            if j:
                np.put_along_axis(rows, np.array(chosen), 1.0, axis=1)
            listed = np.vstack([listed, rows])
        return listed

    def farthest(self, direction: Array) -> Array:
        """The farthest record in a direction."""
        found = np.zeros(self.dimension)
        best = np.argsort(-direction, kind="stable")[: self.at_most]
        found[best] = direction[best] > 0
        return found

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound on ‖lift · s‖ over all differences s of neighbours, rounded up.

        add-remove: s = (x, 1), x with j ≤ k ones; replace-one: p ones and q minus ones, p, q ≤ k, p + q ≤ d.
        """
        d, k = self.dimension, self.at_most
        check_lift(lift, d, neighbours)
        added = neighbours == ADD_REMOVE
        return lift.largest(
            NormBounds(
                dense=lambda matrix: largest_listed(matrix, self.records(), neighbours),
                diagonal=lambda lift: largest_few(lift, np.ones(d), k if added else 2 * k),
                exchangeable=lambda lift: largest_level(lift, _added(lift, k) if added else _replaced(d, k)),
            )
        )

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound on ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""
        return self.largest(without_count(lift, self.dimension), REPLACE_ONE)

    def shapes(self, problem: Problem[Any], search: Search) -> list[Candidate]:
        return exchangeable(problem, even_counts(problem), search.gap)

    def proven(self, problem: Problem[Any], law: Law) -> float:
        return proven_levels(problem, law, self.at_most)

    def to_dict(self) -> dict[str, Any]:
        labels = self.dimension if self.labels is None else list(self.labels)
        return {"kind": self.kind, "items": labels, "at_most": self.at_most}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Counts:
        return cls(fields["items"], fields["at_most"])

    def __repr__(self) -> str:
        return f"Counts({self.dimension} items, at most {self.at_most} of them)"


def _added(lift: Exchangeable, k: int) -> list[Level]:
    """The levels of added records that can have the largest norm, which is quadratic in the number of ones."""
    a, b, c, e, f = exact_numbers(lift)
    bend = 2 * a * b + lift.size * b * b + e * e
    slope = a * a + 2 * a * c + 2 * lift.size * b * c + 2 * e * f
    ones = {0, k}
    if bend < 0:
        top = math.floor(-slope / (2 * bend))
        ones |= {j for j in (top, top + 1) if 0 <= j <= k}
    return [(Fraction(j), Fraction(j), 1) for j in ones]


def _replaced(d: int, k: int) -> list[Level]:
    return [(Fraction(t), Fraction(delta), 0) for t, delta in replaced_counts(d, k)]

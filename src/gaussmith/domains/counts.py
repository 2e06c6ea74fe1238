"""Counts: which of d items a record has, at most k of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussmith.checks import checks_arguments
from gaussmith.domains.domain import DomainWords, Problem, WorstCase
from gaussmith.domains.encoding import INFINITY, Encoding, Step
from gaussmith.domains.exchangeable import even_marks, exchangeable
from gaussmith.domains.exchangeable_bounds import proven_levels
from gaussmith.domains.extremes import MAX_LISTED, Marks
from gaussmith.domains.strategies import Candidate, Search
from gaussmith.domains.uncentred import Label, Listed, check_at_most, read_labels
from gaussmith.domains.workloads import Workload
from gaussmith.errors import counted
from gaussmith.numerics.exact import Array, Words


@dataclass(frozen=True)
class CountEncoding(Encoding):
    """Which of d items a record has: 1 where the value is above zero, 0 else; missing is 0.

    If there are more than `at_most` ones, the first in declared order are kept.

    >>> CountEncoding(4, 2).encode(np.array([[1.0, 0.0, 1.0, 1.0], [np.nan, -3.0, 0.5, np.inf]])).tolist()
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

    def centred_rows(self, sums: Words, records: Words) -> Words:
        return sums

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

    @checks_arguments
    def __init__(self, items: int | Sequence[Label], at_most: int) -> None:
        size, labels = read_labels("item", items)
        object.__setattr__(self, "dimension", size)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "at_most", check_at_most("item", at_most, size))

    @property
    def words(self) -> DomainWords:
        rest = "" if self.at_most == self.dimension else (
            f" If a record has more than {self.at_most}, the first {self.at_most} in declared order count."
        )  # fmt: skip
        return DomainWords(
            f"A record has some of {self.dimension} items: those with a value above zero. Missing values and values "
            f"that are not numbers count as zero.{rest}",
            "each row is one person; in pairs of persons and items, a person is all rows with the same person",
        )

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> CountEncoding:
        """The encoding of records as integers."""
        return CountEncoding(self.dimension, self.at_most)

    def records(self, most: int = MAX_LISTED) -> Array | None:
        return self.extremes().listed(most)

    def farthest(self, direction: Array) -> Array:
        """The farthest record in a direction."""
        found = np.zeros(self.dimension)
        best = np.argsort(-direction, kind="stable")[: self.at_most]
        found[best] = direction[best] > 0
        return found

    def extremes(self) -> Marks:
        return Marks(self.dimension, self.at_most)

    def shapes(self, problem: Problem[Any], search: Search) -> list[Candidate]:
        return exchangeable(problem, even_marks(problem), search.gap)

    def proven(self, problem: Problem[Any], law: WorstCase) -> float:
        return proven_levels(problem, law, self.at_most)

    def to_dict(self) -> dict[str, Any]:
        labels = self.dimension if self.labels is None else list(self.labels)
        return {"kind": self.kind, "items": labels, "at_most": self.at_most}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Counts:
        return cls(fields["items"], fields["at_most"])

    def __repr__(self) -> str:
        return f"Counts({counted(self.dimension, 'item')}, at most {self.at_most} of them)"

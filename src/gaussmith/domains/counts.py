"""Counts: which of d items a record has, at most k of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gaussmith.domains.labels import Label, check_at_most, read_labels
from gaussmith.domains.tallied import (
    MOST_LISTED,
    Level,
    Tallied,
    check_lift,
    exact_numbers,
    largest_few,
    largest_level,
    largest_listed,
    without_count,
)
from gaussmith.neighbours import ADD_REMOVE, REPLACE_ONE
from gaussmith.numerics.linear import Array, Diagonal, Exchangeable, Matrix
from gaussmith.numerics.two_level import replaced_counts
from gaussmith.tallies import CountCodes


@dataclass(frozen=True, init=False)
class Counts(Tallied):
    """The records in {0, 1}^d with at most k ones: which items a person has, bought, visited.

    A record with more than `at_most` items keeps the first of them, in declared order.

    >>> Counts(["bread", "milk", "tea"], at_most=2)
    Counts(3 items, at most 2 of them)
    """

    dimension: int
    labels: tuple[Label, ...] | None
    at_most: int

    def __init__(self, items: int | Sequence[Label], at_most: int) -> None:
        size, labels = read_labels("item", items)
        object.__setattr__(self, "dimension", size)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "at_most", check_at_most("item", at_most, size))

    @property
    def reading(self) -> str:
        """How records are read, in plain words."""
        rest = "" if self.at_most == self.dimension else (
            f" Of a record with more than {self.at_most}, the first {self.at_most} in declared order count."
        )  # fmt: skip
        return (
            f"A record has some of {self.dimension} items: those whose value is above zero. Missing values and values "
            f"that are not numbers count as none.{rest}"
        )

    def codes(self, substitutes: Array | None = None) -> CountCodes:
        """How records become integers."""
        return CountCodes(self.dimension, self.at_most)

    def records(self, most: int = MOST_LISTED) -> Array | None:
        """Every record, one a row; None if there are more than `most`."""
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
        """The record that goes farthest in a direction."""
        found = np.zeros(self.dimension)
        best = np.argsort(-direction, kind="stable")[: self.at_most]
        found[best] = direction[best] > 0
        return found

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound of ‖lift · s‖ over all differences s of neighbours, rounded up.

        add-remove: s = (x, 1), x with j ≤ k ones; replace-one: p ones and q minus ones, p, q ≤ k, p + q ≤ d.
        """
        d, k = self.dimension, self.at_most
        check_lift(lift, d, neighbours)
        if isinstance(lift, Exchangeable):
            return largest_level(lift, _added(lift, k) if neighbours == ADD_REMOVE else _replaced(d, k))
        if isinstance(lift, Diagonal):
            return largest_few(lift, np.ones(d), k if neighbours == ADD_REMOVE else 2 * k)
        return largest_listed(lift, self.records(), neighbours)

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound of ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""
        return self.largest(without_count(lift, self.dimension), REPLACE_ONE)

    def to_dict(self) -> dict[str, Any]:
        labels = self.dimension if self.labels is None else list(self.labels)
        return {"kind": "counts", "items": labels, "at_most": self.at_most}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Counts:
        return cls(fields["items"], fields["at_most"])

    def __repr__(self) -> str:
        return f"Counts({self.dimension} items, at most {self.at_most} of them)"


def _added(lift: Exchangeable, k: int) -> list[Level]:
    """The levels of added records among which the norm is largest: it is a quadratic in the number of ones."""
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

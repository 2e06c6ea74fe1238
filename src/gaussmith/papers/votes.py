"""Votes: rankings of candidates, added up as points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gaussmith.checks import checks_arguments
from gaussmith.domains.domain import DomainWords, Problem, WorstCase
from gaussmith.domains.encoding import Encoding, Step, literal
from gaussmith.domains.exchangeable import even_rankings, exchangeable
from gaussmith.domains.exchangeable_bounds import proven_rankings
from gaussmith.domains.extremes import MAX_LISTED, Extremes, Level, check_lift, largest_level, largest_listed
from gaussmith.domains.strategies import Candidate, Search
from gaussmith.domains.uncentred import Label, Listed, read_labels
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError
from gaussmith.numerics.exact import Array, Words, norm_upward, product_upward
from gaussmith.numerics.matrices import Diagonal, Matrix, NormBounds
from gaussmith.privacy.neighbours import ADD_REMOVE


@dataclass(frozen=True)
class VoteEncoding(Encoding):
    """A ranking of d candidates as points: the columns hold ranks, 1 the best; each gets those ranked below it, twice.

    A ballot that does not use each of the ranks 1 … d once gives everyone d−1, twice the mean number of points: it lies
    in the middle of all rankings, so it needs no extra noise and favours nobody.

    >>> VoteEncoding(3).encode(np.array([[1.0, 3.0, 2.0], [1.0, 1.0, 2.0]])).tolist()
    [[4, 0, 2], [2, 2, 2]]
    """

    columns: int

    @property
    def width(self) -> int:
        return self.columns

    @property
    def extents(self) -> Array:
        return np.full(self.columns, 2.0)

    def encode(self, rows: Array) -> Words:
        d = self.columns
        valid = (np.sort(rows, axis=1) == np.arange(1.0, d + 1)).all(axis=1)  # NaN is sorted last and equals nothing
        ranks = np.where(valid[:, None], rows, (d + 1) / 2)
        return (2 * (d - ranks)).astype(np.int64)

    def add_places(self, sums: Words, places: Words, weights: Words | None = None) -> None:
        """Add the points of ballots that list candidates in order of preference."""
        once = np.ones(len(places), np.int64) if weights is None else weights
        sums += once @ self.encode(ranks_of(places))

    def spell(self, which: range) -> list[Step]:
        """2(d − rank) on a ballot that uses each rank once, d − 1 on any other."""
        d = self.columns
        ranks = ", ".join(f"coalesce(x{j}, double('nan'))" for j in range(d))
        wanted = ", ".join(literal(r) for r in range(1, d + 1))
        valid = f"array_sort(array({ranks})) = array({wanted}) valid"
        return [
            [*(f"x{j}" for j in which), valid],
            [f"if(valid, floor(2D * ({literal(d)} - x{j})), {d - 1}L) c{j}" for j in which],
        ]


def ranks_of(places: Words) -> Array:
    """From the candidates in order of preference to the rank of each candidate; NaN for one that is not on the ballot.

    >>> ranks_of(np.array([[2, 0, 1], [1, 1, -1]])).tolist()
    [[2.0, 3.0, 1.0], [nan, 2.0, nan]]
    """
    n, d = places.shape
    ranks = np.full((n, d + 1), np.nan)  # one column too many, for candidates that were not declared
    for j in range(d):
        ranks[np.arange(n), places[:, j]] = j + 1.0
    return ranks[:, :d]


@dataclass(frozen=True)
class Rankings(Extremes):
    """The numbers 0 … d−1 in any order."""

    size: int

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """Reversing a ranking mirrors it at the middle of all rankings, so two rankings differ by at most twice a
        ranking's distance from the middle."""
        check_lift(lift, self.size, neighbours)
        unit = 1.0 if extent is None else float(np.max(extent))
        return lift.sensitivity(
            NormBounds(
                dense=lambda matrix: largest_listed(matrix, self.listed(unit), neighbours),
                diagonal=lambda lift: self._largest_diagonal(lift, neighbours, unit),
                exchangeable=lambda lift: largest_level(lift, [self._level(neighbours, Fraction(unit))]),
            )
        )

    def listed(self, unit: float, most: int = MAX_LISTED) -> Array | None:
        """Every ranking as points, one per row; None if there are more than `most`."""
        if self.size > 12 or math.factorial(self.size) > most:
            return None
        return np.array(list(itertools.permutations(range(self.size))), float) * unit

    def _largest_diagonal(self, lift: Diagonal, neighbours: str, unit: float) -> float:
        """Largest where the largest entries meet the most points."""
        d = self.size
        entries = np.sort(np.abs(lift.entries[:d]))
        if neighbours == ADD_REMOVE:
            last = lift.entries[d:]
            reach = np.nextafter(np.append(entries * np.arange(d), 0.0), np.inf)
            return norm_upward(np.append(np.nextafter(reach * unit, np.inf), last))
        reach = np.nextafter(entries * np.sort(np.abs(2.0 * np.arange(d) - (d - 1))), np.inf)
        return product_upward(norm_upward(reach), unit)

    def _level(self, neighbours: str, unit: Fraction) -> Level:
        d = self.size
        if neighbours == ADD_REMOVE:
            return unit**2 * ((d - 1) * d * (2 * d - 1) // 6), unit * (d * (d - 1) // 2), 1
        return unit**2 * (d * (d * d - 1) // 3), Fraction(0), 0


@dataclass(frozen=True, init=False)
class Votes(Listed):
    """The rankings of d candidates: each gets one point per candidate ranked below it (0 … d−1).

    A ballot that is not a complete ranking counts as no preference: everyone gets the mean, (d−1)/2.

    >>> Votes(["ann", "bob", "eve"])
    Votes(3 candidates)
    """

    kind = "votes"
    forms = ("numbers", "order")

    dimension: int
    labels: tuple[Label, ...] | None

    @checks_arguments
    def __init__(self, candidates: int | Sequence[Label]) -> None:
        size, labels = read_labels("candidate", candidates)
        if size < 2:
            raise DomainError(
                "one candidate", "a ranking needs at least two", "list all candidates", code="only-one-candidate"
            )
        object.__setattr__(self, "dimension", size)
        object.__setattr__(self, "labels", labels)

    @property
    def words(self) -> DomainWords:
        return DomainWords(
            f"A ballot ranks {self.dimension} candidates, and each gets one point per candidate ranked below it. "
            "A ballot that is not a complete ranking counts as no preference: everyone gets the same points."
        )

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> VoteEncoding:
        """The encoding of ballots as integers: twice the points."""
        return VoteEncoding(self.dimension)

    @property
    def points(self) -> int:
        """The total points of one ballot."""
        return self.dimension * (self.dimension - 1) // 2

    @property
    def ranges(self) -> Array:
        return np.full(self.dimension, self.dimension - 1.0)

    def records(self, most: int = MAX_LISTED) -> Array | None:
        return self.extremes().listed(1.0, most)

    def farthest(self, direction: Array) -> Array:
        """The farthest ranking in a direction."""
        return np.argsort(np.argsort(direction, kind="stable"), kind="stable").astype(float)

    def extremes(self) -> Rankings:
        return Rankings(self.dimension)

    def shapes(self, problem: Problem[Any], search: Search) -> list[Candidate]:
        return exchangeable(problem, even_rankings(problem), search.gap)

    def proven(self, problem: Problem[Any], law: WorstCase) -> float:
        return proven_rankings(problem, law)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "candidates": self.dimension if self.labels is None else list(self.labels)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Votes:
        return cls(fields["candidates"])

    def __repr__(self) -> str:
        return f"Votes({self.dimension} candidates)"

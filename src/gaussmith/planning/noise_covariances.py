"""How the noise in features of all queries and groups of a plan goes together: covariances on demand.

The noise in a linear combination of features is a combination of independent normal numbers. For a query with noise of
its own these are the rows of its lift, group by group; for tied queries they follow from the tie: from the cores of its
parts, or from the cells of tables of the same keys. So the covariance of two combinations is an inner product, found
without a matrix over all features.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains.domain import free_marks
from gaussmith.domains.features import Places
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Matrix
from gaussmith.planning.crossed_noise import CrossedNoise
from gaussmith.planning.joint_noise import JointNoise, feature_rows
from gaussmith.planning.joint_people import counts_everybody, parts_by_groups
from gaussmith.planning.lending import number_unit
from gaussmith.planning.query import AnyTie, Query

if TYPE_CHECKING:
    from gaussmith.noise.law import Law
    from gaussmith.planning.plan import Plan

Weights = dict[tuple[int, int], Array]
"""Weights of the cores of a tie, by part and group; or, one for each, of the cells of crossed tables."""

Drawn = tuple[int, int]
"""A shared noise by its place, and which of its groups, where it is drawn anew in each."""


@dataclass(frozen=True, eq=False)
class Term:
    """Some features of one group of a query, each times a number."""

    query: int
    group: int
    places: Places
    factors: Array


@dataclass(frozen=True, eq=False)
class Combination:
    """A sum of terms: a linear function of the features of all queries and groups."""

    terms: tuple[Term, ...] = ()

    def times(self, factor: float) -> Combination:
        return Combination(tuple(Term(t.query, t.group, t.places, t.factors * factor) for t in self.terms))

    def plus(self, other: Combination) -> Combination:
        return Combination((*self.terms, *other.terms))

    @cached_property
    def gathered(self) -> dict[tuple[int, int], dict[int, float]]:
        """The factor of every feature, by query and group; those that cancel are left out."""
        found: dict[tuple[int, int], dict[int, float]] = {}
        for term in self.terms:
            here = found.setdefault((term.query, term.group), {})
            for place, factor in zip(term.places.tolist(), term.factors.tolist(), strict=True):
                here[place] = here.get(place, 0.0) + factor
        kept = {key: {place: factor for place, factor in here.items() if factor} for key, here in found.items()}
        return {key: here for key, here in kept.items() if here}

    def same_as(self, other: Combination) -> bool:
        """Whether both are the same function of the features."""
        return self.gathered == other.gathered


def combine(parts: Iterable[tuple[float, Combination]]) -> Combination:
    """Σ factor · combination."""
    return Combination(tuple(term for factor, part in parts for term in part.times(factor).terms))


@dataclass(frozen=True, eq=False)
class SharedWeights:
    """Of one shared noise: weights of its cores or cells, and that of the number of people."""

    cores: Weights
    people: float = 0.0

    @cached_property
    def part_sums(self) -> dict[int, Array]:
        """The weights of a part's groups added up."""
        found: dict[int, Array] = {}
        for (part, _), weights in self.cores.items():
            found[part] = found[part] + weights if part in found else weights
        return found


@dataclass(frozen=True, eq=False)
class NoiseVector:
    """The noise in a combination: by query and group over independent unit noises, and by tie over its cores."""

    own: dict[tuple[int, int], Array]
    tied: dict[Drawn, SharedWeights]
    """For each tie, each time that it is drawn."""


@dataclass(frozen=True, eq=False)
class NoiseCovariances:
    """How the noise of a whole plan goes together."""

    plan: Plan

    @cached_property
    def _ties(self) -> list[AnyTie]:
        return list(self.plan.ties)

    @cached_property
    def _cores(self) -> dict[tuple[int, int, int], tuple[Array, Array]]:
        return {}

    def vector(self, combination: Combination) -> NoiseVector:
        """The noise in a combination of features."""
        own: dict[tuple[int, int], Array] = {}
        tied: dict[Drawn, SharedWeights] = {}
        for (i, group), factors in combination.gathered.items():
            query, lender = self.plan.queries[i], self.plan.queries[i].block.lender
            places, numbers = np.array(list(factors), np.int64), np.array(list(factors.values()))
            if query.tie is None:
                row = combined_row(query.block.shape.features, places, numbers)
                if lender is not None:  # the last column is that of the number of everybody
                    at, taken = (self._place(lender), group), float(row[-1]) * number_unit(query.block)
                    row = row[:-1]
                    _add(tied, at, {}, taken)
                own[i, group] = row * query.block.noise_scale
                continue
            place = self._place(query.tie)
            if isinstance(query.tie, CrossedNoise):
                _add(tied, (place, 0), _cell_weights(query, query.tie, group, places, numbers), 0.0)
            elif query.tie.groups is None:
                _add(tied, (place, 0), *_tied_weights(query, query.tie, group, places, numbers))
            elif query.groups is not None:
                _add(tied, (place, group), *_tied_weights(query.tie.seen(query), query.tie, 0, places, numbers))
            else:  # every value of a histogram is a group
                for value, number in zip(places.tolist(), numbers, strict=True):
                    one = _tied_weights(query.tie.seen(query), query.tie, 0, np.zeros(1, np.int64), np.array([number]))
                    _add(tied, (place, value), *one)
        return NoiseVector(own, tied)

    def _place(self, tie: AnyTie | None) -> int:
        return next(k for k, each in enumerate(self._ties) if each is tie)

    def covariance(self, one: NoiseVector, other: NoiseVector) -> float:
        """Of the noise in two combinations."""
        found = sum(float(one.own[key] @ other.own[key]) for key in one.own.keys() & other.own.keys())
        for at in one.tied.keys() & other.tied.keys():
            found += self._tied_covariance(at, one.tied[at], other.tied[at])
        return found

    def covariances(self, combinations: Sequence[Combination]) -> Array:
        """Of a few combinations with each other."""
        vectors = [self.vector(each) for each in combinations]
        found = np.zeros((len(vectors), len(vectors)))
        for i, one in enumerate(vectors):
            for j in range(i + 1):
                found[i, j] = found[j, i] = self.covariance(one, vectors[j])
        return found

    def law_width(self, combination: Combination, level: float) -> float:
        """The half-width of pure noise in a combination that covers it with this probability, in standard errors."""
        from gaussmith.noise.combinations import half_width
        from gaussmith.planning.pure_intervals import UP

        vector = self.vector(combination)
        together: dict[tuple[int, int], list[float]] = {}
        laws: dict[tuple[int, int], Law] = {}
        for (i, group), row in vector.own.items():
            block, noise = self.plan.queries[i].block, self.plan.queries[i].noise
            assert block.noise_law is not None
            assert noise is not None
            together.setdefault((noise, group), []).extend((row / block.noise_scale / block.grid.scale).tolist())
            laws[noise, group] = block.noise_law
        blocks = [(laws[key], factors) for key, factors in together.items()]
        variance = sum(law.variance * sum(a * a for a in factors) for law, factors in blocks)
        return half_width(blocks, level).half / math.sqrt(variance) * UP if variance else 0.0

    def _tied_covariance(self, drawn: Drawn, one: SharedWeights, other: SharedWeights) -> float:
        at, tie = drawn[0], self._ties[drawn[0]]
        if isinstance(tie, CrossedNoise):
            marks = _marks(tie, one.cores), _marks(tie, other.cores)
            return tie.lift.combined_covariance(*marks) * tie.noise_scale**2
        found = one.people * other.people * tie.lift.people_variance if one.people and other.people else 0.0
        for p, a in one.part_sums.items():
            for q, b in other.part_sums.items():
                found += float(a @ self._core(at, p, q)[1] @ b)
        for key in one.cores.keys() & other.cores.keys():
            same, between = self._core(at, key[0], key[0])
            found += float(one.cores[key] @ (same - between) @ other.cores[key])
        for weight, parts in ((one.people, other.part_sums), (other.people, one.part_sums)):
            if weight:
                found += weight * sum(float(tie.lift.people_covariance(q) @ b) for q, b in parts.items())
        return found * tie.noise_scale**2

    def _core(self, at: int, p: int, q: int) -> tuple[Array, Array]:
        if (at, p, q) not in self._cores:
            tie = self._ties[at]
            assert isinstance(tie, JointNoise)
            self._cores[at, p, q] = tie.lift.covariance(p, q)
        return self._cores[at, p, q]


def _add(tied: dict[Drawn, SharedWeights], at: Drawn, more: Weights, people: float) -> None:
    """Add weights of the cores of a noise, and of its number of people, to those that are known."""
    known = tied.get(at, SharedWeights({}))
    cores = known.cores
    for key, weights in more.items():
        cores[key] = cores[key] + weights if key in cores else weights
    tied[at] = SharedWeights(cores, known.people + people)


def _marks(tie: CrossedNoise, cells: Weights) -> dict[int, Array]:
    """The weights of cells as tables."""
    found: dict[int, Array] = {}
    for (table, cell), (weight,) in cells.items():
        found.setdefault(table, np.zeros(tie.lift.shapes[table])).flat[cell] += weight
    return found


def _cell_weights(query: Query, tie: CrossedNoise, group: int, places: Places, numbers: Array) -> Weights:
    """Features of a query as weights of the cells of its table, and of that of all people."""
    assert query.place is not None
    part, everybody = query.place.part, tie.cross.everybody
    size = 0 if part is None else query.block.domain.dimension if query.groups is None else 1
    found: Weights = {}
    for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
        if part is not None and place < size:
            cell = tie.cross.cells[query.place.start][group if query.groups is not None else place]
            key = part, int(np.ravel_multi_index(tuple(cell), tie.lift.shapes[part]))
        else:
            assert everybody is not None
            key = everybody, 0
        found[key] = found.get(key, np.zeros(1)) + number
    return found


def _tied_weights(query: Query, tie: JointNoise, group: int, places: Places, numbers: Array) -> tuple[Weights, float]:
    """Features of a tied query as weights of cores, by part and group, and of the number of people."""
    assert query.place is not None
    part, start = query.place.part, query.place.start
    d = query.block.domain.dimension
    if free_marks(query.block.domain) is not None:  # every cell is a group of its part
        assert part is not None
        cells = {(part, start + place): np.array([n]) for place, n in zip(places, numbers, strict=True) if place < d}
        return cells, float(numbers[places >= d].sum()) if query.block.shape.counted else 0.0
    weights = numbers @ feature_rows(query.block.problem)[places]
    if not counts_everybody(query, tie.where):
        assert part is not None
        for q, members in parts_by_groups(query, query.place):
            if members is not None and group in members:  # groups that weigh differently have a part for each weight
                return {(q, members.index(group)): weights}, 0.0
        return {(part, start + group): weights}, 0.0
    people = float(weights[d]) if tie.lift.counted else 0.0
    return ({} if part is None else {(part, start): weights[:d]}), people


def combined_row(matrix: Matrix, places: Places, factors: Array) -> Array:
    """Σ factor · row, by the structure of the matrix.

    >>> from gaussmith.numerics.matrices import Dense
    >>> combined_row(Dense(np.array([[1.0, 2.0], [3.0, 4.0]])), np.array([0, 1]), np.array([1.0, -1.0]))
    array([-2., -2.])
    """
    found = np.zeros(matrix.shape[1])
    bordered, alike = matrix.as_bordered(), matrix.as_exchangeable()
    if bordered is not None:
        np.add.at(found, bordered.index[places], bordered.inner[places] * factors)
        found[-1] += float(bordered.border[places] @ factors)
        return found
    if alike is not None:
        last = places == alike.size
        total = float(factors[~last].sum())
        found[: alike.size] = alike.shared * total
        np.add.at(found, places[~last], alike.inner * factors[~last])
        if alike.border is not None:
            found[alike.size] += alike.border * total
        for factor in factors[last]:
            found += factor * matrix.row(alike.size)
        return found
    for place, factor in zip(places.tolist(), factors.tolist(), strict=True):
        found += factor * matrix.row(place)
    return found

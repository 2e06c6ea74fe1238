"""Shared code of domains whose records are counted as they are: no centre, no bounds to measure from."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.labels import Label, names_of
from gaussmith.domains.lift_norms import MAX_LISTED
from gaussmith.domains.outlines import hull_outlines
from gaussmith.errors import PlanError
from gaussmith.numerics.doubles import within_doubles
from gaussmith.numerics.linear import Array, Dense, Diagonal
from gaussmith.problem import Domain, Law, Problem
from gaussmith.problem.domain import Differences
from gaussmith.proofs.records import listed_differences
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import BEST, Candidate, Candidates, Search, refuse_shape
from gaussmith.shapes.coordinatewise import isotropic_uncentred

if TYPE_CHECKING:
    from gaussmith.problem.features import Features

MAX_ERROR = 1e150
"""Limit on an error whose square still fits in a double."""


class Uncentred(Domain):
    """A record is its own core: centre 0, radius 1."""

    labels: tuple[Label, ...] | None

    @property
    def names(self) -> tuple[str, ...] | None:
        return names_of(self.labels)

    def name(self, j: int) -> str:
        """The label of coordinate j, or its number as text."""
        return str(j) if self.labels is None else str(self.labels[j])

    @property
    def centre(self) -> Array:
        return np.zeros(self.dimension)

    @property
    def radius(self) -> Array:
        return np.ones(self.dimension)

    @property
    def ranges(self) -> Array:
        """The largest change of each coordinate by one record."""
        return np.ones(self.dimension)

    @property
    def spread(self) -> Array:
        """Of no meaning here: means are not planned."""
        return np.zeros(self.dimension)

    def substitutes(self, features: Features, missing: Mapping[str, float]) -> Array:
        self.refuse_missing(missing)
        return np.zeros(0)

    @property
    def substitutes_size(self) -> int:
        return 0

    def check(self, problem: Problem[Any]) -> None:
        if problem.features.centred.any():
            raise PlanError(
                "means of records that are counted",
                "counts, points and sparse vectors are added up",
                "ask for the sums and count=True, and divide",
                code="means-of-counted-records",
            )

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        found = self.shapes(problem, search)
        if self.has_isotropic(problem):
            with within_doubles():
                found = [*found, Candidate(isotropic_uncentred(problem))]
        names = [candidate.shape.name for candidate in found]
        if search.shape not in (BEST, *names):
            raise refuse_shape(search.shape, problem, names)
        return Candidates(found, self._compared(problem, names) if search.shape == BEST else ())

    def _compared(self, problem: Problem[Any], names: list[str]) -> tuple[tuple[str, float], ...]:
        """The price of the standard Gaussian mechanism, where it is no candidate."""
        if "isotropic" in names or problem.features.targets is not None:
            return ()
        reach = self.standard_reach(problem)
        noisy = problem.features.size + problem.asks_secret_count
        return (("isotropic", reach * reach * noisy),) if reach and reach < MAX_ERROR else ()

    @abstractmethod
    def shapes(self, problem: Problem[Any], search: Search) -> list[Candidate]:
        """The shapes that fit, except the standard Gaussian mechanism."""

    def has_isotropic(self, problem: Problem[Any]) -> bool:
        """Whether equal noise on every coordinate is a candidate."""
        return not problem.features.is_linear and problem.features.targets is None

    def has_standard_shape(self, problem: Problem[Any]) -> bool:
        return False

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Shape]:
        return self, isotropic_uncentred(problem)

    @abstractmethod
    def standard_reach(self, problem: Problem[Any]) -> float | None: ...

    @abstractmethod
    def farthest(self, direction: Array) -> Array:
        """The farthest record in a direction, in units of its radius."""

    def core_row(self, features: Features, i: int) -> Array:
        """What one feature takes from each number that is counted of a record."""
        return np.asarray(features.row(i, self.dimension) * self.radius)

    def outlines(self, problem: Problem[Any], first: int, second: int) -> list[Array]:
        return hull_outlines(problem, self.farthest, self.core_row, first, second)


class Listed(Uncentred):
    """Domains whose extreme records can be listed if there are few."""

    @abstractmethod
    def records(self, most: int = MAX_LISTED) -> Array | None:
        """Every extreme record in units of the radius, one per row; None if there are more than `most`."""

    @property
    def declared_lists(self) -> list[Sequence[Label]]:
        return [range(self.dimension) if self.labels is None else self.labels]

    def check(self, problem: Problem[Any]) -> None:
        super().check(problem)
        Domain.check(self, problem)

    def standard_reach(self, problem: Problem[Any]) -> float | None:
        extra = problem.secret_count_weight
        if problem.features.matrix is None:
            entries = np.sqrt(problem.coordinate_weights) * self.radius
            return math.sqrt(self.largest(Diagonal(entries), problem.neighbours) ** 2 + extra)
        if self.records() is None:
            return None
        rows = problem.features.matrix * problem.root_weights * self.radius
        return math.sqrt(self.largest(Dense(rows), problem.neighbours) ** 2 + extra)

    def differences(self, problem: Problem[Any], law: Law) -> Differences | None:
        return listed_differences(problem, law)

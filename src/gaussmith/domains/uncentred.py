"""Shared code of domains whose records are counted as they are: no centre, no bounds to measure from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import check_text, check_whole, is_whole
from gaussmith.domains.domain import (
    Differences,
    Domain,
    MeanRange,
    Problem,
    RecordInput,
    WorstCase,
    check_law,
    refuse_missing,
    refused_law,
)
from gaussmith.domains.extremes import MAX_LISTED as MOST_LISTED
from gaussmith.domains.strategies import (
    BEST,
    Candidate,
    Candidates,
    Search,
    Strategy,
    isotropic_uncentred,
    refuse_shape,
    standard_reach,
)
from gaussmith.errors import DomainError, PlanError
from gaussmith.numerics.doubles import within_doubles
from gaussmith.numerics.exact import Array

if TYPE_CHECKING:
    from gaussmith.domains.features import Features


# Labels of coordinates: the names of items, candidates and cells, or only their number.

Label = str | int | float | bool

MAX_LABELS = 100_000_000
"""Limit on the number of declared coordinates of one kind."""


def read_labels(what: str, given: Any) -> tuple[int, tuple[Label, ...] | None]:
    """The number of coordinates and their labels in order (None if only a number was given).

    `what` names one of them in messages: item, candidate, cell.

    >>> read_labels("item", 3), read_labels("item", ["bread", "milk"])
    ((3, None), (2, ('bread', 'milk')))
    """
    if is_whole(given):
        if not 1 <= given <= MAX_LABELS:
            rule, remedy = f"there must be 1 to {MAX_LABELS:,} {what}s", f"list the {what}s"
            raise DomainError(f"{given} {what}s", rule, remedy, code="too-many-labels", number=given, kind=what)
        return int(given), None
    labels = _listed_labels(what, given)
    return len(labels), labels


def _listed_labels(what: str, given: Any) -> tuple[Label, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        rule, remedy = f"give a number of {what}s or a list of labels", 'write ["a", "b", "c"]'
        raise DomainError(f"{what}s = {given!r}"[:120], rule, remedy, code="labels-not-listed", labels=given, kind=what)
    labels = tuple(x.item() if isinstance(x, np.generic) else x for x in given)
    if not labels:
        raise DomainError(
            f"no {what}s", f"there must be at least one {what}", f"list the {what}s", code="no-labels", kind=what
        )
    for label in labels:
        check_label(what, label)
    if len({(isinstance(x, str), x) for x in labels}) < len(labels):
        double = next(x for i, x in enumerate(labels) if x in labels[:i])
        told, rule = f"{what} {double!r} is declared twice", f"every {what} needs its own label"
        raise DomainError(told, rule, "leave one out", code="label-twice", label=double, kind=what)
    return labels


def check_label(what: str, label: object) -> None:
    """Refuse a label that no engine can compare."""
    if not isinstance(label, str | int | float) or label != label:
        told, rule = f"{what} {label!r}"[:120], "a label must be text, a number or a boolean"
        raise DomainError(told, rule, "write it as text", code="label-of-unknown-type", label=label, kind=what)
    check_text(what, label)


def names_of(labels: tuple[Label, ...] | None) -> tuple[str, ...] | None:
    """Labels as names of answers."""
    return None if labels is None else tuple(map(str, labels))


def check_at_most(what: str, at_most: Any, dimension: int) -> int:
    """The largest number of non-zero coordinates of a record; refuses values outside 1 to the dimension."""
    rule = f"a record has a whole number of {what}s, from 1 to all {dimension}"
    remedy = f"write at_most={min(3, dimension)}, or a limit known without looking at the data"
    return check_whole("at_most", at_most, 1, dimension, rule=rule, remedy=remedy, error=DomainError)


# Laws on records that can be listed one by one.

MAX_LISTED = 1 << 14
"""Limit on the number of listed records in a proof."""


def listed_differences(problem: Problem[Listed], law: WorstCase) -> Differences | None:
    """Every record, or every pair of records, as often as the law says."""
    if law.kind != "listed":
        return None
    domain, rows, weights = problem.domain, problem.weighted_rows, law.numbers["weights"]
    records = domain.records(MAX_LISTED)
    if records is None:
        raise refused_law()
    records = records * domain.coded[1]
    if rows.shape[1] > domain.dimension:
        records = np.hstack([records, np.ones((len(records), 1))])
    points = records @ rows.T
    if not problem.secret_count:
        i, j = np.triu_indices(len(points), 1)
        points = points[i] - points[j]
    check_law(len(points) == len(weights))
    return points, weights


MAX_ERROR = 1e150
"""Limit on an error whose square still fits in a double."""


class Uncentred(Domain):
    """A record is its own core: centre 0, radius 1."""

    compared_by_norm = True

    labels: tuple[Label, ...] | None

    @property
    def names(self) -> tuple[str, ...] | None:
        return names_of(self.labels)

    def name(self, j: int) -> str:
        """The label of coordinate j, or its number as text."""
        return str(j) if self.labels is None else str(self.labels[j])

    @property
    def centre(self) -> Array:
        return np.broadcast_to(0.0, self.dimension)  # cells may be too many to list

    @property
    def radius(self) -> Array:
        return np.broadcast_to(1.0, self.dimension)

    @property
    def means(self) -> MeanRange:
        return MeanRange(self.centre, self.radius, np.broadcast_to(1 / 3, self.dimension))

    @property
    def ranges(self) -> Array:
        """The largest change of each coordinate by one record."""
        return np.ones(self.dimension)

    def substitutes(self, features: Features, missing: Mapping[str, float]) -> Array:
        refuse_missing(missing)
        return np.zeros(0)

    def check(self, problem: Problem[Any]) -> None:
        if problem.features.centred.any():
            what, rule = "means of records that are counted", "counts, points and sparse vectors can only be summed"
            raise PlanError(what, rule, "ask for the sums and count=True, and divide", code="means-of-counted-records")

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
        reach = standard_reach(problem)
        noisy = problem.features.size + problem.asks_secret_count
        return (("isotropic", reach * reach * noisy),) if reach and reach < MAX_ERROR else ()

    @abstractmethod
    def shapes(self, problem: Problem[Any], search: Search) -> list[Candidate]:
        """The shapes that fit, except the standard Gaussian mechanism."""

    def has_isotropic(self, problem: Problem[Any]) -> bool:
        """Whether equal noise on every coordinate is a candidate."""
        return not problem.features.is_linear and problem.features.targets is None

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:
        return self, isotropic_uncentred(problem)

    @abstractmethod
    def farthest(self, direction: Array) -> Array:
        """The farthest record in a direction, in units of its radius."""

    def core_row(self, features: Features, i: int) -> Array:
        """What one feature takes from each number that is counted of a record."""
        row = features.row(i, self.dimension)
        return np.asarray(row * self.radius if self.core_map is None else row @ self.core_map)


class Listed(Uncentred):
    """Domains whose extreme records can be listed if there are few."""

    @abstractmethod
    def records(self, most: int = MOST_LISTED) -> Array | None:
        """Every extreme record in units of the radius, one per row; None if there are more than `most`."""

    @property
    def input(self) -> RecordInput:
        return RecordInput(self.names, (range(self.dimension) if self.labels is None else self.labels,))

    def check(self, problem: Problem[Any]) -> None:
        super().check(problem)
        Domain.check(self, problem)

    def differences(self, problem: Problem[Any], law: WorstCase) -> Differences | None:
        return listed_differences(problem, law)

"""People with many rows: what one person adds to sums over people, to sums over rows, and to the number of rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_whole
from gaussmith.domains.box import MAX_CORNERS, ODD_VALUES, Box
from gaussmith.domains.outlines import corner_outlines
from gaussmith.errors import DomainError, PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import fraction_up, fractions_up, norm_upward
from gaussmith.numerics.linear import Array, Bordered, Matrix
from gaussmith.numerics.norms import largest_distance, largest_norm
from gaussmith.problem import Domain, Law, Problem
from gaussmith.problem.codes import BoxCodes, PeopleCodes
from gaussmith.problem.domain import BoundsTable, Differences
from gaussmith.proofs.people import people_bound, people_differences
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate, Candidates, Search, Way, try_ways
from gaussmith.shapes.coordinatewise import isotropic
from gaussmith.shapes.people import lifted_people
from gaussmith.shapes.solved import is_worth_solving, solved
from gaussmith.values import dataclass
from gaussmith.workloads import Workload

Places = npt.NDArray[np.int64]


LIMIT = "rows_per_unit"
"""What requests and saved plans call `max_rows`."""


@dataclass(frozen=True, eq=False)
class People(Domain):
    """One person with T rows, 1 ≤ T ≤ k = `max_rows`, adds three kinds of numbers.

        own     numbers of the person as a whole (a total, a mean), each within its bounds
        rows    Σ (value − centre) over the T rows, within ±T times the half range of `rows`
        T       the number of rows

    So the sums over rows cannot be large if T is small: the set of people is a cone, not a box, and noise for the cone
    is smaller. The coordinates are those of `own`, then those of `rows`, then T.

    >>> People(Box({"fare": (0, 50)}), Box({"km": (0, 30)}), max_rows=20).names
    ('fare', 'km', 'rows')
    """

    kind = "people"

    own: Box | None
    rows: Box | None
    max_rows: int

    def __post_init__(self) -> None:
        rule = "people with several rows have a limit of 2 or more"
        remedy = "if each person has one row, use a Box"
        limit = check_whole(LIMIT, self.max_rows, 2, rule=rule, remedy=remedy, error=DomainError)
        object.__setattr__(self, "max_rows", limit)

    @cached_property
    def dimension(self) -> int:
        return len(self._own.centre) + len(self._rows.centre) + 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (*(self._own.names or ()), *(self._rows.names or ()), "rows")

    @cached_property
    def _own(self) -> _Part:
        return _Part.of(self.own)

    @cached_property
    def _rows(self) -> _Part:
        return _Part.of(self.rows)

    @cached_property
    def parts(self) -> tuple[slice, slice, int]:
        """The positions of the person's own numbers, of the sums over rows, and of T."""
        p, q = len(self._own.centre), len(self._rows.centre)
        return slice(0, p), slice(p, p + q), p + q

    @cached_property
    def centre(self) -> Array:
        return np.concatenate([self._own.centre, np.zeros_like(self._rows.centre), [0.0]])

    @cached_property
    def radius(self) -> Array:
        k = float(self.max_rows)
        return np.concatenate([self._own.radius, k * self._rows.radius, [k]])

    @cached_property
    def spread(self) -> Array:
        """The mean squared distance of a mean from the centre; for a sum over rows, that of the mean over rows."""
        own, rows = self._own.radius, self._rows.radius
        return np.concatenate([own * own / 3, rows * rows / 3, [0.0]])

    @cached_property
    def mean_distances(self) -> Array:
        """Half of each range; for a sum over rows that of a row."""
        return np.concatenate([self._own.radius, self._rows.radius, [0.0]])

    @cached_property
    def coded(self) -> tuple[Array, Array]:
        k = float(self.max_rows)
        return (
            np.concatenate([self._own.coded[0], np.zeros_like(self._rows.centre), [0.0]]),
            np.concatenate([self._own.coded[1], k * self._rows.coded[1], [k]]),
        )

    @property
    def rows_coordinate(self) -> int:
        return self.parts[2]

    @property
    def over_rows(self) -> tuple[int, int]:
        return len(self._rows.centre), self.max_rows

    def worths(self, weights: Array) -> tuple[Array, Array, float]:
        """Square roots of weights times half ranges, for own numbers and sums over rows; and the weight of t."""
        own, over, last = self.parts
        roots = np.sqrt(weights) * self.radius
        return roots[own], roots[over], float(roots[last] ** 2)

    @cached_property
    def middles(self) -> Array:
        """What means are measured from: of sums over rows that of a row."""
        return np.concatenate([self._own.coded[0], self._rows.coded[0], [0.0]])

    @property
    def reading(self) -> str:
        """The treatment of records, in plain words."""
        return "Each person's numbers are clipped to their bounds."

    def codes(self, substitutes: Array, workload: Workload | None = None) -> PeopleCodes:
        """The encoding of people as integers."""
        boxes = [box for box in (self.own, self.rows) if box is not None]
        k = float(self.max_rows)
        lower, upper = (np.concatenate([[], *(getattr(box, end) for box in boxes)]) for end in ("lower", "upper"))
        coded = BoxCodes.for_bounds(lower, upper, substitutes[:-1])  # bounds that boxes took
        return PeopleCodes(
            np.append(coded.low, 0.0),
            np.append(coded.top, k),
            np.append(coded.scale, 1.0),
            np.append(coded.steps, self.max_rows),
            np.append(coded.substitute, 0.0),
            len(self._rows.centre),
            self.max_rows,
        )

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound on ‖lift · s‖ over all differences s, rounded up.

        A person's norm is a convex function of T, so it is largest at T = 1 or T = k. Under replace-one the
        two people have k and k rows, or k and one.
        """
        extent = np.ones(self.dimension) if extent is None else extent
        private = neighbours == ADD_REMOVE
        if lift.shape[1] != self.dimension + private:
            what, rule = f"a lift of {lift.shape[1]} columns", f"the domain has {self.dimension + private} columns"
            raise PlanError(what, rule, "plan again", code="people-lift-does-not-match-domain", columns=lift.shape[1])
        k = self.max_rows
        rows = lift.as_bordered()
        if private and rows is None:  # a norm is convex in each sum over rows: their corners will do
            corners = np.hstack([self.corners(extent), np.ones((2**self.dimension, 1))])
            return largest_norm(lift.exact_entries(), corners)
        index, inner, border = _entries(rows)
        if private:
            return max(self._reach(index, inner, border, extent, Fraction(T, k)) for T in (1, k))
        if border.any():
            what = "a lift that combines columns"
            raise PlanError(what, "it is not allowed under replace-one", "plan again", code="people-lift-ties-columns")
        return self._change(index, inner, extent)

    def corners(self, extent: Array | None = None) -> Array:
        """The extreme people, one per row: own numbers and sums over rows at ± their maximum, with k rows or one."""
        if 2**self.dimension > MAX_CORNERS:
            what = f"people with {self.dimension} numbers"
            rule = "they have too many corners to visit"
            remedy = "use a closed form"
            raise PlanError(what, rule, remedy, code="too-many-corners-of-people", dimension=self.dimension)
        extent = np.ones(self.dimension) if extent is None else extent
        own, over, last = self.parts
        found = []
        for T in (self.max_rows, 1):
            t = Fraction(T, self.max_rows)
            reach = [*extent[own], *fractions_up(Fraction(e) * t for e in extent[over])]
            signs = itertools.product((-1.0, 1.0), repeat=last)
            rows = float(Fraction(extent[last]) * t)
            found += [[*(s * r for s, r in zip(row, reach, strict=True)), rows] for row in signs]
        return np.array(found)

    def _reach(self, index: Places, inner: Array, border: Array, extent: Array, t: Fraction) -> float:
        """An upper bound on the norm over all people with T = t·k rows, with a secret number of people."""
        _, over, last = self.parts
        bounds = np.append(extent, 1.0)
        bounds[over] = fractions_up(Fraction(e) * t for e in extent[over])
        reach = np.nextafter(np.nextafter(np.abs(inner) * bounds[index], np.inf) + np.abs(border), np.inf)
        known = np.flatnonzero(index >= last)  # nothing varies here but T, and its sign against the border is known
        values = {last: Fraction(extent[last]) * t, last + 1: Fraction(1)}
        reach[known] = fractions_up(
            abs(Fraction(inner[i]) * values[int(index[i])] + Fraction(border[i])) for i in known
        )
        return norm_upward(reach)

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound of ‖lift · (s − s′)‖ over two people, with an add-remove lift; rounded up."""
        rows = lift.as_bordered()
        if rows is None:
            moved = largest_distance(lift.exact_entries()[:, :-1], self.corners())
            return moved * (1 + 2.0**-40)  # 1/k is a rounded double
        index, inner, _ = _entries(rows)
        varying = index <= self.parts[2]
        return self._change(index[varying], inner[varying], np.ones(self.dimension))

    def _change(self, index: Places, inner: Array, extent: Array) -> float:
        """The largest norm of Σ inner·difference over two people with k and k rows, or with k rows and one."""
        _, over, last = self.parts
        k = self.max_rows
        found = []
        for other in (k, 1):
            bounds = 2.0 * extent
            bounds[over] = fractions_up(Fraction(e) * Fraction(k + other, k) for e in extent[over])
            bounds[last] = fraction_up(Fraction(extent[last]) * Fraction(k - other, k))
            found.append(norm_upward(np.nextafter(np.abs(inner) * bounds[index], np.inf)))
        return max(found)

    def check(self, problem: Problem[Any]) -> None:
        super().check(problem)
        if problem.features.matrix is not None and not problem.secret_count:
            raise PlanError(
                "a matrix of answers of people with rows under replace-one",
                "it is solved under add-remove",
                "leave out neighbours=, or ask for sums",
                code="matrix-of-people-under-replace-one",
            )

    def check_plain(self) -> None:
        raise PlanError(
            "a plan for people with many rows",
            "the plan does not say which rows belong to the same person",
            "release the request it came from: gaussmith.release(request)",
            code="people-plan-without-request",
        )

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        if problem.features.matrix is not None:  # closed forms read each coordinate by itself
            return try_ways([Way("solved", lambda: solved(problem, search.gap))], problem, search)
        ways = [Way("lifted", lambda: Candidate(lifted_people(problem)))]
        if problem.secret_count:
            ways.append(Way("solved", lambda: solved(problem, search.gap), is_worth_solving(problem)))
        ways.append(Way("isotropic", lambda: Candidate(isotropic(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Shape]:
        return self, isotropic(problem)

    def closed_bound(self, problem: Problem[Any]) -> float:
        return people_bound(problem)

    def differences(self, problem: Problem[Any], law: Law) -> Differences | None:
        return people_differences(problem, law)

    def outlines(self, problem: Problem[Any], first: int, second: int) -> list[Array]:
        """With one row or with all that count, every number at either of its ends."""
        choices = itertools.product((1 / self.max_rows, 1.0), (-1, 1), (-1, 1))
        corners = [
            [self._end(problem, i, share, sign) for i, sign in ((first, one), (second, two))]
            for share, one, two in choices
        ]
        return corner_outlines(problem, np.array(corners))

    def _end(self, problem: Problem[Any], i: int, share: float, sign: int) -> float:
        """One end of what a person with this share of the rows adds to a feature."""
        features = problem.features
        if i == features.size:
            return 1.0  # the person
        j, (_, over, last) = int(features.index[i]), self.parts
        if j == last:
            return share * self.max_rows
        if j >= over.start:
            return float(sign * share * self.radius[j])
        return float(sign * self.radius[j] + (0.0 if features.centred[i] else self.centre[j]))

    def bounds_table(self, problem: Problem[Any], places: Sequence[int], substitutes: Array) -> BoundsTable:
        boxes = [box for box in (self.own, self.rows) if box is not None]
        lower, upper = (np.concatenate([[], *(getattr(box, end) for box in boxes)]) for end in ("lower", "upper"))
        numbers = (lower, upper, substitutes)
        rows = [(self.name(j), [float(each[j]) for each in numbers]) for j in places if j < len(lower)]
        return BoundsTable(("column", "from", "to", "a missing value becomes"), rows, ODD_VALUES)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "own": None if self.own is None else self.own.to_dict(),
            "rows": None if self.rows is None else self.rows.to_dict(),
            LIMIT: self.max_rows,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> People:
        own, rows = (None if fields[part] is None else Box.from_dict(fields[part]) for part in ("own", "rows"))
        return cls(own, rows, int(fields[LIMIT]))

    def __hash__(self) -> int:
        return hash((self.own, self.rows, self.max_rows))


@dataclass(frozen=True)
class _Part:
    """The values that planning needs from a box that may be absent."""

    names: tuple[str, ...]
    centre: Array
    radius: Array
    coded: tuple[Array, Array]

    @classmethod
    def of(cls, box: Box | None) -> _Part:
        if box is None:
            return cls((), np.zeros(0), np.zeros(0), (np.zeros(0), np.zeros(0)))
        return cls(tuple(box.name(j) for j in range(box.dimension)), box.centre, box.radius, box.coded)


def _entries(rows: Bordered | None) -> tuple[Places, Array, Array]:
    """Where each row's inner entry is, the inner entries and those in the last column."""
    if rows is None:
        rule = "each row must use one column, or the lift must be dense"
        raise PlanError("an unknown kind of lift for people", rule, "plan again", code="unknown-lift-of-people")
    return rows.index, rows.inner, rows.border

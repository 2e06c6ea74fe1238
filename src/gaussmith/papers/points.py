"""Points: every record is one of a finite list of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_coordinate_names, checks_arguments
from gaussmith.domains.cell_bounds import cell_differences
from gaussmith.domains.cell_strategies import MAX_POINTS, one_of_many
from gaussmith.domains.domain import Differences, DomainWords, Problem, RecordInput, WorstCase
from gaussmith.domains.encoding import Encoding, Step, literal
from gaussmith.domains.extremes import Marks
from gaussmith.domains.strategies import Candidate, Search
from gaussmith.domains.uncentred import Label, Uncentred
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError
from gaussmith.numerics.exact import Array, Words
from gaussmith.numerics.packed_arrays import pack, unpack


@dataclass(frozen=True, eq=False)
class PointEncoding(Encoding):
    """Which of the declared points a record is: the nearest, in units of each coordinate's spread; ties to the earlier.

    A record with a missing value is the first point. Infinite values count as the largest double.

    >>> PointEncoding(np.array([[0.0, 0.0], [1.0, 500.0]])).encode(np.array([[0.9, 480.0], [np.nan, 500.0]])).tolist()
    [[0, 1], [1, 0]]
    """

    points: Array

    @property
    def columns(self) -> int:
        return int(self.points.shape[1])

    @property
    def width(self) -> int:
        return len(self.points)

    @property
    def extents(self) -> Array:
        return np.ones(len(self.points))

    @cached_property
    def unit(self) -> Array:
        """The unit of each coordinate: its spread."""
        spread = np.ptp(self.points, axis=0)
        return np.where(spread > 0, spread, 1.0)

    def place(self, rows: Array) -> Words:
        """The index of the point of each record."""
        missing = np.asarray(np.isnan(rows).any(axis=1))
        x = np.where(missing[:, None], self.points[0], rows) / self.unit
        best = np.full(len(rows), np.inf)
        at = np.zeros(len(rows), np.int64)
        for i, point in enumerate(self.points / self.unit):
            # One operation at a time, coordinate by coordinate: a record's point must not depend on its neighbours.
            distance = np.zeros(len(rows))
            for j in range(len(point)):
                step = np.minimum(np.abs(x[:, j] - point[j]), 1e150)
                distance = distance + step * step
            nearer = distance < best
            best[nearer], at[nearer] = distance[nearer], i
        return at

    def encode(self, rows: Array) -> Words:
        found = np.zeros((len(rows), self.width), np.int64)
        found[np.arange(len(rows)), self.place(rows)] = 1
        return found

    def sum_rows(self, rows: Array) -> Words:
        """The sum of the integers of an array of records: points are counted, not written out."""
        return np.bincount(self.place(rows), minlength=self.width)

    def spell_place(self) -> list[Step]:
        """Where the nearest point stands, ties to the earlier, as in `place`."""
        k, points, unit = self.columns, self.points / self.unit, self.unit
        missing = " or ".join(f"x{j} is null or isnan(x{j})" for j in range(k))
        filled = [f"if(missing, {literal(self.points[0, j])}, x{j}) / {literal(unit[j])} x{j}" for j in range(k)]

        def distance(point: Sequence[float]) -> str:
            steps = (f"least(abs(x{j} - {literal(p)}), 1e150D)" for j, p in enumerate(point))
            return " + ".join(f"({step} * {step})" for step in steps)

        distances = ", ".join(distance(point) for point in points.tolist())
        return [
            [*(f"x{j}" for j in range(k)), f"({missing}) missing"],
            filled,
            [f"array({distances}) far"],
            ["array_position(far, array_min(far)) - 1 place"],
        ]


@dataclass(frozen=True, eq=False, init=False)
class Points(Uncentred):
    """The rows of an array: the possible records. Sums of their coordinates are released.

    Any other record counts as the nearest one (each coordinate in units of its spread; ties go to the earlier), and
    a record with a missing value as the first.

    >>> Points([[0, 0], [1, 0], [1, 5]])
    Points(3 points of 2 coordinates)
    """

    kind = "points"
    or_none = False

    points: Array
    labels: tuple[Label, ...] | None

    @checks_arguments
    def __init__(self, points: npt.ArrayLike, names: Sequence[str] | None = None) -> None:
        try:
            given = np.array(points, float)
        except (TypeError, ValueError):
            given = np.zeros((0, 0, 0))
        if given.ndim != 2 or 0 in given.shape or not np.isfinite(given).all():
            what = f"points of shape {given.shape}"
            rule = "one row per point, one column per coordinate, finite numbers"
            remedy = "give an array such as [[0, 0], [1, 5]]"
            raise DomainError(what, rule, remedy, code="points-malformed", shape=given.shape)
        if len(np.unique(given, axis=0)) < len(given):
            raise DomainError(
                "a point listed twice", "every point must be listed once", "leave one out", code="point-twice"
            )
        names = check_coordinate_names(names, given.shape[1])
        given.flags.writeable = False
        object.__setattr__(self, "points", given)
        object.__setattr__(self, "core_map", given.T)
        object.__setattr__(self, "labels", None if names is None else tuple(map(str, names)))

    @property
    def dimension(self) -> int:
        return int(self.points.shape[1])

    @property
    def ranges(self) -> Array:
        """The largest absolute value of each coordinate."""
        size = np.abs(self.points).max(axis=0)
        return np.where(size > 0, size, 1.0)

    @property
    def input(self) -> RecordInput:
        return RecordInput(self.names)

    @property
    def words(self) -> DomainWords:
        return DomainWords(
            f"A record is one of {len(self.points)} declared points. Any other record counts as the nearest point, and "
            "a record with a missing value as the first."
        )

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> PointEncoding:
        """The encoding of records as integers: the number of records at each point."""
        return PointEncoding(self.points)

    def farthest(self, direction: Array) -> Array:
        """The farthest point in a direction, as counts of points."""
        found = np.zeros(len(direction))
        found[int(np.argmax(direction))] = 1.0
        return found

    def extremes(self) -> Marks:
        """A lift applies to counts of points: a record is at one of them."""
        return Marks(len(self.points), 1, at_least=1)

    def shapes(self, problem: Problem[Any], search: Search) -> list[Candidate]:
        return one_of_many(problem, search, MAX_POINTS)

    def has_isotropic(self, problem: Problem[Any]) -> bool:
        return False

    def differences(self, problem: Problem[Any], law: WorstCase) -> Differences | None:
        return cell_differences(problem, law)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "points": pack(self.points),
            "names": None if self.names is None else list(self.names),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Points:
        return cls(unpack(fields["points"]), fields["names"])

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"Points({n} points of {d} coordinate{'s' if d > 1 else ''})"

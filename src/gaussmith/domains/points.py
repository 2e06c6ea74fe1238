"""Points: every record is one of a finite list of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.domains.cells import largest_cell
from gaussmith.domains.labels import Label
from gaussmith.domains.tallied import Tallied, check_lift, largest_few, without_count
from gaussmith.errors import DomainError
from gaussmith.neighbours import ADD_REMOVE, REPLACE_ONE
from gaussmith.numerics.linear import Array, Diagonal, Matrix, exact_entries, pack, unpack
from gaussmith.tallies import PointCodes


@dataclass(frozen=True, eq=False, init=False)
class Points(Tallied):
    """The rows of an array: all that a record can be. Sums of their coordinates are released.

    A record that is none of them counts as the nearest one (each coordinate in units of its spread; ties to the
    earlier), one with a missing value as the first.

    >>> Points([[0, 0], [1, 0], [1, 5]])
    Points(3 points of 2 coordinates)
    """

    points: Array
    labels: tuple[Label, ...] | None

    def __init__(self, points: npt.ArrayLike, names: Sequence[str] | None = None) -> None:
        try:
            given = np.array(points, float)
        except (TypeError, ValueError):
            given = np.zeros((0, 0, 0))
        if given.ndim != 2 or 0 in given.shape or not np.isfinite(given).all():
            raise DomainError(
                f"points of shape {given.shape}",
                "one row per point, one column per coordinate, finite numbers",
                "give an array such as [[0, 0], [1, 5]]",
            )
        if len(np.unique(given, axis=0)) < len(given):
            raise DomainError("a point listed twice", "every point is listed once", "leave one out")
        if names is not None and (len(names) != given.shape[1] or len(set(names)) != len(names)):
            raise DomainError(
                f"{len(set(names))} different names for {given.shape[1]} coordinates",
                "every coordinate has its own name",
                "give one name per coordinate",
            )
        given.flags.writeable = False
        object.__setattr__(self, "points", given)
        object.__setattr__(self, "labels", None if names is None else tuple(map(str, names)))

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return int(self.points.shape[1])

    @property
    def reach(self) -> Array:
        """The largest size of each coordinate."""
        size = np.abs(self.points).max(axis=0)
        return np.where(size > 0, size, 1.0)

    @property
    def reading(self) -> str:
        """How records are read, in plain words."""
        return (
            f"A record is one of {len(self.points)} declared points. One that is none of them counts as the nearest, "
            "one with a missing value as the first."
        )

    def codes(self, substitutes: Array | None = None) -> PointCodes:
        """How records become integers: how many there are of each point."""
        return PointCodes(self.points)

    def farthest(self, direction: Array) -> Array:
        """The point that goes farthest in a direction, as counts of points."""
        found = np.zeros(len(direction))
        found[int(np.argmax(direction))] = 1.0
        return found

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound of ‖lift · s‖ over all differences s of neighbours, rounded up; a lift counts the points."""
        n = len(self.points)
        check_lift(lift, n, neighbours)
        if isinstance(lift, Diagonal):
            return largest_few(lift, np.ones(n), 1 if neighbours == ADD_REMOVE else 2)
        return largest_cell(exact_entries(lift), n, neighbours, or_none=False)

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound of ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""
        return self.largest(without_count(lift, len(self.points)), REPLACE_ONE)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "points",
            "points": pack(self.points),
            "names": None if self.names is None else list(self.names),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Points:
        return cls(unpack(fields["points"]), fields["names"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Points) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.points.tobytes(), self.labels))

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"Points({n} points of {d} coordinate{'s' if d > 1 else ''})"

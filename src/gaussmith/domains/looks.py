"""Looks at columns of numbers of which nothing is known: how many records are in each cell of each column, and how many
have each length.

They are counts of items, of which a record has one per column, or one in all; only their codes are their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gaussmith.checks import check_coordinate_names
from gaussmith.domains.counts import Counts
from gaussmith.domains.look_codes import ColumnCellCodes, LengthCellCodes
from gaussmith.errors import DomainError
from gaussmith.numerics.linear import Array
from gaussmith.problem import Domain
from gaussmith.problem.codes import Codes
from gaussmith.workloads import Workload

MAX_CELLS = 1 << 20
"""Limit on the cells of all columns together."""


class Look(Counts):
    """Counts of which the items are cells of numbers."""

    forms: ClassVar[tuple[str, ...]] = ("numbers",)  # type: ignore[assignment]

    column_names: tuple[str, ...] | None

    def _set(self, columns: int, cells: int, at_most: int, names: Sequence[str] | None) -> None:
        if cells > MAX_CELLS:
            what, rule = f"{cells} cells", f"there may be at most {MAX_CELLS}"
            raise DomainError(what, rule, "take fewer columns at a time", code="too-many-cells-of-columns", cells=cells)
        super().__init__(cells, at_most)
        object.__setattr__(self, "column_names", check_coordinate_names(names, columns))

    @property
    def columns(self) -> Sequence[str] | None:
        return self.column_names

    @property
    def person(self) -> str:
        return "each row is one person"

    @property
    def declared_lists(self) -> list[Sequence[Any]]:
        return []

    @property
    def reading(self) -> str:
        return (
            "Each record is counted in the cells that hold its numbers. A value that is missing or not a number is in "
            "no cell."
        )

    def __eq__(self, other: object) -> bool:
        return Domain.__eq__(self, other)  # not that of counts, which have no cells

    def __hash__(self) -> int:
        return Domain.__hash__(self)

    def _named(self) -> dict[str, Any]:
        return {} if self.column_names is None else {"names": list(self.column_names)}


class ColumnCells(Look):
    """How many records are between the edges of each column; one row of rising edges per column, or one row for so
    many `columns`; outer cells are open.

    >>> ColumnCells([[0, 1, 2], [10, 20, 30]])
    ColumnCells(2 columns of 4 cells)
    """

    kind = "column-cells"

    edges: Array

    def __init__(self, edges: Any, names: Sequence[str] | None = None, columns: int | None = None) -> None:
        found = _edges(edges, 2)
        if columns is not None and len(found) == 1:
            found = np.broadcast_to(found, (columns, found.shape[1]))
        object.__setattr__(self, "edges", found)
        self._set(len(found), len(found) * (found.shape[1] + 1), len(found), names)

    @property
    def cells(self) -> int:
        """The cells of one column."""
        return int(self.edges.shape[1]) + 1

    def read_from(self, j: int) -> tuple[int, ...]:
        return (j // self.cells,)

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> Codes:  # type: ignore[override]
        return ColumnCellCodes(self.edges)

    def to_dict(self) -> dict[str, Any]:
        alike = bool((self.edges == self.edges[0]).all())
        edges = self.edges[:1] if alike else self.edges
        return {"kind": self.kind, "columns": len(self.edges), "edges": edges.tolist(), **self._named()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> ColumnCells:
        return cls(fields["edges"], fields.get("names"), fields["columns"])

    def __repr__(self) -> str:
        return f"ColumnCells({len(self.edges)} columns of {self.cells} cells)"


class LengthCells(Look):
    """How many records have each length: ‖(x − centre)·scale‖ between rising edges, outer cells open.

    >>> LengthCells([0, 0], [1, 1], [1, 2, 4])
    LengthCells(2 columns, 4 cells)
    """

    kind = "length-cells"

    middle: Array
    scale: Array
    edges: Array

    def __init__(self, centre: Any, scale: Any, edges: Any, names: Sequence[str] | None = None) -> None:
        middle, factors, found = _edges(centre, 1, rising=False), _edges(scale, 1, rising=False), _edges(edges, 1)
        if middle.shape != factors.shape or not (factors > 0).all():
            what, rule = "scale of a length", "it must hold one number above 0 per column"
            raise DomainError(what, rule, "give one factor per column", code="scale-of-length-not-positive")
        for name, value in (("middle", middle), ("scale", factors), ("edges", found)):
            object.__setattr__(self, name, value)
        self._set(len(middle), len(found) + 1, 1, names)

    def read_from(self, j: int) -> tuple[int, ...]:
        return tuple(range(len(self.middle)))

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> Codes:  # type: ignore[override]
        return LengthCellCodes(self.middle, self.scale, self.edges)

    def to_dict(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name).tolist() for name in ("scale", "edges")}
        return {"kind": self.kind, "centre": self.middle.tolist(), **numbers, **self._named()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> LengthCells:
        return cls(fields["centre"], fields["scale"], fields["edges"], fields.get("names"))

    def __repr__(self) -> str:
        return f"LengthCells({len(self.middle)} columns, {self.dimension} cells)"


def _edges(values: Any, depth: int, rising: bool = True) -> Array:
    """Finite numbers, rising where they are edges."""
    try:
        found = np.array(values, float)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    damaged = found.ndim != depth or found.size == 0 or not np.isfinite(found).all()
    if damaged or (rising and not (np.diff(found, axis=-1) >= 0).all()):
        what, rule = "edges or centres of cells", "they must be finite numbers, and edges must not fall"
        raise DomainError(what, rule, "give one list per column", code="edges-of-columns-damaged")
    found.flags.writeable = False
    return found

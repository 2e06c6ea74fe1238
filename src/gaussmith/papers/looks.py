"""Looks at columns of numbers of which nothing is known: how many records are in each cell of each column, and how many
have each length.

They are counts of items, of which a record has one per column, or one in all; only their codes are their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_coordinate_names, checks_arguments
from gaussmith.domains.counts import Counts
from gaussmith.domains.domain import Domain, DomainWords, RecordInput
from gaussmith.domains.encoding import INFINITY, Encoding, Step, folded_squares, literal, spell_squares
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError, counted
from gaussmith.numerics.exact import Array, Words

# A cell is decided by comparisons of doubles with stated edges, low ≤ x < high, so every engine finds the same one.
# The outer cells are open: ±inf is in them. A value that is missing or not a number is in no cell.


@dataclass(frozen=True, eq=False)
class ColumnCellEncoding(Encoding):
    """The cell of each number of a record: a one for it, zeros for the other cells of its column.

    >>> ColumnCellEncoding(np.array([[0.0, 1.0]])).encode(np.array([[0.5], [-np.inf], [1.0], [np.nan]])).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
    """

    edges: Array
    """One row for each column, rising."""

    @property
    def columns(self) -> int:
        return len(self.edges)

    @property
    def cells(self) -> int:
        """The cells of one column."""
        return int(self.edges.shape[1]) + 1

    @property
    def width(self) -> int:
        return self.columns * self.cells

    @property
    def extents(self) -> Array:
        return np.ones(self.width)

    def encode(self, rows: Array) -> Words:
        found = np.zeros((len(rows), self.columns, self.cells), np.int64)
        for j, edges in enumerate(self.edges):
            x = np.asarray(rows[:, j], float)
            at = np.flatnonzero(~np.isnan(x))
            found[at, j, np.searchsorted(edges, x[at], side="right")] = 1
        return found.reshape(len(rows), self.width)

    def sum_rows(self, rows: Array) -> Words:
        """As the sum of `encode`, without its zeros."""
        found = np.empty((self.columns, self.cells), np.int64)
        for j, edges in enumerate(self.edges):
            x = np.asarray(rows[:, j], float)
            x = x[~np.isnan(x)]
            found[j] = np.bincount(np.searchsorted(edges, x, side="right"), minlength=self.cells)
        return found.ravel()

    def spell(self, which: range) -> list[Step]:
        """As `encode`: null makes a comparison false, and NaN is above all numbers."""
        return [[f"if({self._inside(*divmod(i, self.cells))}, 1L, 0L) c{i}" for i in which]]

    def _inside(self, j: int, k: int) -> str:
        edges = self.edges[j]
        above = [f"x{j} >= {literal(edges[k - 1])}"] if k > 0 else []
        below = f"x{j} < {literal(edges[k])}" if k < len(edges) else f"x{j} <= {INFINITY}"
        return " and ".join([*above, below])


@dataclass(frozen=True, eq=False)
class LengthCellEncoding(Encoding):
    """The cell of a record's length ‖(x − centre)·scale‖: a one for it, zeros for the others.

    The length is h·‖z/h‖ with z = (x − centre)·scale and h = max|z_j|, squares added in the order of `BallEncoding`. A
    record with a value that is missing, not a number or infinite is in no cell, as is one too far away for doubles.

    >>> codes = LengthCellEncoding(np.zeros(2), np.ones(2), np.array([5.0, 6.0]))
    >>> codes.encode(np.array([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0], [np.nan, 0.0]])).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
    """

    centre: Array
    scale: Array
    edges: Array

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def width(self) -> int:
        return len(self.edges) + 1

    @property
    def extents(self) -> Array:
        return np.ones(self.width)

    def _places(self, rows: Array) -> npt.NDArray[np.int64]:
        """The cells of the records that have one."""
        x = np.array(rows, float, order="F")
        with np.errstate(over="ignore", invalid="ignore"):
            z = (x - self.centre) * self.scale
            h = np.abs(z).max(axis=1)
            odd = ~np.isfinite(h)
            z = np.where(odd[:, None], 0.0, z)
            h = np.where(odd | (h == 0), 1.0, h)
            u = z / h[:, None]
            length = h * np.sqrt(folded_squares(u))
        return np.where(odd, -1, np.searchsorted(self.edges, length, side="right"))

    def encode(self, rows: Array) -> Words:
        places = self._places(rows)
        found = np.zeros((len(rows), self.width), np.int64)
        at = np.flatnonzero(places >= 0)
        found[at, places[at]] = 1
        return found

    def sum_rows(self, rows: Array) -> Words:
        places = self._places(rows)
        return np.asarray(np.bincount(places[places >= 0], minlength=self.width), np.int64)

    def spell(self, which: range) -> list[Step]:
        """As `encode`: an odd coordinate is made infinite, and the largest one tells that the record is odd."""
        d, last = self.columns, len(self.edges)
        x = [f"coalesce(if(abs(x{j}) < {INFINITY}, x{j}, {INFINITY}), {INFINITY})" for j in range(d)]
        z = [f"z{j}" for j in range(d)]

        def inside(k: int) -> str:
            above = [f"length >= {literal(self.edges[k - 1])}"] if k > 0 else []
            below = f"length < {literal(self.edges[k])}" if k < last else f"length <= {INFINITY}"
            return " and ".join(["not odd", *above, below])

        return [
            [f"({x[j]} - {literal(self.centre[j])}) * {literal(self.scale[j])} z{j}" for j in range(d)],
            [*z, f"greatest({', '.join(f'abs({each})' for each in z)}, 0D) g"],
            [*(f"if(g < {INFINITY}, {each}, 0D) {each}" for each in z), f"if(g < {INFINITY} and g > 0D, g, 1D) h",
             f"not (g < {INFINITY}) odd"],
            [*(f"z{j} / h u{j}" for j in range(d)), "h", "odd"],
            [f"h * sqrt({spell_squares(d)}) length", "odd"],
            [f"if({inside(k)}, 1L, 0L) c{k}" for k in which],
        ]  # fmt: skip


MAX_CELLS = 1 << 20
"""Limit on the cells of all columns together."""


class Look(Counts):
    """Counts of which the items are cells of numbers."""

    forms: ClassVar[tuple[str, ...]] = ("numbers",)  # type: ignore[assignment]
    reads_vectors = True

    column_names: tuple[str, ...] | None

    def _set(self, columns: int, cells: int, at_most: int, names: Sequence[str] | None) -> None:
        if cells > MAX_CELLS:
            what, rule = f"{cells} cells", f"there may be at most {MAX_CELLS}"
            raise DomainError(what, rule, "take fewer columns at a time", code="too-many-cells-of-columns", cells=cells)
        super().__init__(cells, at_most)
        object.__setattr__(self, "column_names", check_coordinate_names(names, columns))

    @property
    def input(self) -> RecordInput:
        return RecordInput(self.column_names, made_of=self._made_of)

    def _made_of(self, j: int) -> tuple[int, ...]:
        raise NotImplementedError(self.kind)

    @property
    def words(self) -> DomainWords:
        return DomainWords(
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

    @checks_arguments
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

    def _made_of(self, j: int) -> tuple[int, ...]:
        return (j // self.cells,)

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> Encoding:  # type: ignore[override]
        return ColumnCellEncoding(self.edges)

    def to_dict(self) -> dict[str, Any]:
        alike = bool((self.edges == self.edges[0]).all())
        edges = self.edges[:1] if alike else self.edges
        return {"kind": self.kind, "columns": len(self.edges), "edges": edges.tolist(), **self._named()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> ColumnCells:
        return cls(fields["edges"], fields.get("names"), fields["columns"])

    def __repr__(self) -> str:
        return f"ColumnCells({counted(len(self.edges), 'column')} of {self.cells} cells)"


class LengthCells(Look):
    """How many records have each length: ‖(x − centre)·scale‖ between rising edges, outer cells open.

    >>> LengthCells([0, 0], [1, 1], [1, 2, 4])
    LengthCells(2 columns, 4 cells)
    """

    kind = "length-cells"

    middle: Array
    scale: Array
    edges: Array

    @checks_arguments
    def __init__(self, centre: Any, scale: Any, edges: Any, names: Sequence[str] | None = None) -> None:
        middle, factors, found = _edges(centre, 1, rising=False), _edges(scale, 1, rising=False), _edges(edges, 1)
        if middle.shape != factors.shape or not (factors > 0).all():
            what, rule = "scale of a length", "it must hold one number above 0 per column"
            raise DomainError(what, rule, "give one factor per column", code="scale-of-length-not-positive")
        for name, value in (("middle", middle), ("scale", factors), ("edges", found)):
            object.__setattr__(self, name, value)
        self._set(len(middle), len(found) + 1, 1, names)

    def _made_of(self, j: int) -> tuple[int, ...]:
        return tuple(range(len(self.middle)))

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> Encoding:  # type: ignore[override]
        return LengthCellEncoding(self.middle, self.scale, self.edges)

    def to_dict(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name).tolist() for name in ("scale", "edges")}
        return {"kind": self.kind, "centre": self.middle.tolist(), **numbers, **self._named()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> LengthCells:
        return cls(fields["centre"], fields["scale"], fields["edges"], fields.get("names"))

    def __repr__(self) -> str:
        return f"LengthCells({counted(len(self.middle), 'column')}, {self.dimension} cells)"


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

"""Cuts: the line divided into cells by declared edges, and the cell that each value of a column is in.

Cell i holds the values from edge i − 1 (included) up to edge i (not included); the first and the last have no end. So
every number is in one cell, ±inf included. A value that is missing, NaN or no number (no date) is in none.

A value is compared with the edges as a double, never divided or taken the logarithm of: engines round these
differently near an edge. Dates are compared by the numbers year·10000 + month·100 + day.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gaussmith.errors import RequestError
from gaussmith.expressions.spelling import as_date, as_number
from gaussmith.values import dataclass

if TYPE_CHECKING:
    import narwhals as nw

NUMBER, DATE = "number", "date"

_ACCEPTED = {NUMBER: ("number", "long number", "text", "truth"), DATE: ("date", "text")}
"""The kinds of columns that numbers and dates are read from."""


@dataclass(frozen=True)
class Cut:
    """Cells by their inner edges, in order: one cell more than edges. Of dates, the edges are their numbers.

    `ends` are the lowest and the highest value where values beyond count as these; None: the outer cells are open.

    >>> delays = Cut((-60.0, 0.0, 60.0))
    >>> delays.cells, [delays.place(x) for x in (-61.0, -60.0, 59.9, 60.0)]
    (4, [0, 1, 2, 3])
    """

    edges: tuple[float, ...]
    kind: str = NUMBER
    ends: tuple[float, float] | None = None

    @property
    def cells(self) -> int:
        return len(self.edges) + 1

    @property
    def limits(self) -> tuple[float, ...]:
        """The edges of all cells in order, the outer ones included: infinite where a cell is open."""
        low, high = (-math.inf, math.inf) if self.ends is None else self.ends
        return (low, *self.edges, high)

    def place(self, value: float) -> int:
        """The cell of one number: how many edges are at most as large."""
        return bisect.bisect_right(self.edges, value)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "edges": list(self.edges), "ends": None if self.ends is None else list(self.ends)}

    @classmethod
    def from_dict(cls, fields: Any) -> Cut:
        """The cut that `to_dict` described; refuses edges that are not in order."""
        edges = tuple(float(edge) for edge in fields["edges"])
        ends = None if fields["ends"] is None else (float(fields["ends"][0]), float(fields["ends"][1]))
        made = cls(edges, str(fields["kind"]), ends)
        inner = made.limits if ends is not None else edges
        ordered = all(map(math.isfinite, inner)) and all(a < b for a, b in itertools.pairwise(inner))
        if made.kind not in _ACCEPTED or not ordered:
            what, rule = "cells that cannot be read", "their edges must be finite and in order"
            raise RequestError(what, rule, "plan again", code="stored-cut-not-in-order")
        return made


def check_cut(column: str, cut: Cut, kinds: Mapping[str, str]) -> None:
    """Refuse a column whose type holds no numbers, or no dates. Reads no data."""
    kind = kinds[column]
    if kind not in _ACCEPTED[cut.kind]:
        wanted, found = {NUMBER: ("numbers", "numbers"), DATE: ("dates", "dates")}[cut.kind][0], kind
        remedy = {
            "date": 'write { by = "month", between = ["2024-01", "2024-12"] }',
            "number": "write { bins = [0, 10, 20] }",
        }.get(kind.removeprefix("long "), "ask for another column, or convert it in the source")
        raise RequestError(
            f"cells of column {column!r}",
            f"it must hold {wanted}",
            remedy,
            code="column-does-not-fit-cells",
            column=column,
            kind=found,
        )


def cell_of(column: str, cut: Cut, kind: str) -> nw.Expr:
    """The cell of each value of a column as a double (0, 1, …), null where the value is in none."""
    return place_among(value_of(column, cut, kind), cut.edges)


def value_of(column: str, cut: Cut, kind: str) -> nw.Expr:
    """The values of a column as doubles without −0.0, or the numbers of its dates; null where there is none.

    Beside many edges it is selected first, and compared as a column: every comparison would else hold all of it again.
    """
    import narwhals as nw

    x = as_date(column, kind) if cut.kind == DATE else as_number(column, kind)
    known = nw.when(~x.is_null() & ~x.is_nan()).then(x)
    return nw.when(known == 0).then(nw.lit(0.0)).otherwise(known)


def place_among(x: nw.Expr, edges: Sequence[float] | Sequence[int]) -> nw.Expr:
    """How many of the edges each number is at least as large as, as a double; null of null. A tree of comparisons."""
    import narwhals as nw

    def tree(first: int, last: int) -> nw.Expr:
        if first == last:
            return nw.lit(float(first))
        middle = (first + last) // 2
        return nw.when(x >= edges[middle]).then(tree(middle + 1, last)).otherwise(tree(first, middle))

    return nw.when(~x.is_null()).then(tree(0, len(edges)))

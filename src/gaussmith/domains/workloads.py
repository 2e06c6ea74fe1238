"""Workloads: sets of linear answers over the cells of a histogram, planned together and consistent with each other.

    identity(n)              every cell
    prefix(n)                the first cell, the first two, … all of them
    ranges(n)                every range of adjacent cells
    tree(n, branching)       the sum of all cells, of their parts, of the parts of these … down to single cells
    marginals(shape, ways)   tables of some attributes of a product of categories
    matrix(W)                any linear answers: one row per answer, one column per cell

All answers of a workload are read from one noisy vector, so parts add up to their whole.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_whole, checks_arguments, is_whole
from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.exact import Array

Places = npt.NDArray[np.int64]
Way = tuple[int, ...]
Labels = Callable[[int], str]

MAX_ANSWERS = 50_000_000
"""Limit on the number of answers planned at once."""


class NamedCells(Protocol):
    """The parts from which the names of a workload's answers are built."""

    def name(self, j: int) -> str: ...

    def attribute_name(self, i: int) -> str: ...

    def value_name(self, attribute: int, value: int) -> str: ...


class Names(Sequence[str]):
    """Names of answers, built on access: a workload may have millions.

    >>> names = Names(3, lambda i: f"cell {i}")
    >>> names[1], list(names[1:])
    ('cell 1', ['cell 1', 'cell 2'])
    """

    def __init__(self, size: int, spell: Callable[[int], str]) -> None:
        self._size, self._spell = size, spell

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Names: ...

    def __getitem__(self, place: int | slice) -> str | Names:
        places = range(self._size)
        if isinstance(place, slice):
            kept = places[place]
            return Names(len(kept), lambda i: self._spell(kept[i]))
        return self._spell(places[place])

    def __iter__(self) -> Iterator[str]:
        return map(self._spell, range(self._size))


@dataclass(frozen=True)
class Runs:
    """Answers that sum ranges of adjacent cells: identity, prefix, ranges or tree."""

    kind: str
    cells: int
    branching: int = 0

    @cached_property
    def places(self) -> tuple[Places, Places]:
        """The start and the stop of each range (one past its last cell)."""
        from gaussmith.numerics.levelled_maps import Tree

        n = self.cells
        if self.kind == "identity":
            return np.arange(n), np.arange(1, n + 1)
        if self.kind == "prefix":
            return np.zeros(n, np.int64), np.arange(1, n + 1)
        if self.kind == "ranges":
            starts, stops = np.triu_indices(n)
            return starts.astype(np.int64), stops.astype(np.int64) + 1
        return Tree(n, self.branching).ranges

    @property
    def size(self) -> int:
        """The number of answers."""
        return len(self.places[0])

    @property
    def weighted(self) -> int:
        """The number of weights given: one for each answer."""
        return self.size

    @property
    def given_at(self) -> slice:
        """The positions of those weights among the weights of all answers."""
        return slice(None)

    def spread_weights(self, weights: Array, equal: bool) -> Array:
        """The weight of every answer, from the given weights."""
        return weights

    @property
    def rows(self) -> Array:
        """Every range as a row of zeros and ones."""
        starts, stops = self.places
        at = np.arange(self.cells)
        return ((at >= starts[:, None]) & (at < stops[:, None])).astype(float)

    def row(self, i: int) -> Array:
        """One range as a row."""
        starts, stops = self.places
        at = np.arange(self.cells)
        return np.asarray(((at >= starts[i]) & (at < stops[i])).astype(float))

    def names(self, label: Labels) -> Names:
        """The name of a single cell, or the names of both ends of a range."""
        starts, stops = self.places

        def spell(i: int) -> str:
            first, last = label(int(starts[i])), label(int(stops[i]) - 1)
            return first if first == last else f"{first} to {last}"

        return Names(len(starts), spell)

    def answer_names(self, cells: NamedCells) -> Names:
        """The names of the answers over these cells."""
        return self.names(cells.name)

    def check_cells(self, sizes: tuple[int, ...]) -> None:
        """Refuse a number of cells that does not fit these answers."""
        _check_number(self.cells, sizes)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "cells": self.cells, "branching": self.branching}


@dataclass(frozen=True)
class Marginals:
    """Tables over some attributes of a product of categories; `ways` lists the attributes of each, () for the count."""

    shape: tuple[int, ...]
    ways: tuple[Way, ...]

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def sizes(self) -> list[int]:
        """The cells of each marginal."""
        return [math.prod(self.shape[i] for i in way) for way in self.ways]

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @cached_property
    def offsets(self) -> list[int]:
        """The position of the first cell of each marginal among all answers."""
        return [0, *itertools.accumulate(self.sizes)][:-1]

    @property
    def weighted(self) -> int:
        """The number of weights given: one for each marginal."""
        return len(self.ways)

    @property
    def given_at(self) -> list[int]:
        """The positions of those weights among the weights of all answers."""
        return self.offsets

    def spread_weights(self, weights: Array, equal: bool) -> Array:
        """The weight of every answer, from the given weights."""
        return np.broadcast_to(1.0, (self.size,)) if equal else np.repeat(weights, self.sizes)

    @property
    def rows(self) -> Array:
        rule = "there are too many cells to write out"
        raise PlanError("marginals as a matrix", rule, "use fewer cells", code="marginals-as-matrix")

    def row(self, i: int) -> Array:
        return self.rows

    def weighted_ways(self, weights: Array, count_weight: float) -> tuple[list[Way], Array]:
        """The marginals and the weight of each, from those of all answers; a count of some weight is one more."""
        ways, each = list(self.ways), np.array([float(weights[start]) for start in self.offsets])
        if count_weight:
            if () in ways:
                each[ways.index(())] += count_weight  # asked as a marginal and as the count: its error matters twice
            else:
                ways, each = [*ways, ()], np.append(each, count_weight)
        return ways, each

    def answer_names(self, cells: NamedCells) -> Names:
        """The names of the answers over these cells: attribute and value, for each attribute of the marginal."""
        return Names(self.size, partial(self._name, cells))

    def _name(self, cells: NamedCells, i: int) -> str:
        k = bisect.bisect_right(self.offsets, i) - 1
        way = self.ways[k]
        values = np.unravel_index(i - self.offsets[k], [self.shape[j] for j in way]) if way else ()
        pairs = zip(way, values, strict=True)
        return ", ".join(f"{cells.attribute_name(j)}={cells.value_name(j, int(v))}" for j, v in pairs) or "all"

    def check_cells(self, sizes: tuple[int, ...]) -> None:
        """Refuse a shape of cells that does not fit these answers."""
        if self.shape != sizes:
            own, cells = list(self.shape)[:8], list(sizes)[:8]
            what, rule = f"marginals of shape {own}", f"the cells have shape {cells}"
            remedy = "give the shape of the cells"
            raise PlanError(what, rule, remedy, code="marginals-do-not-match-cells", shape=own, cells=cells)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "marginals", "shape": list(self.shape), "ways": [list(way) for way in self.ways]}


@dataclass(frozen=True, eq=False)
class Rows:
    """Any linear answers: one row per answer, one column per cell."""

    matrix: Array

    @property
    def cells(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def size(self) -> int:
        return len(self.matrix)

    def check_cells(self, sizes: tuple[int, ...]) -> None:
        """Refuse a number of cells that does not fit these answers."""
        _check_number(self.cells, sizes)


Workload = Runs | Marginals | Rows


def _check_number(cells: int, sizes: tuple[int, ...]) -> None:
    if cells != math.prod(sizes):
        what = f"a workload over {cells} cells"
        rule = f"the domain has {math.prod(sizes)} of them"
        remedy = "give as many cells as the domain has"
        raise PlanError(what, rule, remedy, code="workload-does-not-match-cells", cells=cells, wanted=math.prod(sizes))


@checks_arguments
def identity(cells: int) -> Runs:
    """Every single cell.

    >>> identity(3).size
    3
    """
    return Runs("identity", _cells(cells))


@checks_arguments
def prefix(cells: int) -> Runs:
    """The first cell, the first two, … all of them: a cumulative histogram.

    >>> list(prefix(3).names(str))
    ['0', '0 to 1', '0 to 2']
    """
    return Runs("prefix", _cells(cells))


@checks_arguments
def ranges(cells: int) -> Runs:
    """Every range of adjacent cells.

    >>> ranges(4).size
    10
    """
    n = _cells(cells)
    if n * (n + 1) // 2 > MAX_ANSWERS:
        rule = f"at most {MAX_ANSWERS:,} answers are planned"
        raise PlanError(f"ranges over {n} cells", rule, "use a tree", code="too-many-ranges", cells=n)
    return Runs("ranges", n)


@checks_arguments
def tree(cells: int, branching: int = 2) -> Runs:
    """The sum of all cells, of `branching` parts, of the parts of these, down to single cells.

    >>> list(tree(4).names("abcd".__getitem__))
    ['a to d', 'a to b', 'a', 'b', 'c to d', 'c', 'd']
    """
    branching = check_whole("branching", branching, 2, rule="a tree splits into at least two parts", error=PlanError)
    return Runs("tree", _cells(cells), branching)


@checks_arguments
def marginals(shape: Sequence[int], ways: int | Sequence[int | Sequence[int]]) -> Marginals:
    """Tables over some attributes: `ways` is how many at a time (a number, or several), or lists the attributes.

    >>> marginals([10, 5, 2], 2).ways
    ((0, 1), (0, 2), (1, 2))
    >>> marginals([10, 5, 2], [(0,), (1, 2)]).size, marginals([10, 5, 2], range(3)).size
    (20, 98)
    """
    try:
        sizes = tuple(int(n) for n in shape)
        whole = all(n == given and n >= 1 for n, given in zip(sizes, shape, strict=True))
    except (TypeError, ValueError):
        sizes, whole = (), False
    if not sizes or not whole:
        rule = "it must list the number of values of each attribute"
        raise PlanError(f"shape={shape!r}"[:120], rule, "write [10, 5, 2]", code="shape-malformed", shape=shape)
    listed = [each for way in ([ways] if isinstance(ways, int) else ways) for each in _ways(way, len(sizes))]
    if not listed:
        rule = "a workload has at least one answer"
        raise PlanError("no marginals", rule, "write ways=2, or list attributes", code="no-marginals")
    if len(set(listed)) < len(listed):
        raise PlanError("a marginal is asked for twice", "ask for each once", "leave one out", code="marginal-twice")
    return Marginals(sizes, tuple(listed))


@checks_arguments
def matrix(rows: npt.ArrayLike) -> Rows:
    """Any linear answers, one row each.

    >>> matrix([[1, 1, 0], [0, 1, 1]]).size
    2
    """
    try:
        W = np.array(rows, float)
    except (TypeError, ValueError):
        W = np.zeros((0, 0, 0))
    if W.ndim != 2 or 0 in W.shape or not np.isfinite(W).all():
        rule = "one row per answer, one column per cell, finite numbers"
        raise PlanError(
            f"a workload of shape {W.shape}", rule, "pass a k × n array", code="workload-malformed", shape=W.shape
        )
    if not W.any(axis=1).all():
        what = "an answer that is always zero"
        raise PlanError(what, "every row must use a cell", "leave that row out", code="workload-answer-always-zero")
    return Rows(W)


def workload_from_dict(fields: dict[str, Any]) -> Runs | Marginals:
    """The workload described by `to_dict`; refuses unknown kinds. (A matrix is stored with the answers.)"""
    kind = fields.get("kind")
    if kind in ("identity", "prefix", "ranges"):
        return {"identity": identity, "prefix": prefix, "ranges": ranges}[str(kind)](fields["cells"])
    if kind == "tree":
        return tree(fields["cells"], fields["branching"])
    if kind == "marginals":
        return marginals(fields["shape"], [tuple(way) for way in fields["ways"]])
    known = ["identity", "prefix", "ranges", "tree", "marginals"]
    what, rule = f"workload kind = {kind!r}", "this version does not know it"
    raise PlanError(what, rule, nearest(str(kind), known), code="unknown-workload-kind", kind=kind)


def _cells(cells: Any) -> int:
    rule = f"a workload is over a whole number of cells, from 1 to {MAX_ANSWERS:,}"
    return check_whole("cells", cells, 1, MAX_ANSWERS, rule=rule, remedy="write 1024", error=PlanError)


def _ways(way: Any, attributes: int) -> Iterable[Way]:
    """The tables that a number of attributes stands for, or the one that lists them."""
    if not is_whole(way):
        return [_way(way, attributes)]
    if not 0 <= way <= attributes:
        rule, remedy = f"there are {attributes} attributes", f"write 0 … {attributes}"
        raise PlanError(f"ways={way}", rule, remedy, code="ways-out-of-range", ways=way, attributes=attributes)
    return itertools.combinations(range(attributes), int(way))


def _way(way: Any, attributes: int) -> Way:
    try:
        chosen = tuple(sorted(int(i) for i in way))
    except (TypeError, ValueError):
        chosen = (-1,)
    if len(set(chosen)) < len(chosen) or any(not 0 <= i < attributes for i in chosen):
        rule = f"it must list distinct attributes from 0 to {attributes - 1}"
        raise PlanError(f"marginal {way!r}"[:120], rule, "write (0, 2)", code="marginal-malformed", marginal=way)
    return chosen


__all__ = ["identity", "marginals", "matrix", "prefix", "ranges", "tree"]

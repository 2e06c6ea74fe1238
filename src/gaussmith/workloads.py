"""Workloads: sets of linear answers over the cells of a histogram, planned together and consistent with each other.

    identity(n)              every cell
    prefix(n)                the first cell, the first two, … all of them
    ranges(n)                every run of neighbouring cells
    tree(n, branching)       all cells, their parts, the parts of these … down to single cells
    marginals(shape, ways)   tables of some attributes of a product of categories
    matrix(W)                anything: one row per answer, one column per cell

All answers of a workload are read from one noisy vector, so that parts add up to their whole.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_whole, is_whole
from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.linear import Array

Places = npt.NDArray[np.int64]
Way = tuple[int, ...]
Labels = Callable[[int], str]

MAX_ANSWERS = 50_000_000
"""Limit on the answers over single cells that are planned at once."""


class NamedCells(Protocol):
    """What the names of a workload's answers are spelled from."""

    def name(self, j: int) -> str: ...

    def attribute_name(self, i: int) -> str: ...

    def value_name(self, attribute: int, value: int) -> str: ...


class Names(Sequence[str]):
    """Names of answers that are spelled when they are looked at: a workload may have millions.

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
    """Answers that add up runs of neighbouring cells: identity, prefix, ranges or tree."""

    kind: str
    cells: int
    branching: int = 0

    @cached_property
    def places(self) -> tuple[Places, Places]:
        """Where each run starts, and where it stops (one beyond its last cell)."""
        n = self.cells
        if self.kind == "identity":
            return np.arange(n), np.arange(1, n + 1)
        if self.kind == "prefix":
            return np.zeros(n, np.int64), np.arange(1, n + 1)
        if self.kind == "ranges":
            starts, stops = np.triu_indices(n)
            return starts.astype(np.int64), stops.astype(np.int64) + 1
        runs = list(_tree_runs(0, n, self.branching))
        return np.array([a for a, _ in runs], np.int64), np.array([b for _, b in runs], np.int64)

    @property
    def size(self) -> int:
        """How many answers there are."""
        return len(self.places[0])

    @property
    def weighted(self) -> int:
        """How many weights are given: one for each answer."""
        return self.size

    @property
    def given_at(self) -> slice:
        """Where those weights stand among the weights of all answers."""
        return slice(None)

    def spread_weights(self, weights: Array, equal: bool) -> Array:
        """The weight of every answer from those that are given."""
        return weights

    @property
    def rows(self) -> Array:
        """Every run as a row of zeros and ones."""
        starts, stops = self.places
        at = np.arange(self.cells)
        return ((at >= starts[:, None]) & (at < stops[:, None])).astype(float)

    def row(self, i: int) -> Array:
        """One run as a row."""
        starts, stops = self.places
        at = np.arange(self.cells)
        return np.asarray(((at >= starts[i]) & (at < stops[i])).astype(float))

    def names(self, label: Labels) -> Names:
        """A single cell has its own name, a run those of its ends."""
        starts, stops = self.places

        def spell(i: int) -> str:
            first, last = label(int(starts[i])), label(int(stops[i]) - 1)
            return first if first == last else f"{first} to {last}"

        return Names(len(starts), spell)

    def answer_names(self, cells: NamedCells) -> Names:
        """The names of the answers over these cells."""
        return self.names(cells.name)

    def check_cells(self, sizes: tuple[int, ...]) -> None:
        """Refuse cells of another number than these answers are over."""
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
        """Where the cells of each marginal begin among all answers."""
        return [0, *itertools.accumulate(self.sizes)][:-1]

    @property
    def weighted(self) -> int:
        """How many weights are given: one for each marginal."""
        return len(self.ways)

    @property
    def given_at(self) -> list[int]:
        """Where those weights stand among the weights of all answers."""
        return self.offsets

    def spread_weights(self, weights: Array, equal: bool) -> Array:
        """The weight of every answer from those that are given."""
        return np.broadcast_to(1.0, (self.size,)) if equal else np.repeat(weights, self.sizes)

    @property
    def rows(self) -> Array:
        raise PlanError("marginals as a matrix", "their cells are too many to be written down", "use fewer cells")

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
        """Refuse cells of another shape than these answers are over."""
        if self.shape != sizes:
            raise PlanError(
                f"marginals of shape {list(self.shape)[:8]}",
                f"the cells have shape {list(sizes)[:8]}",
                "give the shape of the cells",
            )

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
        """Refuse cells of another number than these answers are over."""
        _check_number(self.cells, sizes)


Workload = Runs | Marginals | Rows


def _check_number(cells: int, sizes: tuple[int, ...]) -> None:
    if cells != math.prod(sizes):
        raise PlanError(
            f"a workload over {cells} cells",
            f"the domain has {math.prod(sizes)} of them",
            "give as many cells as the domain has",
        )


def identity(cells: int) -> Runs:
    """Every cell by itself.

    >>> identity(3).size
    3
    """
    return Runs("identity", _cells(cells))


def prefix(cells: int) -> Runs:
    """The first cell, the first two, … all of them: a cumulative histogram.

    >>> list(prefix(3).names(str))
    ['0', '0 to 1', '0 to 2']
    """
    return Runs("prefix", _cells(cells))


def ranges(cells: int) -> Runs:
    """Every run of neighbouring cells.

    >>> ranges(4).size
    10
    """
    n = _cells(cells)
    if n * (n + 1) // 2 > MAX_ANSWERS:
        raise PlanError(f"ranges over {n} cells", f"at most {MAX_ANSWERS:,} answers are planned", "use a tree")
    return Runs("ranges", n)


def tree(cells: int, branching: int = 2) -> Runs:
    """All cells together, split into `branching` parts, these again, down to single cells.

    >>> list(tree(4).names("abcd".__getitem__))
    ['a to d', 'a to b', 'a', 'b', 'c to d', 'c', 'd']
    """
    branching = check_whole("branching", branching, 2, rule="a tree splits into at least two parts", error=PlanError)
    return Runs("tree", _cells(cells), branching)


def marginals(shape: Sequence[int], ways: int | Sequence[int | Sequence[int]]) -> Marginals:
    """Tables over some attributes: `ways` says how many at a time (a number, or several), or lists the attributes.

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
        raise PlanError(f"shape={shape!r}"[:120], "it lists how many values each attribute has", "write [10, 5, 2]")
    listed: list[Way] = []
    for way in [ways] if isinstance(ways, int) else list(ways):
        if is_whole(way):
            if not 0 <= way <= len(sizes):
                raise PlanError(f"ways={way}", f"there are {len(sizes)} attributes", f"write 0 … {len(sizes)}")
            listed += itertools.combinations(range(len(sizes)), int(way))
        else:
            listed.append(_way(way, len(sizes)))
    if not listed:
        raise PlanError("no marginals", "a workload has at least one answer", "write ways=2, or list attributes")
    if len(set(listed)) < len(listed):
        raise PlanError("a marginal asked twice", "each is asked once", "leave one out")
    return Marginals(sizes, tuple(listed))


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
        raise PlanError(
            f"a workload of shape {W.shape}", "one row per answer, one column per cell, finite numbers", "pass k × n"
        )
    if not W.any(axis=1).all():
        raise PlanError("an answer that is always zero", "every row must use some cell", "leave that row out")
    return Rows(W)


def workload_from_dict(fields: dict[str, Any]) -> Runs | Marginals:
    """The workload that `to_dict` described; refuses what it does not know. (A matrix is kept by the answers.)"""
    kind = fields.get("kind")
    if kind in ("identity", "prefix", "ranges"):
        return {"identity": identity, "prefix": prefix, "ranges": ranges}[str(kind)](fields["cells"])
    if kind == "tree":
        return tree(fields["cells"], fields["branching"])
    if kind == "marginals":
        return marginals(fields["shape"], [tuple(way) for way in fields["ways"]])
    known = ["identity", "prefix", "ranges", "tree", "marginals"]
    raise PlanError(f"workload kind = {kind!r}", "this version does not know it", nearest(str(kind), known))


def _cells(cells: Any) -> int:
    rule = f"a workload is over a whole number of cells, from 1 to {MAX_ANSWERS:,}"
    return check_whole("cells", cells, 1, MAX_ANSWERS, rule=rule, remedy="write 1024", error=PlanError)


def _way(way: Any, attributes: int) -> Way:
    try:
        chosen = tuple(sorted(int(i) for i in way))
    except (TypeError, ValueError):
        chosen = (-1,)
    if len(set(chosen)) < len(chosen) or any(not 0 <= i < attributes for i in chosen):
        raise PlanError(
            f"marginal {way!r}"[:120], f"it lists different attributes among 0 … {attributes - 1}", "write (0, 2)"
        )
    return chosen


def _tree_runs(start: int, stop: int, branching: int) -> Iterator[tuple[int, int]]:
    yield start, stop
    n = stop - start
    if n > 1:
        parts = min(branching, n)
        ends = [start + n * i // parts for i in range(parts + 1)]
        for a, b in itertools.pairwise(ends):
            yield from _tree_runs(a, b, branching)


__all__ = ["identity", "marginals", "matrix", "prefix", "ranges", "tree"]

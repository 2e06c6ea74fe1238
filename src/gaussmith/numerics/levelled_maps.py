"""Lifts of trees over up to millions of cells: noise on how each node splits into its parts, one size per level.

A tree halves its cells (or splits them into b parts) until single cells are left; sizes at one level differ by one at
most, so that all nodes above the last level have b children, and those of the last have from 1 to b cells. The lift
takes the sum of all cells, then of every node with children c_1 … c_r the contrasts

    (c_1 + … + c_i) − i·c_{i+1},      i = 1 … r−1,

which are orthogonal with squared lengths i(i+1): whole numbers, each scaled by one double at the very end. There are as
many coordinates as cells. With noise of size 1/s_l² on contrasts of length one, a child of a node of r children has

    variance(child) = variance(node)/r² + (1 − 1/r)/s_l²;      a cell moves the lift by  s_0² + Σ_l (1 − 1/r) s_l².

Nodes of the last level have one number r of cells, or two. A cell that has fewer beside it would move the lift by less,
so cells are scaled first, by one whole number for each r. What is then read of a node adds up its cells, scaled back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.errors import damaged_plan
from gaussmith.numerics.exact import Array, Integers, Words, scale_exactly, sqrt_upward
from gaussmith.numerics.matrices import Matrix, NormBounds
from gaussmith.numerics.reflected_maps import COLUMN_BITS


@dataclass(frozen=True)
class Tree:
    """The nodes over `cells` cells, level by level: b^l of them at level l < depth; then the cells.

    >>> [level.tolist() for level in Tree(5, 2).starts]
    [[0], [0, 2], [0, 1, 2, 3]]
    """

    cells: int
    branching: int

    @cached_property
    def starts(self) -> list[Words]:
        """The first cell of every node, for each level above the cells."""
        found, b = [np.zeros(1, np.int64)], self.branching
        while self.cells > b * len(found[-1]):
            first = found[-1]
            sizes = np.diff(first, append=self.cells)
            found.append((first[:, None] + sizes[:, None] * np.arange(b) // b).ravel())
        return found

    @property
    def depth(self) -> int:
        """The number of levels that have contrasts."""
        return len(self.starts)

    @cached_property
    def last_sizes(self) -> Words:
        """How many cells the nodes of the last level have."""
        return np.diff(self.starts[-1], append=self.cells)

    @cached_property
    def kinds(self) -> Words:
        """How many cells nodes of the last level can have: one number, or two."""
        return np.unique(self.last_sizes)

    @cached_property
    def kind_of_node(self) -> Words:
        """The place in `kinds` of every node of the last level."""
        return np.searchsorted(self.kinds, self.last_sizes)

    @cached_property
    def ranges(self) -> tuple[Words, Words]:
        """The start and the stop of every answer: each node before its parts, the parts from left to right."""
        starts, stops = self._by_level
        return starts[self.order], stops[self.order]

    @cached_property
    def _by_level(self) -> tuple[Words, Words]:
        several = np.repeat(self.last_sizes > 1, self.last_sizes)  # a cell that is a node is not asked twice
        cells = np.flatnonzero(several)
        starts = np.concatenate([*self.starts, cells])
        stops = np.concatenate([*(np.append(first[1:], self.cells) for first in self.starts), cells + 1])
        return starts, stops

    @cached_property
    def order(self) -> Words:
        """The place of every answer among the nodes listed level by level, then the cells."""
        starts, stops = self._by_level
        return np.lexsort((-stops, starts))

    @cached_property
    def levels(self) -> Words:
        """The level of every answer in order; that of a cell below a node of several is the depth."""
        sizes = [*(len(first) for first in self.starts), len(self._by_level[0]) - sum(map(len, self.starts))]
        return np.repeat(np.arange(self.depth + 1), sizes)[self.order]

    @cached_property
    def children(self) -> Array:
        """For every answer in order, how many children its parent has; 0 for the first."""
        b, last = self.branching, self.last_sizes
        cells = np.repeat(last, last)[np.repeat(last > 1, last)]
        upper = [np.full(len(first), b if level else 0) for level, first in enumerate(self.starts)]
        return np.concatenate([*upper, cells])[self.order].astype(float)


@dataclass(frozen=True, eq=False)
class LevelledLift(Matrix):
    """The sum of all cells times `root`; then, level by level, contrasts of length one times the level's size."""

    tree: Tree
    root: float
    sizes: Array
    columns: Words
    """What cells are multiplied by first, for each of the tree's kinds."""

    def __post_init__(self) -> None:
        fits = self.sizes.shape == (self.tree.depth,) and self.root >= 0
        fits = fits and self.columns.shape == self.tree.kinds.shape
        fits = fits and bool(((self.columns > 0) & (self.columns <= 1 << COLUMN_BITS)).all())
        if not fits or not np.isfinite(np.append(self.sizes, self.root)).all() or not (self.sizes > 0).all():
            raise damaged_plan("a lift of a tree with numbers that do not fit")

    @property
    def shape(self) -> tuple[int, int]:
        return self.tree.cells, self.tree.cells

    @cached_property
    def weights(self) -> Array:
        """What contrast i of each level is multiplied by."""
        i = np.arange(1, self.tree.branching)
        return np.asarray(self.sizes[:, None] / np.sqrt(i * (i + 1.0)))

    @cached_property
    def entries(self) -> Array:
        """What each coordinate is multiplied by."""
        upper = [np.tile(row, len(first)) for row, first in zip(self.weights, self.tree.starts[:-1], strict=False)]
        return np.concatenate([[self.root], *upper, self.weights[-1][self._last_contrasts]])

    @property
    def _last_contrasts(self) -> Words:
        """Which contrast each of the last coordinates is: 0 … r−2 for a node of r cells."""
        counts = self.tree.last_sizes - 1
        return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)

    def _contrasts(self, cells: Any) -> Any:
        """The sum and all contrasts, of whole numbers or doubles."""
        tree, b = self.tree, self.tree.branching
        sums = np.add.reduceat(cells, tree.starts[-1])
        running = np.cumsum(cells) - np.repeat(np.cumsum(sums) - sums, tree.last_sizes)  # within each node
        first = np.zeros(tree.cells, bool)
        first[tree.starts[-1]] = True
        later = np.flatnonzero(~first)
        found = [running[later - 1] - (self._last_contrasts + 1) * cells[later]]
        for _ in range(tree.depth - 1):
            parts = sums.reshape(-1, b)
            running = np.cumsum(parts, axis=1)
            found.append((running[:, :-1] - np.arange(1, b) * parts[:, 1:]).ravel())
            sums = running[:, -1]
        return np.concatenate([sums, *found[::-1]])

    @cached_property
    def of_nodes(self) -> Words:
        """What the cells of each node of the last level are multiplied by."""
        return np.asarray(self.columns[self.tree.kind_of_node])

    @cached_property
    def _of_cells(self) -> Words:
        return np.repeat(self.of_nodes, self.tree.last_sizes)

    def times(self, vector: Array) -> Array:
        return np.asarray(self._contrasts(vector * self._of_cells) * self.entries)

    def exact_times(self, vector: Integers) -> Integers:
        whole = np.asarray(vector, object if not isinstance(vector, np.ndarray) else None)
        most = 2**62 // (2 * self.tree.cells * int(self.columns.max()))
        if whole.dtype != object and int(np.abs(whole).max(initial=0)) >= most:
            whole = whole.astype(object)
        found = self._contrasts(whole * self._of_cells)
        return scale_exactly(self.entries, found if found.dtype != object else found.tolist())

    def scaled(self, columns: Array) -> LevelledLift:
        if not (columns == columns[0]).all():
            raise damaged_plan("columns with different scales")
        return replace(self, root=self.root * float(columns[0]), sizes=self.sizes * float(columns[0]))

    def dense(self) -> Array:
        return np.array([self.times(unit) for unit in np.eye(self.tree.cells)]).T

    def sensitivity(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.levelled is None else bounds.levelled(self)

    def largest_norm(self, pairs: bool) -> float:
        """An upper bound of ‖lift · e_i‖, or of ‖lift · (e_i − e_j)‖ for pairs, which part at some level.

        Above it both move the same, but for their scales d and d′; there by d² + d′² − (d − d′)²/b; below each alone.
        """
        b, d = self.tree.branching, self.columns.astype(float)
        # A contrast of length one is multiplied by its level's size, but for four roundings.
        squares = (self.sizes * (1.0 + 2.0**-49)) ** 2
        moved = (1.0 - 1.0 / b) * squares[:-1]
        last = (1.0 - 1.0 / self.tree.kinds) * squares[-1]
        above = self.root**2 + np.append(0.0, np.cumsum(moved))
        if not pairs:
            found = float((d**2 * (above[-1] + last)).max())
        else:
            of_same_node = 2.0 * np.where(self.tree.kinds > 1, d, 0.0) ** 2 * squares[-1]
            below = np.cumsum(moved[::-1])[::-1] - moved
            apart, both = np.subtract.outer(d, d) ** 2, np.add.outer(d**2, d**2)
            own = np.add.outer(d**2 * last, d**2 * last)
            found = float(of_same_node.max())
            for k in range(len(moved)):
                at = apart * above[k] + (both - apart / b) * squares[k] + both * below[k] + own
                found = max(found, float(at.max()))
        return sqrt_upward(found * (1.0 + 2.0**-40))

    def to_dict(self) -> dict[str, Any]:
        tree = {"cells": self.tree.cells, "branching": self.tree.branching}
        scales = {"root": self.root, "sizes": self.sizes.tolist(), "columns": self.columns.tolist()}
        return {"kind": "levelled lift", **tree, **scales}


@dataclass(frozen=True, eq=False)
class LevelledDecode(Matrix):
    """The sums of all nodes and cells of a tree, read from its lift; then the sum of all again if `counted`.

    Where the lift has no root, the sum of all cells is public. `rows` picks some answers.
    """

    lift: LevelledLift
    counted: bool = False
    rows: Words | None = None

    @property
    def shape(self) -> tuple[int, int]:
        rows = len(self.lift.tree.order) + self.counted if self.rows is None else len(self.rows)
        return rows, self.lift.tree.cells

    def times(self, vector: Array) -> Array:
        lift, tree, b = self.lift, self.lift.tree, self.lift.tree.branching
        i = np.arange(1, b)
        lengths = i * (i + 1.0)
        nodes, at = [np.array([vector[0] / lift.root if lift.root else 0.0])], 1
        for row in lift.weights[:-1]:
            size = len(nodes[-1]) * (b - 1)
            contrasts = vector[at : at + size].reshape(-1, b - 1) / (row * lengths)
            nodes.append((nodes[-1][:, None] / b + _spread(contrasts)).ravel())
            at += size
        kinds, last = lift._last_contrasts, tree.last_sizes
        full = np.zeros((len(last), b - 1))
        full[np.repeat(np.arange(len(last)), last - 1), kinds] = vector[at:] / (lift.weights[-1] * lengths)[kinds]
        cells = (nodes[-1][:, None] / last[:, None] + _spread(full)) / lift.of_nodes[:, None]
        kept = (np.arange(b) < last[:, None]) & (last > 1)[:, None]
        nodes[-1] = nodes[-1] / lift.of_nodes
        for level in reversed(range(tree.depth - 1)):
            nodes[level] = nodes[level + 1].reshape(-1, b).sum(axis=1)
        found = np.concatenate([*nodes, cells[kept]])[tree.order]
        if not lift.root:
            found = found - self._public * found[0]
        found = np.append(found, found[0]) if self.counted else found
        return found if self.rows is None else found[self.rows]

    @cached_property
    def _public(self) -> Array:
        """What each answer takes from the sum of all cells where that is public."""
        levels = [mean * float(self.lift.tree.branching) ** -k for k, mean in enumerate(self._means)]
        return self._ordered(levels, lambda node, r: node / r) / float(self._means[0][0])

    @property
    def public(self) -> Array:
        """The same, of the answers that are picked."""
        return self._public if self.rows is None else self._public[self.rows]

    @cached_property
    def _means(self) -> list[Array]:
        """What a node, as the lift sees it, adds to its cells as they are: the mean over its parts, level by level."""
        found = [1.0 / self.lift.of_nodes]
        for _ in range(self.lift.tree.depth - 1):
            found.append(found[-1].reshape(-1, self.lift.tree.branching).mean(axis=1))
        return found[::-1]

    def _ordered(self, levels: list[Array], of_cells: Callable[[Array, Array], Array]) -> Array:
        """Values of all nodes, level by level, in the order of answers; those of cells from their node and its size."""
        last = self.lift.tree.last_sizes
        several = np.repeat(np.flatnonzero(last > 1), last[last > 1])
        return np.concatenate([*levels, of_cells(levels[-1][several], last[several].astype(float))])[
            self.lift.tree.order
        ]

    @cached_property
    def _norms(self) -> Array:
        """A node of mean m is m·Z and independent noise: Z what the lift sees of it, the noise that of its own parts.

        Where the sum of all is public, its noise, which comes from how means differ, is taken off by shares.
        """
        lift, tree, b, means = self.lift, self.lift.tree, self.lift.tree.branching, self._means
        inverse = 1.0 / lift.sizes**2  # variances of contrasts of length one
        of_lift = [1.0 / lift.root**2 if lift.root else 0.0]
        for own in inverse[:-1].tolist():
            of_lift.append(of_lift[-1] / b**2 + (1.0 - 1.0 / b) * own)
        rest = [np.zeros(len(means[-1]))]
        for k in reversed(range(tree.depth - 1)):
            parts = means[k + 1].reshape(-1, b)
            spread = ((parts - means[k][:, None]) ** 2).sum(axis=1)
            rest.append(rest[-1].reshape(-1, b).sum(axis=1) + inverse[k] * spread)
        rest = rest[::-1]
        levels = [mean**2 * own + other for mean, own, other in zip(means, of_lift, rest, strict=True)]
        if not lift.root:
            shared = np.zeros(1)  # of Z with the sum of all
            for k, mean in enumerate(means):
                if k:
                    shared = np.repeat(shared / b, b) + inverse[k - 1] * (mean - np.repeat(means[k - 1], b))
                share = mean * float(b) ** -k / means[0][0]
                levels[k] = levels[k] + share * (share * rest[0][0] - 2.0 * (rest[k] + mean * shared))
            levels[0] = np.zeros(1)
        alone = np.repeat(1.0 / lift.of_nodes**2, tree.last_sizes)[np.repeat(tree.last_sizes > 1, tree.last_sizes)]
        found = self._ordered(levels, lambda node, r: node / r**2 + alone * (1.0 - 1.0 / r) * inverse[-1])
        found = np.sqrt(np.maximum(found, 0.0))
        return np.append(found, found[0]) if self.counted else found

    def row_norms(self) -> Array:
        """The norm of each row: the standard errors of the answers at μ = 1, node by node without the matrix."""
        return self._norms if self.rows is None else self._norms[self.rows]

    def row(self, i: int) -> Array:
        """One row: the transpose of `times`, from the cells up."""
        lift, tree, b = self.lift, self.lift.tree, self.lift.tree.branching
        place = range(self.shape[0])[i] if self.rows is None else int(self.rows[i])
        place = 0 if place == len(tree.order) else place
        inside = np.full(tree.cells, 0.0 if lift.root else -self._public[place])
        inside[int(tree.ranges[0][place]) : int(tree.ranges[1][place])] += 1.0
        k, scaled, stop = np.arange(1, b), inside / lift._of_cells, tree.cells - int((tree.last_sizes - 1).sum())
        row: Array = np.asarray(lift._contrasts(scaled))
        row[stop:] /= (lift.weights[-1] * k * (k + 1))[lift._last_contrasts]
        nodes = np.add.reduceat(scaled, tree.starts[-1]) / tree.last_sizes
        for weights in lift.weights[-2::-1]:
            parts = nodes.reshape(-1, b)
            contrasts = (np.cumsum(parts, axis=1)[:, :-1] - k * parts[:, 1:]) / (weights * k * (k + 1))
            row[stop - contrasts.size : stop] = contrasts.ravel()
            nodes, stop = parts.mean(axis=1), stop - contrasts.size
        row[0] = nodes[0] / lift.root if lift.root else 0.0
        return row

    def dense(self) -> Array:
        return np.array([self.row(i) for i in range(self.shape[0])]).reshape(self.shape)

    def picked(self, rows: Sequence[int]) -> LevelledDecode:
        at = np.array(rows, np.int64)
        return replace(self, rows=at if self.rows is None else self.rows[at])

    def to_dict(self) -> dict[str, Any]:
        rows = None if self.rows is None else self.rows.tolist()
        return {"kind": "levelled decode", "lift": self.lift.to_dict(), "counted": self.counted, "rows": rows}


def _spread(contrasts: Array) -> Array:
    """What contrasts, over their squared lengths, add to each of the children."""
    i = np.arange(1, contrasts.shape[1] + 1)
    after = np.cumsum(contrasts[:, ::-1], axis=1)[:, ::-1]  # contrast i takes the first i children once
    found = np.zeros((len(contrasts), len(i) + 1))
    found[:, :-1] = after
    found[:, 1:] -= i * contrasts
    return found


def levelled_from_dict(fields: dict[str, Any]) -> LevelledLift | LevelledDecode:
    """The map described by `to_dict`."""
    if fields["kind"] == "levelled lift":
        tree = Tree(int(fields["cells"]), int(fields["branching"]))
        columns = np.array(fields["columns"], np.int64)
        return LevelledLift(tree, float(fields["root"]), np.array(fields["sizes"], float), columns)
    lift = levelled_from_dict(fields["lift"])
    assert isinstance(lift, LevelledLift)
    rows = None if fields["rows"] is None else np.array(fields["rows"], np.int64)
    return LevelledDecode(lift, bool(fields["counted"]), rows)

"""Shapes for prefix sums, ranges and trees over more cells than the numerical solver takes: up to millions.

prefix, ranges   noise whose inverse covariance has the eigenvectors of WᵀW and, but for a staircase that makes exact
                 products cheap, the roots of its eigenvalues; columns are scaled to one length (`reflected_maps`)
tree             one noise size per level on how nodes split: the best there is where all splits are equal

Both are planned, lifted and read in about n log n steps, and compared with a limit that no Gaussian noise goes below
(`proofs.long_runs`): within 1 % for prefix sums, 0.2 % for ranges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.levelled_maps import LevelledDecode, LevelledLift, Tree
from gaussmith.numerics.linear import Array
from gaussmith.numerics.reflected_maps import COLUMN_BITS, KERNEL_BITS, ReflectedDecode, ReflectedLift, Staircase
from gaussmith.numerics.reflections import Reflection
from gaussmith.numerics.run_limits import limit_of_runs
from gaussmith.problem import Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate
from gaussmith.workloads import Runs

if TYPE_CHECKING:
    from gaussmith.domains import Cells

KINDS = ("prefix", "ranges", "tree")

_WRITTEN = 8
_RATIO = 1.2
"""Steps of the staircase: one per place at first, then each wider than the one before."""


def fits_long_runs(problem: Problem[Cells]) -> bool:
    """Whether these are prefix sums, ranges or a tree, for the smallest total, and records counted by their cells."""
    runs, apart = problem.features.runs, problem.domain.or_none and problem.asks_secret_count
    return runs is not None and runs.kind in KINDS and problem.features.targets is None and not apart


def long_runs(problem: Problem[Cells], runs: Runs) -> list[Candidate]:
    """The shape for long runs; the limit that no shape goes below is found when it is asked for."""
    return [Candidate(_of_tree(problem, runs) if runs.kind == "tree" else _of_reflection(problem, runs))]


def is_near_limit(problem: Problem[Cells], runs: Runs) -> bool:
    """Whether the shape for long runs is within 1 % of the limit."""
    limit = limit_of_runs(runs.kind, runs.cells, runs.branching, pairs=not problem.secret_count)
    (found,) = long_runs(problem, runs)
    return found.price(problem) <= 1.01 * float(problem.features.weights.min()) * limit


def _of_reflection(problem: Problem[Cells], runs: Runs) -> Shape:
    stairs = staircase(Reflection(runs.cells, odd=runs.kind == "ranges"))
    squares = stairs.column_squares
    columns = np.floor((1 << COLUMN_BITS) * np.sqrt(squares.min() / squares)).astype(np.int64)
    private, asked = problem.secret_count, problem.asks_secret_count
    plain = ReflectedLift(stairs, columns, 1.0)
    lift = ReflectedLift(stairs, columns, 1.0 / plain.largest_norm(pairs=not private))
    closed = not private and not problem.domain.or_none
    public = (runs.places[1] == runs.cells).astype(float) if closed else None
    return Shape("reflected", lift, ReflectedDecode(lift, runs.kind == "ranges", asked, closed), asked, public)


def staircase(line: Reflection) -> Staircase:
    """The kernel with eigenvalues (4 sin² θ/2)^{−1/4}, in steps of whole numbers."""
    n = line.cells
    ideal = line.kernel((4.0 * line.squared_sines) ** -0.25)
    if line.odd:
        ideal = ideal - ideal[n + 1]  # a constant is nothing to vectors that change their sign at both ends
    edges = list(range(min(_WRITTEN, n) + 1))
    while edges[-1] < n:
        edges.append(min(n, max(edges[-1] + 1, int(edges[-1] * _RATIO))))
    firsts = np.append(0, np.array(edges[:-1]) + 1)
    means = np.add.reduceat(ideal[: n + 1], firsts) / np.diff(firsts, append=n + 1)
    levels = np.append(np.round(np.maximum(means, 0.0) * (((1 << KERNEL_BITS) - 1) / means[0])), 0.0)
    levels = np.minimum.accumulate(levels).astype(np.int64)
    heights = levels[:-1] - levels[1:]
    return Staircase(line, np.array(edges)[heights > 0], heights[heights > 0])


def _of_tree(problem: Problem[Cells], runs: Runs) -> Shape:
    """The best size for each level: of what it costs over all answers a_l and what a cell moves there p_l,

    variance_l = √(p_l/a_l) · Σ √(a_l p_l).
    """
    tree, b = Tree(runs.cells, runs.branching), runs.branching
    private, asked = problem.secret_count, problem.asks_secret_count
    closed = not private and not problem.domain.or_none
    weights = np.bincount(tree.levels, problem.features.weights, tree.depth + 1).astype(float)
    if asked:
        weights[0] += problem.count_weight
    # A unit of variance on the contrasts above level l (or of the sum of all cells) adds b^(−2(L − l)) to level L.
    shrink = float(b) ** (-2.0 * np.maximum(np.subtract.outer(np.arange(tree.depth + 1), np.arange(tree.depth + 1)), 0))
    costs: Array = np.where(np.tri(tree.depth + 1, dtype=bool), shrink, 0.0).T @ weights
    costs = costs * np.append(1.0, tree.shares)
    moves = np.append(0.0 if closed else 1.0, tree.shares)
    root = np.sqrt(costs * moves)
    sizes = np.sqrt(np.sqrt(costs / np.where(moves > 0, moves, 1.0)) / root.sum())
    sizes = np.where(sizes > 0, sizes, 1.0)  # one cell has no contrasts
    plain = LevelledLift(tree, 0.0 if closed else float(sizes[0]), sizes[1:])
    lift = plain.scaled(np.full(runs.cells, 1.0 / plain.largest_norm(pairs=not private)))
    public = _public_part(tree) if closed else None
    return Shape("levelled", lift, LevelledDecode(lift, asked), asked, public)


def _public_part(tree: Tree) -> Array:
    """What each answer takes from the public number of records: that of its parent over the number of children."""
    upper = float(tree.branching) ** -np.arange(tree.depth + 1.0)
    found = upper[tree.levels]
    cells = tree.levels == tree.depth
    found[cells] = upper[tree.depth - 1] / tree.children[cells]
    return found

"""Shapes for prefix sums, ranges and trees over more cells than the numerical solver takes: up to millions.

prefix, ranges   noise whose inverse covariance has the eigenvectors of WᵀW and, but for a staircase that makes exact
                 products cheap, the roots of its eigenvalues; columns are scaled to one length (`reflected_maps`)
tree             one noise size per level on how nodes split: the best there is where all splits are equal; else cells
                 are scaled so that all move the lift alike, which is within 1 to 3 % of the best there is

Both are planned, lifted and read in about n log n steps, and compared with a limit that no Gaussian noise goes below
(`proofs.long_runs`): within 1 % for prefix sums, 0.2 % for ranges, 2 and 3 % under replace-one.
"""

from __future__ import annotations

from dataclasses import replace
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

_NEAR = {"prefix": 3.9, "ranges": 5.9}
"""Where the number of records is public, the noise of two cells is correlated if they are nearer than about n/this."""

_LONGEST = {"prefix": (-0.05, 0.045, 0.11, 0.085, 0.025, -0.01), "ranges": (-0.17, -0.125, -0.045, 0.005, 0.025, 0.025)}
"""Logarithms of the factors by which the longest waves differ there.

They and `_NEAR` were found by a search at 128 cells. They decide the price, not privacy.
"""

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
    """Whether the shape for long runs is within 1 % of the limit; 3 % under replace-one: solving takes long."""
    pairs = not problem.secret_count
    limit = limit_of_runs(runs.kind, runs.cells, runs.branching, pairs=pairs, or_none=problem.domain.or_none)
    (found,) = long_runs(problem, runs)
    return found.price(problem) <= (1.03 if pairs else 1.01) * float(problem.features.weights.min()) * limit


def _of_reflection(problem: Problem[Cells], runs: Runs) -> Shape:
    """Where the number of records is public, those in no cell, if there may be any, are in one more cell at the end."""
    private, asked, ranges = problem.secret_count, problem.asks_secret_count, runs.kind == "ranges"
    others = not private and problem.domain.or_none
    line = Reflection(runs.cells + others, ("odd" if ranges else "mixed") if private else "even")
    stairs = staircase(line, ranges)
    squares = stairs.column_squares
    columns = np.floor((1 << COLUMN_BITS) * np.sqrt(squares.min() / squares)).astype(np.int64)
    plain = ReflectedLift(stairs, columns, 1.0, others)
    lift = replace(plain, unit=1.0 / plain.largest_norm(pairs=not private))
    decode = ReflectedDecode(lift, ranges, asked, closed=not private)
    return Shape("reflected", lift, decode, asked, None if private or others else decode.public[: runs.size])


def staircase(line: Reflection, ranges: bool = False) -> Staircase:
    """The kernel with eigenvalues (4 sin² θ/2)^{−1/4}, in steps of whole numbers.

    With even ends, for a public number of records, the longest waves have others (`_NEAR`, `_LONGEST`): nothing is
    gained by noise that is correlated between cells far apart.
    """
    n, kind = line.cells, "ranges" if ranges else "prefix"
    symbol = (4.0 * line.squared_sines + (_NEAR[kind] / n if line.even else 0.0) ** 2) ** -0.25
    if line.even:
        longest = np.array(_LONGEST[kind][:n])
        symbol[: len(longest)] *= np.exp(longest)
    ideal = line.kernel(symbol)
    if line.odd:
        ideal = ideal - ideal[n + 1]  # a constant is nothing to vectors that change their sign at both ends
    last = max(n - 1, 0) if line.even else n
    edges = list(range(min(_WRITTEN, last) + 1))
    while edges[-1] < last:
        edges.append(min(last, max(edges[-1] + 1, int(edges[-1] * _RATIO))))
    firsts = np.append(0, np.array(edges[:-1], int) + 1)
    means = np.add.reduceat(ideal[: last + 1], firsts) / np.diff(firsts, append=last + 1)
    levels = np.append(np.round(np.maximum(means, 0.0) * (((1 << KERNEL_BITS) - 1) / means[0])), 0.0)
    levels = np.minimum.accumulate(levels).astype(np.int64)
    heights = levels[:-1] - levels[1:]
    return Staircase(line, np.array(edges)[heights > 0], heights[heights > 0])


def _of_tree(problem: Problem[Cells], runs: Runs) -> Shape:
    """The best size for each level, but for how nodes of the last level differ.

    With a_l what a unit of variance on the contrasts of level l costs over all answers, p what a cell moves there, and
    C, q the same of the last level (q the mean over its nodes), cells being scaled so that all move the lift alike,

        x_l = √(a_l/p)/Σ √(a_l p),      x_last = √(C/q)/Σ √(a_l p)      are in proportion to the squares of sizes.

    Pairs of cells part at one level, mostly the first, where they move the lift by 1 in place of p each.
    """
    tree, b = Tree(runs.cells, runs.branching), runs.branching
    private, asked = problem.secret_count, problem.asks_secret_count
    closed = not private and not problem.domain.or_none
    given, at_cells = problem.features.weights, tree.levels == tree.depth
    weights = np.bincount(tree.levels, given, tree.depth + 1).astype(float)
    if asked:
        weights[0] += problem.count_weight
    # A unit of variance on the contrasts above level l (or of the sum of all cells) adds b^(−2(L − l)) to level L.
    shrink = float(b) ** (-2.0 * np.maximum(np.subtract.outer(np.arange(tree.depth + 1), np.arange(tree.depth + 1)), 0))
    costs: Array = np.where(np.tri(tree.depth + 1, dtype=bool), shrink, 0.0).T @ weights
    moves = np.full(tree.depth, 1.0 - 1.0 / b)
    moves[0] = 0.0 if closed else 1.0
    costs = costs[: tree.depth] * np.append(1.0, moves[1:])
    moves[1:2] = moves[1:2] if private else 1.0
    root = np.sqrt(costs * moves).sum()
    squares = np.sqrt(costs / np.where(moves > 0, moves, 1.0)) / (root or 1.0)
    split = 1.0 - 1.0 / tree.kinds
    own = float(given[at_cells] @ (1.0 - 1.0 / tree.children[at_cells]))
    last = np.sqrt(own / float(split[tree.kind_of_node].mean())) / (root or 1.0) if own > 0 else 1.0
    sizes = np.sqrt(np.append(squares[1:], last))
    scales = 1.0 / np.sqrt(float(moves @ squares) + split * last)
    several = len(tree.kinds) > 1
    columns = np.floor((1 << COLUMN_BITS) * scales / scales.max()).astype(np.int64) if several else np.ones(1, np.int64)
    plain = LevelledLift(tree, 0.0 if closed else float(np.sqrt(squares[0])), np.where(sizes > 0, sizes, 1.0), columns)
    lift = plain.scaled(np.full(runs.cells, 1.0 / plain.largest_norm(pairs=not private)))
    decode = LevelledDecode(lift, asked)
    return Shape("levelled", lift, decode, asked, decode.public if closed else None)

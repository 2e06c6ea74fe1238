"""Shapes for prefix sums, ranges and trees over more cells than the numerical solver takes: up to millions.

prefix, ranges   noise whose inverse covariance has the eigenvectors of WᵀW and, but for a staircase that makes exact
                 products cheap, the roots of its eigenvalues; columns are scaled to one length (`reflected_maps`)
tree             one noise size per level on how nodes split: the best there is where all splits are equal; else cells
                 are scaled so that all move the lift alike, which is within 1 to 3 % of the best there is

Both are planned, lifted and read in about n log n steps, and compared with a limit that no Gaussian noise goes below
(`proofs.long_runs`): within 1 % for prefix sums, 0.2 % for ranges, 2 and 3 % under replace-one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains.domain import Problem
from gaussmith.domains.strategies import Candidate, Strategy
from gaussmith.domains.workloads import Runs
from gaussmith.numerics.exact import Array
from gaussmith.numerics.levelled_maps import LevelledDecode, LevelledLift, Tree
from gaussmith.numerics.reflected_maps import (
    COLUMN_BITS,
    KERNEL_BITS,
    ReflectedDecode,
    ReflectedLift,
    Reflection,
    Staircase,
)

if TYPE_CHECKING:
    from gaussmith.domains.cells import Cells


# Limits for prefix sums, ranges and trees over many cells, in closed form.
#
# For any contraction U (answers × cells) and any law λ on cells, with W the answers scaled to their weights,
#
#     (tr M^{1/2})² = ‖W √λ‖_*²  ≥  (tr Uᵀ W √λ)²,      which at its best λ is  Σ_j (UᵀW)_jj².
#
# U = W (WᵀW)^{−1/2} of equal weights is a contraction, and so is any part of it: for prefix sums and ranges UᵀW is
# the root of a matrix with known eigenvalues, for a tree its diagonal adds up over the levels.
#
# Under replace-one the law is on pairs of cells: E[s sᵀ] = W L Wᵀ, and the limit is (tr UᵀW L^{1/2})². For prefix
# sums and ranges it is the best of the laws that take pairs of the same two groups of cells alike; it leaves out
# cells that are near each other. For a tree both cells are drawn from the law λ of one: with M = W λ Wᵀ and v = W λ,
# different cells have 2 (M − v vᵀ)/(1 − Σ λ²), and the trace of the root of M − v vᵀ is at least tr M^{1/2} − ‖v‖.

GROUPS = 16
"""Groups of adjacent cells whose pairs are alike in a law. More gain a thousandth."""

_ROUNDS = 300
"""Steps towards the best law; every law gives a limit."""

_MANY = 1 << 17
"""Cells above which a few of the last are left out of a limit if transforms are faster then."""

_SLACK = 1e-9
"""What doubles and fast transforms may be off: far more than they are, some 10^−12 at a million cells."""

TREE = "tree"


def limit_of_runs(kind: str, cells: int, branching: int = 2, *, pairs: bool = False, or_none: bool = False) -> float:
    """No Gaussian noise for all "prefix" sums, "ranges" or nodes of a "tree" has a smaller total at μ = 1.

    `pairs`: under replace-one. There records in no cell are in one more cell at the end, whose prefix sum is public;
    the limits of ranges and trees leave them out.

    >>> round(limit_of_runs("prefix", 8), 2), round(limit_of_runs("tree", 8), 2)
    (17.7, 24.44)
    """
    if not pairs:
        squared = _law_of_tree(cells, branching)[0] if kind == TREE else _law_of_reflection(kind, cells)
        return squared * (1.0 - _SLACK)
    if kind == "prefix":  # those of the first cells are among those of all
        cells = _with_fast_transforms(cells + or_none)
    if cells < 2:
        return 0.0
    root = _pairs_of_tree(cells, branching) if kind == TREE else _pairs_of_reflection(kind, cells)
    return max(0.0, root) ** 2 * (1.0 - _SLACK)


def _with_fast_transforms(cells: int) -> int:
    """At most so many cells, for which transforms have a convenient length.

    >>> _with_fast_transforms(1_000_003), _with_fast_transforms(100_003)
    (1000000, 100003)
    """
    from scipy.fft import next_fast_len

    while cells > _MANY and next_fast_len(2 * cells) != 2 * cells:
        cells -= 1
    return cells


def _law_of_reflection(kind: str, cells: int) -> float:
    """The sum of squares on the diagonal of (WᵀW)^{1/2}."""
    line = Reflection(cells, "odd" if kind == "ranges" else "mixed")
    diagonal = line.diagonal(np.sqrt((cells + 1.0 if line.odd else 1.0) / (4.0 * line.squared_sines)))
    return float(diagonal @ diagonal)


def _pairs_of_reflection(kind: str, cells: int) -> float:
    """tr Q L^{1/2} at the best law on pairs of groups, Q = UᵀW.

    With λ_pq the chance of cells of groups p and q, sizes b and r_p = Σ_q λ_pq, L has the eigenvalue 2 r_p/b_p on
    vectors in group p that add up to 0, and 2 (diag(r_p/b_p) − λ_pq/√(b_p b_q)) on those that are even in each group.
    """
    times, diagonal = _root_of_ranges(cells) if kind == "ranges" else _root_of_prefix(cells)
    ends = np.arange(min(GROUPS, cells) + 1) * cells // min(GROUPS, cells)
    sizes = np.diff(ends).astype(float)
    even = np.repeat(np.eye(len(sizes)) / np.sqrt(sizes), np.diff(ends), axis=1)
    Q = np.array([even @ times(each) for each in even])
    within = np.maximum(np.add.reduceat(diagonal, ends[:-1]) - np.diag(Q), 0.0)
    law = np.outer(sizes, sizes) * (1.0 - np.eye(len(sizes)))
    best = 0.0
    for _ in range(_ROUNDS):
        law /= law.sum()
        found, slopes = _trace_of_pairs(law, sizes, (Q + Q.T) / 2.0, within)
        best = max(best, found)
        law = law * np.maximum(slopes, 0.0) ** 2
    return best


def _root_of_prefix(cells: int) -> tuple[Callable[[Array], Array], Array]:
    """The root of WᵀW on vectors that add up to 0, as a product and by its diagonal: a cosine wave each."""
    line = Reflection(cells, "even")
    root = np.append(0.0, 1.0 / np.sqrt(4.0 * line.squared_sines[1:]))
    return lambda vector: line.times(root, vector), line.diagonal(root)


def _root_of_ranges(cells: int) -> tuple[Callable[[Array], Array], Array]:
    """The same of ranges: with a cell more, which stays empty, the cells are a ring, and ranges its pairs of places."""
    from scipy.fft import irfft, rfft

    ring = cells + 1
    sines = np.sin(np.pi * np.arange(1, ring // 2 + 1) / ring)
    root = np.append(0.0, np.sqrt(ring) / (2.0 * sines))
    own = irfft(root, ring)[0]
    return lambda vector: irfft(rfft(vector, ring) * root, ring)[:cells], np.full(cells, own)


def _trace_of_pairs(law: Array, sizes: Array, Q: Array, within: Array) -> tuple[float, Array]:
    """tr Q L^{1/2}, and what it grows by with each chance."""
    apart = 2.0 * law.sum(axis=1) / sizes
    scale = 1.0 / np.sqrt(sizes)
    values, vectors = np.linalg.eigh(np.diag(apart) - 2.0 * law * np.outer(scale, scale))
    roots = np.sqrt(np.maximum(values, 0.0))
    roots[0] = 0.0  # all cells alike: no difference of two of them
    turned = vectors.T @ Q @ vectors
    found = float(roots @ np.diag(turned)) + float(np.sqrt(apart) @ within)
    both = np.add.outer(roots, roots)
    both[0] = both[:, 0] = np.inf
    inner = vectors @ (turned / both) @ vectors.T * np.outer(scale, scale)
    own = np.diag(inner) + within / sizes / (2.0 * np.sqrt(apart))
    return found, np.add.outer(own, own) - 2.0 * inner


def _law_of_tree(cells: int, branching: int) -> tuple[float, Array]:
    """(tr (E s sᵀ)^{1/2})² at least, by the better of two kinds of laws; and the chance of each cell in it.

    U is that of the tree with b^k cells, k the depth of this one: of a node of level L, m_L = b^{k−L} cells, it has at
    each of them m_L (g_0^{−1/2}/b^k + Σ_{1≤l≤L} g_l^{−1/2} (1 − 1/b)/m_l), g_l = Σ_{L≥l} m_L being the eigenvalues.

    The other law is on the V nodes of the last level, with weights λ_q, and takes the c_q cells of a node alike: what
    cells add to their node is then apart, Σ (c_q − 1) √(λ_q/c_q), and the rest is the tree of nodes beside κ_q = c_q^−½
    of those that have several cells. With U = (W, κ) (WᵀW + κ²)^{−1/2}, W the tree of nodes and any one κ for all,

        tr ≥ Σ_q √λ_q (A + κ κ_q H + (c_q − 1)/√c_q),     A = tr G (G + κ²)^{−1/2} / V,   H = tr (G + κ²)^{−1/2} / V,

    at its best λ the root of the sum of squares. For κ = 0, (W G^{−½} √(1 − u²), u) with any u_q on nodes of several
    cells is a contraction, as W G^{−½} has orthonormal columns; the best u_q make √(A² + κ_q²) of the first two terms.
    """
    tree, b = Tree(cells, branching), float(branching)
    k, last = tree.depth, tree.last_sizes
    diagonal = np.where(np.repeat(last == 1, last), *_diagonals(b, k))
    counts = np.bincount(last)
    several = np.flatnonzero(counts)
    root = np.sqrt(several)
    g = np.cumsum(b ** np.arange(k))[::-1]  # eigenvalues of the tree of nodes, from the first level on
    shares = np.append(1.0, np.diff(b ** np.arange(k))) / len(last)
    best, law = float(diagonal @ diagonal), diagonal**2
    for kappa in np.append(0.0, 1.0 / np.sqrt(np.geomspace(1.0, 4.0 * b, 33))):
        A, H = float(shares @ (g / np.sqrt(g + kappa**2))), float(shares @ (1.0 / np.sqrt(g + kappa**2)))
        beside = kappa * H / root if kappa else np.hypot(A, 1.0 / root) - A
        each = A + np.where(several > 1, beside + (several - 1) / root, 0.0)
        if (found := float(counts[several] @ each**2)) > best:
            of_size = np.zeros(len(counts))
            of_size[several] = each**2 / several
            best, law = found, np.repeat(of_size[last], last)
    return best, law / law.sum()


def _pairs_of_tree(cells: int, branching: int) -> float:
    """√(2/(1 − Σ λ²)) (tr M^{1/2} − ‖v‖), by the law of one cell."""
    squared, law = _law_of_tree(cells, branching)
    starts, stops = Tree(cells, branching).ranges
    sums = np.append(0.0, np.cumsum(law))
    across = sums[stops] - sums[starts]
    root = math.sqrt(squared) * (1.0 - _SLACK) - math.sqrt(float(across @ across)) * (1.0 + _SLACK)
    return math.sqrt(2.0 / (1.0 - float(law @ law))) * root


def _diagonals(b: float, depth: int) -> tuple[float, float]:
    """(UᵀW)_jj of a cell that is a node of the last level itself, and of one below it."""
    m = b ** (depth - np.arange(depth + 1.0))
    g = np.cumsum(m[::-1])[::-1]
    parts = (1.0 - 1.0 / b) / m / np.sqrt(g)
    parts[0] = 1.0 / m[0] / np.sqrt(g[0])
    entries = m * np.cumsum(parts)
    return float(entries[:depth].sum()), float(entries.sum())


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


def _of_reflection(problem: Problem[Cells], runs: Runs) -> Strategy:
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
    return Strategy("reflected", lift, decode, asked, None if private or others else decode.public[: runs.size])


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


def _of_tree(problem: Problem[Cells], runs: Runs) -> Strategy:
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
    return Strategy("levelled", lift, decode, asked, decode.public if closed else None)


# Limits for prefix sums, ranges and trees over many cells, in closed form: see `numerics.run_limits`.


def long_runs_bound(problem: Problem[Cells], runs: Runs) -> float:
    """No Gaussian noise has a smaller weighted total at μ = 1; rounded down. Weights that differ count as the least."""
    least = float(problem.features.weights.min())
    pairs, or_none = not problem.secret_count, problem.domain.or_none
    found = limit_of_runs(runs.kind, runs.cells, runs.branching, pairs=pairs, or_none=or_none)
    return least * found * (1.0 - 2.0**-50)

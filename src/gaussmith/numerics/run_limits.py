"""Limits for prefix sums, ranges and trees over many cells, in closed form.

For any contraction U (answers × cells) and any law λ on cells, with W the answers scaled to their weights,

    (tr M^{1/2})² = ‖W √λ‖_*²  ≥  (tr Uᵀ W √λ)²,      which at its best λ is  Σ_j (UᵀW)_jj².

U = W (WᵀW)^{−1/2} of equal weights is a contraction, and so is any part of it: for prefix sums and ranges UᵀW is the
root of a matrix with known eigenvalues, for a tree its diagonal adds up over the levels. Under replace-one the law is
on all pairs of cells alike, E[s sᵀ] = 2/(n−1) · W (I − 11ᵀ/n) Wᵀ, and the bound 2/(n−1) (tr UᵀW − 1ᵀUᵀW1/n)².
"""

from __future__ import annotations

import math

import numpy as np

from gaussmith.numerics.levelled_maps import Tree
from gaussmith.numerics.linear import Array
from gaussmith.numerics.reflections import Reflection

_SLACK = 1e-9
"""What doubles and fast transforms may be off: far more than they are, some 10^−12 at a million cells."""

TREE = "tree"


def limit_of_runs(kind: str, cells: int, branching: int = 2, *, pairs: bool = False) -> float:
    """No Gaussian noise for all "prefix" sums, "ranges" or nodes of a "tree" has a smaller total at μ = 1.

    `pairs`: under replace-one.

    >>> round(limit_of_runs("prefix", 8), 2), round(limit_of_runs("tree", 8), 2)
    (17.7, 24.44)
    """
    if not pairs:
        squared = _of_tree(cells, branching) if kind == TREE else _of_reflection(kind, cells)
        return squared * (1.0 - _SLACK)
    if cells < 2:
        return 0.0
    trace, across = _pairs_of_tree(cells, branching) if kind == TREE else _pairs_of_reflection(kind, cells)
    root = max(0.0, trace * (1.0 - _SLACK) - across * (1.0 + _SLACK))
    return root * root * 2.0 / (cells - 1) * (1.0 - _SLACK)


def _of_reflection(kind: str, cells: int) -> float:
    """The sum of squares on the diagonal of (WᵀW)^{1/2}."""
    line, root = _root(kind, cells)
    diagonal = line.diagonal(root)
    return float(diagonal @ diagonal)


def _pairs_of_reflection(kind: str, cells: int) -> tuple[float, float]:
    """tr (WᵀW)^{1/2}, and 1ᵀ(WᵀW)^{1/2}1 / n."""
    line, root = _root(kind, cells)
    return float(root.sum()), float(line.times(root, np.ones(cells)).sum()) / cells


def _root(kind: str, cells: int) -> tuple[Reflection, Array]:
    """The eigenvalues of (WᵀW)^{1/2}."""
    line = Reflection(cells, odd=kind == "ranges")
    return line, np.sqrt((cells + 1.0 if line.odd else 1.0) / (4.0 * line.squared_sines))


def _of_tree(cells: int, branching: int) -> float:
    """(tr (E s sᵀ)^{1/2})² at least, by two kinds of laws.

    U is that of the tree with b^k cells, k the depth of this one: of a node of level L, m_L = b^{k−L} cells, it has at
    each of them m_L (g_0^{−1/2}/b^k + Σ_{1≤l≤L} g_l^{−1/2} (1 − 1/b)/m_l), g_l = Σ_{L≥l} m_L being the eigenvalues.

    The other law is on the V nodes of the last level, with weights λ_q, and takes the c_q cells of a node alike: what
    cells add to their node is then apart, Σ (c_q − 1) √(λ_q/c_q), and the rest is the tree of nodes beside κ_q = c_q^−½
    of those that have several cells. With U = (W, κ) (WᵀW + κ²)^{−1/2}, W the tree of nodes and any one κ for all,

        tr ≥ Σ_q √λ_q (A + κ κ_q H + (c_q − 1)/√c_q),     A = tr G (G + κ²)^{−1/2} / V,   H = tr (G + κ²)^{−1/2} / V,

    at its best λ the root of the sum of squares.
    """
    tree, b = Tree(cells, branching), float(branching)
    k, last = tree.depth, tree.last_sizes
    diagonal = np.where(np.repeat(last == 1, last), *_diagonals(b, k))
    counts = np.bincount(last)
    several = np.flatnonzero(counts)
    root = np.sqrt(several)
    g = np.cumsum(b ** np.arange(k))[::-1]  # eigenvalues of the tree of nodes, from the first level on
    shares = np.append(1.0, np.diff(b ** np.arange(k))) / len(last)
    best = float(diagonal @ diagonal)
    for kappa in np.append(0.0, 1.0 / np.sqrt(np.geomspace(1.0, 4.0 * b, 33))):
        A, H = float(shares @ (g / np.sqrt(g + kappa**2))), float(shares @ (1.0 / np.sqrt(g + kappa**2)))
        each = A + np.where(several > 1, kappa * H / root + (several - 1) / root, 0.0)
        best = max(best, float(counts[several] @ each**2))
    return best


def _pairs_of_tree(cells: int, branching: int) -> tuple[float, float]:
    """tr UᵀW, U as above, and an upper bound of 1ᵀUᵀW1 / n: |1ᵀUᵀW1| ≤ ‖U1‖ ‖W1‖ ≤ √n ‖W1‖."""
    tree = Tree(cells, branching)
    alone, below = _diagonals(float(branching), tree.depth)
    single = int((tree.last_sizes == 1).sum())
    starts, stops = tree.ranges
    lengths = (stops - starts).astype(float)
    return single * alone + (cells - single) * below, math.sqrt(float(lengths @ lengths) / cells)


def _diagonals(b: float, depth: int) -> tuple[float, float]:
    """(UᵀW)_jj of a cell that is a node of the last level itself, and of one below it."""
    m = b ** (depth - np.arange(depth + 1.0))
    g = np.cumsum(m[::-1])[::-1]
    parts = (1.0 - 1.0 / b) / m / np.sqrt(g)
    parts[0] = 1.0 / m[0] / np.sqrt(g[0])
    entries = m * np.cumsum(parts)
    return float(entries[:depth].sum()), float(entries.sum())

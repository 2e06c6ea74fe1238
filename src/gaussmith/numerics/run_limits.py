"""Limits for prefix sums, ranges and trees over many cells, in closed form.

For any contraction U (answers × cells) and any law λ on cells, with W the answers scaled to their weights,

    (tr M^{1/2})² = ‖W √λ‖_*²  ≥  (tr Uᵀ W √λ)²,      which at its best λ is  Σ_j (UᵀW)_jj².

U = W (WᵀW)^{−1/2} of equal weights is a contraction, and so is any part of it: for prefix sums and ranges UᵀW is the
root of a matrix with known eigenvalues, for a tree its diagonal adds up over the levels.

Under replace-one the law is on pairs of cells: E[s sᵀ] = W L Wᵀ, and the limit is (tr UᵀW L^{1/2})². For prefix sums
and ranges it is the best of the laws that take pairs of the same two groups of cells alike; it leaves out cells that
are near each other. For a tree both cells are drawn from the law λ of one: with M = W λ Wᵀ and v = W λ, different cells
have 2 (M − v vᵀ)/(1 − Σ λ²), and the trace of the root of M − v vᵀ is at least tr M^{1/2} − ‖v‖.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gaussmith.numerics.levelled_maps import Tree
from gaussmith.numerics.linear import Array
from gaussmith.numerics.reflections import Reflection

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
        squared = _of_tree(cells, branching)[0] if kind == TREE else _of_reflection(kind, cells)
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


def _of_reflection(kind: str, cells: int) -> float:
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


def _of_tree(cells: int, branching: int) -> tuple[float, Array]:
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
    squared, law = _of_tree(cells, branching)
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

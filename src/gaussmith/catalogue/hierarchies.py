"""Hierarchies, which the poster asks about: all nodes of a complete tree, answered from one correlated noise.

A record is one of b^h leaves; an answer is the number of records below a node, for the nodes of all h + 1 levels.
Noise of one size on each level's contrasts (what tells the children of a node apart) is the optimum (theory, statement
66); noise of its own for every level, as a tree of noisy histograms has it, is two to three times as much.
"""

from __future__ import annotations

import math

from gaussmith.checks import check_whole
from gaussmith.errors import DomainError


def tree_total(branching: int, levels: int) -> float:
    """The least total variance of all nodes at μ = 1, add-remove, when there are `levels` levels below the root.

        (Σ_l D_l √(Σ_{m ≥ l} b^−m))²,   D_0 = 1, D_l = b^l − b^{l−1}

    >>> round(tree_total(2, 6), 4), round(split_total(2, 6), 4)
    (250.8778, 619.9848)
    """
    b, h = _check(branching, levels)
    widths = [1] + [b**level - b ** (level - 1) for level in range(1, h + 1)]
    below = [math.fsum(float(b) ** -m for m in range(level, h + 1)) for level in range(h + 1)]
    return math.fsum(width * math.sqrt(rest) for width, rest in zip(widths, below, strict=True)) ** 2


def split_total(branching: int, levels: int) -> float:
    """The total when every level has noise of its own, at the best split of μ² over levels: (Σ_l √(b^l))²."""
    b, h = _check(branching, levels)
    return math.fsum(math.sqrt(b**level) for level in range(h + 1)) ** 2


def _check(branching: int, levels: int) -> tuple[int, int]:
    b = check_whole("branching", branching, 2, error=DomainError)
    return b, check_whole("levels", levels, 1, error=DomainError)

"""Sums of squares in one fixed order, in arrays and in SQL, so that every engine rounds alike."""

from __future__ import annotations

import numpy as np

from gaussmith.numerics.linear import Array

FOLD = 32
"""Squares are added left to right in blocks of so many columns, then the blocks: the same on every engine."""


def folded_squares(u: Array) -> Array:
    """Σ u² of each row, added in the order that all engines use."""
    total = np.zeros(len(u))
    for start in range(0, u.shape[1], FOLD):
        block = u[:, start] * u[:, start]
        for j in range(start + 1, min(start + FOLD, u.shape[1])):
            block = block + u[:, j] * u[:, j]
        total = total + block
    return total


def spell_squares(columns: int) -> str:
    """The same sum in SQL, of the columns u0, u1, …"""
    starts = range(0, columns, FOLD)
    blocks = (" + ".join(f"u{j} * u{j}" for j in range(s, min(s + FOLD, columns))) for s in starts)
    return " + ".join(f"({block})" for block in blocks)

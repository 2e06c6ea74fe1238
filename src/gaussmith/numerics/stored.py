"""A cache of solved weights, keyed by content: no problem is solved twice.

The key is a hash of the solver's input; only the weights it found are kept. The shape and both sides of its
certificate are always recomputed from the weights and checked.

The last few results are kept in this process, because private bounds plan the same query several times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Literal

import numpy as np

from gaussmith.numerics.exact import Array
from gaussmith.numerics.kept import recall
from gaussmith.numerics.solver import Optimum, Progress, solve

_MAX_KEPT = 16
"""Limit on the solutions kept in memory."""

_KEPT: dict[Hashable, tuple[Array, Array]] = {}


def solve_once(
    points: Array,
    *,
    pairs: bool = False,
    objective: Literal["total", "worst"] = "total",
    targets: Array | None = None,
    gap: float = 1e-3,
    progress: Progress | None = None,
) -> Optimum:
    """`solve`, unless the same problem was solved before."""
    new: list[Optimum] = []

    def search() -> tuple[Array, Array]:
        new.append(solve(points, pairs=pairs, objective=objective, targets=targets, gap=gap, progress=progress))
        return new[0].weights, new[0].shares

    known = recall(_KEPT, content_key(points, pairs, objective, targets, gap), search, _MAX_KEPT)
    if new:
        return new[0]
    return solve(points, pairs=pairs, objective=objective, targets=targets, gap=gap, known=known)


def content_key(points: Array, pairs: bool, objective: str, targets: Array | None, gap: float) -> str:
    """SHA-256 of the solver's input."""
    asked = f"{points.shape} {pairs} {objective} {gap!r} {None if targets is None else targets.shape}"
    digest = hashlib.sha256(asked.encode())
    for array in (points, targets):
        if array is not None:
            digest.update(np.ascontiguousarray(array, "<f8").tobytes())
    return digest.hexdigest()

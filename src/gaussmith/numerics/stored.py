"""A cache of solved weights, keyed by content: no problem is solved twice.

The key is a hash of the solver's input; only the weights it found are kept. The shape and both sides of its
certificate are always recomputed from the weights and checked.

The last few results are kept in this process, because private bounds plan the same query several times.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

import numpy as np

from gaussmith.numerics.exact import Array
from gaussmith.numerics.solver import Optimum, Progress, solve

_MAX_KEPT = 16
"""Limit on the solutions kept in memory."""

_KEPT: OrderedDict[str, tuple[Array, Array]] = OrderedDict()


def solve_once(
    points: Array,
    *,
    pairs: bool = False,
    objective: Literal["total", "worst"] = "total",
    targets: Array | None = None,
    gap: float = 1e-3,
    progress: Progress | None = None,
    begin: Callable[[], Array | None] | None = None,
) -> Optimum:
    """`solve`, unless the same problem was solved before; `begin` makes the weights from which a search begins."""
    key = content_key(points, pairs, objective, targets, gap)
    known = _KEPT.get(key)
    if known is not None:
        _KEPT.move_to_end(key)
        return solve(points, pairs=pairs, objective=objective, targets=targets, gap=gap, known=known)
    start = None if begin is None else begin()
    best = solve(points, pairs=pairs, objective=objective, targets=targets, gap=gap, progress=progress, start=start)
    _keep(key, (best.weights, best.shares))
    return best


def content_key(points: Array, pairs: bool, objective: str, targets: Array | None, gap: float) -> str:
    """SHA-256 of the solver's input."""
    asked = f"{points.shape} {pairs} {objective} {gap!r} {None if targets is None else targets.shape}"
    digest = hashlib.sha256(asked.encode())
    for array in (points, targets):
        if array is not None:
            digest.update(np.ascontiguousarray(array, "<f8").tobytes())
    return digest.hexdigest()


def _keep(key: str, found: tuple[Array, Array]) -> None:
    _KEPT[key] = found
    _KEPT.move_to_end(key)
    while len(_KEPT) > _MAX_KEPT:
        _KEPT.popitem(last=False)

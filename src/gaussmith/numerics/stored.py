"""A cache of solved weights, keyed by content: no problem is solved twice.

The key is a hash of the solver's input; only the weights it found are kept. The shape and both sides of its
certificate are always recomputed from the weights and checked, so a wrong or damaged file can cost accuracy, which
shows in the gap and leads to a new search, but never privacy.

Results are kept in this process, and on disk if a search took longer than a second: in the folder `gaussmith` of
$XDG_CACHE_HOME (or %LOCALAPPDATA%, or ~/.cache). $GAUSSMITH_CACHE names another folder; "off" keeps nothing on disk.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError
from gaussmith.numerics.optimum import Optimum, solve
from gaussmith.numerics.search import Progress

Array = npt.NDArray[np.float64]

VERSION = 1
SLOW = 1.0
"""Seconds of search above which a result is kept on disk."""

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
    known = _KEPT.get(key) or _read(key)
    if known is not None and len(known[0]) == (len(points) * (len(points) - 1) // 2 if pairs else len(points)):
        try:
            best = solve(points, pairs=pairs, objective=objective, targets=targets, gap=gap, known=known)
            if best.gap <= 1.01 * gap + 1e-12:
                _keep(key, known)
                return best
        except (PlanError, ValueError, np.linalg.LinAlgError):
            pass  # not what was kept here: search again
    started = time.monotonic()
    start = None if begin is None else begin()
    best = solve(points, pairs=pairs, objective=objective, targets=targets, gap=gap, progress=progress, start=start)
    found = best.weights, best.shares
    _keep(key, found)
    if time.monotonic() - started > SLOW:
        _write(key, found)
    return best


def content_key(points: Array, pairs: bool, objective: str, targets: Array | None, gap: float) -> str:
    """SHA-256 of the solver's input."""
    asked = f"{VERSION} {points.shape} {pairs} {objective} {gap!r} {None if targets is None else targets.shape}"
    digest = hashlib.sha256(asked.encode())
    for array in (points, targets):
        if array is not None:
            digest.update(np.ascontiguousarray(array, "<f8").tobytes())
    return digest.hexdigest()


def cache_folder() -> Path | None:
    """The folder for results on disk; None if nothing is kept."""
    named = os.environ.get("GAUSSMITH_CACHE")
    if named is not None:
        return None if named.strip().lower() in ("", "0", "off", "no", "none") else Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(home) if home else Path.home() / ".cache") / "gaussmith"
    except RuntimeError:  # nobody's home
        return None


def _keep(key: str, found: tuple[Array, Array]) -> None:
    _KEPT[key] = found
    _KEPT.move_to_end(key)
    while len(_KEPT) > _MAX_KEPT:
        _KEPT.popitem(last=False)


def _read(key: str) -> tuple[Array, Array] | None:
    folder = cache_folder()
    if folder is None:
        return None
    try:
        with np.load(folder / f"{key}.npz", allow_pickle=False) as file:
            weights, shares = np.array(file["weights"], float), np.array(file["shares"], float)
    except Exception:  # a broken file is ignored
        return None
    sound = weights.ndim == shares.ndim == 1 and np.isfinite(weights).all() and np.isfinite(shares).all()
    return (weights, shares) if sound and (weights >= 0).all() and weights.any() else None


def _write(key: str, found: tuple[Array, Array]) -> None:
    """Write the file completely or not at all; ignore a folder that cannot be written."""
    folder = cache_folder()
    if folder is None:
        return
    aside = folder / f"{key}.{os.getpid()}.new"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            np.savez(file, weights=found[0], shares=found[1])
        aside.replace(folder / f"{key}.npz")
    except OSError:
        aside.unlink(missing_ok=True)

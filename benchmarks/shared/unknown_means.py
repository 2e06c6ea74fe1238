"""Our stages for means of vectors of which nothing is known, simulated in floats with the rules of the library."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussmith.papers import locating
from gaussmith.papers import vector_rule as level
from gaussmith.papers.locating import ANY, NORMAL_ONLY
from gaussmith.papers.vector_rule import scale, vector_shares

Array = Any


def count_cells(x: Array, edges: Array) -> Array:
    """Counts of every column between its edges (one row for all, or one row per column)."""
    rows = np.broadcast_to(edges, (x.shape[1], edges.shape[-1]))
    return np.array([_count(column, own) for column, own in zip(x.T, rows, strict=True)])


def _count(values: Array, edges: Array) -> Array:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1).astype(float)


def estimate(
    x: Array, mu: float, public: bool, rng: np.random.Generator, normal: bool = False, guard: float = level.GUARD,
    rows: float | None = None,
) -> Array:  # fmt: skip
    """The estimated mean; `public`: replace-one, where the number of people is public; `rows` is the guess of it."""
    n, d = x.shape
    k = np.sqrt(2.0) if public else 1.0
    rows = float(n) if rows is None or public else rows
    shares = vector_shares(d, mu, rows, public)
    laws = NORMAL_ONLY if normal else ANY

    def look(edges: Array, sd: float) -> Array:
        cells = count_cells(x, edges)
        return cells + rng.normal(0, sd, cells.shape)

    sds = [k * np.sqrt(d) / (mu * np.sqrt(s)) for s in shares.columns]
    frame = locating.locate(look(locating.LOCATING_EDGES, sds[0]), rows, sds[0])
    for sd in sds[1:]:
        fit = locating.zoom(look(locating.edges_around(frame), sd), frame, sd, laws)
        frame = fit.frame
    scaling = scale(fit.reach, np.ones(d))
    z = (x - fit.mean) * scaling.multipliers
    Q = (z * z).sum(axis=1)
    cells = _count(Q, level.EDGES)
    cells += rng.normal(0, k / (mu * np.sqrt(shares.level)), len(cells))
    left = mu * np.sqrt(shares.left)
    alpha = level.choose_level(cells, fit, scaling, laws, left, public, 0.0 if normal else guard).value
    sums = (z * np.minimum(1, np.sqrt(alpha / Q))[:, None]).sum(axis=0)
    if public:
        sums, people = sums + rng.normal(0, 2 * np.sqrt(alpha) / left, d), n
    else:
        A, E = np.sqrt(alpha * scaling.noise), np.sqrt((fit.within**2).sum())
        sums = sums + rng.normal(0, np.sqrt(alpha * (A + E) / A) / left, d)
        people = max(n + rng.normal(0, np.sqrt((A + E) / E) / left), 1.0)
    return fit.mean + sums / scaling.multipliers / people

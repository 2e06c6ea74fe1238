"""The best noise for a record's number 1, its values, their squares and products, around the middle of a box.

With z in [−1, 1]^d and y_j = z_j² a record is (z, z_i z_j, y, 1). Flips of signs keep the box, so the best noise is
independent on every z_j, on every z_i z_j, and on the block (y, 1) as a whole. What it must hide then depends on y
alone and is convex in each y_j: records with every y_j in {0, 1} are enough (docs/theory.md, 46). For a law on them

    F = Σ_b √E u_b + tr (E v vᵀ)^½,      least total = max F²,

u_b what a record adds to the independent coordinate b, squared and weighted, and v = B(y, 1) the weighted block. Where
all columns weigh the same only the number of ones matters, and coordinates that are alike are one: `r` of them with the
sum u of their squares add √(r E u).
"""

from __future__ import annotations

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.doubles import too_far
from gaussmith.numerics.interior import View, climb, products
from gaussmith.numerics.linear import Array
from gaussmith.values import dataclass

MAX_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Types:
    """Kinds of records: `alone` has what each adds to coordinates with noise of their own, `block` the vectors v."""

    alone: Array
    block: Array


@dataclass(frozen=True, eq=False)
class Law:
    """The best law found on the kinds of records; `trace` is F and `gap` the relative distance to the optimum of F²."""

    weights: Array
    trace: float
    alone: Array
    """√E u_b."""
    roots: Array
    directions: Array
    """(E v vᵀ)^½ = directions · diag(roots) · directionsᵀ."""
    gap: float


def solve_types(types: Types, gap: float) -> Law:
    """The law on these kinds of records that no noise can go below, to a relative gap.

    Nothing here can harm privacy: the noise made from it is certified by the domain.

    >>> k = np.array([0.0, 1.0])                     # one column, all weights 1: (z², (z², 1)) at z² = 0 and 1
    >>> found = solve_types(Types(k[:, None], np.column_stack([k, np.ones(2)])), 1e-9)
    >>> round(found.trace**2, 6)
    6.4
    """
    count = len(types.block)
    state = {"rounds": 0, "gap": np.inf}
    best = np.full(count, 1.0 / count)
    for _ in range(60):  # multiplicative steps settle the scales
        view = _look(types, best)
        if view is None:
            raise too_far()
        state["gap"] = view.gap
        if view.gap <= gap:
            break
        q = view.gradient / float(best @ view.gradient)
        best = np.maximum(best * q * q, 1e-30)
        best = best / best.sum()

    def report(_: Array, reached: float) -> bool:
        state["rounds"] += 1
        return reached <= 0.3 * gap or state["rounds"] >= MAX_ROUNDS

    if state["gap"] > gap:
        best = climb(np.maximum(best, 1e-6 / count), lambda theta: _look(types, theta), report)
    return law_of(types, best / best.sum())


def law_of(types: Types, weights: Array) -> Law:
    """The law with these weights, and how far from the best it is; refuses one that leaves out a direction."""
    alone, roots, V = _spectrum(types, weights)
    view = _look(types, weights)
    if view is None or not np.isfinite(view.gap):
        raise too_far()
    return Law(weights, float(alone.sum() + roots.sum()), alone, roots, V, view.gap)


def _spectrum(types: Types, theta: Array) -> tuple[Array, Array, Array]:
    alone = np.sqrt(theta @ types.alone)
    if not types.block.shape[1]:
        return alone, np.zeros(0), np.zeros((0, 0))
    _, roots, Vt = np.linalg.svd(np.sqrt(theta)[:, None] * types.block, full_matrices=False)
    return alone, roots, Vt.T


def _look(types: Types, theta: Array) -> View | None:
    """Gradient and Hessian of Σ θ − 2F(θ), for the interior-point method."""
    alone, roots, V = _spectrum(types, theta)
    if V.shape[1] < types.block.shape[1] or not (alone > 0).all() or not (roots > 1e-13 * roots.max(initial=0)).all():
        return None
    X = types.block @ V
    q = (types.alone / alone).sum(axis=1) + (X * X / roots).sum(axis=1)
    total, trace = float(theta.sum()), float(alone.sum() + roots.sum())
    hessian = np.hstack([types.alone / np.sqrt(2.0 * alone**3), products(X, roots)])
    return View(q, np.sqrt(theta)[:, None] * hessian, float(q.max()) * total / trace - 1.0, (trace / total) ** 2)


def root_rows(rows: Array) -> Array:
    """B with BᵀB = rowsᵀ rows and as few rows as it has rank; its columns keep their order."""
    if not rows.size or not rows.any():
        return np.zeros((0, rows.shape[1]))
    _, sizes, Vt = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > 1e-14 * sizes[0]
    return np.asarray(sizes[kept, None] * Vt[kept])


def subsets(columns: int, most: int) -> Array:
    """All vertices of {0, 1}^columns, one a row; refuses more than `most`."""
    if 2**columns > most:
        raise PlanError(
            f"{columns} columns with weights of their own",
            f"at most {most} records are visited",
            "give all columns the same weight",
            code="too-many-vertices-of-moments",
            columns=columns,
        )
    return np.array([[(v >> j) & 1 for j in range(columns)] for v in range(2**columns)], float).reshape(-1, columns)

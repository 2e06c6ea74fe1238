"""The least noise for tables of the same keys: a law on types of people, and the noise that is best against it.

Permuting the keys of an attribute changes nothing, so that a best noise has along each residual A one matrix Σ_A over
the tables above it. With b_A what a person of a type adds there (each table scaled to its weight),

    the least total is the largest S² over laws on types,   S = Σ_A √dim_A · tr (E b_A b_Aᵀ)^½,
    and the best noise is Σ_A = S · (E b_A b_Aᵀ / dim_A)^½.
"""

from __future__ import annotations

import math

import numpy as np

from gaussmith.numerics.crossed.largest import largest
from gaussmith.numerics.crossed.lift import CrossedLift
from gaussmith.numerics.crossed.tables import ADD_REMOVE, Declared, Moved, Tables, Way
from gaussmith.numerics.products import Array
from gaussmith.values import dataclass

MAX_ROUNDS = 3_000
"""Limit on the rounds in which the worst law is found."""

POWER = 1.5
"""How quickly types that need more noise gain weight."""


@dataclass(frozen=True, eq=False)
class CrossedSolution:
    """A lift whose largest norm is 1, the weighted total of its noise, and the law that bounds every noise."""

    lift: CrossedLift
    total: float
    weights: Array


def solve(tables: Tables, gap: float = 1e-5) -> CrossedSolution:
    """The least noise for these tables, but for a relative gap."""
    rows = {A: np.array([residual_rows(tables, A, moved) for moved in tables.types]) for A in tables.residuals}
    weights = np.full(len(tables.types), 1.0 / len(tables.types))
    for _ in range(MAX_ROUNDS):
        costs, _, _ = _costs(tables, rows, weights)
        if costs.max() <= 1.0 + gap:
            break
        weights = weights * costs**POWER
        weights /= weights.sum()
    _, S, noises = _costs(tables, rows, weights)
    roots = {A: _lift_of(tables, A, *noise) for A, noise in noises.items()}
    lift = CrossedLift.of(tables.sizes, tables.ways, roots)
    norm = largest(lift, tables)
    return CrossedSolution(lift.scaled(1.0 / norm), S * S * norm**2, weights)


def _lift_of(tables: Tables, A: Way, values: Array, vectors: Array) -> Array:
    """Σ_A^{-½}, for tables that are not yet scaled to their weights."""
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T * np.sqrt(tables.weights[tables.above(A)]))


def _costs(
    tables: Tables, rows: dict[Way, Array], weights: Array
) -> tuple[Array, float, dict[Way, tuple[Array, Array]]]:
    """The squared norm of each type under the best noise for a law; S; and the noise along each residual."""
    found, S = {}, 0.0
    for A, each in rows.items():
        flat = (each * np.sqrt(weights)[:, None, None]).reshape(-1, each.shape[2])
        _, values, vectors = np.linalg.svd(flat, full_matrices=False)
        if len(values) < each.shape[2]:  # fewer kinds of people than tables
            raise ValueError("types that do not fill the tables")
        values = np.maximum(values, values[0] * 1e-9) / math.sqrt(tables.dimension(A))
        found[A] = values, vectors.T
        S += tables.dimension(A) * float(values.sum())
    costs = np.zeros(len(weights))
    for A, (values, vectors) in found.items():
        costs += ((rows[A] @ vectors) ** 2 / (S * values)).sum(axis=(1, 2))
    return costs, S, {A: (S * values, vectors) for A, (values, vectors) in found.items()}


def residual_rows(tables: Tables, A: Way, moved: Moved) -> Array:
    """Rows whose squares add up to b_A b_Aᵀ of a difference: one person's, and what the other's adds to it."""
    one, other = (_added(tables, A, each) for each in (moved.one, moved.other))
    if tables.neighbours == ADD_REMOVE:
        return np.array([one])
    # Keys that differ are at the angle of two corners of a simplex; where one is not declared it does not matter.
    angle = math.prod(1.0 if i in moved.same else -1.0 / (tables.sizes[i] - 1) for i in A)
    return np.array([one - angle * other, math.sqrt(1.0 - angle * angle) * other])


def _added(tables: Tables, A: Way, declared: Declared | None) -> Array:
    """What a person adds along a residual to each table above it, scaled to its weight."""
    found = []
    for w in tables.above(A):
        way = tables.ways[w]
        share = math.prod((tables.sizes[i] - 1) / tables.sizes[i] for i in A) / tables.cells(
            i for i in way if i not in A
        )
        inside = declared is not None and declared.issuperset(way)
        found.append(math.sqrt(float(tables.weights[w]) * share) if inside else 0.0)
    return np.array(found)

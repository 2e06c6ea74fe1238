"""The lifted shape: noise on each record's offset from the centre and on a constant that counts it.

Under add-remove a box [l, u] is not centred at zero; noise around its centre does not depend on where the box lies.
With centre c, half ranges r, weights ω and E the weight of the count,

    T = Σ √ω_j r_j + √E,   lift_j² = √ω_j r_j / T,   lift_count² = √E / T,   total variance T².

[0, 1]^d gives correlated noise of (√d + 1)/2 per sum; a box around zero gives the elliptical mechanism; for means T² is
the optimum. Under replace-one the number of records is public, E = 0, and differences are twice as long.
"""

from __future__ import annotations

import numpy as np

from gaussmith.numerics.linear import Array, Bordered, Dense, Diagonal, Matrix
from gaussmith.problem import Domain, Problem
from gaussmith.shapes import Shape


def lifted(problem: Problem[Domain], name: str) -> Shape:
    """The lifted shape of a box."""
    parts = np.sqrt(problem.coordinate_weights) * problem.domain.radius
    return _lifted(problem, name, parts, parts.sum())


def lifted_round(problem: Problem[Domain], name: str) -> Shape:
    """The lifted shape of a ball or an ellipsoid.

    Cores fill the unit ball, so noise on them is round for any weights: only its share relative to the count depends
    on them.
    """
    parts = np.full(problem.domain.dimension, np.sqrt(problem.coordinate_weights @ problem.domain.radius**2))
    return _lifted(problem, name, parts, parts[0])


def _lifted(problem: Problem[Domain], name: str, parts: Array, whole: float) -> Shape:
    E = problem.offset_weight if problem.secret_count else 0.0
    T = whole + np.sqrt(E)
    entries = np.sqrt(parts / T)
    if not problem.secret_count:
        half = entries / 2
        return Shape(name, Diagonal(half), *read_features(problem, half, None))
    last = np.sqrt(np.sqrt(E) / T)
    return Shape(name, Diagonal(np.append(entries, last)), *read_features(problem, entries, float(last)))


def read_features(problem: Problem[Domain], entries: Array, last: float | None) -> tuple[Matrix, bool, Array | None]:
    """What reads the features back, whether the count is among them, and the public part."""
    asked, radius = problem.features, problem.domain.coded[1]
    beta = np.divide(radius, entries, out=np.zeros_like(radius), where=entries > 0)
    if last is None:
        if asked.matrix is not None:
            return Dense(asked.matrix * beta), False, problem.coded_offsets
        rows = Bordered(asked.index, beta[asked.index], np.zeros(asked.size), len(entries))
        return rows, False, problem.coded_offsets
    columns = len(entries) + 1
    per_count = 1.0 / last if last > 0 else 0.0
    counted = last > 0
    border = problem.coded_offsets * per_count
    if asked.matrix is not None:
        dense = np.column_stack([asked.matrix * beta, border])
        tail = np.zeros((1, columns))
        tail[0, -1] = per_count
        return Dense(np.vstack([dense, tail]) if counted else dense), counted, None
    index, inner = asked.index, beta[asked.index]
    if counted:
        index = np.append(index, columns - 1)
        inner, border = np.append(inner, per_count), np.append(border, 0.0)
    return Bordered(index, inner, border, columns), counted, None

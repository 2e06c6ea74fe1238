"""The lifted shape: noise on each record's offset from the centre and on a constant that counts it.

Under add-remove a box [l, u] is not centred at zero, and noise that fits its centre wastes nothing on where it lies.
With c the centre, r the half ranges, ω the weights and E what the count is worth,

    T = Σ √ω_j r_j + √E,   lift_j² = √ω_j r_j / T,   lift_count² = √E / T,   total variance T².

[0, 1]^d gives correlated noise of (√d + 1)/2 per sum; a box around zero gives the elliptical mechanism; for means T² is
the optimum. Under replace-one the number of records is public, E = 0, and differences are twice as long.
"""

from __future__ import annotations

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import Ball, Domain, GaussianData, Records
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array, Bordered, Dense, Diagonal, Matrix
from gaussmith.shapes import Shape


def lifted(domain: Domain, answers: Answers, neighbours: str) -> Shape:
    """The lifted shape of a box or a ball."""
    omega = answers.coordinate_weights(domain.dimension)
    private = neighbours == ADD_REMOVE
    E = offset_weight(domain, answers) if private else 0.0
    if isinstance(domain, Ball | GaussianData):
        # Cores fill the unit ball, so noise on them is round whatever the weights: only its share against the count
        # depends on them.
        parts = np.full(domain.dimension, np.sqrt(omega @ domain.radius**2))
        T = parts[0] + np.sqrt(E)
    else:
        parts = np.sqrt(omega) * domain.radius
        T = parts.sum() + np.sqrt(E)
    entries = np.sqrt(parts / T)
    if not private:
        half = entries / 2
        return Shape(name_of(domain, neighbours), Diagonal(half), *read_features(domain, answers, half, None))
    last = np.sqrt(np.sqrt(E) / T)
    lift = Diagonal(np.append(entries, last))
    return Shape(name_of(domain, neighbours), lift, *read_features(domain, answers, entries, float(last)))


def name_of(domain: Domain, neighbours: str) -> str:
    """What this shape is called for a domain."""
    if isinstance(domain, Records):
        return "count"
    if isinstance(domain, GaussianData):
        return "clipped"
    if isinstance(domain, Ball):
        return "lifted ball" if neighbours == ADD_REMOVE and domain.centre.any() else "round"
    if neighbours != ADD_REMOVE or not domain.centre.any():
        return "elliptical"
    return "lifted box"


def offset_weight(domain: Domain, answers: Answers) -> float:
    """E: how much the squared error of the number of records matters, through centres, means and the count itself."""
    E = answers.count_weight(domain)
    if answers.matrix is not None:
        at_centre = answers.matrix @ domain.centre
        return E + float(answers.weights @ (at_centre * at_centre))
    sums = ~answers.means
    centres = domain.centre[answers.index[sums]]
    return E + float(answers.weights[sums] @ (centres * centres))


def read_features(
    domain: Domain, answers: Answers, entries: Array, last: float | None
) -> tuple[Matrix, bool, Array | None]:
    """What reads the answers back, whether the count is among them, and the public part."""
    centre, radius = domain.coded
    beta = np.divide(radius, entries, out=np.zeros_like(radius), where=entries > 0)
    if last is None:
        if answers.matrix is not None:
            return Dense(answers.matrix * beta), False, answers.matrix @ centre
        public = np.where(answers.means, 0.0, centre[answers.index])
        return Bordered(answers.index, beta[answers.index], np.zeros(answers.size), len(entries)), False, public
    columns = len(entries) + 1
    per_count = 1.0 / last if last > 0 else 0.0
    counted = last > 0
    if answers.matrix is not None:
        rows = np.column_stack([answers.matrix * beta, answers.matrix @ centre * per_count])
        tail = np.zeros((1, columns))
        tail[0, -1] = per_count
        return Dense(np.vstack([rows, tail]) if counted else rows), counted, None
    border = np.where(answers.means, 0.0, centre[answers.index] * per_count)
    index, inner = answers.index, beta[answers.index]
    if counted:
        index = np.append(index, columns - 1)
        inner, border = np.append(inner, per_count), np.append(border, 0.0)
    return Bordered(index, inner, border, columns), counted, None

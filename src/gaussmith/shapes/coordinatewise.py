"""Shapes with independent noise on each coordinate: isotropic (the standard Gaussian mechanism) and elliptical.

With b_j the largest absolute value of coordinate j (of its distance from the centre for means) and a row for the count
if means or the count need it,

    isotropic:   σ_j² = S/ω_j,          S = Σ ω_j b_j²    (equal noise on every answer once scaled to its weight)
    elliptical:  σ_j² = b_j T/√ω_j,     T = Σ √ω_j b_j    (Pagh–Lebeda)
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, Bordered, Diagonal, Matrix
from gaussmith.problem import Domain, Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.lifted import read_features

_KNOWN: WeakKeyDictionary[Problem[Domain], Shape] = WeakKeyDictionary()


def isotropic(problem: Problem[Domain]) -> Shape:
    """The standard Gaussian mechanism: equal noise on every coordinate, measured in units of its weight."""
    found = _KNOWN.get(problem)  # a plan is compared with it again
    if found is None:
        omega, offset, extra = _coordinates(problem)
        found = _KNOWN[problem] = _isotropic(problem, float(omega @ _reach(problem, offset) ** 2) + extra)
    return found


def isotropic_round(problem: Problem[Domain]) -> Shape:
    """The standard Gaussian mechanism in a ball."""
    omega, offset, extra = _coordinates(problem)
    root, radius = np.sqrt(omega), float(problem.domain.radius[0])
    if problem.secret_count:
        return _isotropic(problem, (np.linalg.norm(root * offset) + radius * root.max()) ** 2 + extra)
    return _isotropic(problem, (2 * radius * root.max()) ** 2)


def isotropic_uncentred(problem: Problem[Domain]) -> Shape:
    """The standard Gaussian mechanism for records counted as they are, with the largest norm from the domain."""
    omega, _, extra = _coordinates(problem)
    domain = problem.domain
    entries = np.sqrt(omega) * domain.radius
    plain = Diagonal(np.append(entries, np.sqrt(extra)) if extra else entries)
    S = domain.largest(plain, problem.neighbours)
    last = float(np.sqrt(extra) / S) if extra else None
    return Shape("isotropic", Diagonal(plain.entries / S), *read_features(problem, entries / S, last))


def elliptical(problem: Problem[Domain]) -> Shape:
    """Noise on each coordinate in proportion to the square root of its range (Pagh–Lebeda), for boxes."""
    omega, offset, extra = _coordinates(problem)
    reach = _reach(problem, offset)
    T = float(np.sqrt(omega) @ reach) + np.sqrt(extra)
    sigma = np.sqrt(reach * T / np.sqrt(omega))
    return _coordinatewise("elliptical", problem, sigma, offset, extra, np.sqrt(T * np.sqrt(extra)))


def _isotropic(problem: Problem[Domain], S: float) -> Shape:
    omega, offset, extra = _coordinates(problem)
    return _coordinatewise("isotropic", problem, np.sqrt(S / omega), offset, extra, np.sqrt(S))


def _coordinates(problem: Problem[Domain]) -> tuple[Array, Array, float]:
    """Weight of each coordinate, where it is measured from, and the weight of the count (0: no row for it)."""
    asked, d = problem.features, problem.domain.dimension
    if asked.matrix is not None:
        raise PlanError(
            "noise on each coordinate for a matrix of answers",
            "this shape needs sums or means",
            "leave out shape=",
            code="coordinatewise-matrix",
        )
    omega = problem.coordinate_weights
    if not problem.secret_count:
        return omega, np.zeros(d), 0.0
    summed = np.zeros(d, bool)
    summed[asked.index[~asked.centred]] = True
    return omega, np.where(summed, problem.domain.centre, 0.0), problem.count_weight


def _reach(problem: Problem[Domain], offset: Array) -> Array:
    """b: the largest difference of each coordinate."""
    radius = problem.domain.radius
    return radius + np.abs(offset) if problem.secret_count else 2 * radius


def _coordinatewise(
    name: str, problem: Problem[Domain], sigma: Array, offset: Array, extra: float, extra_scale: float
) -> Shape:
    asked, d = problem.features, problem.domain.dimension
    centre, radius = problem.domain.coded
    index = np.arange(d)
    if not problem.secret_count:
        lift = Bordered(index, radius / sigma, np.zeros(d), d)
        features: Matrix = Bordered(asked.index, sigma[asked.index], np.zeros(asked.size), d)
        return Shape(name, lift, features, False, problem.coded_offsets)
    inner, border = radius / sigma, np.where(offset != 0, centre, 0.0) / sigma
    if not extra:
        lift = Bordered(index, inner, border, d + 1)
        return Shape(name, lift, Bordered(asked.index, sigma[asked.index], np.zeros(asked.size), d), False)
    count_sigma = extra_scale / np.sqrt(extra)
    lift = Bordered(np.append(index, d), np.append(inner, 1 / count_sigma), np.append(border, 0.0), d + 1)
    minus = np.where(asked.centred & (offset[asked.index] != 0), -centre[asked.index] * count_sigma, 0.0)
    features = Bordered(
        np.append(asked.index, d),
        np.append(sigma[asked.index], count_sigma),
        np.append(minus, 0.0),
        d + 1,
    )
    return Shape(name, lift, features, True)

"""Shapes that put noise straight on the answers: isotropic (the standard Gaussian mechanism) and elliptical.

With b_j the largest absolute value of coordinate j (of its distance from the centre for means) and a row for the count
where means or the count need it,

    isotropic:   σ_j² = S/ω_j,          S = Σ ω_j b_j²    (equal noise on every answer once scaled to its weight)
    elliptical:  σ_j² = b_j T/√ω_j,     T = Σ √ω_j b_j    (Pagh–Lebeda)
"""

from __future__ import annotations

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import Ball, Box, Domain, GaussianData, Tallied
from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array, Bordered, Diagonal, Matrix
from gaussmith.shapes import Shape
from gaussmith.shapes.lifted import read_features


def isotropic(domain: Domain, answers: Answers, neighbours: str) -> Shape:
    """The standard Gaussian mechanism: equal noise on every coordinate, measured in units of its weight."""
    if isinstance(domain, GaussianData):
        raise PlanError("isotropic noise in an ellipsoid", "it belongs to a round clip", "use shapes.clipped")
    omega, offset, extra = _coordinates(domain, answers, neighbours)
    if isinstance(domain, Tallied):
        return _isotropic_tallied(domain, answers, neighbours, omega, extra)
    if isinstance(domain, Ball):
        root = np.sqrt(omega)
        if neighbours == ADD_REMOVE:
            S = (np.linalg.norm(root * offset) + domain.ball_radius * root.max()) ** 2 + extra
        else:
            S = (2 * domain.ball_radius * root.max()) ** 2
    else:
        S = float(omega @ _reach(domain, offset, neighbours) ** 2) + extra
    return _straight("isotropic", domain, answers, neighbours, np.sqrt(S / omega), offset, extra, np.sqrt(S))


def _isotropic_tallied(domain: Domain, answers: Answers, neighbours: str, omega: Array, extra: float) -> Shape:
    """The same for records that are counted as they are: the largest norm is the domain's own to tell."""
    root = np.sqrt(omega)
    entries = root * domain.radius
    plain = Diagonal(np.append(entries, np.sqrt(extra)) if extra else entries)
    S = domain.largest(plain, neighbours)
    last = float(np.sqrt(extra) / S) if extra else None
    return Shape("isotropic", Diagonal(plain.entries / S), *read_features(domain, answers, entries / S, last))


def elliptical(domain: Domain, answers: Answers, neighbours: str) -> Shape:
    """Noise on each coordinate in proportion to the root of its range (Pagh–Lebeda), for boxes."""
    if not isinstance(domain, Box):
        raise PlanError('shape="elliptical"', "it is made for boxes", 'leave out shape= or use "isotropic"')
    omega, offset, extra = _coordinates(domain, answers, neighbours)
    reach = _reach(domain, offset, neighbours)
    T = float(np.sqrt(omega) @ reach) + np.sqrt(extra)
    sigma = np.sqrt(reach * T / np.sqrt(omega))
    return _straight("elliptical", domain, answers, neighbours, sigma, offset, extra, np.sqrt(T * np.sqrt(extra)))


def _coordinates(domain: Domain, answers: Answers, neighbours: str) -> tuple[Array, Array, float]:
    """Weight of each coordinate, where it is measured from, and the weight of the count (0: no row for it)."""
    if answers.matrix is not None:
        raise PlanError("a straight shape for a matrix of answers", "it needs sums or means", "leave out shape=")
    omega = answers.coordinate_weights(domain.dimension)
    summed = np.zeros(domain.dimension, bool)
    summed[answers.index[~answers.means]] = True
    if neighbours != ADD_REMOVE:
        return omega, np.zeros(domain.dimension), 0.0
    return omega, np.where(summed, domain.centre, 0.0), answers.count_weight(domain)


def _reach(domain: Domain, offset: Array, neighbours: str) -> Array:
    """b: the largest difference of each coordinate."""
    return domain.radius + np.abs(offset) if neighbours == ADD_REMOVE else 2 * domain.radius


def _straight(
    name: str,
    domain: Domain,
    answers: Answers,
    neighbours: str,
    sigma: Array,
    offset: Array,
    extra: float,
    extra_scale: float,
) -> Shape:
    d = domain.dimension
    centre, radius = domain.coded
    index = np.arange(d)
    if neighbours != ADD_REMOVE:
        lift = Bordered(index, radius / sigma, np.zeros(d), d)
        public = np.where(answers.means, 0.0, centre[answers.index])
        features: Matrix = Bordered(answers.index, sigma[answers.index], np.zeros(answers.size), d)
        return Shape(name, lift, features, False, public)
    inner, border = radius / sigma, np.where(offset != 0, centre, 0.0) / sigma
    if not extra:
        lift = Bordered(index, inner, border, d + 1)
        return Shape(name, lift, Bordered(answers.index, sigma[answers.index], np.zeros(answers.size), d), False)
    count_sigma = extra_scale / np.sqrt(extra)
    lift = Bordered(np.append(index, d), np.append(inner, 1 / count_sigma), np.append(border, 0.0), d + 1)
    minus = np.where(answers.means & (offset[answers.index] != 0), -centre[answers.index] * count_sigma, 0.0)
    features = Bordered(
        np.append(answers.index, d),
        np.append(sigma[answers.index], count_sigma),
        np.append(minus, 0.0),
        d + 1,
    )
    return Shape(name, lift, features, True)

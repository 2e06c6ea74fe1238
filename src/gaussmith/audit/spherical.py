"""The true δ(ε) of noise that is the same in every direction, by quadrature over its length and one angle.

    δ(ε) = E[(1 − e^{ε−L})₊],     L = ln p(y) − ln p(y − s),     p(y) = g(‖y‖)/‖y‖^{M−1} up to a constant

where g is the density of the length. Nothing here is shared with the catalogue: both must find the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

LENGTHS, ANGLES = 3000, 1200
"""Points of the quadrature: enough for three digits, which docs/audit.md shows against more."""


def half_normal(sigma: float) -> Callable[[Array], Array]:
    """ln of the density of |N(0, σ²)|, up to a constant: the length of the rank-one mechanism."""
    return lambda r: -(r * r) / (2 * sigma * sigma)


def gaussian_length(sigma: float, dimension: int) -> Callable[[Array], Array]:
    """ln of the density of ‖N(0, σ² I)‖, up to a constant."""
    return lambda r: (dimension - 1) * np.log(r) - (r * r) / (2 * sigma * sigma)


def true_delta(
    dimension: int, epsilon: float, log_length: Callable[[Array], Array], sigma: float, shift: float = 1.0
) -> float:
    """The smallest δ for which such noise hides a shift at ε, to about three digits.

    >>> round(true_delta(10, 1.0, half_normal(49.183052236101155**0.5), 49.183052236101155**0.5), 4)
    0.1814
    """
    M = dimension
    x, w = np.polynomial.legendre.leggauss(6)
    edges = np.linspace(math.log(shift) - 40.0, math.log(12 * sigma + shift), LENGTHS // 6 + 1)
    log_r, w_r = _pieces(edges, x, w)
    r = np.exp(log_r)
    height = log_length(r) + log_r
    mass = np.exp(height - height.max()) * w_r
    mass /= mass.sum()
    angle, w_a = _pieces(np.linspace(0.0, math.pi, ANGLES // 6 + 1), x, w)
    part = np.sin(angle) ** (M - 2) * w_a
    part /= part.sum()

    def log_p(length: Array) -> Array:
        return np.asarray(log_length(length) - (M - 1) * np.log(length))

    kept = mass > mass.max() * 1e-25
    r, mass = r[kept], mass[kept]
    far = np.sqrt(np.maximum(r[:, None] ** 2 + shift**2 - 2 * r[:, None] * shift * np.cos(angle), 1e-300))
    loss = log_p(r)[:, None] - log_p(far)
    lost = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float(mass @ (lost @ part))


def _pieces(edges: Array, x: Array, w: Array) -> tuple[Array, Array]:
    half = np.diff(edges)[:, None] / 2
    middle = (edges[1:] + edges[:-1])[:, None] / 2
    return np.asarray((middle + half * x).ravel()), np.asarray((half * w).ravel())

"""The law of a random length in a random direction, z·u with z ~ N(0, σ²) and u uniform on the sphere of R^M.

Averaged over u it has the density p(y) ∝ e^{−‖y‖²/2σ²} / ‖y‖^{M−1}. Seen from a shift s, ‖s‖ = Δ, the loss is

    L(y) = ln p(y)/p(y−s) = h(‖y−s‖) − h(‖y‖),      h(r) = r²/2σ² + (M−1) ln r,

and δ(ε) = P_p(L > ε) − e^ε P_q(L > ε), q the shifted law. Given the length r of y, L > ε holds exactly where the cosine
of its angle with s is below a threshold, because h increases; the same from the other centre. So each probability is a
single integral over the half-normal length of the distribution function of a cosine,

    F(c) = P(cosine ≤ c) = I_{(1+c)/2}((M−1)/2, (M−1)/2).

Solving h(r′) = h(r) ± ε takes Wright's ω. Lengths run over many powers of ten, so the integral is taken over ln r, in
pieces that end where a threshold leaves [−1, 1].
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_PIECES = 48
_NODES = 16


def true_delta(dimension: int, epsilon: float, sigma: float, shift: float = 1.0) -> float:
    """The smallest δ for which z·u hides a shift of length `shift` at `epsilon`; to about 1e-9 of itself.

        δ(ε) = E[(1 − e^{ε−L})₊]

    Requires (owed): dimension ≥ 2, epsilon ≥ 0, sigma and shift above 0. Rounding: nearest.

    >>> round(true_delta(10, 1.0, 49.183052236101155**0.5), 5)
    0.18141
    """
    scale = sigma / shift
    kept = _probability(dimension, epsilon, scale, toward=+1)
    shifted = _probability(dimension, epsilon, scale, toward=-1)
    return min(1.0, max(0.0, kept - math.exp(epsilon) * shifted))


def nearest_centre_success(dimension: int, sigma: float, shift: float = 1.0) -> float:
    """How often guessing the nearer of the two centres is right: P(cosine < Δ/2r), the best any guess can do.

    >>> nearest_centre_success(100, 2.6632582336176043**0.5).__round__(3)
    0.991
    """
    return (1 + true_delta(dimension, 0.0, sigma, shift)) / 2


def _height(r: Array, M: int, scale: float) -> Array:
    return np.asarray(r * r / (2 * scale * scale) + (M - 1) * np.log(r))


def _length(height: Array, M: int, scale: float) -> Array:
    """The inverse of h: with x = r²/((M−1)σ²) it reads x + ln x = 2h/(M−1) − ln((M−1)σ²)."""
    from scipy.special import wrightomega

    k = M - 1
    return np.asarray(scale * np.sqrt(k * wrightomega(2 * height / k - math.log(k * scale * scale))))


def _threshold(r: Array, M: int, epsilon: float, scale: float, toward: int) -> Array:
    """The cosine below which the loss exceeds ε, for a point at distance r from its own centre (the shift is 1)."""
    other = _length(_height(r, M, scale) + toward * epsilon, M, scale)
    apart = toward * (r - other) * (r + other)  # ±(r² − r′²), without cancelling squares
    return np.asarray((apart + toward) / (2 * r))


def _probability(M: int, epsilon: float, scale: float, toward: int) -> float:
    """P(L > ε) under the law of its own centre: ∫ 2φ(r/σ)/σ · F(threshold(r)) dr."""
    from scipy.special import betainc

    half = (M - 1) / 2
    # Below the first length every direction counts (or, from the other centre, none); the rest is beyond the doubles.
    ends = np.array([-60.0, math.log(40 * scale + 40)]) + np.array([min(0.0, math.log(scale)), 0.0])
    # Seen from the other centre only lengths close to the shift count where ε is large: look closely around them.
    near = np.geomspace(1e-14, 1e-2, 61)
    grid = np.unique(np.concatenate([np.linspace(ends[0], ends[1], 2001), -near, [0.0], near]))
    inside = _threshold(np.exp(grid), M, epsilon, scale, toward)
    cuts = [ends[0], ends[1]]
    for edge in (-1.0, 1.0):
        side = inside > edge
        for i in np.flatnonzero(side[1:] != side[:-1]):
            cuts.append(_crossing(grid[i], grid[i + 1], edge, M, epsilon, scale, toward))
    cuts = sorted(cuts)
    x, w = np.polynomial.legendre.leggauss(_NODES)
    total = 0.0
    for low, high in itertools.pairwise(cuts):
        # Nodes crowd towards the ends, where F may leave 0 or 1 like a half-integer power.
        u = np.linspace(0.0, 1.0, _PIECES + 1)
        nodes = (u[:-1, None] + (x + 1) / 2 / _PIECES).ravel()
        weights = np.tile(w / 2 / _PIECES, _PIECES) * 6 * nodes * (1 - nodes)
        t = low + (high - low) * nodes * nodes * (3 - 2 * nodes)
        r = np.exp(t)
        F = betainc(half, half, np.clip((1 + _threshold(r, M, epsilon, scale, toward)) / 2, 0.0, 1.0))
        density = r * np.exp(-((r / scale) ** 2) / 2) * math.sqrt(2 / math.pi) / scale
        total += float((high - low) * (weights @ (F * density)))
    return total


def _crossing(low: float, high: float, edge: float, M: int, epsilon: float, scale: float, toward: int) -> float:
    """The ln r between two neighbours of the grid where the threshold crosses an edge, by bisection."""
    above = bool(_threshold(np.exp(np.array([low])), M, epsilon, scale, toward)[0] > edge)
    for _ in range(60):
        middle = (low + high) / 2
        if bool(_threshold(np.exp(np.array([middle])), M, epsilon, scale, toward)[0] > edge) == above:
            low = middle
        else:
            high = middle
    return (low + high) / 2

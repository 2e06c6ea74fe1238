"""The law of a random length in a random direction, z·u with z ~ N(0, σ²) and u uniform on the sphere of R^M.

Averaged over u it has the density p(y) ∝ e^{−‖y‖²/2σ²} / ‖y‖^{M−1}. Seen from a shift s, ‖s‖ = Δ, the loss is

    L(y) = ln p(y)/p(y−s) = h(‖y−s‖) − h(‖y‖),      h(r) = r²/2σ² + (M−1) ln r,

and δ(ε) = E[(1 − e^{ε−L})₊]. Given the length r of y the loss falls with the cosine of the angle between y and s, so
V = 1 − e^{ε−L} exceeds v exactly where the cosine is below a threshold c(r, v), and

    E[V₊ | r] = ∫₀^1 F(c(r, v)) dv,      F(c) = P(cosine ≤ c) = I_{(1+c)/2}((M−1)/2, (M−1)/2).

Nothing is subtracted, so that δ keeps its digits at every ε (the difference of two tails, P(L > ε) − e^ε Q(L > ε), does
not: at M = 5 and ε = 90 the second lives in a ball of radius 1e-10 around the other centre). Solving h(r′) = h(r) + t
for the threshold takes Wright's ω. Lengths run over many powers of ten, so the integral over the half-normal length is
taken over ln r, in pieces that end where a threshold leaves [−1, 1].
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_PIECES = 20
_NODES = 16
_LEVELS = 48


def true_delta(dimension: int, epsilon: float, sigma: float, shift: float = 1.0) -> float:
    """The smallest δ for which z·u hides a shift of length `shift` at `epsilon`; to about 1e-9 of itself.

        δ(ε) = E[(1 − e^{ε−L})₊]

    Requires (owed): dimension ≥ 2, epsilon ≥ 0, sigma and shift above 0. Rounding: nearest.

    >>> round(true_delta(10, 1.0, 49.183052236101155**0.5), 5)
    0.18141
    """
    M, scale = dimension, sigma / shift
    # Below the first length the loss is so large that nothing is left out; beyond the last the density is 0.
    ends = min(0.0, math.log(scale)) - epsilon / (M - 1) - 60.0, math.log(40 * scale + 40)
    with np.errstate(divide="ignore", over="ignore"):
        cuts = [*ends, *_crossings(ends, M, epsilon, scale)]
        u, weights = _crowded(_PIECES, _NODES)
        total = 0.0
        for low, high in itertools.pairwise(sorted(cuts)):
            r = np.exp(low + (high - low) * u)
            density = r * np.exp(-((r / scale) ** 2) / 2) * math.sqrt(2 / math.pi) / scale
            total += float((high - low) * (weights @ (density * _excess(r, M, epsilon, scale))))
    return min(1.0, total)


def nearest_centre_success(dimension: int, sigma: float, shift: float = 1.0) -> float:
    """How often guessing the nearer of the two centres is right: P(cosine < Δ/2r), the best any guess can do.

    >>> nearest_centre_success(100, 2.6632582336176043**0.5).__round__(3)
    0.991
    """
    return (1 + true_delta(dimension, 0.0, sigma, shift)) / 2


def _excess(r: Array, M: int, epsilon: float, scale: float) -> Array:
    """E[(1 − e^{ε−L})₊ | r]: the part that every direction has, and ∫ F(c(r, v)) dv over the rest."""
    from scipy.special import betainc

    own = _height(r, M, scale)
    least, most = (-np.expm1(np.minimum(epsilon + own - _height(far, M, scale), 0.0)) for far in (np.abs(1 - r), 1 + r))
    some = most > 0
    r, least, most = r[some, None], least[some, None], most[some, None]
    u, weights = _crowded(1, _LEVELS)
    v = least + (most - least) * u
    F = betainc((M - 1) / 2, (M - 1) / 2, np.clip((1 + _threshold(r, M, epsilon - np.log1p(-v), scale)) / 2, 0.0, 1.0))
    excess = np.zeros_like(own)
    excess[some] = least[:, 0] + (most - least)[:, 0] * (F @ weights)
    return excess


def _crowded(pieces: int, nodes: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1] that crowd towards the ends, where F may leave 0 or 1 like a half-integer power."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    u = (np.arange(pieces)[:, None] / pieces + (x + 1) / 2 / pieces).ravel()
    return u**3 * (10 - 15 * u + 6 * u * u), np.tile(w / 2 / pieces, pieces) * 30 * (u * (1 - u)) ** 2


def _height(r: Array, M: int, scale: float) -> Array:
    return np.asarray(r * r / (2 * scale * scale) + (M - 1) * np.log(r))


def _length(height: Array, M: int, scale: float) -> Array:
    """The inverse of h: with x = r²/((M−1)σ²) it reads x + ln x = 2h/(M−1) − ln((M−1)σ²)."""
    from scipy.special import wrightomega

    k = M - 1
    return np.asarray(scale * np.sqrt(k * wrightomega(2 * height / k - math.log(k * scale * scale))))


def _threshold(r: Array, M: int, loss: float | Array, scale: float) -> Array:
    """The cosine below which a point at distance r from its own centre loses more than `loss` (the shift is 1)."""
    other = _length(_height(r, M, scale) + loss, M, scale)
    return np.asarray(((r - other) * (r + other) + 1) / (2 * r))  # r² − r′², without cancelling squares


def _crossings(ends: tuple[float, float], M: int, epsilon: float, scale: float) -> list[float]:
    """The ln r where the threshold of ε crosses −1 or 1."""
    grid = np.linspace(*ends, 2001)
    inside = _threshold(np.exp(grid), M, epsilon, scale)
    found = []
    for edge in (-1.0, 1.0):
        side = inside > edge
        for i in np.flatnonzero(side[1:] != side[:-1]):
            low, high = float(grid[i]), float(grid[i + 1])
            for _ in range(60):
                middle = (low + high) / 2
                crossed = _threshold(np.exp(np.array([middle])), M, epsilon, scale)[0] > edge
                low, high = (middle, high) if crossed == side[i] else (low, middle)
            found.append((low + high) / 2)
    return found

"""The effect of clipping on Gaussian records: which are clipped, and how much is lost.

A record in scaled coordinates has Q = Σ λ_j Z_j² for its squared norm; one with Q above a level α is pulled back by the
factor √(α/Q). With marks a_j (what the square of coordinate j matters),

    loss(α) = Σ a_j E[ Z_j² (1 − √(α/Q))² ; Q > α ] = ∫_α^∞ √α q^{−3/2} (1 − √(α/q)) N(q) dq,
    N(q) = Σ a_j E[ Z_j² ; Q > q ].

The transform of the marked law is that of Q times a rational function, A(s) = Σ a_j/(1 − 2λ_j s), because Z² times the
normal density is that of three degrees of freedom. So N is one contour integral, as the tail of Q is
(`quadratic_forms`), and so is the conditional mean E[Z_j² | Q = q] for all j at once, which is what the quantile's
derivative consists of: ∂α/∂λ_j at a fixed tail is E[Z_j² | Q = α].

If the true mean lies m_j away from the centre, clipping also shifts all records in one direction, by about m_j g_j,

    g_j(α) = E[ Z_j² (1 − √(α/Q)) ; Q > α ]:

the part of x − clip(x) that is linear in x, where x has the variance of m_j and of the records together.

Accuracy here is about 1e-5 or better, enough for choosing; privacy never depends on it.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from gaussmith.numerics import quadratic_forms
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]

_STEP = 0.1  # along the path; the error is about e^(−2π·0.4/0.1)
_NODES = 32  # at a time
_TERMS = 16  # of the series of ln(1 − x) where |x| < 0.3: beyond them is less than 1e-9 of its first term
_LEVELS = 36


def conditional_squares(weights: Array, value: float) -> Array:
    """E[Z_j² | Σ λ_i Z_i² = value] for every j; Σ λ_j E[…] = value.

        ∮ e^{K(s)−sq}/(1 − 2λ_j s) ds / ∮ e^{K(s)−sq} ds,      K(s) = −½ Σ ln(1 − 2λ_j s)

    Requires (owed): weights above 0, value above 0. Rounding: nearest, to about 1e-10.

    >>> conditional_squares(np.array([1.0, 1.0]), 6.0).round(9)
    array([3., 3.])
    """
    law = _law(weights, np.zeros_like(weights))
    _, growth, s = _path(law, value / law.top)
    lam = weights / law.top
    # Σ Re(g/(1 − 2λs)) without complex divisions
    x, y = 1 - 2 * np.outer(s.real, lam), -2 * np.outer(s.imag, lam)
    each = ((growth.real[:, None] * x + growth.imag[:, None] * y) / (x * x + y * y)).sum(axis=0)
    return np.asarray(each * (value / float(weights @ each)))


def marked_tail(weights: Array, marks: Array, value: float) -> float:
    """N(value) = Σ a_j E[Z_j² ; Q > value]: how much of the marked squares lies beyond a value.

    >>> round(marked_tail(np.array([1.0]), np.array([1.0]), 0.0), 9)
    1.0
    """
    return _marked_tail(_law(weights, marks), value)


class ClippingLoss:
    """loss(α) as a function: the marked squared length that clipping takes from a record, on average.

    Guarantee: none; an estimate to about 1e-5 of itself where it is not negligible. Falls in α, from Σ a_j at 0. What
    takes time is done once: ln N at some hundred values, close together around the mean, where it bends.

    >>> ClippingLoss(np.array([1.0]), np.array([1.0])).at(np.array([1e-12, 100.0])).round(4)
    array([1., 0.])
    """

    def __init__(self, weights: Array, marks: Array) -> None:
        from scipy.interpolate import CubicSpline

        mean, spread, top = float(weights.sum()), math.sqrt(2 * float(weights @ weights)), float(weights.max())
        far = mean + math.sqrt(2 * 80.0) * spread + 160.0 * top  # beyond it less than e^{−80} is left
        near = _nearest_level(weights)
        nodes = np.unique(np.concatenate([
            np.geomspace(near, mean, _LEVELS, endpoint=False),
            np.linspace(near, mean + 6 * spread, _LEVELS),
            np.linspace(mean, far, _LEVELS),
        ]))  # fmt: skip
        nodes = nodes[np.append(True, np.diff(nodes) > 1e-3 * spread / _LEVELS)]  # too close together they shake
        law = _law(weights, marks)
        tails = np.array([_marked_tail(law, float(q)) for q in nodes])
        known = tails > float(marks.sum()) * 1e-30
        self._whole, self._first, self._last = float(marks.sum()), float(nodes[0]), float(nodes[known][-1])
        self._log_tail = CubicSpline(nodes[known], np.log(tails[known]))
        self._bends = [mean - 4 * spread, mean - spread, mean, mean + spread, mean + 4 * spread, mean + 16 * spread]

    def at(self, levels: Array) -> Array:
        """loss(α) at every level α."""
        return np.array([self._at(float(level)) for level in levels])

    def _at(self, alpha: float) -> float:
        if alpha >= self._last:
            return 0.0
        steps = [alpha * 4.0**k for k in range(1, 40) if alpha * 4.0**k < self._bends[2] / 2]
        edges = np.unique([alpha, *steps, *(e for e in self._bends if alpha < e < self._last), self._last])
        low, width = edges[:-1, None], np.diff(edges)[:, None]
        X, W = _nodes()
        q = (low + width * (X + 1) / 2).ravel()
        tail = np.where(q < self._first, self._whole, np.exp(self._log_tail(np.maximum(q, self._first))))
        root = np.sqrt(alpha / q)
        return float(((width / 2 * W).ravel() * root / q * (1 - root) * tail).sum())


class ClippingShift:
    """g_j(α) for every coordinate: how much of an offset of the mean clipping takes away.

    Guarantee: none; an estimate to about 1e-4. Falls in α, from 1 at 0.

    >>> ClippingShift(np.array([1.0, 1.0])).at(1e-12).round(4)
    array([1., 1.])
    """

    def __init__(self, weights: Array) -> None:
        from scipy.interpolate import PchipInterpolator

        mean, spread = float(weights.sum()), math.sqrt(2 * float(weights @ weights))
        far = mean + 9 * spread + 80 * float(weights.max())
        near = _nearest_level(weights)
        nodes = np.unique(np.concatenate([np.geomspace(near, mean, 24), np.linspace(near, far, 48)]))
        nodes = nodes[np.append(True, np.diff(nodes) > 1e-3 * spread / _LEVELS)]
        law = _law(weights, np.zeros_like(weights))
        tails = np.array([_square_tails(law, weights / law.top, float(q)) for q in nodes])
        self._tails = PchipInterpolator(nodes, np.clip(tails, 0.0, None), axis=0)
        self._ends = near, far
        self._size = len(weights)

    def at(self, level: float) -> Array:
        """g_j = ½ ∫_α^∞ √α q^{−3/2} E[Z_j² ; Q > q] dq; below the first value all of Z_j² lies beyond."""
        near, far = self._ends
        below = 1 - math.sqrt(level / near) if level < near else 0.0
        start = max(level, near)
        if start >= far:
            return np.full(self._size, below)
        edges = np.unique(
            [start * min(4.0**k, far / start) for k in range(40) if k == 0 or 4.0 ** (k - 1) < far / start]
        )
        X, W = _nodes()
        q = (edges[:-1, None] + np.diff(edges)[:, None] * (X + 1) / 2).ravel()
        weight = (np.diff(edges)[:, None] / 2 * W).ravel() * 0.5 * math.sqrt(level) * q**-1.5
        return np.asarray(below + (weight[:, None] * self._tails(q)).sum(axis=0))


def _square_tails(law: _Law, lam: Array, value: float) -> Array:
    """E[Z_j² ; Q > value] for every j, from one path."""
    q = value / law.top
    scale, growth, s = _path(law, q)
    terms = growth / s
    x, y = 1 - 2 * np.outer(s.real, lam), -2 * np.outer(s.imag, lam)
    part = scale * ((terms.real[:, None] * x + terms.imag[:, None] * y) / (x * x + y * y)).sum(axis=0)
    return np.asarray(part if q >= law.mean else 1 + part)


def _nearest_level(weights: Array) -> float:
    """A value below which Q falls with probability at most e^{−24} (Chernoff), but no less than 1e-6 of its mean."""
    low, high = math.log(1e-3 / weights.max()), math.log(1e12 / weights.max())
    for _ in range(40):
        t = math.exp((low + high) / 2)
        q = float((weights / (1 + 2 * weights * t)).sum())
        bound = t * q - 0.5 * float(np.log1p(2 * weights * t).sum())
        low, high = (math.log(t), high) if bound > -24 else (low, math.log(t))
    return max(q, 1e-6 * float(weights.sum()))


@dataclass(frozen=True, eq=False)
class _Law:
    """Distinct weights divided by the largest, falling; how often each occurs, its marks, and sums of powers."""

    top: float
    weights: Array
    counts: Array
    marks: Array
    powers: Array
    """Row k, column i: Σ counts·weights^k from i on."""
    marked_powers: Array

    @property
    def mean(self) -> float:
        return float(self.counts @ self.weights)

    def first_small(self, reach: float) -> int:
        """From here on |2λs| < 0.3 for all |s| ≤ reach."""
        return int(np.searchsorted(-self.weights, -0.15 / reach, side="right"))

    def exponents(self, s: Complex) -> Complex:
        """K(s) = −½ Σ ln(1 − 2λs), small weights together by the series of the logarithm."""
        i = self.first_small(float(np.abs(s).max()))
        x, y = 1 - 2 * np.outer(s.real, self.weights[:i]), -2 * np.outer(s.imag, self.weights[:i])
        n = self.counts[:i]
        K = -0.25 * (np.log(x * x + y * y) * n).sum(axis=1) - 0.5j * (np.arctan2(y, x) * n).sum(axis=1)
        if i < len(self.weights):
            for k in range(_TERMS, 0, -1):
                K = K + (2 * s) ** k * (self.powers[k, i] / (2 * k))
        return np.asarray(K)

    def mark(self, s: Complex) -> Complex:
        """A(s) = Σ a/(1 − 2λs)."""
        i = self.first_small(float(np.abs(s).max()))
        x, y = 1 - 2 * np.outer(s.real, self.weights[:i]), -2 * np.outer(s.imag, self.weights[:i])
        a = self.marks[:i] / (x * x + y * y)
        A = (a * x).sum(axis=1) - 1j * (a * y).sum(axis=1)
        if i < len(self.weights):
            for k in range(_TERMS + 1):
                A = A + (2 * s) ** k * self.marked_powers[k, i]
        return np.asarray(A)


def _law(weights: Array, marks: Array) -> _Law:
    top = float(weights.max())
    rising, where, counts = np.unique(weights / top, return_inverse=True, return_counts=True)
    lam, n = rising[::-1], counts[::-1].astype(float)
    a = np.bincount(where, weights=marks, minlength=len(lam)).astype(float)[::-1].copy()
    steps = lam[None, :] ** np.arange(_TERMS + 1)[:, None]
    powers, marked = (np.cumsum((steps * by)[:, ::-1], axis=1)[:, ::-1] for by in (n, a))
    return _Law(top, lam, n, a, powers, marked)


def _marked_tail(law: _Law, value: float) -> float:
    q, whole = value / law.top, float(law.marks.sum())
    if q <= 0:
        return whole
    scale, growth, s = _path(law, q)
    part = scale * float((growth * law.mark(s) / s).real.sum())
    return part if q >= law.mean else whole + part  # left of the pole the integral is minus the lower part


def _path(law: _Law, q: float) -> tuple[float, Complex, Complex]:
    """e^{K(s)−sq} ds along the hyperbola of `quadratic_forms`, from its saddle point up; the rest by symmetry.

    Returns the factor that turns the sum of real parts into the integral over 2πi, the terms, and the points s. The
    path passes the pole at 0 on the right where q is at least the mean, else on the left.
    """
    upper = q >= law.mean
    s = _saddle(law, q, upper)
    c = 2 * law.weights / (1 - 2 * law.weights * s)
    curvature = float((law.counts * c * c).sum()) / 2 + 1 / s**2
    sin, cos = math.sin(quadratic_forms.BETA), math.cos(quadratic_forms.BETA)
    a = min(s / (sin + 0.5), 1 / (float(c.max()) * (1 - sin))) if upper else -s / (1 - sin)
    step = min(_STEP, quadratic_forms.STEP_AT_SADDLE / (a * cos * math.sqrt(curvature)))
    base = -0.5 * float((law.counts * np.log1p(-2 * law.weights * s)).sum()) - s * q
    points, terms = [], []
    for block in range(40):
        w = step * np.arange(block * _NODES, (block + 1) * _NODES)
        z: Complex = (s + a * sin * (np.cosh(w) - 1)) + 1j * (a * cos * np.sinh(w))
        term = np.exp(law.exponents(z) - z * q - base) * (cos * np.cosh(w) - 1j * sin * np.sinh(w))
        points.append(z)
        terms.append(term)
        if abs(term[-1]) < 1e-14 * abs(terms[0][0]):
            break
    terms[0][0] *= 0.5
    return a * step / math.pi * math.exp(base), np.concatenate(terms), np.concatenate(points)


def _saddle(law: _Law, q: float, upper: bool) -> float:
    """Where K′(s) − q − 1/s, which grows from −∞ to ∞ on either side of 0, vanishes; the path need not pass it exactly.

    By halving, in a variable that opens up both ends.
    """
    low, high = (-240.0, 36.0) if upper else (-240.0, 240.0)
    while high - low > 1e-5:
        v = (low + high) / 2
        s = 0.5 / (1 + math.exp(-v)) if upper else -math.exp(-v)
        slope = float((law.counts * law.weights / (1 - 2 * law.weights * s)).sum()) - q - 1 / s
        low, high = (v, high) if slope < 0 else (low, v)
    return s


@cache
def _nodes() -> tuple[Array, Array]:
    """The nodes and weights of Gauss and Legendre; numpy imports its polynomials when they are asked for."""
    x, w = np.polynomial.legendre.leggauss(24)
    return x, w

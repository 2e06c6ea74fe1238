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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from gaussmith.errors import DomainError
from gaussmith.numerics import quadratic_forms
from gaussmith.numerics.exact import Array

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


def _square_tails(law: _ScalingLaw, lam: Array, value: float) -> Array:
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
class _ScalingLaw:
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


def _law(weights: Array, marks: Array) -> _ScalingLaw:
    top = float(weights.max())
    rising, where, counts = np.unique(weights / top, return_inverse=True, return_counts=True)
    lam, n = rising[::-1], counts[::-1].astype(float)
    a = np.bincount(where, weights=marks, minlength=len(lam)).astype(float)[::-1].copy()
    steps = lam[None, :] ** np.arange(_TERMS + 1)[:, None]
    powers, marked = (np.cumsum((steps * by)[:, ::-1], axis=1)[:, ::-1] for by in (n, a))
    return _ScalingLaw(top, lam, n, a, powers, marked)


def _marked_tail(law: _ScalingLaw, value: float) -> float:
    q, whole = value / law.top, float(law.marks.sum())
    if q <= 0:
        return whole
    scale, growth, s = _path(law, q)
    part = scale * float((growth * law.mark(s) / s).real.sum())
    return part if q >= law.mean else whole + part  # left of the pole the integral is minus the lower part


def _path(law: _ScalingLaw, q: float) -> tuple[float, Complex, Complex]:
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


def _saddle(law: _ScalingLaw, q: float, upper: bool) -> float:
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


# How to scale and clip records with normal coordinates: the report's way, its alternative, and two better ones.
#
# Coordinate j has standard deviation σ_j and its squared error matters w_j. It is multiplied by b_j, the record's
# squared norm is clipped at α, round noise is added and everything is divided by b_j again. With *shares* λ_j =
# b_j²σ_j², so that the squared norm is Q = Σ λ_j Z_j², and v_j = w_j σ_j²,
#
#     noise ∝ α · S(λ),   S = Σ v_j/λ_j,      clipping loss of a record = Σ v_j E[Z_j² (1 − √(α/Q))² ; Q > α].
#
# Multiplying all λ_j and α by one number changes nothing, so shares are given with Σ λ_j = 1 and α with them.

_ROUNDS = 60


def report_shares(values: Array) -> Array:
    """λ_j ∝ √v_j, the report's theorem 4: least S(λ) for an expected squared norm Σ λ_j = 1.

    >>> report_shares(np.array([9.0, 1.0])).round(3)
    array([0.75, 0.25])
    """
    root = np.sqrt(values)
    return np.asarray(root / root.sum())


def chebyshev_shares(values: Array, fraction: float = 0.05) -> tuple[Array, float]:
    """The report's alternative: least S(λ) where Chebyshev's inequality lets at most `fraction` of records be clipped.

        minimise Σ v_j/λ_j   where   Σ λ_j + k √(2 Σ λ_j²) = α,   k = 1/√fraction,   and Σ λ_j < α

    Returns shares with sum 1 and the level α above 1. At the minimum λ_j²(1 + c λ_j) ∝ v_j and c‖λ‖ = k√2, which leaves
    one unknown.

    >>> shares, level = chebyshev_shares(np.array([1.0, 1.0]))
    >>> shares.round(9), round(level, 6) == round(1 + math.sqrt(20), 6)
    (array([0.5, 0.5]), True)
    """
    if not 0 < fraction < 1:
        what, rule = f"fraction={fraction!r}", "a fraction must lie between 0 and 1"
        raise DomainError(what, rule, "write fraction=0.05", code="fraction-out-of-range", fraction=fraction)
    k = 1 / math.sqrt(fraction)
    low, high = math.log(1e-12), math.log(1e12)
    unit = values / values.max()
    for _ in range(200):
        c = math.exp((low + high) / 2)
        lam = _cubic(unit, c)
        low, high = (math.log(c), high) if c * float(np.linalg.norm(lam)) < k * math.sqrt(2) else (low, math.log(c))
    lam = lam / lam.sum()
    return lam, 1 + k * math.sqrt(2 * float(lam @ lam))


def _cubic(values: Array, c: float) -> Array:
    """The positive root x of x²(1 + c x) = v, by Newton from above (the left side is convex)."""
    x = np.minimum(np.sqrt(values), np.cbrt(values / c))
    for _ in range(60):
        x = x - (x * x * (1 + c * x) - values) / (2 * x + 3 * c * x * x)
    return x


def improved_shares(values: Array, tail: float, start: Array | None = None) -> tuple[Array, float]:
    """The shares that make the noise α(λ)·S(λ) least, α the exact quantile of Q at `tail`; and that α.

    At the minimum every coordinate's share of the squared norm of a record just at the level equals its share of the
    noise: λ_j E[Z_j² | Q = α]/α = (v_j/λ_j)/S. The rounds move towards it, and only ever down.

    >>> shares, level = improved_shares(np.array([1.0, 0.01]), 1e-6)
    >>> even = report_shares(np.array([1.0, 0.01]))
    >>> float(level * (np.array([1.0, 0.01]) / shares).sum()) < quadratic_forms.quantile(even, 1e-6) * 1.1**2
    True
    """
    lam = report_shares(values) if start is None else start
    alpha = quadratic_forms.quantile(lam, tail)
    best = alpha * float((values / lam).sum())
    power = 0.5
    for _ in range(_ROUNDS):
        noise = values / lam
        pull = lam * conditional_squares(lam, alpha) / alpha
        miss = np.log(noise / noise.sum() / pull)
        if float(np.abs(miss).max()) < 1e-7:
            break
        while power > 1e-4:
            tried = lam * np.exp(power * miss)
            tried = tried / tried.sum()
            level = quadratic_forms.quantile(tried, tail)
            price = level * float((values / tried).sum())
            if price <= best:
                break
            power /= 2
        else:
            break
        gained = best - price
        lam, alpha, best, power = tried, level, price, min(0.5, power * 1.5)
        if gained < 1e-10 * best:
            break
    return lam, alpha


@dataclass(frozen=True, eq=False)
class Clip:
    """Shares, a level, and what they cost: the noise's total and the expected squared clipping loss of all rows."""

    shares: Array
    level: float
    noise: float
    loss: float

    @property
    def total(self) -> float:
        return self.noise + self.loss

    @property
    def clipped(self) -> float:
        """The fraction of records that are clipped."""
        return quadratic_forms.tail(self.shares, self.level)


@dataclass(frozen=True, eq=False)
class Price:
    """What noise and clipping cost: noise (√(α S)·reach + √offset)², per record the marked loss times `rows`.

    `reach` is 1/μ under add-remove and 2/μ under replace-one; `offset` what the count's error is worth, over μ².
    `drift` is w_j times the square of how far the mean may lie from the centre: clipping then shifts all rows.
    """

    values: Array
    reach: float
    offset: float
    rows: float
    drift: Array | None = None

    def noise(self, shares: Array, level: float) -> float:
        S = float((self.values / shares).sum())
        return (math.sqrt(level * S) * self.reach + math.sqrt(self.offset)) ** 2

    def at(self, shares: Array, level: float) -> Clip:
        loss = float(self.losses(shares)(np.array([level]))[0])
        return Clip(shares, level, self.noise(shares, level), loss)

    def losses(self, shares: Array) -> Callable[[Array], Array]:
        """What clipping costs as a function of levels: rows · loss(α) + rows² · Σ drift_j g_j(α)²."""
        loss = ClippingLoss(shares, self.values)
        if self.drift is None or not self.drift.any():
            return lambda levels: self.rows * loss.at(levels)
        drift, shift = self.drift, ClippingShift(shares)

        def both(levels: Array) -> Array:
            moved = [float((drift * shift.at(float(a)) ** 2).sum()) for a in levels]
            return self.rows * loss.at(levels) + self.rows**2 * np.array(moved)

        return both


def best_level(price: Price, shares: Array) -> Clip:
    """The level with the least noise plus clipping loss, for given shares; to about 1e-4 of the level.

    >>> price = Price(np.array([1.0]), reach=10.0, offset=0.0, rows=1e4)
    >>> clip = best_level(price, np.array([1.0]))
    >>> 0.5 < clip.level < 16, clip.total < price.at(np.array([1.0]), 15.1).total
    (True, True)
    """
    mean, spread = 1.0, math.sqrt(2 * float(shares @ shares))
    far = mean + 9 * spread + 80 * float(shares.max())
    low, high = math.log(1e-4), math.log(far)
    loss = price.losses(shares)
    for _ in range(3):
        levels = np.exp(np.linspace(low, high, 48))
        losses = loss(levels)
        totals = np.array([price.noise(shares, float(a)) for a in levels]) + losses
        i = int(np.argmin(totals))
        low, high = math.log(levels[max(i - 1, 0)]), math.log(levels[min(i + 1, 47)])
    return Clip(shares, float(levels[i]), price.noise(shares, float(levels[i])), float(losses[i]))


def best_clip(price: Price) -> Clip:
    """Shares and level with the least total found: shares improved for the tail that the best level leaves, in turns.

    Never above the report's shares, or those improved for the tail 1/rows, at any level: these are candidates too.
    """
    best = best_level(price, report_shares(price.values))
    shares, _ = improved_shares(price.values, min(0.5, 1 / max(price.rows, 2.0)))
    for _ in range(3):
        clip = best_level(price, shares)
        gained = best.total - clip.total
        best = min(best, clip, key=lambda found: found.total)
        if abs(gained) < 1e-3 * best.total:
            break
        shares, _ = improved_shares(price.values, min(max(clip.clipped, 1e-12), 0.999), start=shares)
    return best

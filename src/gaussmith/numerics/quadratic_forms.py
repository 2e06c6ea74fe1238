"""The law of Q = Σ λ_j Z_j², Z_j independent standard normals: its tail, and the value at a given tail.

It is the law of the squared norm of Gaussian data after scaling, and of the squared error of a release.

With K(s) = −½ Σ ln(1 − 2λ_j s), for any c between 0 and 1/(2 max λ),

    P(Q > q) = (1/2πi) ∫ e^{K(s) − sq} / s ds     along any path from c − i∞ to c + i∞,                        (1)

and for c < 0 minus the same integral is P(Q ≤ q). On the real axis h(s) = K(s) − sq − ln|s| is convex on either side
of 0, so each side has one saddle point ŝ, with h'(ŝ) = 0. The path is a branch of a hyperbola through it,

    s(w) = ŝ + a (sin β (cosh w − 1) + i cos β sinh w),      w real,                                          (2)

which leaves the pole at 0 and the singularities 1/(2λ_j) aside and runs off at an angle β from the vertical: to the
right, so that e^{−sq} falls, but by less than 45°, so that a core of many light weights, which acts like e^{vs²/2},
falls too. Along (2) the integrand falls faster than exponentially and is analytic in a strip around the real w, where
the trapezoidal rule converges geometrically: 60 nodes leave nothing but the rounding of doubles, and no large numbers
are subtracted. (A parabola, the path of steepest descent for few weights, fails where one weight is large and hundreds
are small: it bends by more than 45° while the core still matters, and the integrand grows by e^{50}.)

Everything is divided by max λ first, and equal weights are counted, not repeated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaussmith.errors import DomainError
from gaussmith.numerics.exact import Array

STEP = 0.07  # in w; the error is about e^(−2π·0.4/STEP)
STEP_AT_SADDLE = 0.5  # in standard deviations of a sharp saddle point, if that is shorter
BETA = math.radians(26)
_NODES = 32  # evaluated at a time
_CHUNK = 1 << 13  # weights taken at a time, so that 10^5 of them need little memory
_TERMS = 26  # of the series of ln(1 − x) for |x| < ¼: the rest is below 1e-16 of its first term
_WIDE = 240.0  # |ln| of any saddle point looked for
_FAR = 1e90
_HUGE = 1e250


def tail(weights: npt.ArrayLike, value: float) -> float:
    """P(Σ λ_j Z_j² > value), with a relative error below 1e-12 from 0.5 down to 1e-300; 0 once no double can hold it.

    Requires (checked): weights finite, 0 or more, at least one above 0 (zeros count for nothing); `value` not NaN.
    Rounding: nearest, not to a side. A relative change of `value` by 1e-16 changes a tail by 1e-16·value·|d ln tail|,
    and so much is out of reach.

    >>> round(tail([1.0], 3.841458820694124), 12), round(tail([0.5, 0.5], 3.0) / math.exp(-3.0), 12)
    (0.05, 1.0)
    """
    return math.exp(log_tail(weights, value))


def log_tail(weights: npt.ArrayLike, value: float) -> float:
    """ln P(Σ λ_j Z_j² > value), also where the tail itself is beyond the doubles.

    >>> round(log_tail([0.5, 0.5], 2000.0), 9)
    -2000.0
    """
    law = _law(weights)
    q = _check_value(value) / law.top
    if q < law.mean / _HUGE:
        return 0.0
    if q > _FAR * law.mean:
        return -q / 2  # all else is too small to see
    if q >= law.mean:
        return _integrate(law, q, upper=True)[0]
    return math.log1p(-math.exp(_integrate(law, q, upper=False)[0]))


def lower_tail(weights: npt.ArrayLike, value: float) -> float:
    """P(Σ λ_j Z_j² ≤ value), to the same relative error as `tail`, down to 1e-300.

    >>> round(lower_tail([0.5, 0.5], 1e-9) / -math.expm1(-1e-9), 12)
    1.0
    """
    law = _law(weights)
    q = _check_value(value) / law.top
    if q < law.mean / _HUGE:
        return 0.0
    if q >= law.mean:
        return -math.expm1(log_tail(weights, value))
    return math.exp(_integrate(law, q, upper=False)[0])


def quantile(weights: npt.ArrayLike, tail: float) -> float:
    """The value that Σ λ_j Z_j² exceeds with probability `tail`, with a relative error below 1e-12.

    Requires (checked): weights as for `tail`; 0 < tail < 1. Rounding: nearest, not to a side.

    >>> round(quantile([0.5, 0.5], 1e-9) / math.log(1e9), 12), round(quantile([1.0], 0.01), 12)
    (1.0, 6.634896601021)
    """
    law, tail = _law(weights), check_tail(tail)
    upper = tail <= 0.5
    target = math.log(tail) if upper else math.log1p(-tail)
    q = _start(law, target, upper)
    low, high = 0.0, math.inf
    for _ in range(200):
        log_probability, hazard = _integrate(law, q, upper)
        miss = log_probability - target
        low, high = (q, high) if (miss > 0) == upper else (low, q)
        # Newton's method on the logarithm: in q above (a tail is about exponential), in ln q below (about a power).
        step = miss / hazard if upper else q * math.expm1(-miss / (hazard * q))
        last, q = q, max(q + step, q / 2)
        if abs(step) < 1e-8 * q:  # what is left is about the square of that
            break
        if not low < q < high:  # far from an exponential, as between a heavy weight and many light ones
            q = 2 * last if high == math.inf else math.sqrt(low) * math.sqrt(high) if low else high / 2
    return q * law.top


@dataclass(frozen=True, eq=False)
class _Law:
    """Distinct weights, how often each occurs, and their sum in two doubles. All in units of `top`."""

    weights: Array
    counts: Array
    top: float
    mean: float
    mean_rest: float

    def in_units_of(self, q: float) -> _Law:
        return _Law(self.weights / q, self.counts, self.top * q, self.mean / q, self.mean_rest / q)


def check_weights(weights: npt.ArrayLike) -> Array:
    """The weights as doubles; refuses any that are negative or not finite, and none above 0."""
    values = np.asarray(weights, dtype=np.float64).ravel()
    if not (values.size and np.isfinite(values).all() and (values >= 0).all() and values.any()):
        raise DomainError(
            "weights of a sum of squares",
            "they must be finite and 0 or more, with at least one above 0",
            "check the variances",
            code="squares-weights-out-of-range",
        )
    return values


def check_tail(tail: float) -> float:
    """The probability of a tail as a double; refuses all but those strictly between 0 and 1."""
    if not 0 < tail < 1:
        rule = "a tail is a probability between 0 and 1"
        raise DomainError(f"tail={tail}", rule, "give one, say 1e-6", code="tail-out-of-range", tail=tail)
    return float(tail)


def _law(weights: npt.ArrayLike) -> _Law:
    values = check_weights(weights)
    top = float(values.max())
    scaled = values / top
    distinct, counts = np.unique(scaled[scaled > 0], return_counts=True)
    terms = scaled.tolist()
    mean = math.fsum(terms)
    return _Law(distinct, counts.astype(np.float64), top, mean, math.fsum([*terms, -mean]))


def _check_value(value: float) -> float:
    if math.isnan(value):
        raise DomainError("value=nan", "the value must be a number", "give the threshold", code="tail-at-nan")
    return float(value)


class _Point:
    """A point s of the real axis below 1/(2 max λ), with c_j = 2λ_j/(1 − 2λ_j s) and the derivatives of K there.

    The weights for which 2λ|s| < ¼ are *light*. `drift` and `exponent()` are K' and K less the light weights' mean, and
    less s times it: where many light weights make a sharp law, K' − q and K − sq are small differences of large
    numbers, and taking that mean out of either side first keeps their digits.
    """

    def __init__(self, law: _Law, v: float, upper: bool) -> None:
        """s = ½ e^v/(1 + e^v) above 0 (the weights being in units of the largest), s = −e^v below."""
        lam, n = law.weights, law.counts
        if upper:
            gap = 1 / (1 + math.exp(v))  # 1 − 2s, kept apart so that nothing is lost as s nears ½
            self.s = 0.5 / (1 + math.exp(-v))
            self.remainder = (1 - lam) + lam * gap
        else:
            self.s = -math.exp(v)
            self.remainder = 1 - 2 * lam * self.s
        self.law = law
        self.c = c = 2 * lam / self.remainder
        squares = c * c
        self.second, self.third = _total(n, squares) / 2, _total(n, squares * c)
        self.light = k = int(np.searchsorted(lam, 0.125 / abs(self.s)))  # weights come in rising order
        self.light_mean, self.heavy_mean = _total(n[:k], lam[:k]), _total(n[k:], lam[k:])
        self.drift = _total(n[:k], lam[:k] * c[:k]) * self.s + _total(n[k:], c[k:]) / 2

    def exponent(self) -> float:
        """K(s) − s·light_mean."""
        n, k = self.law.counts, self.light
        heavy = _total(n[k:], np.log(self.remainder[k:]))
        return _total(n[:k], _bend(2 * self.s * self.law.weights[:k])) - heavy / 2

    def excess(self, q: float) -> float:
        """q − light_mean, from whichever side subtracts less."""
        if self.light_mean < self.heavy_mean:
            return q - self.light_mean
        return ((q - self.law.mean) - self.law.mean_rest) + self.heavy_mean

    def slope(self) -> float:
        """K'(s)."""
        return self.drift + self.light_mean

    def curvature(self) -> float:
        """h''(s) = K''(s) + 1/s²."""
        return self.second + 1 / self.s**2


def _total(counts: Array, values: Array) -> float:
    """Σ counts·values, added in pairs: more exact than a dot product, and on one thread."""
    return float((counts * values).sum())


def _bend(x: Array) -> Array:
    """−½(ln(1 − x) + x) for |x| < ¼, by its series: the difference would lose digits."""
    total = np.zeros_like(x)
    for k in range(_TERMS, 1, -1):
        total *= x
        total += 0.5 / k
    return total * x * x


def _saddle(law: _Law, q: float, upper: bool) -> _Point:
    """The zero of h'(s) = K'(s) − q − 1/s on one side of 0, to about 1e-6: the path need not pass it exactly.

    Newton's method in v on ln K' − ln(q + 1/s), or on ln q − ln(K' − 1/s) below 0, which rise with v and are nearly
    straight at either end; by halving where a step leaves the bracket.
    """
    low, high = -_WIDE, _WIDE
    v = 0.0
    for _ in range(200):
        point = _Point(law, v, upper)
        s, slope = point.s, point.slope()
        if upper:
            miss = math.log(slope / (q + 1 / s))
            rise = (point.second / slope + 1 / (s * (q * s + 1))) * s * (1 - 2 * s)
        else:
            miss = math.log(q / (slope - 1 / s))
            rise = -point.curvature() * s / (slope - 1 / s)
        low, high = (v, high) if miss < 0 else (low, v)
        step = -miss / rise if rise > 0 else math.inf
        if abs(step) < 1e-6:
            break
        v = v + step if low < v + step < high else (low + high) / 2
    return point


def _start(law: _Law, target: float, upper: bool) -> float:
    """The q whose saddle-point approximation e^{h(ŝ)}/√(2π h''(ŝ)) is e^target: a few per cent off in probability.

    Each ŝ belongs to q = K'(ŝ) − 1/ŝ, so no saddle point has to be found; the approximation falls as |ŝ| grows.
    """
    low, high = (-40.0, 12.0) if upper else (-60.0, 80.0)  # enough for tails of 1e-324 and of 1 − 1e-16
    while high - low > 0.01:
        v = (low + high) / 2
        point = _Point(law, v, upper)
        s = point.s
        # K − ŝq, with q and K both less the mean of the light weights.
        exponent = point.exponent() - s * (point.drift - 1 / s)
        value = exponent - math.log(abs(s)) - 0.5 * math.log(2 * math.pi * point.curvature())
        low, high = (v, high) if value > target else (low, v)
    q = point.slope() - 1 / s
    return max(q, 1e-3) if upper else q


def _integrate(law: _Law, q: float, upper: bool) -> tuple[float, float]:
    """ln P and the density of Q at q over P, where P = P(Q > q), or P(Q ≤ q) if not `upper`, by (1).

    With δ = s − ŝ and y_j = c_j δ the exponent is K(ŝ) − ŝq + δ(K'(ŝ) − q) − ½ Σ (ln(1 − y_j) + y_j).
    """
    unit = 1.0
    if not upper:  # so that neither a tiny q nor a tiny weight leaves the range of doubles
        law, q, unit = law.in_units_of(q), 1.0, q
    point = _saddle(law, q, upper)
    s, excess = point.s, point.excess(q)
    pull = point.drift - excess  # K'(ŝ) − q, about 1/ŝ
    sin, cos = math.sin(BETA), math.cos(BETA)
    if upper:  # between the pole and the first singularity, at distance 1/max c
        a = min(s / (sin + 0.5), 1 / (point.c[-1] * (1 - sin)))
    else:
        a = -s / (1 - sin)
    step = min(STEP, STEP_AT_SADDLE / (a * cos * math.sqrt(point.curvature())))
    probability = density = 0.0
    first, falling = 0, False
    while not falling:
        w = step * np.arange(first, first + _NODES)
        re, im = a * sin * (np.cosh(w) - 1), a * cos * np.sinh(w)  # of δ
        growth = np.exp(_bends(law.counts, point.c, re, im) + (re + 1j * im) * pull)
        growth *= cos * np.cosh(w) - 1j * sin * np.sinh(w)  # dδ/dw over i·a
        if first == 0:
            growth[0] /= 2
        term = growth / (s + re + 1j * im)
        probability += float(term.real.sum())
        density += float(growth.real.sum())
        falling = bool(abs(term[-1]) < 1e-17 * abs(probability))
        first += _NODES
    # Twice the half line, over 2π; below 0 the integral is minus the probability.
    log_probability = point.exponent() - s * excess + math.log(abs(probability) * a * step / math.pi)
    return log_probability, density / abs(probability) / unit


def _bends(counts: Array, c: Array, re: Array, im: Array) -> npt.NDArray[np.complex128]:
    """Σ_j −½(ln(1 − y) + y), y = c_j·(re + i·im), for every node.

    Where |y| < ¼ at all nodes the sum over j is taken first, as power sums of the c_j: ½ Σ_k δ^k/k Σ_j c_j^k, k ≥ 2.
    """
    reach = math.hypot(re[-1], im[-1])  # the last node is the farthest
    light = int(np.searchsorted(c, 0.25 / reach))  # the c_j rise with the weights
    near, n = c[:light] * reach, counts[:light]
    power = n * near
    powers = []
    for _ in range(2, _TERMS + 1):
        power *= near
        powers.append(float(power.sum()))
    delta = (re + 1j * im) / reach
    total: npt.NDArray[np.complex128] = np.zeros_like(delta)
    for k in range(_TERMS, 1, -1):
        total = total * delta + 0.5 / k * powers[k - 2]
    total *= delta * delta
    for start in range(light, c.size, _CHUNK):
        part, n = c[start : start + _CHUNK], counts[start : start + _CHUNK]
        x, y = np.outer(re, part), np.outer(im, part)
        total -= ((0.25 * np.log1p(x * x + y * y - 2 * x) + 0.5 * x) * n).sum(axis=1)
        total -= 0.5j * ((y - np.arctan2(y, 1 - x)) * n).sum(axis=1)
    return total

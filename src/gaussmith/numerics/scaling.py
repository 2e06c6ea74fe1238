"""How to scale and clip records with normal coordinates: the report's way, its alternative, and two better ones.

Coordinate j has standard deviation σ_j and its squared error matters w_j. It is multiplied by b_j, the record's squared
norm is clipped at α, round noise is added and everything is divided by b_j again. With *shares* λ_j = b_j²σ_j², so that
the squared norm is Q = Σ λ_j Z_j², and v_j = w_j σ_j²,

    noise ∝ α · S(λ),   S = Σ v_j/λ_j,      clipping loss of a record = Σ v_j E[Z_j² (1 − √(α/Q))² ; Q > α].

Multiplying all λ_j and α by one number changes nothing, so shares are given with Σ λ_j = 1 and α with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gaussmith.errors import DomainError
from gaussmith.numerics import quadratic_forms
from gaussmith.numerics.clipping import ClippingLoss, ClippingShift, conditional_squares
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]

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

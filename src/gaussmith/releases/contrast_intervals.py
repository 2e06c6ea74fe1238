"""Intervals of differences, contrasts and ratios of answers that have intervals of their own.

Where all answers are linear, or ratios over one denominator, the interval is exact: normal, or Fieller's. Otherwise it
is recovered from the intervals of the answers. With l_i ≤ x_i ≤ u_i the interval of each, ρ_ij the correlation of the
noise and a_i the distance from c_i·x_i to the lower end of the interval of c_i·x_i,

    lower end of Σ c_i x_i  =  Σ c_i x_i − √(Σ_ij ρ_ij a_i a_j)

(the method of variance estimates recovery, MOVER, of Zou and Donner). For normal answers it is exact; for means it
keeps the lean of Fieller's intervals, which the delta method loses. Where a correlation is not known, distances add up.
"""

from __future__ import annotations

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.plans.error_distribution import ErrorLaw, normal_width
from gaussmith.statistics.mean import fieller_intervals

MAX_TOGETHER = 400
"""Limit on contrasts whose correlations are used for intervals that hold all at once; beyond, Šidák's bound is used."""

MAX_AGAINST_MEAN = 20
"""Limit on groups against their mean whose common width is computed; beyond, Šidák's bound is as good."""

CLOSE = 1e-9
"""How well a correlation matrix must fit one common draw to be taken for such a one."""


def recovered_interval(
    factors: Array, values: Array, lower: Array, upper: Array, correlations: Array | None
) -> tuple[Array, Array]:
    """The interval of Σ factors · values, from the intervals of the values; infinite where one of them is.

    Values and ends are on the last axis; axes before it are several releases.

    >>> lower, upper = np.array([2.0, -3.0]), np.array([8.0, 5.0])
    >>> ends = recovered_interval(np.array([1.0, -1.0]), np.array([5.0, 1.0]), lower, upper, np.eye(2))
    >>> float(ends[0]), float(ends[1])
    (-1.0, 9.0)
    """
    found = values @ factors
    known = np.isfinite(lower).all(axis=-1) & np.isfinite(upper).all(axis=-1) & np.isfinite(found)
    with np.errstate(invalid="ignore"):
        below, above = values - lower, upper - values
        down = np.abs(factors) * np.where(factors > 0, below, above)
        up = np.abs(factors) * np.where(factors > 0, above, below)
        if correlations is None:
            far = [each.sum(axis=-1) for each in (down, up)]
        else:
            R = correlations * np.outer(np.sign(factors), np.sign(factors))
            squares = [np.einsum("...i,...ij,...j->...", each, R, each) for each in (down, up)]
            far = [np.sqrt(np.maximum(square, 0.0)) for square in squares]
    return np.where(known, found - far[0], -np.inf), np.where(known, found + far[1], np.inf)


def recovered_ratio(
    top: tuple[Array, Array, Array], bottom: tuple[Array, Array, Array], correlation: Array | None
) -> tuple[Array, Array]:
    """The interval of top / bottom, each given as (value, lower end, upper end).

    All ratios r for which 0 lies in the recovered interval of top − r · bottom: Fieller's interval for normal ones.
    The whole line where the bottom may be 0.

    >>> ends = recovered_ratio((np.array(6.0), np.array(5.0), np.array(8.0)), (np.array(3.0),) * 3, np.array(0.0))
    >>> round(float(ends[0]), 3), round(float(ends[1]), 3)
    (1.667, 2.667)
    """
    a, a_low, a_high = (np.asarray(each, float) for each in top)
    b, b_low, b_high = (np.asarray(each, float) for each in bottom)
    known = np.isfinite([a, a_low, a_high, b, b_low, b_high]).all(axis=0) & ((b_low > 0) | (b_high < 0))
    turned = b < 0
    a, a_low, a_high = (np.where(turned, -one, other) for one, other in ((a, a), (a_high, a_low), (a_low, a_high)))
    b, b_low, b_high = (np.where(turned, -one, other) for one, other in ((b, b), (b_high, b_low), (b_low, b_high)))

    def end(side: int) -> Array:
        """The end below (0) or above (1) the ratio, of the sign that it turns out to have."""
        near = (a - a_low) if side == 0 else (a_high - a)
        ends = []
        for sign in (1, -1):
            far = (b_high - b) if (sign > 0) == (side == 0) else (b - b_low)
            rho = -float(sign) if correlation is None else correlation
            ends.append(fieller_intervals(1.0, a, b, near * near, far * far, rho * near * far)[side])
        return np.where(ends[0] >= 0, ends[0], ends[1])

    with np.errstate(divide="ignore", invalid="ignore"):
        lower, upper = end(0), end(1)
    return np.where(known, lower, -np.inf), np.where(known, upper, np.inf)


def shared_width(width: float, size: int) -> float:
    """Standard errors to either side of `size` intervals that fail together as seldom as one of `width`: Bonferroni.

    >>> round(shared_width(1.959964, 1), 3), round(shared_width(1.959964, 2), 3)
    (1.96, 2.241)
    """
    from scipy.special import ndtr, ndtri  # imported when used, for a short start-up

    return float(-ndtri(ndtr(-width) / size))


def width_of_all(confidence: float, covariance: Array | None, size: int) -> float:
    """Standard errors to either side of intervals that hold for all of `size` contrasts at once.

    Exact where the noise of the contrasts is their own and one common draw (all groups against one group, or two
    contrasts), and for groups with equal noise against their mean; otherwise by Šidák's inequality, never too small.

    >>> against_one, against_mean = np.full((3, 3), 1.0) + np.eye(3), np.eye(3) - 1 / 3
    >>> [round(width_of_all(0.95, C, 3), 3) for C in (against_one, against_mean)], round(normal_width(0.95, 3), 3)
    ([2.349, 2.344], 2.388)
    """
    sidak = normal_width(confidence, size)
    if covariance is None or size == 1:
        return sidak
    sigma = np.sqrt(np.diag(covariance))
    if not (np.isfinite(sigma).all() and (sigma > 0).all()):
        return sidak
    R = covariance / np.outer(sigma, sigma)
    apart = _distinct(R)
    R = R[np.ix_(apart, apart)]
    if len(apart) == 1:
        return normal_width(confidence)
    if (
        2 < len(R) <= MAX_AGAINST_MEAN
        and np.abs(R - np.eye(len(R)) + (1 - np.eye(len(R))) / (len(R) - 1)).max() <= CLOSE
    ):
        return min(sidak, _width_against_mean(confidence, len(R)))
    shares = _common_draw(R)
    if shares is None:
        return normal_width(confidence, len(apart))
    law = ErrorLaw(np.sqrt(1 - shares * shares), shares)
    return min(sidak, law.maximum_error(confidence))


def _width_against_mean(confidence: float, size: int) -> float:
    """The same for `size` equal independent noises less their mean.

    The distances from the mean are independent of it, so that they stay within m with the chance of |e_i| ≤ m for all
    i given that their sum is 0. With φ(t) = E cos(te) over |e| ≤ m that is √(2π size) · ∫ φ(t)^size dt / 2π. The sum is
    at most size · m, so that adding up at steps below 2π/(size · m) gives the integral itself.
    """
    x, w = np.polynomial.legendre.leggauss(400)
    scale = np.sqrt(1 - 1 / size)  # of the distances, beside the noises

    def chance(width: float) -> float:
        m = width * scale
        step = 2 * np.pi / (1.01 * size * m)
        t = np.arange(0.0, 10 + 150 / size, step)
        cosines = np.cos(np.outer(t, m * x)) @ (w * m * np.exp(-((m * x) ** 2) / 2)) / np.sqrt(2 * np.pi)
        powers = cosines**size
        return float(np.sqrt(2 * np.pi * size) * (2 * powers.sum() - powers[0]) * step / (2 * np.pi))

    low, high = normal_width(confidence), normal_width(confidence, size) + 0.01
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) < confidence else (low, middle)
    return high


def _distinct(R: Array) -> list[int]:
    """One of all contrasts that are the same but for their sign."""
    kept: list[int] = []
    for i in range(len(R)):
        if not any(abs(R[i, j]) > 1 - 1e-12 for j in kept):
            kept.append(i)
    return kept


def _common_draw(R: Array) -> Array | None:
    """Shares s with R_ij = s_i s_j beside the diagonal and |s_i| < 1; None where there are none."""
    size = len(R)
    if size == 1:
        return np.zeros(1)
    if size == 2:
        root = np.sqrt(abs(R[0, 1]))
        return np.array([root, np.sign(R[0, 1]) * root])
    off = R - np.diag(np.diag(R))
    if np.abs(off).max() <= CLOSE:
        return np.zeros(size)
    i, j = divmod(int(np.abs(off).argmax()), size)
    k = next(m for m in np.argsort(-np.abs(off[i]) * np.abs(off[j])) if m not in (i, j))
    if not off[j, k]:
        return None
    square = off[i, j] * off[i, k] / off[j, k]
    if not 0 < square < 1:
        return None
    shares = off[i] / np.sqrt(square)
    shares[i] = np.sqrt(square)
    fitted = np.outer(shares, shares)
    np.fill_diagonal(fitted, 0.0)
    inside = bool((np.abs(shares) < 1).all())
    return shares if inside and np.abs(fitted - off).max() <= CLOSE else None


def exact_ratio(width: float, above: float, below: float, covariances: Array) -> tuple[float, float]:
    """Fieller's interval of above / below, whose noise has these covariances."""
    numbers = (above, below, covariances[0, 0], covariances[1, 1], covariances[0, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = fieller_intervals(width, *(np.array([number]) for number in numbers))
    return float(low[0]), float(high[0])


def correlations_of(covariances: Array) -> Array:
    """Correlations; 0 with what has no noise."""
    sigma = np.sqrt(np.maximum(np.diag(covariances), 0.0))
    known = np.where(sigma > 0, sigma, np.inf)
    found = covariances / np.outer(known, known)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)

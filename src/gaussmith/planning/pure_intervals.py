"""Intervals from pure noise: how many standard errors wide they are, by the law of the very combination of noise.

Whoever asks for intervals says how sure they must be by the width of the normal law (`planning.error_distribution`).
Here that becomes the width of another law at the same confidence:

    linear answers    the half-width of their own combination of noise: exact; whole where noise and factors are whole
    means             the pivot N − ρ·D at each ρ: exact; the interval ends where ρ is just accepted
    other ratios      the widest combination of as many numbers as the answer is made of: never too narrow
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gaussmith.noise.combinations import half_width
from gaussmith.noise.law import Law
from gaussmith.numerics.exact import Array
from gaussmith.statistics.mean import Means
from gaussmith.statistics.statistic import Noisy, Statistic, combined_rows

COARSE = 1 << 20
"""Below this sensitivity the lattice shows in intervals, so that factors are not scaled."""

MOST_TOGETHER = 5
"""Of more numbers the widest combination is hardly wider."""

UP = 1 + 2.0**-48
"""More than doubles lose where a half-width is written in standard errors and read again: it still reaches its end."""

RATIOS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Where the width of a pivot is computed: ρ·D over N in size, or N over ρ·D."""


def confidence_of(width: float) -> float:
    """How sure an interval of the normal law is, so many standard errors wide to either side.

    >>> round(confidence_of(1.959964), 6)
    0.95
    """
    return math.erf(width / math.sqrt(2))


def law_width(law: Law, factors: Sequence[float], level: float, copies: int = 1) -> float:
    """The half-width of Σ factors · noise, of numbers drawn together, in its standard deviations.

    `copies` independent ones are added up, as for groups.
    """
    sizes = sorted((abs(float(a)) for a in factors if a), reverse=True)
    if not sizes:
        return 0.0
    if law.sensitivity >= COARSE:  # only their ratios matter
        sizes = [float(f"{a / sizes[0]:.9g}") for a in sizes]
    return _law_width(law, tuple(sizes), level, copies)


@lru_cache(maxsize=4096)
def _law_width(law: Law, sizes: tuple[float, ...], level: float, copies: int) -> float:
    deviation = math.sqrt(copies * law.variance * sum(a * a for a in sizes))
    return half_width([(law, sizes)] * copies, level).half / deviation * UP


def widest(law: Law, level: float, numbers: int) -> float:
    """The largest such width of up to so many numbers that are drawn together."""
    most = max(1, min(numbers, law.numbers, MOST_TOGETHER))
    return max(law_width(law, [1.0] * k, level) for k in range(1, most + 1))


def pure_intervals(
    statistic: Statistic, noisy: Noisy, law: Law, width: float, method: str, copies: int = 1
) -> tuple[Array, Array]:
    """Ends of the intervals of a statistic that is as sure as `width` is by the normal law."""
    level = confidence_of(width)
    if statistic.fraction(0) is not None and not statistic.divided:
        low, high = statistic.intervals(noisy, _linear_widths(statistic, noisy, law, level, copies), method)
        return (low, high) if law.sensitivity >= COARSE else (_whole(low), _whole(high))
    if isinstance(statistic, Means) and method == "fieller" and copies == 1:
        return _means(statistic, noisy, law, level)
    return statistic.intervals(noisy, widest(law, level, statistic.places.shape[1]), method)


def _whole(ends: Array) -> Array:
    """Ends without what doubles lost where they are whole."""
    nearest = np.rint(ends)
    return np.where(np.abs(ends - nearest) <= 1e-10 * np.maximum(1.0, np.abs(nearest)), nearest, ends)


def _linear_widths(statistic: Statistic, noisy: Noisy, law: Law, level: float, copies: int) -> Array:
    """Of each answer its own; those with the same factors are looked up once."""
    rows = noisy.rows.as_bordered()
    places = statistic.places
    if rows is not None and tuple(statistic.coefficients) == (1.0,) and (places >= 0).all():
        at = places[:, 0]
        pairs = np.column_stack([rows.inner[at], rows.border[at]])
        distinct, which = np.unique(np.abs(pairs), axis=0, return_inverse=True)
        found = np.array([law_width(law, pair.tolist(), level, copies) for pair in distinct])
        return np.asarray(found[which.ravel()])
    dense = combined_rows(statistic, noisy, noisy.rows.dense())
    return np.array([law_width(law, row.tolist(), level, copies) for row in dense])


def _means(statistic: Means, noisy: Noisy, law: Law, level: float) -> tuple[Array, Array]:
    """{ρ : |N − ρ·D| ≤ the half-width of its noise}: the width at each end is that of the ρ which it accepts."""
    over, below = statistic.places.T
    sizes = np.sqrt(np.column_stack([noisy.variance(over), noisy.variance(below)]))
    table = np.array([law_width(law, [1.0, ratio] if ratio else [1.0], level) for ratio in RATIOS])
    alone = bool(np.all(noisy.covariance(over, below) == 0))
    start = float(table.max()) if alone else widest(law, level, law.numbers)
    low, high = statistic.intervals(noisy, start, "fieller")
    if not alone:
        return low, high
    for _ in range(3):
        low = statistic.intervals(noisy, _width_at(statistic, low, sizes, table), "fieller")[0]
        high = statistic.intervals(noisy, _width_at(statistic, high, sizes, table), "fieller")[1]
    return low, high


def _width_at(statistic: Means, ends: Array, sizes: Array, table: Array) -> Array:
    """The width of the pivot at these means, between those at known ratios."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.abs(np.nan_to_num(ends - statistic.middles, posinf=1e300, neginf=-1e300)) * sizes[:, 1] / sizes[:, 0]
        near = np.where(ratio > 1, 1 / ratio, ratio)
    return np.interp(near, RATIOS, table)

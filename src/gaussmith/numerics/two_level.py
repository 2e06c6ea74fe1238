"""The best shape for records that are symmetric in all coordinates: counts, votes, one cell of d.

Such a domain does not change when coordinates are swapped, so neither does its best shape:

    Σ = a₂² (I − 11ᵀ/d) + a₁² 11ᵀ/d,       total = a₁² + (d−1) a₂².

A difference s enters only by its *level*: its size t = ‖s‖² and its sum δ = |1ᵀs|, both integers. It is hidden when

    α/a₁² + β/a₂² ≤ 1,      α = δ²/d,   β = t − δ²/d,

and the dual asks for the point (α, β) in the convex hull of the levels with the largest √α + √((d−1)β), whose square
is the least possible total. The hull's outer edge is short enough to walk by hand, so there is nothing to iterate:
the optimum is one level or a mixture of two neighbouring ones. Where every record has the same sum, the number of
records is that sum over the sum of one; asking for it makes a₁² cost `along` > 1 times as much.

After the square roots are rounded, the constraint is checked in rational arithmetic at the levels where it can be
largest, and the excess (some 1e-16) is given away.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from gaussmith.errors import PlanError

Family = Literal["counts", "cells", "votes"]
Level = tuple[int, int]
"""(t, δ): the squared norm and the absolute sum of a difference."""


@dataclass(frozen=True)
class TwoLevel:
    """Standard deviations at μ = 1: `a1` along 11ᵀ/d and `a2` across it (0: no noise is needed there).

    Guarantee: α/a₁² + β/a₂² ≤ 1 at every level, for these doubles, in exact arithmetic; lower ≤ least total ≤ total.
    """

    family: Family
    dimension: int
    at_most: int
    neighbours: str
    a1: float
    a2: float
    lower: float
    along: float = 1.0
    law: tuple[tuple[Level, float], ...] = ()
    """The levels of the worst mixture of differences, and their shares: what proves `lower`."""

    @property
    def total(self) -> float:
        """along · a₁² + (d−1) a₂², rounded up."""
        return (self.along * self.a1**2 + (self.dimension - 1) * self.a2**2) * (1.0 + 2.0**-50)

    @property
    def variance(self) -> float:
        """The variance of one coordinate: total / d."""
        return self.total / self.dimension

    def lift(self) -> tuple[float, float]:
        """(diagonal, offset) of a lift A = diagonal·I + offset·11ᵀ with ‖A s‖ ≤ 1 for every difference, exactly.

            ‖A s‖² = diagonal² (t − δ²/d) + (diagonal + d·offset)² δ²/d

        Its inverse on the range of Σ decodes: A⁻¹ = (1/diagonal)(I − 11ᵀ/d) + 11ᵀ/d /(diagonal + d·offset), the last
        term left out when a1 = 0.

        >>> counts(4, 4, "add-remove").lift()[0] < 1
        True
        """
        d = self.dimension
        across = 1.0 / self.a2 if self.a2 else 0.0
        offset = ((1.0 / self.a1 if self.a1 else 0.0) - across) / d
        if d == 1:
            across, offset = 1.0 / self.a1, 0.0
        while True:
            x, y = (Fraction(across) + d * Fraction(offset)) ** 2, Fraction(across) ** 2
            worst = largest_cost(self.family, d, self.at_most, self.neighbours, x, y)
            if worst <= 1:
                return across, offset
            shrink = 1.0 / (math.sqrt(worst) * (1.0 + 2.0**-51))
            across, offset = across * shrink, offset * shrink


def counts(dimension: int, at_most: int, neighbours: str) -> TwoLevel:
    """The optimal shape for records in {0,1}^d with at most k ones; its total is rounded up.

    add-remove: the differences have j ≤ k ones: t = δ = j.
    replace-one: p ones and q minus ones, p, q ≤ k, p + q ≤ d: t = p+q, δ = |p−q|.

    Guarantee: as `TwoLevel`. Requires (checked): 1 ≤ k ≤ d.
    Exactly λ_k = (k/d)(√k + √((d−k)(d−1)))² as long as k ≤ (d+√d)/2 under add-remove; for every k the optimum.

    >>> round(counts(10, 10, "add-remove").total, 6), round(counts(10, 6, "replace-one").total, 6)
    (43.076923, 98.557551)
    """
    _check(dimension, neighbours, fixed=False)
    if not 1 <= at_most <= dimension:
        raise PlanError(
            f"at_most={at_most}",
            f"it must lie between 1 and dimension={dimension}",
            "give the largest number of ones in a record",
            code="at-most-out-of-range",
            at_most=at_most,
            dimension=dimension,
        )
    d, k = dimension, at_most
    if neighbours == "add-remove":
        # √λ_j rises up to j = (d+√d)/2 and falls beyond; the levels are in convex position: only those beside it mix.
        top = min(k, (d + math.isqrt(d)) // 2)
        chain = [(j, j) for j in range(max(1, top - 1), min(k, top + 2) + 1)]
    else:
        chain = replaced_counts(d, k)
    return _best("counts", d, k, neighbours, chain)


def cells(dimension: int, neighbours: str, along: float = 1.0) -> TwoLevel:
    """The optimal shape for records that fall into exactly one of d cells; its total is rounded up.

    With the number of records among the answers, along = 1 + d.

    >>> cells(5, "add-remove").total, round(cells(5, "replace-one").total, 9)
    (5.000000000000004, 8.0)
    """
    _check(dimension, neighbours)
    chain = [(1, 1)] if neighbours == "add-remove" else [(2, 0)]
    return _best("cells", dimension, 1, neighbours, chain, along)


def votes(dimension: int, neighbours: str, along: float = 1.0) -> TwoLevel:
    """The optimal shape for records that are permutations of 0 … d−1; its total is rounded up.

    Every record has the same sum, so replacing one moves nothing along 1: a₁ = 0, a₂² = d(d²−1)/3.
    With the number of records among the answers, along = 1 + d/(d(d−1)/2)².

    >>> round(votes(3, "add-remove").total, 6), round(votes(4, "replace-one").total, 6)
    (13.928203, 60.0)
    """
    _check(dimension, neighbours)
    if dimension < 2:
        what, rule = f"dimension={dimension}", "one candidate can only be ranked first"
        raise PlanError(what, rule, "use at least two", code="ranking-of-one-candidate", dimension=dimension)
    return _best("votes", dimension, dimension, neighbours, [_vote_level(dimension, neighbours)], along)


def _check(dimension: int, neighbours: str, fixed: bool = True) -> None:
    """`fixed`: all records have the same sum, so that with one coordinate replacing a record changes nothing."""
    if neighbours not in ("add-remove", "replace-one"):
        what, rule = f"neighbours={neighbours!r}", "it must be 'add-remove' or 'replace-one'"
        raise PlanError(what, rule, "choose one of the two", code="neighbours-not-one-of-two", neighbours=neighbours)
    if dimension < 1 or (dimension == 1 and fixed and neighbours == "replace-one"):
        rule, remedy = "something must be able to change", "use at least two coordinates"
        raise PlanError(f"dimension={dimension}", rule, remedy, code="dimension-without-change", dimension=dimension)


def _vote_level(d: int, neighbours: str) -> Level:
    if neighbours == "add-remove":
        return (d - 1) * d * (2 * d - 1) // 6, d * (d - 1) // 2
    return d * (d * d - 1) // 3, 0  # a reversed ranking


def replaced_counts(d: int, k: int) -> list[Level]:
    """The outer edge of the levels of replaced counts, by growing δ.

    For given δ the largest size is t = min(2k−δ, d or d−1, whichever has δ's parity). Where 2k−δ rules, β is convex in
    α, so that only its two ends are on the hull; before that the levels with t = d lie on one straight line.
    """
    if 2 * k <= d:
        return [(2 * k, 0), (k, k)]
    return [(d, d % 2), (d, 2 * k - d), (k, k)]


def _best(family: Family, d: int, k: int, neighbours: str, chain: list[Level], along: float = 1.0) -> TwoLevel:
    """The largest √(along·α) + √((d−1)β) on a polygonal chain of levels, then a₁, a₂ rounded to the safe side."""
    points = [(delta * delta / d, (t * d - delta * delta) / d) for t, delta in chain]
    laws: list[tuple[tuple[Level, float], ...]] = [((level, 1.0),) for level in chain]
    for i, ((alpha0, beta0), (alpha1, beta1)) in enumerate(itertools.pairwise(points)):
        step_a, step_b = alpha1 - alpha0, beta1 - beta0
        if step_a > 0 > step_b:
            # Stationary where dα/√α = √(d−1)·|dβ|/√β; squared, this is linear in the mixture.
            slope = step_a * step_a * step_b - (d - 1) * step_b * step_b * step_a
            mix = min(1.0, max(0.0, ((d - 1) * step_b * step_b * alpha0 - step_a * step_a * beta0) / slope))
            laws.append(((chain[i], 1.0 - mix), (chain[i + 1], mix)))

    def moments(law: tuple[tuple[Level, float], ...]) -> tuple[float, float]:
        alpha = sum(share * delta * delta / d for (_, delta), share in law)
        return alpha, sum(share * (t * d - delta * delta) / d for (t, delta), share in law)

    def root_of(law: tuple[tuple[Level, float], ...]) -> float:
        alpha, beta = moments(law)
        return math.sqrt(along * alpha) + math.sqrt((d - 1) * beta)

    law = max(laws, key=root_of)
    alpha, beta = moments(law)
    root = root_of(law)
    a1 = math.sqrt(root * math.sqrt(alpha / along))
    a2 = math.sqrt(root * math.sqrt(beta / (d - 1))) if d > 1 else 0.0
    while True:
        x = 1 / Fraction(a1) ** 2 if a1 else Fraction(0)
        y = 1 / Fraction(a2) ** 2 if a2 else Fraction(0)
        worst = largest_cost(family, d, k, neighbours, x, y)
        if worst <= 1:
            law = tuple((level, share) for level, share in law if share)
            return TwoLevel(family, d, k, neighbours, a1, a2, root * root * (1.0 - 2.0**-46), along, law)
        grow = math.sqrt(worst) * (1.0 + 2.0**-51)
        a1, a2 = a1 * grow, a2 * grow


def largest_cost(family: Family, d: int, k: int, neighbours: str, x: Fraction, y: Fraction) -> Fraction:
    """max over all levels of (δ²/d) x + (t − δ²/d) y, exactly."""
    if family == "cells":
        levels = [(1, 1)] if neighbours == "add-remove" else [(2, 0)]
    elif family == "votes":
        levels = [_vote_level(d, neighbours)]
    elif neighbours == "add-remove":
        # j y + j²(x−y)/d: a parabola in j, largest at j = k or, if it bends down, beside its top.
        levels = [(k, k)]
        if x < y:
            top = min(k, math.floor(d * y / (2 * (y - x))))
            levels += [(j, j) for j in (top, top + 1) if 1 <= j <= k]
    else:
        # Linear in (α, β), so largest at a corner of the hull.
        levels = replaced_counts(d, k)
    return max(Fraction(delta * delta, d) * x + Fraction(t * d - delta * delta, d) * y for t, delta in levels)

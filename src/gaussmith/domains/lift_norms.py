"""Largest norms of lifted differences that several domains share, all rounded up."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import sqrt_upward, sum_squares_upward
from gaussmith.numerics.linear import Array, Dense, Diagonal, Exchangeable, Matrix, exact_entries
from gaussmith.numerics.norms import largest_distance, largest_norm

MAX_LISTED = 1 << 12
"""Limit on the extreme records that are visited to certify a dense lift."""

Level = tuple[Fraction, Fraction, int]
"""(t, δ, τ): a difference's squared norm, its sum, and its change of the number of records."""


def check_lift(lift: Matrix, width: int, neighbours: str) -> bool:
    """Whether the lift takes the number of records too; refuses one that does not fit."""
    counted = lift.shape[1] == width + 1
    if lift.shape[1] != width and not (counted and neighbours == ADD_REMOVE):
        what, rule, remedy = f"a lift of {lift.shape[1]} columns", f"the domain has {width} coordinates", "plan again"
        raise PlanError(what, rule, remedy, code="lift-does-not-match-domain", columns=lift.shape[1], coordinates=width)
    return counted


def largest_level(lift: Exchangeable, levels: Iterable[Level]) -> float:
    """The largest norm over differences known by their levels, in exact arithmetic, then rounded up.

    inner² t + 2 inner δ (shared δ + border τ) + d (shared δ + border τ)² + (tail₀ δ + tail₁ τ)²
    """
    a, b, c, e, f = exact_numbers(lift)
    squares = []
    for t, delta, tau in levels:
        rest = b * delta + c * tau
        squares.append(a * a * t + 2 * a * delta * rest + lift.size * rest * rest + (e * delta + f * tau) ** 2)
    return sqrt_upward(max(squares))


def exact_numbers(lift: Exchangeable) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
    """inner, shared, border, tail₀ and tail₁; without a border there is no last column, and tail₁ meets nothing."""
    first, last = lift.tail or (0.0, 0.0)
    border, last = (0.0, 0.0) if lift.border is None else (lift.border, last)
    return Fraction(lift.inner), Fraction(lift.shared), Fraction(border), Fraction(first), Fraction(last)


def largest_few(lift: Diagonal, reach: Array, at_most: int) -> float:
    """√ of the sum of the k largest (entry · reach)², and of the last entry's where there is one more; rounded up."""
    products = np.nextafter(np.abs(lift.entries[: len(reach)]) * reach, np.inf)
    k = min(at_most, len(products))
    largest = np.partition(products, len(products) - k)[len(products) - k :]
    return sqrt_upward(sum_squares_upward(np.append(largest, lift.entries[len(reach) :])))


def largest_listed(lift: Matrix, records: Array | None, neighbours: str) -> float:
    """The largest norm over the differences of listed records, every one of them visited; rounded up."""
    if records is None:
        what, rule = "a dense lift over many records", f"at most {MAX_LISTED} can be visited"
        raise PlanError(what, rule, "use a closed form", code="too-many-records-for-dense-lift")
    matrix = exact_entries(lift)
    if neighbours != ADD_REMOVE:
        return largest_distance(matrix, records)
    if matrix.shape[1] > records.shape[1]:
        records = np.hstack([records, np.ones((len(records), 1))])
    return largest_norm(matrix, records)


def without_count(lift: Matrix, width: int) -> Matrix:
    """The part of a lift that sees a record's coordinates, not the number of records."""
    if lift.shape[1] == width:
        return lift
    if isinstance(lift, Exchangeable):
        return Exchangeable(lift.size, lift.inner, lift.shared, None, lift.tail)
    return Diagonal(lift.entries[:width]) if isinstance(lift, Diagonal) else Dense(exact_entries(lift)[:, :width])

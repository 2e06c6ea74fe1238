"""Largest norms of lifted differences, shared by several domains, all rounded up."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import norm_upward, sqrt_upward
from gaussmith.numerics.linear import Array, Diagonal, Exchangeable, Matrix
from gaussmith.numerics.norms import largest_distance, largest_norm

MAX_LISTED = 1 << 12
"""Limit on the extreme records checked to certify a dense lift."""

Level = tuple[Fraction, Fraction, int]
"""(t, δ, τ): the squared norm of a difference, its sum, and its change in the number of records."""


def check_lift(lift: Matrix, width: int, neighbours: str) -> bool:
    """Whether the lift also covers the number of records; refuses a lift that does not fit."""
    counted = lift.shape[1] == width + 1
    if lift.shape[1] != width and not (counted and neighbours == ADD_REMOVE):
        raise PlanError(f"a lift of {lift.shape[1]} columns", f"the domain has {width} coordinates", "plan again")
    return counted


def largest_level(lift: Exchangeable, levels: Iterable[Level]) -> float:
    """The largest norm over differences given by their levels, in exact arithmetic, then rounded up.

    inner² t + 2 inner δ (shared δ + border τ) + d (shared δ + border τ)² + (tail₀ δ + tail₁ τ)²
    """
    a, b, c, e, f = exact_numbers(lift)
    squares = []
    for t, delta, tau in levels:
        rest = b * delta + c * tau
        squares.append(a * a * t + 2 * a * delta * rest + lift.size * rest * rest + (e * delta + f * tau) ** 2)
    return sqrt_upward(max(squares))


def exact_numbers(lift: Exchangeable) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
    """inner, shared, border, tail₀ and tail₁; without a border there is no last column, and tail₁ is unused."""
    first, last = lift.tail or (0.0, 0.0)
    border, last = (0.0, 0.0) if lift.border is None else (lift.border, last)
    return Fraction(lift.inner), Fraction(lift.shared), Fraction(border), Fraction(first), Fraction(last)


def largest_few(lift: Diagonal, reach: Array, at_most: int) -> float:
    """√ of the sum of the k largest (entry · reach)², plus the last entry's square if there is one; rounded up."""
    products = np.nextafter(np.abs(lift.entries[: len(reach)]) * reach, np.inf)
    k = min(at_most, len(products))
    largest = np.partition(products, len(products) - k)[len(products) - k :]
    return norm_upward(np.append(largest, lift.entries[len(reach) :]))


def largest_listed(matrix: Array, records: Array | None, neighbours: str) -> float:
    """The largest norm over the differences of listed records, every one of them visited; rounded up."""
    if records is None:
        raise PlanError("a dense lift over many records", f"at most {MAX_LISTED} can be visited", "use a closed form")
    if neighbours != ADD_REMOVE:
        return largest_distance(matrix, records)
    if matrix.shape[1] > records.shape[1]:
        records = np.hstack([records, np.ones((len(records), 1))])
    return largest_norm(matrix, records)


def without_count(lift: Matrix, width: int) -> Matrix:
    """The part of a lift that sees a record's coordinates, not the number of records."""
    return lift if lift.shape[1] == width else lift.without_last()

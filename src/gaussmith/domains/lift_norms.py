"""Largest norms of lifted differences, shared by several domains, all rounded up."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import norm_upward, sqrt_upward
from gaussmith.numerics.linear import Array, Diagonal, Exchangeable, Matrix
from gaussmith.numerics.norms import largest_distance, largest_norm, longest_row

if TYPE_CHECKING:
    from gaussmith.numerics.factored import Factored

MAX_LISTED = 1 << 12
"""Limit on the extreme records checked to certify a dense lift."""

Level = tuple[Fraction, Fraction, int]
"""(t, δ, τ): the squared norm of a difference, its sum, and its change in the number of records."""


def check_lift(lift: Matrix, width: int, neighbours: str) -> bool:
    """Whether the lift also covers the number of records; refuses a lift that does not fit."""
    counted = lift.shape[1] == width + 1
    if not (counted and neighbours == ADD_REMOVE):
        check_columns(lift, width)
    return counted


def check_columns(lift: Matrix, width: int) -> None:
    """Refuse a lift that has another number of columns."""
    if lift.shape[1] != width:
        what, rule, remedy = f"a lift of {lift.shape[1]} columns", f"the domain has {width} coordinates", "plan again"
        raise PlanError(what, rule, remedy, code="lift-does-not-match-domain", columns=lift.shape[1], coordinates=width)


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
        what, rule = "a dense lift over many records", f"at most {MAX_LISTED} can be visited"
        raise PlanError(what, rule, "use a closed form", code="too-many-records-for-dense-lift")
    if neighbours != ADD_REMOVE:
        return largest_distance(matrix, records)
    if matrix.shape[1] > records.shape[1]:
        records = np.hstack([records, np.ones((len(records), 1))])
    return largest_norm(matrix, records)


def largest_vertex(lift: Factored, bounds: Array, fixed: bool) -> float:
    """max ‖lift·s‖ over the box |s_j| ≤ bounds_j (the last coordinate being its bound if `fixed`), rounded up.

    A norm is convex, so it is largest at a vertex of what the box becomes in the lift's inner numbers. All vertices are
    visited; which signs they have rests on `inner` alone and is found exactly. Guarantee: at least the exact maximum
    for these doubles. Rounding: above it by some d·2⁻⁵⁰ of the sum of what all columns add.
    """
    from gaussmith.numerics.zonotopes import find_vertices

    free = len(bounds) - fixed
    steps = np.abs(lift.columns) * bounds
    size = np.abs(lift.left) @ (np.abs(lift.inner) @ steps)  # at least each row's part, at every vertex
    doubt = 8.0 * (sum(lift.inner.shape) + 8) * 2.0**-53 * size + len(bounds) * float(np.finfo(float).tiny)
    vertices = find_vertices(lift.inner[:, :free])
    K = vertices.gathered(lift.inner[:, :free] * steps[:free])
    middle = lift.left @ (lift.inner[:, -1] * steps[-1]) if fixed else np.zeros(len(lift.left))
    found = 0.0
    for block in vertices.blocks():
        Y = (block @ K.T) @ lift.left.T
        for signed in (Y, -Y) if fixed else (Y,):
            found = max(found, longest_row(np.abs(signed + middle) + doubt))
    return found


def without_count(lift: Matrix, width: int) -> Matrix:
    """The part of a lift that sees a record's coordinates, not the number of records."""
    return lift if lift.shape[1] == width else lift.without_last()

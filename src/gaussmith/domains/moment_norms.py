"""The largest norm of lifted moments, rounded up: the number on which their privacy depends.

Rows of a lift are of three kinds: over one value, over one product of two columns, or over squares and the number of
records. Then the squared norm is a function of y_j = z_j² alone,

    Σ a_j y_j + Σ b_ij y_i y_j + ‖R(y, 1)‖²,

linear or convex in each y_j while the others are fixed: its maximum over [0, 1]^d is at a vertex. Other lifts are
refused. The records that are coded are points of this set, so the bound holds for the integers too.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gaussmith.domains.moment_codes import Pairs
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import norm_upward, sqrt_downward, sqrt_upward
from gaussmith.numerics.linear import Array
from gaussmith.numerics.norms import largest_norm
from gaussmith.values import dataclass

MAX_VERTICES = 1 << 12
"""Limit on the vertices that are visited; beyond it they are bounded by the number of their ones."""


def largest_moment(lift: Array, columns: int, pairs: Pairs, extent: Array) -> float:
    """max ‖lift · (z, products, 1)‖ over |z_j| ≤ 1 in units of `extent`, at least the true value."""
    _check_kinds(lift, columns, pairs)
    if 2**columns <= MAX_VERTICES:
        y = np.array([[(v >> j) & 1 for j in range(columns)] for v in range(2**columns)], float).reshape(-1, columns)
        points = np.hstack([y, *(y[:, [i]] * y[:, [j]] for i, j in pairs)]) * extent
        return largest_norm(lift, np.hstack([points, np.ones((len(y), 1))]))
    return _by_levels(lift, columns, pairs, extent)


def _by_levels(lift: Array, columns: int, pairs: Pairs, extent: Array) -> float:
    """The same by the number k of ones, for lifts that treat all columns nearly alike; never too small for others.

    With R the rows over squares and the number, R̄ one that does not change when columns are swapped, and R − R̄ of norm
    e at most, ‖R(y, 1)‖ ≤ ‖R̄(y, 1)‖ + e·√(q + 1). The rest is at most its largest entry times what k ones make of it.
    """
    square = [columns + at for at, (i, j) in enumerate(pairs) if i == j]
    crossed = [columns + at for at, (i, j) in enumerate(pairs) if i != j]
    a, b = (_largest_square(lift, at, extent) for at in (list(range(columns)), crossed))
    inside = [*square, lift.shape[1] - 1]
    R = lift[lift[:, inside].any(axis=1)][:, inside] * np.append(extent[square], 1.0)
    alike = _Alike.nearest(R)
    doubt = np.abs(R - alike.matrix(R.shape)) + np.abs(R) * 2.0**-50  # R̄ is a projection: this covers 4 roundings
    e = Fraction(norm_upward(doubt)) * Fraction(sqrt_upward(float(len(inside))))
    found = Fraction(0)
    for k in range(columns + 1):
        head = Fraction(sqrt_upward(alike.square(min(k, len(square)), len(square)))) + e
        found = max(found, k * a + min(k * (k - 1) // 2, len(crossed)) * b + head * head)
    return sqrt_upward(found)


def _largest_square(lift: Array, at: list[int], extent: Array) -> Fraction:
    """The largest squared norm of these columns, in units; rounded up."""
    reach = np.where(lift[:, at] == 0, 0.0, np.nextafter(np.abs(lift[:, at]) * extent[at], np.inf))
    return max((Fraction(norm_upward(column)) ** 2 for column in reach.T), default=Fraction(0))


@dataclass(frozen=True)
class _Alike:
    """A block that does not change when squares are swapped: q rows, and one more that sees Σy and the number."""

    own: float = 0.0
    shared: float = 0.0
    border: float = 0.0
    tail: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def nearest(cls, R: Array) -> _Alike:
        """The one nearest to a block; that of zeros where the block has another form."""
        q = R.shape[1] - 1
        if len(R) not in (q, q + 1) or not q:
            return cls()
        top = R[:q, :q]
        shared = float(top[~np.eye(q, dtype=bool)].mean()) if q > 1 else 0.0
        tail = (float(R[q, :q].mean()), float(R[q, q])) if len(R) > q else (0.0, 0.0)
        return cls(float(np.diag(top).mean()) - shared, shared, float(R[:q, q].mean()), tail)

    def matrix(self, shape: tuple[int, ...]) -> Array:
        rows, width = shape
        q, found = width - 1, np.zeros(shape)
        if rows in (q, q + 1) and q:
            found[:q, :q] = self.shared
            found[np.arange(q), np.arange(q)] = float(self.own + self.shared)
            found[:q, q] = self.border
            if rows > q:
                found[q, :q], found[q, q] = self.tail
        return found

    def square(self, k: int, q: int) -> Fraction:
        """Its squared norm with k ones among q squares, of the doubles in `matrix`."""
        own, shared, border = Fraction(self.own + self.shared), Fraction(self.shared), Fraction(self.border)
        at_ones = own + shared * (k - 1) + border
        last = Fraction(self.tail[0]) * k + Fraction(self.tail[1])
        return k * at_ones**2 + (q - k) * (shared * k + border) ** 2 + last**2


def _check_kinds(lift: Array, columns: int, pairs: Pairs) -> None:
    """Refuse a lift with a row that sees what changes its sign together with anything else."""
    odd = [*range(columns)] + [columns + at for at, (i, j) in enumerate(pairs) if i != j]
    seen = lift[:, odd] != 0
    even = np.delete(lift, odd, axis=1) != 0
    if (seen.sum(axis=1) > 1).any() or (seen.any(axis=1) & even.any(axis=1)).any():
        raise PlanError(
            "a lift of moments that mixes values and squares",
            "each row sees one value, one product of two columns, or squares and the number of records",
            "plan again",
            code="lift-of-moments-mixes-signs",
        )


def largest_replaced(lift: Array, columns: int, pairs: Pairs, extent: Array) -> float:
    """max ‖lift · (s − s′)‖ over two records, at least the true value; the lift does not see the number of records."""
    _check_kinds(lift, columns, pairs)
    if columns == 1:
        return _largest_of_one(lift, bool(pairs), extent)
    return _twice_from_middle(lift, columns, pairs, extent)


def _largest_of_one(lift: Array, squared: bool, extent: Array) -> float:
    """Of one column, exactly: a t² + b t²(2 − t)², t = |z − z′| in [0, 2], is largest at 2 or at the smaller root of
    t² − 3t + 2 + a/2b = 0 (docs/theory.md, 48)."""
    a = Fraction(norm_upward(np.nextafter(np.abs(lift[:, 0]) * extent[0], np.inf))) ** 2
    b = Fraction(norm_upward(np.nextafter(np.abs(lift[:, 1]) * extent[1], np.inf))) ** 2 if squared else Fraction(0)

    def size(t: Fraction) -> Fraction:
        return a * t * t + b * t * t * (2 - t) ** 2

    found = size(Fraction(2))
    if 2 * a <= b:  # a is above 0, as it is rounded up: so is b
        inner = 1 - 2 * a / b
        low, high = ((3 - Fraction(root(inner))) / 2 for root in (sqrt_upward, sqrt_downward))
        found = max(found, size(low) + (4 * a + 16 * b) * (high - low))  # the slope is 4a + 16b at most
    return sqrt_upward(found)


def _twice_from_middle(lift: Array, columns: int, pairs: Pairs, extent: Array) -> float:
    """2 max ‖lift · s − middle‖: no two records are farther apart. The middle has all squares at one share c."""
    square = [columns + at for at, (i, j) in enumerate(pairs) if i == j]
    middle = (lift[:, square] * extent[square]).sum(axis=1)

    def from_middle(share: float) -> float:
        return largest_moment(np.column_stack([lift, -share * middle]), columns, pairs, extent)

    low, high = 0.0, 1.0
    for _ in range(30):  # the bound holds for any share: the search only makes it small
        first, second = low + (high - low) * 0.382, low + (high - low) * 0.618
        if from_middle(first) < from_middle(second):
            high = second
        else:
            low = first
    return 2.0 * from_middle((low + high) / 2)

"""Largest norms hold at any scale: products that fall below the smallest double are given away, not lost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gaussmith.numerics.norms import largest_distance, largest_norm, longest_row, widest_pair

SCALES = [1e-300, 1e-170, 1e-158, 1e-155, 1e-100, 1.0, 1e100]


@pytest.mark.parametrize("scale", SCALES)
def test_no_bound_is_below_the_true_value(scale: float) -> None:
    lift = np.array([[scale, 2 * scale], [0.0, scale]])
    points = np.array([[1.0, 1.0], [1.0, -1.0]])
    rows = [[sum(Fraction(a) * Fraction(x) for a, x in zip(row, s, strict=True)) for row in lift] for s in points]
    norm = max(sum(y * y for y in row) for row in rows)
    apart = sum((a - b) ** 2 for a, b in zip(*rows, strict=True))
    assert Fraction(largest_norm(lift, points)) ** 2 >= norm
    assert Fraction(largest_distance(lift, points)) ** 2 >= apart
    written = np.array([[float(y) for y in row] for row in rows])
    assert Fraction(longest_row(written)) ** 2 >= max(sum(Fraction(y) ** 2 for y in row) for row in written)
    assert Fraction(widest_pair(written)) ** 2 >= sum(Fraction(a - b) ** 2 for a, b in zip(*written, strict=True))


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_at_ordinary_scales_little_is_given_away(scale: float) -> None:
    assert largest_norm(scale * np.eye(2), np.array([[3.0, 4.0]])) == pytest.approx(5 * scale, rel=1e-12)
    assert largest_distance(scale * np.eye(2), np.array([[3.0, 4.0], [0.0, 0.0]])) == pytest.approx(
        5 * scale, rel=1e-11
    )

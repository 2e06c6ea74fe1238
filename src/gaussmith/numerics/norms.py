"""The largest norm of lifted differences, rounded up: the number on which privacy depends."""

from __future__ import annotations

import math

import numpy as np

from gaussmith.numerics.exact import Array

_UNIT = 2.0**-53
_TINY = float(np.finfo(float).tiny)
"""More than any product loses that falls below the smallest normal double."""

_CHUNK = 1 << 22


def largest_norm(lift: Array, points: Array) -> float:
    """max_i ‖lift·s_i‖ over the rows s_i of `points`, never below the true value of these doubles.

        ‖A s‖ ≤ ‖ |fl(A s)| + γ |A||s| ‖ · (1 + few roundings),      γ = 2k·2⁻⁵³

    Guarantee: at least the exact maximum in real arithmetic, for any order of summation and with or without fused
    multiply-add, however small the numbers. Requires (owed): finite doubles.
    Rounding: above the true value by a relative 1e-13 or so for ordinary scales.

    >>> largest_norm(np.eye(2), np.array([[3.0, 4.0], [1.0, 0.0]])) >= 5.0
    True
    """
    m, k = lift.shape
    gamma = 2.0 * (k + 2) * _UNIT
    tiny = k * _TINY
    size = np.abs(lift).T
    rows = max(1, _CHUNK // max(1, m))
    largest = 0.0
    for start in range(0, len(points), rows):
        block = points[start : start + rows]
        reach = np.abs(block @ lift.T)
        reach += gamma * (np.abs(block) @ size) + tiny
        found = float(np.einsum("ij,ij->i", reach, reach).max())
        if not math.isfinite(found):  # checked per block: a maximum with NaN would lose it
            return math.inf
        largest = max(largest, found)
    return math.sqrt(largest * (1.0 + 2.0 * (m + 8) * _UNIT) + m * _TINY) * (1.0 + 4.0 * _UNIT)


def largest_distance(lift: Array, points: Array) -> float:
    """max_{i<j} ‖lift·(x_i − x_j)‖ over the rows of `points`, never below the true value of these doubles.

        ‖A x_i − A x_j‖² ≤ (g_i + g_j − 2G_ij + rounding),      G the Gram matrix of the lifted, centred points

    Guarantee and rounding as `largest_norm`; above the true value by some 1e-12 of the largest lifted norm.

    >>> largest_distance(np.eye(2), np.array([[3.0, 4.0], [0.0, 0.0]])) >= 5.0
    True
    """
    k = lift.shape[1]
    Y = points @ lift.T
    doubt = 2.0 * (k + 2) * _UNIT * (np.abs(points) @ np.abs(lift).T) + k * _TINY
    return _widest(Y, doubt + 4.0 * _UNIT * np.abs(Y))


def longest_row(points: Array) -> float:
    """The largest norm of a row, never below the true value of these doubles.

    >>> longest_row(np.array([[3.0, 4.0], [1.0, 0.0]])) >= 5.0
    True
    """
    largest = float(np.einsum("ij,ij->i", points, points).max())
    if not math.isfinite(largest):
        return math.inf
    slack = 1.0 + 2.0 * (points.shape[1] + 8) * _UNIT
    return math.sqrt(largest * slack + points.shape[1] * _TINY) * (1.0 + 4.0 * _UNIT)


def widest_pair(points: Array) -> float:
    """The largest distance of two rows, never below the true value of these doubles.

    >>> widest_pair(np.array([[3.0, 4.0], [0.0, 0.0]])) >= 5.0
    True
    """
    return _widest(points, np.zeros((1, points.shape[1])))


def _widest(Y: Array, doubt: Array) -> float:
    """The largest distance of two rows that are known up to `doubt`."""
    n, m = Y.shape
    centre = Y.mean(axis=0)
    Y = Y - centre  # the same for all, however it rounds
    doubt = doubt + 4.0 * _UNIT * np.abs(Y)
    blur = float(np.sqrt(np.einsum("ij,ij->i", doubt, doubt) + m * _TINY).max()) * (1.0 + 4.0 * (m + 8) * _UNIT)
    g = np.einsum("ij,ij->i", Y, Y)
    error = 8.0 * (m + 8) * _UNIT * float(g.max()) + 4 * m * _TINY if n else 0.0
    largest = 0.0
    rows = max(1, _CHUNK // max(1, n))
    for start in range(0, n, rows):
        block = Y[start : start + rows]
        square = g[start : start + rows, None] + g[None, :] - 2.0 * (block @ Y.T)
        found = float(square.max())
        if not math.isfinite(found):
            return math.inf
        largest = max(largest, found)
    if not math.isfinite(largest + error + blur):
        return math.inf
    return float((math.sqrt(max(largest, 0.0) + error) + 2.0 * blur) * (1.0 + 8.0 * _UNIT))

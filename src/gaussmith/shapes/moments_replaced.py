"""The shape of values, squares and products where a record is replaced and the number of records is public.

Of one column the optimum is exact: a pair of records at the distance t = |z − z′| has squares that differ by t(2 − t)
at most, and a t² + b t²(2 − t)² ≤ 1 must hold for every t in [0, 2]. Of several columns no vertex argument holds: the
noise is twice that of records around a common middle, where the number of records costs nothing (docs/theory.md, 48).
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.linear import Array, Dense
from gaussmith.numerics.moments import Types, solve_types
from gaussmith.problem import Law, Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate
from gaussmith.shapes.moments import GAP, Lift, Worths, find_lift
from gaussmith.shapes.solved import check_lost

if TYPE_CHECKING:
    from gaussmith.domains import Moments

FREE = 1e-7
"""What the number of records is worth beside squares, where it is public: so little that it costs nothing."""

NEAR = math.sqrt(5) - 1
"""The distance of the second worst pair of records of one column, at equal weights."""

MAX_LISTED = 5
"""Limit on the columns for which all kinds of pairs are listed in the lower bound."""


def solved_replaced_moments(problem: Problem[Moments], gap: float | None = None) -> Candidate:
    """The noise of moments under replace-one, and a law on pairs of records that bounds any other."""
    domain = problem.domain
    W = problem.core_rows
    G = W.T @ W
    alone = np.diag(G).copy()
    squares = domain.squares
    alone[squares] = 0.0
    if domain.columns_count == 1:
        lift = _of_one(float(G[0, 0]), float(G[1, 1]) if len(squares) else 0.0)
    else:
        inside = G[np.ix_(squares, squares)]
        free = FREE * float(np.trace(inside)) if len(squares) else 1.0
        rows = np.zeros((len(W) + 1, len(squares) + 1))
        rows[:-1, :-1] = W[:, squares]
        rows[-1, -1] = math.sqrt(free)
        found, _ = find_lift(domain, Worths(alone, rows), GAP if gap is None else gap)
        lift = _without_number(domain, found)
    matrix = Dense(lift)
    norm = domain.largest(matrix, problem.neighbours)
    matrix = Dense(lift / norm)
    features = problem.rows * domain.coded[1]
    decode = features @ np.linalg.pinv(matrix.matrix, rcond=1e-13)
    check_lost(decode, decode @ matrix.matrix - features)
    shape = Shape("solved", matrix, Dense(decode), False, problem.coded_offsets)
    return Candidate(shape, _law(problem))


def _of_one(value: float, square: float) -> Array:
    """The best diagonal lift of one column, before it is scaled: least value/a + square/b over the ratio b/a."""
    if not square:
        return np.array([[1.0]])
    if not value:
        return np.array([[0.0, 1.0]])

    def total(log_ratio: float) -> float:
        b = math.exp(log_ratio)
        worst = 4.0
        if b >= 2:
            t = (3 - math.sqrt(1 - 2 / b)) / 2
            worst = max(worst, t * t * (1 + b * (2 - t) ** 2))
        return (value + square / b) * worst

    low, high = -20.0, 20.0
    for _ in range(120):
        first, second = low + (high - low) * 0.382, low + (high - low) * 0.618
        if total(first) < total(second):
            high = second
        else:
            low = first
    return np.diag([1.0, math.exp((low + high) / 4)])


def _without_number(domain: Moments, lift: Lift) -> Array:
    """The lift without the number of records, which moves the middle and is public."""
    asked = np.flatnonzero(lift.alone)
    q, block = len(domain.squares), lift.block
    if block[q:, :q].any() or len(block) > q + 1:  # the last row has to see the number alone
        block = np.linalg.qr(block)[1]
    block = block[:q, :-1]
    rows = np.zeros((len(asked) + len(block), domain.dimension))
    rows[np.arange(len(asked)), asked] = lift.alone[asked]
    rows[len(asked) :, domain.squares] = block
    return rows


def _law(problem: Problem[Moments]) -> Law:
    """A law on pairs of records: each column at both ends (0), at `NEAR` from one end (1), or the same in both (2)."""
    domain = problem.domain
    d = domain.columns_count
    if d <= MAX_LISTED:
        kinds = np.array(list(itertools.product((0, 1, 2), repeat=d)))[:-1]
    else:
        kinds = np.array([[0] * d, [1] * d, *([2 if i == j else 0 for i in range(d)] for j in range(d))])
    W = problem.core_rows
    moments = domain.pair_cores(kinds, NEAR)
    worth = (W * W).sum(axis=0)
    asked = np.flatnonzero(worth)
    # Signs of all numbers are independent, so that each has a root of its own.
    found = solve_types(Types(moments[:, asked] ** 2 * worth[asked], np.zeros((len(kinds), 0))), 1e-6)
    kept = found.weights > 1e-7
    numbers = {"pairs": kinds[kept].astype(float), "near": np.array([NEAR]), "weights": found.weights[kept]}
    return Law("moments", 0.0, numbers)

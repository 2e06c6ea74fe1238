"""The shape of values, squares and products: noise of their own for each value and each product of two columns, one
block of noise for all squares together with the number of records.

The best such noise is found over the records with z² in {0, 1}^d: all of them where columns weigh differently and there
are few, else by the number of ones alone, with weights that are the same for all columns (docs/theory.md, 46 and 47).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains.box_strategies import check_lost
from gaussmith.domains.domain import Problem
from gaussmith.domains.domain import WorstCase as DifferenceLaw
from gaussmith.domains.strategies import Candidate, Strategy
from gaussmith.errors import PlanError
from gaussmith.numerics.doubles import too_far
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Dense
from gaussmith.numerics.solver import SolverView, climb, products

if TYPE_CHECKING:
    from gaussmith.domains.moments import Moments


# The best noise for a record's number 1, its values, their squares and products, around the middle of a box.
#
# With z in [−1, 1]^d and y_j = z_j² a record is (z, z_i z_j, y, 1). Flips of signs keep the box, so the best noise is
# independent on every z_j, on every z_i z_j, and on the block (y, 1) as a whole. What it must hide then depends on y
# alone and is convex in each y_j: records with every y_j in {0, 1} are enough (docs/theory.md, 46). For a law on them
#
#     F = Σ_b √E u_b + tr (E v vᵀ)^½,      least total = max F²,
#
# u_b what a record adds to the independent coordinate b, squared and weighted, and v = B(y, 1) the weighted block.
# Where all columns weigh the same only the number of ones matters, and coordinates that are alike are one: `r` of
# them with the sum u of their squares add √(r E u).

MAX_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Types:
    """Kinds of records: `alone` has what each adds to coordinates with noise of their own, `block` the vectors v."""

    alone: Array
    block: Array


@dataclass(frozen=True, eq=False)
class MomentLaw:
    """The best law found on the kinds of records; `trace` is F and `gap` the relative distance to the optimum of F²."""

    weights: Array
    trace: float
    alone: Array
    """√E u_b."""
    roots: Array
    directions: Array
    """(E v vᵀ)^½ = directions · diag(roots) · directionsᵀ."""
    gap: float


def solve_types(types: Types, gap: float) -> MomentLaw:
    """The law on these kinds of records that no noise can go below, to a relative gap.

    Nothing here can harm privacy: the noise made from it is certified by the domain.

    >>> k = np.array([0.0, 1.0])                     # one column, all weights 1: (z², (z², 1)) at z² = 0 and 1
    >>> found = solve_types(Types(k[:, None], np.column_stack([k, np.ones(2)])), 1e-9)
    >>> round(found.trace**2, 6)
    6.4
    """
    count = len(types.block)
    state = {"rounds": 0, "gap": np.inf}
    best = np.full(count, 1.0 / count)
    for _ in range(60):  # multiplicative steps settle the scales
        view = _look(types, best)
        if view is None:
            raise too_far()
        state["gap"] = view.gap
        if view.gap <= gap:
            break
        q = view.gradient / float(best @ view.gradient)
        best = np.maximum(best * q * q, 1e-30)
        best = best / best.sum()

    def report(_: Array, reached: float) -> bool:
        state["rounds"] += 1
        return reached <= 0.3 * gap or state["rounds"] >= MAX_ROUNDS

    if state["gap"] > gap:
        best = climb(np.maximum(best, 1e-6 / count), lambda theta: _look(types, theta), report)
    return law_of(types, best / best.sum())


def law_of(types: Types, weights: Array) -> MomentLaw:
    """The law with these weights, and how far from the best it is; refuses one that leaves out a direction."""
    alone, roots, V = _spectrum(types, weights)
    view = _look(types, weights)
    if view is None or not np.isfinite(view.gap):
        raise too_far()
    return MomentLaw(weights, float(alone.sum() + roots.sum()), alone, roots, V, view.gap)


def _spectrum(types: Types, theta: Array) -> tuple[Array, Array, Array]:
    alone = np.sqrt(theta @ types.alone)
    if not types.block.shape[1]:
        return alone, np.zeros(0), np.zeros((0, 0))
    _, roots, Vt = np.linalg.svd(np.sqrt(theta)[:, None] * types.block, full_matrices=False)
    return alone, roots, Vt.T


def _look(types: Types, theta: Array) -> SolverView | None:
    """Gradient and Hessian of Σ θ − 2F(θ), for the interior-point method."""
    alone, roots, V = _spectrum(types, theta)
    if V.shape[1] < types.block.shape[1] or not (alone > 0).all() or not (roots > 1e-13 * roots.max(initial=0)).all():
        return None
    X = types.block @ V
    q = (types.alone / alone).sum(axis=1) + (X * X / roots).sum(axis=1)
    total, trace = float(theta.sum()), float(alone.sum() + roots.sum())
    hessian = np.hstack([types.alone / np.sqrt(2.0 * alone**3), products(X, roots)])
    return SolverView(q, np.sqrt(theta)[:, None] * hessian, float(q.max()) * total / trace - 1.0, (trace / total) ** 2)


def root_rows(rows: Array) -> Array:
    """B with BᵀB = rowsᵀ rows and as few rows as it has rank; its columns keep their order."""
    if not rows.size or not rows.any():
        return np.zeros((0, rows.shape[1]))
    _, sizes, Vt = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > 1e-14 * sizes[0]
    return np.asarray(sizes[kept, None] * Vt[kept])


def subsets(columns: int, most: int) -> Array:
    """All vertices of {0, 1}^columns, one a row; refuses more than `most`."""
    if 2**columns > most:
        what, rule = f"{columns} columns with weights of their own", f"at most {most} records are visited"
        remedy = "give all columns the same weight"
        raise PlanError(what, rule, remedy, code="too-many-vertices-of-moments", columns=columns)
    return np.array([[(v >> j) & 1 for j in range(columns)] for v in range(2**columns)], float).reshape(-1, columns)


MAX_VERTICES = 1024
"""Limit on the records that are visited where columns weigh differently."""

GAP = 1e-5
"""Relative gap to the certified optimum."""

EVEN = 1e-9
"""Weights that differ by less are the same."""


@dataclass(frozen=True, eq=False)
class Worths:
    """What squared errors are worth, in units of the core: of each coordinate alone, and rows of the block (y, 1)."""

    alone: Array
    """One for each coordinate; 0 for squares, which are in the block."""
    rows: Array
    """One row for each feature that needs squares or the number of records: squares, then the number."""


def worths_of(problem: Problem[Moments]) -> Worths:
    """The worths of all features, as far as noise that does not change with signs goes."""
    domain, rows = problem.domain, problem.lifted_rows
    squares = domain.squares
    alone = (rows * rows).sum(axis=0)[:-1]
    alone[squares] = 0.0
    return Worths(alone, rows[:, [*squares, domain.dimension]])


def solved_moments(problem: Problem[Moments], gap: float | None = None) -> Candidate:
    """The best noise for the values, squares and products that are asked, and the law that bounds any other.

    Guarantee: private whatever the solver found; `Moments.sensitivity` visits all vertices again, or bounds them by
    level. Total within `gap` of the optimum where features are measured from the middle; what the law proves is the
    domain's matter.
    """
    lift, law = find_lift(problem.domain, worths_of(problem), GAP if gap is None else gap)
    return Candidate(read_moments(problem, "solved", lift), law)


def find_lift(domain: Moments, worths: Worths, gap: float) -> tuple[Lift, DifferenceLaw]:
    """The entries of the best lift, before they are scaled, and the law that they come from."""
    if is_even(domain, worths) or 2**domain.columns_count > MAX_VERTICES:
        return _by_levels(domain, worths, gap)
    return _by_vertices(domain, worths, gap)


def isotropic_moments(problem: Problem[Moments]) -> Strategy:
    """The standard Gaussian mechanism: equal noise on every answer, measured in units of its weight."""
    worths = worths_of(problem)
    return read_moments(problem, "isotropic", Lift(np.sqrt(worths.alone), root_rows(worths.rows)))


def is_even(domain: Moments, worths: Worths) -> bool:
    """Whether all columns weigh the same: every value, every square, and every product of two columns or none."""
    d, pairs = domain.columns_count, domain.crossed
    if len(domain.squares) not in (0, d) or len(pairs) not in (0, d * (d - 1) // 2):
        return False
    G = worths.rows.T @ worths.rows
    inside, own = G[:-1, :-1], worths.alone
    across = inside[~np.eye(len(inside), dtype=bool)]
    return all(map(_same, (own[:d], own[pairs], np.diag(inside), across, G[:-1, -1])))


def _same(numbers: Array) -> bool:
    return not len(numbers) or bool(np.ptp(numbers) <= EVEN * max(np.abs(numbers).max(), 1e-300))


@dataclass(frozen=True, eq=False)
class Lift:
    """The entries of a lift: one for each coordinate alone (0 for squares and what is not asked), and the block."""

    alone: Array
    block: Array
    """Rows that see the squares, then the number of records."""


def _by_vertices(domain: Moments, worths: Worths, gap: float) -> tuple[Lift, DifferenceLaw]:
    K = subsets(domain.columns_count, MAX_VERTICES)
    core = domain.cores(K)
    asked = np.flatnonzero(worths.alone)
    B = root_rows(worths.rows)
    v = np.column_stack([core[:, domain.squares], np.ones(len(K))]) @ B.T
    found = solve_types(Types(core[:, asked] ** 2 * worths.alone[asked], v), gap)
    alone = np.zeros(domain.dimension)
    alone[asked] = np.sqrt(worths.alone[asked] / (found.alone * found.trace))
    block = (found.directions / np.sqrt(found.roots * found.trace)).T @ B
    return Lift(alone, block), DifferenceLaw("moments", 0.0, {"vertices": K, "weights": found.weights})


def _by_levels(domain: Moments, worths: Worths, gap: float) -> tuple[Lift, DifferenceLaw]:
    """The best noise that treats all columns alike, for the mean of their weights.

    The number k of ones decides: k for the squares of values, k(k−1)/2 for those of products, k − k²/d across squares,
    and (k/√d, 1) for the sum of squares and the number of records.
    """
    d, pairs, squares = domain.columns_count, domain.crossed, domain.squares
    k, q, m = np.arange(d + 1.0), len(squares), len(pairs)
    kinds = [(np.arange(d), k, _mean(worths.alone[:d]))]
    if m:
        kinds.append((pairs, np.minimum(k * (k - 1) / 2, m), _mean(worths.alone[pairs])))
    kinds = [kind for kind in kinds if kind[2] > 0]
    G = worths.rows.T @ worths.rows
    own, other, beside = _mean(np.diag(G)[:-1]), 0.0, _mean(G[:-1, -1])
    if q > 1:
        inner = G[:-1, :-1]
        other = (float(inner.sum()) - float(np.trace(inner))) / (q * (q - 1))
    across, along = own - other, own + (q - 1) * other
    kq = np.minimum(k, q)
    alone = [weight * len(at) * u for at, u, weight in kinds]
    if q > 1 and across > 0:
        alone.append(across * (q - 1) * (kq - kq * kq / q))
    A = np.array([[along, beside * np.sqrt(q)], [beside * np.sqrt(q), G[-1, -1]]])
    B = _root(A)
    v = np.column_stack([kq / np.sqrt(max(q, 1)), np.ones(d + 1)]) @ B.T
    found = solve_types(Types(np.column_stack([*alone, np.zeros((d + 1, 0))]), v), gap)
    entries = np.zeros(domain.dimension)
    for (at, _, weight), size in zip(kinds, found.alone, strict=False):
        entries[at] = np.sqrt(weight * len(at) / (size * found.trace))
    two = (found.directions / np.sqrt(found.roots * found.trace)).T @ B
    if not q:
        block = two[:, 1:]
    else:
        a = np.sqrt(across * (q - 1) / (found.alone[-1] * found.trace)) if q > 1 and across > 0 else 0.0
        block = _spread(q, a, two)
    return Lift(entries, block), DifferenceLaw("moments", 0.0, {"levels": k, "weights": found.weights})


def _spread(q: int, across: float, two: Array) -> Array:
    """The block over q squares and the number of records: `across` between squares, and rows over (Σ/√q, 1)."""
    # Triangular, so that the last row sees the number of records alone.
    R = np.linalg.qr(two)[1] if len(two) > 1 else two
    R = R * np.where(np.sign(np.diagonal(R)) < 0, -1.0, 1.0)[:, None] if len(two) > 1 else R
    inner = np.full((q, q), (abs(float(R[0, 0])) - across) / q) + across * np.eye(q)
    border = np.full((q, 1), float(R[0, 1]) / np.sqrt(q) * (1.0 if R[0, 0] >= 0 else -1.0))
    top = np.hstack([inner, border])
    if len(R) < 2:
        return top
    return np.vstack([top, np.append(np.zeros(q), R[1, 1])])


def _root(A: Array) -> Array:
    """B with BᵀB = A, without the directions that A does not see."""
    e, V = np.linalg.eigh(A)
    kept = e > 1e-14 * max(float(e[-1]), 0.0)
    return np.asarray((V[:, kept] * np.sqrt(e[kept])).T)


def _mean(numbers: Array) -> float:
    return float(numbers.mean()) if len(numbers) else 0.0


def read_moments(problem: Problem[Moments], name: str, lift: Lift) -> Strategy:
    """The shape with these entries, certified to unit norm, and what reads the features back."""
    domain = problem.domain
    norm = domain.sensitivity(_matrix(domain, lift), problem.neighbours)
    lift = Lift(lift.alone / norm, lift.block / norm)
    matrix = _matrix(domain, lift)
    rows = coded_rows(problem)
    counted = len(rows) > problem.features.size
    decode = _decode(domain, lift, rows)
    check_lost(decode, decode @ matrix.matrix - rows)
    return Strategy(name, matrix, Dense(decode), counted)


def coded_rows(problem: Problem[Moments]) -> Array:
    """What each feature takes from the core (z, products, 1), as codes stand for it; then the count if it is needed."""
    features, domain = problem.features, problem.domain
    radius = domain.coded[1]
    if features.matrix is not None:
        rows = np.column_stack([features.matrix * radius, problem.coded_offsets])
    else:
        rows = np.zeros((features.size, domain.dimension + 1))
        rows[np.arange(features.size), features.index] = radius[features.index]
        rows[:, -1] = problem.coded_offsets
    if not problem.count_weight:
        return rows
    return np.vstack([rows, np.append(np.zeros(domain.dimension), 1.0)])


def _matrix(domain: Moments, lift: Lift) -> Dense:
    """Rows of single coordinates first, then those of the block."""
    asked = np.flatnonzero(lift.alone)
    rows = np.zeros((len(asked) + len(lift.block), domain.dimension + 1))
    rows[np.arange(len(asked)), asked] = lift.alone[asked]
    rows[len(asked) :, [*domain.squares, domain.dimension]] = lift.block
    return Dense(rows)


def _decode(domain: Moments, lift: Lift, rows: Array) -> Array:
    asked = np.flatnonzero(lift.alone)
    block = rows[:, [*domain.squares, domain.dimension]] @ np.linalg.pinv(lift.block, rcond=1e-13)
    return np.hstack([rows[:, asked] / lift.alone[asked], block])


# The shape of values, squares and products where a record is replaced and the number of records is public.
#
# Of one column the optimum is exact: a pair of records at the distance t = |z − z′| has squares that differ by t(2 −
# t) at most, and a t² + b t²(2 − t)² ≤ 1 must hold for every t in [0, 2]. Of several columns no vertex argument
# holds: the noise is twice that of records around a common middle, where the number of records costs nothing
# (docs/theory.md, 48).

FREE = 1e-7
"""What the number of records is worth beside squares, where it is public: so little that it costs nothing."""

NEAR = math.sqrt(5) - 1
"""The distance of the second worst pair of records of one column, at equal weights."""

CHANGES = 64
"""So many distances t of two records of one column are looked at where records come, go and change."""

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
    if not np.any(G - np.diag(np.diag(G))) and not len(domain.crossed):
        lift = _column_by_column(domain, np.diag(G))
    else:
        inside = G[np.ix_(squares, squares)]
        free = FREE * float(np.trace(inside)) if len(squares) else 1.0
        rows = np.zeros((len(W) + 1, len(squares) + 1))
        rows[:-1, :-1] = W[:, squares]
        rows[-1, -1] = math.sqrt(free)
        found, _ = find_lift(domain, Worths(alone, rows), GAP if gap is None else gap)
        lift = _without_number(domain, found)
    matrix = Dense(lift)
    norm = domain.sensitivity(matrix, problem.neighbours)
    matrix = Dense(lift / norm)
    features = problem.rows * domain.coded[1]
    decode = features @ np.linalg.pinv(matrix.matrix, rcond=1e-13)
    check_lost(decode, decode @ matrix.matrix - features)
    shape = Strategy("solved", matrix, Dense(decode), False, problem.coded_offsets)
    return Candidate(shape, _law(problem))


def entering_moments(problem: Problem[Moments], change: float) -> Strategy | None:
    """The noise of one column and its square where a record may come or go and change, None of other problems.

    Norm 1 of a record, and as nearly as the distances that are looked at allow, a squared norm of `change` of two: 1
    where the number of all records is public and some are left out, 2 in groups. Beside the two records with noise of
    their own, z² = 0 and 1, the law has pairs at the distances t, which do not see the number (docs/theory.md, 48).
    """
    domain, worths = problem.domain, worths_of(problem)
    if domain.columns_count != 1 or len(domain.squares) != 1 or not worths.alone.any():
        return None
    B = root_rows(worths.rows)
    t = np.arange(1, CHANGES + 1)[:, None] * 2.0 / CHANGES
    values = np.vstack([[[0.0], [1.0]], t * t / change]) * worths.alone[0]
    pairs = np.column_stack([t * (2.0 - t), np.zeros(CHANGES)]) / math.sqrt(change)
    found = solve_types(Types(values, np.vstack([[[0.0, 1.0], [1.0, 1.0]], pairs]) @ B.T), GAP)
    alone = np.array([math.sqrt(worths.alone[0] / (found.alone[0] * found.trace)), 0.0])
    block = (found.directions / np.sqrt(found.roots * found.trace)).T @ B
    return read_moments(problem, "solved", Lift(alone, block))


def _column_by_column(domain: Moments, worth: Array) -> Array:
    """The best lift of columns without products: that of each column, with a share of its own, T_j = that column's
    total. They change independently, so the least total is (Σ √T_j)² (docs/theory.md, 48)."""
    rows = []
    for j in range(domain.columns_count):
        own = [j, *(at for at in domain.squares if domain.input.made_of(int(at)) == (j, j))]
        entries = _of_one(*(float(worth[at]) for at in own)) if worth[own].any() else np.zeros(len(own))
        kept = np.flatnonzero(entries)
        total = float(np.sum(worth[own][kept] / entries[kept] ** 2))
        lift = np.zeros((len(kept), domain.dimension))
        lift[np.arange(len(kept)), np.array(own)[kept]] = entries[kept] * total**0.25
        rows.append(lift)
    return np.vstack(rows)


def _of_one(value: float, square: float = 0.0) -> Array:
    """The entries of the best diagonal lift of one column: least value/a + square/b over the ratio b/a, at norm 1."""
    if not square:
        return np.array([0.5, 0.0])
    if not value:
        return np.array([0.0, 1.0])

    def worst(b: float) -> float:
        t = (3 - math.sqrt(1 - 2 / b)) / 2 if b >= 2 else 2.0
        return max(4.0, t * t * (1 + b * (2 - t) ** 2))

    def total(log_ratio: float) -> float:
        b = math.exp(log_ratio)
        return (value + square / b) * worst(b)

    low, high = -20.0, 20.0
    for _ in range(120):
        first, second = low + (high - low) * 0.382, low + (high - low) * 0.618
        if total(first) < total(second):
            high = second
        else:
            low = first
    ratio = math.exp((low + high) / 2)
    return np.array([1.0, math.sqrt(ratio)]) / math.sqrt(worst(ratio))


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


def _law(problem: Problem[Moments]) -> DifferenceLaw:
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
    return DifferenceLaw("moments", 0.0, numbers)

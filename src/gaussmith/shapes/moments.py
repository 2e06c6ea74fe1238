"""The shape of values, squares and products: noise of their own for each value and each product of two columns, one
block of noise for all squares together with the number of records.

The best such noise is found over the records with z² in {0, 1}^d: all of them where columns weigh differently and there
are few, else by the number of ones alone, with weights that are the same for all columns (docs/theory.md, 46 and 47).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.headed import Headed
from gaussmith.numerics.linear import Array, Bordered, Dense, Matrix
from gaussmith.numerics.moments import Types, root_rows, solve_types, subsets
from gaussmith.problem import Law, Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate
from gaussmith.shapes.solved import check_lost
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.domains import Moments

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

    Guarantee: private whatever the solver found; `Moments.largest` visits all vertices again, or bounds them by level.
    Total within `gap` of the optimum where features are measured from the middle; what the law proves is the domain's
    matter.
    """
    lift, law = find_lift(problem.domain, worths_of(problem), GAP if gap is None else gap)
    return Candidate(read_moments(problem, "solved", lift), law)


def find_lift(domain: Moments, worths: Worths, gap: float) -> tuple[Lift, Law]:
    """The entries of the best lift, before they are scaled, and the law that they come from."""
    if is_even(domain, worths) or 2**domain.columns_count > MAX_VERTICES:
        return _by_levels(domain, worths, gap)
    return _by_vertices(domain, worths, gap)


def isotropic_moments(problem: Problem[Moments]) -> Shape:
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


def _by_vertices(domain: Moments, worths: Worths, gap: float) -> tuple[Lift, Law]:
    K = subsets(domain.columns_count, MAX_VERTICES)
    core = domain.cores(K)
    asked = np.flatnonzero(worths.alone)
    B = root_rows(worths.rows)
    v = np.column_stack([core[:, domain.squares], np.ones(len(K))]) @ B.T
    found = solve_types(Types(core[:, asked] ** 2 * worths.alone[asked], v), gap)
    alone = np.zeros(domain.dimension)
    alone[asked] = np.sqrt(worths.alone[asked] / (found.alone * found.trace))
    block = (found.directions / np.sqrt(found.roots * found.trace)).T @ B
    return Lift(alone, block), Law("moments", 0.0, {"vertices": K, "weights": found.weights})


def _by_levels(domain: Moments, worths: Worths, gap: float) -> tuple[Lift, Law]:
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
    return Lift(entries, block), Law("moments", 0.0, {"levels": k, "weights": found.weights})


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


def read_moments(problem: Problem[Moments], name: str, lift: Lift) -> Shape:
    """The shape with these entries, certified to unit norm, and what reads the features back."""
    domain = problem.domain
    norm = domain.largest(_matrix(domain, lift), problem.neighbours)
    lift = Lift(lift.alone / norm, lift.block / norm)
    matrix = _matrix(domain, lift)
    rows = coded_rows(problem)
    counted = len(rows) > problem.features.size
    decode = _decode(domain, lift, rows)
    check_lost(decode, decode @ matrix.dense() - rows)
    return Shape(name, matrix, _structured(decode, matrix), counted)


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


def _matrix(domain: Moments, lift: Lift) -> Matrix:
    """Rows of single coordinates first, then those of the block."""
    asked = np.flatnonzero(lift.alone)
    size, width = len(lift.block), domain.dimension + 1
    index = np.concatenate([asked, np.zeros(size, np.int64)]).astype(np.int64)
    inner = np.concatenate([lift.alone[asked], np.zeros(size)])
    border = np.concatenate([np.zeros(len(asked)), lift.block[:, -1]])
    at = np.arange(len(asked), len(asked) + size)
    return Headed(Bordered(index, inner, border, width), at, domain.squares, lift.block[:, :-1])


def _decode(domain: Moments, lift: Lift, rows: Array) -> Array:
    asked = np.flatnonzero(lift.alone)
    block = rows[:, [*domain.squares, domain.dimension]] @ np.linalg.pinv(lift.block, rcond=1e-13)
    return np.hstack([rows[:, asked] / lift.alone[asked], block])


def _structured(decode: Array, lift: Matrix) -> Matrix:
    """The same without the zeros, where every feature reads one coordinate alone or the block alone."""
    assert isinstance(lift, Headed)
    alone = lift.shape[0] - len(lift.at)
    single, block = decode[:, :alone], decode[:, alone:]
    reads_block = block.any(axis=1)
    if single[reads_block].any() or (np.count_nonzero(single, axis=1) > 1).any() or not len(lift.at):
        return Dense(decode)
    index = np.where(reads_block, 0, np.abs(single).argmax(axis=1)) if alone else np.zeros(len(decode), np.int64)
    inner = np.where(reads_block, 0.0, single[np.arange(len(decode)), index]) if alone else np.zeros(len(decode))
    rest = Bordered(index.astype(np.int64), inner, block[:, -1].copy(), decode.shape[1])
    at = np.flatnonzero(reads_block)
    return Headed(rest, at, np.arange(alone, decode.shape[1] - 1), block[at, :-1])

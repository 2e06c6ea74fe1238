"""Bounds for boxes.

add-remove     signs of a Gaussian vector with the correlations of the answers' columns,
               M = W′ (2/π) arcsin(R) W′ᵀ; and the best law on a few well chosen corners
replace-one    independent signs: M diagonal, the bound equals the elliptical shape's total
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains.domain import Problem, WorstCase, check_law
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array
from gaussmith.numerics.trace_roots import root_of, square_down, square_with_slack, weighted_lower

if TYPE_CHECKING:
    from gaussmith.domains.box import Box
    from gaussmith.domains.domain import Differences

MAX_DENSE = 1500
"""Limit on coordinates and answers for an explicit moment matrix."""

MAX_CHOSEN = 48
"""Limit on coordinates up to which chosen corners give a better bound than the law of signs."""

_SPREAD = 2500
_WIDEST = 12


def box_law(problem: Problem[Box]) -> WorstCase:
    """The best law at hand: signs of a Gaussian vector, or chosen corners."""
    if max(problem.domain.dimension, problem.features.size) > MAX_DENSE:
        return WorstCase("closed", box_bound(problem))
    if not problem.secret_count:
        return WorstCase("gaussian signs", box_bound(problem))
    W = problem.lifted_rows
    signs = root_of(_signs_moment(W))
    if problem.domain.dimension <= MAX_CHOSEN:
        root, z, weights = _spread_corners(W)
        if root > signs:
            return WorstCase("corners", square_with_slack(root), {"corners": z, "weights": weights})
    return WorstCase("gaussian signs", square_with_slack(signs))


def box_differences(problem: Problem[Box], law: WorstCase) -> Differences | None:
    """The corners of a law, chosen or all of them."""
    numbers = law.numbers
    if law.kind == "corners":
        z = np.sign(numbers["corners"])
        if not problem.secret_count:
            return 2.0 * z @ problem.core_rows.T, numbers["weights"]
        return np.column_stack([z, np.ones(len(z))]) @ problem.lifted_rows.T, numbers["weights"]
    if law.kind != "listed":
        return None
    z = problem.domain.corners()
    if problem.secret_count:
        points = np.hstack([z, np.ones((len(z), 1))]) @ problem.lifted_rows.T
    else:
        points = 2.0 * z @ problem.core_rows.T
    check_law(len(points) == len(numbers["weights"]))
    return points, numbers["weights"]


def proven_signs(problem: Problem[Box]) -> float:
    """The bound from the signs of a Gaussian vector with the cosines of the answers' columns."""
    columns = problem.lifted_rows if problem.secret_count else 2 * problem.core_rows
    return square_down(root_of(_signs_moment(columns)))


def box_bound(problem: Problem[Box]) -> float:
    """No Gaussian noise at μ = 1 has a smaller weighted total; rounded down."""
    return square_with_slack(_root(problem) if problem.secret_count else _replaced_root(problem))


def _replaced_root(problem: Problem[Box]) -> float:
    matrix, width = problem.features.matrix, 2 * problem.domain.radius
    if matrix is None:
        return float(np.sqrt(problem.coordinate_weights) @ width)
    return root_of(_signs_moment(matrix * problem.root_weights * width))


def _signs_moment(columns: Array) -> Array:
    """M = W (2/π) arcsin(R) Wᵀ, R the cosines between the columns of W."""
    columns = columns[:, np.linalg.norm(columns, axis=0) > 0]
    norms = np.linalg.norm(columns, axis=0)
    cosines = np.clip((columns / norms).T @ (columns / norms), -1.0, 1.0)
    H = (2 / np.pi) * np.arcsin(cosines)
    return np.asarray(columns @ H @ columns.T)


def _spread_corners(W: Array) -> tuple[float, Array, Array]:
    """tr M^{1/2} for the best law on a few corners of the box: any are valid, and these come close.

    They are spread evenly over the widest columns, at most twelve, by fractional parts of multiples of √2, √3, √5 …: a
    certificate needs no chance. A narrow column is up as often as its cosine with the count says, apart from all
    others: where a few columns make up most of the noise no law of independent signs is near the best, and one that is
    free in these columns is.
    """
    from gaussmith.numerics.solver import solve

    norms, last = np.linalg.norm(W[:, :-1], axis=0), W[:, -1]
    d = len(norms)
    widest = np.argsort(-norms)[:_WIDEST]
    widest = widest[norms[widest] >= norms.max() / 4]
    along = W[:, :-1].T @ last / np.where(norms > 0, norms, 1.0)
    # Of what every record adds, half of the wide columns' part: their best centre lies between 0 and their middle.
    worth = float(last @ last) - 0.75 * float((along[widest] ** 2).sum())
    h = np.clip(along / np.sqrt(worth), -1.0, 1.0) if worth > 0 else np.zeros(d)
    h[widest] = 0.0
    even = np.modf(np.outer(np.arange(1, _SPREAD + 1), np.sqrt(_primes(d))))[0]
    z = np.unique(np.where(even < (1 + h) / 2, 1.0, -1.0), axis=0)
    points = np.column_stack([z, np.ones(len(z))]) @ W.T
    try:
        weights = solve(points, gap=1e-4, max_rounds=60).weights
    except PlanError:  # scales too far apart for doubles: other laws have no such trouble
        return 0.0, z, np.ones(len(z))
    kept = weights > 1e-9 * weights.max()
    return weighted_lower(points[kept], weights[kept]), z[kept], weights[kept] / weights[kept].sum()


def _primes(count: int) -> Array:
    """The first primes."""
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return np.array(found, float)


def _root(problem: Problem[Box]) -> float:
    domain, asked = problem.domain, problem.features
    if domain.dimension <= MAX_DENSE and asked.size <= MAX_DENSE:
        W = problem.lifted_rows
        return root_of(_signs_moment(W))
    if not problem.asks_no_coordinate_twice:
        # Independent signs: M ⪰ diag, and the square root is monotone.
        return float(np.sqrt(problem.coordinate_weights) @ domain.radius)
    # One answer per coordinate: M is diagonal plus a matrix of rank two in the columns' vector and the centre's.
    from gaussmith.numerics.trace_roots import trace_sqrt_lower

    root = np.sqrt(asked.weights)
    D = np.append(root * domain.radius[asked.index], 0.0)
    b = np.append(root * problem.offsets, problem.root_count_weight)
    length = np.linalg.norm(b)
    if length == 0:
        return float(D.sum())
    h = (2 / np.pi) * np.arcsin(np.clip(b / length, -1.0, 1.0))
    h[-1] = 0.0
    return float(trace_sqrt_lower(D * D, np.column_stack([D * h, b]), np.array([[0.0, 1.0], [1.0, 1.0]])))

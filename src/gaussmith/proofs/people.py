"""Bounds for people with many rows: the signs of a box, with one row or with all that count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.cone import best_share, replaced_total, total
from gaussmith.numerics.trace_roots import root_of, square_with_slack
from gaussmith.problem import Law, Problem
from gaussmith.problem.law import check_law

if TYPE_CHECKING:
    from gaussmith.domains import People
    from gaussmith.problem.domain import Differences

MAX_DENSE = 1500
"""Limit on coordinates and answers for an explicit moment matrix."""


def people_bound(problem: Problem[People]) -> float:
    """No Gaussian noise at μ = 1 has a smaller weighted total; rounded down."""
    return square_with_slack(_root(problem) if problem.secret_count else _replaced_root(problem))


def people_differences(problem: Problem[People], law: Law) -> Differences | None:
    """The extreme people, as often as the law says."""
    if law.kind != "listed":
        return None
    check_law(problem.secret_count)
    z = problem.domain.corners()
    points = np.hstack([z, np.ones((len(z), 1))]) @ problem.lifted_rows.T
    check_law(len(points) == len(law.numbers["weights"]))
    return points, law.numbers["weights"]


def _root(problem: Problem[People]) -> float:
    """tr M^{1/2} with t = T/k equal to 1 or 1/k, and signs as for a box; any chance p of the first is a valid law."""
    domain, asked = problem.domain, problem.features
    a, b, D = domain.worths(problem.coordinate_weights)
    k, d, (own, over, last) = domain.max_rows, domain.dimension, domain.parts
    E = problem.offset_weight
    p = best_share(lambda p: total(a, b, D, E, k, p)) if E else 1.0
    if d > MAX_DENSE or asked.size > MAX_DENSE or asked.matrix is not None:
        return float(a.sum() + b.sum())  # all with k rows, signs independent
    rows = problem.lifted_rows
    if not problem.count_weight:
        rows = np.vstack([rows, np.zeros((1, d + 1))])
    # One sign for t and the person together: their columns side by side tell how it should correlate with the others.
    columns = np.hstack([rows[:, :last], rows[:, last:].sum(axis=1, keepdims=True)])
    norms = np.linalg.norm(columns, axis=0)
    cosines = (columns / np.where(norms > 0, norms, 1.0)).T @ (columns / np.where(norms > 0, norms, 1.0))
    np.fill_diagonal(cosines, 1.0)
    H = (2 / np.pi) * np.arcsin(np.clip(cosines, -1.0, 1.0))
    signs = np.array([*range(last), last, last])
    scaled = np.array([False] * (over.start - own.start) + [True] * (last - over.start) + [True, False])
    moments = np.array([[1.0, p + (1 - p) / k], [p + (1 - p) / k, p + (1 - p) / k**2]])
    M = H[np.ix_(signs, signs)] * moments[np.ix_(scaled.astype(int), scaled.astype(int))]
    return root_of(rows @ M @ rows.T)


def _replaced_root(problem: Problem[People]) -> float:
    a, b, D = problem.domain.worths(problem.coordinate_weights)
    k = problem.domain.max_rows
    return replaced_total(a, b, D, k, best_share(lambda p: replaced_total(a, b, D, k, p)))

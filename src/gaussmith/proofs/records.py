"""Laws on records that can be listed one by one, and on sparse vectors with independent signs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.exact import sqrt_downward
from gaussmith.numerics.trace_roots import root_of, square_down
from gaussmith.problem import Law, Problem
from gaussmith.problem.law import check_law, refused_law

if TYPE_CHECKING:
    from gaussmith.domains import SparseSum
    from gaussmith.domains.uncentred import Listed
    from gaussmith.problem.domain import Differences

MAX_LISTED = 1 << 14
"""Limit on the number of listed records in a proof."""


def listed_differences(problem: Problem[Listed], law: Law) -> Differences | None:
    """Every record, or every pair of records, as often as the law says."""
    if law.kind != "listed":
        return None
    domain, rows, weights = problem.domain, problem.weighted_rows, law.numbers["weights"]
    records = domain.records(MAX_LISTED)
    if records is None:
        raise refused_law()
    records = records * domain.coded[1]
    if rows.shape[1] > domain.dimension:
        records = np.hstack([records, np.ones((len(records), 1))])
    points = records @ rows.T
    if not problem.secret_count:
        i, j = np.triu_indices(len(points), 1)
        points = points[i] - points[j]
    check_law(len(points) == len(weights))
    return points, weights


def proven_signs(problem: Problem[SparseSum], law: Law) -> float:
    """The bound from independent signs, with each coordinate included as often as the law says."""
    check_law(law.kind == "signs")
    domain, share = problem.domain, law.numbers["shares"]
    check_law(len(share) == domain.dimension and bool(((share >= 0) & (share <= 1)).all()))
    share = share * min(1.0, domain.at_most / (math.fsum(share) * (1.0 + 2.0**-50)))
    reach = domain.radius * (1.0 if problem.secret_count else 2.0)
    if problem.asks_no_coordinate_twice:
        root = math.fsum(np.sqrt(problem.coordinate_weights) * reach * np.sqrt(share)) * (1.0 - 2.0**-48)
    else:
        rows = problem.root_weights * problem.rows * (reach * np.sqrt(share))
        root = root_of(rows @ rows.T)
    return square_down(root + sqrt_downward(Fraction(problem.secret_count_weight)))

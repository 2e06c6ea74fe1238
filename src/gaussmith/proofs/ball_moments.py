"""The optimum for Σ xxᵀ over a ball: laws on differences that rotations do not change bound every noise.

A record on the sphere, evenly: E vvᵀ = 1/d along the trace and (1 − 1/d)/(D − 1) in each direction across it, v being
the matrix in an orthonormal basis. Two records at right angles, one in place of the other: 0 along, 2/(D − 1) across.
For any law no Gaussian noise has a smaller total than (tr (W M Wᵀ)^½)², W the answers scaled to the roots of their
weights. Where a record is replaced, the law takes the second with probability λ; every λ gives a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.problem import Problem

if TYPE_CHECKING:
    from gaussmith.domains.ball_moments import BallMoments

TRIED = 401
"""How many λ are tried."""


def ball_moment_bound(problem: Problem[BallMoments]) -> float:
    """No Gaussian noise at μ = 1 has a smaller weighted total; rounded down by 1e-9 of it."""
    domain = problem.domain
    unit, trace = domain.basis
    part, across = 1.0 / domain.columns_count, domain.dimension - 1
    rows = problem.features.rows(domain.dimension) * domain.radius / unit
    W = np.sqrt(problem.features.weights)[:, None] * rows
    along = W @ trace
    rest = W - np.outer(along, trace)
    shares = [0.0] if problem.secret_count or not across else np.linspace(0.0, 1.0, TRIED).tolist()
    found = 0.0
    gram_along, gram_rest = np.outer(along, along), rest @ rest.T
    for share in shares:
        own = (1 - share) * (1 - part) + 2 * share
        M = (1 - share) * part * gram_along + (own / across if across else 0.0) * gram_rest
        roots = np.sqrt(np.clip(np.linalg.eigvalsh(M), 0.0, None))
        found = max(found, float(roots.sum()) ** 2)
    return found * (1.0 - 1e-9)

"""Bounds in balls and ellipsoids: directions with a preferred mean, or each axis as often as its share of noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.trace_roots import square_with_slack
from gaussmith.problem import Problem

if TYPE_CHECKING:
    from gaussmith.domains import Ball, GaussianData


def ball_bound(problem: Problem[Ball]) -> float:
    """No Gaussian noise at μ = 1 has a smaller weighted total; rounded down."""
    if problem.secret_count:
        return square_with_slack(_ball_root(problem))
    return square_with_slack(float(2 * problem.domain.ball_radius * np.sqrt(problem.coordinate_weights.sum())))


def ellipsoid_bound(problem: Problem[GaussianData]) -> float:
    """The same in the ellipsoid that Gaussian data are clipped to."""
    return square_with_slack(_ellipsoid_root(problem))


def _ball_root(problem: Problem[Ball]) -> float:
    """The largest tr M^{1/2} over laws of directions that prefer the centre's: E cos = m, E cos² = q, even across it.

    Equal weights w: M splits into d−1 equal directions across, and a 2 × 2 block (towards the centre, and the count)
    with trace w(|c|² + 2|c|Cm + C²q) + e and determinant w·e·C²(q − m²), e the weight of the count.
    """
    asked, omega = problem.features, problem.coordinate_weights
    C, d = problem.domain.ball_radius, problem.domain.dimension
    E, e = problem.offset_weight, problem.count_weight
    plain = float(max(C * np.sqrt(omega.sum()), np.sqrt(E)))  # the spread alone, and the centre alone
    mixed = asked.matrix is not None or asked.centred.any() != asked.centred.all()
    if mixed or asked.size != d or np.ptp(omega) > 0:
        return plain
    w = float(omega[0])
    length = np.sqrt(max(E - e, 0.0) / w)
    q = np.append(np.linspace(0.0, 1.0, 257), 1.0 / d)[:, None]
    m = np.sqrt(q) * np.linspace(0.0, 1.0, 129)[None, :]
    trace = w * (length**2 + 2 * length * C * m + C * C * q) + e
    determinant = w * e * C * C * np.maximum(q - m * m, 0.0)
    across = C * np.sqrt(w * (1 - q) * (d - 1))
    return max(plain, float((np.sqrt(trace + 2 * np.sqrt(determinant)) + across).max()))


def _ellipsoid_root(problem: Problem[GaussianData]) -> float:
    """Directions of the ellipsoid with E zz^T = diag(q), q_j ∝ ω_j a_j², either way equally often.

    Then tr M^{1/2} = √S, S = Σ ω_j a_j², without a centre or a count; with them M has one more rank.
    """
    domain, asked = problem.domain, problem.features
    shares = problem.coordinate_weights * domain.radius**2
    S = float(shares.sum())
    if not problem.secret_count:
        return 2 * float(np.sqrt(S))
    plain = float(np.sqrt(max(S, problem.offset_weight)))
    if not problem.asks_no_coordinate_twice or not S:
        return plain
    from gaussmith.numerics.traces import trace_sqrt_lower

    i = asked.index
    v = np.append(np.sqrt(asked.weights) * problem.offsets, problem.root_count_weight)[:, None]
    return max(plain, float(trace_sqrt_lower(np.append(shares[i] * (shares[i] / S), 0.0), v, np.ones((1, 1)))))

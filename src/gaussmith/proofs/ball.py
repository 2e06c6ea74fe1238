"""The optimum in balls and ellipsoids, which a law on the sphere attains whatever is asked (docs/theory.md, 29).

A record adds s = Bz + v with ‖z‖ ≤ 1, each answer scaled to the root of its weight: B takes what varies, v what every
record adds through the centre and the count. With S = ‖B‖² (the sum of squares) and E = ‖v‖² a law on the sphere has

    E zzᵀ = BᵀB/S,   E z = Bᵀv/√(SE),   so that   M = (BBᵀ/√S + vvᵀ/√E)²,   tr M^{1/2} = √S + √E.

Where a record is replaced v drops out and z is twice as long: tr M^{1/2} = 2√S.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.trace_roots import square_down
from gaussmith.problem import Problem

if TYPE_CHECKING:
    from gaussmith.domains import Ball, GaussianData

_UNIT = 2.0**-53


def round_bound(problem: Problem[Ball | GaussianData]) -> float:
    """(√S + √E)², or 4S under replace-one: no Gaussian noise at μ = 1 has a smaller weighted total; rounded down.

    Guarantee: at most the optimum in real arithmetic. Rounding: below it by some (d + answers)·2⁻⁵² of it.

    >>> import gaussmith as gm
    >>> ball = gm.Ball(4, radius=3, centre=[1, 0, 0, 0])
    >>> problem = gm.plan(ball, gm.Guarantee(mu=1), count=True, weights="equal").block.problem
    >>> 0 < 1 - round_bound(problem) / (3 * 4**0.5 + 2**0.5) ** 2 < 1e-12
    True
    """
    root = np.sqrt(_spread_down(problem))
    root = root + np.sqrt(_offset_down(problem)) if problem.secret_count else 2.0 * root
    return square_down(float(root) * (1.0 - 8.0 * _UNIT))


def _spread_down(problem: Problem[Ball | GaussianData]) -> float:
    """S = Σ ω_j a_j² with every rounding given away; no term is negative."""
    squares = problem.coordinate_weights * problem.domain.radius**2
    return _down(float(squares.sum()), problem)


def _offset_down(problem: Problem[Ball | GaussianData]) -> float:
    """E = Σ w_i v_i² + e with every rounding given away: parts of a centre may cancel in an answer."""
    asked, centre = problem.features, problem.domain.centre
    if asked.matrix is None:
        at_centre = np.where(asked.centred, 0.0, np.abs(centre[asked.index]))
    else:
        doubt = 2.0 * (len(centre) + 4) * _UNIT * (np.abs(asked.matrix) @ np.abs(centre))
        at_centre = np.maximum(np.abs(asked.matrix @ centre) - doubt, 0.0)
    return _down(float((asked.weights * at_centre**2).sum()) + problem.count_weight, problem)


def _down(total: float, problem: Problem[Ball | GaussianData]) -> float:
    """A sum of terms that are not negative, less what a few roundings per coordinate and answer can add."""
    terms = problem.domain.dimension + problem.features.size + 16
    return max(0.0, total * (1.0 - 4.0 * terms * _UNIT) - terms * float(np.finfo(float).tiny))

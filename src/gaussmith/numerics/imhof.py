"""Imhof's integral (1961) for the tail of Q = Σ λ_j Z_j², as the literature on quadratic forms evaluates it.

    P(Q > q) = ½ + (1/π) ∫₀^∞ sin θ(u) / (u ρ(u)) du,   θ = ½ Σ arctan(λ_j u) − ½ q u,   ρ = ∏ (1 + λ_j² u²)^{1/4}

It is cut off at U, where what is left is at most 1/(π k U^k ∏ √λ_j), k = d/2, and taken by the midpoint rule with
step h, whose error is at most the probability that Q lies 4π/h away from q (Davies 1973). So the error is known
beforehand, but it is absolute: a tail far below it has no correct digit. `quadratic_forms.tail`, which plans use, has a
relative error instead. This one is for comparison.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gaussmith.errors import DomainError
from gaussmith.numerics import quadratic_forms, tail_bounds

MAX_NODES = 1 << 22
_CHUNK = 1 << 14


def imhof_tail(weights: npt.ArrayLike, value: float, error: float = 1e-6) -> float:
    """P(Σ λ_j Z_j² > value) by Imhof's integral, to an absolute error of `error` (and of rounding, about 1e-13).

    Requires (checked): weights finite, 0 or more, one above 0; `value` above 0; 1e-12 ≤ error ≤ 1. Refused where the
    integrand falls too slowly: for one weight, and for two or three where the error is to be small.

    >>> round(imhof_tail([1.0, 1.0, 1.0, 1.0], 9.487729036781154), 5)
    0.05
    """
    lam = quadratic_forms.check_weights(weights)
    lam = lam[lam > 0]
    if not (0 < value < math.inf and 1e-12 <= error <= 1):
        what, rule = f"value={value:g} and error={error:g}", "the value must be above 0, the error from 1e-12 to 1"
        raise DomainError(what, rule, "give the threshold, and say error=1e-6", code="imhof-out-of-range")
    q = float(value)
    k = len(lam) / 2
    log_end = (math.log(2 / (math.pi * k * error)) - float(np.log(lam).sum()) / 2) / k
    step = 4 * math.pi / max(q, tail_bounds.laurent_massart(lam, error / 2))
    nodes = math.exp(min(log_end - math.log(step), 60.0))
    if nodes > MAX_NODES:
        raise DomainError(
            f"{len(lam)} weights and error={error:g}",
            f"Imhof's integral would take {nodes:.2g} nodes: its integrand falls like u^−{1 + k:g}",
            "use gaussmith.numerics.quadratic_forms.tail, which takes about sixty",
            code="imhof-too-slow",
        )
    total = 0.0
    for first in range(0, math.ceil(nodes) + 1, _CHUNK):
        u = step * (np.arange(first, min(first + _CHUNK, math.ceil(nodes) + 1)) + 0.5)
        theta, log_rho = -q * u / 2, np.zeros_like(u)
        for weight in lam:
            theta += np.arctan(weight * u) / 2
            log_rho += np.log1p((weight * u) ** 2) / 4
        total += float((np.sin(theta) / u * np.exp(-log_rho)).sum())
    return 0.5 + step * total / math.pi

"""The clipped shape: Gaussian data scaled, clipped to an ellipsoid, and given noise of the same shape.

With half axes a_j (the unit of the core), weights ω and E the weight of the count,

    noise total at μ = 1:   (√(Σ ω_j a_j²) + √E)²   under add-remove,      4 Σ ω_j a_j²   under replace-one.

The ellipsoid is chosen here, from public numbers alone; see `numerics.scaling` for the methods.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics import quadratic_forms, scaling
from gaussmith.numerics.doubles import require_finite
from gaussmith.numerics.linear import Array
from gaussmith.numerics.scaling import Clip, Price
from gaussmith.problem import Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.lifted import lifted_round
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.domains import GaussianData


def clipped(problem: Problem[GaussianData], mu: float, way: str | None = None) -> tuple[GaussianData, Shape]:
    """The domain with its ellipsoid, and the shape that fits it; `way` "round" is the standard Gaussian mechanism.

    An ellipsoid that the domain already has, chosen by an earlier stage, is kept.
    """
    has_one = way is None and problem.domain.half_axes is not None
    chosen = problem.domain if has_one else choose(problem, mu, way).domain
    return chosen, lifted_round(problem.over(chosen), "isotropic" if way == "round" else "clipped")


@dataclass(frozen=True, eq=False)
class Choice:
    """An ellipsoid for Gaussian data, and what it costs: noise and clipping, weighted, at the plan's guarantee."""

    domain: GaussianData
    clip: Clip


def choose(problem: Problem[GaussianData], mu: float, way: str | None = None) -> Choice:
    """The domain with its ellipsoid: by its own `scaling` and `clip`, or by `way` instead of its scaling.

    Never looks at data. Any ellipsoid is private.
    """
    domain = problem.domain
    if domain.mean_within is None and problem.features.centred.any():
        domain = domain.off_by(domain.sd)  # a mean that is asked for is not known
    omega = problem.coordinate_weights
    asked = omega > 0
    # Coordinates that are not asked for still have to be clipped somewhere: they get a tiny weight.
    omega = np.where(asked, omega, 1e-12 * omega[asked].mean() if asked.any() else 1.0)
    values = omega * domain.deviation**2
    private = problem.secret_count
    offset = problem.over(domain).offset_weight / mu**2 if private else 0.0
    require_finite(values, offset, 1 / values.max())
    relative = np.maximum(values / values.max(), 1e-30)  # smaller weights are raised to this one
    drift = None if domain.mean_within is None else omega * domain.mean_within**2 / values.max()
    price = Price(relative, 1 / mu if private else 2 / mu, offset / values.max(), domain.rows, drift)
    clip = _clip(price, domain.clip, domain.deviation**2, way or domain.scaling)
    half_axes = domain.deviation * np.sqrt(clip.level / clip.shares)
    if (way or domain.scaling) == "round":  # the longest axis for all, whatever happened to tiny shares
        half_axes = np.full(domain.dimension, half_axes.max())
    unit = float(values.max())
    return Choice(domain.clipped_to(half_axes), Clip(clip.shares, clip.level, clip.noise * unit, clip.loss * unit))


def _clip(price: Price, clip: str | float, variances: Array, way: str) -> Clip:
    """As `_remember` finds it: the same question is asked again when a plan is explained."""
    drift = None if price.drift is None else price.drift.tobytes()
    return _remember(
        price.values.tobytes(), variances.tobytes(), drift, price.reach, price.offset, price.rows, clip, way
    )


@lru_cache(maxsize=64)
def _remember(
    values: bytes, variances: bytes, drift: bytes | None, reach: float, offset: float, rows: float,
    clip: str | float, way: str,
) -> Clip:  # fmt: skip
    price = Price(np.frombuffer(values), reach, offset, rows, None if drift is None else np.frombuffer(drift))
    if way == "chebyshev":
        return price.at(*scaling.chebyshev_shares(price.values))
    if way == "best" and clip == "best":
        return scaling.best_clip(price)
    if way == "best":
        return price.at(*scaling.improved_shares(price.values, float(clip)))
    plain = np.frombuffer(variances)
    shares = scaling.report_shares(price.values) if way == "report" else np.maximum(plain / plain.sum(), 1e-30)
    if clip == "best":
        return scaling.best_level(price, shares)
    return price.at(shares, quadratic_forms.quantile(shares, float(clip)))

"""What all noises have in common that several draws share: one guarantee, one total, one bound on every noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.numerics.exact import sqrt_upward
from gaussmith.plans.certified_grid import NOISE_BITS
from gaussmith.problem import Law
from gaussmith.problem.law import price_over_bound

L = TypeVar("L")

_SHRINKS = (1.0 - 2.0**-50, 1.0 - 2.0**-46, 1.0 - 2.0**-40)
"""Room for the rounding of the lift's doubles; the check, not this factor, keeps the promise."""


class JointNoise:
    """How good a noise of several draws is; what it is follows in the classes that say so."""

    guarantee: Guarantee

    if TYPE_CHECKING:

        @property
        def total_variance(self) -> float: ...

        @property
        def bounding_law(self) -> Law: ...

        @property
        def unit(self) -> float: ...

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise on a lifted coordinate."""
        return 2.0**NOISE_BITS / self.unit

    @cached_property
    def lower_bound(self) -> float:
        """No Gaussian noise with this guarantee has a smaller total."""
        return self.bounding_law.lower / self.guarantee.mu**2

    @property
    def lent_to(self) -> tuple[int, ...]:
        """The places of draws that take the noisy number of everybody from this noise."""
        return ()

    @property
    def bound_mu(self) -> float:
        """μ of all noise that the answers are read from."""
        return self.guarantee.mu

    @property
    def objective(self) -> str:
        """What was made small."""
        return "total"

    @property
    def optimality(self) -> float:
        """total_variance / lower_bound: 1 is the best any Gaussian noise can do."""
        return max(1.0, price_over_bound(self.total_variance, self.lower_bound))

    @property
    def scale(self) -> float:
        """The total has the scales of its draws already."""
        return 1.0

    @property
    def price(self) -> float:
        """What was made small: the total."""
        return self.total_variance


def certified_lift(
    mu: float, size: int, norm: float, scaled: Callable[[float], L], largest: Callable[[L], float]
) -> tuple[L, float]:
    """The certified integer lift, and how many grid steps one lifted unit is; refuses what cannot be certified.

    `norm` is the largest difference of neighbours before `scaled` brings the lift to the grid, `largest` that after it.

    Guarantee: with Y = round(lift · cores), neighbours' Y lie within μ·2^52 of each other, in exact arithmetic.
    """
    charge, room = sqrt_upward(float(size)), mu * 2.0**NOISE_BITS
    if not room > 2.0 * charge:
        raise PlanError(
            f"μ={mu:g} for {size} lifted coordinates",
            "the guarantee must leave room for rounding: μ·2^52 must exceed twice the square root of their number",
            "use a larger ε or δ, or fewer questions",
            mu=mu,
            code="guarantee-too-small-for-rounding",
        )
    if not (np.isfinite(norm) and norm > 0):
        raise PlanError(
            "a lift without a largest difference",
            "its entries must be finite numbers",
            "plan again",
            code="lift-without-largest-difference",
        )
    for shrink in _SHRINKS:
        scale = (room - charge) / norm * shrink
        integer_lift = scaled(scale)
        if Fraction(largest(integer_lift)) + Fraction(charge) <= Fraction(room):
            return integer_lift, scale
    raise PlanError(
        "the lift could not be certified",
        "its largest difference must stay within the guarantee after rounding",
        "plan again; if this persists, the scales of the questions lie too far apart",
        code="lift-not-certified",
    )

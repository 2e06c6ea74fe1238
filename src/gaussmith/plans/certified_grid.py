"""From real numbers to the grid: the integer lift, its certified norm, and the charge for rounding.

The lift of a plan is made of doubles. Multiplied by `scale` and rounded, its products with the integer core are whole
numbers Y; neighbours' Y differ by at most ‖C s‖ + √m, where m is the number of lifted coordinates (each is rounded by
at most half a unit on either side). Noise is round(2^52 Z) per coordinate. So the release is exactly μ-GDP when

    max ‖C s‖ + √m  ≤  μ · 2^52,

which is checked with every rounding upward, on the very doubles that are used.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import norm_upward, sqrt_upward, sum_upward
from gaussmith.numerics.linear import Array, Dense, Integers, Matrix, Words
from gaussmith.numerics.products import python
from gaussmith.problem import Domain
from gaussmith.problem.codes import Codes
from gaussmith.values import dataclass

NOISE_BITS = 52
"""Noise is drawn as round(2^NOISE_BITS · Z)."""

_SHRINKS = (1.0 - 2.0**-50, 1.0 - 2.0**-46, 1.0 - 2.0**-40)
"""A small margin for the rounding of the lift's doubles; privacy depends on the check, not on this factor."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The integer lift of a plan and its scale: one lifted unit is `scale` grid steps."""

    lift: Matrix
    scale: float
    absent: Array | None = None
    """What is lifted for somebody who is counted and not among the records, where that is anything."""

    def lifted(self, codes: Codes, sums: Integers, records: int, absent: int = 0) -> Integers:
        """Y: the summed codes of the records on the grid, exactly, then rounded; with those who are absent."""
        summed = core(codes, sums, records, self.lift.shape[1] > codes.width)
        if self.absent is None:
            return self.lift.exact_times(summed)
        return self._everybody.exact_times([*python(summed), absent])

    def lifted_rows(self, codes: Codes, sums: Words, records: Words) -> Words | None:
        """Y of many groups (groups × coordinates), as `lifted` finds each; None where words might not hold it."""
        centred = None if self.absent is not None else codes.centred_rows(sums, records)
        if centred is None:
            return None
        counted = self.lift.shape[1] > codes.width
        return self.lift.exact_times_rows(np.column_stack([centred, records]) if counted else centred)

    @cached_property
    def _everybody(self) -> Dense:
        assert self.absent is not None
        return Dense(np.column_stack([self.lift.dense(), self.absent]))

    def reach(self, domain: Domain, codes: Codes, neighbours: str) -> float:
        """The largest difference of neighbours on the grid, rounding included; rounded up."""
        largest = _largest(self.lift, self.absent, domain, neighbours, codes.extents)
        return sum_upward([largest, sqrt_upward(float(self.lift.shape[0]))])

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise in lifted units: 1/μ and a trifle for rounding."""
        return 2.0**NOISE_BITS / self.scale


def core(codes: Codes, sums: Integers, records: int, counted: bool) -> Integers:
    """The summed core in integers: centred codes, then the number of records where the lift takes it (`counted`)."""
    centred = codes.centred(sums, records)
    if not counted:
        return centred
    return np.append(centred, records) if isinstance(centred, np.ndarray) else [*centred, records]


def _largest(
    lift: Matrix, absent: Array | None, domain: Domain, neighbours: str, extents: Array | None = None
) -> float:
    """The largest difference of neighbours, rounded up: a record, or somebody who is counted and absent."""
    found = domain.largest(lift, neighbours, extents)
    return found if absent is None else max(found, norm_upward(absent))


def make_grid(
    lift: Matrix, domain: Domain, codes: Codes, neighbours: str, mu: float, absent: Array | None = None
) -> Grid:
    """The integer lift for a guarantee μ, certified; refuses a μ too small for the grid.

    `absent` is what is lifted for somebody who is counted and not among the records.

    Guarantee: with Y = round(grid.lift · core), neighbours' Y lie within μ·2^52 of each other, in exact arithmetic.
    Rounding: all of it charged; what is not certified is refused.
    """
    if lift.shape[1] - codes.width not in (0, 1):
        raise PlanError(
            f"a lift of {lift.shape[1]} columns",
            f"records have {codes.width} coordinates",
            "plan again",
            code="lift-does-not-match-records",
            columns=lift.shape[1],
            coordinates=codes.width,
        )
    domain.check_lift(lift, codes)
    if absent is not None and not (isinstance(lift, Dense) and absent.shape == lift.shape[:1]):
        what, rule = "people who are absent from another lift", "each row of a lift says what they add"
        raise PlanError(what, rule, "plan again", code="absent-people-do-not-match-lift")
    if absent is not None and neighbours != ADD_REMOVE:
        what, rule = "people who are absent under replace-one", "their number is public there"
        raise PlanError(what, rule, "plan again", code="absent-people-under-replace-one")
    norm = _largest(lift, absent, domain, neighbours)
    charge = sqrt_upward(float(lift.shape[0]))
    room = mu * 2.0**NOISE_BITS
    if not room > 2.0 * charge:
        raise PlanError(
            f"μ={mu:g} for {lift.shape[0]} lifted coordinates",
            "the guarantee must leave room for rounding: μ·2^52 must exceed twice the square root of their number",
            "use a larger ε or δ, or fewer columns",
            mu=mu,
            code="guarantee-too-small-for-rounding",
            coordinates=lift.shape[0],
        )
    extents = codes.extents
    units = 1.0 / extents
    if lift.shape[1] > len(extents):  # the number of records, which is private
        units = np.append(units, 1.0)
    if not np.isfinite(norm):
        what, rule = "a lift without a largest difference", "its entries must be finite numbers"
        raise PlanError(what, rule, "plan again", code="lift-without-largest-difference")
    if norm == 0:  # all that is asked is public
        return Grid(lift.scaled(units), room)
    for shrink in _SHRINKS:
        scale = (room - charge) / norm * shrink
        integer_lift, gone = lift.scaled(units * scale), None if absent is None else absent * scale
        reach = _largest(integer_lift, gone, domain, neighbours, extents)
        if Fraction(reach) + Fraction(charge) <= Fraction(mu) * 2**NOISE_BITS:
            return Grid(integer_lift, scale, gone)
    raise PlanError(
        "the lift could not be certified",
        "its largest difference must stay within the guarantee after rounding",
        "plan again; if this persists, the domain's scales are too far apart",
        code="lift-not-certified",
    )

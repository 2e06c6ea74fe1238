"""From real numbers to the grid: the integer lift, its certified norm, and the charge for rounding.

The lift of a plan is made of doubles. Multiplied by `scale` and rounded, its products with the integer core are whole
numbers Y; neighbours' Y differ by at most ‖C s‖ + √m, where m is the number of lifted coordinates (each is rounded by
at most half a unit on either side). Noise is round(2^52 Z) per coordinate. So the release is exactly μ-GDP when

    max ‖C s‖ + √m  ≤  μ · 2^52,

which is checked with every rounding upward, on the very doubles that are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gaussmith.domains.domain import Domain, WorstCase, price_over_bound
from gaussmith.domains.encoding import Encoding
from gaussmith.domains.groups import Groups
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array, Integers, Words, norm_upward, python, sqrt_upward, sum_upward
from gaussmith.numerics.matrices import Dense, Matrix
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE

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

    def lifted(self, codes: Encoding, sums: Integers, records: int, absent: int = 0) -> Integers:
        """Y: the summed codes of the records on the grid, exactly, then rounded; with those who are absent."""
        summed = core(codes, sums, records, self.lift.shape[1] > codes.width)
        if self.absent is None:
            return self.lift.exact_times(summed)
        return self._everybody.exact_times([*python(summed), absent])

    def lifted_rows(self, codes: Encoding, sums: Words, records: Words, absent: Words | None = None) -> Words | None:
        """Y of many groups (groups × coordinates), as `lifted` finds each; None where words might not hold it."""
        summed = codes.centred_rows(sums, records)
        if summed is None:
            return None
        if self.lift.shape[1] > codes.width:
            summed = np.column_stack([summed, records])
        if self.absent is None:
            return self.lift.exact_times_rows(summed)
        absent = np.zeros(len(records), np.int64) if absent is None else absent
        return self._everybody.exact_times_rows(np.column_stack([summed, absent]))

    @cached_property
    def _everybody(self) -> Dense:
        assert self.absent is not None
        return Dense(np.column_stack([self.lift.dense(), self.absent]))

    def reach(self, domain: Domain, codes: Encoding, neighbours: str) -> float:
        """The largest difference of neighbours on the grid, rounding included; rounded up."""
        largest = _largest(self.lift, self.absent, domain, neighbours, codes.extents)
        return sum_upward([largest, sqrt_upward(float(self.lift.shape[0]))])

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise in lifted units: 1/μ and a trifle for rounding."""
        return 2.0**NOISE_BITS / self.scale


def core(codes: Encoding, sums: Integers, records: int, counted: bool) -> Integers:
    """The summed core in integers: centred codes, then the number of records where the lift takes it (`counted`)."""
    centred = codes.centred(sums, records)
    if not counted:
        return centred
    return np.append(centred, records) if isinstance(centred, np.ndarray) else [*centred, records]


def _largest(
    lift: Matrix, absent: Array | None, domain: Domain, neighbours: str, extents: Array | None = None
) -> float:
    """The largest difference of neighbours, rounded up: a record, or somebody who is counted and absent."""
    found = domain.sensitivity(lift, neighbours, extents)
    return found if absent is None else max(found, norm_upward(absent))


def grid_at(scale: float, lift: Matrix, codes: Encoding, absent: Array | None = None) -> Grid:
    """The integer lift of this scale, not certified."""
    units = 1.0 / codes.extents
    if lift.shape[1] > len(units):  # the number of records, which is private
        units = np.append(units, 1.0)
    return Grid(lift.scaled(units * scale), scale, None if absent is None else absent * scale)


def make_grid(
    lift: Matrix, domain: Domain, codes: Encoding, neighbours: str, mu: float, absent: Array | None = None
) -> Grid:
    """The integer lift for a guarantee μ, certified; refuses a μ too small for the grid.

    `absent` is what is lifted for somebody who is counted and not among the records.

    Guarantee: with Y = round(grid.lift · core), neighbours' Y lie within μ·2^52 of each other, in exact arithmetic.
    Rounding: all of it charged; what is not certified is refused.
    """
    if lift.shape[1] - codes.width not in (0, 1):
        raise damaged_plan(f"a lift of {lift.shape[1]} columns")
    codes.check_lift(lift)
    if absent is not None and not (isinstance(lift, Dense) and absent.shape == lift.shape[:1]):
        raise damaged_plan("people who are absent from another lift")
    if absent is not None and neighbours != ADD_REMOVE:
        raise damaged_plan("people who are absent under replace-one")
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
    if not np.isfinite(norm):
        raise damaged_plan("a lift without a largest difference")
    if norm == 0:  # all that is asked is public
        return replace(grid_at(1.0, lift, codes), scale=room)
    for shrink in _SHRINKS:
        scale = (room - charge) / norm * shrink
        grid = grid_at(scale, lift, codes, absent)
        reach = _largest(grid.lift, grid.absent, domain, neighbours, codes.extents)
        if Fraction(reach) + Fraction(charge) <= Fraction(mu) * 2**NOISE_BITS:
            return grid
    raise PlanError(
        "the lift could not be certified",
        "its largest difference must stay within the guarantee after rounding",
        "plan again; if this persists, the domain's scales are too far apart",
        code="lift-not-certified",
    )


# What all noises have in common that several queries share: one guarantee, one total, one bound on every noise.

L = TypeVar("L")
D = TypeVar("D")


class SharedNoise:
    """How good a noise of several queries is; what it is follows in the classes that say so."""

    guarantee: Guarantee
    groups: Groups | None = None
    """The groups in each of which it is drawn anew; None where it is drawn once."""

    if TYPE_CHECKING:

        @property
        def total_variance(self) -> float: ...

        @property
        def bounding_law(self) -> WorstCase: ...

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
    def is_bound_quick(self) -> bool:
        """Whether the lower bound takes no longer than the plan did, by its size alone: only then it is printed."""
        return True

    @property
    def copies(self) -> int:
        """How many times it is drawn: once, or anew in every group."""
        return 1

    def seen(self, query: D) -> D:
        """A query as the noise sees it: as it is, or in one group."""
        return query

    @property
    def lent_to(self) -> tuple[int, ...]:
        """The places of queries that take the noisy number of everybody from this noise."""
        return ()

    def lifted_rows(self, queries: Sequence[Any], members: Sequence[Words], people: Words) -> Words | None:
        """As `lifted`, of all copies: members have copies × groups × numbers. None where words might not hold it."""
        return None

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
        """The total has the scales of its queries already."""
        return 1.0

    @property
    def price(self) -> float:
        """What was made small: the total."""
        return self.total_variance


def certified_lift(
    mu: float, size: int, norm: float, scaled: Callable[[float], L], largest: Callable[[L], float]
) -> tuple[L, float]:
    """The certified integer lift, and how many grid steps one lifted unit is; refuses what cannot be certified.

    `norm` is the largest difference of neighbours before `scaled` brings the lift to the grid, `sensitivity` that
    after it.

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
        raise damaged_plan("a lift without a largest difference")
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

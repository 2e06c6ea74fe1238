"""A lift in units in which no square overflows, over whole cores of ±1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.lift import TiedLift
from gaussmith.numerics.tied.parts import Body


def in_units(lift: TiedLift, body: Body, extents: Sequence[Array] | None) -> tuple[TiedLift, float]:
    """The lift of whole cores ±1, and in units of a power of two near its largest entry, so that no square overflows
    and none that matters vanishes; the exponent of that power, infinite where there is none."""
    extents = [np.ones(part.columns) for part in body.parts] if extents is None else extents
    fits = len(extents) == len(body.parts)
    for each, part in zip(extents, body.parts, strict=False):
        fits = fits and each.shape == (part.columns,) and bool((np.isfinite(each) & (each >= 0)).all())
    if not fits:
        raise PlanError(
            "extents that do not fit the columns",
            "one number, 0 or more, for each column",
            "plan again",
            code="extents-do-not-match-columns",
        )
    units = [np.append(each, [1.0] * (not part.always)) for each, part in zip(extents, body.parts, strict=True)]
    stacked = np.concatenate([*units, [1.0] * lift.counted])
    with np.errstate(over="ignore"):
        arrays = [own * each for own, each in zip(lift.own, units, strict=True)]
        arrays += [lift.ties * stacked] + ([] if lift.last is None else [lift.last * stacked])
    top = max(float(np.abs(each).max(initial=0.0)) for each in arrays)
    if top == 0.0 or not math.isfinite(top):
        return lift, math.inf if top else -math.inf
    exponent = math.frexp(top)[1]
    arrays = [np.ldexp(each, -exponent) for each in arrays]
    q = len(lift.own)
    return TiedLift(
        lift.groups, tuple(arrays[:q]), arrays[q], arrays[q + 1] if lift.last is not None else None
    ), exponent

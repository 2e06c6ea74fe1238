"""From noisy features to answers: values, standard errors, intervals; for one release or many groups at once.

`features` holds, on its last axis, one number per answer and, if the plan counts, the noisy number of records; any axes
before it are groups. What an answer is divided by, if anything, is the number of records or another answer's feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.accuracy import delta_intervals, fieller_intervals, ratio_errors, sum_intervals
from gaussmith.numerics.linear import Array
from gaussmith.plans import Plan


@dataclass(frozen=True, eq=False)
class Readout:
    """The answers of a plan read from its noisy features; `records` is the number of records where that is public."""

    plan: Plan
    features: Array
    records: int | None = None
    parts: int = 1
    """How many independent noises each feature carries: more than one for groups added up."""

    @property
    def _unit(self) -> float:
        """The variance of one lifted coordinate's noise."""
        return self.plan.noise_scale**2 * self.parts

    @cached_property
    def count(self) -> Array:
        """The number of records that means are over; not a number where it was neither asked nor needed."""
        if self.records is not None:
            return np.full(self.features.shape[:-1], float(self.records))
        if self.plan.shape.counted:
            return np.asarray(self.features[..., -1])
        return np.full(self.features.shape[:-1], np.nan)

    @cached_property
    def _divided(self) -> npt.NDArray[np.int64]:
        """Positions of the answers that are divided by something."""
        return np.flatnonzero(self.plan.answers.means | self.plan.answers.ratios).astype(np.int64)

    @cached_property
    def _ratio(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Of the divided answers: offset, numerator, denominator; then Var(numerator), Var(denominator), Cov."""
        answers, shape = self.plan.answers, self.plan.shape
        i = self._divided
        over = answers.over[i]
        by_count = over < 0
        offsets = np.where(by_count, self.plan.domain.coded[0][answers.index[i]], answers.offsets[i])
        denominators = np.where(by_count, self.count[..., None], self.features[..., np.maximum(over, 0)])
        unit = self._unit
        variances = shape.variances() * unit
        below = np.zeros(len(i))
        both = np.zeros(len(i))
        if by_count.any() and shape.counted:
            with_count = shape.features.times(shape.features.row(answers.size)) * unit
            below[by_count], both[by_count] = variances[answers.size], with_count[i[by_count]]
        for row in np.unique(over[~by_count]):
            at = over == row
            with_row = shape.features.times(shape.features.row(int(row))) * unit
            below[at], both[at] = variances[row], with_row[i[at]]
        return offsets, self.features[..., i], denominators, variances[i], below, both

    @cached_property
    def values(self) -> Array:
        """The answers in order, the count left out."""
        values = self.features[..., : self.plan.answers.size].copy()
        if len(self._divided):
            offsets, numerators, denominators, *_ = self._ratio
            with np.errstate(divide="ignore", invalid="ignore"):
                values[..., self._divided] = offsets + numerators / denominators
        return values

    @cached_property
    def standard_errors(self) -> Array:
        """Of the answers in order; of what is divided by the delta method, in its own units."""
        size = self.plan.answers.size
        plain = np.sqrt(self.plan.shape.variances()[:size] * self._unit)
        errors = np.broadcast_to(plain, (*self.features.shape[:-1], size)).copy()
        if len(self._divided):
            _, numerators, denominators, *moments = self._ratio
            with np.errstate(divide="ignore", invalid="ignore"):
                errors[..., self._divided] = ratio_errors(numerators, denominators, *moments)
        return errors

    def intervals(self, width: float, method: str) -> tuple[Array, Array]:
        """Ends of the answers' intervals, `width` standard errors to either side, the count left out."""
        size = self.plan.answers.size
        plain = np.sqrt(self.plan.shape.variances()[:size] * self._unit)
        lower, upper = sum_intervals(self.features[..., :size], plain, width)
        if len(self._divided):
            offsets, *moments = self._ratio
            ends = fieller_intervals if method == "fieller" else delta_intervals
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high = ends(width, *moments)
            lower[..., self._divided], upper[..., self._divided] = offsets + low, offsets + high
        return lower, upper

"""From noisy features to answers: values, standard errors, intervals; for one release or many groups at once.

`features` holds, on its last axis, one number per answer and, if the plan counts, the noisy number of records; any axes
before it are groups. What an answer is divided by, if anything, is the number of records or another answer's feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.linear import Array
from gaussmith.plans import Block
from gaussmith.releases.intervals import delta_intervals, fieller_intervals, ratio_errors, sum_intervals


@dataclass(frozen=True, eq=False)
class Readout:
    """The answers of a block read from its noisy features; `records` is the number of records where that is public."""

    block: Block
    features: Array
    records: int | None = None
    parts: int = 1
    """How many independent noises each feature carries: more than one for groups added up."""

    @property
    def _unit(self) -> float:
        """The variance of one lifted coordinate's noise."""
        return self.block.noise_scale**2 * self.parts

    @cached_property
    def count(self) -> Array:
        """The number of records that means are over; not a number where it was neither asked nor needed."""
        if self.records is not None:
            return np.full(self.features.shape[:-1], float(self.records))
        if self.block.shape.counted:
            return np.asarray(self.features[..., -1])
        return np.full(self.features.shape[:-1], np.nan)

    @cached_property
    def _divided(self) -> npt.NDArray[np.int64]:
        """Positions of the answers that are divided by something."""
        return np.flatnonzero(self.block.answers.means | self.block.answers.ratios).astype(np.int64)

    @cached_property
    def _ratio(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Of the divided answers: offset, numerator, denominator; then Var(numerator), Var(denominator), Cov."""
        answers, shape = self.block.answers, self.block.shape
        i = self._divided
        over = answers.over[i]
        by_count = over < 0
        offsets = np.where(by_count, self.block.domain.coded[0][answers.index[i]], answers.offsets[i])
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
        values = self.features[..., : self.block.answers.size].copy()
        if len(self._divided):
            offsets, numerators, denominators, *_ = self._ratio
            with np.errstate(divide="ignore", invalid="ignore"):
                values[..., self._divided] = offsets + numerators / denominators
        return values

    @cached_property
    def standard_errors(self) -> Array:
        """Of the answers in order; of what is divided by the delta method, in its own units."""
        size = self.block.answers.size
        plain = np.sqrt(self.block.shape.variances()[:size] * self._unit)
        errors = np.broadcast_to(plain, (*self.features.shape[:-1], size)).copy()
        if len(self._divided):
            _, numerators, denominators, *moments = self._ratio
            with np.errstate(divide="ignore", invalid="ignore"):
                errors[..., self._divided] = ratio_errors(numerators, denominators, *moments)
        return errors

    def intervals(self, width: float, method: str) -> tuple[Array, Array]:
        """Ends of the answers' intervals, `width` standard errors to either side, the count left out."""
        size = self.block.answers.size
        plain = np.sqrt(self.block.shape.variances()[:size] * self._unit)
        lower, upper = sum_intervals(self.features[..., :size], plain, width)
        if len(self._divided):
            offsets, *moments = self._ratio
            ends = fieller_intervals if method == "fieller" else delta_intervals
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high = ends(width, *moments)
            lower[..., self._divided], upper[..., self._divided] = offsets + low, offsets + high
        return lower, upper

    # -- as they are shown: without hidden denominators, the count last if asked ------------------------------------

    @property
    def count_error(self) -> float:
        """The standard error of the count: 0 where the number of records is public."""
        return (self.block.count_standard_error or 0.0) * float(np.sqrt(self.parts))

    def _with_count(self, answers: Array, count: Array) -> Array:
        shown = answers[..., : self.block.answers.visible]
        return np.concatenate([shown, count[..., None]], axis=-1) if self.block.answers.count else shown

    @property
    def all_values(self) -> Array:
        """The answers in order, the count last if asked."""
        return self._with_count(self.values, self.count)

    @property
    def all_errors(self) -> Array:
        """Of the answers in order, the count last if asked."""
        return self._with_count(self.standard_errors, np.full(self.features.shape[:-1], self.count_error))

    def all_intervals(self, width: float, method: str) -> tuple[Array, Array]:
        """Ends of all intervals, the count last if asked."""
        lower, upper = self.intervals(width, method)
        half = width * self.count_error
        return self._with_count(lower, self.count - half), self._with_count(upper, self.count + half)

    def covariance(self) -> Array:
        """Of the answers of one release or group, the count last if asked; of means to first order."""
        answers, shape = self.block.answers, self.block.shape
        size = answers.size
        F = shape.features.dense()
        C = F @ F.T * self._unit
        J = np.eye(size, len(F))[: answers.visible]
        for i in np.flatnonzero((answers.means | answers.ratios)[: answers.visible]):
            by_count = answers.over[i] < 0
            below = float(self.count) if by_count else float(self.features[answers.over[i]])
            below = below or np.nan  # a mean of no records has no error to speak of
            J[i, i] = 1 / below
            if not by_count or shape.counted:
                J[i, size if by_count else answers.over[i]] = -self.features[i] / below**2
        if answers.count:
            last = np.zeros((1, len(F)))
            if shape.counted:
                last[0, -1] = 1.0
            J = np.vstack([J, last])
        return np.asarray(J @ C @ J.T)

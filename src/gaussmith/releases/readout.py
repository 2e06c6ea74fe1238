"""From noisy features to answers, in the order in which they are shown: each statistic reads its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.linear import Array
from gaussmith.plans import Block
from gaussmith.statistics import Count, Means, Noisy, Statistic, Sums

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Readout:
    """The answers of a block read from its noisy features; `records` is the number of records where that is public."""

    block: Block
    features: Array
    records: int | None = None
    parts: int = 1
    """The number of independent noises in each feature: more than one for groups added up."""

    @cached_property
    def _noisy(self) -> Noisy:
        shape, unit = self.block.shape, self.block.noise_scale**2 * self.parts
        return Noisy(self.features, shape.features, unit, shape.counted, self.records)

    @cached_property
    def _statistics(self) -> list[tuple[Places, Statistic]]:
        """The statistics that are shown, each with the places of its answers; the count is last, if asked."""
        answers = self.block.answers
        divided = (answers.means | answers.ratios)[: answers.visible]
        plain, ratios = np.flatnonzero(~divided), np.flatnonzero(divided)
        found: list[tuple[Places, Statistic]] = [(plain, Sums(plain))]
        if len(ratios):
            over = answers.over[ratios]
            centres = self.block.domain.coded[0][answers.index[ratios]]
            found.append((ratios, Means(ratios, over, np.where(over < 0, centres, answers.offsets[ratios]))))
        if answers.count:
            found.append((np.array([answers.visible]), Count()))
        return found

    def _gather(self, read: Callable[[Statistic], Array], size: tuple[int, ...]) -> Array:
        answers = self.block.answers
        found = np.empty((*size, answers.visible + answers.count))
        for places, statistic in self._statistics:
            found[..., places] = read(statistic)
        return found

    @cached_property
    def values(self) -> Array:
        """The answers in order, the count last if asked."""
        return self._gather(lambda each: each.values(self._noisy), self.features.shape[:-1])

    @cached_property
    def standard_errors(self) -> Array:
        """Of the answers in order; of means by the delta method, in the mean's own units."""
        return self._gather(lambda each: each.errors(self._noisy), self.features.shape[:-1])

    def intervals(self, width: float, method: str) -> tuple[Array, Array]:
        """Ends of all intervals, `width` standard errors to either side."""
        groups = self.features.shape[:-1]
        lower = self._gather(lambda each: each.intervals(self._noisy, width, method)[0], groups)
        upper = self._gather(lambda each: each.intervals(self._noisy, width, method)[1], groups)
        return lower, upper

    def covariance(self) -> Array:
        """Of the answers of one release or group, the count last if asked; of means to first order."""
        F = self.block.shape.features.dense()
        J = self._gather(lambda each: each.gradient(self._noisy).T, (len(F),)).T
        return np.asarray(J @ (F @ F.T * self._noisy.unit) @ J.T)

"""From noisy features to answers, in the order in which they are shown: each statistic reads its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.plans import Block
from gaussmith.statistics import Noisy


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
    def values(self) -> Array:
        """The answers in order, the count last if asked."""
        return self.block.answers.gathered(lambda each: each.values(self._noisy))

    @cached_property
    def standard_errors(self) -> Array:
        """Of the answers in order; of means by the delta method, in the mean's own units."""
        return self.block.answers.gathered(lambda each: each.errors(self._noisy))

    def intervals(self, width: float, method: str) -> tuple[Array, Array]:
        """Ends of all intervals, `width` standard errors to either side."""
        ends = [each.intervals(self._noisy, width, method) for each in self.block.answers.statistics]
        lower, upper = (np.concatenate(each, axis=-1) for each in zip(*ends, strict=True))
        return lower, upper

    def covariance(self) -> Array:
        """Of the answers of one release or group, the count last if asked; of means to first order."""
        F = self.block.shape.features.dense()
        J = self.block.answers.gradient(self._noisy)
        return np.asarray(J @ (F @ F.T * self._noisy.unit) @ J.T)


@dataclass(frozen=True, eq=False)
class ReadoutByWeight:
    """The answers of groups whose noise differs: a readout for each weight, and the groups that it is of."""

    each: tuple[Readout, ...]
    places: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, blocks: Sequence[Block], features: Array, places: Sequence[tuple[int, ...]]) -> ReadoutByWeight:
        """The readouts of all groups, whose features are rows in their order."""
        each = tuple(Readout(block, features[list(at)]) for block, at in zip(blocks, places, strict=True))
        return cls(each, tuple(places))

    @property
    def values(self) -> Array:
        """Groups × answers, the count last if asked."""
        return self._in_order([each.values for each in self.each])

    @property
    def standard_errors(self) -> Array:
        """The same of their errors."""
        return self._in_order([each.standard_errors for each in self.each])

    def intervals(self, width: float, method: str) -> tuple[Array, Array]:
        """Ends of all intervals, `width` standard errors to either side."""
        lower, upper = zip(*(each.intervals(width, method) for each in self.each), strict=True)
        return self._in_order(lower), self._in_order(upper)

    def _in_order(self, values: Sequence[Array]) -> Array:
        return np.concatenate(values)[np.argsort(np.concatenate(self.places), kind="stable")]

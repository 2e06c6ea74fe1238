"""From noisy features to answers, in the order in which they are shown: each statistic reads its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.plans import Block
from gaussmith.problem.features import Places
from gaussmith.releases.shown_groups import shown_intervals
from gaussmith.statistics import Noisy, Statistic
from gaussmith.values import dataclass


@dataclass(frozen=True, eq=False)
class Readout:
    """The answers of a block read from its noisy features; `records` is the number of records where that is public."""

    block: Block
    features: Array
    records: int | None = None
    parts: int = 1
    """The number of independent noises in each feature: more than one for groups added up."""
    bars: Array | None = None
    """Of found groups, where these noises decided which are shown: what each count had to reach."""
    at_least: int = 1
    """The fewest people that a shown group has."""

    @cached_property
    def noisy(self) -> Noisy:
        """The noisy features, and how their noise goes together."""
        shape, unit = self.block.shape, self.block.noise_scale**2 * self.parts
        return Noisy(self.features, shape.features, unit, shape.counted, self.records)

    @cached_property
    def values(self) -> Array:
        """The answers in order, the count last if asked."""
        return self.block.answers.gathered(lambda each: each.values(self.noisy))

    @cached_property
    def standard_errors(self) -> Array:
        """Of the answers in order; of means by the delta method, in the mean's own units."""
        return self.block.answers.gathered(lambda each: each.errors(self.noisy))

    def intervals(self, width: float, method: str) -> tuple[Array, Array]:
        """Ends of all intervals, `width` standard errors to either side."""
        if self.bars is not None:
            return shown_intervals(self.block, self.features, self.bars, self.at_least, width, method)
        ends = [each.intervals(self.noisy, width, method) for each in self.block.answers.statistics]
        lower, upper = (np.concatenate(each, axis=-1) for each in zip(*ends, strict=True))
        return lower, upper

    def population_intervals(self, statistic: Statistic, width: float) -> tuple[Array, Array] | None:
        """Intervals that cover sampling too, where a statistic has its own."""
        return statistic.population_intervals(self.noisy, width)

    def at(self, places: Places) -> Array:
        """The noisy features in some places; the number of records where a place is that."""
        return self.noisy.at(places)

    def gradient(self) -> Array:
        """By how much each answer changes with each feature, at the released values of one group."""
        return self.block.answers.gradient(self.noisy)

    def covariance(self) -> Array:
        """Of the answers of one release or group, the count last if asked; of means to first order."""
        F = self.block.shape.features.dense()
        J = self.gradient()
        return np.asarray(J @ (F @ F.T * self.noisy.unit) @ J.T)


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

    def population_intervals(self, statistic: Statistic, width: float) -> tuple[Array, Array] | None:
        """Intervals that cover sampling too, where a statistic has its own."""
        found = [each.population_intervals(statistic, width) for each in self.each]
        ends = [each for each in found if each is not None]
        if not ends:
            return None
        lower, upper = zip(*ends, strict=True)
        return self._in_order(lower), self._in_order(upper)

    def at(self, places: Places) -> Array:
        """The noisy features in some places, of every group."""
        return self._in_order([each.at(places) for each in self.each])

    def _in_order(self, values: Sequence[Array]) -> Array:
        return np.concatenate(values)[np.argsort(np.concatenate(self.places), kind="stable")]


def side_by_side(parts: Sequence[Array]) -> Array:
    """Answers of several readouts, one after the other on the last axis."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


def block_diagonal(parts: Sequence[Array]) -> Array:
    """Matrices one after the other, with zeros beside them."""
    rows, columns = (np.cumsum([0, *(part.shape[axis] for part in parts)]) for axis in (0, 1))
    found = np.zeros((rows[-1], columns[-1]))
    for part, row, column in zip(parts, rows, columns, strict=False):
        found[row : row + part.shape[0], column : column + part.shape[1]] = part
    return found

"""From noisy features to answers, in the order in which they are shown: each statistic reads its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gaussmith.checks import CONFIDENCE, check_number, checks_arguments
from gaussmith.domains.features import Places
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array
from gaussmith.planning.block import Block
from gaussmith.planning.error_distribution import normal_width
from gaussmith.privacy.thresholds import interval, selected_quantile
from gaussmith.statistics.mean import largest_distances
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.statistic import ONE, Noisy, Statistic, counts_records

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


# Found groups that were shown: their keys, the bars they passed, and intervals that know of it.
#
# Of a shown group the noisy count is normal, cut off below its bar. All other noise of the group is independent of
# that:
#
#     sum  = offset + c · n      c from the bounds; the noise of the offset was not looked at
#     mean = middle + offset / n
#
# Intervals of counts are those of the cut-off law. The error of a sum, or of a mean times the noisy n, is correlated
# with the noise that was looked at; by how much its law is bent depends on n. It is taken at the n that bends it
# most, among those of an interval that fails with a small probability (`NUISANCE` of what may fail), which is taken
# off.
#
# Values and standard errors do not know of it: counts of shown groups are too high on average, most near their bars.

NUISANCE = 0.02
"""The part of what may fail that is spent on not knowing how many people are in a group."""

NEAR = 3.0
"""A count this many standard deviations above its bar would be shown without help of its noise."""


@dataclass(frozen=True, eq=False)
class ShownGroups:
    """The keys that were shown, in their order, and of each the least noisy count at which it would have been shown."""

    labels: tuple[tuple[Any, ...], ...]
    bars: Array = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {"labels": [list(label) for label in self.labels], "bars": self.bars.tolist()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> ShownGroups:
        """The groups that `to_dict` described."""
        labels = tuple(tuple(label) for label in fields["labels"])
        return cls(labels, np.array(fields["bars"], float).reshape(len(labels)))


def near_bars(block: Block, features: Array, bars: Array) -> Array:
    """Of which shown groups the count is near its bar: their noise may have decided that they are shown."""
    s = block.noise_scale * abs(block.shape.features.dense()[-1, -1])
    return np.asarray(features[..., -1] < bars + NEAR * s)


def shown_intervals(
    block: Block, features: Array, bars: Array, least: int, width: float, method: str
) -> tuple[Array, Array]:
    """Ends of the intervals of all answers of shown groups: groups × answers, or of one group."""
    ends = [_ends(each, block, features, bars, least, width, method) for each in block.answers.statistics]
    lower, upper = (np.concatenate(each, axis=-1) for each in zip(*ends, strict=True))
    return lower, upper


def _ends(
    statistic: Statistic, block: Block, features: Array, bars: Array, least: int, width: float, method: str
) -> tuple[Array, Array]:
    from scipy.special import ndtr  # takes longer to import than all of this package: only where keys are found

    fails = 2 * ndtr(-width)
    rows, unit = block.shape.features.dense(), block.noise_scale**2
    if not any(rows[_places(statistic, k, len(rows)), -1].any() for k in range(len(statistic.coefficients))):
        return statistic.intervals(Noisy(features, block.shape.features, unit, True), width, method)
    limits = block.domain.means.distances[block.problem.features.index] if statistic.divided else np.zeros(0)
    per_count = rows[-1, -1]
    s = np.sqrt(unit) * per_count
    count = features[..., -1]
    if counts_records(statistic):
        low, high = interval(count, bars, np.asarray(s), 1 - fails, float(least))
        return low[..., None], high[..., None]
    # Each answer (n times a mean) as c · n and an offset whose noise has nothing to do with being shown.
    terms = [(k, c) for k, c in enumerate(statistic.coefficients) if c]
    mixed = sum(c * rows[_places(statistic, k, len(rows))] for k, c in terms)
    values = sum(c * features[..., _places(statistic, k, len(rows))] for k, c in terms)
    slope = mixed[:, -1] / per_count
    spread = np.sqrt(unit) * np.linalg.norm(mixed[:, :-1], axis=1)
    fewest, most = interval(count, bars, np.asarray(s), 1 - NUISANCE * fails, float(least))
    below, above = ((np.asarray(bars - n) / s)[..., None] for n in (fewest, most))
    tail = (1 - NUISANCE) * fails / 2
    if statistic.divided:
        farthest = np.asarray(largest_distances(statistic, lambda places: limits[places]))
        rho = farthest * s / np.sqrt(spread**2 + (farthest * s) ** 2)
        wide = np.maximum(selected_quantile(1 - tail, below, rho), -selected_quantile(tail, below, -rho))
        return statistic.intervals(Noisy(features, block.shape.features, unit, True), wide, method)
    error = np.sqrt(spread**2 + (slope * s) ** 2)
    rho = slope * s / error
    up = selected_quantile(1 - tail, np.where(rho > 0, below, above), rho)
    down = selected_quantile(tail, np.where(rho > 0, above, below), rho)
    return values - error * up, values - error * down


def _places(statistic: Statistic, need: int, size: int) -> Any:
    places = statistic.places[:, need]
    return np.where(places == ONE, size - 1, places)


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
        ends = [self.ends_of(each, width, method) for each in self.block.answers.statistics]
        lower, upper = (np.concatenate(each, axis=-1) for each in zip(*ends, strict=True))
        return lower, upper

    def ends_of(self, statistic: Statistic, width: float, method: str) -> tuple[Array, Array]:
        """Ends of the intervals of one statistic, as sure as so many standard errors of the normal law."""
        if self.block.noise_law is not None:
            from gaussmith.planning.pure_intervals import pure_intervals

            return pure_intervals(statistic, self.noisy, self.block.noise_law, width, method, self.parts)
        return statistic.intervals(self.noisy, width, method)

    def width_of_law(self, width: float) -> float:
        """A width that is as sure by the law of the noise, whatever is read, as this one by the normal law."""
        law = self.block.noise_law
        if law is None:
            return width
        from gaussmith.planning.pure_intervals import confidence_of, widest

        return widest(law, confidence_of(width), law.numbers)

    def shown_by_luck(self) -> Array:
        """Of which answers the noise may have decided that their group is shown."""
        near = False if self.bars is None else near_bars(self.block, self.features, self.bars)[..., None]
        return np.broadcast_to(near, self.values.shape)

    def population_intervals(self, statistic: Statistic, width: float) -> tuple[Array, Array] | None:
        """Intervals that cover sampling too, where a statistic has its own."""
        if not isinstance(statistic, Quantiles):
            return None
        return statistic.population_intervals(self.noisy, self.width_of_law(width))

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


# What else is in the noisy cells of quantiles: the whole distribution, and other quantiles.


class CellReadings:
    """What a release of quantiles can say beyond them, read from the same noisy numbers: it costs nothing more."""

    @checks_arguments
    def distribution(self, confidence: float = CONFIDENCE) -> dict[str, list[float]]:
        """The share of values below each edge of the cells of the quantiles in view: edge, share, lower, upper.

        Of one column, and of one group. Each interval holds by itself.
        """
        readout, quantiles = quantiles_in(cast("Release", self))
        found = quantiles.distribution(readout.noisy, readout.width_of_law(normal_width(confidence)))
        return dict(zip(("edge", "share", "lower", "upper"), (each.tolist() for each in found), strict=True))

    @checks_arguments
    def quantile(self, level: float, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
        """Another quantile of the column whose quantiles are in view: its value and the ends of its interval."""
        readout, quantiles = quantiles_in(cast("Release", self))
        rule, remedy = "a level is above 0 and below 1", "write 0.5 for the median"
        q = check_number("level", level, above=0, below=1, rule=rule, remedy=remedy, error=PlanError)
        other = quantiles.at([q])
        low, high = other.intervals(readout.noisy, readout.width_of_law(normal_width(confidence)))
        return float(other.values(readout.noisy)[0]), float(low[0]), float(high[0])


def quantiles_in(release: Release) -> tuple[Readout, Quantiles]:
    """The quantiles in view, and what they are read from; refuses several columns and several groups."""
    if len(release.plan) > 1:
        release.plan.slot  # noqa: B018 (refuses, with the names of the questions)
    if release.labels:
        what, remedy = "the distribution of several groups", "choose one: release[group]"
        raise PlanError(what, "each has its own", remedy, code="cells-of-several-groups")
    found = [
        (piece.readout, each)
        for piece in release.pieces
        for each in piece.block.answers.statistics
        if isinstance(each, Quantiles) and (release.view.answer is None or release.view.answer in each.names)
    ]
    if len(found) != 1:
        several = f"there are {len(found)}" if found else "no quantile is in view"
        raise PlanError(
            "the cells of a column",
            f"they are those of the quantiles of one column, and {several}",
            "choose a quantile: release['income_median']",
            code="cells-of-no-quantile",
        )
    return found[0]

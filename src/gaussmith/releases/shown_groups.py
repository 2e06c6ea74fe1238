"""Found groups that were shown: their keys, the bars they passed, and intervals that know of it.

Of a shown group the noisy count is normal, cut off below its bar. All other noise of the group is independent of that:

    sum  = offset + c · n      c from the bounds; the noise of the offset was not looked at
    mean = middle + offset / n

Intervals of counts are those of the cut-off law. The error of a sum, or of a mean times the noisy n, is correlated with
the noise that was looked at; by how much its law is bent depends on n. It is taken at the n that bends it most, among
those of an interval that fails with a small probability (`NUISANCE` of what may fail), which is taken off.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.numerics.shown_counts import interval, selected_quantile
from gaussmith.plans import Block
from gaussmith.statistics import ONE, Noisy
from gaussmith.statistics.statistic import Statistic
from gaussmith.values import dataclass

NUISANCE = 0.02
"""The part of what may fail that is spent on not knowing how many people are in a group."""


@dataclass(frozen=True, eq=False)
class ShownGroups:
    """The keys that were shown, sorted, and of each the least noisy count at which it would have been shown."""

    labels: tuple[tuple[Any, ...], ...]
    bars: Array = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {"labels": [list(label) for label in self.labels], "bars": self.bars.tolist()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> ShownGroups:
        """The groups that `to_dict` described."""
        labels = tuple(tuple(label) for label in fields["labels"])
        return cls(labels, np.array(fields["bars"], float).reshape(len(labels)))


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
    limits = block.domain.mean_distances[block.problem.features.index] if statistic.divided else np.zeros(0)
    per_count = rows[-1, -1]
    s = np.sqrt(unit) * per_count
    count = features[..., -1]
    if statistic.counts_records:
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
        farthest = np.asarray(statistic.largest_distances(lambda places: limits[places]))
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

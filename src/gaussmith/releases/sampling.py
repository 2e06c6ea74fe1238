"""Sampling error: how far the answers about the people in the data are from those about a population.

Intervals of a release cover its noise. If the people in the data were drawn at random from many, the answers also vary
with the draw. How much can be read from a release where it holds what is needed:

    a count of a group, a value of a histogram     n̂ p̂ (1 − p̂), binomial: n̂ is that of all groups or values
    the mean of a column                           variance / n̂, where the release has the column's variance and count
    the mean of a column within [0, 1]             p̂ (1 − p̂) / n̂: no column within these bounds varies more

Both errors are independent, so their squares are added, to either side. n̂ and p̂ are noisy: the result is approximate.
Quantiles have intervals of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains.domain import records_are_rows
from gaussmith.errors import PlanError
from gaussmith.notations import setting
from gaussmith.numerics.exact import Array
from gaussmith.releases.quantities import Quantity, kinds_of, quantities_of
from gaussmith.statistics.registry import STATISTICS

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


def widened(release: Release, lower: Array, upper: Array, width: float) -> tuple[Array, Array]:
    """Intervals that also cover the sampling; refuses, with the reason, where it is not known for all in view."""
    found = _variances(release)
    for name in release.names:
        known_of = found.get(name, (None, "the sampling error of a share is not known here"))
        if known_of[0] is None:
            raise PlanError(
                f"population=True of {name!r}",
                known_of[1],
                _needed(release, name),
                code="sampling-error-unknown",
                answer=name,
            )
    lower, upper = _own_intervals(release, lower, upper, width)
    squares = np.stack([np.asarray(found[name][0]) for name in release.names], axis=-1) * width * width
    values = release.values
    known = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid="ignore"):
        low = values - np.sqrt((values - lower) ** 2 + squares)
        high = values + np.sqrt((upper - values) ** 2 + squares)
    return np.where(known, low, -np.inf), np.where(known, high, np.inf)


def _needed(release: Release, name: str) -> str:
    """What to ask for, so that the sampling error of an answer is known."""
    found = quantities_of(release).get(name)
    if found is None or found.statistic[0].kind != "mean":
        return "ask for means or for counts by group, or leave population out"
    column, (low, high) = name.removesuffix("_mean"), (end.reshape(-1)[0] for end in release.of_answer(name).limits)
    bounds = setting("variances", {column: [float(low), float(high)]})
    if _is_over_rows(found):
        beside = "" if (low, high) == (0.0, 1.0) else f" with {bounds}"
        return f"ask for the mean over people: {setting('mean_of', 'units')}{beside}; or leave population out"
    return f"ask for {bounds} too, or leave population out"


def _is_over_rows(quantity: Quantity) -> bool:
    return quantity.release.block.answers.over_rows or records_are_rows(quantity.release.block.domain)


def _own_intervals(release: Release, lower: Array, upper: Array, width: float) -> tuple[Array, Array]:
    """The intervals, those of statistics that know the sampling themselves in place of theirs."""
    quantities, lower, upper = quantities_of(release), lower.copy(), upper.copy()
    for i, name in enumerate(release.names):
        statistic, at = quantities[str(name)].statistic
        own = quantities[str(name)].release.readouts[0].population_intervals(statistic, width)
        if own is not None:
            lower[..., i], upper[..., i] = own[0][..., at], own[1][..., at]
    return lower, upper


def describe_sampling(release: Release) -> dict[str, str]:
    """For each answer in view what its sampling error rests on, or why there is none."""
    if len(release.plan) > 1:
        release.plan.slot  # noqa: B018 (refuses, with the names of the questions)
    found = _variances(release)
    return {name: found[name][1] for name in release.names}


def _variances(release: Release) -> dict[str, tuple[Array | None, str]]:
    """The sampling variance of each answer in view (in each group), and what it rests on."""
    everything = replace(release, view=replace(release.view, answer=None))
    values = dict(zip(map(str, everything.names), np.moveaxis(everything.values, -1, 0), strict=True))
    quantities, kinds = quantities_of(everything), dict(zip(everything.names, kinds_of(everything), strict=True))
    bounds = dict(zip(everything.names, zip(*everything.limits, strict=True), strict=True))
    known = [name for name in release.names if name in quantities]
    return {str(name): _of_answer(release, quantities[name], kinds, values, bounds[name]) for name in known}


def _of_answer(
    release: Release,
    quantity: Quantity,
    kinds: Mapping[str, str],
    values: Mapping[str, Array],
    bounds: tuple[float, float],
) -> tuple[Array | None, str]:
    name = quantity.name
    statistic, _ = quantity.statistic
    own = quantity.release.readouts[0].population_intervals(statistic, 1.0)
    if own is not None:
        return np.zeros(values[name].shape), "an interval of the statistic's own"
    if STATISTICS[kinds[name]].counts_values:
        total = np.sum([values[other] for other, kind in kinds.items() if STATISTICS[kind].counts_values], axis=0)
        return _binomial(values[name], np.maximum(total, 0.0)), "a binomial law, with the released number of all values"
    if kinds[name] == "count" and release.plan.groups is not None and not release.view.summed:
        everybody = replace(release, view=replace(release.view, groups=None, answer=name))
        everyone = np.maximum(everybody.values.sum(), 0.0)
        return _binomial(values[name], everyone), "a binomial law, with the released number of all groups"
    if kinds[name] == "mean":
        return _of_mean(quantity, values, bounds)
    return None, "the data do not say how it varies from one sample of people to another"


def _binomial(counts: Array, total: Array | float) -> Array:
    """n p (1 − p) at the released numbers, p within 0 and 1."""
    n = np.maximum(total, 1.0)
    p = np.clip(counts / n, 0.0, 1.0)
    return np.asarray(n * p * (1 - p))


def _of_mean(quantity: Quantity, values: Mapping[str, Array], bounds: tuple[float, float]) -> tuple[Array | None, str]:
    """The variance of the column over the number of people, where the release has both."""
    if _is_over_rows(quantity):
        return None, "it is over rows, and the rows of one person are not drawn independently"
    column = quantity.name.removesuffix("_mean")
    statistic, at = quantity.statistic
    counts = np.maximum(quantity.release.readouts[0].at(statistic.places[at, -1:])[..., 0], 1.0)
    for name, power in ((f"{column}_variance", 1), (f"{column}_sd", 2)):
        if name in values:
            variance = np.maximum(values[name], 0.0) ** power
            return np.asarray(variance / counts), f"the released {name}, over the released number of people"
    if bounds == (0.0, 1.0):
        p = np.clip(values[quantity.name], 0.0, 1.0)
        return np.asarray(p * (1 - p) / counts), "p (1 − p), the largest variance of a column within 0 and 1"
    return None, f"it needs the variance of {column!r}, which this question does not release"

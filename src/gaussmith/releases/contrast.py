"""One contrast: Σ factors · answers, or a ratio of two such sums, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.plans.error_distribution import normal_width
from gaussmith.plans.noise_covariances import Combination, NoiseCovariances, combine
from gaussmith.releases.contrast_intervals import (
    correlations_of,
    exact_ratio,
    recovered_interval,
    recovered_ratio,
    shared_width,
)
from gaussmith.releases.quantities import Quantity
from gaussmith.values import dataclass

Weighted = tuple[tuple[float, Quantity], ...]

EXACT, HELD, RECOVERED = "exact", "joint", "approximate"
"""How the interval was found: from the normal law itself; from intervals of the answers that hold all at once; or
recovered from the intervals of the answers as if they were normal."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """(above + added · below) / below, all in features: a sum of answers over one denominator, or over none."""

    above: Combination
    below: Combination | None
    added: float


def reduced(parts: Weighted) -> Reduced | None:
    """Σ factors · answers over one denominator; None where they have several, or are no ratios."""
    found = [(factor, quantity.fraction) for factor, quantity in parts]
    fractions = [(factor, fraction) for factor, fraction in found if fraction is not None]
    if len(fractions) < len(parts):
        return None
    first = fractions[0][1][1]
    for _, (_, below, _) in fractions[1:]:
        if (below is None) != (first is None) or (below is not None and first is not None and not below.same_as(first)):
            return None
    added = sum(factor * each[2] for factor, each in fractions)
    return Reduced(combine((factor, each[0]) for factor, each in fractions), first, added)


@dataclass(frozen=True, eq=False)
class Contrast:
    """`top` over `bottom`, or `top` alone. `limits` are where it lies without noise, from the bounds alone."""

    name: str
    keys: tuple[object, ...]
    top: Weighted
    bottom: Weighted = ()
    limits: tuple[float, float] = (-np.inf, np.inf)
    noise: NoiseCovariances = field(kw_only=True, repr=False)

    @property
    def value(self) -> float:
        above = _total(self.top)
        if not self.bottom:
            return above
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.divide(above, _total(self.bottom)))

    @cached_property
    def gradient(self) -> Combination | None:
        """The noise to first order; None where an answer does not say its own."""
        above, below = _gradient(self.top), _gradient(self.bottom)
        if above is None or below is None:
            return None
        if not self.bottom:
            return above
        bottom = _total(self.bottom)
        return combine([(1 / bottom, above), (-self.value / bottom, below)]) if bottom else None

    @cached_property
    def standard_error(self) -> float:
        """Of what is not linear: by the delta method; of quantiles half of an interval of one standard error."""
        if self.inverted:
            low, high = self._recovered_ends(1.0)
            return float((high - low) / 2)
        if self.gradient is None:
            low, high = self.ends(normal_width(0.95))
            return float((high - low) / (2 * normal_width(0.95)))
        vector = self.noise.vector(self.gradient)
        return float(np.sqrt(max(self.noise.covariance(vector, vector), 0.0)))

    @cached_property
    def exact(self) -> tuple[Combination, Combination | None, float] | None:
        """Numerator, denominator and what is added, all linear in the features; None where there is no such form."""
        top = reduced(self.top)
        if not self.bottom:
            return None if top is None else (top.above, top.below, top.added)
        bottom = reduced(self.bottom)
        if top is None or bottom is None:
            return None
        if top.below is None or bottom.below is None:
            plain = top.below is bottom.below is None and not (top.added or bottom.added)
            return (top.above, bottom.above, 0.0) if plain else None
        if not top.below.same_as(bottom.below):
            return None
        above, below = (combine([(1.0, each.above), (each.added, top.below)]) for each in (top, bottom))
        return above, below, 0.0

    @property
    def inverted(self) -> bool:
        """Whether an answer is a quantile: the ends of its interval are edges of cells."""
        return any(quantity.statistic[0].inverted for _, quantity in (*self.top, *self.bottom))

    @property
    def how(self) -> str:
        """Whether intervals are exact, hold where those of all answers do, or are approximate."""
        return EXACT if self.exact is not None else HELD if self.inverted else RECOVERED

    def ends(self, width: float) -> tuple[float, float]:
        """The interval, `width` standard errors of the normal law to either side; not cut; infinite where unknown."""
        if self.exact is not None:
            return self._exact_ends(width)
        return self._held_ends(width) if self.inverted else self._recovered_ends(width)

    def _held_ends(self, width: float) -> tuple[float, float]:
        """All that the answers can be within their own intervals, each of which may fail with an equal share of α.

        A quantile may lie anywhere in its cell, and not by chance: distances do not add up as those of noise do.
        """
        own = shared_width(width, len(self.top) + len(self.bottom))
        top = _recovered(self.top, own, None)
        if not self.bottom:
            return top
        bottom = _recovered(self.bottom, own, None)
        low, high = recovered_ratio(_arrays(_total(self.top), *top), _arrays(_total(self.bottom), *bottom), None)
        return float(low), float(high)

    def _recovered_ends(self, width: float) -> tuple[float, float]:
        """The interval recovered from those of the answers and the correlations of their noise."""
        top = _recovered(self.top, width, self.noise)
        if not self.bottom:
            return top
        bottom = _recovered(self.bottom, width, self.noise)
        above, below = _gradient(self.top), _gradient(self.bottom)
        rho = None
        if above is not None and below is not None:
            rho = float(correlations_of(self.noise.covariances([above, below]))[0, 1])
        low, high = recovered_ratio(
            _arrays(_total(self.top), *top),
            _arrays(_total(self.bottom), *bottom),
            None if rho is None else np.array(rho),
        )
        return float(low), float(high)

    def _exact_ends(self, width: float) -> tuple[float, float]:
        assert self.exact is not None
        above, below, added = self.exact
        one = self.top[0][1]
        if below is None:
            value = one.measured(above) + added
            half = width * float(np.sqrt(max(self.noise.covariances([above])[0, 0], 0.0)))
            return value - half, value + half
        measured = one.measured(above), one.measured(below)
        low, high = exact_ratio(width, *measured, self.noise.covariances([above, below]))
        return added + low, added + high


def _arrays(value: float, low: float, high: float) -> tuple[Array, Array, Array]:
    return np.array(value), np.array(low), np.array(high)


def _total(parts: Weighted) -> float:
    return float(sum(factor * quantity.value for factor, quantity in parts))


def _gradient(parts: Weighted) -> Combination | None:
    found = [(factor, quantity.gradient) for factor, quantity in parts]
    known = [(factor, gradient) for factor, gradient in found if gradient is not None]
    return combine(known) if len(known) == len(found) else None


def _recovered(parts: Weighted, width: float, noise: NoiseCovariances | None) -> tuple[float, float]:
    """The interval of Σ factors · answers, from those of the answers; without `noise` distances add up."""
    factors = np.array([factor for factor, _ in parts])
    quantities = [quantity for _, quantity in parts]
    ends = np.array([quantity.ends(width) for quantity in quantities])
    values = np.array([quantity.value for quantity in quantities])
    correlations = None if noise is None else _correlations(quantities, noise)
    low, high = recovered_interval(factors, values, ends[:, 0], ends[:, 1], correlations)
    return float(low), float(high)


def _correlations(quantities: Sequence[Quantity], noise: NoiseCovariances) -> Array | None:
    gradients = [quantity.gradient for quantity in quantities]
    known = [gradient for gradient in gradients if gradient is not None]
    if len(known) < len(gradients):
        return None
    return correlations_of(noise.covariances(known))

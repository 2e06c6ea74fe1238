"""One answer of one group of one question, as a function of the noisy features: what contrasts are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains.features import Places
from gaussmith.numerics.exact import Array
from gaussmith.planning.noise_covariances import Combination, Term
from gaussmith.statistics.statistic import Statistic

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


@dataclass(frozen=True, eq=False)
class Quantity:
    """An answer in place `at` of a piece of a question: a release narrowed to one query, and to one group or several
    added up."""

    release: Release
    at: int

    @property
    def name(self) -> str:
        """What the answer is called."""
        return str(self.release.plan.names[self.at])

    @property
    def statistic(self) -> tuple[Statistic, int]:
        """The statistic that reads it, and its place there."""
        return self.release.block.answers.statistic_at(self.at)

    @property
    def value(self) -> float:
        return float(self.release.readout.values[self.at])

    def ends(self, width: float) -> tuple[float, float]:
        """Its own interval, `width` standard errors of the normal law to either side; infinite where it is unknown."""
        lower, upper = self.release.readout.intervals(width, "fieller")
        return float(lower[self.at]), float(upper[self.at])

    @property
    def limits(self) -> tuple[float, float]:
        """Between which numbers it lies without noise, from the bounds alone."""
        low, high = self.release.block.answers.limits(self.release.block.domain)
        return float(low[self.at]), float(high[self.at])

    @cached_property
    def gradient(self) -> Combination | None:
        """Its noise to first order as a combination of features; None where it has no slope that doubles can hold."""
        statistic, at = self.statistic
        noisy = self.release.readout.noisy
        places, factors = (each[at] for each in statistic.gradient(noisy))
        return self._combination(places, factors) if np.isfinite(factors).all() else None

    @cached_property
    def fraction(self) -> tuple[Combination, Combination | None, float] | None:
        """Numerator, denominator and what is added to their ratio; no denominator where the answer is linear."""
        statistic, at = self.statistic
        found = statistic.fraction(at)
        if found is None:
            return None
        above, below, added = found
        places = statistic.places[at]
        if below is not None and self.release.readout.noisy.records is not None and (places[below != 0] < 0).all():
            # The number of records is public, so the ratio is linear.
            public = float(below[places < 0].sum() * self.release.readout.noisy.records)
            return self._combination(places, above / public if public else above * np.nan), None, added
        return self._combination(places, above), None if below is None else self._combination(places, below), added

    def measured(self, combination: Combination) -> float:
        """The released value of a combination of features."""
        noisy = self.release.noisy
        return float(sum(noisy[t.query][t.group, t.places] @ t.factors for t in combination.terms))

    def _combination(self, places: Places, factors: Array) -> Combination:
        """Factors of the question's features as terms over those of its query, in each group in view."""
        i, noisy = self.release.plan.slot.query, self.release.readout.noisy
        used = (factors != 0) & ((places >= 0) | noisy.has_noisy_count)
        moved = self.release.kept_features[places[used]]
        groups = self.release.view.groups
        return Combination(
            tuple(Term(i, group, moved, factors[used]) for group in ((0,) if groups is None else groups))
        )


def quantities_of(release: Release) -> dict[str, Quantity]:
    """All answers of the only question by name, each in its own piece."""
    return {str(name): Quantity(piece, i) for piece in release.pieces for i, name in enumerate(piece.plan.names)}


def kinds_of(release: Release) -> list[str]:
    """The kinds of the statistics of the answers in view, in order."""
    statistics = [each for piece in release.plan.pieces for each in piece.answers.statistics]
    kinds = [each.kind for each in statistics for _ in range(len(each.weights))]
    return kinds if release.view.answer is None else [kinds[list(release.plan.names).index(release.view.answer)]]

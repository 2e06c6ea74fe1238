"""The answers of a question: statistics in the order in which they are shown, and the features that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby

import numpy as np
import numpy.typing as npt

from gaussmith.domains.domain import Domain, free_marks
from gaussmith.domains.features import Features, Places
from gaussmith.domains.workloads import Names
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Matrix
from gaussmith.statistics.mean import largest_distances, stated_means, stating
from gaussmith.statistics.regression import Slopes
from gaussmith.statistics.statistic import (
    MOMENTS,
    ONE,
    Noisy,
    Statistic,
    combined_rows,
    counts_records,
    linear_variances,
)


@dataclass(frozen=True, eq=False)
class Answers:
    """What is shown, under which names and in which order. Features that no statistic shows are not shown.

    `weighting` says how weights were chosen: "equal", "relative" or "given".
    """

    features: Features
    statistics: tuple[Statistic, ...]
    weighting: str

    @classmethod
    def of(cls, features: Features, statistics: Iterable[Statistic], weighting: str) -> Answers:
        """The same with features that are worth what these statistics need them for."""
        shown = tuple(statistic for statistic in statistics if len(statistic.weights))
        weights, count_weight = _worth(shown, features.size)
        return cls(replace(features, weights=weights, count_weight=count_weight), shown, weighting)

    # -- what is shown --------------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of all answers in order."""
        lists = [statistic.names for statistic in self.statistics]
        if len(lists) == 1:
            return lists[0]
        if all(isinstance(names, tuple) for names in lists):
            return tuple(name for names in lists for name in names)
        return Names(len(self), self._spell)

    def _spell(self, i: int) -> str:
        for statistic in self.statistics:
            if i < len(statistic.names):
                return statistic.names[i]
            i -= len(statistic.names)
        raise IndexError(i)

    def __len__(self) -> int:
        return sum(len(statistic.weights) for statistic in self.statistics)

    @property
    def count(self) -> bool:
        """Whether the number of records is an answer; it is the last one then."""
        return any(counts_records(each) for each in self.statistics)

    @property
    def size(self) -> int:
        """How many answers there are beside the number of records."""
        return len(self) - self.count

    @cached_property
    def divided(self) -> npt.NDArray[np.bool_]:
        """Which answers are over the number of records or of rows."""
        return np.concatenate([np.full(len(each.weights), each.divided) for each in self.statistics])

    @property
    def any_divided(self) -> bool:
        """Whether some answer is a mean of any kind."""
        return any(each.divided for each in self.statistics)

    @property
    def any_inverted(self) -> bool:
        """Whether some answer is a quantile, whose errors are in ranks."""
        return any(each.inverted for each in self.statistics)

    @property
    def over_rows(self) -> bool:
        """Whether some answer is over a number of rows, and not of records."""
        return any(each.divided and bool((each.places[:, -1] != ONE).any()) for each in self.statistics)

    @cached_property
    def plain(self) -> npt.NDArray[np.bool_]:
        """Which answers are features as they are."""
        return np.concatenate([np.full(len(each.weights), each.coefficients == (1.0,)) for each in self.statistics])

    @cached_property
    def stated(self) -> npt.NDArray[np.bool_]:
        """Of which answers it is stated between which numbers they lie."""
        return np.concatenate([stated_means(each) for each in self.statistics])

    @cached_property
    def leads(self) -> Places:
        """The place of the first feature that each answer needs."""
        return np.concatenate([each.places[:, 0] for each in self.statistics])

    @cached_property
    def weights(self) -> Array:
        """How much the squared error of each answer matters."""
        return self._joined([each.weights for each in self.statistics])

    def feature_of(self, i: int) -> int | None:
        """The feature that an answer (n times a mean) is; the number of records is the last. None: it mixes several."""
        ((statistic, (at,)),) = self._pieces([i])
        lead = int(statistic.places[at, 0])
        first, *rest = statistic.coefficients
        if statistic.over == MOMENTS or first != 1 or any(rest):
            return None
        return self.features.size if lead == ONE else lead

    def noise_row(self, i: int, rows: Matrix) -> Array:
        """An answer (n times a mean) as a combination of independent noises, from those of all features."""
        ((statistic, (at,)),) = self._pieces([i])
        terms = zip(statistic.factors[at].tolist(), statistic.places[at].tolist(), strict=True)
        return np.asarray(sum(c * rows.row(place % rows.shape[0]) for c, place in terms if c))

    def averaged_variances(self, noisy: Noisy) -> Array:
        """Of all answers in order, on average over where they may lie."""
        return self._joined([each.averaged_variances(noisy) for each in self.statistics])

    def largest_variances(self, noisy: Noisy, domain: Domain) -> Array:
        """Of all answers in order, wherever they lie; of a mean: of its error times the noisy n."""
        limits = self._limits(domain)
        return self._joined([each.largest_variances(noisy, limits) for each in self.statistics])

    def largest_distances(self, domain: Domain) -> Array:
        """The largest distance of each mean from its middle; 0 for other answers."""
        limits = self._limits(domain)
        return self._joined([largest_distances(each, limits) for each in self.statistics])

    def _limits(self, domain: Domain) -> Callable[[Places], Array]:
        return lambda places: domain.means.distances[self.features.index[places]]

    def limits(self, domain: Domain) -> tuple[Array, Array]:
        """Between which numbers the answers lie without noise, from the bounds alone; infinite where anywhere."""
        index, far, means = self.features.index, np.inf, domain.means

        def ends(places: Places, sign: int) -> Array:
            at = index[places]
            if free_marks(domain) is not None:
                return np.full(at.shape, float(sign > 0))
            if not means.holds_always:
                return np.full(at.shape, sign * far)
            return means.middles[at] + sign * means.distances[at]

        low_end, high_end = partial(ends, sign=-1), partial(ends, sign=1)
        found = [each.limits(low_end, high_end) for each in self.statistics]
        return self._joined([low for low, _ in found]), self._joined([high for _, high in found])

    def statistic_at(self, i: int) -> tuple[Statistic, int]:
        """The statistic that reads an answer, and the answer's place in it."""
        ((statistic, (at,)),) = self._pieces([i])
        return statistic, at

    def stating(self, within: Mapping[str, tuple[float, float]]) -> Answers:
        """The same answers where it is stated, by name, between which numbers some means lie."""
        return replace(self, statistics=tuple(stating(each, within) for each in self.statistics)) if within else self

    def averaged_total(self, noisy: Noisy) -> float:
        """The weighted total of the variances of all answers; that of all features at their worth, but for rounding."""
        found, size = self.averaged_variances(noisy), self.size
        return float(self.weights[:size] @ found[:size]) + (float(self.weights[-1] * found[-1]) if self.count else 0.0)

    def averaged_covariance(self, noisy: Noisy) -> Array:
        """Of the noise in all answers in order, on average over where they may lie; n times a divided one."""
        dense = noisy.rows.dense()
        rows = np.vstack([combined_rows(each, noisy, dense) for each in self.statistics])
        found = rows @ rows.T * noisy.unit
        linear = self._joined([linear_variances(each, noisy) for each in self.statistics])
        at = np.arange(len(self))
        found[at, at] += self.averaged_variances(noisy) - linear
        return np.asarray(found)

    def gathered(self, read: Callable[[Statistic], Array]) -> Array:
        """What each statistic reads, side by side on the last axis."""
        return np.concatenate([read(each) for each in self.statistics], axis=-1)

    def gradient(self, noisy: Noisy) -> Array:
        """By how much each answer changes with each feature, at the released values of one group."""
        found = np.zeros((len(self), noisy.features.shape[-1]))
        start = 0
        for each in self.statistics:
            places, parts = each.gradient(noisy)
            row, k = np.nonzero((places >= 0) | noisy.has_noisy_count)
            np.add.at(found, (start + row, places[row, k]), parts[row, k])
            start += len(each.weights)
        return found

    # -- some of them ---------------------------------------------------------------------------------------------

    def picked(self, shown: Sequence[int]) -> tuple[Answers, list[int]]:
        """Some of the answers, in this order; and the places of the features that these need."""
        pieces = self._pieces(shown)
        needed = [places for statistic, at in pieces for places in statistic.places[at].T]
        leads = [int(place) for statistic, at in pieces for place in statistic.places[at, 0]]
        kept = list(dict.fromkeys(p for p in [*leads, *(int(p) for each in needed for p in each)] if p != ONE))
        moved = np.full(self.features.size + 1, ONE)
        moved[kept] = np.arange(len(kept))
        statistics = tuple(statistic.picked(at, moved[statistic.places[at]]) for statistic, at in pieces)
        weights, count_weight = _worth(statistics, len(kept))
        features = self.features.picked(np.array(kept, np.int64), weights, count_weight)
        return Answers(features, statistics, self.weighting), kept

    def _pieces(self, shown: Sequence[int]) -> list[tuple[Statistic, list[int]]]:
        """Neighbours that are read by one statistic, and their places in it."""
        starts = np.cumsum([0, *(len(each.weights) for each in self.statistics)])
        owners = [(int(np.searchsorted(starts, i, side="right")) - 1, i) for i in shown]
        return [
            (self.statistics[owner], [i - int(starts[owner]) for _, i in some])
            for owner, some in groupby(owners, key=lambda pair: pair[0])
        ]

    def fits(self) -> bool:
        """Whether every statistic needs features that are there, one row of places and one name for each answer.

        Without features nothing may be asked: people are counted for the noise of others.
        """
        return (len(self) > 0 or self.features.size == 0) and all(
            len(each.places) == len(each.weights)
            and each.has_width(each.places.shape[1])
            and len(each.names) == len(each.weights)
            and bool(((each.places >= ONE) & (each.places < self.features.size)).all())
            for each in self.statistics
        )

    @staticmethod
    def _joined(parts: list[Array]) -> Array:
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0)


def _worth(statistics: Sequence[Statistic], size: int) -> tuple[Array, float]:
    """What the squared error of each feature is worth to all of these, and that of the number of records."""
    first = statistics[0] if len(statistics) == 1 else None
    if first is not None and first.coefficients == (1.0,) and np.array_equal(first.places[:, 0], np.arange(size)):
        return first.weights, 0.0
    found, count = np.zeros(size), 0.0
    for statistic in statistics:
        for places, worth in statistic.worth(size):
            counts = places == ONE
            count += float(worth[counts].sum())
            found += np.bincount(places[~counts], weights=worth[~counts], minlength=size)
    return found, count


def check_fewest(answers: Answers, rows: float | None) -> None:
    """Refuse an estimate of the number of rows with which an answer would not be defined."""
    fewest = max((each.columns + 1 for each in answers.statistics if isinstance(each, Slopes)), default=1)
    if rows is not None and rows < fewest:
        what = f"a regression with {fewest} coefficients over rows={rows:g}"
        rule = "it needs at least as many people as coefficients, and far more for small errors"
        remedy = "explain by fewer columns, or expect more rows"
        raise PlanError(what, rule, remedy, code="fewer-rows-than-coefficients", rows=rows, coefficients=fewest)

"""Differences, ratios, shares and contrasts of the answers of one release: values like a release, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import CONFIDENCE, checks_arguments, is_number, is_whole
from gaussmith.errors import PlanError, nearest
from gaussmith.notations import setting
from gaussmith.numerics.exact import Array
from gaussmith.planning.error_distribution import ErrorLaw, normal_width
from gaussmith.planning.noise_covariances import Combination, NoiseCovariances, NoiseVector, combine
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.releases.quantities import Quantity, kinds_of
from gaussmith.releases.release import nearest_group
from gaussmith.releases.selection import aligned, cells, found_answer, narrowed
from gaussmith.releases.table import NOISY, NOTES, UNKNOWN
from gaussmith.releases.tables import Tabled
from gaussmith.statistics.mean import fieller_intervals
from gaussmith.statistics.registry import STATISTICS

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


# Intervals of differences, contrasts and ratios of answers that have intervals of their own.
#
# Where all answers are linear, or ratios over one denominator, the interval is exact: normal, or Fieller's. Otherwise
# it is recovered from the intervals of the answers. With l_i ≤ x_i ≤ u_i the interval of each, ρ_ij the correlation
# of the noise and a_i the distance from c_i·x_i to the lower end of the interval of c_i·x_i,
#
#     lower end of Σ c_i x_i  =  Σ c_i x_i − √(Σ_ij ρ_ij a_i a_j)
#
# (the method of variance estimates recovery, MOVER, of Zou and Donner). For normal answers it is exact; for means it
# keeps the lean of Fieller's intervals, which the delta method loses. Where a correlation is not known, distances add
# up.

MAX_TOGETHER = 400
"""Limit on contrasts whose correlations are used for intervals that hold all at once; beyond, Šidák's bound is used."""

CLOSE = 1e-9
"""How well a correlation matrix must fit one common query to be taken for such a one."""


def recovered_interval(
    factors: Array, values: Array, lower: Array, upper: Array, correlations: Array | None
) -> tuple[Array, Array]:
    """The interval of Σ factors · values, from the intervals of the values; infinite where one of them is.

    Values and ends are on the last axis; axes before it are several releases.

    >>> lower, upper = np.array([2.0, -3.0]), np.array([8.0, 5.0])
    >>> ends = recovered_interval(np.array([1.0, -1.0]), np.array([5.0, 1.0]), lower, upper, np.eye(2))
    >>> float(ends[0]), float(ends[1])
    (-1.0, 9.0)
    """
    found = values @ factors
    known = np.isfinite(lower).all(axis=-1) & np.isfinite(upper).all(axis=-1) & np.isfinite(found)
    with np.errstate(invalid="ignore"):
        below, above = values - lower, upper - values
        down = np.abs(factors) * np.where(factors > 0, below, above)
        up = np.abs(factors) * np.where(factors > 0, above, below)
        if correlations is None:
            far = [each.sum(axis=-1) for each in (down, up)]
        else:
            R = correlations * np.outer(np.sign(factors), np.sign(factors))
            squares = [np.einsum("...i,...ij,...j->...", each, R, each) for each in (down, up)]
            far = [np.sqrt(np.maximum(square, 0.0)) for square in squares]
    return np.where(known, found - far[0], -np.inf), np.where(known, found + far[1], np.inf)


def recovered_ratio(
    top: tuple[Array, Array, Array], bottom: tuple[Array, Array, Array], correlation: Array | None
) -> tuple[Array, Array]:
    """The interval of top / bottom, each given as (value, lower end, upper end).

    All ratios r for which 0 lies in the recovered interval of top − r · bottom: Fieller's interval for normal ones.
    The whole line where the bottom may be 0.

    >>> ends = recovered_ratio((np.array(6.0), np.array(5.0), np.array(8.0)), (np.array(3.0),) * 3, np.array(0.0))
    >>> round(float(ends[0]), 3), round(float(ends[1]), 3)
    (1.667, 2.667)
    """
    a, a_low, a_high = (np.asarray(each, float) for each in top)
    b, b_low, b_high = (np.asarray(each, float) for each in bottom)
    known = np.isfinite([a, a_low, a_high, b, b_low, b_high]).all(axis=0) & ((b_low > 0) | (b_high < 0))
    turned = b < 0
    a, a_low, a_high = (np.where(turned, -one, other) for one, other in ((a, a), (a_high, a_low), (a_low, a_high)))
    b, b_low, b_high = (np.where(turned, -one, other) for one, other in ((b, b), (b_high, b_low), (b_low, b_high)))

    def end(side: int) -> Array:
        """The end below (0) or above (1) the ratio, of the sign that it turns out to have."""
        near = (a - a_low) if side == 0 else (a_high - a)
        ends = []
        for sign in (1, -1):
            far = (b_high - b) if (sign > 0) == (side == 0) else (b - b_low)
            rho = -float(sign) if correlation is None else correlation
            ends.append(fieller_intervals(1.0, a, b, near * near, far * far, rho * near * far)[side])
        return np.where(ends[0] >= 0, ends[0], ends[1])

    with np.errstate(divide="ignore", invalid="ignore"):
        lower, upper = end(0), end(1)
    return np.where(known, lower, -np.inf), np.where(known, upper, np.inf)


def shared_width(width: float, size: int) -> float:
    """Standard errors to either side of `size` intervals that fail together as seldom as one of `width`: Bonferroni.

    >>> round(shared_width(1.959964, 1), 3), round(shared_width(1.959964, 2), 3)
    (1.96, 2.241)
    """
    from scipy.special import ndtr, ndtri  # imported when used, for a short start-up

    return float(-ndtri(ndtr(-width) / size))


def width_of_all(confidence: float, covariance: Array | None, size: int) -> float:
    """Standard errors to either side of intervals that hold for all of `size` contrasts at once.

    Exact where the noise of the contrasts is their own and one common query (all groups against one group, or two
    contrasts); otherwise by Šidák's inequality, never too small.

    >>> round(width_of_all(0.95, np.full((3, 3), 1.0) + np.eye(3), 3), 3), round(normal_width(0.95, 3), 3)
    (2.349, 2.388)
    """
    sidak = normal_width(confidence, size)
    if covariance is None or size == 1:
        return sidak
    sigma = np.sqrt(np.diag(covariance))
    if not (np.isfinite(sigma).all() and (sigma > 0).all()):
        return sidak
    R = covariance / np.outer(sigma, sigma)
    apart = _distinct(R)
    R = R[np.ix_(apart, apart)]
    if len(apart) == 1:
        return normal_width(confidence)
    shares = _common_query(R)
    if shares is None:
        return normal_width(confidence, len(apart))
    law = ErrorLaw(np.sqrt(1 - shares * shares), shares)
    return min(sidak, law.maximum_error(confidence))


def _distinct(R: Array) -> list[int]:
    """One of all contrasts that are the same but for their sign."""
    kept: list[int] = []
    for i in range(len(R)):
        if not any(abs(R[i, j]) > 1 - 1e-12 for j in kept):
            kept.append(i)
    return kept


def _common_query(R: Array) -> Array | None:
    """Shares s with R_ij = s_i s_j beside the diagonal and |s_i| < 1; None where there are none."""
    size = len(R)
    if size == 1:
        return np.zeros(1)
    if size == 2:
        root = np.sqrt(abs(R[0, 1]))
        return np.array([root, np.sign(R[0, 1]) * root])
    off = R - np.diag(np.diag(R))
    if np.abs(off).max() <= CLOSE:
        return np.zeros(size)
    i, j = divmod(int(np.abs(off).argmax()), size)
    k = next(m for m in np.argsort(-np.abs(off[i]) * np.abs(off[j])) if m not in (i, j))
    if not off[j, k]:
        return None
    square = off[i, j] * off[i, k] / off[j, k]
    if not 0 < square < 1:
        return None
    shares = off[i] / np.sqrt(square)
    shares[i] = np.sqrt(square)
    fitted = np.outer(shares, shares)
    np.fill_diagonal(fitted, 0.0)
    inside = bool((np.abs(shares) < 1).all())
    return shares if inside and np.abs(fitted - off).max() <= CLOSE else None


def exact_ratio(width: float, above: float, below: float, covariances: Array) -> tuple[float, float]:
    """Fieller's interval of above / below, whose noise has these covariances."""
    numbers = (above, below, covariances[0, 0], covariances[1, 1], covariances[0, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = fieller_intervals(width, *(np.array([number]) for number in numbers))
    return float(low[0]), float(high[0])


def correlations_of(covariances: Array) -> Array:
    """Correlations; 0 with what has no noise."""
    sigma = np.sqrt(np.maximum(np.diag(covariances), 0.0))
    known = np.where(sigma > 0, sigma, np.inf)
    found = covariances / np.outer(known, known)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


# One contrast: Σ factors · answers, or a ratio of two such sums, with its interval.

EXACT, HELD, RECOVERED = "exact", "joint", "approximate"
"""How the interval was found: from the normal law itself; from intervals of the answers that hold all at once; or
recovered from the intervals of the answers as if they were normal."""


@dataclass(frozen=True, eq=False)
class ReducedSum:
    """(above + added · below) / below, all in features: a sum of answers over one denominator, or over none."""

    above: Combination
    below: Combination | None
    added: float


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """Σ factor · answer. All shares of one total have the same one below: what follows from it is computed once."""

    parts: tuple[tuple[float, Quantity], ...]
    noise: NoiseCovariances = field(repr=False)

    @cached_property
    def value(self) -> float:
        return float(sum(factor * quantity.value for factor, quantity in self.parts))

    @cached_property
    def gradient(self) -> Combination | None:
        """The noise to first order; None where an answer does not say its own."""
        found = [(factor, quantity.gradient) for factor, quantity in self.parts]
        known = [(factor, gradient) for factor, gradient in found if gradient is not None]
        return combine(known) if len(known) == len(found) else None

    @cached_property
    def vector(self) -> NoiseVector | None:
        """The same noise by its independent parts."""
        return None if self.gradient is None else self.noise.vector(self.gradient)

    @cached_property
    def variance(self) -> float:
        """Of that noise; where it is known."""
        return math.nan if self.vector is None else self.noise.covariance(self.vector, self.vector)

    @cached_property
    def inverted(self) -> bool:
        """Whether an answer is a quantile: the ends of its interval are edges of cells."""
        return any(quantity.statistic[0].inverted for _, quantity in self.parts)

    @cached_property
    def reduced(self) -> ReducedSum | None:
        """The sum over one denominator; None where the answers have several, or are no ratios."""
        found = [(factor, quantity.fraction) for factor, quantity in self.parts]
        fractions = [(factor, fraction) for factor, fraction in found if fraction is not None]
        if len(fractions) < len(found):
            return None
        first = fractions[0][1][1]
        for _, (_, below, _) in fractions[1:]:
            if (below is None) != (first is None) or not (below is None or first is None or below.same_as(first)):
                return None
        added = sum(factor * each[2] for factor, each in fractions)
        return ReducedSum(combine((factor, each[0]) for factor, each in fractions), first, added)

    def interval(self, width: float, together: bool) -> tuple[Array, Array, Array]:
        """The value and its interval, from those of the answers; without `together` their distances add up."""
        factors = np.array([factor for factor, _ in self.parts])
        ends = np.array([quantity.ends(width) for _, quantity in self.parts])
        values = np.array([quantity.value for _, quantity in self.parts])
        correlations = self._correlations() if together else None
        return np.array(self.value), *recovered_interval(factors, values, ends[:, 0], ends[:, 1], correlations)

    def _correlations(self) -> Array | None:
        gradients = [quantity.gradient for _, quantity in self.parts]
        known = [gradient for gradient in gradients if gradient is not None]
        return correlations_of(self.noise.covariances(known)) if len(known) == len(gradients) else None


@dataclass(frozen=True, eq=False)
class Contrast:
    """`top` over `bottom`, or `top` alone. `limits` are where it lies without noise, from the bounds alone."""

    name: str
    keys: tuple[object, ...]
    top: WeightedSum
    bottom: WeightedSum | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)

    @property
    def noise(self) -> NoiseCovariances:
        return self.top.noise

    @property
    def value(self) -> float:
        if self.bottom is None:
            return self.top.value
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.divide(self.top.value, self.bottom.value))

    @property
    def _slopes(self) -> Array:
        """By how much it changes with `top` and `bottom`."""
        return np.array([1.0]) if self.bottom is None else np.array([1.0, -self.value]) / self.bottom.value

    @cached_property
    def gradient(self) -> Combination | None:
        """The noise to first order; None where an answer does not say its own."""
        if self.covariances is None:
            return None
        gradients = [side.gradient for side in (self.top, self.bottom) if side is not None]
        return combine((slope, each) for slope, each in zip(self._slopes, gradients, strict=True) if each is not None)

    @cached_property
    def covariances(self) -> Array | None:
        """Of the noise in `top` and `bottom`, to first order; None where it, or that in their ratio, is not known."""
        if self.top.gradient is None:
            return None
        above = self.noise.vector(self.top.gradient)  # not kept: those of many shares would fill the memory
        variance = self.noise.covariance(above, above)
        if self.bottom is None:
            return np.array([[variance]])
        if self.bottom.vector is None or not self.bottom.value:
            return None
        both = self.noise.covariance(above, self.bottom.vector)
        return np.array([[variance, both], [both, self.bottom.variance]])

    @cached_property
    def standard_error(self) -> float:
        """Of what is not linear: by the delta method; of quantiles half of an interval of one standard error."""
        if self.inverted:
            low, high = self._recovered_ends(1.0)
            return float((high - low) / 2)
        if self.covariances is None:
            low, high = self.ends(normal_width(CONFIDENCE))
            return float((high - low) / (2 * normal_width(CONFIDENCE)))
        return float(np.sqrt(max(float(self._slopes @ self.covariances @ self._slopes), 0.0)))

    @cached_property
    def exact(self) -> tuple[float, float | None, float, Array] | None:
        """Numerator, denominator, what is added to their ratio, and the covariances of the noise in the two, which are
        linear in the features; None where there is no such form."""
        top, bottom = self.top.reduced, None if self.bottom is None else self.bottom.reduced
        if top is None or (self.bottom is not None and bottom is None):
            return None
        if top.below is None and (bottom is None or bottom.below is None):
            if self.covariances is None or (bottom is not None and (top.added or bottom.added)):
                return None
            return self.top.value, None if self.bottom is None else self.bottom.value, 0.0, self.covariances
        if top.below is None:
            return None
        above, below, added = top.above, top.below, top.added
        if bottom is not None:
            if bottom.below is None or not top.below.same_as(bottom.below):
                return None
            above, below = (combine([(1.0, each.above), (each.added, top.below)]) for each in (top, bottom))
            added = 0.0
        one = self.top.parts[0][1]
        return one.measured(above), one.measured(below), added, self.noise.covariances([above, below])

    @property
    def inverted(self) -> bool:
        """Whether an answer is a quantile: the ends of its interval are edges of cells."""
        return self.top.inverted or (self.bottom is not None and self.bottom.inverted)

    @property
    def how(self) -> str:
        """Whether intervals are exact, hold where those of all answers do, or are approximate."""
        return EXACT if self.exact is not None else HELD if self.inverted else RECOVERED

    def ends(self, width: float) -> tuple[float, float]:
        """The interval, `width` standard errors of the normal law to either side; not cut; infinite where unknown."""
        if self.exact is None:
            return self._held_ends(width) if self.inverted else self._recovered_ends(width)
        above, below, added, covariances = self.exact
        width = self._width_of_law(width)
        if below is None:
            half = width * float(np.sqrt(max(covariances[0, 0], 0.0)))
            return above - half, above + half
        low, high = exact_ratio(width, above, below, covariances)
        return added + low, added + high

    def _width_of_law(self, width: float) -> float:
        """The width of pure noise that is as sure as this one is by the normal law."""
        if not self.noise.plan.guarantee.is_pure:
            return width
        from gaussmith.planning.pure_intervals import confidence_of, widest

        level, top = confidence_of(width), self.top.gradient
        if (
            self.bottom is None
            and top is not None
            and all(q.fraction is not None and q.fraction[1] is None for _, q in self.top.parts)
        ):
            return self.noise.law_width(top, level)
        return max(widest(noise.law, level, noise.law.numbers) for noise in self.noise.plan.pure_noises)

    def _held_ends(self, width: float) -> tuple[float, float]:
        """All that the answers can be within their own intervals, each of which may fail with an equal share of α.

        A quantile may lie anywhere in its cell, and not by chance: distances do not add up as those of noise do.
        """
        sides = [side for side in (self.top, self.bottom) if side is not None]
        own = shared_width(width, sum(len(side.parts) for side in sides))
        return self._ends_of([side.interval(own, together=False) for side in sides], None)

    def _recovered_ends(self, width: float) -> tuple[float, float]:
        """The interval recovered from those of the answers and the correlations of their noise."""
        sides = [side for side in (self.top, self.bottom) if side is not None]
        C = self.covariances
        rho = None if self.bottom is None or C is None else correlations_of(C)[0, 1]
        return self._ends_of([side.interval(width, together=True) for side in sides], rho)

    @staticmethod
    def _ends_of(sides: Sequence[tuple[Array, Array, Array]], correlation: Array | None) -> tuple[float, float]:
        """The interval of one side, or of the ratio of two."""
        low, high = sides[0][1:] if len(sides) == 1 else recovered_ratio(sides[0], sides[1], correlation)
        return float(low), float(high)


HOW = {EXACT: "", HELD: "interval of all that its parts can be", RECOVERED: "approximate interval"}
"""What is said beside a contrast of how its interval was found."""


@dataclass(frozen=True, eq=False)
class Contrasts(Tabled):
    """Some contrasts of the answers of a release, in order. They are read from it and cost nothing.

    `value`, `standard_error` and `interval()` need a single contrast: choose one by its place or its name.
    """

    release: Release
    each: tuple[Contrast, ...]
    columns_of_keys: tuple[str, ...] = ()
    simultaneous: bool = False
    """Whether intervals hold for all contrasts at once unless otherwise said."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release; contrasts are read from it and spend nothing."""
        return self.release.guarantee

    @property
    def names(self) -> tuple[str, ...]:
        """What the contrasts are called."""
        return tuple(each.name for each in self.each)

    @cached_property
    def values(self) -> Array:
        return np.array([each.value for each in self.each])

    @cached_property
    def standard_errors(self) -> Array:
        """Of what is not linear: by the delta method."""
        return np.array([each.standard_error for each in self.each])

    @cached_property
    def covariance(self) -> Array | None:
        """Of the noise in all contrasts, to first order; None for very many, or where it is not known."""
        gradients = [each.gradient for each in self.each]
        known = [gradient for gradient in gradients if gradient is not None]
        if len(known) < len(self.each) or len(self.each) > MAX_TOGETHER:
            return None
        return self.each[0].noise.covariances(known)

    @checks_arguments
    def width(self, confidence: float = CONFIDENCE, simultaneous: bool | None = None) -> float:
        """Standard errors of the normal law to either side of intervals."""
        together = self.simultaneous if simultaneous is None else simultaneous
        if not together or len(self.each) == 1:
            return normal_width(confidence)
        is_pure = self.each[0].noise.plan.guarantee.is_pure
        if is_pure or any(each.inverted for each in self.each):
            return shared_width(normal_width(confidence), len(self.each))
        return width_of_all(confidence, self.covariance, len(self.each))

    @checks_arguments
    def raw_intervals(self, confidence: float = CONFIDENCE, simultaneous: bool | None = None) -> tuple[Array, Array]:
        """Ends of the intervals, infinite where they are unknown; not cut to what is public."""
        width = self.width(confidence, simultaneous)
        ends = np.array([each.ends(width) for each in self.each]).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]

    @checks_arguments
    def intervals(
        self, confidence: float = CONFIDENCE, simultaneous: bool | None = None, population: bool = False
    ) -> tuple[Array, Array]:
        """Ends of the intervals, cut to where the contrasts can lie; with `simultaneous` they hold all at once.

        They cover the noise alone: `population=True` is refused, and says so.
        """
        if population:
            raise PlanError(
                "population=True of a contrast",
                "intervals of differences, ratios and shares cover the noise alone",
                'leave population out, or ask each answer for its own: release["north"]["age_mean"]'
                ".interval(population=True)",
                code="population-of-contrast",
            )
        return self._cut(*self.raw_intervals(confidence, simultaneous))

    def _cut(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        low, high = np.array([each.limits for each in self.each]).T
        return np.clip(lower, low, high), np.clip(upper, low, high)

    def _only(self) -> Contrast:
        if len(self.each) != 1:
            shown = ", ".join(map(repr, self.names[:6])) + (", …" if len(self.each) > 6 else "")
            what, remedy = f"{len(self.each)} contrasts", "choose one by its place: contrasts[0]"
            raise PlanError(what, f"they are: {shown}", remedy, code="several-contrasts", contrasts=self.names)
        return self.each[0]

    @property
    def name(self) -> str:
        return self._only().name

    @property
    def value(self) -> float:
        return self._only().value

    @property
    def standard_error(self) -> float:
        return self._only().standard_error

    @checks_arguments
    def interval(self, confidence: float = CONFIDENCE, population: bool = False) -> tuple[float, float]:
        """The interval that contains the only contrast without noise, with this confidence."""
        self._only()
        lower, upper = self.intervals(confidence, population=population)
        return float(lower[0]), float(upper[0])

    def __len__(self) -> int:
        return len(self.each)

    def __iter__(self) -> Iterator[Contrasts]:
        return (self[i] for i in range(len(self.each)))

    def __getitem__(self, key: Any) -> Contrasts:
        """One contrast, by its place, its name or the key of its group."""
        if is_whole(key):
            return replace(self, each=(self.each[int(key)],), simultaneous=False)
        wanted = key if isinstance(key, tuple) else (key,)
        found = tuple(each for each in self.each if key == each.name or wanted == each.keys)
        if not found:
            rule, remedy = "there is no such contrast", nearest(str(key), self.names)
            raise PlanError(f"contrast {key!r}", rule, remedy, code="no-such-contrast", contrast=str(key))
        return replace(self, each=found, simultaneous=False)

    # -- tables -----------------------------------------------------------------------------------------------------

    @checks_arguments
    def columns(self, confidence: float = CONFIDENCE) -> dict[str, list[Any]]:
        """keys · contrast · value · standard_error · lower · upper · status · note, by columns."""
        lower, upper = self.raw_intervals(confidence)
        known = np.isfinite(lower) & np.isfinite(upper)
        status = np.where(known, NOISY, UNKNOWN).tolist()
        lower, upper = self._cut(lower, upper)
        keys = {column: [each.keys[i] for each in self.each] for i, column in enumerate(self.columns_of_keys)}
        return {
            **keys,
            "contrast": list(self.names),
            "value": self.values.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "lower": lower.tolist(),
            "upper": upper.tolist(),
            "status": status,
            "note": [
                NOTES[told] if told == UNKNOWN else HOW[each.how] for told, each in zip(status, self.each, strict=True)
            ],
        }

    def __str__(self) -> str:
        from gaussmith.report.views import contrasts_text

        return contrasts_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.report.views import contrasts_html

        return contrasts_html(self)


# -- how they are made ------------------------------------------------------------------------------------------------


def differences(release: Release, first: Any, second: Any, answer: str | None) -> Contrasts:
    """first − second, answer by answer."""
    parts = _two(release, first, second, answer)
    return _contrasts(release, parts, [1.0, -1.0], f"{_shown(first)} − {_shown(second)}")


def weighted_contrast(release: Release, weights: Mapping[Any, float], answer: str | None) -> Contrasts:
    """Σ weight · part, answer by answer."""
    if not isinstance(weights, Mapping) or not weights:
        raise PlanError(
            f"contrast {weights!r}"[:120],
            "it must map groups or answers to numbers",
            'write release.contrast({"north": 1, "south": -1})',
            code="contrast-not-a-mapping",
        )
    for key, factor in weights.items():
        if not is_number(factor) or not np.isfinite(factor):
            rule, remedy = "it must be a finite number", "write 1, -1 or -0.5"
            raise PlanError(f"weight {factor!r} of {key!r}", rule, remedy, code="contrast-weight-not-a-number")
    if not any(weights.values()):
        rule, remedy = "one of them must not be 0", "give each part its weight"
        raise PlanError("a contrast whose weights are all 0", rule, remedy, code="contrast-without-weights")
    kept = {key: float(factor) for key, factor in weights.items() if factor}
    parts = [narrowed(release, key, answer) for key in kept]
    _check_distinct(parts, list(kept))
    signs = [f"{'−' if factor < 0 else '+'} {_factor(factor)}{_shown(key)}" for key, factor in kept.items()]
    return _contrasts(release, parts, list(kept.values()), " ".join(signs).removeprefix("+ "))


def ratios(release: Release, first: Any, second: Any, answer: str | None) -> Contrasts:
    """first / second, answer by answer."""
    parts = _two(release, first, second, answer)
    noise, found = NoiseCovariances(release.plan), []
    for (label, name), (above, below) in aligned(parts):
        limits = _ratio_limits(above, below)
        title = _title(f"{_shown(first)} / {_shown(second)}", name, parts)
        top, bottom = (WeightedSum(((1.0, each),), noise) for each in (above, below))
        found.append(Contrast(title, label, top, bottom, limits))
    return Contrasts(release, tuple(found), _key_columns(parts))


def against(release: Release, reference: Any, answer: str | None) -> Contrasts:
    """Every group less one of them, or less the mean of all; intervals hold for all at once."""
    groups, noise, found = _all_groups(release, answer), NoiseCovariances(release.plan), []
    for name, column in _by_answer(groups):
        if reference is None:
            share = 1.0 / len(column)
            for label in column:
                parts = tuple((float(other == label) - share, each) for other, each in column.items())
                found.append(Contrast(f"{name} − mean of groups", label, WeightedSum(parts, noise)))
            continue
        wanted = reference if isinstance(reference, tuple) else (reference,)
        if wanted not in column:
            rule, remedy = "it was not declared", nearest_group(wanted, list(column))
            raise PlanError(f"group {reference!r}", rule, remedy, code="no-such-group", group=reference)
        for label in (label for label in column if label != wanted):
            parts = ((1.0, column[label]), (-1.0, column[wanted]))
            found.append(Contrast(f"{name} − {_shown(reference)}", label, WeightedSum(parts, noise)))
    columns = groups.plan.groups.columns if groups.plan.groups is not None else ()
    return Contrasts(release, tuple(found), columns, simultaneous=True)


def shares(release: Release, answer: str | None) -> Contrasts:
    """Of every group, or every value of a histogram, its share of all of them together."""
    if release.in_groups and release.plan.groups is not None and release.plan.groups.is_found:
        raise PlanError(
            "shares of found groups",
            "groups that were not shown are missing from what they are shares of",
            "ask for the total in a question of its own, without by",
            code="shares-of-found-groups",
        )
    if release.labels:
        return _shares_of_groups(release, answer)
    if len(release.plan) > 1:
        release.plan.slot  # noqa: B018 (refuses, with the names of the questions)
    parts = zip(cells(release).items(), kinds_of(release), strict=True)
    values = {(name,): quantity for ((_, name), quantity), kind in parts if STATISTICS[kind].counts_values}
    if not values:
        raise _no_shares()
    made = _shares_of(values, "share of all values", NoiseCovariances(release.plan))
    return Contrasts(release, tuple(replace(each, name=f"share of {each.keys[0]}") for each in made))


def _shares_of_groups(release: Release, answer: str | None) -> Contrasts:
    """Of every group its share of all groups, for each answer that adds up, or for the one that is named."""
    groups, noise, found = _all_groups(release, answer), NoiseCovariances(release.plan), []
    for name, column in _by_answer(groups):
        if answer is not None or _adds_up(next(iter(column.values()))):
            found += _shares_of(column, f"share of {name}", noise)
    if not found:
        raise _no_shares()
    return Contrasts(release, tuple(found), groups.plan.groups.columns if groups.plan.groups is not None else ())


def _by_answer(groups: Release) -> Iterator[tuple[str, dict[tuple[Any, ...], Quantity]]]:
    """Every answer with what it is in each group."""
    every = cells(groups)
    for name in groups.names:
        yield name, {label: quantity for (label, other), quantity in every.items() if other == name}


def _no_shares() -> PlanError:
    return PlanError(
        "shares of answers that do not add up",
        "a share is one group or value over all of them, of a count, a sum or a histogram",
        "ask for groups or a histogram, or use release.ratio(one, other)",
        code="shares-of-nothing",
    )


def _shares_of(column: Mapping[tuple[Any, ...], Quantity], name: str, noise: NoiseCovariances) -> list[Contrast]:
    first = next(iter(column.values()))
    if not _adds_up(first):
        raise _no_shares()
    below = WeightedSum(tuple((1.0, each) for each in column.values()), noise)
    limits = (0.0, 1.0) if first.limits[0] >= 0 else (-np.inf, np.inf)
    return [Contrast(name, label, WeightedSum(((1.0, each),), noise), below, limits) for label, each in column.items()]


def _adds_up(quantity: Quantity) -> bool:
    """Whether an answer of several groups added up is that of all: it is linear."""
    return quantity.fraction is not None and quantity.fraction[1] is None and not quantity.fraction[2]


def _all_groups(release: Release, answer: str | None) -> Release:
    if len(release.plan) > 1:
        release.plan.slot  # noqa: B018 (refuses, with the names of the questions)
    if not release.labels:
        rule, remedy = "they compare the groups of a question", f"ask for groups: {setting('by', ...)}"
        raise PlanError("contrasts without groups", rule, remedy, code="contrasts-without-groups")
    return release if answer is None else found_answer(release, answer)


def _two(release: Release, first: Any, second: Any, answer: str | None) -> list[Release]:
    parts = [narrowed(release, key, answer) for key in (first, second)]
    _check_distinct(parts, [first, second])
    return parts


def _check_distinct(parts: Sequence[Release], keys: Sequence[Any]) -> None:
    views = [(part.questions, part.view) for part in parts]
    if any(view in views[:i] for i, view in enumerate(views)):
        what = (
            f"a contrast of {_shown(keys[0])!r} with itself" if len(keys) == 2 else "a contrast that names a part twice"
        )
        raise PlanError(what, "its parts must differ", "name two of them", code="contrast-with-itself")


def _contrasts(release: Release, parts: Sequence[Release], factors: Sequence[float], title: str) -> Contrasts:
    noise = NoiseCovariances(release.plan)
    found = tuple(
        Contrast(
            _title(title, name, parts),
            label,
            WeightedSum(tuple(zip(factors, quantities, strict=True)), noise),
            limits=_limits(factors, quantities),
        )
        for (label, name), quantities in aligned(parts)
    )
    return Contrasts(release, found, _key_columns(parts))


def _key_columns(parts: Sequence[Release]) -> tuple[str, ...]:
    groups = parts[0].plan.groups
    return groups.columns if groups is not None and parts[0].labels else ()


def _limits(factors: Sequence[float], quantities: Sequence[Quantity]) -> tuple[float, float]:
    """Where a contrast lies, from where its answers lie; finite only where all of them are."""
    ends = [
        sorted(factor * end for end in quantity.limits) for factor, quantity in zip(factors, quantities, strict=True)
    ]
    return float(sum(low for low, _ in ends)), float(sum(high for _, high in ends))


def _ratio_limits(above: Quantity, below: Quantity) -> tuple[float, float]:
    """A ratio of numbers that are not negative is not negative."""
    return (0.0, np.inf) if above.limits[0] >= 0 and below.limits[0] >= 0 else (-np.inf, np.inf)


def _title(title: str, name: str, parts: Sequence[Release]) -> str:
    """What a contrast is called: by its answer too, where the parts are groups or questions."""
    by_answer = all(part.view.answer is not None for part in parts) and len({part.view.answer for part in parts}) > 1
    return title if by_answer or not name or name in title else f"{name}: {title}"


def _factor(factor: float) -> str:
    return "" if abs(factor) == 1 else f"{abs(factor):g} "


def _shown(key: Any) -> str:
    """A key as it is written in the name of a contrast."""
    from gaussmith.releases.release import Release

    if isinstance(key, Release):
        groups = key.plan.groups
        chosen = [] if groups is None or key.view.groups is None else [groups.labels[g] for g in key.view.groups]
        label = " + ".join(" · ".join(map(str, each)) for each in chosen[:3])
        return " ".join(part for part in (key.questions[0], label, key.view.answer or "") if part) or "all"
    return " · ".join(map(str, key)) if isinstance(key, tuple) else str(key)

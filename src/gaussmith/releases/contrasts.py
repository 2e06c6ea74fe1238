"""Differences, ratios, shares and contrasts of the answers of one release: values like a release, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import is_number, is_whole
from gaussmith.errors import PlanError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.numerics.linear import Array
from gaussmith.plans.error_distribution import normal_width
from gaussmith.plans.noise_covariances import NoiseCovariances
from gaussmith.releases.contrast import EXACT, HELD, RECOVERED, Contrast, Weighted
from gaussmith.releases.contrast_intervals import MAX_TOGETHER, shared_width, width_of_all
from gaussmith.releases.group_keys import nearest_group
from gaussmith.releases.quantities import Quantity, kinds_of
from gaussmith.releases.selection import aligned, cells, found_answer, narrowed
from gaussmith.releases.table import NOISY, NOTES, UNKNOWN
from gaussmith.statistics.registry import STATISTICS
from gaussmith.values import dataclass

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.releases.release import Release

HOW = {EXACT: "", HELD: "interval of all that its parts can be", RECOVERED: "approximate interval"}
"""What is said beside a contrast of how its interval was found."""


@dataclass(frozen=True, eq=False)
class Contrasts:
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
    def keys_shown(self) -> list[str]:
        """The groups or values that the contrasts are about, as text."""
        return [" · ".join(map(str, each.keys)) for each in self.each]

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

    def width(self, confidence: float = 0.95, simultaneous: bool | None = None) -> float:
        """Standard errors of the normal law to either side of intervals."""
        together = self.simultaneous if simultaneous is None else simultaneous
        if not together or len(self.each) == 1:
            return normal_width(confidence)
        if any(each.inverted for each in self.each):
            return shared_width(normal_width(confidence), len(self.each))
        return width_of_all(confidence, self.covariance, len(self.each))

    def raw_intervals(self, confidence: float = 0.95, simultaneous: bool | None = None) -> tuple[Array, Array]:
        """Ends of the intervals, infinite where they are unknown; not cut to what is public."""
        width = self.width(confidence, simultaneous)
        ends = np.array([each.ends(width) for each in self.each]).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]

    def intervals(self, confidence: float = 0.95, simultaneous: bool | None = None) -> tuple[Array, Array]:
        """Ends of the intervals, cut to where the contrasts can lie; with `simultaneous` they hold all at once."""
        low, high = np.array([each.limits for each in self.each]).T
        lower, upper = self.raw_intervals(confidence, simultaneous)
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

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The interval that contains the only contrast without noise, with this confidence."""
        self._only()
        lower, upper = self.intervals(confidence)
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

    def columns(self, confidence: float = 0.95) -> dict[str, list[Any]]:
        """keys · contrast · value · standard_error · lower · upper · status · note, by columns."""
        lower, upper = self.raw_intervals(confidence)
        known = np.isfinite(lower) & np.isfinite(upper)
        status = np.where(known, NOISY, UNKNOWN).tolist()
        lower, upper = self.intervals(confidence)
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

    def rows(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """The same table, one row per contrast."""
        columns = self.columns(confidence)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_polars(self, confidence: float = 0.95) -> pl.DataFrame:
        """The same table as a Polars frame."""
        import polars as pl

        return pl.DataFrame(self.columns(confidence), strict=False)

    def __str__(self) -> str:
        from gaussmith.words.contrasts import contrasts_text

        return contrasts_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.words.contrasts import contrasts_html

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
        found.append(Contrast(title, label, ((1.0, above),), ((1.0, below),), limits, noise=noise))
    return Contrasts(release, tuple(found), _key_columns(parts))


def against(release: Release, reference: Any, answer: str | None) -> Contrasts:
    """Every group less one of them, or less the mean of all; intervals hold for all at once."""
    groups, noise = _all_groups(release, answer), NoiseCovariances(release.plan)
    columns = groups.plan.groups.columns if groups.plan.groups is not None else ()
    found = []
    for name in groups.names:
        column = {label: quantity for (label, other), quantity in cells(groups).items() if other == name}
        if reference is None:
            share = 1.0 / len(column)
            for label in column:
                parts: Weighted = tuple((float(other == label) - share, each) for other, each in column.items())
                found.append(Contrast(f"{name} − mean of groups", label, parts, noise=noise))
            continue
        wanted = reference if isinstance(reference, tuple) else (reference,)
        if wanted not in column:
            rule, remedy = "it was not declared", nearest_group(wanted, list(column))
            raise PlanError(f"group {reference!r}", rule, remedy, code="no-such-group", group=reference)
        for label, quantity in column.items():
            if label != wanted:
                parts = ((1.0, quantity), (-1.0, column[wanted]))
                found.append(Contrast(f"{name} − {_shown(reference)}", label, parts, noise=noise))
    return Contrasts(release, tuple(found), columns, simultaneous=True)


def shares(release: Release, answer: str | None) -> Contrasts:
    """Of every group, or every value of a histogram, its share of all of them together."""
    noise, found = NoiseCovariances(release.plan), []
    if release.in_groups and release.plan.groups is not None and release.plan.groups.is_found:
        raise PlanError(
            "shares of found groups",
            "groups that were not shown are missing from what they are shares of",
            "ask for the total in a question of its own, without by",
            code="shares-of-found-groups",
        )
    if release.labels:
        groups = _all_groups(release, answer)
        columns = groups.plan.groups.columns if groups.plan.groups is not None else ()
        for name in groups.names:
            column = {label: quantity for (label, other), quantity in cells(groups).items() if other == name}
            if answer is None and not _adds_up(next(iter(column.values()))):
                continue
            found += _shares_of(column, f"share of {name}", noise)
        if not found:
            raise _no_shares()
        return Contrasts(release, tuple(found), columns)
    if len(release.plan) > 1:
        release.plan.slot  # noqa: B018 (refuses, with the names of the questions)
    parts = zip(cells(release).items(), kinds_of(release), strict=True)
    values = {(name,): quantity for ((_, name), quantity), kind in parts if STATISTICS[kind].counts_values}
    if not values:
        raise _no_shares()
    made = _shares_of(values, "share of all values", noise)
    return Contrasts(release, tuple(replace(each, name=f"share of {each.keys[0]}") for each in made))


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
    below: Weighted = tuple((1.0, each) for each in column.values())
    limits = (0.0, 1.0) if first.limits[0] >= 0 else (-np.inf, np.inf)
    return [Contrast(name, label, ((1.0, each),), below, limits, noise=noise) for label, each in column.items()]


def _adds_up(quantity: Quantity) -> bool:
    """Whether an answer of several groups added up is that of all: it is linear."""
    return quantity.fraction is not None and quantity.fraction[1] is None and not quantity.fraction[2]


def _all_groups(release: Release, answer: str | None) -> Release:
    if len(release.plan) > 1:
        release.plan.slot  # noqa: B018 (refuses, with the names of the questions)
    if not release.labels:
        rule, remedy = "they compare the groups of a question", "ask for groups: by = { … }"
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
            tuple(zip(factors, quantities, strict=True)),
            limits=_limits(factors, quantities),
            noise=noise,
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

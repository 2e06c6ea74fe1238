"""A presentation: a view of a release for publication. Processing of released numbers; it spends nothing.

    means                                       moved inside their bounds
    counts, histograms, tables, sums ≥ 0        the nearest numbers that are not negative and keep the released total
    digits                                      rounded to the first digit of the standard error; intervals outward
    unreliable cells                            left out, by one stated rule

These numbers are no longer right on average (a small count is pushed up), so the release itself keeps the raw ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import CONFIDENCE, is_number
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array
from gaussmith.releases.quantities import kinds_of
from gaussmith.releases.table import EXACT, UNKNOWN
from gaussmith.releases.tables import Tabled
from gaussmith.statistics.registry import STATISTICS

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.releases.release import Release

SHOWN, SUPPRESSED = "presented", "suppressed"
"""The status of an answer that is shown in the view, and of one that is left out."""

COUNTING = ("count", "workload")
"""Statistics whose answers are numbers of people or rows, beside those of values."""

VIEW = "A view of the release, not the released numbers: moved inside the bounds and rounded."


@dataclass(frozen=True, eq=False)
class Presentation(Tabled):
    """A view of a release, question by question; `release` is what it is a view of."""

    release: Release
    suppress_above: float | None

    @property
    def rule(self) -> str:
        """Which cells are left out, in plain words."""
        if self.suppress_above is None or SUPPRESSED not in self.columns()["status"]:
            return "No cell is left out."
        percent = f"{100 * self.suppress_above:g} %"
        return (
            f"Left out: cells with a standard error above {percent} of their value, and means with one above {percent} "
            "of half the width of their bounds."
        )

    def _questions(self) -> Iterator[Release]:
        return iter(self.release) if len(self.release.plan) > 1 else iter([self.release])

    def columns(self, confidence: float = CONFIDENCE) -> dict[str, list[Any]]:
        """The columns of `release.columns()`, with what is shown; None where a cell is left out."""
        found = {name: list(column) for name, column in self.release.columns(confidence).items()}
        status, questions = found["status"], list(self._questions())
        raw = [np.array(each.columns(confidence)["value"], float) for each in questions]
        values = np.concatenate([_padded(_projected(each), own) for each, own in zip(questions, raw, strict=True)])
        pairs = [(each, np.full(len(own), np.nan)) for each, own in zip(questions, raw, strict=True)]
        scales = np.concatenate([_padded(_scales(each), unknown) for each, unknown in pairs])
        whole = np.concatenate([_padded(_whole(each), np.zeros(len(none))) for each, none in pairs])
        for i, value in enumerate(values.tolist()):
            error = found["standard_error"][i]
            if self._hides(status[i], value, error, float(scales[i])):
                status[i], found["note"][i] = SUPPRESSED, "too noisy to publish"
                for name in ("value", "standard_error", "lower", "upper"):
                    found[name][i] = None
                continue
            status[i] = EXACT if status[i] == EXACT else SHOWN
            step = _step(error, bool(whole[i]))
            found["value"][i] = _round(value, step)
            found["lower"][i] = _round(found["lower"][i], step, math.floor)
            found["upper"][i] = _round(found["upper"][i], step, math.ceil)
            found["standard_error"][i] = float(f"{error:.2g}")
        return found

    def _hides(self, status: str, value: float, error: float, scale: float) -> bool:
        """Whether a value is left out; its error is compared with this scale, or with the value where there is none."""
        if status == UNKNOWN or not math.isfinite(value):
            return True
        if self.suppress_above is None or status == EXACT:
            return False
        return not error <= self.suppress_above * (abs(value) if math.isnan(scale) else scale)

    def table_metadata(self) -> dict[str, str]:
        """That of the release, and that this is a view of it."""
        return {**self.release.table_metadata(), "gaussmith.view": f"{VIEW} {self.rule}"}

    def wide(self) -> pl.DataFrame:
        """One row per group, one column per answer; empty where a cell is left out."""
        from gaussmith.releases.tables import widen

        questions, shown = list(self._questions()), self._values
        answers: dict[str, list[Any]] = {}
        at = 0
        for question in questions:
            size = len(question.names)
            count = size * max(1, len(question.labels))
            rows = len(question.columns()["value"])  # shares follow the answers
            for i, name in enumerate(question.names):
                title = f"{question.questions[0]}: {name}" if len(questions) > 1 else str(name)
                answers[title] = shown[at + i : at + count : size]
            at += rows
        return widen(questions, answers)

    @cached_property
    def _values(self) -> list[Any]:
        return self.columns()["value"]

    def __str__(self) -> str:
        from gaussmith.report.views import presentation_text

        return presentation_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.report.views import presentation_html

        return presentation_html(self)


def present(release: Release, suppress_above: float | None) -> Presentation:
    """The view of a release; refuses a rule for suppression that is no number above 0."""
    if suppress_above is not None and not (is_number(suppress_above) and 0 < suppress_above < math.inf):
        raise PlanError(
            f"suppress_above={suppress_above!r}",
            "it must be a number above 0, or None",
            "write suppress_above=0.3",
            code="suppression-not-positive",
        )
    return Presentation(release, suppress_above)


def project(values: Array) -> Array:
    """The nearest numbers that are not negative and have the same sum; all 0 where the sum is not positive.

    >>> project(np.array([5.0, -1.0, 2.0]))
    array([4.5, 0. , 1.5])
    """
    total = float(values.sum())
    if total <= 0:
        return np.zeros_like(values)
    order = np.sort(values)[::-1]
    excess = (np.cumsum(order) - total) / np.arange(1, len(order) + 1)
    kept = int(np.flatnonzero(order > excess)[-1])
    return np.asarray(np.maximum(values - excess[kept], 0.0))


def _projected(release: Release) -> Array:
    """The answers in view moved inside what is public: groups × answers."""
    raw, (low, high) = release.values.reshape(-1, len(release.names)), release.limits
    cells = [i for i, kind in enumerate(kinds_of(release)) if STATISTICS[kind].counts_values]
    values = np.clip(raw, low, high)
    for i in np.flatnonzero((low == 0) & np.isinf(high)).tolist():
        if i not in cells and len(raw) > 1:
            values[:, i] = project(raw[:, i])
    together: list[Any] = [slice(*ends) for ends in _tables(release)]
    for places in [*together, *([cells] if cells and release.view.answer is None else [])]:
        for shown, own in zip(values, raw, strict=True):
            shown[places] = project(own[places])
    return values


def _tables(release: Release) -> list[tuple[int, int]]:
    """Where each table of a request for marginals starts and stops among the answers in view."""
    if release.view.answer is not None or len(release.plan.pieces) > 1:
        return []
    work = release.plan.pieces[0].block.problem.features.marginals
    return [] if work is None else [(at, at + size) for at, size in zip(work.offsets, work.sizes, strict=True)]


def _padded(own: Array, rest: Array) -> Array:
    """Numbers of the answers, then for the shares that follow them those of another array."""
    return np.concatenate([own.ravel(), rest[own.size :]])


def _scales(release: Release) -> Array:
    """What the standard error of each answer is compared with: not a number where with the value itself."""
    mean = np.array([kind == "mean" for kind in kinds_of(release)])
    low, high = release.limits
    half = np.where(mean & np.isfinite(high - low), (high - low) / 2, np.nan)
    return np.broadcast_to(half, (len(release.labels) if release.in_groups else 1, len(release.names)))


def _whole(release: Release) -> Array:
    """Which answers are numbers of people or rows."""
    kinds = np.array([kind in COUNTING or STATISTICS[kind].counts_values for kind in kinds_of(release)])
    return np.broadcast_to(kinds, (len(release.labels) if release.in_groups else 1, len(release.names)))


def _step(error: float, whole: bool) -> float:
    """The place of the first digit of the standard error: a number is rounded to multiples of it."""
    if not (math.isfinite(error) and error > 0):
        return 1.0 if whole else 0.0
    step = 10.0 ** math.floor(math.log10(error))
    return max(step, 1.0) if whole else step


def _round(value: float, step: float, how: Any = round) -> float:
    if not step or not math.isfinite(value):
        return float(value)
    digits = max(0, -math.floor(math.log10(step)))
    scaled = value / step
    near = round(scaled)
    return round((near if abs(scaled - near) < 1e-9 else how(scaled)) * step, digits)

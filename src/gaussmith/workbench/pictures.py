"""Pictures as SVG without styles or scripts: the noise of two answers, an error against ε, a budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import CONFIDENCE
from gaussmith.errors import GaussmithError, counted, printable
from gaussmith.planning.block import compare_pieces
from gaussmith.planning.error_distribution import normal_width
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.report.charts import plan_spec
from gaussmith.report.drawing import draw_svg
from gaussmith.report.keys import promise
from gaussmith.report.outlines import ellipse
from gaussmith.report.plans import held
from gaussmith.report.tables import RANKS, figure
from gaussmith.requests.request import divided_names
from gaussmith.workbench.drafts import Draft

if TYPE_CHECKING:
    from gaussmith.planning.plan import Plan


def shape_picture(question: Plan, first: str, second: str) -> str:
    """The noise of two answers over what one person can change; empty where it is not known."""
    pair = {first, second}
    try:
        for piece in question.pieces:
            if pair.issubset(piece.names):
                inside, width, height = draw_svg(plan_spec(piece.block, (first, second)))
                return _svg(inside, width, height, f"The noise in {first} and {second}, and what one person can change")
        names = list(map(str, question.names))
        if not pair.issubset(names) or (question.any_divided and question.queries[0].groups is not None):
            return ""
        places = [names.index(first), names.index(second)]
        return _plain_ellipse(question.covariance()[np.ix_(places, places)], first, second)
    except GaussmithError:
        return ""


def _plain_ellipse(covariance: Any, first: str, second: str) -> str:
    """The noise of two answers that come from different queries."""
    points = ellipse(covariance)
    reach = np.abs(points).max(axis=0)
    if not (reach > 0).all():
        return ""
    scaled = 150 + 120 * points / reach * np.array([1, -1])
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in scaled)
    inside = (
        '<line class="axis" x1="20" y1="150" x2="280" y2="150"/><line class="axis" x1="150" y1="20" x2="150" y2="280"/>'
        f'<polygon class="noise" points="{path}"/>'
        f'<text x="280" y="168" text-anchor="end">{escape(printable(first))} ± {figure(reach[0], 3)}</text>'
        f'<text x="156" y="16">{escape(printable(second))} ± {figure(reach[1], 3)}</text>'
    )
    return _svg(inside, 300, 300, f"The noise in {first} and {second}: one standard error in every direction")


def curve_picture(sign: str, points: Sequence[tuple[float, float]], here: tuple[float, float], name: str) -> str:
    """An error against ε on logarithmic axes, with the place of the plan."""
    width, height, left, bottom = 360.0, 190.0, 52.0, 34.0
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    low, high = min(xs), max(xs)
    least, most = min(ys), max(ys)

    def at(x: float, y: float) -> tuple[float, float]:
        across = left + (math.log(x) - low) / (high - low) * (width - left - 14)
        return across, 14 + (most - math.log(y)) / (most - least) * (height - bottom - 14)

    line = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in points)
    x, y = at(*here)
    ticks = "".join(
        f'<line class="grid" x1="{at(t, here[1])[0]:.1f}" y1="14" x2="{at(t, here[1])[0]:.1f}" y2="{height - bottom}"/>'
        f'<text class="soft" x="{at(t, here[1])[0]:.1f}" y="{height - bottom + 16}" text-anchor="middle">{t:g}</text>'
        for t in _ticks(points[0][0], points[-1][0])
    )
    ticks += "".join(
        f'<line class="grid" x1="{left}" y1="{at(here[0], t)[1]:.1f}" x2="{width - 14}" y2="{at(here[0], t)[1]:.1f}"/>'
        f'<text class="soft" x="{left - 6}" y="{at(here[0], t)[1] + 4:.1f}" text-anchor="end">{figure(t, 2)}</text>'
        for t in _ticks(math.exp(least), math.exp(most))
    )
    end = x > width - 120
    inside = (
        f'{ticks}<polyline class="curve" points="{line}"/><circle class="here" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        f'<text class="strong" x="{x + (-10 if end else 10):.1f}" y="{y - 10:.1f}"'
        f' text-anchor="{"end" if end else "start"}">you are here</text>'
        f'<text class="soft" x="{width - 14}" y="{height - 4}" text-anchor="end">{sign}</text>'
    )
    told = f"The error of {name} against {sign}; at {sign} = {here[0]:.4g} it is {figure(here[1])}"
    return _svg(inside, width, height, told)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two."""
    few = [m * 10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
    inside = [t for t in few if low <= t <= high]
    return inside[:: max(1, len(inside) // 5)]


def budget_picture(before: float, after: float) -> str:
    """A bar: what was spent before, what this release takes, and what is left."""
    spent, taken = 400 * before, 400 * (after - before)
    inside = (
        '<rect class="left" x="0" y="0" width="400" height="16" rx="4"/>'
        f'<rect class="spent" x="0" y="0" width="{spent:.1f}" height="16" rx="4"/>'
        f'<rect class="taken" x="{spent:.1f}" y="0" width="{max(taken, 1.5):.1f}" height="16"/>'
    )
    return _svg(inside, 400, 16, f"{100 * before:.3g} % spent before, {100 * after:.3g} % after this release")


def _svg(inside: str, width: float, height: float, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(printable(label), quote=True)}">{inside}</svg>'
    )


# What the right side of the page says of a plan: errors in full precision, and the words and numbers around them.

MAX_ANSWERS = 120
"""Limit on the answers of a question that the page shows; the file of the plan holds all."""

MAX_COMPARED = 100
"""Limit on the pieces of a question that is compared with the standard Gaussian: each takes some time."""


@dataclass(frozen=True)
class Answer:
    """The error of one answer before any data is read. `over_n`: it is to be divided by the number of people."""

    name: str
    group: str
    error: float
    interval: float
    percent: float | None
    standard: float | None
    over_n: bool

    @property
    def ratio(self) -> float | None:
        return self.error / self.standard if self.standard else None


@dataclass(frozen=True)
class Table:
    """The answers of one question, and a sentence about its groups."""

    question: str
    told: str
    answers: tuple[Answer, ...]
    left_out: int
    counted: str = "people"
    """What the answer "count" counts: people or rows."""


def tables(plan: Plan, draft: Draft, rows: int | None) -> list[Table]:
    """The errors of a plan, one table for each question; the numbers are those of `gaussmith plan --json`."""
    return [_table(question, draft, rows) for question in plan]


def _table(question: Plan, draft: Draft, rows: int | None) -> Table:
    known = rows is not None or not question.any_divided
    errors = question.errors(rows) if known else dict(zip(question.names, question.standard_errors, strict=True))
    standard = _standard(question, rows if known else None)
    divided = divided_names(question)
    typical = _typical(draft, rows)
    name = question.questions[0]

    def answer(answer: str, error: float, group: str = "") -> Answer:
        usual = typical.get(answer) or typical.get(f"={name}") or typical.get(answer.rpartition("_q")[0])
        percent = 100 * error / abs(usual) if usual and rows and error else None
        over = answer in divided and rows is None
        return Answer(answer, group, error, error * normal_width(CONFIDENCE), percent, standard.get(answer), over)

    found = [answer(str(each), float(error)) for each, error in errors.items()]
    groups = question.groups
    if groups is not None and not groups.is_found and known and _shows_groups(question, len(errors)):
        found = [
            answer(each, float(error), " · ".join(f"{c}={key}" for c, key in zip(groups.columns, label, strict=True)))
            for label, some in question.errors_by_group(rows).items()
            for each, error in some.items()
        ] or found
    count = next((part.count for part in draft.questions if part.name == name), "") or draft.count
    who = "rows" if count == "rows" else "people"
    left_out = max(0, len(found) - MAX_ANSWERS)
    return Table(name, _told_of_groups(question), tuple(found[:MAX_ANSWERS]), left_out, who)


def _shows_groups(question: Plan, answers: int) -> bool:
    """Whether every group is shown by itself: where errors differ, or all fit."""
    assert question.groups is not None
    by_weight = any(piece.query.by_weight for piece in question.pieces)
    return bool(by_weight or question.groups.size * answers <= MAX_ANSWERS // 2)


def _told_of_groups(question: Plan) -> str:
    """A sentence about the groups of a question, and one about ranks."""
    told, groups = [], question.groups
    if groups is not None:
        keys = "Groups found in the data" if groups.is_found else counted(groups.size, "group")
        keys += f" by {' and '.join(groups.columns)}"
        each = held(question.queries[question.slot.queries[0]])
        told.append(f"{keys}, each person in {each}. Errors are those in one group.")
    if any(piece.answers.any_inverted for piece in question.pieces):
        told.append(f"{RANKS[0].upper()}{RANKS[1:]}.")
    return " ".join(told)


def _standard(question: Plan, rows: int | None) -> dict[str, float]:
    """The standard Gaussian's errors by answer, as far as they are known and quick to find."""
    if len(question.pieces) > MAX_COMPARED:
        return {}
    return {each.name: each.standard for each in compare_pieces(question, rows, MAX_ANSWERS) if each.standard}


def _typical(draft: Draft, rows: int | None) -> dict[str, float]:
    """What answers would be if all values lay in the middle of their bounds: public, and only for percentages."""
    n = float(rows or 0)
    people = 0.0 if draft.is_over_rows else n  # the guess is about rows there
    found: dict[str, float] = {"count": n if draft.count == "rows" else people}
    for ask in draft.asks:
        try:
            low, high = float(ask.low), float(ask.high)
        except ValueError:
            low, high = 0.0, 0.0
        middle = (low + high) / 2 or (high - low) / 2
        column = ask.column
        found |= {f"{column}_sum": people * middle, f"{column}_mean": middle, f"{column}_median": people}
        found |= {f"{column}_variance": (high - low) ** 2 / 12, f"{column}_sd": (high - low) / math.sqrt(12)}
        if ask.kind == "quantiles":
            found[column] = people  # errors of quantiles are in ranks
        if ask.kind in ("histograms", "proportions"):
            found[f"={column}"] = people / max(1, ask.listed.count(",") + 1)
    return found


@dataclass(frozen=True)
class Meaning:
    """What the guarantee means."""

    promise: str
    protects: str
    stated: str
    chance: float


def meaning(plan: Plan) -> Meaning:
    """The guarantee in words; the chance is that of guessing right whether one person is in the data."""
    right = 100 * plan.guarantee.guess_bound
    told = promise(plan).partition(". Guessing")[0].rstrip(".") + "."
    return Meaning(told, plan.protects, str(plan.guarantee), right)


@lru_cache(maxsize=4096)
def mu_of(epsilon: float, delta: float) -> float:
    """μ of a guarantee; kept, because a curve asks for the same ones again."""
    return Guarantee(epsilon=epsilon, delta=delta).mu


def curve(plan: Plan, error: float) -> tuple[str, list[tuple[float, float]], tuple[float, float]]:
    """The error of one answer against ε (or μ): the sign, points, and where the plan is. Errors fall as 1/μ."""
    guarantee = plan.guarantee
    if guarantee.is_pure and guarantee.epsilon is not None:
        at = guarantee.epsilon
        return "ε", [(x, error * at / x) for x in _steps(at)], (at, error)
    if guarantee.epsilon is None or guarantee.delta is None:
        return "μ", [(x, error * guarantee.mu / x) for x in _steps(guarantee.mu)], (guarantee.mu, error)
    delta = guarantee.delta
    points = [(x, error * guarantee.mu / mu_of(x, delta)) for x in _steps(guarantee.epsilon)]
    return "ε", points, (guarantee.epsilon, error)


def _steps(here: float) -> Iterator[float]:
    """Round numbers around `here`, a tenth to ten times as large, so that most of them were asked for before."""
    middle = round(8 * math.log10(here))
    return (float(f"{10 ** (k / 8):.3g}") for k in range(middle - 8, middle + 9))

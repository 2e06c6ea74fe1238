"""Pictures as SVG without styles or scripts: the noise of two answers, an error against ε, a budget, spending."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.outlines import ellipse
from gaussmith.errors import GaussmithError
from gaussmith.report.charts import plan_spec
from gaussmith.report.vectors import NotDrawn, draw_svg
from gaussmith.texts import printable
from gaussmith.words.numbers import figure

if TYPE_CHECKING:
    from gaussmith.plans import Plan


def shape_picture(question: Plan, first: str, second: str) -> str:
    """The noise of two answers over what one person can change; empty where it is not known."""
    for piece in question.pieces:
        if first in piece.names and second in piece.names:
            try:
                inside, width, height = draw_svg(plan_spec(piece.block, (first, second)))
            except (GaussmithError, NotDrawn):
                return ""
            return _svg(inside, width, height, f"The noise in {first} and {second}, and what one person can change")
    names = [str(name) for name in question.names]
    if first not in names or second not in names or (question.any_divided and question.draws[0].groups is not None):
        return ""
    try:
        places = [names.index(first), names.index(second)]
        covariance = question.covariance()[np.ix_(places, places)]
    except GaussmithError:
        return ""
    return _plain_ellipse(covariance, first, second)


def _plain_ellipse(covariance: Any, first: str, second: str) -> str:
    """The noise of two answers that come from different draws."""
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


def spending_picture(history: Sequence[Mapping[str, Any]]) -> str:
    """Percent of the budget spent against time; empty where nothing was spent."""
    if not history:
        return ""
    width, height, left, right, top, bottom = 620.0, 220.0, 48.0, 16.0, 12.0, 44.0
    times = [int(row["time"]) for row in history]
    first, span = min(times), max(60, max(times) - min(times))
    first, span = first - span // 20, span + span // 10

    def across(when: float) -> float:
        return left + (when - first) / span * (width - left - right)

    def up(share: float) -> float:
        return height - bottom - (height - bottom - top) * min(1.0, share)

    path, marks, free = f"{left:.1f},{up(0):.1f}", "", -math.inf
    before = 0.0
    for when, row in zip(times, history, strict=True):
        x, spent, name = across(when), float(row["spent"]), escape(printable(str(row["id"])))
        path += f" {x:.1f},{up(before):.1f} {x:.1f},{up(spent):.1f}"
        marks += f'<circle class="charge" cx="{x:.1f}" cy="{up(spent):.1f}" r="4"><title>{name}</title></circle>'
        wide = 7 * len(name) + 12
        at, side = (x, "start") if x + wide < width else (x - wide, "end")
        if at > free and wide < 180:  # a name where it covers no other
            marks += f'<text class="soft" x="{x:.1f}" y="{up(spent) - 9:.1f}" text-anchor="{side}">{name}</text>'
            free = at + wide
        before = spent
    path += f" {width - right:.1f},{up(before):.1f}"
    lines = "".join(
        f'<line class="grid" x1="{left}" y1="{up(p):.1f}" x2="{width - right}" y2="{up(p):.1f}"/>'
        f'<text class="soft" x="{left - 6}" y="{up(p) + 4:.1f}" text-anchor="end">{100 * p:.0f} %</text>'
        for p in (0, 0.5, 1)
    )
    for when, label in time_ticks(first, first + span):
        x = across(when)
        lines += f'<line class="grid" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{height - bottom + 5}"/>'
        lines += f'<text class="soft" x="{x:.1f}" y="{height - bottom + 20}" text-anchor="middle">{label}</text>'
    lines += f'<text class="soft" x="{width - right}" y="{height - 6}" text-anchor="end">time (UTC)</text>'
    inside = f'{lines}<polyline class="curve" points="{path}"/>{marks}'
    return _svg(inside, width, height, "Percent of the budget spent over time")


_STEPS = [60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, *(86400 * days for days in (1, 3, 7, 14, 30, 91, 365))]


def time_ticks(first: int, last: int) -> list[tuple[int, str]]:
    """Round times between two, in seconds and as text: at most eight.

    >>> time_ticks(0, 86400)
    [(0, '1 Jan'), (21600, '06:00'), (43200, '12:00'), (64800, '18:00'), (86400, '2 Jan')]
    """
    step = next((step for step in _STEPS if (last - first) / step <= 7), (last - first) // 7)
    found = []
    for when in range(-(-first // step) * step, last + 1, step):
        at = datetime.fromtimestamp(when, UTC)
        day = f"{at.day} {at:%b}" + (f" {at.year}" if last - first > 300 * 86400 else "")
        found.append((when, day if step >= 86400 or when % 86400 == 0 else f"{at:%H:%M}"))
    if found and all(":" in label for _, label in found):  # say once which day it is
        at = datetime.fromtimestamp(found[0][0], UTC)
        found[0] = found[0][0], f"{at.day} {at:%b} {at:%H:%M}"
    return found


def _svg(inside: str, width: float, height: float, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(printable(label), quote=True)}">{inside}</svg>'
    )

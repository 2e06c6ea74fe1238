"""Error bars: every answer with its 95 % interval on an axis of values, one small axis for each scale."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import PERCENT
from gaussmith.errors import printable
from gaussmith.releases.table import EXACT, FIXED, NOISY
from gaussmith.report.charts import (
    INK,
    LINE,
    MAX_BARS,
    NARROW,
    OURS,
    SOFT,
    WIDTH,
    Spec,
    chart,
    named_rows,
    row_axis,
    short,
    text_layer,
)
from gaussmith.report.drawing import draw
from gaussmith.report.tables import rounded
from gaussmith.statistics.regression import Intercepts, Slopes

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


Row = dict[str, Any]

ALIKE = 5.0
"""Answers without groups share an axis where the largest number of one is at most so many times another's."""

SHARE = "_share"
"""How the name of a share ends."""

CAPTION = f"Error bars: the released value (dot) and its {PERCENT} interval (bar), on an axis of values."
BESIDE = " A thin line leads from a value outside its bounds to its interval, which is cut to them."
NO_BAR = " Unknown: too much noise for an interval."

CROSS = " × "
_NEXT_COLUMN = re.compile(r", (?=[^=,]+=)")
"""Stands before each further column of the name of a cell, such as `origin=A, dest=X`."""

_HEIGHT = 24

_WIDTH = 164
"""The width of one of several axes with rows of groups: three stand side by side on a desktop, and one on a phone."""


def error_bars(rows: Sequence[Row], among: Sequence[Row] | None = None) -> str:
    """The charts of some rows of a release as one figure; empty where nothing is noisy.

    The rows may be one page `among` others: then the axes are those of all of them, so that pages can be compared.
    """
    specs = interval_specs(rows, among)
    if not specs:
        return ""
    names = ", ".join(dict.fromkeys(str(row["answer"]) for row in rows if row["status"] != EXACT))
    label = f"Error bars of {printable(names)}: values with their {PERCENT} intervals; the numbers are in the table."
    kind = "panels" if any(_keys(row) for row in rows) else "stack"
    drawn = "".join(draw(spec, label) for spec in specs)
    return f'<figure class="{kind}">{drawn}<figcaption>{html.escape(caption_of(rows))}</figcaption></figure>'


def interval_specs(rows: Sequence[Row], among: Sequence[Row] | None = None) -> list[Spec]:
    """A chart for each scale. With groups: one for each answer, a row per group. Public answers have no noise."""
    shown = {id(row) for row in rows}
    panels: dict[str, list[Row]] = {}
    for row in rows if among is None else among:
        if row["status"] != EXACT:
            panels.setdefault(_family(row), []).append(row)
    keyed = any(_keys(row) for panel in panels.values() for row in panel)
    shared = list(panels.values()) if keyed else _of_one_scale(list(panels.values()))
    width = NARROW if not keyed else WIDTH if len(shared) == 1 else _WIDTH
    found = []
    for panel in shared:
        if page := [row for row in panel if id(row) in shown]:
            found.append(_panel(page, width, _domain([end for row in panel for end in _ends(row)])))
    return found


def caption_of(rows: Sequence[Row]) -> str:
    """What the charts of these rows show; nothing is explained that does not occur."""
    known = [row for row in rows if row["status"] == NOISY]
    beside = any(not row["lower"] <= row["value"] <= row["upper"] for row in known)
    unknown = any(row["status"] not in (NOISY, EXACT) for row in rows)
    return CAPTION + (BESIDE if beside else "") + (NO_BAR if unknown else "")


def _keys(row: Row) -> list[str]:
    return [str(value) for name, value in row.items() if name not in FIXED and value is not None]


def _family(row: Row) -> str:
    """The name of an answer; of cells, their columns, and of shares that they are shares."""
    name = str(row["answer"])
    if "=" not in name:
        return name
    columns = CROSS.join(part.partition("=")[0] for part in _NEXT_COLUMN.split(name))
    return f"share of {columns}" if name.endswith(SHARE) else columns


def _of_one_scale(panels: Sequence[list[Row]]) -> list[list[Row]]:
    """Panels joined where their numbers are alike in size, so that no bar shrinks to a dot next to another.

    Cells of several columns and their totals are alike in size only by chance, and have axes of their own.
    """
    joined: list[tuple[float, float, list[Row]]] = []
    crossed = [panel for panel in panels if CROSS in _family(panel[0])]
    for panel in panels:
        if panel in crossed:
            continue
        size = max((abs(end) for row in panel for end in _ends(row)), default=0.0)
        for i, (least, most, others) in enumerate(joined):
            if max(most, size) <= ALIKE * min(least, size):
                joined[i] = (min(least, size), max(most, size), [*others, *panel])
                break
        else:
            joined.append((size, size, panel))
    return [*(panel for _, _, panel in joined), *crossed]


def _ends(row: Row) -> list[float]:
    """What a row has on the axis; nothing where its interval is unknown."""
    ends = [float(row[name]) for name in ("lower", "value", "upper")]
    return ends if row["status"] == NOISY and np.isfinite(ends).all() else []


def _panel(panel: Sequence[Row], width: int, ends_of_axis: tuple[float, float]) -> Spec:
    families, names = {_family(row) for row in panel}, {row["answer"] for row in panel}
    alone = len(panel) == 1 and not _keys(panel[0])
    title = short(next(iter(families))) if len(families) == 1 else "released value"
    values: list[Spec] = []
    for i, row in enumerate(panel):
        named = [_cell(row) if len(families) == 1 else str(row["answer"])] if len(names) > 1 else []
        label = " · ".join([*_keys(row), *named])
        drawn: Spec = {"row": i, "label": "" if alone else short(label), "text": "unknown"}
        if ends := _ends(row):
            low, value, high = ends
            near = float(np.clip(value, low, high))
            text = rounded(value, row["standard_error"]).replace("-", "−")
            drawn |= {"low": low, "high": high, "value": value, "near": near, "text": text}
        values.append(drawn)
    most = max(map(abs, ends_of_axis))
    axis = {"title": title, "tickCount": 3 if most >= 1e3 else 4, "format": "~s" if most >= 1e4 else ",~r"}
    x: Spec = {"type": "quantitative", "scale": {"domain": [*ends_of_axis], "nice": False}}
    lead = {"y": row_axis(), "x": {"field": "value", **x}, "x2": {"field": "near"}}
    return {
        **chart(width, len(values) * _HEIGHT),
        "data": {"values": values},
        "layer": [
            {"mark": {"type": "rule", "color": OURS, "strokeWidth": 1}, "encoding": lead},
            *_bars(x, axis, 2.5, 38),
            text_layer("text", {"value": width + 10}, align="left", color=SOFT),
            text_layer("label", {"value": -10}, align="right", color=INK),
        ],
    }


def _cell(row: Row) -> str:
    """The name of an answer without its columns, where it is a cell."""
    name = str(row["answer"])
    return " · ".join(part.partition("=")[2] for part in _NEXT_COLUMN.split(name)).removesuffix(SHARE) or name


def _bars(x: Spec, axis: Spec, stroke: float, size: int) -> list[Spec]:
    """A bar for each interval, and a dot for each value."""
    bar = {"y": row_axis(), "x": {"field": "low", **x, "axis": axis}, "x2": {"field": "high"}}
    dot = {"y": row_axis(), "x": {"field": "value", **x}}
    return [
        {"mark": {"type": "rule", "color": OURS, "strokeWidth": stroke, "strokeCap": "round"}, "encoding": bar},
        {"mark": {"type": "point", "color": OURS, "fill": OURS, "size": size, "opacity": 1}, "encoding": dot},
    ]


def _domain(ends: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis: all that is on it, with 0 where that is not far, and some room."""
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    span = high - low or abs(high) or 1.0
    if 0 < low < span:
        low = 0.0
    if -span < high < 0:
        high = 0.0
    room = 0.05 * (high - low or span)
    return low - room, high + room


# The coefficient plot of a regression: each slope with its 95 % interval, in units that can be compared.

COEFFICIENTS_CAPTION = (
    f"Slopes with their {PERCENT} intervals: the change of the explained column, in percent of its range, when a "
    "column moves across its whole range and the others stay."
)


def coefficient_spec(release: Release) -> Spec | None:
    """The plot of all slopes of a release; None where there are none."""
    answers = [each for piece in release.pieces for each in piece.block.answers.statistics]
    slopes = [each for each in answers if isinstance(each, Slopes) and not isinstance(each, Intercepts)]
    scales: dict[str, float] = {}
    for each in slopes:
        scales |= dict(zip(each.names, 100 * each.halves[:, 1] / each.halves[:, 0], strict=True))
    rows: list[Spec] = []
    for row in release.rows():
        scale = scales.get(row["answer"])
        if scale is None or not np.isfinite([row["lower"], row["upper"], row["value"]]).all():
            continue
        low, value, high = (row[name] * scale for name in ("lower", "value", "upper"))
        half = (high - low) / 2
        text = f"{rounded(value, half)} ± {rounded(half, half)} %"
        named = " · ".join((*_keys(row), row["answer"]))
        rows.append({"answer": short(named), "low": low, "high": high, "value": value, "text": text})
    if not rows:
        return None
    rows = rows[:MAX_BARS]
    ends = [0.0, *(row[end] for row in rows for end in ("low", "high"))]
    room = 0.05 * (max(ends) - min(ends))
    x = {"type": "quantitative", "scale": {"domain": [min(ends) - room, max(ends) + room], "nice": False}}
    axis = {"title": "percent of the explained column's range", "tickCount": 5, "format": ",~r"}
    zero = {"data": {"values": [{"zero": 0}]}, "mark": {"type": "rule", "color": LINE, "strokeWidth": 2}}
    return {
        **named_rows(rows, NARROW),
        "layer": [
            {**zero, "encoding": {"x": {"field": "zero", **x}}},
            *_bars(x, axis, 3, 55),
            text_layer("text", {"value": NARROW + 10}, align="left", color=SOFT),
            text_layer("answer", {"value": -10}, align="right", color=INK),
        ],
    }

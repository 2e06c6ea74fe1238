"""Error bars: every answer with its 95 % interval on an axis of values, one small axis for each scale."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from gaussmith.releases.table import EXACT, FIXED, NOISY
from gaussmith.report.charts import INK, NARROW, OURS, SOFT, WIDTH, Spec, chart, row_axis, short, text_layer
from gaussmith.report.drawing import draw
from gaussmith.texts import printable
from gaussmith.words.numbers import decimals

Row = dict[str, Any]

ALIKE = 5.0
"""Answers without groups share an axis where the largest number of one is at most so many times another's."""

SHARE = "_share"
"""How the name of a share ends."""

CAPTION = "Error bars: the released value (dot) and its 95 % interval (bar), on an axis of values."
BESIDE = " A thin line leads from a value outside its bounds to its interval, which is cut to them."
NO_BAR = " Unknown: too much noise for an interval."

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
    label = f"Error bars of {printable(names)}: values with their 95 % intervals; the numbers are in the table."
    kind = "panels" if any(_keys(row) for row in rows) else "stack"
    drawn = "".join(draw(spec, label) for spec in specs)
    return f'<figure class="{kind}">{drawn}<figcaption>{html.escape(caption_of(rows))}</figcaption></figure>'


def interval_specs(rows: Sequence[Row], among: Sequence[Row] | None = None) -> list[Spec]:
    """A chart for each scale. With groups: one for each answer, a row per group. Public answers have no noise."""
    shown = {id(row) for row in rows}
    noisy = [row for row in (rows if among is None else among) if row["status"] != EXACT]
    panels: dict[str, list[Row]] = {}
    for row in noisy:
        panels.setdefault(_family(row), []).append(row)
    keyed = any(_keys(row) for row in noisy)
    shared = list(panels.values()) if keyed else _of_one_scale(list(panels.values()))
    width = NARROW if not keyed else WIDTH if len(shared) == 1 else _WIDTH
    pages = [
        ([row for row in panel if id(row) in shown], _domain([e for row in panel for e in _ends(row)]))
        for panel in shared
    ]
    return [_panel(panel, width, ends) for panel, ends in pages if panel]


def caption_of(rows: Sequence[Row]) -> str:
    """What the charts of these rows show; nothing is explained that does not occur."""
    known = [row for row in rows if row["status"] == NOISY]
    beside = any(not row["lower"] <= row["value"] <= row["upper"] for row in known)
    unknown = any(row["status"] not in (NOISY, EXACT) for row in rows)
    return CAPTION + (BESIDE if beside else "") + (NO_BAR if unknown else "")


def _keys(row: Row) -> list[str]:
    return [str(value) for name, value in row.items() if name not in FIXED and value is not None]


def _family(row: Row) -> str:
    """The name of an answer; of the cells of a histogram, their column, and of shares that they are shares."""
    column, is_cell, cell = str(row["answer"]).partition("=")
    return f"share of {column}" if is_cell and cell.endswith(SHARE) else column


def _of_one_scale(panels: Sequence[list[Row]]) -> list[list[Row]]:
    """Panels joined where their numbers are alike in size, so that no bar shrinks to a dot next to another."""
    joined: list[tuple[float, float, list[Row]]] = []
    for panel in panels:
        size = max((abs(end) for row in panel for end in _ends(row)), default=0.0)
        for i, (least, most, others) in enumerate(joined):
            if max(most, size) <= ALIKE * min(least, size):
                joined[i] = (min(least, size), max(most, size), [*others, *panel])
                break
        else:
            joined.append((size, size, panel))
    return [panel for _, _, panel in joined]


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
        cell = str(row["answer"]).partition("=")[2] if len(families) == 1 else str(row["answer"])
        cell = cell.removesuffix(SHARE) if len(families) == 1 else cell
        label = " · ".join([*_keys(row), *([cell or str(row["answer"])] if len(names) > 1 else [])])
        drawn: Spec = {"row": i, "label": "" if alone else short(label), "text": "unknown"}
        if ends := _ends(row):
            low, value, high = ends
            near = float(np.clip(value, low, high))
            text = f"{value:z,.{decimals(row['standard_error'])}f}".replace("-", "−")
            drawn |= {"low": low, "high": high, "value": value, "near": near, "text": text}
        values.append(drawn)
    low, high = ends_of_axis
    most = max(abs(low), abs(high))
    x: Spec = {"type": "quantitative", "scale": {"domain": [low, high], "nice": False}}
    axis = {"title": title, "tickCount": 3 if most >= 1e3 else 4, "format": "~s" if most >= 1e4 else ",~r"}
    bar = {"y": row_axis(), "x": {"field": "low", **x, "axis": axis}, "x2": {"field": "high"}}
    lead = {"y": row_axis(), "x": {"field": "value", **x}, "x2": {"field": "near"}}
    return {
        **chart(width, len(values) * _HEIGHT),
        "data": {"values": values},
        "layer": [
            {"mark": {"type": "rule", "color": OURS, "strokeWidth": 1}, "encoding": lead},
            {"mark": {"type": "rule", "color": OURS, "strokeWidth": 2.5, "strokeCap": "round"}, "encoding": bar},
            {
                "mark": {"type": "point", "color": OURS, "fill": OURS, "size": 38, "opacity": 1},
                "encoding": {"y": row_axis(), "x": {"field": "value", **x}},
            },
            text_layer("text", {"value": width + 10}, align="left", color=SOFT),
            text_layer("label", {"value": -10}, align="right", color=INK),
        ],
    }


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

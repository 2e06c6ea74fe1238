"""Pictures of cells: histograms with error bars, distributions with a band, and quantiles of groups side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.plans.error_distribution import normal_width
from gaussmith.report.charts import INK, OURS, SOFT, WIDTH, Spec, chart, short
from gaussmith.statistics import Histograms, Quantiles

if TYPE_CHECKING:
    from gaussmith.releases import Release

MAX_CELLS = 60
"""Limit on the cells of a histogram that are drawn."""

MAX_GROUPS = 24
"""Limit on the groups whose quantiles are drawn."""


AXIS: Spec = {"tickCount": 5, "format": ",~r", "labelFlush": False}
"""Numbers below their ticks: the last one would else be moved to the left, into the one before."""


def column_of(quantiles: Quantiles) -> str:
    """The column that quantiles are of."""
    return short(str(quantiles.names[0]).rpartition("_")[0])


def has_quantiles(release: Release) -> bool:
    return any(isinstance(each, Quantiles) for piece in release.pieces for each in piece.block.answers.statistics)


def cell_pictures(release: Release) -> Iterator[tuple[Spec, str]]:
    """Specifications with what they show, for every piece of a question that has cells."""
    for piece in release.pieces:
        for each in piece.block.answers.statistics:
            if isinstance(each, Histograms) and 1 < len(each.names) <= MAX_CELLS:
                yield histogram_spec(piece), "How many people are in each cell, with 95 % intervals."
            if isinstance(each, Quantiles) and not piece.in_groups:
                yield distribution_spec(piece, each), "The share of people below each value, with 95 % intervals."
            if isinstance(each, Quantiles) and 1 < len(piece.labels) <= MAX_GROUPS:
                yield fan_spec(piece, each), "The quantiles of each group, with their 95 % intervals."


def histogram_spec(release: Release) -> Spec:
    """Bars from 0 to the released counts, in the order of the cells."""
    counted = set(release.plan.names) - {"count"}  # shares have another scale
    names = [row for row in release.rows() if row["answer"] in counted]
    rows = [
        {
            "row": i,
            "cell": short(str(row["answer"]).partition("=")[2]),
            "value": row["value"],
            "low": max(row["lower"], 0.0),
            "high": max(row["upper"], 0.0),
        }
        for i, row in enumerate(names)
    ]
    x: Spec = {"type": "quantitative", "axis": {"title": "people", **AXIS}}
    y: Spec = {"field": "row", "type": "ordinal", "axis": None}
    label = {"y": y, "x": {"value": -10}, "text": {"field": "cell"}}
    return {
        **chart(WIDTH, len(rows) * 20),
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "bar", "color": OURS, "opacity": 0.45, "height": 14},
                "encoding": {"y": y, "x": {"field": "value", **x}},
            },
            {
                "mark": {"type": "rule", "color": INK, "strokeWidth": 2},
                "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}},
            },
            {"mark": {"type": "text", "align": "right", "color": INK}, "encoding": label},
        ],
    }


def distribution_spec(release: Release, quantiles: Quantiles) -> Spec:
    """The share below each edge with its band, and the released quantiles on it."""
    found = quantiles.distribution(release.readout.noisy, normal_width(0.95))
    columns = ("edge", "share", "low", "high")
    whole = np.column_stack([np.where(np.isfinite(each), each, 0.5) for each in found])
    rows = [dict(zip(columns, row, strict=True)) for row in whole.tolist()]
    values = release.readout.values[: len(quantiles.levels)]
    marks = [
        {"edge": value, "share": level}
        for value, level in zip(values.tolist(), quantiles.levels.tolist(), strict=True)
        if np.isfinite(value)
    ]
    x: Spec = {"field": "edge", "type": "quantitative", "axis": {"title": column_of(quantiles), **AXIS}}
    y: Spec = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"title": "share below", "format": "%"}}
    return {
        **chart(WIDTH, 200),
        "layer": [
            {
                "data": {"values": rows},
                "mark": {"type": "area", "color": OURS, "opacity": 0.25},
                "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "line", "color": OURS, "strokeWidth": 2},
                "encoding": {"x": x, "y": {"field": "share", **y}},
            },
            {
                "data": {"values": marks},
                "mark": {"type": "point", "color": INK, "fill": INK, "size": 45, "opacity": 1},
                "encoding": {"x": x, "y": {"field": "share", **y}},
            },
        ],
    }


def fan_spec(release: Release, quantiles: Quantiles) -> Spec:
    """A line for each group from its lowest to its highest quantile, a point for each, a bar for each interval."""
    spans, points = [], []
    lower, upper = release.intervals()
    for i, label in enumerate(release.labels):
        name = short(" · ".join(map(str, label)))
        known = [
            (value, low, high)
            for value, low, high in zip(release.values[i].tolist(), lower[i].tolist(), upper[i].tolist(), strict=True)
            if np.isfinite([value, low, high]).all()
        ]
        points += [{"row": i, "value": value, "low": low, "high": high} for value, low, high in known]
        ends = {"from": min(known)[0], "to": max(known)[0]} if known else {}
        spans.append({"row": i, "name": name, **ends})
    x: Spec = {
        "type": "quantitative",
        "axis": {"title": column_of(quantiles), **AXIS},
        "scale": {"zero": False},
    }
    y: Spec = {"field": "row", "type": "ordinal", "axis": None}
    return {
        **chart(WIDTH, len(spans) * 26),
        "layer": [
            {
                "data": {"values": spans},
                "mark": {"type": "rule", "color": SOFT},
                "encoding": {"y": y, "x": {"field": "from", **x}, "x2": {"field": "to"}},
            },
            {
                "data": {"values": points},
                "mark": {"type": "rule", "color": OURS, "strokeWidth": 5, "opacity": 0.45},
                "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "color": OURS, "fill": OURS, "size": 45, "opacity": 1},
                "encoding": {"y": y, "x": {"field": "value", **x}},
            },
            {
                "data": {"values": spans},
                "mark": {"type": "text", "align": "right", "color": INK},
                "encoding": {"y": y, "x": {"value": -10}, "text": {"field": "name"}},
            },
        ],
    }

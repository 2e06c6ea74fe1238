"""The coefficient plot of a regression: each slope with its 95 % interval, in units that can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.releases.table import FIXED
from gaussmith.report.charts import (
    INK,
    LINE,
    MAX_BARS,
    NARROW,
    OURS,
    SOFT,
    Spec,
    named_rows,
    row_axis,
    short,
    text_layer,
)
from gaussmith.statistics.regression import Intercepts, Slopes
from gaussmith.words.numbers import decimals

if TYPE_CHECKING:
    from gaussmith.releases import Release

CAPTION = (
    "Slopes with their 95 % intervals: the change of the explained column, in percent of its range, when a column "
    "moves across its whole range and the others stay."
)


def coefficient_spec(release: Release) -> Spec | None:
    """The plot of all slopes of a release; None where there are none."""
    scales: dict[str, float] = {}
    for piece in release.pieces:
        for each in piece.block.answers.statistics:
            if isinstance(each, Slopes) and not isinstance(each, Intercepts):
                scales |= dict(zip(each.names, 100 * each.halves[:, 1] / each.halves[:, 0], strict=True))
    rows: list[Spec] = []
    for row in release.rows():
        scale = scales.get(row["answer"])
        if scale is None or not np.isfinite([row["lower"], row["upper"], row["value"]]).all():
            continue
        keys = [str(value) for name, value in row.items() if name not in FIXED and value is not None]
        low, value, high = (row[name] * scale for name in ("lower", "value", "upper"))
        half = (high - low) / 2
        text = f"{value:z,.{decimals(half)}f} ± {half:,.{decimals(half)}f} %"
        named = " · ".join((*keys, row["answer"]))
        rows.append({"answer": short(named), "low": low, "high": high, "value": value, "text": text})
    if not rows:
        return None
    rows = rows[:MAX_BARS]
    ends = [0.0, *(row[end] for row in rows for end in ("low", "high"))]
    room = 0.05 * (max(ends) - min(ends))
    x = {"type": "quantitative", "scale": {"domain": [min(ends) - room, max(ends) + room], "nice": False}}
    axis = {"title": "percent of the explained column's range", "tickCount": 5, "format": ",~r"}
    bars = {"y": row_axis(), "x": {"field": "low", **x, "axis": axis}, "x2": {"field": "high"}}
    zero = {"data": {"values": [{"zero": 0}]}, "mark": {"type": "rule", "color": LINE, "strokeWidth": 2}}
    return {
        **named_rows(rows, NARROW),
        "layer": [
            {**zero, "encoding": {"x": {"field": "zero", **x}}},
            {"mark": {"type": "rule", "color": OURS, "strokeWidth": 3, "strokeCap": "round"}, "encoding": bars},
            {
                "mark": {"type": "point", "color": OURS, "fill": OURS, "size": 55, "opacity": 1},
                "encoding": {"y": row_axis(), "x": {"field": "value", **x}},
            },
            text_layer("text", {"value": NARROW + 10}, align="left", color=SOFT),
            text_layer("answer", {"value": -10}, align="right", color=INK),
        ],
    }

"""The noise of all answers at once: its size in every direction, and on every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.plans.standard_gaussian import spectrum, standard_errors_of_standard
from gaussmith.report.charts import OTHERS, OURS, WIDTH, Spec, chart
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.plans import Block

MAX_POINTS = 600
"""Limit on the answers that a picture of errors shows, evenly chosen."""


def spectrum_spec(block: Block) -> Spec:
    """Bars for the noise in each of its principal directions, over the standard Gaussian's single size."""
    sizes, standard = spectrum(block)
    rows = [{"direction": i + 1, "size": float(size)} for i, size in enumerate(sizes)]
    top = max([float(sizes.max()), standard or 0.0]) * 1.05
    y = {"type": "quantitative", "scale": {"domain": [0, top], "nice": False}}
    axis = {"title": "standard deviation of the noise", "tickCount": 5, "format": "~s" if top >= 1e5 else ",~r"}
    x = {
        "field": "direction",
        "type": "quantitative",
        "scale": {"domain": [0.5, len(rows) + 0.5], "nice": False},
        "axis": {"title": "directions, the noisiest first", "tickMinStep": 1, "tickCount": 5, "grid": False},
    }
    width = max(1.0, 0.8 * WIDTH / len(rows))
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "color": OURS, "width": min(width, 28.0)},
            "encoding": {"x": x, "y": {"field": "size", **y, "axis": axis}},
        }
    ]
    if standard is not None:
        layers.append(
            {
                "data": {"values": [{"standard": standard}]},
                "mark": {"type": "rule", "color": OTHERS, "strokeDash": [5, 4], "strokeWidth": 2},
                "encoding": {"y": {"field": "standard", **y}},
            }
        )
    return {**chart(WIDTH, WIDTH * 2 // 3), "data": {"values": rows}, "layer": layers}


def errors_spec(block: Block) -> Spec:
    """The standard error of every answer in order, the count last, ours and the standard Gaussian's."""
    errors, standard = block.standard_errors, standard_errors_of_standard(block)
    size = len(errors)
    places = np.unique(np.linspace(0, size - 1, min(size, MAX_POINTS)).astype(int))
    rows: list[Spec] = []
    for i in places.tolist():
        name = printable(block.answers.names[i])
        rows.append({"answer": name, "place": i + 1, "kind": "ours", "error": float(errors[i])})
        if standard is not None:
            rows.append({"answer": name, "place": i + 1, "kind": "standard", "error": float(standard[i])})
    top = max(row["error"] for row in rows) * 1.05
    ticks: Spec = {"values": list(range(1, size + 1))} if size <= 10 else {"tickMinStep": 1, "tickCount": 5}
    return {
        **chart(WIDTH, WIDTH * 2 // 3),
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 2, "point": size <= 60},
        "encoding": {
            "x": {
                "field": "place",
                "type": "quantitative",
                "scale": {"domain": [1, max(size, 2)], "nice": False},
                "axis": {"title": "answers, in order", "grid": False, **ticks},
            },
            "y": {
                "field": "error",
                "type": "quantitative",
                "scale": {"domain": [0, top], "nice": False},
                "axis": {"title": "standard error", "tickCount": 5, "format": "~s" if top >= 1e5 else ",~r"},
            },
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": ["ours", "standard"], "range": [OURS, OTHERS]},
                "legend": None,
            },
        },
    }

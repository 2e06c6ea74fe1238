"""A chart of a ledger: the share of its budget spent so far, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gaussmith.report.charts import INK, LINE, OURS, SOFT, WIDTH, Spec, chart
from gaussmith.texts import printable


def spending_spec(history: Sequence[Mapping[str, Any]]) -> Spec:
    """A step chart that rises with every charge (`Ledger.history`) towards the whole budget."""
    rows: list[Spec] = [
        {"time": clock(row["time"]), "id": printable(str(row["id"])), "spent": 100 * float(row["spent"]), "order": i}
        for i, row in enumerate(history)
    ]
    days = (int(history[-1]["time"]) - int(history[0]["time"])) / 86400 if history else 0.0
    shown = {"title": "time (UTC)", "tickCount": 4, "format": "%Y-%m-%d" if days > 3 else "%d %b %H:%M"}
    x = {"field": "time", "type": "temporal", "axis": shown}
    scale = {"domain": [0, 100], "nice": False}
    y = {"field": "spent", "type": "quantitative", "scale": scale, "axis": {"title": "percent of the budget spent"}}
    order = {"field": "order", "type": "quantitative"}
    stair = {"type": "line", "interpolate": "step-after", "color": OURS, "strokeWidth": 2.5}
    point = {"type": "point", "color": OURS, "fill": OURS, "size": 45, "opacity": 1}
    few = len(rows) <= 12
    layers: list[Spec] = [
        {
            "data": {"values": [{"all": 100}]},
            "mark": {"type": "rule", "color": LINE, "strokeWidth": 2},
            "encoding": {"y": {"field": "all", "type": "quantitative"}},
        },
        {"mark": stair, "encoding": {"x": x, "y": y, "order": order}},
        {"mark": point, "encoding": {"x": x, "y": y}},
    ]
    if few:
        label = {"type": "text", "align": "left", "dx": 8, "dy": 12, "color": SOFT if rows else INK}
        layers.append({"mark": label, "encoding": {"x": x, "y": y, "text": {"field": "id"}}})
    return {**chart(2 * WIDTH, WIDTH), "data": {"values": rows}, "layer": layers}


def clock(seconds: int) -> str:
    """A time from a ledger as text, in UTC.

    >>> clock(86400)
    '1970-01-02 00:00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")

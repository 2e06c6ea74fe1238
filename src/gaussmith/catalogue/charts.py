"""Comparisons and sweeps as Vega-Lite, and as pictures and pages without a browser or a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaussmith.chart_packages import LEFT_OUT, can_draw, require_vl_convert

if TYPE_CHECKING:
    from gaussmith.catalogue.comparison import Comparison
    from gaussmith.catalogue.sweeps import Sweep

Spec = dict[str, Any]

INK, SOFT, LINE, OURS, OTHERS, WRONG = "#1c2733", "#5b6875", "#d5dbe1", "#0f62ac", "#8b96a1", "#b3261e"
OUR_NAME = "gaussmith"
PALETTE = ["#0f62ac", "#d9730d", "#3f8f4f", "#7a4fb5", "#8b96a1", "#b58900", "#2aa198", "#5b6875"]

_CONFIG: Spec = {
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "gridColor": LINE,
        "gridOpacity": 0.5,
        "domainColor": LINE,
        "labelLimit": 260,
    },
    "legend": {"labelColor": INK, "titleColor": SOFT, "labelLimit": 260},
    "title": {"color": INK, "anchor": "start", "fontSize": 14},
}


def comparison_spec(comparison: Comparison) -> Spec:
    """A bar per mechanism: its total error over the best; unsound mechanisms are struck through, with their true δ."""
    values: list[Spec] = []
    for row in comparison.rows:
        if row.total_error is None or row.ratio_to_best is None:
            continue
        wrong = row.sound == "no"
        text = f"{row.ratio_to_best:.3g} ×" + (f"  not private: true δ = {row.true_delta:.2g}" if wrong else "")
        kind = "unsound" if wrong else "ours" if row.mechanism == OUR_NAME else "sound"
        values.append({"mechanism": row.mechanism, "ratio": row.ratio_to_best, "text": text, "kind": kind})
    most = max(value["ratio"] for value in values)
    least = min(1.0, min(value["ratio"] for value in values))
    y = {"field": "mechanism", "type": "nominal", "sort": None, "axis": {"title": None, "ticks": False}}
    scale = {"type": "log", "domain": [least * 0.8, max(most * 1.05, 1.5)], "nice": False}
    x = {
        "field": "ratio",
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": "total squared error, best = 1", "tickCount": 5},
    }
    colours = {"domain": ["ours", "sound", "unsound"], "range": [OURS, OTHERS, WRONG]}
    struck = {"transform": [{"filter": "datum.kind === 'unsound'"}]}
    return {
        **_chart(420, 26 * len(values)),
        "title": f"d = {comparison.dimension}, ε = {comparison.epsilon:g}, δ = {comparison.delta:g}",
        "data": {"values": values},
        "layer": [
            {
                "mark": {"type": "bar", "height": 14},
                "encoding": {
                    "y": y,
                    "x": x,
                    "x2": {"datum": least * 0.8},
                    "color": {"field": "kind", "type": "nominal", "scale": colours, "legend": None},
                    "opacity": {"condition": {"test": "datum.kind === 'unsound'", "value": 0.35}, "value": 1},
                },
            },
            {
                **struck,
                "mark": {"type": "rule", "color": WRONG, "strokeWidth": 2},
                "encoding": {"y": y, "x": {"value": -135}, "x2": {"value": -4}},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 6, "color": INK},
                "encoding": {"y": y, "x": x, "text": {"field": "text"}},
            },
        ],
    }


def sweep_spec(sweep: Sweep, field: str = "standard_error") -> Spec:
    """A line per mechanism over the swept parameter; mechanisms that are not private as claimed are dashed.

    Our line is first in the legend, thick, and drawn last: no other hides it.
    """
    values = []
    for record in sweep.table():
        wrong = record["sound"] == "no"
        series = record["mechanism"] + (" (not private)" if wrong else "")
        values.append({"x": record[sweep.over], "y": record[field], "series": series, "unsound": wrong})
    spread = max(sweep.values) > 8 * min(sweep.values) > 0
    values.sort(key=lambda value: (value["series"] != OUR_NAME, value["unsound"]))
    x: Spec = {"axis": {"title": sweep.over.replace("_", " "), "tickCount": 6, "labelOverlap": True}}
    if len(sweep.values) <= 12:
        x["axis"] |= {"values": list(sweep.values), "format": "~g"}
    x["scale"] = {"type": "log" if spread else "linear", "nice": False, "zero": False}
    y = {"scale": {"type": "log"}, "axis": {"title": "standard error of a typical answer", "tickCount": 6}}
    spec = line_spec(values, x, y)
    dash = {"domain": [False, True], "range": [[1, 0], [4, 4]]}
    spec["encoding"]["strokeDash"] = {"field": "unsound", "type": "nominal", "scale": dash, "legend": None}
    ours = f"datum.series === '{OUR_NAME}'"
    spec["encoding"]["strokeWidth"] = {"condition": {"test": ours, "value": 4}, "value": 2}
    spec["data"] = {"values": sorted(values, key=lambda value: value["series"] == OUR_NAME)}  # the last is on top
    return spec


def line_spec(values: list[Spec], x: Spec, y: Spec, title: str = "") -> Spec:
    """Lines of any numbers: `values` hold x, y and series; for the reproductions of published figures."""
    names = list(dict.fromkeys(str(value["series"]) for value in values))
    wrong = {str(value["series"]) for value in values if value.get("unsound")}
    right = [name for name in names if name not in wrong]
    colours = [WRONG if name in wrong else PALETTE[right.index(name) % len(PALETTE)] for name in names]
    return {
        **_chart(420, 300),
        "title": title,
        "data": {"values": values},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", **x},
            "y": {"field": "y", "type": "quantitative", **y},
            "color": {
                "field": "series",
                "type": "nominal",
                "legend": {"title": None},
                "scale": {"domain": names, "range": colours},
            },
        },
    }


def render(spec: Spec, suffix: str, page: str = "") -> str | bytes:
    """Save a spec as a picture (.png, .svg) or as a self-contained page (.html)."""
    white = {**spec, "background": "white"}
    if suffix == ".png":
        return bytes(require_vl_convert("a picture as .png").vegalite_to_png(white, scale=2))
    if suffix == ".svg":
        return str(require_vl_convert("a picture as .svg").vegalite_to_svg(white))
    svg = str(require_vl_convert("a chart").vegalite_to_svg(white)) if can_draw() else f"<p>{LEFT_OUT}</p>"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Gaussmith: mechanisms compared</title>\n'
        f"<style>:root{{color-scheme:light;background:white;color:{INK}}}"
        "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
        f"table{{border-collapse:collapse}}td,th{{padding:.3rem .8rem;border-bottom:1px solid {LINE};text-align:right}}"
        "td,th{white-space:nowrap;font-variant-numeric:tabular-nums}td:first-child,th:first-child{text-align:left}"
        "h1{font-size:1.1rem}.table{overflow-x:auto}svg{max-width:100%;height:auto;overflow:visible}"
        f"s{{color:{WRONG}}}</style></head>\n<body>\n{page}\n{svg}\n</body></html>\n"
    )


def _chart(width: int, height: int) -> Spec:
    # To the right there is room for fonts that are wider than the one that was measured.
    return {
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": 90},
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": width,
        "height": height,
        "config": _CONFIG,
    }

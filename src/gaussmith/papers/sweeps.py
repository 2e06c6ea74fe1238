"""Comparisons over a range of one parameter, as a table, a chart and a page."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gaussmith.chart_packages import LEFT_OUT, can_draw, require_vl_convert
from gaussmith.checks import checks_arguments
from gaussmith.errors import PlanError
from gaussmith.papers.comparison import Comparison, Row, page_table, paragraphs, write, write_csv
from gaussmith.privacy.neighbours import protects
from gaussmith.report.tables import figure, text_table, wrap_notes

WIDTH = 80
"""A table that is wider continues below."""

MARK = " †"
"""Stands behind the name of a mechanism that is not private as claimed."""

WHAT = "Total squared error, divided by that of the best mechanism whose claim is true"
COINCIDE = "Lines with equal errors lie on one another, the wider ones below."


@dataclass(frozen=True)
class Sweep:
    """Comparisons over a range of one parameter: d, ε, k or n."""

    over: str
    values: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    def table(self) -> list[dict[str, Any]]:
        """One record per value and mechanism that applies there."""
        return [
            {self.over: value, **asdict(row)}
            for value, comparison in zip(self.values, self.comparisons, strict=True)
            for row in comparison.applied
        ]

    def to_dict(self) -> dict[str, Any]:
        return {"over": self.over, "values": list(self.values), "comparisons": [c.to_dict() for c in self.comparisons]}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        return write_csv(self.table())

    @property
    def title(self) -> str:
        """What is compared, as far as it is the same for all values."""
        parts = [
            {c.domain for c in self.comparisons},
            {f"ε = {c.epsilon:g}" for c in self.comparisons},
            {f"δ = {c.delta:g}" for c in self.comparisons},
            {protects(c.neighbours) for c in self.comparisons},
        ]
        return ", ".join(part.pop() for part in parts if len(part) == 1)

    @property
    def remarks(self) -> list[str]:
        """What the marks mean, and where and why mechanisms do not apply."""
        rows = dict(self._by_mechanism())
        unsound = [f"{MARK.strip()} not private as claimed; its error is shown as claimed"]
        told = unsound if any(map(_is_unsound, rows.values())) else []
        told += [text for name, found in rows.items() if (text := self._gaps(name, found))]
        return [*told, *dict.fromkeys(note for c in self.comparisons for note in c.notes)]

    def _gaps(self, name: str, found: Sequence[Row | None]) -> str:
        """Where and why a mechanism does not apply; empty where nothing is to be said."""
        missing = [v for v, row in zip(self.values, found, strict=True) if row is None or not row.applies]
        why = "; ".join(dict.fromkeys(row.note for row in found if row and not row.applies and row.note))
        where = "" if len(missing) == len(self.values) else f" at {self.over} = {_listed(missing)}"
        return f"{name} does not apply{where}: {why}" if missing and why else ""

    def lines(self) -> list[list[str]]:
        """The table: a line per mechanism that applies somewhere, a column per value."""
        found = []
        for name, rows in self._by_mechanism():
            if any(row is not None and row.applies for row in rows):
                ratios = ["—" if r is None or r.ratio_to_best is None else _times(r.ratio_to_best) for r in rows]
                found.append([name + (MARK if _is_unsound(rows) else ""), *ratios])
        return found

    def _by_mechanism(self) -> Iterator[tuple[str, list[Row | None]]]:
        """Every mechanism with its row at each value, in the order of the first value where it applies."""
        names = [row.mechanism for c in self.comparisons for row in c.applied]
        names += [name for c in self.comparisons for name in c.mechanisms]
        by_name = [{row.mechanism: row for row in c.rows} for c in self.comparisons]
        for name in sorted(dict.fromkeys(names), key=lambda name: _is_unsound([rows.get(name) for rows in by_name])):
            yield name, [rows.get(name) for rows in by_name]

    def __str__(self) -> str:
        """Total errors relative to the best, a line per mechanism and a column per value."""
        tables = _side_by_side([self.over, *(f"{value:g}" for value in self.values)], self.lines())
        notes = wrap_notes(self.remarks)
        head = [*wrap_notes([WHAT, self.title]), ""]
        return "\n".join([*head, "\n\n".join(tables), *([""] if notes else []), *notes])

    def chart(self) -> Any:
        """Standard errors over the parameter, a line per mechanism, unsound ones dashed (an Altair chart)."""
        from gaussmith.chart_packages import altair_chart

        return altair_chart(sweep_spec(self))

    def save(self, path: str | Path) -> Path:
        """Write a picture (.png, .svg), a page (.html) or the numbers (.json, .csv), by the suffix."""

        lines = self.lines()
        table = page_table(
            [self.over, *(f"{value:g}" for value in self.values)], lines, [line[0].endswith(MARK) for line in lines]
        )
        page = f"<h1>{html.escape(WHAT)}</h1>\n{paragraphs([self.title])}\n{table}\n"
        return write(path, self, lambda: sweep_spec(self), page + paragraphs([*self.remarks, COINCIDE]))


@checks_arguments
def sweep(over: str, values: Sequence[float], case: Callable[[Any], Comparison]) -> Sweep:
    """Comparisons over a range of one parameter: `case` makes the comparison at each value.

    >>> import gaussmith as gm
    >>> found = gm.papers.sweep("d", [4, 16], lambda d: gm.compare(gm.Box([0] * d, [1] * d), epsilon=1, delta=1e-6))
    >>> [round(c["analytic Gaussian"].ratio_to_best, 2) for c in found.comparisons]
    [1.78, 2.56]
    """
    if not values:
        raise PlanError(
            "no values", "a sweep needs at least one value", "write values=[2, 4, 8]", code="sweep-without-values"
        )
    return Sweep(over, tuple(values), tuple(case(value) for value in values))


def _is_unsound(rows: Sequence[Row | None]) -> bool:
    return any(row is not None and row.applies and row.sound == "no" for row in rows)


def _times(ratio: float) -> str:
    """A ratio with three digits; a large one as a power of ten, which keeps columns narrow."""
    return figure(ratio, 3) if ratio < 1e6 else f"{ratio:.2e}".replace("e+", "e")


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values[:4]) + (", …" if values[4:] else "")


def _side_by_side(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A table, in as many parts below each other as fit into lines of WIDTH; each repeats the names."""
    columns = list(zip(header, *lines, strict=True))
    first, *widths = (2 + max(map(len, column)) for column in columns)
    parts: list[list[tuple[str, ...]]] = []
    room = 0
    for column, width in zip(columns[1:], widths, strict=True):
        if width > room:
            parts.append([columns[0]])
            room = WIDTH + 2 - first
        parts[-1].append(column)
        room -= width
    tables = [[list(line) for line in zip(*part, strict=True)] for part in parts]
    return [text_table(top, rest) for top, *rest in tables]


# Comparisons and sweeps as Vega-Lite, and as pictures and pages without a browser or a network.

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

    Our line is first in the legend and drawn first. A line on which others lie is wider than these: none is hidden.
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
    spec["encoding"]["strokeWidth"] = {"field": "width", "type": "quantitative", "scale": None, "legend": None}
    widths = _widths(values)
    spec["data"] = {"values": [{**value, "width": widths[value["series"]]} for value in values]}
    return spec


def _widths(values: list[Spec]) -> dict[str, int]:
    """The width of each line: 2, and more than that of each later line that it meets where both have a point."""
    lines: dict[str, dict[float, float]] = {}
    for value in values:
        lines.setdefault(value["series"], {})[value["x"]] = value["y"]
    widths: dict[str, int] = {}
    for name, line in reversed(lines.items()):
        met = [
            width
            for other, width in widths.items()
            if any(math.isclose(y, lines[other].get(x, math.nan), rel_tol=0.01) for x, y in line.items())
        ]
        widths[name] = max(met, default=-1) + 3
    return widths


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

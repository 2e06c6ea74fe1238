"""Charts as Vega-Lite specifications. Column names are data values, never code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gaussmith.chart_packages import altair_chart
from gaussmith.checks import CONFIDENCE, PERCENT
from gaussmith.domains.domain import free_marks
from gaussmith.domains.strategies import has_standard_shape
from gaussmith.errors import PlanError, nearest, printable
from gaussmith.numerics.exact import Array
from gaussmith.planning.block import Block, ComparedStrategies, spectrum, standard_errors_of_standard
from gaussmith.planning.error_distribution import normal_width
from gaussmith.report.outlines import ellipse, outlines
from gaussmith.statistics.histogram import Histograms
from gaussmith.statistics.quantile import Quantiles

if TYPE_CHECKING:
    from gaussmith.planning.plan import Plan, Slot
    from gaussmith.planning.query import AnyTie, Query
    from gaussmith.releases.release import Release


# The outlines in the picture of a plan: what one record can change in two answers, and the noise around it.

MAX_PAIRED = 24
"""Limit on the answers searched for the most informative pair."""


def differences(block: Block, first: int, second: int) -> list[Array]:
    """Outlines of what one record can change in two answers: add-remove gives a body and its mirror image.

    An answer's place is its position in the plan, the count last. A mean stands for its sum of distances from the
    middle of its bounds. Empty for a domain whose outline is not known, and where an answer mixes features.
    """
    one, other = block.answers.feature_of(first), block.answers.feature_of(second)
    return [] if one is None or other is None else outlines(block.problem, one, other)


def pair(block: Block) -> tuple[int, int] | None:
    """The two answers to draw: those whose noise is most correlated, else the first two; None if there is but one."""
    size = min(block.answers.size, MAX_PAIRED)
    if size < 2:
        return (0, 1) if len(block.answers) == 2 and not block.public_count else None
    covariance = noise_covariance(block, range(size))
    deviations = np.sqrt(np.diag(covariance))
    deviations = np.where(deviations > 0, deviations, np.inf)  # a public answer has no noise to draw
    correlations = np.triu(np.abs(covariance / np.outer(deviations, deviations)), 1)
    best = int(np.argmax(np.round(correlations, 9)))
    i, j = divmod(best, size)
    return (i, j) if i < j else (0, 1)


def noise_covariance(block: Block, answers: Sequence[int]) -> Array:
    """The covariance of the noise in some answers, by place; of a mean: in its sum of distances from the middle."""
    rows = np.array([block.answers.noise_row(i, block.shape.features) for i in answers])
    return np.asarray(rows @ rows.T * block.noise_scale**2)


Spec = dict[str, Any]

INK, SOFT, LINE, OURS, OTHERS, RECORD = "#1c2733", "#5b6875", "#d5dbe1", "#0f62ac", "#8b96a1", "#d9730d"
"""Text, quiet text, rules, our noise, the standard Gaussian's, one record. In dark mode the page replaces them."""

WIDTH = 290
"""The width of the drawing itself: with its labels it fits a phone, and two fit side by side on a desktop."""

NARROW = 220
"""The position of a column of numbers to the right of the drawing."""

MAX_BARS = 24
"""Limit on the answers that a chart shows."""

LONGEST = 23
"""Limit on the length of a name next to a chart."""

_CONFIG: Spec = {
    "padding": {"left": 10, "right": 10, "top": 4, "bottom": 4},
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 150,
    },
    "text": {"color": INK, "fontSize": 12},
    "aria": False,
}


def noise_spec(comparisons: Sequence[ComparedStrategies]) -> Spec:
    """Each error in percent of the standard Gaussian's, over a bar for the standard one."""
    rows: list[Spec] = [
        {
            "answer": short(c.name),
            "share": 100 * c.share,
            "standard": 100.0,
            "inside": f"{100 * c.share:.0f} %" if c.share > 0.2 else "",
            "outside": "" if c.share > 0.2 else f"{100 * c.share:.0f} %",
        }
        for c in comparisons[:MAX_BARS]
        if c.share is not None
    ]
    most = max([100.0, *(row["share"] for row in rows)])
    x = {"type": "quantitative", "scale": {"domain": [0, most], "nice": False}}
    axis = {"title": "error, in percent of the standard Gaussian's", "tickCount": 5}
    share = {"field": "share", **x}
    return {
        **named_rows(rows, WIDTH),
        "layer": [
            {
                "mark": {"type": "bar", "color": OTHERS, "opacity": 0.35, "height": 16},
                "encoding": {"y": row_axis(), "x": {"field": "standard", **x, "axis": axis}},
            },
            {"mark": {"type": "bar", "color": OURS, "height": 16}, "encoding": {"y": row_axis(), "x": share}},
            text_layer("inside", share, align="right", dx=-6, color="#ffffff", fontWeight=600),
            text_layer("outside", share, align="left", dx=6, color=INK, fontWeight=600),
            text_layer("answer", {"value": -10}, align="right", color=INK),
        ],
    }


def plan_spec(block: Block, columns: Sequence[str] | None = None, who: str = "one record") -> Spec:
    """The noise of two answers around what one record can change; of a single answer, bars on a line.

    In the plane noise is drawn at μ = 1, where its outline just contains every difference: the true noise is 1/μ times
    as large. On a line it has its true size. `who` is protected.
    """
    places = pair(block) if columns is None else _places(block, columns)
    return _line_spec(block, who) if places is None else _plane_spec(block, *places)


KINDS = ("shape", "spectrum", "errors")


def plan_chart(block: Block, columns: Sequence[str] | None = None, kind: str = "shape") -> Any:
    """A picture of a plan as an Altair chart.

    kind: "shape", the noise of two answers (`columns` names them; by default the two most informative) around what one
    record can change; "spectrum", its size in every direction; "errors", its size on every answer.
    """

    if kind not in KINDS:
        raise PlanError(
            f"kind={kind!r}", "a plan has no such picture", nearest(str(kind), KINDS), code="unknown-picture", kind=kind
        )
    if kind != "shape" and columns is not None:
        what, rule = f"columns with kind={kind!r}", "this picture always shows all answers"
        raise PlanError(what, rule, "leave columns out", code="columns-with-this-picture", kind=kind)
    if block.drawn is not None:
        what, rule = "a picture of pure noise", "pictures show Gaussian noise beside the standard one"
        raise PlanError(what, rule, "print the plan, which lists all errors", code="picture-of-pure-noise")
    if block.tie is None and block.shape.lift.shape[0] == 0:
        what, rule = "a picture of a public number", "it has no noise"
        raise PlanError(what, rule, "choose another question", code="picture-without-noise")
    spec = plan_spec(block, columns) if kind == "shape" else (errors_spec if kind == "errors" else spectrum_spec)(block)
    return altair_chart(spec)


def draws_record(block: Block, columns: Sequence[str] | None = None) -> bool:
    """Whether what one record can change is known, and part of the picture that `plan_spec` draws."""
    places = pair(block) if columns is None else _places(block, columns)
    return places is None or bool(differences(block, *places))


def draws_line(block: Block, columns: Sequence[str] | None = None) -> bool:
    """Whether `plan_spec` draws a single answer, as bars on a line."""
    return columns is None and pair(block) is None


def drawn_names(block: Block, columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """The names of the answers that `plan_spec` draws."""
    places = pair(block) if columns is None else _places(block, columns)
    return (_name(block, 0),) if places is None else tuple(_name(block, i) for i in places)


def _plane_spec(block: Block, first: int, second: int) -> Spec:
    ours, standard = _covariances(block, [first, second])
    drawn = [("ours", ellipse(ours))]
    if standard is not None:
        drawn.append(("standard", ellipse(standard)))
    drawn += [("record", body) for body in differences(block, first, second)]
    points = [
        {"outline": f"{kind} {k}", "kind": kind, "x": float(x), "y": float(y), "order": i}
        for k, (kind, outline) in enumerate(drawn)
        for i, (x, y) in enumerate(outline)
    ]
    reach = np.abs(np.vstack([outline for _, outline in drawn])).max(axis=0) * 1.08
    channels = []
    for field, i, limit in (("x", first, reach[0]), ("y", second, reach[1])):
        axis = {
            "title": _axis_title(block, i),
            "tickCount": 5,
            "grid": False,
            "format": "~s" if limit >= 1e5 else ",~r",
        }
        scale = {"domain": [-float(limit), float(limit)], "nice": False}
        channels.append({"field": field, "type": "quantitative", "axis": axis, "scale": scale})

    def layer(kind: str, mark: Spec) -> Spec:
        return {
            "transform": [{"filter": {"field": "kind", "equal": kind}}],
            "mark": {"type": "line", "interpolate": "linear-closed", **mark},
            "encoding": {
                "x": channels[0],
                "y": channels[1],
                "detail": {"field": "outline"},
                "order": {"field": "order", "type": "quantitative"},
            },
        }

    zero = {"data": {"values": [{"zero": 0}]}, "mark": {"type": "rule", "color": LINE}}
    return {
        **chart(WIDTH, WIDTH),
        "data": {"values": points},
        "layer": [
            {**zero, "encoding": {"x": {"field": "zero", "type": "quantitative"}}},
            {**zero, "encoding": {"y": {"field": "zero", "type": "quantitative"}}},
            layer("standard", {"color": OTHERS, "strokeDash": [5, 4], "strokeWidth": 2}),
            layer("ours", {"color": OURS, "strokeWidth": 2.5, "fill": OURS, "fillOpacity": 0.1}),
            layer("record", {"color": RECORD, "strokeWidth": 2, "fill": RECORD, "fillOpacity": 0.25}),
        ],
    }


def _line_spec(block: Block, who: str) -> Spec:
    """One answer: bars for the most that one record can change, our noise, and the standard noise, at true size."""
    mu = block.guarantee.mu
    ours, standard = _covariances(block, [0])
    bodies = differences(block, 0, 0)
    ends = [float(np.abs(body[:, 0]).max()) for body in bodies] or [1.0 if block.answers.size == 0 else 0.0]
    rows: list[Spec] = [
        {"what": f"{who}, at most", "kind": "record", "reach": max(ends)},
        {"what": "noise, ± 1 σ", "kind": "ours", "reach": float(np.sqrt(ours[0, 0])) / mu},
    ]
    if standard is not None:
        rows.append({"what": "standard, ± 1 σ", "kind": "standard", "reach": float(np.sqrt(standard[0, 0])) / mu})
    rows = [{**row, "low": -row["reach"], "high": row["reach"]} for row in rows if row["reach"]]
    most = max((row["reach"] for row in rows), default=1.0)
    axis = {
        "title": f"change in {_axis_title(block, 0)}",
        "tickCount": 5,
        "format": "~s" if most >= 1e4 else ",~r",
    }
    return {
        **_sized(len(rows), 34),
        "data": {"values": rows},
        "mark": {"type": "bar", "height": 14},
        "encoding": {
            "y": {"field": "what", "type": "nominal", "sort": None, "axis": {"title": None, "ticks": False}},
            "x": {"field": "low", "type": "quantitative", "axis": axis},
            "x2": {"field": "high"},
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": ["record", "ours", "standard"], "range": [RECORD, OURS, OTHERS]},
                "legend": None,
            },
        },
    }


def _covariances(block: Block, places: list[int]) -> tuple[Array, Array | None]:
    """Ours and the standard one at μ = 1."""
    mu = block.guarantee.mu
    ours = noise_covariance(block, places) * mu**2
    if block.tie is not None:  # the standard mechanism would have to hide all that share this noise
        return ours, None
    if block.problem.features.is_linear or not has_standard_shape(block.problem):
        errors = standard_errors_of_standard(block)
        if errors is None or max(places) >= block.answers.size:
            return ours, None
        return ours, np.diag(errors[places] ** 2) * mu**2
    other = block.standard
    return ours, None if other is None else noise_covariance(other, places) * mu**2


def _places(block: Block, columns: Sequence[str]) -> tuple[int, int]:
    """Where two named answers stand; a column's own name will do."""
    shown = block.answers.size if block.public_count else len(block.answers)
    names = dict(enumerate(block.answers.names[:shown]))
    if len(columns) != 2 or columns[0] == columns[1]:
        what = f"columns={tuple(columns)!r}"
        rule = "the picture shows two answers"
        remedy = 'write columns=("age", "visits")'
        raise PlanError(what, rule, remedy, code="picture-columns-not-two", columns=tuple(columns))
    places = []
    for column in columns:
        known = [i for i, name in names.items() if name in (column, f"{column}_sum", f"{column}_mean")]
        if not known:
            rule, remedy = "the plan has no such answer", nearest(column, names.values())
            raise PlanError(f"columns: {column!r}", rule, remedy, code="picture-of-unknown-answer", column=column)
        places.append(known[0])
    return places[0], places[1]


def _name(block: Block, i: int) -> str:
    return block.answers.names[i]


def _axis_title(block: Block, i: int) -> str:
    name = printable(_name(block, i))
    if block.answers.any_inverted:
        return f"the rank of {name}, in people"
    return f"n × {name}" if block.answers.divided[i] else name


def short(name: str) -> str:
    """A name that fits next to a chart, shortened in the middle, because names tend to differ at their ends.

    >>> short("blood pressure, systolic, second visit")
    'blood press…econd visit'
    """
    name = printable(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[-(LONGEST // 2) :]}"


def named_rows(rows: Sequence[Spec], width: int) -> Spec:
    """Data with one chart row per answer, by number: two answers may look the same and still be different."""
    numbered = [{"row": i, **row} for i, row in enumerate(rows)]
    return {**chart(width, max(len(rows), 1) * 30), "data": {"values": numbered}}


def row_axis() -> Spec:
    return {"field": "row", "type": "ordinal", "axis": None}


def text_layer(field: str, x: Spec, **mark: Any) -> Spec:
    return {"mark": {"type": "text", **mark}, "encoding": {"y": row_axis(), "x": x, "text": {"field": field}}}


def _sized(rows: int, height: int) -> Spec:
    return chart(WIDTH, max(rows, 1) * height)


def chart(width: int, height: int) -> Spec:
    """The common part of every chart."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": width,
        "height": height,
        "config": _CONFIG,
    }


# Pictures of cells: histograms with error bars, distributions with a band, and quantiles of groups side by side.

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
                yield histogram_spec(piece), f"How many people are in each cell, with {PERCENT} intervals."
            if isinstance(each, Quantiles) and not piece.in_groups:
                yield distribution_spec(piece, each), f"The share of people below each value, with {PERCENT} intervals."
            if isinstance(each, Quantiles) and 1 < len(piece.labels) <= MAX_GROUPS:
                yield fan_spec(piece, each), f"The quantiles of each group, with their {PERCENT} intervals."


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
    found = quantiles.distribution(release.readout.noisy, normal_width(CONFIDENCE))
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


# The noise of all answers at once: its size in every direction, and on every answer.

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


# A picture of a ledger: the share of its budget spent so far, over time.

STYLE = (
    f"<style>text {{ font: 12px system-ui, sans-serif; fill: {SOFT} }} .grid {{ stroke: {LINE} }} "
    f".curve {{ fill: none; stroke: {OURS}; stroke-width: 2.5 }} .charge {{ fill: {OURS} }}</style>"
)
"""The colours of a picture in a file of its own."""


def spending_picture(history: Sequence[Mapping[str, Any]], style: str = "") -> str:
    """Percent of the budget spent against time (`Ledger.history`), as SVG; without charges, words. Where a part of it
    is for pure noise, of the part that is spent more.

    A page brings colours of its own; a file needs `STYLE`.
    """
    if not history:
        words = f'{style}<text y="14">no charges</text>'
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="20">{words}</svg>'
    width, height, left, right, top, bottom = 620.0, 220.0, 48.0, 16.0, 12.0, 44.0
    times = [int(row["time"]) for row in history]
    first, span = min(times), max(60, max(times) - min(times))
    first, span = first - span // 20, span + span // 10

    def across(when: float) -> float:
        return left + (when - first) / span * (width - left - right)

    def up(share: float) -> float:
        return height - bottom - (height - bottom - top) * min(1.0, share)

    path, marks, free = f"{left:.1f},{up(0):.1f}", "", -math.inf
    before, parts = 0.0, {}
    for when, row in zip(times, history, strict=True):
        parts[row.get("of_pure", False)] = float(row["spent"])  # of two parts of the budget, the one that is spent more
        x, spent, name = across(when), max(parts.values()), escape(printable(str(row["id"])))
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
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="Percent of the budget spent over time">'
        f'{style}{lines}<polyline class="curve" points="{path}"/>{marks}</svg>'
    )


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


def clock(seconds: int) -> str:
    """A time from a ledger as text, in UTC.

    >>> clock(86400)
    '1970-01-02 00:00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


# Which answers share noise: the correlations between the errors of all answers that one noise is added to.

MAX_SHOWN = 24
"""Limit on the answers in the picture."""


def shown_ties(plan: Plan) -> list[AnyTie]:
    """The noises that answers share; one that only counts everybody for others has no answers of its own."""
    answered = {i for slot in plan.slots for i in slot.queries}
    return [tie for tie in plan.ties if not answered.isdisjoint(tie.members)]


def shared_answers(plan: Plan, tie: AnyTie) -> tuple[list[str], Array]:
    """Names of answers that share a noise, and the correlations of their errors; of groups one, and another."""
    held = [each for slot in plan.slots for i in slot.queries if plan.queries[i].tie is tie
            for each in _held(slot, i, plan.queries[i])][:MAX_SHOWN]  # fmt: skip
    found = np.zeros((len(held), len(held)))
    for i, one in enumerate(held):
        for j, other in enumerate(held):
            weights = (one.weight, other.weight)
            found[i, j] = tie.covariance_of(one.query, other.query, one.again == other.again, weights)[one.at, other.at]
    scale = np.sqrt(np.diag(found))
    return [each.name for each in held], found / np.outer(scale, scale)


class _Held(NamedTuple):
    """An answer in the picture: its noise in its query, whether of another group, and which weight its group has."""

    name: str
    query: Query
    at: int
    again: bool = False
    weight: int = 0


def _held(slot: Slot, i: int, query: Query) -> list[_Held]:
    """The answers of a query that a question shows: of one group and of another, or of one of each weight."""
    block = query.block
    shown, count = slot.piece_of(i).chosen(block.answers)
    marks = free_marks(block.domain) is not None  # one cell stands for all
    named = [("one value", 0)] if marks else [(block.answers.names[j], j) for j in shown]
    if count:
        named.append(("count", 1 if marks else block.shape.features.shape[0] - 1))
    if query.by_weight and query.groups is not None:
        of = [(f" (weight {weight:.3g})", False, at) for at, (weight, _) in enumerate(query.groups.classes)]
    elif query.groups is not None or marks:
        of = [("" if marks else " (one)", False, 0), (" (another)", True, 0)]
    else:
        of = [("", False, 0)]
    lead = f"{slot.name}: " if slot.name else ""
    return [
        _Held(printable(f"{lead}{name}{words}"), query, at, again, weight)
        for words, again, weight in of
        for name, at in named
        if not (marks and again and name == "count")
    ]


def sharing_spec(plan: Plan, tie: AnyTie) -> Spec:
    """A square for each pair of answers, coloured by how their errors go together."""
    names, found = shared_answers(plan, tie)
    names = [f"{name}  {i}" for i, name in enumerate(names, start=1)]
    numbers = [str(i) for i in range(1, len(names) + 1)]
    rows = [
        {"one": numbers[i], "other": names[j], "correlation": round(float(found[i, j]), 4)}
        for i in range(len(names))
        for j in range(len(names))
    ]
    side = max(WIDTH * 2 // 3, 18 * len(names))
    axis = {"title": None, "labelLimit": 180, "grid": False, "domain": False, "ticks": False}
    scale = {"domain": [-1, 0, 1], "range": ["#b2532e", "#f4f2ee", "#1f5f99"], "interpolate": "rgb"}
    return {
        **chart(side, side),
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "rect", "stroke": "#ffffff", "strokeWidth": 1},
                "encoding": {
                    "x": {"field": "one", "type": "nominal", "sort": numbers, "axis": {**axis, "labelAngle": 0}},
                    "y": {"field": "other", "type": "nominal", "sort": names, "axis": axis},
                    "color": {
                        "field": "correlation",
                        "type": "quantitative",
                        "scale": scale,
                        "legend": {"title": "correlation of errors"},
                    },
                },
            }
        ],
    }

"""Charts as Vega-Lite specifications. Column names are data values, never code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.chart_packages import altair_chart
from gaussmith.domains.outlines import ellipse
from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.linear import Array
from gaussmith.plans.standard_gaussian import Comparison, standard_errors_of_standard
from gaussmith.report.geometry import differences, noise_covariance, pair
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.plans import Block

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


def noise_spec(comparisons: Sequence[Comparison]) -> Spec:
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
    from gaussmith.report.spectra import errors_spec, spectrum_spec

    if kind not in KINDS:
        raise PlanError(
            f"kind={kind!r}", "a plan has no such picture", nearest(str(kind), KINDS), code="unknown-picture", kind=kind
        )
    if kind != "shape" and columns is not None:
        what, rule = f"columns with kind={kind!r}", "this picture always shows all answers"
        raise PlanError(what, rule, "leave columns out", code="columns-with-this-picture", kind=kind)
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
    outlines = [("ours", ellipse(ours))]
    if standard is not None:
        outlines.append(("standard", ellipse(standard)))
    outlines += [("record", body) for body in differences(block, first, second)]
    points = [
        {"outline": f"{kind} {k}", "kind": kind, "x": float(x), "y": float(y), "order": i}
        for k, (kind, outline) in enumerate(outlines)
        for i, (x, y) in enumerate(outline)
    ]
    reach = np.abs(np.vstack([outline for _, outline in outlines])).max(axis=0) * 1.08
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
    if block.problem.features.is_linear or not block.domain.has_standard_shape(block.problem):
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

"""The charts of a page as SVG, drawn here: rules, bars, points, lines, areas and texts over linear axes and rows.

The charts are Vega-Lite specifications, so that they can also be opened as Altair charts. Only the few kinds of marks
that pages use are drawn; anything else is a mistake of who made the specification (`NotDrawn`).
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Spec = dict[str, Any]

_AXIS = {"title", "tickCount", "format", "grid", "ticks", "tickMinStep", "values", "labelFlush", "labelLimit", "domain"}
_AXIS |= {"labelAngle"}
_CHANNEL = {"field", "type", "axis", "scale", "value", "title", "legend", "sort"}
_CHANNELS = {"x", "x2", "y", "y2", "text", "color", "detail", "order"}
_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_FONT = 12.0
_LETTER = 6.4
"""An average letter of the page's font, for the room that labels take."""


class NotDrawn(ValueError):
    """A specification with something that is not drawn here."""


@dataclass
class _Drawing:
    width: float
    height: float
    parts: list[str] = field(default_factory=list)
    edges: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0, 0.0])
    """How far labels reach beyond the drawing: left, top, right, bottom."""

    def add(self, tag: str, **given: Any) -> None:
        told = "".join(f' {name.replace("_", "-")}="{_number(v)}"' for name, v in given.items() if v is not None)
        self.parts.append(f"<{tag}{told}/>")

    def reach(self, left: float, top: float, right: float, bottom: float) -> None:
        beyond = (-left, -top, right - self.width, bottom - self.height)
        self.edges = [max(old, new) for old, new in zip(self.edges, beyond, strict=True)]

    def text(self, x: float, y: float, words: str, fill: str, anchor: str = "middle", **more: Any) -> None:
        told = "".join(f' {name.replace("_", "-")}="{_number(v)}"' for name, v in more.items())
        place = f'x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}" font-size="{_number(_FONT)}px"'
        self.parts.append(f'<text {place} fill="{fill}"{told}>{html.escape(words)}</text>')
        if "transform" not in more:
            size = _LETTER * len(words)
            left = {"start": x, "middle": x - size / 2, "end": x - size}[anchor]
            self.reach(left, y - 10, left + size, y + 4)


@dataclass(frozen=True)
class _Linear:
    """A linear scale; `nice` ends are multiples of a tick."""

    low: float
    high: float
    first: float
    last: float

    def at(self, value: float) -> float:
        return self.first + (value - self.low) / ((self.high - self.low) or 1.0) * (self.last - self.first)


def draw(spec: Spec, label: str) -> str:
    """The chart as an inline SVG element: no fixed size, a label for screen readers. Its only text is escaped."""
    inside, width, height = draw_svg(spec)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'style="width:{width:.0f}px" role="img" aria-label="{html.escape(label, quote=True)}">{inside}</svg>'
    )


def draw_svg(spec: Spec) -> tuple[str, float, float]:
    """The inside of an SVG element, and its width and height; raises NotDrawn for what is not drawn here."""
    layers = [{"data": spec.get("data"), **layer} for layer in spec.get("layer", [spec])]
    layers = [{**layer, "rows": _rows(layer)} for layer in layers]
    if not {"mark", "encoding", "data", "rows", "transform"} >= {k for e in layers for k in e} - set(spec) | {"rows"}:
        raise NotDrawn("a layer")
    page, config = _Drawing(float(spec["width"]), float(spec["height"])), spec["config"]
    scales = {channel: _scale(channel, layers, page) for channel in "xy"}
    for channel in "xy":
        _axis(page, channel, layers, scales[channel], config["axis"])
    for layer in layers:
        _mark(page, layer, scales, config)
    pad = config["padding"]
    left, top = math.ceil(page.edges[0]) + pad["left"], math.ceil(page.edges[1]) + pad["top"]
    width = left + page.width + math.ceil(page.edges[2]) + pad["right"]
    height = top + page.height + math.ceil(page.edges[3]) + pad["bottom"]
    inside = f'<g fill="none" font-family="{config["font"]}" transform="translate({_number(left)},{_number(top)})">'
    return f"{inside}{''.join(page.parts)}</g>", width, height


def _rows(layer: Spec) -> list[Spec]:
    encoding = layer["encoding"]
    if not set(encoding) <= _CHANNELS or any(not set(each) <= _CHANNEL for each in encoding.values()):
        raise NotDrawn("a channel")
    rows: list[Spec] = list(layer["data"]["values"])
    for step in layer.get("transform", ()):
        if set(step) != {"filter"} or set(step["filter"]) != {"field", "equal"}:
            raise NotDrawn("a transform")
        rows = [row for row in rows if row[step["filter"]["field"]] == step["filter"]["equal"]]
    return rows


# -- scales and axes --------------------------------------------------------------------------------------------------


def _scale(channel: str, layers: Sequence[Spec], page: _Drawing) -> _Linear | dict[Any, float]:
    told = _told(channel, layers)
    kinds = {each.get("type") for each in told}
    size = page.width if channel == "x" else page.height
    if kinds in ({"ordinal"}, {"nominal"}):
        return _places(channel, layers, size)
    if kinds != {"quantitative"}:
        raise NotDrawn("a scale")
    settings: Spec = {}
    for each in told:
        settings |= each.get("scale", {})
    if not set(settings) <= {"domain", "nice", "zero"}:
        raise NotDrawn("a scale")
    low, high = settings.get("domain") or _domain(channel, layers, settings.get("zero", True))
    if settings.get("nice", "domain" not in settings):
        step = _step(low, high, 10)
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return _Linear(float(low), float(high), *((0.0, size) if channel == "x" else (size, 0.0)))


def _told(channel: str, layers: Sequence[Spec]) -> list[Spec]:
    """What the layers say of a channel that shows a field."""
    return [layer["encoding"][channel] for layer in layers if "field" in layer["encoding"].get(channel, {})]


def _places(channel: str, layers: Sequence[Spec], size: float) -> dict[Any, float]:
    """Where each row, or each name, is: numbers of rows in their order, names in that of the specification."""
    values = list(dict.fromkeys(row[each["field"]] for layer in layers for each in _fields(layer, channel)
                                for row in layer["rows"]))  # fmt: skip
    told = _told(channel, layers)
    order = next((each["sort"] for each in told if each.get("sort") is not None), values)
    values = sorted(values) if told[0]["type"] == "ordinal" else [value for value in order if value in values]
    return {value: (i + 0.5) * size / len(values) for i, value in enumerate(values)}


def _fields(layer: Spec, channel: str) -> list[Spec]:
    found = (layer["encoding"].get(name, {}) for name in (channel, f"{channel}2"))
    return [each for each in found if "field" in each]


def _domain(channel: str, layers: Sequence[Spec], zero: bool) -> tuple[float, float]:
    values = [0.0] if zero and any(layer["mark"]["type"] == "bar" for layer in layers) else []
    for layer in layers:
        for each in _fields(layer, channel):
            values += [row[each["field"]] for row in layer["rows"] if row.get(each["field"]) is not None]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _step(low: float, high: float, count: int) -> float:
    """The distance of about so many ticks: 1, 2 or 5 times a power of ten."""
    raw = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    over = raw / power
    return power * (10 if over >= math.sqrt(50) else 5 if over >= math.sqrt(10) else 2 if over >= math.sqrt(2) else 1)


def _axis(page: _Drawing, channel: str, layers: Sequence[Spec], scale: _Linear | dict[Any, float], style: Spec) -> None:
    told = _told(channel, layers)
    axes = [each["axis"] for each in told if "axis" in each]
    if None in axes or not told:
        return
    axis: Spec = {}
    for each in [*({"title": each["title"]} for each in told if "title" in each), *reversed(axes)]:
        axis |= each
    if not set(axis) <= _AXIS or "title" not in axis:  # an axis without a title would be named by its field
        raise NotDrawn("an axis")
    line, across = style["domainColor"], channel == "x"
    if isinstance(scale, dict):
        for value, at in scale.items():
            x, y, anchor = (at, page.height + 14, "middle") if across else (-7.0, at + 4, "end")
            page.text(x, y, str(value), style["labelColor"], anchor)
        if not across and axis.get("domain", True):
            page.add("line", x1=0.5, x2=0.5, y1=0, y2=page.height, stroke=line)
        return
    for value, words in _ticks(scale, axis, page.width if across else page.height):
        _tick(page, round(scale.at(value)) + 0.5, words, style, across, axis.get("grid", True))
    if across:
        page.add("line", x1=0, x2=page.width, y1=page.height + 0.5, y2=page.height + 0.5, stroke=line)
    else:
        page.add("line", x1=0.5, x2=0.5, y1=0, y2=page.height, stroke=line)
    if axis.get("title"):
        _title(page, str(axis["title"]), style["titleColor"], across)


def _ticks(scale: _Linear, axis: Spec, size: float) -> list[tuple[float, str]]:
    """The numbers of an axis and how they are spelled."""
    step = _step(scale.low, scale.high, axis.get("tickCount", min(10, math.ceil(size / 40))))
    step = max(step, axis.get("tickMinStep", 0.0))
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    values = axis.get("values", [i * step for i in range(first, last + 1)])
    fine = min(step, 1.0) if "values" in axis else step
    return [(value, _spelled(value, fine, axis.get("format", ",~r"))) for value in values]


def _tick(page: _Drawing, at: float, words: str, style: Spec, across: bool, grid: bool) -> None:
    line, bottom = style["domainColor"], page.height + 0.5
    if across:
        if grid:
            page.add("line", x1=at, x2=at, y1=0.5, y2=bottom, stroke=line)
        page.add("line", x1=at, x2=at, y1=bottom, y2=page.height + 5.5, stroke=line)
        page.text(at, page.height + 16.5, words, style["labelColor"])
    else:
        if grid:
            page.add("line", x1=0.5, x2=page.width + 0.5, y1=at, y2=at, stroke=line)
        page.add("line", x1=-4.5, x2=0.5, y1=at, y2=at, stroke=line)
        page.text(-7, at + 4, words, style["labelColor"], "end")


def _title(page: _Drawing, words: str, fill: str, across: bool) -> None:
    if across:
        page.text(page.width / 2, page.height + 31.5, words, fill)
        return
    at, middle = -page.edges[0] - 8, page.height / 2
    page.text(at, middle, words, fill, transform=f"rotate(-90,{_number(at)},{_number(middle)})")
    page.reach(at - 12, middle - _LETTER * len(words) / 2, 0, middle + _LETTER * len(words) / 2)


def _spelled(value: float, step: float, form: str) -> str:
    """A tick as text: ",~r" plain, "~s" with a prefix, "%" as a percentage; a true minus sign."""
    if abs(value) < 1e-9 * step:
        value = 0.0
    if form == "%":
        places = max(0, -math.floor(math.log10(step * 100) + 1e-9))
        text = f"{100 * value:,.{places}f}%"
    elif form == ",~r":
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        text = _trimmed(f"{value:,.{places}f}")
    elif form == "~s":
        power = 0 if value == 0 else min(max(3 * math.floor(math.log10(abs(value)) / 3 + 1e-9), -9), 18)
        places = max(0, -math.floor(math.log10(step / 10.0**power) + 1e-9))
        text = _trimmed(f"{value / 10.0**power:,.{places}f}") + _PREFIXES[power]
    else:
        raise NotDrawn("a format")
    return text.replace("-", "−")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


# -- marks ------------------------------------------------------------------------------------------------------------


def _mark(page: _Drawing, layer: Spec, scales: dict[str, Any], config: Spec) -> None:
    makers: dict[str, Callable[..., None]] = {
        "rule": _rules, "bar": _bars, "point": _points, "line": _lines, "area": _areas, "text": _texts,
        "rect": _squares,
    }  # fmt: skip
    mark, encoding = layer["mark"], layer["encoding"]
    if mark["type"] not in makers:
        raise NotDrawn("a mark")

    def place(channel: str, row: Spec) -> float | None:
        told = encoding.get(channel)
        if told is None or "value" in told:
            return None if told is None else float(told["value"])
        value, scale = row.get(told["field"]), scales[channel[0]]
        if value is None:
            raise KeyError(channel)
        return float(scale[value] if isinstance(scale, dict) else scale.at(value))

    found = []
    for row in layer["rows"]:
        try:
            found.append((row, *(place(channel, row) for channel in ("x", "x2", "y", "y2"))))
        except KeyError:  # a row without a value has no mark
            continue
    style = {**(config["text"] if mark["type"] == "text" else {}), **mark}
    makers[mark["type"]](page, found, style, encoding, scales)


def _colour(row: Spec, mark: Spec, encoding: Spec) -> str:
    told = encoding.get("color")
    if told is None:
        return str(mark["color"])
    scale = told["scale"]
    return str(scale["range"][scale["domain"].index(row[told["field"]])])


def _rules(page: _Drawing, found: Sequence[Any], mark: Spec, encoding: Spec, scales: Any) -> None:
    for row, x, x2, y, y2 in found:
        ends = (x, x if x2 is None else x2) if x is not None else (0.0, page.width)
        sides = (y, y if y2 is None else y2) if y is not None else (0.0, page.height)
        dash = " ".join(map(str, mark["strokeDash"])) if "strokeDash" in mark else None
        page.add(
            "line", x1=ends[0], x2=ends[1], y1=sides[0], y2=sides[1], stroke=_colour(row, mark, encoding),
            stroke_width=mark.get("strokeWidth"), stroke_linecap=mark.get("strokeCap"), stroke_dasharray=dash,
            opacity=mark.get("opacity"),
        )  # fmt: skip


def _bars(page: _Drawing, found: Sequence[Any], mark: Spec, encoding: Spec, scales: Any) -> None:
    for row, x, x2, y, _ in found:
        fill, opacity = _colour(row, mark, encoding), mark.get("opacity")
        if "height" in mark:
            start = scales["x"].at(0.0) if x2 is None else x2
            left, right = min(x, start), max(x, start)
            page.add("path", d=_box(left, y - mark["height"] / 2, right, y + mark["height"] / 2), fill=fill,
                     opacity=opacity)  # fmt: skip
        else:
            base = scales["y"].at(0.0)
            page.add("path", d=_box(x - mark["width"] / 2, y, x + mark["width"] / 2, base), fill=fill, opacity=opacity)


def _squares(page: _Drawing, found: Sequence[Any], mark: Spec, encoding: Spec, scales: Any) -> None:
    """A square for each pair of rows, coloured by a number, and the scale of the colours beside them."""
    told, (x, y) = encoding["color"], (scales["x"], scales["y"])
    scale = told["scale"]
    if not isinstance(x, dict) or not isinstance(y, dict) or scale.get("interpolate") != "rgb":
        raise NotDrawn("squares")
    wide, high = page.width / len(x) / 2, page.height / len(y) / 2
    for row, across, _, down, _ in found:
        page.add(
            "path", d=_box(across - wide, down - high, across + wide, down + high), stroke=mark["stroke"],
            fill=_mixed(row[told["field"]], scale["domain"], scale["range"]), stroke_width=mark["strokeWidth"],
        )  # fmt: skip
    if told.get("legend"):
        left, steps = page.width + 18, 40
        page.text(left, 11, str(told["legend"]["title"]), "#5b6875", "start")
        low, high = scale["domain"][0], scale["domain"][-1]
        for i in range(steps):
            top = 22 + 100 * i / steps
            fill = _mixed(high - (high - low) * (i + 0.5) / steps, scale["domain"], scale["range"])
            page.add("path", d=_box(left, top, left + 14, top + 100 / steps + 0.3), fill=fill)
        for value in scale["domain"]:
            at = 22 + 100 * (high - value) / (high - low)
            page.text(left + 20, at + 4, _spelled(float(value), 1.0, ",~r"), "#5b6875", "start")


def _mixed(value: float, domain: Sequence[float], colours: Sequence[str]) -> str:
    """The colour of a number: mixed from those of its neighbours in the domain."""
    value = min(max(value, domain[0]), domain[-1])
    i = next(i for i in range(len(domain) - 1) if value <= domain[i + 1])
    share = (value - domain[i]) / (domain[i + 1] - domain[i])
    ends = [[int(colour[j : j + 2], 16) for j in (1, 3, 5)] for colour in colours[i : i + 2]]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))


def _box(left: float, top: float, right: float, bottom: float) -> str:
    return f"M{_number(left)},{_number(top)}H{_number(right)}V{_number(bottom)}H{_number(left)}Z"


def _points(page: _Drawing, found: Sequence[Any], mark: Spec, encoding: Spec, scales: Any) -> None:
    radius = math.sqrt(mark.get("size", 30) / math.pi)
    for row, x, _, y, _ in found:
        colour = _colour(row, mark, encoding)
        page.add("circle", cx=x, cy=y, r=radius, fill=mark.get("fill", colour), stroke=colour)


def _lines(page: _Drawing, found: Sequence[Any], mark: Spec, encoding: Spec, scales: Any) -> None:
    by = [encoding[name]["field"] for name in ("detail", "color") if name in encoding]
    order = encoding.get("order", {}).get("field")
    apart: dict[Any, list[Any]] = {}
    for each in found:
        apart.setdefault(tuple(each[0][name] for name in by), []).append(each)
    for group in apart.values():
        rows = sorted(group, key=lambda each: each[0][order] if order else each[1])
        closed = mark.get("interpolate") == "linear-closed"
        if mark.get("interpolate") not in (None, "linear-closed"):
            raise NotDrawn("an interpolation")
        colour = _colour(rows[0][0], mark, encoding)
        dash = " ".join(map(str, mark["strokeDash"])) if "strokeDash" in mark else None
        page.add(
            "path", d=_path([(x, y) for _, x, _, y, _ in rows]) + ("Z" if closed else ""), stroke=colour,
            stroke_width=mark.get("strokeWidth", 2), stroke_dasharray=dash, fill=mark.get("fill"),
            fill_opacity=mark.get("fillOpacity"), opacity=mark.get("opacity"),
        )  # fmt: skip
        if mark.get("point"):
            _points(page, rows, {"color": colour, "size": 30}, {}, scales)


def _areas(page: _Drawing, found: Sequence[Any], mark: Spec, encoding: Spec, scales: Any) -> None:
    rows = sorted(found, key=lambda each: each[1])
    there, back = [(x, y) for _, x, _, y, _ in rows], [(x, y2) for _, x, _, _, y2 in reversed(rows)]
    page.add("path", d=_path([*there, *back]) + "Z", fill=mark["color"], opacity=mark.get("opacity"))


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _texts(page: _Drawing, found: Sequence[Any], mark: Spec, encoding: Spec, scales: Any) -> None:
    anchor = {"left": "start", "right": "end", "center": "middle"}[mark.get("align", "center")]
    more = {"font_weight": mark["fontWeight"]} if "fontWeight" in mark else {}
    for row, x, _, y, _ in found:
        words = str(row[encoding["text"]["field"]])
        if words:
            page.text(x + mark.get("dx", 0), y + 4, words, str(mark["color"]), anchor, **more)


def _number(value: Any) -> str:
    """A number with two places at most, or a text as it is."""
    if isinstance(value, str):
        return html.escape(value, quote=True)
    text = _trimmed(f"{float(value):.2f}")
    return "0" if text == "-0" else text

"""A chart as SVG for a page: no fixed size, a label for screen readers, colours that follow the page."""

from __future__ import annotations

import html
import re

from gaussmith.chart_packages import LEFT_OUT, can_draw, require_vl_convert
from gaussmith.report.charts import Spec
from gaussmith.report.vectors import NotDrawn, draw_svg


def draw(spec: Spec, label: str) -> str:
    """The chart as an inline SVG element. Its only text is that of the spec, escaped."""
    try:
        inside, width, height = draw_svg(spec)
    except NotDrawn:
        if not can_draw():
            return f'<p class="quiet">{html.escape(LEFT_OUT)}</p>'
        inside, width, height = _drawn_by_vega(spec)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'style="width:{width:.0f}px" role="img" aria-label="{html.escape(label, quote=True)}">{inside}</svg>'
    )


def _drawn_by_vega(spec: Spec) -> tuple[str, float, float]:
    """The same by a Vega engine, which takes most of a second to start."""
    svg = str(require_vl_convert("a chart").vegalite_to_svg({**spec, "background": None}))
    head = re.match(r"<svg[^>]*>", svg)
    assert head is not None, "an SVG starts with its element"
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head.group())
    assert size is not None, "a chart has a size"
    width, height = size.groups()
    return svg[head.end() : -len("</svg>")], float(width), float(height)

"""Vega-Lite → SVG for a page: no fixed size, a label for screen readers, colours that follow the page."""

from __future__ import annotations

import html
import re

from gaussmith.report.charts import Spec


def draw(spec: Spec, label: str) -> str:
    """The chart as an inline SVG element. Its only text is that of the spec, escaped."""
    import vl_convert

    svg = str(vl_convert.vegalite_to_svg({**spec, "background": None}))
    head = re.match(r"<svg[^>]*>", svg)
    assert head is not None, "an SVG starts with its element"
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head.group())
    assert size is not None, "a chart has a size"
    width, height = size.groups()
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'style="width:{float(width):.0f}px" role="img" aria-label="{html.escape(label, quote=True)}">'
    )
    return opening + svg[head.end() :]

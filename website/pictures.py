"""The picture of the README: what one person can change, our noise and the standard noise around it, light and dark.

    ./run python website/pictures.py      writes docs/pictures/; a test draws them again and compares

It is the chart of a real plan (`plan.chart()`), drawn by the library, with a legend.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gaussmith as gm
from gaussmith.report.charts import INK, LINE, OTHERS, OURS, RECORD, SOFT, plan_spec
from gaussmith.report.drawing import draw_svg

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
DARK = {INK: "#e6ebf0", SOFT: "#9aa7b4", LINE: "#2d3843", OURS: "#66aef2", OTHERS: "#8b96a1", RECORD: "#f0974a"}
"""The colours of a report in dark mode (page.css)."""


def the_plan() -> gm.Plan:
    people = gm.Box({"visits": (0, 80), "age": (0, 100)})
    return gm.plan(people, gm.Guarantee(epsilon=1, delta=1e-6), weights="relative")


def ellipse(narrow: bool = False) -> str:
    """The ellipse on the box, with the legend beside it, or below it for phones."""
    plan = the_plan()
    inside, width, height = draw_svg(plan_spec(plan.block))
    shares = [plan.errors()[name] / error for name, error in standard_errors().items()]
    share = f"{100 * shares[0]:.0f} %"
    lines = [
        (RECORD, "", "what one person can change", "in two sums: add (upper box), remove (lower)"),
        (OURS, "", "the noise of Gaussmith", "just covers both; no Gaussian noise does better"),
        (
            OTHERS,
            ' stroke-dasharray="5 4"',
            "the standard Gaussian noise",
            f"is round; ours is {share} of it in each sum",
        ),
    ]
    parts = []
    for i, (colour, dash, title, more) in enumerate(lines):
        y = (24 if narrow else 96) + (52 if narrow else 62) * i
        parts.append(f'<line x1="0" x2="30" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"{dash}/>')
        parts.append(f'<text x="42" y="{y - 2}" font-size="15" font-weight="600" fill="{INK}">{title}</text>')
        parts.append(f'<text x="42" y="{y + 18}" font-size="13" fill="{SOFT}">{more}</text>')
    left, top = (8.0, height) if narrow else (width + 24, 0.0)
    whole, tall = (400.0, height + 160) if narrow else (left + 380, height)
    label = "An ellipse of noise that just covers two boxes, inside a larger dashed circle."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole:g} {tall:g}" width="{whole:g}" role="img" '
        f'aria-label="{label}">{inside}'
        f'<g font-family="system-ui, sans-serif" transform="translate({left:g},{top:g})">{"".join(parts)}</g></svg>\n'
    )


def standard_errors() -> dict[str, float]:
    """The errors of the standard Gaussian mechanism for the same guarantee."""
    from gaussmith.planning.block import compare_block

    return {each.name: each.standard or 0.0 for each in compare_block(the_plan().block)}


def in_dark(svg: str) -> str:
    for light, dark in DARK.items():
        svg = svg.replace(light, dark)
    return svg


def pictures() -> dict[str, str]:
    """The text of each file."""
    found = {}
    for name, light in (("ellipse", ellipse()), ("ellipse-narrow", ellipse(narrow=True))):
        found |= {f"{name}-light.svg": light, f"{name}-dark.svg": in_dark(light)}
    return found


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, "utf-8")
    sys.exit(0)

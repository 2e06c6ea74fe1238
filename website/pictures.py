"""The pictures of the README and the docs, light and dark, wide and narrow.

    ./run python website/pictures.py            writes docs/pictures/; a test draws them again and compares
    ./run python website/pictures.py --release  first makes a new release for the picture of answers

`answers` shows a real release of the bundled health data, kept in docs/pictures/answers.csv, because noise has no
seed. `ellipse` is the chart of a real plan (`plan.chart()`), drawn by the library, with a legend.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import gaussmith as gm
from gaussmith.report.charts import INK, LINE, OTHERS, OURS, RECORD, SOFT, plan_spec
from gaussmith.report.drawing import draw_svg

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
DARK = {INK: "#e6ebf0", SOFT: "#9aa7b4", LINE: "#2d3843", OURS: "#66aef2", OTHERS: "#8b96a1", RECORD: "#f0974a"}
"""The colours of a report in dark mode (page.css)."""


ANSWERS = FOLDER / "answers.csv"
TITLES = {"mdvis_mean": "visits to a doctor in a year", "disea_mean": "index of chronic diseases"}
PANEL, ROW, LABELS, NUMBERS = 230, 30, 78, 116
"""Of the picture of answers: the width of an axis, the height of a row, the room for keys and for numbers."""


def new_release() -> None:
    """Release the answers of the README's example once more."""
    health = str(resources.files("gaussmith") / "data" / "randhie.parquet")
    request = gm.Request(
        health,
        means={"mdvis": (0, 80), "disea": (0, 60)},
        by={"health": ["excellent", "good", "fair", "poor"]},
        guarantee=gm.Guarantee(epsilon=1, delta=1e-6),
    )
    release = gm.release(request)
    release.to_polars().write_csv(ANSWERS)
    print(release)


def text(x: float, y: float, words: str, size: int, fill: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{more}>{words}</text>'


def panel(rows: list[dict[str, str]], title: str, end: int, step: int) -> Iterator[str]:
    """Values as dots with their intervals as bars, on an axis from 0 to `end`."""
    base = ROW * len(rows) + 8
    for tick in range(0, end + 1, step):
        x = LABELS + PANEL * tick / end
        yield f'<line x1="{x:g}" x2="{x:g}" y1="0" y2="{base}" stroke="{LINE}"/>'
        yield text(x, base + 18, str(tick), 13, SOFT, ' text-anchor="middle"')
    yield text(LABELS, base + 38, title, 13, SOFT)
    for i, row in enumerate(rows):
        value, low, high = (float(row[name]) for name in ("value", "lower", "upper"))
        x, left, right = (LABELS + PANEL * number / end for number in (value, low, high))
        y = ROW * i + 18
        places = 2 if high - low < 1 else 1
        number = f"{value:.{places}f} ± {(high - low) / 2:.{places}f}"
        yield text(LABELS - 10, y + 5, row["health"], 14, INK, ' text-anchor="end"')
        yield f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}" stroke="{OURS}" stroke-width="4" stroke-linecap="round"/>'
        yield f'<circle cx="{x:.1f}" cy="{y}" r="5.5" fill="{OURS}"/>'
        yield text(LABELS + PANEL + 14, y + 5, number, 13, SOFT)


def answers(narrow: bool = False) -> str:
    """The means of a release by group, each with its error bar; panels side by side, or one below the other."""
    with ANSWERS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    across, down = LABELS + PANEL + NUMBERS, ROW * 4 + 64
    width, height = (across, 2 * down + 64) if narrow else (2 * across + 20, down + 38)
    parts = [text(0, 18, "Means by self-rated health", 15, INK, ' font-weight="600"')]
    parts.append(text(0 if narrow else 250, 38 if narrow else 18, "dots: released; bars: 95 % intervals", 13, SOFT))
    for k, (name, (end, step)) in enumerate({"mdvis_mean": (10, 2), "disea_mean": (25, 5)}.items()):
        x, y = (0, 56 + k * down) if narrow else (k * (across + 20), 44)
        drawn = "".join(panel([row for row in rows if row["answer"] == name], TITLES[name], end, step))
        parts.append(f'<g transform="translate({x},{y})">{drawn}</g>')
    label = "Means of two columns in four groups as dots, with their intervals as bars."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{label}"><g font-family="system-ui, sans-serif">{"".join(parts)}</g></svg>\n'
    )


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
    drawn = {
        "answers": answers(),
        "answers-narrow": answers(narrow=True),
        "ellipse": ellipse(),
        "ellipse-narrow": ellipse(narrow=True),
    }
    for name, light in drawn.items():
        found |= {f"{name}-light.svg": light, f"{name}-dark.svg": in_dark(light)}
    return found


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    if "--release" in sys.argv[1:]:
        new_release()
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, "utf-8")
    sys.exit(0)

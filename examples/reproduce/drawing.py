"""Shared code of the reproductions: check and print numbers, and write a chart."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gaussmith.papers.sweeps import line_spec, render

Numbers = dict[str, float]


def check(found: Numbers, published: Numbers, within: float) -> Numbers:
    """Print each number with the expected one (published, or computed elsewhere); stop if they differ."""
    for name, wanted in published.items():
        value = found[name]
        print(f"{name:<44} {value:>12.5g}   expected {wanted:g}")
        if not abs(value - wanted) <= within * abs(wanted):
            raise SystemExit(f"{name}: {value!r} is not {wanted!r}")
    return found


def draw(path: Path, values: list[dict[str, Any]], x: str, y: str, log: str = "", title: str = "") -> Path:
    """Lines: `values` hold x, y and series; `log` names the axes on a logarithmic scale."""
    across, up = (
        {"axis": {"title": text, "tickCount": 6}, "scale": {"type": "log" if name in log else "linear", "zero": False}}
        for name, text in (("x", x), ("y", y))
    )
    content = render(line_spec(values, across, up, title), path.suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def run(main: Callable[[Path, bool], Numbers], name: str) -> None:
    """The command line of a reproduction: where to write the chart, and whether to use fewer points."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path(f"{name}.svg"), help="the chart: .svg, .png or .html")
    parser.add_argument("--fast", action="store_true", help="fewer points")
    arguments = parser.parse_args()
    main(arguments.out, arguments.fast)
    print(f"chart: {arguments.out}")

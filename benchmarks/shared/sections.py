"""The page of results: a table for each benchmark, figures beside claims, and every aim that is missed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from findings import claim, holds
from peers import OURS, PLAIN, TOOLS, ratio, variance_ratio

FIGURES = ("jobs", "keys", "release", "sums", "people", "noise", "solver", "marginals", "catalogue")
"""Benchmarks that find figures, each within its claim."""

AIMS = (
    "planning", "columns", "bounds", "files", "engines", "tables", "start", "keys_first", "requests", "busy",
    "workbench", "growth_axes",
)  # fmt: skip
"""Benchmarks whose claims are aims: some are missed, and the page says which."""

Results = dict[str, Any]


def figure(value: float | None) -> str:
    """Three digits, or none where there is no number."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if 100 <= value < 1e7 else f"{value:.3g}"


def version(kept: dict[str, Any]) -> str:
    """Of the tool itself: the first of its packages."""
    return next(iter(kept["versions"].values())) if "versions" in kept else ""


def listed(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def shape(machine: Results) -> str:
    return f"{machine['cores']} cores, {machine['gigabytes']} GB, {machine['system']}, Python {machine['python']}"


def moment(when: Results) -> str:
    before, after = when["load"]
    return f"{when['date']}, load average {before:.1f} at the start, {after:.1f} at the end"


def describe(part: Results) -> str:
    return f"{shape(part['machine'])} · {moment(part)}"


def peers_section(peers: Results) -> list[str]:
    lines = [
        "## Peers",
        "",
        shape(peers["machine"]),
        "",
        "Sums of columns in [0, 1], (ε = 1, δ = 1e-6), one record added or removed. Medians over rounds in which all",
        "tools took turns in fresh processes; imports are not timed, planning is. Processor seconds are what the",
        "machine worked, whatever else it did. *Measured* is the root mean square of the errors over all rounds.",
    ]
    for name, case in peers["cases"].items():
        lines += [
            "",
            f"### {name}",
            "",
            moment(peers["when"][name]),
            "",
            "| tool | runs | seconds | processor s | peak MB | answers | ± stated | ± measured | time / plain |"
            " time / ours | variance / ours |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        ]
        for tool in TOOLS:
            kept = case.get(tool.script)
            if kept is None:
                continue
            title = f"{tool.title} {version(kept)}".strip()
            if "skipped" in kept:
                lines.append(f"| {title} | left out: {kept['skipped']} | | | | | | | | | |")
                continue
            noise = tool.script != PLAIN
            cells = [
                str(len(kept["runs"])),
                f"{kept['seconds']:.3f}",
                "–" if kept["processor_seconds"] is None else f"{kept['processor_seconds']:.3f}",
                f"{kept['megabytes']:.0f}",
                str(kept["answers"]),
                f"{kept['stated']:.2f}" if noise else "–",
                f"{kept['measured']:.2f}" if noise else "–",
                figure(ratio(case, tool.script, PLAIN)),
                figure(ratio(case, tool.script, OURS)),
                figure(variance_ratio(case, tool.script)),
            ]
            lines.append(f"| {title} | {' | '.join(cells)} |")
    used = {
        f"{package} {number}"
        for case in peers["cases"].values()
        for kept in case.values()
        for package, number in kept.get("versions", {}).items()
    }
    return [*lines, "", "Versions: " + ", ".join(sorted(used)) + ".", "", "![error and time of each tool](peers.svg)"]


def growth_section(growth: Results) -> list[str]:
    lines = ["## Growth", "", describe(growth), ""]
    for series, found in growth["series"].items():
        slopes = found["exponents"]
        lines += [
            f"### {series}",
            "",
            f"Processor time ∝ size^{slopes['all']:.2f}, ^{slopes['upper']:.2f} over the larger half; elapsed time"
            f" ^{slopes['elapsed']:.2f}.",
            *([f"Peak memory of the most rows: {found['memory']:.2f} × that of 10⁷."] if "memory" in found else []),
            "",
            "| size | seconds | processor s | peak MB |",
            "|---:|---:|---:|---:|",
            *(
                f"| {point['size']:,} | {point['seconds']:.3f} | {point['processor_seconds']:.3f} |"
                f" {point['megabytes']:.0f} |"
                for point in found["points"]
            ),
            "",
        ]
    return [*lines, "![time over rows, columns and groups](growth.svg)"]


def figures_section(part: Results) -> list[str]:
    lines = [f"## {part['title']}", "", describe(part), "", "| | found | claimed | |", "|---|---:|---:|---|"]
    for one in part["figures"]:
        mark = ("✓" if holds(one) else "✗") if claim(one) else ""
        lines.append(f"| {one['what']} | {figure(one['found'])} | {claim(one)} | {mark} |")
    lines += [f"| {what} | left out: {reason} | | |" for what, reason in part.get("left_out", {}).items()]
    if "versions" in part:
        lines += ["", "Versions: " + ", ".join(f"{name} {number}" for name, number in part["versions"].items()) + "."]
    return lines


def missed(results: Results) -> list[tuple[str, Results]]:
    """The figures that miss their aim, each with the title of its benchmark."""
    parts = [results[name] for name in (*FIGURES, *AIMS) if name in results]
    return [(part["title"], one) for part in parts for one in part["figures"] if not holds(one)]


def missed_section(results: Results) -> list[str]:
    """Every aim that is missed, so that nobody has to look for it."""
    lines = ["## Aims that are missed", "", "| | found | aim |", "|---|---:|---:|"]
    for title, one in missed(results):
        lines.append(f"| {title}: {one['what']} | {figure(one['found'])} | {claim(one)} |")
    return lines


def statistics_section(part: Results) -> list[str]:
    """A row for each job and a column for each tool and kind of noise; then where theirs is better, and why."""
    ways = list(dict.fromkeys(way for row in part["ratios"].values() for way in row))
    lines = [f"## {part['title']}", "", describe(part), "", f"| | {' | '.join(ways)} |", "|---|" + "---:|" * len(ways)]
    for job, row in part["ratios"].items():
        lines.append(f"| {job} | {' | '.join(f'{row[way]:.2f}' if way in row else '–' for way in ways)} |")
    lines += [
        "",
        "Errors of quantiles are in ranks. diffprivlib takes the number of people for public in means, variances",
    ]
    lines += ["and regressions; ours beside it do, too. Below 1 theirs is better:", ""]
    lines += [f"- {reason}: {listed([what for what, why in part['better'].items() if why == reason])}"
              for reason in dict.fromkeys(part["better"].values())]  # fmt: skip
    lines += [f"- {what} left out: {reason}" for what, reason in part.get("left_out", {}).items()]
    return [*lines, "", "Versions: " + ", ".join(f"{name} {number}" for name, number in part["versions"].items()) + "."]


ELSEWHERE = (
    ("exact noise over numpy's normal", "0.5", "0.9"),
    ("columns of booleans over their plain sum", "1.75", "2.0; 3.2 in a new process"),
    ("CSV over `scan_csv` and a sum", "1.4 to 1.65, 16 columns", "1.8 to 2.05, 6 columns"),
    ("a histogram of text over a count by value", "1.4 to 1.6, 20 values", "2.6 to 3.6, 1 000 values"),
    ("people by found keys over their plain count", "not published", "6.0 to 6.4, 5 million rows, a million keys"),
    ("a release on the command line over a Polars script", "1.4, sums", "2.0 to 2.7 for means; 2.4 for `plan`"),
)
"""Ratios of processor time, here and on another machine in November 2026."""


def elsewhere_section() -> list[str]:
    """What another machine did not confirm."""
    lines = ["## Not confirmed elsewhere", "", "Ratios of processor time. The tables below are of one machine, whose"]
    lines += ["processes are warm unless a line says otherwise. Another machine found more:", ""]
    lines += ["| | here | there |", "|---|---|---|"]
    return [*lines, *(f"| {what} | {here} | {there} |" for what, here, there in ELSEWHERE)]


def markdown(results: Results) -> str:
    """Everything that was measured, as one page."""
    makers = {"peers": peers_section, "growth": growth_section, "statistics": statistics_section}
    makers |= dict.fromkeys((*FIGURES, *AIMS), figures_section)
    sections = ["\n".join(make(results[name])) for name, make in makers.items() if name in results]
    misses = ["\n".join(missed_section(results))] if missed(results) else []
    head = ["# What was measured", "Made by `benchmarks/report.py` from results.json."]
    return "\n\n".join([*head, *misses, "\n".join(elsewhere_section()), *sections]) + "\n"

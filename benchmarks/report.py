"""Tables and charts of the last runs of all benchmarks, whose figures lie under .benchmarks/.

Prints the tables. To publish them, that is, to write benchmarks/results/ and the README's own table:

    ./run python benchmarks/report.py --publish

What is published says when and on what shape of machine it was measured, never where. A test holds the README and
results.md to results.json; our own errors are computed afresh whenever a table is made.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import gaussmith as gm

sys.path.insert(0, str(Path(__file__).parent))
from peers import CONTEXT, OURS, PLAIN, TOOLS, ratio, variance_ratio

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import CACHE
from sections import AIMS, FIGURES, Results, figure, listed, markdown, missed, version

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"
COMPARED = ROOT / "docs" / "compared.md"
KEYS = ROOT / "docs" / "keys.md"
SMALL, WIDE, LARGE = "1M×16", "100k×128", "20M×16"
WIDTHS = {SMALL: 16, WIDE: 128}
EVERY = ("peers", "growth", "statistics", *FIGURES, *AIMS)
PURE = "pure ε"
"""How the ways of `statistics.py` end that promise δ = 0."""

LIBRARIES = {"OpenDP's Context": ("OpenDP Context",), "PipelineDP": ("PipelineDP", "PipelineDP with PLD")}
"""The peers of `jobs.py` by library: its default accounting first."""

BLUE, GREY = "#0f62ac", "#8b96a1"


def collect() -> Results:
    """The last runs, put together; of what was not run here those that are published, each with its own date."""
    published = RESULTS / "results.json"
    before = json.loads(published.read_text("utf-8")) if published.exists() else {}
    found = {name: CACHE / f"{name}.json" for name in EVERY}
    run_here = {name: json.loads(path.read_text("utf-8")) for name, path in found.items() if path.exists()}
    return {name: {**before, **run_here}[name] for name in EVERY if name in before or name in run_here}


def our_error(columns: int) -> float:
    """The standard error of each of so many sums of columns in [0, 1], as planned now."""
    plan = gm.plan(gm.Box([0] * columns, [1] * columns), gm.Guarantee(epsilon=1, delta=1e-6))
    return float(plan.standard_errors[0])


def readme_table(results: Results) -> str:
    """The table of docs/compared.md: what the noise is, and how long the same release takes."""
    cases = results["peers"]["cases"]
    lines = [
        "| | *d* = 16 | *d* = 128 | time, 1M × 16 | time, 100k × 128 | how |",
        "|---|---:|---:|---:|---:|---|",
    ]
    rows = []
    for tool in TOOLS:
        kept = [cases[case][tool.script] for case in (SMALL, WIDE)]
        if tool.script == PLAIN or all("skipped" in one for one in kept):
            continue
        times = [figure(ratio(cases[case], tool.script, PLAIN)) for case in (SMALL, WIDE)]
        if tool.script == OURS:
            errors = [f"**{our_error(d):.2f}**" for d in WIDTHS.values()]
            rows.append((0.0, f"| **Gaussmith** | {' | '.join([*errors, *times])} | {tool.how} |"))
            continue
        stated = [one.get("stated") for one in kept]
        errors = ["–" if value is None else f"{value:.1f}" for value in stated]
        name = f"{tool.title} {next(version(one) for one in kept if version(one))}"
        rows.append((stated[0] or stated[1], f"| {name} | {' | '.join([*errors, *times])} | {tool.how} |"))
    return "\n".join(lines + [row for _, row in sorted(rows, key=lambda row: -row[0])])


def short_table(results: Results) -> str:
    """The README's table: names, errors and why, without times and versions."""
    rows = [line.split(" | ") for line in readme_table(results).splitlines()[2:]]
    lines = ["| | *d* = 16 | *d* = 128 | |", "|---|---:|---:|---|"]
    for name, small, wide, _, _, how in rows:
        lines.append(" | ".join([re.sub(r" [\d.]+$", "", name), small, wide, how]))
    return "\n".join(lines)


def claims(results: Results) -> str:
    """The README's five claims, each with its number and the page that shows where it comes from."""
    cases = results["peers"]["cases"]
    others = [
        found["stated"]
        for script, found in cases[WIDE].items()
        if script not in (OURS, PLAIN) and found.get("stated") is not None
    ]
    columns = WIDTHS[WIDE]
    plan = gm.plan(gm.Box([0] * columns, [1] * columns), gm.Guarantee(epsilon=1, delta=1e-6))
    jobs = results["jobs"]["ratios"]
    best = [
        min(ratio for tool in tools for ratio in next(iter(jobs.values())).get(tool, {}).values())
        for tools in LIBRARIES.values()
    ]
    covered = json.loads((ROOT / "docs" / "evidence" / "statistics.json").read_text("utf-8"))
    repeated = f"{covered['releases']:,}".replace(",", " ")
    return "\n".join(
        [
            f"- **Less noise.** ± {plan.standard_errors[0]:.1f} on each of {columns} sums; the next best library adds"
            f" ± {min(others):.1f} ([table](#how-it-compares)).",
            "- **Questions share their noise.** OpenDP and PipelineDP have"
            f" {listed([f'{ratio:.1f}' for ratio in best])} times the squared error, with their budgets split as well"
            f" as they can be. The questions: {next(iter(jobs))} ([comparison](docs/compared.md#several-questions)).",
            f"- **A certificate.** The variance of these {columns} sums is at most {plan.optimality:.3f} times the"
            " minimum. Every plan states this number ([certificates](docs/certificate.md)).",
            f"- **Intervals hold.** In {covered['tried'] - covered['failed']} of {covered['tried']} cases of"
            f" {repeated} releases, 95 % intervals hold at least 94 % of the time"
            " ([evidence](docs/evidence.md#statistics)).",
            "- **Fast.** A release of 20 000 000 rows × 16 columns takes"
            f" {ratio(cases[LARGE], OURS, PLAIN):.2f} times as long as the plain sum in Polars"
            " ([times](docs/compared.md#sums-of-many-columns)).",
        ]
    )


def readme_speed(results: Results) -> str:
    """The sentences of docs/compared.md on speed."""
    peers = results["peers"]
    cases = peers["cases"]
    large = ratio(cases[LARGE], OURS, PLAIN)
    faster = {case: ratio(cases[case], CONTEXT, OURS) for case in WIDTHS}
    less = {case: variance_ratio(cases[case], CONTEXT) for case in WIDTHS}
    found = {one["what"]: one["found"] for one in results["engines"]["figures"]}
    spark, duckdb = (found[f"{engine}, box: elapsed time / its plain sum's"] for engine in ("Spark", "DuckDB"))
    rounds = len(cases[LARGE][OURS]["runs"])
    when = f"{peers['when'][LARGE]['date']}, {peers['machine']['cores']} cores with other work running"
    return (
        f"It is also fast: a release of 20 000 000 rows × 16 columns from Parquet took {large:.2f} times as long as"
        f" the plain sum in Polars,\nincluding all checks for odd values; this on Spark and DuckDB took {spark:.2f} and"
        f" {duckdb:.2f} times as long as their own plain sums.\nCompared with OpenDP's Context, the same sums were"
        f" {figure(faster[SMALL])} times faster at 1M × 16 and {figure(faster[WIDE])} times at 100k × 128,\n"
        f"with {less[SMALL]:.1f} and {less[WIDE]:.1f} times less variance (medians of at most {rounds} alternating"
        f" rounds; {when}:\n[all figures](../benchmarks/results/results.md)). `./run bench peers` measures this on your"
        " machine."
    )


def readme_jobs(results: Results) -> str:
    """The sentences on several questions, in docs/compared.md. A library not measured in every job is left out."""
    jobs = results["jobs"]["ratios"]
    shown = {name: tools for name, tools in LIBRARIES.items() if all(set(tools) & set(job) for job in jobs.values())}
    if not shown:
        return "Peers could not be installed to compare several questions: [why](../benchmarks/results/results.md)."
    best = [
        [min(ratio for tool in tools for ratio in job.get(tool, {}).values()) for tools in shown.values()]
        for job in jobs.values()
    ]
    usual = [job[tools[0]]["equal"] for job in jobs.values() for tools in shown.values() if tools[0] in job]
    times = [f"{listed([f'{ratio:.1f}' for ratio in row])} times" for row in best]
    rows = [f"{row} for {name}" for row, name in zip([f"{times[0]} ours", *times[1:]], jobs, strict=True)]
    missing = [name for name in LIBRARIES if name not in shown]
    without = f" {listed(missing)} could not be measured." if missing else ""
    return (
        "Several questions under one guarantee are planned together and share their noise. With a query for each"
        f" question, {listed(list(shown))}\nneed more, for people with many rows, even with the best split of the"
        " budget and the best accounting that they offer: their total squared error was\n"
        + ";\n".join(rows)
        + f".\nWith an equal split and their usual accounting it was {min(usual):.1f} to {max(usual):.1f} times ours."
        f"{without} Each error is relative to what one person can change,\nand totals are those of the noise scales"
        f" that the tools state ({results['jobs']['date']}). `./run bench jobs` measures this on your machine."
    )


LUCK = 0.7
"""Of forty errors the root mean square may be this small by luck."""


def readme_statistics(results: Results) -> str:
    """The sentences on single statistics: Gaussian noise beside ours, pure noise beside ours, then what is better."""
    found = results["statistics"]
    ratios = found["ratios"]
    known = {job: [r for way, r in row.items() if way.startswith("diffprivlib")] for job, row in ratios.items()}
    people = {job: {w: r for w, r in row.items() if not w.startswith("diffprivlib")} for job, row in ratios.items()}
    tools = dict.fromkeys(way.partition(",")[0] for row in people.values() for way in row)
    kinds = [
        {j: [r for w, r in row.items() if w.endswith(PURE) == pure] for j, row in people.items()} for pure in (0, 1)
    ]
    larger = [
        "; ".join(
            f"{min(r):.1f} to {max(r):.1f} times ours for {job}" for job, r in kind.items() if min(r, default=0) >= 1.1
        )
        for kind in kinds
    ]
    smaller = [
        f"{r:.2f} times ours for {job} ({way})" for job, row in people.items() for way, r in row.items() if r < LUCK
    ]
    beside = [f"{min(row):.2f} times ours for {job}" for job, row in known.items() if min(row, default=1) < 0.8]
    return (
        f"One statistic at a time, on the same people and bounds, the Gaussian noise of {listed(list(tools))} leaves"
        f" root mean square errors of\n{larger[0]}; elsewhere about ours.\n"
        f"Under pure ε = 1, with pure noise on both sides, theirs leaves {larger[1]}; elsewhere about ours.\n"
        + (f"Smaller than ours: {listed(smaller)}.\n" if smaller else "")
        + (f"diffprivlib takes the number of people for public, and leaves {listed(beside)}.\n" if beside else "")
        + "A guess is right at most 54.8 % of the time under (1, 1e-6) by Gaussian noise, 73.2 % under pure ε = 1."
        f" Gaussian noise gains with the number of answers and of releases. ({found['date']};"
        " `./run bench statistics` measures this on your machine, [all ratios](../benchmarks/results/results.md).)"
    )


def keys_table(results: Results) -> str:
    """Keys shown and the error of their counts, of every tool and m: for docs/keys.md."""
    tables = results["keys"]["tables"]
    titles = dict.fromkeys(title for found in tables.values() for title in found)
    lines = ["| keys shown / error of their counts | " + " | ".join(f"m = {most}" for most in tables) + " |"]
    lines.append("|---" * (len(tables) + 1) + "|")
    for title in titles:
        cells = []
        for found in tables.values():
            one = found.get(title)
            error = "–" if one is None or one["error"] is None else f"{one['error']:.3g}"
            cells.append("–" if one is None else f"{one['keys']:.0f} / {error}")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def place(text: str, name: str, content: str) -> str:
    """The text with what stands between the marks of this name replaced."""
    pattern = rf"(<!-- {name}: made by benchmarks/report.py -->\n).*?(\n<!-- end -->)"
    changed, times = re.subn(pattern, lambda found: found[1] + content + found[2], text, flags=re.S)
    if times != 1:
        raise ValueError(f"the page has {times} places for {name!r}")
    return changed


def with_measured(readme: str, results: Results) -> str:
    """The README with its measured parts made anew."""
    return place(place(readme, "claims", claims(results)), "short", short_table(results))


def with_tables(page: str, results: Results) -> str:
    """docs/compared.md with its measured parts made anew."""
    made = {"peers": readme_table(results), "jobs": readme_jobs(results), "speed": readme_speed(results)}
    made |= {"statistics": readme_statistics(results)} if "statistics" in results else {}
    for name, content in made.items():
        page = place(page, name, content)
    return page


def peers_chart(peers: Results) -> Any:
    """For each table the error of every tool, and how long it took."""
    import altair as alt

    panels = []
    for case in WIDTHS:
        found = peers["cases"][case]
        tools = [tool for tool in TOOLS if tool.script != PLAIN and "runs" in found[tool.script]]
        tools.sort(key=lambda tool: found[tool.script]["stated"])
        names = [tool.title for tool in tools]
        rows = [
            {"tool": tool.title, "time": ratio(found, tool.script, PLAIN), "error": found[tool.script]["stated"]}
            for tool in tools
        ]
        color = alt.condition(alt.datum.tool == "Gaussmith", alt.value(BLUE), alt.value(GREY))
        base = alt.Chart(alt.Data(values=rows), height=24 * len(rows), width=230)
        base = base.encode(y=alt.Y("tool:N", sort=names, title=None), color=color)
        slowest = max(float(row["time"]) for row in rows)
        times = alt.Scale(type="log", domain=[0.7, max(1000.0, 1.5 * slowest)], nice=False)
        errors = base.mark_bar(height=12).encode(x=alt.X("error:Q", title=f"± of each sum, {case}"))
        dots = base.mark_circle(size=80, opacity=1).encode(
            x=alt.X("time:Q", title="time, × the plain sum", scale=times, axis=alt.Axis(values=[1, 10, 100, 1000]))
        )
        panels += [errors, dots]
    return styled(alt.concat(*panels, columns=2))


def growth_chart(growth: Results) -> Any:
    """Processor time over size, both in powers of ten."""
    import altair as alt

    panels = []
    for series, found in growth["series"].items():
        chart = alt.Chart(alt.Data(values=found["points"])).mark_line(point=True, color=BLUE)
        axes = chart.encode(
            x=alt.X("size:Q", title=series, scale=alt.Scale(type="log"), axis=alt.Axis(format="~e", tickCount=4)),
            y=alt.Y("processor_seconds:Q", title="processor seconds", scale=alt.Scale(type="log")),
        )
        slope = f"{series}: exponent {found['exponents']['upper']:.2f}, larger half"
        panels.append(axes.properties(width=230, height=170, title=slope))
    return styled(alt.concat(*panels, columns=2))


def styled(chart: Any) -> Any:
    """Quiet rules and plain letters."""
    axis = {"gridColor": "#e4e8ec", "titleFontWeight": "normal", "labelLimit": 150, "tickCount": 5}
    return chart.configure_axis(**axis).configure_view(stroke=None).configure_title(fontSize=12, fontWeight="normal")


def publish(results: Results) -> None:
    """Write results.json, results.md, the charts, the README's own parts and the table of docs/keys.md."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (RESULTS / "results.md").write_text(markdown(results), "utf-8")
    peers_chart(results["peers"]).save(str(RESULTS / "peers.svg"))
    growth_chart(results["growth"]).save(str(RESULTS / "growth.svg"))
    README.write_text(with_measured(README.read_text("utf-8"), results), "utf-8")
    COMPARED.write_text(with_tables(COMPARED.read_text("utf-8"), results), "utf-8")
    KEYS.write_text(place(KEYS.read_text("utf-8"), "keys", keys_table(results)), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Tables and charts of the last benchmarks.")
    parser.add_argument("--publish", action="store_true", help="write benchmarks/results/ and the README's table")
    options = parser.parse_args()
    results = collect()
    if not results:
        print("nothing was measured yet: ./run bench")
        return 0
    print(markdown(results))
    left = ", ".join(sorted({*EVERY} - set(results))) or "nothing"
    print(f"{len(missed(results))} aims are missed; left to measure: {left}")
    if options.publish:
        if missing := {*EVERY} - set(results):
            print(f"not published: first run ./run bench {' '.join(sorted(missing))}")
            return 1
        publish(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The page docs/evidence.md, made from what proofs left in docs/evidence: their first numbers and short tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE, VECTORS = ROOT / "docs" / "evidence.md", ROOT / "docs" / "vectors.md"
AUDIT = ROOT / "docs" / "audit.md"
QUANTILES = ROOT / "docs" / "quantiles.md"
HEAD = """# What was measured

Figures that take too long for the tests come from proofs: `./run prove` lists them, `./run prove NAME` runs one and \
writes `docs/evidence/NAME.json`. This page is made from those files, and a test compares them. Each file names the \
commit that was proved, and its seed where there is one. Long tables are in the files alone.
"""
MOST_NUMBERS, MOST_ROWS = 10, 10
"""What is longer is in the file alone."""
APART = ("claim", "commit", "date", "seed", "seconds", "versions", "missed", "cases")
"""Fields of a file that are told above its tables, or are lists too long for a page."""


def made_page() -> str:
    """The page as the files have it now."""
    files = sorted((ROOT / "docs" / "evidence").glob("*.json"))
    return HEAD + "".join(f"\n{made_section(file)}" for file in files)


def write_page() -> None:
    """Make the page anew, and the tables of docs/vectors.md and docs/quantiles.md."""
    PAGE.write_text(made_page(), "utf-8")
    VECTORS.write_text(with_errors_of_vectors(VECTORS.read_text("utf-8")), "utf-8")
    AUDIT.write_text(with_mutants(with_planted_bugs(AUDIT.read_text("utf-8"))), "utf-8")
    QUANTILES.write_text(with_errors_of_quantiles(QUANTILES.read_text("utf-8")), "utf-8")


def with_planted_bugs(page: str) -> str:
    """docs/audit.md with the planted bugs that `./run prove audit` let `gaussmith audit` find."""
    planted = json.loads((ROOT / "docs" / "evidence" / "audit.json").read_text("utf-8"))["planted"].values()
    caught = [each["bug"] for each in planted if each["caught"]]
    missed = [each["bug"] for each in planted if not each["caught"]]
    lines = [f"Caught {len(caught)} of {len(planted)}: {'; '.join(caught)}.", *(f"Missed: {bug}." for bug in missed)]
    return _placed(page, "<!-- planted: made from docs/evidence/audit.json -->", lines)


def with_mutants(page: str) -> str:
    """docs/audit.md with the mutants that `./run prove mutants` tried."""
    found = json.loads((ROOT / "docs" / "evidence" / "mutants.json").read_text("utf-8"))
    columns = ("mutants", "tried", "killed", "timed out", "explained", "unexplained")
    lines = [f"| modules | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, row in (*found["modules"].items(), ("together", found)):
        lines.append(f"| {name} | {' | '.join(told(row[each]) for each in columns)} |")
    return _placed(page, "<!-- mutants: made from docs/evidence/mutants.json -->", lines)


def with_errors_of_vectors(page: str) -> str:
    """docs/vectors.md with the errors that `./run prove unknown` found."""
    found = json.loads((ROOT / "docs" / "evidence" / "unknown.json").read_text("utf-8"))
    columns = ("ours", "ours, normal", "PLAN honest", "IOME", "CoinPress, best t", "ours, add-remove")
    titles = ("setting", "ours", "declared normal", "PLAN", "IOME", "CoinPress, best t", "ours, add-remove")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for name, row in found["error"].items():
        title = f"{name} (held out)" if row["held_out"] and "held out" not in name else name
        errors = ["" if each not in row else told(row[each]) for each in columns]
        lines.append(f"| {title} | **{errors[0]}** | {' | '.join(errors[1:])} |")
    ratio, runs = found["largest_ratio"], [row["runs"] for row in found["error"].values()]
    lines += [
        "",
        f"The largest ratio of ours to the best peer is {ratio['undeclared']:.2f}, with the default guard; on normal "
        f"data that are declared normal, {ratio['declared_normal']:.2f}. A row has {min(runs)} to {max(runs)} runs: "
        "differences of 10 % between two columns may be chance.",
    ]
    return _placed(page, "<!-- errors: made from docs/evidence/unknown.json -->", lines)


def with_errors_of_quantiles(page: str) -> str:
    """docs/quantiles.md with the errors that `./run prove quantiles` found."""
    found = json.loads((ROOT / "docs" / "evidence" / "quantiles.json").read_text("utf-8"))
    ways = ("staged", "private bounds", "declared bounds")
    titles = [f"{asked}: {each}" for asked in ("median", "0.9") for each in ("ranks", "values, %")]
    lines = [f"| data, people | {' | '.join(titles)} | intervals of 95 % hold |", "|---" * (len(titles) + 2) + "|"]
    for name in found["error"]["median"]:
        rows = [found["error"][asked][name] for asked in ("median", "0.9")]
        errors = [
            " / ".join(_short(factor * row[f"{way}: {of}"]) for way in ways)
            for row in rows
            for of, factor in (("ranks", 1), ("values", 100))
        ]
        held = min(row["coverage"] for row in rows)
        lines.append(f"| {name}, {told(rows[0]['people'])} | {' | '.join(errors)} | {held:.3f} |")
    runs = next(iter(found["error"]["median"].values()))["runs"]
    lines += [
        "",
        f"Root mean square errors of {runs} runs each at ε = 1, δ = 10⁻⁶: staged cells / learned bounds / bounds "
        "declared by somebody who knows such data, both with 256 cells. Values are in percent of the distance between "
        "the first and the ninth decile. Where many people tie, an estimate just beside their value is off by all of "
        "them in ranks: look at values there. Nothing was tuned on these data (`./run prove quantiles`, "
        "[evidence](evidence/quantiles.json), which has nine deciles too).",
    ]
    return _placed(page, "<!-- quantiles: made from docs/evidence/quantiles.json -->", lines)


def _short(value: float) -> str:
    """Two digits, or a whole number."""
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def _placed(page: str, mark: str, lines: list[str]) -> str:
    """The page with these lines between a mark and the end that follows it."""
    before, rest = page.split(f"{mark}\n")
    after = rest.split("<!-- end -->\n", 1)[1]
    return before + "\n".join([mark, *lines, "<!-- end -->", ""]) + after


def made_section(file: Path) -> str:
    """What one proof found: its claim, how it was run, its numbers, then a table of each part that has names."""
    found = json.loads(file.read_text("utf-8"))
    seed = f", seed {found['seed']}" if found.get("seed") else ""
    run = f"`./run prove {file.stem}`: {found['date']}, commit {found['commit'][:12]}{seed}, {found['seconds']:.0f} s."
    told_of, shown = list(numbers(found)), dict(tables(found))
    lines = [f"## {file.stem}", "", f"{found['claim'][0].upper()}{found['claim'][1:].rstrip('.')}.", "", run]
    left = [f"{len(told_of) - MOST_NUMBERS} more numbers"] if len(told_of) > MOST_NUMBERS else []
    left += [f"{title} ({len(table)} rows)" for title, table in shown.items() if len(table) > MOST_ROWS]
    if left:
        lines.append(f"In [the file](evidence/{file.name}) alone: {', '.join(left)}.")
    lines.append("")
    if told_of:
        lines += ["| found | |", "|---|---|", *(f"| {name} | {value} |" for name, value in told_of[:MOST_NUMBERS]), ""]
    for title, table in shown.items():
        if len(table) > MOST_ROWS:
            continue
        columns = list(dict.fromkeys(name for row in table.values() for name in row))
        lines += [f"| {title} | {' | '.join(map(spoken, columns))} |", "|---" * (len(columns) + 1) + "|"]
        lines += [
            f"| {name} | {' | '.join(told(row.get(each, '')) for each in columns)} |" for name, row in table.items()
        ]
        lines.append("")
    return "\n".join(lines)


def numbers(found: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Every number and word, those of parts with the name of the part before them."""
    for name, value in found.items():
        if name in APART or _is_table(value):
            continue
        if isinstance(value, dict):
            yield from numbers(value, f"{before}{spoken(name)}: ")
        elif not isinstance(value, list):
            yield f"{before}{spoken(name)}", told(value)


def tables(found: dict[str, Any], before: str = "") -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    for name, value in found.items():
        if name not in APART and _is_table(value):
            yield f"{before}{spoken(name)}", value
        elif name not in APART and isinstance(value, dict):
            yield from tables(value, f"{spoken(name)}: ")


def _is_table(value: Any) -> bool:
    """A dictionary of rows: dictionaries of plain values."""
    if not isinstance(value, dict) or not value:
        return False
    rows = value.values()
    return all(isinstance(row, dict) and not any(isinstance(v, dict | list) for v in row.values()) for row in rows)


def spoken(name: str) -> str:
    return name.replace("_", " ")


def told(value: Any) -> str:
    """A number with the digits that matter; counts in full."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    if isinstance(value, float):
        near_one = 0 < abs(value - 1) < 1e-3
        return f"1 {'+' if value > 1 else '−'} {abs(value - 1):.1e}" if near_one else f"{value:.6g}"
    return str(value)

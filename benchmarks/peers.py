"""Claims: against OpenDP's Context, the same sums under the same promise come ≥ 20 × sooner with ≥ 2.9 × less variance

at 1M × 16, and ≥ 100 × and ≥ 3.8 × at 100k × 128; and 20M × 16 cost at most 1.5 × Polars' plain sum.

All tools get the same files of numbers in [0, 1] and owe (ε = 1, δ = 1e-6) when one record is added or removed. Each
has an environment of its own under .benchmarks/, made here; one that cannot be made is left out, with the reason.
A run is a fresh process: imports and a release of 1000 × 2 are not timed, then planning and release are, up to seven
times if they are quick, and their median is taken. Tools take turns, forwards and backwards, so that other work falls
on all alike; ratios are medians over rounds.
Runs of all tools are kept in .benchmarks/peers.json; `report.py` makes tables and charts of them.

    ./run python benchmarks/peers.py --rounds 5 --only gaussmith_release polars_sum --cases 20M×16
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import CACHE, machine, save, today

SCRIPTS = Path(__file__).parent / "peers"
OURS, PLAIN, CONTEXT = "gaussmith_release", "polars_sum", "opendp_context"
OPENDP = ("opendp[polars]==0.16.0",)
POLARS = f"polars=={importlib.metadata.version('polars')}"
PIPELINEDP = ("pipeline-dp==0.3.1", "dp-accounting==0.6.0", POLARS)


@dataclass(frozen=True)
class Tool:
    """One script of peers/, and the packages it needs; none for those that run where this runs."""

    script: str
    title: str
    how: str
    packages: tuple[str, ...] = ()


TOOLS = (
    Tool(OURS, "Gaussmith", "noise shaped to the box, exact integers"),
    Tool(PLAIN, "Polars' plain sum", "no privacy"),
    Tool("opendp_vector", "OpenDP vector", "zCDP calibration, round noise, the user's own sums", OPENDP),
    Tool(CONTEXT, "OpenDP Context", "zCDP calibration, round noise", OPENDP),
    Tool(
        "diffprivlib_analytic",
        "diffprivlib",
        "exact calibration, round noise, in floats that a known attack breaks",
        ("diffprivlib==0.6.6", "scikit-learn==1.5.2", POLARS),  # it does not import with a later scikit-learn
    ),
    Tool("pipelinedp_vector", "PipelineDP", "half of the budget selects keys", PIPELINEDP),
    Tool("tumult_spark", "Tumult Analytics", "zCDP calibration, a query per column", ("tmlt.analytics==0.21.0",)),
)


@dataclass(frozen=True)
class Case:
    """A table of numbers in [0, 1]: `files` links to one file of `rows` rows."""

    name: str
    rows: int
    columns: int
    files: int = 1
    tools: tuple[str, ...] = tuple(tool.script for tool in TOOLS)
    groups: int = 0
    """With groups the first column is a key of so many values, and the other one is summed for each."""


CASES = (
    Case("1M×16", 1_000_000, 16),
    Case("100k×128", 100_000, 128),
    Case("20M×16", 1_000_000, 16, files=20, tools=(OURS, PLAIN)),
    Case("1M by 1000 groups", 1_000_000, 2, groups=1000, tools=(OURS, PLAIN, CONTEXT)),
)
CLAIMS = {
    ("1M×16", "speed"): 20.0,
    ("1M×16", "variance"): 2.9,
    ("100k×128", "speed"): 100.0,
    ("100k×128", "variance"): 3.8,
}
CLAIM_PLAIN = 1.5


def prepare(tool: Tool) -> tuple[str, str]:
    """The interpreter that runs a tool, and the reason if there is none."""
    if not tool.packages:
        return sys.executable, ""
    wanted = "\n".join((platform.python_version(), *tool.packages))
    folder = CACHE / "-".join(package.split("=")[0].split("[")[0] for package in tool.packages[:1])
    stamp, python = folder / "packages", folder / "bin" / "python"
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return str(python), ""
    print(f"  making an environment for {tool.title} (once)", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    for step, command in (
        ("environment", [sys.executable, "-m", "venv", str(folder)]),
        ("packages", [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-qq", *tool.packages]),
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
        except subprocess.TimeoutExpired:
            return "", f"its {step} took longer than 20 minutes to make"
        if done.returncode:
            print("\n".join(f"    {line}" for line in done.stderr.splitlines()[-4:]))
            return "", f"its {step} could not be made"
    stamp.write_text(wanted, "utf-8")
    return str(python), ""


def run(
    python: str, tool: Tool, files: tuple[Path, str], names: list[str], rows: int, patience: float
) -> dict[str, Any]:
    """What one fresh process found, or why it found nothing."""
    command = [python, str(SCRIPTS / f"{tool.script}.py"), str(files[0]), files[1], json.dumps(names), str(rows)]
    environment = dict(os.environ) if not tool.packages else {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, env=environment)
    except subprocess.TimeoutExpired:
        return {"skipped": f"one release took longer than {patience:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"    {tool.title}: {last}")
        return {"skipped": f"it ended with {last.split(':')[0]}"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def make_table(case: Case, folder: Path) -> tuple[tuple[Path, str], list[str], list[float]]:
    """A small file, the pattern of the large ones, the names of the columns and their true sums."""
    random = np.random.default_rng()
    names = [f"x{j}" for j in range(case.columns)]
    frame = pl.DataFrame({name: random.random(case.rows) for name in names})
    if case.groups:
        names = ["key", "x1"]
        frame = frame.select(pl.Series("key", random.integers(0, case.groups, case.rows)), "x1")
    large, small = folder / case.name, folder / f"{case.name}.small.parquet"
    large.mkdir()
    frame.write_parquet(large / "00.parquet", row_group_size=1 << 18)
    frame.head(1000).write_parquet(small)
    for i in range(1, case.files):
        shutil.copyfile(large / "00.parquet", large / f"{i:02}.parquet")
    sums = frame.group_by("key").agg(pl.col("x1").sum()).sort("key")["x1"] if case.groups else frame.sum().row(0)
    truth = [case.files * total for total in sums]
    return (small, str(large / ("00.parquet" if case.files == 1 else "*.parquet"))), names, truth


def compare(case: Case, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """All tools on one table, in turn."""
    files, names, truth = make_table(case, folder)
    tools = [tool for tool in TOOLS if tool.script in case.tools and (not options.only or tool.script in options.only)]
    found: dict[str, Any] = {}
    ready = []
    for tool in tools:
        python, reason = prepare(tool)
        found[tool.script] = {"skipped": reason} if reason else {"runs": [], "errors": []}
        ready += [] if reason else [(tool, python)]
    spent = dict.fromkeys(found, 0.0)
    for turn in range(options.rounds):
        for tool, python in ready if turn % 2 == 0 else ready[::-1]:
            kept = found[tool.script]
            if "skipped" in kept or spent[tool.script] > options.budget:
                continue
            start = time.perf_counter()
            result = run(python, tool, files, names, case.rows * case.files, options.patience)
            spent[tool.script] += time.perf_counter() - start
            if "skipped" in result:
                if not kept["runs"]:
                    found[tool.script] = result
                continue
            for answers in result.pop("values"):
                kept["errors"] += [value - total for value, total in zip(answers, truth, strict=True)]
            kept |= {key: result.pop(key) for key in ("stated", "versions")}
            kept["runs"].append({"round": turn, **result})
            print(f"    round {turn + 1}: {tool.title:<18} {result['seconds']:8.3f} s", flush=True)
    for kept in found.values():
        if "runs" in kept:
            summarise(kept, len(truth))
    return found


def summarise(kept: dict[str, Any], answers: int) -> None:
    """Medians of the runs, and the standard error that the answers really had."""
    errors = kept.pop("errors")
    kept["answers"] = answers
    kept["measured"] = float(np.sqrt(np.mean(np.square(errors))))
    kept["samples"] = len(errors)
    for key in ("seconds", "processor_seconds", "megabytes"):
        values = [one[key] for one in kept["runs"] if one[key] is not None]
        kept[key] = statistics.median(values) if values else None


def ratio(case: dict[str, Any], above: str, below: str, key: str = "seconds") -> float | None:
    """The median over rounds of above/below; a round counts if both ran in it."""
    if any("runs" not in case.get(tool, {}) for tool in (above, below)):
        return None
    times = [{run["round"]: run[key] for run in case[tool]["runs"]} for tool in (above, below)]
    shared = [a / times[1][r] for r, a in times[0].items() if r in times[1] and a is not None]
    return statistics.median(shared) if shared else None


def variance_ratio(case: dict[str, Any], tool: str) -> float | None:
    """How much more variance a tool's answers have than ours, by what both state."""
    if "stated" not in case.get(tool, {}) or not case[tool]["stated"]:
        return None
    return float((case[tool]["stated"] / case[OURS]["stated"]) ** 2)


def show(name: str, case: dict[str, Any]) -> None:
    print(f"  {name:<22} seconds  processor s     MB  answers  ± stated  ± measured  time/ours  variance/ours")
    for tool in TOOLS:
        kept = case.get(tool.script)
        if kept is None:
            continue
        if "skipped" in kept:
            print(f"    {tool.title:<18} left out: {kept['skipped']}")
            continue
        times, spread = ratio(case, tool.script, OURS), variance_ratio(case, tool.script)
        processor = "-" if kept["processor_seconds"] is None else f"{kept['processor_seconds']:.3f}"
        print(
            f"    {tool.title:<18} {kept['seconds']:9.3f} {processor:>12} {kept['megabytes']:6.0f} {kept['answers']:8}"
            f" {kept['stated']:9.2f} {kept['measured']:11.2f} {times or 0:10.1f} {spread or 0:14.2f}"
        )


def judge(cases: dict[str, Any]) -> bool:
    """Print each claim with what was found; whether all hold."""
    judged = []
    for (name, kind), least in CLAIMS.items():
        case = cases.get(name, {})
        found = ratio(case, CONTEXT, OURS) if kind == "speed" else variance_ratio(case, CONTEXT)
        if found is not None:
            claim = f"{name}, {kind}: OpenDP Context / ours {found:.2f} (claimed at least {least:g})"
            judged.append((found >= least, claim))
    large = ratio(cases.get("20M×16", {}), OURS, PLAIN)
    if large is not None:
        judged.append((large <= CLAIM_PLAIN, f"20M×16: ours / plain sum {large:.2f} (claimed at most {CLAIM_PLAIN:g})"))
    for held, claim in judged:
        print("✓" if held else "✗", claim)
    return all(held for held, _ in judged)


def main() -> int:
    parser = argparse.ArgumentParser(description="Gaussmith and its peers on the same tables.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], choices=[tool.script for tool in TOOLS], metavar="TOOL")
    parser.add_argument("--cases", nargs="*", default=[case.name for case in CASES], metavar="CASE")
    parser.add_argument("--patience", type=float, default=900, help="seconds after which one run is given up")
    parser.add_argument("--budget", type=float, default=240, help="seconds after which a tool is not run once more")
    options = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    kept = CACHE / "peers.json"
    found = json.loads(kept.read_text("utf-8")) if kept.exists() else {"cases": {}, "when": {}}
    cases = {}
    for case in CASES:
        if case.name in options.cases:
            load = [os.getloadavg()[0]]
            with tempfile.TemporaryDirectory() as folder:
                cases[case.name] = compare(case, Path(folder), options)
            show(case.name, cases[case.name])
            load.append(os.getloadavg()[0])
            found["when"][case.name] = {"date": today(), "load": load}
    found["cases"] |= cases
    found["cases"] = {case.name: found["cases"][case.name] for case in CASES if case.name in found["cases"]}
    found["machine"] = machine()
    if not options.only:
        save("peers", found)
    return 0 if judge(cases) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Groups found in the data: how many keys are shown, and how far their counts are off, ours and those of peers.

The tables are Zipf(1): 100 000 people in one group each, and people in 1 to 300 groups (median 4) of whom each keeps m
at random beforehand, so that no tool has anything to drop and the true counts are the same for all. Every tool runs,
in an environment of its own, and owes (ε = 1, δ = 1e-5) when a person is added or removed.

    ./run python benchmarks/keys.py --runs 5 --most 1 3

Claim: the keys shown, and the root mean square error of their counts, are at least as good as those of the simulation
that the rules were chosen by, within a part that random tables differ by.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from peers import OPENDP, PIPELINEDP, SCRIPTS, Tool, prepare

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import CACHE, Findings

PEOPLE, SEED = 100_000, 7
SIMULATED = {1: (507, 3.98), 3: (626, 6.95), 10: (716, 12.2), 30: (830, 20.6)}
"""Of each m the keys shown and the error, as simulated before this was built: one look up to m = 3, then two."""
SPREAD = 0.05
"""By which a random table and a few runs may differ from that."""


@dataclass(frozen=True)
class Rule:
    """One way of a tool to find keys."""

    tool: Tool
    title: str
    option: str = ""


OURS = "Gaussmith"
RULES = (
    Rule(Tool("gaussmith_keys", OURS, "exact maximum of noise and keys, two looks from m = 4 on"), OURS),
    Rule(Tool("opendp_keys", "OpenDP", "zCDP, δ/2 and δ/2", OPENDP), "OpenDP, Gaussian"),
    Rule(Tool("opendp_keys", "OpenDP", "Laplace, all of δ for keys", OPENDP), "OpenDP, Laplace", "laplace"),
    Rule(Tool("pipelinedp_keys", "PipelineDP", "ε/2 and ε/2", PIPELINEDP), "PipelineDP, geometric keys", "geometric"),
    Rule(Tool("pipelinedp_keys", "PipelineDP", "ε/2 and ε/2", PIPELINEDP), "PipelineDP, Gaussian keys", "gaussian"),
    Rule(Tool("tumult_keys", "Tumult", "get_groups, then counts", ("tmlt.analytics==0.21.0",)), "Tumult Analytics"),
)


def make_table(most: int) -> pl.DataFrame:
    """A row per person and key, in nobody's hands more than `most`."""
    rng = np.random.default_rng([SEED, most])

    def draw(size: int, keys: int) -> Any:
        mass = np.cumsum(1 / np.arange(1, keys + 1))
        return np.searchsorted(mass / mass[-1], rng.random(size))

    if most == 1:
        person, key = np.arange(PEOPLE), draw(PEOPLE, 200_000)
    else:
        groups = np.clip(np.exp(rng.normal(1.5, 1.0, PEOPLE)).astype(int), 1, 300)
        person = np.repeat(np.arange(PEOPLE), groups)
        key = draw(len(person), 1_000_000)
    table = pl.DataFrame({"person": person, "key": key}).unique(maintain_order=True)
    table = table.with_columns(pl.Series("chance", rng.random(len(table)))).sort("person", "chance")
    kept = table.group_by("person", maintain_order=True).head(most)
    return kept.select("person", pl.format("k{}", pl.col("key")).alias("key"))


def run(python: str, rule: Rule, path: Path, most: int, options: argparse.Namespace) -> dict[str, Any]:
    """What one fresh process found, or why it found nothing."""
    script = str(SCRIPTS / f"{rule.tool.script}.py")
    command = [python, "-W", "ignore", script, str(path), str(most), str(options.runs), str(options.seconds)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or not rule.tool.packages}
    try:
        done = subprocess.run(
            [*command, rule.option], capture_output=True, text=True, timeout=options.patience, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"skipped": f"one release took longer than {options.patience:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"    {rule.title}: {last}")
        return {"skipped": f"it ended with {last.strip().split(':')[0]}"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def summarise(found: dict[str, Any], truth: dict[str, int]) -> dict[str, Any]:
    """The mean number of keys shown, and the root mean square error of their counts."""
    errors = [value - truth[key] for answers in found["answers"] for key, value in answers.items()]
    shown = [len(answers) for answers in found["answers"]]
    error = float(np.sqrt(np.mean(np.square(errors)))) if errors else None
    return {"keys": float(np.mean(shown)), "error": error, "runs": len(shown), "seconds": found["seconds"]}


def main() -> int:
    parser = argparse.ArgumentParser(description="Keys found in Zipf tables, ours and those of peers.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--most", type=int, nargs="*", default=list(SIMULATED), choices=list(SIMULATED))
    parser.add_argument("--seconds", type=float, default=60, help="after which a tool releases no table again")
    parser.add_argument("--patience", type=float, default=900, help="seconds after which one run is given up")
    options = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    found = Findings("keys", "Keys found in the data: how many are shown, and the error of their counts")
    pythons = {}
    for tool in {rule.tool.script: rule.tool for rule in RULES}.values():
        pythons[tool.script], reason = prepare(tool)
        if reason:
            found.leave_out(tool.title, reason)
    tables: dict[str, dict[str, Any]] = {str(most): {} for most in options.most}
    versions: dict[str, str] = {}
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        truths = {}
        for most in options.most:
            table = make_table(most)
            table.write_parquet(Path(folder) / f"{most}.parquet")
            truths[most] = dict(table.group_by("key").len().rows())
        for rule, most in itertools.product(RULES, options.most):
            if not pythons[rule.tool.script]:
                continue
            result = run(pythons[rule.tool.script], rule, Path(folder) / f"{most}.parquet", most, options)
            if "skipped" in result:
                found.leave_out(f"m = {most}: {rule.title}", result["skipped"])
            else:
                versions |= result["versions"]
                one = tables[str(most)][rule.title] = summarise(result, truths[most])
                say(found, rule, most, one)
            status = found.keep(tables=tables, versions=versions)  # what is known so far
    return status


def say(found: Findings, rule: Rule, most: int, one: dict[str, Any]) -> None:
    """The figures of one rule and table; claims are made of ours alone."""
    keys, error = SIMULATED[most]
    least = {"at_least": keys * (1 - SPREAD)} if rule.title == OURS else {}
    limit = {"at_most": error * (1 + SPREAD)} if rule.title == OURS else {}
    found.say(f"m = {most}: {rule.title}, keys shown", one["keys"], f"{one['runs']} runs", **least)
    if one["error"] is not None:
        found.say(f"m = {most}: {rule.title}, error of their counts", one["error"], **limit)


if __name__ == "__main__":
    sys.exit(main())

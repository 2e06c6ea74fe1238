"""Several questions about people with many rows under one guarantee: the total squared error, over ours.

Each error is relative to what one person can change. The jobs are in peers/questions.py; all tools owe (ε = 1,
δ = 1e-6) when a person with all of their rows is added or removed. A peer's total comes from the noise scales that it
states itself: OpenDP in `summarize()`, PipelineDP in its report on the computation. Ours is `plan.total_variance`.
The budget is split equally among a peer's questions, and by the weights that make its total smallest. The errors
of real releases on a table with known answers are compared with the stated ones; sums and counts by 1000 areas, which
are not compared, make them many.

    ./run python benchmarks/jobs.py --seconds 20

Claim: on no job, with no split, is a peer's total smaller than ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from peers import OPENDP, PIPELINEDP, SCRIPTS, Tool, prepare

import gaussmith as gm

sys.path.insert(0, str(Path(__file__).parent / "shared"))
sys.path.insert(0, str(SCRIPTS))
from child import DELTA, EPSILON
from findings import CACHE, Findings
from questions import CHECK, CHECKS, JOBS, PERSON, ROWS_PER_MONTH, Question

PEERS = (
    Tool("opendp_jobs", "OpenDP Context", "zCDP composition", OPENDP),
    Tool("pipelinedp_jobs", "PipelineDP", "sums of ε and δ", PIPELINEDP),
    Tool("pipelinedp_jobs_pld", "PipelineDP with PLD", "experimental accountant", PIPELINEDP),
)
ALL = JOBS | CHECKS
EQUAL, WEIGHTED = "equal", "weighted"
OUR_RELEASES = {CHECK: 5} | dict.fromkeys(JOBS, 200)
PEOPLE = 300
SPREAD = 0.2
"""How far the mean square of measured errors may be from the stated variance, as a share of it."""

Answers = list[float]


def make_table() -> pl.DataFrame:
    """People with one to twelve months of two rows, and one value of every other column."""
    random = np.random.default_rng()
    rows = []
    for person in range(PEOPLE):
        fixed = {PERSON: person, "area": person, "region": ("north", "south", "east", "west")[random.integers(4)]}
        fixed |= {name: int(random.integers(size)) for name, size in (("health", 5), ("work", 4), ("home", 3))}
        fixed |= {f"yes{i}": int(random.integers(2)) for i in range(10)}
        for month in {1, *(int(month) for month in random.integers(1, 13, 12))}:
            rows += [fixed | {"month": month, "spent": float(random.integers(20))} for _ in range(ROWS_PER_MONTH)]
    return pl.DataFrame(rows)


def count_exactly(table: pl.DataFrame, question: Question) -> Answers:
    """The true answers, in the order of the keys."""
    if question.where:
        table = table.filter(pl.col(question.where) == 1)
    parts = [table.filter(pl.col(question.column) == key) for key in question.keys] if question.column else [table]
    return [float(part[question.total].sum() if question.total else part[PERSON].n_unique()) for part in parts]


def ask(question: Question) -> dict[str, Any]:
    """The question as one of a request."""
    if question.column and not question.total and question.most == 1:
        return {"name": question.name, "histograms": {question.column: list(question.keys)}, "values_per_unit": 1}
    asked: dict[str, Any] = {"name": question.name}
    asked |= {"sums": {question.total: (0, question.width)}} if question.total else {"count": True}
    if question.column:
        asked |= {"by": {question.column: list(question.keys)}, "groups_per_unit": question.most}
    return asked | ({"where": f"{question.where} == 1"} if question.where else {})


def make_request(job: str, source: Any) -> gm.Request:
    """All questions of a job under the one guarantee."""
    guarantee = gm.Guarantee(epsilon=EPSILON, delta=DELTA)
    questions = [ask(question) for question in ALL[job]]
    return gm.Request(source, unit=PERSON, questions=questions, guarantee=guarantee)


def release_ours(job: str, path: Path) -> dict[str, Any]:
    """The errors that our plan states, and the answers of several releases."""
    request = make_request(job, str(path))
    names = [question.name for question in ALL[job]]
    stated = [
        float(error)
        for question in ALL[job]
        for error in np.broadcast_to(request.plan[question.name].standard_errors, question.answers)
    ]
    releases = [gm.release(request) for _ in range(OUR_RELEASES[job])]
    values = [[float(value) for name in names for value in np.ravel(one[name].values)] for one in releases]
    return {"stated": stated, "values": values}


def run(python: str, tool: Tool, path: Path, job: str, split: str, seconds: float) -> dict[str, Any]:
    """What one fresh process found, or why it found nothing."""
    command = [python, "-W", "ignore", str(SCRIPTS / f"{tool.script}.py"), str(path), job, split, str(seconds)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    except subprocess.TimeoutExpired:
        return {"skipped": "one release took longer than 900 s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"    {tool.title}: {last}")
        return {"skipped": f"it ended with {last.strip().split(':')[0]}"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def add_up(job: str, errors: Answers) -> float:
    """The total of squared errors, each relative to what one person can change."""
    widths = [question.width for question in ALL[job] for _ in range(question.answers)]
    return float(sum((error / width) ** 2 for error, width in zip(errors, widths, strict=True)))


def standardise(result: dict[str, Any], truth: Answers) -> list[float]:
    """All measured errors, squared, over the variances that are stated for them."""
    errors = np.array(result["values"]) - truth
    return [float(square) for square in np.ravel((errors / result["stated"]) ** 2)]


def compare(job: str, table: pl.DataFrame, path: Path, pythons: dict[str, str], seconds: float) -> dict[str, Any]:
    """For ours and for every peer and split: the stated total and the squares of its standardised errors."""
    truth = [answer for question in ALL[job] for answer in count_exactly(table, question)]
    ours = release_ours(job, path)
    plan = make_request(job, str(path)).plan
    if abs(add_up(job, ours["stated"]) / plan.total_variance - 1) > 1e-9:
        raise AssertionError(f"{job}: total_variance is not the total of the stated errors")
    found: dict[str, Any] = {"": {"total": plan.total_variance, "squares": standardise(ours, truth)}}
    uneven = len({question.need for question in ALL[job]}) > 1
    for tool in PEERS:
        for split in (EQUAL, WEIGHTED) if uneven else (EQUAL,):
            if tool.script not in pythons:
                continue
            result = run(pythons[tool.script], tool, path, job, split, seconds)
            key = f"{tool.title}, {split} split"
            if "skipped" in result:
                found[key] = result
                continue
            found[key] = {"tool": tool.title, "split": split, "versions": result["versions"]}
            found[key] |= {"total": add_up(job, result["stated"]), "squares": standardise(result, truth)}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Jobs of several questions, ours and those of peers.")
    parser.add_argument("--seconds", type=float, default=20, help="after which a tool releases no job again")
    options = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    found = Findings("jobs", "Several questions about people under one guarantee: total squared error over ours")
    pythons = {}
    for tool in PEERS:
        python, reason = prepare(tool)
        if reason:
            found.leave_out(tool.title, reason)
        else:
            pythons[tool.script] = python
    ratios: dict[str, dict[str, dict[str, float]]] = {}
    squares: dict[str, list[float]] = {}
    totals: dict[str, float] = {}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        table, path = make_table(), Path(folder) / "visits.parquet"
        table.write_parquet(path)
        for job in ALL:
            result = compare(job, table, path, pythons, options.seconds)
            ours = result.pop("")
            squares.setdefault("Gaussmith", []).extend(ours["squares"])
            if job in JOBS:
                totals[job], ratios[job] = ours["total"], {}
            for key, one in result.items():
                if "skipped" in one:
                    found.leave_out(f"{job}: {key}", one["skipped"])
                    continue
                if job in JOBS:
                    ratio = one["total"] / totals[job]
                    found.say(f"{job}: {key} / ours", ratio, at_least=1)
                    ratios[job].setdefault(one["tool"], {})[one["split"]] = ratio
                squares.setdefault(one["tool"], []).extend(one["squares"])
                versions |= one["versions"]
    for title, one in squares.items():
        what = f"{title}: mean square of measured errors / the stated variance"
        found.say(what, float(np.mean(one)), f"{len(one)} errors", at_least=1 - SPREAD, at_most=1 + SPREAD)
    return found.keep(ratios=ratios, totals=totals, versions=versions)


if __name__ == "__main__":
    sys.exit(main())

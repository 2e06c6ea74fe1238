"""What `statistics.py` does: asks every tool for the same statistics of the same people, and compares errors."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from asked import AREAS, COLUMNS, COPY, DECILES, FIRST, JOBS, SPREAD, VALUES
from child import DELTA, EPSILON
from findings import CACHE, Findings
from peers import OPENDP, PIPELINEDP, POLARS, SCRIPTS, Tool, prepare

import gaussmith as gm

PEERS = (
    Tool("opendp_statistics", "OpenDP", "", OPENDP),
    Tool("tumult_statistics", "Tumult", "", ("tmlt.analytics==0.21.0",)),
    Tool("pipelinedp_statistics", "PipelineDP", "", PIPELINEDP),
    Tool("diffprivlib_statistics", "diffprivlib", "", ("diffprivlib==0.6.6", "scikit-learn==1.5.2", POLARS)),
)
PEOPLE, COPIES, OUR_RELEASES = 2_000, 40, 200
FEWER = 60
"""Of quantiles, which take longer."""
ADD_REMOVE, REPLACE_ONE = "add-remove", "replace-one"
PUBLIC = {"one mean", "five means", "a mean in each of 10 areas", "one variance", "three variances"}
"""Where diffprivlib divides by the number of people, which it takes for public."""
QUANTILES = {"one median": (0.5,), "nine deciles": DECILES}

PURE = "pure ε"
"""How the ways of peers end that promise δ = 0: ours beside them has pure noise too, at the same ε."""

KNOWN = "diffprivlib takes the number of people for public, and ours has no pure noise for that"
CHOOSING = "one quantile alone is chosen by the exponential mechanism; the cells that ours releases tell all quantiles"
EXCEPTIONS = {**dict.fromkeys(("one count", *PUBLIC, JOBS[-1]), KNOWN), "one median": CHOOSING}
"""Jobs in which a tool may be better, and why: all but the last are about diffprivlib alone."""

Array = npt.NDArray[np.float64]


def make_people() -> pl.DataFrame:
    """People in whom wages grow with school and age."""
    random = np.random.default_rng()
    school, age = random.integers(8, 19, PEOPLE), random.integers(18, 68, PEOPLE)
    wage = (4 + 0.9 * school + 0.1 * age) * random.lognormal(0, 0.35, PEOPLE)
    columns = {"wage": wage, "school": school, "age": age, "hours": random.normal(35, 8, PEOPLE)}
    columns |= {"kids": random.poisson(1.5, PEOPLE)}
    held = {name: np.clip(np.asarray(columns[name], float), *COLUMNS[name]) for name in COLUMNS}
    keys = {"area": random.integers(0, len(AREAS), PEOPLE), "health": random.integers(0, len(VALUES), PEOPLE)}
    return pl.DataFrame({**held, **keys})


def true_answers(people: pl.DataFrame, job: str) -> Array:
    """What a job is about, without noise; of quantiles the ranks."""
    if job in QUANTILES:
        return np.array(QUANTILES[job]) * PEOPLE
    data = {name: people[name].to_numpy() for name in people.columns}
    if job == "one count":
        return np.array([float(PEOPLE)])
    if job in ("one sum", "five sums"):
        return np.array([data[name].sum() for name in _columns(job)])
    if job in ("one mean", "five means"):
        return np.array([data[name].mean() for name in _columns(job)])
    if job in ("one variance", "three variances"):
        return np.array([data[name].var() for name in _columns(job)])
    if job == "a mean in each of 10 areas":
        return np.array([data[FIRST][data["area"] == key].mean() for key in AREAS])
    if job == "a histogram of 10 values":
        return np.array([(data["area"] == key).sum() for key in AREAS], float)
    if job == "shares of five values":
        return np.array([(data["health"] == value).mean() for value in VALUES])
    X = np.column_stack([np.ones(PEOPLE), *(data[name] for name in SPREAD[1:])])
    return np.asarray(np.linalg.lstsq(X, data[FIRST], rcond=None)[0][1:])


def _columns(job: str) -> tuple[str, ...]:
    return (FIRST,) if job.startswith("one") else SPREAD if job.startswith("three") else tuple(COLUMNS)


def units(job: str) -> Array:
    """What errors are measured in: what one person can change, or the width of the bounds."""
    widths = np.array([COLUMNS[name][1] - COLUMNS[name][0] for name in _columns(job)])
    if job in ("one sum", "five sums"):
        return np.array([COLUMNS[name][1] for name in _columns(job)])
    if job in ("one mean", "five means"):
        return widths
    if job in ("one variance", "three variances"):
        return np.asarray(widths**2 / 4)
    return np.ones(1)


def error_of(job: str, answers: list[list[float]], people: pl.DataFrame) -> float:
    """The root mean square of all errors, each in its unit. An answer that is not a number is left out."""
    values = np.array(answers, float)
    if job in QUANTILES:
        values = np.searchsorted(np.sort(people[FIRST].to_numpy()), values, side="right").astype(float)
    errors = (values - true_answers(people, job)) / units(job)
    return float(np.sqrt(np.nanmean(errors**2)))


def our_request(job: str, people: pl.DataFrame, neighbours: str, is_pure: bool) -> gm.Request:
    """The job, as a request. Peers put numbers for missing values; so nothing is left out here."""
    asked: dict[str, Any] = {"one count": {"count": True}}
    for name in ("one sum", "five sums"):
        asked[name] = {"sums": {column: COLUMNS[column] for column in _columns(name)}}
    for name in ("one mean", "five means"):
        asked[name] = {"means": {column: COLUMNS[column] for column in _columns(name)}}
    for name in ("one variance", "three variances"):
        asked[name] = {"variances": {column: COLUMNS[column] for column in _columns(name)}}
    asked["a mean in each of 10 areas"] = {"means": {FIRST: COLUMNS[FIRST]}, "by": {"area": list(AREAS)}}
    asked["a histogram of 10 values"] = {"histograms": {"area": list(AREAS)}}
    asked["shares of five values"] = {"proportions": {"health": list(VALUES)}}
    for name, levels in QUANTILES.items():
        asked[name] = {"quantiles": {FIRST: list(levels)}, "bounds": COLUMNS}
    asked[JOBS[-1]] = {"regression": {"of": FIRST, "on": list(SPREAD[1:])}, "bounds": COLUMNS}
    fields = asked[job]
    numbers = {column for name in ("sums", "means", "variances", "quantiles") for column in fields.get(name, ())}
    complete = list(SPREAD) if job == JOBS[-1] else sorted(numbers)
    guarantee = gm.Guarantee(epsilon=EPSILON) if is_pure else gm.Guarantee(epsilon=EPSILON, delta=DELTA)
    return gm.Request(people, guarantee=guarantee, neighbours=neighbours, complete=complete, **fields)


def our_answers(job: str, people: pl.DataFrame, neighbours: str, is_pure: bool) -> list[list[float]]:
    request = our_request(job, people, neighbours, is_pure)
    releases = [gm.release(request) for _ in range(FEWER if job in QUANTILES else OUR_RELEASES)]
    if job == "shares of five values":
        return [[share.value for share in release.shares()] for release in releases]
    kept = {"one variance": 1, "three variances": 3, JOBS[-1]: 2}.get(job)  # no roots of variances, no constant
    return [[float(x) for x in np.ravel(release.values)[:kept]] for release in releases]


def run(python: str, tool: Tool, path: Path, jobs: list[str]) -> dict[str, Any]:
    """What one fresh process found, or why it found nothing."""
    command = [python, "-W", "ignore", str(SCRIPTS / f"{tool.script}.py"), str(path), json.dumps(jobs)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600, env=environment)
    except subprocess.TimeoutExpired:
        return {"skipped": "it took longer than an hour"}
    for line in done.stderr.strip().splitlines()[-5:] if done.returncode else ():
        print(f"    {tool.title}: {line}"[:200])
    if done.returncode:
        return {"skipped": "it ended with an error"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def neighbours_of(tool: Tool, job: str) -> str:
    return REPLACE_ONE if tool.title == "diffprivlib" and (job in PUBLIC or job == JOBS[-1]) else ADD_REMOVE


def main() -> int:
    parser = argparse.ArgumentParser(description="Each statistic, ours and those of peers.")
    parser.add_argument("--only", nargs="*", default=[tool.script for tool in PEERS], metavar="TOOL")
    parser.add_argument("--jobs", nargs="*", default=list(JOBS), choices=JOBS, metavar="JOB")
    options = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    found = Findings("statistics", "Each statistic: root mean square error over ours, at ε = 1 with δ = 1e-6 or 0")
    people = make_people()
    ours: dict[tuple[str, str, bool], float] = {}
    ratios: dict[str, dict[str, float]] = {job: {} for job in options.jobs}
    better: dict[str, str] = {}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        copies = [people.with_columns(pl.lit(k, pl.Int64).alias(COPY)) for k in range(COPIES)]
        pl.concat(copies).write_parquet(path)
        for tool in [tool for tool in PEERS if tool.script in options.only]:
            python, reason = prepare(tool)
            result = {"skipped": reason} if reason else run(python, tool, path, options.jobs)
            if "skipped" in result:
                found.leave_out(tool.title, result["skipped"])
                continue
            versions |= result["versions"]
            for what, why in result["failed"].items():
                found.leave_out(f"{tool.title}, {what}", why)
            for way, told in result["answers"].items():
                for job, answers in told.items():
                    protected = neighbours_of(tool, job)
                    which = job, protected, way.endswith(PURE) and protected == ADD_REMOVE
                    if which not in ours:
                        ours[which] = error_of(job, our_answers(job, people, *which[1:]), people)
                    ratio = error_of(job, answers, people) / ours[which]
                    ratios[job][f"{tool.title}, {way}"] = ratio
                    samples = np.size(answers)
                    luck = 3 * math.sqrt(0.5 / samples + 0.5 / (FEWER if job in QUANTILES else OUR_RELEASES))
                    may = tool.title == "diffprivlib" or job in QUANTILES
                    excepted = ratio < 1 - luck and job in EXCEPTIONS and may
                    better |= {f"{job}: {tool.title}, {way}": EXCEPTIONS[job]} if excepted else {}
                    claims = {} if excepted else {"at_least": round(1 - luck, 3)}
                    beside = "" if which[1] == ADD_REMOVE else ", the number of people public"
                    found.say(f"{job}{beside}: {tool.title}, {way} / ours", ratio, f"{samples} errors", **claims)
    kept = {
        f"{job}, {neighbours}{', pure ε' if is_pure else ''}": error
        for (job, neighbours, is_pure), error in ours.items()
    }
    return found.keep(ratios=ratios, better=better, ours=kept, versions=versions)

"""Proof: keys that are found in the data cost what is stated, and the intervals of shown groups hold.

- intervals: of counts, sums and means of groups of 8 to 200 people that were shown, with one look and with two. A 95 %
  interval holds in at least 94 % and no less often than an exact binomial test allows; those of counts in at most 96 %.
- curve: δ(ε) of 50 random requests by quadrature over all persons, from the integers of their plans, and simulations of
  thresholded counts and sums within their error bars.
- alone: how often a person alone is shown, counted at κ = 0.2 and by importance sampling at κ = 1e-5.
- neighbours: random tables with and without a person through the streamed path, on Polars and DuckDB; and releases
  that a person with keys of its own must not alter by a byte, as noise is forced.
- tests: the reference values, the rules, and every planted fault, which must be caught.
- large: a table of 24 million rows and ten million keys on Polars and DuckDB. Time is at most three times the engine's
  plain count of the same (of rows by key, or of people by key), in seconds of processors; memory is below 2 GB.
- spark: five million rows with no noise release the same on Polars, DuckDB and Spark.

Writes docs/evidence/keys.json, and leaves with 1 where anything missed. Two processes.

    ./run prove keys                                          20 000 releases a cell, 2 000 pairs, a fresh seed
    ./run prove keys --repeats 2000 --pairs 100 --seed 1f2e3d4c     fewer, the same again
    ./run prove keys --large 0 --spark 0                      without the large tables
    ./run prove keys --only neighbours                        one part; the others stay as they were found
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))
from evidence import commit, kept_found, write_found
from scipy.stats import binom
from shown.curves import largest_delta, random_request, simulate
from shown.intervals import Cell, covered, every_cell
from shown.neighbours import random_pair, try_alone, try_pairs
from shown.persons import count_alone, every_person, weigh_alone
from shown.tables import make_table, measure

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence" / "keys.json"
PACKAGES = ("gaussmith", "numpy", "scipy", "polars", "narwhals", "duckdb", "pyspark")
NOMINAL, ALLOWED, ALARM = 0.95, 0.01, 1e-6
CLOSE = 1e-9
"""How far above the stated δ quadrature may come out, relatively: its own error."""
TIGHT = 0.99
"""Of a request of one question alone δ(ε) is at least this part of what is stated: no noise is wasted."""
EACH = 4
"""Newcomers, each of whom makes a pair with the same table."""
TESTS = (
    "tests/theorems/test_found_keys.py",
    "tests/properties/test_found_teeth.py",
    "tests/properties/test_found_rules.py",
    "tests/properties/test_found_releases.py",
    "tests/unit/test_ledger_keys.py",
    "tests/unit/test_forged_keys.py",
)
MOST_TIME, MOST_MEGABYTES = 3.0, 2000
SIMULATED = [
    (m, new, people, epsilon)
    for m, new in ((1, 0), (1, 1), (2, 1), (3, 0), (3, 1), (3, 3))
    for people in (5, 9, 1000)
    for epsilon in (0.2, 1.0)
]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run prove keys", description="Found keys: what they cost, what is shown.")
    parser.add_argument("--repeats", type=int, default=20_000, help="releases of each cell (20000)")
    parser.add_argument("--settings", type=int, default=50, help="random requests whose curve is computed (50)")
    parser.add_argument("--pairs", type=int, default=2000, help="pairs of neighbours (2000)")
    parser.add_argument("--large", type=int, default=24_000_000, help="rows of the large table (24 million); 0: none")
    parser.add_argument("--spark", type=int, default=5_000_000, help="rows that Spark reads too (5 million); 0: none")
    parser.add_argument(
        "--only", nargs="*", choices=list(PARTS), default=list(PARTS), help="parts; others stay as found"
    )
    parser.add_argument("--seed", default=secrets.token_hex(4), help="makes the same again")
    chosen = parser.parse_args(words)
    start = time.perf_counter()
    print(f"seed {chosen.seed}", flush=True)
    parts = {name: prove_part(name, chosen) for name in PARTS if name in chosen.only}
    missed = [f"{name}: {what}" for name, part in parts.items() for what in part["missed"]]
    print(*missed, sep="\n")
    seconds = time.perf_counter() - start
    claim = "keys found in the data cost what is stated, and intervals of groups that were shown hold"
    found = {**kept_found(EVIDENCE, *PARTS, "by_hand"), **parts}
    write_found(EVIDENCE, claim, chosen.seed, seconds, found, PACKAGES)
    print(f"{len(missed)} missed, {seconds:.0f} s; written to {EVIDENCE}")
    return 1 if missed else 0


def prove_part(name: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """One part, with the commit that it proved, its seed, and the seconds it took."""
    start, before = time.perf_counter(), _processor()
    with ProcessPoolExecutor(2) as pool:
        found = PARTS[name](pool, chosen)
    seconds = {"seconds": round(time.perf_counter() - start, 1), "processor_seconds": round(_processor() - before, 1)}
    return {"commit": commit(), "seed": chosen.seed, **seconds, **found}


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


# -- intervals ----------------------------------------------------------------------------------------------------


def prove_intervals(pool: ProcessPoolExecutor, repeats: int, seed: str) -> dict[str, Any]:
    cells = every_cell()
    found, missed = [], []
    for cell, held in zip(cells, pool.map(_cover, cells, [repeats] * len(cells), [seed] * len(cells)), strict=True):
        for answer, times in held.items():
            if (why := judge(answer, times, repeats)) is not None:
                missed.append(f"{cell.name}, {answer}: {why}")
        shares = {answer: round(times / repeats, 4) for answer, times in held.items()}
        found.append({"cell": cell.name, **shares})
        print(cell.name, shares, flush=True)
    counts = [each["count"] for each in found]
    return {
        "repeats": repeats,
        "count": [min(counts), max(counts)],
        "least": {answer: min(each[answer] for each in found) for answer in ("sum", "mean")},
        "cells": found,
        "missed": missed,
    }


def judge(answer: str, held: int, repeats: int) -> str | None:
    """Why so many intervals that held are too few, or of counts too many; None where it is as it should be."""
    share = held / repeats
    if share < NOMINAL - ALLOWED or binom.cdf(held, repeats, NOMINAL) < ALARM:
        return f"held in {share:.4f}, too seldom"
    if answer == "count" and (share > NOMINAL + ALLOWED or binom.sf(held - 1, repeats, NOMINAL) < ALARM):
        return f"held in {share:.4f}, too often"
    return None


def _cover(cell: Cell, repeats: int, seed: str) -> dict[str, int]:
    return covered(cell, repeats, np.random.default_rng([int(seed, 16), *cell.name.encode()]))


# -- the curve ----------------------------------------------------------------------------------------------------


def prove_curve(pool: ProcessPoolExecutor, settings: int, seed: str) -> dict[str, Any]:
    missed = []
    ratios, tight = [], []
    for i, (ratio, alone) in enumerate(pool.map(_delta, [f"{seed}:curve:{i}" for i in range(settings)])):
        ratios.append(ratio)
        tight += [ratio] if alone else []
        if ratio > 1 + CLOSE or (alone and ratio < TIGHT):
            missed.append(f"{seed}:curve:{i} δ(ε) is {ratio:.6f} of what is stated")
    print(f"{settings} requests: δ(ε) / stated {min(ratios):.6f} to {max(ratios):.12f}", flush=True)
    farthest, lowest = 0.0, 0.0
    for each in pool.map(_simulate, SIMULATED):
        off = (each.delta - each.exact) / max(each.error, 1e-12)
        farthest, lowest = max(farthest, off), min(lowest, off)
        if off > 5 or (" 1000 people" in each.name and off < -5):
            missed.append(f"{each.name}: simulated {each.delta:.5f} ± {each.error:.5f}, by quadrature {each.exact:.5f}")
    print(f"{len(SIMULATED)} simulations: {lowest:.2f} to {farthest:.2f} standard errors", flush=True)
    return {
        "requests": settings,
        "alone": len(tight),
        "largest_ratio": max(ratios),
        "smallest_ratio": min(ratios),
        "smallest_ratio_alone": min(tight, default=None),
        "simulations": len(SIMULATED),
        "standard_errors_above": round(farthest, 2),
        "missed": missed,
    }


def _delta(seed: str) -> tuple[float, bool]:
    found = largest_delta(random_request(random.Random(seed)))
    return found.delta / found.stated, found.alone


def _simulate(case: tuple[int, int, int, float]) -> Any:
    return simulate(*case, repeats=200_000)


# -- a person alone -----------------------------------------------------------------------------------------------


def prove_alone(pool: ProcessPoolExecutor, repeats: int, seed: str) -> dict[str, Any]:
    missed, found = [], {}
    for name, audits in zip(
        ("counted", "weighed"), pool.map(_audit, (True, False), [repeats] * 2, [seed] * 2), strict=True
    ):
        missed += [
            f"{each.name}: shown with {each.found:.3g}, κ = {each.kappa:g}" for each in audits if not each.passes
        ]
        largest = max(each.found / each.kappa for each in audits)
        found[name] = {"kappa": audits[0].kappa, "persons": len(audits), "largest_ratio": round(largest, 4)}
        print(f"{len(audits)} persons alone, {name}: at most {largest:.4f} κ = {audits[0].kappa:g}", flush=True)
    return {**found, "missed": missed}


def _audit(counted: bool, repeats: int, seed: str) -> list[Any]:
    if counted:
        return [count_alone(threshold, j, repeats) for threshold, j in every_person(Fraction(1, 5))]
    rng = np.random.default_rng(int(seed, 16))
    return [weigh_alone(threshold, j, 5 * repeats, rng) for threshold, j in every_person(Fraction(1, 10**5))]


# -- neighbours ---------------------------------------------------------------------------------------------------


def prove_neighbours(pool: ProcessPoolExecutor, pairs: int, seed: str) -> dict[str, Any]:
    """A fifth of the pairs on DuckDB, which plans a query for longer; one release in twenty pairs."""
    tables = -(-pairs // EACH)
    tasks = [(f"{seed}:pairs:{i}", "duckdb" if i % 5 == 4 else "polars") for i in range(tables)]
    missed = []
    done: dict[str, dict[str, int]] = {}
    for (name, engine), (alone, problems) in zip(tasks, pool.map(_try, tasks, chunksize=8), strict=True):
        counted = done.setdefault(engine, {"pairs": 0, "releases_alike": 0})
        counted["pairs"] += EACH
        counted["releases_alike"] += alone
        missed += [f"{name} on {engine}: {problem}" for problem in problems]
    print(f"{tables * EACH} pairs of neighbours: {len(missed)} violations", flush=True)
    return {"pairs": tables * EACH, "violations": len(missed), "by_engine": done, "missed": missed}


def _try(task: tuple[str, str]) -> tuple[int, list[str]]:
    chance = random.Random(task[0])
    problems = try_pairs(random_pair(chance, newcomers=EACH), task[1], chance)
    alone = chance.random() < 0.25
    if alone:
        problems += try_alone(random_pair(chance, shared=False), task[1], chance)
    return int(alone), problems


# -- tests and large tables ---------------------------------------------------------------------------------------


def prove_tests() -> dict[str, Any]:
    """Reference values, rules and planted faults: how many tests passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    passed = re.search(r"(\d+) passed", done.stdout)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    count = int(passed.group(1)) if passed else 0
    print(f"{count} tests passed, {len(failed)} failed", flush=True)
    return {
        "files": TESTS,
        "passed": count,
        "missed": failed or ([] if done.returncode == 0 else ["tests did not run"]),
    }


def prove_large(rows: int, seed: str) -> dict[str, Any]:
    """Time and memory beside the plain counts of each engine, each in a process of its own."""
    if not rows:
        return {"ran": False, "missed": []}
    missed, found = [], {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.parquet"
        make_table(file, rows, rows * 5 // 8, seed)
        for engine in ("polars", "duckdb"):
            one = {what: measure(file, engine, what) for what in ("keys", "people", "rows", "10")}
            for what, plain in (("rows", "keys"), ("10", "people")):
                ratio = one[what]["ratio"] = round(one[what]["processor"] / one[plain]["processor"], 2)
                if ratio > MOST_TIME or one[what]["megabytes"] > MOST_MEGABYTES:
                    missed.append(f"{engine}, {what}: {ratio} × the plain count, {one[what]['megabytes']} MB")
            one["10"]["ratio_to_keys"] = round(one["10"]["processor"] / one["keys"]["processor"], 2)
            found[engine] = one
            print(engine, one, flush=True)
    return {"ran": True, "rows": rows, "keys": found["polars"]["keys"]["found"], **found, "missed": missed}


def prove_spark(rows: int, seed: str) -> dict[str, Any]:
    """The same answers, to the last bit, on three engines."""
    if not rows:
        return {"ran": False, "missed": []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        make_table(file, rows, rows * 5 // 8, seed)
        found = {engine: measure(file, engine, "10", "forced") for engine in ("polars", "duckdb", "spark")}
    print(found, flush=True)
    alike = len({one["found"] for one in found.values()}) == 1
    return {"ran": True, "rows": rows, **found, "missed": [] if alike else ["engines release different answers"]}


PARTS: dict[str, Callable[[ProcessPoolExecutor, argparse.Namespace], dict[str, Any]]] = {
    "intervals": lambda pool, chosen: prove_intervals(pool, chosen.repeats, chosen.seed),
    "curve": lambda pool, chosen: prove_curve(pool, chosen.settings, chosen.seed),
    "alone": lambda pool, chosen: prove_alone(pool, chosen.repeats, chosen.seed),
    "neighbours": lambda pool, chosen: prove_neighbours(pool, chosen.pairs, chosen.seed),
    "tests": lambda pool, chosen: prove_tests(),
    "large": lambda pool, chosen: prove_large(chosen.large, chosen.seed),
    "spark": lambda pool, chosen: prove_spark(chosen.spark, chosen.seed),
}

if __name__ == "__main__":
    sys.exit(main())

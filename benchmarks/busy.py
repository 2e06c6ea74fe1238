"""Claim: no main figure takes more than 1.5 times the processor time when all cores are busy.

Releases, plans, pages and the command line, first on the machine as it is and then beside a process for each core that
computes without end. Each figure is the processor time of the second over that of the first, best of the rounds; the
machine must be quiet otherwise.

    ./run bench busy
    ./run python benchmarks/busy.py --rows 200000 --rounds 2
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith import mechanism

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from beside import Call
from findings import Findings

CLAIM, COLUMNS, GROUPS = 1.5, 8, 100
GUARANTEE = gm.Guarantee(mu=1)


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """A process for each core that computes without end."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def make_table(rows: int) -> pl.DataFrame:
    draw = np.random.default_rng(7)
    columns = {f"x{j}": draw.normal(50, 40, rows).round(2) for j in range(COLUMNS)}
    return pl.DataFrame(
        {"person": draw.integers(0, rows // 10, rows), "region": draw.integers(0, GROUPS, rows), **columns}
    )


def release_call(source: Any, **asked: Any) -> Call:
    """A release that was planned before, from opening the source on."""
    plan = gm.Request(source, guarantee=GUARANTEE, **asked).plan
    return lambda: mechanism.release(mechanism.prepare_request(plan, source))


def make_calls(folder: Path, rows: int) -> dict[str, Call]:
    frame, names = make_table(rows), [f"x{j}" for j in range(COLUMNS)]
    paths = {kind: str(folder / f"t.{kind}") for kind in ("parquet", "csv", "jsonl", "arrow")}
    frame.write_parquet(paths["parquet"])
    frame.write_csv(paths["csv"])
    frame.head(rows // 4).write_ndjson(paths["jsonl"])
    frame.write_ipc(paths["arrow"])
    sums: dict[str, Any] = {"sums": dict.fromkeys(names, (0, 100)), "missing": dict.fromkeys(names, 0)}
    one: dict[str, Any] = {"sums": {"x0": (0, 100)}, "missing": {"x0": 0}, "count": True}
    by = {"region": list(range(GROUPS))}
    calls = {f"sums of {kind} files": release_call(path, **sums) for kind, path in paths.items()}
    calls["sums of a frame"] = release_call(frame, **sums)
    calls["people in groups"] = release_call(frame, unit="person", groups_per_unit=1, by=by, **one)
    calls["a histogram"] = release_call(frame, histograms=by)
    calls["the limit of 17 answers"] = lambda: gm.plan(gm.Box([0] * 17, [1] * 17), GUARANTEE).optimality
    calls["prefix sums over 1024 cells"] = lambda: gm.plan(gm.Cells(1024), GUARANTEE, answers=gm.workloads.prefix(1024))
    release = gm.release(gm.Request(frame, guarantee=GUARANTEE, by=by, **one))
    calls["a page"] = lambda: release.report(str(folder / "page.html"))
    flags = ["--sum", "x0:0:100", "--count", "--epsilon", "1", "--delta", "1e-6"]
    command = [sys.executable, "-m", "gaussmith", "release", paths["parquet"], *flags]
    settings = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    calls["the command line"] = lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=settings)
    return calls


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def measure(calls: dict[str, Call], rounds: int) -> dict[str, float]:
    """Processor seconds of each call, best of the rounds."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            before = processor_seconds()
            call()
            best[name] = min(best[name], processor_seconds() - before)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description="The main figures on a quiet and on a busy machine.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = Findings("busy", "All cores busy: processor time over that of a quiet machine")
    with tempfile.TemporaryDirectory() as folder:
        calls = make_calls(Path(folder), options.rows)
        measure(calls, 1)  # what is imported and written at first use
        quiet = measure(calls, options.rounds)
        with busy_cores():
            busy = measure(calls, options.rounds)
    for name in calls:
        detail = f"{busy[name]:.3f} s / {quiet[name]:.3f} s"
        found.say(f"{name}, all cores busy over quiet", busy[name] / quiet[name], detail, at_most=CLAIM)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

"""Planning, big workloads, big answers, pages and start-up: processor seconds beside wall seconds, ratios in one run.

    ./run python benchmarks/planning.py

Claims: prefix sums over 1024 cells within 1.5 s, over a million within 5 s at most 1 % above the limit; marginals of
200 attributes, up to three at a time, within 30 s; a million answers saved and read in at most 3 × the release's time;
a first page within 0.4 s; a plan's limit at most 1.5 × slower in processor time where all cores are busy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import gaussmith as gm

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings

G = gm.Guarantee(mu=1)
T = TypeVar("T")

SCRIPT = (
    "import polars as pl\nprint(pl.scan_parquet({0!r}).select(pl.col('age').clip(0, 100).sum(), pl.len()).collect())"
)
REPORT = """
import time, gaussmith as gm, numpy as np
domain = gm.Box({"age": (0, 100), "visits": (0, 80), "bmi": (10, 60)})
plan = gm.plan(domain, gm.Guarantee(mu=1), answers="means", count=True)
release = plan.release(np.full((5000, 3), 20.0))
start = time.process_time(); release.report(PATH); print(time.process_time() - start)
"""
BUSY = "while True: pass"


def timed(run: Callable[[], T]) -> tuple[float, float, T]:
    """Processor seconds, wall seconds, and what came out."""
    wall, own = time.perf_counter(), time.process_time()
    found = run()
    return time.process_time() - own, time.perf_counter() - wall, found


def plan_of(kind: str, cells: int, neighbours: str = "add-remove", or_none: bool = False) -> Any:
    domain, answers = gm.Cells(cells, or_none=or_none), getattr(gm.workloads, kind)(cells)
    return gm.plan(domain, G, answers=answers, neighbours=neighbours)


def say_workloads(found: Findings) -> None:
    plan_of("prefix", 600)  # what is imported at first use
    for kind, cells, most in (
        ("prefix", 1024, 1.5),
        ("prefix", 4096, 30),
        ("ranges", 4096, 30),
        ("tree", 4096, 30),
        ("tree", 5000, 30),
        ("prefix", 10**5, 5),
        ("prefix", 10**6, 5),
        ("tree", 10**6, 5),
    ):
        own, wall, plan = timed(lambda kind=kind, cells=cells: plan_of(kind, cells))
        ratio = plan.optimality
        found.say(f"{kind} over {cells:,} cells, processor seconds", own, f"{wall:.2f} s wall", at_most=most)
        found.say(f"{kind} over {cells:,} cells: error over the limit", ratio, at_most=1.06 if kind == "tree" else 1.01)
        if cells == 10**6:
            own, wall, _ = timed(lambda plan=plan, cells=cells: plan.release(np.arange(cells)).values)
            found.say(f"{kind} over {cells:,} cells: released and read, processor seconds", own, f"{wall:.2f} s wall")
    replaced = [
        ("prefix", 1024, 1.5),
        ("ranges", 1024, 1.5),
        ("prefix", 4096, 5),
        ("ranges", 4096, 5),
        ("prefix", 10**6, 5),
    ]
    for kind, cells, most in replaced:
        own, wall, plan = timed(lambda kind=kind, cells=cells: plan_of(kind, cells, "replace-one"))
        found.say(
            f"{kind} over {cells:,} cells, one replaced, processor seconds", own, f"{wall:.2f} s wall", at_most=most
        )
        ratio = plan.optimality
        found.say(f"{kind} over {cells:,} cells, one replaced: error over the limit", ratio, at_most=1.03)
    for kind, cells, most in [("prefix", 2048, 1.5), ("ranges", 2048, 1.5), ("prefix", 10**6, 5)]:
        own, wall, plan = timed(lambda kind=kind, cells=cells: plan_of(kind, cells, "replace-one", or_none=True))
        name = f"{kind} over {cells:,} cells or none, one replaced"
        found.say(f"{name}, processor seconds", own, f"{wall:.2f} s wall", at_most=most)
        found.say(f"{name}: error over the limit", plan.optimality, at_most=1.03)
    points = np.random.default_rng(1).normal(size=(10_000, 8))
    own, wall, plan = timed(lambda: gm.plan(gm.domains.Points(points), G, neighbours="replace-one"))
    detail = f"{wall:.2f} s wall, {plan.optimality:.4f} × the limit"
    found.say("10,000 points, one replaced, processor seconds", own, detail, at_most=10)
    ways = gm.workloads.marginals([2] * 200, range(4))
    own, wall, _ = timed(lambda: gm.plan(gm.Cells(shape=(2,) * 200), G, answers=ways))
    found.say("marginals of 200 attributes, processor seconds", own, f"{wall:.2f} s wall", at_most=30)


def say_answers(found: Findings) -> None:
    plan = gm.plan(gm.Cells(10**6), G)
    own, _, release = timed(lambda: plan.release(np.arange(10**6)))
    writing, _, text = timed(release.to_json)
    reading, _, _ = timed(lambda: gm.read(text))
    detail = f"{writing:.2f} s / {own:.2f} s, {len(text) / 1e6:.0f} MB"
    found.say("a million answers: to_json / release, processor time", writing / own, detail, at_most=3)
    found.say("a million answers: read / release, processor time", reading / own, at_most=3)


def child(*command: str) -> float:
    """Processor seconds of a command."""
    before = os.times()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def say_starts(found: Findings) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = str(Path(folder) / "people.parquet")
        import polars as pl

        pl.DataFrame({"age": np.linspace(0, 100, 1000)}).write_parquet(table)
        ours, theirs = [], []
        flags = ("--sum", "age:0:100", "--count", "--epsilon", "1", "--delta", "1e-6")
        for _ in range(5):
            theirs.append(child("-c", SCRIPT.format(table)))
            ours.append(child("-m", "gaussmith", "release", table, *flags))
        detail = f"{min(ours):.2f} s / {min(theirs):.2f} s"
        found.say("gaussmith release, 1000 rows / a Polars script, processor time", min(ours) / min(theirs), detail)
        script = REPORT.replace("PATH", repr(str(Path(folder) / "page.html")))
        told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        found.say("the first page of a process, processor seconds", float(told), at_most=0.4)


def say_busy(found: Findings) -> None:
    def limit() -> float:
        return gm.plan(gm.Box([0] * 17, [1] * 17), G).optimality

    limit()
    quiet, quiet_wall, _ = timed(limit)
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        busy, busy_wall, _ = timed(limit)
    finally:
        for other in others:
            other.kill()
            other.wait()
    detail = f"wall {busy_wall / quiet_wall:.2f} × ({quiet_wall:.3f} s quiet)"
    found.say("the limit of 17 answers, all cores busy / quiet, processor time", busy / quiet, detail, at_most=1.5)


def main() -> int:
    found = Findings("planning", "Planning, big workloads, big answers, pages and start-up")
    say_busy(found)
    say_workloads(found)
    say_answers(found)
    say_starts(found)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

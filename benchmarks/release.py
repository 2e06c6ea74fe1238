"""Claims about whole releases and plans, each a ratio to something plain in the same run, or a start-up time.

A release of 1M × 16 Parquet ≤ 1.5 × Polars' plain sum; numpy 1M × 16 ≤ 3 × clip + sum; one vector of 300 000 numbers
≤ 60 × as many normals of numpy; exact noise ≤ 8 × numpy's; a plan of a million coordinates < 1 s; a release of one
record < 20 ms; `gaussmith --help` < 0.25 s, `import` < 0.3 s. What was found goes to .benchmarks/release.json.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith.noise.gaussian import normal_integers

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings

G = gm.Guarantee(epsilon=1, delta=1e-6)
NAMES = [f"x{j}" for j in range(16)]
FOUND = Findings("release", "Releases, plans and start-up")


def ratio(ours: Callable[[], object], plain: Callable[[], object], rounds: int = 9) -> tuple[float, float, float]:
    """Median over rounds of ours/plain, taken in turn; and both medians in seconds."""
    pairs = []
    for _ in range(rounds):
        seconds = []
        for call in (plain, ours):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        pairs.append(seconds)
    return (
        statistics.median(b / a for a, b in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a for a, _ in pairs),
    )


def release_files(folder: Path) -> None:
    random = np.random.default_rng()
    path = str(folder / "table.parquet")
    pl.DataFrame({name: random.random(1_000_000) for name in NAMES}).write_parquet(path, row_group_size=1 << 18)
    plan = gm.plan(gm.Box(dict.fromkeys(NAMES, (0, 1))), G, count=True)
    plan.release(path)
    found, ours, plain = ratio(
        lambda: plan.release(path),
        lambda: pl.scan_parquet(path).select(pl.col(NAMES).sum()).collect(engine="streaming"),
    )
    FOUND.say("release of 1M × 16 Parquet / Polars' plain sum", found, f"{ours:.3f} s / {plain:.3f} s", at_most=1.5)


def release_arrays() -> None:
    rows = np.random.default_rng().random((1_000_000, 16))
    plan = gm.plan(gm.Box(np.zeros(16), np.ones(16)), G)
    plan.release(rows)
    found, ours, plain = ratio(lambda: plan.release(rows), lambda: np.clip(rows, 0, 1).sum(axis=0))
    FOUND.say("release of 1M × 16 numpy / clip + sum", found, f"{ours:.3f} s / {plain:.3f} s", at_most=3.0)


def release_wide() -> None:
    d = 300_000
    random = np.random.default_rng()
    row = random.random((1, d))
    plan = gm.plan(gm.Box(np.zeros(d), np.ones(d)), G)
    plan.release(row)
    found, ours, plain = ratio(lambda: plan.release(row), lambda: random.standard_normal(d))
    FOUND.say("release of one vector of 300 000 / numpy normals", found, f"{ours:.4f} s / {plain:.4f} s", at_most=60.0)


def draw_noise() -> None:
    random = np.random.default_rng()
    found, ours, plain = ratio(lambda: normal_integers(1_000_000), lambda: random.standard_normal(1_000_000), rounds=15)
    FOUND.say("a million exact normals / numpy's", found, f"{ours:.4f} s / {plain:.4f} s", at_most=8.0)


def release_tiny() -> None:
    seconds = []
    for _ in range(50):
        start = time.perf_counter()
        gm.plan(gm.Box({"age": (0, 100)}), G).release([[40.0]])
        seconds.append(time.perf_counter() - start)
    FOUND.say("plan and release of one record, milliseconds", 1000 * statistics.median(seconds), at_most=20.0)


def plan_wide() -> None:
    upper = np.random.default_rng().random(1_000_000) + 0.1
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        gm.plan(gm.Box(np.zeros(1_000_000), upper), G, weights="equal")
        seconds.append(time.perf_counter() - start)
    FOUND.say("plan of a box of 10^6 coordinates, seconds", statistics.median(seconds), at_most=1.0)


def start_up() -> None:
    for claim, limit, arguments in (
        ("import gaussmith, seconds", 0.3, ["-c", "import gaussmith"]),
        ("gaussmith --help, seconds", 0.25, ["-m", "gaussmith", "--help"]),
    ):
        seconds = []
        for _ in range(9):
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
        FOUND.say(claim, statistics.median(seconds), at_most=limit)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        release_files(Path(folder))
    release_arrays()
    release_wide()
    draw_noise()
    release_tiny()
    plan_wide()
    start_up()
    return FOUND.keep()


if __name__ == "__main__":
    sys.exit(main())

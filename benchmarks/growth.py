"""Claims: the time of a release is linear in rows and in columns (exponent at most 1.05), at most linear in groups, and

its memory does not grow with rows, on any engine. Exponents are slopes of log time over log size, by least squares on
medians.

Every point is measured in fresh processes, in turn over several rounds: imports and a release of a few rows are not
timed. Processor seconds are fitted, which other work on the machine hardly touches; elapsed ones are shown beside them.
Of Spark they are those of its Java and ours together, and so is its memory, which depends on when Java cleans up: 1.13
to 1.28 times over several runs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import gaussmith as gm

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from child import peak_megabytes

sys.path.insert(0, str(Path(__file__).parent / "shared"))
import java
from findings import machine, save, today

G = gm.Guarantee(epsilon=1, delta=1e-6)
CLAIM = 1.05
CLAIM_MEMORY = 1.25
"""Peak memory of the most rows over that of ten million. Fewer files take less: a few are under way at once."""

JAVA = {"SPARK_DRIVER_MEMORY": "640m", "JDK_JAVA_OPTIONS": "-XX:+UseSerialGC -Xmn96m"}
"""Java would take whatever there is before it tidies up; a small nursery makes its memory tell what is needed."""

PIECE = 1_000_000
ROWS, COLUMNS_OF_ROWS = (100_000, 1_000_000, 10_000_000, 30_000_000, 100_000_000), 4
COLUMNS, ROWS_OF_COLUMNS = (2, 8, 32, 128, 512, 2048, 4096), 5_000
GROUPS, ROWS_OF_GROUPS = (1, 10, 100, 1_000, 10_000, 100_000), 1_000_000


def names(count: int) -> list[str]:
    return [f"x{j}" for j in range(count)]


def make_rows(folder: Path, size: int) -> str:
    """A folder of copies of one file of up to a million rows: links count once."""
    table = folder / f"rows{size}"
    table.mkdir()
    random = np.random.default_rng()
    frame = pl.DataFrame({name: random.random(min(size, PIECE)) for name in names(COLUMNS_OF_ROWS)})
    frame.write_parquet(table / "0.parquet", row_group_size=1 << 18)
    for i in range(1, size // PIECE):
        shutil.copyfile(table / "0.parquet", table / f"{i}.parquet")
    return str(table)


def make_columns(folder: Path, size: int) -> str:
    path = str(folder / f"columns{size}.parquet")
    random = np.random.default_rng()
    pl.DataFrame({name: random.random(ROWS_OF_COLUMNS) for name in names(size)}).write_parquet(path)
    return path


def make_groups(folder: Path, size: int) -> str:
    path = str(folder / f"groups{size}.parquet")
    random = np.random.default_rng()
    keys = random.integers(0, size, ROWS_OF_GROUPS)
    pl.DataFrame({"key": keys, "x0": random.random(ROWS_OF_GROUPS)}).write_parquet(path, row_group_size=1 << 18)
    return path


def release_rows(path: str, size: int) -> object:
    return gm.plan(gm.Box(dict.fromkeys(names(COLUMNS_OF_ROWS), (0, 1))), G).release(path)


def release_rows_on(engine: str) -> Callable[[str, int], object]:
    """The same with an engine that is told to read the files."""

    def release(path: str, size: int) -> object:
        sums = dict.fromkeys(names(COLUMNS_OF_ROWS), (0, 1))
        return gm.release(gm.Request(path, sums=sums, guarantee=G), engine=engine, master=MASTERS.get(engine))

    return release


MASTERS = {"spark": "local[2]"}


def release_columns(path: str, size: int) -> object:
    return gm.plan(gm.Box(dict.fromkeys(names(size), (0, 1))), G).release(path)


def release_array(path: str, size: int) -> object:
    """The same columns as an array; reading the file is not timed, see `child`."""
    return gm.plan(gm.Box(np.zeros(size), np.ones(size)), G).release(path)


def release_groups(path: str, size: int) -> object:
    """A sum and the number of people in each declared group."""
    return gm.release(gm.Request(path, sums={"x0": (0, 1)}, count=True, by={"key": list(range(size))}, guarantee=G))


SERIES: dict[str, tuple[tuple[int, ...], Callable[[Path, int], str], Callable[[Any, int], object]]] = {
    "rows": (ROWS, make_rows, release_rows),
    "rows on DuckDB": (ROWS, make_rows, release_rows_on("duckdb")),
    "rows on Spark": (ROWS, make_rows, release_rows_on("spark")),
    "columns": (COLUMNS, make_columns, release_columns),
    "columns of an array": (COLUMNS, make_columns, release_array),
    "groups": (GROUPS, make_groups, release_groups),
}


def child(series: str, small: str, first: int, path: str, size: int) -> None:
    """One timed release in this process."""
    release = SERIES[series][2]
    data: Any = path
    if release is release_array:
        data = pl.read_parquet(path).to_numpy()
        release_array(data[:2, :first], first)
    else:
        release(small, first)
    other = java_process() if series.endswith("Spark") else None

    def processor_seconds() -> float:
        return time.process_time() + (java.processor_seconds(other) if other is not None else 0.0)

    start, used = time.perf_counter(), processor_seconds()
    release(data, size)
    seconds, used = time.perf_counter() - start, processor_seconds() - used
    peak = peak_megabytes() + (java.peak_megabytes(other) if other is not None else 0.0)
    print(json.dumps([seconds, used, peak]))


def java_process() -> int:
    from pyspark.sql import SparkSession

    return java.java_of(SparkSession.getActiveSession())


def measure(series: str, sizes: tuple[int, ...], folder: Path, rounds: int) -> list[dict[str, float]]:
    """Medians for each size."""
    make = SERIES[series][1]
    paths = {size: make(folder, size) for size in sizes}
    found: dict[int, list[list[float]]] = {size: [] for size in sizes}
    for turn in range(rounds):
        for size in sizes if turn % 2 == 0 else sizes[::-1]:
            command = [
                sys.executable,
                __file__,
                "--child",
                series,
                paths[sizes[0]],
                str(sizes[0]),
                paths[size],
                str(size),
            ]
            environment = {**os.environ, **JAVA}
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            found[size].append(json.loads(done.stdout.strip().splitlines()[-1]))
    keys = ("seconds", "processor_seconds", "megabytes")
    points = []
    for size, runs in found.items():
        medians = (statistics.median(values) for values in zip(*runs, strict=True))
        points.append({"size": size, **dict(zip(keys, medians, strict=True))})
    return points


def exponent(points: list[dict[str, float]], key: str) -> float:
    """The slope of log(time) over log(size)."""
    x, y = (np.array([math.log(point[k]) for point in points]) for k in ("size", key))
    return float(np.polyfit(x, y, 1)[0])


def upper(points: list[dict[str, float]]) -> list[dict[str, float]]:
    """The larger half, where what a release costs whatever its size no longer flatters the slope."""
    return points[len(points) // 2 :] if len(points) > 3 else points[-2:]


def judge_time(series: str, points: list[dict[str, float]]) -> tuple[bool, dict[str, float]]:
    """Print the points of a series and its exponents; whether the claim holds."""
    print(f"  {series:>20}   seconds  processor s      MB")
    for point in points:
        times = f"{point['seconds']:9.3f} {point['processor_seconds']:12.3f}"
        print(f"  {point['size']:>20,} {times} {point['megabytes']:7.0f}")
    slopes = {
        "all": exponent(points, "processor_seconds"),
        "upper": exponent(upper(points), "processor_seconds"),
        "elapsed": exponent(points, "seconds"),
    }
    holds = max(slopes["all"], slopes["upper"]) <= CLAIM
    print(
        f"{'✓' if holds else '✗'} time ∝ {series}^{slopes['all']:.2f}, ^{slopes['upper']:.2f} over the larger half"
        f" (claimed at most {CLAIM}); elapsed ^{slopes['elapsed']:.2f}"
    )
    return holds, slopes


def judge_memory(points: list[dict[str, float]]) -> tuple[bool, float]:
    """Print the peak memory of the most rows over that of ten million; whether it is flat."""
    peaks = {point["size"]: point["megabytes"] for point in points}
    most = max(peaks)
    growth = peaks[most] / peaks[10_000_000]
    holds = growth <= CLAIM_MEMORY
    ratio = f"{growth:.2f} × that of 10,000,000 (claimed at most {CLAIM_MEMORY})"
    print(f"{'✓' if holds else '✗'} memory of {most:,} rows: {ratio}")
    return holds, growth


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        series, small, first, path, size = sys.argv[2:]
        child(series, small, int(first), path, int(size))
        return 0
    parser = argparse.ArgumentParser(description="How time and memory of a release grow.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(SERIES), choices=list(SERIES), metavar="SERIES")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    held = True
    load = [os.getloadavg()[0]]
    for series in options.only:
        sizes = SERIES[series][0]
        with tempfile.TemporaryDirectory() as folder:
            points = measure(series, sizes, Path(folder), options.rounds)
        holds, slopes = judge_time(series, points)
        held &= holds
        found[series] = {"points": points, "exponents": slopes}
        if series.startswith("rows"):
            holds, found[series]["memory"] = judge_memory(points)
            held &= holds
    load.append(os.getloadavg()[0])
    if len(found) == len(SERIES):
        save("growth", {"date": today(), "machine": machine(), "load": load, "series": found})
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())

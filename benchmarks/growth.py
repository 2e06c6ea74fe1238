"""Claims: the time of a release is linear in rows and in columns (exponent at most 1.05), at most linear in groups, and
its memory does not grow with rows, on any engine. What else a request can have many of costs what its axis claims, in
each step: the plan, its print, the release, its print. Exponents are slopes of log time over log size.

    ./run python benchmarks/growth.py --axes       # the axes of requests alone: a minute
    ./run bench growth                             # rows, columns and groups too

Every point is measured in fresh processes, in turn over several rounds: imports and a release of a few rows are not
timed. Processor seconds are fitted, which other work on the machine hardly touches; elapsed ones are shown beside them.
Of Spark they are those of its Java and ours together, and so is its memory, which depends on when Java cleans up: 1.13
to 1.28 times over several runs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import gaussmith as gm

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from child import peak_megabytes

sys.path.insert(0, str(Path(__file__).parent / "shared"))
import java
from findings import Findings, machine, save, today

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


# What a request can have many of. Each axis is measured at a size and at four times that, in this process; the sizes of
# each round are others, so that nothing is found that was kept.

ROUNDS_OF_AXES = 2
STEADY = 0.05
"""Seconds added to each, as what takes no time has no slope."""


class Clock:
    """The processor seconds of each step; of Spark's Java too, where its process is given."""

    def __init__(self, process: int | None = None) -> None:
        self.process, self.seconds = process, dict[str, float]()

    def now(self) -> float:
        return time.process_time() + (0.0 if self.process is None else java.processor_seconds(self.process))

    def __call__(self, step: str, work: Callable[[], Any]) -> Any:
        start = self.now()
        found = work()
        self.seconds[step] = self.now() - start
        return found


def live(table: Any, clock: Clock | None = None, **asked: Any) -> dict[str, float]:
    """A request from its plan to the printed release."""
    clock = clock or Clock()
    request = clock("plan", lambda: gm.Request(table, guarantee=G, **asked))
    clock("print of the plan", lambda: (str(request.plan), request.plan.to_json()))
    release = clock("release", lambda: gm.release(request))
    clock("print", lambda: (str(release), release.to_json()))
    return clock.seconds


def numbers(size: int, rows: int = 1000) -> pl.DataFrame:
    random = np.random.default_rng()
    return pl.DataFrame({name: random.random(rows) for name in names(size)})


def letters(size: int) -> pl.DataFrame:
    random = np.random.default_rng()
    return pl.DataFrame({name: random.choice(list("abcd"), 1000) for name in names(size)})


def keyed(size: int, rows: int = 100_000) -> pl.DataFrame:
    random = np.random.default_rng()
    columns = {"person": rows // 5, "key": size}
    return pl.DataFrame({name: random.integers(0, most, rows) for name, most in columns.items()}).with_columns(
        x0=pl.Series(random.random(rows))
    )


def marginals(size: int) -> dict[str, float]:
    """Tables of neighbouring columns: as many as columns."""
    values = {name: list("ab") for name in names(size)}
    return live(letters(size), marginals=[list(pair) for pair in itertools.pairwise(values)], values=values)


def proportions(size: int) -> dict[str, float]:
    values = [f"v{i}" for i in range(size)]
    return live(pl.DataFrame({"x": values}), proportions={"x": values})


def regression(size: int) -> dict[str, float]:
    own = names(size)
    asked = {"of": own[0], "on": own[1:]}
    return live(numbers(size), regression=asked, bounds=dict.fromkeys(own, (0, 1)))


def missing_means(size: int) -> dict[str, float]:
    """Each has rows of its own, as any may be missing."""
    table = numbers(size).with_columns(pl.when(pl.all() > 0.1).then(pl.all()))
    return live(table, means=dict.fromkeys(names(size), (0, 1)))


def bounded_means(size: int) -> dict[str, float]:
    return live(numbers(size), means={name: (0, 1 + i) for i, name in enumerate(names(size))})


def histograms(size: int) -> dict[str, float]:
    return live(letters(size), histograms={name: list("abcd") for name in names(size)})


def medians(size: int) -> dict[str, float]:
    return live(numbers(size), medians=dict.fromkeys(names(size), (0, 10)))


def mixed(size: int) -> dict[str, float]:
    kinds: list[Callable[[str], dict[str, Any]]] = [
        lambda name: {"sums": {name: (0, 1)}},
        lambda name: {"means": {name: (0, 2)}},
        lambda name: {"count": True, "where": f"{name} > 0.5"},
        lambda name: {"variances": {name: (0, 1)}},
        lambda name: {"medians": {name: (0, 1)}},
    ]
    questions = [{"name": f"q{i}", **kinds[i % len(kinds)](name)} for i, name in enumerate(names(size))]
    return live(numbers(size), questions=questions)


def medians_of_groups(size: int) -> dict[str, float]:
    return live(keyed(size), medians={"x0": (0, 1)}, by={"key": list(range(size))})


def means_of_groups(size: int) -> dict[str, float]:
    return live(keyed(size), means={"x0": (0, 1)}, count=True, by={"key": list(range(size))})


def iterations(size: int) -> dict[str, float]:
    clock = Clock()
    release = gm.release(gm.Request(keyed(size), count=True, by={"key": list(range(size))}, guarantee=G))
    clock("iteration", lambda: list(release))
    clock("each key", lambda: [release[key] for key in range(size)])
    return clock.seconds


def found_keys(size: int) -> dict[str, float]:
    """Each person has five rows, and one group of them counts."""
    return live(keyed(size, 5 * size), unit="person", by={"key": "found"}, count=True, groups_per_unit=1)


def text_values(size: int) -> dict[str, float]:
    values = [f"value {i}" for i in range(size)]
    table = pl.DataFrame({"x": pl.Series(values)[np.random.default_rng().integers(0, size, 200_000)]})
    return live(table, histograms={"x": values})


def files_of(ending: str) -> Callable[[int], dict[str, float]]:
    def small_files(size: int) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            for i in range(size):
                path = Path(folder) / f"{i}.{ending}"
                numbers(4, 100).write_csv(path) if ending == "csv" else numbers(4, 100).write_ndjson(path)
            return live(f"{folder}/*.{ending}", sums=dict.fromkeys(names(4), (0, 1)))

    return small_files


def ledgers(size: int) -> dict[str, float]:
    """A release on a ledger with so many entries."""
    little = gm.Guarantee(mu=2.0**-10)
    with tempfile.TemporaryDirectory() as folder:
        ledger = gm.Ledger.create(Path(folder) / "ledger", gm.Guarantee(mu=1))
        for i in range(size):
            ledger.reserve(f"old {i}", "request", little, neighbours="add-remove", unit=())
        request, clock = gm.Request(numbers(1), sums={"x0": (0, 1)}, guarantee=little), Clock()
        gm.release(request, ledger=ledger, id="first")
        clock("five releases", lambda: [gm.release(request, ledger=ledger, id=f"{i}") for i in range(5)])
    return clock.seconds


def groups_on_spark(size: int) -> dict[str, float]:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        keyed(size).write_parquet(f"{folder}/rows.parquet")
        table = session.read.parquet(f"{folder}/rows.parquet")
        by = {"key": list(range(size))}
        clock = Clock(java.java_of(session))
        return live(table, clock, unit="person", groups_per_unit=1, by=by, sums={"x0": (0, 1)}, count=True)


LINEAR = 1.3
"""At most; a square would be 2. Seconds of one run differ by a third on a busy machine."""

AXES: dict[str, tuple[int, Callable[[int], dict[str, float]], float]] = {
    "columns of tables": (5, marginals, LINEAR),
    "proportions": (250, proportions, LINEAR),
    "columns of a regression": (10, regression, 2.5),  # products of two columns
    "means that may be missing": (200, missing_means, LINEAR),
    "means with different bounds": (75, bounded_means, 1.6),  # one dense noise
    "histograms": (60, histograms, LINEAR),
    "medians": (5, medians, LINEAR),
    "mixed questions": (20, mixed, LINEAR),
    "groups of a median": (250, medians_of_groups, LINEAR),
    "groups of a mean and a count": (20_000, means_of_groups, LINEAR),
    "groups of a release": (2_500, iterations, LINEAR),
    "keys that are found": (40_000, found_keys, LINEAR),
    "values of a histogram of text": (250, text_values, LINEAR),
    "files of CSV": (100, files_of("csv"), LINEAR),
    "files of JSON lines": (100, files_of("ndjson"), LINEAR),
    "entries of a ledger": (100, ledgers, 0.5),
    "groups on Spark": (250, groups_on_spark, LINEAR),
}
"""What there are many of: how many, what is measured, and the exponent that is claimed of each of its steps."""


def measure_axis(size: int, work: Callable[[int], dict[str, float]], rounds: int) -> dict[str, tuple[float, float]]:
    """The least seconds of each step at a size and at four times that; a first run is not measured."""
    work(size - 1)
    found = [(work(size + turn), work(4 * (size + turn))) for turn in range(rounds)]
    return {step: tuple(min(run[k][step] for run in found) for k in (0, 1)) for step in found[0][0]}  # type: ignore[misc]


def judge_axes(chosen: Sequence[str], rounds: int) -> bool:
    """Print the exponent of each step of each axis; whether all are as claimed."""
    found = Findings("growth_axes", "Growth of requests: exponents of processor time")
    for name in chosen:
        size, work, most = AXES[name]
        for step, (small, large) in measure_axis(size, work, rounds).items():
            slope = math.log((large + STEADY) / (small + STEADY)) / math.log(4)
            detail = f"{small:.3f} s at {size:,}, {large:.3f} s at {4 * size:,}"
            found.say(f"{name}: {step}", slope, detail, at_most=most)
    return found.keep() == 0


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        series, small, first, path, size = sys.argv[2:]
        child(series, small, int(first), path, int(size))
        return 0
    parser = argparse.ArgumentParser(description="How time and memory of a release grow.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(SERIES), choices=list(SERIES), metavar="SERIES")
    parser.add_argument("--axes", nargs="*", choices=list(AXES), metavar="AXIS", help="of requests alone; all or some")
    options = parser.parse_args()
    if options.axes is not None:
        return 0 if judge_axes(options.axes or list(AXES), ROUNDS_OF_AXES) else 1
    found: dict[str, Any] = {}
    held = judge_axes(list(AXES), ROUNDS_OF_AXES)
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

"""Claims: Spark adds up exact codes at no more than 1.5 × the cost of its own plain sum, DuckDB hands them over at no

more than 1.6 ×, and memory on DuckDB does not grow with the number of rows. 16 columns of Parquet, every guard on.

Calls take turns, so that other work on the machine falls on all alike. The ratio is that of processor seconds, which
other work hardly touches (of Spark: those of its Java, best of the rounds after warming up); elapsed ones stand beside.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gaussmith.codes import BallCodes, BoxCodes
from gaussmith.sums import open_source, total
from gaussmith.sums.spark import open_session

ROWS, COLUMNS, FILES = 1_000_000, 16, 5
NAMES = [f"x{j}" for j in range(COLUMNS)]
BOX = BoxCodes.for_bounds([0.0] * COLUMNS, [100.0] * COLUMNS, [50.0] * COLUMNS)
BALL = BallCodes(np.full(COLUMNS, 50.0), 100.0)
CLAIM_SPARK, CLAIM_DUCKDB, CLAIM_MEMORY = 1.5, 1.6, 1.25

Times = dict[str, list[tuple[float, float]]]


def compare(calls: dict[str, Callable[[], object]], processor: Callable[[], float], rounds: int) -> Times:
    """Elapsed and processor seconds of each call, taken in turn."""
    found: Times = {name: [] for name in calls}
    for turn in range(rounds):
        for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
            before, start = processor(), time.perf_counter()
            calls[name]()
            found[name].append((time.perf_counter() - start, processor() - before))
    return found


def show(title: str, times: Times, claim: float, warm: int) -> None:
    """The best of the rounds after the first few, over that of the plain sum."""
    best = {name: [min(column) for column in zip(*runs[warm:], strict=True)] for name, runs in times.items()}
    elapsed, used = best.pop("plain")
    print(f"  {title}, {ROWS * FILES:,} × {COLUMNS}: plain sum {elapsed:.2f} s, {used:.2f} s of processors")
    for name, (seconds, processor) in best.items():
        ratio = processor / used
        verdict = f" (claim: at most {claim}) {'✓' if ratio <= claim else '✗'}" if name == "box" else ""
        print(f"    {name}: {ratio:.2f} × the plain sum, {seconds / elapsed:.2f} × on the clock{verdict}")


def sum_on_spark(folder: Path, rounds: int) -> None:
    session = open_session("local[2]")
    frame = session.read.parquet(str(folder))
    java = session._jvm.ProcessHandle.current().pid()

    def processor() -> float:
        fields = Path(f"/proc/{java}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    calls: dict[str, Callable[[], object]] = {
        "plain": lambda: frame.selectExpr(*(f"sum({name})" for name in NAMES)).collect(),
        "box": lambda: total(open_source(frame), BOX, NAMES),
        "ball": lambda: total(open_source(frame), BALL, NAMES),
    }
    show("Spark", compare(calls, processor, rounds), CLAIM_SPARK, warm=min(2, rounds - 1))
    session.stop()


def sum_on_duckdb(folder: Path, rounds: int) -> None:
    import duckdb

    connection = duckdb.connect()
    relation = connection.read_parquet(str(folder / "*.parquet"))
    calls: dict[str, Callable[[], object]] = {
        "plain": lambda: relation.aggregate(", ".join(f"sum({name})" for name in NAMES)).fetchall(),
        "box": lambda: total(open_source(relation), BOX, NAMES),
        "ball": lambda: total(open_source(relation), BALL, NAMES),
    }
    show("DuckDB", compare(calls, time.process_time, rounds), CLAIM_DUCKDB, warm=1)


def peak(folder: Path, files: int) -> float:
    """Peak megabytes of a process that sums so many files with DuckDB."""
    command = [sys.executable, __file__, "--memory", str(folder), "--files", str(files)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--memory")
    parser.add_argument("--files", type=int)
    options = parser.parse_args()
    if options.memory:
        paths = sorted(str(path) for path in Path(options.memory).glob("*.parquet"))[: options.files]
        relation: Any = __import__("duckdb").connect().read_parquet(paths)
        total(open_source(relation), BOX, NAMES)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        random = np.random.default_rng()
        frame = pl.DataFrame({column: random.normal(50, 40, ROWS) for column in NAMES})
        frame.write_parquet(folder / "00.parquet", compression="zstd", row_group_size=1 << 18)
        for i in range(1, 4 * FILES):
            os.link(folder / "00.parquet", folder / f"{i:02}.parquet")
        few, many = peak(folder, FILES), peak(folder, 4 * FILES)
        for i in range(FILES, 4 * FILES):
            (folder / f"{i:02}.parquet").unlink()
        sum_on_duckdb(folder, options.rounds)
        holds = "✓" if many <= few * CLAIM_MEMORY else "✗"
        print(
            f"    memory: {few:.0f} MB, of four times the rows {many:.0f} MB (claim: at most ×{CLAIM_MEMORY}) {holds}"
        )
        sum_on_spark(folder, options.rounds)


if __name__ == "__main__":
    main()

"""Claims: exact coded sums cost at most 1.3 × Polars' plain sum of a Parquet file, in memory that does not grow with

the file, and at most 3 × a clip and a sum in numpy. Every guard is on: missing values, clamping, integers of any size.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from gaussmith.domains.encoding import BallEncoding, BoxEncoding, Encoding
from gaussmith.engines.registry import open_source
from gaussmith.totals.records import RecordTotals

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings, in_turn

ROWS, COLUMNS, FILES = 1_000_000, 16, 20
NAMES = [f"x{j}" for j in range(COLUMNS)]
BOX = BoxEncoding.for_bounds([0.0] * COLUMNS, [100.0] * COLUMNS, [50.0] * COLUMNS)
BALL = BallEncoding(np.full(COLUMNS, 50.0), 100.0)
CLAIM_FILES, CLAIM_ARRAYS, CLAIM_MEGABYTES = 1.3, 3.0, 1500


def best_of(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    return {name: min(times) for name, times in in_turn(calls, rounds).items()}


def add_plainly(path: str) -> None:
    pl.scan_parquet(path).select(pl.col(NAMES).sum()).collect(engine="streaming")


def add_up(source: object, codes: Encoding = BOX) -> None:
    opened = open_source(source)
    RecordTotals(opened.names).total(opened, codes, None)


def add_exactly(path: str, codes: Encoding = BOX) -> None:
    add_up(path, codes)


def sum_files(found: Findings, folder: Path) -> None:
    """One file, and 20 copies of it (links count once): time against the plain sum, and linear in the size."""
    random = np.random.default_rng()
    one = folder / "00.parquet"
    frame = pl.DataFrame({name: random.normal(50, 40, ROWS) for name in NAMES})
    frame.write_parquet(one, compression="zstd", row_group_size=1 << 18)
    for i in range(1, FILES):
        shutil.copyfile(one, folder / f"{i:02}.parquet")
    seconds = {}
    for count, path, rounds in ((1, str(one), 9), (FILES, str(folder / "*.parquet"), 3)):
        best = best_of(
            {
                "plain": lambda path=path: add_plainly(path),
                "box": lambda path=path: add_exactly(path),
                "ball": lambda path=path: add_exactly(path, BALL),
            },
            rounds,
        )
        seconds[count] = best["box"]
        title, detail = f"Parquet, {count} million × {COLUMNS}", f"{best['box']:.3f} s / {best['plain']:.3f} s"
        found.say(f"{title}: coded / plain sum", best["box"] / best["plain"], detail, at_most=CLAIM_FILES)
        found.say(f"{title}: clipped to a ball / plain sum", best["ball"] / best["plain"])
    growth = seconds[FILES] / seconds[1]
    found.say(f"{FILES} times the rows / one time, seconds", growth, at_most=FILES * CLAIM_FILES)
    command = [sys.executable, __file__, "memory", str(folder / "*.parquet")]
    peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found.say(f"peak megabytes of {FILES} million rows", peak, at_most=CLAIM_MEGABYTES)


def sum_frames(found: Findings) -> None:
    """In memory and on DuckDB, for the record: no claim."""
    import duckdb

    random = np.random.default_rng()
    frame = pl.DataFrame({name: random.normal(50, 40, ROWS) for name in NAMES})
    connection = duckdb.connect()
    connection.register("data", frame.to_arrow())
    relation = connection.sql("select * from data")
    plain = "select " + ", ".join(f"sum({name})" for name in NAMES) + " from data"
    best = best_of(
        {
            "Polars frame": lambda: add_up(frame),
            "DuckDB relation": lambda: add_up(relation),
            "DuckDB plain sum": lambda: connection.sql(plain).fetchall(),
        },
        3,
    )
    for name, value in best.items():
        found.say(f"{name}, {ROWS:,} × {COLUMNS} in memory, seconds", value)


def sum_arrays(found: Findings) -> None:
    rows = np.random.default_rng().normal(50, 40, (ROWS, COLUMNS))
    layouts = {
        "C order": rows,
        "Fortran order": np.asfortranarray(rows),
        "C order, float32": rows.astype(np.float32),
        "Fortran order, float32": np.asfortranarray(rows, np.float32),
        "whole numbers": rows.astype(np.int64),
    }
    for name, array in layouts.items():
        best = best_of(
            {
                "plain": lambda array=array: np.clip(array, 0, 100).sum(axis=0),
                "box": lambda array=array: add_up(array),
            },
            7,
        )
        found.say(f"numpy, {name}: coded / clip and sum", best["box"] / best["plain"], at_most=CLAIM_ARRAYS)


def main() -> int:
    if sys.argv[1:2] == ["memory"]:
        add_exactly(sys.argv[2])
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return 0
    found = Findings("sums", "Exact sums of codes")
    sum_arrays(found)
    sum_frames(found)
    with tempfile.TemporaryDirectory() as folder:
        sum_files(found, Path(folder))
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

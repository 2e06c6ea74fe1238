"""Claims: a release from text files and Arrow files costs little more than the engine's own sum of the same columns.

CSV of floats, integers, two decimals, values with gaps, all fields quoted, compressed, filtered, and 2 000 columns;
JSON lines as Polars and as Python write them, filtered, in groups and by person; Arrow IPC. Calls take turns in one
process; the ratio is that of processor seconds, best of the rounds; elapsed seconds stand beside. The total reader is
on: quotes, UTF-8 and the grammar of numbers are checked.

    ./run bench files
    ./run python benchmarks/files.py --rows 100000 --only "CSV, floats"
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith import mechanism

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from beside import Call, measure
from findings import Findings

COLUMNS, WIDE = 16, 2000
REGIONS = [f"region {j}" for j in range(20)]
CLAIMS: dict[str, float | None] = {
    "CSV, floats": 1.8,
    "CSV, integers": 1.8,
    "CSV, two decimals": 1.8,
    "CSV, 1 in 20 missing": 1.8,
    "CSV, every field quoted": 1.8,
    "CSV, compressed": 1.8,
    "CSV, filtered": 1.8,
    f"CSV, {WIDE} columns": 2.5,
    "JSON lines": 2.0,
    "JSON lines with blanks": 2.0,
    "JSON lines with texts": 2.0,
    "JSON lines, filtered": 2.0,
    "JSON lines, in groups": 2.0,
    "JSON lines, by person": 2.0,
    "Arrow IPC": 1.6,
    "Arrow IPC, beside clip and sum": None,
}


def make_frame(kind: str, rows: int) -> pl.DataFrame:
    """Numbers, about a fifth of them outside the bounds 0 to 100."""
    random = np.random.default_rng(7)
    columns, rows = (WIDE, rows // 200) if str(WIDE) in kind else (COLUMNS, rows)
    rows = rows // 4 if "JSON" in kind else rows
    frame = pl.DataFrame({f"x{j}": random.normal(50, 40, rows) for j in range(columns)})
    if "integers" in kind:
        return frame.select(pl.all().round().cast(pl.Int64))
    if "floats" not in kind and kind != "JSON lines" and "IPC" not in kind:
        frame = frame.select(pl.all().round(2))
    if "missing" in kind:
        frame = frame.select(pl.when(pl.all().hash() % 20 != 0).then(pl.all()))
    if "texts" in kind:
        number = pl.int_range(pl.len()).cast(pl.String)
        frame = frame.with_columns(name="Smith, " + number, at="2024-01-01T10:00:" + number)
    if "groups" in kind or "person" in kind:
        places, people = random.integers(0, len(REGIONS), rows), random.integers(0, rows // 10, rows)
        frame = frame.with_columns(region=pl.Series(REGIONS)[places], person=people)
    return frame


def write(frame: pl.DataFrame, kind: str, folder: Path) -> Path:
    if "IPC" in kind:
        frame.write_ipc(folder / "a.arrow")
        return folder / "a.arrow"
    if "JSON" not in kind:
        with (folder / "a.csv").open("w", newline="") as file:
            style = "always" if "quoted" in kind else "necessary"
            frame.write_csv(file, quote_style=style)
        return packed(folder / "a.csv") if "compressed" in kind else folder / "a.csv"
    if "blanks" in kind:
        with (folder / "a.jsonl").open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in frame.iter_rows(named=True))
    else:
        frame.write_ndjson(folder / "a.jsonl")
    return folder / "a.jsonl"


def packed(path: Path) -> Path:
    found = path.with_suffix(".csv.gz")
    with path.open("rb") as plain, gzip.open(found, "wb", compresslevel=6) as file:
        shutil.copyfileobj(plain, file)
    path.unlink()
    return found


def calls(kind: str, path: Path, names: list[str]) -> tuple[Call, Call]:
    """A release that was planned before, from opening the file on; and the plain sum, of clipped values or not."""
    scans: dict[str, Callable[[Any], pl.LazyFrame]] = {
        ".csv": pl.scan_csv,
        ".gz": pl.scan_csv,
        ".jsonl": pl.scan_ndjson,
        ".arrow": pl.scan_ipc,
    }
    asked: dict[str, Any] = {"sums": dict.fromkeys(names, (0, 100)), "missing": dict.fromkeys(names, 0)}
    scan, added = scans[path.suffix], pl.col(names).clip(0, 100).sum() if "clip" in kind else pl.col(names).sum()
    work: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda lazy: lazy.select(added)  # noqa: E731
    if "filtered" in kind:
        asked["where"] = "x0 > 20 and x1 < 90"
        work = lambda lazy: lazy.filter(pl.col("x0") > 20, pl.col("x1") < 90).select(added)  # noqa: E731
    if "groups" in kind:
        asked["by"] = {"region": REGIONS}
        work = lambda lazy: lazy.group_by("region").agg(added)  # noqa: E731
    if "person" in kind:
        asked |= {"unit": "person"}
        work = lambda lazy: lazy.group_by("person").agg(added).select(added)  # noqa: E731
    plan = gm.Request(str(path), guarantee=gm.Guarantee(mu=1), **asked).plan
    plain = lambda: work(scan(path)).collect(engine="streaming")  # noqa: E731
    return lambda: mechanism.release(mechanism.prepare_request(plan, str(path))), plain


def main() -> int:
    parser = argparse.ArgumentParser(description="Releases from files of every format, beside plain sums.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    found = Findings("files", f"Formats of files: {options.rows / 1e6:g} million × {COLUMNS}")
    for kind, most in CLAIMS.items():
        if options.only and kind not in options.only:
            continue
        with tempfile.TemporaryDirectory() as name:
            frame = make_frame(kind, options.rows)
            path = write(frame, kind, Path(name))
            ours, plain = calls(kind, path, [column for column in frame.columns if column.startswith("x")])
            del frame
            measure(found, kind, ours, plain, most, options.rounds)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

"""Claim: a small release on the command line costs little more than starting the libraries it needs.

`gaussmith release` on 1 000 rows beside a Polars script that clips and adds up the same columns, and beside a script
that only imports the libraries a release needs: numpy, Polars and cryptography. Each is a process of its own; they take
turns; the figure is processor seconds of the whole process, best of the rounds.

The first claim is just met: 1.37 to 1.40 on a quiet machine; it was 2.75. In milliseconds of the processor, part after
part in one process: Python itself 8, numpy 28, Polars 80, 210 modules of Gaussmith 24, options and planning 8, opening
the file, sums, noise and printing 12; the whole release 160, the Polars script 115. With these libraries it is at least
1.23 (instructions of importing them over those of the script).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings

PLAIN = """import polars as pl
sums = pl.col("age").clip(0, 100).sum(), pl.col("spent").clip(0, 500).sum(), pl.len()
print(pl.scan_parquet("t.parquet").select(*sums).collect())
"""
LIBRARIES = "import numpy, polars, cryptography.hazmat.primitives.ciphers"
REQUEST = """source = "t.parquet"
count = true
[sums]
age = [0, 100]
spent = [0, 500]
[guarantee]
epsilon = 1
delta = 1e-6
"""


def processor_seconds(command: list[str], folder: str) -> float:
    """Of one process and what it started."""
    settings = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=settings, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description="Start-up of the command line.")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    found = Findings("start", "Start-up: 1 000 rows on the command line")
    draw = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        frame = pl.DataFrame({"age": draw.integers(0, 90, 1000), "spent": draw.random(1000) * 500})
        frame.write_parquet(Path(folder) / "t.parquet")
        (Path(folder) / "plain.py").write_text(PLAIN, "utf-8")
        (Path(folder) / "request.toml").write_text(REQUEST, "utf-8")
        calls = {
            "plain": [sys.executable, "plain.py"],
            "libraries": [sys.executable, "-c", LIBRARIES],
            "release": [sys.executable, "-m", "gaussmith", "release", "request.toml"],
            "help": [sys.executable, "-m", "gaussmith", "--help"],
        }
        for call in calls.values():
            processor_seconds(call, folder)  # byte code is written, files are warm
        used: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(options.rounds):
            for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
                used[name].append(processor_seconds(calls[name], folder))
    best = {name: min(times) for name, times in used.items()}
    over_plain = f"{best['release']:.3f} s / {best['plain']:.3f} s of the processor"
    found.say(
        "release of two sums of 1 000 rows over a Polars script, processor time",
        best["release"] / best["plain"],
        over_plain,
        at_most=1.4,
    )
    over_floor = f"{best['release']:.3f} s / {best['libraries']:.3f} s of the processor"
    ratio = best["release"] / best["libraries"]
    found.say(
        "release of two sums of 1 000 rows over importing its libraries, processor time", ratio, over_floor, at_most=1.2
    )
    found.say("help text over a Polars script, processor time", best["help"] / best["plain"], "", at_most=0.5)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

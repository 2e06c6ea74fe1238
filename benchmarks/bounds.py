"""Claim: a release that learns its bounds costs at most 2.2 times one that was given them, 20 million rows of Parquet.

The one with private bounds reads the column twice: log cells first, then what is asked.
Calls take turns; the ratio is that of processor seconds, best of the rounds; elapsed seconds stand beside.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import gaussmith as gm

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings

CLAIM = 2.2


def main() -> int:
    parser = argparse.ArgumentParser(description="Private bounds beside given ones.")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    found = Findings("bounds", f"Private bounds: {options.rows / 1e6:g} million rows")
    guarantee = gm.Guarantee(epsilon=1, delta=1e-6)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.parquet")
        values = np.random.default_rng(7).lognormal(3, 1, options.rows)
        pl.DataFrame({"x": values}).write_parquet(path, row_group_size=1 << 18)
        calls = {
            "given": gm.Request(path, means={"x": (0, 1000)}, guarantee=guarantee),
            "private": gm.Request(path, means={"x": "private"}, guarantee=guarantee),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
        for turn in range(options.rounds):
            for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
                before, start = time.process_time(), time.perf_counter()
                gm.release(calls[name])
                times[name].append((time.process_time() - before, time.perf_counter() - start))
    used, elapsed = ([min(run[k] for run in times[name]) for name in ("private", "given")] for k in (0, 1))
    detail = f"{used[0]:.2f} s / {used[1]:.2f} s of the processor, {elapsed[0]:.2f} s / {elapsed[1]:.2f} s elapsed"
    found.say("private bounds over given ones, processor time", used[0] / used[1], detail, at_most=CLAIM)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

"""What every script here does with its five jobs: repeats them, and prints the answers as JSON.

Standard library only, because it runs inside the environment of each library.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import metadata

BOUNDS = {"age": (0.0, 110.0), "wage": (0.0, 100.0), "hours": (0.0, 60.0)}
REGIONS = ["north", "south", "east"]
EPSILON, DELTA = 1.0, 1e-6
NAMES = ("count_people", "three_sums", "three_means", "mean_by_region", "count_by_region")


def tell(package: str, jobs: dict[str, Callable[[str], list[float]]]) -> None:
    """Arguments: a Parquet file, the most repetitions, and seconds for each job."""
    path, most, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    answers: dict[str, list[list[float]]] = {}
    failed: dict[str, str] = {}
    for name in NAMES:
        start = time.perf_counter()
        found: list[list[float]] = []
        try:
            while len(found) < 3 or (len(found) < most and time.perf_counter() - start < seconds):
                found.append([float(x) for x in jobs[name](path)])
            answers[name] = found
        except Exception as error:  # a library's own
            failed[name] = f"{type(error).__name__}: {error}"[:200]
            print(f"{name}: {error}", file=sys.stderr)
    print(json.dumps({"answers": answers, "failed": failed, "version": metadata.version(package)}))

"""What every script here does: one release of a small table, a timed one of the large table, and a line of JSON.

Standard library only, for it runs inside the environment of each peer.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata

EPSILON, DELTA = 1.0, 1e-6
GROUPS = 1000
"""Where the first column is called key, the second is summed for each of the keys 0, 1 … so many."""

Release = Callable[[str, int, Sequence[str]], tuple[Sequence[float], float]]
"""From a Parquet file, its number of rows (for those who must be told a bound) and its columns, all in [0, 1]:
the sums, and the standard deviation of the noise that the tool itself states."""


def measure(release: Release, *packages: str, finish: Callable[[], None] | None = None) -> None:
    """Print one JSON object: seconds, processor seconds, peak memory, the answers, stated error, versions."""
    columns = json.loads(sys.argv[3])
    warm, rows = sys.argv[1], int(sys.argv[4])
    release(warm, 1000, columns[:2])  # the first call of any of them loads what it needs later
    seconds, processor, values, stated = [], [], [], 0.0
    while len(seconds) < 7 and sum(seconds) < 1.5:  # quick ones several times: the machine has other work too
        start, used = time.perf_counter(), time.process_time()
        answers, stated = release(sys.argv[2], rows, columns)
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
        values.append([float(answer) for answer in answers])
    others = finish is not None
    if finish is not None:
        finish()
    memory = [peak_megabytes(), peak_megabytes(resource.RUSAGE_CHILDREN) if others else 0.0]
    found = {
        "seconds": statistics.median(seconds),
        "processor_seconds": None if others else statistics.median(processor),
        "megabytes": max(memory),
        "values": values,
        "stated": float(stated),
        "versions": {name: version(name) for name in packages},
    }
    print(json.dumps(found))


def peak_megabytes(who: int = resource.RUSAGE_SELF) -> float:
    """The most memory ever resident. Linux's ru_maxrss also remembers the process that this one was forked from."""
    if who == resource.RUSAGE_SELF and os.path.exists("/proc/self/status"):
        with open("/proc/self/status", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("VmHWM"):
                    return float(line.split()[1]) / 2**10
    return resource.getrusage(who).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def version(package: str) -> str:
    """Of an installed package, or of one that is run from its sources."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return str(getattr(sys.modules[package], "__version__", "unknown"))

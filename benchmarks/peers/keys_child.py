"""What every script of found keys does: releases of one table, and a line of JSON with the keys shown and their counts.

Standard library only, for it runs inside the environment of each peer. The table has a row per person and key, nobody
in more than `most` groups: all that the tools drop or clip is nothing.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping

from child import version

EPSILON, DELTA = 1.0, 1e-5

Release = Callable[[str, int], Mapping[str, float]]
"""From a Parquet file with columns person and key, and the most groups of a person: the counts of the keys shown."""


def measure(release: Release, *packages: str, finish: Callable[[], None] | None = None) -> None:
    """Print one JSON object: the answers of each release, seconds of one, versions."""
    path, most, runs, patience = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    start = time.perf_counter()
    answers = []
    while len(answers) < runs and (not answers or time.perf_counter() - start < patience):
        answers.append({key: float(value) for key, value in release(path, most).items()})
    seconds = (time.perf_counter() - start) / len(answers)
    if finish is not None:
        finish()
    print(json.dumps({"answers": answers, "seconds": seconds, "versions": {name: version(name) for name in packages}}))

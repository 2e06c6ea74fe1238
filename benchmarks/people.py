"""Claim: a release by 1000 declared groups costs at most 2 × plain sums by person and then by group in Polars.

10 million rows, a million people, less than 4 GB. Every rule is on: missing values, integers, clamped totals, few
groups per person, scaled rows. Totals alone, and whole releases: planned, summed, noise added, decoded, as a table.
Calls take turns; the ratio is that of processor seconds, best of the rounds, and elapsed seconds stand beside.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.registry import open_source
from gaussmith.expressions.keys import declare_groups
from gaussmith.expressions.spelling import kinds_of, plan_derivation
from gaussmith.totals.features import Coding, Contribution, PersonTotal, RowCount, RowSum
from gaussmith.totals.people import PeopleTotals

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from beside import measure
from findings import Findings

ROWS, PEOPLE, GROUPS = 10_000_000, 1_000_000, 1000
CLAIM_RATIO, CLAIM_GIGABYTES, ROUNDS = 2.0, 4.0, 5


def coding(low: float, high: float) -> Coding:
    return Coding.of(BoxEncoding.for_bounds([low], [high], [low]))


SPENT = PersonTotal("spent", coding(0, 200))
SCORE = (RowSum("score", coding(0, 100)), RowCount())
TASKS = {
    "sum, 1 group per person": (Contribution((SPENT,), "person"), 1),
    "sum, 3 groups per person": (Contribution((SPENT,), "person"), 3),
    "sum and mean, 1 group per person": (Contribution((SPENT, *SCORE), "person", max_rows=12), 1),
    "each row a person": (Contribution((SPENT,)), 1),
}


REQUESTS: dict[str, dict[str, Any]] = {
    "whole release, sum and count": {"sums": {"spent": (0, 200)}, "count": True},
    "whole release, sum, mean and count": {
        "sums": {"spent": (0, 200)},
        "means": {"score": (0, 100)},
        "rows_per_unit": 12,
        "count": True,
    },
}


def make(path: Path) -> None:
    random = np.random.default_rng()
    regions = np.array([f"region {i}" for i in range(GROUPS)])
    columns = {
        "person": random.integers(0, PEOPLE, ROWS),
        "region": pl.Series(regions)[random.integers(0, GROUPS, ROWS)],
        "spent": random.gamma(2, 10, ROWS),
        "score": random.normal(50, 20, ROWS),
    }
    pl.DataFrame(columns).write_parquet(path)


def add_plainly(path: str, columns: list[str]) -> None:
    by_person = pl.scan_parquet(path).group_by("person", "region").agg(pl.col(columns).sum())
    by_person.group_by("region").agg(pl.col(columns).sum()).collect(engine="streaming")


def add_people(path: str, task: str) -> None:
    units, m = TASKS[task]
    source = open_source(path)
    everything = plan_derivation({}, None, kinds_of(source.schema))
    groups = declare_groups(["region"], [(f"region {i}",) for i in range(GROUPS)], everything.kinds)
    PeopleTotals(units, everything, groups, m).total(source)


def release_people(path: str, task: str) -> None:
    by = {"region": [f"region {i}" for i in range(GROUPS)]}
    guarantee = gm.Guarantee(epsilon=1, delta=1e-6)
    gm.release(
        gm.Request(path, unit="person", groups_per_unit=1, by=by, guarantee=guarantee, **REQUESTS[task])
    ).to_polars()


def run(path: str, task: str) -> None:
    (add_people if task in TASKS else release_people)(path, task)


def columns_of(task: str) -> int:
    """How many columns a task adds up."""
    return len(TASKS[task][0].features) if task in TASKS else 1 + ("means" in REQUESTS[task])


def peak_gigabytes() -> float:
    """The most memory this process has had. Linux hands `ru_maxrss` down from the parent; its own status does not."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> int:
    if sys.argv[1:2] == ["memory"]:
        run(sys.argv[2], sys.argv[3])
        print(peak_gigabytes())
        return 0
    found = Findings("people", "10M rows of 1M people in 1000 declared groups")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        make(path)
        file = str(path)
        for task in (*TASKS, *REQUESTS):
            columns = ["spent", "score"] if columns_of(task) > 1 else ["spent"]
            plain = lambda c=columns: add_plainly(file, c)  # noqa: E731
            measure(found, task, lambda t=task: run(file, t), plain, CLAIM_RATIO, ROUNDS)
            command = [sys.executable, __file__, "memory", file, task]
            peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            found.say(f"{task}, peak gigabytes", peak, at_most=CLAIM_GIGABYTES)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())

"""Release every week, charged to a ledger that refuses any week that would exceed the budget.

    python examples/weekly_job.py FOLDER [WEEK]

Creates FOLDER with a ledger for the whole year and a table for every week, and releases week after week until the
ledger refuses. With a WEEK (such as 2024-W05), releases only that one. The job can be restarted at any time: a week
that was released returns the same bytes and costs nothing, and a week that crashed continues under its charge.
Exit code: 0 done, 3 refused, as on the command line.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith.errors import BudgetError

YEAR = gm.Guarantee(epsilon=3, delta=1e-6)  # promised to the people in the data, for all releases together
WEEK = gm.Guarantee(epsilon=1, delta=1e-6)  # what one release takes


def make_week(file: Path) -> None:
    """Write one week of made-up visits. The same people come back every week, so the releases add up."""
    rng = np.random.default_rng()
    rows = 5_000
    person = rng.integers(0, 2_000, rows)
    table = {"person": person, "minutes": rng.gamma(2.0, 12.0, rows).round(), "ward": rng.choice(["a", "b", "c"], rows)}
    pl.DataFrame(table).write_parquet(file)


def release_week(folder: Path, week: str) -> int:
    """Release one week and write it to a file. Return 3 if the ledger refuses; nothing is then read or charged."""
    data = folder / "visits" / f"{week}.parquet"
    if not data.exists():
        make_week(data)
    request = gm.Request(
        str(data),
        unit="person",
        groups_per_unit=1,
        sums={"minutes": (0, 240)},
        count=True,
        by={"ward": ["a", "b", "c"]},
        guarantee=WEEK,
    )
    try:
        release = gm.release(request, ledger=folder / "year.ledger", id=week)
    except BudgetError as refused:
        print(f"{week}: refused. {refused}")
        return refused.exit_code
    (folder / f"{week}.json").write_text(release.to_json() + "\n", encoding="utf-8")
    left = gm.Ledger(folder / "year.ledger").remaining_epsilon
    visitors = release.total()["count"]
    print(f"{week}: {visitors.value:,.0f} ± {visitors.standard_error:.0f} people; ε = {left:.3f} left of the year")
    return 0


def main(folder: Path, weeks: list[str]) -> int:
    (folder / "visits").mkdir(parents=True, exist_ok=True)
    if not (folder / "year.ledger").exists():
        gm.Ledger.create(folder / "year.ledger", YEAR)
    for week in weeks:
        code = release_week(folder, week)
        if code:
            return code
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit((__doc__ or "").split("\n\n")[1])
    chosen = sys.argv[2:] or [f"2024-W{week:02d}" for week in range(1, 53)]
    sys.exit(main(Path(sys.argv[1]), chosen))

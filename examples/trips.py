"""Trips with many rows per rider: the rider is protected, not the single trip.

    python examples/trips.py [FOLDER]

The trips are made up, so the true values can be printed next to the release. Some riders make hundreds of trips: with
`unit` and `rows_per_unit` they are protected like anyone else. Without these, the answers could reveal one of them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import gaussmith as gm

RIDERS, ZONES = 20_000, ["centre", "harbour", "hills", "airport"]


def make_trips(file: Path) -> pl.DataFrame:
    """Write made-up trips: riders make from one to a hundred trips, most of them in their home zone."""
    rng = np.random.default_rng()
    trips = 1 + rng.geometric(0.15, RIDERS) * (1 + 9 * (rng.random(RIDERS) < 0.02))
    rider = np.repeat(np.arange(RIDERS), trips)
    home = rng.choice(ZONES, RIDERS, p=[0.5, 0.2, 0.25, 0.05])
    away = rng.choice(ZONES, len(rider))
    table = pl.DataFrame(
        {
            "rider": rider,
            "zone": np.where(rng.random(len(rider)) < 0.8, home[rider], away),
            "km": rng.gamma(2.0, 3.0, len(rider)).round(1),
            "fare": rng.gamma(3.0, 4.0, len(rider)).round(2),
        }
    )
    table.sample(fraction=1.0, shuffle=True).write_parquet(file)
    return table


def main(folder: Path) -> None:
    file = folder / "trips.parquet"
    trips = make_trips(file)
    guarantee = gm.Guarantee(epsilon=1, delta=1e-6)

    request = gm.Request(
        str(file),
        unit="rider",  # everything a rider did is protected together
        rows_per_unit=20,  # at most 20 trips per rider count in the mean; riders with more are scaled down
        sums={"fare": (0, 1000)},  # bounds on what one rider paid in total
        means={"km": (0, 30)},  # bounds on one trip
        count=True,  # riders
        guarantee=guarantee,
    )
    print(request.plan)
    release = gm.release(request)
    print(f"\n{release}\n")
    truth = {"fare_sum": trips["fare"].sum(), "km_mean": trips["km"].mean(), "count": trips["rider"].n_unique()}
    print("without privacy, clipping and limits:", {name: round(float(value), 2) for name, value in truth.items()})  # type: ignore[arg-type]

    by_zone = gm.Request(
        str(file),
        unit="rider",
        rows_per_unit=20,
        groups_per_unit=2,  # a rider counts in the two zones with the most of that rider's trips
        by={"zone": [*ZONES, "islands"]},  # nobody rides on the islands, but the group is answered anyway
        means={"km": (0, 30)},
        count="rows",
        where="fare > 0",
        guarantee=guarantee,
    )
    zones = gm.release(by_zone)
    print(f"\n{zones}")
    if len(sys.argv) > 1:
        zones.to_polars().write_csv(folder / "zones.csv")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))

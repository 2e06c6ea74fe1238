"""Keys in one stage and keys first: how many are shown, and how far their counts are from those of all people.

The table is Zipf(1): 100 000 people in 1 to 300 groups each (median 4), one row for each. Nobody is cut beforehand, so
that a release has to choose m groups of a person; the error of a count has what this leaves out, and noise. Names of
keys say nothing about their size. Errors are compared on the keys that both ways have shown.

    ./run python benchmarks/keys_first.py --runs 3 --most 1 3 10 30

Claim: from m = 3 on the error is smaller where keys are found first, with fewer keys.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings

import gaussmith as gm

PEOPLE, SEED = 100_000, 7
WAYS: dict[str, dict[str, Any]] = {
    "one stage": {},
    "keys first, 25 %": {"keys_first": True, "budget": {"keys": 0.25}},
    "keys first, 50 %": {"keys_first": True},
}


def make_table() -> pl.DataFrame:
    """A row per person and key."""
    rng = np.random.default_rng(SEED)
    groups = np.clip(np.exp(rng.normal(1.5, 1.0, PEOPLE)).astype(int), 1, 300)
    person = np.repeat(np.arange(PEOPLE), groups)
    mass = np.cumsum(1 / np.arange(1, 1_000_001))
    key = np.searchsorted(mass / mass[-1], rng.random(len(person)))
    names = rng.permutation(1_000_000)
    table = pl.DataFrame({"person": person, "key": names[key]}).unique(maintain_order=True)
    return table.select("person", pl.format("k{}", pl.col("key")).alias("key"))


Shown = list[dict[str, float]]
"""The noisy counts of the keys that were shown, for each run."""


def measure(table: pl.DataFrame, most: int, way: dict[str, Any], runs: int) -> Shown:
    guarantee = gm.Guarantee(epsilon=1, delta=1e-5)
    request = gm.Request(
        table, unit="person", by={"key": "found"}, groups_per_unit=most, count=True, guarantee=guarantee, **way
    )
    found = [gm.release(request) for _ in range(runs)]
    return [dict(zip((key for (key,) in each.labels), np.ravel(each.values).tolist(), strict=True)) for each in found]


def error(shown: Shown, beside: Shown, truth: dict[str, int]) -> float:
    """The root mean square error of the counts of keys that were shown in both, run by run."""
    off = [one[key] - truth[key] for one, other in zip(shown, beside, strict=True) for key in one.keys() & other.keys()]
    return float(np.sqrt(np.mean(np.square(off))))


def main() -> int:
    parser = argparse.ArgumentParser(description="Keys in one stage, and keys first.")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=int, nargs="*", default=[1, 3, 10, 30])
    options = parser.parse_args()
    found = Findings(
        "keys_first", "Keys in one stage and keys first: how many are shown, and the error of their counts"
    )
    table = make_table()
    truth = dict(table.group_by("key").len().rows())
    tables: dict[str, dict[str, Any]] = {}
    for most in options.most:
        shown = {name: measure(table, most, way, options.runs) for name, way in WAYS.items()}
        one_stage = shown["one stage"]
        each = tables[str(most)] = {}
        for name, one in shown.items():
            keys = float(np.mean([len(run) for run in one]))
            each[name] = {
                "keys": keys,
                "error": error(one, one, truth),
                "of the same keys": error(one, one_stage, truth),
                "one stage, of the same keys": error(one_stage, one, truth),
                "runs": options.runs,
            }
            told = ", ".join(f"{what} {value:.4g}" for what, value in each[name].items())
            print(f"m = {most}, {name}: {told}", flush=True)
        half = each["keys first, 50 %"]
        ratio = half["of the same keys"] / half["one stage, of the same keys"]
        claims = {"at_most": 1.0} if most > 1 else {}
        found.say(f"m = {most}: error of keys first over one stage, same keys", ratio, **claims)
    return found.keep(tables=tables)


if __name__ == "__main__":
    raise SystemExit(main())

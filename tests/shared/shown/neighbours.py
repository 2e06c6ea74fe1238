"""Random tables with and without one person, through the streamed path of releases, on Polars and DuckDB."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.discovered_groups import Threshold, threshold_of

ENGINES = ("polars", "duckdb")
_PLANS: dict[str, gm.Plan] = {}
Row = tuple[Any, ...]
COLUMNS = {"person": pl.String, "town": pl.String, "year": pl.Int64, "spent": pl.Float64}


@dataclass(frozen=True)
class Pair:
    """A request, the rows of everybody, and the rows of several more people, each of whom makes a neighbour."""

    request: dict[str, Any]
    others: list[Row]
    newcomers: list[list[Row]]

    def plan(self) -> gm.Plan:
        """The plan of the request; many pairs have the same."""
        name = repr(self.request)
        if name not in _PLANS:
            _PLANS[name] = gm.Request("visits.parquet", **self.request).plan
        return _PLANS[name]


def random_pair(chance: random.Random, shared: bool = True, newcomers: int = 1) -> Pair:
    """Few towns and years, many ties; without `shared` newcomers have keys that nobody else has."""
    m = chance.choice((1, 2, 4, 5, 6))
    columns = chance.choice((("town",), ("year",), ("town", "year")))
    by: dict[str, Any] = dict.fromkeys(columns, "found")
    if len(columns) == 2 and chance.random() < 0.5:
        by["year"] = [2020, 2021, 2024]
    request: dict[str, Any] = {"unit": "person", "by": by, "groups_per_unit": m, "count": True}
    request["guarantee"] = gm.Guarantee(epsilon=1, delta=1e-5)
    if chance.random() < 0.4:
        request["where"] = "spent >= 10"
    if chance.random() < 0.4:
        request["keys_at_least"] = chance.randint(2, 4)

    def rows(person: str, own: bool) -> list[Row]:
        towns = [f"{person}-{i}" for i in range(8)] if own else [f"t{i}" for i in range(7)]
        years = range(3000, 3008) if own else range(2019, 2026)
        size = chance.choice((1, 2, 5, 12))
        return [
            (
                person if chance.random() < 0.95 else None,
                chance.choice(towns) if chance.random() < 0.9 else None,
                chance.choice(years) if chance.random() < 0.9 else None,
                float(chance.randint(0, 40)),
            )
            for _ in range(size)
        ]

    others = [row for i in range(chance.randint(0, 12)) for row in rows(f"p{i}", False)]
    return Pair(request, others, [rows("ada", not shared) for _ in range(newcomers)])


def table(rows: list[Row], chance: random.Random) -> pl.DataFrame:
    rows = chance.sample(rows, len(rows))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def stream(plan: gm.Plan, threshold: Threshold, data: pl.DataFrame, engine: str) -> dict[Row, tuple[int, int]]:
    """People and spare number of each key, as a release reads them."""
    (opened,) = mechanism.prepare_request(plan, _on(data, engine)).sources
    batches = opened.summation.stream(opened.source, threshold.spares, threshold.at_least)  # type: ignore[union-attr]
    found: dict[Row, tuple[int, int]] = {}
    for batch in batches:
        for *key, n, s in batch.rows():
            if tuple(key) in found:
                raise AssertionError("a key that came twice")
            found[tuple(key)] = (n, s)
    return found


def try_pairs(pair: Pair, engine: str, chance: random.Random) -> list[str]:
    """What is wrong with the changes that the newcomers make, one at a time; nothing where all is as charged."""
    plan = pair.plan()
    threshold = threshold_of(plan.queries[0])
    assert threshold is not None
    before = stream(plan, threshold, table(pair.others, chance), engine)
    after = [stream(plan, threshold, table(pair.others + own, chance), engine) for own in pair.newcomers]
    return [problem for each in after for problem in compare(threshold, before, each)]


def compare(threshold: Threshold, before: dict[Row, tuple[int, int]], after: dict[Row, tuple[int, int]]) -> list[str]:
    """What one more person may not have done: with j keys changed, each by one and by at most the spare number of j."""
    problems = []
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    m, k, S = threshold.at_most, threshold.at_least, threshold.spares
    if len(changed) > m:
        problems.append(f"{len(changed)} keys changed, and m is {m}")
    if not before.keys() <= after.keys():
        problems.append("a key disappeared when a person came")
    steps = set()
    for key in changed & before.keys() & after.keys():
        if after[key][0] - before[key][0] != 1:
            problems.append("a number of people that did not change by one")
        steps.add(after[key][1] - before[key][1])
    j = max(len(changed), 1)
    if len(steps) > 1 or not steps <= (set(S[j - 1 :]) if S else {0}):
        problems.append("spare numbers that changed by more than what is left")
    for key in changed - before.keys():
        n, s = after[key]
        if n != k or s > (S[min(j, m) - 1] + (k - 1) * S[0] if S else 0):
            problems.append("a key that came with more people, or a larger spare number, than the threshold hides")
    return problems


def try_alone(pair: Pair, engine: str, chance: random.Random) -> list[str]:
    """With noise that is forced, a person whose keys nobody else has alters no byte of what is released."""
    plan = pair.plan()
    crowd = [(f"c{i}", f"t{i % 2}", 2020 + i % 2, 30.0) for i in range(150)]  # so that something is shown
    size = chance.choice((-1, 0, 1, 2)) << NOISE_BITS
    with patch.object(mechanism, "normal_integers", lambda n, bits: np.full(n, size, np.int64)):
        found = [
            mechanism.release(mechanism.prepare_request(plan, _on(table(rows, chance), engine))).to_json()
            for rows in (pair.others + crowd, pair.others + crowd + pair.newcomers[0])
        ]
    if found[0] != found[1]:
        return ["a hidden key altered what is released"]
    return [] if len(json.dumps(found[0])) > 2 else ["nothing was released"]


def _on(data: pl.DataFrame, engine: str) -> Any:
    if engine == "polars":
        return data
    import duckdb

    return duckdb.connect(config={"threads": 1}).from_arrow(data.to_arrow())

"""One request on every engine: the same integers meet the noise, whoever holds the rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from engines import plain_pandas
from refusals import refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.totals.opened import total_all

TABLE = pl.DataFrame(
    {
        "person": [i % 23 for i in range(200)],
        "region": [["north", "south", "east", None][i % 4] for i in range(200)],
        "x": [None if i % 17 == 0 else (i * 37 % 101) - 20.0 for i in range(200)],
        "year": [2020 + i % 3 for i in range(200)],
    }
)


def as_csv(folder: Path) -> str:
    TABLE.write_csv(folder / "t.csv")
    return str(folder / "t.csv")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "polars": lambda folder: TABLE,
    "lazy": lambda folder: TABLE.lazy(),
    "pandas": lambda folder: plain_pandas(TABLE),
    "nullable pandas": lambda folder: TABLE.to_pandas(use_pyarrow_extension_array=True),
    "arrow": lambda folder: TABLE.to_arrow(),
    "duckdb": lambda folder: duckdb.connect().from_arrow(TABLE.to_arrow()),
    "csv": as_csv,
}

REQUESTS: dict[str, dict[str, Any]] = {
    "rows": {"sums": {"x": (-5, 60)}, "count": True},
    "means": {"sums": {"x": (-5, 60)}, "means": {"x": (0, 40), "half": (5, 50)}, "count": True,
              "columns": {"half": "x / 2"}},
    "people": {"sums": {"x": (0, 300)}, "means": {"half": (0, 50)}, "count": True, "unit": "person", "rows_per_unit": 4,
               "columns": {"half": "x / 2"}, "where": "x > -10 or is_null(x)"},
    "groups": {"means": {"x": (0, 90)}, "count": "rows", "unit": "person", "rows_per_unit": 2, "groups_per_unit": 2,
               "by": {"region": ["south", "north", "west"], "year": [2020, 2021]}},
    "histogram by groups": {"histograms": {"year": [2020, 2022]}, "count": True, "unit": "person", "groups_per_unit": 2,
                            "by": {"region": ["south", "north", "east"]}},
    "tables by groups": {"marginals": [["year"], ["x"]], "values": {"year": [2020, 2022]}, "bins": {"x": [0, 30]},
                         "unit": "person", "groups_per_unit": 1, "by": {"region": ["south", "north", "east"]}},
    "diagnosed rows": {"means": {"x": (0, 40), "half": (5, 50)}, "columns": {"half": "x / 2"}, "missing": {"half": 7},
                       "diagnose": True, "where": "x > -10 or is_null(x)"},
    "diagnosed people": {"sums": {"x": (0, 300)}, "medians": {"year": (2020, 2021)}, "means": {"x": (0, 60)},
                         "complete": ["year"],
                         "unit": "person", "rows_per_unit": 8, "groups_per_unit": 2, "diagnose": True,
                         "by": {"region": ["south", "north", "west"], "year": [2020, 2021]}},
}  # fmt: skip


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("engine", SOURCES)
def test_every_engine_gives_the_same_integers(engine: str, name: str, tmp_path: Path) -> None:
    request = gm.Request(SOURCES[engine](tmp_path), guarantee=gm.Guarantee(mu=1), **REQUESTS[name])
    expected = integers(request.plan, TABLE)
    assert integers(request.plan, request.source) == expected
    assert sum(records for _, records in expected[0]) > 3


def integers(plan: gm.Plan, source: Any) -> list[list[tuple[list[int], int]]]:
    """The totals of every group of every query."""
    found = total_all(mechanism.prepare_request(plan, source).sources)
    return [[([int(s) for s in each.sums], each.records) for each in groups] for groups in found]


@pytest.mark.parametrize("engine", SOURCES)
def test_every_engine_gives_the_same_integers_to_tables_of_the_same_keys(engine: str, tmp_path: Path) -> None:
    """What noise is added to, in one noise for all tables; some keys are missing, others not declared."""
    regions, years = ["south", "north", "west"], [2020, 2021]
    questions = [
        {"name": "regions", "histograms": {"region": regions}, "count": True},
        {"name": "years", "count": True, "by": {"year": years}},
        {"name": "both", "count": True, "by": {"year": years[::-1], "region": regions}},
    ]
    plan = gm.Request("x.csv", questions=questions, where="x > 0", guarantee=gm.Guarantee(mu=1)).plan
    (tie,) = plan.ties
    assert tie.how == "crossed"
    found = []
    for data in (TABLE, SOURCES[engine](tmp_path)):
        totals = total_all(mechanism.prepare_request(plan, data).sources)
        found.append(mechanism.lift_members(tie, [(plan.queries[i], totals[i]) for i in tie.members]))
    assert found[0] == found[1] and any(found[0])


def test_a_pandas_frame_is_not_read_before_it_is_charged() -> None:
    """Objects of which every look would be noticed: the schema alone is asked for."""

    class Seen(Exception):
        pass

    class Watched:
        def __str__(self) -> str:
            raise Seen

    frame = pd.DataFrame({"person": pd.Series([Watched()], dtype=object), "x": [1.0]})
    request = gm.Request(frame, sums={"x": (0, 1)}, unit="persn", guarantee=gm.Guarantee(mu=1))
    with refused("no-such-column", says="did you mean 'person'"):
        gm.release(request)

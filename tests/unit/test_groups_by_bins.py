"""Cells of numbers and dates as groups."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith import cli

SHARP, G = gm.Guarantee(mu=1e6), gm.Guarantee(epsilon=1, delta=1e-6)
TABLE = pl.DataFrame(
    {
        "person": ["ada", "ada", "bob", "cyd", "dan", "eve"],
        "age": [36.0, 36.0, 17.0, 40.0, None, math.inf],
        "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "day": [datetime.date(2024, 1, 1 + 9 * i) for i in range(4)] + [datetime.date(2024, 2, 3), None],
    }
)
CELLS = {"age": {"bins": [18, 40]}}


def shown(source: Any = TABLE, **fields: Any) -> dict[tuple[Any, ...], float]:
    """The answers that are not 0, by the group and the name."""
    released = gm.release(gm.Request(source, guarantee=SHARP, **fields))
    assert gm.read(released.to_json()) == released
    keys = released.groups.columns if released.groups is not None else ()
    found = {(*(row[key] for key in keys), row["answer"]): round(row["value"], 2) + 0.0 for row in released.rows()}
    return {key: value for key, value in found.items() if value}


@pytest.mark.parametrize("source", [TABLE, TABLE.to_pandas(), duckdb.from_arrow(TABLE.to_arrow())])
def test_bins_are_groups(source: Any) -> None:
    ages = {("< 18", "x_sum"): 3, ("18 to 40", "x_sum"): 3, ("≥ 40", "x_sum"): 10}  # dan's age is missing
    assert shown(source, by=CELLS, sums={"x": (0, 10)}) == ages
    assert shown(source, by=["age"], bins={"age": [18, 40]}, sums={"x": (0, 10)}) == ages


def test_beside_other_keys_and_of_dates() -> None:
    both = shown(by={**CELLS, "person": ["ada", "bob"]}, count=True, unit="person", groups_per_unit=1)
    assert both == {("18 to 40", "ada", "count"): 1, ("< 18", "bob", "count"): 1}
    months = {"day": {"by": "month", "between": ["2024-01", "2024-02"]}}
    assert shown(by=months, histograms={"age": {"bins": [20]}}) == {
        ("2024-01", "age=< 20"): 1,
        ("2024-01", "age=≥ 20"): 3,
    }


def test_a_column_can_be_a_group_and_a_number() -> None:
    medians = shown(by=CELLS, medians={"age": (0, 100)})
    assert medians["< 18", "age_median"] == pytest.approx(17, abs=0.4)
    assert medians["18 to 40", "age_median"] == pytest.approx(36, abs=0.4)


def test_a_diagnosis_a_rehearsal_and_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = gm.Request(
        TABLE, by=CELLS, sums={"x": (0, 2)}, unit="person", groups_per_unit=1, guarantee=SHARP, diagnose=True
    )
    found = {answer.name: round(answer.value) for answer in gm.release(request)["diagnosis"] if round(answer.value)}
    assert found == {"total of x above 2": 4, "1 group": 4}
    assert len(gm.rehearse(request, rows=30)["answers"].labels) == 3
    TABLE.write_parquet(tmp_path / "t.parquet")
    words = ["plan", str(tmp_path / "t.parquet"), "--count", "--by", "age", "--bins", "age=18,40", "--mu", "1"]
    assert cli.main(words) == 0 and "3 groups" in capsys.readouterr().out


def test_what_cannot_be_is_refused() -> None:
    with refused("bins-beside-found-keys"):
        gm.Request("t", by={**CELLS, "person": "found"}, count=True, guarantee=G)
    with refused("column-does-not-fit-cells"):
        gm.release(gm.Request(TABLE, by={"day": {"bins": [1, 2]}}, count=True, guarantee=G))
    with refused("no-such-key-column"):
        gm.release(gm.Request(TABLE, by={"agee": {"bins": [1, 2]}}, count=True, guarantee=G))
    with refused("limit-exceeds-declared"):
        gm.Request("t", by=CELLS, count=True, unit="person", groups_per_unit=4, guarantee=G)

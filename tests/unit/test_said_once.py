"""Bounds and values that are said once hold for every answer about a column: in Python, TOML and flags."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith import cli

LOUD = gm.Guarantee(mu=1e6)
TABLE = pl.DataFrame(
    {
        "person": [1, 1, 2, 3],
        "age": [30.0, 40.0, 50.0, 80.0],
        "spent": [10.0, 20.0, 5.0, -3.0],
        "sex": ["f", "f", "m", "f"],
    }
)
BOUNDS = {"age": (0, 110), "spent": (-5, 50)}


def plan_of(**fields: object) -> gm.Plan:
    return gm.Request(TABLE, guarantee=LOUD, **fields).plan


def test_bounds_said_once_plan_what_the_short_form_plans() -> None:
    once = plan_of(bounds=BOUNDS, means=["age"], sums=["spent"], count=True)
    assert once == plan_of(means={"age": (0, 110)}, sums={"spent": (-5, 50)}, count=True)
    apart = [{"name": "a", "means": ["age"]}, {"name": "b", "sums": ["spent"], "bounds": {"spent": (0, 9)}}]
    names = plan_of(bounds=BOUNDS, questions=apart)
    short = [{"name": "a", "means": {"age": (0, 110)}}, {"name": "b", "sums": {"spent": (0, 9)}}]
    assert names == plan_of(questions=short)


def test_the_bounds_of_a_total_are_its_own_or_those_of_so_many_rows() -> None:
    by_total = plan_of(total_bounds={"spent": (0, 60)}, bounds=BOUNDS, sums=["spent"], unit="person")
    assert by_total == plan_of(sums={"spent": (0, 60)}, unit="person")
    by_rows = plan_of(bounds=BOUNDS, sums=["spent"], unit="person", rows_per_unit=3)
    assert by_rows == plan_of(sums={"spent": (-15, 150)}, unit="person", rows_per_unit=3)
    with refused("total-without-bounds", column="spent", says='total_bounds={"spent":'):
        plan_of(bounds=BOUNDS, sums=["spent"], unit="person")
    each_row = plan_of(total_bounds={"spent": (0, 60)}, sums=["spent"])
    assert each_row == plan_of(sums={"spent": (0, 60)})  # where each row is a person, it is the total


def test_values_said_once_are_counted_and_grouped_by() -> None:
    values = {"sex": ["f", "m"]}
    assert plan_of(values=values, histograms=["sex"]) == plan_of(histograms={"sex": ["f", "m"]})
    assert plan_of(values=values, by=["sex"], count=True) == plan_of(by=values, count=True)
    assert plan_of(values=values, by={"sex": ["m"]}, count=True) == plan_of(by={"sex": ["m"]}, count=True)
    release = gm.release(gm.Request(TABLE, values=values, by=["sex"], count=True, guarantee=LOUD))
    assert release.values.round().ravel().tolist() == [3, 1]


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"means": ["age"]}, "column-without-bounds", 'bounds={"age": (0, 100)}, or means={"age": (0, 100)}'),
        ({"sums": ["age"], "unit": "person"}, "column-without-bounds", 'total_bounds={"age": (0, 100)}'),
        ({"means": ["agee"], "bounds": BOUNDS}, "column-without-bounds", "bounds are said of 'age', 'spent'"),
        ({"means": {"age": (0, 9)}, "bounds": BOUNDS}, "bounds-said-twice", "[0, 9] in means, [0, 110] in bounds"),
        ({"means": ["age", "age"], "bounds": BOUNDS}, "column-listed-twice", "each column is asked once"),
        ({"means": [3], "bounds": BOUNDS}, "columns-not-listed", "or list columns"),
        ({"histograms": ["sex"]}, "column-without-values", 'values={"sex": ["a", "b"]}'),
        ({"histograms": {"sex": ["x"]}, "values": {"sex": ["f"]}}, "value-not-declared", "'x' of 'sex'"),
        (
            {"by": {"sex": ["x"]}, "count": True, "values": {"sex": ["f"]}},
            "value-not-declared",
            "it is not one of them",
        ),
        ({"bounds": {"age": 3}, "count": True}, "request-bounds-not-two-numbers", 'write bounds={"age":'),
        ({"values": {"sex": "f"}, "count": True}, "histogram-values-not-listed", 'write values={"sex": ["f"]}'),
    ],
)
def test_what_is_not_said_or_said_twice_is_refused(fields: dict[str, object], code: str, says: str) -> None:
    with refused(code, says=says):
        plan_of(**fields)


def test_toml_and_flags_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.write_parquet("people.parquet")
    Path("ask.toml").write_text(
        'source = "people.parquet"\nguarantee = { mu = 1 }\nbounds = { age = [0, 110], spent = [-5, 50] }\n'
        'values = { sex = ["f", "m"] }\nmeans = ["age"]\nsums = ["spent"]\nby = ["sex"]\n',
        "utf-8",
    )
    flags = ["--bounds", "age:0:110", "--bounds", "spent:-5:50", "--values", "sex=f,m", "--mu", "1"]
    asked = ["--mean", "age", "--sum", "spent", "--by", "sex"]
    plans = []
    for words in (["ask.toml"], ["people.parquet", *flags, *asked]):
        assert cli.main(["plan", *words, "--json"]) == 0
        plans.append(json.loads(capsys.readouterr().out))
    assert plans[0] == plans[1]
    assert cli.main(["plan", "--mean", "age", "--mu", "1"]) == 2
    assert "write --bounds age:0:100, or --mean age:0:100" in capsys.readouterr().err
    assert cli.main(["plan", "--mean", "age", "--mean", "age", "--bounds", "age:0:1", "--mu", "1"]) == 2
    assert "--mean age twice" in capsys.readouterr().err

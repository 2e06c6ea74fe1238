"""Quantiles, medians, bins and marginals in requests: what is asked, in every form, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main

G = gm.Guarantee(epsilon=1, delta=1e-6)
PEOPLE = pl.DataFrame(
    {
        "income": [20.0 + i % 97 for i in range(1940)] + [None] * 60,
        "age": [i % 80 for i in range(2000)],
        "sex": ["f", "m"] * 1000,
        "person": [i % 900 for i in range(2000)],
    }
)


def ask(**fields: Any) -> gm.Request:
    return gm.Request(PEOPLE, guarantee=G, **fields)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"quantiles": [0.5]}, "quantiles-not-a-mapping"),
        ({"quantiles": {"income": []}}, "quantile-levels-not-listed"),
        ({"quantiles": {"income": "half"}}, "quantile-levels-not-listed"),
        ({"quantiles": {"income": ["half"]}}, "quantile-level-not-a-number"),
        ({"quantiles": {"income": [0]}}, "quantile-outside-0-1"),
        ({"quantiles": {"income": [1.0]}}, "quantile-outside-0-1"),
        ({"quantiles": {"income": [50]}}, "quantile-outside-0-1"),
        ({"quantiles": {"income": [math.nan]}}, "quantile-level-not-a-number"),
        ({"quantiles": {"income": [0.5, 0.5]}}, "quantile-twice"),
        ({"quantiles": {"income": [0.5]}}, "quantile-without-bounds"),
        ({"medians": "income"}, "medians-not-listed"),
        ({"medians": ["income", "income"]}, "column-listed-twice"),
        ({"medians": {"income": 5}}, "request-bounds-not-two-numbers"),
        ({"medians": ["income"]}, "quantile-without-bounds"),
        ({"medians": ["income"], "unit": "person", "bins": {"income": [1, 2]}}, "quantile-without-bounds"),
        (
            {"medians": ["income"], "unit": "person", "bounds": {"income": (0, 1)}, "total_bounds": {"income": (0, 9)}},
            "quantile-of-totals-or-means",
        ),
        (
            {"medians": ["income"], "bins": {"income": {"by": "year", "between": [2020, 2021]}}},
            "quantile-of-dates",
        ),
        ({"medians": ["income"], "bins": {"income": list(range(3000))}}, "quantile-cells-too-many-or-few"),
        ({"count": True, "bins": [1, 2]}, "bins-not-a-mapping"),
        ({"marginals": "age"}, "marginals-not-listed"),
        ({"marginals": ["age"]}, "marginal-not-a-list"),
        ({"marginals": [[]]}, "marginal-without-columns"),
        ({"marginals": [["age", "age"]]}, "marginal-column-twice"),
        ({"marginals": [["age", "sex"], ["sex", "age"]]}, "table-twice"),
        ({"marginals": [["sex"]]}, "marginal-without-values"),
        (
            {"marginals": [["age"]], "values": {"age": [1, 2]}, "bins": {"age": [1, 2]}},
            "marginal-with-values-and-bins",
        ),
        (
            {"marginals": [[c] for c in "abcdefg"], "bins": {c: list(range(200)) for c in "abcdefg"}},
            "too-many-combinations",
        ),
    ],
)
def test_each_mistake_has_its_own_words(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(gm.RequestError) as caught:
        ask(**fields)
    assert caught.value.code == code
    assert caught.value.rule and caught.value.remedy


def test_a_percentage_is_told_from_a_level() -> None:
    with pytest.raises(gm.RequestError, match=r"write 0\.25 for 25 %"):
        ask(quantiles={"income": [25]})


def test_names_and_order() -> None:
    request = ask(
        quantiles={"income": [0.9, 0.025]}, medians=["income", "age"], bounds={"income": (0, 200), "age": (0, 99)},
        count=True, means=["age"],
    )  # fmt: skip
    assert request.plan.names == ("age_mean", "income_q90", "income_q2.5", "income_median", "age_median", "count")
    release = gm.release(request)
    assert set(request.plan.errors(rows=2000)) == set(release.names)
    assert gm.read(release.to_json()) == release
    assert [row["answer"] for row in release.rows()] == list(release.names)


def test_answers_are_near_the_truth_and_say_how_near() -> None:
    sure = gm.Guarantee(mu=50)
    release = gm.release(gm.Request(PEOPLE, medians=["income"], bounds={"income": (0, 200)}, guarantee=sure))
    truth = sorted(PEOPLE["income"].drop_nulls().to_list())[969]  # missing values are left out
    low, high = release["income_median"].interval()
    assert low <= truth <= high and high - low <= 3 * 200 / 256
    assert abs(release["income_median"].value - truth) < 2


def test_what_was_done_about_missing_values_stands_beside_each_quantile() -> None:
    def notes(**fields: Any) -> list[str]:
        asked = {"quantiles": {"income": [0.25]}, "medians": ["income"], "bounds": {"income": (0, 200)}}
        return [row["note"] for row in gm.release(ask(**asked, **fields)).rows()]

    assert notes() == ["missing values left out"] * 2
    assert notes(missing={"income": 30}) == ["missing counts as 30"] * 2
    assert notes(complete=["income"]) == ["no value missing, by promise"] * 2
    assert notes(unit="person") == ["of each person's own mean of clipped rows; missing values left out"] * 2


def test_an_open_cell_reads_unknown() -> None:
    release = gm.release(ask(quantiles={"income": [0.5]}, bins={"income": [1000, 2000]}))
    (row,) = release.rows()
    assert math.isnan(row["value"]) and row["lower"] == -math.inf and row["status"] == "unknown"


def test_other_quantiles_and_the_distribution_are_read_again() -> None:
    release = gm.release(ask(medians={"income": (0, 200)}, count=True))["income_median"]
    value, low, high = release.quantile(0.5)
    assert (value, low, high) == (release.value, *release.interval())
    curve = release.distribution()
    assert [*curve] == ["edge", "share", "lower", "upper"] and len(curve["edge"]) == 68
    several = gm.release(ask(quantiles={"income": [0.2, 0.7]}, bounds={"income": (0, 200)}))["income_q20"]
    assert len(several.distribution()["edge"]) == 255
    value, low, high = release.quantile(0.25)
    assert low <= value <= high
    assert all(a <= b for a, b in zip(curve["share"], curve["share"][1:], strict=False))
    assert all(0 <= a <= b <= 1 for a, b in zip(curve["lower"], curve["upper"], strict=True))
    with pytest.raises(gm.PlanError) as caught:
        release.quantile(1)
    assert caught.value.code == "number-out-of-range"
    grouped = gm.release(ask(medians={"income": (0, 200)}, by={"sex": ["f", "m"]}))
    with pytest.raises(gm.PlanError) as caught:
        grouped.distribution()
    assert caught.value.code == "cells-of-several-groups"
    assert len(grouped["f"].distribution()["edge"]) == 68
    with pytest.raises(gm.PlanError) as caught:
        gm.release(ask(count=True)).distribution()
    assert caught.value.code == "cells-of-no-quantile"


def test_tables_add_up() -> None:
    tables = [["age", "sex"], ["sex"], ["age"]]
    release = gm.release(ask(marginals=tables, bins={"age": [18, 40]}, values={"sex": ["f", "m"]}, count=True))
    both = release.marginal("age", "sex")
    assert both.shape == (4, 3)
    assert both.sum(axis=0) == pytest.approx(release.marginal("sex"))
    assert both.sum(axis=1) == pytest.approx(release.marginal("age"))
    assert both.sum() == pytest.approx(release["count"].value)


TOML = """
source = "people.parquet"
quantiles = { income = [0.1, 0.9] }
medians = ["income"]
marginals = [["age", "sex"]]
bounds = { income = [0, 200] }
bins = { age = [18, 40] }
values = { sex = ["f", "m"] }
guarantee = { epsilon = 1, delta = 1e-6 }
"""


@pytest.mark.parametrize("unit", [None, "person"])
def test_all_pairs_of_twenty_columns(unit: str | None) -> None:
    """Their 5^20 cells are never listed, and the last of them still ranks by the rows of a person."""
    columns = [f"c{j}" for j in range(20)]
    table = pl.DataFrame({"person": [0, 0, 0, 1]} | {c: ["d", "z", "z", "a"] for c in columns})
    request = gm.Request(
        table, unit=unit, guarantee=gm.Guarantee(mu=1e4), values={c: list("abcd") for c in columns},
        marginals=[list(pair) for pair in itertools.combinations(columns, 2)],
    )  # fmt: skip
    released = gm.release(request)
    rows = [1, 0, 0, 1, 2] if unit is None else [1, 0, 0, 0, 1]
    for first, second in (("c0", "c1"), ("c18", "c19")):
        table_of_pair = released.marginal(first, second).round()
        assert table_of_pair.diagonal().tolist() == rows
        assert table_of_pair.sum() == sum(rows)


def test_a_file_and_flags_ask_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "request.toml").write_text(TOML)
    asked = gm.Request.from_toml(tmp_path / "request.toml")
    assert asked.plan.names[:4] == ("income_q10", "income_q90", "income_median", "age=< 18, sex=f")
    flags = ["--quantile", "income=0.1,0.9", "--median", "income", "--marginal", "age,sex", "--bounds", "income:0:200"]
    flags += ["--bins", "age=18,40", "--values", "sex=f,m", "--epsilon", "1", "--delta", "1e-6"]
    assert main(["release", str(tmp_path / "people.parquet"), *flags, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert "income_q10" in json.dumps(printed)
    for bins, names in (
        ("age=equal:2:0:80", ("age=< 0", "age=0 to 40", "age=40 to 80", "age=≥ 80")),
        ("age=log:10:1:100", ("age=< 1", "age=1 to 10", "age=10 to 100", "age=≥ 100")),
        ("age=year:2023:2023", ("age=< 2023-01-01", "age=2023", "age=≥ 2024-01-01")),
    ):
        words = ["plan", "--histogram", "age", "--bins", bins, "--mu", "1", "--json"]
        assert main(words) == 0
        found = capsys.readouterr().out
        assert all(json.dumps(name)[1:-1] in found or name in found for name in names), bins


def test_a_quantile_without_bounds_can_learn_them() -> None:
    table = pl.DataFrame({"income": [20_000 + 14.0 * i for i in range(5_001)]})
    with refused("quantile-without-bounds", says='bins={"income": "private"}'):
        gm.Request(table, medians=["income"], guarantee=gm.Guarantee(mu=30))
    for said in ("bins", "bounds"):
        learned = {said: {"income": "private"}}
        release = gm.release(gm.Request(table, medians=["income"], guarantee=gm.Guarantee(mu=30), **learned))
        low, high = release["income_median"].interval(1 - 1e-12)
        assert 50_000 < low <= 55_000 <= high < 60_000

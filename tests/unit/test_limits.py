"""How many groups and values a person counts in must be said, and the error says what each choice costs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.errors import RequestError

G = gm.Guarantee(mu=1)
YEARS = {"year": list(range(8))}


def test_groups_of_people_need_a_limit_and_its_cost_is_told() -> None:
    with pytest.raises(RequestError) as caught:
        gm.Request("x.parquet", unit="p", by=YEARS, count=True, guarantee=G)
    assert caught.value.code == "limit-not-given" and caught.value.fields["size"] == 8
    told = {int(m): float(error) for m, error in re.findall(r"(\d+)(?: for all)? \(± ([\d.]+)", caught.value.remedy)}
    assert list(told) == [1, 2, 5, 8]
    for m, error in told.items():
        plan = gm.Request("x.parquet", unit="p", by=YEARS, count=True, groups_per_unit=m, guarantee=G).plan
        assert plan.standard_errors[-1] == pytest.approx(error, rel=0.01)


@pytest.mark.parametrize(
    ("asked", "answer", "says"),
    [
        ({"means": {"spent": (0, 60)}, "rows_per_unit": 12, "count": True}, "count", "each count"),
        ({"means": {"spent": (0, 60)}, "rows_per_unit": 12}, "spent_mean", "spent_mean of 10,000 rows"),
        ({"sums": {"spent": (0, 60)}}, "spent_sum", "spent_sum"),
        ({"medians": {"spent": (0, 60)}}, "spent_median", "ranks of spent_median"),
    ],
)
def test_the_cost_told_is_that_of_the_request_itself(asked: dict[str, Any], answer: str, says: str) -> None:
    def ask(limit: int | None) -> gm.Plan:
        by = {"year": [2023, 2024]}
        return gm.Request("x.parquet", unit="p", by=by, groups_per_unit=limit, guarantee=G, **asked).plan

    first, second = (f"{ask(m).errors(10_000)[answer]:.3g}" for m in (1, 2))
    with refused("limit-not-given", says=f"1 (± {first} in {says}) or 2 for all (± {second})"):
        ask(None)


def test_the_cost_is_told_beside_another_question_without_a_limit() -> None:
    questions = [{"name": "a", "count": True, "by": YEARS}, {"name": "b", "histograms": YEARS}]
    limited = [{**questions[0], "groups_per_unit": 1}, {**questions[1], "values_per_unit": 1}]
    plan = gm.Request("x.parquet", unit="p", questions=limited, guarantee=G).plan
    with refused("limit-not-given", limit="groups_per_unit", says=f"1 (± {plan['a'].errors()['count']:.3g} in"):
        gm.Request("x.parquet", unit="p", questions=questions, guarantee=G)


def test_histograms_of_people_need_a_limit() -> None:
    with refused("limit-not-given", limit="values_per_unit", says="values_per_unit=1 (± 1 in each count)"):
        gm.Request("x.parquet", unit="p", histograms=YEARS, guarantee=G)
    questions = [{"name": "a", "histograms": YEARS}, {"name": "b", "count": True}]
    with refused("limit-not-given", limit="values_per_unit"):
        gm.Request("x.parquet", unit="p", questions=questions, guarantee=G)
    assert gm.Request("x.parquet", unit="p", questions=questions, values_per_unit=1, guarantee=G).plan.questions


def test_rows_that_are_people_need_none() -> None:
    assert gm.Request("x.parquet", by=YEARS, histograms={}, count=True, guarantee=G).plan.groups is not None
    assert gm.Request("x.parquet", histograms=YEARS, guarantee=G).plan.names[0] == "year=0"

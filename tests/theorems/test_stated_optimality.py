"""A certificate is never above the truth: what plans state beside the least noise for all people who can exist."""

from __future__ import annotations

import random

import pytest
from planting import plant
from whole.existing import examine, named_cases, random_case

import gaussmith as gm
from gaussmith.planning import crossed_noise as crossed_keys
from gaussmith.planning import joint_people as rule_columns

NAMED = named_cases()
TRUE = {
    "mean + count by 4, replace-one": 1.167,
    "column tabled in two ways": 1.613,
    "sum; mean of one column by 3, of people": 1.549,
}
"""What the plan costs over the least; nothing in the other requests, where people come and go in one group."""
TIGHT = 1.001
"""Where keys are the same the bound is that of one group, repeated: nothing is lost."""


@pytest.mark.parametrize("name", NAMED)
def test_named_requests_state_no_less_than_the_truth(name: str) -> None:
    found = examine(*NAMED[name])
    assert found.price_from == pytest.approx(TRUE.get(name, 1.0), abs=1e-3)
    assert found.bound <= 1 + 1e-6 and found.optimality >= found.price_from * (1 - 1e-9)
    assert name in TRUE or found.optimality <= TIGHT * found.price_to


def test_the_fault_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws by one key column taken as independent: one person in two groups at once."""
    plant(monkeypatch, rule_columns.FreeRules._take, "if not self.seen.isdisjoint(asked):", "if False:")
    keys = ["c0", "c1", "c2", "c3"]
    other = [{"name": "x", "count": True, "by": {"c": keys[:3]}}, {"name": "y", "count": True, "by": {"c": keys}}]
    assert examine({"questions": other}, [{"c": c} for c in keys]).bound > 1.17
    assert examine(*NAMED["column tabled in two ways"]).bound > 1.6


TABLES = [
    {"name": "one", "count": True, "by": {"c": ["c0", "c1"]}},
    {"name": "other", "count": True, "by": {"c": ["c0", "c1", "c2"]}},
    {"name": "both", "count": True, "by": {"c": ["c0", "c1", "c2"], "d": ["d0", "d1"]}},
]
ROWS = [{"c": c, "d": d} for c in ("c0", "c1", "c2", None) for d in ("d0", "d1", None)]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_tables_with_other_keys_of_one_column_are_bounded_apart(
    neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"questions": TABLES, "neighbours": neighbours}
    found = examine(fields, ROWS)
    assert found.bound <= 1 + 1e-6
    if neighbours == "add-remove":
        assert found.price_from > 1.3
        plant(monkeypatch, crossed_keys._possible, "if all(own", "if True or all(own")
        assert examine(fields, ROWS).bound > 1.3


def test_a_key_and_a_value_made_of_one_column_are_not_repeated_in_groups() -> None:
    """The group of a person says what its value is, also by way of a derived column."""
    by = {"by": {"half": [0, 1]}, "columns": {"half": "if(a > 5, 1, 0)"}, "bounds": {"a": (0.0, 10.0)}}
    plan = gm.Request("rows.parquet", means=["a"], count=True, guarantee=gm.Guarantee(mu=1), **by).plan
    (tie,) = plan.ties
    assert [len(sets) for sets in tie.people_sets] == [2]


@pytest.mark.parametrize("i", range(12))
def test_random_requests_state_no_less_than_the_truth(i: int) -> None:
    """Groups, filters, missing values, histograms and medians; people of one row and of several."""
    fields, rows = random_case(random.Random(f"stated optimality {i}"))
    found = examine(fields, rows)
    assert found.bound <= 1 + 1e-6 and found.optimality >= found.price_from * (1 - 1e-6), fields


def test_a_certificate_says_what_it_assumes() -> None:
    plan = gm.plan(gm.Box({"a": (0, 1)}), gm.Guarantee(mu=1))
    assert "assumed of people: any value within the bounds" in str(plan.certificate)
    assert "any value within the bounds" in plan.certificate.to_dict()["assumed"]

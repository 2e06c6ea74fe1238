"""`keys_first`: its forms, its words, its record, what it is charged, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from fixed_noise import fixed_noise
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.units import charge_units, keys_units, square_units
from gaussmith.planning.staging import ANSWERS, NOTHING

G = gm.Guarantee(epsilon=1, delta=1e-5)
PEOPLE = 600
TABLE = pl.DataFrame(
    {
        "person": [i for i in range(PEOPLE) for _ in range(4)],
        "key": [key for i in range(PEOPLE) for key in (f"rare {i}", f"rare {i}", "north", ("east", "west")[i % 2])],
        "sex": ["f", "m", "m", "f"] * PEOPLE,
        "x": [float(i % 40) for i in range(4 * PEOPLE)],
    }
)


def ask(table: Any = TABLE, **fields: Any) -> gm.Request:
    usual = {"unit": "person", "by": {"key": "found"}, "groups_per_unit": 1, "keys_first": True, "guarantee": G}
    return gm.Request(table, **{**usual, **fields})


def released(request: gm.Request) -> gm.Release:
    with fixed_noise():
        return gm.release(request)


def test_the_groups_of_a_person_are_chosen_among_the_keys_that_are_shown() -> None:
    """Everybody has most rows under a key of their own: in one stage with m = 1 nothing else counts."""
    assert released(ask(count=True, keys_first=False)).labels == ()
    table = TABLE.vstack(TABLE.with_columns(pl.col("person") + PEOPLE, key=pl.lit("north")))
    two = released(ask(table, count=True))
    assert two.labels == (("north",),)
    assert two["north"].value == pytest.approx(2 * PEOPLE, abs=50)  # the first half of them had another key before


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"sums": {"x": (0, 40)}, "count": True}, ("x_sum", "count")),
        ({"histograms": {"sex": ["f", "m"]}}, ("sex=f", "sex=m")),
        ({"medians": {"x": (0, 40)}, "diagnose": True}, ("x_median",)),
        ({"variances": {"x": (0, 40)}, "mean_of": "units"}, ("x_variance", "x_sd")),
        ({"means": {"x": (0, 40)}, "rows_per_unit": 2, "groups_per_unit": 3}, ("x_mean",)),
        ({"by": {"key": "found", "sex": ["f", "m"]}, "count": True, "top": 3, "groups_per_unit": 4}, ("count",)),
        ({"by": {}, "histograms": {"key": "found"}, "values_per_unit": 3, "groups_per_unit": None}, ("count",)),
        ({"unit": None, "groups_per_unit": None, "count": True, "keys_at_least": 5}, ("count",)),
    ],
)
def test_every_answer_of_declared_groups_can_be_asked(fields: dict[str, Any], names: tuple[str, ...]) -> None:
    request = ask(**{"groups_per_unit": 2, **fields, "guarantee": gm.Guarantee(mu=3), "keys_delta": 1e-4})
    release = released(request)
    question = release["answers"] if "diagnose" in fields else release
    assert tuple(question.names) == names and len(question.labels) >= 2
    again = gm.read(release.to_json())
    assert again.rows() == release.rows() and again.plan.hash == release.plan.hash
    assert again.plan.keys_delta == request.plan.keys_delta <= Fraction(1e-4)
    assert release.path is not None and release.path.plan_hash == request.plan.hash
    assert release.plan.spends.mu <= request.plan.spends.mu <= 3


def test_several_questions_share_what_finds_the_same_keys() -> None:
    questions = [
        {"name": "a", "count": True},
        {"name": "b", "sums": {"x": (0, 40)}},
        {"name": "c", "count": True, "where": "x < 0"},
        {"name": "d", "count": True, "by": {}, "groups_per_unit": None},
    ]
    release = released(ask(questions=questions, groups_per_unit=2, guarantee=gm.Guarantee(mu=4), keys_delta=1e-4))
    assert release.path is not None
    assert release.path.rule.finders == (("a", "a"), ("b", "a"), ("c", "c"))  # type: ignore[attr-defined]
    assert release.questions == ("a", "b", "d") and release["a"].labels == release["b"].labels != ()
    assert release.path.last.asks["hidden"] == ["c"]
    assert "No key of c has enough people to be shown" in str(release)
    assert gm.read(release.to_json()).rows() == release.rows()
    with refused("total-over-found-groups"):
        release["a"].total()
    with refused("group-not-shown"):
        release["a"]["south"]


def test_where_nothing_is_shown_a_release_without_groups_is_stored(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "a.ledger", gm.Guarantee(mu=1), keys_delta=1e-4)
    request = ask(TABLE.head(8), count=True, guarantee=gm.Guarantee(mu=1), keys_delta=1e-12)  # shown once in so many
    release = gm.release(request, ledger=book, id="a")
    assert release.rows() == [] and release.labels == () and release.path is not None
    assert release.path.last.stage == NOTHING and release.taken_less == release.path.stages[0].release.plan.spent
    assert gm.release(request, ledger=book, id="a").to_json() == release.to_json()
    found = book.verify()
    assert found.spent == square_units(release.taken_less) and found.keys_spent == keys_units(request.plan.keys_delta)
    assert "no more" in str(release) and gm.read(release.to_json()).rows() == []


def test_the_whole_is_charged_once_and_a_retry_costs_nothing(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "a.ledger", G, keys_delta=1e-6)
    request = ask(count=True, keys_delta=1e-6, groups_per_unit=2)
    release = gm.release(request, ledger=book, id="a")
    assert gm.release(request, ledger=book, id="a").to_json() == release.to_json()
    found = book.verify()
    assert found.spent == charge_units(request.plan.spends.mu) <= found.budget
    assert found.keys_spent == keys_units(request.plan.keys_delta) <= found.keys_budget
    assert release.plan.spends.mu <= request.plan.spends.mu  # what the path took is within the charge


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"by": {"key": ["a"]}, "count": True}, "keys-first-without-found-keys"),
        ({"by": {}, "groups_per_unit": None, "count": True}, "keys-first-without-found-keys"),
        ({"count": True, "keys_first": "yes"}, "not-a-truth"),
        ({"count": True, "neighbours": "replace-one"}, "request-found-keys-under-replace-one"),
        ({"means": {"x": "private"}}, "keys-first-beside-private"),
        ({"medians": ["x"], "bins": {"x": "private"}}, "keys-first-beside-private"),
        ({"count": True, "groups_per_unit": None}, "found-limit-not-given"),
        ({"count": True, "budget": {"keys": 0.95}}, "budget-shares-too-large"),
        ({"count": True, "budget": {"bounds": 0.1}}, "budget-without-stages"),
        ({"count": True, "keys_first": False, "budget": {"keys": 0.5}}, "budget-without-keys-first"),
        ({"count": True, "guarantee": gm.Guarantee(mu=1)}, "keys-delta-not-stated"),
        ({"count": True, "group_weights": {"a": 2}}, "group-weights-of-found-keys"),
        ({"histograms": {"sex": ["f"]}, "keys_first": False}, "cells-of-found-groups"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], code: str) -> None:
    with refused(code):
        ask(**fields)


def test_a_source_that_does_not_fit_is_refused_before_the_charge(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "a.ledger", G, keys_delta=1e-6)
    objects = pd.DataFrame({"person": range(4), "key": [1, "a", 1, "a"]})
    for table, fields, code in (
        (TABLE, {"sums": {"nowhere": (0, 1)}}, "no-such-column"),
        (TABLE, {"medians": {"sex": (0, 1)}}, "column-of-text"),
        (objects, {"count": True}, "keys-first-of-objects"),
    ):
        with refused(code):
            gm.release(ask(table, keys_delta=1e-6, **fields), ledger=book, id="a")
    assert book.verify().entries == 1


@pytest.mark.parametrize(
    "keys",
    [
        [1, -7], [2**53 + 1, 2**53], [True, False], ["1", "01"], ["\0a", "ä b`"],
        [pl.date(2024, 2, 29), pl.date(1999, 12, 31)],
    ],
)  # fmt: skip
@pytest.mark.parametrize("unsigned", [False, True])
def test_keys_of_every_type_are_looked_up_again(keys: list[Any], unsigned: bool) -> None:
    if unsigned and (isinstance(keys[0], bool) or not isinstance(keys[0], int) or keys[1] < 0):
        keys = [2**64 - 1, 2**64 - 2]
    table = pl.DataFrame({"person": range(900)})
    first, second = (key if isinstance(key, pl.Expr) else pl.lit(key) for key in keys)
    if isinstance(keys[0], int) and not isinstance(keys[0], bool):
        dtype = pl.UInt64 if unsigned else pl.Int64
        first, second = (pl.lit(key, dtype=dtype) for key in keys)
    table = table.with_columns(key=pl.when(pl.col("person") % 3 == 0).then(first).otherwise(second))
    release = released(ask(table, count=True, guarantee=gm.Guarantee(mu=3), keys_delta=1e-3))
    counts = {key: group.value for (key,), group in zip(release.labels, release, strict=True)}
    assert sorted(map(round, counts.values())) == pytest.approx([300, 600], abs=12)


def test_the_command_line_and_a_file_ask_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TABLE.write_parquet(tmp_path / "t.parquet")
    flags = ["--by-found", "key", "--unit", "person", "--groups-per-unit", "2", "--count", "--keys-first"]
    known = ["--epsilon", "1", "--delta", "1e-5", "--budget", "keys=0.25"]
    assert main(["plan", str(tmp_path / "t.parquet"), *flags, *known]) == 0
    told = capsys.readouterr().out
    assert "stage 1, 25 % of the budget: which keys enough people have" in told
    assert "as if 100 keys were shown" in told and "κ-approximately μ-GDP" in told
    (tmp_path / "r.toml").write_text(
        'source = "t.parquet"\nunit = "person"\nby = { key = "found" }\ngroups_per_unit = 2\ncount = true\n'
        "keys_first = true\nbudget = { keys = 0.25 }\nguarantee = { epsilon = 1, delta = 1e-5 }\n"
    )
    assert main(["release", str(tmp_path / "r.toml"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["stages"]["last"]["stage"] == ANSWERS and record["guarantee"]["keys_delta"] > 9e-6
    assert gm.read(json.dumps(record)).path is not None
    assert main(["rehearse", str(tmp_path / "r.toml")]) == 0


def test_a_saved_plan_is_certified_again_and_knows_its_rule() -> None:
    plan = ask(count=True).plan
    assert gm.read(plan.to_json()) == plan and plan.threshold > 20
    other = ask(count=True, budget={"keys": 0.4}).plan
    assert plan.hash != other.hash and other.threshold > plan.threshold
    assert other.errors()["count"] < plan.errors()["count"]

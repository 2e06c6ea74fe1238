"""Requests about people, groups and several questions: what they plan, what they read, what they refuse and how."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import gaussmith as gm
from gaussmith.domains import Box, People, Records
from gaussmith.errors import GaussmithError, RequestError
from gaussmith.group_plans import GroupPlan
from gaussmith.group_releases import GroupRelease
from gaussmith.joint_plans import JointPlan
from gaussmith.joint_releases import JointRelease

G = gm.Guarantee(epsilon=1, delta=1e-6)
LOUD = gm.Guarantee(mu=1e6)  # hardly any noise: to see what is answered

VISITS = pl.DataFrame(
    {
        "person": ["ada", "ada", "ada", "ada", "bob", "cyd", None],
        "region": ["north", "north", "south", "north", "south", "west", "south"],
        "spent": [400.0, 200.0, -50.0, None, 20.0, 70.0, 90.0],
        "score": [10.0, 20.0, 30.0, 60.0, 8.0, 44.0, 1.0],
        "age": [36, 36, 36, 36, 17, 50, 60],
    }
)


def ask(source: Any = VISITS, guarantee: gm.Guarantee = LOUD, **fields: Any) -> Any:
    return gm.release(gm.Request(source, guarantee=guarantee, **fields))


def rounded(release: Any) -> dict[str, float]:
    return {answer.name: round(answer.value, 2) for answer in release}


# -- people -----------------------------------------------------------------------------------------------------------


def test_sums_and_counts_are_of_people() -> None:
    assert rounded(ask(sums={"spent": (0, 500)}, count=True, unit="person")) == {"spent_sum": 590, "count": 3}


def test_without_a_unit_each_row_is_a_person_and_the_release_says_so() -> None:
    r = ask(sums={"spent": (0, 500)}, count=True)
    assert rounded(r) == {"spent_sum": 780, "count": 7}
    assert "each row is one person" in str(r)
    assert ask(count="rows").count == pytest.approx(7, abs=0.01)


def test_means_over_rows_scale_those_with_many_down() -> None:
    """Of ada two rows count, at her mean of 30: (60 + 8 + 44) / 4."""
    r = ask(means={"score": (0, 100)}, count="rows", unit="person", rows_per_unit=2)
    assert rounded(r) == {"score_mean": 28, "count": 4}
    assert r.count == r["count"].value
    hidden = ask(means={"score": (0, 100)}, count=True, unit="person", rows_per_unit=2)
    assert rounded(hidden) == {"score_mean": 28, "count": 3}
    assert (hidden.names, len(hidden.values), hidden.count) == (("score_mean", "count"), 1, pytest.approx(3, abs=0.01))


def test_means_over_people_give_everyone_the_same_weight() -> None:
    """(30 + 8 + 44) / 3"""
    r = ask(means={"score": (0, 100)}, unit="person", mean_of="units")
    assert rounded(r) == {"score_mean": pytest.approx(82 / 3, abs=0.01)}
    one = ask(means={"score": (0, 100)}, unit="person", rows_per_unit=1)  # one row each is the same
    assert one.values[0] == pytest.approx(82 / 3, abs=0.001)
    both = ask(means={"score": (0, 100)}, count="rows", unit="person", rows_per_unit=2, mean_of="units")
    assert rounded(both) == {"score_mean": pytest.approx(82 / 3, abs=0.01), "count": 4}


def test_a_row_without_a_value_adds_nothing_to_a_total_and_the_centre_to_a_mean() -> None:
    """ada's four rows: 550 of spent, of which one is missing; clamped as rows they are 400, 200, 0 and the centre."""
    assert rounded(ask(sums={"spent": (5, 1000)}, unit="person")) == {"spent_sum": 640}
    assert rounded(ask(sums={"spent": (5, 1000)}, unit="person", missing={"spent": 100})) == {"spent_sum": 740}
    means = ask(means={"spent": (0, 400)}, unit="person", mean_of="units")
    assert means.values[0] == pytest.approx(((400 + 200 + 0 + 200) / 4 + 20 + 70) / 3, abs=0.01)
    both = ask(sums={"spent": (0, 1000)}, means={"spent": (0, 400)}, unit="person", rows_per_unit=9)
    assert rounded(both) == {"spent_sum": 640, "spent_mean": pytest.approx(890 / 6, abs=0.02)}


def test_filters_and_derived_columns_come_first() -> None:
    r = ask(sums={"twice": (0, 1000)}, count=True, unit="person", columns={"twice": "spent * 2"}, where="age >= 18")
    assert rounded(r) == {"twice_sum": 1140, "count": 2}  # 2 · 550 clamped, 2 · 70; bob is 17
    plain = ask(count=True, where="age >= 18 and not (region == 'west')")
    assert rounded(plain) == {"count": 5}
    assert "only rows where age >= 18" in str(r)


def test_kinds_of_domains() -> None:
    def domain(**fields: Any) -> Any:
        return gm.Request("x", guarantee=G, **fields).plan.domain

    assert isinstance(domain(count=True, unit="p"), Records)
    assert isinstance(domain(sums={"a": (0, 1)}, means={"a": (0, 1)}, unit="p", mean_of="units"), Box)
    assert domain(sums={"a": (0, 1)}, means={"a": (0, 1)}, unit="p", mean_of="units").names == ("a", "a mean")
    people = domain(sums={"a": (0, 1)}, means={"a": (0, 1)}, unit="p", rows_per_unit=3)
    assert isinstance(people, People)
    assert people.names == ("a", "a mean", "rows")
    assert domain(count="rows", unit="p", rows_per_unit=3).dimension == 1


def test_replace_one_knows_the_number_of_people() -> None:
    fields = {"sums": {"spent": (0, 500)}, "means": {"score": (0, 100)}, "unit": "person", "rows_per_unit": 2}
    r = ask(neighbours="replace-one", count=True, **fields)
    assert rounded(r) == {"spent_sum": 590, "score_mean": 28, "count": 3}
    assert (r.records, r.count_standard_error) == (3, 0)


def test_a_file_of_text_and_a_parquet_file_agree(tmp_path: Any) -> None:
    VISITS.write_csv(tmp_path / "v.csv")
    VISITS.write_parquet(tmp_path / "v.parquet")
    fields: dict[str, Any] = {"sums": {"spent": (0, 500)}, "count": True, "unit": "person", "where": "age > 17"}
    assert rounded(ask(tmp_path / "v.csv", **fields)) == rounded(ask(str(tmp_path / "v.parquet"), **fields))


# -- groups -----------------------------------------------------------------------------------------------------------


def test_every_declared_group_is_answered_also_an_empty_one() -> None:
    r = ask(sums={"spent": (0, 1000)}, count=True, unit="person", by={"region": ["south", "north", "east"]})
    assert isinstance(r, GroupRelease)
    assert [rounded(r[label]) for label in ("south", "north", "east")] == [
        {"spent_sum": 20, "count": 1},  # ada keeps north, where she has most rows
        {"spent_sum": 600, "count": 1},
        {"spent_sum": 0, "count": 0},
    ]
    two = ask(count=True, unit="person", by={"region": ["south", "north"]}, groups_per_unit=2)
    assert two.count.round(2).tolist() == [2, 1]
    assert rounded(two.total()) == {"count": 3}


def test_every_kind_of_release_writes_its_page(tmp_path: Any) -> None:
    people: dict[str, Any] = {"means": {"score": (0, 100)}, "count": True, "unit": "person", "rows_per_unit": 2}
    one = ask(guarantee=G, **people)
    groups = ask(guarantee=G, by={"region": ["north", "no one"]}, **people)
    several = ask(guarantee=G, unit="person", questions=[{"count": True}, {"count": True, "where": "age > 20"}])
    for i, release in enumerate((one, groups, several)):
        page = release.report(tmp_path / f"{i}.html").read_text("utf-8")
        assert "a person is all rows with the same person" in page
        assert "nan" not in page and "None" not in page
        with pytest.raises(RequestError, match=r"it is an \.html page · write 'out\.html'"):
            release.report("out.pdf")
        with pytest.raises(RequestError, match="it cannot be written: No such file or directory"):
            release.report(tmp_path / "nowhere" / "out.html")


def test_a_record_is_read_from_its_file(tmp_path: Any) -> None:
    for release in (ask(guarantee=G, count=True), ask(guarantee=G, count=True, by={"region": ["north"]})):
        (tmp_path / "release.json").write_text(release.to_json() + "\n", encoding="utf-8")
        read = gm.read(tmp_path / "release.json")
        assert type(read) is type(release) and read.to_json() == release.to_json()
    with pytest.raises(RequestError, match="it cannot be read: No such file"):
        gm.read(tmp_path / "none.json")


def test_listed_combinations_numbers_and_dates_as_keys() -> None:
    days = VISITS.with_columns(day=pl.lit(datetime.date(2024, 5, 31)))
    by = [{"day": datetime.date(2024, 5, 31), "age": 36}, {"day": datetime.date(2024, 5, 31), "age": 50}]
    r = ask(days, count=True, unit="person", by=by)
    assert r.labels == (("2024-05-31", 36), ("2024-05-31", 50))
    assert r.count.round(2).tolist() == [1, 1]
    assert gm.read(r.to_json()).labels == r.labels


def test_means_and_rows_in_groups() -> None:
    r = ask(
        means={"score": (0, 100)}, count="rows", unit="person", rows_per_unit=2, groups_per_unit=2,
        by={"region": ["north", "south"]},
    )  # fmt: skip
    assert [rounded(r[label]) for label in ("north", "south")] == [
        {"score_mean": 30, "count": 2},
        {"score_mean": 19, "count": 2},
    ]
    assert r.count.round(2).tolist() == [2, 2]
    assert rounded(r.total()) == {"score_mean": 24.5, "count": 4}


def test_a_plan_of_groups_releases_frames_of_keys_and_numbers(tmp_path: Any) -> None:
    plan = gm.plan(gm.Groups({"region": ["north", "south"]}, gm.Box({"score": (0, 100)})), LOUD, count=True)
    r = plan.release(VISITS)
    assert [rounded(r[label]) for label in ("north", "south")] == [
        {"score": 90, "count": 3},
        {"score": 39, "count": 3},
    ]
    assert plan.release(VISITS, columns=["age"])["north"].values[0] == pytest.approx(108, abs=0.1)
    gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1e6))
    stored = plan.release(VISITS, ledger=tmp_path / "l", id="a")
    assert stored.to_json() == plan.release(VISITS, ledger=tmp_path / "l", id="a").to_json()
    with pytest.raises(GaussmithError, match="an array's columns have no names"):
        plan.release(np.zeros((3, 2)))
    rows = gm.Request(VISITS, count="rows", unit="person", rows_per_unit=2, by={"region": ["north"]}, guarantee=G)
    with pytest.raises(GaussmithError, match="whose rows are whose"):
        rows.plan.release(VISITS)
    alone = gm.Request(VISITS, count="rows", unit="person", rows_per_unit=2, guarantee=G)
    with pytest.raises(GaussmithError, match="whose rows are whose"):
        alone.plan.release(VISITS)


# -- several questions ------------------------------------------------------------------------------------------------

QUESTIONS = [
    {"name": "spending", "sums": {"spent": (0, 500)}, "count": True},
    {"name": "scores", "means": {"score": (0, 100)}},
    {"name": "regions", "by": {"region": ["north", "south"]}, "count": True},
    {"name": "adults", "where": "age >= 18", "sums": {"spent": (0, 500)}},
]


def test_questions_that_read_alike_are_planned_together() -> None:
    request = gm.Request(VISITS, unit="person", rows_per_unit=2, guarantee=LOUD, questions=QUESTIONS)
    plan = request.plan
    assert isinstance(plan, JointPlan)
    assert [slot.part for slot in plan.slots] == [0, 0, 1, 2]
    assert plan.shares() == {"spending": 0.5, "scores": 0.5, "regions": 0.25, "adults": 0.25}
    r = gm.release(request)
    assert isinstance(r, JointRelease)
    assert rounded(r["spending"]) == {"spent_sum": 590, "count": 3}
    assert rounded(r["scores"]) == {"score_mean": 28}
    assert r["regions"].count.round(2).tolist() == [1, 1]
    assert rounded(r["adults"]) == {"spent_sum": 570}
    text = str(r)
    assert "spending, scores: planned together, 50 % of the budget" in text
    assert "all questions together: " in text


def test_shares_split_the_square_of_mu() -> None:
    questions = [dict(question, share=share) for question, share in zip(QUESTIONS, (4, 2, 1, 1), strict=True)]
    plan = gm.Request(VISITS, unit="person", rows_per_unit=2, guarantee=G, questions=questions).plan
    assert [part.share for part in plan.parts] == [0.5, 0.25, 0.125, 0.125]
    assert [part.plan.guarantee.mu / G.mu for part in plan.parts] == pytest.approx(np.sqrt([0.5, 0.25, 0.125, 0.125]))
    some = gm.Request("x", guarantee=G, questions=[{"count": True, "share": 3}, {"count": True, "where": "a > 1"}])
    assert list(some.plan.shares().values()) == [0.75, 0.25]


def test_questions_together_are_as_good_as_one_request() -> None:
    fields: dict[str, Any] = {"unit": "p", "rows_per_unit": 4, "guarantee": G}
    apart = [{"sums": {"a": (0, 9)}}, {"means": {"b": (1, 3)}}, {"count": True}]
    joint = gm.Request("x", questions=apart, **fields).plan
    one = gm.Request("x", sums={"a": (0, 9)}, means={"b": (1, 3)}, count=True, **fields).plan
    assert len(joint.parts) == 1
    assert joint.parts[0].plan == one
    errors = [float(plan.standard_errors[0]) for _, plan in list(joint)[:2]]
    assert errors == pytest.approx(one.standard_errors.tolist())
    assert joint.question("3").count_standard_error == pytest.approx(one.count_standard_error)


def test_what_cannot_be_planned_together_is_not() -> None:
    def parts(*questions: dict[str, Any], **fields: Any) -> int:
        return len(gm.Request("x", questions=questions, guarantee=G, **fields).plan.parts)

    rows = {"unit": "p", "rows_per_unit": 3}
    assert parts({"sums": {"a": (0, 1)}}, {"sums": {"a": (0, 2)}}) == 1  # the same column under two bounds
    assert parts({"count": True}, {"count": "rows"}, **rows) == 2
    assert parts({"sums": {"a": (0, 1)}, "weights": [1]}, {"count": True}) == 2
    assert parts({"sums": {"a": (0, 1)}}, {"means": {"a": (0, 1)}}) == 2  # missing values would differ
    assert parts({"sums": {"a": (0, 1)}}, {"means": {"a": (0, 1)}}, missing={"a": 0}) == 1
    assert parts({"sums": {"a": (0, 1)}, "missing": {"a": 1}}, {"sums": {"a": (0, 1)}}) == 2
    assert parts({"count": True, "where": "a > 1"}, {"count": True}) == 2
    assert parts({"count": True, "rows_per_unit": 2}, {"count": True}, **rows) == 2


def test_one_column_under_two_bounds_in_two_questions() -> None:
    questions = [{"name": "low", "sums": {"spent": (0, 50)}}, {"name": "high", "sums": {"spent": (0, 500)}}]
    r = ask(unit="person", questions=questions)
    assert (rounded(r["low"]), rounded(r["high"])) == ({"spent_sum": 120}, {"spent_sum": 590})


def test_filters_of_request_and_question_both_hold() -> None:
    questions = [{"where": "region == 'south' or spent > 300", "count": True}, gm.Question("all", count=True)]
    r = ask(unit="person", where="age >= 18", questions=questions)
    assert (rounded(r["1"]), rounded(r["all"])) == ({"count": 1}, {"count": 2})
    assert r["1"].reading.where == "(age >= 18) and (region == 'south' or spent > 300)"


def test_the_joint_table_and_record_hold_every_question() -> None:
    r = ask(guarantee=G, unit="person", rows_per_unit=2, questions=QUESTIONS)
    table = r.to_polars()
    assert table.columns == ["question", "region", "answer", "value", "standard_error", "lower", "upper"]
    assert table["question"].to_list() == ["spending"] * 2 + ["scores"] + ["regions"] * 2 + ["adults"]
    assert table["region"].to_list() == [None] * 3 + ["north", "south"] + [None]
    again = gm.read(r.to_json())
    assert again.to_json() == r.to_json()
    assert again.to_polars().equals(table)
    with pytest.raises(GaussmithError, match="did you mean 'scores'"):
        r["score"]
    assert "<table>" in r._repr_html_()
    with pytest.raises(GaussmithError, match="here it is one of: release"):
        gm.Release.from_json(r.to_json())


# -- TOML -------------------------------------------------------------------------------------------------------------

TOML = """
source = "visits.parquet"
unit = "person"
rows_per_unit = 12
count = true
where = "age >= 18"
guarantee = { epsilon = 1, delta = 1e-6 }
sums = { bmi = [0, 80] }
means = { age = [0, 100] }
by = { plan = ["free", "family"] }
groups_per_unit = 2

[columns]
bmi = "weight / (height * height)"
"""


def test_toml_says_the_same(tmp_path: Any) -> None:
    (tmp_path / "r.toml").write_text(TOML)
    request = gm.Request.from_toml(tmp_path / "r.toml")
    twin = gm.Request(
        "x", unit="person", rows_per_unit=12, count=True, where="age >= 18", guarantee=G, sums={"bmi": (0, 80)},
        means={"age": (0, 100)}, by={"plan": ["free", "family"]}, groups_per_unit=2,
        columns={"bmi": "weight / (height * height)"},
    )  # fmt: skip
    assert isinstance(request.plan, GroupPlan)
    assert (request.plan, request.readings) == (twin.plan, twin.readings)


def test_toml_questions(tmp_path: Any) -> None:
    (tmp_path / "r.toml").write_text(
        'source = "v.csv"\nunit = "p"\nguarantee = { mu = 1 }\n[[question]]\nname = "a"\ncount = true\n'
        "[[question]]\nsums = { x = [0, 1] }\nby = { d = [2024-05-31, 2024-06-01] }\n"
    )
    request = gm.Request.from_toml(tmp_path / "r.toml")
    assert request.plan.names == ("a", "2")
    assert request.plan.parts[1].plan.groups.labels == (("2024-05-31",), ("2024-06-01",))


# -- what is refused --------------------------------------------------------------------------------------------------

REFUSED = {
    "count": (
        {"count": "people"},
        "count='people' · it is true, false or \"rows\" · write count = true",
    ),
    "mean_of": (
        {"means": {"a": (0, 1)}, "mean_of": "unit"},
        "mean_of='unit' · it is \"rows\" or \"units\" · did you mean 'units'?",
    ),
    "rows without a limit": (
        {"means": {"a": (0, 1)}, "unit": "p"},
        "means over rows without rows_per_unit · it must be said how many rows of one person count · "
        'write rows_per_unit = 12, or mean_of = "units" for the mean over people',
    ),
    "rows counted without a limit": (
        {"count": "rows", "unit": "p"},
        'count="rows" without rows_per_unit · it must be said how many rows of one person count · '
        'write rows_per_unit = 12, or mean_of = "units" for the mean over people',
    ),
    "a limit without people": (
        {"count": True, "rows_per_unit": 3},
        "rows_per_unit=3 without a unit · without a unit each row is a person · "
        'name the column that tells people apart: unit = "person"',
    ),
    "groups without people": (
        {"count": True, "by": {"r": ["a", "b"]}, "groups_per_unit": 2},
        "groups_per_unit=2 without a unit · without a unit each row is a person · "
        'name the column that tells people apart: unit = "person"',
    ),
    "limit zero": (
        {"count": True, "unit": "p", "rows_per_unit": 0},
        "rows_per_unit=0 · it is a whole number from 1 to 1048576 · write rows_per_unit = 1",
    ),
    "limit half": (
        {"count": True, "unit": "p", "rows_per_unit": 1.5},
        "rows_per_unit=1.5 · it is a whole number from 1 to 1048576 · write rows_per_unit = 1",
    ),
    "m zero": (
        {"count": True, "unit": "p", "groups_per_unit": 0},
        "groups_per_unit=0 · it is a whole number of at least 1 · write groups_per_unit = 1",
    ),
    "m without groups": (
        {"count": True, "unit": "p", "groups_per_unit": 2},
        "groups_per_unit=2 without groups · it is about groups · declare them: by = …",
    ),
    "m too large": (
        {"count": True, "unit": "p", "by": {"r": ["a", "b"]}, "groups_per_unit": 3},
        "groups_per_unit=3 · only 2 groups are declared · write groups_per_unit = 2, or less",
    ),
    "keys twice": (
        {"count": True, "by": {"r": ["a", "b", "a"]}},
        "group ('a',) is declared twice · every group has its own key · leave one out",
    ),
    "keys not listed": (
        {"count": True, "by": {"r": "a"}},
        "keys of 'r' = 'a' · they are listed, at least one · write {'r': [\"north\", \"south\"]}",
    ),
    "no keys": (
        {"count": True, "by": 3},
        "by=3 · it maps columns to lists of keys, or lists combinations of keys · "
        'write by = { region = ["north", "south"] }',
    ),
    "keys without a column": (
        {"count": True, "by": ["region"]},
        "by=['region'] · it maps columns to lists of keys, or lists combinations of keys · "
        'write by = { region = ["north", "south"] }',
    ),
    "key with a time": (
        {"count": True, "by": {"day": [datetime.datetime(2024, 5, 31, 3)]}},
        "key 2024-05-31T03:00:00 · dates are matched by their day · write a date without a time",
    ),
    "too many values": (
        {"histograms": {"r": ["a", "b"]}, "unit": "p", "values_per_unit": 3},
        "values_per_unit=3 · only 2 values are declared · write values_per_unit = 2, or less",
    ),
    "too many values of all": (
        {"histograms": {"r": ["a", "b"], "s": ["a"]}, "unit": "p", "values_per_unit": 3},
        "values_per_unit=3 · only 2 values are declared · write values_per_unit = 2, or less",
    ),
    "half a filter": (
        {"count": True, "where": "age >="},
        "in the expression\n    age >=\n          ^\nsomething is missing at the end · "
        "an operator stands between two values · complete the expression",
    ),
    "half a column": (
        {"sums": {"a": (0, 1)}, "columns": {"a": "b +"}},
        "in the expression\n    b +\n       ^\nsomething is missing at the end · "
        "an operator stands between two values · complete the expression",
    ),
    "brackets across filters": (
        {"where": "a > 1", "questions": [{"count": True, "where": "b > 1) or (c > 1"}]},
        "in the expression\n    b > 1) or (c > 1\n         ^\n')' cannot stand here · "
        "an operator stands between two values · take it out, or add what is missing",
    ),
    "unknown function": (
        {"sums": {"x": (0, 1)}, "columns": {"x": "exec(age)"}},
        "in the expression\n    exec(age)\n    ^\nthere is no function 'exec' · "
        "the language has + - * / == != < <= > >= in, and or not, is_null year month day abs floor min max number · "
        "use one of these",
    ),
    "missing in letters": (
        {"sums": {"a": (5, 9)}, "missing": {"a": "x"}},
        "missing of 'a' = 'x' · it is a number · write missing = { age = 40 }",
    ),
    "two spellings": (
        {"sums": {"a": (5, 9)}, "neighbours": "replace-one", "neighbors": "add-remove"},
        "neighbours='replace-one' and neighbors='add-remove' · they are one and the same · leave one out",
    ),
    "key of a fraction": (
        {"count": True, "by": {"r": [0.5]}},
        "key 0.5 · a key is text, a whole number or a truth value · round it to one",
    ),
    "unit": ({"count": True, "unit": 3}, 'unit=3 · it names a column · write unit = "person"'),
    "where": ({"count": True, "where": True}, 'where=True · a filter is written as text · write where = "age >= 18"'),
    "columns": (
        {"count": True, "columns": ["a"]},
        "columns=['a'] · it maps names to expressions · write columns = { bmi = \"weight / (height * height)\" }",
    ),
    "replace-one with a filter": (
        {"count": True, "where": "a > 1", "sums": {"a": (0, 1)}, "neighbours": "replace-one"},
        "where under replace-one · there the number of people is public, and a filter would give away who passes it · "
        'leave neighbours out, which is "add-remove"',
    ),
    "missing outside": (
        {"sums": {"a": (5, 9)}, "unit": "p", "missing": {"a": 10}},
        "missing = { a = 10 } · a stand-in lies between 0 and 9 · choose a value inside them",
    ),
    "missing not asked": (
        {"sums": {"a": (5, 9)}, "missing": {"b": 1}},
        "missing names 'b' · it must be a column that is asked · choose one of: a",
    ),
    "both": (
        {"count": True, "questions": [{"count": True}]},
        "count beside questions · with questions everything is asked in them · make it a question",
    ),
    "names twice": (
        {"questions": [{"name": "a", "count": True}, {"name": "a", "count": True}]},
        "two questions named 'a' · every question has its own name · rename one",
    ),
    "unknown key": (
        {"questions": [{"cuont": True}]},
        "unknown key 'cuont' in question 1 · a question has no such key · did you mean 'count'?",
    ),
    "unit in a question": (
        {"questions": [{"count": True, "unit": "p"}]},
        "unknown key 'unit' in question 1 · unit holds for the whole request · write it above the questions",
    ),
    "no table": (
        {"questions": [3]},
        "question 3 · a question is a table · write [[question]] and what it asks",
    ),
    "share": (
        {"questions": [{"count": True, "share": 0}]},
        "share=0 · a share is a number above 0 · write share = 2",
    ),
    "nothing": (
        {"questions": [{"name": "a"}]},
        "nothing is asked · a request has at least one answer · add sums, means or count, e.g. --count",
    ),
    "derived twice": (
        {"columns": {"a": "b"}, "questions": [{"count": True, "columns": {"a": "c"}}]},
        "column 'a' is derived twice · every derived column has its own name · rename one",
    ),
    "missing nowhere": (
        {"missing": {"z": 1}, "questions": [{"count": True}]},
        "missing names 'z' · it must be a column that is asked · leave it out, or ask for it",
    ),
    "name": (
        {"questions": [{"name": " a", "count": True}]},
        "name=' a' · a question is named by printable text · choose another name",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_before_anything_is_opened(case: str) -> None:
    fields, text = REFUSED[case]
    with pytest.raises(GaussmithError) as caught:
        gm.Request("nowhere.parquet", guarantee=G, **fields)
    assert str(caught.value) == text
    assert caught.value.exit_code == 2


SCHEMA = {
    "unknown unit": (
        {"count": True, "unit": "persn"},
        "column 'persn' · the source has no such column · did you mean 'person'?",
    ),
    "unknown column": (
        {"sums": {"spend": (0, 1)}, "unit": "person"},
        "column='spend' · the frame has no such column · did you mean 'spent'?",
    ),
    "unknown key column": (
        {"count": True, "by": {"regio": ["a"]}},
        "by: column 'regio' · the source has no such column · did you mean 'region'?",
    ),
    "keys of another kind": (
        {"count": True, "by": {"region": [1]}},
        None,
    ),
    "keys of a number": (
        {"count": True, "by": {"age": ["old"]}},
        "by: 'age' is a column of the kind 'number' · its keys are numbers, and 'old' is a text · "
        "write whole numbers, without quotes; where the column holds others, derive one: floor(…)",
    ),
    "unknown column in a filter": (
        {"count": True, "where": "ages > 1"},
        "in the expression\n    ages > 1\n    ^\nthere is no column 'ages' · "
        "an expression uses columns of the source · did you mean 'age'?",
    ),
    "keys that are numbers in quotes": (
        {"count": True, "by": {"age": ["17", "36"]}},
        "by: 'age' is a column of the kind 'number' · its keys are numbers, and '17' is a text · "
        "write whole numbers, without quotes; where the column holds others, derive one: floor(…)",
    ),
    "truths for a number": (
        {"count": True, "by": {"age": [True, False]}},
        "by: 'age' is a column of the kind 'number' · its keys are numbers, and True is none of these · mend the keys",
    ),
    "a text without quotes": (
        {"count": True, "where": "region == nroth"},
        "in the expression\n    region == nroth\n              ^\nthere is no column 'nroth' · "
        "a text is written in quotes: 'nroth' · add quotes; or is it a column? "
        "choose one of: person, region, spent, score, age",
    ),
    "text": (
        {"sums": {"region": (0, 1)}, "unit": "person"},
        "column='region' is text · numbers are needed · cast it to a number first",
    ),
    "derived name taken": (
        {"count": True, "columns": {"age": "spent"}},
        "columns: 'age' · the source has a column of this name · choose another name",
    ),
}


@pytest.mark.parametrize("case", SCHEMA)
def test_refused_by_the_schema_before_anything_is_charged(case: str, tmp_path: Any) -> None:
    fields, text = SCHEMA[case]
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1))
    request = gm.Request(VISITS, guarantee=gm.Guarantee(mu=0.5), **fields)
    if text is None:  # a text column may hold numbers
        assert gm.release(request, ledger=ledger).labels == ((1,),)
        return
    with pytest.raises(RequestError) as caught:
        gm.release(request, ledger=ledger, id="a")
    assert str(caught.value) == text
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"unit": "p"}, "unit"),
        ({"by": {"r": ["a"]}}, "by"),
        ({"where": "a > 1"}, "where"),
        ({"columns": {"b": "a"}}, "columns"),
    ],
)
def test_arrays_have_no_names(fields: Any, word: str) -> None:
    with pytest.raises(RequestError) as caught:
        ask(np.ones((3, 1)), count=True, **fields)
    assert str(caught.value) == (
        f"{word} for an array · an array's columns have no names · pass a frame, such as polars.DataFrame(array, names)"
    )


def test_an_array_is_a_source_like_any_other() -> None:
    assert rounded(ask(np.full((5, 2), [1.0, 3.0]), sums={"a": (0, 2)}, means={"b": (0, 4)})) == {
        "a_sum": 5,
        "b_mean": 3,
    }


def test_truths_are_keys_of_text_columns_too(tmp_path: Any) -> None:
    file = tmp_path / "people.csv"
    file.write_text("smoker\ntrue\nFALSE\n true\nperhaps\n\n")
    request = gm.Request(str(file), count=True, by={"smoker": [True, False]}, guarantee=LOUD)
    released = gm.release(request)
    assert isinstance(released, GroupRelease) and released.count.round().tolist() == [2, 1]


def test_a_list_of_several_histograms_limits_each_by_its_own_length() -> None:
    asked = {"region": ["north", "south"], "age": [17]}
    request = gm.Request(VISITS, histograms=asked, unit="person", values_per_unit=2, guarantee=G)
    assert [reading.values_per_unit for reading in request.readings] == [2, 1]


def test_a_key_with_a_time_of_day_is_refused() -> None:
    days = pl.DataFrame({"day": [datetime.date(2024, 5, 31)]})
    with pytest.raises(RequestError, match="'2024-05-31 03:00' of 'day' · dates are compared by their day"):
        gm.release(gm.Request(days, count=True, by={"day": ["2024-05-31 03:00"]}, guarantee=G))
    midnight = gm.Request(days, count=True, by={"day": [datetime.datetime(2024, 5, 31)]}, guarantee=LOUD)
    assert gm.release(midnight).count.round().tolist() == [1]


# -- what plans of groups and of several questions say of themselves -------------------------------------------------


def three_questions(**fields: Any) -> JointPlan:
    asked = [
        {"name": "spending", "sums": {"spent": (0, 500)}},
        {"name": "people", "count": True},
        {"name": "regions", "count": True, "by": {"region": ["north", "south"]}},
    ]
    plan = gm.Request("visits.csv", unit="person", questions=asked, guarantee=G, **fields).plan
    assert isinstance(plan, JointPlan)
    return plan


def test_questions_are_compared_with_the_standard_that_answers_them_all() -> None:
    """The same two answers as one question have the same ratios: the budget is counted once."""
    from gaussmith.standards import compare_plan, share_of_standard

    plan = three_questions()
    mu = plan.parts[0].plan.guarantee.mu
    alone = gm.Request("a.csv", unit="p", sums={"spent": (0, 500)}, count=True, guarantee=gm.Guarantee(mu=mu)).plan
    spent, count = compare_plan(alone)
    assert compare_plan(plan.question("spending")) == [spent] and compare_plan(plan.question("people")) == [count]
    shares = [share_of_standard(plan.question(name)) for name in ("spending", "people")]
    assert shares == [pytest.approx(spent.share), pytest.approx(count.share)]
    assert spent.share < 0.8 and count.share < 0.9
    text = str(plan)
    assert text.count("planned together, as good as any Gaussian noise can be") == 2 and "108 %" not in text
    assert plan.question("people").optimality == plan.parts[0].plan.optimality < 1.001
    assert "Considered and not chosen" in plan.question("people").explain()  # of the plan that its noise is of


def test_questions_over_rows_are_compared_within_the_whole_too() -> None:
    from gaussmith.standards import compare_plan

    asked = [{"name": "age", "means": {"age": (0, 100)}}, {"name": "spent", "sums": {"spent": (0, 500)}}]
    plan = gm.Request("a.csv", unit="p", rows_per_unit=4, questions=asked, guarantee=G).plan
    both = gm.Request(
        "a.csv", unit="p", rows_per_unit=4, means={"age": (0, 100)}, sums={"spent": (0, 500)}, guarantee=G
    ).plan
    assert [*compare_plan(plan.question("spent")), *compare_plan(plan.question("age"))] == compare_plan(both)


def test_a_plan_of_questions_has_errors_bounds_and_a_certificate() -> None:
    plan = three_questions()
    assert plan.errors() == {name: part.errors() for name, part in plan}
    assert list(plan.standard_errors) == ["spending", "people", "regions"]
    assert plan.total_variance == pytest.approx(sum(part.plan.total_variance for part in plan.parts))
    mu = plan.guarantee.mu
    at_full = [part.plan.lower_bound * part.plan.guarantee.mu**2 / mu**2 for part in plan.parts]
    assert plan.lower_bound == pytest.approx(sum(at_full))  # as if each part had the whole guarantee
    assert plan.optimality == pytest.approx(plan.total_variance / plan.lower_bound) and plan.optimality > 1
    assert f"within a factor {plan.optimality:.3g}" in plan.explain()
    assert len(plan.certificate.parts) == 2
    html = plan._repr_html_()
    assert html.count("<table>") == 3 and "66.7 % of the budget" in html
    assert repr(plan) == str(plan)
    assert plan.chart("spending") and plan.chart("regions")


def test_groups_say_how_good_they_are_at_their_share() -> None:
    one = gm.plan(gm.Groups({"region": ["a", "b", "c"]}, Box({"x": (0, 1)})), G, count=True)
    assert "lifted box: as good as any" in str(one) and one.optimality == pytest.approx(1)
    two = gm.plan(gm.Groups({"region": ["a", "b", "c"]}, Box({"x": (0, 1)}), at_most=2), G, count=True)
    assert "lifted box: at its share of μ as good as any Gaussian noise can be" in str(two)
    assert two.optimality == pytest.approx(two.total_variance / two.lower_bound) == pytest.approx(2)
    assert "within a factor 2" in two.explain()
    assert two.certificate.plan_hash == two.each.hash and two.chart() and repr(two) == str(two)
    assert "at its share of μ" in two._repr_html_() and "all groups together" in two._repr_html_()
    assert np.array_equal(two.covariance(), two.each.covariance())


def test_groups_are_compared_with_a_standard_at_its_own_share() -> None:
    """Under replace-one the share depends on the shape: the standard Gaussian's may be larger than the plan's."""
    by = gm.Groups({"region": ["a", "b"]}, Box([0] * 16, [1] * 16))
    mu = 1.0
    plan = gm.plan(by, gm.Guarantee(mu=mu), neighbours="replace-one")
    # 16 ones leave one group and enter another: √2 · √16 in all; a change within a group is less, √16.
    standard = np.sqrt(2) * np.sqrt(16) / mu
    row = str(plan).splitlines()[2].split()
    assert float(row[2]) == pytest.approx(standard, rel=1e-3)
    assert row[3] == f"{100 * plan.standard_errors[0] / standard:.0f}" == "79"
    assert gm.plan(by, gm.Guarantee(mu=mu)).standard_scale == 1


def test_a_guess_of_rows_is_not_one_of_people() -> None:
    from gaussmith.explanation import plan_table

    asked = {"means": {"age": (0, 100)}, "count": True, "unit": "person"}
    over_rows = gm.Request("a.csv", rows_per_unit=12, guarantee=G, **asked).plan
    assert "means of 900 rows" in plan_table(over_rows, 900) and "900 records" not in plan_table(over_rows, 900)
    of_people = gm.Request("a.csv", mean_of="units", guarantee=G, **asked).plan
    assert "of what 900 records can add up to: count" in plan_table(of_people, 900)


# -- what stands in for a missing value -------------------------------------------------------------------------------


def test_stand_ins_are_told_where_numbers_are_text_or_where_they_were_said(tmp_path: Path) -> None:
    file = tmp_path / "spent.csv"
    file.write_text("who,usd\na,$5\nb,$6\n")
    told = "a missing value, or text that is no plain number (45%, $5, 1,5), counts as "
    text = " ".join(str(ask(str(file), means={"usd": (0, 10)})).split())
    assert f"{told}5 in usd" in text
    both = ask(str(file), means={"usd": (0, 10)}, sums={"usd": (0, 20)}, unit="who", rows_per_unit=2)
    assert f"{told}0 in the sum of usd, 5 in the mean of usd" in " ".join(str(both).split())
    assert "counts as" not in str(ask(means={"score": (0, 100)}))
    said = gm.Request("a.parquet", means={"score": (0, 100)}, missing={"score": 7}, guarantee=G)
    assert said.readings[0].notes() == ["each row is one person", "a missing value counts as 7 in score"]
    assert "a missing value counts as 7 in score" in str(ask(means={"score": (0, 100)}, missing={"score": 7}))
    asked = [{"name": "usd", "means": {"usd": (0, 10)}}, {"name": "n", "count": True}]
    joint = ask(str(file), questions=asked)
    assert f"{told}5 in usd" in str(joint["usd"].reading) and "counts as" not in str(joint["n"].reading)
    again = gm.read(joint.to_json())
    assert again == joint and str(again) == str(joint)
    assert joint["usd"].reading.source == "spent.csv" and '"source": "spent.csv"' in joint.to_json()


def test_values_that_are_not_declared_are_told(tmp_path: Path) -> None:
    plan = gm.plan(gm.Cells(["a", "b"]), G)
    for text in (str(plan), str(plan.release(["a", "z"])), plan._repr_html_()):
        assert "a value that is missing or not declared counts as: a" in text
    several = gm.plan(gm.Cells({"sex": ["f", "m"], "age": 3}, other={"sex": "m", "age": 2}), G)
    assert "counts as: sex=m, age=2" in str(several)
    assert "not declared counts" not in str(gm.plan(gm.Cells(["a", "b"], or_none=True), G))


def test_a_large_delta_is_remarked_on() -> None:
    loose = gm.Guarantee(epsilon=1, delta=0.5)
    assert "δ = 0.5 promises little" in str(gm.plan(Box({"x": (0, 1)}), loose))
    assert "δ = 0.5 promises little" in str(ask(count=True, guarantee=loose))
    for words in (str(three_questions()), str(gm.plan(Box({"x": (0, 1)}), gm.Guarantee(epsilon=1, delta=1e-3)))):
        assert "promises little" not in words
    by = gm.Groups({"region": ["a", "b"]}, Box({"x": (0, 1)}), at_most=2)
    assert str(gm.plan(by, loose)).count("δ = 0.5 promises little") == 1


@pytest.mark.parametrize("unit", [None, "p"])
@pytest.mark.parametrize(
    "sums",
    [
        [{"x": (0, 1)}, {"x": (0, 1.00000001)}, {"x": (0, 1.00000002)}, {"x": (0, 1.00000003)}],
        [{"x": (0, 1)}, {"x within 0 to 2": (0, 8)}, {"x": (0, 2)}],
        [{"x": (0, 1)}, {"x sum": (0, 8)}, {"x": (0, 2)}, {"x sum within 0 to 2": (0, 8)}],
    ],
)
def test_coordinates_whose_names_would_meet_keep_their_own(sums: list[dict[str, Any]], unit: str | None) -> None:
    table = pl.DataFrame({"p": [1, 2], "x": [2.0, 2.0], "x within 0 to 2": [3.0, 4.0], "x sum": [5.0, 6.0],
                          "x sum within 0 to 2": [7.0, 8.0]})  # fmt: skip
    asked = [{"name": f"q{i}", "sums": each} for i, each in enumerate(sums)]
    made = gm.release(gm.Request(table, unit=unit, questions=asked, guarantee=gm.Guarantee(mu=1e6)))
    for (_, found), each in zip(made, sums, strict=True):
        ((column, (_, high)),) = each.items()
        assert found.values == pytest.approx([table[column].clip(0, high).sum()], abs=1e-3)

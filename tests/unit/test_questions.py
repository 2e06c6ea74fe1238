"""Requests about people, groups and several questions: what they plan and what they read."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refusal, refused
from visits import LOUD, VISITS, G, ask, rounded

import gaussmith as gm
from gaussmith.domains.box import Box, Records
from gaussmith.domains.people import People

# -- people -----------------------------------------------------------------------------------------------------------


def test_sums_and_counts_are_of_people() -> None:
    assert rounded(ask(sums={"spent": (0, 500)}, count=True, unit="person")) == {"spent_sum": 590, "count": 3}


def test_without_a_unit_each_row_is_a_person_and_the_release_says_so() -> None:
    r = ask(sums={"spent": (0, 500)}, count=True)
    assert rounded(r) == {"spent_sum": 780, "count": 7}
    assert "each row is one person" in str(r)
    assert ask(count="rows")["count"].value == pytest.approx(7, abs=0.01)


def test_means_over_rows_scale_those_with_many_down() -> None:
    """Of ada two rows count, at her mean of 30: (60 + 8 + 44) / 4."""
    r = ask(means={"score": (0, 100)}, count="rows", unit="person", rows_per_unit=2)
    assert rounded(r) == {"score_mean": 28, "count": 4}
    assert r.values[-1] == r["count"].value
    hidden = ask(means={"score": (0, 100)}, count=True, unit="person", rows_per_unit=2)
    assert rounded(hidden) == {"score_mean": 28, "count": 3}
    assert (hidden.names, len(hidden.values)) == (("score_mean", "count"), 2)
    assert hidden["count"].value == pytest.approx(3, abs=0.01)


def test_means_over_people_give_everyone_the_same_weight() -> None:
    """(30 + 8 + 44) / 3"""
    r = ask(means={"score": (0, 100)}, unit="person", mean_of="units")
    assert rounded(r) == {"score_mean": pytest.approx(82 / 3, abs=0.01)}
    one = ask(means={"score": (0, 100)}, unit="person", rows_per_unit=1)  # one row each is the same
    assert one.values[0] == pytest.approx(82 / 3, abs=0.001)
    both = ask(means={"score": (0, 100)}, count="rows", unit="person", rows_per_unit=2, mean_of="units")
    assert rounded(both) == {"score_mean": pytest.approx(82 / 3, abs=0.01), "count": 4}


def test_a_row_without_a_value_adds_nothing_to_a_total_and_is_left_out_of_a_mean() -> None:
    """ada's four rows: 550 of spent, of which one is missing; clamped as rows they are 400, 200, 0 and the centre."""
    assert rounded(ask(sums={"spent": (5, 1000)}, unit="person")) == {"spent_sum": 640}
    assert rounded(ask(sums={"spent": (5, 1000)}, unit="person", missing={"spent": 100})) == {"spent_sum": 740}
    means = ask(means={"spent": (0, 400)}, unit="person", mean_of="units")
    assert means.values[0] == pytest.approx(((400 + 200 + 0 + 200) / 4 + 20 + 70) / 3, abs=0.01)
    both = ask(sums={"spent": (0, 1000)}, means={"spent": (0, 400)}, unit="person", rows_per_unit=9)
    assert rounded(both) == {"spent_sum": 640, "spent_mean": pytest.approx(690 / 5, abs=0.02)}
    broken = ask(means={"spent": (0, 400)}, unit="person", rows_per_unit=9, complete=["spent"])
    assert rounded(broken) == {"spent_mean": pytest.approx(890 / 6, abs=0.02)}  # a broken promise counts as the centre


def test_filters_and_derived_columns_come_first() -> None:
    r = ask(sums={"twice": (0, 1000)}, count=True, unit="person", columns={"twice": "spent * 2"}, where="age >= 18")
    assert rounded(r) == {"twice_sum": 1140, "count": 2}  # 2 · 550 clamped, 2 · 70; bob is 17
    plain = ask(count=True, where="age >= 18 and not (region == 'west')")
    assert rounded(plain) == {"count": 5}
    assert "only rows where age >= 18" in str(r)


def test_kinds_of_domains() -> None:
    def domain(**fields: Any) -> Any:
        complete = list(fields.get("means", {}))
        return gm.Request("x", guarantee=G, complete=complete, **fields).plan.domain

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
    assert (r.records, r["count"].standard_error) == ((3, None), 0)  # how many have a score is secret


def test_a_file_of_text_and_a_parquet_file_agree(tmp_path: Any) -> None:
    VISITS.write_csv(tmp_path / "v.csv")
    VISITS.write_parquet(tmp_path / "v.parquet")
    fields: dict[str, Any] = {"sums": {"spent": (0, 500)}, "count": True, "unit": "person", "where": "age > 17"}
    assert rounded(ask(tmp_path / "v.csv", **fields)) == rounded(ask(str(tmp_path / "v.parquet"), **fields))


# -- groups -----------------------------------------------------------------------------------------------------------


def test_every_declared_group_is_answered_also_an_empty_one() -> None:
    r = ask(
        sums={"spent": (0, 1000)},
        count=True,
        unit="person",
        groups_per_unit=1,
        by={"region": ["south", "north", "east"]},
    )
    assert r.labels == (("south",), ("north",), ("east",))
    assert [rounded(r[label]) for label in ("south", "north", "east")] == [
        {"spent_sum": 20, "count": 1},  # ada keeps north, where she has most rows
        {"spent_sum": 600, "count": 1},
        {"spent_sum": 0, "count": 0},
    ]
    two = ask(count=True, unit="person", by={"region": ["south", "north"]}, groups_per_unit=2)
    assert two.values[:, -1].round(2).tolist() == [2, 1]
    assert rounded(two.total()) == {"count": 3}


def test_every_kind_of_release_writes_its_page(tmp_path: Any) -> None:
    people: dict[str, Any] = {"means": {"score": (0, 100)}, "count": True, "unit": "person", "rows_per_unit": 2}
    one = ask(guarantee=G, **people)
    groups = ask(guarantee=G, by={"region": ["north", "no one"]}, groups_per_unit=1, **people)
    several = ask(guarantee=G, unit="person", questions=[{"count": True}, {"count": True, "where": "age > 20"}])
    for i, release in enumerate((one, groups, several)):
        page = release.report(tmp_path / f"{i}.html").read_text("utf-8")
        assert "a person is all rows with the same person" in page
        assert "nan" not in page and "None" not in page
        with refused("report-not-html", says="write 'out.html'"):
            release.report("out.pdf")
        with refused("report-not-written", reason="No such file or directory"):
            release.report(tmp_path / "nowhere" / "out.html")


def test_a_record_is_read_from_its_file(tmp_path: Any) -> None:
    for release in (ask(guarantee=G, count=True), ask(guarantee=G, count=True, by={"region": ["north"]})):
        (tmp_path / "release.json").write_text(release.to_json() + "\n", encoding="utf-8")
        read = gm.read(tmp_path / "release.json")
        assert type(read) is type(release) and read.to_json() == release.to_json()
    with refused("record-file-not-readable", reason="No such file or directory"):
        gm.read(tmp_path / "none.json")


def test_listed_combinations_numbers_and_dates_as_keys() -> None:
    days = VISITS.with_columns(day=pl.lit(datetime.date(2024, 5, 31)))
    by = [{"day": datetime.date(2024, 5, 31), "age": 36}, {"day": datetime.date(2024, 5, 31), "age": 50}]
    r = ask(days, count=True, unit="person", groups_per_unit=1, by=by)
    assert r.labels == (("2024-05-31", 36), ("2024-05-31", 50))
    assert r.values[:, -1].round(2).tolist() == [1, 1]
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
    assert r.values[:, -1].round(2).tolist() == [2, 2]
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
    with refused("request-for-array"):
        plan.release(np.zeros((3, 2)))
    rows = gm.Request(
        VISITS, count="rows", unit="person", groups_per_unit=1, rows_per_unit=2, by={"region": ["north"]}, guarantee=G
    )
    with refused("people-plan-without-request"):
        rows.plan.release(VISITS)
    alone = gm.Request(VISITS, count="rows", unit="person", rows_per_unit=2, guarantee=G)
    with refused("people-plan-without-request"):
        alone.plan.release(VISITS)


def test_one_of_several_questions_is_not_released_alone(tmp_path: Any) -> None:
    asked = [{"name": "a", "count": True}, {"name": "b", "count": True, "where": "age > 20"}]
    plan = gm.Request(VISITS, questions=asked, guarantee=G).plan
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=10))
    whole, part = refusal("plan-of-several-questions", questions=("a", "b")), "question-released-alone"
    for some, expected in ((plan, whole), (plan["a"], part)):
        with refused(expected):
            some.release(VISITS, ledger=ledger, id="a")
    assert ledger.spent == 0


# -- several questions ------------------------------------------------------------------------------------------------

QUESTIONS = [
    {"name": "spending", "sums": {"spent": (0, 500)}, "count": True},
    {"name": "scores", "means": {"score": (0, 100)}, "complete": ["score"]},
    {"name": "regions", "by": {"region": ["north", "south"]}, "groups_per_unit": 1, "count": True},
    {"name": "adults", "where": "age >= 18", "sums": {"spent": (0, 500)}},
]


def test_questions_that_read_alike_are_planned_together() -> None:
    request = gm.Request(VISITS, unit="person", rows_per_unit=2, guarantee=LOUD, questions=QUESTIONS)
    plan = request.plan
    assert [slot.queries for slot in plan.slots] == [(0,), (0,), (1,), (2,)]
    shares = plan.shares()
    assert shares["spending"] == shares["scores"] and list(shares) == ["spending", "scores", "regions", "adults"]
    assert shares["scores"] == shares["regions"] == shares["adults"] == 1  # one noise for all
    r = gm.release(request)
    assert r.questions == ("spending", "scores", "regions", "adults")
    assert rounded(r["spending"]) == {"spent_sum": 590, "count": 3}
    assert rounded(r["scores"]) == {"score_mean": 28}
    assert r["regions"].values[:, -1].round(2).tolist() == [1, 1]
    assert rounded(r["adults"]) == {"spent_sum": 570}
    text = str(r)
    assert "spending, scores, regions, adults: one noise for all, 100 % of the budget" in " ".join(text.split())
    assert "all questions together: " in text


def test_shares_split_the_square_of_mu() -> None:
    questions = [dict(question, share=share) for question, share in zip(QUESTIONS, (4, 2, 1, 1), strict=True)]
    plan = gm.Request(VISITS, unit="person", rows_per_unit=2, guarantee=G, questions=questions).plan
    assert list(plan.shares().values()) == pytest.approx([0.5, 0.25, 0.125, 0.125])
    assert [query.guarantee.mu / G.mu for query in plan.queries] == pytest.approx(np.sqrt([0.5, 0.25, 0.125, 0.125]))
    some = gm.Request("x", guarantee=G, questions=[{"count": True, "share": 3}, {"count": True, "where": "a > 1"}])
    assert list(some.plan.shares().values()) == pytest.approx([0.75, 0.25])


def test_questions_together_are_as_good_as_one_request() -> None:
    fields: dict[str, Any] = {"unit": "p", "rows_per_unit": 4, "complete": ["b"], "guarantee": G}
    apart = [{"sums": {"a": (0, 9)}}, {"means": {"b": (1, 3)}}, {"count": True}]
    joint = gm.Request("x", questions=apart, **fields).plan
    one = gm.Request("x", sums={"a": (0, 9)}, means={"b": (1, 3)}, count=True, **fields).plan
    assert len(joint.queries) == 1
    assert joint.queries[0].block == one.queries[0].block
    errors = [float(plan.standard_errors[0]) for plan in joint]
    assert errors == pytest.approx(one.standard_errors.tolist())


def test_what_cannot_be_planned_together_is_not() -> None:
    def parts(*questions: dict[str, Any], **fields: Any) -> int:
        return len(gm.Request("x", questions=questions, guarantee=G, **fields).plan.queries)

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
    assert r["1"].row_rule.where == "(age >= 18) and (region == 'south' or spent > 300)"


def test_the_joint_table_and_record_hold_every_question() -> None:
    r = ask(guarantee=G, unit="person", rows_per_unit=2, questions=QUESTIONS)
    table = r.to_polars()
    assert table.columns == [
        "question",
        "region",
        "answer",
        "value",
        "standard_error",
        "lower",
        "upper",
        "status",
        "note",
    ]
    assert table["question"].to_list() == ["spending"] * 2 + ["scores"] + ["regions"] * 2 + ["adults"]
    assert table["region"].to_list() == [None] * 3 + ["north", "south"] + [None]
    again = gm.read(r.to_json())
    assert again.to_json() == r.to_json()
    assert again.to_polars().equals(table)
    with refused("no-such-question", says="did you mean 'scores'", question="score"):
        r["score"]
    assert "<table>" in r._repr_html_()
    assert gm.Release.from_json(r.to_json()) == r
    with refused("other-file-instead-of-release", kind="plan"):
        gm.Release.from_json(r.plan.to_json())
    with refused("release-instead-of-plan"):
        gm.Plan.from_json(r.to_json())
    assert gm.read(r.plan.to_json()) == r.plan and gm.read(r.plan.certificate.to_json()).plan_hash == r.plan.hash


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
    assert request.plan.groups is not None and request.plan.queries[0].row_rule is not None
    assert request.plan == twin.plan and request.plan.to_dict() == twin.plan.to_dict()


def test_toml_questions(tmp_path: Any) -> None:
    (tmp_path / "r.toml").write_text(
        'source = "v.csv"\nunit = "p"\nguarantee = { mu = 1 }\n[[question]]\nname = "a"\ncount = true\n'
        "[[question]]\nsums = { x = [0, 1] }\nby = { d = [2024-05-31, 2024-06-01] }\ngroups_per_unit = 1\n"
    )
    request = gm.Request.from_toml(tmp_path / "r.toml")
    assert request.plan.questions == ("a", "2")
    assert request.plan.queries[1].groups.labels == (("2024-05-31",), ("2024-06-01",))

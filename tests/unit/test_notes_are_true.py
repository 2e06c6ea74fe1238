"""Notes below answers that a newcomer relies on: what each says is what was computed, with hardly any noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import gaussmith as gm
from gaussmith.cli import main

SURE = gm.Guarantee(mu=1e5)
"""So little noise that answers are the truth."""

LOANS = pl.DataFrame({
    "person": [i // 3 for i in range(600)],
    "kind": [None if i % 3 == 0 else "book" if i % 5 else "film" for i in range(600)],
    "age": ["n/a" if i % 4 == 0 else str(i % 80) for i in range(600)],
    "branch": ["a" if i % 7 < 4 else "b" for i in range(600)],
    "days": [None if i % 6 == 0 else float(i * 7 % 50) for i in range(600)],
})  # fmt: skip


def ask(data: Any = LOANS, **fields: Any) -> gm.Release:
    return gm.release(gm.Request(data, guarantee=SURE, **{"unit": "person", **fields}))


def said(release: gm.Release) -> str:
    return " ".join(str(release).split())


# -- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_file", [False, True])
def test_a_condition_says_that_it_is_false_where_a_value_is_missing(as_file: bool, tmp_path: Path) -> None:
    if as_file:
        LOANS.write_csv(tmp_path / "loans.csv")
    data: Any = str(tmp_path / "loans.csv") if as_file else LOANS
    fields: dict[str, Any] = {"columns": {"book": "kind == 'book'"}, "means": {"book": (0, 1)}, "rows_per_unit": 3}
    release = ask(data, **fields)
    of_all, of_known = (LOANS["kind"] == "book").sum() / 600, (LOANS["kind"] == "book").mean()
    assert release["book_mean"].value == pytest.approx(of_all, abs=1e-4)
    told = "book is kind == 'book': false where kind is missing, and the row counts"
    assert f'{told} (where="not is_null(kind)" leaves it out)' in said(release)
    assert "where book is missing" not in said(release)
    assert release.rows()[0]["note"] == "false where kind is missing"
    filtered = ask(data, where="not is_null(kind)", **fields)
    assert filtered["book_mean"].value == pytest.approx(of_known, abs=1e-4)
    assert "book is kind == 'book' only rows where" in said(filtered)


def test_a_condition_on_numbers_in_text_names_a_filter_that_leaves_other_text_out(tmp_path: Path) -> None:
    LOANS.write_csv(tmp_path / "loans.csv")
    fields: dict[str, Any] = {"columns": {"old": "age >= 18"}, "means": {"old": (0, 1)}, "rows_per_unit": 3}
    release = ask(str(tmp_path / "loans.csv"), **fields)
    ages = LOANS["age"].cast(pl.Int64, strict=False)
    assert release["old_mean"].value == pytest.approx((ages >= 18).sum() / 600, abs=1e-4)
    assert "old is age >= 18: false where age is missing or no plain number, and the row counts" in said(release)
    assert 'where="not is_null(number(age))"' in said(release)
    filtered = ask(str(tmp_path / "loans.csv"), where="not is_null(number(age))", **fields)
    assert filtered["old_mean"].value == pytest.approx((ages >= 18).mean(), abs=1e-4)


@pytest.mark.parametrize("text", ["not (kind == 'book')", "is_null(kind)", "is_null(kind) or kind == 'book'"])
def test_a_condition_that_may_hold_without_a_value_is_not_called_false(text: str) -> None:
    release = ask(columns={"c": text}, means={"c": (0, 1)}, rows_per_unit=3)
    assert release["c_mean"].value > 0.333  # a third has no kind
    assert "c within" not in said(release)  # it has no values beyond
    assert "false where" not in said(release) and "where c is missing" not in said(release)
    assert release.rows()[0]["note"] == ""


# -- people and rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"values_per_unit": 1}, {"by": {"branch": ["a", "b"]}, "groups_per_unit": 2}])
def test_one_value_of_each_person_is_that_of_most_rows(fields: dict[str, Any]) -> None:
    release = ask(proportions={"kind": ["book", "film"]}, **fields)
    within = " in a group" if "by" in fields else ""
    assert f"each person counts once{within}: for the value of kind that most of their rows have" in said(release)
    assert "once for each value" not in said(release) and "more than 1 value" not in said(release)
    keys = ["person", *fields.get("by", ())]
    known = LOANS.filter(pl.col("kind").is_not_null()).group_by(*keys, "kind").len()
    kept = known.sort("len", "kind", descending=[True, False]).unique(keys, keep="first", maintain_order=True)
    shown = release.to_polars().filter(pl.col("answer") == "kind=book")["value"].sum()
    assert shown == pytest.approx((kept["kind"] == "book").sum(), abs=0.01)


def test_ranges_are_called_ranges() -> None:
    ranges: dict[str, Any] = {"days": {"bins": [0, 10, 20, 50]}}
    assert "once for each range of days that a row of theirs is in" in said(ask(histograms=ranges, values_per_unit=3))
    once = "each person counts once: for the range of days that most of their rows are in"
    assert once in said(ask(histograms=ranges, values_per_unit=1))


def test_rows_are_clipped_before_the_mean_of_a_person_is_taken() -> None:
    table = pl.DataFrame({"person": [*range(100)] * 2, "v": [0.0] * 100 + [80.0] * 100})
    median, mean = ask(table, medians={"v": (0, 40)}), ask(table, means={"v": (0, 40)}, mean_of="units")
    assert median["v_median"].value == pytest.approx(20, abs=0.2)  # of 0 and 40; not of 0 and 80
    assert mean["v_mean"].value == pytest.approx(20, abs=1e-3)
    told = "a row's value of v below 0 or above 40 counts as that bound, before the mean of the person's rows is taken"
    assert told in said(median)
    assert median.rows()[0]["note"].startswith("of each person's own mean of clipped rows")


def test_means_of_people_say_that_people_weigh_the_same() -> None:
    table = pl.DataFrame({"person": [0, 0, 0, 1] * 100, "v": [0.0, 0.0, 0.0, 10.0] * 100}).with_columns(
        person=pl.col("person") + 2 * (pl.int_range(pl.len()) // 4)
    )
    people, rows = ask(table, means={"v": (0, 40)}, mean_of="units"), ask(table, means={"v": (0, 40)}, rows_per_unit=3)
    assert people["v_mean"].value == pytest.approx(5, abs=1e-2) and rows["v_mean"].value == pytest.approx(2.5, abs=1e-2)
    told = "every person has the same weight: with the mean of v over their own rows, each within the bounds"
    assert told in said(people) and "same weight" not in said(rows)
    assert people.rows()[0]["note"].startswith("every person with the same weight")
    assert "same weight" not in rows.rows()[0]["note"]


def test_counts_of_rows_say_so() -> None:
    rows, people = ask(count="rows", rows_per_unit=3), ask(count=True)
    assert rows["count"].value == pytest.approx(600, abs=0.01) and people["count"].value == pytest.approx(200, abs=0.01)
    assert "count is of rows" in said(rows) and rows.rows()[0]["note"] == "of rows"
    assert "of rows" not in said(people) and people.rows()[0]["note"] == ""


def test_the_bounds_of_means_and_sums_are_told() -> None:
    means = said(ask(means={"days": (0, 40)}, rows_per_unit=3, count=True))
    assert "days is clipped to [0, 40]" in means
    assert "a total of days is clipped to [0, 90]" in said(ask(sums={"days": (0, 90)}))
    both = said(ask(means={"days": (0, 40), "more": (0, 40)}, columns={"more": "days + 1"}, rows_per_unit=3))
    assert "days, more are clipped to [0, 40]" in both
    assert "within" not in said(ask(count=True))


def test_the_report_says_that_the_bounds_of_means_of_people_are_those_of_rows(tmp_path: Path) -> None:
    page = ask(means={"days": (0, 40)}, mean_of="units").report(tmp_path / "page.html").read_text("utf-8")
    assert "each row, before a person’s mean" in page.split("Bounds and missing values", 1)[1].split("<h2", 1)[0]


# -- diagnosis --------------------------------------------------------------------------------------------------------


def test_a_diagnosis_says_in_which_groups_people_are_checked() -> None:
    """A person with 10 days in one group and 30 in the other is between 6 and 27 in a group, but not counted there."""
    rows = [(i, g, d) for i in range(100) for g, d in (("a", 10.0), ("b", 30.0 if i < 40 else 11.0))]
    table = pl.DataFrame(rows, schema=["person", "branch", "days"], orient="row")
    asked: dict[str, Any] = {"means": {"days": (0, 60)}, "by": {"branch": ["a", "b"]}, "rows_per_unit": 20}
    both = ask(table, groups_per_unit=2, diagnose=True, **asked)
    assert both["diagnosis"]["days 6 to 27"].value == pytest.approx(60, abs=0.1)
    assert both["diagnosis"]["days in several ranges"].value == pytest.approx(40, abs=0.1)
    assert "'days 6 to 27' counts people with all days between 6 and 27 in all groups they count in" in said(both)
    notes = {row["answer"]: row["note"] for row in both.rows()}
    both_sides = "days below 0 and above 60"
    assert notes[both_sides].endswith(f"people with {both_sides} over all groups they count in")
    assert notes["days above 60"].endswith("people with days above 60 in a group they count in, and none below 0")
    one = ask(table, groups_per_unit=1, diagnose=True, **asked)
    assert one["diagnosis"]["days 6 to 27"].value == pytest.approx(100, abs=0.1)  # ties: the first group alone
    assert "all days between 6 and 27 in the group they count in" in said(one)


def test_a_diagnosis_says_which_rows_it_counts_and_what_few_are() -> None:
    """Of three rows of a person two have a value: they are not scaled down, though there are more than two rows."""
    table = pl.DataFrame({"person": [*range(100)] * 3, "days": [None] * 100 + [10.0] * 100 + [20.0] * 100})
    release = ask(table, means={"days": (12, 18)}, rows_per_unit=2, diagnose=True)
    assert release["answers"]["days_mean"].value == pytest.approx(15, abs=1e-3)
    text = said(release)
    assert (
        "about 100 people (100 to 100) had more than 2 rows, rows without a value included: if more than 2 of them "
        "count in an answer, they are scaled down to 2" in text
    )
    assert text.count("which makes the sum and mean too") == 2
    assert "'1 row' counts people with at most 1 row" in text


# -- on the command line ----------------------------------------------------------------------------------------------


def test_notes_name_the_filter_as_a_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    LOANS.write_csv("loans.csv")
    flags = ["release", "loans.csv", "--unit", "person", "--rows-per-unit", "3", "--mu", "1"]
    assert main([*flags, "--column", "book=kind == 'book'", "--mean", "book:0:1"]) == 0
    assert "(--where 'not is_null(kind)' leaves it out)" in " ".join(capsys.readouterr().out.split())


def refusal_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) != 0
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("--rows-per-person", "--rows-per-unit"), ("--groups-per-person", "--groups-per-unit"), ("--person", "--unit"),
        ("--values-per-person", "--values-per-unit"),
    ],
)  # fmt: skip
def test_flags_named_after_people_are_found(flag: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"did you mean '{meant}'?" in refusal_of(["release", "loans.csv", flag, "30"], capsys)


def test_a_key_with_a_space_is_told_to_be_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["release", "loans.csv", "--by", "branch=Central,Old", "Town,West", "--count", "--mu", "1"]
    told = "put what has a space in quotes: --by 'branch=Central,Old Town,West'"
    assert told in refusal_of(words, capsys)
    assert "quotes" not in refusal_of(["release", "loans.csv", "--count", "stray.csv"], capsys)


def test_differences_are_made_of_a_saved_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = 'gaussmith.read("DIR/release.json").difference("a", "b", answer="x_mean")'
    assert told in refusal_of(["release", "loans.csv", "--difference", "a,b"], capsys)
    LOANS.write_csv("loans.csv")
    flags = ["--unit", "person", "--rows-per-unit", "3", "--groups-per-unit", "2", "--mu", "1e5", "--out", "out"]
    assert main(["release", "loans.csv", "--mean", "days:0:50", "--by", "branch=a,b", *flags]) == 0
    found = gm.read("out/release.json")
    assert isinstance(found, gm.Release)
    own = LOANS.group_by("branch").agg(pl.col("days").mean()).sort("branch")["days"]
    assert found.difference("a", "b", answer="days_mean").value == pytest.approx(own[0] - own[1], abs=0.01)


def test_rows_in_the_cells_of_a_histogram_are_counted_by_groups(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    LOANS.write_csv("loans.csv")
    flags = ["release", "loans.csv", "--unit", "person", "--count-rows", "--rows-per-unit", "3", "--mu", "1e5"]
    bins = ["--bins", "days=0,25,50"]
    told = refusal_of([*flags, *bins, "--histogram", "days", "--values-per-unit", "2"], capsys)
    assert "make them groups: --by days in place of the histogram" in told
    assert "with --groups-per-unit 3" in told
    assert main([*flags, *bins, "--by", "days", "--groups-per-unit", "3", "--out", "out"]) == 0
    found = gm.read("out/release.json")
    assert isinstance(found, gm.Release)
    days = LOANS["days"].drop_nulls()
    assert found["0 to 25"].value == pytest.approx(((days >= 0) & (days < 25)).sum(), abs=0.1)


def test_a_citation_speaks_of_all_rows_of_a_person(tmp_path: Path) -> None:
    with_unit = ask(count=True).report(tmp_path / "unit.html").read_text("utf-8")
    without = ask(count=True, unit=None).report(tmp_path / "rows.html").read_text("utf-8")
    assert "with respect to adding or removing one person with all of their rows" in with_unit
    assert "with respect to adding or removing one person’s record" in without

"""What is printed says a thing once, where it applies, and first what was asked for."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest
from fixed_noise import fixed_noise

import gaussmith as gm

SURE = gm.Guarantee(mu=1e5)
G = gm.Guarantee(epsilon=1, delta=1e-6)
GENRES, BRANCHES = ["crime", "history", "poetry"], ["Central", "East", "West", "North", "South"]
LOANS = pl.DataFrame({
    "member": [i // 3 for i in range(900)],
    "branch": [BRANCHES[i % 5] for i in range(900)],
    "genre": [GENRES[i % 7 % 3] for i in range(900)],
    "days": [float(i * 7 % 50) for i in range(900)],
    "fine": [None if i % 9 == 0 else float(i % 4) for i in range(900)],
})  # fmt: skip


def ask(data: Any = LOANS, **fields: Any) -> gm.Release:
    return gm.release(gm.Request(data, **{"unit": "member", "guarantee": SURE, **fields}))


def said(shown: object) -> str:
    return " ".join(str(shown).split())


# -- shares -----------------------------------------------------------------------------------------------------------


def test_shares_are_printed_before_the_counts_that_they_are_made_of() -> None:
    """Ten groups of three values have 30 counts, 30 shares and ten numbers of people: of these 24 rows are printed."""
    table = LOANS.with_columns(day=pl.int_range(900) % 10)
    by: dict[str, Any] = {"by": {"day": [*range(10)]}, "groups_per_unit": 3}
    release = ask(table, proportions={"genre": GENRES}, count=True, **by)
    text = str(release)
    assert text.count("_share ") == 24 and "genre=crime  " not in text and "… and 46 more rows" in text
    assert [row["answer"] for row in release.rows()][:4] == ["genre=crime", "genre=history", "genre=poetry", "count"]
    few = str(ask(proportions={"genre": GENRES}, values_per_unit=3, count=True)).splitlines()
    assert [line.split()[0] for line in few[1:8]] == [
        *(f"genre={genre}_share" for genre in GENRES), *(f"genre={genre}" for genre in GENRES), "count",
    ]  # fmt: skip


def test_the_number_of_people_is_printed_beside_many_shares() -> None:
    table = LOANS.with_columns(day=pl.int_range(900) % 40)
    text = str(ask(table, proportions={"day": [*range(40)]}, values_per_unit=3, count=True))
    assert text.count("_share ") == 24 and "\ncount " in text and "… and 56 more answers" in text


# -- notes ------------------------------------------------------------------------------------------------------------


def test_a_derived_column_is_told_once_and_for_itself() -> None:
    columns = {f"is_{genre}": f"genre == '{genre}'" for genre in GENRES}
    fields: dict[str, Any] = {"columns": columns, "means": dict.fromkeys(columns, (0, 1)), "rows_per_unit": 3}
    text = said(ask(sums={"days": (0, 90)}, count=True, **fields))
    for name, formula in columns.items():
        assert text.count(f"{name} is {formula}") == 1
    assert "_mean: is_" not in text and ", …: is_" not in text
    assert text.count("false where genre is missing, and the row counts") == 1
    assert "days_sum: the bounds of days are for the total of a person" in text and "count: the bounds" not in text


def test_a_derived_column_of_one_answer_is_told_beside_that_of_another() -> None:
    text = said(
        ask(columns={"late": "days > 20", "long": "late and fine > 1"}, means={"long": (0, 1)}, rows_per_unit=3)
    )
    assert text.count("late is days > 20") == text.count("long is late and fine > 1") == 1


def test_limits_that_limit_nobody_are_not_told() -> None:
    by: dict[str, Any] = {"by": {"branch": BRANCHES}, "count": True}
    assert "a person in more than 3 groups keeps the 3 with most rows" in said(ask(groups_per_unit=3, **by))
    text = said(ask(groups_per_unit=5, **by))
    assert "in more than" not in text and "a person counts in every group that they have rows in" in text
    few = said(ask(histograms={"genre": GENRES}, values_per_unit=2))
    assert "a person with more than 2 values keeps the 2 with most rows" in few
    assert "more than 3 values" not in said(ask(histograms={"genre": GENRES}, values_per_unit=3))


def test_a_number_of_rows_is_never_missing() -> None:
    assert "is missing" not in said(ask(person_columns={"loans": "count()"}, means={"loans": (0, 20)}))
    oldest = said(ask(person_columns={"most": "max(fine)"}, means={"most": (0, 20)}))
    assert "people where most is missing are left out" in oldest


def test_one_answer_has_its_own_notes_alone() -> None:
    fields: dict[str, Any] = {"columns": {"late": "days > 20"}, "rows_per_unit": 3, "count": True}
    release = ask(sums={"days": (0, 90)}, means={"fine": (0, 20), "late": (0, 1)}, medians={"days": (0, 60)}, **fields)
    fine, count, median = (said(release[name]) for name in ("fine_mean", "count", "days_median"))
    assert "fine is missing" in fine and "fine is clipped to [0, 20]" in fine and "at most 3 rows" in fine
    for other in ("late is", "bounds of days", "own days", "total of days"):
        assert other in said(release) and other not in fine and other not in count
    assert "own days" in median and "fine" not in median and "at most 3 rows" not in count
    assert "a person is all rows with the same member" in count


def test_one_answer_of_several_in_one_draw_has_its_own_notes_alone() -> None:
    release = ask(sums={"days": (0, 90), "fine": (0, 40)})
    text = said(release["fine_sum"])
    assert "the bounds of fine are for" in text and "days" not in text
    assert "a total of fine is clipped to [0, 40]" in text


@pytest.mark.parametrize(("cells", "what"), [({"genre": GENRES}, "value"), ({"days": {"bins": [0, 10, 50]}}, "range")])
def test_ties_of_values_are_told(cells: dict[str, Any], what: str) -> None:
    for field in ("histograms", "proportions"):
        asked: dict[str, Any] = {field: cells}
        assert f"(ties: the {what} listed first in the request)" in said(ask(values_per_unit=1, **asked))


def test_of_two_values_with_as_many_rows_the_first_in_the_request_counts() -> None:
    table = pl.DataFrame({"member": [0, 0] * 100, "genre": ["crime", "poetry"] * 100}).with_columns(
        member=pl.int_range(200) // 2
    )
    for first, second in (("crime", "poetry"), ("poetry", "crime")):
        release = ask(table, histograms={"genre": [first, second]}, values_per_unit=1)
        assert release[f"genre={first}"].value == pytest.approx(100, abs=0.1)


# -- plans ------------------------------------------------------------------------------------------------------------


def test_a_plan_tells_once_what_n_is_and_names_no_shapes() -> None:
    fields: dict[str, Any] = {"unit": "member", "rows_per_unit": 3, "guarantee": G, "count": True}
    means = {"days": (0, 60), "fine": (0, 20)}
    one = str(gm.Request("loans.csv", means=means, sums={"days": (0, 90)}, **fields).plan)
    assert one.count("n is the number of rows") == 1 and "one noise for everything asked, " in one
    questions = [{"name": name, "medians": {name: (0, 60)}} for name in ("days", "a column with a very long name")]
    several = str(gm.Request("x", guarantee=G, questions=questions).plan)
    for text in (one, several, str(gm.plan(gm.Box([0], [1]), G))):
        assert max(map(len, text.splitlines())) <= 80
        assert not any(shape in text for shape in ("tied:", "lifted box", "centred:", "people:"))


# -- views and unknown answers ----------------------------------------------------------------------------------------


def test_a_view_says_what_was_left_out_only_where_something_was() -> None:
    table = pl.DataFrame({"v": [1.0] * 2000, "g": ["a"] * 1990 + ["b"] * 10})
    asked: dict[str, Any] = {"unit": None, "by": {"g": ["a", "b"]}, "count": True}
    with fixed_noise():
        small = ask(table, guarantee=gm.Guarantee(mu=0.05), **asked)
    assert "Left out: cells with" in said(small.presented())
    whole = said(ask(table, **asked).presented())
    assert "Left out" not in whole and "suppressed" not in whole and "No cell is left out." in whole


def test_an_unknown_slope_tells_of_the_spread() -> None:
    table = pl.DataFrame({"x": [50.0 + i % 3 for i in range(3000)], "y": [float(i % 90) for i in range(3000)]})
    fields: dict[str, Any] = {"unit": None, "guarantee": gm.Guarantee(mu=0.1), "bounds": {"x": (0, 1000), "y": (0, 90)}}
    for asked, name in (
        ({"regression": {"of": "y", "on": ["x"]}}, "y_on_x"),
        ({"covariance": ["y", "x"]}, "y_x_correlation"),
    ):
        release = next(made for _ in range(100) if _is_unknown(made := ask(table, **asked, **fields), name))
        text = said(release)
        assert "is too small for this noise. What may help: narrower bounds, data of more people" in text
        assert "unknown: the spread of" in text and "too few records" not in text
        note = next(row["note"] for row in release.rows() if row["answer"] == name)
        assert note.startswith("the spread of ") and "x" in note


def _is_unknown(release: gm.Release, name: str) -> bool:
    return next(row["status"] == "unknown" for row in release.rows() if row["answer"] == name)


def test_an_unknown_mean_of_a_text_file_tells_of_numbers(tmp_path: Any) -> None:
    LOANS.write_csv(tmp_path / "loans.csv")
    fields: dict[str, Any] = {"unit": None, "guarantee": gm.Guarantee(mu=1)}
    release = next(
        made
        for _ in range(100)
        if _is_unknown(made := ask(str(tmp_path / "loans.csv"), means={"genre": (0, 10)}, **fields), "genre_mean")
    )
    assert "genre_mean is unknown: too few rows with a number in it, or too much noise." in said(release)
    assert release.rows()[0]["note"].startswith("too few rows with a number in it, or too much noise")
    typed = next(
        made for _ in range(100) if _is_unknown(made := ask(LOANS[:2], means={"days": (0, 60)}, **fields), "days_mean")
    )
    assert "the noise is as large as the number of records" in said(typed)


# -- help -------------------------------------------------------------------------------------------------------------

NEEDED: dict[str, dict[str, Any]] = {
    "rows_per_unit": {"unit": "person"},
    "groups_per_unit": {"unit": "person", "by": {"region": ["north", "south"]}},
    "values_per_unit": {"unit": "person", "histograms": {"health": ["good", "poor"]}},
    "mean_of": {"unit": "person", "means": {"age": (0, 100)}},
    "mean_within": {"means": {"age": (0, 100)}},
    "covariance": {"bounds": {"age": (0, 100), "bmi": (10, 70)}},
    "quantiles": {"bounds": {"income": (0, 200_000)}},
    "regression": {"bounds": {"income": (0, 200_000), "age": (0, 100)}},
    "marginals": {"values": {"age": [1, 2], "sex": ["f", "m"], "region": ["n", "s"]}},
    "group_weights": {"by": {"region": ["north", "south"]}},
    "person_columns": {"unit": "person"},
    "missing": {"means": {"age": (0, 100)}},
    "complete": {"means": {"age": (0, 100)}},
    "diagnose": {"means": {"age": (0, 100)}},
    "budget": {"means": {"age": "private"}},
    "questions": {"count": False},
    **{name: {"by": {"region": "found"}} for name in ("keys_delta", "keys_first", "keys_at_least", "top")},
}
"""What else an example of a field needs."""


def test_help_has_an_example_of_every_field() -> None:
    """Every field that a request can be given is in its docstring, and the example there makes a request."""
    lines = [line.strip() for line in (gm.Request.__doc__ or "").splitlines()]
    calls = [f"f({line.split('  ')[0]})" for line in lines if line.partition("=")[0].isidentifier()]
    examples: dict[str, Any] = {}
    for call in calls:
        (keyword,) = ast.parse(call, mode="eval").body.keywords  # type: ignore[attr-defined]
        scope = {"Guarantee": gm.Guarantee, "Question": gm.Question}
        examples[keyword.arg] = eval(compile(ast.Expression(keyword.value), "help", "eval"), scope)
    assert set(examples) == {each.name for each in dataclasses.fields(gm.Request) if each.init}
    for name, value in examples.items():
        given: dict[str, Any] = {"source": "x.csv", "guarantee": G, "count": True, **NEEDED.get(name, {}), name: value}
        assert gm.Request(given.pop("source"), **given).plan is not None


def test_numbers_of_a_frame_stay_as_they_are() -> None:
    """Only what is printed is in another order."""
    release = ask(proportions={"genre": GENRES}, values_per_unit=3)
    shares = np.array([row["value"] for row in release.rows() if row["answer"].endswith("_share")])
    assert [row["answer"] for row in release.rows()][:3] == [f"genre={genre}" for genre in GENRES]
    assert shares.sum() == pytest.approx(1)

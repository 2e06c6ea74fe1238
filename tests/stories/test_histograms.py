"""Histograms and bounded counts in requests: in Python, in TOML and on the command line, from a table to a record."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from refusals import refusal, refused

import gaussmith as gm
from gaussmith import cli
from gaussmith.errors import DomainError, RequestError

OPEN = gm.Guarantee(mu=1e6)  # hardly any noise: to see what is counted
G = gm.Guarantee(epsilon=1, delta=1e-6)
HEALTH = ["excellent", "good", "fair", "poor"]
VISITS = pl.DataFrame(
    {
        "person": ["ada", "ada", "ada", "bob", "cyd", "cyd", None],
        "health": ["poor", "good", "good", "fair", "unknown", None, "good"],
        "age": [36.0, 36.0, 36.0, 17.0, 50.0, 50.0, 9.0],
        "year": [2023, 2024, 2024, 2023, 2025, 2023, 2024],
    }
)


def answers(**fields) -> dict[str, float]:
    released = gm.release(gm.Request(VISITS, guarantee=OPEN, **fields))
    return {answer.name: round(answer.value, 2) + 0.0 for answer in released}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    VISITS.write_parquet("visits.parquet")
    return tmp_path


def test_each_row_is_a_person_unless_a_unit_is_named():
    found = answers(histograms={"health": HEALTH}, count=True)
    assert found == {"health=excellent": 0, "health=good": 3, "health=fair": 1, "health=poor": 1, "count": 7}


def test_a_person_counts_once_in_the_value_with_most_rows():
    found = answers(histograms={"health": HEALTH}, unit="person", values_per_unit=1, count=True)
    assert found == {"health=excellent": 0, "health=good": 1, "health=fair": 1, "health=poor": 0, "count": 3}


def test_a_person_counts_in_several_values_where_that_is_said():
    found = answers(histograms={"health": HEALTH}, unit="person", values_per_unit=2)
    assert found == {"health=excellent": 0, "health=good": 1, "health=fair": 1, "health=poor": 1}
    plan = gm.Request(VISITS, histograms={"health": HEALTH}, unit="person", values_per_unit=2, guarantee=G).plan
    assert plan.domain == gm.Counts(HEALTH, at_most=2)
    assert plan.total_variance == pytest.approx(gm.plan(gm.Counts(HEALTH, at_most=2), G).total_variance)


def test_filters_and_derived_columns_hold_for_histograms():
    assert answers(histograms={"health": HEALTH}, where="age >= 18")["health=fair"] == 0
    found = answers(histograms={"adult": [True, False]}, columns={"adult": "age >= 18"})
    assert found == {"adult=True": 5, "adult=False": 2}
    assert answers(histograms={"year": [2023, 2024]}) == {"year=2023": 3, "year=2024": 3}


def test_the_total_of_a_histogram_with_a_public_number_needs_all_to_be_declared():
    plan = gm.Request(VISITS, histograms={"health": HEALTH}, neighbours="replace-one", guarantee=G, count=True).plan
    d = len(HEALTH)
    assert plan.total_variance * G.mu**2 == pytest.approx(2 * (d - 1) + 2 / (d + 1), rel=1e-9)
    assert plan.block.count_standard_error == 0


def test_histograms_beside_sums_share_the_guarantee():
    request = gm.Request(
        VISITS, sums={"age": (0, 100)}, count=True, histograms={"health": HEALTH, "year": [2023, 2024]}, guarantee=OPEN
    )
    assert request.plan.questions == ("answers", "health", "year")
    assert [each.guarantee.mu for each in request.plan.noises] == [OPEN.mu]  # one noise for all
    released = gm.release(request)
    assert released["answers"]["age_sum"].value == pytest.approx(234, abs=1)
    assert released["answers"]["count"].value == pytest.approx(7, abs=0.01)
    assert released["health"].values == pytest.approx([0, 3, 1, 1], abs=0.01)
    assert released["year"].values == pytest.approx([3, 3], abs=0.01)
    assert gm.read(released.to_json())["year"].values == pytest.approx(released["year"].values)


def test_two_histograms_alone_and_the_count_goes_with_the_first():
    released = gm.release(gm.Request(VISITS, histograms={"health": HEALTH, "year": [2023]}, count=True, guarantee=OPEN))
    assert released["health"]["count"].value == pytest.approx(7, abs=0.01)
    assert "count" not in released["year"].names


def test_questions_may_be_histograms():
    questions = [
        {"name": "who", "histograms": {"health": HEALTH}, "count": True, "share": 3},
        {"name": "spent", "sums": {"age": (0, 100)}, "where": "age >= 18", "share": 1},
    ]
    request = gm.Request(VISITS, questions=questions, guarantee=OPEN)
    assert request.plan.shares() == pytest.approx({"who": 0.75, "spent": 0.25})
    assert gm.release(request)["who"].values == pytest.approx([0, 3, 1, 1, 7], abs=0.01)


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"histograms": "health"}, RequestError, "values-not-a-mapping"),
        ({"histograms": ["health"]}, RequestError, refusal("column-without-values", column="health")),
        (
            {"histograms": {"health": "good"}},
            DomainError,
            refusal("histogram-values-not-listed", column="health", values="good"),
        ),
        ({"histograms": {"health": []}}, DomainError, "histogram-values-not-listed"),
        ({"histograms": {"health": ["a", "a"]}}, DomainError, "label-twice"),
        (
            {"histograms": {"health": HEALTH}, "values_per_unit": 0},
            RequestError,
            refusal("whole-number-out-of-range", name="values_per_unit", value=0),
        ),
        ({"histograms": {"health": HEALTH}, "values_per_unit": 2}, RequestError, "limit-without-unit"),
        ({"count": True, "values_per_unit": 2, "unit": "person"}, RequestError, "values-per-unit-without-histograms"),
        (
            {"histograms": {"health": HEALTH}, "count": "rows", "unit": "person", "values_per_unit": 1},
            RequestError,
            "histogram-with-rows",
        ),
        (
            {"questions": [{"histograms": {"health": HEALTH}, "sums": {"age": (0, 1)}}]},
            RequestError,
            "histogram-beside-other-answers",
        ),
        (
            {"questions": [{"count": True}], "histograms": {"health": HEALTH}},
            RequestError,
            refusal("answer-beside-questions", key="histograms"),
        ),
    ],
)
def test_wrong_histograms_are_refused_in_words(fields, error, words):
    with refused(words, error):
        gm.Request(VISITS, guarantee=G, **fields)


def test_what_does_not_fit_the_table_is_refused_before_it_is_read():
    for fields, expected in (
        ({"histograms": {"helth": HEALTH}}, refusal("no-such-key-column", column="helth")),
        ({"histograms": {"age": HEALTH}}, refusal("keys-do-not-fit-column", column="age")),
        (
            {"histograms": {"health": HEALTH}, "unit": "who", "values_per_unit": 1},
            refusal("no-such-column", column="who"),
        ),
    ):
        with refused(expected, RequestError):
            gm.release(gm.Request(VISITS, guarantee=G, **fields))
    with refused("cells-of-array"):
        gm.release(gm.Request(np.ones((3, 1)), histograms={"health": HEALTH}, guarantee=G))


# -- TOML and the command line -----------------------------------------------------------------------------------------


def test_a_histogram_on_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(
        ["release", "visits.parquet", "--histogram", "health=excellent,good,fair,poor", "--unit", "person",
         "--values-per-unit", "2", "--count", "--mu", "1000000", "--out", "out", "--json"]
    )  # fmt: skip
    out = capsys.readouterr().out
    assert code == 0
    found = {row["answer"]: round(row["value"]) for row in json.loads(out)["answers"]}
    assert found == {"health=excellent": 0, "health=good": 1, "health=fair": 1, "health=poor": 1, "count": 3}
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "a person with more than 2 values keeps the 2 with most rows" in page
    assert pl.read_csv("out/answers.csv")["answer"].to_list()[0] == "health=excellent"
    code = cli.main(["plan", "--histogram", "year=2023,2024", "--epsilon", "1", "--delta", "1e-6"])
    out = capsys.readouterr().out
    assert code == 0 and "year=2023" in out
    assert max(map(len, out.splitlines())) <= 80
    assert cli.main(["plan", "--histogram", "health", "--mu", "1"]) == 2
    assert "--histogram" in capsys.readouterr().err


def test_a_histogram_in_a_request_file_charged_to_a_ledger(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("request.toml").write_text(
        'source = "visits.parquet"\n'
        "guarantee = { epsilon = 1, delta = 1e-6 }\n"
        'unit = "person"\n'
        "values_per_unit = 1\n"
        "count = true\n"
        "sums = { age = [0, 100] }\n"
        'histograms = { health = ["excellent", "good", "fair", "poor"] }\n'
    )
    assert cli.main(["ledger", "init", "study.ledger", "--epsilon", "2", "--delta", "1e-6"]) == 0
    capsys.readouterr()
    words = ["release", "request.toml", "--ledger", "study.ledger", "--id", "first", "--json"]
    assert cli.main(words) == 0
    once = capsys.readouterr().out
    assert cli.main(words) == 0
    assert capsys.readouterr().out == once
    assert cli.main(["release", "request.toml", "--histogram", "health=good", "--mu", "1"]) == 2
    assert "a request file contains the whole request" in capsys.readouterr().err

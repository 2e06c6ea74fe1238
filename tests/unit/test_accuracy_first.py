"""Accuracy first: the least guarantee that keeps stated errors; and rehearsals, which read and charge nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.requests.made_up_rows import made_up_table

G = gm.Guarantee(epsilon=1, delta=1e-6)
ASKED = {"means": {"age": (0, 100)}, "sums": {"spent": (0, 500)}, "count": True}
REQUEST = gm.Request("nowhere.csv", **ASKED, guarantee=G)


@pytest.mark.parametrize("targets", [{"age_mean": 0.5}, {"age_mean": 0.01, "count": 40}, {"spent_sum": 2000}])
@pytest.mark.parametrize("stated", [G, gm.Guarantee(mu=3), gm.Guarantee(rho=0.1)])
def test_the_least_guarantee_keeps_the_targets_and_hardly_more(targets: dict[str, float], stated: gm.Guarantee) -> None:
    request = replace(REQUEST, guarantee=stated)
    least = request.guarantee_for(targets, rows=10_000)
    errors = replace(request, guarantee=least).plan.errors(rows=10_000)
    assert all(errors[name] <= target for name, target in targets.items())
    assert max(errors[name] / target for name, target in targets.items()) > 1 - 1e-5
    assert (least.delta, least.stated_mu is None, least.stated_rho is None) == (
        stated.delta, stated.stated_mu is None, stated.stated_rho is None,
    )  # fmt: skip


def test_an_answer_of_several_questions_keeps_its_target_in_all() -> None:
    questions = [{"name": "a", "count": True}, {"name": "b", "count": True, "by": {"r": ["x", "y"]}}]
    request = gm.Request("nowhere.csv", questions=questions, guarantee=G)
    least = request.guarantee_for({"count": 3})
    errors = replace(request, guarantee=least).plan.errors()
    assert max(errors["a"]["count"], errors["b"]["count"]) == pytest.approx(3, rel=1e-5)


def test_targets_that_cannot_be_are_refused() -> None:
    cases = {
        "target-of-unasked-answer": {"age_median": 1.0},
        "target-not-positive": {"count": 0},
        "targets-not-a-mapping": {},
        "targets-out-of-reach": {"count": 1e-9},
        "targets-met-by-delta": {"count": 1e9},
    }
    for code, targets in cases.items():
        with refused(code):
            REQUEST.guarantee_for(targets, rows=100)
    with refused("number-out-of-range", says="rows"):
        REQUEST.guarantee_for({"age_mean": 1.0})
    assert REQUEST.guarantee_for({"count": 5}).delta == 1e-6, "counts need no number of rows"
    public = gm.Request("nowhere.csv", count=True, sums={"a": (0, 1)}, guarantee=G, neighbours="replace-one")
    with refused("target-of-public-answer"):
        public.guarantee_for({"count": 1})
    limited = gm.Request("x.csv", questions=[{"name": "a", "count": True, "error_at_most": 50}], guarantee=G)
    with refused("targets-beside-error-limits"):
        limited.guarantee_for({"count": 3})


def test_the_command_line_finds_the_least_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--mean", "age:0:100", "--delta", "1e-6", "--target", "age_mean=0.5", "--rows", "10000"]
    assert main(asked) == 0
    text = capsys.readouterr().out
    assert "Least guarantee for standard errors of at most age_mean ± 0.5" in text
    assert main([*asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["errors"]["age_mean"] == pytest.approx(0.5, rel=1e-5)
    assert main([*asked[:5], "--target", "age_mean"]) == 2
    assert "--target age_mean=0.5" in capsys.readouterr().err


# -- rehearsals -------------------------------------------------------------------------------------------------------

QUESTIONS = [
    {"name": "all", "means": {"age": (0, 100)}, "count": True, "where": "smoker and year(born) > 2020"},
    {"name": "heavy", "count": True, "columns": {"bmi": "weight / (height * height)"}, "where": "weight > 50"},
    {
        "name": "regions",
        "sums": {"spent": (0, 500)},
        "by": {"region": ["north", "south"], "sex": ["f", "m"]},
        "groups_per_unit": 1,
    },
    {"name": "health", "histograms": {"health": ["good", "poor"]}, "values_per_unit": 1},
]


def test_made_up_rows_have_the_kinds_and_bounds_of_the_request() -> None:
    plan = gm.Request("x.csv", questions=QUESTIONS, unit="id", rows_per_unit=4, guarantee=G).plan
    table = made_up_table(plan, 1000)
    assert table.height == 1000 and table["id"].n_unique() == 250
    kinds = {name: table.schema[name] for name in ("smoker", "born", "weight", "region")}
    assert kinds == {"smoker": pl.Boolean, "born": pl.Date, "weight": pl.Float64, "region": pl.String}
    assert 0 <= table["age"].min() < 5 and 95 < table["age"].max() <= 100
    assert table["spent"].max() <= 500 / 4, "a person's rows add up within the bounds of the total"
    assert set(table["health"]) == {"good", "poor"} and table.equals(made_up_table(plan, 1000))


def test_a_rehearsal_says_made_up_on_everything(tmp_path: Path) -> None:
    request = gm.Request("nowhere.csv", questions=QUESTIONS, unit="id", rows_per_unit=4, guarantee=G)
    made = gm.rehearse(request, rows=2000)
    assert made.made_up and "MADE UP" in str(made) and "MADE UP" in made._repr_html_()
    assert all("made up" in row["note"] for row in made.rows())
    document = json.loads(made.to_json())
    assert document["made_up"] is True and gm.Release.from_json(made.to_json()).made_up
    page = made.report(tmp_path / "page.html").read_text("utf-8")
    assert "MADE UP" in page and "Made up: a rehearsal" in page
    assert made["regions"]["north", "f"]["spent_sum"].value > 0
    assert made.id is None and made.receipt is None


def test_a_real_release_does_not_say_it() -> None:
    table = pl.DataFrame({"age": [30.0, 40.0], "spent": [1.0, 2.0]})
    release = gm.release(gm.Request(table, **ASKED, guarantee=G))
    assert "made up" not in str(release).lower() and "made_up" not in json.loads(release.to_json())


def test_a_rehearsal_reads_no_value_but_checks_the_columns(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("age,spent\nnot a number,{}\n", "utf-8")
    assert gm.rehearse(gm.Request(str(file), **ASKED, guarantee=G), rows=500)["count"].value > 400
    with refused("no-such-column"):
        gm.rehearse(gm.Request(str(file), sums={"income": (0, 1)}, guarantee=G))
    for wrong in (0, 2.5, True, 10**9):
        with refused("rehearsal-rows-out-of-range"):
            gm.rehearse(REQUEST, rows=wrong)  # type: ignore[arg-type]


def test_the_command_rehearses_a_request_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "request.toml"
    file.write_text(
        'source = "nowhere.parquet"\nmeans = { age = [0, 100] }\ncount = true\n'
        'by = { region = ["north", "south"] }\nguarantee = { epsilon = 1, delta = 1e-6 }\n',
        "utf-8",
    )
    assert main(["rehearse", str(file), "--rows", "1000", "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("MADE UP") and "south" in text
    assert "made up" in (tmp_path / "out" / "answers.csv").read_text("utf-8")
    assert main(["rehearse", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["made_up"] is True


CELLS = {"quantiles": {"wage": [0.25, 0.75]}, "bounds": {"wage": (0, 100)}}
TABLES = {"marginals": [["age", "sex"], ["sex"]], "bins": {"age": [30, 50]}, "values": {"sex": ["f", "m"]}}
OWN = {"person_columns": {"trips": "count()", "km_sum": "sum(km)"}, "means": {"trips": (0, 10), "km_sum": (0, 1000)}}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (CELLS, {"wage": (0, 100)}),
        ({"unit": "person", "medians": ["km"], "total_bounds": {"km": (0, 300)}}, {"km": (0, 100)}),
        ({"medians": ["km"], "bins": {"km": [0, 10, 20]}}, {"km": (-1, 20)}),
        (TABLES, {"age": (29, 50)}),
        ({"unit": "person", **OWN}, {"km": (1, 100)}),
    ],
)
def test_rehearsals_have_values_in_all_cells(asked: dict[str, object], found: dict[str, tuple[float, float]]) -> None:
    request = gm.Request("nowhere.csv", guarantee=gm.Guarantee(mu=1e6), **asked)
    table = made_up_table(request.plan, 900)
    for column, (low, high) in found.items():
        values = table[column].to_numpy()
        assert low - 1e-9 <= values.min() < low + (high - low) / 3 < high - (high - low) / 3 < values.max() <= high
    made = gm.rehearse(request, rows=900)
    assert all(row["status"] == "noisy" for row in made.rows())


def test_targets_of_quantiles_are_in_ranks_and_the_plan_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--median", "age:0:100", "--delta", "1e-6", "--target", "age_median=20"]) == 0
    assert "errors of quantiles are in ranks" in capsys.readouterr().out

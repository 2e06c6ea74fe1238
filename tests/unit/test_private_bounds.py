"""`bounds = "private"`: its forms, its words, its record, and what is refused."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fixed_noise import fixed_noise
from planting import plant
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.ledger import book
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.units import charge_units, square_units
from gaussmith.releases.path import NO_NOISE

G = gm.Guarantee(mu=3)
X = 10 * np.exp(np.sin(np.arange(900) * 1.7))  # between 3.7 and 27.2
TABLE = pl.DataFrame(
    {"x": X, "y": 1000 + np.cos(np.arange(900)), "person": np.arange(900) // 3, "r": ["a", "b", "b"] * 300}
)


def ask(**fields: Any) -> gm.Request:
    return gm.Request(TABLE, **{"guarantee": G, **fields})


def released(request: gm.Request) -> gm.Release:
    with fixed_noise():
        return gm.release(request)


def bounds_of(release: gm.Release) -> dict[tuple[str, str], tuple[float, float]]:
    assert release.path is not None
    return {(column, of): (low, high) for column, of, low, high in release.path.last.asks["bounds"]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"means": ["x", "y"], "bounds": {"x": "private", "y": (990, 1010)}}, {("x", "value")}),
        ({"regression": {"of": "x", "on": ["y"]}, "bounds": "private"}, {("x", "value"), ("y", "value")}),
        ({"medians": {"x": "private"}, "quantiles": {"x": [0.9]}, "bounds": "private"}, {("x", "value")}),
        ({"sums": {"x": "private"}, "total_bounds": {"x": "private"}, "unit": "person"}, {("x", "total")}),
        (
            {"sums": ["x"], "means": ["x"], "bounds": "private", "unit": "person", "rows_per_unit": 3},
            {("x", "total"), ("x", "value")},
        ),
        ({"means": {"n": "private"}, "unit": "person", "person_columns": {"n": "count()"}}, {("n", "value")}),
        ({"means": {"z": "private"}, "columns": {"z": "x * 2"}, "where": "x > 4"}, {("z", "value")}),
        ({"questions": [{"means": {"x": "private"}}, gm.Question("b", sums={"x": "private"})]}, {("x", "value")}),
        (
            {"means": {"x": "private"}, "missing": {"x": 1e9}, "by": {"r": ["a", "b"]}, "neighbours": "replace-one"},
            {("x", "value")},
        ),
    ],
)
def test_every_form_learns_bounds_that_hold_nearly_everybody(
    fields: dict[str, Any], expected: set[tuple[str, str]]
) -> None:
    release = released(ask(**fields))
    found = bounds_of(release)
    assert set(found) == expected
    spans = {("x", "value"): X, ("y", "value"): TABLE["y"].to_numpy(), ("z", "value"): 2 * X, ("n", "value"): [3]}
    spans[("x", "total")] = np.append(X.reshape(-1, 3).sum(1), 0)
    for target, (low, high) in found.items():
        values = np.asarray(spans[target], float)
        assert np.mean((low <= values) & (values <= high)) > 0.97
        assert high - low <= 16 * max(np.ptp(values), 1)
    assert gm.read(release.to_json()) == release


def test_a_total_may_be_0_where_a_person_has_no_value() -> None:
    assert bounds_of(released(ask(sums={"x": "private"}, unit="person")))["x", "total"][0] == 0


def test_bounds_that_are_given_are_not_learned() -> None:
    assert ask(means={"x": (0, 30)}, bounds="private").plan.staging is None


def test_a_plan_says_its_stages_and_what_it_guesses() -> None:
    plan = ask(means={"x": "private"}).plan
    told = " ".join(str(plan).split())
    for words in (
        "stage 1, 6 % of the budget: people by powers of two, for the bounds of x",
        "at most 3 zooms, 4 % each",
        "Errors are stated as if the bounds of x came out as [0, 100] after all zooms.",
    ):
        assert words in told
        assert words in " ".join(plan._repr_html_().split())
    assert plan.errors(rows=1000)["x_mean"] > 0


def test_rules_and_shares_are_in_the_hash_of_a_plan() -> None:
    plans = [ask(means={"x": "private"}, budget=budget).plan for budget in ({}, {"zooms": 0.05}, {"bounds": 0.07})]
    assert len({plan.hash for plan in plans}) == 3
    again = gm.read(plans[0].to_json())
    assert isinstance(again, gm.Plan) and again == plans[0] and again.staging is not None
    assert again.staging.rule == plans[0].staging.rule  # type: ignore[union-attr]


def test_what_was_learned_is_said_everywhere(tmp_path: Path) -> None:
    release = released(ask(means={"x": "private"}))
    (low, high) = bounds_of(release)["x", "value"]
    learned = f"Bounds [{low:,.12g}, {high:,.12g}] of x were learned privately, with "
    page = release.report(tmp_path / "page.html").read_text("utf-8")
    for text in (str(release), release._repr_html_(), page, json.loads(release.to_json())["learned"][0]):
        assert learned in " ".join(text.split())
    row = next(row for row in release.rows() if row["answer"] == "x_mean")
    assert f"bounds [{low:,.12g}, {high:,.12g}] learned privately" in row["note"]


def test_people_who_are_clipped_are_counted_if_asked() -> None:
    wild = pl.DataFrame({"x": np.append(np.linspace(1, 9, 3000), np.full(2, 2.0**30))})
    release = released(gm.Request(wild, means={"x": "private"}, guarantee=G, diagnose=["x"]))
    _, high = bounds_of(release)["x", "value"]
    assert high < 2.0**20  # two people do not stand out
    above = release["diagnosis"][f"x above {high:.12g}"]
    assert above.interval(0.9999)[0] <= 2 <= above.interval(0.9999)[1]
    assert above.standard_error == pytest.approx(1 / (3 * np.sqrt(0.02)), rel=1e-6)
    assert re.search(r"Probably nobody was clipped \(upper estimate: |About [\d,]+ (people|person) \(", str(release))


def test_no_diagnosis_comes_unasked() -> None:
    plan = ask(means={"x": "private"}).plan
    release = released(ask(means={"x": "private"}))
    assert "diagnosis" not in plan.questions and "diagnosis" not in str(plan)
    assert "diagnosis" not in release.questions and "clipped (" not in str(release)
    asked = ask(means={"x": "private"}, diagnose=True).plan
    assert asked.shares()["diagnosis"] == pytest.approx(0.02)
    assert "2 % of the budget is for the diagnosis" in " ".join(str(asked).split())
    with refused("budget-without-diagnose"):
        ask(means={"x": "private"}, budget={"clipped": 0.05})


def test_a_column_without_bounds_is_not_diagnosed() -> None:
    """Two values are too few to learn bounds; the other column is diagnosed, and answers are released."""
    table = pl.DataFrame({"x": np.linspace(1, 9, 3000), "y": [1.0, 2.0] + [None] * 2998})
    for diagnose in (True, ["y"], ["x", "y"]):
        asked = gm.Request(table, means={"x": "private", "y": "private"}, guarantee=G, diagnose=diagnose)
        release = released(asked)
        assert ("diagnosis" in release.questions) == (diagnose != ["y"])
        assert {row["answer"]: row["status"] for row in release.rows()}["y_mean"] == "unknown"
        assert not any(row["answer"].startswith("y ") for row in release.rows())


def test_where_nothing_is_found_answers_are_unknown(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    request = gm.Request(
        TABLE.head(2), means={"x": "private"}, sums={"y": "private"}, count=True, guarantee=gm.Guarantee(mu=1)
    )
    with fixed_noise():
        release = gm.release(request, ledger=ledger, id="one")
    assert release.path is not None and release.path.last.stage == "nothing"
    assert {(row["status"], row["note"].split(";")[0]) for row in release.rows()} == {("unknown", "no bounds found")}
    assert np.isnan(release["x_mean"].value) and np.isnan(release["y_sum"].standard_error)
    assert "No bounds found for y, x" in " ".join(str(release).split())
    assert "no bounds found" in release.report(tmp_path / "page.html").read_text("utf-8")
    assert release.to_polars()["status"].to_list() == ["unknown"] * 3
    assert gm.read(release.to_json()) == release
    # The rest of the charge is given back, once, and the ledger can be recomputed.
    assert ledger.spent == square_units(release.path.taken) < charge_units(1.0) * 0.0601
    assert gm.release(request, ledger=ledger, id="one") == release
    assert ledger.verify().spent == ledger.spent
    assert ledger.history()[0]["share"] == pytest.approx(0.06 / 100)


def test_the_command_line_leaves_with_0_where_nothing_is_found(tmp_path: Path, capsys: Any) -> None:
    TABLE.head(0).write_csv(tmp_path / "none.csv")
    with fixed_noise():
        code = main(["release", str(tmp_path / "none.csv"), "--mean", "x:private", "--mu", "1"])
    assert code == 0
    assert "no bounds found" in capsys.readouterr().out


def test_a_column_without_bounds_loses_its_answers_and_no_others() -> None:
    table = TABLE.with_columns(empty=pl.lit(None, pl.Float64))
    request = gm.Request(
        table, means={"x": "private", "empty": "private"}, covariance=["x", "empty"], bounds="private", count=True,
        complete=["empty"], guarantee=G,
    )  # fmt: skip
    release = released(request)
    rows = {row["answer"]: row for row in release.rows()}
    assert abs(rows["x_mean"]["value"] - X.mean()) < 2
    assert rows["count"]["status"] == "noisy"
    for lost in ("empty_mean", "x_empty_covariance", "x_empty_correlation"):
        assert (rows[lost]["status"], rows[lost]["note"]) == ("unknown", "no bounds found")
    assert "No bounds found for empty" in " ".join(str(release).split())
    assert gm.read(release.to_json()) == release


def test_all_of_a_charge_stays_where_answers_are_given(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    release = gm.release(ask(means={"x": "private"}), ledger=ledger)
    assert release.taken_less is None
    assert ledger.spent == charge_units(3.0)
    assert ledger.verify().spent == ledger.spent


def test_a_crash_between_stages_keeps_the_charge_and_a_retry_pays_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gaussmith import mechanism

    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    request, real, calls = ask(means={"x": "private"}), mechanism.release, []

    def crash(*arguments: Any) -> gm.Release:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(mechanism, "release", crash)
    with pytest.raises(KeyboardInterrupt):
        gm.release(request, ledger=ledger, id="one")
    assert ledger.spent == charge_units(3.0)
    assert ledger.result("one") is None
    made = gm.release(request, ledger=ledger, id="one")
    assert gm.release(request, ledger=ledger, id="one") == made
    assert ledger.spent == charge_units(3.0)


def test_bounds_that_cannot_be_planned_make_a_release_whose_answers_are_unknown(tmp_path: Path) -> None:
    """No record decides whether there is a release: y is planned beside x near 0, and not beside x near 2^41."""
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    asked = {"sums": {"y": (0, 1e-30), "x": "private"}, "weights": "equal", "guarantee": G}
    near = pl.DataFrame({"y": [1e-31] * 9_000, "x": [float(i % 10) for i in range(9_000)]})
    shown = gm.release(gm.Request(near, **asked))
    assert math.isfinite(shown["x_sum"].value)
    far = near.with_columns(x=pl.col("x") + 2.0**41 - 2.0**19)
    made = gm.release(gm.Request(far, **asked), ledger=ledger, id="one")
    assert made.names == ("y_sum", "x_sum") and np.isnan(made.values).all()
    assert all(note.startswith(NO_NOISE) for note in made.columns()["note"])
    assert "No noise can be planned for what was learned" in str(made)
    assert made.path is not None and ledger.spent == square_units(made.path.taken)
    again = gm.Release.from_json(made.to_json())
    assert again == made and str(again) == str(made)


@pytest.mark.parametrize("code", ["later-stage-failed", "data-not-readable"])
def test_a_stage_that_fails_after_the_charge_is_a_failure_of_data(tmp_path: Path, code: str) -> None:
    """Exit code 4, not 2: the budget stays spent."""
    path = tmp_path / "t.parquet"
    TABLE.write_parquet(path)
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    request = gm.Request(str(path), means={"x": "private"}, guarantee=G)
    staging = request.plan.staging
    assert staging is not None and staging.planner is not None
    plan = staging.planner

    def lose(step: Any, share: gm.Guarantee) -> gm.Plan:
        if code == "later-stage-failed":
            return gm.Request(str(path), guarantee=share).plan  # which asks for nothing
        TABLE.drop("x").write_parquet(path)
        return plan(step, share)

    object.__setattr__(staging, "planner", lose)
    with refused(code):
        gm.release(request, ledger=ledger, id="one")
    assert ledger.spent == charge_units(3.0)
    object.__setattr__(staging, "planner", plan)
    TABLE.write_parquet(path)
    assert gm.release(request, ledger=ledger, id="one").id == "one"
    assert ledger.spent == charge_units(3.0)


def test_what_a_release_took_is_checked(tmp_path: Path) -> None:
    with refused("taken-not-positive"):
        square_units(Fraction(0))
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    ledger.reserve("one", "a", gm.Guarantee(mu=1))
    ledger.store("one", b"x", taken=Fraction(9))  # more than was charged: nothing is given back, nothing more taken
    assert ledger.spent == charge_units(1.0)
    ledger.reserve("two", "b", gm.Guarantee(mu=1))
    ledger.store("two", b"y", taken=Fraction(1, 4))
    ledger.store("two", b"z", taken=Fraction(1, 8))
    assert ledger.spent == charge_units(1.0) + charge_units(0.5)
    assert ledger.verify().spent == ledger.spent


def test_a_ledger_that_gives_back_too_much_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    ledger.reserve("one", "a", gm.Guarantee(mu=1))
    plant(monkeypatch, book._given_back, "square_units(square) - res", "square_units(square) - 2 * res")
    ledger.store("one", b"x", taken=Fraction(1, 4))
    with refused("ledger-charge-wrong"):
        ledger.verify()


def test_a_ledger_that_gives_back_less_than_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    ledger.reserve("one", "a", gm.Guarantee(mu=1))
    plant(monkeypatch, book._given_back, "square_units(square) < res", "square_units(square) != res")
    ledger.store("one", b"x", taken=Fraction(9))
    with refused("ledger-gives-back-too-much"):
        ledger.verify()


def test_some_columns_alone_may_be_diagnosed() -> None:
    request = ask(sums={"x": (0, 10), "y": (0, 2000)}, diagnose=["x"])
    assert {name.split()[0] for name in request.plan["diagnosis"].names} == {"x"}
    with refused("diagnose-of-unbounded-column"):
        ask(sums={"x": (0, 10)}, diagnose=["xx"])
    with refused("diagnose-not-boolean"):
        ask(sums={"x": (0, 10)}, diagnose=[])


def test_targets_need_bounds() -> None:
    with refused("targets-beside-private-bounds"):
        ask(means={"x": "private"}).guarantee_for({"x_mean": 1.0}, rows=1000)


def test_a_rehearsal_goes_through_the_stages() -> None:
    release = gm.rehearse(ask(means={"x": "private"}), rows=2000)
    assert release.made_up and release.path is not None and release.path.last.stage == "answers"


def test_requests_in_files_and_flags_are_the_same(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "t.parquet")
    text = (
        'source = "t.parquet"\nmeans = ["x"]\nbounds = "private"\nbudget = { bounds = 0.1 }\nguarantee = { mu = 3 }\n'
    )
    (tmp_path / "a.toml").write_text(text, "utf-8")
    from_file = gm.Request.from_toml(tmp_path / "a.toml").plan
    assert main(
        ["plan", str(tmp_path / "t.parquet"), "--mean", "x:private", "--budget", "bounds=0.1", "--mu", "3",
         "--save", str(tmp_path / "plan.json")]
    ) == 0  # fmt: skip
    assert gm.read(tmp_path / "plan.json") == from_file
    assert main(
        ["plan", str(tmp_path / "t.parquet"), "--mean", "x", "--bounds", "private", "--budget", "bounds=0.1",
         "--mu", "3", "--save", str(tmp_path / "plan.json")]
    ) == 0  # fmt: skip
    assert gm.read(tmp_path / "plan.json") == from_file


PRIVATE = {"means": {"x": "private"}}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({**PRIVATE, "budget": 0.1}, "budget-not-a-mapping"),
        ({**PRIVATE, "budget": {"bond": 0.1}}, "budget-of-unknown-stage"),
        ({**PRIVATE, "budget": {"bounds": -0.1}}, "budget-share-out-of-range"),
        ({**PRIVATE, "budget": {"bounds": float("nan")}}, "budget-share-out-of-range"),
        ({**PRIVATE, "budget": {"bounds": "much"}}, "budget-share-out-of-range"),
        ({**PRIVATE, "budget": {"bounds": 0.4}}, "budget-shares-too-large"),
        ({"count": True, "budget": {"bounds": 0.1}}, "budget-without-stages"),
        ({**PRIVATE, "by": {"r": "found"}, "keys_delta": 1e-9}, "private-bounds-beside-found-keys"),
        (
            {**PRIVATE, "count": True, "questions": ()} | {"mean_within": {"x": (0, 1)}},
            "mean-within-beside-private-bounds",
        ),
        (
            {"questions": [{"sums": {"x": "private"}, "error_at_most": 5}]},
            "error-limit-beside-private-bounds",
        ),
        (
            {
                "unit": "person",
                "questions": [
                    {"sums": {"x": "private"}},
                    {"person_columns": {"n": "count()"}, "means": {"n": "private"}},
                ],
            },
            "private-bounds-of-rows-and-people",
        ),
        (
            {
                "questions": [
                    {"columns": {"z": "x + 1"}, "sums": {"z": "private"}},
                    {"columns": {"z": "x + 2"}, "sums": {"z": "private"}},
                ]
            },
            "private-column-derived-in-several-ways",
        ),
        ({"means": {"x": "privat"}}, "request-bounds-not-two-numbers"),
    ],
)
def test_what_does_not_go_with_private_bounds_is_refused(fields: dict[str, Any], code: str) -> None:
    with refused(code):
        ask(**fields)


def test_a_staged_plan_is_released_by_its_request_alone() -> None:
    plan = ask(means={"x": "private"}).plan
    with refused("staged-plan-released-alone"):
        plan.release(TABLE)
    from gaussmith import mechanism
    from gaussmith.pipeline import staged_release

    with refused("staged-plan-released-alone"):
        mechanism.release(mechanism.prepare_request(plan, TABLE))
    read = gm.read(plan.to_json())
    assert isinstance(read, gm.Plan) and read.staging is not None
    first = mechanism.prepare_request(read.staging.first, TABLE)
    with refused("staged-plan-without-request"):
        staged_release.release_stages(read, first, lambda plan: first)


def test_a_reader_that_can_be_read_once_is_refused_before_the_charge(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    reader = TABLE.to_arrow().to_reader()
    with refused("reader-read-several-times"):
        gm.release(gm.Request(reader, sums={"x": "private"}, guarantee=G), ledger=ledger)
    assert ledger.spent == 0


def test_the_page_has_the_measured_price() -> None:
    """The figures of docs/bounds.md are those of the evidence."""
    root = Path(__file__).parents[2]
    found = json.loads((root / "docs" / "evidence" / "bounds.json").read_text("utf-8"))
    page = (root / "docs" / "bounds.md").read_text("utf-8")
    prices = [found["price"][n] for n in ("1000", "10000", "100000")]
    one, two, three = (f"{each['geometric_mean']:.1f}" for each in prices)
    assert f"is {one}, {two} and {three} times that within the best bounds" in page
    one, two, three = (f"{each['worst']:.0f}" for each in prices)
    assert f"(at worst {one}, {two} and {three})" in page
    assert found["problems"] == [] and sum(found["failures"]["far_off"].values()) == 0
    assert f"In {found['failures']['runs'] // 1000} 000 runs" in page

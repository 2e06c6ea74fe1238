"""`bins = { … = "private" }`: quantiles without a range, their words, their record, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fixed_noise import fixed_noise
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.units import square_units
from gaussmith.pipeline import staged_release
from gaussmith.planning.learned_cells import Quantile, last_edges, number_at, place_of, spread_edges
from gaussmith.planning.staging import ANSWERS, Seen, StageStep
from gaussmith.releases.path import seen_of

G = gm.Guarantee(mu=3)
X = np.sort(10 * np.exp(np.sin(np.arange(900) * 1.7)))  # between 3.7 and 27.2
TABLE = pl.DataFrame(
    {"x": X, "y": 1000 + np.cos(np.arange(900)), "z": [0.0, 0.0, 7.0] * 300, "person": np.arange(900) // 3}
)


def ask(**fields: Any) -> gm.Request:
    return gm.Request(TABLE, **{"guarantee": G, **fields})


def released(request: gm.Request) -> gm.Release:
    with fixed_noise():
        return gm.release(request)


def near(release: gm.Release, name: str, values: Any, level: float) -> None:
    """The answer is within 20 ranks of the quantile, and its interval holds it."""
    ordered = np.sort(np.asarray(values))
    truth = ordered[int(np.ceil(level * len(ordered))) - 1]
    low, high = release[name].interval()
    assert low <= truth <= high and np.isfinite([low, high]).all()
    at = int(level * len(ordered))
    assert ordered[max(at - 20, 0)] - 1e-3 <= release[name].value <= ordered[min(at + 20, len(ordered) - 1)] + 1e-3


def test_quantiles_of_several_columns_at_several_levels() -> None:
    request = ask(
        quantiles={"x": [0.1, 0.9], "z": [0.5]}, medians=["y", "x"], bins=dict.fromkeys("xyz", "private"),
    )  # fmt: skip
    release = released(request)
    assert release.names == request.plan.names
    for name, column, level in (
        ("x_q10", "x", 0.1), ("x_q90", "x", 0.9), ("x_median", "x", 0.5), ("y_median", "y", 0.5), ("z_q50", "z", 0.5),
    ):  # fmt: skip
        near(release, name, TABLE[column], level)
    low, high = release["y_median"].interval()
    assert high - low < 0.5  # far from 0, and still sharp
    assert abs(release["z_q50"].value) < 1e-3  # two of three are 0
    assert gm.read(release.to_json()) == release


@pytest.mark.parametrize(
    ("fields", "name", "values", "level"),
    [
        ({"medians": ["x"], "neighbours": "replace-one"}, "x_median", X, 0.5),
        ({"medians": ["x"], "where": "x > 10", "missing": {"x": 1}}, "x_median", X[X > 10], 0.5),
        ({"quantiles": {"w": [0.75]}, "columns": {"w": "-2000 * y"}}, "w_q75", -2000 * TABLE["y"].to_numpy(), 0.75),
        (
            {"medians": ["w"], "unit": "person", "person_columns": {"w": "mean(y)"}},
            "w_median", TABLE["y"].to_numpy().reshape(-1, 3).mean(1), 0.5,
        ),
        ({"medians": ["x"], "complete": ["x"], "diagnose": True, "sums": {"x": (0, 9)}}, "x_median", X, 0.5),
    ],
)  # fmt: skip
def test_every_form(fields: dict[str, Any], name: str, values: Any, level: float) -> None:
    release = released(ask(bins={name.split("_")[0]: "private"}, **fields))
    near(release if len(release.plan) == 1 else release["answers"], name, values, level)
    assert gm.read(release.to_json()) == release


def test_intervals_hold_as_often_as_they_say() -> None:
    """At 50 %: that fewer than 3 of 20 hold has a probability below 0.0003, three times in a row below 1e-11."""
    request = gm.Request(TABLE, medians=["x"], bins={"x": "private"}, guarantee=gm.Guarantee(mu=1))
    truth = X[449]

    def holds() -> int:
        ends = [gm.release(request)["x_median"].interval(confidence=0.5) for _ in range(20)]
        return sum(low <= truth <= high for low, high in ends)

    assert any(holds() >= 3 for _ in range(3))


def test_a_stage_that_misses_costs_width_and_no_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first stage is made to say that the median, near 10, is between 64 and 128."""
    wrong = Seen("cells", {"x": (64.0, 128.0)}, {})
    monkeypatch.setattr(
        staged_release, "seen_of", lambda stage, release: wrong if stage == "cells" else seen_of(stage, release)
    )
    release = released(ask(medians=["x"], bins={"x": "private"}))
    low, high = release["x_median"].interval()
    assert low <= X[449] <= high and high - low > 20


def test_a_plan_says_its_stages() -> None:
    plan = ask(medians=["x"], bins={"x": "private"}).plan
    told = " ".join(str(plan).split())
    for words in (
        "stage 1, 10 % of the budget: people below each power of two, for the cells of x",
        "then at most 6 zooms, 5 % each, where the quantiles may be",
        "Errors of quantiles are in ranks",
    ):
        assert words in told
    again = gm.read(plan.to_json())
    assert again == plan and again.staging.rule == plan.staging.rule  # type: ignore[union-attr]
    assert 0 < plan.errors()["x_median"] < 2


def test_what_was_found_is_said() -> None:
    release = released(ask(medians=["x"], bins={"x": "private"}))
    assert "The cells for quantiles of x were found privately, with " in " ".join(str(release).split())
    assert len(release["x_median"].distribution()["edge"]) == 19  # 17 edges around the median, and one to either side


def test_where_nothing_is_found_answers_are_unknown(tmp_path: Path, capsys: Any) -> None:
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10))
    request = gm.Request(
        TABLE.head(2), quantiles={"x": [0.5]}, bins={"x": "private"}, count=True, guarantee=gm.Guarantee(mu=1)
    )
    with fixed_noise():
        release = gm.release(request, ledger=ledger, id="one")
    assert release.path is not None and release.path.last.stage == "nothing"
    assert {(row["status"], row["note"].split(";")[0]) for row in release.rows()} == {("unknown", "no cells found")}
    assert "No cells found for x: too few people have a value." in " ".join(str(release).split())
    assert ledger.spent == square_units(release.path.taken)
    assert release.path.taken <= Fraction(1, 10)
    assert gm.read(release.to_json()) == release
    TABLE.head(0).write_csv(tmp_path / "none.csv")
    with fixed_noise():
        words = ["release", str(tmp_path / "none.csv"), "--median", "x", "--bins", "x=private", "--mu", "1"]
        assert main(words) == 0
    assert "no cells found" in capsys.readouterr().out


def test_a_column_without_cells_loses_its_answers_and_no_others() -> None:
    table = TABLE.with_columns(empty=pl.lit(None, pl.Float64))
    request = gm.Request(table, medians=["x", "empty"], bins={"x": "private", "empty": "private"}, guarantee=G)
    release = released(request)
    rows = {row["answer"]: row for row in release.rows()}
    near(release, "x_median", X, 0.5)
    assert (rows["empty_median"]["status"], rows["empty_median"]["note"]) == ("unknown", "no cells found")
    assert gm.read(release.to_json()) == release


def test_cells_that_do_not_follow_from_the_stages_are_refused() -> None:
    release = released(ask(medians=["x"], bins={"x": "private"}))

    def spoiled(change: Any) -> str:
        fields = json.loads(release.to_json())
        change(fields["stages"])
        return json.dumps(fields)

    def other_cells(stages: Any) -> None:
        stages["last"]["asks"]["cells"]["x"][0] -= 1

    def other_rule(stages: Any) -> None:
        stages["rule"]["zoom"] = "1/100"

    def no_zoom(stages: Any) -> None:
        stages["stages"].pop()

    for change in (other_cells, other_rule, no_zoom):
        with refused("stages-do-not-follow"):
            gm.read(spoiled(change))


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"count": True}, "private-bins-without-quantiles"),
        ({"medians": ["x"], "histograms": ["x"]}, "private-bins-beside-others"),
        ({"medians": ["x"], "marginals": [["x"]]}, "private-bins-beside-others"),
        ({"quantiles": {"x": [k / 64 for k in range(1, 22)]}}, "private-bins-of-many-quantiles"),
        ({"medians": ["x"], "by": {"z": [0, 7]}}, "private-bins-beside-others"),
        ({"medians": ["x"], "means": {"y": "private"}}, "private-bins-beside-others"),
        ({"medians": ["x"], "histograms": {"z": "found"}, "keys_delta": 1e-9}, "private-bins-beside-others"),
        ({"medians": ["x"], "unit": "person"}, "private-bins-of-rows"),
        ({"medians": ["x"], "budget": {"bounds": 0.1}}, "budget-without-stages"),
        ({"medians": ["x"], "questions": [{"count": True}]}, "private-bins-beside-others"),
    ],
)
def test_what_does_not_go_with_private_bins_is_refused(fields: dict[str, Any], code: str) -> None:
    with refused(code):
        ask(bins={"x": "private"}, **fields)


def test_a_table_of_other_columns_may_stand_beside() -> None:
    """Names that hold the name of the column are others."""
    table = TABLE.with_columns(xx=pl.col("z") > 0)
    request = gm.Request(
        table, medians=["x"], bins={"x": "private"}, marginals=[["xx"]], values={"xx": [True, False]}, guarantee=G
    )
    assert request.plan.staging is not None


def test_what_stands_in_for_missing_values_stays_where_cells_are_lost() -> None:
    table = TABLE.with_columns(empty=pl.lit(None, pl.Float64))
    request = gm.Request(
        table, medians=["x", "empty"], bins={"x": "private", "empty": "private"},
        regression={"of": "x", "on": ["empty"]}, bounds={"x": (0, 30), "empty": (0, 1)},
        missing={"empty": 0.25}, guarantee=gm.Guarantee(mu=3),
    )  # fmt: skip
    assert request.plan.staging is not None and request.plan.staging.planner is not None
    step = StageStep(ANSWERS, None, {"cells": {"x": [1.0, 2.0]}, "unknown": [["empty", "value"]]})
    made = request.plan.staging.planner(step, G)
    assert "x_median" in made.names and "empty_median" not in made.names
    rules = [query.row_rule for query in made.queries if query.row_rule is not None]
    assert any(("empty", 0.25) in rule.stand_ins for rule in rules)


def test_the_most_cells_that_can_be_found_are_planned() -> None:
    """Twenty quantiles far apart, each with as many cells as it may have."""
    levels = [k / 21 for k in range(1, 21)]
    request = ask(quantiles={"x": levels}, bins={"x": "private"})
    far = [Quantile(2.0 ** (2 * k - 20), 2.0 ** (2 * k - 18), True) for k in range(20)]
    assert request.plan.staging is not None and request.plan.staging.planner is not None
    step = StageStep(ANSWERS, None, {"cells": {"x": list(last_edges(far))}, "unknown": []})
    assert len(request.plan.staging.planner(step, G).names) == 20


def test_a_rehearsal_goes_through_the_stages() -> None:
    release = gm.rehearse(ask(medians=["x"], bins={"x": "private"}), rows=500)
    assert release.made_up and release.path is not None and release.path.stages


def test_the_page_has_the_measured_price() -> None:
    """The figures of docs/bounds.md are those of the evidence, over data in which neither ties nor gaps decide."""
    root = Path(__file__).parents[2]
    found = json.loads((root / "docs" / "evidence" / "quantiles.json").read_text("utf-8"))
    assert found["problems"] == []
    others = ("70 % zeros", "Poisson", "two heaps")

    def ratio(asked: str) -> float:
        rows = [row for name, row in found["error"][asked].items() if not name.startswith(others)]
        assert len(rows) == 6
        return float(np.exp(np.mean([np.log(row["staged: ranks"] / row["declared bounds: ranks"]) for row in rows])))

    words = f"a median is off by {ratio('median'):.2f} times, a ninth decile by {ratio('0.9'):.2f} times as many ranks"
    assert words in (root / "docs" / "bounds.md").read_text("utf-8")


def test_private_bins_inside_a_question_say_where_they_belong() -> None:
    with refused("private-bins-in-a-question"):
        ask(questions=[{"medians": ["x"], "bins": {"x": "private"}}])


def test_a_quantile_without_a_range_is_told_what_to_write() -> None:
    with pytest.raises(gm.RequestError, match=r'or bins=\{"x": "private"\} to learn them'):
        ask(medians=["x"])


def test_targets_need_cells() -> None:
    with refused("targets-beside-private-bounds"):
        ask(medians=["x"], bins={"x": "private"}).guarantee_for({"x_median": 1.0}, rows=1000)


def test_places_are_exact_and_in_order() -> None:
    random = np.random.default_rng()
    numbers = np.sort(random.choice([-1.0, 1.0], 200) * 2.0 ** random.uniform(-40, 41, 200)).tolist()
    places = [place_of(x) for x in numbers]
    assert places == sorted(places)
    assert [number_at(place) for place in places] == [Fraction(x) for x in numbers]


def test_edges_end_where_doubles_do() -> None:
    assert spread_edges(1.0, np.nextafter(1.0, 2), 16) == (1.0, np.nextafter(1.0, 2))
    assert len(spread_edges(-3.0, 1e9, 16)) == 17

"""The edges: no records, no names, names that collide, numbers that outgrow doubles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.errors import DomainError, PlanError, RequestError

UNIT = gm.Guarantee(mu=1)


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("rows", [[], (), np.empty((0, 0))])
def test_no_records_are_records_of_any_width(dimension: int, rows: Any) -> None:
    """An error for an empty list would tell it from a list of one."""
    plan = gm.plan(gm.Box([0] * dimension, [1] * dimension), UNIT, count=True)
    found = plan.release(rows)
    assert found.values.shape == (dimension + 1,) and abs(found["count"].value) < 100


@pytest.mark.parametrize("rows", [np.empty((5, 0)), [[], []]])
@pytest.mark.parametrize("dimension", [1, 2])
def test_records_without_columns_are_refused_before_they_are_read(dimension: int, rows: Any) -> None:
    with refused("columns-do-not-match-domain", columns=0):
        gm.plan(gm.Box([0] * dimension, [1] * dimension), UNIT).release(rows)


def test_a_count_alone_takes_arrays_of_any_width() -> None:
    plan = gm.plan(gm.Records(), gm.Guarantee(mu=1e6), count=True)
    for rows in (np.zeros((1000, 3)), np.zeros(1000), [[1, 2]] * 1000):
        assert round(plan.release(rows)["count"].value) == 1000


def test_a_request_shown_in_a_terminal_shows_no_data() -> None:
    request = gm.Request(pl.DataFrame({"age": [41.5]}), sums={"age": (0, 100)}, guarantee=UNIT)
    assert "41.5" not in repr(request)


def test_a_column_named_count_beside_the_count_is_refused() -> None:
    """`release["count"]` could mean either."""
    box = gm.Box({"count": (0, 1), "x": (0, 5)})
    with refused("column-named-count"):
        gm.plan(box, UNIT, count=True)
    assert gm.plan(box, UNIT).answers.names == ("count", "x")
    assert gm.Request("f.csv", sums={"count": (0, 1)}, count=True, guarantee=UNIT).plan.names == ("count_sum", "count")


@pytest.mark.parametrize(
    "column", ["question", "answer", "value", "standard_error", "lower", "upper", "status", "note"]
)
def test_key_columns_named_like_those_of_the_table_are_refused(column: str) -> None:
    with refused("key-column-reserved", column=column):
        gm.Groups({column: ["a", "b"]}, gm.Box([0], [1]))


def test_means_of_no_records() -> None:
    plan = gm.plan(gm.Box([0, 0], [1, 2]), UNIT, answers="means", count=True, neighbours="replace-one")
    found = plan.release(np.empty((0, 2)))
    assert found["count"].value == 0
    assert not np.isfinite(found.covariance()[:2, :2]).any()
    lower, upper = found.raw_intervals(1.96)
    assert (lower[:2] == -np.inf).all() and (upper[:2] == np.inf).all()
    lower, upper = found.intervals()
    assert lower[:2].tolist() == [0, 0] and upper[:2].tolist() == [1, 2], "nothing but the bounds is known"
    assert [row["status"] for row in found.rows()] == ["unknown", "unknown", "exact"]


def test_the_covariance_of_groups_added_up_is_that_of_all_their_noise() -> None:
    plan = gm.plan(gm.Groups({"g": ["a", "b", "c", "d"]}, gm.Box({"x": (0, 1)})), UNIT, count=True)
    rows = pl.DataFrame({"g": ["a", "b", "c", "d"] * 100, "x": [1.0] * 400})
    whole = plan.release(rows).total()
    assert np.sqrt(np.diag(whole.covariance())) == pytest.approx(whole.standard_errors)
    assert whole["count"].standard_error == pytest.approx(2 * plan.errors()["count"])


def test_one_column_may_be_named_without_a_list() -> None:
    plan = gm.plan(gm.Box([0], [1]), gm.Guarantee(mu=1e6))
    assert plan.release(pl.DataFrame({"age": [1.0]}), columns="age").values == pytest.approx([1.0], abs=1e-4)


HUGE = 10**400


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: gm.Box([0], [HUGE]), DomainError),
        (lambda: gm.Box({"age": (0, HUGE)}), DomainError),
        (lambda: gm.Request("f.csv", sums={"age": (0, HUGE)}, guarantee=UNIT), RequestError),
        (lambda: gm.Request("f.csv", sums={"age": (0, 1)}, weights=[HUGE], guarantee=UNIT), RequestError),
        (lambda: gm.plan(gm.Box([0], [1]), UNIT, answers=[[HUGE]]), PlanError),
        (lambda: gm.domains.Ball(1, HUGE), DomainError),
        (lambda: gm.domains.Ball(1, 1, centre=[HUGE]), DomainError),
        (lambda: gm.domains.GaussianData([HUGE], [1]), DomainError),
    ],
)
def test_whole_numbers_beyond_doubles_are_refused_in_words(make: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=" · "):
        make()


@pytest.mark.parametrize("bounds", [(-1e300, 1e300), (0, 1e100), (-1e200, 0), (0, 1e-110)])
def test_bounds_whose_squares_no_double_holds_are_refused(bounds: tuple[float, float]) -> None:
    with refused("bounds-out-of-scale"):
        gm.Box({"x": bounds})


@pytest.mark.parametrize("weights", ["equal", "relative", [1e-100, 1e100]])
@pytest.mark.parametrize("answers", ["sums", "means"])
def test_bounds_as_wide_as_allowed_still_have_right_answers(answers: str, weights: Any) -> None:
    box = gm.Box([-9e99, 0], [9e99, 1])
    plan = gm.plan(box, gm.Guarantee(mu=1e6), answers=answers, weights=weights, count=True)
    found = plan.release(np.full((1000, 2), [9e99, 1.0]))
    truth = np.array([9e99, 1.0]) * (1000 if answers == "sums" else 1)
    near = np.abs(found.values[:2] - truth) < 20 * found.standard_errors[:2]
    assert (near | ~np.isfinite(found.intervals()[0][:2])).all()
    assert gm.Plan.from_json(plan.to_json()) == plan


def test_weights_beyond_all_measure_are_refused() -> None:
    with refused("weights-malformed"):
        gm.plan(gm.Box([0, 0], [1, 1]), UNIT, weights=[1e-320, 1e300])


def test_a_name_that_is_no_text_is_stored_all_the_same(tmp_path: Path) -> None:
    """Once it is charged, a release must not be lost to half a character in a name."""
    ledger = gm.Ledger.create(tmp_path / "l", UNIT)
    plan = gm.plan(gm.Box({"\udcff": (0, 1)}), gm.Guarantee(mu=0.1))
    assert plan.release([[0.5]], ledger=ledger, id="a").names == ("\udcff",)


def test_a_ledger_for_a_dataset_takes_frames_and_refuses_other_files(tmp_path: Path) -> None:
    """A frame has no name: whoever passes it vouches for it. A file of another name is refused, and nothing charged."""
    ledger = gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=10), dataset="visits")
    plan = gm.plan(gm.Box({"a": (0, 1)}), UNIT)
    frame = pl.DataFrame({"a": [0.5]})
    assert plan.release(frame, ledger=ledger, id="one").id == "one"
    frame.write_parquet(tmp_path / "visits.parquet")
    frame.write_parquet(tmp_path / "others.parquet")
    assert plan.release(tmp_path / "visits.parquet", ledger=ledger, id="two").id == "two"
    spent = ledger.spent
    with refused("ledger-of-another-dataset", dataset="visits"):
        plan.release(tmp_path / "others.parquet", ledger=ledger, id="three")
    assert ledger.spent == spent


def test_a_request_file_may_name_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "r.toml").write_text('source = "~/x.csv"\ncount = true\nguarantee = { mu = 1 }\n')
    assert gm.Request.from_toml(tmp_path / "r.toml").source == str(tmp_path / "home" / "x.csv")

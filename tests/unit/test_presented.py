"""What is public is free: intervals within the bounds, a view for publication, wide tables, sampling errors."""

from __future__ import annotations

from importlib import resources

import numpy as np
import polars as pl
import pytest
from noisy import noisy_release
from refusals import refused

import gaussmith as gm
from gaussmith.releases.presentation import project

G = gm.Guarantee(epsilon=1, delta=1e-6)
REGIONS = {"region": ["north", "south", "east"]}
GROUPED = gm.Request(
    "x.csv", means={"age": (0, 100), "smokes": (0, 1)}, sums={"spent": (0, 9), "debt": (-9, 9)}, count=True,
    by=REGIONS, complete=["age", "smokes"], guarantee=G,
).plan  # fmt: skip
VALUES = gm.Request("x.csv", histograms={"health": ["good", "fair", "poor"]}, guarantee=G).plan


def grouped(counts: tuple[float, ...] = (300, 200, 4)) -> gm.Release:
    """Features in order: spent, debt, age − 50, smokes − ½, count."""
    return noisy_release(GROUPED, [[n * 2, -n, n * 49.9, n * 0.1, n] for n in counts])


def test_intervals_are_cut_to_what_is_public_and_values_are_not() -> None:
    release = noisy_release(GROUPED, [[-3, -3, 300 * 51.0, 30, 300], [900, 0, 0, 0, 200], [1, 1, 1, 1, -2]])
    north, east = release["north"], release["east"]
    assert north["age_mean"].value == pytest.approx(101) and north["age_mean"].interval()[1] == 100
    assert north["spent_sum"].value == -3 and north["spent_sum"].interval()[0] == 0
    assert north["debt_sum"].interval()[0] < -3, "it may be negative"
    assert east["count"].value == -2 and east["count"].interval()[0] == 0
    assert east["age_mean"].interval() == (0, 100) and east.rows()[2]["status"] == "unknown"
    assert [row["lower"] for row in release.rows()] == pytest.approx(release.intervals()[0].ravel())


def test_a_cut_interval_covers_whatever_lies_inside() -> None:
    """Cutting removes only points where the truth cannot be."""
    plan = gm.plan(gm.Box({"a": (0, 1)}), gm.Guarantee(mu=1), count=True)
    for truth in (0.0, 0.5, 30.0):
        for noise in np.linspace(-4, 4, 33):
            release = noisy_release(plan, [truth + noise, 50.0])
            raw, cut = release["a"].raw_intervals(1.96), release["a"].interval()
            covered, still = raw[0][0] <= truth <= raw[1][0], cut[0] <= truth <= cut[1]
            assert covered == still or (still and truth == 0), "at the limit itself a cut interval may cover more"


def test_gaussian_data_has_no_bounds_to_cut_to() -> None:
    plan = gm.plan(gm.domains.GaussianData(mean=[5.0], sd=[1.0]), G, answers="means")
    release = noisy_release(plan, [5_000.0, 100.0])
    assert release[0].value == pytest.approx(55) and release[0].interval()[1] > 55


def test_projection_is_the_nearest_point_with_the_same_total() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        y = rng.normal(size=6) * 5 + 2
        x = project(y)
        assert (x >= 0).all()
        if y.sum() <= 0:
            assert not x.any()
            continue
        assert x.sum() == pytest.approx(y.sum())
        for _ in range(50):
            other = rng.dirichlet(np.ones(6)) * y.sum()
            assert np.sum((x - y) ** 2) <= np.sum((other - y) ** 2) + 1e-9


def test_projection_lowers_the_error_of_health_counts_by_a_third() -> None:
    """Visits to a doctor in the bundled data, 0 to 80: squared error × 0.68, and the total as good as before."""
    table = pl.read_parquet(str(resources.files("gaussmith") / "data" / "randhie.parquet"))
    truth = np.bincount(table["mdvis"].to_numpy(), minlength=81)[:81].astype(float)
    plan = gm.Request("x.csv", histograms={"mdvis": list(range(81))}, guarantee=G).plan
    sigma = plan.standard_errors[0]
    assert sigma == pytest.approx(4.22, abs=0.01), "cells of people in at most one have independent noise"
    noisy = truth + np.random.default_rng(4).normal(size=(1000, 81)) * sigma
    shown, clipped = np.array([project(each) for each in noisy]), np.maximum(noisy, 0)
    raw, viewed, cut = (((each - truth) ** 2).sum(axis=1).mean() for each in (noisy, shown, clipped))
    assert viewed / raw == pytest.approx(0.68, abs=0.02) and cut / raw == pytest.approx(0.74, abs=0.02)
    assert shown.sum(axis=1) == pytest.approx(noisy.sum(axis=1))
    off = [np.sqrt(np.mean((each.sum(axis=1) - truth.sum()) ** 2)) for each in (shown, clipped)]
    assert off[0] < 42 and off[1] > 58, "clipping at 0 harms the total, the projection does not"


def test_the_view_says_that_it_is_one_and_leaves_the_release_alone() -> None:
    release = grouped()
    before = release.to_json()
    view = release.presented()
    text = str(view)
    assert "A view of the release, not the released numbers" in text and "above 30 % of their value" in text
    assert "A view of the release" in view._repr_html_() and release.to_json() == before
    told = {(row["region"], row["answer"]): row for row in view.rows()}
    assert told["east", "count"]["status"] == "suppressed" and told["east", "count"]["value"] is None
    north = told["north", "age_mean"]
    assert north["status"] == "presented" and 0 <= north["lower"] <= north["value"] <= north["upper"] <= 100
    assert told["north", "count"]["value"] == 300 and told["north", "spent_sum"]["value"] == 600
    assert north["value"] == round(north["value"], 1), "the noise supports one digit"
    assert "—" in text and view.to_polars().height == 15
    shown = release.presented(suppress_above=None)
    assert "No cell is left out" in str(shown)
    assert {row["status"] for row in shown.rows() if row["answer"] == "count"} == {"presented"}
    for wrong in (0, -1, float("nan"), "30 %"):
        with refused("suppression-not-positive"):
            release.presented(wrong)  # type: ignore[arg-type]


def test_counts_are_projected_and_keep_their_total() -> None:
    view = grouped((300, 200, -20)).presented(suppress_above=None)
    counts = [row["value"] for row in view.rows() if row["answer"] == "count"]
    assert counts == [290, 190, 0]
    cells = noisy_release(VALUES, [100.0, -10.0, 30.0]).presented(suppress_above=None)
    assert [row["value"] for row in cells.rows()] == [95, 0, 25]


def test_wide_tables_have_a_row_per_group() -> None:
    release = grouped()
    table = release.wide(errors=True)
    assert table.columns[:3] == ["region", "spent_sum", "spent_sum ±"] and table.height == 3
    assert table["count"].to_list() == [300, 200, 4]
    assert table["count ±"].to_list() == pytest.approx([release["north"]["count"].standard_error] * 3)
    shown = release.presented().wide()
    assert shown["region"].to_list() == ["north", "south", "east"] and shown["count"].to_list() == [300, 200, None]
    alone = noisy_release(VALUES, [100.0, 20.0, 30.0]).wide()
    assert alone.height == 1 and alone.columns == ["health=good", "health=fair", "health=poor"]


def test_wide_tables_of_several_questions_need_the_same_groups() -> None:
    asked = [{"name": "a", "count": True, "by": REGIONS}, {"name": "b", "sums": {"x": (0, 1)}, "by": REGIONS}]
    for questions, fits in ((asked, True), ([*asked, {"name": "c", "count": True}], False)):
        plan = gm.Request("x.csv", questions=questions, guarantee=G).plan
        release = noisy_release(plan, *(np.ones((d.size, len(d.block.noise.features))) for d in plan.queries))
        if fits:
            assert release.wide().columns == ["region", "a: count", "b: x_sum"]
            assert release.presented(None).wide().shape == (3, 3)
        else:
            with refused("wide-table-of-other-groups"):
                release.wide()


def test_sampling_errors_where_the_release_tells_them() -> None:
    cells = noisy_release(VALUES, [600.0, 300.0, 100.0])
    sigma = cells["health=good"].standard_error
    low, high = cells["health=good"].interval(population=True)
    assert (high - low) / 2 == pytest.approx(1.959964 * np.hypot(sigma, np.sqrt(1000 * 0.6 * 0.4)))
    assert "binomial" in cells.sampling()["health=good"]
    release = grouped()
    narrow, wide = (release["north"]["smokes_mean"].interval(population=p) for p in (False, True))
    assert wide[0] < narrow[0] and wide[1] > narrow[1]
    assert "largest variance" in release["north"].sampling()["smokes_mean"]
    count = release["south"]["count"]
    assert count.interval(population=True)[1] - 200 == pytest.approx(
        1.959964 * np.hypot(count.standard_error, np.sqrt(504 * (200 / 504) * (304 / 504))), rel=1e-6
    )
    with refused("sampling-error-unknown", says="variance of 'age'", answer="age_mean"):
        release["north"]["age_mean"].interval(population=True)
    with refused("sampling-error-unknown", answer="spent_sum"):
        release.intervals(population=True)
    rows = gm.Request("x.csv", means={"s": (0, 1)}, complete=["s"], unit="id", rows_per_unit=3, guarantee=G).plan
    over_rows = noisy_release(rows, np.full((1, len(rows.block.noise.features)), 50.0))
    with refused("sampling-error-unknown", says="rows of one person"):
        over_rows["s_mean"].interval(population=True)


def test_proportions_show_the_share_of_every_value_in_all_tables() -> None:
    asked = {"proportions": ["health"], "values": {"health": ["good", "fair", "poor"]}, "count": True, "guarantee": G}
    plan = gm.Request("x.csv", **asked).plan
    assert plan.names == ("health=good", "health=fair", "health=poor", "count")
    release = noisy_release(plan, [600.0, 300.0, 100.0, 1010.0])
    told = {row["answer"]: row for row in release.rows()}
    assert told["health=good_share"]["value"] == pytest.approx(0.6)
    shares = release.shares()
    assert told["health=poor_share"]["lower"] == shares["share of health=poor"].interval()[0]
    assert "health=good_share" in str(release) and gm.Release.from_json(release.to_json()) == release
    assert release.to_polars().height == 7 and len(release.wide().columns) == 4
    view = {row["answer"]: row["value"] for row in release.presented().rows()}
    assert view["health=good_share"] == pytest.approx(0.6, abs=0.01) and view["count"] == 1010
    with refused("histogram-beside-other-answers"):
        gm.Question(proportions={"a": ["x", "y"]}, sums={"b": (0, 1)})


def test_proportions_beside_other_answers_are_questions_of_their_own() -> None:
    asked = {"histograms": {"a": ["x", "y"]}, "proportions": {"a": ["x", "y"], "b": [1, 2]}, "means": {"c": (0, 1)}}
    plan = gm.Request("x.csv", **asked, count=True, guarantee=G).plan
    assert plan.questions == ("answers", "a", "a shares", "b")
    release = noisy_release(plan, *(np.full((d.size, len(d.block.noise.features)), 50.0) for d in plan.queries))
    told = [(row["question"], row["answer"]) for row in release.rows()]
    assert ("b", "b=2_share") in told and ("a", "a=x_share") not in told
    shown = {(row["question"], row["answer"]): row["value"] for row in release.presented(None).rows()}
    assert shown["b", "b=2_share"] == pytest.approx(0.5) and shown["b", "b=1"] == 50
    assert release.presented(None).wide()["b: b=1"].to_list() == [50]


def test_counts_of_tables_are_not_negative_and_tables_keep_their_total() -> None:
    people = pl.DataFrame({"sex": ["f", "m"] * 500, "age": [i % 70 for i in range(1000)]})
    request = gm.Request(
        people, marginals=[["sex", "age"], ["sex"]], values={"sex": ["f", "m"]}, bins={"age": [35]}, guarantee=G
    )
    release = gm.release(request)
    lower, _ = release.intervals(0.95)
    assert lower.min() >= 0.0
    shown = release.presented(suppress_above=None).columns()["value"]
    raw = release.values
    for start, stop in ((0, 9), (9, 12)):
        assert min(shown[start:stop]) >= 0
        assert sum(shown[start:stop]) == pytest.approx(raw[start:stop].sum(), abs=8)  # rounded to people


def test_all_numbers_of_a_row_have_the_same_decimals() -> None:
    from gaussmith.report.views import _alike

    assert _alike([21.0, 20.82, 21.17]) == ["21.00", "20.82", "21.17"]
    assert _alike([-0.0, 0.0, 1250.0]) == ["0", "0", "1,250"]

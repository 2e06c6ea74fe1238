"""The pictures of a plan: outlines against algebra, charts as data, colours that follow the page into the dark."""

from __future__ import annotations

import re
import sys
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from noisy import noisy_release
from refusals import Expected, refusal, refused

import gaussmith as gm
from gaussmith.planning.block import compare_block, compare_release, share_of_standard
from gaussmith.report import charts
from gaussmith.report import charts as spectra
from gaussmith.report import drawing as vectors
from gaussmith.report.charts import cell_pictures, differences, noise_covariance, pair
from gaussmith.report.drawing import draw
from gaussmith.report.error_bars import _domain, caption_of, interval_specs
from gaussmith.report.outlines import ellipse, zonotope
from gaussmith.report.page import page
from gaussmith.report.plans import plan_text

G = gm.Guarantee(epsilon=1, delta=1e-6)
SQUARE = gm.Box({"a": (0, 1), "b": (0, 1)})


def gauge(points: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """sᵀ Σ⁻¹ s of every point."""
    return np.einsum("ij,jk,ik->i", points, np.linalg.inv(covariance), points)


@pytest.mark.parametrize("box", [SQUARE, gm.Box([-3, 2], [1, 9]), gm.Box([-1, -5], [1, 5])])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_drawn_noise_just_holds_what_one_record_can_change(box: gm.Box, neighbours: str) -> None:
    block = gm.plan(box, G, neighbours=neighbours).block
    corners = np.vstack(differences(block, 0, 1))
    for planned in (block, block.standard):
        assert planned is not None
        reached = gauge(corners, noise_covariance(planned, [0, 1]) * G.mu**2).max()
        # The solved shape is within 1e-4 of touching; no shape may fall short.
        assert reached <= 1 + 1e-9
        assert reached >= 1 - 1e-3


def test_add_remove_draws_the_box_and_its_mirror_image_and_replace_one_twice_the_box() -> None:
    body, mirror = differences(gm.plan(gm.Box([1, 10], [3, 20]), G).block, 0, 1)
    assert body.min(axis=0).tolist() == [1, 10] and body.max(axis=0).tolist() == [3, 20]
    assert (mirror == -body).all()
    (twice,) = differences(gm.plan(gm.Box([1, 10], [3, 20]), G, neighbours="replace-one").block, 0, 1)
    assert twice.max(axis=0).tolist() == [2, 10] and twice.min(axis=0).tolist() == [-2, -10]


def test_means_are_drawn_from_the_middle_of_their_bounds() -> None:
    (body,) = differences(gm.plan(gm.Box([1, 10], [3, 20]), G, answers="means").block, 0, 1)
    assert body.max(axis=0).tolist() == [1, 5] and body.min(axis=0).tolist() == [-1, -5]


def test_the_outline_of_a_zonotope_holds_all_its_points_and_touches_its_corners() -> None:
    rng = np.random.default_rng()
    generators = rng.normal(size=(2, 6))
    outline = zonotope(generators)
    assert np.allclose(outline[0], outline[-1])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1)
    for direction in rng.normal(size=(50, 2)):
        assert (direction @ outline.T).max() == pytest.approx((direction @ generators @ signs).max())


def test_a_ball_is_drawn_round() -> None:
    plan = gm.plan(gm.domains.Ball(5, 2.0, centre=[1, 0, 0, 0, 0]), G)
    body, mirror = differences(plan.block, 0, 1)
    assert np.allclose(np.linalg.norm(body - [1, 0], axis=1), 2)
    assert np.allclose(mirror, -body)


def test_the_outline_of_noise_is_one_standard_deviation_in_every_direction() -> None:
    covariance = np.array([[4.0, 1.0], [1.0, 2.0]])
    outline = ellipse(covariance)
    assert np.allclose(gauge(outline, covariance), 1)
    assert outline[:, 0].max() == pytest.approx(2, rel=1e-2)


def test_noise_covariance_is_the_plans_own() -> None:
    plan = gm.plan(gm.Box([0] * 5, [1, 2, 3, 4, 5]), G, count=True)
    assert np.allclose(noise_covariance(plan.block, [1, 4, 5]), plan.covariance()[np.ix_([1, 4, 5], [1, 4, 5])])


def test_the_most_correlated_pair_is_drawn_unless_two_are_named() -> None:
    plan = gm.plan(gm.Box({"a": (-1, 1), "b": (0, 1), "c": (0, 1)}), G, count=True)
    assert pair(plan.block) == (1, 2)
    assert charts.drawn_names(plan.block) == ("b", "c")
    assert charts.drawn_names(plan.block, ("c", "count")) == ("c", "count")
    assert pair(gm.plan(gm.Box({"a": (0, 1)}), G).block) is None
    assert pair(gm.plan(gm.Box({"a": (0, 1)}), G, count=True).block) == (0, 1)
    assert pair(gm.plan(gm.Records(), G, count=True).block) is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("a", "z"), "picture-of-unknown-answer"),
        (("a", "a"), "picture-columns-not-two"),
        (("a",), "picture-columns-not-two"),
    ],
)
def test_a_wrong_choice_of_columns_is_refused(columns: tuple[str, ...], message: Expected) -> None:
    with refused(message):
        charts.plan_spec(gm.plan(SQUARE, G).block, columns)


def test_the_chart_of_a_plan_is_an_altair_chart() -> None:
    spec = gm.plan(SQUARE, G).chart(("a", "b")).to_dict()
    assert spec["height"] == spec["width"]
    kinds = {row.get("kind") for rows in spec["datasets"].values() for row in rows}
    assert kinds >= {"ours", "standard", "record"}


PLANS = {
    "sums": gm.plan(SQUARE, G),
    "means": gm.plan(SQUARE, G, answers="means", count=True),
    "one": gm.plan(gm.Box([0], [9]), G),
    "one and count": gm.plan(gm.Box([0], [9]), G, count=True),
    "count": gm.plan(gm.Records(), G, count=True),
    "public": gm.plan(SQUARE, G, neighbours="replace-one", count=True),
    "ball": gm.plan(gm.domains.Ball(3, 1.0), G),
    "wide": gm.plan(gm.Box(np.zeros(300), np.ones(300)), G, count=True),
}


@pytest.mark.parametrize("name", PLANS)
def test_every_kind_of_plan_can_be_drawn(name: str) -> None:
    svg = draw(charts.plan_spec(PLANS[name].block), "a <label> & more")
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img" and root.get("aria-label") == "a <label> & more"
    assert "px" in (root.get("style") or "") and root.get("width") is None
    marks = [each for kind in ("path", "line") for each in root.iter(f"{{http://www.w3.org/2000/svg}}{kind}")]
    assert len(marks) > 3


def test_no_page_starts_a_vega_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # an import of it would fail
    plan = gm.plan(SQUARE, G, count=True)
    assert page(noisy_release(plan, [5.0, 6.0, 7.0])).count("<svg") >= 3
    for block in (plan.block, PLANS["one"].block):
        for kind in (spectra.spectrum_spec, spectra.errors_spec, charts.plan_spec):
            assert draw(kind(block), "").startswith("<svg")


def test_a_chart_with_unknown_marks_is_a_mistake() -> None:
    spec = charts.plan_spec(gm.plan(SQUARE, G).block)
    with pytest.raises(vectors.NotDrawn, match="a mark"):
        draw({**spec, "layer": [{"mark": {"type": "tick"}, "encoding": {}}, *spec["layer"]]}, "")


def test_a_chart_without_values_has_its_axes() -> None:
    axis = {"title": "error", "tickCount": 2}
    encoding = {each: {"field": each, "type": "quantitative", "axis": axis} for each in "xy"}
    spec = charts.chart(100, 100) | {"data": {"values": []}, "mark": {"type": "point"}, "encoding": encoding}
    assert draw(spec, "nothing").count("error</text>") == 2


@pytest.mark.parametrize(
    ("value", "step", "form", "text"),
    [
        (0.0, 50.0, ",~r", "0"),
        (-0.05, 0.05, ",~r", "−0.05"),
        (1500.0, 500.0, ",~r", "1,500"),
        (1.5e6, 5e5, "~s", "1.5M"),
        (5e5, 5e5, "~s", "500k"),
        (0.0, 5e5, "~s", "0"),
        (0.25, 0.05, "%", "25%"),
        (0.125, 0.005, "%", "12.5%"),
    ],
)
def test_ticks_are_spelled_as_people_write_numbers(value: float, step: float, form: str, text: str) -> None:
    assert vectors._spelled(value, step, form) == text


def test_every_colour_of_a_chart_has_one_for_the_dark() -> None:
    style = (resources.files("gaussmith.report") / "page.css").read_text("utf-8")
    dark = style[style.index("prefers-color-scheme: dark") :]
    plan = gm.plan(SQUARE, G, count=True)
    release = noisy_release(plan, [5.0, 6.0, 7.0])
    specs = [charts.plan_spec(plan.block), *interval_specs(release.rows()), charts.noise_spec(compare_release(release))]
    used = {m for spec in specs for m in re.findall(r'(?:fill|stroke)="#\w+"', draw(spec, ""))}
    assert used
    assert {c for c in used if f"svg [{c}]" not in dark} <= {f'fill="{charts.OTHERS}"', f'stroke="{charts.OTHERS}"'}


# -- the comparison with the standard Gaussian ------------------------------------------------------------------------


def test_the_standard_plan_of_sums_is_the_textbook_one() -> None:
    plan = gm.plan(gm.Box([0] * 16, [1] * 16), G)
    assert [c.standard for c in compare_block(plan.block)] == pytest.approx([4 / G.mu] * 16)
    assert share_of_standard(plan.block) == pytest.approx((np.sqrt(16) + 1) / 2 / 4, rel=1e-3)


def test_a_mean_is_compared_at_its_released_value() -> None:
    plan = gm.plan(gm.Box({"a": (0, 10)}), G, answers="means", count=True)
    at_centre = noisy_release(plan, [0.0, 1000.0])
    at_edge = noisy_release(plan, [5000.0, 1000.0])
    assert compare_release(at_centre)[0].error == at_centre.standard_errors[0]
    assert compare_release(at_centre)[0].error < compare_release(at_edge)[0].error
    assert compare_release(at_centre)[0].standard != pytest.approx(compare_release(at_edge)[0].standard)


def test_a_plan_reads_in_80_columns_and_says_what_n_is() -> None:
    text = plan_text(gm.plan(gm.Box({"age": (0, 100)}), G, answers="means", count=True))
    assert text.splitlines()[0].split() == ["answer", "±", "error", "standard", "Gaussian", "ratio"]
    assert "/ n" in text and "n is the number of records" in text
    assert max(map(len, text.splitlines())) <= 80


COUNTED = {
    "counts": gm.plan(gm.Counts(4, at_most=2), G, count=True),
    "votes": gm.plan(gm.domains.Votes(3), G),
    "sparse": gm.plan(gm.domains.SparseSum(4, at_most=2, bound=[1.0, 2, 3, 4]), G, neighbours="replace-one"),
    "cells": gm.plan(gm.Cells(4), G, neighbours="replace-one"),
    "cells or none": gm.plan(gm.Cells(4, or_none=True), G, count=True),
    "prefix": gm.plan(gm.Cells(6), G, answers=gm.workloads.prefix(6)),
    "points": gm.plan(gm.domains.Points([[0.0, 1.0], [2.0, 5.0], [3.0, -3.0]]), G),
}


@pytest.mark.parametrize("name", COUNTED)
def test_pictures_of_counted_records_hold_every_difference(name: str) -> None:
    """What is drawn of one record lies inside the outline of the noise, and some of it touches a side of its box."""
    from gaussmith.report.charts import differences, noise_covariance

    plan = COUNTED[name]
    for i, j in ((0, 1), (1, 0), (0, plan.answers.size if plan.answers.count and not plan.block.public_count else 1)):
        covariance = noise_covariance(plan.block, [i, j]) * plan.guarantee.mu**2
        bodies = differences(plan.block, i, j)
        assert bodies
        for body in bodies:
            inside = np.einsum("ij,jk,ik->i", body, np.linalg.pinv(covariance, rcond=1e-10), body)
            assert inside.max() <= 1 + 1e-6
    assert plan.chart() and plan.chart(kind="errors")


@pytest.mark.parametrize("name", COUNTED)
def test_a_spectrum_adds_up_to_the_total(name: str) -> None:
    from gaussmith.planning.block import spectrum

    plan = COUNTED[name]
    sizes, standard = spectrum(plan.block)
    assert (sizes**2).sum() == pytest.approx(plan.total_variance)
    assert standard is not None and sizes.max() > 0
    assert standard * np.sqrt(len(sizes)) >= np.sqrt(plan.total_variance) * (1 - 1e-9)
    assert plan.chart(kind="spectrum")
    assert "directions the noise has" in plan.explain()


@pytest.mark.parametrize("by", [None, {"a": [1, 2]}])
@pytest.mark.parametrize("sums", [{}, {"x": (0, 1)}])
def test_the_picture_of_errors_has_the_count_as_its_last_answer(by: Any, sums: Any) -> None:
    """Also where nothing but people is counted, and where the noise is shared with another question."""
    asked = {"count": True, "sums": sums, **({} if by is None else {"by": by})}
    alone = gm.Request("x.csv", guarantee=G, **asked).plan
    beside = {"name": "b", "count": True, "by": {"a": [1, 2], "b": [1, 2]}}
    shared = gm.Request("x.csv", guarantee=G, questions=[{"name": "q", **asked}, beside]).plan["q"]
    for plan in (alone, shared):
        (values,) = plan.chart(kind="errors").to_dict()["datasets"].values()
        rows = [row for row in values if row["kind"] == "ours"]
        assert [row["answer"] for row in rows] == list(plan.names) and rows[-1]["answer"] == "count"
        assert [row["error"] for row in rows] == pytest.approx(plan.standard_errors.tolist())


def test_pictures_that_there_are_not_are_refused_in_words() -> None:
    plan = COUNTED["prefix"]
    for arguments, expected in (
        ({"kind": "spectra"}, refusal("unknown-picture", says="did you mean 'spectrum'?", kind="spectra")),
        ({"kind": "errors", "columns": ("0", "1")}, "columns-with-this-picture"),
    ):
        with refused(expected, gm.errors.PlanError):
            plan.chart(**arguments)
    wide = gm.plan(gm.Cells(2000), G)
    with refused("too-many-directions"):
        wide.chart(kind="spectrum")
    assert wide.chart(kind="errors")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_pictures_of_people_with_rows_hold_every_difference(neighbours: str) -> None:
    asked = {"sums": {"spent": (5, 500)}, "means": {"age": (0, 100), "weight": (40, 90)}, "count": "rows"}
    asked |= {"complete": ["age", "weight", "spent"]}
    plan = gm.Request("a.csv", unit="p", rows_per_unit=3, neighbours=neighbours, guarantee=G, **asked).plan
    assert isinstance(plan, gm.Plan)
    touched = 0.0
    for i, j in ((0, 1), (1, 2), (1, 3), (0, 3)):
        covariance = noise_covariance(plan.block, [i, j]) * plan.guarantee.mu**2
        bodies = differences(plan.block, i, j)
        assert len(bodies) == (1 if neighbours == "replace-one" else 2)
        for body in bodies:
            reached = gauge(body, covariance).max()
            assert reached <= 1 + 1e-6
            touched = max(touched, float(reached))
    assert touched > 0.5
    assert charts.draws_record(plan.block)


def test_the_page_of_a_plan_for_the_worst_answer_compares_worst_answers() -> None:
    from gaussmith.report.page import page

    plan = gm.plan(gm.Cells(8), G, answers=gm.workloads.prefix(8), objective="worst", targets=[0.1] * 8)
    told = page(plan.release([0, 1, 2]))
    assert "minimise the squared error of the worst answer" in told and "sum of squared errors" not in told
    assert f"{1 / plan.optimality:.2f} ×" in told and "<th>largest squared error</th>" in told


def test_pictures_of_quantiles_name_their_column_and_ticks_do_not_meet() -> None:
    people = pl.DataFrame({"wage": [i % 90 + 0.5 for i in range(2000)], "sex": ["f", "m"] * 1000})
    fields: dict[str, Any] = {"quantiles": {"wage": [0.1, 0.9]}, "bounds": {"wage": (0, 100)}, "guarantee": G}
    for by in ({}, {"by": {"sex": ["f", "m"]}}):
        ((spec, _),) = cell_pictures(gm.release(gm.Request(people, **fields, **by)))
        assert spec["layer"][0]["encoding"]["x"]["axis"] == {
            "title": "wage", "tickCount": 5, "format": ",~r", "labelFlush": False,
        }  # fmt: skip


def drawn_rows(release: gm.Release) -> list[list[dict[str, Any]]]:
    """The rows of each chart of error bars."""
    return [spec["data"]["values"] for spec in interval_specs(release.rows())]


def test_error_bars_stand_at_their_values() -> None:
    """The numbers of a chart are those of the table, and so are the places of its marks."""
    plan = gm.Request("a.csv", histograms={"sex": ["f", "m"]}, guarantee=G).plan
    release = noisy_release(plan, [-0.8, 1000.0])
    ((first, second),) = drawn_rows(release)
    for drawn, row in zip((first, second), release.rows(), strict=True):
        assert (drawn["low"], drawn["value"], drawn["high"]) == (row["lower"], row["value"], row["upper"])
    assert first["low"] == 0 and first["near"] == 0 and first["value"] == -0.8  # its interval is cut at 0
    assert "outside its bounds" in caption_of(release.rows()) and "outside" not in caption_of(release.rows()[1:])
    root = ElementTree.fromstring(draw(interval_specs(release.rows())[0], ""))
    low, high = (float(each.get("cx") or "") for each in root.iter("{http://www.w3.org/2000/svg}circle"))
    domain = interval_specs(release.rows())[0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert domain[0] < first["value"] and domain[1] > second["high"]
    assert high - low == pytest.approx(1000.8 / (domain[1] - domain[0]) * charts.NARROW, abs=0.1)


def test_answers_share_an_axis_where_their_scales_are_alike() -> None:
    plan = gm.plan(gm.Box({"age": (0, 100), "visits": (0, 80), "spent": (0, 1e6)}), G, count=True, weights="relative")
    panels = drawn_rows(noisy_release(plan, [2e5, 3e5, 4e9, 5e3]))
    assert [[row["label"] for row in panel] for panel in panels] == [["age", "visits"], [""], [""]]
    titles = [
        spec["layer"][1]["encoding"]["x"]["axis"]["title"]
        for spec in interval_specs(noisy_release(plan, [2e5, 3e5, 4e9, 5e3]).rows())
    ]
    assert titles == ["released value", "spent", "count"]


def test_groups_are_rows_and_every_answer_has_its_axis() -> None:
    plan = gm.Request(
        "a.csv", by={"sex": ["f", "m"]}, means={"age": (0, 100)}, complete=["age"], count=True, guarantee=G
    ).plan
    release = noisy_release(plan, [[100.0, 1000.0], [1.0, 2.0]])
    panels = drawn_rows(release)
    assert [[row["label"] for row in panel] for panel in panels] == [["f", "m"], ["f", "m"]]
    assert "low" in panels[0][0] and "low" not in panels[0][1]  # too few people for an interval: no mark, and said
    assert panels[0][1]["text"] == "unknown" and "Unknown: too much noise" in caption_of(release.rows())


def test_an_axis_has_0_where_it_is_not_far() -> None:
    assert _domain([40.0, 60.0])[0] > 0
    assert _domain([5.0, 60.0])[0] < 0 < _domain([-60.0, -5.0])[1]
    assert all(low < high for low, high in map(_domain, ([], [0.0], [7.0], [-7.0])))


def test_limits_are_named_where_people_have_several_rows(tmp_path: Path) -> None:
    visits = pl.DataFrame({"person": [1, 1, 2], "x": [1.0, 2.0, 3.0]})
    asked = {"means": {"x": (0, 5)}, "count": True, "guarantee": gm.Guarantee(mu=1)}
    for limits in ({"unit": "person", "rows_per_unit": 2}, {}):
        page = gm.release(gm.Request(visits, **asked, **limits)).report(tmp_path / "report.html").read_text("utf-8")
        assert ("rows, groups and values of a person beyond them" in page) == bool(limits)


def test_the_error_of_a_quantile_is_told_as_what_it_is(tmp_path: Path) -> None:
    people = pl.DataFrame({"x": [1.0, 2.0, 3.0] * 30})
    for asked in ({"medians": {"x": (0, 5)}}, {"means": {"x": (0, 5)}}):
        release = gm.release(gm.Request(people, guarantee=gm.Guarantee(mu=1), **asked))
        page = release.report(tmp_path / "report.html").read_text("utf-8")
        assert ("of a quantile, half the length of its 68 % interval" in page) == ("medians" in asked)

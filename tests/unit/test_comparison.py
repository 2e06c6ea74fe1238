"""Comparisons: every mechanism that applies, ratios, soundness, files of every kind, and sweeps."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.privacy.neighbours import protects

RANK_ONE = "rank-one singular (R1SMG)"
G = {"epsilon": 1, "delta": 1e-6}


def test_a_box_is_compared_with_everything_that_applies() -> None:
    found = gm.compare(gm.Box([0] * 16, [1] * 16), **G)
    assert found.rows[0].mechanism == "gaussmith"
    assert set(found.mechanisms) == {
        "gaussmith", "classic Gaussian", "slides Gaussian", "analytic Gaussian", "elliptical Gaussian",
        "correlated Gaussian", RANK_ONE,
    }  # fmt: skip
    mu = gm.Guarantee(**G).mu
    assert found["gaussmith"].standard_error == pytest.approx(2.5 / mu, rel=1e-3)
    assert found["analytic Gaussian"].standard_error == pytest.approx(4 / mu)
    assert found["analytic Gaussian"].ratio_to_best == pytest.approx((4 / 2.5) ** 2, rel=5e-3)
    plan = gm.plan(gm.Box([0] * 16, [1] * 16), gm.Guarantee(**G))
    assert found.lower_bound == plan.lower_bound
    assert found["gaussmith"].ratio_to_bound == pytest.approx(plan.optimality)
    for row in found.rows:
        if row.usable:
            assert row.ratio_to_best >= 1 and row.ratio_to_bound >= 1 - 1e-9
            assert row.true_delta <= 1e-6


def test_the_unsound_is_struck_through_and_last() -> None:
    found = gm.compare(gm.Box([0] * 16, [1] * 16), **G)
    row = found[RANK_ONE]
    assert row.sound == "no" and not row.usable and row.true_delta > 0.3
    assert "~~" not in str(found) and f"no: true δ = {row.true_delta:.2g}" in str(found)
    assert found["classic Gaussian"].total_error is None
    assert not any(line.startswith("classic Gaussian  ") for line in str(found).splitlines())
    assert "classic Gaussian does not apply: the classic theorem is proved for ε < 1 only" in str(found)
    assert "proved for ε < 1" in found["classic Gaussian"].note
    assert found.rows.index(row) > max(found.rows.index(r) for r in found.rows if r.usable)
    low = gm.compare(gm.Box([0, 0], [1, 1]), epsilon=0.5, delta=1e-6)
    assert low["classic Gaussian"].sound == "yes"
    assert "more than 2 coordinates" in low[RANK_ONE].note
    three = gm.compare(gm.Box([0] * 3, [1] * 3), **G)
    assert "happens to hold" in three[RANK_ONE].note


def test_balls_gaussian_data_and_replaced_records() -> None:
    ball = gm.compare(gm.domains.Ball(3, 2), **G)
    assert ball["clipped sum"].ratio_to_best == pytest.approx(1, rel=1e-6)
    far = gm.compare(gm.domains.Ball(3, 2, [5, 0, 0]), **G)
    assert "clipped sum" not in far.mechanisms and far["analytic Gaussian"].ratio_to_best > 1
    replaced = gm.compare(gm.Box([5, 5], [6, 9]), **G, neighbours="replace-one")
    assert "correlated Gaussian" not in replaced.mechanisms
    assert replaced["elliptical Gaussian"].ratio_to_bound == pytest.approx(1, rel=1e-6)
    assert replaced["analytic Gaussian"].total_error == pytest.approx(2 * 17 / gm.Guarantee(**G).mu ** 2)
    data = gm.compare(gm.domains.GaussianData([3, 0], [1, 0.2], rows=1e4), **G)
    assert data.rows[0].mechanism == "gaussmith"
    assert "include clipping" in str(data)
    assert data["Gaussian data, improved scaling"].total_error < data["Gaussian data, report"].total_error


def test_counts_votes_and_sparse_sums() -> None:
    mu2 = gm.Guarantee(**G).mu ** 2
    counts = gm.compare(gm.Counts(10, at_most=3), **G)
    assert counts["bounded contribution"].ratio_to_best == pytest.approx(1, rel=1e-6)
    assert counts["bounded contribution"].total_error * mu2 == pytest.approx(28.048636250920516)
    assert counts["correlated Gaussian"].total_error * mu2 == pytest.approx(43.3113883008419)
    assert counts["analytic Gaussian"].total_error * mu2 == pytest.approx(30)
    replaced = gm.compare(gm.Counts(10, at_most=6), **G, neighbours="replace-one")
    assert replaced["gaussmith"].total_error * mu2 == pytest.approx(98.557551)
    assert replaced["analytic Gaussian"].total_error * mu2 == pytest.approx(100)
    votes = gm.compare(gm.domains.Votes(10), **G)
    assert votes["analytic Gaussian"].total_error * mu2 == pytest.approx(2850)
    assert votes["gaussmith"].total_error * mu2 == pytest.approx(1720.5159572826337)
    sparse = gm.compare(gm.domains.SparseSum(3, at_most=2, bound=[10, 1, 1]), **G)
    assert sparse["bounded contribution"].total_error * mu2 == pytest.approx(3 * 2 * 100)
    assert sparse["analytic Gaussian"].total_error * mu2 == pytest.approx(3 * 101)
    assert sparse["gaussmith"].ratio_to_bound == pytest.approx(1, rel=1e-6)
    by_k = gm.papers.sweep("k", [1, 5, 10], lambda k: gm.compare(gm.Counts(10, at_most=k), **G))
    ratios = [c["correlated Gaussian"].ratio_to_best for c in by_k.comparisons]
    assert ratios == sorted(ratios, reverse=True) and ratios[-1] < 1.01


def test_numbers_survive_json_and_csv(tmp_path: Path) -> None:
    found = gm.compare(gm.Box([0, -1, 2], [1, 1, 5]), **G)
    fields = json.loads(found.to_json())
    assert fields["dimension"] == 3 and len(fields["rows"]) == len(found.rows)
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["mechanism"] for row in rows] == list(found.mechanisms)
    assert float(rows[0]["total_error"]) == found.rows[0].total_error
    assert json.loads(found.save(tmp_path / "c.json").read_text("utf-8")) == fields
    assert found.save(tmp_path / "c.csv").read_text("utf-8") == found.to_csv()


def test_pictures_and_pages_need_nothing_else(tmp_path: Path) -> None:
    found = gm.compare(gm.Box([0] * 8, [1] * 8), **G)
    assert found.save(tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    svg = found.save(tmp_path / "c.svg").read_text("utf-8")
    assert svg.startswith("<svg") and "not private: true δ" in svg
    page = found.save(tmp_path / "c.html").read_text("utf-8")
    assert f"<s>{RANK_ONE}</s>" in page and "<svg" in page
    assert "<script" not in page and "src=" not in page  # nothing is fetched
    assert found.chart().to_dict()["layer"]
    for wrong in ("c.pdf", "c"):
        with refused("unknown-chart-suffix"):
            found.save(tmp_path / wrong)
    with refused("chart-not-written"):
        found.save(tmp_path / "nowhere" / "c.csv")


def test_sweeps_over_dimension_and_epsilon(tmp_path: Path) -> None:
    by_d = gm.papers.sweep("dimension", [4, 16, 64], lambda d: gm.compare(gm.Box([0] * d, [1] * d), **G))
    gains = [c["analytic Gaussian"].total_error / c["correlated Gaussian"].total_error for c in by_d.comparisons]
    assert gains == pytest.approx([(2 * d**0.5 / (d**0.5 + 1)) ** 2 for d in (4, 16, 64)])
    assert {record["dimension"] for record in by_d.table()} == {4, 16, 64}
    assert by_d.save(tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")
    assert "not private" in by_d.save(tmp_path / "s.svg").read_text("utf-8")
    assert len(json.loads(by_d.to_json())["comparisons"]) == 3
    assert by_d.to_csv().count("\n") == len(by_d.table()) + 1
    by_e = gm.papers.sweep(
        "epsilon", [0.1, 2], lambda e: gm.compare(gm.domains.Ball(3, 1), gm.Guarantee(epsilon=e, delta=1e-6))
    )
    assert by_e.comparisons[1]["classic Gaussian"].total_error is None
    assert by_e.chart().to_dict()["mark"]["type"] == "line"
    by_n = gm.papers.sweep("rows", [100, 1e6], lambda n: gm.compare(gm.domains.GaussianData(0, [1, 0.1], rows=n), **G))
    totals = [c["gaussmith"].total_error for c in by_n.comparisons]
    assert totals[0] < totals[1]


def test_a_sweep_is_legible_as_a_table_a_picture_and_a_page(tmp_path: Path) -> None:
    def case(d: int) -> gm.papers.Comparison:
        return gm.compare(gm.Box([0] * d, [1] * d), **G)

    found = gm.papers.sweep("dimension", [2, 4, 16], case)
    head, *lines = str(found).split("\n\n")[1].splitlines()
    assert head.split() == ["dimension", "2", "4", "16"]
    assert [line.split("  ")[0] for line in lines] == [
        "gaussmith", "correlated Gaussian", "analytic Gaussian", "elliptical Gaussian", "slides Gaussian",
        f"{RANK_ONE} †",
    ]  # fmt: skip
    assert lines[-1].split()[-3:] == ["—", "99,600", "0.161"]  # no empty cell, no marks of another language
    notes = str(found).split("\n\n")[2].replace("\n", " ")
    assert "† not private as claimed" in notes and f"{RANK_ONE} does not apply at dimension = 2: " in notes
    assert "classic Gaussian does not apply: the classic theorem" in notes  # and is no line of the table
    page = found.save(tmp_path / "s.html").read_text("utf-8")
    assert f"<tr><td><s>{RANK_ONE} †</s></td><td>—</td><td>99,600</td><td>0.161</td></tr>" in page
    assert "~~" not in page + str(found) and "<pre" not in page and "<td></td>" not in page
    svg = found.save(tmp_path / "s.svg").read_text("utf-8")
    lines_drawn = re.findall(r'aria-roledescription="line mark"[^>]*stroke="(#\w+)" stroke-width="(\d+)"', svg)
    widths = [int(width) for _, width in lines_drawn]
    assert len({colour for colour, _ in lines_drawn}) == 6 and lines_drawn[0][0] == "#0f62ac"
    assert widths[0] == max(widths) > min(widths) == 2  # those with equal errors lie upon ours, and are narrower
    assert f">{RANK_ONE} (not private)</text>" in svg  # whole, with room for a wider font


def test_a_wide_sweep_goes_on_below() -> None:
    values = [0.1 * k for k in range(1, 21)]
    found = gm.papers.sweep("epsilon", values, lambda e: gm.compare(gm.domains.Ball(3, 1), epsilon=e, delta=1e-6))
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    heads = [line.split()[1:] for line in text.splitlines() if line.startswith("epsilon ")]
    assert len(heads) > 1 and [float(cell) for head in heads for cell in head] == pytest.approx(values)
    assert text.count("\ngaussmith ") == len(heads) and "e10" in text and "000,000" not in text
    assert found.title == "Ball(3 coordinates, radius 1), δ = 1e-06, " + protects("add-remove")


def test_wrong_comparisons_are_refused() -> None:
    with refused("comparison-without-epsilon-and-delta"):
        gm.compare(gm.Box([0], [1]), gm.Guarantee(mu=1))
    with refused("domain-not-compared"):
        gm.compare(gm.Records(), **G)
    with refused("mechanism-not-compared"):
        gm.compare(gm.Box([0], [1]), **G)["Laplace"]
    with refused("sweep-without-values"):
        gm.papers.sweep("d", [], lambda d: gm.compare(gm.Box([0], [1]), **G))


def test_a_comparison_of_128_coordinates_takes_less_than_two_seconds() -> None:
    gm.compare(gm.Box([0, 0], [1, 1]), **G)  # imports
    start = time.perf_counter()
    gm.compare(gm.Box(np.zeros(128), np.linspace(1, 2, 128)), **G)
    assert time.perf_counter() - start < 2

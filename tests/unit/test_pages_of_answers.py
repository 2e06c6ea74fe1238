"""Long tables in a report: pages with one axis, rows that fit a phone, and all of it on paper."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import numpy as np
from noisy import noisy_release

import gaussmith as gm
from gaussmith.report.error_bars import interval_specs
from gaussmith.report.page import page

G = gm.Guarantee(mu=1)
STYLE = (resources.files("gaussmith.report") / "page.css").read_text("utf-8")


def domains(specs: list[dict[str, Any]]) -> list[list[float]]:
    return [spec["layer"][0]["encoding"]["x"]["scale"]["domain"] for spec in specs]


def test_pages_have_the_axes_of_all_rows() -> None:
    keys = {"g": [f"k{i:02}" for i in range(60)]}
    plan = gm.Request("a.csv", by=keys, count=True, sums={"x": (0, 1)}, guarantee=G).plan
    noisy = np.column_stack([np.arange(60.0), 100.0 * np.arange(60.0)])
    rows = noisy_release(plan, noisy).rows()
    whole = domains(interval_specs(rows))
    first, last = (domains(interval_specs(part, rows)) for part in (rows[:40], rows[-40:]))
    assert first == last == whole and len(whole) == 2
    assert domains(interval_specs(rows[:40])) != whole  # by itself a page would have an axis of its own
    assert [len(spec["data"]["values"]) for spec in interval_specs(rows[:40], rows)] == [20, 20]


def test_a_page_has_only_the_charts_of_its_rows() -> None:
    plan = gm.Request("a.csv", histograms={"v": [*map(str, range(60))]}, guarantee=G).plan
    rows = noisy_release(plan, 1000.0 * np.arange(60)).rows()
    (only,) = interval_specs(rows[50:], rows)
    assert [each["label"] for each in only["data"]["values"]] == [str(i) for i in range(50, 60)]


def test_style_for_phones_and_paper() -> None:
    phone = STYLE[STYLE.index("@media (max-width: 30rem)") : STYLE.index("@media print")]
    assert ".answers tr { display: grid;" in phone
    paper = STYLE[STYLE.index("@media print") :]
    assert "details::details-content { content-visibility: visible" in paper  # closed pages are printed too
    assert re.search(r"summary \{[^}]*list-style: none", paper)
    assert "@media screen and (prefers-color-scheme: dark)" in STYLE  # paper is white


def test_bounds_do_not_speak_of_the_count_beside_columns() -> None:
    says = "no column is read"
    common: dict[str, Any] = {"unit": "p", "count": True, "guarantee": G}
    whole = gm.rehearse(gm.Request("a.csv", means={"x": (0, 1)}, rows_per_unit=2, **common))
    assert len(whole.pieces) > 1 and says not in page(whole)
    assert says in page(gm.rehearse(gm.Request("a.csv", **common)))

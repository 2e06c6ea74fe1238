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
    says = "columns decide who is counted, and none has bounds"
    common: dict[str, Any] = {"unit": "p", "count": True, "guarantee": G}
    whole = gm.rehearse(gm.Request("a.csv", means={"x": (0, 1)}, rows_per_unit=2, **common))
    assert len(whole.pieces) > 1 and says not in page(whole)
    assert says in page(gm.rehearse(gm.Request("a.csv", **common)))


def test_cells_of_several_columns_and_totals_have_axes_of_their_own() -> None:
    values = {"origin": ["A", "B"], "dest": ["X", "Y"]}
    asked: dict[str, Any] = {"marginals": [["origin"], ["origin", "dest"]], "values": values, "count": True}
    rows = gm.rehearse(gm.Request("a.csv", guarantee=G, **asked), rows=500).rows()
    axes = {
        spec["layer"][1]["encoding"]["x"]["axis"]["title"]: [each["label"] for each in spec["data"]["values"]]
        for spec in interval_specs(rows)
    }
    crossed = axes.pop("origin × dest")
    assert len(crossed) == 9 and crossed[:2] == ["A · X", "A · Y"]
    assert all("A · " not in label for labels in axes.values() for label in labels)
    assert {"origin=A", "A"} & {label for labels in axes.values() for label in labels}


def test_marginals_in_groups_have_an_axis_for_each_table() -> None:
    rows = [
        {"g": "k", "answer": name, "value": 5.0, "lower": 3.0, "upper": 7.0, "standard_error": 1.0, "status": "noisy"}
        for name in ("origin=A", "origin=B", "origin=A, dest=X", "dest=Y", "dest=Y_share")
    ]
    titles = [spec["layer"][1]["encoding"]["x"]["axis"]["title"] for spec in interval_specs(rows)]
    assert titles == ["origin", "origin × dest", "dest", "share of dest"]

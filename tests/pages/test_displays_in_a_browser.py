"""Displays of notebooks and the report in a real browser: on a phone nothing is cut off, in light and in dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import sync_playwright
from workbench import CHROMIUM

import gaussmith as gm

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (on Debian: apt install chromium)")

TOO_WIDE = "[...document.querySelectorAll('div.gaussmith')].map(each => each.scrollWidth - each.clientWidth)"


def shown(folder: Path) -> list[Any]:
    """One of each kind of value that has a display, with names of ordinary length."""
    person = np.repeat(np.arange(500), 4)
    table = pl.DataFrame({
        "person": person,
        "region": np.array(["north", "south"])[person % 2],
        "minutes": np.arange(len(person)) % 60,
        "site": np.array(["a", "b", "c"])[np.arange(len(person)) % 3],
    })  # fmt: skip
    guarantee = gm.Guarantee(epsilon=1, delta=1e-6)
    request = gm.Request(
        table, unit="person", rows_per_unit=5, groups_per_unit=1, by={"region": ["north", "south"]},
        means={"minutes": (0, 60)}, count=True, guarantee=guarantee,
    )  # fmt: skip
    several = gm.Request(
        table, unit="person", medians={"minutes": (0, 60)}, proportions={"site": ["a", "b", "c"]}, values_per_unit=3,
        diagnose=True, guarantee=guarantee,
    )  # fmt: skip
    ledger = gm.Ledger.create(folder / "year.ledger", gm.Guarantee(epsilon=3, delta=1e-6))
    release = gm.release(request, ledger=ledger, id="week-1")
    gap = release["north"] - release["south"]
    return [guarantee, request, request.plan, release, ledger, gm.release(several), gap, release.presented()]


def test_displays_and_reports_fit_a_phone(tmp_path: Path) -> None:
    values = shown(tmp_path)
    body = "".join(f"<div>{value._repr_html_()}</div>" for value in values)
    page = tmp_path / "notebook.html"
    head = "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    page.write_text(f"{head}<body style='margin:8px;font-family:sans-serif'>{body}", "utf-8")
    report = values[5].report(tmp_path / "report.html")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            for width in (320, 1280):
                context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
                tab = context.new_page()
                tab.goto(page.as_uri())
                assert tab.evaluate(TOO_WIDE) == [0] * len(values), (scheme, width)
                tab.goto(report.as_uri())
                assert tab.evaluate("document.documentElement.scrollWidth") <= width, (scheme, width)
                context.close()
        browser.close()

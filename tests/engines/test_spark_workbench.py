"""The workbench over Spark: columns are read, and a release is made, in the session of the master that was named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra 'workbench' is not installed")

from browsing import FORM, Browser, make_people, wait_for_release


def test_a_release_by_spark(spark: Any, tmp_path: Path) -> None:
    make_people(tmp_path)
    start = str(tmp_path / "people.parquet")
    browser = Browser(tmp_path, start=start, engine="spark", master=spark.sparkContext.master)
    assert "1 column<" in browser.get("/").text
    place = browser.submit(browser.confirmed(FORM), {"id": "one"}).headers["location"]
    assert "Released as" in wait_for_release(browser, place) and browser.charges() == 1

"""What the workbench opens beside files: databases of DuckDB, and what a ledger says about people."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra 'workbench' is not installed")

from browsing import FORM, Browser, make_people, wait_for_release

from gaussmith.ledger.book import Ledger
from gaussmith.privacy.guarantee import Guarantee


def test_a_database_of_duckdb_is_opened_and_released(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(str(tmp_path / "study.db")) as database:
        database.execute("CREATE TABLE people AS SELECT 40 AS age, 'n' AS region FROM range(50)")
        database.execute("CREATE TABLE secret AS SELECT 1 AS hidden_column")
    address = f"duckdb://{tmp_path}/study.db?table=people"
    browser = Browser(tmp_path, start=address)
    page = browser.get("/").text
    assert "2 columns" in page and "<code>age</code>" in page and address in page
    asks = {"asks-0-kind": "means", "asks-0-column": "age", "asks-0-low": "0", "asks-0-high": "100"}
    form = FORM | {"source": address} | asks
    place = browser.submit(browser.confirmed(form), {"id": "one"}).headers["location"]
    assert "Released as" in wait_for_release(browser, place) and browser.charges() == 1
    other = browser.submit("/", form | {"source": address.replace("people", "secret")}, **{"x-live": "plan"}).text
    assert "only if the command line named it" in other and "hidden_column" not in other


def test_the_person_is_the_one_of_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("person,age\n1,30\n1,40\n")
    Ledger.create(tmp_path / "study.ledger", Guarantee(epsilon=3, delta=1e-6), unit="person")
    browser = Browser(tmp_path, start=str(tmp_path / "people.csv"))
    page = browser.get("/").text
    assert re.search(r'id="unit" name="unit" value="person"', page) and "protects people by the column person" in page
    assert "does not say what is a number" in page and "no type" not in page
    wrong = browser.submit("/", FORM | {"source": "people.csv"}, **{"x-live": "plan"}).text
    beside = re.search(r'id="says-unit">(.*?)</div>', wrong, re.DOTALL)
    assert beside and "whose unit is" in beside[1]


def test_each_row_is_a_person_where_the_ledger_says_so(tmp_path: Path) -> None:
    make_people(tmp_path)
    Ledger.create(tmp_path / "study.ledger", Guarantee(epsilon=3, delta=1e-6), unit=())
    assert "In this ledger each row is one person" in Browser(tmp_path).get("/").text


def test_continue_waits_until_all_is_right(tmp_path: Path) -> None:
    make_people(tmp_path)
    browser = Browser(tmp_path)
    fits, too_much = (browser.submit("/", FORM | {"epsilon": e}, **{"x-live": "plan"}).text for e in ("1", "9"))
    assert 'class="primary" id="continue"' in fits and "Not yet" not in fits
    assert 'class="waiting" id="continue"' in too_much and 'Not yet: <a href="#budget-title">' in too_much


def test_a_view_is_opened_with_the_promise_of_the_command_line(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(str(tmp_path / "study.db")) as database:
        database.execute("CREATE TABLE people AS SELECT 40 AS age FROM range(50)")
        database.execute("CREATE VIEW everyone AS FROM people")
    address = f"duckdb://{tmp_path}/study.db?table=everyone"
    assert "start the workbench with --row-per-row" in Browser(tmp_path, start=address).get("/").text
    browser = Browser(tmp_path, start=address, row_per_row=True)
    page = browser.get("/").text
    assert "1 column" in page and 'name="promises" value="row_per_row"' in page
    asks = {"asks-0-kind": "means", "asks-0-column": "age", "asks-0-low": "0", "asks-0-high": "100"}
    form = FORM | {"source": address, "promises": "row_per_row"} | asks
    place = browser.submit(browser.confirmed(form), {"id": "one"}).headers["location"]
    assert "Released as" in wait_for_release(browser, place) and browser.charges() == 1

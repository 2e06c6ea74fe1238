"""The form and the request are the same thing: round trips, the figures of the command line, errors beside fields."""

from __future__ import annotations

import html
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="the extra 'workbench' is not installed")

from browsing import FORM, Browser, make_people, wait_for_release

from gaussmith.cli import main
from gaussmith.errors import RequestError
from gaussmith.ledger.book import Ledger
from gaussmith.notations import write_toml
from gaussmith.pipeline.release import release
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.releases.release import Release
from gaussmith.report.releases import shown_rows
from gaussmith.requests.request import Request
from gaussmith.workbench.app import PURPOSES, TYPES
from gaussmith.workbench.drafts import Draft, read_form, read_list, write_form, write_list
from gaussmith.workbench.filling import fill, read_reasons
from gaussmith.workbench.reading import read_fields, read_request, request_toml

GUARANTEE = {"epsilon": 1, "delta": 1e-6}
REQUESTS: list[dict[str, Any]] = [
    {"count": True},
    {"count": "rows", "unit": "person", "rows_per_unit": 4},
    {"sums": {"age": [0, 100], "b c": [-1.5, 1e6]}, "means": {"age": [0, 100]}, "count": True, "complete": ["age"]},
    {
        "means": {"age": [0, 100], "bmi": [10, 60]},
        "missing": {"bmi": 25},
        "where": "age >= 18",
        "guarantee": {"mu": 0.5},
    },
    {"sums": {"age": [0, 9]}, "by": {"region": ["north", "3", 3, True, "a, b"]}, "count": True},
    {"count": True, "by": {"age": {"bins": [18, 40, 65]}}, "neighbours": "replace-one"},
    {"count": True, "unit": "person", "by": {"place": "found"}, "groups_per_unit": 2, "keys_delta": 1e-7},
    {"histograms": {"health": ["good", "poor"]}, "proportions": {"sex": ["f", "m"]}, "count": True},
    {"histograms": {"age": {"equal": 5, "between": [0, 100]}}},
    {"quantiles": {"income": [0.1, 0.5, 0.9]}, "bounds": {"income": [0, 1000]}, "medians": {"age": [0, 100]}},
    {"medians": ["income"], "bounds": {"income": [0, 1000]}, "guarantee": {"rho": 0.1}},
    {"variances": {"age": [0, 100]}, "columns": {"double": "age * 2"}, "sums": {"double": [0, 200]}},
    {"sums": ["age"], "means": ["age"], "bounds": {"age": [0, 100]}, "unit": "person", "rows_per_unit": 3},
    {"covariance": {"age": [0, 100], "bmi": [10, 60]}, "weights": "equal"},
    {"question": [{"name": "one", "count": True}, {"name": "two", "sums": {"age": [0, 1]}, "where": "age > 3"}]},
    {
        "variances": ["age"],
        "covariance": ["age", "bmi"],
        "regression": {"of": "bmi", "on": "age"},
        "bounds": {"age": [0, 100], "bmi": [10, 60]},
    },
    {"regression": {"of": "a", "on": ["b", "c"]}, "bounds": {"a": [0, 1], "b": [0, 2], "c": [0, 3]}, "complete": ["a"]},
    {"marginals": [["sex", "age"]], "values": {"sex": ["f", "m"]}, "bins": {"age": [18, 40, 65]}, "count": True},
    {"marginals": [["a", "b"], ["b"], ["a", "c"]], "values": {"a": [1, 2], "b": ["x"], "c": [True, False], "d": [1]}},
    {"marginals": [["a", "b"], ["b", "a", "c"]], "values": {"a": [1, 2], "b": ["x"], "c": ["y", "z"]}},
    {
        "unit": "person",
        "rows_per_unit": 2,
        "where": "age > 1",
        "question": [
            {"name": "one", "means": {"age": [0, 100]}, "by": {"sex": ["f", "m"]}, "groups_per_unit": 1},
            {"name": "two", "regression": {"of": "a", "on": ["b"]}, "bounds": {"a": [0, 1], "b": [0, 2]}},
        ],
    },
    {
        "columns": {"b": "a * 2"},
        "question": [
            {"name": "one", "means": {"age": [0, 100]}, "by": {"sex": ["f", "m"]}, "complete": ["age"]},
            {"name": "two", "covariance": {"a": [0, 1], "b": [0, 2]}, "where": "age > 3"},
            {"name": "three", "quantiles": {"a": [0.5]}, "bounds": {"a": [0, 1]}, "missing": {"a": 0.5}},
            {"name": "four", "marginals": [["sex"]], "values": {"sex": ["f", "m"]}, "count": "rows"},
        ],
    },
    {"question": [{"name": "a", "medians": ["age"]}, {"name": "b", "count": True}], "bounds": {"age": [0, 9]}},
    {"means": {"age": "private"}, "count": True},
    {"source": {"path": "nowhere.csv", "ids": "integer"}, "unit": "person", "count": True},
]


@pytest.mark.parametrize("fields", REQUESTS, ids=lambda fields: "-".join(fields))
def test_a_request_survives_the_form_and_the_file(fields: dict[str, Any]) -> None:
    fields = {"source": "nowhere.csv", "guarantee": GUARANTEE} | fields
    plan = Request.from_dict(fields).plan
    draft = read_form(write_form(fill(tomllib.loads(write_toml(fields)))))
    request = read_request(draft)
    assert request.plan.hash == plan.hash
    again = Request.from_dict(tomllib.loads(request_toml(draft, request)))
    assert again.plan.hash == plan.hash and again.source == request.source


items = st.one_of(
    st.booleans(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False), st.text()
)


@given(st.lists(items))
def test_a_list_is_read_as_it_was_written(given: list[Any]) -> None:
    found = read_list("values", write_list(given))
    assert [(type(item), item) for item in found] == [(type(item), item) for item in given]


@given(st.lists(st.tuples(st.sampled_from(["source", "epsilon", "asks-0-low", "by-3-keys", "more", "x"]), st.text())))
def test_no_form_breaks_the_reader(pairs: list[tuple[str, str]]) -> None:
    draft = read_form(pairs)
    assert isinstance(draft, Draft)
    try:
        read_fields(draft)
    except RequestError as error:
        assert error.what and error.remedy


def shown_errors(text: str) -> list[str]:
    return re.findall(r'<data class="error-of" value="([^"]+)"', text)


HEALTH = {
    "asks-0-kind": "sums", "asks-0-column": "mdvis", "asks-0-low": "0", "asks-0-high": "80",
    "asks-1-kind": "means", "asks-1-column": "disea", "asks-1-low": "0", "asks-1-high": "60", "rows": "20000",
}  # fmt: skip


def test_the_page_shows_what_the_command_line_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pl.DataFrame({"mdvis": [1, 2], "disea": [3.0, None]}).write_parquet(tmp_path / "people.parquet")
    browser = Browser(tmp_path, ledger=False)
    form = FORM | HEALTH
    text = browser.submit("/", form, **{"x-live": "plan"}).text
    place = browser.submit("/", form).headers["location"]
    toml = browser.get("/request.toml?" + place.partition("?")[2]).text
    (tmp_path / "request.toml").write_text(toml)
    assert main(["plan", str(tmp_path / "request.toml"), "--rows", "20000", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    names = ("mdvis_sum", "disea_mean", "count")
    assert shown_errors(text) == [repr(printed["errors"][name]) for name in names]


def test_an_error_that_is_wanted_is_solved_for(tmp_path: Path) -> None:
    make_people(tmp_path)
    browser = Browser(tmp_path)
    text = browser.submit(
        "/", FORM | {"protection": "target", "target": "count", "target_error": "5"}, **{"x-live": "x"}
    ).text
    (error,) = shown_errors(text)
    assert 4.99 < float(error) <= 5 and "The least guarantee for the error you want" in text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"by-0-column": "region", "by-0-keys": "a; b"}, "by-0-keys"),
        ({"asks-0-low": "abc"}, "asks-0-low"),
        ({"asks-0-low": "90"}, "asks-0-column"),
        ({"asks-0-low": "", "asks-0-high": ""}, "asks-0-low"),
        ({"asks-0-column": "mdvsi"}, "asks-0-column"),
        ({"unit": "nobody"}, "unit"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": ""}, "epsilon"),
        ({"delta": "2"}, "delta"),
        ({"where": "age >"}, "where"),
        ({"source": "nowhere.parquet"}, "source"),
        ({"source": ""}, "source"),
        ({"more": "sums = 3 4"}, "more"),
        ({"more": 'source = "x"'}, "more"),
        ({"by-0-column": "region", "by-0-keys": ""}, "by-0-keys"),
        ({"rows": "-3"}, "rows"),
        ({"unit": "region"}, "rows_per_unit"),
        ({"unit": "region", "rows_per_unit": "1e999"}, "rows_per_unit"),
        ({"derived-0-name": "x", "derived-0-formula": "1 +"}, "derived-0-formula"),
        ({"epsilon": "9"}, "budget"),
        ({"protection": "target", "target": "count", "target_error": "x"}, "target_error"),
        ({"asks-1-column": "", "asks-1-low": "", "asks-1-high": "", "asks-2-kind": "means", "asks-2-column": "disea"},
         "asks-2-low"),  # an empty line before it keeps its number
        ({"asks-1-kind": "covariance"}, "asks-1-column"),
        ({"asks-1-kind": "regression_of"}, "asks-1-kind"),
        ({"asks-1-kind": "regression_of", "asks-0-kind": "regression_of"}, "asks-1-kind"),
        ({"asks-1-kind": "regression_on", "asks-0-kind": "quantiles", "asks-0-column": "disea"}, "asks-1-low"),
        ({"asks-1-kind": "marginals", "asks-1-listed": ""}, "asks-1-listed"),
        ({"asks-1-kind": "marginals", "asks-1-cells": "found"}, "asks-1-cells"),
        ({"asks-1-question": "q7"}, "asks-1-question"),
        ({"questions-0-key": "q1"}, "questions-0-name"),
    ],
)  # fmt: skip
def test_an_error_stands_beside_its_field(tmp_path: Path, change: dict[str, str], field: str) -> None:
    pl.DataFrame({"mdvis": [1], "disea": [3.0], "region": ["a"]}).write_parquet(tmp_path / "people.parquet")
    text = Browser(tmp_path).submit("/", FORM | HEALTH | change, **{"x-live": "plan"}).text
    beside = re.search(rf'<div class="says" id="says-{field}">(.*?)</div>', text, re.DOTALL)
    assert beside and '<p class="error">' in beside[1], re.findall(r'id="(says-[^"]+)">\s*<p class="error">.*', text)
    assert "<em>" in beside[1]


def test_lines_of_every_question_and_of_one(tmp_path: Path) -> None:
    pl.DataFrame({"mdvis": [1], "disea": [3.0]}).write_parquet(tmp_path / "people.parquet")
    browser = Browser(tmp_path, ledger=False)
    names = {"questions-0-key": "q1", "questions-0-name": "all", "questions-1-key": "q2", "questions-1-name": "often"}
    form = (
        FORM | HEALTH | names | {"questions-1-where": "mdvis > 3", "questions-1-count": "none", "asks-1-question": "q1"}
    )
    toml = browser.get("/request.toml?" + browser.submit("/", form).headers["location"].partition("?")[2]).text
    first, second = tomllib.loads(toml)["question"]
    assert first == {"name": "all", "count": True, "sums": {"mdvis": [0, 80]}, "means": {"disea": [0, 60]}}
    assert second == {"name": "often", "where": "mdvis > 3", "sums": {"mdvis": [0, 80]}}
    page = browser.submit("/", form | {"drop": "questions-0", "add": "questions"}, **{"x-live": "plan"}).text
    assert 'value="q2"' in page and "questions-2-" not in page and "a removed question" in page
    assert "the question of this line was removed" in page


def test_pages_are_the_same_for_neighbouring_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("desk", "server"):
        monkeypatch.setattr(f"gaussmith.workbench.{module}.new_token", lambda: "word")
    pages: list[list[bytes]] = []
    form = FORM | HEALTH | {"asks-2-kind": "histograms", "asks-2-column": "region", "asks-2-listed": "a, b"}
    for name, rows in (("one", 3), ("two", 4)):
        folder = tmp_path / name / "data"
        folder.mkdir(parents=True)
        table = {
            "mdvis": [1, 2, 3, 80][:rows],
            "disea": [3.0, None, 1.0, 9.9][:rows],
            "region": ["a", "b", "c", "d"][:rows],
        }
        pl.DataFrame(table).write_parquet(folder / "people.parquet")
        browser = Browser(folder)
        found = [
            browser.get("/"),
            browser.submit("/", form, **{"x-live": "plan"}),
            browser.submit("/", form, **{"x-live": "later"}),
        ]
        found += [browser.submit("/confirm", form), browser.get("/confirm/word")]
        found += [browser.get("/request.toml?draft=word")]
        found += [browser.submit("/", FORM | {"asks-0-column": "nope"}, **{"x-live": "plan"}), browser.get("/ledger")]
        assert [answer.status_code for answer in found] == [200, 200, 200, 303, 200, 200, 200, 200]
        pages.append([answer.content.replace(str(folder).encode(), b"") for answer in found])
    assert pages[0] == pages[1]
    assert b"No value has been read" in pages[0][4]


def test_a_release_from_form_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_people(tmp_path)
    browser = Browser(tmp_path)
    form = FORM | {"asks-0-kind": "means", "asks-0-column": "age", "asks-0-low": "0", "asks-0-high": "100",
                   "asks-0-reason": "the law"}  # fmt: skip
    confirming = browser.confirmed(form)
    text = browser.get(confirming).text
    assert "No value has been read" in text and "people-1" in text and "of the budget" in text and "age" in text
    place = browser.submit(confirming, {"id": "first"}).headers["location"]
    text = wait_for_release(browser, place)
    assert "released, with noise</footer>" in text and "no value of your data" in browser.get("/").text
    assert "Released as" in text and "Read once at" in text and "charge 13.4 %" in text and "disabled" in text
    files = {name: browser.get(f"{place}/files/{name}") for name in re.findall(r'/files/([\w.]+)"', text)}
    assert set(files) == set(TYPES)
    assert all("attachment" in answer.headers["content-disposition"] for answer in files.values())
    stored = Release.from_json(files["release.json"].text)
    assert stored.names == ("age_mean", "count") and "age_mean" in files["answers.csv"].text
    assert "# the law" in files["request.toml"].text and "age: the law" in files["report.html"].text
    assert all(purpose in text for purpose in PURPOSES.values())
    _, shown, _ = shown_rows(stored)
    assert all(f"<td>{html.escape(cell)}</td>" in text for row in shown for cell in row[1:]), "answers come first"
    assert text.index('<table class="answers">') < text.index('<ul class="files">') < text.index("<iframe")
    compile(files["release.py"].text, "release.py", "exec")
    assert json.loads(files["release.ipynb"].text)["nbformat"] == 4
    (tmp_path / "request.toml").write_text(files["request.toml"].text)
    again = release(tmp_path / "request.toml", ledger=tmp_path / "study.ledger", id="first")
    assert again.to_json() == stored.to_json() and browser.charges() == 1
    report = browser.get(f"{place}/report")
    assert "sandbox" in report.headers["content-security-policy"] and "Answers" in report.text
    ledger = browser.get("/ledger?n=5").text
    assert "first" in ledger and "86.6 %" in ledger and "6 more like the last fit" in ledger
    opened = browser.submit("/stored", {"id": "first"}).headers["location"]
    assert "Released as" in browser.get(opened).text and browser.charges() == 1
    assert "request.toml" not in browser.get(opened).text  # the ledger keeps answers, not the form
    assert 'value="age"' in browser.get(f"/?copy={place.rpartition('/')[2]}").text
    book = Ledger(tmp_path / "study.ledger")
    rest = book.remaining_guarantee
    assert rest is not None
    book.reserve("rest", "another", rest)
    spent = browser.get("/ledger").text
    assert "<b>Nothing is left</b>: the budget is spent" in spent and "one more release" not in spent


BY_PERSON = {
    "unit": "person", "rows_per_unit": "7", "groups_per_unit": "2", "by-0-column": "region", "by-0-keys": "a, b",
    "where": "age > 3", "asks-0-kind": "means", "asks-0-column": "age", "asks-0-low": "1", "asks-0-high": "99",
    "asks-0-reason": "the law",
}  # fmt: skip


def test_what_was_asked_before_is_told_and_not_charged_again(tmp_path: Path) -> None:
    pl.DataFrame({"person": [1, 2], "age": [30, 40], "region": ["a", "b"]}).write_parquet(tmp_path / "people.parquet")
    browser = Browser(tmp_path)
    form = FORM | BY_PERSON | {"epsilon": "2.5"}  # a second one does not fit
    first = browser.get(confirming := browser.confirmed(form)).text
    said = ("1 to 99", "(the law)", "rows per person: 7", "groups per person: 2", "a, b", "age &gt; 3")
    assert all(words in first for words in said) and "already" not in first
    released = wait_for_release(browser, browser.submit(confirming, {"id": "one"}).headers["location"])
    assert "Start a new request from this one" in released and "costs budget" in released
    for change, told in (({}, True), ({"asks-0-high": "98", "epsilon": "0.1"}, False)):
        page = browser.submit("/", form | change, **{"x-live": "plan"}).text
        again = browser.get(confirming := browser.confirmed(form | change)).text
        assert ("You already asked exactly this as <code>one</code>" in page) == told
        assert ('name="id" type="text" value="one"' in again) == told == ("nothing with the id" in again)
        text = wait_for_release(browser, browser.submit(confirming, {"id": "one"}).headers["location"])
        assert ("nothing was read or charged" in text) == told == ("There is no release" not in text)
        assert "Read once at" in text and "one repeated, not charged" in text and browser.charges() == 1


def test_reasons_for_bounds_go_to_about_once(tmp_path: Path) -> None:
    draft = read_form(list((FORM | BY_PERSON | {"more": '[about]\ncurator = "us"'}).items()))
    toml = request_toml(draft, read_request(draft))
    assert tomllib.loads(toml)["about"] == {"curator": "us", "rationale_bounds": "age: the law"}
    opened = read_form(write_form(fill(tomllib.loads(toml), read_reasons(toml))))
    assert opened.asks[0].reason == "the law" and "rationale" not in opened.more
    assert read_request(opened).plan.hash == read_request(draft).plan.hash
    changed = replace(opened, asks=(replace(opened.asks[0], reason="a rule"),))
    assert read_fields(changed)["about"]["rationale_bounds"] == "age: a rule"
    commented = toml.partition("[about]")[0]  # a file with comments alone stays the request that it was
    opened = fill(tomllib.loads(commented), read_reasons(commented))
    assert read_request(opened).plan.hash == Request.from_dict(tomllib.loads(commented)).plan.hash
    changed = replace(opened, asks=(replace(opened.asks[0], reason="a rule"),))
    assert read_fields(changed)["about"]["rationale_bounds"] == "age: a rule"


def test_a_source_that_is_gone_is_told_and_not_confirmed(tmp_path: Path) -> None:
    make_people(tmp_path)
    browser = Browser(tmp_path)
    assert browser.submit("/confirm", FORM | {"source": "nowhere"}).status_code == 422
    place = browser.confirmed()
    (tmp_path / "people.parquet").unlink()
    answer = browser.get(place)
    assert answer.status_code == 422 and "there is no such file" in answer.text and browser.charges() == 0


def test_what_a_page_counts_and_what_the_ledger_counts(tmp_path: Path) -> None:
    pl.DataFrame({"person": [1], "age": [3.0], "region": ["a"]}).write_parquet(tmp_path / "people.parquet")
    form = FORM | BY_PERSON | {"by-0-keys": "a", "groups_per_unit": "1", "delta": "1e-5", "count": "rows"}
    browser = Browser(tmp_path)
    text = browser.submit("/", form, **{"x-live": "plan"}).text
    assert 'count <span class="group">of rows</span>' in text and "1 group by region, each person" in text
    counted = Guarantee(epsilon=1, delta=1e-5).epsilon_at(delta=1e-6)
    assert f"there it counts as ε = {counted:.4g}." in text and "values of ε do not" in text
    assert "<b>/ n</b>: this error is to be divided by the number of rows" in text and "in one group, as" in text
    sums = {"asks-0-kind": "", "asks-0-column": "", "asks-0-low": "", "asks-0-high": "", "rows_per_unit": "8"}
    later = browser.submit("/", form | sums, **{"x-live": "later"}).text  # noise on a count grows as the limit
    assert "At most 4 rows instead of 8: errors 50 % of what they are now." in later and "1 groups" not in later
    confirming = browser.get(browser.confirmed(form)).text
    assert "count of rows ±" in confirming and 'δ=<span class="number">10<sup>−5</sup></span>' in confirming
    plain = browser.submit("/", FORM | {"rows": "9"}, **{"x-live": "plan"}).text
    assert "of people</span>" in plain and "counts as" not in plain and "<b>/ n</b>" not in plain
    over = browser.submit("/", FORM | {"epsilon": "9"}, **{"x-live": "plan"}).text
    assert "ε = 9 at δ = 1e-06" in over and "epsilon=" not in over
    wrong = browser.submit("/", FORM | {"unit": "persn"}, **{"x-live": "plan"}).text
    assert "Not complete yet" in wrong and wrong.count("did you mean") == 2


def test_two_tabs_keep_their_own_drafts(tmp_path: Path) -> None:
    make_people(tmp_path)
    browser = Browser(tmp_path)
    places = [browser.submit("/", FORM | {"rows": rows}).headers["location"] for rows in ("111", "222")]
    assert [
        f'value="{rows}"' in browser.get(place).text for rows, place in zip(("111", "222"), places, strict=True)
    ] == [True, True]
    added = browser.submit("/", FORM | {"add": "asks"}).headers["location"]
    assert "Answer 1" in browser.get(added).text

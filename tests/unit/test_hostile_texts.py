"""Names and keys that others wrote can neither steer a terminal, nor turn a page, nor compute in a spreadsheet."""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.errors import GaussmithError, printable, printable_json, printable_lines, spreadsheet_text
from gaussmith.report.folder import write_folder

G = gm.Guarantee(mu=1)
EVIL = "=a\x1b[2J\u202eb\x9bc\x7fd\re\u2066f\u200bg\x00h\x08"
FORMULAS = ["=1+1", "+1", "-5", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", "'=1", "''-5", "=cmd|' /C calc'!A0"]


def steering(text: str) -> str:
    """What a terminal would obey in a text, or a reader be misled by."""
    return "".join(sign for sign in text if not sign.isprintable() and sign not in "\n\xa0")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("hostile") / "people.parquet"
    pl.DataFrame(
        {EVIL: [1.0, 2.0], f"{EVIL}2": [3.0, 4.0], "g" + EVIL: [EVIL, "-5"], "=h": ["-5", "=2"]}
    ).write_parquet(path)
    return str(path)


def requests(source: str) -> dict[str, gm.Request]:
    """One request of each kind, hostile names in every place that takes one."""
    by: dict[str, Any] = {"g" + EVIL: [EVIL, "-5", "+1", "=2"]}
    asked: dict[str, Any] = {"sums": {EVIL: (0, 10)}, "means": {f"{EVIL}2": (0, 10)}, "count": True}
    where = f"`{EVIL}` > 0"
    return {
        "plain": gm.Request(source, **asked, guarantee=G),
        "groups": gm.Request(source, **asked, by=by, guarantee=G),
        "histogram": gm.Request(source, histograms=by, count=True, guarantee=G),
        "several": gm.Request(source, **asked, histograms={"=h": ["-5", EVIL]}, guarantee=G),
        "questions": gm.Request(
            source, questions=[{"name": "=one", **asked, "by": by}, {"name": "two", "count": True}], guarantee=G
        ),
        "people": gm.Request(source, **asked, unit="g" + EVIL, rows_per_unit=3, guarantee=G),
        "filter": gm.Request(source, count=True, columns={"c": f"`{EVIL}` + 1"}, where=where, guarantee=G),
    }


KINDS = ("plain", "groups", "histogram", "several", "questions", "people", "filter")


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_steers_a_terminal_or_a_page(kind: str, table: str, tmp_path: Path) -> None:
    request = requests(table)[kind]
    release = gm.release(request)
    shown = [repr(request), str(request.plan), request.plan.explain(), str(release), repr(release), repr(request.plan)]
    shown += [html.unescape(each._repr_html_()) for each in (request, request.plan, release)]
    shown.append(html.unescape(release.report(tmp_path / "report.html").read_text("utf-8")))
    assert [steering(text) for text in shown] == [""] * len(shown)
    if kind != "filter":
        assert any(printable(EVIL) in text for text in shown)


@pytest.mark.parametrize("kind", KINDS)
def test_no_cell_of_the_csv_file_computes_and_the_record_is_exact(kind: str, table: str, tmp_path: Path) -> None:
    release = gm.release(requests(table)[kind])
    write_folder(release, tmp_path / "out")
    text = (tmp_path / "out/answers.csv").read_text("utf-8")
    cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
    numbers = [cell for cell in cells if re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?|-?inf|NaN|", cell)]
    assert numbers
    assert not [c for c in cells if c not in numbers and c.lstrip()[:1] in tuple("=+-@\t\r\n") and c.lstrip()]
    assert not steering(text)
    exact = release.to_polars()
    assert pl.read_parquet(tmp_path / "out/answers.parquet").equals(exact)
    assert gm.read(tmp_path / "out/release.json").to_json() == release.to_json()
    written = pl.read_csv(tmp_path / "out/answers.csv", infer_schema_length=None)
    assert [spreadsheet_text(name) for name in exact.columns] == written.columns
    assert written["value"].dtype == pl.Float64 and written["value"].equals(exact["value"])


def test_keys_that_look_like_formulas_keep_their_text_in_the_record(table: str, tmp_path: Path) -> None:
    release = gm.release(requests(table)["groups"])
    write_folder(release, tmp_path / "out")
    record = json.loads((tmp_path / "out/release.json").read_text("utf-8"))
    assert {row["g" + EVIL] for row in record["answers"]} == {EVIL, "-5", "+1", "=2"}
    written = {row[0] for row in csv.reader((tmp_path / "out/answers.csv").read_text("utf-8").splitlines()[1:])}
    assert written == {f"'{printable(EVIL)}", "'-5", "'+1", "'=2"}


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_become_text(text: str) -> None:
    assert spreadsheet_text(text) == printable(f"'{text}")


@given(st.text(), st.text())
def test_spreadsheet_text_can_be_undone(one: str, other: str) -> None:
    undone = re.sub(r"\A'(?='*\s*[=+\-@\uff1d\uff0b\uff0d\uff20])", "", spreadsheet_text(one))
    if one.isprintable():
        assert undone == one
    if one != other and one.isprintable() and other.isprintable():
        assert spreadsheet_text(one) != spreadsheet_text(other)


@given(st.text())
def test_printable_text_is_printable(text: str) -> None:
    assert not steering(printable(text)) and "\n" not in printable(text)
    assert not steering(printable_lines(text))
    assert printable_lines(text).count("\n") == text.count("\n")
    assert printable(text) == text or not text.isprintable()


@given(st.recursive(st.text() | st.integers(), lambda each: st.lists(each) | st.dictionaries(st.text(), each)))
def test_printable_json_is_the_same_document(value: Any) -> None:
    document = printable_json(json.dumps(value, ensure_ascii=False))
    assert not steering(document)
    assert json.loads(document) == value


@given(st.text(), st.text(), st.text())
def test_errors_are_printable(what: str, rule: str, remedy: str) -> None:
    error = GaussmithError(what, rule, remedy, code="any")
    assert not steering(str(error) + error.what + error.rule + error.remedy)


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "--sum", f"{EVIL}:0:10", "--mean", f"b{EVIL}:0:1", "--count", "--mu", "1"],
        ["plan", "--sum", f"{EVIL}:9:1", "--mu", "1"],
        ["plan", "--count", "--mu", "1", "--where", EVIL],
        ["plan", "--count", "--mu", EVIL],
        ["plan", "--count", "--mu", "1", "--by", f"{EVIL}={EVIL},b"],
        ["plan", "--histogram", f"{EVIL}={EVIL},b", "--mu", "1"],
        ["plan", f"{EVIL}.csv", "--count", "--mu", "1"],
        ["plan", f"{EVIL}.toml"],
        ["plan", EVIL],
        ["release", f"{EVIL}.csv", "--count", "--mu", "1"],
        ["release", f"{EVIL}.csv", "--count", "--mu", "1", "--out", f"{EVIL}"],
        ["release", "x.csv", "--count", "--mu", "1", "--ledger", EVIL],
        ["release", "x.csv", "--count", "--mu", "1", f"--{EVIL}"],
        ["ledger", "show", EVIL],
        ["ledger", EVIL, "x"],
        ["ledger", "init", "x\x1b[2J", "--mu", "1"],
        ["verify", EVIL, EVIL],
        ["compare", EVIL],
        [EVIL],
    ],
)
def test_no_word_of_the_command_line_steers_the_terminal(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word.replace("\x00", "") for word in words]  # a command line cannot hold it
    main(words)
    shown = capsys.readouterr()
    assert shown.out + shown.err
    assert not steering(shown.out + shown.err)
    main([*words, "--json"])
    shown = capsys.readouterr()
    assert json.loads(shown.out or shown.err)
    assert not steering(shown.out + shown.err)


def test_json_on_a_terminal_means_what_it_says(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", table, "--sum", f"{EVIL}:0:10", "--count", "--mu", "1", "--json"]) == 0
    shown = capsys.readouterr().out
    assert not steering(shown)
    assert gm.read(shown).plan.names == (f"{EVIL}_sum", "count")

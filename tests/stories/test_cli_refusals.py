"""What the command line refuses: in words, before anything is read, with the exit code that says why."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import pytest
from refusals import refusal
from terminal import GUARANTEE, SUM, run, unread

from gaussmith import mechanism

REFUSALS = {
    "lower above upper": (["--sum", "age:100:0", *GUARANTEE], refusal("bounds-reversed")),
    "equal bounds": (["--sum", "age:5:5", *GUARANTEE], refusal("bounds-equal")),
    "bound that is not a number": (["--sum", "age:nan:5", *GUARANTEE], refusal("flag-bounds-not-numbers")),
    "bound in letters": (["--mean", "age:low:5", *GUARANTEE], refusal("flag-bounds-not-numbers")),
    "infinite bound": (["--sum", "age:0:inf", *GUARANTEE], refusal("bounds-not-finite")),
    "no bounds": (["--sum", "age", *GUARANTEE], refusal("column-without-bounds", says="--bounds age:0:100")),
    "one bound": (["--mean", "age:5", *GUARANTEE], refusal("flag-without-two-bounds", says="write --mean age:0:100")),
    "unknown column": (["--sum", "agee:0:100", *GUARANTEE], refusal("no-such-column", says="did you mean 'age'?")),
    "text column": (["--sum", "city:0:1", *GUARANTEE], refusal("column-of-text")),
    "epsilon zero": ([*SUM, "--epsilon", "0", "--delta", "1e-6"], refusal("epsilon-not-positive")),
    "epsilon negative": ([*SUM, "--epsilon", "-1", "--delta", "1e-6"], refusal("epsilon-not-positive")),
    "epsilon in letters": ([*SUM, "--epsilon", "one", "--delta", "1e-6"], refusal("flag-not-a-number")),
    "delta one": ([*SUM, "--epsilon", "1", "--delta", "1"], refusal("delta-out-of-range")),
    "stated twice": ([*SUM, *GUARANTEE, "--mu", "1"], refusal("guarantee-stated-twice")),
    "no guarantee": (SUM, refusal("no-guarantee-flags", says="add --epsilon 1 --delta 1e-6")),
    "unknown neighbours": (
        [*SUM, *GUARANTEE, "--neighbours", "add-removed"],
        refusal("unknown-neighbours", says="did you mean 'add-remove'?"),
    ),
    "nothing asked": (GUARANTEE, refusal("nothing-asked")),
    "nothing private": (
        ["--count", "--neighbours", "replace-one", *GUARANTEE],
        refusal("count-alone-under-replace-one"),
    ),
    "asked twice": ([*SUM, "--sum", "age:0:9", *GUARANTEE], refusal("flag-column-twice", says="--sum age twice")),
    "missing of another column": (
        [*SUM, "--missing", "agee=1", *GUARANTEE],
        refusal("missing-of-unasked-column", says="did you mean 'age'?"),
    ),
    "missing without value": (
        [*SUM, "--missing", "age", *GUARANTEE],
        refusal("missing-flag-without-column", says="write --missing age=40"),
    ),
    "missing outside the bounds": ([*SUM, "--missing", "age=200", *GUARANTEE], refusal("missing-outside-bounds")),
    "weights that do not fit": ([*SUM, "--weights", "1,2", *GUARANTEE], refusal("weights-malformed")),
    "unknown weights": ([*SUM, "--weights", "even", *GUARANTEE], refusal("unknown-weights")),
    "unknown option": (
        [*SUM, "--epsilonn", "1", *GUARANTEE],
        refusal("unknown-argument", says="did you mean '--epsilon'?"),
    ),
    "option without value": ([*SUM, "--epsilon"], refusal("malformed-arguments", says="expected one argument")),
    "percent": (
        [*SUM, "--epsilon", "1", "--delta", "5%"],
        refusal("flag-not-a-number", says="write for example --delta 1e-6"),
    ),
    "people and rows": (
        ["--count", "--count-rows", *GUARANTEE],
        refusal("count-beside-count-rows", says="--count together with --count-rows"),
    ),
    "missing in letters": (
        [*SUM, "--missing", "age=x", *GUARANTEE],
        refusal("missing-flag-not-a-number", says="write --missing age=40"),
    ),
    "rows of people": (
        ["--mean", "age:0:100", "--unit", "city", *GUARANTEE],
        refusal("rows-per-unit-missing", says="or --mean-of units for the mean over people"),
    ),
    "too many groups": (
        ["--count", "--by", "city=a,b", "--unit", "age", "--groups-per-unit", "3", *GUARANTEE],
        refusal("limit-exceeds-declared", says="write --groups-per-unit 2, or less"),
    ),
    "no groups at all": (
        ["--count", "--by", "city=a,b", "--unit", "age", "--groups-per-unit", "0", *GUARANTEE],
        refusal("whole-number-out-of-range", name="groups_per_unit"),
    ),
    "a key that is no whole number": (
        ["--count", "--by", "age=18,19.5", *GUARANTEE],
        refusal("keys-do-not-fit-column", says="its keys must be numbers, and '19.5' is text"),
    ),
    "an id alone": ([*SUM, "--id", "a", *GUARANTEE], refusal("id-without-ledger", says="give --ledger too")),
    "a master alone": (
        [*SUM, "--master", "local", *GUARANTEE],
        refusal("master-without-spark", says="choose --engine spark"),
    ),
    "several sources": (["other.parquet", *SUM, *GUARANTEE], refusal("several-sources", says="quote the pattern")),
}


@pytest.mark.parametrize("story", REFUSALS)
def test_a_wrong_request_is_refused_before_any_data_is_read(
    story: str, capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism, "total_all", unread)
    words, expected = REFUSALS[story]
    code, out, err = run(capsys, "release", "people.parquet", *words, "--out", "out")
    assert (code, out) == (2, "")
    assert err.startswith("Error: ") and expected.says in err
    assert len(err.splitlines()) <= 3
    assert not (here / "out").exists()
    code, out, err = run(capsys, "release", "people.parquet", *words, "--json")
    assert (code, out) == (2, "")
    error = json.loads(err)
    assert error["exit_code"] == 2
    assert error["error"]["code"] == expected.code
    assert expected.says in " ".join(error["error"].values())


SOURCES = {
    "a file that does not exist": ("nowhere.parquet", refusal("no-such-file")),
    "an empty pattern": ("nothing-*.parquet", refusal("no-such-file")),
    "a file that is not what its name says": ("broken.parquet", refusal("file-damaged")),
    "a file of unknown kind": ("people.xyz", refusal("unknown-file-suffix")),
}


@pytest.mark.parametrize("story", SOURCES)
def test_a_source_that_cannot_be_opened_is_refused(
    story: str, capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism, "total_all", unread)
    Path("broken.parquet").write_bytes(b"PAR1 this is not Parquet")
    Path("people.xyz").write_bytes(b"?")
    source, expected = SOURCES[story]
    code, out, err = run(capsys, "release", source, *SUM, *GUARANTEE)
    assert (code, out) == (2, "")
    assert source in err
    _, _, err = run(capsys, "release", source, *SUM, *GUARANTEE, "--json")
    assert json.loads(err)["error"]["code"] == expected.code


def test_an_unreadable_file_is_refused(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # the user who runs the tests may be allowed everything
    code, _, err = run(capsys, "release", "people.parquet", *SUM, *GUARANTEE)
    assert code == 2
    assert "is not readable" in err


TOML = 'source = "people.parquet"\nguarantee = { epsilon = 1, delta = 1e-6 }\n'
REQUESTS = {
    "an unknown key": (
        TOML + "summs = { age = [0, 100] }",
        refusal("unknown-key-in-request", says="did you mean 'sums'?"),
    ),
    "an unknown key of the guarantee": (
        'source = "p"\ncount = true\nguarantee = { epsilonn = 1 }',
        refusal("unknown-key-in-guarantee", says="did you mean 'epsilon'?"),
    ),
    "bounds in the wrong order": (TOML + "sums = { age = [100, 0] }", refusal("bounds-reversed")),
    "bounds that are missing": (TOML + "sums = { age = 100 }", refusal("request-bounds-not-two-numbers")),
    "no source": ("count = true\nguarantee = { mu = 1 }", refusal("request-without-source")),
    "no guarantee": ('source = "p"\ncount = true', refusal("request-without-guarantee")),
    "not TOML": ("source = ", refusal("request-file-not-toml")),
    "nothing asked": (TOML, refusal("nothing-asked")),
}


@pytest.mark.parametrize("story", REQUESTS)
def test_a_wrong_request_file_is_refused(
    story: str, capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism, "total_all", unread)
    text, expected = REQUESTS[story]
    Path("r.toml").write_text(text)
    for command in ("plan", "release"):
        code, out, err = run(capsys, command, "r.toml")
        assert (code, out) == (2, "")
        assert expected.says in err
        _, _, err = run(capsys, command, "r.toml", "--json")
        assert json.loads(err)["error"]["code"] == expected.code


def test_flags_beside_a_request_file_are_refused(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    Path("r.toml").write_text(TOML + "count = true")
    code, _, err = run(capsys, "release", "r.toml", "--epsilon", "2")
    assert code == 2
    assert "a request file contains the whole request" in err


def test_a_request_file_that_is_not_there(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, _, err = run(capsys, "plan", "nope.toml")
    assert code == 2
    assert "'nope.toml'" in err and "does not exist" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "--count", "--mu", "1", "--rows", "0"], "a number of records, 1 or more"),
        (["plan", "--count", "--mu", "1", "--rows", "10k"], "write for example --rows 10000"),
        (["plan", "people.parquet", "--sum", "agee:0:1", "--mu", "1"], "did you mean 'age'?"),
        (["plan", "people.csv", "--count", "--mu", "1", "--where", "incme > 1"], "did you mean 'income'?"),
        (["plan", "people.*et", "--count", "--mu", "1", "--by", "town=a"], "the source has no such column"),
        (["plan", "--count", "--mu", "1", "--where", "log(x) >"], "there is no function 'log'"),
        (["release", "semi.csv", "--sum", "age:0:1", "--mu", "1"], "columns are separated by commas"),
        (["release", "semi.csv", "--count", "--mu", "1", "--where", "age > 1"], "columns are separated by commas"),
        (["release", "utf16.csv", "--sum", "age:0:1", "--mu", "1"], "text files are read as UTF-8"),
        (["release", "latin.csv", "--sum", "größe:0:1", "--mu", "1"], "text files are read as UTF-8"),
        (["release", "latin.csv", "--sum", "agee:0:1", "--mu", "1"], "did you mean 'age'?"),
        (["plan", "--count", "--mu", "1", "--save", "no/such/folder"], "it cannot be written"),
        (["release", "--count", "--mu", "1"], "no source"),
        (["relese", "people.parquet"], "did you mean 'release'?"),
        (["calibrate", "extra", "--mu", "1"], "no such argument"),
    ],
)
def test_other_slips(words: list[str], message: str, capsys: pytest.CaptureFixture[str], here: Path) -> None:
    Path("semi.csv").write_text("person;age;income\n1;2;3\n")
    Path("utf16.csv").write_text("person,age\n1,2\n", encoding="utf-16")
    Path("latin.csv").write_text("age,größe\n1,2\n", encoding="latin-1")
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert message in err


def test_the_caret_of_an_expression_stands_under_its_place(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    for command in ("plan", "release"):
        code, out, err = run(capsys, command, "people.csv", "--count", *GUARANTEE, "--where", "age >=\x1b\n")
        assert (code, out, "\x1b" in err) == (2, "", False)
        code, out, err = run(capsys, command, "people.csv", "--count", *GUARANTEE, "--where", "age >=")
        assert (code, out) == (2, "")
        assert err.splitlines() == [
            "Error: in the expression",
            "      age >=",
            "            ^",
            "  something is missing at the end",
            "  an operator needs a value on each side",
            "  complete the expression",
        ]


def test_a_csv_file_is_filtered_by_its_dates_and_grouped_by_its_truths(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    Path("days.csv").write_text("day,well\n2024-05-31,true\n2024-06-01,false\n2024-06-02 12:00,true\n\n")
    words = ["release", "days.csv", "--mu", "1e6", "--json", "--count"]
    counts = json.loads(run(capsys, *words, "--where", "day >= '2024-06-01'")[1])
    assert round(counts["answers"][0]["value"]) == 2
    well = json.loads(run(capsys, *words, "--histogram", "well=true,false")[1])
    assert [round(row["value"]) for row in well["answers"]] == [2, 1, 4]
    code, _, err = run(capsys, *words, "--where", "day >= 2024-06-01")
    assert code == 2 and "did you mean the date '2024-06-01'?" in err


def test_a_release_prints_no_warnings(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, calls = mechanism.open_source, []

    def warn(*words: object) -> object:
        calls.append(words)
        warnings.warn("region not set", stacklevel=1)
        return opened(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(mechanism, "open_source", warn)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert run(capsys, "release", "people.parquet", *SUM, *GUARANTEE, "--json")[0] == 0
    assert shown == [] and len(calls) == 1

"""A ledger on the command line: made, spent, shown, verified, refused; and requests about people charged to it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from terminal import run

import gaussmith as gm
from gaussmith import cli, mechanism

SPEND = ["--epsilon", "1", "--delta", "1e-6"]
VISITS = ["--sum", "spent:0:500", "--count", "--unit", "person"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory with a table of visits and an unspent ledger."""
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame(
        {
            "person": [i % 40 for i in range(200)],
            "region": ["north", "south", "west", "east"] * 50,
            "spent": [float(i) for i in range(200)],
            "year": [2023, 2024] * 100,
        }
    )
    table.write_parquet("visits.parquet")
    assert cli.main(["ledger", "init", "study.ledger", "--epsilon", "3", "--delta", "1e-6", "--dataset", "visits"]) == 0
    return tmp_path


def test_init_says_what_may_be_spent_and_refuses_a_second_time(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, out, _ = run(capsys, "ledger", "init", "other.ledger", "--rho", "0.5", "--json")
    found = json.loads(out)
    assert (code, found["guarantee"], found["dataset"]) == (0, {"rho": 0.5}, None)
    assert found["head"].startswith("0:")
    code, out, err = run(capsys, "ledger", "init", "other.ledger", "--rho", "0.5")
    assert (code, out) == (2, "")
    assert "other.ledger" in err


def test_init_says_that_found_groups_cannot_be_charged(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    told = "releases with --by-found, and those of other tools with a δ, cannot be charged to it; --keys-delta allows"
    words = ["ledger", "init", "--epsilon", "3", "--delta", "1e-6"]
    assert told in " ".join(run(capsys, *words, "without.ledger")[1].split())
    assert "--by-found" not in run(capsys, *words, "with.ledger", "--keys-delta", "1e-7")[1]
    found = ["release", "visits.parquet", "--by-found", "region", "--count", "--unit", "person", *SPEND]
    limits = ["--groups-per-unit", "1", "--keys-delta", "1e-8"]
    assert run(capsys, *found, *limits, "--ledger", "without.ledger")[0] == 3
    assert run(capsys, *found, *limits, "--ledger", "with.ledger")[0] == 0


def test_a_release_is_charged_and_a_retry_gives_the_same_bytes(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    words = ["release", "visits.parquet", *VISITS, *SPEND, "--ledger", "study.ledger", "--id", "march"]
    code, first, _ = run(capsys, *words)
    assert code == 0
    assert "release id march\nreceipt 1:" in first
    assert "left in study.ledger: 86.6 % of the budget, one more release of ε = 2.77 at" in first.replace("\n", " ")
    code, again, err = run(capsys, *words)
    assert (code, err) == (0, "") and again.endswith(f"For new answers choose another --id.\n\n{first}")
    _, record, _ = run(capsys, *words, "--json", "--out", "out")
    assert record == (here / "out" / "release.json").read_text()
    assert record.encode().removesuffix(b"\n") == gm.Ledger("study.ledger").result("march")
    code, out, _ = run(capsys, "ledger", "verify", "study.ledger", "--record", "out/release.json")
    assert code == 0
    assert "is valid" in out and "entries 3 · releases 1 · pending 0" in out
    receipt = json.loads(record)["receipt"]
    assert run(capsys, "ledger", "verify", "study.ledger", "--receipt", receipt, "--json")[0] == 0
    (here / "out" / "release.json").write_text("another")
    code, _, err = run(capsys, "ledger", "verify", "study.ledger", "--record", "out/release.json")
    assert code == 2
    assert "record 1 was not stored in it" in err


def test_the_chart_of_an_unspent_ledger_says_so(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    assert run(capsys, "ledger", "show", "study.ledger", "--chart", "none.svg")[0] == 0
    assert "no charges" in "".join(ElementTree.parse(here / "none.svg").getroot().itertext())


def test_without_an_id_a_fresh_one_is_printed(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    for name in ("release-1", "release-3"):
        _, out, _ = run(capsys, "release", "visits.parquet", *VISITS, *SPEND, "--ledger", "study.ledger")
        assert f"release id {name}\n" in out


def test_show_lists_what_was_spent_and_what_is_left(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    run(capsys, "release", "visits.parquet", *VISITS, *SPEND, "--ledger", "study.ledger", "--id", "march")
    gm.Ledger("study.ledger").reserve("crashed", "hash", gm.Guarantee(epsilon=2, delta=1e-6))
    code, out, _ = run(capsys, "ledger", "show", "study.ledger", "--chart", "spending.svg")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    march, crashed = (line.split() for line in out.splitlines() if "━" in line or "╸" in line)
    assert (march[2:6], march[6]) == (["march", "done", "0.2367", "1"], "13.4")
    assert crashed[2:4] == ["crashed", "pending"]
    assert "left: 38.7 % of the budget, one more release of ε = 1.78 at δ = 1e-06" in out
    assert out.endswith("\nWritten to spending.svg\n")
    svg = (here / "spending.svg").read_text()
    assert svg.startswith("<svg") and "march" in svg and "Percent of the budget spent" in svg
    assert "<style>" in svg and ElementTree.fromstring(svg) is not None
    found = json.loads(run(capsys, "ledger", "show", "study.ledger", "--json")[1])
    assert [row["id"] for row in found["releases"]] == ["march", "crashed"]
    assert found["left"] == pytest.approx(1 - found["releases"][-1]["spent"])


def test_a_plan_says_what_would_be_left_and_charges_nothing(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object, **__: object) -> None:
        raise AssertionError("data was read")

    monkeypatch.setattr(mechanism, "total_all", opened)
    words = ["plan", "visits.parquet", *VISITS, *SPEND, "--ledger", "study.ledger"]
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "spent_sum" in out and "a person is all rows with the same person" in out
    flat = " ".join(out.split())
    assert "This release takes 13.4 % of the budget and leaves 86.6 %: ε = 2.771 of ε = 3 at δ = 1e-06." in flat
    assert "It fits 7 times. Nothing was charged." in flat
    found = json.loads(run(capsys, *words, "--json")[1])
    assert found["ledger"]["times"] == 7
    assert set(found["errors"]) == {"spent_sum", "count"}
    assert gm.Ledger("study.ledger").spent == 0


def test_rows_give_the_errors_of_means(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    words = ["plan", "--mean", "spent:0:200", "--count-rows", "--unit", "person", "--rows-per-unit", "5", *SPEND]
    _, out, _ = run(capsys, *words)
    assert "n is the number of rows" in out
    assert "at most 5 rows per person count" in out
    _, out, _ = run(capsys, *words, "--rows", "1000")
    assert "means over 1,000 rows" in out
    _, out, _ = run(capsys, "plan", "--sum", "smokes:0:1", "--count", "--mu", "1", "--rows", "1000")
    assert "relative to the largest possible total of 1,000 records: smokes_sum ± 0.108 %, count ± 0.12 %" in " ".join(
        out.split()
    )
    found = json.loads(run(capsys, *words, "--rows", "1000", "--json")[1])
    request = gm.Request(
        "x", means={"spent": (0, 200)}, count="rows", unit="p", rows_per_unit=5,
        guarantee=gm.Guarantee(epsilon=1, delta=1e-6),
    )  # fmt: skip
    assert found["errors"] == request.plan.errors(rows=1000)


def test_a_budget_too_small_is_exit_3_and_says_what_would_fit(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    large = ["--epsilon", "3.5", "--delta", "1e-6", "--ledger", "study.ledger"]
    for command in ("release", "plan"):
        code, out, err = run(capsys, command, "visits.parquet", *VISITS, *large)
        assert code == 3
        assert err.splitlines()[-1].startswith("  at most epsilon=3 at delta=1e-06 fits")
        assert ("spent_sum" in out) == (command == "plan")
    assert gm.Ledger("study.ledger").spent == 0


def test_groups_filters_and_derived_columns_by_flags(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    words = ["--sum", "half:0:500", "--count", "--unit", "person", "--groups-per-unit", "2", "--mu", "1000"]
    words += ["--by", "region=north,south", "--by", "year=2023,2024", "--where", "spent >= 100"]
    code, out, err = run(capsys, "release", "visits.parquet", *words, "--column", "half=spent / 2", "--json")
    assert (code, err) == (0, "")
    record = gm.read(out)
    assert record.labels == (("north", 2023), ("north", 2024), ("south", 2023), ("south", 2024))
    truth = pl.read_parquet("visits.parquet").filter(pl.col("spent") >= 100, pl.col("region") == "north")
    assert record.values[0, 0] == pytest.approx(truth["spent"].sum() / 2, abs=5)
    assert record.values[1, 0] == pytest.approx(0, abs=5)
    code, out, _ = run(capsys, "release", "visits.parquet", *words, "--column", "half=spent / 2")
    assert "only rows where spent >= 100" in out


QUESTIONS = """
source = "visits.parquet"
unit = "person"
guarantee = { epsilon = 1, delta = 1e-6 }

[[question]]
name = "spending"
sums = { spent = [0, 500] }

[[question]]
name = "regions"
count = true
by = { region = ["north", "south", "west", "east"] }
groups_per_unit = 4
"""


def test_several_questions_are_one_charge_and_one_folder(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    Path("request.toml").write_text(QUESTIONS)
    _, plan, _ = run(capsys, "plan", "request.toml", "--ledger", "study.ledger")
    assert "spending, regions: one noise for all, 100 % of the budget (μ=0.2367)" in plan
    assert "takes 13.4 % of the budget" in " ".join(plan.split())
    words = ["release", "request.toml", "--ledger", "study.ledger", "--id", "both", "--out", "out"]
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert out.index("spending\n  answer") < out.index("regions\n  region  answer")
    assert len(gm.Ledger("study.ledger").history()) == 1
    table = pl.read_csv("out/answers.csv")
    assert table["question"].to_list() == ["spending"] + ["regions"] * 4
    page = Path("out/report.html").read_text()
    assert all(f'<section id="question-{i}"' in page for i in (1, 2))
    assert "share of the budget" in page and "one person" in page
    assert pl.read_parquet("out/answers.parquet").shape == table.shape


REFUSED = {
    ("ledger", "shwo", "study.ledger"): (
        "gaussmith ledger shwo", "there is no such action", "did you mean 'show'?",
    ),
    ("ledger", "show", "none.ledger"): ("no ledger at none.ledger",),
    ("ledger", "init", "a.ledger"): ("no guarantee",),
    ("ledger", "show", "study.ledger", "--mu", "1"): ("a guarantee with show",),
    ("ledger", "show", "study.ledger", "--receipt", "1:a"): ("--receipt with show",),
    ("ledger", "verify", "study.ledger", "--record", "none.json"): ("--record none.json", "it cannot be read"),
    ("ledger", "verify", "study.ledger", "--receipt", "7:ab"): ("receipt='7:ab' cannot be read",),
    ("ledger", "show", "study.ledger", "--chart", "a.png"): ("--chart a.png", "a chart is an .svg file"),
    ("ledger", "show", "study.ledger", "--chart", "no/where.svg"): ("--chart no/where.svg", "it cannot be written"),
    ("release", "visits.parquet", "--count", "--mu", "1", "--id", "a"): ("id='a' without a ledger",),
    ("release", "visits.parquet", "--count", "--mu", "1", "--by", "region"): (
        "'region' in by has no values", "what is counted must be declared", "write --values region=a,b, or --by reg"
    ),
    ("release", "visits.parquet", "--count", "--mu", "1", "--by", "a=1", "--by", "a=2"): ("--by a twice",),
    ("ledger", "init", "new.ledger", "--mu", "1", "--unit", "person", "--each-row"): (
        "--unit and --each-row", "both say what a person is", "leave one out",
    ),
    ("ledger", "show", "study.ledger", "--unit", "person"): ("--unit with show", "it is only for gaussmith ledger"),
    ("ledger", "verify", "study.ledger", "--each-row"): ("--each-row with verify",),
    ("ledger", "show", "study.ledger", "--keys-delta", "1e-8"): ("--keys-delta with show",),
    ("ledger", "init", "new.ledger", "--mu", "1", "--keys-delta", "x"): ("--keys-delta x", "it takes a number"),
    ("ledger", "init", "new.ledger", "--epsilon", "1", "--delta", "1e-6", "--keys-delta", "1e-6"): (
        "keys_delta=1e-06 of delta=1e-06", "the part reserved for found keys must be less than δ",
    ),
    ("release", "visits.parquet", "--count", "--mu", "1", "--unit", "p", "--rows-per-unit", "1.5"): (
        "--rows-per-unit 1.5", "it takes a whole number",
    ),
    ("release", "visits.parquet", "--count", "--mu", "1", "--groups-per-unit", "two"): ("--groups-per-unit two",),
    ("release", "visits.parquet", "--count", "--mu", "1", "--column", "x"): ("--column x", "it has the form NAME=…"),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_wrong_words_are_exit_2(words: tuple[str, ...], capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, out, err = run(capsys, *words)
    assert code == 2, err
    assert out == ""
    lines = [line.removeprefix("Error: ").strip() for line in err.splitlines()]
    assert all(line.startswith(part) for line, part in zip(lines, REFUSED[words], strict=False)), err
    assert gm.Ledger("study.ledger").spent == 0


def test_a_ledger_keeps_to_one_unit_and_tells_it(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    for flags, unit, words in (
        (["--unit", "person"], ["person"], "unit: all rows with the same person are one person"),
        (["--unit", "person", "--unit", "house"], ["house", "person"], "unit: all rows with the same house and person"),
        (["--each-row"], [], "unit: each row is one person"),
        ([], None, "unit: not set yet"),
    ):
        name = f"{len(flags)}{flags[-1:]}.ledger"
        code, out, _ = run(capsys, "ledger", "init", name, "--mu", "1", *flags)
        assert (code, words in out) == (0, True)
        assert words in run(capsys, "ledger", "show", name)[1]
        assert words in run(capsys, "ledger", "verify", name)[1]
        for action in ("show", "verify"):
            assert json.loads(run(capsys, "ledger", action, name, "--json")[1])["unit"] == unit
    assert json.loads(run(capsys, "ledger", "init", "a", "--mu", "1", "--each-row", "--json")[1])["unit"] == []
    assert run(capsys, "release", "visits.parquet", *VISITS, *SPEND, "--ledger", "study.ledger")[0] == 0
    assert json.loads(run(capsys, "ledger", "show", "study.ledger", "--json")[1])["unit"] == ["person"]
    spent = gm.Ledger("study.ledger").spent
    for command in ("release", "plan"):
        code, out, err = run(capsys, command, "visits.parquet", "--count", *SPEND, "--ledger", "study.ledger")
        assert (code, out) == (2, "")
        assert err.startswith("Error: unit=each row is charged to ledger=study.ledger, whose unit is 'person'")
    words = ["plan", "visits.parquet", *VISITS, *SPEND, "--neighbours", "replace-one", "--ledger", "study.ledger"]
    assert run(capsys, *words)[0] == 2
    assert gm.Ledger("study.ledger").spent == spent


def test_delta_can_be_set_aside_for_found_keys(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    whole = ["--epsilon", "3", "--delta", "1e-6", "--keys-delta", "1e-7"]
    code, out, _ = run(capsys, "ledger", "init", "keys.ledger", *whole)
    assert code == 0
    assert "keys.ledger may spend ε = 3 at δ = 1e-06, of which δ = 1e-07 is reserved for keys found in" in out
    ledger = gm.Ledger("keys.ledger")
    ledger.reserve("a", "hash", gm.Guarantee(epsilon=1, delta=1e-6), keys_delta=1e-7 / 4)
    for action in ("show", "verify"):
        found = json.loads(run(capsys, "ledger", action, "keys.ledger", "--json")[1])
        assert found["keys_left"] == pytest.approx(0.75e-7)
    assert json.loads(run(capsys, "ledger", "show", "keys.ledger", "--json")[1])["keys_delta"] == 1e-7
    _, out, _ = run(capsys, "ledger", "init", "mu.ledger", "--mu", "1", "--keys-delta", "1e-7")
    assert "may spend μ=1, that is ρ=0.5; in addition, δ = 1e-07 is reserved for keys found in the data" in out
    assert json.loads(run(capsys, "ledger", "show", "study.ledger", "--json")[1])["keys_left"] == 0


def test_a_ledger_of_another_dataset_and_a_used_id_are_refused(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    pl.DataFrame({"person": [1], "spent": [1.0]}).write_parquet("other.parquet")
    for command in ("release", "plan"):
        code, _, err = run(capsys, command, "other.parquet", *VISITS, *SPEND, "--ledger", "study.ledger")
        assert code == 2
        assert "which is for dataset='visits'" in err
    words = ["release", "visits.parquet", *SPEND, "--ledger", "study.ledger", "--id", "march"]
    assert run(capsys, *words, *VISITS)[0] == 0
    for other in (
        [*VISITS, "--where", "spent > 3"],
        ["--sum", "spent:0:400", "--count", "--unit", "person"],
        ["--count"],
    ):
        code, out, err = run(capsys, *words, *other)
        assert (code, out) == (2, "")
        assert "id='march' belongs to another request" in err
    assert len(gm.Ledger("study.ledger").history()) == 1


def test_a_damaged_ledger_is_refused(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    (here / "study.ledger").write_bytes(b"not a ledger at all")
    for words in (
        ["ledger", "show", "study.ledger"],
        ["release", "visits.parquet", *VISITS, *SPEND, "--ledger", "study.ledger"],
    ):
        code, out, err = run(capsys, *words)
        assert (code, out) == (2, "")
        assert err.startswith("Error: study.ledger is not a Gaussmith ledger")

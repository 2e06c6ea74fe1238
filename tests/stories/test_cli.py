"""The command line from end to end: what it prints, what it writes, what it refuses, and that nothing leaks."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from terminal import GUARANTEE, SUM, run, unread

import gaussmith as gm
from gaussmith import cli, mechanism

HEALTH = str(resources.files("gaussmith") / "data" / "randhie.parquet")
SRC = Path(gm.__file__).parents[1]


# -- help and start-up ------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--help"], ["help"]):
        code, out, err = run(capsys, *words)
        assert (code, err) == (0, "")
        assert all(f"  {name} " in out for name in cli.COMMANDS)
        assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert f"  gaussmith {name}" in out.split("examples:")[1]
    assert "--json" in out
    assert max(map(len, out.splitlines())) <= 80


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"gaussmith {gm.__version__}\n", "")


def python(*words: str) -> subprocess.CompletedProcess[str]:
    own = os.environ | {"PYTHONPATH": str(SRC), "PYTHONUTF8": "1"}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=own, check=False)


def test_help_loads_nothing_heavy() -> None:
    code = "import sys\nfrom gaussmith.cli import main\nmain(['--help'])\nprint(sorted(sys.modules), file=sys.stderr)"
    loaded = python("-c", code).stderr
    assert "gaussmith.cli" in loaded
    for heavy in ("numpy", "scipy", "polars", "narwhals", "mpmath", "altair", "argparse", "rich", "typer"):
        assert f"'{heavy}'" not in loaded


def test_calibrate_needs_no_engine_and_no_charts() -> None:
    code = (
        "import sys\nfrom gaussmith.cli import main\nmain(['calibrate', '--mu', '1'])\n"
        "print(sorted(sys.modules), file=sys.stderr)"
    )
    loaded = python("-c", code).stderr
    for heavy in ("scipy", "polars", "narwhals", "altair"):
        assert f"'{heavy}'" not in loaded


LEFT_OUT = """
    scipy narwhals mpmath msgspec altair difflib email.parser
    gaussmith.domains.people gaussmith.engines.text_files
    gaussmith.ledger gaussmith.numerics.joint.ladder gaussmith.papers gaussmith.audit gaussmith.workbench
    gaussmith.pipeline.staged_release gaussmith.planning.crossed_noise gaussmith.planning.discovered_groups
    gaussmith.planning.joint_noise gaussmith.planning.pieces
    gaussmith.report.plans gaussmith.requests.keys_first gaussmith.totals.people
""".split()
"""What the release of a few plain sums does not import: each is left to whoever asks for more."""


def test_a_small_release_imports_what_it_needs(tmp_path: Path) -> None:
    pl.DataFrame({"age": [36, 17], "spent": [9.5, 3.0]}).write_parquet(tmp_path / "t.parquet")
    text = 'source = "t.parquet"\ncount = true\nsums = { age = [0, 100], spent = [0, 500] }\nguarantee = { mu = 1 }\n'
    (tmp_path / "request.toml").write_text(text, "utf-8")
    code = (
        f"import sys\nfrom gaussmith.cli import main\nmain(['release', {str(tmp_path / 'request.toml')!r}])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    loaded = python("-c", code).stderr.split()
    assert all(find_spec(name) for name in LEFT_OUT if name.startswith("gaussmith"))
    assert "gaussmith.mechanism" in loaded and not set(LEFT_OUT) & set(loaded)
    assert sum(name.startswith("gaussmith") for name in loaded) <= 140


def test_it_runs_as_a_module_with_its_exit_codes() -> None:
    assert python("-m", "gaussmith", "--version").stdout == f"gaussmith {gm.__version__}\n"
    refused = python("-m", "gaussmith", "calibrate")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("Error: no guarantee\n")


# -- calibrate --------------------------------------------------------------------------------------------------------


def test_calibrate_says_what_the_guarantee_means(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "calibrate", *GUARANTEE)
    assert (code, err) == (0, "")
    for words in ("μ  0.2367", "ρ  0.02801", "σ  4.225", "5.35", "5.299", "proved for ε < 1 only", "54.8 %"):
        assert words in out


def test_calibrate_json_is_the_guarantee_itself(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "calibrate", "--json", *GUARANTEE)[1])
    g = gm.Guarantee(epsilon=1, delta=1e-6)
    assert (found["mu"], found["rho"], found["sigma"]) == (g.mu, g.rho, 1 / g.mu)
    assert {"epsilon": 2.0, "delta": g.delta_at(epsilon=2)} in found["curve"]
    assert found["sigma_elsewhere"]["classic"] == pytest.approx(math.sqrt(2 * math.log(1.25e6)))


def test_calibrate_from_mu_and_rho_gives_epsilons(capsys: pytest.CaptureFixture[str]) -> None:
    by_mu = json.loads(run(capsys, "calibrate", "--mu", "1", "--json")[1])
    by_rho = json.loads(run(capsys, "calibrate", "--rho", "0.5", "--json")[1])
    assert by_mu["curve"] == by_rho["curve"]
    assert {"epsilon": gm.Guarantee(mu=1).epsilon_at(delta=1e-6), "delta": 1e-6} in by_mu["curve"]
    assert "sigma_elsewhere" not in by_mu


def test_calibrate_prints_deltas_rounded_up(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "calibrate", *GUARANTEE)[1]
    pairs = [line.split() for line in out.split("  ε          δ\n")[1].splitlines()]
    g = gm.Guarantee(epsilon=1, delta=1e-6)
    assert len(pairs) == 5
    assert all(g.delta_at(epsilon=float(epsilon)) <= float(delta) for epsilon, delta in pairs)


# -- plan -------------------------------------------------------------------------------------------------------------


def test_plan_needs_no_data(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    asked = ["--sum", "income:0:200000", "--mean", "age:0:100", "--count", *GUARANTEE]
    code, out, err = run(capsys, "plan", *asked)
    assert (code, err) == (0, "")
    assert out.splitlines()[1].startswith("income_sum")
    assert "/ n" in out and "never the data" in out and "the number of people is secret" in out
    assert max(map(len, out.splitlines())) <= 80
    code, unchecked, _ = run(capsys, "plan", "not-there.parquet", *asked)
    note = "columns were not checked: not-there.parquet is not on this machine\n"
    assert (code, unchecked.replace(note, "")) == (0, out) and note in unchecked


def test_plan_with_rows_gives_the_errors_of_means(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "plan", "--mean", "age:0:100", "--rows", "10000", *GUARANTEE)[1]
    request = gm.Request("x", means={"age": (0, 100)}, guarantee=gm.Guarantee(epsilon=1, delta=1e-6))
    error = request.plan.errors(rows=10_000)["age_mean"]
    assert float(out.splitlines()[1].split()[1]) == pytest.approx(error, rel=1e-3)
    assert "/ n" not in out


def test_plan_json_and_saved_plan_are_the_plan(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    asked = ["--sum", "a:b:-1:1", "--neighbors", "replace-one", "--weights", "3", "--mu", "0.5"]
    out = run(capsys, "plan", *asked, "--json", "--save", "plan.json")[1]
    request = gm.Request(
        "x", sums={"a:b": (-1, 1)}, neighbours="replace-one", weights=[3], guarantee=gm.Guarantee(mu=0.5)
    )
    assert gm.Plan.from_json(out) == gm.Plan.from_json(Path("plan.json").read_text()) == request.plan


def test_a_toml_request_and_the_same_flags_make_one_plan(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    Path("r.toml").write_text(
        'source = "people.parquet"\ncount = true\nguarantee = { epsilon = 1, delta = 1e-6 }\n'
        "sums = { income = [0, 200000] }\nmeans = { age = [0, 100] }\nmissing = { age = 40 }\n"
    )
    asked = ["--sum", "income:0:2e5", "--mean", "age:0:100", "--count", "--missing", "age=40", *GUARANTEE]
    assert run(capsys, "plan", "r.toml", "--json") == run(capsys, "plan", *asked, "--json")


def test_the_example_request_can_be_planned_and_released(capsys: pytest.CaptureFixture[str]) -> None:
    example = str(Path(__file__).parents[2] / "examples" / "health.toml")
    assert run(capsys, "plan", example)[0] == 0
    code, out, _ = run(capsys, "release", example, "--json")
    assert code == 0
    assert [row["answer"] for row in json.loads(out)["answers"]] == [
        "mdvis_sum", "idp_sum", "disea_mean", "physlm_mean", "count",
    ]  # fmt: skip


# -- release ----------------------------------------------------------------------------------------------------------


def test_release_from_parquet_hits_the_truth_within_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--sum", "mdvis:0:80", "--mean", "disea:0:60", "--count", *GUARANTEE, "--json"]
    code, out, err = run(capsys, "release", HEALTH, *words)
    assert (code, err) == (0, "")
    record = json.loads(out)
    truth = pl.read_parquet(HEALTH).select(pl.col("mdvis").cast(pl.Int64).sum(), pl.col("disea").mean(), pl.len())
    for row, true in zip(record["answers"], truth.row(0), strict=True):
        assert abs(row["value"] - true) < 7 * row["standard_error"]  # false alarm below 1e-11
    assert gm.Release.from_json(out).plan.guarantee == gm.Guarantee(epsilon=1, delta=1e-6)


def test_release_from_csv_prints_a_table_and_what_is_protected(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, out, err = run(capsys, "release", "people.csv", "--sum", "income:0:50000", "--count", "--mu", "1000")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["answer", "value", "±", "error", "95", "%", "interval"]
    assert out.splitlines()[1].startswith("income_sum")
    assert "adding or removing one person; the number of people is secret" in out
    assert "Intervals cover the noise" in out
    assert max(map(len, out.splitlines())) <= 80


def test_out_writes_the_record_the_tables_and_the_report(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    words = ["release", "people.parquet", "--mean", "age:0:100", "--count", "--mu", "9", "--out", "a/b"]
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert out.endswith("Written to a/b: release.json, answers.csv, answers.parquet, report.html\n")
    folder = here / "a" / "b"
    assert sorted(p.name for p in folder.iterdir()) == [
        "answers.csv", "answers.parquet", "release.json", "report.html",
    ]  # fmt: skip
    release = gm.Release.from_json((folder / "release.json").read_text())
    table = release.to_polars()
    assert pl.read_parquet(folder / "answers.parquet").equals(table)
    assert pl.read_csv(folder / "answers.csv").equals(table)
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_a_release_is_never_overwritten(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["release", "people.parquet", "--count", "--sum", "age:0:100", "--mu", "9", "--out", "done"]
    assert run(capsys, *words)[0] == 0
    kept = Path("done/release.json").read_bytes()
    monkeypatch.setattr(mechanism, "total_all", unread)
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert "it already holds a release" in err
    assert Path("done/release.json").read_bytes() == kept


def test_a_retry_finds_its_own_folder(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(capsys, "ledger", "init", "l.ledger", "--mu", "30")[0] == 0
    words = ["release", "people.parquet", "--count", "--sum", "age:0:100", "--mu", "9", "--ledger", "l.ledger"]
    assert run(capsys, *words, "--id", "one", "--out", "done")[0] == 0
    files = {file.name: file.read_bytes() for file in Path("done").iterdir()}
    assert len(files) == 4
    monkeypatch.setattr(mechanism, "total_all", unread)
    code, out, err = run(capsys, *words, "--id", "one", "--out", "done")
    assert (code, err) == (0, "") and "one was released before" in out
    assert "done holds this release: nothing was written" in out
    assert {file.name: file.read_bytes() for file in Path("done").iterdir()} == files

    Path("done/answers.csv").unlink()  # as after a crash
    Path("done/report.html").write_text("with a remark of the owner")
    code, out, _ = run(capsys, *words, "--id", "one", "--out", "done")
    assert code == 0 and "Written to done: answers.csv\n" in out
    assert Path("done/answers.csv").read_bytes() == files["answers.csv"]
    assert Path("done/report.html").read_text() == "with a remark of the owner"
    monkeypatch.undo()

    monkeypatch.chdir(here)
    again = ["release", "people.parquet", "--count", "--mu", "9", "--ledger", "l.ledger"]
    code, _, err = run(capsys, *again, "--id", "one", "--out", "done")  # the id is of another request
    assert code == 2 and "belongs to another request" in err
    code, _, err = run(capsys, *words, "--id", "two", "--out", "done")  # the folder is of another id
    assert code == 2 and "it already holds a release" in err
    assert run(capsys, *words, "--id", "two", "--out", "other")[0] == 0
    code, _, err = run(capsys, *words, "--id", "one", "--out", "other")
    assert code == 2 and "it already holds a release" in err
    assert Path("done/release.json").read_bytes() == files["release.json"]


def test_a_folder_that_cannot_be_written_is_refused_before_reading(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism, "total_all", unread)
    code, _, err = run(
        capsys, "release", "people.parquet", "--sum", "age:0:9", "--mu", "1", "--out", "people.csv/inside"
    )
    assert code == 2
    assert "people.csv' cannot be written to" in err


def test_the_number_of_records_can_be_asked_alone_and_a_column_both_ways(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    for source in ("people.parquet", "people.csv"):
        alone = json.loads(run(capsys, "release", source, "--count", "--mu", "1e6", "--json")[1])
        assert round(alone["answers"][0]["value"]) == 3
        words = ["--sum", "age:0:100", "--mean", "age:0:40", "--missing", "age=40", "--mu", "1e6", "--json"]
        both = json.loads(run(capsys, "release", source, *words)[1])
        assert [round(row["value"], 1) for row in both["answers"]] == [118, 39]


def test_replace_one_prints_the_public_number_exactly(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    words = ["--mean", "age:0:100", "--count", "--mu", "1", "--neighbours", "replace-one"]
    out = run(capsys, "release", "people.parquet", *words)[1]
    assert out.splitlines()[2].split() == ["count", "3", "exact:", "public"]
    assert "the number of people is public" in out


def test_demo_fits_a_screen_and_ends_with_what_to_try(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, out, err = run(capsys, "demo")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) < 35 and max(map(len, lines)) <= 80
    assert out.index("Promise") < out.index("mdvis_sum") < out.index("Try next")
    assert (here / "gaussmith-demo" / "report.html").exists()
    assert run(capsys, "demo")[0] == 0  # again, over the old one
    assert "answers" in json.loads(run(capsys, "demo", "--json", "--out", "elsewhere")[1])
    assert (here / "elsewhere" / "release.json").exists()


def test_a_ledger_is_charged_once_per_id_and_refuses_what_it_cannot_pay(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    from gaussmith.ledger.book import Ledger

    Ledger.create("study.ledger", gm.Guarantee(mu=1))
    words = ["release", "people.parquet", "--sum", "age:0:100", "--mu", "0.8", "--ledger", "study.ledger", "--json"]
    first = run(capsys, *words, "--id", "one")
    assert first[0] == 0
    assert run(capsys, *words, "--id", "one") == first  # the same bytes
    code, out, err = run(capsys, *words, "--id", "two")
    assert (code, out) == (3, "")
    assert json.loads(err)["error"]["kind"] == "BudgetError"
    code, _, err = run(capsys, *words[:-3], "--id", "one")
    assert code == 2
    assert "without a ledger" in err


# -- once data is open ------------------------------------------------------------------------------------------------


def test_files_that_break_half_way_say_one_generic_line(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    whole = pl.DataFrame({"age": np.arange(50_000.0)})
    said = set()
    for size, folder in ((4000, "one"), (30_000, "two")):
        Path(folder).mkdir()
        whole.write_parquet(f"{folder}/a.parquet")
        whole.write_parquet(f"{folder}/b.parquet", compression="uncompressed")
        with open(f"{folder}/b.parquet", "r+b") as file:  # its end, which tells its columns, stays whole
            file.seek(4)
            file.write(b"\xff" * size)
        code, out, err = run(capsys, "release", f"{folder}/*.parquet", *SUM, *GUARANTEE)
        assert (code, out) == (4, "")
        assert len(err.splitlines()) == 1 and err.startswith("Error: ")
        said.add(err)
    assert len(said) == 1


class Panic(BaseException):
    """Engines written in Rust panic with something that is no Exception."""


@pytest.mark.parametrize("failure", [RuntimeError, ValueError, MemoryError, Panic])
def test_an_unforeseen_error_shows_nothing_of_the_data(
    failure: type[BaseException],
    capsys: pytest.CaptureFixture[str],
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def explode(*_: object, **__: object) -> None:
        raise failure("the salary of Ada is 4242")

    monkeypatch.delenv("GAUSSMITH_DEBUG", raising=False)
    monkeypatch.setattr(mechanism, "total_all", explode)
    for extra in ([], ["--json"]):
        code, out, err = run(capsys, "release", "people.parquet", *SUM, *GUARANTEE, *extra)
        assert (code, out) == (4, "")
        assert len(err.splitlines()) == 1
        assert "4242" not in err and "Ada" not in err
    monkeypatch.setenv("GAUSSMITH_DEBUG", "1")
    assert "4242" in run(capsys, "release", "people.parquet", *SUM, *GUARANTEE)[2]


def test_all_output_depends_on_data_through_the_released_values_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same noisy sums, two very different files give the same bytes everywhere."""
    totals: list[object] = []
    real = mechanism.total_all

    def frozen(*arguments: object, **keywords: object) -> object:
        totals.append(real(*arguments, **keywords))  # type: ignore[arg-type]
        return totals[0]

    monkeypatch.setattr(mechanism, "total_all", frozen)
    monkeypatch.setattr(mechanism, "normal_integers", lambda size, bits=52: np.full(size, 1 << 50))
    seen = []
    for name, ages in (("one", [1.0] * 4987), ("two", [None, math.nan, math.inf, 90.0, -5.0])):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        pl.DataFrame({"age": ages}, strict=False).write_parquet("people.parquet")
        words = ["--mean", "age:0:100", "--count", *GUARANTEE, "--out", "out"]
        printed = run(capsys, "release", "people.parquet", *words)
        seen.append((printed, {file.name: file.read_bytes() for file in (folder / "out").iterdir()}))
    assert len(totals) == 2 and totals[0] != totals[1]
    assert seen[0] == seen[1]  # and nowhere the true count, which is no number that an axis marks
    assert not any(re.search(rb"(?<![\d.])4,?987(?!\d)", text) for text in seen[0][1].values())


def test_a_folder_that_fails_after_the_release_does_not_lose_it(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    code, out, err = run(capsys, "release", "people.parquet", *SUM, "--mu", "1", "--out", "out")
    assert code == 4 and out.splitlines()[1].startswith("age_sum")
    assert "the release itself is complete" in err


def test_a_closed_pipe_takes_no_files_away(tmp_path: Path) -> None:
    """As in `gaussmith release … --out DIR | head -1`: the folder is written before anything is printed."""
    source, sink = os.pipe()
    os.close(source)
    words = [HEALTH, "--count", "--mu", "1", "--out", "out"]
    with os.fdopen(sink, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "gaussmith", "release", *words],
            stdout=closed, stderr=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(SRC)},
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (141, b"")
    assert {"release.json", "answers.csv", "report.html"} <= {file.name for file in (tmp_path / "out").iterdir()}

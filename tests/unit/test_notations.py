"""What an error tells to write is written as the request was: in Python, as TOML or as flags."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.cli.flags import add_request_flags, asked_fields
from gaussmith.cli.parser import Parser
from gaussmith.notations import FLAGS as IN_FLAGS
from gaussmith.notations import TOML, notation, setting, written_in
from gaussmith.requests.fields import ENTRIES
from gaussmith.requests.readers import READERS

G = gm.Guarantee(epsilon=1, delta=1e-6)
FLAGS = ["--epsilon", "1", "--delta", "1e-6"]


def refusal_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) != 0
    return " ".join(capsys.readouterr().err.split())


def refusal_of_file(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    (folder / "request.toml").write_text(f'source = "loans.csv"\nguarantee = {{ mu = 1 }}\n{text}\n')
    return refusal_of(["plan", str(folder / "request.toml")], capsys)


# -- one sentence in three notations ----------------------------------------------------------------------------------


def test_bounds_are_told_in_the_notation_of_the_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with refused("column-without-bounds", says='write bounds={"fine": (0, 100)}, or means={"fine": (0, 100)}'):
        gm.Request("loans.csv", means=["fine"], guarantee=G)
    told = refusal_of(["plan", "--mean", "fine", *FLAGS], capsys)
    assert told.endswith("write --bounds fine:0:100, or --mean fine:0:100")
    told = refusal_of_file('means = ["fine"]', tmp_path, capsys)
    assert told.endswith("write bounds = { fine = [0, 100] }, or means = { fine = [0, 100] }")


def test_nothing_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with refused("nothing-asked", says="such as count=True"):
        gm.Request("loans.csv", guarantee=G)
    assert refusal_of(["plan", *FLAGS], capsys).endswith("such as --count")
    assert refusal_of_file("", tmp_path, capsys).endswith("such as count = true")


def test_private_bins_are_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    told = refusal_of(["plan", "--median", "days", *FLAGS], capsys)
    assert "or --bins days=private to learn them" in told and "{" not in told


def test_a_request_from_a_file_is_released_in_its_own_notation(tmp_path: Path) -> None:
    """What only the types of columns show is told as the request was written, too."""
    pl.DataFrame({"fine": [0.5, 1.0]}).write_parquet(tmp_path / "loans.parquet")
    (tmp_path / "request.toml").write_text(
        'source = "loans.parquet"\nhistograms = { fine = [0, 10, 20] }\nguarantee = { mu = 1 }'
    )
    request = gm.Request.from_toml(tmp_path / "request.toml")
    with refused("bins-or-values", says="write { bins = [0, 10, 20] }"):
        gm.release(request)
    written = gm.Request(tmp_path / "loans.parquet", histograms={"fine": [0, 10, 20]}, guarantee=G)
    with refused("bins-or-values", says='write {"bins": [0, 10, 20]}'):
        gm.release(written)
    assert (request.notation, written.notation, notation()) == ("toml", "python", "python")


def test_a_notation_ends_where_it_began() -> None:
    with pytest.raises(ZeroDivisionError), written_in(TOML):
        assert notation() == TOML
        raise ZeroDivisionError
    assert notation() == "python"


@pytest.mark.parametrize(
    ("field", "value", "python", "toml", "flags"),
    [
        ("count", True, "count=True", "count = true", "--count"),
        ("count", "rows", 'count="rows"', 'count = "rows"', "--count-rows"),
        ("rows_per_unit", 12, "rows_per_unit=12", "rows_per_unit = 12", "--rows-per-unit 12"),
        ("means", {"fine": [0, 20]}, 'means={"fine": (0, 20)}', "means = { fine = [0, 20] }", "--mean fine:0:20"),
        (
            "means",
            {"my fine": (0, 20.5)},
            'means={"my fine": (0, 20.5)}',
            'means = { "my fine" = [0, 20.5] }',
            "--mean 'my fine':0:20.5",
        ),
        ("bounds", "private", 'bounds="private"', 'bounds = "private"', "--bounds private"),
        (
            "bins",
            {"age": [18, 40, ...]},
            'bins={"age": [18, 40, …]}',
            "bins = { age = [18, 40, …] }",
            "--bins age=18,40,…",
        ),
        ("", {"bins": [0, 1]}, '{"bins": [0, 1]}', "{ bins = [0, 1] }", "--bins NAME=0,1"),
        ("between", [0, 100], '"between": [0, 100]', "between = [0, 100]", "…:0:100"),
        ("by", {"a": "found"}, 'by={"a": "found"}', 'by = { a = "found" }', "--by-found a"),
        (
            "by",
            {"age": {"bins": [18, 40]}},
            'by={"age": {"bins": [18, 40]}}',
            "by = { age = { bins = [18, 40] } }",
            "--by age --bins age=18,40",
        ),
        ("by", ..., "by=…", "by = …", "--by …"),
        ("where", "a == 3", 'where="a == 3"', 'where = "a == 3"', "--where 'a == 3'"),
        ("columns", {"b": "a > 1"}, 'columns={"b": "a > 1"}', 'columns = { b = "a > 1" }', "--column b='a > 1'"),
        (
            "marginals",
            [["a", "b"], ["c"]],
            'marginals=[["a", "b"], ["c"]]',
            'marginals = [["a", "b"], ["c"]]',
            "--marginal a,b --marginal c",
        ),
        (
            "regression",
            {"of": "a", "on": ["b"]},
            'regression={"of": "a", "on": ["b"]}',
            'regression = { of = "a", on = ["b"] }',
            "--regression a~b",
        ),
        ("complete", ["a", "b"], 'complete=["a", "b"]', 'complete = ["a", "b"]', "--complete a --complete b"),
        ("group_weights", {"n": 4}, 'group_weights={"n": 4}', "group_weights = { n = 4 }", "--group-weights n=4"),
        ("keys_first", True, "keys_first=True", "keys_first = true", "--keys-first"),
        ("keys_delta", 1e-7, "keys_delta=1e-7", "keys_delta = 1e-7", "--keys-delta 1e-7"),
        ("question", ..., "gaussmith.Question(…)", "[[question]]", "[[question]]"),
        ("share", 2, "share=2", "share = 2", "share = 2"),
        (
            "guarantee",
            {"epsilon": 1, "delta": 1e-6},
            "guarantee=gaussmith.Guarantee(epsilon=1, delta=1e-6)",
            "guarantee = { epsilon = 1, delta = 1e-6 }",
            "--epsilon 1 --delta 1e-6",
        ),
    ],
)
def test_a_field_in_three_notations(field: str, value: Any, python: str, toml: str, flags: str) -> None:
    assert setting(field, value) == python
    with written_in(TOML):
        assert setting(field, value) == toml
    with written_in(IN_FLAGS):
        assert setting(field, value) == flags


@pytest.mark.parametrize("name", [name for name, each in ENTRIES.items() if name not in ("questions", "about")])
def test_every_field_is_written_so_that_it_is_read_back(name: str) -> None:
    """The example of each field, in Python, as TOML and, where there are flags for it, as flags."""
    example = eval(ENTRIES[name].example, {"Guarantee": dict})
    assert eval(f"dict({setting(name, example)})", {"gaussmith": gm}).keys() == {name}
    with written_in(TOML):
        assert tomllib.loads(setting(name, example)) == {name: json.loads(json.dumps(example))}
    if ENTRIES[name].flags and name != "source":
        parser = Parser("plan", "Plan.")
        add_request_flags(parser)
        with written_in(IN_FLAGS):
            words = shlex.split(setting(name, example))
        said = asked_fields(parser.parse(words), ["a.csv"])[name]
        read = READERS.get(name, lambda _, value: value)
        assert read(name, said) == read(name, example)


# -- what was meant ---------------------------------------------------------------------------------------------------


def test_a_group_of_two_keys_is_told_how_to_be_written(tmp_path: Path) -> None:
    table = pl.DataFrame({"branch": ["Central", "East"] * 50, "genre": ["crime", "poetry"] * 50})
    keys: dict[str, Any] = {"branch": ["Central", "East"], "genre": ["crime", "poetry"]}
    release = gm.release(gm.Request(table, by=keys, count=True, guarantee=gm.Guarantee(mu=1e5)))
    one = 'write release["Central", "crime"], or release.total(branch="Central") for all of them together'
    with refused("group-with-too-few-keys", says=one, group="Central"):
        release["Central"]
    with refused("group-with-too-few-keys", says='write release["Central", "crime"]', group="Central · crime"):
        release["Central · crime"]
    with refused("no-such-group", says='did you mean ("Central", "crime")?'):
        release["Central", "crim"]
    with refused("release-of-several-groups", says='choose one: release["Central", "crime"]'):
        release["count"].value  # noqa: B018
    with refused("no-such-group", says='did you mean ("East", "poetry")?'):
        release.contrasts(against=("East", "poetri"))
    assert release["Central", "crime"]["count"].value == pytest.approx(50, abs=0.1)
    assert release.total(branch="Central")["count"].value == pytest.approx(50, abs=0.1)


def test_found_groups_of_two_keys_have_no_total() -> None:
    table = pl.DataFrame({"branch": ["Central"] * 500, "genre": ["crime"] * 500})
    by = {"branch": "found", "genre": "found"}
    release = gm.release(gm.Request(table, by=by, count=True, guarantee=G))
    with refused("group-with-too-few-keys", says='write release["Central", "crime"]') as caught:
        release["Central"]
    assert "total" not in caught.value.remedy


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--by", "branch:East,West", "--count"], "write --by branch=East,West"),
        (["--histogram", "genre:crime,poetry"], "write --histogram genre=crime,poetry"),
        (["--mean", "fine=0,20"], "write --mean fine:0:20"),
        (["--mean", "fine=0:20"], "write --mean fine:0:20"),
        (["--mean", "fine:-1.5,20"], "write --mean fine:-1.5:20"),
        (["--bounds", "fine=0,20", "--mean", "fine"], "write --bounds fine:0:20"),
    ],
)
def test_other_signs_in_flags(flags: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal_of(["plan", *flags, *FLAGS], capsys).endswith(says)


def test_a_name_with_a_colon_may_have_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--by", "a:b", "--values", "a:b=x,y", "--count", *FLAGS]) == 0


def test_keys_in_one_text_are_told_as_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refusal_of_file('count = true\nby = { branch = "East, West" }', tmp_path, capsys)
    assert told.endswith('write by = { branch = ["East", "West"] }')
    with refused("keys-not-listed", says='write by={"branch": ["East", "West"]}'):
        gm.Request("loans.csv", count=True, by={"branch": "East, West"}, guarantee=G)
    with refused("histogram-values-not-listed", says='write histograms={"genre": ["crime"]}'):
        gm.Request("loans.csv", histograms={"genre": "crime"}, guarantee=G)


@pytest.mark.parametrize(("given", "says"), [("20", "=20"), (20.0, "=20"), ("some", "=1"), ("0", "=1"), (0, "=1")])
def test_a_limit_in_quotes_is_told_without(given: object, says: str) -> None:
    for limit in ("rows_per_unit", "groups_per_unit"):
        fields: dict[str, Any] = {limit: given}
        with refused("whole-number-out-of-range") as caught:
            gm.Request("loans.csv", unit="member", count=True, by={"a": [*range(30)]}, guarantee=G, **fields)
        assert caught.value.remedy == f"write {limit}{says}"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((1, 1e-6), "write Guarantee(epsilon=1, delta=1e-06)"),
        ((1,), "write Guarantee(epsilon=1, delta=1e-6), or Guarantee(mu=1)"),
        (("1",), "write Guarantee(epsilon=1, delta=1e-6)"),
    ],
)
def test_a_guarantee_without_names(given: tuple[Any, ...], says: str) -> None:
    with refused("guarantee-without-names") as caught:
        gm.Guarantee(*given)
    assert caught.value.remedy == says


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("means", 'means={"fine": (0, 100)}'),
        ("sums", 'sums={"fine": (0, 100)}'),
        ("medians", 'medians=["fine"], or medians={"fine": (0, 200000)}'),
        ("quantiles", 'quantiles={"fine": [0.1, 0.5, 0.9]}'),
        ("histograms", 'histograms={"fine": ["good", "fair", "poor"]}'),
    ],
)
def test_a_column_alone_is_told_by_its_name(field: str, says: str) -> None:
    fields: dict[str, Any] = {field: "fine"}
    with refused(caught_code(field), says=f"write {says}"):
        gm.Request("loans.csv", guarantee=G, **fields)


def caught_code(field: str) -> str:
    codes = {
        "medians": "medians-not-listed",
        "quantiles": "quantiles-not-a-mapping",
        "histograms": "values-not-a-mapping",
    }
    return codes.get(field, "bounds-not-a-mapping")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("count = True", "true and false are written in small letters: count = true"),
        ("data = loans.csv", 'text goes in quotes: data = "loans.csv"'),
        ("where = age >= 18", 'text goes in quotes: where = "age >= 18"'),
        ("by = { branch = [East] }", "mend that line: text goes in quotes"),
    ],
)
def test_a_line_that_is_not_toml(line: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refusal_of_file(line, tmp_path, capsys)
    assert f"line 3 {line} it is not TOML: " in told and says in told


def test_a_line_with_a_password_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for source in ("postgresql://ada:lovelace@host/a", "host=db password=lovelace"):
        assert "lovelace" not in refusal_of_file(f"data = {source}", tmp_path, capsys)


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow")])
def test_a_frame_needs_its_package(method: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = gm.plan(gm.Box({"a": (0, 1)}), G).release([[1.0]])
    monkeypatch.setitem(sys.modules, package, None)
    with refused("frame-package-missing", says=f"pip install {package}", package=package):
        getattr(release, method)()


def test_a_look_at_a_ledger_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    told = refusal_of(["ledger", "show", "nope.ledger"], capsys)
    assert "charged only" not in told and "check the name, or create it: gaussmith ledger init nope.ledger" in told
    with refused("no-such-ledger", says='gaussmith.Ledger.create("nope.ledger", gaussmith.Guarantee(epsilon=3'):
        gm.Ledger("nope.ledger").history()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["ledger", "show"],
            "no LEDGER gaussmith ledger needs it write for example gaussmith ledger show study.ledger",
        ),
        (["ledger"], "no ACTION, LEDGER gaussmith ledger needs them write for example gaussmith ledger init"),
        (
            ["suggest"],
            "no SOURCE, --out gaussmith suggest needs them write for example gaussmith suggest people.parquet",
        ),
        (["suggest", "a.csv"], "no --out gaussmith suggest needs it write for example gaussmith suggest"),
        (["plan", "--epsilon"], "--epsilon expected one argument see gaussmith plan --help"),
    ],
)
def test_what_is_left_out_is_told_with_an_example(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"Error: {says}" in refusal_of(words, capsys)


def test_what_a_mean_about_a_population_needs() -> None:
    table = pl.DataFrame({"member": [i // 2 for i in range(2000)], "days": [float(i % 40) for i in range(2000)]})
    asked: dict[str, Any] = {"means": {"days": (0, 60)}, "unit": "member", "guarantee": gm.Guarantee(mu=1e5)}
    over_rows = gm.release(gm.Request(table, rows_per_unit=2, **asked))
    needs = 'mean_of="units" with variances={"days": (0, 60)}; or leave population out'
    with refused("sampling-error-unknown", says=needs):
        over_rows["days_mean"].interval(population=True)
    of_people = gm.release(gm.Request(table, mean_of="units", **asked))
    with refused("sampling-error-unknown", says='ask for variances={"days": (0, 60)} too'):
        of_people["days_mean"].interval(population=True)
    both = gm.release(gm.Request(table, mean_of="units", variances={"days": (0, 60)}, **asked))["days_mean"]
    assert both.interval(population=True)[0] < both.interval()[0]

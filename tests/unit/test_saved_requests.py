"""`--save-request FILE` writes what was asked by flags: the file asks for the same."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import gaussmith as gm
from gaussmith.cli import main

ASKED = [
    "--count",
    "--unit person --rows-per-unit 12 --groups-per-unit 1 --mean minutes:0:60 --count --by region=north,south",
    "--sum a --mean b --bounds a:0:1 --bounds b:-1.5:2 --where 'b > 0' --weights equal --count-rows",
    "--unit person --ids integer --values-per-unit 2 --histogram 'a b=x,y' --proportion c=1,2",
    "--quantile a=0.25,0.5 --median b:0:10 --bounds a:0:100 --bins c=0,1,5 --by c",
    "--by-found city --unit p --groups-per-unit 2 --count --top 5 --keys-at-least 3 --keys-delta 1e-7",
    "--regression y~a+b --bounds y:0:1 --bounds a:0:1 --bounds b:0:1 --missing a=0.5 --complete b --diagnose",
    "--marginal a,b --values a=1,2 --values b=true,false --neighbours replace-one",
    "--mean a:private --budget bounds=0.1",
    "--person-column visits='count()' --unit p --mean visits:0:20 --column 'd=a / b' --variance d:0:1",
    "--mean a:0:1 --mean-of units --rows-per-unit 3 --unit p --mean-within a:0.2:0.8",
]


@pytest.mark.parametrize("flags", ASKED)
def test_the_file_asks_for_the_same(
    flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["plan", *shlex.split(flags), "--epsilon", "1", "--delta", "1e-6", "--json"]
    assert main([*words, "--save-request", "asked.toml"]) == 0, capsys.readouterr().err
    plan = gm.read(capsys.readouterr().out)
    assert isinstance(plan, gm.Plan)
    assert gm.Request.from_toml("asked.toml").plan.hash == plan.hash
    assert "None" not in Path("asked.toml").read_text("utf-8")


def test_a_saved_request_is_released_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text("person,minutes\na,1\nb,2\n")
    Path("asked").mkdir()
    words = ["visits.csv", "--unit", "person", "--count", "--mu", "0.5", "--save-request", "asked/visits.toml"]
    assert main(["release", *words]) == 0
    text = Path("asked/visits.toml").read_text("utf-8")
    assert text.splitlines()[1:] == [
        'source = "../visits.csv"',
        'unit = "person"',
        "count = true",
        "guarantee = { mu = 0.5 }",
    ]
    capsys.readouterr()
    assert main(["release", "asked/visits.toml"]) == 0
    assert "count" in capsys.readouterr().out
    assert main(["rehearse", *words]) == 2
    assert "there is such a file, which stays as it is" in capsys.readouterr().err
    for words, says in (
        (["asked/visits.toml", "--save-request", "b.toml"], "the request is a file already"),
        (["visits.csv", "--count", "--mu", "1", "--save-request", "b.txt"], "write --save-request b.txt.toml"),
        (["visits.csv", "--count", "--mu", "1", "--save-request", "no/b.toml"], "it cannot be written"),
        (
            ["--mean", "a:0:1", "--mean", "b", "--bounds", "b:0:1", "--mu", "1", "--save-request", "b.toml"],
            "state it for 'b' too, or for none",
        ),
    ):
        assert main(["rehearse", *words]) == 2
        assert says in capsys.readouterr().err
    assert not Path("b.toml").exists()

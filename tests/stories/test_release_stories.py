"""Whole releases: killed at every failpoint, and compared byte by byte on two tables that differ in one person."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import gaussmith as gm
from gaussmith.errors import DataError
from gaussmith.ledger.chain import NAMES
from gaussmith.ledger.protection import EACH_ROW
from gaussmith.ledger.units import charge_units

WORKER = Path(__file__).with_name("release_worker.py")
SRC = Path(gm.__file__).parents[1]
ROW = {"person": pl.Int64, "region": pl.String, "spent": pl.Float64, "score": pl.Float64}


def visits(*more: tuple[Any, ...]) -> pl.DataFrame:
    rows = [(i % 30, ("north", "south", "west")[i % 3], float(i), float(i % 70)) for i in range(123)]
    return pl.DataFrame([*rows, *more], schema=ROW, orient="row")


def run(folder: Path, *words: str, check: bool = True) -> tuple[str, str]:
    environment = os.environ | {"PYTHONPATH": str(SRC), "PYTHONUTF8": "1"}
    environment.pop("GAUSSMITH_DEBUG", None)
    command = [sys.executable, str(WORKER), *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=check
    )
    return done.stdout, done.stderr


# -- killed at any point ----------------------------------------------------------------------------------------------


def test_a_kill_anywhere_in_a_release_neither_loses_a_charge_nor_shows_two_values(tmp_path: Path) -> None:
    visits().write_parquet(tmp_path / "visits.parquet")
    people = gm.Ledger.create(tmp_path / "people.ledger", gm.Guarantee(mu=10))
    rows = gm.Ledger.create(tmp_path / "rows.ledger", gm.Guarantee(mu=10))
    repeats = 2
    out, err = run(tmp_path, "crash", "people.ledger", "rows.ledger", str(repeats))
    cases = json.loads(out)
    assert err == ""
    assert Counter(case["place"] for case in cases) == dict.fromkeys(NAMES, 4 * repeats)
    assert all(case["killed"] for case in cases)
    assert sum(case["failed"] for case in cases) == 0
    assert {case["shown"] for case in cases} == {1}
    assert all(case["is stored"] for case in cases)
    assert len({case["value"] for case in cases}) == len(cases)  # fresh noise for every id
    for ledger, unit in ((people, ("person",)), (rows, EACH_ROW)):
        own = [case["value"].encode() for case in cases if (case["kind"] == "rows") == (ledger is rows)]
        found = ledger.verify(records=own)
        assert found.spent == len(own) * charge_units(0.125)
        assert (found.releases, found.pending, found.unit) == (len(own), (), unit)
    assert {file.name for file in tmp_path.iterdir()} == {
        "visits.parquet", "people.ledger", "people.ledger.head", "rows.ledger", "rows.ledger.head",
    }  # fmt: skip


# -- two tables that differ in one person -----------------------------------------------------------------------------

ADDED = [(99, "north", 1e308, math.nan), (99, None, None, math.inf), (99, "south", -5.0, 0.0)] * 40
ODD = {
    "nobody more": (),
    "a person with many odd rows": tuple(ADDED),
    "a person with one row": ((99, "nowhere", math.nan, -math.inf),),
    "rows without a person": ((None, "north", 3.0, 3.0),) * 7,
}

REQUEST = """
source = "visits.parquet"
unit = "person"
rows_per_unit = 3
guarantee = { epsilon = 1, delta = 1e-6 }
[[question]]
name = "spending"
sums = { spent = [0, 500], ratio = [0, 9] }
means = { score = [0, 100] }
columns = { ratio = "spent / score" }
where = "score > 1 or is_null(score)"
[[question]]
name = "regions"
count = "rows"
by = { region = ["north", "south", "empty"] }
groups_per_unit = 2
"""

GUARANTEE = ["--epsilon", "1", "--delta", "1e-6"]
CHARGE = ["--ledger", "study.ledger"]
COMMANDS = [
    ["ledger", "init", "study.ledger", "--epsilon", "9", "--delta", "1e-6", "--dataset", "visits"],
    ["ledger", "init", "rows.ledger", "--epsilon", "9", "--delta", "1e-6", "--each-row"],
    ["plan", "request.toml", *CHARGE],
    ["release", "request.toml", *CHARGE, "--id", "questions", "--out", "questions"],
    ["release", "visits.csv", "--sum", "spent:0:500", "--mean", "score:0:100", "--count", *GUARANTEE,
     "--ledger", "rows.ledger", "--out", "rows"],
    ["release", "visits.parquet", "--count", *GUARANTEE, *CHARGE],
    ["release", "visits.parquet", "--sum", "spent:0:500", "--count", "--unit", "person", *GUARANTEE, "--json"],
    ["release", "visits.parquet", "--mean", "score:0:100", "--unit", "person", "--rows-per-unit", "2", "--by",
     "region=north,south", "--groups-per-unit", "1", *GUARANTEE, *CHARGE, "--out", "groups"],
    ["release", "request.toml", *CHARGE, "--id", "questions", "--json"],
    ["release", "visits.parquet", "--sum", "spend:0:500", *GUARANTEE],
    ["release", "visits.parquet", "--count", "--epsilon", "20", "--delta", "1e-6", *CHARGE],
    ["release", "broken.parquet", "--count", "--unit", "person", *GUARANTEE],
    ["ledger", "show", "study.ledger"],
    ["ledger", "verify", "study.ledger"],
]  # fmt: skip


def everything(folder: Path, table: pl.DataFrame) -> dict[str, bytes]:
    """All that is written when the commands run on a table: both streams and every file but the data."""
    folder.mkdir()
    table.write_parquet(folder / "visits.parquet")
    table.with_columns(pl.col("spent").cast(pl.String).fill_null("none at all")).write_csv(folder / "visits.csv")
    whole = (folder / "visits.parquet").read_bytes()
    (folder / "broken.parquet").write_bytes(b"PAR1" + b"\0" * 200 + whole[200:])  # its columns are told, its pages not
    (folder / "request.toml").write_text(REQUEST)
    given = {path.name for path in folder.iterdir()}
    out, err = run(folder, "frozen", json.dumps(COMMANDS))
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    found = {name: path.read_bytes() for name, path in files.items() if name not in given}
    return {"stdout": out.encode(), "stderr": err.encode(), **found}


def test_all_that_is_written_depends_on_the_data_through_the_released_values_alone(tmp_path: Path) -> None:
    seen = {name: everything(tmp_path / str(i), visits(*more)) for i, (name, more) in enumerate(ODD.items())}
    first = seen.pop("nobody more")
    text = first["stdout"].decode()
    assert text.count("exit code 0") == 10
    assert [line for line in text.splitlines() if line.startswith("exit code") and line != "exit code 0"] == [
        "exit code 2", "exit code 2", "exit code 3", "exit code 4",
    ]  # fmt: skip
    assert {"study.ledger", "questions/release.json", "rows/report.html", "groups/answers.parquet"} <= set(first)
    for name, other in seen.items():
        assert set(other) == set(first), name
        for file, content in other.items():
            assert content == first[file], (name, file)
    # The number of rows, and of people, is in none of it.
    assert visits().height == 123
    for file in ("stdout", "stderr", "rows/release.json"):
        assert b" 123 " not in first[file] and b'"records": null' in first["rows/release.json"]


def test_a_person_replaced_changes_nothing_but_released_values_where_their_number_is_public(tmp_path: Path) -> None:
    words = ["--sum", "spent:0:500", "--mean", "score:0:100", "--count", "--unit", "person", "--rows-per-unit", "3"]
    command = ["release", "visits.parquet", *words, "--neighbours", "replace-one", *GUARANTEE, "--out", "out"]
    seen = []
    for i, rows in enumerate((((99, "north", 1.0, 2.0),), tuple(ADDED))):
        folder = tmp_path / str(i)
        folder.mkdir()
        visits(*rows).write_parquet(folder / "visits.parquet")
        out, err = run(folder, "frozen", json.dumps([command]))
        seen.append((out, err, {path.name: path.read_bytes() for path in (folder / "out").iterdir()}))
    assert seen[0] == seen[1]
    assert json.loads(seen[0][2]["release.json"])["queries"][0]["records"] == 31


def test_a_leak_would_be_noticed(tmp_path: Path) -> None:
    """Unfrozen, the same two tables give other bytes: the comparison above is not blind."""
    seen = []
    for i, more in enumerate(((), tuple(ADDED))):
        folder = tmp_path / str(i)
        folder.mkdir()
        visits(*more).write_parquet(folder / "visits.parquet")
        request = gm.Request(str(folder / "visits.parquet"), count="rows", unit="person", rows_per_unit=99,
                             guarantee=gm.Guarantee(mu=1000))  # fmt: skip
        seen.append(round(gm.release(request)["count"].value))
    assert seen == [123, 222]


@pytest.mark.parametrize("kind", ["unit", "by", "where", "columns"])
def test_a_failure_after_the_data_is_open_says_nothing(kind: str, tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "unit": {"unit": "person"},
        "groups_per_unit": 1,
        "by": {"by": {"region": ["north"]}},
        "where": {"where": "spent > 3"},
        "columns": {"columns": {"twice": "spent * 2"}},
    }[kind]
    file = tmp_path / "visits.parquet"
    visits().write_parquet(file)
    whole = file.read_bytes()
    file.write_bytes(b"PAR1" + b"\0" * 200 + whole[200:])
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1))
    with pytest.raises(DataError) as caught:
        gm.release(
            gm.Request(str(file), sums={"spent": (0, 9)}, guarantee=gm.Guarantee(mu=0.5), **fields), ledger=ledger
        )
    assert str(caught.value) == (
        "the data could not be read to the end · details are hidden because they could contain data · "
        "check that other tools can read every file or table completely"
    )
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert ledger.spent == charge_units(0.5)  # the charge stays

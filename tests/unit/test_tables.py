"""The table of a release for other programs: CSV, Parquet, Arrow and pandas."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from fixed_noise import fixed_noise

import gaussmith as gm

pa = pytest.importorskip("pyarrow", reason="pyarrow is no part of the core")
pd = pytest.importorskip("pandas", reason="pandas is no part of the core")

G = gm.Guarantee(epsilon=1, delta=1e-6)
PEOPLE = pl.DataFrame({"person": [*range(60)] * 2, "region": ["=north", "south"] * 60, "spent": [3.0] * 120})


def unknown() -> gm.Release:
    """No bounds are found among so few people: every answer is unknown."""
    people = pl.DataFrame({"spent": [3.0] * 3})
    request = gm.Request(people, sums=["spent"], bounds="private", guarantee=gm.Guarantee(epsilon=0.1, delta=1e-9))
    with fixed_noise():  # else noise looks like people in one release of a hundred
        return gm.release(request)


def grouped() -> gm.Release:
    return gm.release(
        gm.Request(
            PEOPLE, unit="person", by={"region": ["=north", "south"]}, groups_per_unit=1, count=True, guarantee=G,
            sums={"spent": (0, 10)},
        )
    )  # fmt: skip


def test_csv_holds_no_number_that_others_cannot_read(tmp_path: Path) -> None:
    release = unknown()
    assert release.rows()[0]["status"] == "unknown"
    text = release.to_csv(tmp_path / "answers.csv")
    assert (tmp_path / "answers.csv").read_bytes() == text.encode()
    for word in ("inf", "nan", "NaN", "null", "None"):
        assert word not in text
    (row,) = csv.DictReader(text.splitlines())
    assert (row["value"], row["lower"], row["status"]) == ("", "", "unknown") and row["note"]
    read = pd.read_csv(tmp_path / "answers.csv")
    assert read["value"].isna().all() and read["value"].dtype == "float64"


def test_csv_holds_no_formula() -> None:
    rows = list(csv.DictReader(grouped().to_csv().splitlines()))
    assert {row["region"] for row in rows} == {"'=north", "south"}
    assert all(float(row["lower"]) <= float(row["upper"]) for row in rows)


def test_parquet_and_arrow_say_what_they_are(tmp_path: Path) -> None:
    release = grouped()
    release.to_parquet(tmp_path / "answers.parquet")
    kept = pl.read_parquet_metadata(tmp_path / "answers.parquet")
    found = {name: value for name, value in kept.items() if name.startswith("gaussmith.")}
    assert found == release.table_metadata()
    assert json.loads(found["gaussmith.guarantee"]) == {
        "epsilon": 1.0,
        "delta": 1e-6,
        "mu": release.plan.spends.mu,
    }
    assert (found["gaussmith.neighbours"], found["gaussmith.unit"]) == ("add-remove", "person")
    assert found["gaussmith.plan_hash"] == release.plan.hash
    assert found["gaussmith.version"] == gm.__version__ and "numpy" in json.loads(found["gaussmith.versions"])
    table = release.to_arrow()
    assert {name.decode(): value.decode() for name, value in table.schema.metadata.items()} == found
    assert pl.read_parquet(tmp_path / "answers.parquet").equals(release.to_polars())
    assert "view" in release.presented().to_arrow().schema.metadata[b"gaussmith.view"].decode()


def test_frames_of_other_libraries_hold_the_same_table() -> None:
    release = grouped()
    rows = release.rows()
    assert release.to_pandas().to_dict("records") == rows
    assert release.to_arrow().to_pylist() == rows
    assert pa.table(release).to_pylist() == rows  # by __arrow_c_stream__
    assert pl.DataFrame(release).rows(named=True) == rows
    assert str(unknown().to_pandas().dtypes["value"]) == "float64"


def test_keys_of_several_questions_keep_their_type_unless_types_differ(tmp_path: Path) -> None:
    table = tmp_path / "rooms.csv"
    table.write_text("floor,room\n1,a\n2,b\n")
    asked = {"name": "floors", "count": True, "by": {"floor": [1, 2]}}

    def keys(other: list[int | str]) -> list[int | str | None]:
        questions = [asked, {"name": "others", "count": True, "by": {"floor": other}}, {"name": "all", "count": True}]
        released = gm.release(gm.Request(str(table), questions=questions, guarantee=G))
        assert released.to_polars()["floor"].to_list() == [row["floor"] for row in released.rows()]
        return [row["floor"] for row in released.rows()]

    assert keys([2, 3]) == [1, 2, 2, 3, None]
    assert keys(["cellar"]) == ["1", "2", "cellar", None]

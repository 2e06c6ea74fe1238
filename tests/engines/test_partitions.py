"""Folders named key=value: text by one rule on every engine, and nothing about one folder depends on another."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refused
from summing import total_groups, total_people, total_records

import gaussmith as gm
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.duckdb import list_files, read_files
from gaussmith.engines.files import Files
from gaussmith.engines.registry import open_source
from gaussmith.expressions.keys import declare_groups
from gaussmith.expressions.spelling import kinds_of, plan_derivation
from gaussmith.totals.features import Coding, Contribution, RowSum

ENGINES = ["polars", "duckdb"]
ONE = BoxEncoding.for_bounds([0], [4096], [0])
UNIT = float(ONE.scale[0])

ODD = {
    "1": "1",
    "01": "01",
    "1.0": "1.0",
    "1e5": "1e5",
    "-0": "-0",
    "true": "true",
    "NULL": "NULL",
    "null": "null",
    "nan": "nan",
    "2024-05-31": "2024-05-31",
    "a b": "a b",
    "a+b": "a+b",
    "a=b": "a=b",
    "a%20b%2Fc": "a b/c",
    "%2f": "/",
    "%25zz": "%zz",
    "%C3%A9": "é",
    "ü": "ü",
    "[x]*?{y}'\"": "[x]*?{y}'\"",
    " ": " ",
    "%zz": None,
    "100%": None,
    "%FF": None,
    "%FE": None,
    "%C3": None,
    "": None,
    "__HIVE_DEFAULT_PARTITION__": None,
}
"""Names of folders, and the text that each stands for."""


def write(root: Path, folders: Iterable[str], **columns: list[Any]) -> Path:
    """One file with these columns in each folder; by default one row with a = 7."""
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
        file = root / "written"
        pl.DataFrame(columns or {"a": [7.0]}).write_parquet(file)
        os.rename(file, root / folder / "0.parquet")
    return root


def add(source: Any, column: str, engine: str | None = None) -> float:
    return total_records(open_source(source, engine), ONE, [column]).sums[0] / UNIT


def people(source: Any, engine: str | None, unit: str = "person", where: str | None = None) -> tuple[int, float]:
    """How many people there are, and the sum of a with at most two rows of each."""
    opened = open_source(source, engine)
    units = Contribution((RowSum("a", Coding.of(ONE)),), unit, 2)
    found = total_people(opened, units, plan_derivation({}, where, kinds_of(opened.schema)))
    return found.records, found.sums[0] / UNIT


def counts(source: Any, engine: str | None, column: str, values: list[Any]) -> list[int]:
    """Rows in each declared group."""
    opened = open_source(source, engine)
    everything = plan_derivation({}, None, kinds_of(opened.schema))
    keys = declare_groups([column], [(value,) for value in values], everything.kinds)
    return [found.records for found in total_groups(opened, Contribution((), None), everything, keys)]


# ---- one folder says nothing about another ---------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("other", ["1e5", "1.5", "x", "true", "2024-01-01", "%FF", "", "-1", "99999999999999999999"])
def test_one_more_person_neither_merges_nor_splits_others(other: str, engine: str, tmp_path: Path) -> None:
    ids = [f"person={10**18 + i}" for i in range(20)]
    assert people(write(tmp_path, ids), engine) == (20, 140.0)
    more = int(other not in ("%FF", ""))  # these have no person
    assert people(write(tmp_path, [f"person={other}"]), engine) == (20 + more, 140.0 + 7 * more)


@pytest.mark.parametrize("engine", ENGINES)
def test_ids_are_texts(engine: str, tmp_path: Path) -> None:
    write(tmp_path, ["person=1/part=0", "person=01/part=0"])
    assert people(tmp_path, engine) == (2, 14.0)
    write(tmp_path, ["person=1/part=1", "person=x/part=0"])
    assert people(tmp_path, engine) == (3, 28.0)


def same_on_every_engine(tmp_path: Path, engines: list[str]) -> None:
    """Every odd name: as an id, a key, a number and in a filter."""
    write(tmp_path, (f"k={name}" for name in ODD))
    texts = [text for text in ODD.values() if text is not None]
    for engine in engines:
        assert open_source(tmp_path, engine).names == ("a", "k")
        assert str(open_source(tmp_path, engine).schema["k"]) == "String"
        assert people(tmp_path, engine, "k") == (len(texts), 7.0 * len(texts))
        assert counts(tmp_path, engine, "k", texts) == [1] * len(texts)
        assert counts(tmp_path, engine, "k", ["%FF", "%FE", "100%", "�", "__HIVE_DEFAULT_PARTITION__", ""]) == [0] * 6
        assert counts(tmp_path, engine, "k", [1, 100000, 0]) == [4, 1, 1]  # 1, 01, 1.0 and true are the number 1
        assert add(tmp_path, "k", engine) == 4.0 + 4096.0
        assert add(tmp_path, "a", engine) == 7.0 * len(ODD)
        for where, rows in {
            "k == 1": 4,
            "k >= '2024-01-01'": 1,
            "k == 'a b/c'": 1,
            "k in ('é', '/', '%zz')": 3,
            "is_null(k)": len(ODD) - len(texts),
            "not is_null(k) and a > 1": len(texts),
            "k == 'nobody'": 0,
        }.items():
            request = gm.Request(str(tmp_path), count=True, where=where, guarantee=gm.Guarantee(mu=1e6))
            assert round(gm.release(request, engine=engine)["count"].value) == rows, where


def test_names_are_read_by_one_rule(tmp_path: Path) -> None:
    same_on_every_engine(tmp_path, ENGINES)


def test_names_are_read_by_one_rule_on_spark(spark: Any, tmp_path: Path) -> None:
    same_on_every_engine(tmp_path, ["spark"])
    refused_where_a_file_has_the_key(tmp_path / "more", "spark")
    opened = open_source(write(tmp_path / "years", ["y=2023", "y=2024"]), "spark")
    assert opened.files is not None and opened.reopen is not None
    remote = Files("store", "Parquet", (f"file://{tmp_path}/years/",), f"file://{tmp_path}/years", remote=True)
    from gaussmith.engines.spark import list_files as list_with_spark
    from gaussmith.engines.spark import read_files as read_with_spark

    found = list_with_spark(remote, None)
    assert found.keys == ("y",) and sorted(found.values.values()) == [("2023",), ("2024",)]
    assert sorted(row["y"] for row in read_with_spark(found, None).collect()) == ["2023", "2024"]
    (tmp_path / "years" / "_delta_log").mkdir()
    (tmp_path / "years" / "_delta_log" / "0.json").touch()
    with refused("inside-a-table-format", source="store", format="Delta Lake"):
        list_with_spark(remote, None)
    root = write(tmp_path / "twice", ["y=1"], y=[1])
    with refused("partition-key-beside-column", key="y", column="y"):
        read_with_spark(replace(remote, root=str(root), paths=(str(root),), keys=("y",)), None)


@pytest.mark.parametrize("engine", ENGINES)
def test_requests_about_partitions(engine: str, tmp_path: Path) -> None:
    write(tmp_path, ["day=2024-05-31/person=1", "day=2024-06-01/person=2", "day=x/person=01"], a=[1.0, 3.0])
    sharp = gm.Guarantee(mu=1e6)
    asked = gm.Request(
        str(tmp_path),
        unit="person",
        groups_per_unit=1,
        rows_per_unit=2,
        sums={"a": (0, 10)},
        by={"day": ["2024-05-31", "x"]},
        guarantee=sharp,
    )
    found = gm.release(asked, engine=engine)
    assert [round(found[day]["a_sum"].value, 2) for day in ("2024-05-31", "x")] == [4.0, 4.0]
    asked = gm.Request(str(tmp_path), histograms={"person": ["1", "01", "3"]}, guarantee=sharp)
    assert [round(answer["value"]) for answer in gm.release(asked, engine=engine).to_dict()["answers"]] == [2, 2, 0]
    asked = gm.Request(str(tmp_path), means={"person": (0, 10)}, where="day < '2024-07-01'", guarantee=sharp)
    release = gm.release(asked, engine=engine)
    assert round(release["person_mean"].value, 3) == 1.5
    assert "is missing or no plain number" in str(release.row_rule)


# ---- what is refused -------------------------------------------------------------------------------------------------


def refused_where_a_file_has_the_key(root: Path, engine: str) -> None:
    write(root, ["Person=1"])
    write(root, ["Person=2"], a=[7.0], person=["2"])
    with refused("partition-key-beside-column", key="Person", column="person"):
        open_source(root, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_that_is_a_column_of_some_file_is_refused(engine: str, tmp_path: Path) -> None:
    refused_where_a_file_has_the_key(tmp_path / "two", engine)
    write(tmp_path / "one", ["person=1"], person=["1"])
    with refused("partition-key-beside-column"):
        open_source(tmp_path / "one", engine)


@pytest.mark.parametrize("folder", ["%zz=1", "%FF=1", "=1", "k=1/k=2", "k=1/K=2", "k=1/%6b=2"])
def test_keys_are_well_formed_and_distinct(folder: str, tmp_path: Path) -> None:
    with refused("partition-key-malformed"):
        open_source(write(tmp_path, [folder]))


def test_keys_are_decoded_too(tmp_path: Path) -> None:
    for engine in ENGINES:
        assert open_source(write(tmp_path, ["%C3%A4ge=1"]), engine).names == ("a", "äge")


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/k=\xff"
    os.mkdir(folder)
    pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "0.parquet")
    os.rename(os.fsencode(tmp_path / "0.parquet"), folder + b"/0.parquet")
    for engine in ENGINES:
        with refused("file-name-not-utf8"):
            open_source(tmp_path, engine)


def test_messages_do_not_show_names_of_folders(tmp_path: Path) -> None:
    write(tmp_path, ["person=secret1", "person=secret2"])
    (tmp_path / "person=secret2" / "0.parquet").write_bytes(b"PAR1")
    for engine in ENGINES:
        with refused("one-file-damaged", format="Parquet") as caught:
            open_source(tmp_path, engine)
        assert "secret" not in f"{caught.value} {caught.value.fields}"


# ---- many folders, and those of stores -------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_thousand_folders_are_read_in_a_moment(engine: str, tmp_path: Path) -> None:
    write(tmp_path, (f"person={i}" for i in range(1000)), a=[1.0] * 100)
    start = time.process_time()
    assert people(tmp_path, engine) == (1000, 2000.0)
    assert people(tmp_path, engine, where="person >= 990") == (10, 20.0)
    assert time.process_time() - start < 5


def test_a_filter_on_keys_is_decided_before_files_are_opened(tmp_path: Path) -> None:
    from gaussmith.engines.source import narrowed

    write(tmp_path, [f"year={year}/region={region}" for year in ("2023", "2024", "x") for region in "ns"])
    asked_of_rows = ("year == 2023 or a > 1", "year + a > 1")
    for engine in ENGINES:
        source = open_source(tmp_path, engine)
        for where, (files, rows) in {
            "year >= 2024": (2, 2),
            "year >= 2023 and region == 'n' and a > 1": (2, 2),
            "year == 2023 and a > 7": (2, 0),
            "year == 2023 or region == 'n'": (4, 4),
            "year == 2023 or a > 1": (6, 6),
            "year + a > 1": (6, 4),
            "year == 1900": (1, 0),  # one is kept for its schema
        }.items():
            left, rest = narrowed(source, plan_derivation({}, where, kinds_of(source.schema)))
            assert left.files is not None and len(left.files.paths) == files, where
            assert ("year" in rest.columns_used) == (where in asked_of_rows), where
            assert total_people(left, Contribution((), None), rest).records == rows, where


def test_duckdb_lists_stores_and_reads_their_folders_by_the_same_rule(tmp_path: Path) -> None:
    """A folder of this machine, opened as stores are: DuckDB finds the files."""
    root = write(tmp_path / "a=0", [f"k={name}" for name in ODD if name])
    for address in (f"{root}/", f"{root}/*/*.parquet"):
        found = list_files(Files("store", "Parquet", (address,), str(root), remote=True))
        assert found.keys == ("k",) and found.is_listed
        rows = read_files(found).project("k").fetchall()
        assert sorted(str(k) for (k,) in rows) == sorted(str(text) for name, text in ODD.items() if name)
    plain = Files("store", "Parquet", (f"{root}/k=1/*.parquet",), f"{root}/k=1", remote=True)
    assert list_files(plain) == plain and read_files(plain).columns == ["a"]
    root = write(tmp_path / "twice", ["person=1"], person=["1"])
    found = list_files(Files("store", "Parquet", (f"{root}/",), str(root), remote=True))
    with refused("partition-key-beside-column", key="person", column="person"):
        read_files(found)
    (root / "_delta_log").mkdir()
    (root / "_delta_log" / "0.json").touch()
    with refused("inside-a-table-format", source="store", format="Delta Lake"):
        list_files(Files("store", "Parquet", (f"file://{root}/",), str(root), remote=True))

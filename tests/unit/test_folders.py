"""What folders may hold: names that are decoded, one file under many names, and tables of other formats."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal, refused
from summing import total_people, total_records

from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.files import MISSING, decode_name
from gaussmith.engines.registry import open_source
from gaussmith.expressions.spelling import kinds_of, plan_derivation
from gaussmith.totals.features import Contribution

ONE = BoxEncoding.for_bounds([0], [4096], [0])
ENGINES = ["polars", "duckdb"]


def add(source: Any, engine: str | None = None) -> float:
    return total_records(open_source(source, engine), ONE, ["a"]).sums[0] / float(ONE.scale[0])


def people(source: Any, engine: str, unit: str) -> int:
    opened = open_source(source, engine)
    return total_people(opened, Contribution((), unit), plan_derivation({}, None, kinds_of(opened.schema))).records


def write(path: Path, a: float = 7.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"a": [a]}).write_parquet(path)
    return path


# ---- names -----------------------------------------------------------------------------------------------------------

NAMES = st.text(st.sampled_from("%2F5cCzé/+ 1a\0") | st.characters(exclude_categories=["Cs"]), max_size=12)


@given(NAMES)
def test_every_text_but_the_empty_one_can_be_written_and_is_read_back(text: str) -> None:
    for written in (quote(text, safe=""), quote(text, safe=" +=éü")):
        if written != MISSING:
            assert decode_name(written) == (text or None)


@given(NAMES, NAMES)
def test_names_that_stand_for_different_bytes_are_different_or_missing(one: str, other: str) -> None:
    if unquote_to_bytes(one) != unquote_to_bytes(other):
        assert decode_name(one) is None or decode_name(one) != decode_name(other)


@given(NAMES)
def test_a_malformed_name_is_missing(text: str) -> None:
    assert decode_name(f"{text}%") is None and decode_name(f"%z{text}") is None and decode_name(f"{text}%FF") is None


# ---- one file under many names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hard_link_is_the_same_file(engine: str, tmp_path: Path) -> None:
    file = write(tmp_path / "x" / "0.parquet")
    write(tmp_path / "x" / "1.parquet", 9.0)
    os.link(file, tmp_path / "x" / "2.parquet")
    os.symlink("2.parquet", tmp_path / "x" / "3.parquet")
    for pattern in ("x", "x/*.parquet", "**/*.parquet", "x/[0-9].parquet"):
        assert add(tmp_path / pattern, engine) == 16.0
    assert add(tmp_path / "x" / "[23].parquet", engine) == 7.0


def test_a_hard_linked_text_file_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("a\n5\n")
    os.link(tmp_path / "0.csv", tmp_path / "1.csv")
    (tmp_path / "2.csv").write_text("a\n5\n")  # the same bytes, and another file
    assert add(tmp_path / "*.csv") == 10.0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_is_linked_into_two_partitions_is_in_neither(engine: str, tmp_path: Path) -> None:
    """Else the rows of one person would become another's when the first is removed."""
    file = write(tmp_path / "person=1" / "year=1" / "0.parquet")
    write(tmp_path / "person=3" / "year=1" / "0.parquet")
    assert people(tmp_path, engine, "person") == 2
    (tmp_path / "person=2" / "year=1").mkdir(parents=True)
    os.link(file, tmp_path / "person=2" / "year=1" / "0.parquet")
    assert people(tmp_path, engine, "person") == 1
    assert people(tmp_path, engine, "year") == 1
    assert add(tmp_path, engine) == 14.0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_symbolic_link_into_another_partition_says_nothing(engine: str, tmp_path: Path) -> None:
    write(tmp_path / "day=2024-05-31" / "0.parquet")
    os.symlink("day=2024-05-31", tmp_path / "day=0")
    opened = open_source(tmp_path / "*" / "*.parquet", engine)
    assert opened.files is not None and list(opened.files.values.values()) == [("2024-05-31",)]
    assert people(tmp_path / "*" / "*.parquet", engine, "day") == 1


# ---- tables of other formats -----------------------------------------------------------------------------------------

ICEBERG = refusal("inside-a-table-format", says="pl.scan_iceberg", format="Apache Iceberg")
LOGS = {
    "_delta_log/00000000000000000000.json": refusal("inside-a-table-format", says="pl.scan_delta", format="Delta Lake"),
    "metadata/v3.metadata.json": ICEBERG,
    "metadata/00001-0d3ff6b6-81ac-4a08-8c26-3a5b1ef9d0a0.metadata.json": ICEBERG,
    ".hoodie/hoodie.properties": refusal("inside-a-table-format", says="format('hudi')", format="Apache Hudi"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("log", LOGS)
def test_table_formats_are_refused_however_they_are_reached(log: str, engine: str, tmp_path: Path) -> None:
    table = tmp_path / "lake" / "table"
    file = write(table / "data" / "year=2024" / "0.parquet")
    write(tmp_path / "lake" / "other" / "year=2024" / "0.parquet")
    os.symlink(file, tmp_path / "link.parquet")
    reached = ["lake/table", "lake", "lake/*/*/*/*.parquet", "lake/table/**/*.parquet", "lake/table/data/*/*.parquet"]
    reached += ["lake/table/data/year=2024", "lake/table/data/year=2024/0.parquet", "link.parquet", "*.parquet"]
    for path in reached:
        open_source(tmp_path / path, engine)
    (table / log).parent.mkdir(parents=True)
    (table / log).touch()
    for path in reached:
        with refused(LOGS[log]):
            open_source(tmp_path / path, engine)
    assert add(tmp_path / "lake" / "other", engine) == 7.0


def test_other_folders_called_metadata_are_no_tables(tmp_path: Path) -> None:
    write(tmp_path / "visits" / "0.parquet")
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "visits.metadata.json").touch()  # Iceberg would give it a number
    (tmp_path / "visits" / "metadata").mkdir()
    (tmp_path / "visits" / "metadata" / "readme.json").touch()
    assert add(tmp_path / "visits") == add(tmp_path / "visits" / "*.parquet") == 7.0
    (tmp_path / "visits" / "metadata" / "visits.metadata.json").touch()
    with refused("inside-a-table-format", format="Apache Iceberg"):
        open_source(tmp_path / "visits")

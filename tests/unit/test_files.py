"""Many files, partitions, stores and databases: what is read, what is not, and what is refused before a charge."""

from __future__ import annotations

import io
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from refusals import refused
from store import Store, serve
from summing import total_records

import gaussmith as gm
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import check_columns
from gaussmith.errors import DataError

ONE = BoxEncoding.for_bounds([0], [4096], [0])
G = gm.Guarantee(mu=1)


def add(source: Any, column: str = "a", engine: str | None = None) -> float:
    return total_records(open_source(source, engine), ONE, [column]).sums[0] / float(ONE.scale[0])


def damage(path: Path, column: int) -> None:
    """Overwrite the pages of one column; the footer stays whole."""
    place = pq.ParquetFile(path).metadata.row_group(0).column(column)
    start = place.dictionary_page_offset or place.data_page_offset
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(b"\xff" * place.total_compressed_size)


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Partitions below a directory whose own name looks like one."""
    root = tmp_path / "study=7" / "visits"
    for year in (2022, 2023, 2024):
        for region in ("north", "south"):
            folder = root / f"year={year}" / f"region={region}"
            folder.mkdir(parents=True)
            for i in range(2):
                pl.DataFrame({"a": [float(year - 2000), None], "note": ["x" * 50] * 2}).write_parquet(
                    folder / f"{i}.parquet"
                )
    (root / "_SUCCESS").touch()
    return root


# ---- partitions and patterns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("pattern", ["", "**/*.parquet", "*/*/*.parquet", "year=*/**/*.parquet"])
def test_partitions_are_columns(pattern: str, engine: str, visits: Path) -> None:
    source = open_source(str(visits / pattern), engine)
    assert source.engine.name == engine and set(source.names or ()) == {"a", "note", "year", "region"}
    assert total_records(source, ONE, ["a"]).sums[0] / ONE.scale[0] == 4 * (22 + 23 + 24)
    assert total_records(source, ONE, ["year"]).sums[0] / ONE.scale[0] == 8 * (2022 + 2023 + 2024)


def test_patterns_within_partitions_and_single_files(visits: Path) -> None:
    assert open_source(str(visits / "year=2023" / "**" / "*.parquet")).names == ("a", "note", "region")
    assert add(str(visits / "year=2023" / "*" / "0.parquet")) == 46.0
    assert add(str(visits / "*" / "region=north" / "?.parquet"), "year") == 4 * (2022 + 2023 + 2024)
    assert open_source(visits / "year=2023" / "region=north" / "0.parquet").names == ("a", "note")


def test_patterns_relative_to_the_working_directory(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(visits / "year=2023" / "region=north")
    assert add("*.parquet") == add("**/*.parquet") == add(".") == 46.0
    monkeypatch.chdir(visits)
    assert add("**/*.parquet", "year") == add(".", "year") == 8 * (2022 + 2023 + 2024)
    assert add(f"file://{visits}/year=2023/region=north/0.parquet") == 23.0


def test_directories_with_different_keys_are_refused(visits: Path) -> None:
    pl.DataFrame({"a": [1.0]}).write_parquet(visits / "more.parquet")
    with refused("partitions-with-different-keys"):
        open_source(visits)


def test_a_filter_on_partitions_leaves_directories_unread(visits: Path) -> None:
    """The pages of every other year are damaged: reading them fails or gives other numbers; they are never read."""
    for path in visits.rglob("*.parquet"):
        if "year=2023" not in str(path):
            damage(path, 0)
    request = gm.Request(str(visits), sums={"a": (0, 100)}, where="year == 2023", guarantee=gm.Guarantee(mu=1e6))
    assert abs(gm.release(request)["a_sum"].value - 4 * 23) < 0.01
    duck = gm.release(request, engine="duckdb")
    assert abs(duck["a_sum"].value - 4 * 23) < 0.01
    with pytest.raises(DataError):
        gm.release(gm.Request(str(visits), sums={"a": (0, 100)}, guarantee=gm.Guarantee(mu=1e6)))


def test_columns_that_are_not_asked_are_not_read(visits: Path) -> None:
    for path in visits.rglob("*.parquet"):
        damage(path, 1)
    for engine in ("polars", "duckdb"):
        assert add(str(visits), engine=engine) == 4 * (22 + 23 + 24)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_names_that_look_like_patterns(engine: str, tmp_path: Path) -> None:
    root = tmp_path / "a[1]*{b}? %20#é"
    root.mkdir()
    for i in range(2):
        pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "x.parquet")
        os.rename(tmp_path / "x.parquet", root / f"[{i}].parquet")
    assert add(root, engine=engine) == 2.0
    assert add(root / "[1].parquet", engine=engine) == 1.0


# ---- footers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("left", [0, 30, -20])
def test_a_damaged_file_among_many_is_found_before_anything_is_charged(suffix: str, left: int, tmp_path: Path) -> None:
    for i in range(20):
        frame = pl.DataFrame({"a": np.arange(50.0)})
        frame.write_parquet(tmp_path / f"{i:02}.parquet") if suffix == "parquet" else frame.write_ipc(
            tmp_path / f"{i:02}.arrow"
        )
    broken = tmp_path / f"13.{suffix}"
    broken.write_bytes(broken.read_bytes()[:left])
    ledger = gm.Ledger.create(tmp_path / "study.ledger", G)
    request = gm.Request(str(tmp_path / f"*.{suffix}"), sums={"a": (0, 100)}, guarantee=G)
    with refused("one-file-damaged", says=f"13.{suffix}', one of its 20 files") as caught:
        gm.release(request, ledger=ledger)
    assert caught.value.__context__ is None
    assert ledger.spent == 0


def test_a_damaged_text_file_among_many_is_named(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("")
    (tmp_path / "1.csv").write_text("a\n1\n")
    with refused("one-file-damaged", says="0.csv'"):
        open_source(str(tmp_path / "*.csv"))


def test_columns_that_differ_between_files_are_refused_and_others_are_not(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0], "b": [1], "c": [1.0], "d": ["x"]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"a": [2.0], "b": ["secret"], "d": ["x"], "e": [1.0]}).write_parquet(tmp_path / "1.parquet")
    source = open_source(str(tmp_path / "*.parquet"))
    assert source.names == ("a", "d") and source.uneven == {"b", "c"}
    assert total_records(source, ONE, ["a"]).sums[0] / ONE.scale[0] == 3.0
    for name in "bc":
        with refused("column-differs-between-files", column=name):
            check_columns(source, [name], 1)
    with refused("no-such-column", column="e"):
        check_columns(source, ["e"], 1)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_files_without_a_column_in_common_are_counted_and_suffixes_are_written_in_any_case(
    engine: str, tmp_path: Path
) -> None:
    pl.DataFrame({"a": [1.0, 2.0]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"b": [1.0, 2.0, 3.0]}).write_parquet(tmp_path / "1.PARQUET")
    source = open_source(tmp_path, engine)
    assert source.names == () and total_records(source, BoxEncoding.for_bounds([], [], []), []).records == 5


def test_headers_of_all_csv_files_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("a,b\n1,2\n")
    (tmp_path / "1.csv").write_text("b,c\n3,4\n")
    source = open_source(str(tmp_path / "*.csv"))
    with refused("column-differs-between-files", column="a"):
        total_records(source, ONE, ["a"])
    assert add(source, "b") == 5.0


def test_thousands_of_files_are_opened_in_a_moment(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "0.parquet")
    for i in range(1, 2000):
        shutil.copy(tmp_path / "0.parquet", tmp_path / f"{i}.parquet")
    start = time.process_time()
    source = open_source(tmp_path)
    assert time.process_time() - start < 5
    assert total_records(source, ONE, ["a"]).records == 2000


# ---- stores ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with two partitions of 3000 rows, each with a megabyte of notes that nobody asks for."""
    objects = {}
    for year in (2023, 2024):
        buffer = io.BytesIO()
        random = np.random.default_rng()
        notes = pl.Series([random.bytes(200).hex() for _ in range(3000)])
        pl.DataFrame({"a": np.full(3000, 1.0), "note": notes}).write_parquet(buffer, compression="uncompressed")
        objects[f"study/visits/year={year}/0.parquet"] = buffer.getvalue()
    objects["study/a.csv"] = b"a,b\n1,2\n3,4\n"
    with serve(objects) as found:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{found.port}",
            "AWS_ACCESS_KEY_ID": "AKIAKEY",
            "AWS_SECRET_ACCESS_KEY": "hush",
            "AWS_REGION": "somewhere",
            "AWS_ALLOW_HTTP": "true",
        }.items():
            monkeypatch.setenv(name, value)
        yield found


def read_of_notes(store: Store) -> int:
    """Bytes asked for in the first half of the notes, far from the ends of files, where schemas are."""
    found = 0
    for name, start, stop in store.asked:
        if name.endswith(".parquet"):
            column = pq.ParquetFile(io.BytesIO(store.objects[name])).metadata.row_group(0).column(1)
            first = column.dictionary_page_offset or column.data_page_offset
            found += max(0, min(stop, first + column.total_compressed_size // 2) - max(start, first))
    return found


def test_stores_are_passed_on_to_the_engine_and_only_the_needed_bytes_are_read(store: Store) -> None:
    for address in ("s3://study/visits/**/*.parquet", "s3://study/visits/", "s3://study/visits"):
        source = open_source(address)
        assert source.names == ("a", "note", "year") and source.files is not None and source.files.remote
        assert add(source) == 6000.0
    assert store.asked and read_of_notes(store) == 0
    pl.scan_parquet("s3://study/visits/").collect()
    assert read_of_notes(store) > 1_000_000  # as it is when they are asked for
    store.asked.clear()
    request = gm.Request("s3://study/visits/", sums={"a": (0, 1)}, where="year == 2024", guarantee=gm.Guarantee(mu=1e6))
    assert round(gm.release(request)["a_sum"].value) == 3000
    assert {name for name, start, _ in store.asked if start < 100} == {"study/visits/year=2024/0.parquet"}


def test_folders_of_stores_are_read_as_those_of_this_machine(store: Store) -> None:
    """In a bucket of its own: Polars keeps its connection to a bucket from one test to the next."""
    one = store.objects["study/visits/year=2023/0.parquet"]
    store.objects |= {f"people/v/person={name}/0.parquet": one for name in ("1", "01", "1e5", "a%2Fb", "%FF", "")}
    request = gm.Request("s3://people/v/", unit="person", count=True, guarantee=gm.Guarantee(mu=1e6))
    assert round(gm.release(request)["count"].value) == 4
    assert add("s3://people/v/**/*.parquet", "person") == 3000 * (1 + 1 + 4096)
    store.objects["people/v/person=2/year=1/0.parquet"] = one
    with refused("partitions-with-different-keys"):
        open_source("s3://people/v/")
    store.objects["people/twice/a=1/0.parquet"] = one
    with refused("partition-key-beside-column", key="a", column="a"):
        open_source("s3://people/twice/")


@pytest.mark.parametrize(
    ("bucket", "log", "name"),
    [
        ("delta", "_delta_log/000.json", "Delta Lake"),
        ("ice", "metadata/v1.metadata.json", "Apache Iceberg"),
        ("hudi", ".hoodie/hoodie.properties", "Apache Hudi"),
    ],
)
def test_table_formats_in_stores_are_refused(bucket: str, log: str, name: str, store: Store) -> None:
    one = store.objects["study/visits/year=2023/0.parquet"]
    store.objects |= {f"{bucket}/visits/data/year=2023/0.parquet": one, f"{bucket}/others/year=2023/0.parquet": one}
    store.objects[f"{bucket}/visits/{log}"] = b"{}\n"
    for path in ("", "*/*/*.parquet", "**/*.parquet", "data/*/*.parquet", "data/year=2023/0.parquet"):
        with refused("inside-a-table-format", format=name):
            open_source(f"s3://{bucket}/visits/{path}")
    assert add(f"s3://{bucket}/others/", "year") == 3000 * 2023


def test_other_addresses_of_stores(store: Store) -> None:
    assert add("s3://study/visits/year=2023/0.parquet") == 3000.0
    assert open_source("s3://study/visits/year=2023/*.parquet").names == ("a", "note")
    assert add("s3://study/a.csv") == 4.0
    assert add(f"http://127.0.0.1:{store.port}/study/a.csv") == 4.0


def test_stores_that_cannot_be_read_are_refused_before_a_charge(store: Store, tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "study.ledger", G)
    missing = f"http://ada:hush@127.0.0.1:{store.port}/study/none.parquet?token=hush"
    for address in ("s3://study/none.parquet", "s3://study/none/**/*.parquet", missing):
        request = gm.Request(address, count=True, guarantee=G)
        with refused("store-not-reached") as caught:
            gm.release(request, ledger=ledger)
        said = f"{caught.value} {caught.value.fields}"
        assert "hush" not in said and "AKIA" not in said
        assert caught.value.__context__ is None
    assert ledger.spent == 0
    assert "hush" not in repr(open_source(f"http://ada:hush@127.0.0.1:{store.port}/study/a.csv"))

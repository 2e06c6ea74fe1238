"""Many files, partitions, stores and databases: what is read, what is not, and what is refused before a charge."""

from __future__ import annotations

import importlib.util
import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from store import Store, serve

import gaussmith as gm
from gaussmith.addresses import without_secrets
from gaussmith.codes import BoxCodes
from gaussmith.errors import DataError, SourceError
from gaussmith.job import request_hash
from gaussmith.sums import check_columns, open_source, total

ONE = BoxCodes.for_bounds([0], [4096], [0])
G = gm.Guarantee(mu=1)


def add(source: Any, column: str = "a", engine: str | None = None) -> float:
    return total(open_source(source, engine), ONE, [column]).sums[0] / float(ONE.scale[0])


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
    assert source.kind == engine and set(source.names or ()) == {"a", "note", "year", "region"}
    assert total(source, ONE, ["a"]).sums[0] / ONE.scale[0] == 4 * (22 + 23 + 24)
    assert total(source, ONE, ["year"]).sums[0] / ONE.scale[0] == 8 * (2022 + 2023 + 2024)


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
    with pytest.raises(SourceError, match="files in directories with different keys · partitions have the same keys"):
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
    with pytest.raises(SourceError, match=rf"13.{suffix}', one of its 20 files, cannot be opened as") as caught:
        gm.release(request, ledger=ledger)
    assert caught.value.__context__ is None
    assert ledger.spent == 0


def test_a_damaged_text_file_among_many_is_named(tmp_path: Path) -> None:
    for suffix in ("csv", "jsonl"):
        (tmp_path / f"0.{suffix}").write_text("" if suffix == "csv" else "no object\n")
        (tmp_path / f"1.{suffix}").write_text("a\n1\n" if suffix == "csv" else '{"a": 1}\n')
        with pytest.raises(SourceError, match=rf"0\.{suffix}'.* cannot be opened as"):
            open_source(str(tmp_path / f"*.{suffix}"))


def test_columns_that_differ_between_files_are_refused_and_others_are_not(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0], "b": [1], "c": [1.0], "d": ["x"]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"a": [2.0], "b": ["secret"], "d": ["x"], "e": [1.0]}).write_parquet(tmp_path / "1.parquet")
    source = open_source(str(tmp_path / "*.parquet"))
    assert source.names == ("a", "d") and source.uneven == {"b", "c"}
    assert total(source, ONE, ["a"]).sums[0] / ONE.scale[0] == 3.0
    for name in "bc":
        with pytest.raises(SourceError, match=f"column='{name}' · it is missing or of another type in some files"):
            check_columns(source, [name], 1)
    with pytest.raises(SourceError, match=r"column='e' · .* has no such column"):
        check_columns(source, ["e"], 1)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_files_without_a_column_in_common_are_counted_and_suffixes_are_written_in_any_case(
    engine: str, tmp_path: Path
) -> None:
    pl.DataFrame({"a": [1.0, 2.0]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"b": [1.0, 2.0, 3.0]}).write_parquet(tmp_path / "1.PARQUET")
    source = open_source(tmp_path, engine)
    assert source.names == () and total(source, BoxCodes.for_bounds([], [], []), []).records == 5


def test_headers_of_all_csv_files_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("a,b\n1,2\n")
    (tmp_path / "1.csv").write_text("b,c\n3,4\n")
    source = open_source(str(tmp_path / "*.csv"))
    with pytest.raises(SourceError, match="column='a' · it is missing or of another type in some files"):
        total(source, ONE, ["a"])
    assert add(source, "b") == 5.0


def test_thousands_of_files_are_opened_in_a_moment(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "0.parquet")
    for i in range(1, 2000):
        os.link(tmp_path / "0.parquet", tmp_path / f"{i}.parquet")
    start = time.process_time()
    source = open_source(tmp_path)
    assert time.process_time() - start < 5
    assert total(source, ONE, ["a"]).records == 2000


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
        with pytest.raises(SourceError, match="cannot be opened · the store must answer, and hold data") as caught:
            gm.release(request, ledger=ledger)
        assert "hush" not in str(caught.value) and "AKIA" not in str(caught.value)
        assert caught.value.__context__ is None
    assert ledger.spent == 0
    assert "hush" not in repr(open_source(f"http://ada:hush@127.0.0.1:{store.port}/study/a.csv"))


# ---- databases -------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table visits as select i::double a, i % 2 b from range(10) t(i)")
        connection.execute("create view evens as select * from visits where b = 0")
        connection.execute("create schema old; create table old.visits as select 1.0 a")
    return path


def test_tables_views_and_queries_of_a_database(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_source(f"duckdb://{database}?table=visits").kind == "duckdb"
    assert add(f"duckdb://{database}?table=visits") == 45.0
    assert add(f"duckdb://{database}?table=evens") == 20.0
    assert add(f"duckdb://{database}?table=old.visits") == 1.0
    assert add(f"duckdb://{database}?query=SELECT a + 1 AS a FROM visits WHERE b = 1 AND a >= 3") == 28.0
    assert add(f"duckdb://{database}?query=with t as (from visits) select * from t -- 100%") == 45.0
    monkeypatch.chdir(database.parent)
    assert add("duckdb://study.db?table=visits") == 45.0
    request = gm.Request("duckdb://study.db?table=visits", sums={"a": (0, 9)}, where="b == 1", guarantee=G)
    assert abs(gm.release(request)["a_sum"].value - 25) < 300


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("duckdb://{}", "it names a file, and a table or a query in it · write duckdb://study.db"),
        ("duckdb://{}?table=", "it names a file, and a table or a query in it"),
        ("duckdb://?table=visits", "it names a file, and a table or a query in it"),
        ("duckdb://{}?tabel=visits", "'tabel' in source=.* · did you mean 'table'?"),
        ("duckdb://{}?table=visit", r"it holds no table 'visit' · did you mean 'visits'\?"),
        ("duckdb://nowhere.db?table=visits", "there is no such file"),
        ("duckdb://{}?query=DROP TABLE visits", "the query is one SELECT"),
        ("duckdb://{}?query=COPY visits TO 'out.csv'", "the query is one SELECT"),
        ("duckdb://{}?query=SELECT 1 a; DROP TABLE visits", "the query is one SELECT"),
        ("duckdb://{}?query=SELEC 1", "the query is one SELECT"),
        ("duckdb://{}?query=SELECT nothing FROM visits", "DuckDB cannot make sense of the query"),
        ("duckdb://{}?query=SELECT 1 a, 2 a", "column='a' occurs twice"),
        ("duckdb://{}?query=FROM (PIVOT visits ON b)", "the query is one SELECT"),
    ],
)
def test_wrong_addresses_of_databases(address: str, message: str, database: Path) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        open_source(address.format(database))
    assert caught.value.__context__ is None
    assert add(f"duckdb://{database}?table=visits") == 45.0


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("table=rows.csv", r"it holds no table 'rows.csv' · choose one of"),
        ("table=outside", "'outside' is a view that DuckDB cannot open within this file"),
        ("query=from read_csv('rows.csv')", "DuckDB cannot make sense of the query within this file"),
        ("query=from 'rows.csv'", "DuckDB cannot make sense of the query within this file"),
        ("query=from outside", "DuckDB cannot make sense of the query within this file"),
        ("query=from variable", "DuckDB cannot make sense of the query within this file"),
    ],
)
def test_a_database_is_read_alone(rest: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB would look into the rows of another file for its types: one row could turn a release into a refusal."""
    monkeypatch.chdir(tmp_path)
    variable = pl.DataFrame({"a": [1.0]})
    Path("rows.csv").write_text("a\n1\n2\ncancer\n")
    with duckdb.connect("study.db") as connection:
        connection.execute("create view outside as from read_csv('rows.csv'); create table visits as select 1.0 a")
    ledger = gm.Ledger.create(tmp_path / "study.ledger", G)
    with pytest.raises(SourceError, match=message):
        gm.release(gm.Request(f"duckdb://study.db?{rest}", sums={"a": (0, 9)}, guarantee=G), ledger=ledger)
    assert ledger.spent == 0 and len(variable) == 1


@pytest.mark.parametrize("name", ["study.db", "memory.db", 'it\'s "odd".v2.duckdb'])
def test_a_database_that_is_open_elsewhere_in_this_process(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    (tmp_path / "rows.csv").write_text("a\n1\n")
    with duckdb.connect(path) as connection:
        connection.execute("create table visits as select 7.0 a; create view seven as from visits")
    with duckdb.connect(path, read_only=True) as mine:
        assert add(f"duckdb://{path}?table=visits") == add(f"duckdb://{path}?query=from main.seven") == 7.0
        assert len(mine.read_csv(tmp_path / "rows.csv")) == 1  # still free to read what it likes


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"no database" * 1000)
    with pytest.raises(SourceError, match="it is not a DuckDB database that can be opened for reading"):
        open_source(f"duckdb://{tmp_path / 'a.db'}?table=x")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://AKIA:hu/SH@bucket/x.parquet", "s3://bucket/x.parquet"),
        ("s3://AKIA:hu@sh/HUSH@bucket/x.parquet", "s3://bucket/x.parquet"),
        ("https://ada:hu?sh@host/x.parquet?token=hush", "https://host/x.parquet"),
        ("https://hush@host/a@b.csv", "https://host/a@b.csv"),
        ("https://host:80/x.parquet?mail=a:b@c", "https://host:80/x.parquet"),
        ("s3://bucket/year=*/?.parquet", "s3://bucket/year=*/?.parquet"),
        ("duckdb://a@b.db?table=x", "duckdb://a@b.db?table=x"),
        ("duckdb://a.db?query=FROM 's3://AKIA:hu/sh@b/x'", "duckdb://a.db?query=FROM 's3://b/x'"),
    ],
)
def test_secrets_in_addresses_are_not_shown(address: str, said: str) -> None:
    assert without_secrets(address) == said
    if address.startswith("duckdb"):
        with pytest.raises(SourceError, match=r"there is no such file|DuckDB reads its own") as caught:
            open_source(address, "spark" if "query" in address else None)
        assert said in str(caught.value)


# ---- engines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("a.csv", {"engine": "duckdb"}, "engine='duckdb' for CSV files · only Polars reads texts by the rule"),
        ("a.csv", {"engine": "spark"}, "engine='spark' for CSV files · only Polars reads texts by the rule"),
        ("a.csv", {"engine": "sparc"}, r"engine='sparc' · it names an engine · did you mean 'spark'\?"),
        ("a.csv", {"master": "local[2]"}, r"master='local\[2\]' · it says where Spark runs · add engine=\"spark\""),
        ([[1.0]], {"engine": "polars"}, "engine='polars' for a list · an engine is chosen for files"),
        ("duckdb://a.db?table=x", {"engine": "spark"}, "engine='spark' for 'duckdb://.* · DuckDB reads its own files"),
    ],
)
def test_engines_that_do_not_fit(
    source: Any, options: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match=message):
        open_source(source, **options)


@pytest.mark.parametrize("package", ["duckdb", "pyarrow"])
def test_where_duckdb_is_not_installed(package: str, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    pl.DataFrame({"a": [1.0]}).write_parquet(database.parent / "a.parquet")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else found(name))
    for source, engine in ((f"duckdb://{database}?table=visits", None), (database.parent / "a.parquet", "duckdb")):
        with pytest.raises(SourceError, match=r"is not installed · pip install gaussmith\[duckdb\]"):
            open_source(source, engine)


def test_columns_of_duckdb_that_hold_no_numbers_and_columns_without_any_value() -> None:
    relation = duckdb.sql("select null as v, interval 1 day as i, 'x' as t, [1] as l")
    source = open_source(relation)
    assert total(source, BoxCodes.for_bounds([0], [1], [1]), ["v"]).sums[0] == 2**41
    for name, message in {"i": "is of", "t": "is text", "l": "is of type List"}.items():
        with pytest.raises(SourceError, match=f"column='{name}' {message}"):
            check_columns(source, [name], 1)


def test_the_hash_of_a_request_holds_the_whole_address_but_not_who_asks() -> None:
    def hashed(address: str) -> str:
        return request_hash(gm.Request(address, count=True, guarantee=G))

    assert hashed("https://host/x.csv?table=a") != hashed("https://host/x.csv?table=b")
    assert hashed("https://ada:pass@host/x.csv?table=a") == hashed("https://host/x.csv?table=a")

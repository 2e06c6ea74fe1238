"""DuckDB by its address, and engines that are told to read files: what they hold, and what is refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from refusals import Expected, refusal, refused
from summing import total_records

import gaussmith as gm
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import check_columns
from gaussmith.errors import SourceError
from gaussmith.pipeline.release import request_hash

ONE = BoxEncoding.for_bounds([0], [4096], [0])
G = gm.Guarantee(mu=1)


def promised(address: str) -> dict[str, Any]:
    return {"path": address, "row_per_row": True}


def add(source: Any, column: str = "a", engine: str | None = None) -> float:
    return total_records(open_source(source, engine), ONE, [column]).sums[0] / float(ONE.scale[0])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table visits as select i::double a, i % 2 b from range(10) t(i)")
        connection.execute("create view evens as select * from visits where b = 0")
        connection.execute("create schema old; create table old.visits as select 1.0 a")
    return path


def test_tables_views_and_queries_of_a_database(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_source(f"duckdb://{database}?table=visits").engine.name == "duckdb"
    assert add(f"duckdb://{database}?table=visits") == 45.0
    assert add(promised(f"duckdb://{database}?table=evens")) == 20.0
    assert add(f"duckdb://{database}?table=old.visits") == 1.0
    assert add(promised(f"duckdb://{database}?query=SELECT a + 1 AS a FROM visits WHERE b = 1 AND a >= 3")) == 28.0
    assert add(promised(f"duckdb://{database}?query=with t as (from visits) select * from t -- 100%")) == 45.0
    monkeypatch.chdir(database.parent)
    assert add("duckdb://study.db?table=visits") == 45.0
    request = gm.Request("duckdb://study.db?table=visits", sums={"a": (0, 9)}, where="b == 1", guarantee=G)
    assert abs(gm.release(request)["a_sum"].value - 25) < 300


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("duckdb://{}", "database-address-incomplete"),
        ("duckdb://{}?table=", "database-address-incomplete"),
        ("duckdb://?table=visits", "database-address-incomplete"),
        ("duckdb://{}?tabel=visits", refusal("unknown-database-parameter", says="did you mean 'table'")),
        ("duckdb://{}?table=visit", refusal("no-such-table", says="did you mean 'visits'", table="visit")),
        ("duckdb://nowhere.db?table=visits", "no-such-database"),
        ("duckdb://{}?query=DROP TABLE visits", "query-not-one-select"),
        ("duckdb://{}?query=COPY visits TO 'out.csv'", "query-not-one-select"),
        ("duckdb://{}?query=SELECT 1 a; DROP TABLE visits", "query-not-one-select"),
        ("duckdb://{}?query=SELEC 1", "query-not-one-select"),
        ("duckdb://{}?query=SELECT nothing FROM visits", "query-not-understood"),
        ("duckdb://{}?query=SELECT 1 a, 2 a", refusal("column-twice", column="a")),
        ("duckdb://{}?query=FROM (PIVOT visits ON b)", "query-not-one-select"),
    ],
)
def test_wrong_addresses_of_databases(address: str, message: Expected, database: Path) -> None:
    with refused(message) as caught:
        open_source(promised(address.format(database)))
    assert caught.value.__context__ is None
    assert add(f"duckdb://{database}?table=visits") == 45.0


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("table=rows.csv", refusal("no-such-table", table="rows.csv")),
        ("table=outside", refusal("view-of-other-files", table="outside")),
        ("query=from read_csv('rows.csv')", "query-not-understood"),
        ("query=from 'rows.csv'", "query-not-understood"),
        ("query=from outside", "query-not-understood"),
        ("query=from variable", "query-not-understood"),
    ],
)
def test_a_database_is_read_alone(
    rest: str, message: Expected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB would look into the rows of another file for its types: one row could turn a release into a refusal."""
    monkeypatch.chdir(tmp_path)
    variable = pl.DataFrame({"a": [1.0]})
    Path("rows.csv").write_text("a\n1\n2\ncancer\n")
    with duckdb.connect("study.db") as connection:
        connection.execute("create view outside as from read_csv('rows.csv'); create table visits as select 1.0 a")
    ledger = gm.Ledger.create(tmp_path / "study.ledger", G)
    with refused(message):
        gm.release(gm.Request(f"duckdb://study.db?{rest}", sums={"a": (0, 9)}, guarantee=G), ledger=ledger)
    assert ledger.spent == 0 and len(variable) == 1


@pytest.mark.parametrize("name", ["study.db", "memory.db", 'it\'s "odd".v2.duckdb'])
def test_a_database_that_is_open_elsewhere_in_this_process(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    (tmp_path / "rows.csv").write_text("a\n1\n")
    with duckdb.connect(path) as connection:
        connection.execute("create table visits as select 7.0 a; create view seven as from visits")
    with duckdb.connect(path, read_only=True) as mine:
        assert add(f"duckdb://{path}?table=visits") == 7.0
        assert add(promised(f"duckdb://{path}?query=from main.seven")) == 7.0
        assert len(mine.read_csv(tmp_path / "rows.csv")) == 1  # still free to read what it likes


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"no database" * 1000)
    with refused("not-a-duckdb-database"):
        open_source(f"duckdb://{tmp_path / 'a.db'}?table=x")


@pytest.mark.parametrize(
    ("address", "engine", "said"),
    [
        ("duckdb://a@b.db?table=x", None, "source='duckdb://a@b.db?table=x' · there is no such file"),
        ("duckdb://a.db?query=FROM 's3://AKIA:hu/sh@b/x'", "spark", "'duckdb://a.db?query=…' · DuckDB reads its own"),
        (
            "duckdb://a.db?token=hush",
            None,
            "'token' in source='duckdb://a.db?…' · an address names a file, and a table",
        ),
        ("duckdb://a.db?hush", None, "source='duckdb://a.db?…' · an address names a file, and a table"),
    ],
)
def test_secrets_in_addresses_of_databases_are_not_shown(address: str, engine: str | None, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        open_source(address, engine)
    assert said in str(caught.value)


# ---- engines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("a.csv", {"engine": "duckdb"}, refusal("engine-for-text-files", engine="duckdb", format="CSV")),
        ("a.csv", {"engine": "spark"}, refusal("engine-for-text-files", engine="spark", format="CSV")),
        ("a.csv", {"engine": "sparc"}, refusal("unknown-engine", says="did you mean 'spark'", engine="sparc")),
        ("a.csv", {"master": "local[2]"}, refusal("master-without-spark", master="local[2]")),
        ([[1.0]], {"engine": "polars"}, refusal("engine-for-frame", engine="polars", type="list")),
        ("duckdb://a.db?table=x", {"engine": "spark"}, refusal("engine-for-database", engine="spark")),
    ],
)
def test_engines_that_do_not_fit(
    source: Any, options: dict[str, str], message: Expected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    with refused(message):
        open_source(source, **options)


@pytest.mark.parametrize("package", ["duckdb", "pyarrow"])
def test_where_duckdb_is_not_installed(package: str, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    pl.DataFrame({"a": [1.0]}).write_parquet(database.parent / "a.parquet")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else found(name))
    for source, engine in ((f"duckdb://{database}?table=visits", None), (database.parent / "a.parquet", "duckdb")):
        with refused("duckdb-not-installed"):
            open_source(source, engine)


def test_columns_of_duckdb_that_hold_no_numbers_and_columns_without_any_value() -> None:
    relation = duckdb.sql("select null as v, interval 1 day as i, 'x' as t, [1] as l")
    source = open_source(relation)
    assert total_records(source, BoxEncoding.for_bounds([0], [1], [1]), ["v"]).sums[0] == 2**41
    for name, code in {"i": "column-not-numbers", "t": "column-of-text", "l": "column-not-numbers"}.items():
        with refused(code, column=name):
            check_columns(source, [name], 1)


def test_the_hash_of_a_request_holds_the_whole_address_but_not_who_asks() -> None:
    def hashed(address: str) -> str:
        return request_hash(gm.Request(address, count=True, guarantee=G))

    assert hashed("https://host/x.csv?table=a") != hashed("https://host/x.csv?table=b")
    assert hashed("https://ada:pass@host/x.csv?table=a") == hashed("https://host/x.csv?table=a")

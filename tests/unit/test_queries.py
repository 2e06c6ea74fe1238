"""Queries and views need a promise; what was promised, and what a lazy frame is, is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from refusals import refusal, refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.engines.registry import open_source

G = gm.Guarantee(mu=1)
TOLD = "the table is the result of a query: the guarantee is about its rows"
PROMISED = f"{TOLD}, each promised to depend on the rows of one person only"

QUERIES = [
    "select a + 1 as a from visits where b = 1 and a >= 3",
    "with t as (from visits) select * from t",
    "from evens",
    "select a from visits order by a",
    "select double_of(a) a from visits",
    "select count(*) a from visits",
    "select max(a) a from visits group by p",
    "select distinct a from visits",
    "select a, row_number() over () w from visits",
    "select a from visits limit 3",
    "select a from visits where a > (select avg(a) from visits)",
    "select v.a from visits v join visits w on v.p = w.p",
    "select a from visits using sample 3",
    "select unnest([1, 2]) a from visits",
    "from range(5)",
    "select rowid a from visits",
]
ATTACKS = {
    "a zero-width space before a bracket": "query=select stats\u200b(a) a from visits",
    "a comment that a carriage return ends": "query=select stats -- all rows\r (a) a from visits",
    "a query in a text": "query=from query('select sta' || 'ts(a) a from visits')",
    "a macro with a quoted name": 'query=select "sta""ts"(a) a from visits',
    "a view with a quoted name": 'query=select a from "every""row"',
    "a generated column": "table=made",
    "a view named in a text": "query=from query_table('every' || ' row')",
}
"""In each of these one person changes every row, through functions that look at the whole table."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("queries") / "study.db"
    with duckdb.connect(str(path)) as connection:
        for statement in (
            "create table visits as select i::double a, i % 2 b, i // 2 p, 'x' s from range(10) t(i)",
            "create view evens as select * from visits where b = 0",
            "create view totals as select p, sum(a) a from visits group by p",
            "create macro double_of(x) as x + x",
            'create macro "sta""ts"(x) as stats(x)',
            'create view "every row" as select stats(a) a from visits',
            'create view "every""row" as select stats(a) a from visits',
            "create table made (a double, b integer, s varchar generated always as (stats(a)) virtual)",
            "insert into made select a, b from visits",
            'create table "Quo""ted" (a double, "GENERATED" integer default 3, c double as (a + 1))',
            "create schema old; create table old.visits as select 1.0 a",
            "create table old.plain (a double)",
            "create table old.made (a double)",
        ):
            connection.execute(statement)
    return f"duckdb://{path}"


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_needs_a_promise(query: str, database: str) -> None:
    with refused("row-per-row-not-promised", kind="a query"):
        open_source(f"{database}?query={query}")
    with refused("row-per-row-not-promised", kind="a query"):
        open_source({"path": f"{database}?query={query}", "row_per_row": False})
    assert open_source({"path": f"{database}?query={query}", "row_per_row": True}).told_query == "promised"


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_mixes_rows_is_refused_before_any_charge(attack: str, database: str, tmp_path: Path) -> None:
    address = f"{database}?{ATTACKS[attack]}"
    ledger = gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=2))
    with refused("row-per-row-not-promised"):
        gm.release(gm.Request(address, count=True, guarantee=G), ledger=ledger)
    assert not ledger.history()
    promised = gm.Request({"path": address, "row_per_row": True}, count=True, guarantee=G)  # DuckDB can run it
    assert PROMISED in list(gm.release(promised).row_rule.notes())


def test_every_view_and_every_table_with_generated_columns_needs_a_promise(database: str) -> None:
    views = dict.fromkeys(("evens", "totals", "Evens", '"every row"', '"every""row"', "duckdb_tables"), "a view")
    made = dict.fromkeys(("made", "MADE", "main.made", '"Quo""ted"'), "a table with generated columns")
    for name, kind in {**views, **made}.items():
        with refused("row-per-row-not-promised", kind=kind):
            open_source(f"{database}?table={name}")
        assert open_source({"path": f"{database}?table={name}", "row_per_row": True}).told_query == "promised"
    for table in ("visits", "VISITS", '"visits"', "main.visits", "old.visits", "old.plain"):
        assert open_source(f"{database}?table={table}").told_query == ""
    with refused("row-per-row-not-promised", kind="a table with generated columns"):
        open_source(f"{database}?table=old.made")  # by its name alone, which another table has too


def test_the_promise_in_every_notation(database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"{database}?table=evens"
    said = 'source={"path": "duckdb://…", "row_per_row": True}'
    with refused(refusal("row-per-row-not-promised", says=said)):
        gm.release(gm.Request(address, sums={"a": (0, 9)}, guarantee=G))
    file = tmp_path / "request.toml"
    for source, code in ((f'"{address}"', 2), (f'{{ path = "{address}", row_per_row = true }}', 0)):
        file.write_text(f"source = {source}\nguarantee = {{ mu = 1 }}\nsums = {{ a = [0, 9] }}\n")
        for command in ("plan", "release", "rehearse"):
            assert main([command, str(file)]) == code
            told = " ".join(capsys.readouterr().err.split())
            assert ('source = { path = "duckdb://…", row_per_row = true }' in told) == (code == 2)
    asked = ["--epsilon", "1", "--delta", "1e-6", "--out", str(tmp_path / "suggested.toml")]
    assert main(["suggest", address, *asked]) == 2
    assert "only: --row-per-row" in " ".join(capsys.readouterr().err.split())
    assert main(["suggest", address, *asked, "--row-per-row"]) == 0
    assert main(["plan", str(tmp_path / "suggested.toml")]) == 0


def test_a_cast_that_fails_for_one_record_ends_after_the_charge(tmp_path: Path) -> None:
    """As SECURITY.md says; with try_cast the value is missing."""
    with duckdb.connect(str(tmp_path / "study.db")) as connection:
        connection.execute("create table visits (a varchar)")
        connection.execute("insert into visits values ('1'), ('x')")
    for number, (expression, fails) in enumerate({"cast(a as double)": True, "try_cast(a as double)": False}.items()):
        ledger = gm.Ledger.create(tmp_path / f"{number}.ledger", gm.Guarantee(mu=2))
        path = f"duckdb://{tmp_path / 'study.db'}?query=select {expression} a from visits"
        request = gm.Request({"path": path, "row_per_row": True}, sums={"a": (0, 9)}, guarantee=G)
        if fails:
            with refused("data-not-readable"):
                gm.release(request, ledger=ledger, id="one")
        else:
            gm.release(request, ledger=ledger, id="one")
        assert len(ledger.history()) == 1


def test_what_is_told_of_queries(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    def notes(source: Any) -> list[str]:
        made = gm.release(gm.Request(source, sums={"a": (0, 9)}, guarantee=G))
        assert gm.read(made.to_json()).row_rule == made.row_rule
        return list(made.row_rule.notes())

    frame = pl.DataFrame({"a": [1.0]})
    assert TOLD not in notes(frame) and TOLD not in notes(f"{database}?table=visits")
    assert TOLD in notes(frame.lazy())
    assert TOLD in notes(duckdb.sql("select 1.0 a"))
    connection = duckdb.connect()
    connection.execute("create table t as select 1.0 a")
    assert TOLD not in notes(connection.table("t")) and TOLD in notes(connection.table("t").filter("a > 0"))
    totals = f"{database}?query=from totals"
    assert PROMISED in notes({"path": totals, "row_per_row": True})
    for command in ("plan", "release"):
        assert main([command, totals, "--sum", "a:0:9", "--mu", "1"]) == 2
        assert "only: --row-per-row" in " ".join(capsys.readouterr().err.split())
        assert main([command, totals, "--sum", "a:0:9", "--mu", "1", "--row-per-row"]) == 0
        assert PROMISED in " ".join(capsys.readouterr().out.split())


def test_what_is_told_where_a_plan_is_released(tmp_path: Path) -> None:
    frame = pl.DataFrame({"who": ["1", "1.0"], "what": ["tea", "tea"]})
    frame.write_csv(tmp_path / "baskets.csv")
    plan = gm.plan(gm.Counts(["tea", "milk"], at_most=2), G)
    told = plan.release(tmp_path / "baskets.csv", columns=["who", "what"], form="pairs")
    assert "ids in who are text" in str(told) and TOLD not in str(told)
    lazy = plan.release(frame.lazy(), columns=["who", "what"], form="pairs")
    assert TOLD in " ".join(str(lazy).split()) and gm.read(lazy.to_json()).row_rule == lazy.row_rule
    assert TOLD in lazy.report(tmp_path / "report.html").read_text("utf-8")
    box = gm.plan(gm.Box({"a": (0, 9)}), G)
    assert box.release(pl.DataFrame({"a": [1.0]})).row_rule is None
    assert TOLD in " ".join(str(box.release(pl.LazyFrame({"a": [1.0]}))).split())

"""Queries, views and lazy frames: what mixes rows needs a promise, and what was promised is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.engines.registry import open_source

G = gm.Guarantee(mu=1)
TOLD = "the table is the result of a query: the guarantee is about its rows"
PROMISED = f"{TOLD}, each promised to depend on the rows of one person only"

ROW_BY_ROW = [
    "select a + 1 as a from visits where b = 1 and a >= 3",
    "with t as (from visits) select * from t",
    "with x as (select a, b from visits), y as (from x where b = 0) select a from y",
    "from evens",
    "select a from visits order by a",
    "select a from visits where false",
    "select a from visits where a in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
    "select uuid, a from uuids",
    "from query_table('visits')",
    "select a from (select * from visits) v -- limit 3",
    "select case when a > 1 then 1 else 0 end a, today() n from visits",
    "select double_of(a) a from visits",
]
MIXED = [
    "select count(*) a from visits",
    "select max(a) a from visits group by p",
    "select last(a) a from visits",
    "from totals",
    "from nested",
    "select distinct a from visits",
    "select distinct on (b) a from visits",
    "select a, row_number() over () w from visits",
    "select a, sum(a) over (partition by p) w from visits",
    "select a from visits qualify row_number() over () = 1",
    "from windows",
    "select a from visits limit 3",
    "select a from visits offset 2",
    "from visits order by a limit 2",
    "from few()",
    "select a from visits where a > (select avg(a) from visits)",
    "select a from visits where a in (select b from visits)",
    "select a, (select 1) one from visits",
    "select exists(from visits) a",
    "select array(select a from visits) a",
    "select v.a from visits v join visits w on v.p = w.p",
    "select v.a from visits v semi join visits w on v.p = w.p",
    "select v.a from visits v, lateral (select v.a + 1) w",
    "select a from visits union all select a from visits",
    "from visits except select * from visits where a = 3",
    "select a from visits using sample 3",
    "select a from visits tablesample 10%",
    "select unnest([1, 2]) a from visits",
    "with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select n from t",
    "from range(5)",
    "from duckdb_tables()",
    "summarize visits",
    "select rowid a from visits",
    "select a from visits where RowId < 3",
    "from places",
    "select stats(a) a from visits",
    'select "stats" (a) a from visits',
    "select a.stats() b from visits",
    "select a from visits where random /* x */ () < 0.5",
    "select chance(a) a from visits",
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("queries") / "study.db"
    with duckdb.connect(str(path)) as connection:
        for statement in (
            "create table visits as select i::double a, i % 2 b, i // 2 p, 'x' s from range(10) t(i)",
            "create view evens as select * from visits where b = 0",
            "create view uuids as select s as uuid, a from visits",
            "create view totals as select p, sum(a) a from visits group by p",
            "create view nested as select * from totals where a > 3",
            "create view windows as select a, row_number() over () w from visits",
            "create view places as select rowid r, a from visits",
            "create macro double_of(x) as x + x",
            "create macro chance(x) as x + random()",
            "create macro few() as table select a from visits limit 3",
        ):
            connection.execute(statement)
    return f"duckdb://{path}"


@pytest.mark.parametrize("query", ROW_BY_ROW)
def test_queries_that_look_at_one_row_at_a_time(query: str, database: str) -> None:
    assert open_source(f"{database}?query={query}").told_query == "rows"


@pytest.mark.parametrize("query", MIXED)
def test_queries_that_may_mix_rows_need_a_promise(query: str, database: str) -> None:
    with refused("query-may-mix-rows") as caught:
        open_source(f"{database}?query={query}")
    assert caught.value.__context__ is None
    with refused("query-may-mix-rows"):
        open_source({"path": f"{database}?query={query}", "row_per_row": False})
    assert open_source({"path": f"{database}?query={query}", "row_per_row": True}).told_query == "promised"


def test_views_are_looked_through(database: str) -> None:
    assert open_source(f"{database}?table=visits").told_query == ""
    assert open_source(f"{database}?table=evens").told_query == "rows"
    for view in ("totals", "nested", "windows", "places"):
        with refused("query-may-mix-rows"):
            open_source(f"{database}?table={view}")
        assert open_source({"path": f"{database}?table={view}", "row_per_row": True}).told_query == "promised"


def test_a_query_is_judged_without_a_look_at_the_data(tmp_path: Path) -> None:
    """With statistics DuckDB would see that a filter of an empty, or a full, table leaves nothing to do."""
    for rows in (0, 1, 5000):
        with duckdb.connect(str(tmp_path / f"{rows}.db")) as connection:
            connection.execute(f"create table visits as select i::double a from range({rows}) t(i)")
        address = f"duckdb://{tmp_path / f'{rows}.db'}?query="
        assert open_source(address + "select a from visits where a < -1").told_query == "rows"
        assert open_source(address + "select a from visits where a > -1 order by a").told_query == "rows"
        with refused("query-may-mix-rows"):
            open_source(address + "select distinct a from visits where a < -1")


def test_what_is_told_of_queries(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    def notes(source: Any) -> list[str]:
        made = gm.release(gm.Request(source, sums={"a": (0, 9)}, guarantee=G))
        assert gm.read(made.to_json()).row_rule == made.row_rule
        return list(made.row_rule.notes())

    frame = pl.DataFrame({"a": [1.0]})
    assert TOLD not in notes(frame) and TOLD not in notes(f"{database}?table=visits")
    assert TOLD in notes(frame.lazy()) and TOLD in notes(f"{database}?table=evens")
    assert TOLD in notes(duckdb.sql("select 1.0 a"))
    connection = duckdb.connect()
    connection.execute("create table t as select 1.0 a")
    assert TOLD not in notes(connection.table("t")) and TOLD in notes(connection.table("t").filter("a > 0"))
    totals = f"{database}?query=from totals"
    assert PROMISED in notes({"path": totals, "row_per_row": True})
    for command in ("plan", "release"):
        assert main([command, totals, "--sum", "a:0:9", "--mu", "1"]) == 2
        assert "it may mix rows" in capsys.readouterr().err
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

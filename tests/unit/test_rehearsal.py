"""A release is rehearsed once for the same plan and columns, and again for others."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines.duckdb import DuckDB
from gaussmith.engines.polars import Polars
from gaussmith.engines.source import Source
from gaussmith.totals.records import RecordTotals

TABLE = pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})


@pytest.fixture
def emptied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    empty = Polars.without_rows

    def counted(self: Polars, source: object) -> object:
        found.append(1)
        return empty(self, source)  # type: ignore[arg-type]

    monkeypatch.setattr(Polars, "without_rows", counted)
    return found


def test_the_same_plan_and_columns_are_rehearsed_once(emptied: list[int]) -> None:
    plan = gm.Request(TABLE, sums={"x": (0, 1)}, guarantee=gm.Guarantee(mu=1)).plan
    for table in (TABLE, TABLE.head(1), TABLE.clear()):
        mechanism.prepare_request(plan, table)
    assert len(emptied) == 1
    mechanism.prepare_request(plan, TABLE.cast(pl.Float32))  # other columns
    assert len(emptied) == 2
    other = gm.Request(TABLE, sums={"x": (0, 1)}, where="y > 3", guarantee=gm.Guarantee(mu=1)).plan
    mechanism.prepare_request(other, TABLE)
    assert len(emptied) == 3


def test_what_fails_is_asked_again(emptied: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = gm.Request(TABLE, sums={"x": (0, 1)}, guarantee=gm.Guarantee(mu=1)).plan
    with monkeypatch.context() as broken:
        broken.setattr(RecordTotals, "total", None)
        with pytest.raises(gm.GaussmithError):
            mechanism.prepare_request(plan, TABLE)
    mechanism.prepare_request(plan, TABLE)
    assert len(emptied) == 2


def test_duckdb_is_rehearsed_once_for_the_same_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own names of types: narwhals takes some of them for one."""
    found: list[int] = []
    empty = DuckDB.without_rows

    def counted(self: DuckDB, source: Source) -> object:
        found.append(1)
        return empty(self, source)

    monkeypatch.setattr(DuckDB, "without_rows", counted)
    connection = duckdb.connect()
    plan = None
    kinds = (("varchar", 1), ("varchar", 1), ("enum ('a', 'b')", 2), ("integer", 3), ("bigint", 4))
    for i, (kind, rehearsed) in enumerate(kinds):
        connection.execute(f"create table t{i} (x double, y {kind})")
        table = connection.table(f"t{i}")
        plan = plan or gm.Request(table, sums={"x": (0, 1)}, unit="y", guarantee=gm.Guarantee(mu=1)).plan
        mechanism.prepare_request(plan, table)
        assert len(found) == rehearsed

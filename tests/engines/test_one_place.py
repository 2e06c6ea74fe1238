"""One record, one place: what an engine or a file system makes of names must not let a record count twice, or others
move with it."""

from __future__ import annotations

import datetime
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from summing import total_groups, total_people, total_records

import gaussmith as gm
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.duckdb import DUCKDB
from gaussmith.engines.registry import open_source
from gaussmith.errors import DataError, ExpressionError, SourceError
from gaussmith.expressions.keys import declare_groups
from gaussmith.expressions.spelling import kinds_of, plan_derivation
from gaussmith.totals.features import Coding, Contribution, RowSum

G = gm.Guarantee(mu=1)
SHARP = gm.Guarantee(mu=1e6)
ONE = BoxEncoding.for_bounds([0], [4096], [0])


def answers(source: Any, **asked: Any) -> list[float]:
    """Every answer of a release with next to no noise, in whole numbers."""
    found = gm.release(gm.Request(source, guarantee=SHARP, **asked)).to_dict()["answers"]
    return [float(round(answer["value"], 2)) for answer in found]


def add(source: Any, engine: str | None = None) -> float:
    return total_records(open_source(source, engine), ONE, ["a"]).sums[0] / float(ONE.scale[0])


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_file_that_is_found_twice_is_read_once(engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "x" / "y" / "z"
    folder.mkdir(parents=True)
    pl.DataFrame({"a": [7.0]}).write_parquet(folder / "0.parquet")
    pl.DataFrame({"a": [9.0]}).write_parquet(folder / "1.parquet")
    os.symlink(folder / "0.parquet", folder / "2.parquet")
    os.symlink(folder, tmp_path / "x" / "again")
    for pattern in ("x/**/*.parquet", "x/**/**/*.parquet", "**/**/**/*.parquet", "x/*/**/*.parquet", "x"):
        assert add(tmp_path / pattern, engine) == 16.0


def test_columns_under_two_spellings_in_some_file_cannot_be_asked(tmp_path: Path) -> None:
    pl.DataFrame({"b": [1.0], "a": [5.0]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"A": [2.0], "b": [2.0], "a": [1.0]}).write_parquet(tmp_path / "1.parquet")
    for engine in (None, "duckdb"):
        with refused("column-differs-between-files", column="a"):
            add(tmp_path, engine)


# ---- names -----------------------------------------------------------------------------------------------------------


def test_a_column_called_n_is_not_the_number_of_people() -> None:
    relation = duckdb.connect().sql("select * from (values (1000, 'p'), (5, 'q')) t(N, k)")
    for source in (relation, relation.pl()):
        assert answers(source, histograms={"k": ["p", "q"]}, count=True) == [1, 1, 2]
        assert answers(source, histograms={"k": ["p", "q"]}, count=True, where="N > 10") == [1, 0, 1]
        shown = gm.Request(source, histograms={"k": ["p", "q"]}, neighbours="replace-one", guarantee=G)
        assert gm.release(shown).records == (2,)


def test_names_that_differ_in_capital_letters_alone() -> None:
    with refused("columns-differ-only-in-case-duckdb", other="a", column="A"):
        open_source(duckdb.connect().sql("select 1 a, 2 A"))
    assert answers(pl.DataFrame({"a": [1.0], "A": [2.0]}), sums={"A": (0, 10)}) == [2]
    for columns in ({"Age": "age * 2"}, {"x": "age + 1", "X": "age + 2"}):
        with refused("derived-name-differs-only-in-case"):
            plan_derivation(columns, None, {"age": "number"})


@pytest.mark.parametrize("name", ["*", "^a.*$", "^$"])
def test_names_that_are_patterns(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({name: [1.0], "ab": [50.0]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    sources = (frame, frame.to_arrow(), frame.to_pandas(), tmp_path / "a.parquet", tmp_path / "a.csv")
    for source in (*sources, duckdb.connect().from_arrow(frame.to_arrow())):
        with refused("column-name-is-a-pattern"):
            open_source(source)


@pytest.mark.parametrize("name", ["a.b", "a`b", "a*"])
def test_names_that_spark_reads_as_expressions(name: str, spark: Any) -> None:
    frame = spark.createDataFrame([(1.0, "x")], "p double, k string").toDF(name, "k")
    assert answers(frame, sums={name: (0, 10)}) == [1]  # plain sums quote it
    for asked in ({"unit": name}, {"by": {name: [1]}}, {"where": f"`{name.replace('`', '``')}` > 0"}):
        with pytest.raises((SourceError, ExpressionError)) as caught:
            gm.release(gm.Request(frame, count=True, guarantee=G, **asked))
        assert caught.value.code in ("column-name-is-an-expression", "sign-not-in-language")


# ---- what is equal ---------------------------------------------------------------------------------------------------


def collated() -> dict[str, Any]:
    """Texts that DuckDB takes for equal, in each way of telling it so."""
    found = {}
    for how in ("column", "default", "enum"):
        connection = duckdb.connect()
        if how != "column":
            connection.execute("pragma default_collation=nocase")
        connection.execute("create type word as enum ('Ada', 'ada')")
        kind = {"column": "varchar collate nocase", "default": "varchar", "enum": "word"}[how]
        connection.execute(f"create table t(name {kind}, y double)")
        connection.execute("insert into t values ('Ada', 1), ('ada', 2), ('ada', 3)")
        found[how] = connection.table("t")
    return found


@pytest.mark.parametrize("how", ["column", "default", "enum"])
def test_texts_are_equal_when_their_letters_are(how: str) -> None:
    relation = collated()[how]
    for source in (relation, relation.pl()):
        assert answers(source, sums={"y": (0, 10)}, by={"name": ["Ada", "ada", "ADA"]}) == [1, 5, 0]
        assert answers(source, histograms={"name": ["Ada", "ada", "ADA"]}, count=True) == [1, 2, 0, 3]
        assert answers(source, count=True, unit="name") == [2]
        assert answers(source, count=True, where="name == 'ada'") == [2]
        assert answers(source, count=True, where="name in ('ADA', 'Ada')") == [1]
        cells = gm.plan(gm.Cells(["Ada", "ada"], or_none=True), SHARP).release(source, columns=["name"])
        assert np.round(cells.values, 2).tolist() == [1, 2]
    pairs = relation.project("1 as person, name")
    counted = gm.plan(gm.Counts(["Ada", "ada", "ADA"], at_most=3), SHARP).release(
        pairs, columns=["person", "name"], form="pairs"
    )
    assert np.round(counted.values, 2).tolist() == [1, 1, 0]


def test_nanoseconds_are_cut_and_not_rounded() -> None:
    times = [np.datetime64("2024-05-01T23:59:59.999999999"), np.datetime64("1959-12-31T23:59:59.999999999")]
    table = pa.table({"d": pa.array(times), "w": [1.0, 2.0]})
    days = [datetime.date(2024, 5, 1), datetime.date(2024, 5, 2), datetime.date(1959, 12, 31)]
    for source in (table, duckdb.connect().from_arrow(table)):
        assert answers(source, sums={"w": (0, 10)}, where="day(d) == 1") == [1]
        assert answers(source, sums={"w": (0, 10)}, by={"d": days}) == [1, 0, 2]


@pytest.mark.parametrize(
    ("where", "rows"), [("true", 2), ("1 < 2", 2), ("not (true)", 0), ("1 in (1, 2)", 2), ("2 < 1", 0)]
)
def test_filters_that_are_constant(where: str, rows: int) -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0], "p": [1, 2]})
    for source in (frame, duckdb.connect().from_arrow(frame.to_arrow())):
        assert answers(source, count=True, where=where) == [rows]
        assert answers(source, count=True, where=where, unit="p") == [rows]


# ---- the same rows whenever they are read ----------------------------------------------------------------------------


def test_people_of_a_source_that_changes_between_queries_are_refused() -> None:
    """Blocks of features must see the same people."""
    features = tuple(
        RowSum("a", Coding.of(BoxEncoding.for_bounds([0], [j + 1], [0]))) for j in range(DUCKDB.max_features + 1)
    )
    # Of each query's rows a random part: two queries over ten thousand people agree once in a hundred times.
    relation = duckdb.connect().sql("select i::double a, i p, 'x' k from range(10000) r(i) where random() < 0.5")
    source = open_source(relation)
    everything = plan_derivation({}, None, kinds_of(source.schema))
    groups = declare_groups(["k"], [("x",), ("y",)], everything.kinds)
    units = Contribution(features, "p", 3)
    for work in (
        lambda: total_people(source, units, everything),
        lambda: total_groups(source, units, everything, groups),
    ):
        refused = 0
        for _ in range(6):
            try:
                work()
            except DataError:
                refused += 1
        assert refused > 0


def test_relations_without_rows_are_apart() -> None:
    """They share a database: not their columns, nor the cursor, so that threads may rehearse at once."""
    relations = [duckdb.connect().sql(f"select {i} a, '{i}' b{i}") for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        empty = list(pool.map(lambda relation: DUCKDB.without_rows(open_source(relation)), relations))
        rows = list(pool.map(lambda source: source.native.fetchall(), empty))
    assert rows == [[]] * 8
    assert [source.native.columns for source in empty] == [relation.columns for relation in relations]
    assert [source.native.types for source in empty] == [relation.types for relation in relations]

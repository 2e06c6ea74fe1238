"""A column whose type cannot hold a missing value needs no promise, and a type that changed is never relied on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.dataset import dataset

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.engines.complete_columns import never_missing
from gaussmith.errors import SourceError
from gaussmith.pipeline import release as charged_release

G = gm.Guarantee(mu=1)
EXACT = gm.Guarantee(mu=1e7)
MEANS = {"age": (0, 100), "bmi": (0, 60), "kids": (0, 9), "old": (0, 1)}
COLUMNS = {"age": [36, 17, 50], "bmi": [21.0, 30.0, 25.5], "kids": [0, 2, 1], "old": [False, True, True]}
REQUIRED = pa.schema(
    [
        pa.field("age", pa.int64(), nullable=False),
        pa.field("bmi", pa.float64(), nullable=False),  # NaN is missing
        pa.field("kids", pa.int32()),
        pa.field("old", pa.bool_(), nullable=False),
        pa.field("text", pa.string(), nullable=False),  # text may be no number
    ]
)
ARROW = pa.table({**COLUMNS, "text": ["1", "2", "x"]}, schema=REQUIRED)


def of(source: Any, names: Any = (*MEANS, "text")) -> set[str]:
    return set(never_missing(source, names))


def database(path: Path) -> str:
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create table t (age integer not null, bmi double not null, kids integer, old boolean not null, "
            "text varchar not null)"
        )
        connection.execute("insert into t values (36, 21.0, null, false, 'x'), (50, 30.0, 1, true, '2')")
        connection.execute("create view v as select * from t")
    return f"duckdb://{path}"


def ask(source: Any, guarantee: gm.Guarantee = G, **more: Any) -> gm.Request:
    return gm.Request(source, **{"means": MEANS, "guarantee": guarantee, **more})


def test_integers_and_booleans_of_numpy() -> None:
    assert of(np.zeros((3, 5), np.int16)) == of(np.zeros((3, 5), bool)) == {*MEANS, "text"}
    assert of(np.zeros((3, 5))) == of(np.zeros((3, 5), object)) == of([[1, 2, 3, 4, 5]]) == set()
    assert of(np.ma.masked_array(np.zeros((3, 5), int), True)) == set()


def test_columns_of_pandas_that_are_not_its_own_types() -> None:
    frame = pd.DataFrame(COLUMNS)
    assert of(frame) == of(nw.from_native(frame)) == {"age", "kids", "old"}
    assert of(frame.astype({"age": "Int64", "kids": "int64[pyarrow]", "old": "boolean"})) == set()
    assert of(frame.astype({"age": "datetime64[ns]", "kids": "category", "old": object})) == set()
    twice = pd.concat([frame, frame[["age"]]], axis=1)
    assert of(twice) == {"kids", "old"}  # opening it says that a name occurs twice


def test_columns_of_arrow_that_are_not_nullable() -> None:
    for data in (ARROW, ARROW.to_batches()[0], ARROW.to_reader(), dataset(ARROW)):
        assert of(data) == {"age", "old"}
    assert of(pa.table(COLUMNS)) == of(pl.DataFrame(COLUMNS)) == of(pl.LazyFrame(COLUMNS)) == set()


def test_required_columns_of_files(tmp_path: Path) -> None:
    pq.write_table(ARROW, tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, REQUIRED) as writer:
        writer.write_table(ARROW)
    assert of(tmp_path / "a.parquet") == of(str(tmp_path / "a.arrow")) == of({"path": tmp_path / "a.parquet"})
    assert of(tmp_path / "a.parquet") == {"age", "old"}
    assert of(f"file://{tmp_path}/a.parquet") == {"age", "old"}
    pq.write_table(ARROW.cast(REQUIRED.set(0, pa.field("age", pa.int64()))), tmp_path / "b.parquet")
    assert of(str(tmp_path / "*.parquet")) == of(tmp_path) == {"old"}  # required in every file
    ARROW.to_pandas().to_csv(tmp_path / "a.csv")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1")
    for source in ("a.csv", "damaged.parquet", "none.parquet", "none.what"):
        assert of(tmp_path / source) == set()
    assert of("s3://bucket/a.parquet") == of(object()) == of(None) == of({"other": 1}) == set()


def test_not_null_columns_of_duckdb(tmp_path: Path) -> None:
    address = database(tmp_path / "study.db")
    assert of(f"{address}?table=t") == of(f"{address}?table=T") == {"age", "old"}
    assert of(f"{address}?table=v") == of(f"{address}?query=SELECT * FROM t") == of(f"{address}?table=none") == set()
    with duckdb.connect(str(tmp_path / "study.db")) as writable:  # nothing holds the file open
        writable.execute("alter table t alter column age drop not null")
    assert of(f"{address}?table=t") == {"old"}


def test_columns_of_spark_that_are_not_nullable() -> None:
    from pyspark.sql import types

    fields = [types.StructField(n, t, null) for n, t, null in (
        ("age", types.LongType(), False), ("bmi", types.DoubleType(), False), ("kids", types.IntegerType(), True),
        ("old", types.BooleanType(), False), ("text", types.StringType(), False),
    )]  # fmt: skip

    class Frame:
        schema = types.StructType(fields)

    Frame.__module__ = "pyspark.sql.classic.dataframe"
    assert of(Frame()) == {"age", "old"}


def test_the_plan_is_that_of_a_promise_and_says_why() -> None:
    request = ask(ARROW)
    assert {query.row_rule.complete_by_type for query in request.plan.queries if query.row_rule} - {()} == {
        ("age", "old")
    }
    promised = ask(pl.from_arrow(ARROW), complete=["age", "old"])
    assert request.plan.standard_errors == pytest.approx(promised.plan.standard_errors, rel=1e-12)
    assert request.plan.total_variance < 0.99 * ask(pl.from_arrow(ARROW)).plan.total_variance
    told = [line for query in request.plan.queries if query.row_rule for line in query.row_rule.notes()]
    assert "age, old cannot be missing by their types" in told
    release = gm.release(ask(ARROW, EXACT))
    notes = {row["answer"]: row["note"] for row in release.rows()}
    assert notes["age_mean"] == "cannot be missing by its type" and notes["bmi_mean"] == "missing values left out"
    again = gm.Release.from_json(release.to_json())
    assert [rule and rule.complete_by_type for rule in again.row_rules] == [
        rule and rule.complete_by_type for rule in release.row_rules
    ]
    assert release.values == pytest.approx([103 / 3, 25.5, 1, 2 / 3], abs=1e-3)


def test_every_source_gives_the_mean_of_its_values(tmp_path: Path) -> None:
    pq.write_table(ARROW, tmp_path / "a.parquet")
    whole = {"age": (0, 100), "kids": (0, 9)}
    for source in (pd.DataFrame(COLUMNS), ARROW, tmp_path / "a.parquet"):
        assert gm.release(ask(source, EXACT, means=whole)).values == pytest.approx([103 / 3, 1], abs=1e-3)
    array = np.column_stack([COLUMNS["age"], COLUMNS["kids"]])
    request = ask(array, EXACT, means=whole)
    assert [query.row_rule.complete_by_type for query in request.plan.queries if query.row_rule] == [("age", "kids")]
    assert gm.release(request).values == pytest.approx([103 / 3, 1], abs=1e-3)
    means = gm.release(ask(f"{database(tmp_path / 'study.db')}?table=t", EXACT, means=whole)).values
    assert means == pytest.approx([43, 1], abs=1e-3)


def test_what_is_derived_or_stands_in_is_not_complete_by_type() -> None:
    frame = pd.DataFrame(COLUMNS)
    rules = [
        query.row_rule for query in ask(frame, means={"double": (0, 200)}, columns={"double": "age * 2"}).plan.queries
    ]
    assert [(rule.present, rule.complete_by_type) for rule in rules if rule] == [(("double",), ())]
    hidden = ask(frame, means={"age": (0, 200)}, columns={"age": "age / kids"}).plan.queries[0].row_rule
    assert hidden is not None and (hidden.present, hidden.complete_by_type) == (("age",), ())
    stood = ask(frame, means={"age": (0, 100)}, missing={"age": 40}).plan.queries[0].row_rule
    assert stood is not None and (stood.complete_by_type, stood.stand_ins) == ((), (("age", 40.0),))
    promised = ask(frame, means={"age": (0, 100)}, complete=["age"]).plan.queries[0].row_rule
    assert promised is not None and (promised.complete, promised.complete_by_type) == (("age",), ())
    person = {"unit": "kids", "person_columns": {"total": "sum(age)"}, "means": {"total": (0, 100)}}
    assert not any(query.row_rule and query.row_rule.complete_by_type for query in ask(frame, **person).plan.queries)


def test_a_file_whose_types_changed_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(ARROW, path)
    ledger = gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=1))
    request = ask(path, means={"age": (0, 100)})
    pq.write_table(ARROW.cast(REQUIRED.set(0, pa.field("age", pa.int64()))), path)
    for attempt in (lambda: gm.release(request, ledger=ledger), lambda: charged_release.read_schema(request)):
        with pytest.raises(SourceError, match="make the request again") as caught:
            attempt()
        assert caught.value.code == "column-may-be-missing-now" and caught.value.fields["column"] == "age"
    again = ask(path, means={"age": (0, 100)})
    assert again.plan.queries[0].row_rule is not None and again.plan.queries[0].row_rule.present == ("age",)
    gm.release(again, ledger=ledger)
    frame = pd.DataFrame(COLUMNS)
    request = ask(frame, means={"age": (0, 100)})
    frame["age"] = [1.0, np.nan, 3.0]
    with pytest.raises(SourceError, match="could not hold a missing value"):
        gm.release(request)


def test_a_request_is_rehearsed_and_planned_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(ARROW, tmp_path / "a.parquet")
    assert charged_release.rehearse(ask(tmp_path / "a.parquet"), rows=50).made_up
    toml = tmp_path / "request.toml"
    toml.write_text('source = "a.parquet"\nmeans = { age = [0, 100] }\nguarantee = { mu = 1 }\n')
    assert main(["plan", str(toml)]) == 0
    assert "age cannot be missing by its type" in capsys.readouterr().out
    assert gm.Request.from_toml(toml).plan.hash == ask(tmp_path / "a.parquet", means={"age": (0, 100)}).plan.hash
    assert gm.Request.from_toml(toml).cost_of_missing() == 1


@pytest.mark.parametrize("asked", [{"medians": {"age": (0, 100)}}, {"medians": {"age": (0, 100)}, "unit": "kids"}])
def test_a_column_that_cannot_be_missing_is_not_said_to_be_left_out(asked: dict[str, Any], tmp_path: Path) -> None:
    limits = {"rows_per_unit": 2} if "unit" in asked else {}
    release = gm.release(gm.Request(ARROW, guarantee=G, **asked, **limits))
    release.report(tmp_path / "page.html")
    for text in (str(release), (tmp_path / "page.html").read_text("utf-8")):
        words = " ".join(text.split())
        assert "age cannot be missing by its type" in words
        assert "age is missing" not in words and "rows without one are left out" not in words
        assert "a missing one is in none" not in words
    may = str(gm.release(gm.Request(ARROW, guarantee=G, medians={"kids": (0, 9)})))
    assert "rows where kids is missing are left out" in " ".join(may.split())
    promised = str(gm.release(gm.Request(ARROW, guarantee=G, medians={"kids": (0, 9)}, complete=["kids"])))
    assert "kids is missing" not in " ".join(promised.split())

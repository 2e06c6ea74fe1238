"""Whole releases on Spark: only totals come back, killed tasks change nothing, and clear words where it cannot be."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from sessions import why_no_spark
from summing import total_records

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import check_columns
from gaussmith.errors import DataError, SourceError

G = gm.Guarantee(mu=1)
SHARP = gm.Guarantee(mu=1e6)
"""So little noise that an answer tells whether the sums are right."""


def people(rows: int = 3000) -> pl.DataFrame:
    random = np.random.default_rng()
    return pl.DataFrame(
        {
            "person": random.integers(0, rows // 4, rows),
            "plan": random.choice(["free", "family", "other"], rows),
            "age": random.normal(40, 30, rows),
            "visits": random.integers(0, 20, rows),
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    people().write_parquet(tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def everything(source: Any, guarantee: gm.Guarantee = SHARP) -> gm.Request:
    """Contribution, groups, a filter and a derived column at once."""
    return gm.Request(
        source,
        unit="person",
        groups_per_unit=1,
        rows_per_unit=5,
        sums={"visits": (0, 60)},
        means={"decades": (0, 10)},
        count=True,
        by={"plan": ["free", "family"]},
        where="age > 0 and visits < 19",
        columns={"decades": "age / 10"},
        guarantee=guarantee,
    )


# ---- requests --------------------------------------------------------------------------------------------------------


def test_units_groups_filters_and_derived_columns(spark: Any, table: Path) -> None:
    wanted = gm.release(everything(table))
    found = gm.release(everything(spark.read.parquet(str(table)).repartition(7)))
    assert found.labels == wanted.labels and found.names == wanted.names
    assert np.allclose(found.values, wanted.values, rtol=1e-5, atol=0.01)


def test_who_is_beyond_limits(spark: Any, table: Path) -> None:
    fields = {"unit": "person", "groups_per_unit": 1, "rows_per_unit": 5, "sums": {"visits": (0, 60)}, "diagnose": True}
    fields |= {"means": {"age": (0, 60)}, "by": {"plan": ["free", "family"]}}
    wanted = gm.release(gm.Request(table, guarantee=SHARP, **fields))["diagnosis"]
    found = gm.release(gm.Request(spark.read.parquet(str(table)).repartition(7), guarantee=SHARP, **fields))[
        "diagnosis"
    ]
    assert len(found.names) == len(wanted.names)
    assert np.allclose(found.values, wanted.values, atol=0.01) and wanted["age above 60"].value > 100


def test_plain_releases_of_frames_and_files(spark: Any, table: Path) -> None:
    plan = gm.plan(gm.Box({"age": (0, 100), "visits": (0, 20)}), SHARP, count=True)
    ages = pl.read_parquet(table)["age"].clip(0, 100).sum()
    assert abs(plan.release(spark.read.parquet(str(table)))["age"].value - ages) < 0.1
    request = gm.Request(table, sums={"age": (0, 100)}, guarantee=SHARP)
    assert abs(gm.release(request, engine="spark")["age_sum"].value - ages) < 0.1


def test_partitions_wildcards_in_names_and_many_files(spark: Any, tmp_path: Path) -> None:
    root = tmp_path / "study=7" / "a[1]*{b}?"
    for year in (2023, 2024):
        (root / f"year={year}").mkdir(parents=True)
        for i in range(2):
            pl.DataFrame({"a": [float(year)], "b": [1.0]}).write_parquet(root / f"year={year}" / f"{i}.parquet")
    pl.DataFrame({"a": [0.0], "b": ["text"]}).write_parquet(root / "year=2024" / "2.parquet")
    one = BoxEncoding.for_bounds([0], [4096], [0])
    source = open_source(root, engine="spark")
    assert source.engine.name == "spark" and set(source.names or ()) == {"a", "year"}  # b is not the same everywhere
    assert total_records(source, one, ["a"]).sums[0] / one.scale[0] == 2 * (2023 + 2024)
    assert total_records(source, one, ["year"]).sums[0] / one.scale[0] == 2 * 2023 + 3 * 2024
    single = open_source(root / "year=2023" / "0.parquet", engine="spark")
    assert single.names == ("a", "b") and total_records(single, one, ["a"]).records == 1


def test_a_filter_on_partitions_leaves_directories_unread(spark: Any, tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        pl.DataFrame({"a": [float(year)]}).write_parquet(tmp_path / f"year={year}" / "0.parquet")
    frame = spark.read.parquet(str(tmp_path))
    (tmp_path / "year=2023" / "0.parquet").unlink()  # reading it would fail
    request = gm.Request(frame, sums={"a": (0, 4000)}, where="year == 2024", guarantee=SHARP)
    assert abs(gm.release(request)["a_sum"].value - 2024) < 0.1
    with pytest.raises(DataError):
        gm.release(gm.Request(frame, sums={"a": (0, 4000)}, guarantee=SHARP))


# ---- nothing but totals comes back -----------------------------------------------------------------------------------


@pytest.fixture
def brought(spark: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Rows brought to the driver and plans that were run, by whatever way of bringing them there is."""
    kept: dict[str, list[Any]] = {"rows": [], "plans": []}
    frame = type(spark.range(1))
    collect = frame.collect

    def collected(self: Any) -> Any:
        rows = collect(self)
        kept["rows"].append(len(rows))
        kept["plans"].append(self._jdf.queryExecution().toString())
        return rows

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("rows leave Spark by another way")

    monkeypatch.setattr(frame, "collect", collected)
    for name in ("toPandas", "toArrow", "toLocalIterator", "take", "head", "first", "tail", "foreach", "show", "rdd"):
        monkeypatch.setattr(frame, name, property(refused) if name == "rdd" else refused)
    for name in ("foreachPartition", "mapInArrow", "mapInPandas"):
        monkeypatch.setattr(frame, name, refused)
    return kept


def test_only_totals_come_back_and_no_python_runs_on_rows(
    spark: Any, table: Path, brought: dict[str, list[Any]]
) -> None:
    frame = spark.read.parquet(str(table))
    gm.plan(gm.Box({"age": (0, 100), "visits": (0, 20)}), G, count=True).release(frame)
    gm.plan(gm.domains.Ball(2, 50), G).release(frame, columns=["age", "visits"])
    gm.plan(gm.Counts(["age", "visits"], at_most=1), G).release(frame)
    gm.plan(gm.domains.SparseSum(2, at_most=1, bound=5), G).release(frame, columns=["age", "visits"])
    assert brought["rows"] == [1, 1, 1, 1]
    gm.release(everything(frame))
    assert brought["rows"][4:] and max(brought["rows"][4:]) <= 2  # one row for each declared group that has people
    assert not any(re.search("python|arrow|pandas", plan, re.IGNORECASE) for plan in brought["plans"])


# ---- faults ----------------------------------------------------------------------------------------------------------


def faulty(spark: Any, table: Path, marker: Path, fault: str) -> Any:
    """The table, read through a step that fails once in the middle of a partition; the next attempt goes through."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import DoubleType

    died = str(marker)

    def pass_on(value: float, row: int) -> float:  # runs in a worker of Spark, which knows nothing of this file

        if row == 700 and not os.path.exists(died):
            with open(died, "w"):
                pass
            if fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("secret 42")
        return value

    data = spark.read.parquet(str(table)).withColumn("row", F.monotonically_increasing_id())
    return data.withColumn("age", F.udf(pass_on, DoubleType(), useArrow=False)("age", "row")).drop("row")


@pytest.mark.parametrize("fault", ["kill", "raise"])
def test_a_task_that_dies_is_run_again_with_the_same_sums_one_draw_and_one_charge(
    fault: str,
    spark: Any,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    draws: list[int] = []
    sums: list[list[int]] = []
    draw, meet = mechanism.normal_integers, mechanism.release_totals

    def drawn(size: int, bits: int = 52) -> Any:
        draws.append(size)
        return draw(size, bits)

    def met(plan: Any, totals: Any) -> Any:
        sums.append(totals[0][0].sums)
        return meet(plan, totals)

    monkeypatch.setattr(mechanism, "normal_integers", drawn)
    monkeypatch.setattr(mechanism, "release_totals", met)
    ledger = gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=2))
    plan = gm.plan(gm.Box({"age": (0, 100), "visits": (0, 20)}), G)
    marker = tmp_path / "died"
    first = plan.release(faulty(spark, table, marker, fault), ledger=ledger, id="daily")
    assert marker.exists()
    spent, entries = ledger.spent, len(ledger.entries())
    assert len(draws) == 1 and spent == gm.Ledger.create(tmp_path / "one.ledger", G).budget  # one μ of 1, once
    again = plan.release(faulty(spark, table, marker, fault), ledger=ledger, id="daily")
    assert again.to_json() == first.to_json() and len(draws) == 1
    assert ledger.spent == spent and len(ledger.entries()) == entries
    plan.release(table)
    assert sums[0] == sums[1]  # what a sound reading of the file gives
    assert "secret" not in "".join(capfd.readouterr())


def test_a_task_that_always_fails_says_nothing_and_keeps_the_charge(spark: Any, table: Path, tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=2))
    plan = gm.plan(gm.Box({"age": (0, 100)}), G)
    frame = spark.read.parquet(str(table)).selectExpr("if(age > 0, raise_error('secret 42'), age) age")
    with refused("data-not-readable", DataError) as caught:
        plan.release(frame, ledger=ledger)
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert ledger.spent > 0


@pytest.mark.parametrize("unit", [None, "p"])
def test_loggers_of_pyspark_quote_nothing(spark: Any, unit: str | None) -> None:
    from pyspark.logger import PySparkLogger

    frame = spark.sql("select cast(v as int) a, p from values('secret 42', 1) t(v, p)")
    logger, heard = PySparkLogger.getLogger("SQLQueryContextLogger"), []
    listener = logging.Handler()
    listener.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(listener)
    try:
        with pytest.raises(DataError):
            gm.release(gm.Request(frame, sums={"a": (0, 10)}, unit=unit, guarantee=G))
        assert heard == []
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            frame.collect()
        assert "secret 42" in heard[0]  # what is no release is as loud as ever
    finally:
        logger.removeHandler(listener)


# ---- frames that cannot be summed ------------------------------------------------------------------------------------


def test_columns_that_spark_cannot_turn_into_numbers(spark: Any) -> None:
    frame = spark.sql(
        "select 'x' t, date'2024-01-01' d, timestamp'2024-01-01' m, array(1) l, map(1, 2) k, struct(1) s, "
        "binary('x') b, interval 1 day i, parse_json('1') v, null n, true yes"
    )
    source = open_source(frame)
    for name in "tdmlksbiv":
        with refused("column-of-text" if name == "t" else "column-not-numbers", SourceError, column=name):
            check_columns(source, [name], 1)
    assert total_records(source, BoxEncoding.for_bounds([0, 0], [1, 1], [1, 0]), ["n", "yes"]).sums == [2**41, 2**41]


def test_names_that_spark_cannot_tell_apart(spark: Any) -> None:
    frame = spark.range(3).selectExpr("id a", "id b").toDF("a", "A")
    with refused("columns-differ-only-in-case-spark", other="a", column="A"):
        open_source(frame)
    with refused("column-twice", column="a"):
        open_source(spark.range(3).selectExpr("id a", "id b").toDF("a", "a"))
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert total_records(open_source(frame), BoxEncoding.for_bounds([0], [4], [0]), ["A"]).records == 3
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_streams_are_refused_before_a_charge(spark: Any, tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "study.ledger", G)
    stream = spark.readStream.format("rate").load().selectExpr("double(value) a")
    with refused("streaming-frame"):
        gm.release(gm.Request(stream, sums={"a": (0, 10)}, guarantee=G), ledger=ledger)
    assert ledger.spent == 0


def test_a_frame_of_an_old_spark(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(spark), "version", property(lambda self: "3.5.1"))
    with refused("unsupported-version", package="the frame's Spark", found="3.5.1", oldest="4.3.0"):
        open_source(spark.range(3))


def test_a_session_in_the_way(spark: Any, table: Path) -> None:
    with refused("another-spark-session", master="local[7]", found="local[2,3]"):
        open_source(table, "spark", "local[7]")
    assert open_source(table, "spark", "local[2,3]").engine.name == "spark"


def test_files_that_spark_cannot_read(spark: Any, tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0], "t": pl.Series([1], dtype=pl.Time)}).write_parquet(tmp_path / "a.parquet")
    with refused("not-opened-by-spark"):
        open_source(tmp_path / "a.parquet", "spark")


# ---- the command line ------------------------------------------------------------------------------------------------


def test_the_command_line_is_quiet_and_gives_answers(table: Path, tmp_path: Path) -> None:
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)
    (tmp_path / "request.toml").write_text(
        'source = "people.parquet"\ncount = true\nsums = { age = [0, 100] }\nguarantee = { mu = 1e6 }\n'
    )
    command = [sys.executable, "-m", "gaussmith", "release", "request.toml", "--engine", "spark"]
    done = subprocess.run(
        [*command, "--master", "local[2]", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert (done.returncode, done.stderr) == (0, "")
    answers = {answer["answer"]: answer["value"] for answer in json.loads(done.stdout)["answers"]}
    data = pl.read_parquet(table)
    assert round(answers["count"]) == len(data)
    assert abs(answers["age_sum"] - data["age"].clip(0, 100).sum()) < 0.1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.parquet", "request.toml"]
    nowhere = subprocess.run(
        [*command, "--master", "spark://127.0.0.1:9"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert nowhere.returncode == 2 and "nothing answers at this address" in nowhere.stderr and not nowhere.stdout

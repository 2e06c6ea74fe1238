"""Times with a zone are read in UTC: the same day, hour, key and person on every engine, in whatever zone they are."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import gaussmith as gm

UTC = datetime.UTC
INSTANTS = [
    datetime.datetime(2024, 3, 31, 0, 30, tzinfo=UTC),  # 01:30 in Berlin, before its clocks go forward
    datetime.datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
    datetime.datetime(2024, 10, 27, 0, 30, tzinfo=UTC),  # both 02:30 in Berlin
    datetime.datetime(2024, 10, 27, 1, 30, tzinfo=UTC),
    datetime.datetime(2023, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),  # the next year in Berlin
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime.datetime(1, 1, 2, 5, tzinfo=UTC),
    datetime.datetime(9999, 12, 30, 22, tzinfo=UTC),
    None,
]


def table(zone: str) -> pl.DataFrame:
    times = pl.Series("t", INSTANTS, dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(zone)
    return pl.DataFrame({"i": range(len(INSTANTS)), "t": times})


def counted(source: Any, **fields: Any) -> list[int]:
    request = gm.Request(source, count=True, guarantee=gm.Guarantee(mu=1e6), **fields)
    return [round(answer.value) for answer in gm.release(request)]


def check_source(source: Any) -> None:
    for instant in filter(None, INSTANTS):
        hour, day = instant.hour, instant.date().isoformat()
        same_hour = sum(other is not None and other.hour == hour for other in INSTANTS)
        same_day = sum(other is not None and other.date() == instant.date() for other in INSTANTS)
        assert counted(source, where=f"hour(t) == {hour}") == [same_hour]
        assert counted(source, where=f"t == '{day}' and days_between(t, '{day}') == 0") == [same_day]
    assert counted(source, by={"t": ["2023-12-31", "2024-01-01"]}) == [1, 0]
    assert counted(source, unit="t") == [len(INSTANTS) - 1]
    assert counted(source, where="is_null(t)") == [1]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("engine", ["polars", "arrow", "pandas", "parquet", "duckdb", "duckdb parquet"])
def test_times_with_a_zone(zone: str, engine: str, tmp_path: Path) -> None:
    frame = table(zone)
    frame.write_parquet(tmp_path / "t.parquet")
    if engine == "pandas":
        frame = frame.filter(pl.col("t").is_null() | pl.col("t").dt.year().is_between(1900, 2100))
        check_inside(frame.to_pandas())
        return
    connection = duckdb.connect()
    connection.execute(f"set timezone = '{zone}'")
    path = str(tmp_path / "t.parquet")
    connection.register("rows", frame.to_arrow())
    sources = {
        "polars": lambda: frame,
        "arrow": frame.to_arrow,
        "parquet": lambda: path,
        "duckdb": lambda: connection.sql("select i, t::timestamptz as t from rows"),
        "duckdb parquet": lambda: connection.read_parquet(path),
    }
    check_source(sources[engine]())


def check_inside(source: Any) -> None:
    assert counted(source, where="hour(t) == 23 and year(t) == 2023 and weekday(t) == 7") == [1]
    assert counted(source, where="hour(t) == 0") == [2]
    assert counted(source, by={"t": ["2023-12-31", "2024-01-01"]}) == [1, 0]


def test_seconds_far_away_in_pandas() -> None:
    import pandas as pd

    seconds = pd.Series([0, 2**62, -62_135_596_800]).astype("datetime64[s]").dt.tz_localize("UTC")
    assert counted(pd.DataFrame({"t": seconds}), where="is_null(t)") == [1]
    assert counted(pd.DataFrame({"t": seconds}), where="year(t) == 1") == [1]


def test_times_with_a_zone_on_spark(spark: Any, tmp_path: Path) -> None:
    table("Europe/Berlin").write_parquet(tmp_path / "t.parquet")
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        frame = spark.read.parquet(str(tmp_path / "t.parquet"))
        assert dict(frame.dtypes)["t"] == "timestamp"
        assert counted(frame, where="hour(t) == 23 and year(t) == 2023 and weekday(t) == 7") == [1]
        assert counted(frame, unit="t") == [len(INSTANTS) - 1]
        assert counted(frame, by={"t": ["2023-12-31", "2024-10-27", "0001-01-02"]}) == [1, 2, 1]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_the_release_says_that_times_are_read_in_utc() -> None:
    told = "times in t have a time zone and are read in UTC"
    relation = duckdb.connect().from_arrow(table("Europe/Berlin").to_arrow())
    for source in (table("Europe/Berlin"), relation):
        request = gm.Request(source, count=True, by={"t": ["2024-03-31"]}, guarantee=gm.Guarantee(mu=1))
        released = gm.release(request)
        assert told in released.notes() and told in gm.read(released.to_json()).notes()
    plain = table("UTC").with_columns(pl.col("t").dt.replace_time_zone(None))
    request = gm.Request(plain, count=True, by={"t": ["2024-03-31"]}, guarantee=gm.Guarantee(mu=1))
    assert told not in gm.release(request).notes()

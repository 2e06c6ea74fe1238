"""Found keys on every engine: the people, spare numbers and features of each key are the same integers."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from doors.noise import found_draws
from engines import ENGINES
from planting import plant

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines import polars
from gaussmith.totals import found_keys as key_passes

ROWS = 900
KEPT = 4
PLAIN = {"numpy", "numpy Fortran", "lists"}
"""Columns have no names there, and groups need them."""

ASKED: dict[str, dict[str, Any]] = {
    "texts": {"by": {"key": "found"}, "sums": {"x": (-9, 9)}, "count": True},
    "numbers and declared": {"by": {"year": "found", "sex": ["f", "m"]}, "count": True, "where": "x > -5"},
    "quantiles": {"by": {"key": "found"}, "medians": {"x": (-9, 9)}},
    "moments": {"by": {"key": "found"}, "variances": {"x": (-9, 9)}, "mean_of": "units"},
}
COUNTED: dict[str, Any] = {"by": {"key": "found"}, "count": True}


def table() -> pl.DataFrame:
    """People with more keys than count, all with few rows, so that ties are many; fresh on each run."""
    random = np.random.default_rng()
    names = ["Ålesund", "oslo", "Oslo", " oslo", "", "日本", "a\tb", 'quo"te', "1", "01", None]
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in random.integers(0, 60, ROWS)],
            "key": [names[i] for i in random.integers(0, len(names), ROWS)],
            "year": pl.Series(random.integers(1990, 2025, ROWS), dtype=pl.Int64),
            "sex": [["f", "m", "x"][i] for i in random.integers(0, 3, ROWS)],
            "x": random.normal(0, 6, ROWS).round(3),
        }
    )


def expected_people(data: pl.DataFrame) -> dict[tuple[str, ...], int]:
    """People per key by Python alone: of each person the KEPT keys with most rows, ties by md5."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for row in data.iter_rows(named=True):
        if row["key"] is not None:
            rows[row["person"]][row["key"]] += 1
    found: Counter[tuple[str, ...]] = Counter()
    for person, keys in rows.items():
        ranked = sorted(keys, key=lambda key, own=keys, who=person: (-own[key], _digest(who, key)))
        found.update((key,) for key in ranked[:KEPT])
    return dict(found)


def _digest(person: str, key: str) -> str:
    text = f"{len(person)}:{person}{len(key)}:{key}"
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _found(source: Any, asked: dict[str, Any]) -> list[Any]:
    request = gm.Request(
        source, unit="person", groups_per_unit=KEPT, guarantee=gm.Guarantee(epsilon=1, delta=1e-6), **asked
    )
    return [draw.by_key for draw in found_draws(mechanism.prepare_request(request.plan, source))]


@pytest.mark.parametrize("engine", [name for name in ENGINES if name not in PLAIN and name != "pyarrow reader"])
def test_every_engine_finds_the_same(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    data = table()
    if engine in ("csv", "tsv", "json lines"):  # there an empty text is a missing one, and years are texts
        data = data.with_columns(pl.col("key").replace({"": "empty"}), pl.format("y{}", "year").alias("year"))
    source = ENGINES[engine](data, tmp_path, lambda: request.getfixturevalue("spark"))
    for name, asked in ASKED.items():
        assert _found(source, asked) == _found(data, asked), name


def test_ties_of_people_named_by_times_go_by_the_key_alone() -> None:
    """Also where DuckDB has nanoseconds as integers: other engines write times in their own ways."""
    data = table().with_columns(
        pl.col("person").str.strip_prefix("p").cast(pl.Int64).add(1_700_000_000_000_000_000).cast(pl.Datetime("ns"))
    )
    connection = duckdb.connect()
    connection.register("data", data.to_arrow())
    for asked in ASKED.values():
        assert _found(connection.table("data"), asked) == _found(data, asked)


def test_people_are_those_that_python_finds() -> None:
    data = table()
    request = gm.Request(
        data, unit="person", groups_per_unit=KEPT, guarantee=gm.Guarantee(epsilon=1, delta=1e-6), **ASKED["texts"]
    )
    opened = mechanism.prepare_request(request.plan, data).sources[0]
    batches = opened.summation.stream(opened.source, (), 1)
    assert {(row[0],): row[1] for batch in batches for row in batch.rows()} == expected_people(data)


@pytest.mark.parametrize("told", [(1, 1), (0, 1), (0, 0)], ids=["digests", "equal upper halves", "equal digests"])
def test_first_rows_are_those_that_python_ranks_first(told: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also texts of more than one block, with letters of several bytes; and where digests are alike."""
    random, real = np.random.default_rng(), polars.digest_texts
    keys = [letter * int(size) for letter in "xä日" for size in range(0, 70, 3)]
    rows = pl.DataFrame(
        {
            "u": random.integers(0, 9, 400),
            "fewest": -random.integers(1, 4, 400),
            "text": [keys[i] for i in random.integers(0, len(keys), 400)],
            "key": random.permutation(400),
        }
    )
    monkeypatch.setattr(polars, "digest_texts", lambda texts: real(texts) * np.array(told, np.uint64))
    found = rows[polars.first_places(rows, "u", "fewest", "text", ["key"], KEPT)]

    def rank(row: dict[str, Any]) -> tuple[Any, ...]:
        digest = hashlib.md5(row["text"].encode(), usedforsecurity=False).hexdigest()
        return row["fewest"], digest[:16] * told[0], digest[16:] * told[1], row["key"]

    people = [sorted(own.rows(named=True), key=rank)[:KEPT] for own in rows.partition_by("u")]
    assert sorted(found.rows()) == sorted(tuple(row.values()) for own in people for row in own)


# -- passes over the people -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars eager", "duckdb"])
def test_passes_change_no_integer(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = table()
    some = ASKED if engine == "polars eager" else {"texts": ASKED["texts"]}  # DuckDB plans long
    wanted = {name: _found(data, asked) for name, asked in some.items()}
    monkeypatch.setattr(key_passes, "PASS_ROWS", 300)
    read, real = [], key_passes.Passes.cut
    monkeypatch.setattr(key_passes.Passes, "cut", lambda self, rows, i: read.append(i) or real(self, rows, i))
    source = ENGINES[engine](data, tmp_path, None)
    for name, asked in some.items():
        assert _found(source, asked) == wanted[name], name
    assert set(read) == {0, 1, 2}


@pytest.mark.parametrize("sample", [1, 10**6])
def test_keys_that_repeat_may_be_added_up_at_once(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One key in a sample of one is as many keys as rows; among all rows keys repeat."""
    data = table()
    wanted = _found(data, ASKED["texts"])
    monkeypatch.setattr(key_passes, "PASS_ROWS", 200)
    monkeypatch.setattr(key_passes, "SAMPLE", sample)
    assert _found(data, ASKED["texts"]) == wanted


IDS: dict[str, Any] = {
    "integers": list(range(-9, 9)),
    "long integers": pl.Series([(1 << 63) + i for i in range(18)], dtype=pl.UInt64),
    "texts": [f"p{i}" for i in range(18)],
    "fractions": [i / 4 for i in range(-9, 9)],
    "zeros": [0.0, -0.0] * 9,
    "days": [date(2020, 1, 1 + i) for i in range(18)],
    "times": [datetime(2020, 1, 1, i) for i in range(18)],
    "decimals": [Decimal(i) / 4 for i in range(18)],
    "truths": [True, False] * 9,
}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("engine", ["polars eager", "duckdb"])
def test_a_person_is_in_one_pass(engine: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids of every type: nobody is missed, and nobody keeps more groups than are allowed."""
    monkeypatch.setattr(key_passes, "PASS_ROWS", 10)
    ids = pl.Series("person", IDS[name])
    people = len(set(IDS[name]))
    data = pl.concat([ids.to_frame().with_columns(key=pl.lit(f"k{j}")) for j in range(5)])
    source = ENGINES[engine](data, tmp_path, None)
    request = gm.Request(
        source,
        unit="person",
        by={"key": "found"},
        groups_per_unit=2,
        count=True,
        guarantee=gm.Guarantee(epsilon=1, delta=1e-6),
    )
    (opened,) = mechanism.prepare_request(request.plan, source).sources
    found = pl.concat(opened.summation.stream(opened.source, (), 1))
    assert found["n"].sum() == 2 * people
    assert found["n"].max() <= people


@pytest.mark.parametrize("engine", ["polars eager", "duckdb"])
def test_long_integers_of_people_are_told_apart(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers of 128 bits, which Arrow does not know: ties go as they do on Polars."""
    monkeypatch.setattr(key_passes, "PASS_ROWS", 40)
    names = [10**30 + i for i in range(60)]
    data = pl.DataFrame({"person": pl.Series(names * 7, dtype=pl.Int128), "key": [f"k{i // 60}" for i in range(420)]})
    source: Any = data
    if engine == "duckdb":
        texts = data.with_columns(pl.col("person").cast(pl.String)).to_arrow()
        source = duckdb.connect().from_arrow(texts).project("cast(person as hugeint) as person, key")
    request = gm.Request(
        source, unit="person", groups_per_unit=KEPT, guarantee=gm.Guarantee(epsilon=1, delta=1e-6), **COUNTED
    )
    (opened,) = mechanism.prepare_request(request.plan, source).sources
    found = {(row[0],): row[1] for batch in opened.summation.stream(opened.source, (), 1) for row in batch.rows()}
    assert found == expected_people(data.with_columns(pl.col("person").cast(pl.String)))


def test_a_source_that_changes_between_passes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are there in some passes only: nothing is released, and the error says nothing about them."""
    monkeypatch.setattr(key_passes, "PASS_ROWS", 100)
    data, reads = table(), []

    def some(frame: pl.DataFrame) -> pl.DataFrame:
        reads.append(len(frame))
        return frame.head(0 if len(reads) == 3 else len(frame))

    source = data.lazy().map_batches(some)
    request = gm.Request(
        source, unit="person", groups_per_unit=KEPT, guarantee=gm.Guarantee(epsilon=1, delta=1e-6), **COUNTED
    )
    with pytest.raises(gm.DataError):
        gm.release(request)
    assert len(reads) > 3


def test_people_divided_by_their_rows_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person in several passes would keep m groups in each."""
    monkeypatch.setattr(key_passes, "PASS_ROWS", 100)
    plant(monkeypatch, key_passes.Passes.cut, 'part(rows, "u", i', 'part(rows, "k0", i')
    data = table()
    request = gm.Request(
        data, unit="person", groups_per_unit=KEPT, guarantee=gm.Guarantee(epsilon=1, delta=1e-6), **COUNTED
    )
    (opened,) = mechanism.prepare_request(request.plan, data).sources
    found = {(row[0],): row[1] for batch in opened.summation.stream(opened.source, (), 1) for row in batch.rows()}
    assert found != expected_people(data)

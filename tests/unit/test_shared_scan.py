"""Draws that differ in the columns that must have a value are added up in one scan, to the same integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines.polars import POLARS
from gaussmith.totals import groups as pairs
from gaussmith.totals.opened import scans_of, total, total_all

COLUMNS = 21  # more than one chunk of the kernel
ROWS = 40_000  # more than one piece


def made(rows: int = ROWS) -> pl.DataFrame:
    generator = np.random.default_rng(7)
    found = {}
    for j in range(COLUMNS):
        numbers = pl.Series(generator.normal(50, 40, rows))
        gone = pl.Series(generator.random(rows) < (0.0 if j % 4 == 0 else 0.2))
        nan = pl.Series(generator.random(rows) < (0.1 if j % 3 == 0 else 0.0))
        found[f"c{j}"] = numbers.set(nan, float("nan")).set(gone, None)
    return pl.DataFrame(found)


def request_of(source: object, **fields: object) -> gm.Request:
    means = {f"c{j}": (0, 100) for j in range(COLUMNS)}
    sums = {"c1": (-10, 60), "c2": (20, 90), "c3": (20, 90)}
    return gm.Request(
        source, means=means, sums=sums, complete=["c5", "c6"], count=True, guarantee=gm.Guarantee(mu=1), **fields
    )


@pytest.mark.parametrize("where", [None, "c0 > 20"])
@pytest.mark.parametrize("kind", ["frame", "parquet", "duckdb"])
def test_one_scan_gives_the_integers_of_a_scan_for_each(kind: str, where: str | None, tmp_path: Path) -> None:
    frame = made()
    frame.write_parquet(tmp_path / "wide.parquet")
    path = tmp_path / "wide.parquet"
    source: object = {"frame": frame, "parquet": path, "duckdb": duckdb.read_parquet(str(path))}[kind]
    request = request_of(source, where=where)
    prepared = mechanism.prepare_request(request.plan, request.source)
    assert len(prepared.sources) > 15 and len(scans_of(prepared.sources)) == 1
    together = total_all(prepared.sources)
    apart = [total(opened) for opened in prepared.sources]
    assert [[(list(t.sums), t.records) for t in draw] for draw in together] == [
        [(list(t.sums), t.records) for t in draw] for draw in apart
    ]


def test_the_table_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = []
    usual = type(POLARS).total

    def counted(self: object, source: object, *rest: object) -> object:
        scans.append(1)
        return usual(self, source, *rest)  # type: ignore[arg-type]

    request = request_of(made(100))
    prepared = mechanism.prepare_request(request.plan, request.source)
    monkeypatch.setattr(type(POLARS), "total", counted)
    mechanism.release(prepared)
    assert len(scans) == 1


def test_a_reader_of_batches_is_enough() -> None:
    table = made(50).to_arrow()
    release = gm.release(request_of(table.to_reader()))
    assert len(release.names) == COLUMNS + 3 + 1


# ---- people ----------------------------------------------------------------------------------------------------------

PLACES = ["north", "south", "east", "west"]
LIMITS = {"none": {}, "one": {"groups_per_unit": 1}, "two": {"groups_per_unit": 2}, "all": {"groups_per_unit": 4}}


def rows_of_people(rows: int = 4000) -> pl.DataFrame:
    generator = np.random.default_rng(11)
    spent, score, age = (pl.Series(generator.normal(50, 40, rows)) for _ in range(3))
    gone = [pl.Series(generator.random(rows) < 0.3) for _ in range(4)]
    return pl.DataFrame(
        {
            "person": pl.Series(generator.integers(0, rows // 8, rows)).set(gone[3], None),
            "place": pl.Series([*PLACES, "elsewhere"])[generator.integers(0, 5, rows)],
            "spent": spent.set(gone[0], None),
            "score": score.set(gone[1], float("nan")),
            "age": age.set(gone[2], None),
        }
    )


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", ["frame", "parquet", "duckdb"])
def test_draws_of_people_are_added_up_together(kind: str, limit: str, tmp_path: Path) -> None:
    frame = rows_of_people()
    path = tmp_path / "people.parquet"
    frame.write_parquet(path)
    source: object = {"frame": frame, "parquet": path, "duckdb": duckdb.read_parquet(str(path))}[kind]
    by = {"by": {"place": PLACES}} if LIMITS[limit] else {}
    request = gm.Request(
        source,
        unit="person",
        sums={"spent": (-20, 90)},
        means={"score": (0, 100), "age": (20, 90)},
        rows_per_unit=3,
        count=True,
        where="spent < 120",
        guarantee=gm.Guarantee(mu=1),
        **by,
        **LIMITS[limit],  # type: ignore[arg-type]
    )
    prepared = mechanism.prepare_request(request.plan, request.source)
    assert len(prepared.sources) == 3 and len(scans_of(prepared.sources)) == 1
    together = total_all(prepared.sources)
    apart = [total(opened) for opened in prepared.sources]
    assert [[(list(t.sums), t.records) for t in draw] for draw in together] == [
        [(list(t.sums), t.records) for t in draw] for draw in apart
    ]
    assert all(t.records > 20 for draw in together for t in draw)


@pytest.mark.parametrize("means", [{}, {"means": {"score": (0, 100)}, "rows_per_unit": 3}])
@pytest.mark.parametrize("held", [8, 50, 1000])
def test_dropping_pairs_changes_nothing(held: int, means: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """However few pairs are held before those that nobody keeps are dropped."""
    asked = {"sums": {"spent": (-20, 90)}, "by": {"place": PLACES}, "groups_per_unit": 2, **means}
    plan = gm.Request(rows_of_people(), unit="person", guarantee=gm.Guarantee(mu=1), **asked).plan
    found = []
    for most in (pairs.HELD_PAIRS, held):
        monkeypatch.setattr(pairs, "HELD_PAIRS", most)
        monkeypatch.setattr(pairs, "BATCH_PAIRS", 7)
        draws = total_all(mechanism.prepare_request(plan, rows_of_people()).sources)
        found.append([[(list(t.sums), t.records) for t in draw] for draw in draws])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["frame", "duckdb"])
@pytest.mark.parametrize("grouped", [True, False])
def test_sums_of_a_person_do_not_overflow(kind: str, grouped: bool) -> None:
    """2^18 rows of one person, of 46 bits each, are beyond 64; what they stand for is beyond the bound."""
    rows = 1 << 18
    frame = pl.DataFrame({"person": [1] * rows + [2], "place": ["a"] * rows + ["b"], "spent": [1e9] * rows + [30.0]})
    data: Any = duckdb.from_arrow(frame.to_arrow()) if kind == "duckdb" else frame
    asked: dict[str, Any] = {"by": {"place": ["a", "b", "c"]}, "groups_per_unit": 1} if grouped else {}
    plan = gm.Request(data, unit="person", sums={"spent": (0, 90)}, guarantee=gm.Guarantee(mu=1), **asked).plan
    (draw,) = total_all(mechanism.prepare_request(plan, data).sources)
    found = [(t.sums[0] / 2**35, t.records) for t in draw]
    assert found == ([(90.0, 1), (30.0, 1), (0.0, 0)] if grouped else [(120.0, 2)])


@pytest.mark.parametrize("means", [{}, {"means": {"score": (0, 100)}, "rows_per_unit": 3}])
def test_wide_and_narrow_sums_are_the_same(means: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"sums": {"spent": (-20, 90)}, "by": {"place": PLACES}, "groups_per_unit": 2, **means}
    plan = gm.Request(rows_of_people(), unit="person", guarantee=gm.Guarantee(mu=1), **asked).plan
    found, made, once = [], [], pairs.PairSums

    def sums_of(asked: Any, wide: bool) -> pairs.PairSums:
        made.append(wide)
        return once(asked, wide)

    monkeypatch.setattr(pairs, "PairSums", sums_of)
    for rows in (pairs.LONG_PAIR, 2):
        monkeypatch.setattr(pairs, "LONG_PAIR", rows)
        draws = total_all(mechanism.prepare_request(plan, rows_of_people()).sources)
        found.append([[(list(t.sums), t.records) for t in draw] for draw in draws])
    assert found[0] == found[1] and made[-3:] == [False, False, True]


def test_a_scan_has_as_many_features_as_its_engine_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = rows_of_people(200)
    asked: dict[str, Any] = {"sums": {"spent": (0, 90)}, "means": {"score": (0, 100), "age": (20, 90)}}
    plan = gm.Request(frame, unit="person", rows_per_unit=3, guarantee=gm.Guarantee(mu=1), **asked).plan
    sources = mechanism.prepare_request(plan, frame).sources
    assert scans_of(sources) == [[0, 1, 2]]
    monkeypatch.setattr(type(POLARS), "max_features", 3)
    assert scans_of(sources) == [[0, 1], [2]]
    monkeypatch.setattr(type(POLARS), "max_features", 1)
    assert scans_of(sources) == [[0], [1], [2]]

"""Draws that differ in the columns that must have a value are added up in one scan, to the same integers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines.polars import POLARS
from gaussmith.totals.opened import total
from gaussmith.totals.shared import scans_of, total_all

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

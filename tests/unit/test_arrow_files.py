"""Arrow files give the numbers that are in them, however they were written; odd types are refused before a charge."""

from __future__ import annotations

import datetime
import decimal
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines import frames as arrow_tables
from gaussmith.engines.frames import mapped_batches
from gaussmith.engines.registry import open_source
from gaussmith.totals.records import RecordTotals

ROWS = 5_000


def make_table() -> pa.Table:
    draw = np.random.default_rng(5)
    doubles = pl.Series(draw.normal(50, 40, ROWS)).set(pl.Series(draw.random(ROWS) < 0.1), None)
    columns: dict[str, Any] = {
        "x": doubles,
        "odd": pl.Series([float("nan"), float("inf"), -float("inf"), None, -0.0] * (ROWS // 5)),
        "small": pl.Series(draw.integers(-100, 100, ROWS)).cast(pl.Int8),
        "gaps": pl.Series([None, 1, 2, None, 300] * (ROWS // 5), dtype=pl.UInt16),
        "long": pl.Series([2**63 - 1, -(2**63), 0, None, 7] * (ROWS // 5)),
        "true": pl.Series([True, None, False, True, True] * (ROWS // 5)),
        "single": pl.Series(draw.normal(50, 40, ROWS)).cast(pl.Float32),
        "name": pl.Series(["a", "b", None, "", "é"] * (ROWS // 5)),
    }
    return pl.DataFrame(columns).to_arrow(compat_level=pl.CompatLevel.oldest())


def write(path: Path, rows: int, compression: str | None) -> None:
    table = make_table()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("rows", [700, ROWS])
@pytest.mark.parametrize(
    "columns", [["x"], ["true", "small", "x", "long", "odd", "gaps", "single"], ["gaps", "x", "gaps"]]
)
def test_mapped_numbers_are_those_that_were_written(
    compression: str | None, rows: int, columns: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_tables, "MIN_BATCH_BYTES", 1)
    paths = [tmp_path / "a.arrow", tmp_path / "b.arrow"]
    for path in paths:
        write(path, rows, compression)
    batches = mapped_batches(list(map(str, paths)), columns)
    assert batches is not None
    found = pl.concat(batches)
    read = pl.concat([pl.DataFrame(make_table())] * 2)
    expected = read.select(pl.col(name).alias(f"x{j}") for j, name in enumerate(columns))
    assert found.equals(expected, null_equal=True) and found.schema == expected.schema
    bounds = [-50.0] * len(columns), [200.0] * len(columns), [3.0] * len(columns)
    codes, records = BoxEncoding.for_bounds(*bounds), RecordTotals(tuple(columns))
    (mapped,) = records.total(open_source(str(tmp_path / "*.arrow")), codes, None)
    (plain,) = records.total(open_source(read), codes, None)
    assert (list(mapped.sums), mapped.records) == (list(plain.sums), plain.records) and mapped.records == 2 * ROWS


def test_mapping_is_what_a_sum_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_tables, "MIN_BATCH_BYTES", 1)
    write(tmp_path / "a.arrow", ROWS, None)
    used: list[str] = []
    read = arrow_tables._read_mapped
    monkeypatch.setattr(arrow_tables, "_read_mapped", lambda paths, names: used.extend(names) or read(paths, names))
    source, codes = open_source(str(tmp_path / "a.arrow")), BoxEncoding.for_bounds([0], [1], [0])
    RecordTotals(("x",)).total(source, codes, None)
    assert used == ["x"]


def test_what_is_better_left_to_polars(tmp_path: Path) -> None:
    write(tmp_path / "short.arrow", 10, None)
    (tmp_path / "other.arrow").write_bytes(b"ARROW1 it is not")
    with pa.OSFile(str(tmp_path / "empty.arrow"), "wb") as file, pa.ipc.new_file(file, make_table().schema):
        pass
    for name in ("short", "other", "empty"):
        assert mapped_batches([str(tmp_path / f"{name}.arrow")], ["x"]) is None


# ---- types that Polars cannot hold, or not as they are ---------------------------------------------------------------

PEOPLE = 5
EXACT = gm.Guarantee(mu=1e6)
NUMBERS = list(range(PEOPLE))
UNHELD: dict[str, Any] = {
    "uuid": lambda: pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=i).bytes for i in NUMBERS], pa.binary(16))
    ),
    "bool8": lambda: pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 0, 1, 1], pa.int8())),
    "json": lambda: pa.ExtensionArray.from_storage(pa.json_(), pa.array(list(map(str, NUMBERS)))),
    "decimal256": lambda: pa.array(list(map(decimal.Decimal, NUMBERS)), pa.decimal256(50, 2)),
    "map": lambda: pa.array([[("a", i)] for i in NUMBERS], pa.map_(pa.string(), pa.int64())),
    "run-end encoded": lambda: pc.run_end_encode(pa.array(NUMBERS)),
    "interval": lambda: pa.array([(i, 1, 1) for i in NUMBERS], pa.month_day_nano_interval()),
}


def write_ipc(path: Path, table: pa.Table) -> str:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return str(path)


@pytest.mark.parametrize("kind", UNHELD)
def test_a_column_of_an_arrow_file_that_cannot_be_read_is_refused_by_its_type(kind: str, tmp_path: Path) -> None:
    table = pa.table({"x": [1.0] * PEOPLE, "odd": UNHELD[kind]()})
    for name in ("a.arrow", "b.arrow"):
        write_ipc(tmp_path / name, table)
    for source in (str(tmp_path / "a.arrow"), str(tmp_path / "*.arrow")):
        for code, asked in {
            "unit-of-other-kind": {"unit": "odd", "count": True},
            "keys-do-not-fit-column": {"by": {"odd": [1, 2]}, "count": True},
            "column-not-numbers": {"sums": {"odd": (0, 9)}},
        }.items():
            ledger = gm.Ledger.create(tmp_path / f"{len(list(tmp_path.iterdir()))}.ledger", EXACT)
            with refused(code):
                gm.release(gm.Request(source, guarantee=EXACT, **asked), ledger=ledger)
            assert not ledger.history()
        files = 2 if "*" in source else 1
        count = gm.release(gm.Request(source, sums={"x": (0, 9)}, guarantee=EXACT))["x_sum"].value
        assert count == pytest.approx(PEOPLE * files, abs=0.01)


@pytest.mark.parametrize("zone", ["+05:30", "-00:01", "Mars/Base", "Asia/Kolkata", "UTC"])
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_times_in_any_zone_are_instants(
    zone: str, unit: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Polars panics on a zone without a name, even in a column that nobody asks for."""
    when = pa.array([datetime.datetime(2024, 1, 1 + i // 2) for i in NUMBERS], pa.timestamp(unit, zone))
    table = pa.table({"x": [1.0] * PEOPLE, "when": when})
    pq.write_table(table, tmp_path / "a.parquet")
    sources = [table, table.to_batches()[0], ds.dataset(table), table.to_pandas(types_mapper=pd.ArrowDtype)]
    for source in [*sources, write_ipc(tmp_path / "a.arrow", table), str(tmp_path / "a.parquet")]:
        made = gm.release(gm.Request(source, sums={"x": (0, 9)}, guarantee=EXACT))
        assert made["x_sum"].value == pytest.approx(PEOPLE, abs=0.01)
        people = gm.release(gm.Request(source, unit="when", count=True, guarantee=EXACT))
        assert people["count"].value == pytest.approx(3, abs=0.01)
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("numbers", [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.decimal128(21, 2)])
def test_dictionaries_of_several_chunks_are_their_values(numbers: pa.DataType, tmp_path: Path) -> None:
    chunks = [pa.array(chunk).cast(numbers).dictionary_encode() for chunk in ([1, 2, 3], [3, 4], [2])]
    with_null = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([2, None]).cast(numbers))
    for column, sums, people in ((pa.chunked_array(chunks), 15, 4), (pa.chunked_array([*chunks, with_null]), 17, 4)):
        table = pa.table({"k": column})
        frame = pd.DataFrame({"k": pd.Series(pd.arrays.ArrowExtensionArray(column))})
        for source in (table, ds.dataset(table), frame):
            total = gm.release(gm.Request(source, sums={"k": (0, 9)}, guarantee=EXACT))["k_sum"].value
            assert total == pytest.approx(sums, abs=0.01)
            found = gm.release(gm.Request(source, unit="k", count=True, guarantee=EXACT))["count"].value
            assert found == pytest.approx(people, abs=0.01)
            asked = gm.Request(source, count=True, where="k == 2", guarantee=EXACT)
            assert gm.release(asked)["count"].value == pytest.approx(2 if sums == 15 else 3, abs=0.01)

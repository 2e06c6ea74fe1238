"""Arrow files that are mapped give the numbers that are in them, however they were written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from gaussmith.engines import arrow_tables
from gaussmith.engines.arrow_tables import mapped_batches
from gaussmith.engines.registry import open_source
from gaussmith.problem.codes import BoxCodes
from gaussmith.totals.records import Records

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
    codes, records = BoxCodes.for_bounds(*bounds), Records(tuple(columns))
    (mapped,) = records.total(open_source(str(tmp_path / "*.arrow")), codes, None)
    (plain,) = records.total(open_source(read), codes, None)
    assert (list(mapped.sums), mapped.records) == (list(plain.sums), plain.records) and mapped.records == 2 * ROWS


def test_mapping_is_what_a_sum_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_tables, "MIN_BATCH_BYTES", 1)
    write(tmp_path / "a.arrow", ROWS, None)
    used: list[str] = []
    read = arrow_tables._read_mapped
    monkeypatch.setattr(arrow_tables, "_read_mapped", lambda paths, names: used.extend(names) or read(paths, names))
    source, codes = open_source(str(tmp_path / "a.arrow")), BoxCodes.for_bounds([0], [1], [0])
    Records(("x",)).total(source, codes, None)
    assert used == ["x"]


def test_what_is_better_left_to_polars(tmp_path: Path) -> None:
    write(tmp_path / "short.arrow", 10, None)
    (tmp_path / "other.arrow").write_bytes(b"ARROW1 it is not")
    with pa.OSFile(str(tmp_path / "empty.arrow"), "wb") as file, pa.ipc.new_file(file, make_table().schema):
        pass
    for name in ("short", "other", "empty"):
        assert mapped_batches([str(tmp_path / f"{name}.arrow")], ["x"]) is None

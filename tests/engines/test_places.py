"""Places of values, tables of keys, columns as they are: the quick ways give the integers of the plain ones."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

import gaussmith as gm
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.duckdb import AS_THEY_ARE, DUCKDB
from gaussmith.engines.engine import array_places
from gaussmith.engines.registry import open_source
from gaussmith.expressions.keys import GroupKeys, declare_groups, declare_numbers
from gaussmith.totals.categories import open_cells
from gaussmith.totals.records import RecordTotals

NUMBERS = [0, 1, 2, 4, 5, -1, -3, 2**53, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"), float("-inf"), 1e300, 5e-324, 4.0, -3.0, 2.0**63, 2.0**64]
LABELS: dict[str, list[Any]] = {
    "places": list(range(6)),
    "few": [4, -3, 0],
    "wide": [0, 2**40, -3],
    "halves": [2.5, 4.0, -3.0],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize(
    "dtype", ["int8", "int64", "uint8", "uint64", "float16", "float32", "float64", "longdouble", "bool"]
)
def test_places_of_arrays(dtype: str, labels: list[Any]) -> None:
    """Each number is at the label that it equals as a double, and else at none."""
    with np.errstate(all="ignore"):
        values = np.array(FLOATS if dtype.startswith(("float", "long")) else NUMBERS, object)
        if dtype == "uint64":
            values = np.array([0, 4, 5, 2**53, 2**63, 2**64 - 3, 2**64 - 1], object)
        array = np.array([v for v in values if dtype not in ("int8", "uint8") or 0 <= v < 128]).astype(dtype)
        doubles = array.astype(float).tolist()
    keys = declare_groups(["0"], [(label,) for label in labels], {"0": "number"})
    wanted = [[float(label) for label in labels].index(x) if x in labels else -1 for x in doubles]
    assert array_places([keys])(array[:, None]).ravel().tolist() == wanted
    if labels == list(range(6)):
        assert array_places([declare_numbers("0", 6)])(array[:, None]).ravel().tolist() == wanted


def test_places_of_arrays_that_hold_labels_alone() -> None:
    whole = np.array([[3, 0], [1, 2]])
    find = array_places([declare_numbers("0", 4), declare_numbers("1", 3)])
    assert find(whole).tolist() == find(whole.astype(float)).tolist() == whole.tolist()
    assert find(whole[:0]).shape == (0, 2)


@pytest.mark.parametrize("labels", [8, list(range(8)), [float(i) for i in range(8)], [3, 2**41, -5]])
@pytest.mark.parametrize("or_none", [False, True])
def test_histograms_of_arrays_and_frames_are_the_same(labels: Any, or_none: bool) -> None:
    pick = random.choices([0, 1, 3, 7, 8, -1, -5, 2**41, 2**62], k=500)
    cells = gm.Cells(size=labels, or_none=or_none) if isinstance(labels, int) else gm.Cells(labels, or_none=or_none)
    block = gm.plan(cells, gm.Guarantee(mu=1)).query.block
    frame, connection = pl.DataFrame({"a": pick}), duckdb.connect()
    connection.register("rows", frame.to_arrow())
    sources: list[Any] = [np.array(pick), np.array(pick, float), frame, connection.sql("select * from rows")]
    found = [total_of(cells, block.codes, data) for data in sources]
    known = list(range(8)) if isinstance(labels, int) else labels
    wanted = [pick.count(label) for label in known]
    if not or_none:
        wanted[0] += sum(value not in known for value in pick)
    assert all(each == (wanted, 500) for each in found)


def total_of(cells: gm.Cells, codes: Any, data: Any) -> tuple[list[int], int]:
    source, summation = open_cells(data, cells, None)
    (totals,) = summation.total(source, codes, None)
    return list(map(int, totals.sums)), totals.records


def test_key_tables_of_duckdb_hold_any_text() -> None:
    texts = ["", "'", '"', "\x1f", "a\x1fb", "é", "\U0001f600", "\n", "null", "NULL", " ", "{}", "1", ",", "\\"]
    rows = nw.from_native(duckdb.connect().sql("select 1 as a"))
    for labels in (texts, ["\x1f" + chr(i) for i in range(0x20, 0x60)]):
        keys = declare_groups(["s"], [(text,) for text in labels], {"s": "text"})
        assert sorted(DUCKDB.fetch(DUCKDB.key_table(rows, keys)), key=lambda row: row[1]) == [
            (text, g) for g, text in enumerate(labels)
        ]


def test_key_tables_of_duckdb_may_be_empty() -> None:
    """So they are in a rehearsal of found keys: none is known yet."""
    rows = nw.from_native(duckdb.connect().sql("select 1 as a"))
    for kind in ("text", "number"):
        table = DUCKDB.key_table(rows, GroupKeys(("s",), (), (kind,), ()))
        assert DUCKDB.fetch(table) == [] and table.collect_schema().names() == ["k0", "g"]


def test_key_tables_of_duckdb_hold_doubles_bit_for_bit() -> None:
    numbers = [
        0.1,
        1e-300,
        5e-324,
        -2.5,
        1e15 + 0.1,
        2.0**52 + 1,
        1 / 3,
        *np.random.default_rng().normal(size=50).tolist(),
    ]
    keys = declare_groups(["f"], [(x,) for x in numbers], {"f": "number"})
    rows = nw.from_native(duckdb.connect().sql("select 1 as a"))
    found = sorted(DUCKDB.fetch(DUCKDB.key_table(rows, keys)), key=lambda row: row[1])
    assert found == [(x, g) for g, x in enumerate(numbers)]


def test_columns_of_every_type_of_duckdb_have_the_codes_of_polars() -> None:
    """Integers as they are, doubles as they are, all else through doubles; odd values keep their meaning."""
    limits = {f"{u}int{b}": getattr(pl, f"{'UInt' if u else 'Int'}{b}") for u in ("", "u") for b in (8, 16, 32, 64)}
    columns: dict[str, pl.Series] = {}
    for name, dtype in limits.items():
        ends = [int(pl.select(dtype.min()).item()), int(pl.select(dtype.max()).item())]
        columns[name] = pl.Series([*ends, 0, 1, 99, 100, 101, None, 50], dtype=dtype)
    odd = [float("nan"), float("inf"), float("-inf"), -0.0, 1e300, 5e-324, None, 63.7, 100.0]
    columns |= {"double": pl.Series(odd), "single": pl.Series(odd, dtype=pl.Float32)}
    columns |= {"truth": pl.Series([True, False, None] * 3), "void": pl.Series([None] * 9, dtype=pl.Float64)}
    frame = pl.DataFrame(columns)
    connection = duckdb.connect()
    connection.register("rows", frame.to_arrow())
    connection.execute("create table t as select *, cast(double as decimal(9, 2)) as decimal from rows where false")
    kinds = {str(kind) for kind in connection.table("t").types}
    assert kinds >= AS_THEY_ARE
    names = tuple(columns)
    for low, high, stand_in in ((0, 100, 7), (-3.5, 60.25, 0), (50, 51, 50.5), (-1e9, 1e300, 3)):
        codes = BoxEncoding.for_bounds([low] * len(names), [high] * len(names), [stand_in] * len(names))
        (there,) = RecordTotals(names).total(open_source(connection.sql("select * from rows")), codes, None)
        (here,) = RecordTotals(names).total(open_source(frame), codes, None)
        doubles = frame.select(pl.all().cast(pl.Float64)).to_numpy()
        assert there == here
        assert list(there.sums) == [int(s) for s in codes.encode(doubles).astype(object).sum(axis=0)]

"""Spark: codes record by record, exact sums however they are added, and nothing but totals on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from summing import total_records

from gaussmith.domains.counts import CountEncoding
from gaussmith.domains.encoding import BallEncoding, BoxEncoding
from gaussmith.engines.engine import Totals, Unsteady
from gaussmith.engines.registry import open_source
from gaussmith.engines.spark import BLOCK_COLUMNS, read_numbers, total_frame
from gaussmith.papers.sparse import SparseEncoding

EDGES = [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan, 1.0, 2.0**53 + 1]


def nasty(rows: int, columns: int, low: npt.ArrayLike, high: npt.ArrayLike) -> Any:
    """Numbers in and around bounds, their neighbours, halves between steps, and every edge of doubles."""
    random = np.random.default_rng()
    low, high = np.broadcast_to(low, columns), np.broadcast_to(high, columns)
    with np.errstate(over="ignore"):
        x = low + (high - low) * random.uniform(-0.2, 1.2, (rows, columns))
    near = np.where(random.random(x.shape) < 0.5, low, high)
    x = np.where(random.random(x.shape) < 0.2, np.nextafter(near, random.choice([-np.inf, 0, np.inf], x.shape)), x)
    return np.where(random.random(x.shape) < 0.2, random.choice(EDGES, x.shape), x)


def code_on(spark: Any, rows: Any, codes: Any) -> list[list[int]]:
    """The codes of each record, as Spark makes them, 0 for null. NaN goes in as NaN or as null."""
    random = np.random.default_rng()
    names = [f"x{j}" for j in range(rows.shape[1])]
    records = [
        (i, *(None if np.isnan(v) and random.random() < 0.5 else v for v in row)) for i, row in enumerate(rows.tolist())
    ]
    frame = spark.createDataFrame(records, ", ".join(["i long", *(f"{name} double" for name in names)]))
    frame = frame.selectExpr("i", *read_numbers(names, ["number"] * len(names)))
    for step in codes.spell(range(codes.width)):
        frame = frame.selectExpr("i", *step)
    return [[code or 0 for code in row[1:]] for row in frame.orderBy("i").collect()]


def test_boxes_record_by_record(spark: Any) -> None:
    random = np.random.default_rng()
    low = np.concatenate(
        [random.normal(0, 1, 8) * 10.0 ** random.integers(-6, 6, 8), [-1e300, 0, 1e-290, -3, -8e307, 0]]
    )
    high = low + np.concatenate([10.0 ** random.uniform(-5, 5, 8), [1e300, 1, 1e-280, 0.1, 1.7e308, 1.7e308]])
    codes = BoxEncoding.for_bounds(low, high, low + (high - low) * random.uniform(0, 1, 14))
    rows = nasty(300, 14, low, high)
    rows[:100] = codes.low + np.floor(random.uniform(0, codes.steps, (100, 14))) / codes.scale + 0.5 / codes.scale
    assert code_on(spark, rows, codes) == codes.encode(rows).tolist()


@pytest.mark.parametrize("d", [1, 2, 40])
def test_balls_record_by_record(d: int, spark: Any) -> None:
    random = np.random.default_rng()
    codes = BallEncoding(random.normal(size=d), 10.0 ** random.uniform(-5, 5, d))
    rows = codes.centre + random.normal(size=(150, d)) * codes.radius * 2.0 ** random.integers(-40, 40, (150, 1))
    rows[:30] = np.where(random.random((30, d)) < 0.2, random.choice(EDGES, (30, d)), rows[:30])
    rows[30:33] = codes.centre
    assert code_on(spark, rows, codes) == codes.encode(rows).tolist()


@pytest.mark.parametrize("k", [1, 3, 7])
def test_counts_and_sparse_sums_record_by_record(k: int, spark: Any) -> None:
    rows = nasty(200, 7, -2, 2)
    rows[:50] = np.random.default_rng().choice([0.0, 1.0, -1.0, 0.5], (50, 7))  # many ties
    for codes in (CountEncoding(7, k), SparseEncoding.for_bounds([1, 1, 1, 0.5, 2, 1e-3, 1], k)):
        assert code_on(spark, rows, codes) == codes.encode(rows).tolist()


def test_sums_beyond_64_bits(spark: Any) -> None:
    """2^22 rows of the largest code pass 2^63; limbs in doubles and in integers give the same."""
    codes = BoxEncoding.for_bounds([0.0], [2.0 - 2.0**-41], [0.0])
    rows = 1 << 22
    wanted = Totals([rows * int(codes.steps[0])], rows)
    assert wanted.sums[0] >= 2**63
    source = open_source(spark.range(rows).selectExpr("1e9D x"))
    assert total_records(source, codes, ["x"]) == wanted
    assert total_frame(source.native, codes, ["x"], source.schema, doubles_hold=0) == wanted


def test_wide_tables_go_in_blocks(spark: Any) -> None:
    d = 2 * BLOCK_COLUMNS + 1
    rows = nasty(50, d, -1, 2)
    names = [f"col`{j}.x" for j in range(d)]
    frame = spark.createDataFrame(rows.tolist(), ", ".join(f"c{j} double" for j in range(d))).toDF(*names)
    for codes in (BoxEncoding.for_bounds([-1.0] * d, [2.0] * d, [0.25] * d), BallEncoding(np.full(d, 0.1), 7.0)):
        assert total_records(open_source(frame), codes, names).sums == codes.encode(rows).sum(axis=0).tolist()


def test_a_frame_that_changes_between_queries_is_refused(spark: Any) -> None:
    """Blocks of columns must see the same records: here a table behind the frame loses rows after the first query."""
    d = BLOCK_COLUMNS + 1
    columns = [f"x{j}" for j in range(d)]
    spark.range(40).selectExpr(*(f"cast(id as double) {name}" for name in columns)).createOrReplaceTempView("before")
    frames = [spark.table("before"), spark.table("before").limit(39)]

    class Changing:
        """A frame whose readings differ."""

        def selectExpr(self, *texts: str) -> Any:
            return Chosen(texts)

    class Chosen:
        def __init__(self, *steps: tuple[str, ...]) -> None:
            self.steps = steps

        def selectExpr(self, *texts: str) -> Chosen:
            return Chosen(*self.steps, texts)

        def collect(self) -> Any:
            frame = frames.pop(0)
            for texts in self.steps:
                frame = frame.selectExpr(*texts)
            return frame.collect()

    codes = BoxEncoding.for_bounds([0.0] * d, [1.0] * d, [0.0] * d)
    schema = open_source(frames[0]).schema
    with pytest.raises(Unsteady):
        total_frame(Changing(), codes, columns, schema)

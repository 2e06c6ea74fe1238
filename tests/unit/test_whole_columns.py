"""Integers and truths are added up as they are, with the integers that doubles would give."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest

from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.engine import AS_THEY_ARE, PIECE_BYTES, columns_of, is_whole
from gaussmith.engines.polars import POLARS
from gaussmith.totals.records import BoxKernel, MaskedEncoding, MaskedKernel, RecordTotals

TYPES = [getattr(pl, name) for name in sorted(AS_THEY_ARE)]
BOUNDS = [(0, 1), (0, 100), (-5, 5), (1, 3), (-300, -200), (200, 300), (0, 70_000), (-(1 << 22), 1 << 22), (0.5, 9.25)]


def column(dtype: Any, rows: int, generator: random.Random) -> pl.Series:
    """Values all over the type, its ends among them, some of them missing."""
    if dtype == pl.Boolean:
        return pl.Series([generator.choice([True, False, None]) for _ in range(rows)], dtype=dtype)
    if dtype.is_float():
        return pl.Series(
            [generator.choice([None, float("nan"), generator.gauss(0, 99)]) for _ in range(rows)], dtype=dtype
        )
    ends = np.iinfo(str(dtype).lower())
    near = [max(int(ends.min), -7), 0, 3, 100, int(ends.min), int(ends.max), int(ends.max) // 2]
    return pl.Series([generator.choice([*near, None]) for _ in range(rows)], dtype=dtype)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_sums_are_those_of_doubles(dtype: Any, bounds: tuple[float, float]) -> None:
    codes = BoxEncoding.for_bounds([bounds[0]] * 2, [bounds[1]] * 2, [bounds[0], 2.25])
    frame = pl.DataFrame({name: column(dtype, 400, random.Random()) for name in "xy"})
    doubles = frame.select(pl.all().cast(pl.Float64))
    as_is, plain = BoxKernel(codes), BoxKernel(codes)
    for start in (0, 150):
        as_is.add(columns_of(frame[start : start + 150]))
        plain.add([each.to_numpy() for each in doubles[start : start + 150]])
    assert (as_is.sums, as_is.records) == (plain.sums, plain.records)
    own = BoxEncoding.for_bounds([bounds[0]], [bounds[1]], [bounds[1]])
    parts = MaskedEncoding(((own, (0,), (0,)), (own, (1,), ()), (codes, (0, 1), (1,))))
    masked, expected = MaskedKernel(parts), MaskedKernel(parts)
    for start in (0, 150):
        masked.add(columns_of(frame[start : start + 150]))
        expected.add([each.to_numpy() for each in doubles[start : start + 150]])
    assert (masked.sums, masked.records) == (expected.sums, expected.records)


@pytest.mark.parametrize("dtype", [dtype for dtype in TYPES if dtype.is_integer()], ids=str)
@pytest.mark.parametrize("beyond", [-2, -1, 0, 1, 1 << 22])
@pytest.mark.parametrize("sign", [-1, 1])
def test_pieces_of_the_largest_values_add_up(dtype: Any, beyond: int, sign: int) -> None:
    """Where 32 bits hold the sum of a piece they are used, and no longer."""
    limits = np.iinfo(str(dtype).lower())
    rows = PIECE_BYTES * 8 // limits.bits
    end, top = int(limits.max if sign > 0 else limits.min), (1 << 31) // rows + beyond
    (found,) = columns_of(pl.DataFrame({"x": pl.repeat(end, 2 * rows + 1, dtype=dtype, eager=True)}))
    clamped = min(max(end, -top), top)
    assert found.clamped_sum(-top, top) == (2 * rows + 1) * clamped


@pytest.mark.parametrize("columns", [3, 150])
def test_many_codings_of_many_rows_are_added_up_in_pieces(columns: int) -> None:
    """More columns than fit a piece, codings of several columns among them, and values that are missing."""
    rows = 1 << (17 if columns == 3 else 11)
    generator = np.random.default_rng()
    frame = [np.where(generator.random(rows) < 0.1, np.nan, generator.normal(50, 40, rows)) for _ in range(columns)]
    one, two = BoxEncoding.for_bounds([0], [100], [7]), BoxEncoding.for_bounds([0, -3], [100, 80], [7, 8])
    parts = [(one, (j,), (0,) if j % 2 else ()) for j in range(columns)]
    parts += [(two, (j, j + 1), (1,)) for j in range(columns - 1)]
    kernel = MaskedKernel(MaskedEncoding(tuple(parts)))
    kernel.add(frame)
    wanted, records = [], []
    for codes, places, present in parts:
        table = np.column_stack([frame[place] for place in places])
        table = table[~np.isnan(table[:, list(present)]).any(axis=1)]
        wanted += codes.encode(table).sum(axis=0).tolist()
        records.append(len(table))
    assert kernel.sums == [*wanted, *records]


def test_integers_are_not_made_doubles() -> None:
    frame = pl.DataFrame({"a": [1, None], "b": [True, False], "c": [0.5, 1.0]})
    assert [is_whole(each) for each in columns_of(frame)] == [True, True, False]
    codes = BoxEncoding.for_bounds([0] * 3, [10] * 3, [0] * 3)
    assert codes.whole.all() and not BoxEncoding.for_bounds([0.5], [10], [1]).whole.any()
    (found,) = RecordTotals(("a", "b", "c")).total(POLARS.open(frame), codes, None)
    assert [s / scale for s, scale in zip(found.sums, codes.scale, strict=True)] == [1, 1, 1.5]


def test_bounds_too_wide_for_64_bits_go_through_doubles() -> None:
    assert not BoxEncoding.for_bounds([0], [2**23], [0]).whole.any()

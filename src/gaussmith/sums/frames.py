"""The same codes spelled as narwhals expressions, for engines that keep the data: DuckDB, Spark, and Polars too.

Every operation here was chosen because all engines round it alike: guard, cast, clip, subtract, multiply by a power of
two, add ½, floor. No division by a literal, no float sums, no round, no power, no `%`: on these engines differ.
"""

from __future__ import annotations

import functools
import operator
import typing
from collections.abc import Sequence
from typing import Any

from gaussmith.codes import BALL_STEPS, BallCodes, BoxCodes, Codes
from gaussmith.expressions import as_number, kind_of
from gaussmith.sums.arrays import Totals

if typing.TYPE_CHECKING:
    import narwhals as nw

    DType = nw.dtypes.DType
    Frame = nw.LazyFrame[Any]

LIMB = 21
"""Codes of 42 bits are split into two limbs of 21, whose sums fit 64 bits for 2^42 rows."""

FOLD = 32
"""Squares are added left to right in blocks of so many columns, then the blocks: the order of `BallCodes`."""

BLOCK_COLUMNS = {"duckdb": 32, "spark": 4, "polars": 32}
"""Columns per query. DuckDB plans wide queries slowly; Spark ran 4 × 4 columns ten times faster than 16 at once."""

WIDE_SUMS = {"duckdb"}
"""Engines that add 64-bit integers up in 128 bits."""


def number(column: str, dtype: DType) -> nw.Expr:
    """The Float64 nearest to a column's value, null where it is missing: one rounding, the same on every engine."""
    return as_number(column, kind_of(dtype)).alias(column)


def code_expression(column: str, low: float, top: float, scale: float, substitute: float, dtype: DType) -> nw.Expr:
    """The Int64 code of a column: bit for bit that of `BoxCodes.encode`, on every engine, for every value.

        floor((clamp(x, low, top) − low) · scale + ½)   with null and NaN replaced by `substitute` first

    Requires: one column's numbers of a `BoxCodes` (`scale` a power of two), and the column's narwhals dtype.

    >>> import narwhals as nw, polars as pl
    >>> ages = nw.from_native(pl.DataFrame({"age": [37.0, None, float("inf")]}))
    >>> ages.select(code_expression("age", 0, 100, 0.5, 50, nw.Float64())).to_native()["age"].to_list()
    [19, 25, 50]
    """
    import narwhals as nw

    x = number(column, dtype)
    # null first: is_nan(null) is null on some engines, false on Spark
    z = nw.when(~(x.is_null() | x.is_nan())).then(x).otherwise(nw.lit(float(substitute))).clip(float(low), float(top))
    return ((z - float(low)) * float(scale) + 0.5).floor().cast(nw.Int64)


def code_box(frame: Frame, codes: BoxCodes, columns: Sequence[str], which: range) -> Frame:
    """A frame of the codes of some columns (`which`), named c0, c1 … by their place in the codes."""
    schema = frame.collect_schema()
    numbers = list(zip(codes.low, codes.top, codes.scale, codes.substitute, strict=True))
    return frame.select(*(code_expression(columns[j], *numbers[j], schema[columns[j]]).alias(f"c{j}") for j in which))


def code_ball(frame: Frame, codes: BallCodes, columns: Sequence[str]) -> Frame:
    """A frame of the codes of a ball, named c0, c1 …: bit for bit those of `BallCodes.encode`.

    An odd coordinate is made infinite; the largest coordinate then tells that the record is to become the centre.
    """
    import narwhals as nw

    schema = frame.collect_schema()
    d, scale = len(columns), codes.scale

    def centred(j: int) -> nw.Expr:
        x = number(columns[j], schema[columns[j]])
        finite = nw.when(x.is_finite()).then(x).otherwise(nw.lit(float("inf")))
        return ((finite - float(codes.centre[j])) * float(scale[j])).alias(f"z{j}")

    z = [nw.col(f"z{j}") for j in range(d)]
    u = [nw.col(f"u{j}") for j in range(d)]
    h, root, shrink = nw.col("h"), nw.col("root"), nw.col("shrink")
    frame = frame.select(*(centred(j) for j in range(d)))
    frame = frame.with_columns(nw.max_horizontal(*(x.abs() for x in z)).alias("h"))
    frame = frame.with_columns(*(nw.when(h.is_finite()).then(x).otherwise(nw.lit(0.0)) for x in z))
    frame = frame.with_columns(nw.when(h.is_finite() & (h > 0)).then(h).otherwise(nw.lit(1.0)).alias("h"))
    frame = frame.with_columns(*((x / h).alias(f"u{j}") for j, x in enumerate(z)))
    blocks = [functools.reduce(operator.add, (x * x for x in u[s : s + FOLD])) for s in range(0, d, FOLD)]
    frame = frame.with_columns(*(block.alias(f"block{i}") for i, block in enumerate(blocks)))
    squares = functools.reduce(operator.add, (nw.col(f"block{i}") for i in range(len(blocks))))
    frame = frame.with_columns(squares.sqrt().alias("root"))
    frame = frame.with_columns((nw.lit(1.0) / nw.when(root > 0).then(root).otherwise(nw.lit(1.0))).alias("shrink"))
    full = codes.margin * float(BALL_STEPS)
    clipped = [nw.when(h > shrink).then(y * (shrink * full)).otherwise(x * full) for x, y in zip(z, u, strict=True)]
    frame = frame.select(*(y.alias(f"c{j}") for j, y in enumerate(clipped)))
    c = [nw.col(f"c{j}") for j in range(d)]
    return frame.select(*(nw.when(x < 0).then(x.ceil()).otherwise(x.floor()).cast(nw.Int64) for x in c))


def total_frame(frame: Frame, codes: Codes, columns: Sequence[str], engine: str) -> Totals:
    """The exact totals of a frame, added up by its own engine, a block of columns per query."""
    d, step = len(columns), BLOCK_COLUMNS[engine]
    add = _add_wide if engine in WIDE_SUMS else _add_limbs
    # The records of a ball are coded whole; the frame is built once and evaluated for each block.
    whole = code_ball(frame, codes, columns) if isinstance(codes, BallCodes) else None
    sums: list[int] = []
    records = 0
    for start in range(0, d, step):
        which = range(start, min(start + step, d))
        coded = code_box(frame, codes, columns, which) if isinstance(codes, BoxCodes) else whole
        assert coded is not None
        found, records = add(coded, which)
        sums += found
    return Totals(sums, records)


def _add_wide(coded: Frame, which: range) -> tuple[list[int], int]:
    """Sums of the codes and the number of records, in one query of an engine whose sums are wider than 64 bits."""
    import narwhals as nw

    found = coded.select(*(nw.col(f"c{j}").sum() for j in which), nw.len().alias("records")).collect()
    *sums, records = map(_integer, found.row(0))
    return sums, records


def _add_limbs(coded: Frame, which: range) -> tuple[list[int], int]:
    """The same in two limbs, for engines whose sums wrap or fail beyond 64 bits."""
    import narwhals as nw

    # The codes are whole and below 2^53 in size, so they are exact as doubles, and so is a shift by a power of two.
    high = [(nw.col(f"c{j}").cast(nw.Float64) * 2.0**-LIMB).floor().cast(nw.Int64).alias(f"h{j}") for j in which]
    low = [(nw.col(f"c{j}") - nw.col(f"h{j}") * (1 << LIMB)).alias(f"l{j}") for j in which]
    split = coded.with_columns(*high).with_columns(*low)
    limbs = [f"{limb}{j}" for j in which for limb in "hl"]
    found = split.select(*(nw.col(limb).sum() for limb in limbs), nw.len().alias("records")).collect()
    *sums, records = map(_integer, found.row(0))
    return [(h << LIMB) + low for h, low in zip(sums[::2], sums[1::2], strict=True)], records


def _integer(value: Any) -> int:
    """A sum as a Python integer: engines return int, Decimal, or null for no rows at all."""
    return 0 if value is None else int(value)

"""Codes added up in Spark's SQL: text that Spark compiles where the rows are. Only totals come back.

How a code is spelled is known to each coding (`Codes.spell`). Codes are summed in two limbs of 21 bits.

**Why sums of doubles are exact here.** A limb is a whole number of at most 2^21 in size, so every partial sum of 2^32
of them is a whole number of at most 2^53 in size, which a double holds: no order of adding can round. Doubles are added
up at the speed of Spark's plain sum; its integers are checked for overflow at every step. Beyond 2^32 rows they are
used all the same (`LONG`).

**Why text and not columns.** Spark takes 50 ms to build one column's expression from Python objects, and a fraction of
that to read it. Java leaves methods of more than 8 000 bytes uncompiled, hence at most 16 columns per query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaussmith.problem.sql import Step

LIMB = 21
"""Bits of the lower limb of a code; the upper has as many, and a sign."""

BLOCK_COLUMNS = 16
"""Codes added up by one query."""

DOUBLE, LONG = "double", "bigint"
"""What limbs are added up in: doubles are exact up to 2^32 rows, integers of 64 bits up to 2^42."""


def quote(name: str) -> str:
    """A column's name in SQL."""
    return "`" + name.replace("`", "``") + "`"


def read_numbers(columns: Sequence[str], kinds: Sequence[str]) -> Step:
    """The columns as doubles x0, x1 …, null where missing. Long numbers go through text, which is rounded once."""
    inner = ["cast({} as string)" if kind == "long number" else "{}" for kind in kinds]
    return [
        f"cast({text.format(quote(c))} as double) x{j}" for j, (c, text) in enumerate(zip(columns, inner, strict=True))
    ]


def spell_sums(which: range, kind: str = DOUBLE) -> Step:
    """The sums of the limbs of the codes, upper and lower in turn, and the number of records."""
    mask = (1 << LIMB) - 1
    limbs = ((f"shiftright(c{j}, {LIMB})", f"c{j} & {mask}L") for j in which)
    return [*(f"sum(cast({limb} as {kind}))" for pair in limbs for limb in pair), "count(1)"]


def read_sums(row: Sequence[Any]) -> tuple[list[int], int]:
    """The sums and the number of records in a row of `spell_sums`; of no rows at all the sums are null."""
    *limbs, records = (0 if value is None else int(value) for value in row)
    return [(high << LIMB) + low for high, low in zip(limbs[::2], limbs[1::2], strict=True)], records

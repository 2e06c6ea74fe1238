"""People of a table in passes, each of which reads the rows of some of them; and what they add to their keys.

Polars and DuckDB work in the memory of this process, and would hold every pair of a person and a key there at once. So
people are divided by a hash, and each pass over the source reads the pairs of one part. What it keeps of them is added
up by key in the end, one part of the keys at a time. Nothing is written to a disk.

A person is in one pass alone: its groups are chosen from one look at the source, so that even if the source changes in
between a person adds to no more than m keys. That all passes together saw as many rows as were counted before is
checked too. Spark divides its work by itself, and makes no passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial, reduce
from operator import xor
from typing import TYPE_CHECKING, Any

from gaussmith.engines.engine import Engine
from gaussmith.engines.versions import collect_batches
from gaussmith.totals.limbs import check_steady
from gaussmith.values import dataclass

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    Frame = nw.LazyFrame[Any]

Cut = Callable[["Frame"], "Frame"]
"""What takes the rows of some of the people."""

PASS_ROWS = 5_000_000
"""Rows that a pass is about, and pairs that are added up at a time."""

MOST_PASSES = 16
"""A table of more rows needs more memory, and not more time: every pass reads all of it."""

SAMPLE = 100_000
"""Kept pairs by which it is seen whether keys repeat, so that adding them up at once saves memory."""


@dataclass(frozen=True)
class Passes:
    """How the people of some rows are divided, by the number of rows."""

    rows: int = field(repr=False)
    engine: Engine = field(repr=False)

    @property
    def number(self) -> int:
        return _parts(self.rows, MOST_PASSES)

    def cut(self, rows: Frame, i: int) -> Frame:
        """The rows of one pass: all rows of a person are in one of them."""
        part = self.engine.part(rows, "u", i, self.number)
        assert part is not None
        return part


def everybody(rows: Frame) -> Frame:
    """All rows, in one pass."""
    return rows


def cuts_of(passes: Passes | None) -> list[Cut]:
    """What takes the rows of each pass."""
    if passes is None or passes.number == 1:
        return [everybody]
    return [partial(passes.cut, i=i) for i in range(passes.number)]


def plan_passes(rows: Frame, engine: Engine) -> Passes | None:
    """The passes over rows of people u; None where the engine makes none. Counts the rows.

    All are one part of one: so that a rehearsal sees whether people can be divided.
    """
    import narwhals as nw

    whole = engine.part(rows, "u", 0, 1)
    if whole is None:
        return None
    ((counted,),) = engine.fetch(whole.select(nw.col("n").sum()))
    return Passes(int(counted or 0), engine)


def fetch_pairs(combined: Frame, engine: Engine, size: int) -> pl.DataFrame | None:
    """The pairs of one pass here, a row each; None if there are none. Integers of 128 bits come as their digits."""
    import narwhals as nw
    import polars as pl

    if combined.collect_schema()["u"] in (nw.Int128, nw.UInt128):  # Arrow has no such type
        combined = combined.with_columns(nw.col("u").cast(nw.String))
    batches = list(engine.batches(combined, size))
    return pl.concat(batches) if batches else None


class KeySums:
    """What people add to their keys, put down pass by pass, and added up by key in the end."""

    def __init__(self, columns: Sequence[str], spares: Sequence[int]) -> None:
        self.columns, self.spares = list(columns), spares
        self._tables: list[pl.DataFrame] = []
        self._rows = 0

    def put(self, kept: pl.DataFrame) -> None:
        """Kept pairs: their key, and how many keys the person held."""
        import polars as pl

        places = kept["held"].clip(1, max(1, len(self.spares))).cast(pl.Int64) - 1
        spare = pl.Series("s", list(self.spares) or [0], pl.Int32).gather(places)
        table = kept.select(self.columns).with_columns(spare)
        if 2 * table.select(self.columns).head(SAMPLE).n_unique() < min(SAMPLE, len(table)):
            table = self._summed(self._counted(table.lazy())).collect()
        self._tables.append(table)
        self._rows += len(table)

    def batches(self, size: int, at_least: int) -> Iterator[pl.DataFrame]:
        """Every key with so many people: the key, n its people, s their spare number; in no order."""
        import polars as pl

        if not self._tables:
            return
        slots = _parts(self._rows, self._rows)
        slot = reduce(xor, (pl.col(name).hash(seed) for seed, name in enumerate(self.columns))) % slots
        whole = pl.concat([self._counted(table.lazy()) for table in self._tables])
        for i in range(slots):
            summed = self._summed(whole if slots == 1 else whole.filter(slot == i))
            yield from collect_batches(summed.filter(pl.col("n") >= at_least), size)

    def _counted(self, table: pl.LazyFrame) -> pl.LazyFrame:
        import polars as pl

        n = pl.col("n") if "n" in table.collect_schema() else pl.lit(1, pl.Int64).alias("n")
        return table.select(*self.columns, n, pl.col("s").cast(pl.Int64))

    def _summed(self, table: pl.LazyFrame) -> pl.LazyFrame:
        import polars as pl

        return table.group_by(self.columns).agg(pl.col("n").sum(), pl.col("s").sum())


def check_passes(passes: Passes, seen: int) -> None:
    """Refuse a source that changed between the passes."""
    if passes.number > 1:
        check_steady([seen], [passes.rows])


def _parts(rows: int, most: int) -> int:
    return max(1, min(most, -(-rows // PASS_ROWS)))

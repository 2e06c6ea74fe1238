"""Pairs of a person and a group, which an engine adds up and hands over: of them groups are kept and features made.

    rows ──added per person and group──▶ pairs, in batches ──m of each person──▶ features ──added──▶ Totals

The engine adds up the integers of a person's rows in a group as wholes: DuckDB in 128 bits, Polars in 64, or in 128
once somebody is found to have too many rows for these. Here people keep groups by the rule of `groups`, and features
are made of kept pairs alone. From time to time the pairs that nobody will keep are dropped: memory grows with the
people, not with their rows.

Draws that read the same rows, but for the columns in which a row must have a value, are added up together. Each has a
count of a person's rows of its own, by which groups are kept, and sums of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.engines.engine import Engine, Totals, Words
from gaussmith.engines.polars import POLARS
from gaussmith.expressions import GroupKeys, is_present, kinds_of, match_keys, with_integers
from gaussmith.totals.features import Contribution, Input
from gaussmith.totals.integer_keys import Cells, find_cells
from gaussmith.totals.integer_steps import Layout, inputs_of, totals_of_limbs, weight_limit
from gaussmith.totals.limbs import add_limbs, code_whole, feature_limbs, select_rows
from gaussmith.totals.ranking import find_kept
from gaussmith.totals.wide_sums import numbered, spell_row, split_whole
from gaussmith.values import dataclass

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    Frame = nw.LazyFrame[Any]

MAX_CELLS = 1 << 22
"""Limit on the cells of integer keys that rows are put into by arithmetic; of more they are looked up."""

BATCH_PAIRS = 1 << 18
"""Pairs that come here at a time."""

LONG_PAIR = 1 << 16
"""Rows of a pair from which on its sums may not fit 64 bits: the integer of a row has at most 46 and a sign."""

HELD_PAIRS = 1 << 23
"""Pairs from which on those that nobody keeps are dropped: half a gigabyte."""


@dataclass(frozen=True)
class Asked:
    """What people add in one draw, and the columns in which a row of it must have a value."""

    added: Contribution
    present: tuple[str, ...] = ()


def sum_pairs(
    frame: Frame, asked: Sequence[Asked], groups: GroupKeys | None, engine: Engine, groups_per_unit: int = 1
) -> list[Sequence[Totals]]:
    """For each of what is asked the exact totals in each declared group, in order, as `groups.sum_groups` says.

    Without groups those of all people. Requires: the same people in all; an engine whose rows come to this process.
    """
    with suppress(TooLong):  # what was found so far is gone when it is left
        pairs = PairSums(asked, wide=engine.wide_sums is not None)
        return _sum_pairs(frame, pairs, groups, engine, groups_per_unit)
    return _sum_pairs(frame, PairSums(asked, wide=True), groups, engine, groups_per_unit)


def _sum_pairs(
    frame: Frame, pairs: PairSums, groups: GroupKeys | None, engine: Engine, groups_per_unit: int
) -> list[Sequence[Totals]]:
    import polars as pl

    size = 1 if groups is None else len(groups.codes)
    rows, cells = _grouped_rows(frame, pairs, groups, engine)
    summed = pairs.sum(rows, engine, [] if groups is None else ["g"])
    none = pl.DataFrame(schema=summed.collect_schema().to_polars())
    short = map(pairs.check, engine.batches(summed, BATCH_PAIRS))
    batches = short if cells is None else map(cells.placed, short)
    totals = [GroupSums(pairs, each, size) for each in pairs.asked]
    if groups_per_unit < size:
        kept = KeptPairs(none, size, groups_per_unit)
        for batch in batches:
            kept.put(batch)
        for each in totals:
            each.add(kept.of(each.count))
    else:  # everybody is in all of their groups
        for batch in chain(batches, [none]):
            for each in totals:
                each.add(batch)
    return [each.totals() for each in totals]


def _grouped_rows(
    frame: Frame, pairs: PairSums, groups: GroupKeys | None, engine: Engine
) -> tuple[Frame, Cells | None]:
    """The rows in declared groups, with their group or cell as g."""
    import narwhals as nw

    schema = frame.collect_schema()
    masks = pairs.masks(kinds_of(schema))
    if groups is None:
        return select_rows(frame.lazy(), pairs.added, masks), None
    cells = find_cells(groups, schema, MAX_CELLS)
    if cells is not None:
        return cells.put(select_rows(frame.lazy(), pairs.added, {**cells.keyed, **masks})), cells
    groups = with_integers(groups, schema)
    keyed = match_keys(groups, kinds_of(schema))
    rows = select_rows(frame.lazy(), pairs.added, {**keyed, **masks})
    table = engine.key_table(rows, groups).with_columns(nw.col("g").cast(nw.UInt32))  # short ones are added up faster
    return rows.join(table, on=list(keyed), how="inner"), None


class TooLong(Exception):
    """Some person has so many rows in a group that their sums may not fit 64 bits."""


class PairSums:
    """The sums that are made of the rows of each person u and group g, for all that is asked.

    n0, n1 … count the rows that have the values which a draw needs: `present` lists the columns of each. The sum of
    input j over the rows that n{i} counts is f{j}_{i}, in 128 bits if they are `wide`, else in 64: Polars takes a
    quarter less time for these.
    """

    def __init__(self, asked: Sequence[Asked], wide: bool) -> None:
        self.asked, self.wide = asked, wide
        features = tuple(feature for each in asked for feature in each.added.features)
        self.added = replace(asked[0].added, features=features)
        self.inputs = inputs_of(self.added)
        self.present = list(dict.fromkeys(each.present for each in asked))
        sums = ((each, self.present.index(one.present)) for one in asked for each in inputs_of(one.added))
        self.sums: list[tuple[Input, int]] = list(dict.fromkeys(sums))

    def masks(self, kinds: Mapping[str, str]) -> dict[str, nw.Expr]:
        """Whether a row has the values that each draw needs, as p0, p1 …, but for those that need none."""
        return {
            f"p{i}": reduce(and_, (is_present(name, kinds[name]) for name in names))
            for i, names in enumerate(self.present)
            if names
        }

    def name(self, each: Input, i: int) -> str:
        return f"f{self.inputs[each]}_{i}"

    def sum(self, rows: Frame, engine: Engine, by: Sequence[str]) -> Frame:
        """A row for each pair: u, g and all counts and sums, of which `check` must be asked. Null stands for 0."""
        import narwhals as nw

        by = ["u", *by]
        pairs = self._in_sql(rows, engine, by) if engine.wide_sums is not None else self._in_expressions(rows, by)
        if pairs.collect_schema()["u"] in (nw.Int128, nw.UInt128):  # Arrow has no such type
            pairs = pairs.with_columns(nw.col("u").cast(nw.String))
        return pairs

    def check(self, batch: pl.DataFrame) -> pl.DataFrame:
        """The same pairs, if 64 bits hold their sums for certain."""
        if not self.wide and any(_most_rows(batch[f"n{i}"]) >= LONG_PAIR for i in range(len(self.present))):
            raise TooLong
        return batch

    def _in_sql(self, rows: Frame, engine: Engine, by: Sequence[str]) -> Frame:
        assert engine.wide_sums is not None
        chosen = list(by)
        for i, names in enumerate(self.present):
            chosen.append(f"count({f'case when p{i} then 1 end' if names else '*'}) as n{i}")
        for each, i in self.sums:
            code = spell_row(each, numbered(self.inputs), False)
            code = f"case when p{i} then {code} end" if self.present[i] else code
            chosen.append(f"sum({code}) as {self.name(each, i)}")
        return engine.wide_sums.aggregate(rows, chosen, by)

    def _in_expressions(self, rows: Frame, by: Sequence[str]) -> Frame:
        import narwhals as nw

        masks = [f"p{i}" for i, names in enumerate(self.present) if names]
        coded, made = code_whole(rows, self.added, (*by[1:], *masks)), {}
        for i, names in enumerate(self.present):
            made[f"n{i}"] = nw.col(f"p{i}").cast(nw.Int64) if names else nw.col("n")
        for each, i in self.sums:
            code = nw.col(f"f{self.inputs[each]}").cast(nw.Int64)
            code = nw.when(nw.col(f"p{i}")).then(code).otherwise(nw.lit(0)) if self.present[i] else code
            made[self.name(each, i)] = code.cast(nw.Int128) if self.wide else code
        rows = coded.select(*by, *(code.alias(name) for name, code in made.items()))
        return rows.group_by(*by).agg(*(nw.col(name).sum() for name in made))


class GroupSums:
    """The totals of one draw in each group g, added up from pairs that count, batch by batch."""

    def __init__(self, pairs: PairSums, asked: Asked, groups: int) -> None:
        self.pairs, self.asked, self.groups = pairs, asked, groups
        self.count = f"n{pairs.present.index(asked.present)}"
        self._limbs: dict[str, Words] = {}
        self._layout: Layout = ()

    def add(self, kept: pl.DataFrame) -> None:
        import narwhals as nw
        import polars as pl

        i, chosen = self.pairs.present.index(self.asked.present), list[pl.Expr]()
        for each, j in inputs_of(self.asked.added).items():
            chosen += split_whole(self.pairs.name(each, i), j, each.limb(False))
        group = pl.col("g") if "g" in kept.columns else pl.lit(0, pl.Int64).alias("g")
        limbs = kept.lazy().filter(pl.col(self.count) > 0).select(pl.col(self.count).alias("n"), group, *chosen)
        made, self._layout, _ = feature_limbs(nw.from_native(limbs), self.asked.added, ("g",))
        for name, more in add_limbs(made, self._layout, self.groups, POLARS).items():
            self._limbs[name] = more + self._limbs.get(name, 0)

    def totals(self) -> Sequence[Totals]:
        return totals_of_limbs(self._limbs, self._layout)


class KeptPairs:
    """The pairs that people may still keep, of those that came so far: rows that `PairSums.sum` makes, in batches."""

    def __init__(self, none: pl.DataFrame, groups: int, groups_per_unit: int) -> None:
        self.none, self.counts = none, [name for name in none.columns if name[0] == "n"]
        self.groups, self.groups_per_unit = groups, groups_per_unit
        self._held: list[pl.DataFrame] = []
        self._rows, self._most, self._words = 0, HELD_PAIRS, np.empty(0, np.int64)

    def put(self, batch: pl.DataFrame) -> None:
        self._held.append(batch)
        self._rows += len(batch)
        if self._rows >= self._most:
            self._held = self._at(*self.counts)
            self._rows = sum(map(len, self._held))
            self._most = max(HELD_PAIRS, 2 * self._rows)  # so that at least half of what is looked at is new

    def of(self, count: str) -> pl.DataFrame:
        """The pairs in which people count by their rows n0, n1 …"""
        import polars as pl

        return pl.concat(self._at(count)) if self._held else self.none

    def _at(self, *counts: str) -> list[pl.DataFrame]:
        """The pairs that are kept by one of these. Batches are not put together: that costs more than all else."""
        is_kept = np.zeros(self._rows, bool)
        for count in counts:
            is_kept[self._places(count)] = True
        ends = np.cumsum([0, *map(len, self._held)]).tolist()
        return [batch.filter(is_kept[start:end]) for batch, start, end in zip(self._held, ends, ends[1:], strict=False)]

    def _places(self, count: str) -> Words:
        """The places of the pairs that are among the m in which their person has most rows."""
        most_rows = max(_most_rows(batch[count]) for batch in self._held)
        heaviest = min(most_rows, weight_limit(self.groups)) * self.groups
        people, weights = [batch["u"] for batch in self._held], (self._weights(batch, count) for batch in self._held)
        return find_kept(people, weights, heaviest, self.groups_per_unit, self._room)

    def _weights(self, batch: pl.DataFrame, count: str) -> Words:
        """What pairs weigh, as `integer_steps.weigh_group` does it; where no row counts there is no weight."""
        rows = batch[count].to_numpy()
        weights: Words = np.minimum(rows, weight_limit(self.groups))
        weights *= self.groups
        weights -= batch["g"].to_numpy()
        if len(self.counts) > 1:
            weights[rows == 0] = 0
        return weights

    def _room(self, words: int) -> Words:
        """Room for words, made once."""
        if len(self._words) < words:
            self._words = np.empty(words, np.int64)
        return self._words[:words]


def _most_rows(counts: pl.Series) -> int:
    most: Any = counts.max()
    return most or 0

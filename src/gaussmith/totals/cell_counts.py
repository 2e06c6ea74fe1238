"""How many people are in each cell: of a number of theirs, in every declared group; or of several columns together.

    a number     one value of each person, where rows are people; else the mean or the total of a person's rows
    tables       the cells of all columns of tables together, one combination of them for each person

Every rule looks at the rows of one person alone, and puts the person into one cell (of each group it keeps), or none.
A value is compared with the edges as a double; a mean or a total as the integer that `features` makes of it, with the
edges coded in the same way. The engine counts, and at most one row for each cell and group comes here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.chosen_cells import ChosenCells, codes_within, shift_within
from gaussmith.domains.domain import Domain
from gaussmith.domains.encoding import BoxEncoding, Encoding
from gaussmith.domains.features import CHECKED_GROUPS, CHECKED_ROWS, CHECKED_TOTAL, CHECKED_VALUE, OWN_TOTAL, OWN_VALUE
from gaussmith.domains.groups import FoundGroups
from gaussmith.engines.engine import BATCH_ROWS, FEW_EDGES, Engine, PlacedTotals, Progress, Totals, Words
from gaussmith.engines.source import Source, check_columns, check_once
from gaussmith.engines.versions import attempt
from gaussmith.errors import SourceError
from gaussmith.expressions.keys import (
    Cut,
    GroupKeys,
    declare_cells,
    declare_groups,
    fitted_cut,
    match_keys,
    place_among,
    value_of,
)
from gaussmith.expressions.spelling import Derivation, kinds_of
from gaussmith.notations import setting
from gaussmith.planning.query import Query
from gaussmith.planning.row_rule import BOTH, MIXED, PARTS, RowRule, most_in_cells
from gaussmith.totals.features import TOTAL_LIMB, Coding, Contribution, PersonMean, PersonTotal, RowSum
from gaussmith.totals.found_keys import KeyColumns, keyed_rows, no_keys, rows_of_kept
from gaussmith.totals.groups import HAS_VALUES, has_values, keep_rows, keep_values
from gaussmith.totals.limbs import code_people, code_rows, code_whole, combine_rows, select_rows
from gaussmith.totals.people import (
    check_people,
    declare_labels,
    needed_later,
    open_keys,
    prepare,
)

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from gaussmith.totals.features import Frame


# Cells with many edges: values come here in batches, and their edges are searched, which is faster than comparing.
#
# The cell of a value is how many of the edges it is at least as large as, in doubles or in integers: the same as the
# tree of comparisons that an engine is told (`expressions.cuts`).


def count_cells(batches: Iterator[pl.DataFrame], value: str, edges: Any, groups: int = 1) -> tuple[Words, Words]:
    """How many values are in each cell (a column) of each group (a row), and how many are missing in each group.

    The group of a value is its `g`; without that column there is one.

    >>> import polars as pl
    >>> found, missing = count_cells(iter([pl.DataFrame({"p": [1.0, 2.0, None, 9.0]})]), "p", [2.0, 5.0])
    >>> found.tolist(), missing.tolist()
    ([[1, 1, 1]], [1])
    """
    cells = len(edges) + 1
    counts, missing = np.zeros(groups * cells, np.int64), np.zeros(groups, np.int64)
    for batch in batches:
        if batch[value].null_count():
            gone = batch.filter(batch[value].is_null())
            missing += np.bincount(_groups_of(gone), minlength=groups)
            batch = batch.drop_nulls(value)
        place = np.searchsorted(np.array(edges), batch[value].to_numpy(), side="right")
        counts += np.bincount(_groups_of(batch) * cells + place, minlength=len(counts))
    return counts.reshape(groups, cells), missing


def _groups_of(batch: pl.DataFrame) -> Words:
    return batch["g"].to_numpy().astype(np.int64) if "g" in batch.columns else np.zeros(batch.height, np.int64)


@dataclass(frozen=True, eq=False)
class NumberCells:
    """People in the cells of one number each; a person without a value is in none, and is not counted."""

    added: Contribution
    """Without a feature the value of the row is taken, which is a person; else the person's mean or total."""
    column: str
    cut: Cut
    derivation: Derivation
    keys: GroupKeys | None = None
    groups_per_unit: int = 1
    stand_in: float | None = None
    """What counts instead of a missing value; None: that row is left out."""

    def total(self, source: Source, codes: Encoding, progress: Progress | None) -> list[Totals]:
        return attempt(lambda: self._total(source, codes))

    def _total(self, source: Source, codes: Encoding) -> list[Totals]:
        engine = source.engine
        present = needed_later(self.added, self.derivation, self.keys, self.groups_per_unit)
        frame, added = prepare(source, self.added, self.derivation, self.keys, (self.column,), (), not present)
        kinds = kinds_of(frame.collect_schema())
        keyed = {} if self.keys is None else match_keys(self.keys, kinds)
        rows = select_rows(frame, added, {**keyed, **self.places(kinds, added), **has_values(present, kinds)})
        rows = grouped(rows, self.keys, keyed, engine)
        if self.keys is not None and added.unit is not None and self.groups_per_unit < len(self.keys.keys):
            rows = keep_rows(rows, added, self.groups_per_unit, len(self.keys.keys))
        rows = self.combined(self.with_values(rows, added), added)
        return self.counted(rows, added, engine, codes, 1 if self.keys is None else len(self.keys.keys))

    def combined(self, rows: Frame, added: Contribution) -> Frame:
        """The rows of each person put together, where its mean or total is meant."""
        return combine_rows(code_rows(rows, added, ("g",)), added, ("u", "g")) if added.features else rows

    def places(self, kinds: Mapping[str, str], added: Contribution) -> dict[str, nw.Expr]:
        """Where a row is a person: its value p, or null."""
        return {} if added.features else {"p": value_of(self.column, self.cut, kinds[self.column])}

    def with_values(self, rows: Frame, added: Contribution) -> Frame:
        """The rows that have a value; all where something stands in for it."""
        import narwhals as nw

        if self.stand_in is not None:
            return rows
        value = nw.col("x0") if added.features else nw.col("p")
        return rows.filter(~value.is_null() & ~value.is_nan())

    def counted(self, people: Frame, added: Contribution, engine: Engine, codes: Encoding, groups: int) -> list[Totals]:
        """How many people are in each cell of each group g, from the limbs of people or the values of rows."""
        import narwhals as nw

        edges: Sequence[float] | Sequence[int] = self.cut.edges
        value, missing = "p", None if self.stand_in is None else self.cut.place(self.stand_in)
        if added.features:
            people, value, missing = code_people(people, added, ("g",)), "c0", None
            edges = edge_codes(added.features[0], self.cut)
        if engine.adds_here and len(edges) > FEW_EDGES:
            here, gone = count_cells(engine.batches(people.select("g", value), BATCH_ROWS), value, edges, groups)
            if missing is not None:
                here[:, missing] += gone
            return [totals_of(codes, np.flatnonzero(found), found[found > 0].tolist()) for found in here]
        place = place_among(nw.col(value), edges)
        if missing is not None:
            place = nw.when(~place.is_null()).then(place).otherwise(nw.lit(float(missing)))
        one = nw.lit(1).cast(nw.Int64).alias("n")
        counted = people.select("g", place.cast(nw.Int64).alias("p"), one).group_by("g", "p").agg(nw.col("n").sum())
        places: list[list[tuple[int, int]]] = [[] for _ in range(groups)]
        for g, p, n in engine.fetch(counted.select("g", "p", "n")):
            places[int(g)].append((int(p), int(n)))
        return [totals_of(codes, [(p,) for p, _ in found], [n for _, n in found]) for found in places]

    def rehearsed(self, source: Source) -> NumberCells:
        """With few cells: more of the same would be asked in the same way."""
        return replace(self, cut=replace(self.cut, edges=self.cut.edges[:2]))


_RANK_BITS = 24
"""More bits than the place of a fine cell has: groups stand above."""

_NONE = np.zeros(0, np.int64)


def _ranked(groups: Words, places: Words) -> Words:
    """Groups and places as one number each."""
    return (groups.astype(np.int64) << _RANK_BITS) + places


@dataclass(frozen=True, eq=False)
class FineCounts(NumberCells):
    """People in fine cells of one number each: the cells that somebody is in, told by their codes but for some digits.

    There are too many cells to compare with their edges, and most are empty.
    """

    shift: int = 0
    """How many last digits of a code say where in its cell it is."""

    def places(self, kinds: Mapping[str, str], added: Contribution) -> dict[str, nw.Expr]:
        return {}

    def counted(self, people: Frame, added: Contribution, engine: Engine, codes: Encoding, groups: int) -> list[Totals]:
        import narwhals as nw

        code = nw.col("c0" if added.unit is not None else "f0").cast(nw.Float64)
        coded = code_people(people, added, ("g",)) if added.unit is not None else people
        placed = coded.select("g", (code * 2.0**-self.shift).floor().cast(nw.Int64).alias("p"))
        if engine.adds_here:
            batches = engine.batches(placed, BATCH_ROWS)
            ranked = (_ranked(batch["g"].to_numpy(), batch["p"].to_numpy()) for batch in batches)
            counted = [np.unique(each, return_counts=True) for each in ranked]
        else:
            one = placed.with_columns(nw.lit(1).cast(nw.Int64).alias("n"))
            rows = list(engine.fetch(one.group_by("g", "p").agg(nw.col("n").sum()).select("g", "p", "n")))
            g, p, n = np.array(rows, np.int64).reshape(-1, 3).T
            counted = [(_ranked(g, p), n)]
        ranks, inverse = np.unique(np.concatenate([_NONE, *(each for each, _ in counted)]), return_inverse=True)
        counts = np.zeros(len(ranks), np.int64)
        np.add.at(counts, inverse, np.concatenate([_NONE, *(each for _, each in counted)]))
        ends = np.searchsorted(ranks, np.arange(groups + 1) << _RANK_BITS)
        each = ((ranks[i:j] & (1 << _RANK_BITS) - 1, counts[i:j]) for i, j in itertools.pairwise(ends.tolist()))
        return [PlacedTotals([], int(n.sum()), p, n) for p, n in each]

    def combined(self, rows: Frame, added: Contribution) -> Frame:
        if added.unit is None:
            return code_whole(rows, added, ("g",))
        return super().combined(rows, added)

    def rehearsed(self, source: Source) -> FineCounts:
        return self


@dataclass(frozen=True, eq=False)
class FoundCells:
    """People in the cells of one number each, in every group of found keys that was shown.

    A person is in no other groups than those it keeps by all of its rows: the ones by which it was decided.
    """

    cells: NumberCells
    keys: KeyColumns

    def shown(self, source: Source, codes: Encoding, shown: GroupKeys) -> list[Totals]:
        """The totals of each key that was shown, in order."""
        return attempt(lambda: self._shown(source, codes, shown)) if shown.keys else []

    def _shown(self, source: Source, codes: Encoding, shown: GroupKeys) -> list[Totals]:
        engine, keys, cells = source.engine, self.keys, self.cells
        names = GroupKeys(keys.names, (), (), ())
        everything, derivation = replace(cells.derivation, present=()), cells.derivation
        frame, added = prepare(source, cells.added, everything, names, (cells.column,))
        some = prepare(source, cells.added, derivation, names, (cells.column,))[0] if derivation.present else frame
        rows = keyed_rows(some, added, keys, engine, cells.places(kinds_of(some.collect_schema()), added))
        rows = cells.with_values(rows, added)
        if added.unit is not None:
            rows = rows_of_kept(rows, frame, added, keys, engine, cells.groups_per_unit)
            rows = combine_rows(code_rows(rows, added, keys.columns), added, ("u", *keys.columns))
        rows = rows.join(engine.key_table(rows, shown), on=list(keys.columns), how="inner")
        return cells.counted(rows, added, engine, codes, len(shown.keys))

    def total(self, source: Source, codes: Encoding, progress: Progress | None = None) -> list[Totals]:
        """Those of no key: which are shown is decided by noise; a rehearsal asks all that a release will."""
        self._shown(source, codes, no_keys(self.keys))
        return []

    def rehearsed(self, source: Source) -> FoundCells:
        return replace(self, cells=self.cells.rehearsed(source))


@dataclass(frozen=True, eq=False)
class TableCells:
    """People by the cells of several columns together: each keeps the combination in which it has the most rows."""

    added: Contribution
    keys: tuple[GroupKeys, ...]
    sizes: tuple[int, ...]
    others: tuple[int, ...]
    derivation: Derivation
    groups: GroupKeys | None = None
    groups_per_unit: int = 1
    or_none: bool = False
    """Whether a person whose value is not declared is in no cell; else there is one more cell for these."""

    def total(self, source: Source, codes: Encoding, progress: Progress | None) -> list[Totals]:
        return attempt(lambda: self._total(source, codes))

    def _total(self, source: Source, codes: Encoding) -> list[Totals]:
        import narwhals as nw

        engine, columns = source.engine, [key.columns[0] for key in self.keys]
        frame, added = prepare(source, self.added, self.derivation, self.groups, columns)
        if added.unit is None and self.groups is None and engine.adds_here:
            return [self._count_rows(frame, codes, engine)]
        kinds = kinds_of(frame.collect_schema())
        matched = {f"v{j}": match_keys(key, kinds)["k0"] for j, key in enumerate(self.keys)}
        keyed = {} if self.groups is None else match_keys(self.groups, kinds)
        rows = grouped(select_rows(frame, added, {**keyed, **matched}), self.groups, keyed, engine)
        whole = nw.lit(0).cast(nw.Int64)
        for j, key in enumerate(self.keys):
            if key.cuts:
                place = nw.col(f"v{j}").cast(nw.Int64)
            else:
                table = engine.key_table(rows, key).rename({"k0": f"v{j}", "g": f"p{j}"})
                rows = rows.join(table, on=[f"v{j}"], how="left")
                place = nw.col(f"p{j}").cast(nw.Int64)
            known = nw.when(~place.is_null()).then(place).otherwise(nw.lit(self.others[j]).cast(nw.Int64))
            whole = whole * self.sizes[j] + known
        values = math.prod(self.sizes) - self.or_none
        rows = rows.with_columns(whole.cast(nw.Int64).alias("v"))
        groups = 1 if self.groups is None else len(self.groups.keys)
        people = keep_values(rows, added, groups, self.groups_per_unit, values)
        one = nw.lit(1).cast(nw.Int64).alias("n")
        counted = people.select("g", "v", one).group_by("g", "v").agg(nw.col("n").sum())
        found: list[list[tuple[int, int]]] = [[] for _ in range(groups)]
        for g, v, n in engine.fetch(counted.select("g", "v", "n")):
            found[int(g)].append((int(v), int(n)))
        return [self._totals(codes, some, values) for some in found]

    def _count_rows(self, frame: Frame, codes: Encoding, engine: Engine) -> Totals:
        """Where each row is a person: values come here, and are counted in every table at once."""
        sums, records = np.zeros(codes.width, np.int64), 0
        others = np.array([-1] * len(self.others) if self.or_none else self.others, np.int64)
        for places, counts in engine.places_in(frame, self.keys):
            known = places if places.min(initial=0) >= 0 else np.where(places < 0, others, places)
            codes.add_places(sums, known, counts)
            records += len(places) if counts is None else int(counts.sum())
        return Totals(sums, records)

    def _totals(self, codes: Encoding, found: Sequence[tuple[int, int]], values: int) -> Totals:
        """The counts of one group, of how many people are at each combination of values."""
        inside = [(v, n) for v, n in found if v < values]
        at = np.array([v for v, _ in inside], np.int64)
        places = at[:, None] if self.or_none else np.array(np.unravel_index(at, self.sizes)).T
        made = totals_of(codes, places.reshape(-1, len(self.sizes)), [n for _, n in inside])
        return Totals(made.sums, sum(n for _, n in found))

    def rehearsed(self, source: Source) -> TableCells:
        return self


def grouped(rows: Frame, keys: GroupKeys | None, keyed: Mapping[str, nw.Expr], engine: Engine) -> Frame:
    """The rows with their group g; those whose key is not declared are dropped."""
    import narwhals as nw

    if keys is None:
        return rows.with_columns(nw.lit(0).cast(nw.Int64).alias("g"))
    return rows.join(engine.key_table(rows, keys), on=list(keyed), how="inner")


def totals_of(codes: Encoding, places: Any, counts: Sequence[int]) -> Totals:
    """How many people are in each cell of each table, from how many are at each place."""
    sums = np.zeros(codes.width, np.int64)
    codes.add_places(sums, np.array(places, np.int64).reshape(len(counts), codes.columns), np.array(counts, np.int64))
    return Totals(sums, sum(counts))


def edge_codes(feature: Any, cut: Cut) -> list[int]:
    """The edges of cells as a person's mean or total is coded: a person whose rows add up to an edge is at or above it.

    >>> from gaussmith.domains.encoding import BoxEncoding
    >>> spent = PersonTotal("spent", Coding.of(BoxEncoding.for_bounds([0], [64], [0])))
    >>> [code / spent.coding.scale for code in edge_codes(spent, Cut((16.0, 48.0), ends=(0.0, 64.0)))]
    [16.0, 48.0]
    """
    if isinstance(feature, PersonTotal):
        grid = feature.grid
        step = Fraction(2) ** grid.exponent
        rows = [math.floor(Fraction(edge) / step + Fraction(1, 2)) for edge in cut.edges]
        return [max(0, min(row - grid.zero, grid.levels)) << grid.shift for row in rows]
    coding = feature.coding
    clipped = [min(max(edge, coding.low), coding.top) for edge in cut.edges]
    return [math.floor((edge - coding.low) * coding.scale + 0.5) for edge in clipped]


def open_number(source: Source, query: Query, rule: RowRule, derivation: Derivation) -> NumberCells | FoundCells:
    """People in the cells of one number, checked without a look at the data."""
    _refuse_array(source)
    ((kind, column),) = rule.features
    cut, groups = rule.cut_of(column), query.groups
    assert cut is not None
    stand_in = dict(rule.stand_ins).get(column) if column not in rule.present else None
    if column not in {name for name, _ in rule.columns}:
        check_columns(source, [column], 1)  # as for sums: text in a typed file is no number
    added, domain = Contribution((), rule.unit), query.block.domain
    chooses = isinstance(domain, ChosenCells)
    if kind != OWN_VALUE or chooses:
        assert cut.ends is not None
        instead = cut.ends[0] if stand_in is None else stand_in
        coding = Coding.of(BoxEncoding.for_bounds([cut.ends[0]], [cut.ends[1]], [instead]))
        feature = PersonTotal(column, coding, instead) if kind == OWN_TOTAL else PersonMean(column, coding)
        added = Contribution((feature,), rule.unit)
    cut = fitted_cut(column, cut, derivation.kinds)
    if isinstance(groups, FoundGroups):
        found = open_keys(source, groups, rule, derivation, added, (column,))
        check_once(source, 1)
        return FoundCells(NumberCells(added, column, cut, derivation, None, rule.groups_per_unit, stand_in), found)
    keys = None if groups is None else declare_labels(source, groups.labels, rule, derivation)
    check_people(source, added, derivation, keys, rule.groups_per_unit, (column,))
    check_once(source, 1)
    opened = (added, column, cut, derivation, keys, rule.groups_per_unit, stand_in)
    if isinstance(domain, ChosenCells):
        return FineCounts(*opened, shift_within(codes_within(*domain.within)))
    return NumberCells(*opened)


def open_tables(source: Source, query: Query, rule: RowRule, derivation: Derivation) -> TableCells:
    """People by several columns together, or by one in each declared group; checked without a look at the data."""
    _refuse_array(source)
    domain, declared = query.block.domain, []
    or_none = rule.histogram is not None
    for (_, column), labels in zip(rule.features, domain.input.labels, strict=True):
        cut, known = rule.cut_of(column), list(labels)[: None if or_none else -1]  # the last: all that is not declared
        if cut is not None:
            declared.append(declare_cells(column, cut, known, derivation.kinds))
        else:
            check_listed(source, query, column, known)
            declared.append(declare_groups([column], [(label,) for label in known], derivation.kinds))
    added, groups = Contribution((), rule.unit), query.groups
    keys = None if groups is None else declare_labels(source, groups.labels, rule, derivation)
    check_people(source, added, derivation, keys, rule.groups_per_unit, rule.names)
    check_once(source, 1)
    sizes = tuple(n + or_none for n in _sizes(domain))
    others = tuple(n - 1 for n in sizes)
    return TableCells(added, tuple(declared), sizes, others, derivation, keys, rule.groups_per_unit, or_none)


def _sizes(domain: Domain) -> tuple[int, ...]:
    return tuple(len(values) for values in domain.input.labels)


def check_listed(source: Source, query: Query, column: str, labels: Sequence[Any]) -> None:
    """Refuse numbers that are listed for a column of floats: they may be meant as values, or as edges of cells.

    What is computed is a double, also where it is a count: there the expression says what is meant.
    """
    if query.row_rule is not None and query.row_rule.person_columns:
        return
    number = all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)
    dtype = source.schema.get(column)
    if number and dtype is not None and dtype.is_float() and column not in source.texts:
        edges = [*labels[:4], *([...] if labels[4:] else [])]
        raise SourceError(
            f"numbers listed for {column!r}, a column of floats: bins or values?",
            "few floats equal a listed number; the edges of cells are declared as bins",
            f"write {setting('', {'bins': edges})}; if they are codes, derive whole numbers: "
            + setting("columns", {"code": f"floor({column})"}),
            code="bins-or-values",
            column=column,
        )


def _refuse_array(source: Source) -> None:
    if source.names is None:
        raise SourceError(
            "cells of an array", "an array's columns have no names", "pass a frame", code="cells-of-array"
        )


# How many people are inside the limits of a question, and how many beyond: what clipping and dropping did.
#
#     values    the place of a person's rows between the bounds of one row: below, in one of five parts, above; "mixed"
#               for rows in several parts, "both" for rows below and above
#     totals    the place of a person's total between its bounds, in every group that the person keeps
#     rows      whether a person has more rows (in some group that it keeps) than count
#     groups    whether a person has rows in more declared groups than it may count in
#
# Every rule looks at the rows of one person alone, and puts the person into one cell. Places are found by comparing:
# a value as a double with the bounds, a total as the integer that `features` makes of it, before it is clamped. So
# the counts are the same on every engine. In several groups a person is where it is farthest out.


@dataclass(frozen=True, eq=False)
class LimitCheck:
    """People by where they are between the limits of a question; each is in one cell."""

    kind: str
    added: Contribution
    derivation: Derivation
    ends: tuple[float, float] | None
    """The bounds of a value or a total."""
    stand_in: float
    rows_per_unit: int
    keys: GroupKeys | None = None
    groups_per_unit: int = 1

    def total(self, source: Source, codes: Encoding, progress: Progress | None) -> list[Totals]:
        return attempt(lambda: self._total(source, codes))

    def _total(self, source: Source, codes: Encoding) -> list[Totals]:
        import narwhals as nw

        engine = source.engine
        present = needed_later(self.added, self.derivation, self.keys, self.groups_per_unit)
        frame, added = prepare(source, self.added, self.derivation, self.keys, (), (), not present)
        kinds = kinds_of(frame.collect_schema())
        keyed = {} if self.keys is None else match_keys(self.keys, kinds)
        rows = select_rows(frame, added, {**keyed, **has_values(present, kinds)})
        rows = grouped(rows, self.keys, keyed, engine)
        chooses = self.keys is not None and added.unit is not None and self.kind != CHECKED_GROUPS
        if self.keys is not None and chooses and self.groups_per_unit < len(self.keys.keys):
            rows = keep_rows(rows, added, self.groups_per_unit, len(self.keys.keys))
        elif present:
            rows = rows.filter(nw.col(HAS_VALUES))
        placed = self._placed(rows, added)
        one = nw.lit(1).cast(nw.Int64).alias("n")
        people = placed.select(nw.col("p").cast(nw.Int64), one)
        counted = people.group_by("p").agg(nw.col("n").sum())
        found = [(int(p), int(n)) for p, n in engine.fetch(counted.select("p", "n"))]
        return [totals_of(codes, [(p,) for p, _ in found], [n for _, n in found])]

    def _placed(self, rows: Frame, added: Contribution) -> Frame:
        """A row for each person, with its cell p."""
        import narwhals as nw

        if self.kind == CHECKED_VALUE:
            x = nw.col("x0")
            known = nw.when(~x.is_null() & ~x.is_nan()).then(x).otherwise(nw.lit(self.stand_in))
            rows = rows.with_columns(place_among(known, self._value_edges()).cast(nw.Int64).alias("p"))
            if added.unit is None:
                return rows
            return (
                rows.group_by("u")
                .agg(nw.col("p").min().alias("a"), nw.col("p").max())
                .with_columns(_joined().alias("p"))
            )
        held = combine_rows(code_rows(rows, added, ("g",)), added, ("u", "g"))
        if self.kind == CHECKED_GROUPS:
            several = held.select("u", nw.lit(1).cast(nw.Int64).alias("n")).group_by("u").agg(nw.col("n").sum())
            return several.with_columns(self._cell_of(nw.col("n"), self.groups_per_unit).alias("p"))
        if self.kind == CHECKED_ROWS:
            most = held.group_by("u").agg(nw.col("n").max())
            return most.with_columns(self._cell_of(nw.col("n"), self.rows_per_unit).alias("p"))
        (feature,) = added.features
        assert isinstance(feature, PersonTotal)
        carried = (nw.col("l0").cast(nw.Float64) * 2.0**-TOTAL_LIMB).floor().cast(nw.Int64)
        held = held.with_columns(carried.alias("q0")).with_columns(feature.level(0).alias("t"))
        held = held.with_columns(_place_of_total(feature).cast(nw.Int64).alias("p"))
        most = held.group_by("u").agg(nw.col("p").min().alias("a"), nw.col("p").max())
        return most.with_columns(_joined().alias("p"))

    def _cell_of(self, n: nw.Expr, limit: int) -> nw.Expr:
        """The cell of a number of rows or groups: few, no more than the limit, more."""
        import narwhals as nw

        most = most_in_cells(self.kind, limit)
        cell = nw.lit(len(most))
        for i, each in reversed(list(enumerate(most))):
            cell = nw.when(n <= each).then(nw.lit(i)).otherwise(cell)
        return cell

    def _value_edges(self) -> list[float]:
        """Where the cells of a value begin: a value at a bound is inside."""
        assert self.ends is not None
        low, high = self.ends
        inner = [float(Fraction(low) + part * (Fraction(high) - Fraction(low))) for part in PARTS]
        return [low, *inner, math.nextafter(high, math.inf)]

    def rehearsed(self, source: Source) -> LimitCheck:
        return self


def _place_of_total(feature: PersonTotal) -> nw.Expr:
    """The cell of a total, from its level t and its n rows; what rounding the rows may add is not beyond a bound."""
    import narwhals as nw

    level, n, levels = nw.col("t"), nw.col("n"), feature.grid.levels
    inner = [math.floor(part * levels) for part in PARTS]
    inside = place_among(level, inner) + 1.0
    beyond = nw.when(level - n > levels).then(nw.lit(float(len(PARTS) + 2))).otherwise(inside)
    return nw.when(level + n < 0).then(nw.lit(0.0)).otherwise(beyond)


def _joined() -> nw.Expr:
    """The cell of a person whose rows or groups lie in the cells from a to p."""
    import narwhals as nw

    first, last, above = nw.col("a"), nw.col("p"), len(PARTS) + 2
    inside = nw.when(first == last).then(last).otherwise(nw.lit(MIXED))
    under = nw.when(first == 0).then(nw.lit(0)).otherwise(inside)
    over = nw.when(first == 0).then(nw.lit(BOTH)).otherwise(nw.lit(above))
    both = nw.when(last == above).then(over).otherwise(under)
    return nw.when(first == last).then(last).otherwise(both)


def open_check(source: Source, query: Query, rule: RowRule, derivation: Derivation) -> LimitCheck:
    """People by where they are between limits, checked without a look at the data."""
    ((kind, column),) = rule.features
    if source.names is None:
        raise SourceError(
            "diagnose for an array", "an array's columns have no names", "pass a frame", code="diagnose-of-array"
        )
    added, ends, stand_in = Contribution((), rule.unit), None, 0.0
    if column:
        cut = rule.cut_of(column)
        assert cut is not None and cut.ends is not None
        ends = cut.ends
        stand_in = dict(rule.stand_ins).get(column, 0.0)
        coding = Coding.of(BoxEncoding.for_bounds([ends[0]], [ends[1]], [min(max(stand_in, ends[0]), ends[1])]))
        feature = PersonTotal(column, coding, stand_in) if kind == CHECKED_TOTAL else RowSum(column, coding)
        added = Contribution((feature,), rule.unit)
        if column not in {name for name, _ in rule.columns}:
            check_columns(source, [column], 1)  # as for sums: text in a typed file is no number
        fitted_cut(column, cut, derivation.kinds)
    keys = declare_labels(source, rule.keys, rule, derivation) if rule.by else None
    check_people(source, added, derivation, keys, rule.groups_per_unit)
    check_once(source, 1)
    limit = rule.rows_per_unit or 1
    return LimitCheck(kind, added, derivation, ends, stand_in, limit, keys, rule.groups_per_unit)

"""Totals for each declared group, and at most m groups of a person.

    rows ──joined with the declared keys──▶ group of each row ──per person and group──▶ features ──m groups──▶ Totals

Rules, each of which looks at the rows of one person alone:
- A row whose key is not declared, or missing, is left out; so is a row without a person.
- A person adds its features (see `features`) to each group in which it has rows; `max_rows` holds within a group.
- A person in more than m groups keeps the m in which it has most rows, ties to the group declared first. All of its
  rows that pass the filter decide, also those that lack a value: queries of the same keys agree on a person's groups.
- Every declared group is answered: one without rows has totals of 0, and gets its noise like any other.

The rows meet the keys in a join with a small table, which every engine does by hashing: expressions that look a key up
among a thousand cost DuckDB thirty times as much. The rows of one query are one per group, never one per person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_whole
from gaussmith.engines.engine import Engine, GroupTotals, Totals, Words, frame_places, valued_columns
from gaussmith.engines.polars import POLARS
from gaussmith.expressions.keys import GroupKeys, match_keys, with_integers
from gaussmith.expressions.spelling import as_number, is_present, kinds_of
from gaussmith.totals.features import (
    CODE_LIMB,
    MAX_RANKED_ROWS,
    Coding,
    Contribution,
    Input,
    Layout,
    ProductInput,
    inputs_of,
    plain_inputs,
    totals_of_limbs,
    weigh_group,
    weight_limit,
)
from gaussmith.totals.limbs import (
    CellNumbers,
    add_limbs,
    add_up_groups,
    blocks_of,
    check_steady,
    code_rows,
    code_whole,
    combine_rows,
    feature_limbs,
    find_cells,
    numbered,
    select_rows,
    spell_row,
    split_whole,
    sum_cells,
    sum_whole,
)

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from gaussmith.totals.features import Frame


# Groups of rows, each of which is a person: values come here in batches, and are added up by the place of their
# group.
#
# The codes are those of `features`, in the same two limbs of 21 bits. Limbs are added up as doubles within a batch,
# where 2^32 of them are exact, and over batches in words.

MAX_COMBINATIONS = 1 << 22
"""Limit on the combinations of keys of several columns that are looked up in a table."""

MIN_ROWS, MAX_ROWS = 1 << 15, 1 << 20
"""Limits on the rows that are added up at a time."""


def add_rows(frame: Frame, added: Contribution, groups: GroupKeys, engine: Engine) -> Sequence[Totals] | None:
    """The exact totals of each declared group, in order, where each row is a person.

    None where another way is better: of texts that the engine would have to hand over, and of too many combinations.
    """

    columns = _columns_of(groups)
    if any(kind in ("text", "object") for kind in groups.kinds) and not engine.hands_over_texts:
        return None
    if math.prod(len(column.codes) for column in columns) > MAX_COMBINATIONS:
        return None
    inputs, find = inputs_of(added), _group_finder(groups, columns)
    kinds = kinds_of(frame.collect_schema())
    numbers = [as_number(each.column, kinds[each.column]).alias(f"x{j}") for each, j in plain_inputs(inputs).items()]
    values = valued_columns(frame, columns, numbers)
    size = len(groups.codes)
    whole = {"n": np.zeros(size, np.int64)}
    whole |= {f"{limb}{j}": np.zeros(size, np.int64) for j in inputs.values() for limb in "hl"}
    for batch in engine.batches(values, max(MIN_ROWS, min(8 * size, MAX_ROWS))):
        at = find(batch) + 1  # the first counts what is not declared
        whole["n"] += np.bincount(at, minlength=size + 1)[1:]
        for j, code in _codes_of(inputs, batch).items():
            high = np.floor(code * 2.0**-CODE_LIMB)
            for limb, part in (("h", high), ("l", code - high * 2.0**CODE_LIMB)):
                whole[f"{limb}{j}"] += np.bincount(at, part, size + 1)[1:].astype(np.int64)
    return totals_of_limbs(whole, feature_limbs(frame, added, ())[1])


def _codes_of(inputs: Mapping[Input, int], batch: pl.DataFrame) -> dict[int, npt.NDArray[np.float64]]:
    """The codes of the columns x0, x1 … by their places, and products of two: of 21 bits each, so they are exact."""
    codes = {j: _codes(each.coding, batch[f"x{j}"]) for each, j in plain_inputs(inputs).items()}  # type: ignore[attr-defined]
    for each, j in inputs.items():
        if isinstance(each, ProductInput):
            codes[j] = codes[inputs[each.first]] * codes[inputs[each.second]]
    return codes


def _codes(coding: Coding, column: pl.Series) -> npt.NDArray[np.float64]:
    """The codes of numbers, as `Coding.code` spells them for engines."""
    x = column.to_numpy()
    with np.errstate(all="ignore"):
        code = np.clip(x, coding.low, coding.top)
        if coding.low:
            code -= coding.low
        code *= coding.scale
        code += 0.5
        np.floor(code, out=code)
        if np.isnan(code.sum()):
            missing = np.clip(coding.substitute, coding.low, coding.top)
            np.copyto(code, np.floor((missing - coding.low) * coding.scale + 0.5), where=np.isnan(code))
    return np.asarray(code, np.float64)


def _columns_of(groups: GroupKeys) -> list[GroupKeys]:
    """The different keys of each column by itself."""
    if len(groups.columns) == 1:
        return [groups]
    cuts = dict(groups.cuts)
    found = []
    for j, (name, kind) in enumerate(zip(groups.columns, groups.kinds, strict=True)):
        codes = tuple(dict.fromkeys((code[j],) for code in groups.codes))
        found.append(GroupKeys((name,), codes, (kind,), codes, ((name, cuts[name]),) if name in cuts else ()))
    return found


def _group_finder(groups: GroupKeys, columns: Sequence[GroupKeys]) -> Callable[[pl.DataFrame], Words]:
    """What finds the group of each row, by the places of its keys in their columns; −1 if it is not declared."""
    find = frame_places(columns)
    if len(columns) == 1:  # no two groups have the same key
        return lambda batch: find(batch)[:, 0]
    sizes = [len(column.codes) for column in columns]
    places = [{code: i for i, (code,) in enumerate(column.codes)} for column in columns]
    table = np.full(math.prod(sizes), -1, np.int64)
    at = [[place[code[j]] for code in groups.codes] for j, place in enumerate(places)]
    table[np.ravel_multi_index(at, sizes)] = np.arange(len(groups.codes))

    def find_groups(batch: pl.DataFrame) -> Words:
        each = find(batch)
        declared = (each >= 0).all(axis=1)
        return np.where(declared, table[np.ravel_multi_index(np.maximum(each, 0).T, sizes)], -1)

    return find_groups


# Which of its pairs each person keeps: the m with the largest weights, whole numbers, no two of a person alike.
#
# A person, the weight of a pair and its place are packed into one word of 64 bits, so that words are sorted and
# nothing else: numpy sorts words in a fifth of the time in which it finds an order. People who do not fit are packed
# by a hash; those who share one are ranked again by themselves, so that what is kept never depends on it.

WORD = 63
"""Bits of a word without its sign."""

PIECE = 1 << 15
"""Words that get their places at a time, in the cache of a processor core."""

INTEGERS = {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32"}
"""Types of ids whose differences are words, if they are small."""


def find_kept(people: pl.Series, weights: Words, most: int) -> Words:
    """The places of the pairs that are among the `most` heaviest of their person, and whose weight is not 0.

    >>> import polars as pl
    >>> people, weights = pl.Series([7, 7, 7, 8, 8]), np.array([3, 5, 4, 0, 1])
    >>> [sorted(find_kept(people, weights, most).tolist()) for most in (1, 2)]
    [[1, 4], [1, 2, 4]]
    """
    room, heavy = WORD - len(weights).bit_length(), int(weights.max(initial=0)).bit_length()
    if heavy > room:
        return _rank(people, weights, most)
    small = _small_codes(people, room)
    codes = _hashes(people, room, heavy) if small is None else small
    codes, order = _sort(codes, weights, room, heavy)
    is_kept = np.ones(len(codes), bool)
    is_kept[most:] = codes[most:] != codes[:-most]
    found = order[is_kept]
    if small is None:
        clashing = _clashing(people, codes, order)
        again = order[clashing]
        found = np.append(order[is_kept & ~clashing], again[_rank(people.gather(again), weights[again], most)])
    return found if weights.min(initial=1) > 0 else np.asarray(found[weights[found] > 0])


def _small_codes(people: pl.Series, bits: int) -> Words | None:
    """People who are integers close to each other, as words of so many bits."""
    if str(people.dtype) not in INTEGERS or not len(people):
        return None
    words = people.to_numpy()
    low, high = int(words.min()), int(words.max())
    return np.subtract(words, low, dtype=np.int64) if (high - low).bit_length() <= bits else None


def _hashes(people: pl.Series, room: int, heavy: int) -> Words:
    """Hashes of people that leave room for the weight, if few people will share one; else as long as can be sorted."""
    few = 2 * len(people).bit_length()
    bits = room - heavy if room - heavy >= few else room
    return (people.hash().to_numpy() >> np.uint64(64 - bits)).astype(np.int64)


def _sort(codes: Words, weights: Words, room: int, heavy: int) -> tuple[Words, Words]:
    """The codes in order, and where each was: of one code the heaviest comes first. Overwrites the codes."""
    size, mask = WORD - room, (1 << (WORD - room)) - 1
    if int(codes.max(initial=0)).bit_length() + heavy <= room:
        codes <<= heavy
        codes += (1 << heavy) - 1
        codes -= weights
        words = _sorted_with_places(codes, size)
        return words >> (heavy + size), words & mask
    by_weight = _sorted_with_places((1 << heavy) - 1 - weights, size) & mask
    words = _sorted_with_places(codes[by_weight], size)
    return words >> size, by_weight[words & mask]


def _sorted_with_places(words: Words, bits: int) -> Words:
    """Each word with its place in the lower bits, in order. Overwrites them: new memory costs as much as sorting."""
    words <<= bits
    for start in range(0, len(words), PIECE):
        piece = words[start : start + PIECE]
        piece += np.arange(start, start + len(piece))
    words.sort()
    return words


def _clashing(people: pl.Series, codes: Words, order: Words) -> npt.NDArray[np.bool_]:
    """Which of the sorted codes are those of more than one person."""
    owners = people.gather(order)
    is_other = (owners.slice(1) != owners.slice(0, max(0, len(owners) - 1))).to_numpy()
    shared = codes[1:][is_other & (codes[1:] == codes[:-1])]
    return np.isin(codes, shared) if len(shared) else np.zeros(len(codes), bool)


def _rank(people: pl.Series, weights: Words, most: int) -> Words:
    """As `find_kept`, of any people and weights."""
    import polars as pl

    place = pl.col("w").rank("ordinal", descending=True).over("u")
    ranked = pl.DataFrame({"u": people, "w": weights}).select((place <= most) & (pl.col("w") > 0))
    return np.asarray(ranked.to_series().arg_true().to_numpy().astype(np.int64))


# Pairs of a person and a group, which an engine adds up and hands over: of them groups are kept and features made.
#
#     rows ──added per person and group──▶ pairs, in batches ──m of each person──▶ features ──added──▶ Totals
#
# The engine adds up the integers of a person's rows in a group as wholes: DuckDB in 128 bits, Polars in 64, or in 128
# once somebody is found to have too many rows for these. Here people keep groups by the rule of `groups`, and
# features are made of kept pairs alone. From time to time the pairs that nobody will keep are dropped: memory grows
# with the people, not with their rows.
#
# Queries that read the same rows, but for the columns in which a row must have a value, are added up together.
# Groups are kept by all rows of a person, once for all queries; each query has sums of the rows that it needs.

MAX_PAIR_CELLS = 1 << 22
"""Limit on the cells of integer keys that rows are put into by arithmetic; of more they are looked up."""

BATCH_PAIRS = 1 << 18
"""Pairs that come here at a time."""

LONG_PAIR = 1 << 16
"""Rows of a pair from which on its sums may not fit 64 bits: the integer of a row has at most 46 and a sign."""

HELD_PAIRS = 1 << 23
"""Pairs from which on those that nobody keeps are dropped: half a gigabyte."""


@dataclass(frozen=True)
class AskedQuery:
    """What people add in one query, and the columns in which a row of it must have a value."""

    added: Contribution
    present: tuple[str, ...] = ()


def sum_pairs(
    frame: Frame, asked: Sequence[AskedQuery], groups: GroupKeys | None, engine: Engine, groups_per_unit: int = 1
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
        kept = KeptPairs(none, size, groups_per_unit, pairs.everything)
        for batch in batches:
            kept.put(batch)
        for each in totals:
            each.add(kept.pairs())
    else:  # everybody is in all of their groups
        for batch in chain(batches, [none]):
            for each in totals:
                each.add(batch)
    return [each.totals() for each in totals]


def _grouped_rows(
    frame: Frame, pairs: PairSums, groups: GroupKeys | None, engine: Engine
) -> tuple[Frame, CellNumbers | None]:
    """The rows in declared groups, with their group or cell as g."""
    import narwhals as nw

    schema = frame.collect_schema()
    masks = pairs.masks(kinds_of(schema))
    if groups is None:
        return select_rows(frame.lazy(), pairs.added, masks), None
    cells = find_cells(groups, schema, MAX_PAIR_CELLS)
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

    n0, n1 … count the rows that have the values which a query needs: `present` lists the columns of each. `everything`
    names the count of all rows. The sum of input j over the rows that n{i} counts is f{j}_{i}, in 128 bits if they are
    `wide`, else in 64: Polars takes a quarter less time for these.
    """

    def __init__(self, asked: Sequence[AskedQuery], wide: bool) -> None:
        self.asked, self.wide = asked, wide
        features = tuple(feature for each in asked for feature in each.added.features)
        self.added = replace(asked[0].added, features=features)
        self.inputs = inputs_of(self.added)
        self.present = list(dict.fromkeys([*(each.present for each in asked), ()]))
        self.everything = f"n{self.present.index(())}"
        sums = ((each, self.present.index(one.present)) for one in asked for each in inputs_of(one.added))
        self.sums: list[tuple[Input, int]] = list(dict.fromkeys(sums))

    def masks(self, kinds: Mapping[str, str]) -> dict[str, nw.Expr]:
        """Whether a row has the values that each query needs, as p0, p1 …, but for those that need none."""
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
    """The totals of one query in each group g, added up from pairs that count, batch by batch."""

    def __init__(self, pairs: PairSums, asked: AskedQuery, groups: int) -> None:
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
    """The pairs that people may still keep, of those that came so far: rows that `PairSums.sum` makes, in batches.

    `count` names the number of rows by which people keep groups.
    """

    def __init__(self, none: pl.DataFrame, groups: int, groups_per_unit: int, count: str) -> None:
        self.none, self.count = none, count
        self.groups, self.groups_per_unit = groups, groups_per_unit
        self._held: list[pl.DataFrame] = []
        self._rows, self._most = 0, HELD_PAIRS

    def put(self, batch: pl.DataFrame) -> None:
        self._held.append(batch)
        self._rows += len(batch)
        if self._rows >= self._most:
            self._drop()
            self._most = max(HELD_PAIRS, 2 * self._rows)  # so that at least half of what is looked at is new

    def pairs(self) -> pl.DataFrame:
        """The pairs that are kept of all that came."""
        import polars as pl

        if not self._held:
            return self.none
        self._drop()
        return pl.concat(self._held)

    def _drop(self) -> None:
        """Drop what nobody keeps. Batches are not put together: that costs more than all else."""
        is_kept = np.zeros(self._rows, bool)
        is_kept[self._places()] = True
        ends = np.cumsum([0, *map(len, self._held)]).tolist()
        batches = zip(self._held, ends, ends[1:], strict=False)
        self._held = [batch.filter(is_kept[start:end]) for batch, start, end in batches]
        self._rows = sum(map(len, self._held))

    def _places(self) -> Words:
        """The places of the pairs that are among the m in which their person has most rows."""
        import polars as pl

        people = pl.concat([batch["u"] for batch in self._held], rechunk=False)
        return find_kept(people, np.concatenate([*map(self._weights, self._held)]), self.groups_per_unit)

    def _weights(self, batch: pl.DataFrame) -> Words:
        """What pairs weigh, as `weigh_group` does it."""
        weights: Words = np.minimum(batch[self.count].to_numpy(), weight_limit(self.groups))
        weights *= self.groups
        weights -= batch["g"].to_numpy()
        return weights


def _most_rows(counts: pl.Series) -> int:
    most: Any = counts.max()
    return most or 0


MAX_CELLS = 1 << 14
"""Limit on the cells of integers by which rows are added up on an engine; of more they come here in batches."""


def check_groups_per_unit(groups_per_unit: int) -> int:
    """The number itself; refuses what is not a whole number of at least 1."""
    remedy = "give the number of groups that a person may count in"
    return check_whole("groups_per_unit", groups_per_unit, 1, remedy=remedy)


def sum_groups(
    frame: Frame,
    added: Contribution,
    groups: GroupKeys,
    engine: Engine,
    groups_per_unit: int = 1,
    present: tuple[str, ...] = (),
) -> Sequence[Totals]:
    """The exact totals of the features in each declared group, in declared order, of a narwhals frame.

        totals_g = Σ_people feature(rows of the person in g)   over the people that keep g

    Rows that lack a value of `present` decide which groups a person keeps, and add nothing there.

    Guarantee: adding or removing all rows of one person changes at most m = `groups_per_unit` groups, each sums_j by an
    integer in [0, ceilings_j] and each `records` by one. The same integers on every engine, in every order of the rows.
    Requires: columns that `check_contribution` accepts, keys from `declare_groups`; fewer than 2^40 rows.

    >>> import narwhals as nw, polars as pl
    >>> from gaussmith.engines.polars import POLARS
    >>> from gaussmith.expressions.keys import declare_groups
    >>> rows = {"person": [1, 1, 1, 2, 2], "region": ["south", "north", "south", "east", "north"]}
    >>> frame = nw.from_native(pl.LazyFrame(rows))
    >>> regions = declare_groups(["region"], [("north",), ("south",), ("west",)], {"region": "text"})
    >>> [totals.records for totals in sum_groups(frame, Contribution((), "person"), regions, POLARS)]
    [1, 1, 0]
    >>> [totals.records for totals in sum_groups(frame, Contribution((), "person"), regions, POLARS, 2)]
    [2, 1, 0]
    """
    groups_per_unit = check_groups_per_unit(groups_per_unit)
    schema, answers = frame.collect_schema(), None
    of_rows = added.unit is None and engine.adds_here
    cells = find_cells(groups, schema, MAX_CELLS) if of_rows and engine.wide_sums is not None else None
    if of_rows and cells is None and (found := add_rows(frame.lazy(), added, groups, engine)) is not None:
        return found
    keeps_here = added.unit is not None and engine.adds_here and groups_per_unit < len(groups.keys)
    for block in blocks_of(added, engine.max_features):
        if keeps_here:
            (found,) = sum_pairs(frame, [AskedQuery(block, present)], groups, engine, groups_per_unit)
        else:
            found = _sum_block(frame, block, groups, engine, groups_per_unit, cells, present)
        answers = found if answers is None else _beside(answers, found)
    assert answers is not None
    return answers


def _sum_block(
    frame: Frame,
    added: Contribution,
    groups: GroupKeys,
    engine: Engine,
    groups_per_unit: int,
    cells: CellNumbers | None,
    present: tuple[str, ...],
) -> Sequence[Totals]:
    """The totals of some of the features, in one query."""
    schema = frame.collect_schema()
    if cells is not None:
        as_it_is = all(str(schema[name]) == "Float64" for name in added.columns)
        rows = frame if as_it_is else select_rows(frame.lazy(), added, cells.keyed)
        return sum_cells(rows, added, cells, engine, as_it_is)
    groups = with_integers(groups, schema) if engine.adds_here else groups
    keyed = match_keys(groups, kinds_of(schema))
    rows = select_rows(frame.lazy(), added, {**keyed, **has_values(present, kinds_of(schema))})
    rows = rows.join(engine.key_table(rows, groups), on=list(keyed), how="inner")
    if engine.wide_sums is not None and not present:
        return sum_whole(rows, added, engine, len(groups.keys))
    return _sum_limbs(rows, added, engine, len(groups.keys), groups_per_unit, present)


def _sum_limbs(
    rows: Frame, added: Contribution, engine: Engine, groups: int, groups_per_unit: int, present: tuple[str, ...]
) -> Sequence[Totals]:
    """The totals of each group g, by the steps of `limbs`."""
    if present:
        rows = keep_rows(rows, added, groups_per_unit, groups)
    limbs = code_rows(rows, added, ("g",))
    if added.unit is not None:
        limbs = combine_rows(limbs, added, ("u", "g"))
        if groups_per_unit < groups and not present:
            limbs = keep_groups(limbs, groups_per_unit, groups)
    made, layout, _ = feature_limbs(limbs, added, ("g",))
    return add_up_groups(made, layout, groups, engine)


def _beside(first: Sequence[Totals], second: Sequence[Totals]) -> Sequence[Totals]:
    """The totals of two queries, that of the same people."""
    check_steady([each.records for each in second], [each.records for each in first])
    if isinstance(first, GroupTotals) and isinstance(second, GroupTotals):
        return GroupTotals(np.hstack([first.sums, second.sums]), second.records)
    return [Totals([*a.sums, *b.sums], b.records) for a, b in zip(first, second, strict=True)]


HAS_VALUES = "has_values"
"""The column that says whether a row has the values that a query needs."""


def has_values(present: Sequence[str], kinds: Mapping[str, str]) -> dict[str, nw.Expr]:
    """Whether a row has a value in all of these columns, under its name; nothing where there are none."""
    return {HAS_VALUES: reduce(and_, (is_present(name, kinds[name]) for name in present))} if present else {}


def keep_rows(rows: Frame, added: Contribution, groups_per_unit: int, groups: int) -> Frame:
    """The rows of each person in the groups that it keeps by all of its rows, of those that have the values needed."""
    import narwhals as nw

    counted = combine_rows(rows.select("u", "g", "n"), replace(added, features=()), ("u", "g"))
    kept = keep_groups(counted, groups_per_unit, groups).select("u", "g")
    chosen = rows.filter(nw.col(HAS_VALUES)) if HAS_VALUES in rows.collect_schema() else rows
    return chosen.join(kept, on=["u", "g"], how="inner")


def keep_groups(combined: Frame, groups_per_unit: int, groups: int) -> Frame:
    """Of each person u the m groups g with most rows n, ties to the smaller g.

    Rows and place make one number, as `weigh_group` says, so the ranking is unique.
    """
    import narwhals as nw

    ranked = combined.with_columns(weigh_group(groups).alias("weight"))
    if groups_per_unit == 1:  # the largest is found without sorting
        return ranked.filter(nw.col("weight") == nw.col("weight").max().over("u")).drop("weight")
    place = nw.col("weight").rank("ordinal", descending=True).over("u")
    return ranked.with_columns(place.alias("place")).filter(nw.col("place") <= groups_per_unit).drop("weight", "place")


def keep_values(rows: Frame, added: Contribution, groups: int, groups_per_unit: int, values: int) -> Frame:
    """One row (g, v) for each person and group that it keeps: the value v in which it has most rows there.

    Rows have a group g and a value v < `values`, or v = `values` where the value is not declared: then the person is in
    that group without a value, unless it has a declared one there. Ties go to the smaller v; groups are kept as by
    `keep_groups`. Where each row is a person it is in one group, with one value.
    """
    import narwhals as nw

    if added.unit is None:
        return rows.select("g", "v")
    held = combine_rows(rows.select("u", "g", "v", "n"), replace(added, features=()), ("u", "g", "v"))
    if groups_per_unit < groups:
        most = min(MAX_RANKED_ROWS, (1 << 62) // groups)
        held = held.with_columns(nw.col("n").sum().over("u", "g").cast(nw.Int64).alias("rows"))
        known = nw.when(nw.col("rows") < most).then(nw.col("rows")).otherwise(nw.lit(most))
        held = held.with_columns((known * groups - nw.col("g")).alias("weight"))
        held = held.with_columns(nw.col("weight").rank("dense", descending=True).over("u").alias("place"))
        held = held.filter(nw.col("place") <= groups_per_unit).drop("rows", "weight", "place")
    most = min(MAX_RANKED_ROWS, (1 << 62) // (values + 1))
    known = nw.when(nw.col("n") < most).then(nw.col("n")).otherwise(nw.lit(most)) * (values + 1) - nw.col("v")
    weight = nw.when(nw.col("v") < values).then(known).otherwise(nw.lit(-1)).cast(nw.Int64)
    held = held.with_columns(weight.alias("weight"))
    held = held.with_columns(nw.col("weight").rank("ordinal", descending=True).over("u", "g").alias("place"))
    return held.filter(nw.col("place") == 1).select("g", "v")

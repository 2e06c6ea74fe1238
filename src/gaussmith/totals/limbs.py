"""Rows of people become features, and features totals, on the engine that holds the rows.

    rows ──number, code──▶ limbs ──added per person──▶ limbs ──clamp, divide──▶ features ──added──▶ Totals

What the features are, and why they are private, is said in `features`. This file computes them with narwhals, lazily,
so that Polars streams the rows and DuckDB and Spark keep them; the integers are the same everywhere.

**Why nothing overflows.** The integer of a row travels as two limbs: 23 lower bits for totals (46 bits in all), 21 for
codes (42 bits). A person's limbs add up in 64 bits below 2^40 rows. Limbs are put together after saturation, quotients
are found by long division. No engine's integer division is used, for Spark's goes through doubles: here the quotient
of doubles is a guess that is off by one at most, and the remainder, in integers, puts it right.

**Rules.** Rows without a person are dropped. Without a unit column every row is a person, and its
PersonTotal is then its plain code, so that the totals equal those of `Records`.
Rows are counted by adding 64-bit ones: Polars counts in 32 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.engines.duckdb import quote
from gaussmith.engines.engine import BATCH_ROWS, Engine, Totals, Unsteady, Words
from gaussmith.expressions.identity import as_id
from gaussmith.expressions.keys import GroupKeys, columns_of_keys, holds_integers
from gaussmith.expressions.spelling import as_number, kinds_of
from gaussmith.totals.features import (
    CODE_LIMB,
    TOTAL_LIMB,
    Contribution,
    Feature,
    Input,
    Layout,
    PersonMean,
    PersonTotal,
    ProductInput,
    RowCount,
    RowProduct,
    RowSum,
    clip,
    factors_of,
    inputs_of,
    place_of,
    plain_inputs,
    totals_of_limbs,
)

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from gaussmith.totals.features import Frame


# Keys that are integers, by their cells: one for each combination of integers between the smallest and largest keys.
#
# The cell of a row is found by arithmetic, which costs less than to look up its keys; which cells are declared groups
# is asked once the rows are added up. Rows outside all cells are left out: so there are few sums, whatever the rows
# hold.


@dataclass(frozen=True, eq=False)
class CellNumbers:
    """The smallest and the largest key of each column, and the cell of each declared group."""

    columns: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    places: Words

    @property
    def size(self) -> int:
        """How many cells there are."""
        return math.prod(high - low + 1 for low, high in self.spans)

    @property
    def keyed(self) -> dict[str, nw.Expr]:
        """The keys of a row as integers k0, k1 …"""
        import narwhals as nw

        return {f"k{j}": nw.col(name).cast(nw.Int64) for j, name in enumerate(self.columns)}

    def spell(self, keys: Sequence[str]) -> tuple[str, str]:
        """In SQL the cell of a row with these keys, and whether it is inside."""
        cell, inside = "", []
        for key, (low, high) in zip(keys, self.spans, strict=True):
            cell = f"({cell} * {high - low + 1} + ({key} - {low}))" if cell else f"({key} - {low})"
            inside.append(f"{key} between {low} and {high}")
        return cell, " and ".join(inside)

    def put(self, rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """The rows inside, with their cell as g."""
        import narwhals as nw

        cell = nw.lit(0)
        for j, (low, high) in enumerate(self.spans):
            rows = rows.filter(nw.col(f"k{j}").is_between(low, high))
            cell = cell * (high - low + 1) + (nw.col(f"k{j}") - low) if j else nw.col("k0") - low
        return rows.with_columns(cell.cast(nw.UInt32).alias("g"))

    def placed(self, batch: pl.DataFrame) -> pl.DataFrame:
        """The rows whose cell g is a declared group, with that group in its place."""
        import polars as pl

        if self._groups is None:
            return batch
        placed = batch.with_columns(pl.Series("g", self._groups[batch["g"].to_numpy()]))
        return placed if self.size == len(self.places) else placed.filter(pl.col("g") >= 0)

    @cached_property
    def _groups(self) -> npt.NDArray[np.int32] | None:
        """The group in each cell, −1 where none is declared; None where each cell is the group of its number."""
        found = np.full(self.size, -1, np.int32)
        found[self.places] = np.arange(len(self.places))
        return None if np.array_equal(found, np.arange(self.size)) else found


def find_cells(groups: GroupKeys, schema: Mapping[str, Any], most: int) -> CellNumbers | None:
    """The cells of keys whose columns hold integers; None of other keys, and of more than `most` cells."""
    if not groups.codes or not all(holds_integers(groups, j, schema) for j in range(len(groups.columns))):
        return None
    columns = [np.array(column) for column in columns_of_keys(groups)]
    spans = tuple((int(column.min()), int(column.max())) for column in columns)
    sizes = [high - low + 1 for low, high in spans]
    if math.prod(sizes) > most or any((column != np.floor(column)).any() for column in columns):
        return None
    at = tuple((column - low).astype(np.int64) for column, (low, _) in zip(columns, spans, strict=True))
    return CellNumbers(groups.columns, spans, np.ravel_multi_index(at, sizes))


# The steps of `limbs` in SQL, on an engine that adds up 64-bit integers in 128 bits: codes are added up whole.
#
#     rows ──codes──▶ added per person (and group) ──features──▶ added ──▶ Totals
#
# The integers are those of `limbs`; only the way there differs. Each arrow is one aggregate of DuckDB, and all
# arithmetic is in it: expressions of narwhals are a query each, which DuckDB reads again with every step. Numbers are
# clamped by comparisons, which cost half of what `least` and `greatest` do.


def sum_whole(rows: Frame, added: Contribution, engine: Engine, groups: int | None = None) -> Sequence[Totals]:
    """The totals of the features of rows that `select_rows` chose: of all people, or in each group g below `groups`.

    Requires: an engine with `wide_sums`; with groups, a column g in the rows.
    """
    sums, by, inputs = engine.wide_sums, [] if groups is None else ["g"], inputs_of(added)
    assert sums is not None
    if added.unit is None:
        return _add_up(rows, _records(added, numbered(inputs)), groups, engine)
    coded = [f"coalesce(sum({spell_row(each, numbered(inputs), False)}), 0) as f{j}" for each, j in inputs.items()]
    combined = sums.aggregate(rows, ["u", *by, "count(*) as n", *coded], ["u", *by])
    codes = [spell_person(feature, inputs, added.max_rows) for feature in added.features]
    return _add_up(combined, codes, groups, engine)


def sum_cells(rows: Frame, added: Contribution, cells: CellNumbers, engine: Engine, as_it_is: bool) -> Sequence[Totals]:
    """The totals in each declared group where each row is a person, by keys that are integers: matched after the sums.

    `as_it_is` says that the columns are those of a frame, and doubles where they are added; else `select_rows` chose.
    """
    inputs = inputs_of(added)
    names = {each: quote(each.column) for each in plain_inputs(inputs)} if as_it_is else numbered(inputs)
    keys = [f"cast({quote(name)} as bigint)" if as_it_is else f"k{j}" for j, name in enumerate(cells.columns)]
    cell, inside = cells.spell(keys)
    return _add_up(rows, _records(added, names), cells.size, engine, cell, inside, cells.places)


def _add_up(
    frame: Frame,
    codes: Sequence[str],
    groups: int | None,
    engine: Engine,
    group: str = "g",
    where: str | None = None,
    places: Any = slice(None),
) -> Sequence[Totals]:
    """The totals of integers in [0, 2^63), and how many rows there are: of all, or of the groups in `places`."""
    sums = engine.wide_sums
    assert sums is not None
    chosen = ["count(*) as n", *(f"sum({code}) as c{i}" for i, code in enumerate(codes))]
    if groups is None:
        ((n, *found),) = engine.fetch(sums.aggregate(frame, chosen, []))
        return [Totals([int(s or 0) for s in found], int(n))]
    columns = ["n", *(f"{limb}{i}" for limb in "hl" for i in range(len(codes)))]
    whole = {name: np.zeros(groups, np.int64) for name in columns}
    for batch in engine.batches(sums.aggregate(frame, [f"{group} as g", *chosen], [group], where), BATCH_ROWS):
        limbs = batch.select("g", "n", *(limb for i in range(len(codes)) for limb in split_whole(f"c{i}", i)))
        at = limbs["g"].to_numpy()
        for name in columns:
            whole[name][at] = limbs[name].to_numpy()
    layout = tuple(((f"h{i}", CODE_LIMB), (f"l{i}", 0)) for i in range(len(codes)))
    return totals_of_limbs({name: values[places] for name, values in whole.items()}, layout)


def split_whole(column: str, j: int, bits: int = CODE_LIMB) -> tuple[pl.Expr, pl.Expr]:
    """The limbs h and l of a sum that DuckDB or Polars made in 128 bits; null is 0."""
    import polars as pl

    whole = pl.col(column).cast(pl.Int128).fill_null(0)
    high = whole // (1 << bits)
    return high.cast(pl.Int64).alias(f"h{j}"), (whole - high * (1 << bits)).cast(pl.Int64).alias(f"l{j}")


# ── codes and features in SQL: what `features` says, spelled again ──


def unguarded_columns(added: Contribution) -> set[str]:
    """The columns whose NaN need no guard against what DuckDB takes to be the ends of a column.

    Where a missing value is coded as 0 nothing depends on these: the cast of NaN is null, and sums leave it out. Else
    they would decide that it cannot be null.
    """
    coded = plain_inputs(inputs_of(added))
    missed = {each.column for each in coded if code_of_missing(each, added.unit is None)}
    return {each.column for each in coded} - missed


def numbered(inputs: Mapping[Input, int]) -> dict[Input, str]:
    """The columns x0, x1 … that `select_rows` makes."""
    return {each: f"x{j}" for each, j in inputs.items()}


def spell_row(each: Input, names: Mapping[Input, str], is_unit: bool) -> str:
    """The integer of a row, from columns of doubles, which may be null; null may stand for 0."""
    if isinstance(each, ProductInput):  # of at most 21 bits each
        return " * ".join(spell_row(factor, names, is_unit) for factor in (each.first, each.second))
    low, top, zero, scale, _ = _coding(each, is_unit)
    clamped, known = _clamped(names[each], low, top), code_of_missing(each, is_unit)
    above = f"({clamped} - {_literal(zero)})" if zero else clamped
    code = f"try_cast(floor({above} * {_literal(scale)} + {_literal(0.5)}) as bigint)"
    return f"coalesce({code}, {known})" if known else code


def code_of_missing(each: Input, is_unit: bool) -> int:
    """The integer of a row without a value."""
    low, top, zero, scale, instead = _coding(each, is_unit)
    return math.floor((min(max(instead, low), top) - zero) * scale + 0.5)


def _coding(each: Input, is_unit: bool) -> tuple[float, float, float, float, float]:
    """low, top, zero, scale and a number in place of a missing one: the code is floor((clamp(x) − zero)·scale + ½)."""
    assert isinstance(each, PersonTotal | RowSum)
    if isinstance(each, RowSum) or is_unit:
        coding = each.coding
        return coding.low, coding.top, coding.low, coding.scale, coding.substitute
    grid = each.grid
    return -grid.reach, grid.reach, 0.0, math.ldexp(1.0, -grid.exponent), each.missing


def _clamped(x: str, low: float, top: float) -> str:
    """x within its bounds; null or NaN where x is. What most rows are is asked first.

    NaN is handed on whatever a comparison says of it: DuckDB decides comparisons for all rows at once by the ends of a
    column, and those of Parquet files say nothing of NaN. The greatest of NaN and a number is NaN; what is added to the
    upper bound is NaN, or too little to change a code.
    """
    bottom, ceiling, one, tiny = map(_literal, (low, top, 1.0, math.ulp(0.0)))
    within, above = f"{x} > {bottom} and {x} < {ceiling}", f"{ceiling} + {tiny} / (({x} - {ceiling}) + {one})"
    return f"(case when {within} then {x} when {x} <= {bottom} then greatest({x}, {bottom}) else {above} end)"


def _literal(value: float) -> str:
    """A double, read back bit for bit: with an exponent it is not a decimal number first."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text[0] == "-" else text


def _records(added: Contribution, names: Mapping[Input, str]) -> list[str]:
    """What a row adds that is a person: the codes of its inputs, and 1 where a feature has none."""
    inputs = (feature.input for feature in added.features)
    return ["cast(1 as bigint)" if each is None else spell_row(each, names, True) for each in inputs]


def spell_person(feature: Feature, inputs: Mapping[Input, int], k: int) -> str:
    """What a person adds, from its n rows and the sums f0, f1 … of their integers; at most 63 bits."""
    codes = [_number(f, f"f{place_of(f, inputs)}", k) for f in factors_of(feature, of_person=True)]
    return " * ".join(f"cast({code} as bigint)" for code in codes)


def _number(feature: Feature, f: str, k: int) -> str:
    if isinstance(feature, RowCount):
        return f"(case when n < {k} then n else {k} end)"
    if isinstance(feature, PersonTotal):
        grid = feature.grid
        level = f"case when {f} < {grid.zero + grid.levels} then {f} - ({grid.zero}) else {grid.levels} end"
        return f"(case when {f} > {grid.zero} then {level} else 0 end) * {1 << grid.shift}"
    mean = f"(({f} + n // 2) // n)"
    if isinstance(feature, PersonMean):
        return mean
    assert isinstance(feature, RowSum | RowProduct)
    return f"(case when n <= {k} then {f} else {mean} * {k} end)"


def sum_people(frame: Frame, added: Contribution, engine: Engine) -> Totals:
    """The exact totals of the features over all people of a narwhals frame.

        sums_j = Σ_people feature_j(rows of the person)

    Guarantee: adding or removing all rows of one person changes sums_j by an integer in [0, ceilings_j] and `records`
    by one. The same integers on every engine, in every order of the rows.
    Requires: columns that `check_contribution` accepts; fewer than 2^40 rows.

    >>> import narwhals as nw, polars as pl
    >>> from gaussmith.domains.encoding import BoxEncoding
    >>> from gaussmith.engines.polars import POLARS
    >>> from gaussmith.totals.features import Coding, PersonTotal
    >>> visits = nw.from_native(pl.LazyFrame({"person": [1, 1, 2, None], "spent": [30.0, 40.0, 5.0, 9.0]}))
    >>> spent = PersonTotal("spent", Coding.of(BoxEncoding.for_bounds([0], [64], [0])))
    >>> totals = sum_people(visits, Contribution((spent,), "person"), POLARS)
    >>> totals.sums[0] / spent.coding.scale, totals.records      # 64 of the one person, 5 of the other
    (69.0, 2)
    """
    sums: list[int] = []
    records = 0
    for block in blocks_of(added, engine.max_features):
        rows = select_rows(frame.lazy(), block)
        (totals,) = [_sum_limbs(rows, block, engine)] if engine.wide_sums is None else sum_whole(rows, block, engine)
        check_steady([totals.records], [records] if sums else None)
        sums += totals.sums
        records = totals.records
    return Totals(sums, records)


def _sum_limbs(rows: Frame, added: Contribution, engine: Engine) -> Totals:
    """The totals of rows that `select_rows` chose, by the steps below."""
    limbs = code_rows(rows, added, ())
    if added.unit is not None:
        limbs = combine_rows(limbs, added, ("u",))
    found = add_up(*feature_limbs(limbs, added, ()), engine)
    return found.get((), Totals([0] * len(added.features), 0))


def check_steady(found: Sequence[int], before: Sequence[int] | None) -> None:
    """Refuse a source if two queries saw different numbers of people: its answers would be inconsistent."""
    if before is not None and list(found) != list(before):
        raise Unsteady


# ── the steps, in their order; `groups` takes them too ──


def blocks_of(added: Contribution, step: int) -> Iterator[Contribution]:
    """The features in blocks, one per query; at least one, so that people are counted even if nothing else is."""
    for start in range(0, max(1, len(added.features)), step):
        yield replace(added, features=added.features[start : start + step])


def select_rows(frame: Frame, added: Contribution, keys: Mapping[str, nw.Expr] | None = None) -> Frame:
    """Rows that have a person: the person as u, the keys under their names, the columns as doubles x0, x1 … or null."""
    import narwhals as nw

    schema = frame.collect_schema()
    kinds = kinds_of(schema)
    chosen = [expression.alias(name) for name, expression in (keys or {}).items()]
    for each, j in plain_inputs(inputs_of(added)).items():
        chosen.append(as_number(each.column, kinds[each.column]).alias(f"x{j}"))
    one = nw.lit(1).cast(nw.Int64).alias("n")
    if added.unit is None and not chosen:  # a constant alone would be selected once, not once per row
        some = nw.col(
            next(iter(schema))
        ).is_null()  # and beside the columns it could meet an N, which DuckDB takes for n
        return frame.select(nw.when(some).then(nw.lit(1)).otherwise(nw.lit(1)).cast(nw.Int64).alias("n"))
    if added.unit is None:
        return frame.select(*chosen, one)
    unit = as_id(added.unit, kinds[added.unit], schema[added.unit], added.ids)
    return frame.select(unit.alias("u"), *chosen, one).filter(~nw.col("u").is_null())


def code_whole(rows: Frame, added: Contribution, keep: Sequence[str]) -> Frame:
    """The kept columns, n = 1, and the integers of each row as doubles f0, f1 …; none of these is null."""
    import narwhals as nw

    kept = [*(["u"] if added.unit is not None else []), *keep, "n"]
    inputs, is_unit = inputs_of(added), added.unit is None
    plain = plain_inputs(inputs).items()
    coded = rows.select(*kept, *(each.row_code(nw.col(f"x{j}"), is_unit, clip).alias(f"f{j}") for each, j in plain))
    crossed = [(each, j) for each, j in inputs.items() if isinstance(each, ProductInput)]
    if crossed:  # whole doubles of at most 21 bits each: their product is exact
        ends = ((j, inputs[each.first], inputs[each.second]) for each, j in crossed)
        coded = coded.with_columns(*((nw.col(f"f{a}") * nw.col(f"f{b}")).alias(f"f{j}") for j, a, b in ends))
    return coded


def code_rows(rows: Frame, added: Contribution, keep: Sequence[str]) -> Frame:
    """The kept columns, n = 1, and the integers of each row as limbs h0, l0, h1, l1 … in Int64; nothing is null."""
    import narwhals as nw

    # The code is made in a step of its own, so that engines compute it once for both limbs.
    coded = code_whole(rows, added, keep)
    kept = [*(["u"] if added.unit is not None else []), *keep, "n"]
    limbs: list[nw.Expr] = []
    for each, j in inputs_of(added).items():
        bits = each.limb(added.unit is None)
        high = (nw.col(f"f{j}") * 2.0**-bits).floor()
        limbs.append(high.cast(nw.Int64).alias(f"h{j}"))
        limbs.append((nw.col(f"f{j}") - high.cast(nw.Float64) * 2.0**bits).cast(nw.Int64).alias(f"l{j}"))
    return coded.select(*kept, *limbs)


def combine_rows(limbs: Frame, added: Contribution, by: Sequence[str]) -> Frame:
    """One row per person (and group): the sums of its limbs and n, the number of its rows, all Int64."""
    import narwhals as nw

    columns = ["n", *(f"{limb}{j}" for j in inputs_of(added).values() for limb in "hl")]
    summed = limbs.group_by(*by).agg(*(nw.col(name).sum() for name in columns))
    return summed.with_columns(*(nw.col(name).cast(nw.Int64) for name in columns))  # DuckDB adds up in 128 bits


def feature_limbs(combined: Frame, added: Contribution, keep: Sequence[str]) -> tuple[Frame, Layout, Sequence[str]]:
    """The features of each person, split into limbs of 21 bits so that they add up in 64, and where they are.

    Requires: limbs h, l and n per person, as `combine_rows` makes them (or `code_rows`, when every row is a person).
    """
    import narwhals as nw

    inputs = inputs_of(added)
    if added.unit is None:
        places = [place_of(feature, inputs) for feature in added.features]
        layout = ((("n", 0),) if j < 0 else ((f"h{j}", CODE_LIMB), (f"l{j}", 0)) for j in places)
        return combined, tuple(layout), keep
    frame = code_people(combined, added, keep)
    bits = [max(1, ceiling.bit_length()) for ceiling in added.ceilings]
    for shift in range(CODE_LIMB * (max(bits, default=1) // CODE_LIMB), 0, -CODE_LIMB):
        wide = [i for i, size in enumerate(bits) if size > shift]
        if wide:  # a limb may be one too high, from 2^53 on: what is left is then below zero, and still right
            highs = {i: (nw.col(f"c{i}").cast(nw.Float64) * 2.0**-shift).floor().cast(nw.Int64) for i in wide}
            frame = frame.with_columns(*(high.alias(f"c{i}_{shift}") for i, high in highs.items()))
            frame = frame.with_columns(*((nw.col(f"c{i}") - nw.col(f"c{i}_{shift}") * (1 << shift)) for i in wide))
    names = [[(f"c{i}_{s}" if s else f"c{i}", s) for s in range(0, size, CODE_LIMB)] for i, size in enumerate(bits)]
    return frame.with_columns(nw.lit(1).cast(nw.Int64).alias("n")), tuple(map(tuple, names)), keep


def code_people(combined: Frame, added: Contribution, keep: Sequence[str]) -> Frame:
    """The features of each person as whole numbers c0, c1 …, from the limbs that `combine_rows` makes."""
    import narwhals as nw

    inputs = inputs_of(added)
    whole = [f for feature in added.features for f in factors_of(feature, of_person=True)]
    frame = _divide(combined, sorted({place_of(f, inputs) for f in whole if f.divides}))
    carry = 2.0**-TOTAL_LIMB
    for j in (j for each, j in inputs.items() if each.carries):
        carried = (nw.col(f"l{j}").cast(nw.Float64) * carry).floor().cast(nw.Int64)
        frame = frame.with_columns(carried.alias(f"q{j}"))
    codes = [_code(f, inputs, added.max_rows).alias(f"c{i}") for i, f in enumerate(added.features)]
    return frame.select(*keep, "n", *codes)


def _code(feature: Feature, inputs: Mapping[Input, int], k: int) -> nw.Expr:
    """The integer that a person adds; a product of two has at most 42 bits."""
    first, *others = (f.code(place_of(f, inputs), k) for f in factors_of(feature, of_person=True))
    return first * others[0] if others else first


def _divide(frame: Frame, places: Sequence[int]) -> Frame:
    """The means m = floor((h·2^21 + l + floor(n/2)) / n) of the limbs at these places, by long division."""
    import narwhals as nw

    if not places:
        return frame
    frame = _quotients(frame, "h", "q", "r", places)
    half = (nw.col("n").cast(nw.Float64) * 0.5).floor().cast(nw.Int64)
    rests = (nw.col(f"r{j}") * (1 << CODE_LIMB) + nw.col(f"l{j}") + half for j in places)
    frame = frame.with_columns(*(rest.alias(f"a{j}") for j, rest in zip(places, rests, strict=True)))
    frame = _quotients(frame, "a", "p", "r", places)
    return frame.with_columns(*((nw.col(f"q{j}") * (1 << CODE_LIMB) + nw.col(f"p{j}")).alias(f"m{j}") for j in places))


def _quotients(frame: Frame, dividend: str, quotient: str, rest: str, places: Sequence[int]) -> Frame:
    """floor(dividend / n) and the rest of the division, exactly: dividends in [0, 2^63), quotients below 2^48."""
    import narwhals as nw

    n = nw.col("n")
    guesses, rests, mended = [], [], []
    for j in places:
        a, q, r = nw.col(f"{dividend}{j}"), nw.col(f"{quotient}{j}"), nw.col(f"{rest}{j}")
        guesses.append((a.cast(nw.Float64) / n.cast(nw.Float64)).floor().cast(nw.Int64).alias(f"{quotient}{j}"))
        rests.append((a - q * n).alias(f"{rest}{j}"))
        high = nw.when(r >= n).then(nw.lit(1)).otherwise(nw.lit(0))
        off = nw.when(r < 0).then(nw.lit(-1)).otherwise(high)
        mended += [(q + off).alias(f"{quotient}{j}"), (r - off * n).alias(f"{rest}{j}")]
    return frame.with_columns(*guesses).with_columns(*rests).with_columns(*mended)


def add_up_groups(limbs: Frame, layout: Layout, groups: int, engine: Engine) -> Sequence[Totals]:
    """The totals of each group g below `groups`, in order: one query, a row per group that has added comes back."""
    if not engine.adds_here:
        found, empty = add_up(limbs, layout, ("g",), engine), Totals([0] * len(layout), 0)
        return [found.get((g,), empty) for g in range(groups)]
    return totals_of_limbs(add_limbs(limbs, layout, groups, engine), layout)


def add_limbs(limbs: Frame, layout: Layout, groups: int, engine: Engine) -> dict[str, Words]:
    """The sums of each limb, and of n, in each group g below `groups`."""
    import narwhals as nw

    columns = list(dict.fromkeys(["n", *(name for parts in layout for name, _ in parts)]))
    summed = limbs.group_by("g").agg(*(nw.col(name).sum() for name in columns))
    summed = summed.select(*(nw.col(name).cast(nw.Int64) for name in ("g", *columns)))
    whole = {name: np.zeros(groups, np.int64) for name in columns}
    for batch in engine.batches(summed, BATCH_ROWS):
        at = batch["g"].to_numpy()
        for name in columns:
            whole[name][at] = batch[name].to_numpy()
    return whole


def add_up(limbs: Frame, layout: Layout, by: Sequence[str], engine: Engine) -> dict[tuple[Any, ...], Totals]:
    """The totals for each value of the columns `by` that has added: one query, a row per value comes back."""
    import narwhals as nw

    columns = list(dict.fromkeys(["n", *(name for parts in layout for name, _ in parts)]))
    summed = [nw.col(name).sum() for name in columns]
    frame = limbs.group_by(*by).agg(*summed) if by else limbs.select(*summed)
    totals: dict[tuple[Any, ...], Totals] = {}
    for row in engine.fetch(frame.select(*by, *columns)):
        values = dict(zip([*by, *columns], row, strict=True))
        whole = {name: int(values[name] or 0) for name in columns}
        sums = [sum(whole[name] << shift for name, shift in parts) for parts in layout]
        totals[tuple(values[name] for name in by)] = Totals(sums, whole["n"])
    return totals

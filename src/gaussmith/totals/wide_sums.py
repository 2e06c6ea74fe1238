"""The steps of `limbs` in SQL, on an engine that adds up 64-bit integers in 128 bits: codes are added up whole.

    rows ──codes──▶ added per person (and group) ──features──▶ added ──▶ Totals

The integers are those of `limbs`; only the way there differs. Each arrow is one aggregate of DuckDB, and all arithmetic
is in it: expressions of narwhals are a query each, which DuckDB reads again with every step. Numbers are clamped by
comparisons, which cost half of what `least` and `greatest` do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.engines.duckdb_databases import quote
from gaussmith.engines.engine import BATCH_ROWS, Engine, Totals
from gaussmith.totals.features import (
    CODE_LIMB,
    Contribution,
    Feature,
    Input,
    PersonMean,
    PersonTotal,
    ProductInput,
    RowCount,
    RowProduct,
    RowSum,
    factors_of,
)
from gaussmith.totals.integer_keys import Cells
from gaussmith.totals.integer_steps import inputs_of, place_of, plain_inputs, totals_of_limbs

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    Frame = nw.LazyFrame[Any]


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


def sum_cells(rows: Frame, added: Contribution, cells: Cells, engine: Engine, as_it_is: bool) -> Sequence[Totals]:
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

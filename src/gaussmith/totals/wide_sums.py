"""The steps of `limbs` in SQL, on an engine that adds up 64-bit integers in 128 bits: codes are added up whole.

    rows ──codes──▶ added per person (and group) ──features──▶ one group kept ──added──▶ Totals

The integers are those of `limbs`; only the way there differs. Each arrow is one aggregate of DuckDB, and all arithmetic
is in it: expressions of narwhals are a query each, which DuckDB reads again with every step. Numbers are clamped by
comparisons, which cost half of what `least` and `greatest` do; NaN goes first, so that no order of it matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.engines.engine import BATCH_ROWS, Engine, Totals
from gaussmith.expressions import GroupKeys
from gaussmith.totals.features import (
    CODE_LIMB,
    Coding,
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
from gaussmith.totals.integer_steps import inputs_of, place_of, totals_of_limbs, weight_limit

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.LazyFrame[Any]


def sum_whole(
    rows: Frame,
    added: Contribution,
    engine: Engine,
    groups: int | None = None,
    keep: Callable[[Frame], Frame] | None = None,
    keeps_one: bool = False,
) -> Sequence[Totals]:
    """The totals of the features of rows that `select_rows` chose: of all people, or in each group g below `groups`.

    `keep` drops the groups in which a person does not count; where it counts in one alone, `keeps_one` is enough.
    Requires: an engine with `wide_sums`; with groups, a column g in the rows.
    """
    sums, by, inputs = engine.wide_sums, [] if groups is None else ["g"], inputs_of(added)
    assert sums is not None
    if added.unit is None:
        codes = [_record(place_of(feature, inputs), inputs) for feature in added.features]
        return _add_up(rows, codes, groups, engine)
    coded = [f"sum({spell_row(each, inputs, False)}) as f{j}" for each, j in inputs.items()]
    combined = sums.aggregate(rows, ["u", *by, "count(*) as n", *coded], ["u", *by])
    codes = [spell_person(feature, inputs, added.max_rows) for feature in added.features]
    if groups is None or (keep is None and not keeps_one):
        return _add_up(combined, codes, groups, engine)
    if keep is not None:
        return _add_up(keep(combined), codes, groups, engine)
    limit = weight_limit(groups)
    weight = f"(case when n < {limit} then n else {limit} end * {groups} - g)"
    best = [f"arg_max({code}, {weight}) as c{i}" for i, code in enumerate(codes)]
    people = sums.aggregate(combined, [f"max({weight}) as w", *best], ["u"])
    return _add_up(
        people, [f"c{i}" for i in range(len(codes))], groups, engine, f"({groups} - w % {groups}) % {groups}"
    )


def sum_cells(rows: Frame, added: Contribution, groups: GroupKeys, engine: Engine) -> Sequence[Totals]:
    """The totals in each declared group where each row is a person, by keys that are integers: matched after the sums.

    Rows outside the cells between the smallest and the largest keys are left out: so there are few sums, whatever the
    rows hold. Requires: few cells, as `count_cells` finds them.
    """
    names, spans = [f"k{j}" for j in range(len(groups.columns))], _spans(groups)
    sizes = [high - low + 1 for low, high in spans]
    cell = "0"
    for name, (low, _), size in zip(names, spans, sizes, strict=True):
        cell = f"({cell} * {size} + ({name} - {low}))"
    inside = [f"{name} between {low} and {high}" for name, (low, high) in zip(names, spans, strict=True)]
    codes = [_record(place_of(feature, inputs_of(added)), inputs_of(added)) for feature in added.features]
    at = np.array(groups.codes, np.int64) - np.array([low for low, _ in spans])
    places = np.ravel_multi_index(tuple(at.T), sizes)
    return _add_up(rows, codes, math.prod(sizes), engine, cell, " and ".join(inside), places)


def count_cells(groups: GroupKeys) -> int | None:
    """How many combinations of integers lie between the smallest and the largest keys; None of other keys."""
    if not groups.codes or set(groups.kinds) != {"integer"}:
        return None
    return math.prod(high - low + 1 for low, high in _spans(groups))


def _spans(groups: GroupKeys) -> list[tuple[int, int]]:
    columns: list[tuple[Any, ...]] = list(zip(*groups.codes, strict=True))
    return [(min(column), max(column)) for column in columns]


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
    each = [f"sum({code})" for code in codes]
    if groups is None:
        named = [f"{s} as c{i}" for i, s in enumerate(each)]
        ((n, *found),) = engine.fetch(sums.aggregate(frame, ["count(*) as n", *named], []))
        return [Totals([int(s or 0) for s in found], int(n))]
    high = [f"cast({s} // {1 << CODE_LIMB} as bigint) as h{i}" for i, s in enumerate(each)]
    low = [f"cast({s} % {1 << CODE_LIMB} as bigint) as l{i}" for i, s in enumerate(each)]
    summed = sums.aggregate(frame, [f"cast({group} as bigint) as g", "count(*) as n", *high, *low], [group], where)
    columns = ["n", *(f"{limb}{i}" for limb in "hl" for i in range(len(codes)))]
    whole = {name: np.zeros(groups, np.int64) for name in columns}
    for batch in engine.batches(summed, BATCH_ROWS):
        at = batch["g"].to_numpy()
        for name in columns:
            whole[name][at] = batch[name].to_numpy()
    layout = tuple(((f"h{i}", CODE_LIMB), (f"l{i}", 0)) for i in range(len(codes)))
    return totals_of_limbs({name: values[places] for name, values in whole.items()}, layout)


# ── codes and features in SQL: what `features` says, spelled again ──


def spell_row(each: Input, inputs: Mapping[Input, int], is_unit: bool) -> str:
    """The integer of a row, from the doubles x0, x1 …, which may be null."""
    return f"cast({_double(each, inputs, is_unit)} as bigint)"


def _double(each: Input, inputs: Mapping[Input, int], is_unit: bool) -> str:
    if isinstance(each, ProductInput):  # whole doubles of at most 21 bits each: their product is exact
        return " * ".join(_double(factor, inputs, is_unit) for factor in (each.first, each.second))
    x = f"x{inputs[each]}"
    assert isinstance(each, PersonTotal | RowSum)
    if isinstance(each, RowSum) or is_unit:
        return _code(x, each.coding)
    grid = each.grid
    return _floor(_clamped(x, -grid.reach, grid.reach, each.missing), 0.0, math.ldexp(1.0, -grid.exponent))


def _code(x: str, coding: Coding) -> str:
    return _floor(_clamped(x, coding.low, coding.top, coding.substitute), coding.low, coding.scale)


def _floor(x: str, low: float, scale: float) -> str:
    above = f"({x} - {_literal(low)})" if low else x
    return f"floor({above} * {_literal(scale)} + {_literal(0.5)})"


def _clamped(x: str, low: float, top: float, instead: float) -> str:
    """x within its bounds, or another number where it is null or NaN, which DuckDB takes for the largest.

    What most rows are is asked first: only the others meet the further questions.
    """
    known, bottom, ceiling = (_literal(value) for value in (min(max(instead, low), top), low, top))
    inside, below = f"{x} > {bottom} and {x} < {ceiling}", f"{x} <= {bottom}"
    above = f"{x} >= {ceiling} and not isnan({x})"
    return f"(case when {inside} then {x} when {below} then {bottom} when {above} then {ceiling} else {known} end)"


def _literal(value: float) -> str:
    """A double, read back bit for bit: not as a decimal number first."""
    return f"cast('{float(value)!r}' as double)"


def _record(j: int, inputs: Mapping[Input, int]) -> str:
    """What a row adds that is a person: the code of its input, or 1."""
    return (
        "cast(1 as bigint)"
        if j < 0
        else spell_row(next(each for each, place in inputs.items() if place == j), inputs, True)
    )


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

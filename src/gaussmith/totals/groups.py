"""Totals for each declared group, and at most m groups of a person.

    rows ──joined with the declared keys──▶ group of each row ──per person and group──▶ features ──m groups──▶ Totals

Rules, each of which looks at the rows of one person alone:
- A row whose key is not declared, or missing, is left out; so is a row without a person.
- A person adds its features (see `features`) to each group in which it has rows; `max_rows` holds within a group.
- A person in more than m groups keeps the m in which it has most rows, ties to the group declared first.
- Every declared group is answered: one without rows has totals of 0, and gets its noise like any other.

The rows meet the keys in a join with a small table, which every engine does by hashing: expressions that look a key up
among a thousand cost DuckDB thirty times as much. The rows of one query are one per group, never one per person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import check_whole
from gaussmith.engines.engine import Engine, GroupTotals, Totals
from gaussmith.expressions import GroupKeys, kinds_of, match_keys, with_integers
from gaussmith.totals.features import Contribution
from gaussmith.totals.group_rows import add_rows
from gaussmith.totals.integer_keys import Cells, find_cells
from gaussmith.totals.integer_steps import MAX_RANKED_ROWS, weigh_group
from gaussmith.totals.limbs import (
    add_up_groups,
    blocks_of,
    check_steady,
    code_rows,
    combine_rows,
    feature_limbs,
    select_rows,
)
from gaussmith.totals.pairs import Asked, sum_pairs
from gaussmith.totals.wide_sums import sum_cells, sum_whole

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.LazyFrame[Any]


MAX_CELLS = 1 << 14
"""Limit on the cells of integers by which rows are added up on an engine; of more they come here in batches."""


def check_groups_per_unit(groups_per_unit: int) -> int:
    """The number itself; refuses what is not a whole number of at least 1."""
    remedy = "give the number of groups that a person may count in"
    return check_whole("groups_per_unit", groups_per_unit, 1, remedy=remedy)


def sum_groups(
    frame: Frame, added: Contribution, groups: GroupKeys, engine: Engine, groups_per_unit: int = 1
) -> Sequence[Totals]:
    """The exact totals of the features in each declared group, in declared order, of a narwhals frame.

        totals_g = Σ_people feature(rows of the person in g)   over the people that keep g

    Guarantee: adding or removing all rows of one person changes at most m = `groups_per_unit` groups, each sums_j by an
    integer in [0, ceilings_j] and each `records` by one. The same integers on every engine, in every order of the rows.
    Requires: columns that `check_contribution` accepts, keys from `declare_groups`; fewer than 2^40 rows.

    >>> import narwhals as nw, polars as pl
    >>> from gaussmith.engines.polars import POLARS
    >>> from gaussmith.expressions import declare_groups
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
            (found,) = sum_pairs(frame, [Asked(block)], groups, engine, groups_per_unit)
        else:
            found = _sum_block(frame, block, groups, engine, groups_per_unit, cells)
        answers = found if answers is None else _beside(answers, found)
    assert answers is not None
    return answers


def _sum_block(
    frame: Frame, added: Contribution, groups: GroupKeys, engine: Engine, groups_per_unit: int, cells: Cells | None
) -> Sequence[Totals]:
    """The totals of some of the features, in one query."""
    schema = frame.collect_schema()
    if cells is not None:
        as_it_is = all(str(schema[name]) == "Float64" for name in added.columns)
        rows = frame if as_it_is else select_rows(frame.lazy(), added, cells.keyed)
        return sum_cells(rows, added, cells, engine, as_it_is)
    groups = with_integers(groups, schema) if engine.adds_here else groups
    keyed = match_keys(groups, kinds_of(schema))
    rows = select_rows(frame.lazy(), added, keyed)
    rows = rows.join(engine.key_table(rows, groups), on=list(keyed), how="inner")
    if engine.wide_sums is not None:
        return sum_whole(rows, added, engine, len(groups.keys))
    return _sum_limbs(rows, added, engine, len(groups.keys), groups_per_unit)


def _sum_limbs(rows: Frame, added: Contribution, engine: Engine, groups: int, groups_per_unit: int) -> Sequence[Totals]:
    """The totals of each group g, by the steps of `limbs`."""
    limbs = code_rows(rows, added, ("g",))
    if added.unit is not None:
        limbs = combine_rows(limbs, added, ("u", "g"))
        if groups_per_unit < groups:
            limbs = keep_groups(limbs, groups_per_unit, groups)
    made, layout, _ = feature_limbs(limbs, added, ("g",))
    return add_up_groups(made, layout, groups, engine)


def _beside(first: Sequence[Totals], second: Sequence[Totals]) -> Sequence[Totals]:
    """The totals of two queries, that of the same people."""
    check_steady([each.records for each in second], [each.records for each in first])
    if isinstance(first, GroupTotals) and isinstance(second, GroupTotals):
        return GroupTotals(np.hstack([first.sums, second.sums]), second.records)
    return [Totals([*a.sums, *b.sums], b.records) for a, b in zip(first, second, strict=True)]


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

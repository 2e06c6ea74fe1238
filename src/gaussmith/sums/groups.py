"""Totals for each declared group, and at most m groups of a person.

    rows ──joined with the declared keys──▶ group of each row ──per unit and group──▶ features ──m groups──▶ Totals

Rules, each of which looks at the rows of one unit alone:
- A row whose key is not declared, or missing, is left out; so is a row without a unit.
- A unit adds its features (see `features`) to each group in which it has rows; `rows_per_unit` holds within a group.
- A unit in more than m groups keeps the m in which it has most rows, ties to the group declared first.
- Every declared group is answered: one without rows has totals of 0, and gets its noise like any other.

The rows meet the keys in a join with a small table, which every engine does by hashing: expressions that look a key up
among a thousand cost DuckDB thirty times as much. The rows of one query are one per group, never one per unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaussmith.errors import RequestError
from gaussmith.expressions import GroupKeys, kinds_of, match_keys
from gaussmith.sums.arrays import Totals
from gaussmith.sums.features import Units
from gaussmith.sums.units import (
    add_up,
    blocks_of,
    check_steady,
    code_rows,
    combine_rows,
    engine_of,
    feature_limbs,
    select_rows,
)

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.LazyFrame[Any]

MOST_RANKED_ROWS = 1 << 38
"""Rows of a unit in a group up to which groups are ranked by them."""


def check_groups_per_unit(groups_per_unit: int) -> None:
    """Refuse an m that is not a whole number of at least 1."""
    m = groups_per_unit
    if not (isinstance(m, int) and not isinstance(m, bool) and m >= 1):
        rule = "it is a whole number of at least 1"
        raise RequestError(f"groups_per_unit={m!r}", rule, "give the number of groups that a person may count in")


def group_totals(frame: Frame, units: Units, groups: GroupKeys, groups_per_unit: int = 1) -> list[Totals]:
    """The exact totals of the features in each declared group, in declared order, of a narwhals frame.

        totals_g = Σ_units feature(rows of the unit in g)   over the units that keep g

    Guarantee: adding or removing all rows of one unit changes at most m = `groups_per_unit` groups, each sums_j by an
    integer in [0, ceilings_j] and each `records` by one. The same integers on every engine, in every order of the rows.
    Requires: columns that `check_units` accepts, keys from `declare_groups`; fewer than 2^40 rows.

    >>> import narwhals as nw, polars as pl
    >>> from gaussmith.expressions import declare_groups
    >>> rows = {"person": [1, 1, 1, 2, 2], "region": ["south", "north", "south", "east", "north"]}
    >>> frame = nw.from_native(pl.LazyFrame(rows))
    >>> regions = declare_groups(["region"], [("north",), ("south",), ("west",)], {"region": "text"})
    >>> [totals.records for totals in group_totals(frame, Units((), "person"), regions)]
    [1, 1, 0]
    >>> [totals.records for totals in group_totals(frame, Units((), "person"), regions, groups_per_unit=2)]
    [2, 1, 0]
    """
    check_groups_per_unit(groups_per_unit)
    engine = engine_of(frame)
    keyed = match_keys(groups, kinds_of(frame.collect_schema()))
    answers = [Totals([], 0) for _ in groups.keys]
    for block in blocks_of(units, engine):
        rows = select_rows(frame.lazy(), block, keyed)
        rows = rows.join(key_table(rows, groups, engine), on=list(keyed), how="inner")
        limbs = code_rows(rows, block, ("g",))
        if block.unit is not None:
            limbs = combine_rows(limbs, block, ("u", "g"))
            if groups_per_unit < len(groups.keys):
                limbs = keep_groups(limbs, groups_per_unit, len(groups.keys))
        found = add_up(*feature_limbs(limbs, block, ("g",)))
        empty = Totals([0] * len(block.features), 0)
        blocks = [found.get((g,), empty) for g in range(len(groups.keys))]
        check_steady([b.records for b in blocks], [a.records for a in answers] if answers[0].sums else None)
        answers = [Totals(a.sums + b.sums, b.records) for a, b in zip(answers, blocks, strict=True)]
    return answers


def keep_groups(combined: Frame, groups_per_unit: int, groups: int) -> Frame:
    """Of each unit u the m groups g with most rows n, ties to the smaller g.

    Rows and place make one number, n·groups − g: no two groups of a unit have the same, so every engine ranks alike.
    Rows above 2^38 are not told apart, so that it fits 64 bits with up to 10^7 groups.
    """
    import narwhals as nw

    rows = nw.when(nw.col("n") < MOST_RANKED_ROWS).then(nw.col("n")).otherwise(nw.lit(MOST_RANKED_ROWS))
    ranked = combined.with_columns((rows * groups - nw.col("g")).alias("weight"))
    place = nw.col("weight").rank("ordinal", descending=True).over("u")
    return ranked.with_columns(place.alias("place")).filter(nw.col("place") <= groups_per_unit).drop("weight", "place")


def key_table(rows: Frame, groups: GroupKeys, engine: str) -> Frame:
    """The declared keys k0, k1 … with their place g, as a table of the engine that holds the rows."""
    import narwhals as nw

    columns: dict[str, list[Any]] = {f"k{j}": [code[j] for code in groups.codes] for j in range(len(groups.columns))}
    types = ["text" if reading in ("text", "object") else "number" for reading in groups.readings]
    places = list(range(len(groups.codes)))
    native: Any = rows.to_native()
    if engine == "polars":
        import polars as pl

        schema = {name: pl.String if kind == "text" else pl.Float64 for name, kind in zip(columns, types, strict=True)}
        return nw.from_native(pl.LazyFrame({**columns, "g": places}, schema={**schema, "g": pl.Int64}))
    if engine == "duckdb":
        import duckdb

        # A table on the connection of the rows, whatever it is: the one row of a count, turned into the lists' rows.
        values = [*columns.values(), places]
        kinds = [*("VARCHAR" if kind == "text" else "DOUBLE" for kind in types), "BIGINT"]
        unnested = [
            duckdb.FunctionExpression("unnest", duckdb.ConstantExpression(value)).cast(kind).alias(name)
            for name, value, kind in zip([*columns, "g"], values, kinds, strict=True)
        ]
        table: Frame = nw.from_native(native.limit(0).aggregate("count(*)").select(*unnested))
        return table
    fields = [f"{name} {'string' if kind == 'text' else 'double'}" for name, kind in zip(columns, types, strict=True)]
    records = list(zip(*columns.values(), places, strict=True))
    table = nw.from_native(native.sparkSession.createDataFrame(records, ", ".join([*fields, "g long"])))
    return table

"""How many people are inside the limits of a question, and how many beyond: what clipping and dropping did.

    values    the place of a person's rows between the bounds of one row: below, in one of five parts, above; "mixed"
              for rows in several parts, "both" for rows below and above
    totals    the place of a person's total between its bounds, in every group that the person keeps
    rows      whether a person has more rows (in some group that it keeps) than count
    groups    whether a person has rows in more declared groups than it may count in

Every rule looks at the rows of one person alone, and puts the person into one cell. Places are found by comparing: a
value as a double with the bounds, a total as the integer that `features` makes of it, before it is clamped. So the
counts are the same on every engine. In several groups a person is where it is farthest out.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gaussmith.engines.engine import Progress, Totals
from gaussmith.engines.failures import attempt
from gaussmith.engines.source import Source, check_columns, check_once
from gaussmith.errors import SourceError
from gaussmith.expressions import Derivation, GroupKeys, check_cut, kinds_of, match_keys, place_among
from gaussmith.plans import Draw
from gaussmith.plans.limit_cells import BOTH, MIXED, PARTS, few_rows
from gaussmith.plans.row_rule import RowRule
from gaussmith.problem.codes import BoxCodes, Codes
from gaussmith.problem.features import CHECKED_GROUPS, CHECKED_ROWS, CHECKED_TOTAL, CHECKED_VALUE
from gaussmith.totals.cell_counts import grouped, totals_of
from gaussmith.totals.features import TOTAL_LIMB, Coding, Contribution, PersonTotal, RowSum
from gaussmith.totals.groups import keep_groups
from gaussmith.totals.limbs import code_rows, combine_rows, select_rows
from gaussmith.totals.people import check_people, declare_labels, prepare
from gaussmith.values import dataclass

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.LazyFrame[Any]


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

    def total(self, source: Source, codes: Codes, progress: Progress | None) -> list[Totals]:
        return attempt(lambda: self._total(source, codes))

    def _total(self, source: Source, codes: Codes) -> list[Totals]:
        import narwhals as nw

        engine = source.engine
        frame, added = prepare(source, self.added, self.derivation, self.keys)
        keyed = {} if self.keys is None else match_keys(self.keys, kinds_of(frame.collect_schema()))
        rows = grouped(select_rows(frame, added, keyed), self.keys, keyed, engine)
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
            held = rows.group_by("u", "g").agg(nw.col("n").sum(), nw.col("p").min().alias("a"), nw.col("p").max())
            held = self._kept(held.with_columns(nw.col("n").cast(nw.Int64)))
            return held.group_by("u").agg(nw.col("a").min(), nw.col("p").max()).with_columns(_joined().alias("p"))
        held = combine_rows(code_rows(rows, added, ("g",)), added, ("u", "g"))
        if self.kind == CHECKED_GROUPS:
            several = held.select("u", nw.lit(1).cast(nw.Int64).alias("n")).group_by("u").agg(nw.col("n").sum())
            return several.with_columns(_beyond(nw.col("n"), (1, self.groups_per_unit)).alias("p"))
        held = self._kept(held)
        if self.kind == CHECKED_ROWS:
            most = held.group_by("u").agg(nw.col("n").max())
            limits = (few_rows(self.rows_per_unit), self.rows_per_unit)
            return most.with_columns(_beyond(nw.col("n"), limits).alias("p"))
        (feature,) = added.features
        assert isinstance(feature, PersonTotal)
        carried = (nw.col("l0").cast(nw.Float64) * 2.0**-TOTAL_LIMB).floor().cast(nw.Int64)
        held = held.with_columns(carried.alias("q0")).with_columns(feature.level(0).alias("t"))
        held = held.with_columns(_place_of_total(feature).cast(nw.Int64).alias("p"))
        most = held.group_by("u").agg(nw.col("p").min().alias("a"), nw.col("p").max())
        return most.with_columns(_joined().alias("p"))

    def _kept(self, held: Frame) -> Frame:
        """Of each person the groups it counts in."""
        if self.keys is None or self.groups_per_unit >= len(self.keys.keys):
            return held
        return keep_groups(held, self.groups_per_unit, len(self.keys.keys))

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


def _beyond(n: nw.Expr, limits: tuple[int, int]) -> nw.Expr:
    """The cell of a number: few, no more than the limit, more."""
    import narwhals as nw

    few, most = limits
    return nw.when(n <= few).then(nw.lit(0)).otherwise(nw.when(n <= most).then(nw.lit(1)).otherwise(nw.lit(2)))


def open_check(source: Source, draw: Draw, rule: RowRule, derivation: Derivation) -> LimitCheck:
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
        coding = Coding.of(BoxCodes.for_bounds([ends[0]], [ends[1]], [min(max(stand_in, ends[0]), ends[1])]))
        feature = PersonTotal(column, coding, stand_in) if kind == CHECKED_TOTAL else RowSum(column, coding)
        added = Contribution((feature,), rule.unit)
        if column not in {name for name, _ in rule.columns}:
            check_columns(source, [column], 1)  # as for sums: text in a typed file is no number
        check_cut(column, cut, derivation.kinds)
    keys = declare_labels(source, rule.keys, rule, derivation) if rule.by else None
    check_people(source, added, derivation, keys, rule.groups_per_unit)
    check_once(source, 1)
    limit = rule.rows_per_unit or 1
    return LimitCheck(kind, added, derivation, ends, stand_in, limit, keys, rule.groups_per_unit)

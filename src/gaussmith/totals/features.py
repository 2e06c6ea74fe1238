"""What one person adds to the totals: a few integers, bounded for any rows.

A person (a person, a household, …) with n ≥ 1 rows adds these integers, and nothing else:

    PersonTotal   clamp(Σ r − zero, 0, levels)·2^shift   in [0, steps]     a column's total, clamped to its bounds
    PersonMean    floor((Σ code + floor(n/2)) / n)       in [0, steps]     the mean of a column, rounded to a code
    RowSum      Σ code if n ≤ k, else k·PersonMean       in [0, steps·T]   a column's sum over the rows that count
    RowCount    T = min(n, k)                          in [1, k]         the rows that count
    PersonProduct  the product of two of the first two kinds, whose steps are at most 2^21
    RowProduct  as RowSum, of the products of two columns' codes in each row, whose steps are at most 2^21
    (records)   1                                                        the person itself

`code` is that of `BoxEncoding`: floor((clamp(x, low, top) − low)·scale + ½), in {0, …, steps}, and k is `max_rows`.
RowSum and RowCount go together: 2·RowSum − steps·T lies in ±steps·T ⊆ ±k·steps. With more than k rows RowSum is k/n of
the person's sum up to half a code per row that counts, and T is k/n of its rows.
**Rows of a total** may lie outside the bounds of the total (a refund, say), yet must be integers before they are added.
With codes of step 2^e and |low|, |high| < 2^p their grid is 2^f with f = max(e, p − 42), and

    r = floor(clamp(x, −reach, reach)·2^−f + ½),   reach = (2^46 − 1)·2^f > 15·max(|low|, |high|),
    zero = floor(low·2^−f + ½),   shift = f − e,   levels = floor(steps/2^shift).

So one row counts for at most 15 times the larger bound, and the total is off by half of 2^f per row, at most 2^−42 of
the larger bound. Bounds from 0 have shift = 0: the grid is that of the codes.

**Why this is private.** Each feature is a function of the rows of one person and stays in its range for any values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gaussmith.checks import check_whole
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.domains.people import LIMIT
from gaussmith.engines.engine import GroupTotals, Totals, Words
from gaussmith.errors import SourceError, nearest_column

if TYPE_CHECKING:
    import narwhals as nw

    Clamp = Callable[[nw.Expr, float, float, float], nw.Expr]

MAX_ROWS_PER_UNIT = 1 << 20
"""Limit on the rows of a person that count: so many codes of 42 bits add up in 64."""


@dataclass(frozen=True)
class Coding:
    """One column of a `BoxEncoding`: code(x) = floor((clamp(x, low, top) − low)·scale + ½) in {0, …, steps}."""

    low: float
    top: float
    scale: float
    steps: int
    substitute: float

    @classmethod
    def of(cls, codes: BoxEncoding, column: int = 0) -> Coding:
        """The coding of the column at this place."""
        low, top, scale, substitute = (float(a[column]) for a in (codes.low, codes.top, codes.scale, codes.substitute))
        return cls(low, top, scale, int(codes.steps[column]), substitute)

    def code(self, x: nw.Expr, clamp: Clamp) -> nw.Expr:
        """The code of a number, as a double; of a missing one that of the substitute."""
        return _whole((clamp(x, self.low, self.top, self.substitute) - self.low) * self.scale)


@dataclass(frozen=True)
class RowGrid:
    """The grid of the rows of a total: multiples of 2^exponent within ±reach (the formulas are at the top)."""

    exponent: int
    reach: float
    zero: int
    levels: int
    shift: int


TOTAL_LIMB, CODE_LIMB = 23, 21
"""Bits of the lower limb of a row's integer, for totals and for codes."""


class Feature(Protocol):
    """One integer that a person adds. Expressions are in the columns that `limbs` makes of its rows."""

    @property
    def column(self) -> str | None:
        """The column that it reads; None if it reads none."""

    @property
    def input(self) -> Input | None:
        """What is coded row by row; a mean and a sum of one column share it."""

    @property
    def divides(self) -> bool:
        """Whether the mean of the person's codes is needed."""

    def ceiling(self, k: int) -> int:
        """The largest integer that one person adds; the smallest is 0."""

    def code(self, j: int, k: int) -> nw.Expr:
        """The integer that a person adds, from the limbs h, l, carry q and mean m of its input j, and its rows n."""


class Input(Protocol):
    """What is made of the rows of one column before they are added: a double of at most 46 bits, in two limbs."""

    @property
    def column(self) -> str: ...

    @property
    def carries(self) -> bool:
        """Whether a person's lower limb may be negative or long, so that it is carried into the upper one."""

    def limb(self, is_unit: bool) -> int:
        """Bits of the lower limb; `is_unit` says that every row is a person."""

    def row_code(self, x: nw.Expr, is_unit: bool, clamp: Clamp) -> nw.Expr:
        """The integer of a row, as a double, from the number in it, which may be missing; `clamp` says how to clamp."""


@dataclass(frozen=True)
class PersonTotal:
    """The total of a column over a person's rows, clamped to the bounds. A row without a value adds `missing`."""

    column: str
    coding: Coding
    missing: float = 0.0
    divides = False
    carries = True

    @property
    def grid(self) -> RowGrid:
        """The grid of the rows, exactly.

        >>> visits = Coding.of(BoxEncoding.for_bounds([0], [80], [0]))
        >>> PersonTotal("visits", visits).grid
        RowGrid(exponent=-35, reach=2047.999999999971, zero=0, levels=2748779069440, shift=0)
        """
        code = self.coding
        e = 1 - math.frexp(code.scale)[1]
        _, p = math.frexp(max(abs(code.low), abs(code.top)))
        f = max(e, p - 42)
        try:
            reach = math.ldexp(2.0**46 - 1, f)
        except OverflowError:
            reach = sys.float_info.max
        zero = math.floor(Fraction(code.low) / Fraction(2) ** f + Fraction(1, 2))
        return RowGrid(f, reach, zero, code.steps >> (f - e), f - e)

    @property
    def input(self) -> PersonTotal:
        return self

    def ceiling(self, k: int) -> int:
        return self.coding.steps

    def limb(self, is_unit: bool) -> int:
        return CODE_LIMB if is_unit else TOTAL_LIMB

    def row_code(self, x: nw.Expr, is_unit: bool, clamp: Clamp) -> nw.Expr:
        if is_unit:
            return self.coding.code(x, clamp)
        grid = self.grid
        return _whole(clamp(x, -grid.reach, grid.reach, self.missing) * math.ldexp(1.0, -grid.exponent))

    def code(self, j: int, k: int) -> nw.Expr:
        return self.level(j).clip(0, self.grid.levels) * (1 << self.grid.shift)

    def level(self, j: int) -> nw.Expr:
        """How many steps of the grid the total is above the lower bound, before it is clamped."""
        import narwhals as nw

        carry = nw.col(f"q{j}")
        high = (nw.col(f"h{j}") + carry).clip(-(1 << 38), 1 << 38)  # far outside all bounds, and 2^38·2^23 fits
        low = nw.col(f"l{j}") - carry * (1 << TOTAL_LIMB)
        return high * (1 << TOTAL_LIMB) + low - self.grid.zero


@dataclass(frozen=True)
class PersonMean:
    """The mean of a column over a person's rows, each clamped to the bounds; missing values take the substitute."""

    column: str
    coding: Coding
    divides = True

    @property
    def input(self) -> RowSum:
        return RowSum(self.column, self.coding)

    def ceiling(self, k: int) -> int:
        return self.coding.steps

    def code(self, j: int, k: int) -> nw.Expr:
        import narwhals as nw

        return nw.col(f"m{j}")


@dataclass(frozen=True)
class RowSum:
    """The sum of a column's codes over a person's rows, scaled to `max_rows` rows if there are more."""

    column: str
    coding: Coding
    divides = True
    carries = False

    @property
    def input(self) -> RowSum:
        return self

    def ceiling(self, k: int) -> int:
        return k * self.coding.steps

    def limb(self, is_unit: bool) -> int:
        return CODE_LIMB

    def row_code(self, x: nw.Expr, is_unit: bool, clamp: Clamp) -> nw.Expr:
        return self.coding.code(x, clamp)

    def code(self, j: int, k: int) -> nw.Expr:
        import narwhals as nw

        few = nw.col("n") <= k  # the limbs of many rows might overflow when put together: they are not
        high, low = (nw.when(few).then(nw.col(f"{limb}{j}")).otherwise(nw.lit(0)) for limb in "hl")
        return nw.when(few).then(high * (1 << CODE_LIMB) + low).otherwise(nw.col(f"m{j}") * k)


@dataclass(frozen=True)
class PersonProduct:
    """The product of two of the numbers that a person adds, at most 42 bits long: of the very codes that are summed.

    Where each row is a person, it is the product of the codes of the row.
    """

    first: PersonTotal | PersonMean
    second: PersonTotal | PersonMean
    column = None

    @property
    def input(self) -> ProductInput:
        return ProductInput(self.first.input, self.second.input)

    @property
    def factors(self) -> tuple[Feature, Feature]:
        return self.first, self.second

    @property
    def divides(self) -> bool:
        return False

    def ceiling(self, k: int) -> int:
        return self.first.coding.steps * self.second.coding.steps

    def code(self, j: int, k: int) -> nw.Expr:
        raise NotImplementedError("a product is made from its factors, in `limbs`")


@dataclass(frozen=True)
class ProductInput:
    """The product of the codes of two columns of one row."""

    first: Input
    second: Input
    column = ""
    carries = False

    def limb(self, is_unit: bool) -> int:
        return CODE_LIMB

    def row_code(self, x: nw.Expr, is_unit: bool, clamp: Clamp) -> nw.Expr:
        raise NotImplementedError("a product is made from its factors, in `limbs`")


@dataclass(frozen=True)
class RowProduct:
    """The sum over a person's rows of products of two columns' codes, scaled to `max_rows` rows if there are more."""

    first: RowSum
    second: RowSum
    column = None
    divides = True

    @property
    def input(self) -> ProductInput:
        return ProductInput(self.first, self.second)

    @property
    def factors(self) -> tuple[Feature, Feature]:
        return self.first, self.second

    def ceiling(self, k: int) -> int:
        return k * self.first.coding.steps * self.second.coding.steps

    def code(self, j: int, k: int) -> nw.Expr:
        return self.first.code(j, k)  # a product has 42 bits at most, as a code may have


@dataclass(frozen=True)
class RowCount:
    """The number of a person's rows, at most `max_rows`."""

    column = None
    input = None
    divides = False

    def ceiling(self, k: int) -> int:
        return k

    def code(self, j: int, k: int) -> nw.Expr:
        import narwhals as nw

        n = nw.col("n")
        return nw.when(n < k).then(n).otherwise(nw.lit(k).cast(nw.Int64))


def factors_of(feature: Feature, of_person: bool = False) -> tuple[Feature, ...]:
    """What a product is made of, else the feature itself; `of_person`: only products of numbers of a whole person."""
    made = PersonProduct if of_person else PersonProduct | RowProduct
    return feature.factors if isinstance(feature, made) else (feature,)


def clip(x: nw.Expr, low: float, top: float, instead: float) -> nw.Expr:
    """A number clamped to [low, top]; `instead`, clamped too, where it is null or NaN."""
    import narwhals as nw

    return nw.when(x.is_null() | x.is_nan()).then(nw.lit(float(instead))).otherwise(x).clip(low, top)


def _whole(steps: nw.Expr) -> nw.Expr:
    """The nearest integer, as a double."""
    import narwhals as nw

    return (steps + 0.5).floor().cast(nw.Float64)


@dataclass(frozen=True)
class Contribution:
    """What a person adds: features, the column that names the person (None: every row is one), and k = max_rows.

    `ids` is what the source says of its ids (see `gaussmith.expressions.identity`); `timed`: integers stand for times.
    """

    features: tuple[Feature, ...]
    unit: str | None = None
    max_rows: int = 1
    ids: str | None = None
    timed: bool = False

    def __post_init__(self) -> None:
        remedy = "give the number of rows that hardly anyone exceeds"
        k = check_whole(LIMIT, self.max_rows, 1, MAX_ROWS_PER_UNIT, remedy=remedy)
        object.__setattr__(self, "max_rows", k)

    @property
    def ceilings(self) -> tuple[int, ...]:
        """The largest integer that one person adds to each feature; the smallest is 0.

        >>> ages = Coding.of(BoxEncoding.for_bounds([0], [64], [32]))
        >>> added = Contribution((PersonMean("age", ages), RowSum("age", ages), RowCount()), "person", max_rows=12)
        >>> added.ceilings == (2**41, 12 * 2**41, 12)
        True
        """
        k = 1 if self.unit is None else self.max_rows
        return tuple(feature.ceiling(k) for feature in self.features)

    @property
    def columns(self) -> list[str]:
        """The columns that its features read."""
        return [f.column for feature in self.features for f in factors_of(feature) if f.column is not None]


def check_contribution(added: Contribution, kinds: Mapping[str, str]) -> None:
    """Refuse columns that do not exist, cannot be summed, or cannot identify a person. Reads no data.

    `kinds` are those of the source's columns and of the derived ones (`Derivation.kinds`).
    """
    for name in [*added.columns, *([] if added.unit is None else [added.unit])]:
        if name not in kinds:
            rule = "the source has no such column"
            raise SourceError(f"column {name!r}", rule, nearest_column(name, kinds), code="no-such-column", column=name)
    for name in added.columns:
        if kinds[name] in ("date", "time", "object", "other"):
            remedy = (
                f"derive a number from it, such as year({name})" if kinds[name] == "date" else "ask for another column"
            )
            raise SourceError(
                f"column {name!r}", "it does not hold numbers", remedy, code="column-does-not-hold-numbers", column=name
            )
    if added.unit is not None and kinds[added.unit] == "other":
        rule = "a unit must be a number, text, a date or a time"
        raise SourceError(
            f"unit={added.unit!r}", rule, "convert the column in the source", code="unit-of-other-kind", unit=added.unit
        )


# What both ways of adding up people share: the inputs of features, weights of groups, and totals from summed limbs.

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.LazyFrame[Any]

MAX_RANKED_ROWS = 1 << 38
"""Limit on the rows of a person in a group by which its groups are ranked."""

Layout = tuple[tuple[tuple[str, int], ...], ...]
"""For each feature the columns that hold its limbs, each with the number of bits it is shifted by."""


def inputs_of(added: Contribution) -> dict[Input, int]:
    """What is read and coded row by row, with its place; products of two columns of a row come last."""
    factors = [f for feature in added.features for f in factors_of(feature)]
    read = dict.fromkeys(f.input for f in factors if f.input is not None)
    of_rows = PersonProduct | RowProduct if added.unit is None else RowProduct
    read |= dict.fromkeys(f.input for f in added.features if isinstance(f, of_rows) and f.input is not None)
    return {each: j for j, each in enumerate(read)}


def plain_inputs(inputs: Mapping[Input, int]) -> dict[Input, int]:
    """Those that are read from a column."""
    return {each: j for each, j in inputs.items() if not isinstance(each, ProductInput)}


def place_of(feature: Feature, inputs: Mapping[Input, int]) -> int:
    return -1 if feature.input is None else inputs[feature.input]


def totals_of_limbs(whole: Mapping[str, Words], layout: Layout) -> Sequence[Totals]:
    """The totals of groups from the summed limbs of each, and n."""
    groups = len(whole["n"])
    largest = {name: int(np.abs(values).max(initial=0)) for name, values in whole.items()}
    if all(sum(largest[name] << shift for name, shift in parts) < 1 << 62 for parts in layout):
        sums = [sum((whole[name] << shift for name, shift in parts), np.zeros(groups, np.int64)) for parts in layout]
        return GroupTotals(np.array(sums, np.int64).reshape(len(layout), groups).T, whole["n"])
    lists = {name: values.tolist() for name, values in whole.items()}
    return [
        Totals([sum(lists[name][g] << shift for name, shift in parts) for parts in layout], lists["n"][g])
        for g in range(groups)
    ]


def weigh_group(groups: int) -> nw.Expr:
    """The weight of a person's group g with n rows, by which its groups are ranked: n·groups − g, in 64 bits.

    No two groups of a person have the same. Rows above 2^38 (above 2^62 / groups if that is less) are not told apart.
    """
    import narwhals as nw

    most = weight_limit(groups)
    rows = nw.when(nw.col("n") < most).then(nw.col("n")).otherwise(nw.lit(most))
    return rows * groups - nw.col("g")


def weight_limit(groups: int) -> int:
    """The number of rows from which on they are not told apart."""
    return min(MAX_RANKED_ROWS, (1 << 62) // groups)

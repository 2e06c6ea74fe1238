"""Encoding: how the numbers of a record become integers, and what those integers represent.

A column with bounds [low, high] is divided into steps of one power of two, 2^e, chosen so that between 2^41 and 2^42
steps fit into the bounds. A value is clamped and becomes the number of steps nearest to it above `low`:

    code(x) = floor((clamp(x, low, top) − low) · 2^−e + ½)   in {0, …, steps}

Why a power of two (and not (high−low)/2^B): multiplying by it is exact, so every engine computes the same integer,
and whole numbers, halves, quarters … above a whole `low` are coded without any error at all.
The point that a code represents, low + code·2^e, lies inside the bounds, so coding adds nothing to the sensitivity.

A record of a ball is centred, divided by the radius, clipped to norm 1 and cut toward zero into 2^42 steps, so that
the integers' own norm is at most 2^42 (`BallEncoding`).

Sizes (library constants, never data): a code fits 42 bits and a sign, so 2^20 codes add up without overflow in a
signed 64-bit integer; longer sums use blocks of 2^20 rows, or two limbs, or wider integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from gaussmith.errors import DomainError, SourceError
from gaussmith.numerics.exact import FEW, Array, Integers, Words
from gaussmith.numerics.matrices import Matrix

# The few words of SQL, as Spark reads it, that codes are spelled with.

INFINITY = "double('infinity')"

Step = list[str]
"""The columns of one `select`, each with its name."""


def literal(value: float) -> str:
    """A double in SQL, read back bit for bit."""
    return f"{float(value)!r}D"


# Sums of squares in one fixed order, in arrays and in SQL, so that every engine rounds alike.

FOLD = 32
"""Squares are added left to right in blocks of so many columns, then the blocks: the same on every engine."""


def folded_squares(u: Array) -> Array:
    """Σ u² of each row, added in the order that all engines use."""
    total = np.zeros(len(u))
    for start in range(0, u.shape[1], FOLD):
        block = u[:, start] * u[:, start]
        for j in range(start + 1, min(start + FOLD, u.shape[1])):
            block = block + u[:, j] * u[:, j]
        total = total + block
    return total


def spell_squares(columns: int) -> str:
    """The same sum in SQL, of the columns u0, u1, …"""
    starts = range(0, columns, FOLD)
    blocks = (" + ".join(f"u{j} * u{j}" for j in range(s, min(s + FOLD, columns))) for s in starts)
    return " + ".join(f"({block})" for block in blocks)


BITS = 41
"""At least 2^BITS steps lie between the bounds of a column."""

MAX_WHOLE = float(1 << 22)
"""Limit on the bounds of a column whose integers are added up as they are: 2^41 of them fit into 64 bits."""


class Encoding:
    """A total rule from one record to integers. What has no default here every coding has of its own.

    A coding is spelled twice, in numpy and in SQL: each operation of one rounds as that of the other. In Spark's order
    NaN is above all numbers, and null counts as false in `if`; the guards in SQL rest on both.
    """

    if TYPE_CHECKING:  # every coding has these, as fields or as properties

        @property
        def columns(self) -> int:
            """How many columns are read."""

        @property
        def width(self) -> int:
            """How many integers a record becomes."""

        @property
        def extents(self) -> Array:
            """What core 1 is in integers, coordinate by coordinate."""

        def encode(self, rows: npt.NDArray[Any]) -> Words:
            """The integers of each record of an array (rows × columns)."""

    def centred(self, sums: Integers, records: int) -> Integers:
        """The summed core, from the summed integers."""
        return sums

    def centred_rows(self, sums: Words, records: Words) -> Words | None:
        """The summed cores of many groups (groups × integers), as `centred` finds each; None where it must do that."""
        return None

    def sum_rows(self, rows: Array) -> Words:
        """The summed integers of an array of records, at most 2^20 of them."""
        return np.asarray(self.encode(rows).sum(axis=0))

    def add_places(self, sums: Words, places: Words, weights: Words | None = None) -> None:
        """Add to `sums` the integers of records that are told by the places of their values among the declared ones.

        A value that was not declared is at −1; `weights` says how often each record occurs.
        """
        what, rule = f"records coded by {type(self).__name__}", "no values are declared for them"
        raise SourceError(what, rule, "pass numbers", code="codes-without-declared-values", type=type(self).__name__)

    def spell(self, which: range) -> list[Step]:
        """Steps in SQL from the numbers x0, x1 … to the codes c0, c1 …, of which those in `which` are made.

        A code that is 0 may be null.
        """
        what, rule = f"records coded by {type(self).__name__}", "Spark cannot encode them"
        raise SourceError(what, rule, "read them with Polars", code="codes-unknown-to-spark", type=type(self).__name__)

    def check_lift(self, lift: Matrix) -> None:
        """Refuse a lift that does not fit these codes, if its size alone is not enough to tell."""
        return

    def spell_place(self) -> list[Step] | None:
        """Steps in SQL to `place`, the code that is 1, where a record has one only; None where it may have more."""
        return None


class Whole(Protocol):
    """A column of integers, or of truths as 0 and 1. A slice of it is an array of doubles."""

    @property
    def missing(self) -> int:
        """How many values are missing."""

    def __len__(self) -> int: ...

    def clamped_sum(self, low: int, top: int) -> int:
        """The sum of the values that are there, each clamped; bounds are below 2^23."""


@dataclass(frozen=True, eq=False)
class BoxEncoding(Encoding):
    """The coding of the columns of a box: `floor((clamp(x, low, top) − low)·scale + ½)`, each `scale` a power of two.

    Guarantee: for all doubles x the code lies in {0, …, steps}, and low + code/scale lies in [low, high]. The code of
    `top` is `steps` or less by construction and rounding is monotone, so no second clamp is needed.
    Null, NaN and failed casts are replaced by `substitute` before clamping; ±inf clamps.

    >>> ages = BoxEncoding.for_bounds([0], [100], [50])
    >>> (ages.encode(np.array([[37.0], [np.inf], [np.nan]])) / ages.scale).ravel()
    array([ 37., 100.,  50.])
    """

    low: Array
    top: Array
    scale: Array
    steps: npt.NDArray[np.int64]
    substitute: Array

    def __post_init__(self) -> None:
        if self.substitute.shape != self.low.shape or not np.isfinite(self.substitute).all():
            what, rule = "values that replace missing ones", "there must be one finite number per coordinate"
            raise DomainError(what, rule, "give one number per coordinate", code="missing-not-finite")

    @cached_property
    def whole(self) -> npt.NDArray[np.bool_]:
        """Columns whose integers have codes (clamp(x) − low)·scale without rounding: their bounds are whole, and near.

        Below 2^41 rows their clamped values add up in 64 bits.
        """
        ends = np.array([self.low, self.top])
        near = (np.abs(ends) <= MAX_WHOLE).all(axis=0)
        return np.asarray(near & (ends == np.floor(ends)).all(axis=0) & (self.scale >= 1.0))

    def of_whole(self, j: int, column: Whole, skips: bool = False) -> int:
        """The sum of the codes of a whole column; missing values are coded too, unless it `skips` them."""
        low, present = int(self.low[j]), len(column) - column.missing
        own = int(self.scale[j]) * (column.clamped_sum(low, int(self.top[j])) - present * low)
        return own if skips else own + column.missing * int(self.of_missing[j])

    @cached_property
    def of_missing(self) -> Array:
        """The code of a missing value."""
        return np.floor((np.clip(self.substitute, self.low, self.top) - self.low) * self.scale + 0.5)

    def chosen(self, places: Sequence[int]) -> BoxEncoding:
        """The codes of some columns."""
        at = list(places)
        return BoxEncoding(self.low[at], self.top[at], self.scale[at], self.steps[at], self.substitute[at])

    @classmethod
    def for_bounds(cls, lower: Any, upper: Any, substitute: Any, names: Sequence[str] | None = None) -> BoxEncoding:
        """The codes of columns with lower < upper; refuses bounds that doubles cannot divide."""
        low, high = np.array(lower, float), np.array(upper, float)
        with np.errstate(over="ignore"):
            width = high - low
        # Round the exact distance down: if the subtraction was inexact, take the next double below.
        inexact = (low + width != high) | (high - width != low)
        width = np.where(inexact & np.isfinite(width), np.nextafter(width, 0), width)
        _, exponent = np.frexp(width)
        exponent = exponent - 1 - BITS
        bad = ~(np.isfinite(width) & (width > 0) & (exponent >= -1020))
        if bad.any():
            j = int(np.argmax(bad))
            name = repr(names[j]) if names is not None else f"coordinate {j}"
            raise DomainError(
                f"bounds of {name} = [{low[j]:g}, {high[j]:g}]",
                "the distance between them must be a double that can be divided into 2^41 parts",
                "rescale the column to ordinary units",
                code="bounds-distance-beyond-doubles",
                name=name,
                low=low[j],
                high=high[j],
            )
        scale = np.ldexp(1.0, -exponent)
        steps = np.floor(width * scale)
        top = high.copy()
        for attempt in range(4):  # cut off the last partial step, so that the code of `top` is at most `steps`
            over = np.floor((top - low) * scale + 0.5) > steps
            if not over.any():
                break
            top[over] = np.nextafter((low + steps / scale)[over] if attempt == 0 else top[over], low[over])
        # Then low + steps/scale, rounded, and one double lower is not above it, and rounding differences keeps order.
        assert not over.any()
        return cls(low, top, scale, steps.astype(np.int64), np.clip(np.array(substitute, float), low, high))

    @cached_property
    def columns(self) -> int:
        return len(self.low)

    @cached_property
    def width(self) -> int:
        return len(self.low)

    @property
    def extents(self) -> Array:
        """The largest absolute core integer of one record, coordinate by coordinate."""
        return self.steps.astype(float)

    def centred(self, sums: Integers, records: int) -> Integers:
        """The summed core: twice each code, less its steps, so that a record adds between −steps and +steps."""
        if records < 1 << 18 and len(sums) >= FEW:  # everything fits 64 bits
            return 2 * np.array(sums, np.int64) - records * self.steps
        return [2 * s - records * top for s, top in zip(sums, self.steps.tolist(), strict=True)]

    def centred_rows(self, sums: Words, records: Words) -> Words | None:
        return _less_steps(sums, records[:, None], self.steps)

    def encode(self, rows: Array) -> npt.NDArray[np.int64]:
        """Codes of an array of records (rows × columns). The reference version; `totals` has the fast ones."""
        x = np.where(np.isnan(rows), self.substitute, rows)
        return ((np.clip(x, self.low, self.top) - self.low) * self.scale + 0.5).astype(np.int64)

    def spell(self, which: range) -> list[Step]:
        """As `encode`, with one comparison of doubles where two would do, because Java predicts neither.

        Nulls go first, so that Spark asks for none later; NaN is above all else. With z = x − low, |z| + z is 2z or 0,
        exactly: the clamp from below. It is NaN for z = −inf, whose code is null, which a sum leaves out like 0.
        """
        known, coded = [], []
        for j in which:
            half, ceiling = literal(self.scale[j] / 2), (self.top[j] - self.low[j]) * self.scale[j] + 0.5
            z = f"(x{j} - {literal(self.low[j])})" if self.low[j] else f"x{j}"
            beyond = f"if(isnan(x{j}), {literal(self.of_missing[j] + 0.5)}, {literal(ceiling)})"
            scaled = f"if(x{j} < {literal(self.top[j])}, abs({z}) * {half} + {z} * {half} + 0.5D, {beyond})"
            known.append(f"coalesce(x{j}, {literal(self.substitute[j].clip(self.low[j], self.top[j]))}) x{j}")
            coded.append(f"try_cast({scaled} as bigint) c{j}")
        return [known, coded]


BALL_STEPS = 1 << 42
"""Coded records of a ball have Euclidean norm at most this."""


@dataclass(frozen=True, eq=False)
class BallEncoding(Encoding):
    """The coding of a ball: centre, divide by the radius, clip to norm 1, scale to 2^42 and cut toward zero.

    With z = (x − centre)·scale, h = max|z_j|, u = z/h and root = ‖u‖ (plain squares of z would underflow or overflow)
    the code is trunc(u/root · margin · 2^42) where h > 1/root, else trunc(z · margin · 2^42).
    `margin` is below 1 by more than all rounding, so Σ code² ≤ 2^84.
    A record with any coordinate that is null, NaN or infinite becomes the substitute: the centre, coded 0.
    The squares are added left to right in blocks of 32 columns, block sums left to right: the same on every engine.
    """

    centre: Array
    radius: float | Array
    """One for all coordinates, or one for each: then an ellipsoid is coded, whose half axes they are."""

    @property
    def scale(self) -> Array:
        """The factor for each centred coordinate: 1/radius, rounded once."""
        return np.broadcast_to(1.0 / np.asarray(self.radius, float), self.centre.shape)

    @property
    def margin(self) -> float:
        """1 − 2^−40 up to 2^13 coordinates, wider beyond: more than the rounding of a norm of d doubles."""
        return 1.0 - max(2.0**-40, len(self.centre) * 2.0**-52)

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def width(self) -> int:
        return len(self.centre)

    @property
    def extents(self) -> Array:
        """The largest norm of one record's core integers, once per coordinate."""
        return np.full(len(self.centre), float(BALL_STEPS))

    def centred(self, sums: Integers, records: int) -> Integers:
        """The summed core: codes of a ball are centred already."""
        return list(sums)

    def encode(self, rows: Array) -> npt.NDArray[np.int64]:
        """Codes of an array of records (rows × columns). The reference version; `totals` has the fast ones."""
        odd = ~np.asarray(np.isfinite(rows).all(axis=1))
        with np.errstate(over="ignore", invalid="ignore"):
            z = (np.where(odd[:, None], self.centre, rows) - self.centre) * self.scale
        z = np.where(np.asarray(np.isfinite(z).all(axis=1))[:, None], z, 0.0)
        h = np.abs(z).max(axis=1)
        safe = np.where(h > 0, h, 1.0)
        u = z / safe[:, None]
        root = np.sqrt(folded_squares(u))  # of the direction u: the norm of z, h·root, may overflow where u cannot
        shrink = 1.0 / np.where(root > 0, root, 1.0)  # root ≥ 1 unless the record is the centre itself
        full = self.margin * float(BALL_STEPS)
        outside = (safe > shrink)[:, None]  # h·root > 1
        return np.trunc(np.where(outside, u * (shrink * full)[:, None], np.where(outside, 0.0, z) * full)).astype(
            np.int64
        )

    def spell(self, which: range) -> list[Step]:
        """As `encode`: an odd coordinate is made infinite, and the largest one tells that the record is odd."""
        d, full, some = self.columns, literal(self.margin * float(BALL_STEPS)), list(which)
        x = [f"coalesce(if(abs(x{j}) < {INFINITY}, x{j}, {INFINITY}), {INFINITY})" for j in range(d)]
        z, u = [f"z{j}" for j in range(d)], [f"u{j}" for j in range(d)]
        kept = [*(z[j] for j in some), *(u[j] for j in some), "h"]
        return [
            [f"({x[j]} - {literal(self.centre[j])}) * {literal(self.scale[j])} z{j}" for j in range(d)],
            [*z, f"greatest({', '.join(f'abs({each})' for each in z)}, 0D) g"],
            [*(f"if(g < {INFINITY}, {each}, 0D) {each}" for each in z), f"if(g < {INFINITY} and g > 0D, g, 1D) h"],
            [*z, *(f"z{j} / h u{j}" for j in range(d)), "h"],
            [*kept, f"sqrt({spell_squares(d)}) root"],
            [*kept, "1D / if(root > 0D, root, 1D) shrink"],
            [f"if(h > shrink, u{j} * (shrink * {full}), z{j} * {full}) y{j}" for j in some],
            [f"if(y{j} < 0D, ceil(y{j}), floor(y{j})) c{j}" for j in some],
        ]


@dataclass(frozen=True, eq=False)
class PeopleEncoding(BoxEncoding):
    """The coding of what one person adds: first the person's own numbers, then `rows` sums over rows, then T.

    T is the number of the person's rows, at most `max_rows` = k. A sum over rows adds up the codes of T rows, so
    that twice it, less its steps for each row, lies within ±T·steps. Exact integers throughout.
    """

    rows: int
    max_rows: int

    @property
    def extents(self) -> Array:
        """The largest absolute core integer of one person, rounded up to a double."""
        own, over, _ = self._parts(self.steps.tolist())
        # A sum over rows may need 62 bits, which no double holds: the next one above it will do.
        reach = [float(np.nextafter(float(s * self.max_rows), np.inf)) for s in over]
        return np.array([*own, *reach, self.max_rows], float)

    def centred(self, sums: Integers, records: int) -> Sequence[int]:
        """The summed core: twice each number, less its steps for each person, or for each row; then the rows."""
        own, over, (T,) = self._parts([int(s) for s in sums])
        own_steps, over_steps, _ = self._parts(self.steps.tolist())
        return [
            *(2 * s - records * top for s, top in zip(own, own_steps, strict=True)),
            *(2 * s - T * top for s, top in zip(over, over_steps, strict=True)),
            T,
        ]

    def centred_rows(self, sums: Words, records: Words) -> Words | None:
        last = len(self.steps) - 1
        own, T = last - self.rows, sums[:, last:]
        times = np.hstack([np.repeat(records[:, None], own, axis=1), np.repeat(T, self.rows, axis=1)])
        found = _less_steps(sums[:, :last], times, self.steps[:last])
        return None if found is None else np.hstack([found, T])

    def _parts(self, values: Sequence[int]) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """The person's own, those over rows, and the rows."""
        last = len(self.steps) - 1
        return values[: last - self.rows], values[last - self.rows : last], values[last:]


def _less_steps(sums: Words, times: Words, steps: Words) -> Words | None:
    """2·sums − times·steps; None if words might not hold it."""
    largest = 2 * int(np.abs(sums).max(initial=0)) + int(np.abs(times).max(initial=0)) * int(steps.max(initial=0))
    return 2 * sums - times * steps if largest < 1 << 62 else None


def nearest_to_zero(lower: Array, upper: Array) -> Array:
    """The substitute of a sum: the point of [lower, upper] nearest 0, so that a missing value adds little."""
    return np.minimum(np.maximum(0.0, lower), upper)


def centre_of(lower: Array, upper: Array) -> Array:
    """The substitute of a mean: the centre of the bounds, computed without overflow."""
    return lower + (upper - lower) / 2

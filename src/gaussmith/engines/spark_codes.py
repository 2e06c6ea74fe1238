"""The codes spelled in Spark's SQL: text that Spark compiles where the rows are. Only totals come back.

Every operation was chosen because it rounds as in `problem.codes`. In Spark's order NaN is above all numbers, and
null counts as false in `if`; the guards below rest on both. Codes are summed in two limbs of 21 bits.

**Why sums of doubles are exact here.** A limb is a whole number of at most 2^21 in size, so every partial sum of 2^32
of them is a whole number of at most 2^53 in size, which a double holds: no order of adding can round. Doubles are added
up at the speed of Spark's plain sum; its integers are checked for overflow at every step. Beyond 2^32 rows they are
used all the same (`LONG`).

**Why text and not columns.** Spark takes 50 ms to build one column's expression from Python objects, and a fraction of
that to read it. Java leaves methods of more than 8 000 bytes uncompiled, hence at most 16 columns per query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaussmith.domains.counts import CountCodes
from gaussmith.domains.points import PointCodes
from gaussmith.domains.sparse import SparseCodes
from gaussmith.domains.votes import VoteCodes
from gaussmith.errors import SourceError
from gaussmith.problem.codes import BALL_STEPS, BallCodes, BoxCodes, Codes

LIMB = 21
"""Bits of the lower limb of a code; the upper has as many, and a sign."""

BLOCK_COLUMNS = 16
"""Codes added up by one query."""

FOLD = 32
"""Squares are added left to right in blocks of so many columns, then the blocks: the order of `BallCodes`."""

DOUBLE, LONG = "double", "bigint"
"""What limbs are added up in: doubles are exact up to 2^32 rows, integers of 64 bits up to 2^42."""

INFINITY = "double('infinity')"

Step = list[str]
"""The columns of one `select`, each with its name."""


def quote(name: str) -> str:
    """A column's name in SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: float) -> str:
    """A double in SQL, read back bit for bit."""
    return f"{float(value)!r}D"


def read_numbers(columns: Sequence[str], kinds: Sequence[str]) -> Step:
    """The columns as doubles x0, x1 …, null where missing. Long numbers go through text, which is rounded once."""
    inner = ["cast({} as string)" if kind == "long number" else "{}" for kind in kinds]
    return [
        f"cast({text.format(quote(c))} as double) x{j}" for j, (c, text) in enumerate(zip(columns, inner, strict=True))
    ]


def spell_codes(codes: Codes, which: range) -> list[Step]:
    """Steps from the numbers x0, x1 … to the codes c0, c1 …, of which those in `which` are made."""
    if isinstance(codes, BoxCodes):
        return _box(codes, which)
    if isinstance(codes, BallCodes):
        return _ball(codes, which)
    if isinstance(codes, CountCodes):
        return _counts(codes, which)
    if isinstance(codes, VoteCodes):
        return _votes(codes, which)
    if isinstance(codes, SparseCodes):
        return _sparse(codes, which)
    what, rule = f"records coded by {type(codes).__name__}", "Spark cannot code these"
    raise SourceError(what, rule, "read them with Polars", code="codes-unknown-to-spark", type=type(codes).__name__)


def spell_sums(which: range, kind: str = DOUBLE) -> Step:
    """The sums of the limbs of the codes, upper and lower in turn, and the number of records."""
    mask = (1 << LIMB) - 1
    limbs = ((f"shiftright(c{j}, {LIMB})", f"c{j} & {mask}L") for j in which)
    return [*(f"sum(cast({limb} as {kind}))" for pair in limbs for limb in pair), "count(1)"]


def read_sums(row: Sequence[Any]) -> tuple[list[int], int]:
    """The sums and the number of records in a row of `spell_sums`; of no rows at all the sums are null."""
    *limbs, records = (0 if value is None else int(value) for value in row)
    return [(high << LIMB) + low for high, low in zip(limbs[::2], limbs[1::2], strict=True)], records


def _box(codes: BoxCodes, which: range) -> list[Step]:
    """floor((clamp(x) − low)·scale + ½). Nulls go first, so that Spark asks for none later; NaN is above all else."""
    known, coded = [], []
    for j in which:
        low, top, scale, substitute = (
            literal(a[j]) for a in (codes.low, codes.top, codes.scale, codes.substitute.clip(codes.low, codes.top))
        )
        known.append(f"coalesce(x{j}, {substitute}) x{j}")
        clamped = f"if(x{j} < {top}, if(x{j} > {low}, x{j}, {low}), if(isnan(x{j}), {substitute}, {top}))"
        coded.append(f"floor(({clamped}{f' - {low}' if codes.low[j] else ''}) * {scale} + 0.5D) c{j}")
    return [known, coded]


def _ball(codes: BallCodes, which: range) -> list[Step]:
    """As `BallCodes.encode`: an odd coordinate is made infinite, and the largest one tells that the record is odd."""
    d, full, some = codes.columns, literal(codes.margin * float(BALL_STEPS)), list(which)
    x = [f"coalesce(if(abs(x{j}) < {INFINITY}, x{j}, {INFINITY}), {INFINITY})" for j in range(d)]
    blocks = [" + ".join(f"u{j} * u{j}" for j in range(s, min(s + FOLD, d))) for s in range(0, d, FOLD)]
    squares = " + ".join(f"({block})" for block in blocks)
    z, u = [f"z{j}" for j in range(d)], [f"u{j}" for j in range(d)]
    kept = [*(z[j] for j in some), *(u[j] for j in some), "h"]
    return [
        [f"({x[j]} - {literal(codes.centre[j])}) * {literal(codes.scale[j])} z{j}" for j in range(d)],
        [*z, f"greatest({', '.join(f'abs({each})' for each in z)}, 0D) g"],
        [*(f"if(g < {INFINITY}, {each}, 0D) {each}" for each in z), f"if(g < {INFINITY} and g > 0D, g, 1D) h"],
        [*z, *(f"z{j} / h u{j}" for j in range(d)), "h"],
        [*kept, f"sqrt({squares}) root"],
        [*kept, "1D / if(root > 0D, root, 1D) shrink"],
        [f"if(h > shrink, u{j} * (shrink * {full}), z{j} * {full}) y{j}" for j in some],
        [f"if(y{j} < 0D, ceil(y{j}), floor(y{j})) c{j}" for j in some],
    ]


def _counts(codes: CountCodes, which: range) -> list[Step]:
    """1 above zero; of more than k ones those stay whose place is not after that of the k-th."""
    d, k = codes.columns, codes.at_most
    above = [f"x{j} > 0D and x{j} <= {INFINITY}" for j in range(d)]
    if k >= d:
        return [[f"if({above[j]}, 1L, 0L) c{j}" for j in which]]
    places = ", ".join(f"if({above[j]}, {j}, null)" for j in range(d))
    last = f"coalesce(get(array_compact(array({places})), {k - 1}), {d}) last"
    numbers = [f"x{j}" for j in which]
    return [[*numbers, last], [f"if({above[j]} and last >= {j}, 1L, 0L) c{j}" for j in which]]


def _votes(codes: VoteCodes, which: range) -> list[Step]:
    """2(d − rank) on a ballot that uses each rank once, d − 1 on any other."""
    d = codes.columns
    ranks = ", ".join(f"coalesce(x{j}, double('nan'))" for j in range(d))
    wanted = ", ".join(literal(r) for r in range(1, d + 1))
    valid = f"array_sort(array({ranks})) = array({wanted}) valid"
    return [
        [*(f"x{j}" for j in which), valid],
        [f"if(valid, floor(2D * ({literal(d)} - x{j})), {d - 1}L) c{j}" for j in which],
    ]


def _sparse(codes: SparseCodes, which: range) -> list[Step]:
    """Clamped and rounded; of more than k those stay that are not after the k-th in the order of size, then place."""
    d, k, top, scale = codes.columns, codes.at_most, codes.sizes.top, codes.sizes.scale
    sizes = [f"s{j}" for j in range(d)]
    kept = [f"{letter}{j}" for letter in "xsq" for j in which]
    signed = [f"if(x{j} < 0D, -q{j}, q{j})" for j in which]
    steps = [
        [f"coalesce(if(x{j} <= {INFINITY}, x{j}, 0D), 0D) x{j}" for j in range(d)],
        [*(f"x{j}" for j in range(d)), *(f"least(abs(x{j}), {literal(top[j])}) s{j}" for j in range(d))],
        [*(f"x{j}" for j in which), *sizes, *(f"floor(s{j} * {literal(scale[j])} + 0.5D) q{j}" for j in range(d))],
    ]
    if k >= d:
        return [*steps, [f"{code} c{j}" for j, code in zip(which, signed, strict=True)]]
    order = ", ".join(f"struct(if(q{j} = 0L, 0D, -s{j}) as size, {j} as place)" for j in range(d))
    stays = [f"-s{j} < last.size or (-s{j} = last.size and {j} <= last.place)" for j in which]
    return [
        *steps,
        [*kept, f"array_sort(array({order}))[{k - 1}] last"],
        [f"if({test}, {code}, 0L) c{j}" for j, test, code in zip(which, stays, signed, strict=True)],
    ]


def spell_place(codes: PointCodes) -> list[Step]:
    """Steps from the numbers to `place`: where the nearest point stands, ties to the earlier, as `PointCodes.place`."""
    k, points, unit = codes.columns, codes.points / codes.unit, codes.unit
    missing = " or ".join(f"x{j} is null or isnan(x{j})" for j in range(k))
    filled = [f"if(missing, {literal(codes.points[0, j])}, x{j}) / {literal(unit[j])} x{j}" for j in range(k)]

    def distance(point: Sequence[float]) -> str:
        steps = (f"least(abs(x{j} - {literal(p)}), 1e150D)" for j, p in enumerate(point))
        return " + ".join(f"({step} * {step})" for step in steps)

    distances = ", ".join(distance(point) for point in points.tolist())
    return [
        [*(f"x{j}" for j in range(k)), f"({missing}) missing"],
        filled,
        [f"array({distances}) far"],
        ["array_position(far, array_min(far)) - 1 place"],
    ]

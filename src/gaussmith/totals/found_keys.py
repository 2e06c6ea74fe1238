"""Keys found in the data: people per key, streamed; and the features of the keys that were shown.

    rows ──keys of each row──▶ per person and key ──m of them──▶ per key: people, spare ──batches──▶ the threshold
                                                             └──▶ shown keys alone: features ──▶ Totals

Rules, each of which looks at the rows of one person alone:
- A row with a missing key, one of more than `LONGEST_KEY` characters, or one outside the declared values of its column
  is left out; so is a row without a person.
- A person with more than m keys keeps the m with most rows. Ties go by the md5 of the person and the key, both written
  with their length, then by the key itself: never by what other people have, and not by the alphabet.
- With j keys kept, a person adds `spares[j − 1]` to the spare number of each, so that no part of its norm lies idle.

Nothing here may be told but what passes the threshold: neither the number of keys, nor their order, nor how many
batches there were. What comes back is secret until noise has met it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import xor
from typing import TYPE_CHECKING, Any

from gaussmith.engines.engine import Engine, Totals
from gaussmith.engines.polars import POLARS
from gaussmith.engines.versions import collect_batches
from gaussmith.errors import RequestError, nearest_column
from gaussmith.expressions.identity import spoken_object
from gaussmith.expressions.keys import GroupKeys, match_keys
from gaussmith.expressions.spelling import kinds_of
from gaussmith.planning.row_rule import LONGEST_KEY
from gaussmith.totals.features import Contribution
from gaussmith.totals.limbs import add_up, blocks_of, check_steady, code_rows, combine_rows, feature_limbs, select_rows

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from gaussmith.totals.features import Frame


# People of a table in passes, each of which reads the rows of some of them; and what they add to their keys.
#
# Polars and DuckDB work in the memory of this process, and would hold every pair of a person and a key there at once.
# So people are divided by a hash, and each pass over the source reads the pairs of one part. What it keeps of them is
# added up by key in the end, one part of the keys at a time. Nothing is written to a disk.
#
# A person is in one pass alone: its groups are chosen from one look at the source, so that even if the source changes
# in between a person adds to no more than m keys. That all passes together saw as many rows as were counted before is
# checked too. Spark divides its work by itself, and makes no passes.

Cut = Callable[["Frame"], "Frame"]
"""What takes the rows of some of the people."""

PASS_ROWS = 5_000_000
"""Rows that a pass is about, and pairs that are added up at a time."""

MOST_PASSES = 16
"""A table of more rows needs more memory, and not more time: every pass reads all of it."""

SAMPLE = 100_000
"""Kept pairs by which it is seen whether keys repeat, so that adding them up at once saves memory."""


@dataclass(frozen=True)
class Passes:
    """How the people of some rows are divided, by the number of rows."""

    rows: int = field(repr=False)
    engine: Engine = field(repr=False)

    @property
    def number(self) -> int:
        return _parts(self.rows, MOST_PASSES)

    def cut(self, rows: Frame, i: int) -> Frame:
        """The rows of one pass: all rows of a person are in one of them."""
        part = self.engine.part(rows, "u", i, self.number)
        assert part is not None
        return part


def everybody(rows: Frame) -> Frame:
    """All rows, in one pass."""
    return rows


def cuts_of(passes: Passes | None) -> list[Cut]:
    """What takes the rows of each pass."""
    if passes is None or passes.number == 1:
        return [everybody]
    return [partial(passes.cut, i=i) for i in range(passes.number)]


def plan_passes(rows: Frame, engine: Engine) -> Passes | None:
    """The passes over rows of people u; None where the engine makes none. Counts the rows.

    All are one part of one: so that a rehearsal sees whether people can be divided.
    """
    import narwhals as nw

    whole = engine.part(rows, "u", 0, 1)
    if whole is None:
        return None
    ((counted,),) = engine.fetch(whole.select(nw.col("n").sum()))
    return Passes(int(counted or 0), engine)


def fetch_pairs(combined: Frame, engine: Engine, size: int) -> pl.DataFrame | None:
    """The pairs of one pass here, a row each; None if there are none. Integers of 128 bits come as their digits."""
    import narwhals as nw
    import polars as pl

    if combined.collect_schema()["u"] in (nw.Int128, nw.UInt128):  # Arrow has no such type
        combined = combined.with_columns(nw.col("u").cast(nw.String))
    batches = list(engine.batches(combined, size))
    return pl.concat(batches) if batches else None


class KeySums:
    """What people add to their keys, put down pass by pass, and added up by key in the end."""

    def __init__(self, columns: Sequence[str], spares: Sequence[int]) -> None:
        self.columns, self.spares = list(columns), spares
        self._tables: list[pl.DataFrame] = []
        self._rows = 0

    def put(self, kept: pl.DataFrame) -> None:
        """Kept pairs: their key, and how many keys the person held."""
        import polars as pl

        places = kept["held"].clip(1, max(1, len(self.spares))).cast(pl.Int64) - 1
        spare = pl.Series("s", list(self.spares) or [0], pl.Int32).gather(places)
        table = kept.select(self.columns).with_columns(spare)
        if 2 * table.select(self.columns).head(SAMPLE).n_unique() < min(SAMPLE, len(table)):
            table = self._summed(self._counted(table.lazy())).collect()
        self._tables.append(table)
        self._rows += len(table)

    def batches(self, size: int, at_least: int) -> Iterator[pl.DataFrame]:
        """Every key with so many people: the key, n its people, s their spare number; in no order."""
        import polars as pl

        if not self._tables:
            return
        slots = _parts(self._rows, self._rows)
        slot = reduce(xor, (pl.col(name).hash(seed) for seed, name in enumerate(self.columns))) % slots
        whole = pl.concat([self._counted(table.lazy()) for table in self._tables])
        for i in range(slots):
            summed = self._summed(whole if slots == 1 else whole.filter(slot == i))
            yield from collect_batches(summed.filter(pl.col("n") >= at_least), size)

    def _counted(self, table: pl.LazyFrame) -> pl.LazyFrame:
        import polars as pl

        n = pl.col("n") if "n" in table.collect_schema() else pl.lit(1, pl.Int64).alias("n")
        return table.select(*self.columns, n, pl.col("s").cast(pl.Int64))

    def _summed(self, table: pl.LazyFrame) -> pl.LazyFrame:
        import polars as pl

        return table.group_by(self.columns).agg(pl.col("n").sum(), pl.col("s").sum())


def check_passes(passes: Passes, seen: int) -> None:
    """Refuse a source that changed between the passes."""
    if passes.number > 1:
        check_steady([seen], [passes.rows])


def _parts(rows: int, most: int) -> int:
    return max(1, min(most, -(-rows // PASS_ROWS)))


BATCH_KEYS = 500_000
"""Keys that an engine hands over at a time."""

Key = str | int | bool


@dataclass(frozen=True)
class KeyColumns:
    """The key columns in order: what their values are compared as, and the declared values of those that have them."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    """Of each: "text", "object" (texts of Python objects), "integer", "digits" (as text), "truth" or "date"."""
    declared: tuple[GroupKeys | None, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """What the key of a row is called in a frame."""
        return tuple(f"k{j}" for j in range(len(self.names)))


def find_keys(
    names: Sequence[str], schema: Mapping[str, Any], kinds: Mapping[str, str], declared: Mapping[str, GroupKeys]
) -> KeyColumns:
    """The key columns over a source of this schema; refuses types that name no group. Reads no data."""

    found = []
    for name in names:
        if name not in kinds:
            what, rule = f"by: column {name!r}", "the source has no such column"
            raise RequestError(what, rule, nearest_column(name, kinds), code="no-such-key-column", column=name)
        kind = kinds[name]
        if name not in declared and kind == "number" and name in schema and schema[name].is_integer():
            kind = "digits" if str(schema[name]) == "UInt64" else "integer"  # not all of these fit a signed word
        if name not in declared and kind not in ("text", "object", "integer", "digits", "truth", "date"):
            raise RequestError(
                f"by: column {name!r} as found keys",
                "found keys are text, whole numbers, booleans or dates",
                "declare its keys, or store them as text or as whole numbers",
                code="found-keys-of-unknown-type",
                column=name,
            )
        found.append(kind)
    return KeyColumns(tuple(names), tuple(found), tuple(declared.get(name) for name in names))


def stream_people(
    frame: Frame,
    added: Contribution,
    keys: KeyColumns,
    engine: Engine,
    groups_per_unit: int = 1,
    spares: Sequence[int] = (),
    at_least: int = 1,
) -> Iterator[pl.DataFrame]:
    """Every key with at least `at_least` people, in batches of no order: k0, k1 …, n its people, s their spare number.

    Guarantee: adding or removing all rows of one person changes n of at most m = `groups_per_unit` keys by one each,
    and with j of them changed the s of each by `spares[j − 1]`.

    >>> import narwhals as nw, polars as pl
    >>> from gaussmith.engines.polars import POLARS
    >>> visits = pl.LazyFrame({"person": [1, 1, 1, 2, 3], "airport": ["A", "B", "B", "B", None]})
    >>> keys = KeyColumns(("airport",), ("text",), (None,))
    >>> stream = stream_people(nw.from_native(visits), Contribution((), "person"), keys, POLARS, 2, (5, 3))
    >>> sorted(pl.concat(stream).rows())
    [('A', 1, 3), ('B', 2, 8)]
    """
    import narwhals as nw

    added = replace(added, features=())
    if added.unit is not None:
        rows = keyed_rows(frame, added, keys, engine)
        if (passes := plan_passes(rows, engine)) is not None:
            sums = _keep_in_passes(rows, passes, added, keys, groups_per_unit, spares)
            return sums.batches(BATCH_KEYS, at_least)
    kept = kept_keys(frame, added, keys, engine, groups_per_unit).with_columns(nw.lit(1).cast(nw.Int64).alias("n"))
    if added.unit is None or not spares:  # everybody adds the same
        each = nw.lit(spares[0] if spares else 0).cast(nw.Int64)
        summed = kept.group_by(*keys.columns).agg(nw.col("n").sum()).with_columns(nw.col("n").cast(nw.Int64))
        summed = summed.with_columns((nw.col("n") * each).alias("s"))
    else:
        spare = nw.lit(spares[0]).cast(nw.Int64)
        for j, value in enumerate(spares[1:], start=2):  # with more than m keys m are kept
            spare = nw.when(nw.col("held") >= j).then(nw.lit(value).cast(nw.Int64)).otherwise(spare)
        kept = kept.with_columns(spare.alias("s"))
        summed = kept.group_by(*keys.columns).agg(nw.col("n").sum(), nw.col("s").sum())
        summed = summed.with_columns(nw.col("n").cast(nw.Int64), nw.col("s").cast(nw.Int64))
    if at_least > 1:
        summed = summed.filter(nw.col("n") >= at_least)
    return engine.batches(summed.select(*keys.columns, "n", "s"), BATCH_KEYS)


def sum_shown(
    frame: Frame,
    added: Contribution,
    keys: KeyColumns,
    shown: GroupKeys,
    engine: Engine,
    groups_per_unit: int = 1,
    some: Frame | None = None,
) -> list[Totals]:
    """The totals of the features in each shown key, in the order of `shown`; people keep the groups that they kept.

    With `some` the features are those of some of the rows alone. A person's groups are still chosen by all rows.
    Guarantee: as `sum_groups`. The m groups of a person are chosen among all keys, shown or not, so that the people
    of each key are those that `stream_people` counted.
    """
    answers = [Totals([], 0) for _ in shown.keys]
    rows = None if added.unit is None else keyed_rows(frame, replace(added, features=()), keys, engine)
    cuts = cuts_of(None if rows is None else plan_passes(rows, engine))
    for block in blocks_of(added, engine.max_features):
        blocks = [Totals([0] * len(block.features), 0) for _ in shown.keys]
        for cut in cuts:
            kept = kept_keys(frame, block, keys, engine, groups_per_unit, some, cut)
            kept = kept.join(engine.key_table(kept, shown), on=list(keys.columns), how="inner")
            for (g,), more in add_up(*feature_limbs(kept, block, ("g",)), engine).items():
                sums = [a + b for a, b in zip(blocks[g].sums, more.sums, strict=True)]
                blocks[g] = Totals(sums, blocks[g].records + more.records)
        check_steady([b.records for b in blocks], [a.records for a in answers] if answers and answers[0].sums else None)
        answers = [Totals(a.sums + b.sums, b.records) for a, b in zip(answers, blocks, strict=True)]
    return answers


def kept_keys(
    frame: Frame,
    added: Contribution,
    keys: KeyColumns,
    engine: Engine,
    groups_per_unit: int,
    some: Frame | None = None,
    cut: Cut = everybody,
) -> Frame:
    """One row for each person and kept key: u, the key, n its rows and the limbs of its features.

    Without `some` also `held`: of how many keys the person has rows. `cut` takes the rows of some of the people.
    """
    if some is None or added.unit is None:
        rows = cut(keyed_rows(frame if some is None else some, added, keys, engine))
        limbs = code_rows(rows, added, keys.columns)
        if added.unit is None:
            return limbs
        return _keep(combine_rows(limbs, added, ("u", *keys.columns)), keys, engine, groups_per_unit, added.timed)
    rows = rows_of_kept(cut(keyed_rows(some, added, keys, engine)), frame, added, keys, engine, groups_per_unit, cut)
    return combine_rows(code_rows(rows, added, keys.columns), added, ("u", *keys.columns))


def rows_of_kept(
    rows: Frame,
    frame: Frame,
    added: Contribution,
    keys: KeyColumns,
    engine: Engine,
    groups_per_unit: int,
    cut: Cut = everybody,
) -> Frame:
    """Those of some rows that are in a group which the person keeps, chosen by all rows of `frame`."""
    everything = kept_keys(frame, replace(added, features=()), keys, engine, groups_per_unit, cut=cut)
    return rows.join(everything.select("u", *keys.columns), on=["u", *keys.columns], how="inner")


def keyed_rows(
    frame: Frame, added: Contribution, keys: KeyColumns, engine: Engine, others: Mapping[str, nw.Expr] | None = None
) -> Frame:
    """The rows that have a person and a key; `others` are further columns under their names."""
    import narwhals as nw

    kinds = kinds_of(frame.collect_schema())
    rows = select_rows(frame.lazy(), added, {**_key_expressions(keys, kinds), **(others or {})})
    for name, kind, declared in zip(keys.columns, keys.kinds, keys.declared, strict=True):
        if declared is not None:
            table = engine.key_table(rows, declared).select(nw.col("k0").alias(name))
            rows = rows.join(table, on=[name], how="inner")
        else:
            rows = rows.filter(~nw.col(name).is_null())
            if kind in ("text", "object"):
                rows = rows.filter(nw.col(name).str.len_chars() <= LONGEST_KEY)
    return rows


def keys_of(batch: pl.DataFrame, keys: KeyColumns) -> list[tuple[Key, ...]]:
    """The keys of some rows of `stream_people` as people write them."""
    columns = []
    for name, kind, declared in zip(keys.columns, keys.kinds, keys.declared, strict=True):
        values = batch[name].to_list()
        if declared is not None:
            spoken = {code: key for (key,), (code,) in zip(declared.keys, declared.codes, strict=True)}
            columns.append([spoken[value] for value in values])
        else:
            columns.append([_spoken(value, kind) for value in values])
    return list(zip(*columns, strict=True))


def codes_of(batch: pl.DataFrame, keys: KeyColumns) -> GroupKeys:
    """The keys of some rows as what `sum_shown` compares with."""
    kinds = []
    for kind, declared in zip(keys.kinds, keys.declared, strict=True):
        known = kind if declared is None else declared.kinds[0]
        kinds.append({"digits": "text", "truth": "number", "date": "number"}.get(known, known))
    codes = tuple(batch.select(keys.columns).rows())
    return GroupKeys(keys.names, tuple(keys_of(batch, keys)), tuple(kinds), codes)


def no_keys(keys: KeyColumns) -> GroupKeys:
    """None of the keys, for a rehearsal: as many types as `codes_of` tells."""
    import polars as pl

    return codes_of(pl.DataFrame({name: [] for name in keys.columns}), keys)


def _spoken(value: Any, kind: str) -> Key:
    if kind == "date":
        day = int(value)
        return f"{day // 10000:04d}-{day // 100 % 100:02d}-{day % 100:02d}"
    if kind == "truth":
        return bool(value)
    if kind == "object":
        return spoken_object(value)
    return int(value) if kind in ("integer", "digits") else str(value)


def _keep(combined: Frame, keys: KeyColumns, engine: Engine, groups_per_unit: int, timed: bool) -> Frame:
    """Of each person the m keys with most rows, ties by digest; only people with more than m are ranked."""
    import narwhals as nw

    columns = [*combined.collect_schema().names(), "held"]
    counted = combined.with_columns(nw.col("n").len().over("u").cast(nw.Int64).alias("held"))
    few = counted.filter(nw.col("held") <= groups_per_unit).select(*columns)
    many = counted.filter(nw.col("held") > groups_per_unit)
    many = many.with_columns(
        nw.concat_str(_spelled(many, keys, timed)).alias("spelled"), (0 - nw.col("n")).alias("fewest")
    )
    best = engine.first_rows(many, "u", "fewest", "spelled", keys.columns, groups_per_unit)
    return nw.concat([few, best.select(*columns)])


def _keep_in_passes(
    rows: Frame, passes: Passes, added: Contribution, keys: KeyColumns, groups_per_unit: int, spares: Sequence[int]
) -> KeySums:
    """What people add to the keys that they keep; pairs of a person and a key come here, one part of them at a time."""
    sums, seen = KeySums(keys.columns, spares), 0
    for cut in cuts_of(passes):
        combined = combine_rows(code_rows(cut(rows), added, keys.columns), added, ("u", *keys.columns))
        pairs = fetch_pairs(combined, passes.engine, BATCH_KEYS)
        seen += _put_kept(sums, pairs, keys, groups_per_unit, added.timed)
    check_passes(passes, seen)
    return sums


def _put_kept(sums: KeySums, pairs: pl.DataFrame | None, keys: KeyColumns, groups_per_unit: int, timed: bool) -> int:
    """Puts down the pairs that people keep; returns how many rows there were."""
    import narwhals as nw

    if pairs is None:
        return 0
    kept: Any = _keep(nw.from_native(pairs.lazy()), keys, POLARS, groups_per_unit, timed)
    sums.put(kept.to_native().select(*keys.columns, "held").collect(engine="streaming"))
    return int(pairs["n"].sum())


def _spelled(frame: Frame, keys: KeyColumns, timed: bool) -> list[nw.Expr]:
    """Person and key as one text, each part after its length: ("a", "bc") and ("ab", "c") are told apart.

    People whose ids engines write differently (fractions, times) are left out of it: their ties go by the key alone.
    """
    import narwhals as nw

    schema = frame.collect_schema()
    unit = ["u"] if not timed and (schema["u"] == nw.String or schema["u"].is_integer()) else []
    parts: list[nw.Expr] = []
    for name in [*unit, *keys.columns]:
        value = nw.col(name)
        if schema[name].is_float():  # a whole number, as engines write doubles differently; equal digests go by the key
            small = nw.when((value < 2.0**53) & (value > -(2.0**53))).then(value).otherwise(nw.lit(0.0))
            value = small.floor().cast(nw.Int64)
        text = value.cast(nw.String)
        parts += [text.str.len_chars().cast(nw.String), nw.lit(":"), text]
    return parts


def _key_expressions(keys: KeyColumns, kinds: Mapping[str, str]) -> dict[str, nw.Expr]:
    """The columns of keys under their names: texts as they are, integers as such, truths and dates as numbers."""
    import narwhals as nw

    from gaussmith.expressions.spelling import as_date

    found: dict[str, nw.Expr] = {}
    for name, column, kind, declared in zip(keys.columns, keys.names, keys.kinds, keys.declared, strict=True):
        if declared is not None:
            found[name] = match_keys(declared, kinds)["k0"]
        elif kind in ("text", "object", "digits"):
            found[name] = nw.col(column).cast(nw.String)
        elif kind == "date":
            found[name] = as_date(column, kinds[column])
        elif kind == "truth":
            found[name] = nw.col(column).cast(nw.Int64).cast(nw.Float64)
        else:
            found[name] = nw.col(column).cast(nw.Int64)
    return found

"""Plain data in the forms of counted records: opened and checked without reading values, then summed exactly.

The forms are listed in `gaussmith.planning.row_rule`. Every rule looks at one record alone (of pairs: at the rows of
one person) and works for any values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.counts import CountEncoding
from gaussmith.domains.domain import Domain
from gaussmith.domains.encoding import Encoding
from gaussmith.domains.uncentred import Label
from gaussmith.engines.addresses import read_source
from gaussmith.engines.engine import Progress, Totals
from gaussmith.engines.numpy import row_of
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import Source, check_identity, check_once
from gaussmith.engines.versions import attempt
from gaussmith.errors import RequestError, SourceError, counted, nearest, nearest_column
from gaussmith.expressions.identity import object_code
from gaussmith.expressions.keys import GroupKeys, declare_groups, declare_numbers, match_keys
from gaussmith.expressions.spelling import kinds_of
from gaussmith.planning.row_rule import CATEGORIES, ORDER, PAIRS
from gaussmith.totals.features import Contribution, check_contribution
from gaussmith.totals.limbs import combine_rows, select_rows
from gaussmith.totals.people import identified

if TYPE_CHECKING:
    import polars as pl

Values = Sequence[Label] | range


def choose_form(domain: Domain, form: str | None) -> str:
    """The requested form, or the default one; refuses forms that the domain does not have."""
    known = list(domain.forms)
    if form is not None and form not in known:
        what, rule = f"form={form!r}", f"{type(domain).__name__} is read as {' or '.join(known)}"
        raise SourceError(what, rule, nearest(form, known), code="unknown-form", form=form, type=type(domain).__name__)
    return known[0] if form is None else form


def usual_columns(domain: Domain) -> Sequence[str] | None:
    """The columns of numbers that a domain is about; None where it does not name them."""
    return domain.input.columns


def open_cells(data: Any, domain: Domain, columns: Sequence[str] | None) -> tuple[Source, Categories]:
    """Category columns, one for each attribute."""
    usual = None if isinstance(data, list | tuple | np.ndarray) else domain.input.columns  # there by their order
    values = domain.input.labels
    source = open_categories(data, values, columns or usual)
    chosen = _chosen(source, columns, usual, len(values), "one for each attribute")
    return source, Categories(chosen, declare_values(source, chosen, values))


def open_ballots(data: Any, domain: Domain, columns: Sequence[str] | None) -> tuple[Source, Categories]:
    """Ballots: the first choice, the second, …"""
    values = domain.input.labels * domain.dimension
    source = open_categories(data, values, columns)
    chosen = _chosen(source, columns, None, len(values), "one for each attribute")
    return source, Categories(chosen, declare_values(source, chosen, values))


def open_pairs(data: Any, domain: Domain, columns: Sequence[str] | None) -> tuple[Source, PairsTable]:
    """A table of persons and items."""
    (labels,) = domain.input.labels
    source = open_categories(data, [None, labels], columns)
    if source.names is None:
        rule = "an array's columns have no names"
        raise SourceError("pairs in an array", rule, "pass a frame of person and item", code="pairs-in-array")
    chosen = _chosen(source, columns, None, 2, "the one that names the person, and the one that names the item")
    assert chosen is not None
    check_contribution(Contribution((), chosen[0]), source.kinds)
    check_identity(source, chosen[0], source.kinds)
    check_once(source, 2)
    return source, PairsTable(chosen, declare_values(source, chosen[1:], [labels])[0])


def open_categories(data: Any, values: Sequence[Values | None], columns: Sequence[str] | None = None) -> Source:
    """A source of category columns: as `open_source`, and lists or arrays of texts too.

    Each value of a list is an object of its own: 1 and 1.0 are one, 1 and "1" are two, whatever the labels are.
    `values` has one entry for each column, None for a column without labels.
    """
    told = read_source(data)
    data = told.data
    if isinstance(data, np.ndarray) and data.dtype.kind in "UT" and data.ndim in (1, 2):
        data = data.tolist()
    if not isinstance(data, list | tuple):
        return open_source(told if told.said else data, columns=columns)
    found = [(row_of(row), row) for row in data]
    rows = [[value] if row is None else row for row, value in found]  # a value that is not a row counts as a row of one
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        rule = "every record must have the same number of values"
        raise SourceError("rows of different lengths", rule, "fix the rows", code="category-rows-of-different-lengths")
    if lengths - {len(values)}:
        what, rule = f"a list of {counted(lengths.pop(), 'column')}", f"every record must have {len(values)}"
        raise SourceError(what, rule, "fix the rows", code="category-row-of-wrong-length", wanted=len(values))
    by_column = zip(*rows, strict=True) if rows else [()] * len(values)
    opened = open_source(_frame_of(by_column))
    return replace(opened, objects=frozenset(opened.names or ()), ids=told.ids)


def _frame_of(columns: Iterable[Sequence[object]]) -> pl.DataFrame:
    """Lists as columns of codes. Each value is coded by itself: no record changes what another one is read as."""
    import polars as pl

    coded = {str(j): pl.Series(list(map(object_code, column)), dtype=pl.String) for j, column in enumerate(columns)}
    return pl.DataFrame(coded)


def declare_values(source: Source, columns: Sequence[str] | None, values: Sequence[Values]) -> tuple[GroupKeys, ...]:
    """What the values of each column are matched with; refuses labels that do not fit a column. Reads no data."""
    kinds = {} if source.names is None else source.kinds
    declared = []
    for j, labels in enumerate(values):
        name = str(j) if columns is None else columns[j]
        if source.names is None and isinstance(labels, range):
            declared.append(declare_numbers(name, len(labels)))
            continue
        kind = {name: "number"} if source.names is None else kinds
        try:
            declared.append(declare_groups([name], [(label,) for label in labels], kind))
        except RequestError as error:
            what = error.what.removeprefix("by: ")
            raise SourceError(what, error.rule, error.remedy, code=error.code, **error.fields) from None
    return tuple(declared)


def _chosen(
    source: Source, columns: Sequence[str] | None, usual: Sequence[str] | None, wanted: int, which: str
) -> tuple[str, ...] | None:
    """The columns to read, or None for those of an array; refuses what does not fit."""
    if source.names is None:
        if columns is not None:
            what, rule = f"columns={list(columns)!r} for an array", "an array's columns have no names"
            raise SourceError(what, rule, "leave columns out", code="columns-of-array", columns=list(columns))
        if source.width and source.width != wanted:
            what = f"an array of {counted(source.width, 'column')}"
            rule = f"there must be {wanted}: {which}"
            remedy = "fix the array"
            raise SourceError(what, rule, remedy, code="array-of-wrong-width", columns=source.width, wanted=wanted)
        return None
    chosen = tuple(columns if columns is not None else usual if usual is not None else source.names)
    for name in chosen:
        if name not in source.names:
            what, rule = f"column={name!r}", "the source has no such column"
            raise SourceError(what, rule, nearest_column(str(name), source.names), code="no-such-column", column=name)
    if len(chosen) != wanted:
        raise SourceError(
            f"{len(chosen)} column{'s' if len(chosen) != 1 else ''}",
            f"there must be {wanted}: {which}",
            f"name them: columns={[*source.names[:wanted]]!r}",
            code="wrong-number-of-columns",
            columns=len(chosen),
            wanted=wanted,
        )
    source.engine.check_names(source, chosen)
    return chosen


@dataclass(frozen=True, eq=False)
class Categories:
    """Records told by the values in their columns: the cells they are in, or the candidates in order of preference."""

    columns: tuple[str, ...] | None
    keys: tuple[GroupKeys, ...]

    def total(self, source: Source, codes: Encoding, progress: Progress | None) -> list[Totals]:
        return [attempt(lambda: self._total(source, codes))]

    def _total(self, source: Source, codes: Encoding) -> Totals:
        sums, records = np.zeros(codes.width, np.int64), 0
        for places, weights in source.engine.places(source, self.columns, self.keys):
            codes.add_places(sums, places, weights)
            records += len(places) if weights is None else int(weights.sum())
        return Totals(sums, records)

    def rehearsed(self, source: Source) -> Categories:
        return self


@dataclass(frozen=True, eq=False)
class PairsTable:
    """The number of people with each item, from a table of persons and items."""

    columns: tuple[str, ...]
    keys: GroupKeys

    def total(self, source: Source, codes: Encoding, progress: Progress | None) -> list[Totals]:
        return [attempt(lambda: _count_pairs(self, source, codes))]

    def rehearsed(self, source: Source) -> PairsTable:
        return self


def _count_pairs(pairs: PairsTable, source: Source, codes: Encoding) -> Totals:
    """Distinct items of each person, the first k in declared order; on the engine that holds the rows.

    Rows without a person are dropped; a person whose items are all undeclared is a record without items.
    """
    import narwhals as nw

    assert isinstance(codes, CountEncoding)
    engine = source.engine
    added, ids = identified(source, Contribution((), pairs.columns[0]))
    frame = engine.frame(source, pairs.columns, ids)
    rows = select_rows(frame, added, match_keys(pairs.keys, kinds_of(frame.collect_schema())))
    people = rows.select("u").unique().with_columns(nw.lit(1).cast(nw.Int64).alias("n")).select(nw.col("n").sum())
    records = engine.fetch(people)[0][0]
    held = rows.join(engine.key_table(rows, pairs.keys), on=["k0"], how="inner")
    once = combine_rows(held.select("u", "g", "n"), added, ("u", "g"))
    if codes.at_most < codes.columns:
        place = nw.col("g").rank("ordinal").over("u")
        once = once.with_columns(place.alias("place")).filter(nw.col("place") <= codes.at_most)
    counted = once.with_columns(nw.lit(1).cast(nw.Int64).alias("n")).group_by("g").agg(nw.col("n").sum())
    sums = [0] * codes.width
    for g, n in engine.fetch(counted.select("g", "n")):
        sums[int(g)] = int(n)
    return Totals(sums, int(records or 0))


FORMS: dict[str, Callable[[Any, Domain, Sequence[str] | None], tuple[Source, Categories | PairsTable]]] = {
    CATEGORIES: open_cells,
    ORDER: open_ballots,
    PAIRS: open_pairs,
}
"""What opens plain data in a form of its own."""

"""From a source to the totals of its people: filter, derive, combine, add, in `limbs` and `groups`.

If an engine or a file fails once data is open, the error says nothing about the data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gaussmith.domains.encoding import Encoding
from gaussmith.domains.groups import FoundGroups
from gaussmith.engines.engine import Progress, Totals
from gaussmith.engines.source import Source, check_identity, read_early
from gaussmith.engines.versions import attempt, streamed
from gaussmith.errors import SourceError
from gaussmith.expressions.identity import CODED_INTEGER, INTEGER, as_id
from gaussmith.expressions.keys import GroupKeys, declare_groups, declare_keys
from gaussmith.expressions.person_columns import PersonColumns, combine_people, plan_person_columns
from gaussmith.expressions.spelling import Derivation, derive
from gaussmith.planning.row_rule import RowRule
from gaussmith.totals.features import Contribution, check_contribution
from gaussmith.totals.found_keys import KeyColumns, find_keys, no_keys, stream_people, sum_shown
from gaussmith.totals.groups import AskedQuery, check_groups_per_unit, sum_groups, sum_pairs
from gaussmith.totals.limbs import sum_people, unguarded_columns

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl


@dataclass(frozen=True, eq=False)
class PeopleTotals:
    """The rows of each person become features, which are added up: over all people, or in every declared group.

    Requires: what `check_people` accepts. See `sum_people` and `sum_groups` for what is guaranteed.

    >>> import polars as pl
    >>> from gaussmith.domains.encoding import BoxEncoding
    >>> from gaussmith.engines.registry import open_source
    >>> from gaussmith.expressions.spelling import kinds_of, plan_derivation
    >>> from gaussmith.totals.features import RowCount
    >>> source = open_source(pl.DataFrame({"person": ["ada", "bob", "ada"], "age": [36, 17, 36]}))
    >>> adults = plan_derivation({}, "age >= 18", kinds_of(source.schema))
    >>> (totals,) = PeopleTotals(Contribution((RowCount(),), "person", max_rows=5), adults).total(source)
    >>> totals.sums, totals.records
    ([2], 1)
    >>> totals  # shown by accident it says nothing
    Totals()
    """

    added: Contribution
    derivation: Derivation
    keys: GroupKeys | None = None
    groups_per_unit: int = 1

    def total(
        self, source: Source, codes: Encoding | None = None, progress: Progress | None = None
    ) -> Sequence[Totals]:
        return attempt(lambda: self._total(source))

    def _total(self, source: Source) -> Sequence[Totals]:
        present = needed_later(self.added, self.derivation, self.keys, self.groups_per_unit)
        unguarded = unguarded_columns(self.added).difference(present)
        frame, added = prepare(source, self.added, self.derivation, self.keys, (), unguarded, not present)
        if self.keys is None:
            return [sum_people(frame, added, source.engine)]
        return sum_groups(frame, added, self.keys, source.engine, self.groups_per_unit, present)

    def rehearsed(self, source: Source) -> PeopleTotals:
        """With few groups and one feature of each kind and type of column: more would be asked in the same way."""
        features = {(type(f), f.column and source.schema.get(f.column)): f for f in self.added.features}
        few = replace(self, added=replace(self.added, features=tuple(features.values())))
        if self.keys is None:
            return few
        keys = replace(self.keys, keys=self.keys.keys[:3], codes=self.keys.codes[:3])
        keeps_all = self.groups_per_unit >= len(self.keys.keys)
        return replace(few, keys=keys, groups_per_unit=3 if keeps_all else min(self.groups_per_unit, 2))


def total_together(source: Source, several: Sequence[PeopleTotals]) -> list[Sequence[Totals]]:
    """What each of several would find, in one pass: of the same people, rows and groups.

    The columns in which a row must have a value may differ; each must be one that is added.
    """
    return attempt(lambda: _total_together(source, several))


def _total_together(source: Source, several: Sequence[PeopleTotals]) -> list[Sequence[Totals]]:
    first, present = several[0], [each.derivation.present for each in several]
    everything = replace(first.added, features=tuple(f for each in several for f in each.added.features))
    unguarded = unguarded_columns(everything) - {name for names in present for name in names}
    derivation = first.derivation
    later = len(set(present)) > 1 or bool(needed_later(first.added, derivation, first.keys, first.groups_per_unit))
    if not later:  # rows without a value are left out for all
        present = [() for _ in several]
    frame, added = prepare(source, everything, derivation, first.keys, (), unguarded, not later)
    owned = [replace(each.added, unit=added.unit, ids=added.ids) for each in several]
    asked = [AskedQuery(own, names) for own, names in zip(owned, present, strict=True)]
    return sum_pairs(frame, asked, first.keys, source.engine, first.groups_per_unit)


def needed_later(
    added: Contribution, derivation: Derivation, keys: GroupKeys | None, groups_per_unit: int
) -> tuple[str, ...]:
    """The columns in which a row must have a value to be added, but not to decide which groups its person keeps."""
    chosen = keys is not None and added.unit is not None and groups_per_unit < len(keys.keys)
    return derivation.present if chosen else ()


@dataclass(frozen=True, eq=False)
class RowsOfPeople:
    """As `People`, where the last feature is the number of rows that count: these are the records."""

    people: PeopleTotals

    def total(
        self, source: Source, codes: Encoding | None = None, progress: Progress | None = None
    ) -> Sequence[Totals]:
        return rows_as_records(self.people.total(source))

    def rehearsed(self, source: Source) -> RowsOfPeople:
        return RowsOfPeople(self.people.rehearsed(source))


def rows_as_records(totals: Sequence[Totals]) -> Sequence[Totals]:
    """Totals whose last sum is the number of records."""
    return [Totals(each.sums[:-1], each.sums[-1]) for each in totals]


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many people have each declared value, and how many people there are: one record of counts.

    Declared values are groups in which only people are counted.
    """

    people: PeopleTotals

    def total(self, source: Source, codes: Encoding, progress: Progress | None) -> Sequence[Totals]:
        found = self.people.total(source)
        (everyone,) = replace(self.people, keys=None).total(source)
        return [Totals([each.records for each in found], everyone.records)]

    def rehearsed(self, source: Source) -> Histogram:
        return self


@dataclass(frozen=True, eq=False)
class FoundPeople:
    """People per key that somebody has, streamed, and the features of keys that were shown.

    Requires: what `check_people` accepts. See `stream_people` and `sum_shown` for what is guaranteed.
    """

    added: Contribution
    derivation: Derivation
    keys: KeyColumns
    groups_per_unit: int = 1

    def stream(self, source: Source, spares: Sequence[int], at_least: int) -> Iterator[pl.DataFrame]:
        """The people of every key, in batches of no order: secret until noise has met them."""
        frame, added = self._prepare(source, replace(self.derivation, present=()))
        return streamed(
            lambda: stream_people(frame, added, self.keys, source.engine, self.groups_per_unit, spares, at_least)
        )

    def shown(self, source: Source, codes: Encoding, shown: GroupKeys) -> Sequence[Totals]:
        """The totals of each key that was shown, in order."""
        return attempt(lambda: self._shown(source, shown)) if shown.keys else []

    def _shown(self, source: Source, shown: GroupKeys) -> Sequence[Totals]:
        frame, added = self._prepare(source, replace(self.derivation, present=()))
        some = self._prepare(source, self.derivation)[0] if self.derivation.present else None
        return sum_shown(frame, added, self.keys, shown, source.engine, self.groups_per_unit, some)

    def _prepare(self, source: Source, derivation: Derivation) -> tuple[nw.LazyFrame[Any], Contribution]:
        return prepare(source, self.added, derivation, GroupKeys(self.keys.names, (), (), ()))

    def total(self, source: Source, codes: Encoding, progress: Progress | None = None) -> Sequence[Totals]:
        """Those of no key, for which are shown is decided by noise; a rehearsal asks all that a release will."""
        list(self.stream(source, (1,) * min(self.groups_per_unit, 4), 2))
        self._shown(source, no_keys(self.keys))
        return []

    def rehearsed(self, source: Source) -> FoundPeople:
        return self


def open_keys(
    source: Source,
    groups: FoundGroups,
    rule: RowRule,
    derivation: Derivation,
    added: Contribution,
    others: Sequence[str] = (),
) -> KeyColumns:
    """The columns of keys that are found, checked without a look at the data; `others` are further columns read."""
    declared = {
        name: declare_groups([name], [(key,) for key in keys], derivation.kinds) for name, keys in groups.declared
    }
    schema = {name: source.schema[name] for name in groups.columns if name in source.schema}
    keys = find_keys(groups.columns, schema, derivation.kinds, declared)
    check_people(source, added, derivation, GroupKeys(groups.columns, (), (), ()), rule.groups_per_unit, others)
    return keys


def check_people(
    source: Source,
    added: Contribution,
    derivation: Derivation,
    groups: GroupKeys | None = None,
    groups_per_unit: int = 1,
    others: Sequence[str] = (),
) -> None:
    """Refuse what people cannot be added up by. Looks at names and types alone."""
    if source.names is None:
        rule = "filters, units and groups need named columns"
        raise SourceError(
            "source is an array",
            rule,
            "give a frame, such as polars.DataFrame(array, names)",
            code="array-without-column-names",
        )
    check_contribution(added, derivation.kinds)
    check_identity(source, added.unit, derivation.kinds)
    source.engine.check_names(source, _columns_needed(added, derivation, groups, others))
    check_groups_per_unit(groups_per_unit)
    for name in [] if groups is None else groups.columns:
        if name not in derivation.kinds:
            what, rule = f"column {name!r}", "the source has no such column"
            raise SourceError(what, rule, "declare the groups again", code="no-such-column", column=name)


def prepare(
    source: Source,
    added: Contribution,
    derivation: Derivation,
    groups: GroupKeys | None = None,
    others: Sequence[str] = (),
    unguarded: Collection[str] = (),
    with_values: bool = True,
) -> tuple[nw.LazyFrame[Any], Contribution]:
    """The filtered rows with the derived columns, of the columns that are needed (`others` too) and no others.

    Columns are `unguarded` if nothing is asked of them but their codes, unless expressions or keys read them. Rows
    without a value that must be present are kept where they need not be `with_values`.
    """
    needed = _columns_needed(added, derivation, groups, others)
    keys = [*([] if groups is None else groups.columns), *others, *([] if added.unit is None else [added.unit])]
    source, derivation = read_early(source, derivation, added.columns, keys)
    derivation = derivation if with_values else replace(derivation, present=())
    added, ids = identified(source, added, [name for name, _ in derivation.columns])
    read, wide = needed or (source.names or ())[:1], source.engine.wide_sums
    if wide is None or not unguarded:
        return derive(source.engine.frame(source, read, ids), derivation), added
    return derive(wide.frame(source, read, ids, {*unguarded} - {*keys, *derivation.columns_used}), derivation), added


def identified(source: Source, added: Contribution, taken: Sequence[str] = ()) -> tuple[Contribution, dict[str, str]]:
    """What is added, with what the source says of its ids and the column that holds them whole; and that column's name.

    `taken` are names of derived columns.
    """
    if added.unit is None:
        return added, {}
    ids = CODED_INTEGER if source.ids == INTEGER and added.unit in source.objects else source.ids
    whole = source.engine.exact_ids(source, added.unit, taken)
    return replace(added, unit=whole.get(added.unit, added.unit), ids=ids, timed=added.unit in whole), whole


def _columns_needed(
    added: Contribution, derivation: Derivation, groups: GroupKeys | None, others: Sequence[str] = ()
) -> tuple[str, ...]:
    """The columns of the source that are read."""
    derived = {name for name, _ in derivation.columns}
    wanted = [*added.columns, *others] + ([] if added.unit is None else [added.unit])
    wanted += [] if groups is None else list(groups.columns)
    return tuple(dict.fromkeys([*derivation.columns_used, *(name for name in wanted if name not in derived)]))


def declare_labels(
    source: Source, labels: Sequence[tuple[Any, ...]], rule: RowRule, derivation: Derivation
) -> GroupKeys:
    """The declared groups of a rule over the columns of a source; refuses keys that do not fit. Reads no data."""
    derived = {name for name, _ in derivation.columns}
    integers = [name for name, dtype in source.schema.items() if name not in derived and dtype.is_integer()]
    return declare_keys(rule.by, labels, derivation.kinds, rule.by_cuts, integers)


# A table of rows as a table of people: one row for each, with the person columns of a rule. Nothing is read yet.


def open_person_rows(source: Source, rule: RowRule, derivation: Derivation) -> Source:
    """The source whose rows are people, after both filters; refuses what cannot be put together. Reads no data.

    Guarantee: each of its rows depends on the rows of one person alone, and nobody has two. So a plan in which each row
    is a person protects people with all of their rows.
    """
    assert rule.unit is not None
    columns = plan_person_columns(dict(rule.person_columns), rule.person_where, derivation.kinds)
    added = Contribution((), rule.unit)
    check_contribution(added, derivation.kinds)
    check_identity(source, rule.unit, derivation.kinds)
    derived = [name for name, _ in derivation.columns]
    read = tuple(dict.fromkeys([*derivation.columns_used, *_read(columns, rule.unit, derived)]))
    source.engine.check_names(source, read)
    added, ids = identified(source, added, derived)
    rows = derive(source.engine.frame(source, read, ids), derivation)
    schema = rows.collect_schema()
    unit = added.unit or rule.unit
    kind = derivation.kinds.get(unit, "number")  # an id that an engine holds whole is a number
    person = as_id(unit, "text" if kind == "object" else kind, schema[unit], added.ids)
    opened = source.engine.open(combine_people(rows, person, columns).to_native())
    return replace(opened, objects=columns.objects, once=source.once, of_query=False)


def _read(columns: PersonColumns, unit: str, derived: list[str]) -> list[str]:
    """The columns of the source that the person columns read, and that of the ids."""
    used = [name for each in columns.aggregates.values() if each.formula for name in each.formula.tree.columns_used]
    return [name for name in (*used, unit) if name not in derived]

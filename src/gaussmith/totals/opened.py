"""The one door for data: `open_data` checks it against a query without a look at its values, `total` adds it up.

    data, query ──open_data──▶ Opened: source, codes, row rule, summation ──total──▶ Totals of every group: secret

Where each row is a record, as it stands or filtered, it goes through the kernels; people and groups are combined by the
engine that holds the rows. Both give the same integers for the same records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from gaussmith.domains.encoding import BoxEncoding, Encoding
from gaussmith.domains.features import TOTAL
from gaussmith.domains.groups import FoundGroups
from gaussmith.engines.engine import GroupTotals, Progress, Totals
from gaussmith.engines.files import Files, scan_files
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import Source, check_columns, narrowed
from gaussmith.engines.versions import attempt, check_version
from gaussmith.errors import PlanError, SourceError, internal_error
from gaussmith.expressions.identity import check_ids
from gaussmith.expressions.spelling import plan_derivation
from gaussmith.notations import setting
from gaussmith.numerics.exact import Integers, Words, largest_of
from gaussmith.planning.query import Query
from gaussmith.planning.row_rule import PAIRS, RowRule
from gaussmith.totals.records import MaskedEncoding, RecordTotals

if TYPE_CHECKING:
    from gaussmith.totals.people import PeopleTotals


class Summation(Protocol):
    """How the rows of a source are added up: what is asked of its engine, all checked before."""

    def total(self, source: Source, codes: Encoding, progress: Progress | None) -> Sequence[Totals]:
        """The exact totals, of each declared group in order or of all records alone."""

    def rehearsed(self, source: Source) -> Summation:
        """What asks the engine in the same ways, of less."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A source that was opened and found to fit its row rule; no data value has been read."""

    source: Source
    codes: Encoding
    rule: RowRule
    summation: Summation
    rows: Source | None = None
    """The source of the rows of which `source` holds the people, where there are person columns."""

    def told_rule(self, stand_ins: Iterable[float]) -> RowRule | None:
        """The row rule with what the schema says; None for plain data of which nothing is to be said.

        That is: how ids are compared, whether the rows are those of a query, and what stands in for missing text.
        """
        source, rule = self.source, self.rule
        if rule.form:
            told = RowRule((), rule.unit).identified(source.told_ids(rule.unit), source.told_query)
            return told if told.ids or told.query else None
        rows = self.rows or source
        told = rule.identified(rows.told_ids(rule.unit), rows.told_query)
        zoned = tuple(name for name in rule.columns_read if getattr(rows.schema.get(name), "time_zone", None))
        told = replace(told, zoned=zoned)
        is_text = source.is_text or not source.texts.isdisjoint(rule.names)
        return told.opened(rows.name, is_text, stand_ins)


def open_data(data: Any, query: Query) -> Opened:
    """The opened source, checked against the query: names and types of columns, labels, expressions, keys.

    Reads no data. The query says by which rule rows become records; `data` may be a source that is open.
    """
    rule, codes = query.row_rule, query.block.codes
    if rule is None:
        what = "a plan that was not made from a request"
        raise PlanError(what, "it does not say how a table is read", "use plan.release", code="plan-not-of-a-request")
    if not rule.is_plain:  # all but plain sums is spelled in narwhals
        check_version("narwhals")
    usual: Sequence[str] | None = rule.names
    if rule.form:
        from gaussmith.totals.categories import FORMS, usual_columns

        if rule.form in FORMS:
            check_version("narwhals")
            source, summation = FORMS[rule.form](data, query.block.domain, rule.names or None)
            unit = summation.columns[0] if rule.form == PAIRS and summation.columns else None
            return Opened(source, codes, replace(rule, unit=unit), summation)
        usual = rule.names if rule.features else usual_columns(query.block.domain)
    source = data if isinstance(data, Source) else open_source(data, columns=usual if rule.form else rule.columns_read)
    if source.names is None:
        _refuse_array(rule)
    if source.ids is not None and rule.unit is None and not rule.form:
        check_ids(source.ids, None, "other", None)
    if not rule.person_columns:
        return _open_rows(source, query, rule, usual)
    from gaussmith.totals.people import open_person_rows

    derivation = plan_derivation(dict(rule.columns), rule.where, source.kinds)
    rows, derivation = narrowed(source, derivation)
    people = open_person_rows(rows, rule, derivation)
    _check_of_people(rule, source)
    return replace(_open_rows(people, query, rule.of_one_row, rule.names), rule=rule, rows=source)


def _open_rows(source: Source, query: Query, rule: RowRule, usual: Sequence[str] | None) -> Opened:
    """The source of which rows are filtered, derived and put together by this rule; `usual` are its columns."""
    codes = query.block.codes
    if rule.is_plain:
        named = rule.names or None if rule.form else None  # an array is refused names that were said for it
        used = check_columns(source, named if source.names is None else usual, codes.columns)
        return Opened(source, codes, rule, RecordTotals(None if source.names is None else used))
    from gaussmith.totals.summations import check_present, open_summation

    derivation = replace(plan_derivation(dict(rule.columns), rule.where, source.kinds), present=rule.present)
    check_present(source, derivation)
    source, derivation = narrowed(source, derivation)
    return Opened(source, codes, rule, open_summation(rule)(source, query, rule, derivation))


def _check_of_people(rule: RowRule, source: Source) -> None:
    """Refuse columns of rows where each person is one row of person columns."""
    made = {name for name, _ in rule.person_columns}
    for name in (*rule.names, *rule.by):
        if name not in made and name in (*source.schema, *(column for column, _ in rule.columns)):
            raise SourceError(
                f"column {name!r} beside person_columns",
                "each person is then one row, of person columns alone",
                f"make it one: {setting('person_columns', {f'own_{name}': f'only({name})'})}, or sum, mean, min, max",
                code="row-column-beside-person-columns",
                column=name,
            )


def total(opened: Opened, progress: Progress | None = None) -> Sequence[Totals]:
    """The exact totals: of each declared group in order, or of all records alone. No error speaks of the data."""
    if progress is not None:
        progress(None)
    found = opened.summation.total(opened.source, opened.codes, progress)
    if progress is not None:
        progress(1.0)
    return found


def plain_rule(query: Query, columns: Sequence[str] | None = None, form: str | None = None) -> RowRule:
    """The rule of plain data, of which each row is a record: of numbers, or in another form.

    `columns` names the columns of the domain's coordinates where they differ from its own names.
    """
    from gaussmith.totals.categories import choose_form

    domain = query.block.domain
    chosen = choose_form(domain, form)
    columns = (columns,) if isinstance(columns, str) else columns  # a name is one column, not its letters
    if query.groups is None:
        return RowRule(tuple((TOTAL, name) for name in columns or ()), form=chosen)
    own = domain.input.columns or [domain.name(j) for j in range(domain.dimension)]
    names = own if columns is None else columns
    found = query.groups.columns if isinstance(query.groups, FoundGroups) else ()
    declared = dict(query.groups.declared) if isinstance(query.groups, FoundGroups) else {}
    kept = tuple(name for name in found if name not in declared)
    return RowRule(tuple((TOTAL, name) for name in names), by=query.groups.columns, found=kept)


def _refuse_array(rule: RowRule) -> None:
    named: Sequence[tuple[str, object]] = (
        ("unit", rule.unit),
        ("by", rule.by),
        ("where", rule.where),
        ("columns", rule.columns),
    )
    for word, value in named:
        if value:
            raise SourceError(
                f"{word} for an array",
                "an array's columns have no names",
                "pass a frame, such as polars.DataFrame(array, names)",
                code="request-for-array",
                word=word,
            )


# One scan for several queries: those that read the same rows, but for the columns in which a row must have a value.
#
# A table with many columns that may be missing has a query for each of their means. They are added up together, in one
# pass over the table, with the integers that a pass for each would give.


def total_all(sources: Sequence[Opened], progress: Progress | None = None) -> list[Sequence[Totals]]:
    """The exact totals of every query: of each declared group in order, or of all records alone."""
    found: dict[int, Sequence[Totals]] = {}
    for members in scans_of(sources):
        some = [sources[i] for i in members]
        found |= zip(members, _total_some(some, progress), strict=True)
    return [found[i] for i in range(len(sources))]


def scans_of(sources: Sequence[Opened]) -> list[list[int]]:
    """Which queries are added up in one scan: places of the queries, in order of the first of each."""
    if len(sources) == 1:
        return [[0]]
    scans: dict[Any, list[int]] = {}
    sizes = Counter[Any]()
    for i, opened in enumerate(sources):
        scan, people = _scan_of(opened) or i, _people_of(opened)
        size = 0 if people is None else len(people.added.features)
        if sizes[scan] + size > opened.source.engine.max_features:
            scans[scan, i], sizes[scan] = scans.pop(scan, []), 0  # that scan is full
        scans.setdefault(scan, []).append(i)
        sizes[scan] += size
    return sorted(scan for scan in scans.values() if scan)


def _scan_of(opened: Opened) -> Any:
    """What queries of one scan have in common; None where a query has a scan of its own."""
    own, rule, source = opened.summation, opened.rule, opened.source
    if not source.engine.adds_here or rule.form:
        return None
    read = (rule.where, rule.columns, rule.unit, rule.person_columns, rule.person_where)
    people = _people_of(opened)
    if people is not None:
        coded = {*people.derivation.present} <= {*people.added.columns}
        return (*read, people.keys, people.groups_per_unit) if coded and people.added.unit is not None else None
    coded = isinstance(opened.codes, BoxEncoding) or not opened.codes.width
    return read if isinstance(own, RecordTotals) and coded and own.columns is not None else None


def _people_of(opened: Opened) -> PeopleTotals | None:
    """What adds up people, where that is how a query is added up."""
    from gaussmith.totals.people import PeopleTotals, RowsOfPeople

    own = opened.summation
    return own.people if isinstance(own, RowsOfPeople) else own if isinstance(own, PeopleTotals) else None


def _total_some(some: Sequence[Opened], progress: Progress | None) -> list[Sequence[Totals]]:
    if len(some) == 1:
        return [total(some[0], progress)]
    people = [each for each in map(_people_of, some) if each is not None]
    if people:
        from gaussmith.totals.people import RowsOfPeople, rows_as_records, total_together

        found = total_together(some[0].source, people)
        return [
            rows_as_records(totals) if isinstance(each.summation, RowsOfPeople) else totals
            for each, totals in zip(some, found, strict=True)
        ]
    return _total_records(some, progress)


def _total_records(some: Sequence[Opened], progress: Progress | None) -> list[Sequence[Totals]]:
    columns: dict[str, int] = {}
    parts = []
    for each in some:
        if each.codes.width:
            own, codes = each.summation, each.codes
            assert isinstance(own, RecordTotals) and isinstance(codes, BoxEncoding)
            names = own.columns or ()
            places = tuple(columns.setdefault(name, len(columns)) for name in names)
            parts.append((codes, places, tuple(names.index(name) for name in each.rule.present)))
    first = some[0].summation
    assert isinstance(first, RecordTotals)
    derivation = first.derivation and replace(first.derivation, present=())
    if derivation is not None and derivation.where is None and not derivation.columns:
        derivation = None
    together = replace(some[0], codes=MaskedEncoding(tuple(parts)), summation=RecordTotals(tuple(columns), derivation))
    (found,) = total(together, progress)
    sums, records = iter(found.sums), iter(found.sums[-len(parts) :] if parts else ())
    return [
        [Totals([next(sums) for _ in range(width)], next(records))] if width else [Totals([], found.records)]
        for width in (each.codes.width for each in some)
    ]


# A rehearsal: what a release will ask of its engine, run once on a table without rows, before the charge.
#
# A call that this version of an engine does not know fails here, where nothing has been read and nothing is spent.
# Spark is not rehearsed, for each of its queries takes a second or more: its version alone is checked. What Polars or
# DuckDB has passed once, for the same codes, row rule and columns, is not asked again.

SAMPLES = {"CSV": ("a.csv", "a,b\n1,2\n"), "TSV": ("a.tsv", "a\tb\n1\t2\n"), "JSON lines": ("a.ndjson", '{"a": 1}\n')}
"""A file of one record for each format that is read by rules of ours; its column a holds the text 1."""

REMEMBERED = ("polars", "duckdb")
"""Engines that are decided by the types of columns: what they have passed once they pass again."""

_passed: WeakKeyDictionary[Encoding, set[Hashable]] = WeakKeyDictionary()


def rehearse(opened: Opened) -> None:
    """Add up a source without rows, as `total` will the real one. Reads no data."""
    source = opened.source
    written = source.files and source.files.format
    key = (opened.rule, source.all_types, source.texts, source.objects, written)
    passed = _passed.setdefault(opened.codes, set()) if source.engine.name in REMEMBERED else None
    if passed is not None and key in passed:
        return
    problem = internal_error("nothing was charged")
    if source.files is not None and source.files.format in SAMPLES:
        sample = source.files.format
        if not attempt(lambda: reads_sample(sample), problem):
            raise problem
    empty = attempt(lambda: source.engine.without_rows(source), problem)
    if empty is not None:
        attempt(lambda: opened.summation.rehearsed(source).total(empty, opened.codes, None), problem)
    if passed is not None:
        passed.add(key)


@cache
def reads_sample(format: str) -> bool:
    """Whether this version of Polars reads a text file of ours as it should."""
    import tempfile

    name, text = SAMPLES[format]
    with tempfile.TemporaryDirectory(prefix="gaussmith-") as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8")
        frame = scan_files(Files(name, format, (str(path),)), ["a"]).select("a").collect(engine="streaming")
    return frame.to_dict(as_series=False) == {"a": ["1"]}


# The totals of groups on the grid of a query: the exact integers to which noise is added.

WORD = 1 << 61
"""Lifted integers in words stay below this, so that noise can be added to them."""


@dataclass(frozen=True, eq=False)
class RepeatedTotals(Sequence[Totals]):
    """The totals of one group many times over: for samples of its noise, never for a release."""

    totals: Totals = field(repr=False)
    times: int

    def __len__(self) -> int:
        return self.times

    def __getitem__(self, i: Any) -> Any:
        chosen = range(self.times)[i]  # refuses what is out of range: that ends a loop over it
        return self.totals if isinstance(chosen, int) else [self.totals] * len(chosen)


def check_sums(query: Query, totals: Sequence[Totals]) -> None:
    """Refuse sums of other groups or other coordinates."""
    if len(totals) != query.size:
        raise PlanError(
            "sums that do not fit the groups",
            "there must be one for every declared group",
            "sum by group",
            code="sums-do-not-match-groups",
        )
    widths = {totals.sums.shape[1]} if isinstance(totals, GroupTotals) else {len(found.sums) for found in totals}
    if widths - {query.block.codes.width}:
        raise PlanError(
            "sums that do not fit the plan",
            "there must be one per coordinate",
            "sum with the plan's codes",
            code="sums-do-not-match-plan",
        )


def lift_groups(query: Query, totals: Sequence[Totals]) -> Words | list[Integers]:
    """The integers to which the noise of every group is added: in words, if all are known to fit."""
    grid, codes = query.block.grid, query.block.codes
    if isinstance(totals, RepeatedTotals):
        return repeat_lifted(grid.lifted(codes, totals.totals.sums, totals.totals.records), totals.times)
    if len(totals) > 1 and (words := in_words(totals)) is not None:
        lifted = grid.lifted_rows(codes, words.sums, words.records)
        if lifted is not None:
            return lifted
    return [grid.lifted(codes, found.sums, found.records) for found in totals]


def in_words(totals: Sequence[Totals]) -> GroupTotals | None:
    """The totals of groups in words; None where some are not known to fit."""
    if isinstance(totals, GroupTotals):
        return totals
    try:
        sums = np.array([each.sums for each in totals], np.int64).reshape(len(totals), -1)
    except OverflowError:
        return None
    return GroupTotals(sums, records_of(totals)) if largest_of(sums) < 1 << 62 else None


def records_of(totals: Sequence[Totals]) -> Words:
    """The number of records of each group."""
    return totals.records if isinstance(totals, GroupTotals) else np.array([each.records for each in totals], np.int64)


def repeat_lifted(lifted: Integers, times: int) -> npt.NDArray[Any]:
    """The same lifted integers so many times, one row for each: in words where they fit, else as Python's integers."""
    fits = all(-WORD < y < WORD for y in lifted)
    row = np.array([int(y) for y in lifted], dtype=np.int64 if fits else object)
    return np.tile(row, (times, 1))

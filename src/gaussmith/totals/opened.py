"""The one door for data: `open_data` checks it against a draw without a look at its values, `total` adds it up.

    data, draw ──open_data──▶ Opened: source, codes, row rule, summation ──total──▶ Totals of every group: secret

Where each row is a record, as it stands or filtered, it goes through the kernels; people and groups are combined by the
engine that holds the rows. Both give the same integers for the same records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from gaussmith.domains import Domain, FoundGroups
from gaussmith.domains.moment_codes import MomentCodes
from gaussmith.engines.engine import Progress, Totals
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import Source, check_columns, check_once, narrowed
from gaussmith.engines.versions import check_version
from gaussmith.errors import PlanError, SourceError, nearest_column
from gaussmith.expressions import (
    Derivation,
    check_ids,
    declare_cells,
    declare_groups,
    plan_derivation,
)
from gaussmith.plans import Draw
from gaussmith.plans.row_rule import CATEGORIES, ORDER, PAIRS, RowRule
from gaussmith.plans.rule_columns import columns_read
from gaussmith.problem.codes import BoxCodes, Codes
from gaussmith.problem.features import MEAN, ROW_SUM, ROWS, TABLED, TOTAL
from gaussmith.totals.categories import (
    Categories,
    Pairs,
    choose_form,
    open_ballots,
    open_cells,
    open_pairs,
    usual_columns,
)
from gaussmith.totals.cell_counts import check_listed, open_number, open_tables
from gaussmith.totals.features import (
    Coding,
    Contribution,
    Feature,
    PersonMean,
    PersonProduct,
    PersonTotal,
    RowCount,
    RowProduct,
    RowSum,
)
from gaussmith.totals.limbs import blocks_of
from gaussmith.totals.limit_checks import open_check
from gaussmith.totals.people import (
    FoundPeople,
    Histogram,
    People,
    RowsOfPeople,
    check_people,
    declare_labels,
    open_keys,
)
from gaussmith.totals.person_rows import open_person_rows
from gaussmith.totals.records import Records
from gaussmith.values import dataclass


class Summation(Protocol):
    """How the rows of a source are added up: what is asked of its engine, all checked before."""

    def total(self, source: Source, codes: Codes, progress: Progress | None) -> Sequence[Totals]:
        """The exact totals, of each declared group in order or of all records alone."""

    def rehearsed(self, source: Source) -> Summation:
        """What asks the engine in the same ways, of less."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A source that was opened and found to fit its row rule; no data value has been read."""

    source: Source
    codes: Codes
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
        zoned = tuple(name for name in columns_read(rule) if getattr(rows.schema.get(name), "time_zone", None))
        told = replace(told, zoned=zoned)
        is_text = source.is_text or not source.texts.isdisjoint(rule.names)
        return told.opened(rows.name, is_text, stand_ins)


def open_data(data: Any, draw: Draw) -> Opened:
    """The opened source, checked against the draw: names and types of columns, labels, expressions, keys.

    Reads no data. The draw says by which rule rows become records; `data` may be a source that is open.
    """
    rule, codes = draw.row_rule, draw.block.codes
    if rule is None:
        what = "a plan that was not made from a request"
        raise PlanError(what, "it does not say how a table is read", "use plan.release", code="plan-not-of-a-request")
    if rule.form or not rule.is_plain:  # all but plain sums is spelled in narwhals
        check_version("narwhals")
    if rule.form in _PLAIN:
        source, summation = _PLAIN[rule.form](data, draw.block.domain, rule.names or None)
        unit = summation.columns[0] if rule.form == PAIRS and summation.columns else None
        return Opened(source, codes, replace(rule, unit=unit), summation)
    usual = usual_columns(draw.block.domain) if rule.form and not rule.features else rule.names
    source = open_source(data, columns=usual if rule.form else columns_read(rule))
    if source.names is None:
        _refuse_array(rule)
    if rule.unit is None and not rule.form:
        check_ids(source.ids, None, "other", None)
    if not rule.person_columns:
        return _open_rows(source, draw, rule, usual)
    derivation = plan_derivation(dict(rule.columns), rule.where, source.kinds)
    rows, derivation = narrowed(source, derivation)
    people = open_person_rows(rows, rule, derivation)
    _check_of_people(rule, source)
    return replace(_open_rows(people, draw, rule.of_one_row, rule.names), rule=rule, rows=source)


def _open_rows(source: Source, draw: Draw, rule: RowRule, usual: Sequence[str] | None) -> Opened:
    """The source of which rows are filtered, derived and put together by this rule; `usual` are its columns."""
    codes = draw.block.codes
    if rule.is_plain:
        named = rule.names or None if rule.form else None  # an array is refused names that were said for it
        used = check_columns(source, named if source.names is None else usual, codes.columns)
        return Opened(source, codes, rule, Records(None if source.names is None else used))
    derivation = replace(plan_derivation(dict(rule.columns), rule.where, source.kinds), present=rule.present)
    _check_present(source, derivation)
    source, derivation = narrowed(source, derivation)
    return Opened(source, codes, rule, _open_rest(rule)(source, draw, rule, derivation))


def _check_of_people(rule: RowRule, source: Source) -> None:
    """Refuse columns of rows where each person is one row of person columns."""
    made = {name for name, _ in rule.person_columns}
    for name in (*rule.names, *rule.by):
        if name not in made and name in (*source.schema, *(column for column, _ in rule.columns)):
            raise SourceError(
                f"column {name!r} beside person_columns",
                "each person is then one row, of person columns alone",
                f'make it one: person_columns = {{ own_{name} = "only({name})" }}, or sum, mean, min, max',
                code="row-column-beside-person-columns",
                column=name,
            )


_PLAIN: dict[str, Callable[[Any, Domain, Sequence[str] | None], tuple[Source, Categories | Pairs]]] = {
    CATEGORIES: open_cells,
    ORDER: open_ballots,
    PAIRS: open_pairs,
}


def total(opened: Opened, progress: Progress | None = None) -> Sequence[Totals]:
    """The exact totals: of each declared group in order, or of all records alone. No error speaks of the data."""
    if progress is not None:
        progress(None)
    found = opened.summation.total(opened.source, opened.codes, progress)
    if progress is not None:
        progress(1.0)
    return found


def plain_rule(draw: Draw, columns: Sequence[str] | None = None, form: str | None = None) -> RowRule:
    """The rule of plain data, of which each row is a record: of numbers, or in another form.

    `columns` names the columns of the domain's coordinates where they differ from its own names.
    """
    domain = draw.block.domain
    chosen = choose_form(domain, form)
    columns = (columns,) if isinstance(columns, str) else columns  # a name is one column, not its letters
    if draw.groups is None:
        return RowRule(tuple((TOTAL, name) for name in columns or ()), form=chosen)
    own = domain.columns or [domain.name(j) for j in range(domain.dimension)]
    names = own if columns is None else columns
    found = draw.groups.columns if isinstance(draw.groups, FoundGroups) else ()
    declared = dict(draw.groups.declared) if isinstance(draw.groups, FoundGroups) else {}
    kept = tuple(name for name in found if name not in declared)
    return RowRule(tuple((TOTAL, name) for name in names), by=draw.groups.columns, found=kept)


def _check_present(source: Source, derivation: Derivation) -> None:
    """Refuse columns that must have a value and are not there."""
    for name in derivation.present:
        if name not in derivation.kinds and name not in source.uneven:
            rule = "the source has no such column"
            remedy = nearest_column(name, derivation.kinds)
            raise SourceError(f"column {name!r}", rule, remedy, code="no-such-column", column=name)


def _open_rest(rule: RowRule) -> Callable[[Source, Draw, RowRule, Derivation], Summation]:
    """How rows that are not plain records are added up."""
    if rule.is_checked:
        return open_check
    if rule.is_counted:
        return open_tables if rule.features[0][0] == TABLED else open_number
    if rule.histogram is None:
        return _open_people
    return open_tables if rule.by else _open_histogram


def _open_people(source: Source, draw: Draw, rule: RowRule, derivation: Derivation) -> Summation:
    codes, stand_ins, groups = draw.block.codes, draw.block.substitutes, draw.groups
    pairs = codes.pairs if isinstance(codes, MomentCodes) else ()
    codes = codes.base if isinstance(codes, MomentCodes) else codes
    derived = {name for name, _ in rule.columns}
    read = list(dict.fromkeys(name for name in rule.names if name not in derived))
    is_box = isinstance(codes, BoxCodes)
    if is_box or (groups is None and rule.unit is None):
        check_columns(source, read, len(read))  # as for plain rows: text in a typed file is no number
    if not is_box and groups is None and rule.unit is None:  # rows are records, filtered or with derived columns
        check_once(source, 1)
        return Records(rule.names, derivation)
    if not isinstance(codes, BoxCodes):
        what = "people or groups with a ball"
        raise PlanError(what, "they need a box", "plan with a gaussmith.Box", code="people-of-a-ball")
    features = tuple(
        _feature(kind, name, Coding.of(codes, j), float(stand_ins[j])) for j, (kind, name) in enumerate(rule.features)
    )
    over_rows = draw.block.domain.records_are_rows
    if over_rows:
        features += tuple(RowProduct(*(_row_sum(features[i]) for i in pair)) for pair in pairs)
        features += (RowCount(),)
    else:
        features += tuple(PersonProduct(*(_factor(features[i]) for i in pair)) for pair in pairs)
    added = Contribution(features, rule.unit, rule.rows_per_unit or 1)
    if isinstance(groups, FoundGroups):
        found = open_keys(source, groups, rule, derivation, added)
        check_once(source, 1 + len(list(blocks_of(added, source.engine.max_features))))
        return FoundPeople(added, derivation, found, rule.groups_per_unit)
    keys = None if groups is None else declare_labels(source, groups.labels, rule, derivation)
    check_people(source, added, derivation, keys, rule.groups_per_unit)
    if keys is None and rule.unit is None and all(kind == TOTAL for kind, _ in rule.features):
        check_once(source, 1)
        return Records(tuple(name for _, name in rule.features), derivation)
    check_once(source, len(list(blocks_of(added, source.engine.max_features))))
    people = People(added, derivation, keys, rule.groups_per_unit)
    return RowsOfPeople(people) if over_rows else people


def _open_histogram(source: Source, draw: Draw, rule: RowRule, derivation: Derivation) -> Histogram:
    assert rule.histogram is not None
    if source.names is None:
        raise SourceError(
            "a histogram of an array", "an array's columns have no names", "pass a frame", code="histogram-of-array"
        )
    added = Contribution((), rule.unit)
    labels, cut = _values(draw.block.domain), rule.cut_of(rule.histogram)
    if cut is None:
        check_listed(source, draw, rule.histogram, labels)
        keys = declare_groups([rule.histogram], [(value,) for value in labels], derivation.kinds)
    else:
        keys = declare_cells(rule.histogram, cut, labels, derivation.kinds)
    check_people(source, added, derivation, keys, rule.values_per_unit)
    check_once(source, 2)
    return Histogram(People(added, derivation, keys, rule.values_per_unit))


def _values(domain: Domain) -> Sequence[Any]:
    """The declared values of a histogram."""
    labels = domain.declared_values
    if labels is None:
        rule = "they are declared in the plan"
        raise PlanError("a histogram without values", rule, "plan the request again", code="histogram-without-values")
    return labels


def _feature(kind: str, column: str, coding: Coding, stand_in: float) -> Feature:
    if kind == TOTAL:
        return PersonTotal(column, coding, stand_in)  # of a row: it may lie outside the bounds of the total
    features: dict[str, Feature] = {
        MEAN: PersonMean(column, coding),
        ROW_SUM: RowSum(column, coding),
        ROWS: RowCount(),
    }
    return features[kind]


def _factor(feature: Feature) -> PersonTotal | PersonMean:
    assert isinstance(feature, PersonTotal | PersonMean)
    return feature


def _row_sum(feature: Feature) -> RowSum:
    assert isinstance(feature, RowSum)
    return feature


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

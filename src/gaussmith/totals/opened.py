"""The one door for data: `open_data` checks it against a draw without a look at its values, `total` adds it up.

    data, draw ──open_data──▶ Opened: source, codes, row rule, summation ──total──▶ Totals of every group: secret

Where each row is a record, as it stands or filtered, it goes through the kernels; people and groups are combined by the
engine that holds the rows. Both give the same integers for the same records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from gaussmith.domains import FoundGroups
from gaussmith.engines.engine import Progress, Totals
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import Source, check_columns, narrowed
from gaussmith.engines.versions import check_version
from gaussmith.errors import PlanError, SourceError
from gaussmith.expressions import check_ids, plan_derivation
from gaussmith.plans import Draw
from gaussmith.plans.row_rule import PAIRS, RowRule
from gaussmith.plans.rule_columns import columns_read
from gaussmith.problem.codes import Codes
from gaussmith.problem.features import TOTAL
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
    if not rule.is_plain:  # all but plain sums is spelled in narwhals
        check_version("narwhals")
    usual: Sequence[str] | None = rule.names
    if rule.form:
        from gaussmith.totals.categories import FORMS, usual_columns

        if rule.form in FORMS:
            check_version("narwhals")
            source, summation = FORMS[rule.form](data, draw.block.domain, rule.names or None)
            unit = summation.columns[0] if rule.form == PAIRS and summation.columns else None
            return Opened(source, codes, replace(rule, unit=unit), summation)
        usual = rule.names if rule.features else usual_columns(draw.block.domain)
    source = open_source(data, columns=usual if rule.form else columns_read(rule))
    if source.names is None:
        _refuse_array(rule)
    if rule.unit is None and not rule.form:
        check_ids(source.ids, None, "other", None)
    if not rule.person_columns:
        return _open_rows(source, draw, rule, usual)
    from gaussmith.totals.person_rows import open_person_rows

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
    from gaussmith.totals.summations import check_present, open_summation

    derivation = replace(plan_derivation(dict(rule.columns), rule.where, source.kinds), present=rule.present)
    check_present(source, derivation)
    source, derivation = narrowed(source, derivation)
    return Opened(source, codes, rule, open_summation(rule)(source, draw, rule, derivation))


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
    from gaussmith.totals.categories import choose_form

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

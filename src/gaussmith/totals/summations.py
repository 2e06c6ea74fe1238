"""How rows that are not plain records are added up: filtered or derived rows, people, groups, histograms and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gaussmith.domains.domain import Domain, records_are_rows
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.domains.features import MEAN, ROW_SUM, ROWS, TABLED, TOTAL
from gaussmith.domains.groups import FoundGroups
from gaussmith.domains.moments import MomentEncoding
from gaussmith.engines.source import Source, check_columns, check_once
from gaussmith.errors import PlanError, SourceError, nearest_column
from gaussmith.expressions.keys import declare_cells, declare_groups
from gaussmith.expressions.spelling import Derivation
from gaussmith.planning.query import Query
from gaussmith.planning.row_rule import RowRule
from gaussmith.totals.cell_counts import check_listed, open_check, open_number, open_tables
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
from gaussmith.totals.people import (
    FoundPeople,
    Histogram,
    PeopleTotals,
    RowsOfPeople,
    check_people,
    declare_labels,
    open_keys,
)
from gaussmith.totals.records import RecordTotals

if TYPE_CHECKING:
    from gaussmith.totals.opened import Summation


def check_present(source: Source, derivation: Derivation) -> None:
    """Refuse columns that must have a value and are not there."""
    for name in derivation.present:
        if name not in derivation.kinds and name not in source.uneven:
            rule = "the source has no such column"
            remedy = nearest_column(name, derivation.kinds)
            raise SourceError(f"column {name!r}", rule, remedy, code="no-such-column", column=name)


def open_summation(rule: RowRule) -> Callable[[Source, Query, RowRule, Derivation], Summation]:
    """How rows that are not plain records are added up."""
    if rule.is_checked:
        return open_check
    if rule.is_counted:
        return open_tables if rule.features[0][0] == TABLED else open_number
    if rule.histogram is None:
        return _open_people
    return open_tables if rule.by or rule.unit is None else _open_histogram


def _open_people(source: Source, query: Query, rule: RowRule, derivation: Derivation) -> Summation:
    groups, are_records = query.groups, query.groups is None and rule.unit is None
    own = query.block.codes
    codes, pairs = (own.base, own.pairs) if isinstance(own, MomentEncoding) else (own, ())
    if are_records or isinstance(codes, BoxEncoding):
        derived = dict(rule.columns)
        read = [name for name in dict.fromkeys(rule.names) if name not in derived]
        check_columns(source, read, len(read))  # as for plain rows: text in a typed file is no number
    if not isinstance(codes, BoxEncoding):
        if not are_records:
            what = "people or groups with a ball"
            raise PlanError(what, "they need a box", "plan with a gaussmith.Box", code="people-of-a-ball")
        check_once(source, 1)
        return RecordTotals(rule.names, derivation)  # filtered, or with derived columns
    over_rows = records_are_rows(query.block.domain)
    added = Contribution(_features(query, rule, codes, pairs, over_rows), rule.unit, rule.rows_per_unit or 1)
    if isinstance(groups, FoundGroups):
        found = open_keys(source, groups, rule, derivation, added)
        check_once(source, 1 + len(list(blocks_of(added, source.engine.max_features))))
        return FoundPeople(added, derivation, found, rule.groups_per_unit)
    keys = None if groups is None else declare_labels(source, groups.labels, rule, derivation)
    check_people(source, added, derivation, keys, rule.groups_per_unit)
    if are_records and all(kind == TOTAL for kind, _ in rule.features):
        check_once(source, 1)
        return RecordTotals(tuple(name for _, name in rule.features), derivation)
    check_once(source, len(list(blocks_of(added, source.engine.max_features))))
    people = PeopleTotals(added, derivation, keys, rule.groups_per_unit)
    return RowsOfPeople(people) if over_rows else people


def _features(
    query: Query, rule: RowRule, codes: BoxEncoding, pairs: Sequence[Sequence[int]], over_rows: bool
) -> tuple[Feature, ...]:
    """What is added up for each coordinate of a box and each product of two; over rows their number too."""
    stand_ins = query.block.substitutes
    features = tuple(
        _feature(kind, name, Coding.of(codes, j), float(stand_ins[j])) for j, (kind, name) in enumerate(rule.features)
    )
    if over_rows:
        return (*features, *(RowProduct(*(_row_sum(features[i]) for i in pair)) for pair in pairs), RowCount())
    return (*features, *(PersonProduct(*(_factor(features[i]) for i in pair)) for pair in pairs))


def _open_histogram(source: Source, query: Query, rule: RowRule, derivation: Derivation) -> Histogram:
    assert rule.histogram is not None
    added = Contribution((), rule.unit)
    labels, cut = _values(query.block.domain), rule.cut_of(rule.histogram)
    if cut is None:
        check_listed(source, query, rule.histogram, labels)
        keys = declare_groups([rule.histogram], [(value,) for value in labels], derivation.kinds)
    else:
        keys = declare_cells(rule.histogram, cut, labels, derivation.kinds)
    check_people(source, added, derivation, keys, rule.values_per_unit)
    check_once(source, 2)
    return Histogram(PeopleTotals(added, derivation, keys, rule.values_per_unit))


def _values(domain: Domain) -> Sequence[Any]:
    """The declared values of a histogram."""
    labels = domain.input.values
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

"""Exact totals of what can be opened: of records, of people and of groups; checked as a release does, then added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaussmith.domains.encoding import Encoding
from gaussmith.engines.engine import Engine, Progress, Totals
from gaussmith.engines.registry import engine_of
from gaussmith.engines.source import Source, check_columns
from gaussmith.expressions.keys import GroupKeys
from gaussmith.expressions.spelling import Derivation
from gaussmith.totals import groups, limbs
from gaussmith.totals.features import Contribution
from gaussmith.totals.people import PeopleTotals, check_people
from gaussmith.totals.records import RecordTotals


def engine_under(frame: Any) -> Engine:
    engine = engine_of(frame.to_native())
    assert engine is not None
    return engine


def sum_people(frame: Any, units: Contribution) -> Totals:
    return limbs.sum_people(frame, units, engine_under(frame))


def sum_groups(frame: Any, units: Contribution, keys: GroupKeys, groups_per_unit: int = 1) -> list[Totals]:
    return groups.sum_groups(frame, units, keys, engine_under(frame), groups_per_unit)


def total_records(
    source: Source, codes: Encoding, columns: Sequence[str] | None = None, progress: Progress | None = None
) -> Totals:
    """The totals of rows that are records."""
    names = check_columns(source, columns, codes.columns)
    (found,) = RecordTotals(names).total(source, codes, progress)
    return found


def total_people(source: Source, units: Contribution, derivation: Derivation) -> Totals:
    """The totals of the features over all people, after a filter."""
    check_people(source, units, derivation)
    (found,) = PeopleTotals(units, derivation).total(source)
    return found


def total_groups(
    source: Source, units: Contribution, derivation: Derivation, keys: GroupKeys, groups_per_unit: int = 1
) -> list[Totals]:
    """The totals of the features in every declared group, in declared order."""
    check_people(source, units, derivation, keys, groups_per_unit)
    return PeopleTotals(units, derivation, keys, groups_per_unit).total(source)

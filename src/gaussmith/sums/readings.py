"""A table as its reading says: opened and checked without a look at the data, then added up.

Where each row is a record, as it stands or filtered, it goes through the kernels of `total`; all else through people
and groups on the engine that holds the rows. Both give the same integers for the same records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gaussmith.codes import BoxCodes, Codes
from gaussmith.domains import Groups
from gaussmith.errors import PlanError, SourceError
from gaussmith.expressions import (
    Derivation,
    GroupKeys,
    check_ids,
    columns_used,
    declare_groups,
    parse,
    plan_derivation,
)
from gaussmith.numerics.linear import Array
from gaussmith.readings import MEAN, ROW_SUM, ROWS, TOTAL, Reading
from gaussmith.sums import Progress, Source, check_columns, open_source, total
from gaussmith.sums.arrays import Totals
from gaussmith.sums.failures import attempt, data_error
from gaussmith.sums.features import Coding, Feature, RowCount, RowSum, UnitMean, Units, UnitTotal
from gaussmith.sums.people import check_people, total_groups, total_people
from gaussmith.sums.sources import check_once, derived, narrowed
from gaussmith.sums.units import blocks_of


@dataclass(frozen=True, eq=False)
class Table:
    """A source that was opened and found to fit its reading; no data value has been read."""

    source: Source
    codes: Codes
    columns: tuple[str, ...] | None
    units: Units | None = None
    derivation: Derivation | None = None
    keys: GroupKeys | None = None
    groups_per_unit: int = 1
    histogram: bool = False

    @property
    def is_streamed(self) -> bool:
        """Whether rows are records, filtered or with derived columns."""
        if self.units is None or self.keys is not None or self.units.unit is not None:
            return False
        return all(isinstance(feature, UnitTotal) for feature in self.units.features)


def columns_read(reading: Reading) -> tuple[str, ...]:
    """The columns of the source that a reading names, in features, filters, derived columns, unit and keys.

    >>> columns_read(Reading(((TOTAL, "bmi"),), unit="person", columns=(("bmi", "weight / 2"),), where="age >= 18"))
    ('weight', 'age', 'person')
    """
    derived = {name for name, _ in reading.columns}
    formulas = [text for _, text in reading.columns] + ([] if reading.where is None else [reading.where])
    named = [*reading.names, *(name for text in formulas for name in columns_used(parse(text)))]
    named += [*reading.by, *([] if reading.unit is None else [reading.unit])]
    return tuple(dict.fromkeys(name for name in named if name not in derived))


def open_table(
    data: Any,
    reading: Reading,
    codes: Codes,
    stand_ins: Array,
    groups: Groups | None = None,
    values: Sequence[Any] = (),
) -> Table:
    """The opened source, checked against its reading: names and types of columns, expressions, keys. Reads no data.

    `stand_ins` holds what a missing value of each coordinate counts as, `values` those that a histogram counts.
    """
    source = open_source(data, columns=columns_read(reading))
    if source.names is None:
        _refuse_array(reading)
    if reading.unit is None:
        check_ids(source.ids, None, "other", None)
    if reading.is_plain and groups is None:
        names = None if source.names is None else reading.names
        used = check_columns(source, names, len(reading.features))
        return Table(source, codes, None if source.names is None else used)
    derivation = plan_derivation(dict(reading.columns), reading.where, source.kinds)
    source, derivation = narrowed(source, derivation)
    if reading.histogram is not None:
        return _open_histogram(source, reading, codes, derivation, values)
    if not isinstance(codes, BoxCodes):
        raise PlanError("people or groups of a ball", "they are made for boxes", "plan with a gaussmith.Box")
    derived = {name for name, _ in reading.columns}
    read = list(dict.fromkeys(name for name in reading.names if name not in derived))
    check_columns(source, read, len(read))  # as for plain rows: text in a typed file is no number
    features = tuple(
        _feature(kind, name, Coding.of(codes, j), float(stand_ins[j]))
        for j, (kind, name) in enumerate(reading.features)
    )
    units = Units(features, reading.unit, reading.rows_per_unit or 1)
    keys = None if groups is None else declare_groups(groups.columns, groups.labels, derivation.kinds)
    check_people(source, units, derivation, keys, reading.groups_per_unit)
    table = Table(source, codes, None, units, derivation, keys, reading.groups_per_unit)
    check_once(source, 1 if table.is_streamed else len(list(blocks_of(units, "polars"))))
    return table


def _open_histogram(
    source: Source, reading: Reading, codes: Codes, derivation: Derivation, values: Sequence[Any]
) -> Table:
    """Declared values are groups of which only the number of people is asked."""
    assert reading.histogram is not None
    if source.names is None:
        raise SourceError("a histogram of an array", "an array's columns have no names", "pass a frame")
    units = Units((), reading.unit)
    keys = declare_groups([reading.histogram], [(value,) for value in values], derivation.kinds)
    check_people(source, units, derivation, keys, reading.values_per_unit)
    check_once(source, 2)
    return Table(source, codes, None, units, derivation, keys, reading.values_per_unit, histogram=True)


def total_table(table: Table, progress: Progress | None = None) -> list[Totals]:
    """The exact totals: of each declared group in order, or of all records alone."""
    if table.units is None or table.derivation is None:
        return [total(table.source, table.codes, table.columns, progress)]
    if table.is_streamed:
        columns = [feature.column for feature in table.units.features if isinstance(feature, UnitTotal)]
        source, derivation = table.source, table.derivation
        return [total(attempt(lambda: derived(source, derivation), data_error()), table.codes, columns, progress)]
    if progress is not None:
        progress(None)
    if table.keys is None:
        found = [total_people(table.source, table.units, table.derivation)]
    else:
        found = total_groups(table.source, table.units, table.derivation, table.keys, table.groups_per_unit)
        if table.histogram:  # one record of counts, and the number of people with or without a declared value
            people = total_people(table.source, table.units, table.derivation)
            found = [Totals([each.records for each in found], people.records)]
    if progress is not None:
        progress(1.0)
    return found


def _feature(kind: str, column: str, coding: Coding, stand_in: float) -> Feature:
    if kind == TOTAL:
        return UnitTotal(column, coding, stand_in)  # of a row: it may lie outside the bounds of the total
    features: dict[str, Feature] = {
        MEAN: UnitMean(column, coding),
        ROW_SUM: RowSum(column, coding),
        ROWS: RowCount(),
    }
    return features[kind]


def _refuse_array(reading: Reading) -> None:
    named: Sequence[tuple[str, object]] = (
        ("unit", reading.unit),
        ("by", reading.by),
        ("where", reading.where),
        ("columns", reading.columns),
    )
    for word, value in named:
        if value:
            raise SourceError(
                f"{word} for an array",
                "an array's columns have no names",
                "pass a frame, such as polars.DataFrame(array, names)",
            )

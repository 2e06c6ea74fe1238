"""A table of rows as a table of people: one row for each, with the person columns of a rule. Nothing is read yet."""

from __future__ import annotations

from dataclasses import replace

from gaussmith.engines.source import Source, check_identity
from gaussmith.expressions import Derivation, PersonColumns, as_id, combine_people, derive, plan_person_columns
from gaussmith.plans.row_rule import RowRule
from gaussmith.totals.features import Contribution, check_contribution
from gaussmith.totals.people import identified


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

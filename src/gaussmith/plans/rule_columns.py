"""Which columns of a source a row rule needs, and so what a person can be in two draws at once."""

from __future__ import annotations

from dataclasses import replace

from gaussmith.expressions import columns_used, parse
from gaussmith.plans.row_rule import RowRule


def columns_read(rule: RowRule) -> tuple[str, ...]:
    """The columns of the source that a rule names, in features, filters, derived columns, unit and keys.

    >>> from gaussmith.problem.features import TOTAL
    >>> columns_read(RowRule(((TOTAL, "bmi"),), unit="person", columns=(("bmi", "weight / 2"),), where="age >= 18"))
    ('weight', 'age', 'person')
    """
    derived = {name for name, _ in (*rule.columns, *rule.person_columns)}
    formulas = [parse(text) for _, text in rule.columns] + ([] if rule.where is None else [parse(rule.where)])
    formulas += [parse(text, of_people=True) for _, text in rule.person_columns]
    named = [*rule.names, *(name for formula in formulas for name in columns_used(formula))]
    named += [*rule.present, *rule.by, *([] if rule.unit is None else [rule.unit])]
    return tuple(dict.fromkeys(name for name in named if name not in derived))


def columns_asked(rule: RowRule, where: str | None) -> set[str]:
    """The columns that decide what a person who passes the common filter `where` adds, whoever the person is."""
    asked = replace(rule, unit=None, where=None if rule.where == where else rule.where)
    return {*columns_read(asked)}

"""Beside which field of the form an error stands: what it is about, by its code and the names it carries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gaussmith.errors import (
    BudgetError,
    ExpressionError,
    GaussmithError,
    GuaranteeError,
    LedgerError,
    SourceError,
    printable,
)
from gaussmith.expressions.grammar import parse
from gaussmith.workbench.drafts import Draft

GENERAL = "form"
"""The place for what is about the whole form."""


@dataclass(frozen=True)
class Said:
    """An error in its three parts, and the field that it stands beside."""

    field: str
    what: str
    rule: str
    remedy: str


def place(error: GaussmithError, draft: Draft) -> Said:
    """An error with its place in the form."""
    remedy = _REMEDIES.get(error.code, error.remedy)
    what = f"{error.fields['limit']} is empty" if error.code == "limit-not-given" else error.what
    parts = (printable(_in_labels(part.replace("\n", " "))) for part in (what, error.rule, remedy))
    return Said(_field(error, draft), *parts)


_REMEDIES = {
    "row-per-row-not-promised": "name a plain table; or start the workbench with --row-per-row, which promises that "
    "each returned row depends on the rows of one person only"
}
"""What to do where the form has no field for it."""

_LABELS = {
    'mean_of = "units"': "“Means are over” people",
    "rows_per_unit": "“Rows per person”",
    "groups_per_unit": "“Groups per person”",
    "values_per_unit": "“Values per person”",
    'unit = "person"': "“Column that identifies the person”",
}
"""Fields of a request as the form calls them."""


_SIGNS = {"epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ", "guess": "guess"}


def _in_labels(text: str) -> str:
    """A message in the words of the form.

    >>> _in_labels("write rows_per_unit = 12"), _in_labels("groups_per_unit is empty")
    ('write “Rows per person” = 12', '“Groups per person” is empty')
    """
    for name, label in _LABELS.items():
        text = text.replace(name, label)
    return re.sub(r"\b(epsilon|delta|mu|rho)\s*=\s*", lambda match: f"{_SIGNS[match[1]]} = ", text)


_BY_CODE = {
    "ledger-of-another-unit": "unit",
    "ledger-of-other-neighbours": "neighbours",
    "rows-per-unit-missing": "rows_per_unit",
    "groups-per-unit-without-groups": "groups_per_unit",
    "values-per-unit-without-histograms": "values_per_unit",
    "nothing-asked": "count",
    "histogram-with-rows": "count",
    "unknown-ids": "ids",
    "request-without-source": "source",
}


def _field(error: GaussmithError, draft: Draft) -> str:
    said = error.fields.get("field")
    if isinstance(said, str):
        return said
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    for kinds, find in _BY_CLASS.items():
        if isinstance(error, kinds):
            return find(error, draft)
    if error.code.startswith("target"):
        return "target_error"
    named = [error.fields.get(name) for name in ("column", "name", "columns", "unit")]
    names = [each for each in named if isinstance(each, str)]
    columns = (_of_column(name, draft) for name in names)
    found = next(filter(None, columns), None) or _of_limit(error, names) or _of_named_column(error.what, draft)
    return found or ("source" if isinstance(error, SourceError) else GENERAL)


def _of_limit(error: GaussmithError, names: Sequence[str]) -> str | None:
    limits = ("rows_per_unit", "groups_per_unit", "values_per_unit")
    said = f"{error.what} {error.code.replace('-', '_')}"
    return next((limit for limit in limits if limit in said or limit in names), None)


def _of_guarantee(error: GaussmithError, draft: Draft) -> str:
    for name in ("delta", "mu", "rho", "guess", "epsilon"):
        if error.what.startswith(name):
            return name
    return draft.protection if draft.protection in ("mu", "rho", "guess") else "epsilon"


def _of_expression(error: GaussmithError, draft: Draft) -> str:
    """The first formula that cannot be read by itself, else the filter."""
    for i, derived in enumerate(draft.derived):
        try:
            parse(derived.formula)
        except ExpressionError:
            return f"derived-{i}-formula"
    return "where" if draft.where else ("derived-0-formula" if draft.derived else "more")


_BY_CLASS: dict[type[GaussmithError], Callable[[GaussmithError, Draft], str]] = {
    GuaranteeError: _of_guarantee,
    BudgetError: lambda error, draft: "budget",
    LedgerError: lambda error, draft: "budget",
    ExpressionError: _of_expression,
}


def _of_column(name: str, draft: Draft) -> str | None:
    for i, ask in enumerate(draft.asks):
        if ask.column == name:
            return f"asks-{i}-column"
    for i, by in enumerate(draft.by):
        if by.column == name:
            return f"by-{i}-column"
    return "unit" if name == draft.unit and name else None


def _of_named_column(what: str, draft: Draft) -> str | None:
    """The line of a column that a message names in quotes."""
    names = [ask.column for ask in draft.asks] + [by.column for by in draft.by] + [draft.unit]
    quoted = [name for name in names if name and repr(name) in what]
    return _of_column(max(quoted, key=len), draft) if quoted else None
